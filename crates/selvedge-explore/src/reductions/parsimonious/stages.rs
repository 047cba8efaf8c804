//! Steps that were put off, and which steps sleep because of that.
//!
//! A *reason* to put off the step `e` of `p` at `C` is an event after `C`, of another thread, that conflicts with `e`
//! while nothing that happens before it does. Reasons have a fixed order, their *rank*; the head of a block is the
//! first reason that its trace has. So from then on reasons of lower rank *sleep*: their traces belong to other heads.

use selvedge_core::{
    Access, Execution, Footprint, Mode, Position, Step, ThreadId, commute, dependent,
};
use smallvec::SmallVec;

use crate::search::order::Order;

/// The order of reasons: the first access of the put-off step that one conflicts with, and then its thread.
pub(super) type Rank = (usize, ThreadId);

/// A block of the current execution, seen from the step that it puts off.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// Where the block begins.
    pub(super) at: usize,
    /// Where it ends.
    pub(super) head: Position,
    /// Whose step is put off.
    thread: ThreadId,
    /// What each alternative of that step touches at `at`.
    alternatives: SmallVec<[Footprint; 1]>,
    /// All of these accesses together, and the first event since then that excludes all others from the object.
    accesses: SmallVec<[(Access, Option<Position>); 2]>,
    /// Whether the alternatives touch different things.
    is_varied: bool,
    /// The rank of the head.
    rank: Rank,
}

/// Some events of an execution that are closed under happens-before: those up to a position, and a few more.
#[derive(Clone, Copy)]
pub(super) struct Config<'a> {
    pub(super) execution: &'a Execution,
    pub(super) order: &'a Order,
    pub(super) len: usize,
    pub(super) more: &'a [Position],
}

impl Config<'_> {
    fn contains(&self, x: Position) -> bool {
        x.index() < self.len || self.more.contains(&x)
    }

    /// Returns the events that order a step that comes next: it happens after all that happens before one of them.
    pub(super) fn causes(&self, thread: ThreadId, accesses: &[Access]) -> SmallVec<[Position; 8]> {
        let own = self.execution.of_thread(thread).iter().rev();
        let mut causes: SmallVec<[Position; 8]> =
            own.copied().find(|&x| self.contains(x)).into_iter().collect();
        let end = Position::new(self.execution.len());
        for access in accesses {
            for (x, other) in self.execution.history(access.object, end) {
                if !commute(other.mode, access.mode) && self.contains(x) {
                    causes.push(x);
                    if !commute(other.mode, other.mode) {
                        break;
                    }
                }
            }
        }
        causes
    }

    fn since(&self, at: usize) -> impl Iterator<Item = Position> + '_ {
        let more = self.more.iter().copied().filter(move |x| x.index() >= self.len.max(at));
        (at..self.len).map(Position::new).chain(more)
    }
}

impl Stage {
    pub(super) fn new(
        at: usize,
        head: Position,
        thread: ThreadId,
        alternatives: SmallVec<[Footprint; 1]>,
    ) -> Self {
        let accesses = reversible(all_accesses(&alternatives)).map(|access| (access, None));
        let (rank, is_varied) = ((0, ThreadId::new(0)), is_varied(&alternatives));
        Self { at, head, thread, accesses: accesses.collect(), alternatives, is_varied, rank }
    }

    /// Notes an event of the block or after it, which is the last of the execution.
    pub(super) fn note(&mut self, execution: &Execution) {
        let last = Position::new(execution.len() - 1);
        let accesses = execution.accesses(last);
        if last == self.head {
            let touched = self.accesses.iter().map(|(access, _)| *access);
            let first = first_conflict(touched, accesses).unwrap_or(self.accesses.len());
            self.rank = (first, execution.event(last).thread());
        }
        for (own, covered) in &mut self.accesses {
            let excludes = |a: &Access| a.object == own.object && !commute(a.mode, a.mode);
            if covered.is_none() && accesses.iter().any(excludes) {
                *covered = Some(last);
            }
        }
    }

    /// Forgets the events from `len` on.
    pub(super) fn truncate(&mut self, len: usize) {
        for (_, covered) in &mut self.accesses {
            *covered = covered.filter(|by| by.index() < len);
        }
    }

    /// Returns whether steps can sleep because of this stage after `len` events.
    pub(super) fn is_open(&self, len: usize) -> bool {
        self.head.index() < len && self.is_open_up_to(len) >= len
    }

    /// Returns up to how many events, and at most `len`, steps can sleep because of this stage. A reason of lower rank than the
    /// head conflicts with an access up to the first one that the head conflicts with. Not if each of these objects was touched
    /// by an event that excludes all others: what comes later happens after that.
    pub(super) fn is_open_up_to(&self, len: usize) -> usize {
        if self.is_varied {
            return len;
        }
        if self.rank == (0, ThreadId::new(0)) {
            return 0;
        }
        let lower = self.accesses.iter().take(self.rank.0 + 1);
        let ends = lower.map(|(_, by)| by.map_or(len, |by| by.index().min(len)));
        ends.max().unwrap_or(0)
    }

    /// Returns whether the step, which can run after `config`, sleeps: it is a reason of lower rank than the head, or an
    /// alternative of the step that was put off and still is what it was then.
    pub(super) fn sleeps(&self, config: &Config<'_>, step: Step, accesses: &[Access]) -> bool {
        let execution = config.execution;
        if step.thread == self.thread {
            let Some(then) = self.alternatives.get(step.choice as usize) else { return false };
            let changes = |x: Position| {
                execution.event(x).thread() == self.thread
                    || dependent(then.accesses(), execution.accesses(x))
            };
            return !config.since(self.at).any(changes);
        }
        let touched = self.accesses.iter().map(|(access, _)| *access);
        let Some(first) = first_conflict(touched, accesses) else { return false };
        let place = |(first, thread): Rank| (first, config.order.place(thread));
        if place((first, step.thread)) >= place(self.rank) {
            return false;
        }
        let causes = config.causes(step.thread, accesses);
        let is_known = |x: Position| causes.iter().any(|&by| execution.happens_before(x, by));
        let mut since = config.since(self.at);
        !since.any(|x| is_known(x) && self.conflicts(execution.accesses(x)))
    }

    fn conflicts(&self, accesses: &[Access]) -> bool {
        self.accesses.iter().any(|(own, _)| accesses.iter().any(|other| own.dependent(*other)))
    }
}

/// Returns the accesses of a step that is put off that others can conflict with before it runs. What made the step possible
/// is over, and what it makes is not there yet: nothing else touches these.
pub(super) fn reversible(
    accesses: impl IntoIterator<Item = Access>,
) -> impl Iterator<Item = Access> {
    let is_own = |mode: Mode| mode.is_cause() || matches!(mode, Mode::Post | Mode::Spawn);
    accesses.into_iter().filter(move |access| !is_own(access.mode))
}

/// Returns the number of the first access, in the order in which the step evaluates them, that conflicts.
pub(super) fn first_conflict(
    mut mine: impl Iterator<Item = Access>,
    theirs: &[Access],
) -> Option<usize> {
    mine.position(|access| theirs.iter().any(|other| access.dependent(*other)))
}

/// Returns whether the alternatives of a step touch different things, apart from the threads that they wake: whatever else
/// wakes a thread conflicts with all alternatives, as it changes how many there are.
pub(super) fn is_varied(alternatives: &[Footprint]) -> bool {
    let own = |footprint: &Footprint| -> SmallVec<[Access; 4]> {
        let accesses = footprint.accesses().iter();
        accesses.copied().filter(|access| access.mode != Mode::Wake).collect()
    };
    alternatives.windows(2).any(|two| own(&two[0]) != own(&two[1]))
}

/// Returns all that the alternatives of a step touch.
pub(super) fn all_accesses(alternatives: &[Footprint]) -> SmallVec<[Access; 4]> {
    let mut all: SmallVec<[Access; 4]> = SmallVec::new();
    for access in alternatives.iter().flat_map(Footprint::accesses) {
        if !all.contains(access) {
            all.push(*access);
        }
    }
    all
}
