//! Compares what an explorer finds with what brute force finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use selvedge_core::{Ending, Inconclusive, Place, Schedule, Violation, ViolationKind};
use selvedge_explore::{Algorithm, Equivalence, Limits, Options, confirm};
use selvedge_lang::Interpreter;

use crate::classes::Class;
use crate::subject::{Findings, Subject};

/// How an explorer and brute force disagree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Disagreement {
    /// Two executions of one class end differently: the fault is in the footprints.
    Contradiction(Schedule, Schedule),
    /// A class was not visited; this is an execution of it.
    Missed(Schedule, Ending),
    /// A class was visited that does not exist, by this execution.
    Invented(Schedule, Ending),
    /// A class ends differently.
    Ending {
        /// An execution of it.
        schedule: Schedule,
        /// How it ends by brute force.
        expected: Ending,
        /// How the explorer says that it ends.
        found: Ending,
    },
    /// A violation was not found.
    MissedViolation(String),
    /// A violation was found that does not exist.
    InventedViolation(String),
    /// A violation could not be replayed.
    NotReplayed(String, String),
    /// The explorer stopped early.
    Inconclusive(Inconclusive),
    /// A class was visited more than once; this is the first execution of it.
    Again(Schedule, u64),
    /// The explorer or the interpreter panicked.
    Panicked(String),
    /// Executions were given up, although the explorer promises that none is.
    Redundant(u64),
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disagreement::Contradiction(a, b) => {
                write!(f, "{a} and {b} are of one class, but end differently")
            }
            Disagreement::Missed(schedule, ending) => {
                write!(f, "the class of {schedule} ({ending:?}) was not visited")
            }
            Disagreement::Invented(schedule, ending) => {
                write!(f, "the class of {schedule} ({ending:?}) does not exist")
            }
            Disagreement::Ending { schedule, expected, found } => {
                write!(f, "the class of {schedule} ends as {expected:?}, not as {found:?}")
            }
            Disagreement::MissedViolation(violation) => write!(f, "not found: {violation}"),
            Disagreement::InventedViolation(violation) => write!(f, "does not exist: {violation}"),
            Disagreement::NotReplayed(violation, reason) => {
                write!(f, "cannot be replayed: {violation}: {reason}")
            }
            Disagreement::Inconclusive(reason) => write!(f, "it stopped early: {reason}"),
            Disagreement::Again(schedule, times) => {
                write!(f, "the class of {schedule} was visited {times} times")
            }
            Disagreement::Panicked(message) => write!(f, "it panicked: {message}"),
            Disagreement::Redundant(times) => write!(f, "{times} executions were given up"),
        }
    }
}

/// Options for a complete search, of at most so many executions.
pub fn thorough(executions: u64) -> Options {
    Options {
        keep_going: true,
        limits: Limits { executions: Some(executions), ..Limits::default() },
        ..Options::default()
    }
}

/// Whether `found` has all that `expected`, from brute force, promises: the same classes, each at
/// least once, with the same endings, and the same violations.
///
/// # Errors
/// The first disagreement.
pub fn agree(
    algorithm: Algorithm,
    expected: &Findings,
    found: &Findings,
) -> Result<(), Disagreement> {
    if let Some(reason) = found.report.inconclusive.first() {
        return Err(Disagreement::Inconclusive(reason.clone()));
    }
    if let Some((a, b)) = &found.classes.contradiction {
        return Err(Disagreement::Contradiction(a.clone(), b.clone()));
    }
    match algorithm.info().equivalence {
        Equivalence::Interleaving | Equivalence::Mazurkiewicz => {
            same_classes(&expected.classes.traces, &found.classes.traces)?;
        }
        // Classes with observers are finer.
        Equivalence::Observation | Equivalence::Observers => {
            same_classes(&expected.classes.observations, &found.classes.observations)?;
        }
        Equivalence::State => {
            same_classes(&expected.classes.states, &found.classes.states)?;
        }
    }
    let (mut wanted, mut got) = (violations(expected), violations(found));
    if algorithm.info().equivalence == Equivalence::State {
        // The threads that wait in a deadlock may have other names.
        wanted = wanted.into_iter().map(without_names).collect();
        got = got.into_iter().map(without_names).collect();
    }
    if let Some(missed) = wanted.difference(&got).next() {
        return Err(Disagreement::MissedViolation(show(missed)));
    }
    if let Some(invented) = got.difference(&wanted).next() {
        return Err(Disagreement::InventedViolation(show(invented)));
    }
    Ok(())
}

/// Whether `found`, which may be incomplete, has nothing that `expected` has not.
///
/// # Errors
/// The first class or violation that does not exist.
pub fn nothing_invented(
    algorithm: Algorithm,
    expected: &Findings,
    found: &Findings,
) -> Result<(), Disagreement> {
    fn known<K: Ord>(
        wanted: &BTreeMap<K, Class>,
        got: &BTreeMap<K, Class>,
    ) -> Result<(), Disagreement> {
        let invented = got.iter().find(|(key, _)| !wanted.contains_key(key));
        invented.map_or(Ok(()), |(_, class)| {
            Err(Disagreement::Invented(class.example.clone(), class.ending))
        })
    }
    let (all, some) = (&expected.classes, &found.classes);
    match algorithm.info().equivalence {
        Equivalence::Interleaving | Equivalence::Mazurkiewicz => known(&all.traces, &some.traces)?,
        // Classes with observers are finer.
        Equivalence::Observation | Equivalence::Observers => {
            known(&all.observations, &some.observations)?
        }
        Equivalence::State => known(&all.states, &some.states)?,
    }
    let (wanted, got) = (violations(expected), violations(found));
    match got.difference(&wanted).next() {
        Some(invented) => Err(Disagreement::InventedViolation(show(invented))),
        None => Ok(()),
    }
}

fn same_classes<K: Ord>(
    wanted: &BTreeMap<K, Class>,
    got: &BTreeMap<K, Class>,
) -> Result<(), Disagreement> {
    for (key, class) in wanted {
        let example = || class.example.clone();
        match got.get(key) {
            None => return Err(Disagreement::Missed(example(), class.ending)),
            Some(other) if other.ending != class.ending => {
                return Err(Disagreement::Ending {
                    schedule: example(),
                    expected: class.ending,
                    found: other.ending,
                });
            }
            Some(_) => {}
        }
    }
    match got.iter().find(|(key, _)| !wanted.contains_key(key)) {
        Some((_, class)) => Err(Disagreement::Invented(class.example.clone(), class.ending)),
        None => Ok(()),
    }
}

/// What tells two violations apart.
type Told = (ViolationKind, String, Vec<Place>);

fn violations(findings: &Findings) -> BTreeSet<Told> {
    let told = |violation: &Violation| {
        (violation.kind, violation.message.clone(), violation.places.clone())
    };
    findings.report.violations.iter().map(|(violation, _)| told(violation)).collect()
}

fn without_names((kind, message, mut places): Told) -> Told {
    places.sort();
    let message = if kind == ViolationKind::Deadlock { String::new() } else { message };
    (kind, message, places)
}

fn show((kind, message, places): &Told) -> String {
    let places: Vec<String> = places.iter().map(Place::to_string).collect();
    format!("{kind}: {message} at {}", places.join(", "))
}

/// Whether every class was visited once, and no execution was given up.
///
/// An optimal explorer promises it.
///
/// # Errors
/// The first class that was visited again, or how many executions were given up.
pub fn exactly_once(found: &Findings) -> Result<(), Disagreement> {
    if let Some(class) = found.classes.traces.values().find(|class| class.times > 1) {
        return Err(Disagreement::Again(class.example.clone(), class.times));
    }
    match found.report.counts.redundant {
        0 => Ok(()),
        times => Err(Disagreement::Redundant(times)),
    }
}

/// Whether every violation of `found` is seen again when its schedule is replayed on a fresh
/// interpreter.
///
/// # Errors
/// The first one that is not.
pub fn replays(subject: &Subject, found: &Findings) -> Result<(), Disagreement> {
    let make = || Interpreter::new(subject.program().clone());
    for (violation, schedule) in &found.report.violations {
        let confirmed = confirm(&make, violation, schedule);
        confirmed
            .map_err(|error| Disagreement::NotReplayed(violation.message.clone(), error.reason))?;
    }
    Ok(())
}
