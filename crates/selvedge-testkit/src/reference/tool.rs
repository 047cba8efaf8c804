//! The same facts, found by the explorers of the tool.

use std::collections::BTreeSet;

use selvedge_core::{Ending, Execution, Status, Step, ViolationKind};
use selvedge_explore::{Algorithm, Observer};

use super::facts::{Executions, Facts};
use super::program::Program;
use crate::compare::thorough;
use crate::subject::Subject;

/// What the tool finds by `algorithm` with at most so many executions; `None` if that is not everything.
///
/// # Errors
/// The diagnostics if the program does not compile, or the message if the tool panics.
pub fn facts(
    text: &str,
    program: &Program,
    constants: &[(String, i64)],
    algorithm: Algorithm,
    most: u64,
) -> Result<Option<Facts>, String> {
    let subject = Subject::new("reference.sel", text, constants)?;
    let mut ends = Ends::default();
    let report = subject.explore(algorithm, &thorough(most), &mut ends)?;
    if !report.inconclusive.is_empty() {
        return Ok(None);
    }
    let mut facts = Facts::default();
    for (violation, _) in &report.violations {
        if violation.kind == ViolationKind::Deadlock {
            facts.deadlock_lines.insert(violation.places.iter().map(|place| place.line).collect());
            continue;
        }
        let place = violation.places.first();
        let place = place.ok_or(format!("a violation without a place: {violation:?}"))?;
        facts.violations.insert((violation.kind, place.line));
    }
    for steps in ends.deadlocked {
        let waiting = subject.waiting(&steps);
        let blocked = waiting
            .into_iter()
            .filter(|(_, status, _)| matches!(status, Status::Blocked | Status::Parked))
            .map(|(name, _, line)| (name, line))
            // That a daemon waits is not part of a deadlock.
            .filter(|(name, _)| !program.is_daemon(name));
        facts.deadlocks.insert(blocked.collect());
    }
    if algorithm == Algorithm::Oracle {
        let counts = report.counts;
        facts.executions = Some(Executions {
            complete: counts.complete.into(),
            deadlocked: counts.deadlocked.into(),
            blocked: counts.blocked.into(),
        });
    }
    Ok(Some(facts))
}

/// The executions that end in a deadlock.
#[derive(Default)]
struct Ends {
    deadlocked: BTreeSet<Vec<Step>>,
}

impl Observer for Ends {
    fn execution(&mut self, execution: &Execution, ending: Ending) {
        if ending == Ending::Deadlocked {
            self.deadlocked.insert(execution.steps().to_vec());
        }
    }
}
