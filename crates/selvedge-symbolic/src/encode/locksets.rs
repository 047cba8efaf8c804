//! Pairs of places that two threads can never be at together.
//!
//! A token cannot pass from after `a` to `b` if the thread of `a` then holds a lock that the
//! thread of `b` holds too, or is about to take (*lockset*); if each holds a lock that the other
//! has taken since it took its own (*lock-acquisition history*); or if `b` comes before `a` in
//! every execution (*fork and join*).

use std::collections::{BTreeMap, BTreeSet};

use super::program_order::ProgramOrder;
use super::steps::Steps;
use crate::solver::Lit;
use crate::unroll::{CellId, EventId, Unrolled};

/// Per lock that is held: the locks that were taken since.
type Histories = BTreeMap<CellId, BTreeSet<CellId>>;

/// What threads hold at their steps.
pub struct Locksets {
    program_order: ProgramOrder,
    before: Vec<Histories>,
    after: Vec<Histories>,
}

impl Locksets {
    /// Of all steps.
    pub fn new(unrolled: &Unrolled, steps: &Steps) -> Self {
        let count = unrolled.events.len();
        let mut before: Vec<Histories> = vec![Histories::new(); count];
        let mut after: Vec<Histories> = vec![Histories::new(); count];
        for event in steps.all() {
            let entering = entering(unrolled, steps, &after, event);
            after[event.index()] = leaving(unrolled, event, entering.clone());
            before[event.index()] = entering;
        }
        Self { program_order: ProgramOrder::new(unrolled), before, after }
    }

    /// Returns whether `a` comes before `b` in every execution that has both.
    pub fn is_before(&self, a: EventId, b: EventId) -> bool {
        self.program_order.is_before(a, b)
    }

    /// Returns whether a token could pass from `a` to `b`.
    pub fn can_pass(&self, unrolled: &Unrolled, steps: &Steps, a: EventId, b: EventId) -> bool {
        let order = &self.program_order;
        // Something of either thread that always comes between the two.
        let before_b = &steps.previous[b.index()];
        if !before_b.is_empty()
            && before_b.iter().all(|(_, step)| step.is_some_and(|step| order.is_before(a, step)))
        {
            return false;
        }
        let after_a = &steps.next[a.index()];
        if steps.is_last[a.index()] == Lit::FALSE
            && !after_a.is_empty()
            && after_a.iter().all(|&(_, step)| order.is_before(step, b))
        {
            return false;
        }
        let (here, there) = (&self.after[a.index()], &self.before[b.index()]);
        let wanted = unrolled.events[b.index()].takes;
        let excluded = here.keys().any(|lock| there.contains_key(lock) || wanted == Some(*lock));
        let crossed = here.iter().any(|(lock, since)| {
            there.iter().any(|(other, theirs)| since.contains(other) && theirs.contains(lock))
        });
        !excluded && !crossed && !order.is_before(b, a)
    }

    /// Returns whether `b` could run between `from` and `a`, the next step of the same thread.
    pub fn can_come_between(&self, from: EventId, a: EventId, b: EventId) -> bool {
        let (here, there) = (&self.before[a.index()], &self.before[b.index()]);
        let excluded = here.keys().any(|lock| there.contains_key(lock));
        let order = &self.program_order;
        !excluded && !order.is_before(a, b) && !order.is_before(b, from)
    }
}

/// Returns what is held before an event, whichever way leads to it.
fn entering(unrolled: &Unrolled, steps: &Steps, after: &[Histories], event: EventId) -> Histories {
    let mut common: Option<Histories> = None;
    for &(_, previous) in &steps.previous[event.index()] {
        let theirs = previous.map_or_else(Histories::new, |step| after[step.index()].clone());
        common = Some(match common {
            None => theirs,
            Some(mine) => intersection(mine, &theirs),
        });
    }
    let mut common = common.unwrap_or_default();
    common.retain(|lock, _| unrolled.events[event.index()].holds.contains(lock));
    common
}

fn intersection(mine: Histories, theirs: &Histories) -> Histories {
    mine.into_iter()
        .filter_map(|(lock, since)| {
            let other = theirs.get(&lock)?;
            Some((lock, since.intersection(other).copied().collect()))
        })
        .collect()
}

fn leaving(unrolled: &Unrolled, event: EventId, mut held: Histories) -> Histories {
    let event = &unrolled.events[event.index()];
    match event.takes {
        Some(taken) => {
            for since in held.values_mut() {
                since.insert(taken);
            }
            held.insert(taken, BTreeSet::new());
        }
        // Who writes the cell of a lock that is held gives it up.
        None => held.retain(|lock, _| !event.writes.contains_key(lock)),
    }
    held
}
