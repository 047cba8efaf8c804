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

    /// Returns the same in a form for many questions.
    fn may_touch(&mut self, thread: ThreadId) -> MayTouch {
        MayTouch::of(&self.may_access(thread))
    }

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

/// The objects with the numbers below this are bits of [`MayTouch`] and [`Touched`].
const LOW: u32 = u64::BITS;

/// What a thread may still access, as [`MayAccess`] says, for questions about many steps.
#[derive(Clone, Debug)]
pub struct MayTouch {
    everything: bool,
    /// Of the objects with low numbers.
    reads: u64,
    writes: u64,
    /// If there are others.
    all: Option<Arc<MayAccess>>,
}

impl MayTouch {
    /// Returns what was found out about a thread.
    pub fn of(may: &Arc<MayAccess>) -> Self {
        let is_low = may.reads.low.is_all && may.writes.low.is_all;
        Self {
            everything: may.everything,
            reads: may.reads.low.bits,
            writes: may.writes.low.bits,
            all: (!is_low).then(|| Arc::clone(may)),
        }
    }

    /// Answers as [`MayAccess::may_depend_on`].
    #[inline]
    pub fn may_depend_on(&self, touched: &Touched) -> bool {
        self.everything
            || self.writes & touched.low != 0
            || self.reads & touched.low_unlike_reads != 0
            || !touched.others.is_empty()
                && self.all.as_ref().is_some_and(|all| all.may_depend_on(&touched.others))
    }
}

/// The accesses of a step, for questions to many threads.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Bits of the objects with low numbers, and of those that do not commute with reads.
    low: u64,
    low_unlike_reads: u64,
    others: Vec<Access>,
}

impl Touched {
    /// Forgets all accesses, and keeps the memory.
    pub fn clear(&mut self) {
        (self.low, self.low_unlike_reads) = (0, 0);
        self.others.clear();
    }

    /// Adds an access.
    pub fn add(&mut self, access: Access) {
        match 1_u64.checked_shl(access.object.number()) {
            Some(bit) => {
                self.low |= bit;
                if !commute(access.mode, Mode::Read) {
                    self.low_unlike_reads |= bit;
                }
            }
            None => self.others.push(access),
        }
    }
}

/// A set of objects, as ranges of numbers: ascending, with gaps between them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectRanges {
    ranges: Vec<(u32, u32)>,
    low: Low,
}

/// The objects of a set that have low numbers, as bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Low {
    bits: u64,
    /// Whether there are no others.
    is_all: bool,
}

impl Default for Low {
    fn default() -> Self {
        Self { bits: 0, is_all: true }
    }
}

impl ObjectRanges {
    /// Returns whether the object is in it.
    pub fn contains(&self, object: ObjectId) -> bool {
        let after = self.ranges.partition_point(|&(start, _)| start <= object.number());
        after > 0 && self.ranges[after - 1].1 > object.number()
    }

    /// Adds the objects from `start` up to, but not including, `end`.
    pub fn insert(&mut self, start: u32, end: u32) {
        if start >= end {
            return;
        }
        (start..end.min(LOW)).for_each(|object| self.low.bits |= 1 << object);
        self.low.is_all &= end <= LOW;
        let from = self.ranges.partition_point(|&(_, old)| old < start);
        let to = self.ranges.partition_point(|&(old, _)| old <= end);
        let merged = self.ranges[from..to]
            .iter()
            .fold((start, end), |sum, old| (sum.0.min(old.0), sum.1.max(old.1)));
        self.ranges.splice(from..to, [merged]);
    }

    /// Adds the objects of another set.
    pub fn extend(&mut self, other: &ObjectRanges) {
        if self.ranges.is_empty() {
            self.clone_from(other);
            return;
        }
        for &(start, end) in &other.ranges {
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
            assert!(ranges.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0), "{ranges:?}");
        }
    }

    /// The form for many questions gives the same answers, below the objects that are bits and beyond.
    #[test]
    fn both_forms_answer_alike() {
        let mut random = 54321_u64;
        let mut below = |most: u32| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) as u32 % most
        };
        let modes = [Mode::Read, Mode::Write, Mode::Update, Mode::Acquire, Mode::Probe, Mode::End];
        let mut depending = 0;
        for _ in 0..2_000 {
            let mut may = MayAccess { everything: below(20) == 0, ..MayAccess::default() };
            for _ in 0..below(3) {
                let [start, other] = [below(140), below(140)];
                may.reads.insert(start, start + below(4));
                may.writes.insert(other, other + below(4));
            }
            let may = Arc::new(may);
            let accesses: Vec<Access> = (0..below(4))
                .map(|_| Access {
                    object: ObjectId::new(below(140) as usize),
                    mode: modes[below(6) as usize],
                })
                .collect();
            let mut touched = Touched::default();
            accesses.iter().for_each(|&access| touched.add(access));
            let expected = may.may_depend_on(&accesses);
            assert_eq!(
                MayTouch::of(&may).may_depend_on(&touched),
                expected,
                "{may:?} {accesses:?}"
            );
            depending += usize::from(expected);
        }
        assert!((100..1_900).contains(&depending), "{depending}");
    }
}
