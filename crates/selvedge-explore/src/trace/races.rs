//! Races of an execution, and the sequences that reverse them.
//!
//! A race `e ⋖ e'` is a pair of dependent events of different threads with no third event between
//! them in happens-before. It is *reversible* when `e'` could run without `e`. The sequence that
//! reverses it, at `pre(E,e)`, is `v = notdep(e,E).e'`.
//!
//! | paper | here |
//! |---|---|
//! | `e` | [`Reversal::at`] |
//! | `e'` | [`Later`]: an event, or the pending step of a blocked thread |
//! | `v` | [`Reversal::sequence`] |
//! | `WI_E'(v)`, membership | `Sequence::weak_initial` |
//!
//! `e'` may act differently once the race is reversed. So unless its effect is fixed, it is determined
//! again: the system is brought to `pre(E,e)`, runs the events before `e'` in `v`, and is queried.
//!
//! **Order of `v`.** As `e'` happens after `e`, no event of `notdep(e,E)` that comes later in `E`
//! than `e'` depends on `e'`. So `e'` is placed right after those that come earlier. The
//! beginning of `v` up to `e'` is then the same in all executions that share the prefix up to `e'`:
//! it is *stable*. `optimal.rs` uses this to examine most races once, and the rest of `v` rarely.
//!
//! **Steps that can wait.** A release never races with the acquire that it enables; the race is
//! with the acquire before it, found by walking back through the object's history. In general `e`
//! may be any access that `e'` waits for the end of, and other events of `notdep(e,E)` may keep
//! `e'` waiting too: see `races/waiting.rs`.

mod enabling;
mod locks;
mod waiting;

use selvedge_core::{
    Access, Effect, Execution, Flexibility, Footprint, Mode, ObjectId, Position, Status, Step,
    System, ThreadId, commute,
};

use smallvec::SmallVec;

pub(crate) use self::locks::lock_races;
use self::waiting::Waiting;
use crate::search::run::Run;
use crate::trace::sequence::{Move, Sequence};

/// The second part of a race.
#[derive(Clone, Copy, Debug)]
pub enum Later {
    /// An event of the execution.
    Event(Position),
    /// The pending step of a thread that is blocked at the end.
    Pending(ThreadId),
}

/// A sequence that reverses a race. A buffer that is used again and again.
#[derive(Debug)]
pub struct Reversal {
    /// The position of `e`: the sequence is for the node before it.
    pub at: Position,
    /// `v`, or its stable part.
    pub sequence: Sequence,
    /// Whether what is in `sequence` is the same for every execution that shares the prefix up to
    /// `e'`. Then the rest of `v` is not in it: see [`Reversal::load_rest`].
    pub stable: bool,
    /// Where the rest of `v` begins.
    rest: Position,
}

impl Default for Reversal {
    fn default() -> Self {
        Self::new()
    }
}

impl Reversal {
    /// Returns an empty one.
    pub fn new() -> Self {
        let (at, rest) = (Position::new(0), Position::new(0));
        Self { at, sequence: Sequence::default(), stable: false, rest }
    }

    /// Adds the rest of `notdep(e,E)` to a sequence of which only the stable part was there.
    pub fn load_rest(&mut self, execution: &Execution) {
        debug_assert!(self.stable, "the rest is loaded once");
        self.stable = false;
        for position in notdep(execution, self.at, self.rest.index(), execution.len()) {
            self.sequence.push_event(execution, position);
        }
    }

    /// `e'` was at `later`, and acts so when the race is reversed. If that depends on what comes after it, the
    /// sequence gets all of it: one that leaves out something independent of `e` says of other steps that
    /// they are weak initials, and is believed.
    fn goes_on_after(&mut self, execution: &Execution, later: Position, now: &[Access]) {
        self.rest = Position::new(later.index() + 1);
        if self.stable && !is_stable(execution.accesses(later), now) {
            self.load_rest(execution);
        }
    }

    /// Makes it the sequence of these events.
    fn start(&mut self, execution: &Execution, at: Position, events: &[Position]) {
        self.at = at;
        self.stable = false;
        self.sequence.clear();
        for &position in events {
            self.sequence.push_event(execution, position);
        }
    }
}

/// Takes what [`reversals`] finds.
pub type OnReversal<'a> = &'a mut dyn FnMut(&Execution, &mut Reversal);

/// Calls `found` with every sequence that reverses a race of `later`, looking at all of the
/// execution. Returns the positions of nodes that must be expanded in full, because the program cannot be
/// run there without `e`: never unless edges are left out, or the program is not deterministic, which is
/// then noted. The system may be left in another state: see [`Run::sync_to`].
pub fn reversals<S: System>(
    run: &mut Run<'_, S>,
    later: Later,
    reversal: &mut Reversal,
    found: OnReversal<'_>,
) -> Vec<Position> {
    let e2 = match later {
        Later::Event(position) => position,
        Later::Pending(thread) => {
            let mut effect = Effect::default();
            run.sync_to(run.execution.len());
            run.system.pending(Step::of(thread), &mut effect);
            let accesses = SmallVec::from_slice(effect.footprint.accesses());
            return Waiting::new(run, later, accesses).reversals(run, reversal, found);
        }
    };
    let execution = &run.execution;
    let is_plain = plain_races(execution, e2, |e| {
        as_it_was(execution, e, e2, reversal);
        found(execution, reversal);
    });
    if is_plain {
        return Vec::new();
    }
    if execution.event(e2).flexibility == Flexibility::Conditional {
        let mut expand = Vec::new();
        for e in execution.predecessors(e2).to_vec() {
            if !is_hard(&run.execution, e, e2) && !decide_anew(run, e, e2, reversal, found) {
                expand.push(e);
            }
        }
        return expand;
    }
    let accesses = SmallVec::from_slice(execution.accesses(e2));
    Waiting::new(run, later, accesses).reversals(run, reversal, found)
}

/// Calls `each` with every `e` that races with `later`, if that acts everywhere as it did. Returns false,
/// and does nothing, if it must be determined again.
#[inline]
pub(crate) fn plain_races(
    execution: &Execution,
    later: Position,
    mut each: impl FnMut(Position),
) -> bool {
    match execution.event(later).flexibility {
        Flexibility::Fixed => {
            for &e in execution.predecessors(later) {
                if !is_hard(execution, e, later) {
                    each(e);
                }
            }
        }
        Flexibility::Lock if is_only(execution, later, Mode::Acquire) => {
            lock_races(execution, later).into_iter().for_each(each);
        }
        // Nothing blocks it but that the thread has not ended.
        Flexibility::Blocking if is_only(execution, later, Mode::Join) => {}
        _ => return false,
    }
    true
}

/// Returns whether `e` makes `e'` possible in the first place: the start of a thread, a wake-up.
pub(crate) fn is_hard(execution: &Execution, e: Position, later: Position) -> bool {
    execution.accesses(later).iter().any(|access| {
        access.mode.is_cause()
            && execution.accesses(e).iter().any(|other| other.object == access.object)
    })
}

/// Returns the events from position `from` to `to` that do not happen after `e`.
#[inline]
fn notdep(
    execution: &Execution,
    e: Position,
    from: usize,
    to: usize,
) -> impl Iterator<Item = Position> + '_ {
    (from..to).map(Position::new).filter(move |&position| !execution.happens_before(e, position))
}

/// Returns the parts of `notdep(e,E)` before and after `e'`.
fn parts(execution: &Execution, e: Position, later: Later) -> (Vec<Position>, Vec<Position>) {
    let end = match later {
        Later::Event(position) => position.index(),
        Later::Pending(_) => execution.len(),
    };
    let before = notdep(execution, e, e.index() + 1, end).collect();
    let after = notdep(execution, e, (end + 1).min(execution.len()), execution.len()).collect();
    (before, after)
}

/// The reversal of a race whose second event acts everywhere as it did.
fn as_it_was(execution: &Execution, e: Position, later: Position, reversal: &mut Reversal) {
    reversal.at = e;
    reversal.stable = true;
    reversal.rest = Position::new(later.index() + 1);
    reversal.sequence.clear();
    for position in notdep(execution, e, e.index() + 1, later.index()) {
        reversal.sequence.push_event(execution, position);
    }
    reversal.sequence.push_event(execution, later);
}

/// Returns whether it does nothing else, apart from beginning its thread or being woken.
fn is_only(execution: &Execution, position: Position, mode: Mode) -> bool {
    let mut accesses = execution.accesses(position).iter();
    accesses.all(|access| access.mode == mode || access.mode.is_cause())
}

/// Returns the events that make a step with these accesses possible in the first place.
pub(crate) fn hard_causes<'a>(
    execution: &'a Execution,
    accesses: &'a [Access],
    before: Position,
) -> impl Iterator<Item = Position> + 'a {
    accesses
        .iter()
        .filter(|access| access.mode.is_cause())
        .filter_map(move |access| execution.history(access.object, before).next())
        .map(|(position, _)| position)
}

/// Reverses a race whose second event is always enabled but may act differently. Returns false if its effect
/// is not known.
fn decide_anew<S: System>(
    run: &mut Run<'_, S>,
    e: Position,
    later: Position,
    reversal: &mut Reversal,
    found: OnReversal<'_>,
) -> bool {
    let thread = run.execution.event(later).thread();
    let (before, after) = parts(&run.execution, e, Later::Event(later));
    let Some(alternatives) = anew(run, e, later, &before, thread) else { return false };
    for last in alternatives {
        place(run, e, &before, &last, &after, reversal);
        reversal.goes_on_after(&run.execution, later, last.footprint.accesses());
        found(&run.execution, reversal);
    }
    true
}

/// Returns what `e'` does after `pre(E,e)` and `before`. If it touches one object, and nothing in `before` changes
/// that, only what its thread needs to come to it must be run. (What depends on `e` is not in `before`;
/// but taking a reader-writer lock for reading commutes with `e` doing so, and changes the lock.)
fn anew<S: System>(
    run: &mut Run<'_, S>,
    e: Position,
    later: Position,
    before: &[Position],
    thread: ThreadId,
) -> Option<Vec<Move>> {
    if let Some(decided) = decided(run, e, later, before) {
        let choices = run.execution.event(later).choices;
        return Some(
            decided.map(|(step, now)| Move::new(step, choices, now)).into_iter().collect(),
        );
    }
    if let [access] = *run.execution.accesses(later)
        && !before.iter().any(|&x| may_change(&run.execution, x, access.object))
    {
        let needed: Vec<Position> = match run.execution.previous_of_thread(later) {
            Some(previous) => {
                let is_needed = |&x: &Position| run.execution.happens_before(x, previous);
                before.iter().copied().filter(is_needed).collect()
            }
            None => Vec::new(),
        };
        let alternatives = what_if(run, e, &needed, thread)?;
        let same = |accesses: &[Access]| matches!(accesses, [one] if one.object == access.object);
        if alternatives.iter().all(|other| same(other.footprint.accesses())) {
            return Some(alternatives);
        }
    }
    what_if(run, e, before, thread)
}

/// Returns what `e'` does after `pre(E,e)` and `before`, if the system can tell without running them: when it
/// touches one object and finds it as `e` did. Nothing if it is independent of `e` then.
pub(crate) fn decided<S: System>(
    run: &mut Run<'_, S>,
    e: Position,
    later: Position,
    before: &[Position],
) -> Option<Option<(Step, Footprint)>> {
    let [access] = *run.execution.accesses(later) else { return None };
    let changes = |&x: &Position| may_change(&run.execution, x, access.object);
    if !run.has_taken(later) || before.iter().any(changes) {
        return None;
    }
    let mode = run.system.values()?.instead(access.object, e.index(), later.index())?;
    let now = [Access { mode, ..access }];
    let depends = run.execution.depends_on(&now, e);
    let event = run.execution.event(later);
    let (step, thread) = (event.step(), event.thread());
    let answer = depends.then(|| (step, Footprint::of_event(&now)));
    if cfg!(debug_assertions) {
        let tried = what_if(run, e, before, thread).unwrap_or_default();
        run.sync_to(run.execution.len());
        let tried: Vec<_> = tried.into_iter().map(|other| (other.step, other.footprint)).collect();
        assert_eq!(tried.first(), answer.as_ref(), "internal error: a step is decided wrongly");
        assert!(tried.len() <= 1, "internal error: a step with alternatives is decided");
    }
    Some(answer)
}

/// Returns whether the event does more than read the object.
fn may_change(execution: &Execution, event: Position, object: ObjectId) -> bool {
    let mut accesses = execution.accesses(event).iter();
    accesses.any(|access| access.object == object && !commute(access.mode, Mode::Read))
}

/// Returns whether what comes after `e'` in other executions cannot depend on `e'` as it acts when the race is
/// reversed. What depends on it as it acted happens after `e`; that is enough if it touches nothing
/// else now. If it touches one object only, `e` touches that too, and so everything after `e` that
/// could matter happens after `e`.
pub(crate) fn is_stable(then: &[Access], now: &[Access]) -> bool {
    let single = then.len() == 1 && now.len() == 1 && then[0].object == now[0].object;
    let is_covered = |access: &Access| {
        let covers = |other: &Access| access == other || !commute(other.mode, other.mode);
        then.iter().any(|other| other.object == access.object && covers(other))
    };
    single || now.iter().all(is_covered)
}

/// Puts `e'` after `before` if it does not depend on `after` as it acts there, and else at the end.
fn place<S: System>(
    run: &mut Run<'_, S>,
    at: Position,
    before: &[Position],
    last: &Move,
    after: &[Position],
    reversal: &mut Reversal,
) {
    let in_the_way: Vec<Position> = after
        .iter()
        .copied()
        .filter(|&position| last.depends_on(run.execution.accesses(position)))
        .collect();
    if in_the_way.is_empty() {
        reversal.start(&run.execution, at, before);
        reversal.sequence.push_move(last);
        reversal.stable = true;
        return;
    }
    let all = [before, after].concat();
    let anew = what_if(run, at, &all, last.step.thread).unwrap_or_default();
    if let Some(now) = anew.into_iter().find(|other| other.step == last.step) {
        reversal.start(&run.execution, at, &all);
        reversal.sequence.push_move(&now);
        return;
    }
    // It is known to be enabled only without what it depends on.
    reversal.start(&run.execution, at, before);
    reversal.sequence.push_move(last);
    let execution = &run.execution;
    for &position in after {
        if !in_the_way.iter().any(|&gone| execution.happens_before(gone, position)) {
            reversal.sequence.push_event(execution, position);
        }
    }
}

/// Returns what the pending step of `thread` does after `pre(E,e)` and `events`: each alternative with its
/// footprint. Empty if it is not enabled there, or independent of `e`. Nothing at all if the events
/// cannot run without `e`: only where edges are left out, and one of them makes a thread that another
/// would have made.
fn what_if<S: System>(
    run: &mut Run<'_, S>,
    e: Position,
    events: &[Position],
    thread: ThreadId,
) -> Option<Vec<Move>> {
    run.sync_to(e.index());
    let mut effect = Effect::default();
    for &position in events {
        run.stray();
        let step = run.execution.event(position).step();
        if run.system.status(step.thread) != Status::Enabled {
            if !run.execution.is_relaxed() {
                run.give_up(NOT_REPRODUCIBLE.to_owned());
            }
            return None;
        }
        run.system.step(step, &mut effect);
    }
    let mut alternatives = Vec::new();
    if thread.index() < run.system.thread_count() && run.is_enabled(thread) {
        let choices = run.system.choices(thread);
        for choice in 0..choices {
            let step = Step { thread, choice };
            if !run.is_possible(step, choices) {
                continue;
            }
            run.system.pending(step, &mut effect);
            // If it does not depend on e as it acts there, its place is after e.
            if run.execution.depends_on(effect.footprint.accesses(), e) {
                alternatives.push(Move::new(step, choices, effect.footprint.clone()));
            }
        }
    }
    Some(alternatives)
}

/// The message for a system that breaks its contract.
pub(crate) const NOT_REPRODUCIBLE: &str = "the program is nondeterministic: the same steps led to different states; \
     does it depend on time, on random numbers or on anything outside it?";

#[cfg(test)]
mod tests;
