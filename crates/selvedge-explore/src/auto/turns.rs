//! The turns of the two searches.
//!
//! Where a turn ends is counted in the work of executions, in the order in which one worker alone runs them, and never by what some
//! worker has done meanwhile: so both searches are asked at the same places whatever the number of workers, and after an
//! interruption.

use std::cell::RefCell;
use std::time::Duration;

use selvedge_core::{Bound, Conditions, Ended, Ending, Execution, Report, Step, System, grouped};

use super::traces::{Traces, Turn};
use super::{NoAnswer, TRACES, decided, is_settled, with_violations, without_states};
use crate::division::until::{Until, work};
use crate::options::{Observer, Options, Progress};
use crate::states::{self, Search};

/// The observer of both searches, one at a time.
pub(super) type Shared<'o> = RefCell<&'o mut dyn Observer>;

/// What the search of states tells while it is not known whether it will decide: only that it goes on.
pub(super) struct Quiet<'a, 'o>(pub(super) &'a Shared<'o>);

impl Observer for Quiet<'_, '_> {
    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.0.borrow_mut().poll(progress)
    }
}

/// What the search of traces tells: everything.
pub(super) struct Told<'a, 'o>(pub(super) &'a Shared<'o>);

impl Observer for Told<'_, '_> {
    fn begins(&mut self) {
        self.0.borrow_mut().begins();
    }

    fn ended(&mut self, steps: &[Step], how: Ended) {
        self.0.borrow_mut().ended(steps, how);
    }

    fn execution(&mut self, execution: &Execution, ending: Ending) {
        self.0.borrow_mut().execution(execution, ending);
    }

    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        self.0.borrow_mut().state(conditions, ending);
    }

    fn wants_steps(&self) -> bool {
        self.0.borrow().wants_steps()
    }

    fn found(&mut self, report: &Report) {
        self.0.borrow_mut().found(report);
    }

    fn now(&self) -> Duration {
        self.0.borrow().now()
    }

    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.0.borrow_mut().poll(progress)
    }
}

/// Has states expanded until there are none left or a condition holds. Returns whether the search is over.
pub(super) type Advance<'a, S> =
    dyn FnMut(&mut Search<'_, S>, &dyn Fn(u64, usize) -> bool) -> bool + 'a;

/// The search of states, which has its turn now and then.
pub(super) struct OfStates<'a, 'e, S> {
    options: &'a Options,
    advance: &'e mut Advance<'e, S>,
    stands: Stands<'a, S>,
}

/// Where the search of states stands.
enum Stands<'a, S> {
    /// It goes on when it is its turn.
    Open(Box<Search<'a, S>>),
    /// It has the answer, and why it was asked for it.
    Decided(Box<Search<'a, S>>, String),
    /// What it has found, and why it does not go on.
    GivenUp(Box<Report>, NoAnswer),
}

impl<'a, 'e, S: System> OfStates<'a, 'e, S> {
    pub(super) fn new(
        search: Search<'a, S>,
        options: &'a Options,
        advance: &'e mut Advance<'e, S>,
    ) -> Self {
        Self { options, advance, stands: Stands::Open(Box::new(search)) }
    }

    /// Lets it take as many steps in all, as long as it has room.
    fn search(&mut self, most: u64, why: impl FnOnce() -> String) {
        let Stands::Open(search) = &mut self.stands else { return };
        let room = self.options.caps.state_bytes;
        let is_over = (self.advance)(search, &|steps, bytes| steps >= most || bytes > room);
        if !is_over && search.bytes_in_use() <= room {
            return;
        }
        let none = Stands::GivenUp(Box::default(), NoAnswer::Unfinished);
        let Stands::Open(search) = std::mem::replace(&mut self.stands, none) else { return };
        self.stands = match (is_over, search.has_answer()) {
            (true, true) => Stands::Decided(search, why()),
            (true, false) => Stands::GivenUp(Box::new(search.into_report()), NoAnswer::Unfinished),
            (false, _) => Stands::GivenUp(Box::new(search.into_report()), NoAnswer::NoRoom),
        };
    }

    /// Returns how much work a turn is that ends here.
    fn work_of(&self, of_traces: &Report) -> u64 {
        let Report { counts, steps, longest, .. } = of_traces;
        work(counts, *steps, *longest).max(self.options.caps.turn)
    }

    /// Returns up to where traces are searched next; nothing if neither search can prove anything more: an execution was cut, and
    /// states were given up.
    fn next_turn(&self, of_traces: &Report) -> Option<Until> {
        let first_cut = of_traces.counts.cut == 0;
        match self.stands {
            // Traces say so.
            Stands::GivenUp(..) if self.options.budget.is_spent() => Some(Until::default()),
            Stands::Open(_) => {
                let work = Some(2 * self.work_of(of_traces));
                Some(Until { work, first_cut, ..Until::default() })
            }
            Stands::GivenUp(..) => first_cut.then(|| Until { first_cut, ..Until::default() }),
            Stands::Decided(..) => None,
        }
    }

    /// Alternates with a search of traces until one of them decides, or both cannot. Returns the report of the one that decides.
    pub(super) fn take_turns(
        mut self,
        traces: &mut dyn Traces,
        observer: &Shared<'_>,
    ) -> Result<Report, String> {
        let turn = self.options.caps.turn;
        let mut until = Until { work: Some(turn), first_cut: true, ..Until::default() };
        loop {
            let of_traces = match traces.advance(until)? {
                Turn::Over(of_traces) => return Ok(self.decide(of_traces, observer)),
                Turn::Reached(of_traces) => of_traces,
            };
            self.search(self.work_of(&of_traces), || match of_traces.counts.cut {
                0 => format!("{} steps did not exhaust the traces", grouped(of_traces.steps)),
                _ => "an execution had no end within the limit of steps".to_owned(),
            });
            match self.next_turn(&of_traces) {
                Some(next) => until = next,
                None => return Ok(self.decide(of_traces, observer)),
            }
        }
    }

    /// Returns the report of the search that decides, when that of traces has ended or that of states has an answer.
    fn decide(mut self, of_traces: Report, observer: &Shared<'_>) -> Report {
        let executions = of_traces.counts.total();
        if !is_settled(&of_traces) {
            let most = self.options.caps.after_traces.max(16 * of_traces.steps);
            let reason = of_traces.inconclusive.first().map(ToString::to_string);
            self.search(most, || reason.unwrap_or_default());
        }
        let mut report = match self.stands {
            Stands::Decided(mut search, why) => {
                search.retell(&mut **observer.borrow_mut());
                let mut report = with_violations(search.into_report(), &of_traces);
                let before = Some((TRACES.name, executions));
                report.decision = Some(decided(states::INFO, before, Some(why)));
                return report;
            }
            _ if of_traces.inconclusive.is_empty() => of_traces,
            Stands::Open(search) => {
                without_states(of_traces, search.into_report(), NoAnswer::Unfinished)
            }
            Stands::GivenUp(of_states, why) => without_states(of_traces, *of_states, why),
        };
        report.decision = Some(decided(TRACES, None, None));
        report
    }
}
