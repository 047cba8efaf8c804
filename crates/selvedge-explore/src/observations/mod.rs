//! Data-centric DPOR: one execution per observation class.
//!
//! M. Chalupa, K. Chatterjee, A. Pavlogiannis, N. Sinha, K. Vaidya: *Data-centric Dynamic Partial Order
//! Reduction*, POPL 2018. Comments `[l.N]` name the lines of Algorithm 2, `DC-DPOR(t, A)`; in `realize.rs` those of
//! Algorithm 1, `Realize`.
//!
//! | paper | here |
//! |---|---|
//! | observation function `O_t` | `Vertex::source` |
//! | positive annotation `A⁺` | the events of a [`Branch::base`](branch::Branch::base), each with what it observes |
//! | causal past cone `Past_t(r)` | `Graph::clock` |
//! | basis | a [`Cut`](graph::Cut) of the current execution |
//! | mutation `(r, w)` | [`Child`](branch::Child) |
//! | negative annotation `A⁻` | `Branch::seen` |
//! | `Realize` | `realize.rs`, `two_sat.rs` |
//!
//! **Equivalence:** observation: the same events, and every read observes the same write. Of
//! everything else that is shared (locks, semaphores, condition variables, mailboxes, variables that a
//! step waits for, variables of atomic blocks with several accesses) the order of accesses that do not
//! commute.
//! **Guarantee:** at least one maximal execution per class; exactly one, and no redundant one, except
//! where a step can be made to wait by several steps that commute with each other (a writer by the
//! readers of a reader-writer lock, an `await` by writes to several variables).
//! **Differs from the paper:**
//! 1. *No forbidden sets.* The paper forbids single observations (`A⁻`), which loses classes:
//!    `write x; read x; write y ‖ read x; write x` has 4, of which it finds 3. What is excluded must be the
//!    whole causal past of the write together with the observation. Here that holds by
//!    construction: below a branch, classes part by the event *with its past* that a read observes, so
//!    that siblings have nothing in common, and nothing need be forbidden, steered away from or thrown away.
//! 2. *Mostly no realizability question.* When a write `w` is executed that an earlier read `r` of a
//!    branch could observe, the events of the branch and the past of `w`, in the order of the
//!    current execution, then `r`: that is a witness. Only writes from before the branch pose the question.
//! 3. *Everything blocks or reads.* Steps that can wait, read-modify-writes, compare-exchange, try-locks,
//!    alternatives and ends of executions: see `discover.rs`.
//! 4. *Locks* are observed: in which order they are taken. Then deadlocks are covered. The paper's way is in
//!    `unobserved.rs` (`Locks::Unobserved`).
//! 5. *Cyclic architectures* need no refinement: `realize.rs` is exact for all. The refinement exists too
//!    (`Cycles::Refine`).
//!
//! **Cost:** per event, time linear in the accesses of its object; per child, linear in the
//! length of the execution; per realizability question, see `realize.rs`. Memory for the children that are
//! known along the current path.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle on all small and on random programs,
//! golden programs, deliberate mistakes.

mod architecture;
mod branch;
mod discover;
mod finals;
mod graph;
mod lessons;
mod parts;
mod print;
mod readings;
mod realize;
mod replay;
mod schedule;
mod two_sat;
mod unobserved;

use selvedge_core::{
    Access, Effect, EventId, Mode, ObjectId, Position, Report, Step, System, ThreadId,
};

use crate::options::{Cycles, Locks, Observer, Options};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::run::Run;
use crate::search::share::share_done;

use architecture::Architecture;
use branch::{Branch, Role, Subject};
use graph::{Discipline, Graph};
use lessons::Lessons;
use realize::Realizer;

pub(crate) const INFO: Info = Info {
    name: "data-centric",
    summary: "one execution per observation class: which write each read observes",
    advice: "Fewer executions than `optimal` where variables are written more often than they are \
             read. Each execution costs more, and data races are not detected.",
    paper: "Chalupa, Chatterjee, Pavlogiannis, Sinha, Vaidya, POPL 2018",
    equivalence: Equivalence::Observation,
    covers: Covers { assertions: true, deadlocks: true, data_races: false },
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::Observations, Setting::Statistics],
};

const NO_SWITCHES: &str = "bounds on preemptions and context switches do not apply to `data-centric`: \
                           executions of one observation class differ in them; leave out the \
                           bound, or use another algorithm";

/// Executions with the same observations may differ in which write to a variable is the last.
const END_NOT_TOLD: &str = "`data-centric` needs to know which variables the end of an execution reads, \
                            and this front end does not report them (System::judging); implement it, or \
                            use another algorithm";

/// Returns whether the thread might still write the variable, as far as the system knows.
fn may_write<S: System>(system: &mut S, thread: ThreadId, variable: ObjectId) -> bool {
    system.foresight().is_none_or(|system| system.may_write(thread, variable))
}

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    if options.limits.preemptions.is_some() || options.limits.context_switches.is_some() {
        // Nothing is explored, so there is nothing to tell about it.
        let mut run = Run::new(make, options, observer);
        run.give_up(NO_SWITCHES.to_owned());
        return run.into_report();
    }
    match options.locks {
        Locks::Observed => explore_observing_locks(make, options, observer),
        Locks::Unobserved => unobserved::explore(make, options, observer).unwrap_or_else(|| {
            let mut report = explore_observing_locks(make, options, observer);
            report.fact("unobserved locks", "not used: a thread can deadlock".to_owned());
            report
        }),
    }
}

fn explore_observing_locks<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut search = DataCentric {
        run: Run::new(make, options, observer),
        graph: Graph::default(),
        branches: Vec::new(),
        roles: Vec::new(),
        realizer: Realizer::new(&options.budget),
        architecture: Architecture::default(),
        lessons: Lessons::default(),
        pending: Effect::default(),
        children: 0,
        learned: false,
    };
    search.extend();
    loop {
        if search.learned {
            search.start_again();
            search.extend();
            continue;
        }
        search.run.after_execution(&|| fraction(&search.branches));
        if search.run.is_stopped() || !search.next_child() {
            return search.into_report();
        }
        search.extend();
    }
}

struct DataCentric<'a, S> {
    run: Run<'a, S>,
    /// The execution of `run`, with causality instead of happens-before.
    graph: Graph,
    branches: Vec<Branch>,
    /// Of each thread, of each of its events: what it is to a branch.
    roles: Vec<Vec<Option<Role>>>,
    realizer: Realizer,
    architecture: Architecture,
    lessons: Lessons,
    pending: Effect,
    /// Children explored: the paper's annotations.
    children: u64,
    /// An object must be treated more strictly than it was: what was explored is void.
    learned: bool,
}

impl<S: System> DataCentric<'_, S> {
    /// Runs on to the end of an execution.
    fn extend(&mut self) {
        // [l.6]
        while !self.run.is_stopped() && !self.learned {
            let next = self.run.enabled_in_order().next();
            let Some(thread) = next else {
                return self.finish();
            };
            if self.run.is_at_step_limit() {
                self.discover_at_end();
                return self.run.finish_cut();
            }
            self.step_freely(Step::of(thread));
            self.run.after_step(&|| fraction(&self.branches));
        }
    }

    /// Takes a step that the search is free to choose, and makes a branch of it if it may act
    /// differently elsewhere.
    fn step_freely(&mut self, step: Step) {
        self.step(step);
        if self.run.is_stopped() || self.learned {
            return;
        }
        let position = Position::new(self.graph.len() - 1);
        // [l.2] For the reads of all branches above.
        self.discover(position);
        let event = self.run.execution.event(position);
        let is_fixed = |access: &Access| {
            let observed = self.graph.discipline(access.object) == Discipline::Observed;
            access.mode.is_cause() || access.mode == Mode::Write && observed
        };
        let fixed = self.run.execution.accesses(position).iter().all(is_fixed);
        // [l.1]
        if !fixed || event.choices > 1 {
            self.branch(position);
        }
    }

    /// Takes a step and adds its event to the graph.
    fn step(&mut self, step: Step) {
        self.run.step(step);
        let position = Position::new(self.run.execution.len() - 1);
        self.learn(position);
        self.graph.push(&self.run.execution, position);
        let mut grown = false;
        for access in self.run.execution.accesses(position) {
            grown |= self.architecture.note(step.thread, *access);
        }
        if grown && self.run.options.cycles == Cycles::Refine {
            for object in self.architecture.refined() {
                self.learned |= self.graph.restrict(object, Discipline::OrderedWrites);
            }
        }
    }

    /// Finds out which objects cannot be treated as variables of which only observations matter.
    fn learn(&mut self, position: Position) {
        let event = self.run.execution.event(position);
        let accesses = self.run.execution.accesses(position);
        self.learned |= self.lessons.learn(&mut self.graph, accesses, event.flexibility);
    }

    /// Restarts, with what was learned.
    fn start_again(&mut self) {
        self.learned = false;
        self.branches.clear();
        self.roles.clear();
        self.graph.truncate(0);
        self.run.start_again();
    }

    /// Returns what the event is to a branch, if it is anything.
    fn role(&self, id: EventId) -> Option<Role> {
        self.roles.get(id.thread.index())?.get(id.nth as usize).copied().flatten()
    }

    fn set_role(&mut self, id: EventId, role: Option<Role>) {
        let thread = id.thread.index();
        if self.roles.len() <= thread {
            self.roles.resize_with(thread + 1, Vec::new);
        }
        let of_thread = &mut self.roles[thread];
        if of_thread.len() <= id.nth as usize {
            of_thread.resize(id.nth as usize + 1, None);
        }
        of_thread[id.nth as usize] = role;
    }

    fn push_branch(&mut self, branch: Branch) {
        if let Some(event) = branch.event() {
            self.set_role(event, Some(Role::Own(self.branches.len())));
        }
        self.branches.push(branch);
    }

    /// Leaves the current child of the branch, which is the last one.
    fn leave_child(&mut self) {
        let branch = self.branches.last_mut().expect("internal error: no branch to leave");
        let absent = std::mem::take(&mut branch.absent);
        let own = branch.event().filter(|_| !absent);
        let ahead = std::mem::take(&mut branch.ahead);
        for event in own.into_iter().chain(ahead) {
            self.set_role(event, None);
        }
    }

    /// Judges the execution, which is maximal.
    fn finish(&mut self) {
        self.discover_at_end();
        if self.learned || self.run.is_stopped() {
            return;
        }
        self.branch_on_last_writes();
        if self.is_forbidden() { self.run.finish_redundant() } else { self.run.finish() }
    }

    /// Returns whether the execution belongs to an earlier child of a branch on the path: one in which
    /// another event made the branch's step wait. Only if several of them commute.
    fn is_forbidden(&self) -> bool {
        self.branches.iter().any(|branch| {
            let (true, Subject::Event(event)) = (branch.absent, branch.subject) else {
                return false;
            };
            let [earlier @ .., _] = branch.disablers.as_slice() else { return false };
            let end = self.graph.find(event).map_or(self.graph.len(), Position::index);
            !earlier.is_empty()
                && self.graph.vertices()[..end].iter().any(|other| earlier.contains(&other.print))
        })
    }

    fn into_report(self) -> Report {
        let effort = self.realizer.effort;
        let cycles = self.run.options.cycles;
        let mut report = self.run.into_report();
        let ordered =
            self.graph.disciplines().filter(|&it| it == Discipline::OrderedWrites).count();
        let mode = match cycles {
            Cycles::Exact => "observable locks, exact".to_owned(),
            Cycles::Refine => {
                format!("observable locks, refined: order of writes to {ordered} variables")
            }
        };
        report.fact("architecture", self.architecture.describe());
        report.fact("mode", mode);
        report.count("annotations", self.children + 1);
        report.count("realizability questions", effort.asked);
        report.count("decided by 2-SAT", effort.two_sat - effort.search);
        report.count("decided by search", effort.search);
        report
    }
}

fn fraction(branches: &[Branch]) -> f64 {
    share_done(branches.iter().map(|branch| {
        let explored = branch.explored as usize;
        (explored, explored + branch.queue.len() + branch.questions.len())
    }))
}
