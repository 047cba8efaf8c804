//! Compares what the reference says about a program with what the tool finds.

use std::collections::BTreeSet;

use selvedge_core::ViolationKind;
use selvedge_explore::Algorithm;

use super::explore::explore;
use super::facts::{Facts, Values, difference};
use super::probe::probe;
use super::program::Program;
use super::tool;
use crate::subject::Subject;

/// How a difference begins that is none: the tool rejects the program.
pub(super) const NOT_COMPILED: &str = "the program does not compile";

/// How much work a comparison can be. Not of time: the same programs are compared on every machine.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// The reference visits at most so many states.
    pub states: usize,
    /// Brute force ends after so many executions; then the number of interleavings is not compared.
    pub interleavings: u64,
    /// `sleep` ends after so many executions, redundant ones included.
    pub executions: u64,
    /// With more final states, their values are not compared.
    pub finals: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { states: 4_000, interleavings: 10_000, executions: 10_000, finals: 200 }
    }
}

/// What was compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Compared {
    /// These facts are the same. Numbers are `None` if there are too many interleavings; whether final values were compared.
    Same(Facts, bool),
    /// The reference or the tool needs more than the effort.
    TooLarge,
}

/// Compares the two on a program.
///
/// # Errors
/// How they differ.
pub fn agree(text: &str, constants: &[(String, i64)], effort: Effort) -> Result<Compared, String> {
    // The reference trusts the checker: it panics on programs that are not of the language.
    Subject::new("reference.sel", text, constants)
        .map_err(|error| format!("{NOT_COMPILED}:\n{error}"))?;
    let program = Program::new(text, constants)
        .map_err(|error| format!("the reference does not understand it: {error}"))?;
    let Some(mut expected) = explore(&program, effort.states) else {
        return Ok(Compared::TooLarge);
    };
    let total = expected.executions.map_or(0, |n| n.complete + n.deadlocked + n.blocked);
    let (algorithm, most) = if total <= effort.interleavings.into() {
        // One more, if the tool has more: then the numbers differ.
        (Algorithm::Oracle, effort.interleavings + 1)
    } else {
        expected.executions = None;
        (Algorithm::Sleep, effort.executions)
    };
    let found = match tool::facts(text, &program, constants, algorithm, most)? {
        Some(found) => found,
        None if algorithm == Algorithm::Oracle => {
            return Err(format!(
                "the reference has {total} interleavings, the tool more than {most}"
            ));
        }
        None => return Ok(Compared::TooLarge),
    };
    if let Some(difference) = expected.difference(&found) {
        return Err(difference);
    }
    let finals = expected.finals.len() <= effort.finals
        && same_finals(text, constants, &program, &expected.finals, effort)?;
    Ok(Compared::Same(expected, finals))
}

/// Compares the values at the end. Returns whether that was possible.
fn same_finals(
    text: &str,
    constants: &[(String, i64)],
    program: &Program,
    expected: &BTreeSet<Values>,
    effort: Effort,
) -> Result<bool, String> {
    // Where no execution ends, the probe reads no value, and ghosts that no property reads are left out.
    if expected.is_empty() && text.contains("ghost ") {
        return Ok(false);
    }
    let Some(probe) = probe(text, program, expected) else { return Ok(false) };
    let Some(found) =
        tool::facts(&probe.text, program, constants, Algorithm::Sleep, effort.executions)?
    else {
        return Ok(false);
    };
    let ends = found.violations.iter().filter(|(kind, _)| *kind == ViolationKind::Finally);
    let unknown = || vec!["other values".to_owned()];
    let ends =
        ends.map(|(_, line)| probe.lines.get(line).cloned().unwrap_or_else(unknown)).collect();
    let names: Vec<String> = program.values().into_iter().map(|(name, _)| name).collect();
    let what = format!("the final values of {}", names.join(" "));
    match difference(&what, expected, &ends, |values| values.join(" ")) {
        Some(difference) => Err(difference),
        None => Ok(true),
    }
}
