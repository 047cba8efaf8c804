//! Steps that were put off, and which of several reasons comes first.
//!
//! A thread `p` may be put off several times in a row: each time is a *stage*, all of them together a *loop*.
//! At each stage the head must be the first of the reasons, and which events are reasons is known only when
//! `p` runs: those in the past of its step that the step conflicted with as it was at that stage.

use selvedge_core::{Access, Execution, Footprint, Position, Step, ThreadId, commute, dependent};
use smallvec::SmallVec;

/// A block of the current execution, seen from the step that it puts off.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// Where the block begins.
    pub(super) at: usize,
    /// Where it ends.
    pub(super) head: Position,
    /// What is put off.
    pub(super) put_off: Step,
    /// What the alternatives of that thread touch at `at`.
    pub(super) footprints: SmallVec<[Footprint; 1]>,
    /// The number of the first stage of its loop.
    pub(super) first: usize,
    /// Whether the loop ended here with a thread that cannot run, and reasons can still be added to it.
    pub(super) open: bool,
}

impl Stage {
    /// What the thread touches at this stage if it takes alternative `choice` in the end.
    fn footprint(&self, choice: u32) -> &Footprint {
        self.footprints.get(choice as usize).unwrap_or(&self.footprints[0])
    }

    /// The alternative that it is put off with if it takes `choice` in the end: there may have been fewer.
    fn choice(&self, choice: u32) -> u32 {
        if (choice as usize) < self.footprints.len() { choice } else { 0 }
    }

    /// Whether the put-off step touches one object, and the head excludes all others from that: then there
    /// is one reason, whatever comes.
    pub(super) fn is_settled(&self, execution: &Execution) -> bool {
        let [footprint] = self.footprints.as_slice() else { return false };
        let Some(own) = single(footprint.accesses()) else { return false };
        let mut touched = execution.accesses(self.head).iter();
        touched.any(|access| access.object == own.object && !commute(access.mode, access.mode))
    }

    /// Whether the event is a reason to put the step off.
    fn is_reason(&self, execution: &Execution, choice: u32, event: Position) -> bool {
        execution.event(event).thread() != self.put_off.thread
            && dependent(self.footprint(choice).accesses(), execution.accesses(event))
    }

    /// Whether the stage is as it should be, now that its thread has run: the last event.
    pub(super) fn is_right(&self, execution: &Execution) -> bool {
        let last = Position::new(execution.len() - 1);
        let choice = execution.event(last).choice;
        if self.choice(choice) != self.put_off.choice {
            return false;
        }
        let mut reasons = self.reasons(execution, choice);
        reasons.retain(|reason| execution.happens_before(reason.event, last));
        first_of(reasons, |a, b| execution.happens_before(a, b)) == Some(self.head)
    }

    /// Whether the stage is as it should be if its thread does not run any more.
    pub(super) fn is_right_so_far(&self, execution: &Execution) -> bool {
        let reasons = self.reasons(execution, self.put_off.choice);
        first_of(reasons, |a, b| execution.happens_before(a, b)) == Some(self.head)
    }

    /// All events since then that the step conflicts with.
    fn reasons(&self, execution: &Execution, choice: u32) -> Vec<Reason> {
        let events = (self.at..execution.len()).map(Position::new);
        let reasons = events.filter(|&event| self.is_reason(execution, choice, event));
        reasons.map(|event| self.reason(execution, choice, event)).collect()
    }

    /// Whether a step would be a reason that should have come first. `past` says which events happen
    /// before it.
    pub(super) fn keeps_away(
        &self,
        execution: &Execution,
        step: Step,
        accesses: &[Access],
        past: &dyn Fn(Position) -> bool,
    ) -> bool {
        let choice = self.put_off.choice;
        if step.thread == self.put_off.thread
            || !dependent(self.footprint(choice).accesses(), accesses)
        {
            return false;
        }
        let end = Position::new(execution.len());
        let mut reasons = self.reasons(execution, choice);
        if reasons.iter().any(|reason| past(reason.event)) {
            return false;
        }
        let access = first_conflict(self.footprint(choice).accesses(), accesses);
        reasons.push(Reason { event: end, access, thread: step.thread });
        let before = |a: Position, b: Position| {
            a != end && if b == end { past(a) } else { execution.happens_before(a, b) }
        };
        first_of(reasons, before) != Some(self.head)
    }

    fn reason(&self, execution: &Execution, choice: u32, event: Position) -> Reason {
        let mine = self.footprint(choice).accesses();
        let access = first_conflict(mine, execution.accesses(event));
        Reason { event, access, thread: execution.event(event).thread() }
    }
}

/// An event that conflicts with a put-off step.
#[derive(Clone, Copy)]
struct Reason {
    event: Position,
    /// The number of the first access of the put-off step that it conflicts with.
    access: usize,
    thread: ThreadId,
}

/// The first access, in the order in which the step evaluates them, that conflicts.
fn first_conflict(mine: &[Access], theirs: &[Access]) -> usize {
    let conflicts = |access: &Access| dependent(std::slice::from_ref(access), theirs);
    mine.iter().position(conflicts).unwrap_or(mine.len())
}

/// The first of the reasons: of those that conflict with the earliest access, the minimal one of the least
/// thread; or, if other reasons happen before that, the first of these.
fn first_of(
    mut reasons: Vec<Reason>,
    before: impl Fn(Position, Position) -> bool,
) -> Option<Position> {
    loop {
        let earliest = reasons.iter().map(|reason| reason.access).min()?;
        let candidates = reasons.iter().filter(|reason| reason.access == earliest);
        let is_minimal = |reason: &&Reason| {
            let mut others = candidates.clone();
            !others.any(|other| other.event != reason.event && before(other.event, reason.event))
        };
        let first = *candidates.clone().filter(is_minimal).min_by_key(|reason| reason.thread)?;
        reasons.retain(|reason| reason.event != first.event && before(reason.event, first.event));
        if reasons.is_empty() {
            return Some(first.event);
        }
    }
}

/// The access of a step that has one, apart from what makes it possible in the first place.
pub(super) fn single(accesses: &[Access]) -> Option<Access> {
    let mut own = accesses.iter().filter(|access| !access.mode.is_cause());
    match (own.next(), own.next()) {
        (Some(&access), None) => Some(access),
        _ => None,
    }
}
