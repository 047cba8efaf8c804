//! The result of an exploration.

use std::fmt;

use crate::schedule::Schedule;
use crate::statistics::Statistics;
use crate::violation::Violation;

/// How many executions of each kind.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Every thread finished (or one failed and the others ran as far as they could).
    pub complete: u64,
    /// A thread is blocked, and no thread can unblock it.
    pub deadlocked: u64,
    /// A thread is blocked by an `assume` that is false.
    pub blocked: u64,
    /// Abandoned because every enabled thread sleeps: the class was explored before.
    pub redundant: u64,
    /// Cut off at a bound.
    pub cut: u64,
}

impl Counts {
    /// Returns the number of maximal executions: one per class, for an optimal explorer.
    pub fn maximal(&self) -> u64 {
        self.complete + self.deadlocked + self.blocked
    }

    /// Returns the number of all executions.
    pub fn total(&self) -> u64 {
        self.maximal() + self.redundant + self.cut
    }
}

/// A limit that the user set, or a default one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// At most so many executions.
    Executions(u64),
    /// At most so many steps in an execution.
    Steps(usize),
    /// At most so many preemptions in an execution. `exact`: every execution within the bound was
    /// covered; otherwise a class may have been missed although it has one.
    Preemptions {
        /// The bound.
        most: u32,
        /// Whether everything within the bound was covered.
        exact: bool,
    },
    /// At most so many context switches in an execution, `exact` as for preemptions.
    ContextSwitches {
        /// The bound.
        most: u32,
        /// Whether everything within the bound was covered.
        exact: bool,
    },
    /// The time limit.
    Time,
    /// The memory limit.
    Memory,
    /// The limit on work.
    Work,
    /// The user asked to stop.
    Interrupted,
    /// Executions were picked at random.
    Sampling(u64),
}

fn preemptions(most: u32) -> String {
    let noun = if most == 1 { "preemption" } else { "preemptions" };
    format!("{most} {noun}")
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::Executions(1) => f.write_str("stopped after 1 execution"),
            Bound::Executions(most) => write!(f, "stopped after {most} executions"),
            Bound::Steps(most) => write!(f, "executions were cut after {most} steps"),
            Bound::Preemptions { most, exact: true } => {
                write!(f, "only executions with at most {} were covered", preemptions(*most))
            }
            Bound::Preemptions { most, exact: false } => write!(
                f,
                "executions with more than {} were cut, and with this algorithm some with fewer may \
                 be missing too",
                preemptions(*most)
            ),
            Bound::ContextSwitches { most, exact: true } => {
                write!(f, "only executions with at most {most} context switches were covered")
            }
            Bound::ContextSwitches { most, exact: false } => write!(
                f,
                "executions with more than {most} context switches were cut, and with this \
                 algorithm some with fewer may be missing too"
            ),
            Bound::Time => write!(f, "the time limit was reached"),
            Bound::Memory => write!(f, "the memory limit was reached"),
            Bound::Work => write!(f, "the limit on work was reached"),
            Bound::Interrupted => write!(f, "interrupted"),
            Bound::Sampling(executions) => {
                write!(f, "{executions} executions were sampled, not all")
            }
        }
    }
}

/// A reason why nothing was proved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inconclusive {
    /// A limit was reached.
    Bound(Bound),
    /// The program uses something that is not supported: a sentence that names it, with a hint.
    GaveUp(String),
}

impl fmt::Display for Inconclusive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inconclusive::Bound(bound) => bound.fmt(f),
            Inconclusive::GaveUp(reason) => f.write_str(reason),
        }
    }
}

/// The answer in one word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "an ignored verdict is an unreported bug"]
pub enum Verdict {
    /// Every class of executions was covered, and none violates a property.
    Verified,
    /// There is a violation.
    Violated,
    /// Neither: the search stopped early, or met something unsupported.
    Inconclusive,
}

impl Verdict {
    /// Returns its name in reports and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Verified => "verified",
            Verdict::Violated => "violated",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The result of an exploration. It is complete: nothing is only logged.
#[derive(Clone, Default, Debug)]
pub struct Report {
    /// Executions by kind.
    pub counts: Counts,
    /// Steps taken, without those that only restored a state.
    pub steps: u64,
    /// Length of the longest execution.
    pub longest: usize,
    /// The largest number of threads in one system.
    pub threads: usize,
    /// Distinct violations in the order in which they were found, each with a schedule that leads
    /// to it on a fresh system. Not yet replayed.
    pub violations: Vec<(Violation, Schedule)>,
    /// Data races met by a search that assumes that there are none, each with a schedule whose
    /// last step completes it. The verdict is then inconclusive.
    pub disregarded_races: Vec<(Violation, Schedule)>,
    /// Why nothing is proved, if nothing is: distinct, in the order in which it happened.
    pub inconclusive: Vec<Inconclusive>,
    /// Further results of the search.
    pub facts: Vec<Fact>,
    /// Statistics of the search, if they were requested and exist.
    pub statistics: Option<Box<Statistics>>,
}

/// A result that is specific to an algorithm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fact {
    /// What it is, in a few words; the same for every program.
    pub name: &'static str,
    /// Its value.
    pub value: FactValue,
}

/// The value of a [`Fact`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FactValue {
    /// How many.
    Count(u64),
    /// In words.
    Text(String),
}

impl Report {
    /// Returns the answer in one word.
    pub fn verdict(&self) -> Verdict {
        if !self.violations.is_empty() {
            Verdict::Violated
        } else if !self.inconclusive.is_empty() || !self.disregarded_races.is_empty() {
            Verdict::Inconclusive
        } else {
            Verdict::Verified
        }
    }

    /// Notes a reason why nothing is proved, once.
    pub fn note(&mut self, reason: Inconclusive) {
        if !self.inconclusive.contains(&reason) {
            self.inconclusive.push(reason);
        }
    }

    /// Adds a fact in words.
    pub fn fact(&mut self, name: &'static str, text: String) {
        self.facts.push(Fact { name, value: FactValue::Text(text) });
    }

    /// Adds a number.
    pub fn count(&mut self, name: &'static str, count: u64) {
        self.facts.push(Fact { name, value: FactValue::Count(count) });
    }

    /// Returns whether the same violation was found before.
    pub fn knows(&self, violation: &Violation) -> bool {
        self.violations.iter().any(|(known, _)| known.same_as(violation))
    }
}
