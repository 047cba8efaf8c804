//! The result of a check, and its forms.

use std::path::Path;
use std::time::Duration;

use selvedge_core::{Fact, FactValue, Inconclusive, Report, Verdict};
use selvedge_explore::Memory;
use selvedge_report::{Advice, Method, TraceView, ViolationView, page, to_text};

use crate::failure::{self, Look};
use crate::spot::Spot;

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub(crate) found_out: selvedge_report::Outcome,
    pub(crate) checked_at: Spot,
    pub(crate) weak: bool,
    /// The memory model that was explored.
    pub(crate) memory: Option<Memory>,
    /// The result of the second search, under a weaker memory model.
    pub(crate) besides: Option<Besides>,
    /// What is known about plain uses of memory that was freed.
    pub(crate) plain_uses: Plain,
    /// What is not covered of operations that may end spuriously: since there is a bound, and since code
    /// looks again.
    pub(crate) bounded: Option<String>,
    pub(crate) left_out: Option<String>,
    /// Why it ran in one process, though more were asked for.
    pub(crate) undivided: Option<String>,
}

/// What is known about plain uses of memory that one thread frees while others know its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Plain {
    /// There is no such memory, or all of it was guarded.
    Fine,
    /// This is the search for such uses.
    Guarded,
    /// Such uses were not looked for.
    Unseen,
    /// A search of its own found none, in so many executions, all or not all that there are.
    Explored(u64),
}

/// The result of a second search, in which loads may return older values, without a violation.
#[derive(Clone, Debug)]
pub(crate) enum Besides {
    /// All executions under a memory model, and how many there were.
    Explored(Memory, u64),
    /// So many of them, and not all.
    NotAll(Memory, u64),
}

impl Outcome {
    /// Returns the verdict.
    pub fn verdict(&self) -> Verdict {
        self.found_out.verdict()
    }

    /// Returns the report of the search: counts, and violations before they were replayed.
    pub fn report(&self) -> &Report {
        &self.found_out.report
    }

    /// Returns how many executions were maximal: one per class, with an optimal algorithm.
    pub fn executions(&self) -> u64 {
        self.report().counts.maximal()
    }

    /// Returns the messages of the violations.
    pub fn messages(&self) -> Vec<String> {
        self.violations().map(|violation| violation.message.clone()).collect()
    }

    /// Returns the kinds of the violations, in the same order.
    pub fn kinds(&self) -> Vec<selvedge_core::ViolationKind> {
        self.violations().map(|violation| violation.kind).collect()
    }

    /// The executions that show what is wrong, or the one that was asked for.
    pub(crate) fn failures(&self) -> &[TraceView] {
        &self.found_out.found
    }

    fn violations(&self) -> impl Iterator<Item = &ViolationView> {
        self.failures().iter().flat_map(|failure| &failure.violations)
    }

    /// Returns the schedules of the violations, in the same order.
    pub fn schedules(&self) -> Vec<String> {
        self.failures().iter().map(|failure| failure.schedule.to_string()).collect()
    }

    /// Returns whether the code uses an ordering weaker than `SeqCst`.
    pub fn uses_weak_orderings(&self) -> bool {
        self.weak
    }

    /// Returns how long it took.
    pub fn time(&self) -> Duration {
        self.found_out.time
    }

    /// Returns the report as text.
    pub fn text(&self) -> String {
        self.text_as(Look::PLAIN)
    }

    pub(crate) fn text_as(&self, look: Look) -> String {
        let mut text = self.findings(look.under(self.memory, self.plain_uses == Plain::Guarded));
        text.push_str(&failure::summary(self.report(), self.how(), &self.not_covered()));
        if let Some(Besides::Explored(memory, executions)) = self.besides {
            text.push_str(&format!("selvedge: {}\n", failure::also(memory, executions)));
        }
        if let Plain::Explored(executions) = self.plain_uses {
            text.push_str(&format!("selvedge: {}\n", failure::no_plain_use(executions)));
        }
        if let Some(why) = &self.undivided {
            text.push_str(&format!("selvedge: {why}\n"));
        }
        text
    }

    /// What was found, and why the answer is not certain.
    fn findings(&self, look: Look) -> String {
        let doubts = &self.report().inconclusive;
        let unreliable =
            doubts.iter().find(|doubt| matches!(doubt, Inconclusive::Nondeterministic(_)));
        if let Some(reason) = unreliable {
            return self.doubted(reason);
        }
        let mut text: String =
            self.failures().iter().map(|failure| failure::of_failure(look, failure)).collect();
        for doubt in doubts {
            match (self.verdict(), doubt) {
                (Verdict::Inconclusive, reason) => {
                    text.push_str(&self.doubted(reason));
                }
                // It may be the reason for what is wrong.
                (Verdict::Violated, Inconclusive::GaveUp(reason)) => {
                    text.push_str(&format!("selvedge: besides: {reason}\n"));
                }
                _ => {}
            }
        }
        text
    }

    /// A reason why nothing is proved, with the next step.
    fn doubted(&self, reason: &Inconclusive) -> String {
        let Advice { what, next } = (self.found_out.advice)(reason);
        let next: String = next.iter().map(|line| format!("  {line}\n")).collect();
        format!("selvedge: inconclusive: {what}\n{next}")
    }

    /// What was not explored, and might show something wrong.
    pub(crate) fn not_proved(&self) -> Vec<String> {
        let weak = match &self.besides {
            _ if !self.weak || self.memory.is_some() => None,
            None => Some(failure::WEAK.to_owned()),
            Some(Besides::Explored(..)) => None,
            Some(Besides::NotAll(memory, executions)) => {
                Some(failure::not_all(*memory, *executions))
            }
        };
        let is_unseen = self.plain_uses == Plain::Unseen && self.verdict() != Verdict::Violated;
        let plain = is_unseen.then(|| failure::PLAIN.to_owned());
        weak.into_iter().chain(plain).chain(self.bounded.clone()).collect()
    }

    /// All that was not explored.
    pub(crate) fn not_covered(&self) -> Vec<String> {
        self.not_proved().into_iter().chain(self.left_out.clone()).collect()
    }

    /// Says in the report what was explored besides.
    pub(crate) fn describe_memory(&mut self) {
        let about = match &self.besides {
            None => return,
            Some(Besides::Explored(memory, executions)) => failure::also(*memory, *executions),
            Some(Besides::NotAll(memory, executions)) => failure::not_all(*memory, *executions),
        };
        let facts = &mut self.found_out.report.facts;
        facts.retain(|fact| fact.name != "memory");
        facts.push(Fact { name: "memory", value: FactValue::Text(about) });
    }

    fn how(&self) -> &'static str {
        match &self.found_out.method {
            Method::Explored { algorithm, .. } => algorithm,
            Method::Symbolic(encoding, _) => encoding.symbolic,
        }
    }

    /// Returns the report as JSON, with the fields of `selvedge check --json`.
    pub fn json(&self) -> String {
        to_text(&self.found_out)
    }

    /// Returns the report as one HTML page, with the executions of the violations.
    pub fn html(&self) -> String {
        page(&self.found_out)
    }

    /// Writes the report to a file: as JSON or as a page if its name says so.
    pub(crate) fn write_to(&self, path: &Path) -> Result<(), String> {
        let text = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => self.json(),
            Some("html") => self.html(),
            _ => self.text(),
        };
        selvedge_report::write_whole(path, &text)
            .map_err(|error| format!("cannot write the report to {}: {error}", path.display()))
    }
}
