//! Operations that may end spuriously: a wait on a condition variable that is not signalled, a weak compare-exchange
//! that fails although it finds what it expects. POSIX, C and C++ allow both.
//!
//! Whether one does is a choice of its own, made so often for each thread and place as [`Spurious`] says. But most code
//! looks again, and comes back: then the choice is left out, and costs nothing. To see whether it does, the thread is
//! tried out when it comes to the operation: left alone, the operation ends spuriously, again and again. The choice is
//! left out only if the thread
//!
//! - comes back to the same operation,
//! - on the way only reads, or takes and gives up locks, and
//! - has the same registers and the same stack as after an earlier turn: then the loop never ends by itself.
//!
//! If that is unknown, because the way back is too long or each turn leads to a new state, there is a choice: that is the
//! safe answer, so that the limits below cost executions, but hide nothing.
//!
//! Whether there is a choice depends on what the thread came to know so far, and on nothing else: steps that commute
//! must not decide which steps others take. So the answer is kept with that.
//!
//! What is left out is what a loop that looks again would see if it woke while others change what it looks at, before
//! they signal; that others find its lock taken then; and what it remembers of its first turns only. With
//! [`Spurious::everywhere`] nothing is left out.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use crate::machine::{Machine, State};
use crate::op::{Ends, Op};
use crate::perform::Then;
use crate::spin;

/// How operations that may end spuriously do so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spurious {
    /// How often, for each thread and place.
    pub most: u32,
    /// Whether also where the code rechecks.
    pub everywhere: bool,
}

impl Default for Spurious {
    fn default() -> Self {
        Self { most: 1, everywhere: false }
    }
}

/// A thread that comes to an operation: where, and all that it came to know so far.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    thread: usize,
    pc: usize,
    history: u64,
}

/// What is known about operations that may end spuriously.
#[derive(Default)]
pub(crate) struct Whims {
    pub(crate) asked: Cell<Spurious>,
    /// Whether what threads come to know is noted.
    watches: Cell<bool>,
    /// Whether it matters that an operation ends spuriously.
    matters: RefCell<FxHashMap<Key, bool>>,
    /// Whether one could have ended spuriously more often, and that might matter.
    pub(crate) is_bounded: Cell<bool>,
    /// Whether one was left out, since the code rechecks.
    pub(crate) is_left_out: Cell<bool>,
}

impl Whims {
    /// Returns how much is known.
    pub(crate) fn count(&self) -> usize {
        let said = [&self.watches, &self.is_bounded, &self.is_left_out];
        self.matters.borrow().len() + said.iter().filter(|it| it.get()).count()
    }
}

/// What becomes of an operation that may end spuriously.
#[derive(Clone, Copy)]
pub(crate) enum Whim {
    /// It does not.
    Never,
    /// It is chosen; with a key if it is not known whether that matters.
    Chosen(Option<Key>),
}

/// Limits of a trial: operations on the way back, and turns.
const OPERATIONS: usize = 256;
const TURNS: usize = 6;

impl Machine {
    /// A thread comes to an operation that may end spuriously.
    pub(crate) fn whim(&mut self, me: usize, pc: usize) -> Whim {
        if self.tried == Some(me) {
            return Whim::Chosen(None);
        }
        let whims = &self.shared.whims;
        let Spurious { most, everywhere } = whims.asked.get();
        if most == 0 {
            return Whim::Never;
        }
        // Under a memory model no thread is tried out: what it would read is not known.
        let everywhere = everywhere || self.locations.is_some();
        let key = match everywhere {
            true => None,
            false if !whims.watches.replace(true) => {
                // What it came to know so far is not known: again, from the start.
                self.shared.learned.news.set(true);
                return Whim::Never;
            }
            false => {
                let key = Key { thread: me, pc, history: self.threads[me].history };
                let matters = whims.matters.borrow().get(&key).copied();
                if matters == Some(false) {
                    whims.is_left_out.set(true);
                    return Whim::Never;
                }
                matters.is_none().then_some(key)
            }
        };
        let so_far = self.threads[me].whims.iter().filter(|&&other| other == pc).count();
        if key.is_none() && so_far >= most as usize {
            whims.is_bounded.set(true);
            return Whim::Never;
        }
        self.has_whims |= key.is_some();
        Whim::Chosen(key)
    }

    /// A thread is about to take its step: what it sees with it belongs to what it knows.
    pub(crate) fn note_seen(&mut self, me: usize, choice: u32) {
        if !self.shared.whims.watches.get() {
            return;
        }
        let seen = match self.threads[me].op {
            Op::Access { address, size, how } if how.mode().reads() => spin::content(address, size),
            Op::Compare { address, size, .. } => spin::content(address, size),
            Op::Join { target, .. } | Op::TryJoin { target, .. } => self.threads[target].returned,
            _ => 0,
        };
        let pc = self.threads[me].pc;
        for word in [pc as u64, seen, u64::from(choice)] {
            self.learns(me, word);
        }
    }

    /// A thread gets a value.
    pub(crate) fn learns(&mut self, me: usize, word: u64) {
        let history = &mut self.threads[me].history;
        *history = (history.rotate_left(17) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// Finds out whether it matters that operations end spuriously at which threads stand. The state is then what it
    /// was, but that a thread for which it does not matter stands at the operation itself.
    #[inline]
    pub(crate) fn decide(&mut self) {
        while self.has_whims && !self.is_over() {
            let open = self.threads.iter().enumerate().find_map(|(number, thread)| {
                let key = thread.whim.filter(|_| thread.state == State::Ready)?;
                let is_known = self.shared.whims.matters.borrow().contains_key(&key);
                (!is_known).then_some((number, key))
            });
            match open {
                Some((number, key)) => self.decide_one(number, key),
                None => self.has_whims = false,
            }
        }
    }

    #[cold]
    fn decide_one(&mut self, me: usize, key: Key) {
        let steps = self.steps.clone();
        self.tried = Some(me);
        let matters = !self.comes_back(me);
        self.shared.whims.matters.borrow_mut().insert(key, matters);
        self.follow(&steps);
    }

    /// Lets a thread that stands at an operation which may end spuriously run alone. Returns whether it comes back,
    /// again and again, and changes nothing.
    fn comes_back(&mut self, me: usize) -> bool {
        let pc = self.threads[me].pc;
        self.threads[me].turn.clear();
        self.threads[me].written = None;
        let mut states = Vec::new();
        // Locks that it took and has not given up.
        let mut held = 0_i64;
        for _ in 0..TURNS {
            let thread = &self.threads[me];
            let Some(state) = spin::state(me, thread.frame, thread.top) else { return false };
            if states.contains(&(state, held)) {
                return true;
            }
            states.push((state, held));
            self.has_changed = false;
            self.goes_on_alone(me, 1);
            if !self.goes_round(me, pc, &mut held) {
                return false;
            }
        }
        false
    }

    /// Lets a thread run until it stands at the operation again. Returns whether it does, and has changed nothing.
    fn goes_round(&mut self, me: usize, pc: usize, held: &mut i64) -> bool {
        for _ in 0..OPERATIONS {
            if self.has_changed || self.threads[me].state != State::Ready || !self.is_enabled(me) {
                return false;
            }
            let thread = &self.threads[me];
            if thread.op == Op::Whim {
                if thread.pc == pc {
                    return true;
                }
                // Another operation that may end spuriously does not.
                self.goes_on_alone(me, 0);
                continue;
            }
            if !self.changes_nothing(me) {
                return false;
            }
            let op = thread.op;
            match self.perform(me, 0) {
                Ok(Then::GoesOn(result)) => {
                    *held += taken(op, result);
                    self.goes_on_alone(me, result);
                }
                Ok(Then::Stands) => {}
                Err(_) => return false,
            }
        }
        false
    }

    fn goes_on_alone(&mut self, me: usize, result: u64) {
        self.threads[me].result = result;
        self.resume(me);
    }

    /// Returns whether an operation only looks at something, or takes or gives up a lock.
    fn changes_nothing(&self, me: usize) -> bool {
        match self.threads[me].op {
            Op::Access { how, .. } => !how.mode().writes(),
            Op::Compare { address, size, wanted, .. } => !Self::finds(address, size, wanted),
            Op::Wait { ends, .. } => ends == Ends::WithoutReason,
            Op::Fence { .. }
            | Op::Lock { .. }
            | Op::LockAll { .. }
            | Op::TryLock { .. }
            | Op::Unlock { .. }
            | Op::Reacquire { .. }
            | Op::RwLock { .. }
            | Op::RwTry { .. }
            | Op::RwUnlock { .. }
            | Op::Value { .. } => true,
            _ => false,
        }
    }
}

/// Returns how many more locks a thread holds after an operation with this result. A wait takes again what it gave up.
fn taken(op: Op, result: u64) -> i64 {
    match op {
        Op::Lock { .. } | Op::TryLock { .. } | Op::RwLock { .. } | Op::RwTry { .. } => {
            i64::from(result == 0)
        }
        Op::LockAll { count, .. } => count as i64,
        Op::Unlock { .. } | Op::RwUnlock { .. } => -i64::from(result == 0),
        _ => 0,
    }
}
