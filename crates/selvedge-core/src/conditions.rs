//! What only some systems know: whether steps commute in a state, and what threads may still access.
//!
//! Footprints say when two steps commute *always*. A system that can compare states, or that knows
//! conditions under which steps commute, says so through this trait; see
//! [`System::conditions`](crate::System::conditions).

use std::sync::Arc;

use crate::dependence::commute;
use crate::ids::{ObjectId, ThreadId};
use crate::op::{Access, Mode};
use crate::system::Step;
use crate::violation::Violation;

/// Questions about the state that a system is in. None of them changes it.
pub trait Conditions {
    /// Runs the pending steps of two threads, which are enabled, in both orders, and compares the
    /// results: the states, up to the names of the threads that the steps spawn, and the faults.
    fn try_both_orders(&mut self, first: Step, second: Step) -> Commutation;

    /// Returns the constraints on the pending steps of two threads that hold now: each of them promises
    /// that these steps commute.
    fn constraints(&mut self, first: ThreadId, second: ThreadId) -> Vec<Holding>;

    /// Returns what is wrong with a constraint that holds now, if the pending steps do not commute.
    fn refute(&mut self, holding: &Holding, first: ThreadId, second: ThreadId)
    -> Option<Violation>;

    /// Returns what a thread may still access, including all threads that it may spawn.
    fn may_access(&mut self, thread: ThreadId) -> Arc<MayAccess>;

    /// Returns what messages call an object.
    fn name_of(&self, object: ObjectId) -> String;

    /// Returns whether the pending step of a thread touches the same objects in the same way in every state.
    fn is_steady(&mut self, thread: ThreadId) -> bool;

    /// Returns a name of the state: two states have the same exactly if they are the same up to the names of
    /// spawned threads.
    fn state(&mut self) -> StateKey;
}

/// The result of running two steps in both orders.
#[derive(Clone, Debug, Default)]
pub struct Commutation {
    /// Whether both orders are possible and lead to the same state.
    pub same: bool,
    /// The threads spawned by the second step that are not spawned, or are others, if it comes
    /// first: both steps together make them.
    pub caused: Vec<ThreadId>,
}

/// A constraint that holds in a state.
#[derive(Clone, Debug)]
pub struct Holding {
    /// Which of the program's constraints.
    pub constraint: usize,
    /// The shared objects that its condition read.
    pub reads: Vec<ObjectId>,
}

/// The name of a state.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StateKey(pub Vec<i32>);

/// Objects that a thread may access.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MayAccess {
    /// It may do anything.
    pub everything: bool,
    /// Variables that it may read.
    pub reads: ObjectRanges,
    /// Objects that it may change.
    pub writes: ObjectRanges,
}

impl MayAccess {
    /// Takes in what another thread may touch.
    pub fn extend(&mut self, other: &MayAccess) {
        self.everything |= other.everything;
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
    }

    /// Returns whether it may change the object.
    pub fn may_write(&self, object: ObjectId) -> bool {
        self.everything || self.writes.contains(object)
    }

    /// Returns whether a step with these accesses may not commute with one of its steps. Accesses that only
    /// say that a thread begins, ends or is made count if it may do everything.
    pub fn may_depend_on(&self, accesses: &[Access]) -> bool {
        self.everything
            || accesses.iter().any(|access| {
                self.writes.contains(access.object)
                    || !commute(access.mode, Mode::Read) && self.reads.contains(access.object)
            })
    }
}

/// A set of objects, as ranges of numbers: ascending, with gaps between them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectRanges(Vec<(u32, u32)>);

impl ObjectRanges {
    /// Returns whether the object is in it.
    pub fn contains(&self, object: ObjectId) -> bool {
        let after = self.0.partition_point(|&(start, _)| start <= object.number());
        after > 0 && self.0[after - 1].1 > object.number()
    }

    /// Adds the objects from `start` up to, but not including, `end`.
    pub fn insert(&mut self, start: u32, end: u32) {
        if start >= end {
            return;
        }
        let from = self.0.partition_point(|&(_, old)| old < start);
        let to = self.0.partition_point(|&(old, _)| old <= end);
        let merged = self.0[from..to]
            .iter()
            .fold((start, end), |sum, old| (sum.0.min(old.0), sum.1.max(old.1)));
        self.0.splice(from..to, [merged]);
    }

    /// Adds the objects of another set.
    pub fn extend(&mut self, other: &ObjectRanges) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for &(start, end) in &other.0 {
            self.insert(start, end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_sets() {
        let mut random = 12345_u64;
        for _ in 0..300 {
            let (mut ranges, mut set) =
                (ObjectRanges::default(), std::collections::BTreeSet::new());
            for _ in 0..8 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let start = (random >> 33) as u32 % 40;
                let end = start + (random >> 50) as u32 % 5;
                ranges.insert(start, end);
                set.extend(start..end);
            }
            for number in 0..50 {
                let object = ObjectId::new(number as usize);
                assert_eq!(ranges.contains(object), set.contains(&number), "{ranges:?}");
            }
            assert!(ranges.0.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
        }
    }
}
