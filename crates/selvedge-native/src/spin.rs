//! Spin loops: a thread that goes round and changes nothing waits until something it looked at has changed.
//!
//! **The rule.** A turn ends where a thread comes to an operation at the same place, on the same memory, and has changed
//! nothing in between. If its registers and its stack are then what they were, the next turn does the same as this one
//! unless it finds other values: so the thread stands until one of the values that it found differs. A loop that counts,
//! or tries a bounded number of times, changes its stack or registers and continues.
//!
//! What a turn may do: read memory, compare-exchange in vain, try locks that are held, store what is there already (what
//! is stored is looked at as well), and write to variables on its own stack that others do not see, which are compared.
//!
//! It may also take mutexes, if it gives them up again before its end ([`leaves_mutexes`]). Other threads notice such a turn only if they *try*
//! to take the mutex in the meantime: a mutex that is tried somewhere is taken for something that changes. Else they
//! wait, and an execution without the turn has the same values everywhere. The thread never stands where it has a mutex that
//! the turn took.
//!
//! The first turn does not count: what the thread left on its stack before the loop may be what the loop writes there, or not.
//! So states are compared from the second time on that a thread comes to a place, which also saves the time elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use selvedge_core::{Counting, Mode, ObjectId};
use smallvec::SmallVec;

use crate::layout;

/// What an operation looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Looks {
    /// `site`: which access of the shim it is.
    Memory {
        address: usize,
        size: usize,
        site: u32,
    },
    Mutex(usize),
    /// It takes a mutex.
    Taken(usize),
    /// It gives one up.
    GivenUp(usize),
}

/// One look in a turn.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    /// Where it was.
    pub(crate) pc: usize,
    pub(crate) what: Looks,
    pub(crate) objects: SmallVec<[(ObjectId, Mode); 1]>,
    /// What it found.
    pub(crate) value: u64,
    /// The state of the thread when it came there, if it was compared.
    pub(crate) state: Option<u128>,
}

/// What turns out while the program runs, and matters from the first step on.
#[derive(Default)]
pub(crate) struct Learned {
    /// Words of stacks that other threads than their own saw. Only accesses to these are steps: what a thread keeps to
    /// itself commutes with everything.
    seen: RefCell<BTreeSet<usize>>,
    /// Threads that came to a barrier. If there are more than its parties, it matters which comes first.
    arrived: RefCell<FxHashMap<usize, Arrived>>,
    /// Objects that are accessed atomically under a memory model.
    atomics: RefCell<BTreeSet<ObjectId>>,
    /// Turns of loops that count under a memory model.
    counting: RefCell<Counting<usize>>,
    /// Reader-writer locks that are tried, or that a thread takes twice, under a memory model.
    counted: RefCell<BTreeSet<ObjectId>>,
    /// Mutexes that a loop takes in each turn while it waits.
    polled: RefCell<BTreeSet<usize>>,
    /// Mutexes that a thread tries to take, or takes with a time limit.
    tried: RefCell<BTreeSet<usize>>,
    /// How much of their stacks threads compare, in bytes. They find zeros there when they start: what the last execution left
    /// would be a part of states.
    compared: Cell<usize>,
    /// Whether threads register what is done at the end of the process. Only then the order of the two matters.
    registers: Cell<bool>,
    /// Whether something new was learned since the search began.
    pub(crate) news: Cell<bool>,
}

impl Learned {
    /// A thread accesses its own stack. Returns whether no other thread sees that.
    #[inline]
    pub(crate) fn is_own(&self, address: usize, size: usize) -> bool {
        let seen = self.seen.borrow();
        seen.is_empty() || !words(address, size).any(|word| seen.contains(&word))
    }

    /// Returns whether other threads access the stack or the thread-local variables of a thread.
    pub(crate) fn is_seen(&self, thread: usize) -> bool {
        let is_its =
            |&word: &usize| layout::region(8 * word).is_some_and(|(owner, _)| owner == thread);
        self.seen.borrow().iter().any(is_its)
    }

    /// A thread accesses the stack or a thread-local variable of another. Accesses of that one to its stack were no steps so far.
    pub(crate) fn sees(&self, address: usize, size: usize) {
        let mut seen = self.seen.borrow_mut();
        for word in words(address, size) {
            if seen.insert(word) {
                self.news.set(true);
            }
        }
    }

    /// A thread registers something for the end of the process, or does what is registered. Returns whether the order
    /// matters.
    pub(crate) fn registers(&self, does: bool) -> bool {
        if does && !self.registers.replace(true) {
            self.news.set(true);
        }
        self.registers.get()
    }

    /// Returns whether an object is accessed atomically somewhere.
    pub(crate) fn is_atomic(&self, object: ObjectId) -> bool {
        self.atomics.borrow().contains(&object)
    }

    /// Notes that it is. Plain accesses to it were recorded without their values so far.
    pub(crate) fn note_atomic(&self, object: ObjectId) {
        if self.atomics.borrow_mut().insert(object) {
            self.news.set(true);
        }
    }

    /// Returns whether a reader-writer lock is a count of its readers.
    pub(crate) fn is_counted(&self, lock: ObjectId) -> bool {
        self.counted.borrow().contains(&lock)
    }

    /// It is. What was done with it so far was told otherwise.
    pub(crate) fn note_counted(&self, lock: ObjectId) {
        if self.counted.borrow_mut().insert(lock) {
            self.news.set(true);
        }
    }

    /// Returns whether some thread tries to take a mutex.
    pub(crate) fn is_tried(&self, mutex: usize) -> bool {
        self.tried.borrow().contains(&mutex)
    }

    /// One does. Turns of loops that took it were left out so far.
    pub(crate) fn note_tried(&self, mutex: usize) {
        if self.tried.borrow_mut().insert(mutex) && self.polled.borrow().contains(&mutex) {
            self.news.set(true);
        }
    }

    /// A loop waits that takes these mutexes in its turns.
    pub(crate) fn note_polled(&self, turn: &[Look]) {
        let taken = turn.iter().filter_map(|look| match look.what {
            Looks::Taken(mutex) => Some(mutex),
            _ => None,
        });
        self.polled.borrow_mut().extend(taken);
    }

    /// A thread compares its stack, down to a frame. The search begins again if that is more than any did so far.
    pub(crate) fn compares(&self, thread: usize, frame: usize) {
        const PART: usize = 4 << 10;
        let depth = layout::stack(thread).1.saturating_sub(frame).next_multiple_of(PART);
        if depth > self.compared.get() {
            self.compared.set(depth);
            self.news.set(true);
        }
    }

    /// Returns how much of their stacks threads compare.
    pub(crate) fn compared(&self) -> usize {
        self.compared.get()
    }

    /// Returns whether a turn of a loop counts.
    pub(crate) fn counts(&self, thread: usize, pc: usize, turn: u64, most: usize) -> bool {
        self.counting.borrow().counts(thread, pc, turn, most)
    }

    /// It does. Returns whether that is new.
    pub(crate) fn note_counts(&self, thread: usize, pc: usize, turn: u64) -> bool {
        self.counting.borrow_mut().note(thread, pc, turn)
    }

    /// Returns the words of stacks that others saw: the thread, and how many words below the top.
    pub(crate) fn shared_locals(&self) -> Vec<(usize, usize)> {
        let place = |&word: &usize| {
            let (thread, _) = layout::region(8 * word)?;
            Some((thread, layout::stack(thread).1 / 8 - word))
        };
        self.seen.borrow().iter().rev().filter_map(place).collect()
    }

    /// These are known to be seen by others.
    pub(crate) fn set_shared_locals(&self, locals: &[(usize, usize)]) {
        let mut seen = self.seen.borrow_mut();
        for &(thread, below) in locals.iter().filter(|(thread, _)| *thread < layout::THREADS) {
            seen.insert((layout::stack(thread).1 / 8).saturating_sub(below));
        }
    }
}

impl Learned {
    /// A thread comes to a barrier. Returns whether it is the first time.
    pub(crate) fn arrives(&self, barrier: usize, thread: usize, parties: u64) -> bool {
        let mut arrived = self.arrived.borrow_mut();
        let arrived = arrived.entry(barrier).or_default();
        if arrived.threads.contains(&thread) {
            return false;
        }
        arrived.threads.push(thread);
        if arrived.threads.len() as u64 > parties && !arrived.is_crowded {
            arrived.is_crowded = true;
            self.news.set(true);
        }
        true
    }

    /// Returns the threads that come to a barrier.
    pub(crate) fn parties_of(&self, barrier: usize) -> Vec<usize> {
        self.arrived.borrow().get(&barrier).map_or(Vec::new(), |arrived| arrived.threads.clone())
    }

    /// Returns how much was learned.
    pub(crate) fn count(&self) -> usize {
        let arrived = self.arrived.borrow();
        let arrived: usize = arrived.values().map(|arrived| arrived.threads.len()).sum();
        self.seen.borrow().len() + arrived + usize::from(self.registers.get()) + self.compared.get()
    }

    /// Returns whether more threads come to a barrier than it has parties.
    pub(crate) fn is_crowded(&self, barrier: usize) -> bool {
        self.arrived.borrow().get(&barrier).is_some_and(|arrived| arrived.is_crowded)
    }
}

/// Who came to a barrier.
#[derive(Default)]
struct Arrived {
    threads: Vec<usize>,
    is_crowded: bool,
}

/// Returns whether a turn gives up the mutexes that it takes, and only these: a thread that stands after it holds what it held
/// before the loop.
pub(crate) fn leaves_mutexes(turn: &[Look]) -> bool {
    let mut held: SmallVec<[usize; 4]> = SmallVec::new();
    for look in turn {
        match look.what {
            Looks::Taken(mutex) => held.push(mutex),
            Looks::GivenUp(mutex) => match held.iter().rposition(|&one| one == mutex) {
                Some(place) => _ = held.remove(place),
                None => return false,
            },
            Looks::Memory { .. } | Looks::Mutex(_) => {}
        }
    }
    held.is_empty()
}

fn words(address: usize, size: usize) -> impl Iterator<Item = usize> {
    (address / 8..(address + size).div_ceil(8)).take(1 << 16)
}

/// Returns a number for some bytes of memory that can be read.
pub(crate) fn content(address: usize, size: usize) -> u64 {
    let mut sum = Sum::default();
    // SAFETY: callers ask for memory of slots and modules, which is mapped.
    unsafe {
        match size {
            1 => return u64::from((address as *const u8).read_volatile()),
            2 => return u64::from((address as *const u16).read_unaligned()),
            4 => return u64::from((address as *const u32).read_unaligned()),
            8 => return (address as *const u64).read_unaligned(),
            _ => {}
        }
        for at in address..address + size {
            sum.add(u64::from((at as *const u8).read_volatile()));
        }
    }
    sum.0
}

/// Callee-saved registers are pushed right below the frame of the shim.
const REGISTERS: usize = 40;

/// Returns a number for the state of a thread that calls the shim with this frame: its registers and its stack up to
/// `top`.
pub(crate) fn state(thread: usize, frame: usize, top: usize) -> Option<u128> {
    let (limit, base) = layout::stack(thread);
    let from = frame.checked_sub(REGISTERS)? & !7;
    if !(limit..base).contains(&from) || !(from..base).contains(&top) {
        return None;
    }
    let mut sum = Sum::default();
    sum.add(from as u64);
    for at in (from..top & !7).step_by(8) {
        // SAFETY: it lies on the stack of the thread, which runs here.
        sum.add(unsafe { (at as *const u64).read_volatile() });
    }
    Some(u128::from(sum.0) << 64 | u128::from(sum.1))
}

/// Takes in words, and returns a number for all of them.
struct Sum(u64, u64);

impl Default for Sum {
    fn default() -> Self {
        Self(1, 2)
    }
}

impl Sum {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.1 = (self.1.rotate_left(11) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
}
