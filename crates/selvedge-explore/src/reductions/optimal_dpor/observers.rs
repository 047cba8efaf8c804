//! Optimal-DPOR with observers: writes and sends are ordered only if a later step tells their order.
//!
//! S. Aronis, B. Jonsson, M. Lång, K. Sagonas: *Optimal Dynamic Partial Order Reduction with Observers*, TACAS 2018.
//!
//! | paper | here |
//! |---|---|
//! | an observer `o` of `e` and `e'` | a read that finds one of several writes; `observers/objects.rs` |
//! | `e` before `e'` because of `o` | `Line::overwrite` in `observers/line.rs` |
//! | a wakeup sequence that ends in `e'.e.o` | an alternative of the read: see below |
//!
//! **Equivalence:** two executions are equivalent if they have the same events, every read of a variable finds the same write,
//! reads come before and after the same writes, and dependent accesses to anything else come in the same order; but for sends to
//! mailboxes of which no receive, in any execution, can tell the order. So two writes are ordered exactly if something is between
//! them, or if a read finds one of them after both.
//! **Guarantee:** every class is explored, and mostly once: executions that turn out to be equivalent to others are counted as
//! redundant.
//! **Differs from the paper:**
//! 1. The paper lets sequences in wakeup trees and sleep sets speak of later observers. Here a write is put down
//!    in no order, and the first read after several writes has *alternatives*: which of them came last. So
//!    the traces of the program in `observers/system.rs` are the classes, and `optimal.rs` explores them as it is.
//! 2. Observed in the order of their accesses are: variables that a step waits for, or accesses together with others in one
//!    step; variables that the end of an execution reads, if the order decides what it finds; and mailboxes with a receive that
//!    could take one of several messages. Which ones shows as the program runs; the search then starts again.
//!
//! **Cost:** as `optimal`, and a part of the execution is run again when a read finds another write than the last one.
//! **Tests:** `selvedge-testkit/tests/observers.rs`: classes by definition, on all small programs and on random ones.

mod lessons;
mod line;
mod mailboxes;
mod objects;
mod system;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use selvedge_core::{
    Bound, Conditions, Effect, Ended, Ending, Execution, Report, Schedule, Status, Step, System,
    ThreadId,
};

use self::lessons::Lessons;
use self::line::Line;
use self::system::Observed;
use crate::options::{Observer, Options, Progress};
use crate::reductions::optimal_dpor::optimal::Optimal;
use crate::search::depth_first::{Reduction as _, to_the_end};
use crate::search::run::Run;

const END_NOT_TOLD: &str = "`--observers` needs to know which variables the end of an execution reads, and this front end \
                            does not report them (System::judging); implement it, or leave out the option";

const FREED: &str = "`--observers` does not follow in which order memory is freed and accessed; leave out the option";

/// As `optimal`, with observers.
pub(super) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let (line, lessons) = (Rc::default(), Rc::default());
    let mut observer = Told { observer, line: Rc::clone(&line) };
    let observed = || Observed::new(make(), &line, &lessons);
    let mut run = Run::new(&observed, options, &mut observer);
    run.only_if(Observed::is_possible);
    let mut optimal = Optimal::with_redundancy();
    let mut told = 0;
    loop {
        to_the_end(&mut run, &mut optimal);
        for (_, schedule) in &mut run.report().violations[told..] {
            *schedule = as_run(make, &lessons, schedule);
        }
        told = run.report().violations.len();
        if run.is_stopped() {
            break;
        }
        if lessons.borrow_mut().apply() {
            run.start_again();
            run.system().forget_lessons();
            optimal = Optimal::with_redundancy();
        } else if !optimal.go_back(&mut run) {
            break;
        }
    }
    if lessons.borrow().is_blind {
        run.give_up(END_NOT_TOLD.to_owned());
    }
    if lessons.borrow().has_freed {
        run.give_up(FREED.to_owned());
    }
    run.into_report()
}

/// Returns the schedule of the program itself for one of the program with observers.
fn as_run<S: System>(
    make: &dyn Fn() -> S,
    lessons: &Rc<RefCell<Lessons>>,
    schedule: &Schedule,
) -> Schedule {
    let line = Rc::default();
    let mut system = Observed::new(make(), &line, lessons);
    system.restart();
    let mut effect = Effect::default();
    // Threads are numbered in the order in which they are created: `Schedule::fresh`. A system may know some from before.
    let mut created: Vec<ThreadId> = Vec::new();
    for &step in &schedule.steps {
        for thread in (0..system.thread_count()).map(ThreadId::new) {
            if system.status(thread) != Status::Absent && !created.contains(&thread) {
                created.push(thread);
            }
        }
        let thread = created[step.thread.index()];
        system.step(Step { thread, ..step }, &mut effect);
    }
    let steps = line.borrow().steps();
    Schedule::fresh(&mut system.system, &steps)
}

/// Tells the observer of executions as they were run.
struct Told<'a> {
    observer: &'a mut dyn Observer,
    line: Rc<RefCell<Line>>,
}

impl Observer for Told<'_> {
    fn begins(&mut self) {
        self.observer.begins();
    }

    fn ended(&mut self, _: &[Step], how: Ended) {
        self.observer.ended(&self.line.borrow().steps(), how);
    }

    fn execution(&mut self, _: &Execution, ending: Ending) {
        self.observer.execution(&self.line.borrow().execution(), ending);
    }

    fn state(&mut self, conditions: &mut dyn Conditions, ending: Ending) {
        self.observer.state(conditions, ending);
    }

    fn wants_steps(&self) -> bool {
        self.observer.wants_steps()
    }

    fn found(&mut self, report: &Report) {
        self.observer.found(report);
    }

    fn now(&self) -> Duration {
        self.observer.now()
    }

    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.observer.poll(progress)
    }
}
