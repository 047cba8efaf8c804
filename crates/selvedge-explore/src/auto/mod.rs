//! Traces first, and states if there are fewer of them: the default for models.
//!
//! Few traces are explored faster than states, and their executions can be inspected; but threads that loop have infinite
//! traces, and threads that interact often have more traces than states. Which case it is, is not known in advance. So two
//! searches alternate, each of which would decide alone: `parsimonious`, and when that has taken as many steps as [`Caps::turn`] or
//! had to cut an execution, `states`, for as many steps. Then the first one continues, for twice as many; and so on. The one
//! that finishes first decides, so the time is at most about twice that of the better one. Steps that only restore a state count
//! too, though less (`division/until.rs`): where a thread spins, each execution is a few steps longer than the one before.
//!
//! **Equivalence:** that of the search that decides; [`Report::decision`] says which one, and why.
//! **Guarantee:** that of the search that decides. No verdict is weaker than that of `parsimonious` alone: if states need too
//! much memory ([`Caps::state_bytes`]), or their search does not finish while that of traces does, the answer is that of traces.
//! But where an execution was cut, traces alone prove nothing, and states that need too much memory end the search.
//! **Where there is no choice** (data races and limits are about executions; a system that cannot save its state has no
//! states), it is `parsimonious`; with a bound on switches `optimal`, which runs the execution of a class with the fewest.
//! **Several workers** divide both searches, and each turn ends where it ends for one worker (`turns.rs`).
//! **Cost:** steps are counted, not time: the same program has the same answer on every machine.
//! **Tests:** `selvedge-testkit/tests/auto.rs`: random programs and all in `programs/`, with turns of all lengths, against
//! searches that share no code with this one.
//!
//! [`Caps::turn`]: crate::Caps::turn
//! [`Caps::state_bytes`]: crate::Caps::state_bytes

mod traces;
mod turns;

use std::cell::RefCell;

use selvedge_core::{Bound, Decision, Inconclusive, Report, System, Verdict, grouped};

use crate::division::{Divided, Division, Frontier, Pending, crew};
use crate::options::{Limits, Observer, Options};
use crate::reductions::{optimal_dpor::optimal, parsimonious};
use crate::registry::{Covers, Equivalence, Explorer, Info, Setting};
use crate::states;
use traces::{Alone, InParts};
use turns::{OfStates, Quiet, Told};

/// What explores traces.
const TRACES: Info = parsimonious::INFO;

/// Chooses between traces and states.
#[derive(Clone, Copy, Debug)]
pub struct Auto;

impl Auto {
    /// What users should know about it.
    pub const INFO: Info = Info {
        name: "auto",
        summary: "traces first, and states if there are fewer of them",
        advice: "For models, by default: it takes `parsimonious` for programs with few traces and `states` for those that \
                 loop or whose traces outnumber their states, and says which of them decided, and why.",
        paper: "those of `parsimonious` and `states`",
        equivalence: Equivalence::Mazurkiewicz,
        covers: Covers::EVERYTHING,
        optimal: false,
        chooses_from: &[TRACES.name, states::INFO.name, optimal::INFO.name],
        settings: &[Setting::SwitchBounds, Setting::Fairness, Setting::Division],
    };
}

impl Explorer for Auto {
    fn info(&self) -> Info {
        Self::INFO
    }

    fn explore<S: System>(
        &self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        if only_traces(options).is_some() {
            return traces_alone(make, options, observer);
        }
        // One system at a time: those of compiled programs share their memory.
        let (saves, has_promises) = {
            let mut system = make();
            (system.states().is_some(), system.promises().is_some())
        };
        if !saves {
            return traces_alone(make, options, observer);
        }
        if has_promises {
            return promised(states::explore(make, options, observer));
        }
        let shared = RefCell::new(observer);
        let mut quiet = Quiet(&shared);
        let search = states::begin(make, options, &mut quiet);
        let mut told = Told(&shared);
        let root = Pending::root();
        let worker = parsimonious::worker(make, options, &mut told, &root);
        let worker = worker.expect("internal error: every program has the empty unit");
        let mut advance = |search: &mut states::Search<'_, S>,
                           is_enough: &dyn Fn(u64, usize) -> bool| {
            search.advance(is_enough)
        };
        let turns = OfStates::new(search, options, &mut advance);
        let report = turns.take_turns(&mut Alone { worker, options }, &shared);
        report.expect("internal error: one worker has no unit from elsewhere")
    }
}

/// Explores in parts, with several workers: the report is that of [`Auto`].
pub(crate) fn in_parts<S: System + Send + 'static>(
    make: &(dyn Fn() -> S + Sync),
    options: &Options,
    observer: &mut dyn Observer,
    division: Division<'_>,
) -> Result<Divided, String> {
    let (saves, has_promises) = {
        let mut system = make();
        (system.states().is_some(), system.promises().is_some())
    };
    if only_traces(options).is_some() || !saves {
        let mut divided =
            crew::explore(parsimonious::begin::<S>, make, options, observer, division)?;
        divided.report.decision = Some(without_choice(options));
        return Ok(divided);
    }
    if has_promises {
        let report = promised(states::explore_states(make, options, observer));
        return Ok(Divided { report, left: Frontier::root() });
    }
    let Division { jobs, start, keeper } = division;
    let shared = RefCell::new(observer);
    let mut quiet = Quiet(&shared);
    let mut search = states::begin(make, options, &mut quiet);
    let mut advance = states::advance_by(&mut search, make, jobs);
    let turns = OfStates::new(search, options, &mut advance);
    let mut traces = InParts { make, options, observer: &shared, jobs, frontier: start, keeper };
    let report = turns.take_turns(&mut traces, &shared)?;
    Ok(Divided { report, left: traces.frontier })
}

/// Says why states were searched.
fn promised(mut report: Report) -> Report {
    let why = "promises are about executions without end".to_owned();
    report.decision = Some(decided(states::INFO, None, Some(why)));
    report
}

/// Returns why there is no choice, if the options leave none.
fn only_traces(options: &Options) -> Option<&'static str> {
    let Limits { executions, steps, preemptions, context_switches } = options.limits;
    let is_limited = executions.is_some()
        || steps != Limits::default().steps
        || preemptions.is_some()
        || context_switches.is_some();
    if options.data_races {
        Some("data races are about executions")
    } else if is_limited {
        Some("there is a limit on executions")
    } else {
        None
    }
}

/// Returns the one that explores traces if there is no choice.
fn alone(options: &Options) -> Info {
    let Limits { preemptions, context_switches, .. } = options.limits;
    match preemptions.is_some() || context_switches.is_some() {
        true => optimal::INFO,
        false => TRACES,
    }
}

fn traces_alone<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut report = match alone(options).name == TRACES.name {
        true => parsimonious::explore(make, options, observer),
        false => optimal::explore(make, options, observer),
    };
    report.decision = Some(without_choice(options));
    report
}

/// Returns the decision where there is no choice.
pub(crate) fn without_choice(options: &Options) -> Decision {
    let why = only_traces(options).unwrap_or("it cannot save its state");
    decided(alone(options), None, Some(why.to_owned()))
}

fn decided(by: Info, before: Option<(&'static str, u64)>, why: Option<String>) -> Decision {
    Decision { explorer: by.name, equivalence: by.equivalence.name(), before, why }
}

/// Adds what else is known to be wrong.
fn with_violations(mut report: Report, other: &Report) -> Report {
    for (violation, schedule) in &other.violations {
        if !report.knows(violation) {
            report.violations.push((violation.clone(), schedule.clone()));
        }
    }
    report
}

/// Returns whether a report leaves nothing open that another search may answer: it is an answer, or something ended the search
/// that would end others too.
fn is_settled(report: &Report) -> bool {
    let ends_all = |doubt: &Inconclusive| matches!(doubt, Inconclusive::Bound(bound) if !matches!(bound, Bound::Steps(_)));
    report.verdict() != Verdict::Inconclusive || report.inconclusive.iter().any(ends_all)
}

/// Why the search of states has no answer.
#[derive(Clone, Copy)]
enum NoAnswer {
    /// It needs more memory than [`Caps::state_bytes`](crate::Caps::state_bytes).
    NoRoom,
    /// It did not come to an end.
    Unfinished,
}

/// Says in a report of traces, which is not a proof, what the search of states has found, and why it has no answer.
fn without_states(report: Report, of_states: Report, why: NoAnswer) -> Report {
    let count = match (of_states.states, why) {
        (Some(count), _) => grouped(count),
        // Not even the initial state was expanded.
        (None, NoAnswer::NoRoom) => grouped(1),
        (None, NoAnswer::Unfinished) => return report,
    };
    let mut report = with_violations(report, &of_states);
    match why {
        _ if is_settled(&report) => {
            let more = match why {
                NoAnswer::NoRoom => "there are more, which do not fit",
                NoAnswer::Unfinished => "there may be more",
            };
            report.fact("states", format!("{count} were reached, and {more}"));
        }
        NoAnswer::NoRoom => {
            let reason = format!(
                "the states do not fit either: {count} were reached, and there are more; make the program smaller (--const), \
                 or let the states use all of the memory: --algorithm states"
            );
            // It says more than that executions were cut.
            report.inconclusive.insert(0, Inconclusive::GaveUp(reason));
        }
        NoAnswer::Unfinished => report.note(Inconclusive::GaveUp(format!(
            "`states` did not finish within {count} states either; to search states without this limit: --algorithm states"
        ))),
    }
    report.facts.extend(of_states.facts);
    report
}
