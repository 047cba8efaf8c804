//! Classic dynamic partial-order reduction, with sleep sets.
//!
//! C. Flanagan, P. Godefroid: *Dynamic Partial-Order Reduction for Model Checking Software*, POPL 2005,
//! Figure 3.
//!
//! | paper | here |
//! |---|---|
//! | `S` | `Run::execution` |
//! | `next(s,p)` | `System::pending` |
//! | `backtrack(pre(S,i))` | `BacktrackSets::frontiers` |
//! | `i → p` | [`is_known`] with [`causes_of_next`] |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** at least one maximal execution per trace, and with sleep sets at most one.
//! **Not guaranteed:** no redundant work; many runs end redundant.
//! **Differs from the paper:**
//! 1. Sleep sets, which the paper mentions as an addition. Added naively they lose traces: the thread
//!    that a race asks for may sleep, is then not explored, and the races that it would have shown
//!    are lost. On `write x; read x ‖ read y; read x ‖ read y; read x` one of four traces is missed.
//!    So a thread that sleeps at a node does not count there, and all races of a pending step are
//!    examined, not only the last.
//! 2. "May be co-enabled": the release of a lock and the acquire that it enables are not, so the
//!    acquire before them is found instead.
//! 3. A step can have alternatives; all alternatives of a thread in the backtrack set are explored.
//!
//! **Cost:** per event, the pending step of every thread is examined.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle, golden programs.

use selvedge_core::{
    Effect, Execution, Flexibility, Position, Report, Status, Step, System, ThreadId, ThreadSet,
    commute, may_enable_only,
};

use crate::options::{Observer, Options};
use crate::reductions::backtrack::{self, BacktrackSets, Rule};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::run::Run;
use crate::trace::frontier::Frontier;
use crate::trace::sleep_set::SleepSets;

pub(crate) const INFO: Info = Info {
    name: "classic",
    summary: "the first dynamic reduction: persistent sets computed during the search, with sleep sets",
    advice: "As a baseline for comparisons.",
    paper: "Flanagan, Godefroid, POPL 2005",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::SwitchBounds],
};

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let rule = PersistentSets::default();
    backtrack::explore(rule, make, options, observer)
}

#[derive(Default)]
struct PersistentSets {
    /// For each state of the path.
    states: Vec<State>,
    effect: Effect,
}

/// What is known of a state when the search first comes to it.
struct State {
    enabled: Vec<ThreadId>,
    /// Those that sleep with every alternative they have.
    asleep: ThreadSet,
}

impl State {
    fn new<S: System>(run: &Run<'_, S>, sleep: &SleepSets) -> Self {
        let enabled: Vec<_> = run.threads().filter(|&thread| run.is_enabled(thread)).collect();
        let is_asleep = |&thread: &ThreadId| {
            let mut all = (0..run.system.choices(thread)).map(|choice| Step { thread, choice });
            all.all(|step| sleep.contains(step))
        };
        let asleep = enabled.iter().copied().filter(is_asleep).collect();
        Self { enabled, asleep }
    }
}

impl<S: System> Rule<S> for PersistentSets {
    fn at_state(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets) {
        self.states.truncate(run.execution.len());
        self.states.push(State::new(run, &sets.sleep));
        for thread in run.threads() {
            let alternatives = match run.system.status(thread) {
                Status::Enabled => run.system.choices(thread),
                Status::Blocked => 1,
                _ => 0,
            };
            // One of them may race where another does not: it ends its thread.
            for choice in 0..alternatives {
                run.system.pending(Step { thread, choice }, &mut self.effect);
                let known = causes_of_next(&run.execution, thread, &self.effect);
                for e in races_of_next(&run.execution, thread, &self.effect, &known) {
                    let frontier = &mut sets.frontiers[e.index()];
                    self.add(&run.execution, frontier, e, thread, &known);
                }
            }
        }
    }
}

impl PersistentSets {
    /// Adds to the backtrack set at `pre(E,e)` one thread that leads to the pending step of `thread`
    /// and does not sleep there, or all enabled ones if there is none.
    fn add(
        &self,
        execution: &Execution,
        frontier: &mut Frontier,
        e: Position,
        thread: ThreadId,
        known: &[u32],
    ) {
        let State { enabled, asleep } = &self.states[e.index()];
        let backtrack = &mut frontier.threads;
        let leads = |other: ThreadId| {
            // Some event of it after e happens before the pending step.
            let is_cause = |&event: &Position| event > e && is_known(execution, known, event);
            (other == thread || execution.of_thread(other).iter().any(is_cause))
                && !asleep.contains(other)
        };
        if enabled.iter().any(|&other| leads(other) && backtrack.contains(&other)) {
            return;
        }
        let preferred = enabled.iter().find(|&&other| other == thread && leads(other));
        match preferred.or_else(|| enabled.iter().find(|&&other| leads(other))) {
            Some(&one) => backtrack.push(one),
            None => {
                let missing = enabled.iter().filter(|other| !backtrack.contains(other));
                backtrack.extend(missing.copied().collect::<Vec<_>>());
            }
        }
    }
}

/// Returns a clock of everything that happens before the pending step of `thread` in any case.
fn causes_of_next(execution: &Execution, thread: ThreadId, next: &Effect) -> Vec<u32> {
    let mut known = execution.last_of(thread).map_or(Vec::new(), |e| execution.clock(e).to_vec());
    for access in next.footprint.accesses() {
        if access.mode.is_cause() {
            let end = Position::new(execution.len());
            for (cause, _) in execution.history(access.object, end).take(1) {
                let clock = execution.clock(cause);
                known.resize(known.len().max(clock.len()), 0);
                known.iter_mut().zip(clock).for_each(|(mine, other)| *mine = (*mine).max(*other));
            }
        }
    }
    known
}

fn is_known(execution: &Execution, known: &[u32], event: Position) -> bool {
    let id = execution.event(event).id;
    known.get(id.thread.index()).is_some_and(|&count| count > id.nth)
}

/// Returns the events that are dependent with the pending step of `thread`, may be co-enabled with it and do
/// not happen before it, each with no other of them in between.
fn races_of_next(
    execution: &Execution,
    thread: ThreadId,
    next: &Effect,
    known: &[u32],
) -> Vec<Position> {
    let waits = matches!(next.flexibility, Flexibility::Lock | Flexibility::Blocking);
    let end = Position::new(execution.len());
    let mut events: Vec<Position> = Vec::new();
    for access in next.footprint.accesses() {
        let racing = execution.history(access.object, end).filter(|&(event, other)| {
            let co_enabled = !waits || !may_enable_only(other.mode, access.mode);
            execution.event(event).thread() != thread
                && co_enabled
                && !commute(other.mode, access.mode)
                && !is_known(execution, known, event)
        });
        events.extend(racing.map(|(event, _)| event));
    }
    events.sort_unstable_by(|a, b| b.cmp(a));
    let mut races: Vec<Position> = Vec::new();
    for event in events {
        if !races.iter().any(|&later| execution.happens_before(event, later)) {
            races.push(event);
        }
    }
    races
}
