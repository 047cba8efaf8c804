//! How near estimates come to the number of classes, for programs of the corpus whose number is known.

use std::path::PathBuf;
use std::sync::Arc;

use selvedge_explore::{Options, Range, estimate};
use selvedge_lang::Interpreter;

use crate::golden::Golden;
use crate::subject::Subject;
use crate::{corpus, text_of};

/// An estimate is near if it is off by at most this factor.
pub const NEAR: f64 = 4.0;

/// A program, its number of classes, and an estimate of it.
#[derive(Clone, Debug)]
pub struct Row {
    /// The program.
    pub name: String,
    /// The setting of its constants, as it is typed.
    pub constants: String,
    /// How many classes there are.
    pub classes: u64,
    /// The estimate, if there is one.
    pub estimate: Option<Range>,
}

impl Row {
    /// Returns the estimate by the truth.
    pub fn ratio(&self) -> Option<f64> {
        self.estimate.map(|range| range.estimate / self.classes as f64)
    }

    /// Returns whether the estimate is near.
    pub fn is_near(&self) -> bool {
        self.ratio().is_some_and(|ratio| (1.0 / NEAR..=NEAR).contains(&ratio))
    }

    /// Returns whether the truth is in the range, as that is shown: by orders of magnitude.
    pub fn is_in_range(&self) -> bool {
        let power = |exponent: f64| 10_f64.powf(exponent);
        self.estimate.is_some_and(|Range { low, high, .. }| {
            let shown = power(low.log10().floor())..=power(high.log10().ceil().max(1.0));
            shown.contains(&(self.classes as f64))
        })
    }
}

/// Estimates the number of classes of these programs, with so many random executions each. `with_slow`: also in settings that are
/// too large for every day. Executions that reach a limit are not classes, so programs with such are left out.
///
/// # Panics
/// If a program is not as its header says.
pub fn estimates(files: &[PathBuf], samples: u64, with_slow: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for file in files {
        let name = file.strip_prefix(corpus()).expect("it is in the corpus").display().to_string();
        let text = text_of(file);
        let golden = Golden::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for setting in golden.settings.iter().filter(|setting| with_slow || !setting.slow) {
            let is_cut =
                |line: &crate::golden::AlgorithmLine| line.cost.is_some_and(|cost| cost.cut > 0);
            if setting.classes.all == 0 || setting.algorithms.iter().any(is_cut) {
                continue;
            }
            let subject = Subject::new(&name, &text, &setting.constants);
            let subject = subject.unwrap_or_else(|error| panic!("{error}"));
            let make = || Interpreter::new(Arc::clone(subject.program()));
            let options = Options { limits: golden.options.limits.clone(), ..Options::default() };
            let found = estimate(&make, &options, 0, &mut |sampled| sampled < samples);
            let constants = setting.constants.iter().map(|(name, value)| format!("{name}={value}"));
            rows.push(Row {
                name: name.clone(),
                constants: constants.collect::<Vec<_>>().join(", "),
                classes: setting.classes.all,
                estimate: found.traces,
            });
        }
    }
    rows
}
