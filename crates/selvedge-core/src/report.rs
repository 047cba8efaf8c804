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

impl Bound {
    /// Returns its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Executions(_) => "executions",
            Bound::Steps(_) => "steps",
            Bound::Preemptions { .. } => "preemptions",
            Bound::ContextSwitches { .. } => "context-switches",
            Bound::Time => "time",
            Bound::Memory => "memory",
            Bound::Work => "work",
            Bound::Interrupted => "interrupted",
            Bound::Sampling(_) => "sampling",
        }
    }
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

/// A reason why nothing was proved. The only channel for doubts: whatever keeps a result from being a proof is one
/// of these, so that the verdict follows from the report alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Inconclusive {
    /// A limit was reached.
    Bound(Bound),
    /// The program uses something that is not supported: a sentence that names it, with a hint.
    GaveUp(String),
    /// The search assumes something about the program that may be false: a sentence that names it, with a hint.
    Assumed(String),
    /// The search assumes that there are no data races, and met this one. The last step of the schedule completes
    /// it. Not yet replayed.
    DataRace(Box<(Violation, Schedule)>),
    /// The same steps did not lead to the same state again: a sentence that says how two runs differ. Then nothing
    /// that was found can be relied on either.
    Nondeterministic(String),
}

impl Inconclusive {
    /// Returns the name of the kind of reason, in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Inconclusive::Bound(bound) => bound.name(),
            Inconclusive::GaveUp(_)
            | Inconclusive::Assumed(_)
            | Inconclusive::DataRace(_)
            | Inconclusive::Nondeterministic(_) => "gave-up",
        }
    }
}

impl fmt::Display for Inconclusive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inconclusive::Bound(bound) => bound.fmt(f),
            Inconclusive::GaveUp(reason)
            | Inconclusive::Assumed(reason)
            | Inconclusive::Nondeterministic(reason) => f.write_str(reason),
            Inconclusive::DataRace(race) => f.write_str(&race.0.message),
        }
    }
}

/// What a "verified" covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Covers {
    /// Assertions, `finally`, arithmetic, bounds and misuse.
    pub assertions: bool,
    /// Deadlocks.
    pub deadlocks: bool,
    /// Data races, if requested.
    pub data_races: bool,
}

impl Covers {
    /// All that can be checked.
    pub const EVERYTHING: Covers = Covers { assertions: true, deadlocks: true, data_races: true };
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
    /// Returns the verdict of a search that found a violation or did not, and has these doubts. The only definition.
    pub fn of(is_violated: bool, doubts: &[Inconclusive]) -> Self {
        let is_unreliable =
            doubts.iter().any(|doubt| matches!(doubt, Inconclusive::Nondeterministic(_)));
        match (is_violated, doubts) {
            (true, _) if !is_unreliable => Verdict::Violated,
            (false, []) => Verdict::Verified,
            _ => Verdict::Inconclusive,
        }
    }

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
    /// Distinct states that were reached, if the search tells them apart. Then only final states are counted as
    /// executions.
    pub states: Option<u64>,
    /// The largest number of threads in one system.
    pub threads: usize,
    /// Distinct violations in the order in which they were found, each with a schedule that leads
    /// to it on a fresh system. Not yet replayed.
    pub violations: Vec<(Violation, Schedule)>,
    /// Why nothing is proved, if nothing is: distinct, in the order in which it happened.
    pub inconclusive: Vec<Inconclusive>,
    /// Further results of the search.
    pub facts: Vec<Fact>,
    /// Whose result it is, of an explorer that chooses among others.
    pub decision: Option<Decision>,
    /// Statistics of the search, if they were requested and exist.
    pub statistics: Option<Box<Statistics>>,
}

/// Which of several explorers came to a result, and why it was that one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The name of the explorer whose result it is.
    pub explorer: &'static str,
    /// The name of the relation of which it explores one execution per class.
    pub equivalence: &'static str,
    /// Which explorer ran before, and how many executions; `None` if it was the first.
    pub before: Option<(&'static str, u64)>,
    /// Why it was this one, if there was anything to decide: a clause.
    pub why: Option<String>,
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
        Verdict::of(!self.violations.is_empty(), &self.inconclusive)
    }

    /// Returns the data races that were met by a search that assumes that there are none.
    pub fn disregarded_races(&self) -> impl Iterator<Item = &(Violation, Schedule)> {
        self.inconclusive.iter().filter_map(|reason| match reason {
            Inconclusive::DataRace(race) => Some(&**race),
            _ => None,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_follows_from_what_was_found_and_the_doubts() {
        let bound = Inconclusive::Bound(Bound::Time);
        let unreliable = Inconclusive::Nondeterministic("step 3 differs".to_owned());
        let doubts = [
            Inconclusive::GaveUp(String::new()),
            Inconclusive::Assumed(String::new()),
            bound.clone(),
        ];
        assert_eq!(Verdict::of(false, &[]), Verdict::Verified);
        assert_eq!(Verdict::of(true, &[]), Verdict::Violated);
        for doubt in doubts {
            assert_eq!(Verdict::of(false, std::slice::from_ref(&doubt)), Verdict::Inconclusive);
            assert_eq!(Verdict::of(true, &[doubt]), Verdict::Violated, "it was seen");
        }
        assert_eq!(Verdict::of(true, &[bound, unreliable]), Verdict::Inconclusive);
    }
}
