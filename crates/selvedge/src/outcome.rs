//! What a check found out, and the forms in which it says so.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use selvedge_core::{Report, Verdict};
use selvedge_explore::Algorithm;
use selvedge_report::{
    CheckJson, CoversJson, InconclusiveJson, ViolationJson, ViolationView, facts_json, to_text,
};

use crate::failure::{self, Failure, Look};
use crate::rt::Spot;

/// What a check found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) report: Report,
    pub(crate) algorithm: Algorithm,
    pub(crate) checked_at: Spot,
    /// Whether it is one execution that was asked for.
    pub(crate) replayed: bool,
    pub(crate) data_races: bool,
    /// Of a sample.
    pub(crate) seed: Option<u64>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) weak: bool,
    /// What is not covered of operations that may end without reason: since there is a bound, and since code
    /// looks again.
    pub(crate) bounded: Option<String>,
    pub(crate) left_out: Option<String>,
    /// What was taken to be so about a spin loop.
    pub(crate) assumed: Option<String>,
    pub(crate) unsteady: Option<String>,
    pub(crate) time: Duration,
}

impl Outcome {
    /// The answer in one word.
    pub fn verdict(&self) -> Verdict {
        match self.report.verdict() {
            _ if self.unsteady.is_some() => Verdict::Inconclusive,
            Verdict::Verified if self.assumed.is_some() => Verdict::Inconclusive,
            verdict => verdict,
        }
    }

    /// Counts, and what was found before it was replayed.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// How many executions ran to their end: one per class, with an optimal algorithm.
    pub fn executions(&self) -> u64 {
        self.report.counts.maximal()
    }

    /// Everything that is wrong, one message each.
    pub fn messages(&self) -> Vec<String> {
        self.violations().map(|violation| violation.message.clone()).collect()
    }

    /// Kinds of what is wrong, in the same order.
    pub fn kinds(&self) -> Vec<selvedge_core::ViolationKind> {
        self.violations().map(|violation| violation.kind).collect()
    }

    fn violations(&self) -> impl Iterator<Item = &ViolationView> {
        self.failures.iter().flat_map(|failure| &failure.view.violations)
    }

    /// The schedules that show what is wrong, in the same order.
    pub fn schedules(&self) -> Vec<String> {
        self.failures.iter().map(|failure| failure.view.schedule.to_string()).collect()
    }

    /// Whether an ordering weaker than `SeqCst` was asked for.
    pub fn uses_weak_orderings(&self) -> bool {
        self.weak
    }

    /// How long it took.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// The report as text.
    pub fn text(&self) -> String {
        self.text_as(Look::PLAIN)
    }

    pub(crate) fn text_as(&self, look: Look) -> String {
        let mut text = failure::of_outcome(
            self.checked_at,
            look,
            &self.report,
            &self.failures,
            self.unsteady.as_deref(),
            self.assumed.as_deref(),
            self.verdict(),
        );
        text.push_str(&failure::summary(&self.report, self.how(), &self.not_covered()));
        text
    }

    /// What was not explored, and might show something wrong.
    pub(crate) fn not_proved(&self) -> Vec<String> {
        let weak = self.weak.then(|| failure::WEAK.to_owned());
        weak.into_iter().chain(self.bounded.clone()).collect()
    }

    /// All that was not explored.
    pub(crate) fn not_covered(&self) -> Vec<String> {
        self.not_proved().into_iter().chain(self.left_out.clone()).collect()
    }

    fn how(&self) -> &'static str {
        match self.seed {
            _ if self.replayed => "replay",
            Some(_) => "sample",
            None => self.algorithm.info().name,
        }
    }

    /// The report as JSON, with the fields of `selvedge check --json`.
    pub fn json(&self) -> String {
        let info = self.algorithm.info();
        let mut inconclusive: Vec<InconclusiveJson> =
            self.report.inconclusive.iter().map(Into::into).collect();
        if let Some(message) = self.assumed.clone() {
            inconclusive.push(InconclusiveJson { reason: "gave-up", message });
        }
        if let Some(difference) = &self.unsteady {
            let message = format!("the closure does not do the same every time: {difference}");
            inconclusive.push(InconclusiveJson { reason: "gave-up", message });
        }
        let violation = |Failure { view: trace, .. }: &Failure| {
            let json = ViolationJson::new(&trace.violations[0], trace);
            json.replayed_by(failure::replay_command(self.checked_at, trace))
        };
        to_text(&CheckJson {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            command: "check",
            file: self.checked_at.file().to_owned(),
            constants: BTreeMap::new(),
            verdict: self.verdict().name(),
            algorithm: self.how().to_owned(),
            equivalence: (!self.replayed && self.seed.is_none()).then(|| info.equivalence.name()),
            covers: CoversJson {
                assertions: info.covers.assertions,
                deadlocks: info.covers.deadlocks,
                data_races: info.covers.data_races && self.data_races,
            },
            executions: self.report.counts.into(),
            steps: self.report.steps,
            longest: self.report.longest,
            threads: self.report.threads,
            seconds: self.time.as_secs_f64(),
            seed: self.seed,
            violations: self.failures.iter().map(violation).collect(),
            inconclusive,
            facts: facts_json(&self.report.facts),
            statistics: self.report.statistics.as_deref().map(Into::into),
        })
    }

    /// Writes the report to a file: as JSON if its name says so.
    pub(crate) fn write_to(&self, path: &Path) -> Result<(), String> {
        let text = match path.extension().is_some_and(|extension| extension == "json") {
            true => self.json(),
            false => self.text(),
        };
        selvedge_report::write_whole(path, &text)
            .map_err(|error| format!("cannot write the report to {}: {error}", path.display()))
    }
}
