//! The turns of the two searches: states are searched while traces wait to be asked whether to go on.

use std::cell::RefCell;
use std::time::Duration;

use selvedge_core::{Bound, Conditions, Ended, Ending, Execution, Report, Step, System, grouped};

use super::{decided, is_settled, traces, with_violations, without_states};
use crate::options::{Observer, Options, Progress};
use crate::states::{self, Search};

type Shared<'o> = RefCell<&'o mut dyn Observer>;

/// What the search of states tells while it is not known whether it will decide: only that it goes on.
pub(super) struct Quiet<'a, 'o>(pub(super) &'a Shared<'o>);

impl Observer for Quiet<'_, '_> {
    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.0.borrow_mut().poll(progress)
    }
}

/// Observes the search of traces, and has states searched now and then.
pub(super) struct Turns<'a, 'o, S> {
    observer: &'a Shared<'o>,
    options: &'a Options,
    states: OfStates<'a, S>,
    /// What traces had taken and run when they were last asked.
    steps: u64,
    /// Whether one of their executions was cut, so that they cannot prove anything.
    is_cut: bool,
    /// When it is the turn of states.
    due: u64,
}

/// Where the search of states stands.
enum OfStates<'a, S> {
    /// It goes on when it is its turn.
    Open(Box<Search<'a, S>>),
    /// It has the answer, and why it was asked for it.
    Decided(Box<Search<'a, S>>, String),
    /// It needs too much memory, or has no answer.
    GivenUp(Box<Report>),
}

impl<'a, 'o, S: System> Turns<'a, 'o, S> {
    pub(super) fn new(
        search: Search<'a, S>,
        options: &'a Options,
        observer: &'a Shared<'o>,
    ) -> Self {
        let states = OfStates::Open(Box::new(search));
        let due = options.caps.turn;
        Self { observer, options, states, steps: 0, is_cut: false, due }
    }

    /// Lets states take as many steps in all, as long as they have room.
    fn search_states(&mut self, most: u64, why: impl FnOnce() -> String) {
        let OfStates::Open(search) = &mut self.states else { return };
        let room = self.options.caps.state_bytes;
        let is_over = search.advance(|steps, bytes| steps >= most || bytes > room);
        if !is_over && search.bytes_in_use() <= room {
            return;
        }
        let none = OfStates::GivenUp(Box::default());
        let OfStates::Open(search) = std::mem::replace(&mut self.states, none) else { return };
        self.states = match is_over && search.has_answer() {
            true => OfStates::Decided(search, why()),
            false => OfStates::GivenUp(Box::new(search.into_report())),
        };
    }

    /// Returns the report of the search that decides, when that of traces has ended.
    pub(super) fn decide(mut self, of_traces: Report) -> Report {
        let executions = of_traces.counts.total();
        if !is_settled(&of_traces) {
            let most = self.options.caps.after_traces.max(16 * of_traces.steps);
            let reason = of_traces.inconclusive.first().map(ToString::to_string);
            self.search_states(most, || reason.unwrap_or_default());
        }
        let mut report = match self.states {
            OfStates::Decided(mut search, why) => {
                search.retell(&mut **self.observer.borrow_mut());
                let mut report = with_violations(search.into_report(), &of_traces);
                let before = Some((traces::INFO.name, executions));
                report.decision = Some(decided(states::INFO, before, Some(why)));
                return report;
            }
            OfStates::Open(search) if !is_settled(&of_traces) => {
                without_states(of_traces, search.into_report())
            }
            OfStates::GivenUp(of_states) if !is_settled(&of_traces) => {
                without_states(of_traces, *of_states)
            }
            OfStates::Open(_) | OfStates::GivenUp(_) => of_traces,
        };
        report.decision = Some(decided(traces::INFO, None, None));
        report
    }
}

impl<S: System> Observer for Turns<'_, '_, S> {
    fn begins(&mut self) {
        self.observer.borrow_mut().begins();
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        self.observer.borrow_mut().ended(steps, how);
    }

    fn execution(&mut self, execution: &Execution, ending: Ending) {
        self.observer.borrow_mut().execution(execution, ending);
    }

    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        self.observer.borrow_mut().state(conditions, ending);
    }

    fn wants_steps(&self) -> bool {
        self.observer.borrow().wants_steps()
    }

    fn found(&mut self, report: &Report) {
        self.steps = report.steps;
        if report.counts.cut > 0 && !self.is_cut {
            (self.is_cut, self.due) = (true, self.steps);
        }
        self.observer.borrow_mut().found(report);
    }

    fn now(&self) -> Duration {
        self.observer.borrow().now()
    }

    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        let stop = self.observer.borrow_mut().poll(progress);
        if stop.is_none() && self.steps >= self.due {
            let most = self.steps.max(self.options.caps.turn);
            let (steps, is_cut) = (self.steps, self.is_cut);
            self.search_states(most, || match is_cut {
                false => format!("{} steps did not exhaust the traces", grouped(steps)),
                true => "an execution had no end within the limit of steps".to_owned(),
            });
            self.due = 2 * most;
        }
        match self.states {
            OfStates::Decided(..) => Some(Bound::Work),
            _ => stop,
        }
    }
}
