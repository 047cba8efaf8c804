//! Tries a spin loop out: does it give up, or does it wait for ever if nothing changes?
//!
//! The thread goes on alone, from where it would stand still: its operations run at once, and find what
//! they found before. If it comes back to the same place and touched the same, again and again
//! ([`Builder::spin_turns`](crate::Builder::spin_turns) times), it waits. If it does anything else, it
//! gives up. Then the execution is run again up to where it was.
//!
//! The answer depends on the state of the thread and on the values that it saw, and on nothing else. It is
//! kept with a number for all that the thread came to know so far, so that no state is tried twice.

use rustc_hash::FxHashMap;
use selvedge_core::{ObjectId, Step, ThreadId};

use super::engine::Engine;
use super::fiber::resume;
use super::operation::Spot;
use super::runtime::{Runtime, State, Way};
use super::system::Program;

/// A thread in a loop, in one state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub(crate) thread: u32,
    pub(crate) spot: Spot,
    pub(crate) history: u64,
}

/// What a loop does if nothing changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decided {
    Waits,
    GivesUp,
}

/// What is known about loops.
#[derive(Default)]
pub(crate) struct Loops {
    /// `None`: the loop went on before anybody knew, since something had changed.
    known: FxHashMap<Key, Option<Decided>>,
}

impl Loops {
    /// What is known. `goes_on`: something has changed, so that the loop goes on in any case.
    pub(crate) fn decided(&mut self, key: Key, goes_on: bool) -> Option<Decided> {
        match goes_on {
            true => *self.known.entry(key).or_insert(None),
            false => self.known.get(&key).copied().flatten(),
        }
    }

    /// Gives whether executions so far took it for something else.
    fn decide(&mut self, key: Key, decided: Decided) -> bool {
        let before = self.known.insert(key, Some(decided));
        before == Some(None) && decided == Decided::GivesUp
    }
}

/// A thread that runs alone.
pub(crate) struct Alone {
    key: Key,
    /// What it touches in each turn.
    seen: Vec<ObjectId>,
    turns: u32,
    /// It comes back to the loop before it did so many visible operations.
    operations: u64,
    /// What came out.
    decided: Option<Decided>,
}

impl Engine {
    /// The thread that runs alone comes to a spin loop.
    pub(super) fn turn_alone(&self, spot: Spot) {
        let rt = self.rt();
        let made_a_change = rt.has_changed(rt.current);
        let thread = &mut rt.threads[rt.current];
        let operations = thread.operations;
        let touched = thread.touched.seen.iter().map(|&(object, ..)| object);
        let Some(alone) = &mut rt.alone else { return };
        // A turn may use memory of its own.
        let touched_same = thread.touched.varies || touched.eq(alone.seen.iter().copied());
        let is_same = std::ptr::eq(spot, alone.key.spot) && touched_same;
        if !is_same || made_a_change {
            return self.end_alone(Decided::GivesUp);
        }
        alone.turns += 1;
        alone.operations = operations + thread.touched.turn;
        let is_enough = alone.turns >= rt.shared.spin_turns;
        thread.touched.start_turn();
        if is_enough {
            self.end_alone(Decided::Waits);
        }
    }

    /// Whether the thread that runs alone may do something visible: if it is part of a turn.
    pub(super) fn is_turn(&self) -> bool {
        let rt = self.rt();
        let me = rt.current;
        rt.alone.as_ref().is_some_and(|alone| {
            let is_it = alone.key.thread as usize == me && alone.decided.is_none();
            is_it && rt.threads[me].operations <= alone.operations
        })
    }

    /// Enough is known. The thread goes on when what is left of the execution is run to its end.
    #[cold]
    pub(super) fn end_alone(&self, decided: Decided) {
        let rt = self.rt();
        if let Some(alone) = &mut rt.alone {
            alone.decided.get_or_insert(decided);
        }
        self.suspend();
    }
}

impl Program {
    /// Tries out threads that stand still in a loop of which nobody knows whether it gives up. The state
    /// is then what it was, but that a thread whose loop gives up goes on.
    #[inline]
    pub(super) fn decide_loops(&mut self) {
        while self.rt().shared.learned.spins.get()
            && let Some((number, key)) = undecided(self.rt())
        {
            self.try_alone(number, key);
        }
    }

    #[cold]
    fn try_alone(&mut self, number: usize, key: Key) {
        let rt = self.rt_mut();
        let thread = &mut rt.threads[number];
        let seen = thread.touched.seen.iter().map(|&(object, ..)| object).collect();
        let operations = thread.operations + thread.touched.turn;
        let thread_step = thread.last_step;
        rt.alone = Some(Alone { key, seen, turns: 0, operations, decided: None });
        rt.way = Way::Alone;
        // It may be elsewhere when the same steps are taken again.
        if let Some(step) = thread_step {
            rt.log[step].next = None;
        }
        // SAFETY: no reference into the runtime is held.
        unsafe { resume(self.raw(), number) };
        let rt = self.rt_mut();
        // If it came to its end, or failed, it left the loop.
        let decided = rt.alone.take().and_then(|alone| alone.decided);
        let decided = decided.unwrap_or(Decided::GivesUp);
        if decided == Decided::Waits {
            rt.shared.spun.set(true);
        }
        let is_news = rt.shared.learned.loops.borrow_mut().decide(key, decided);
        let kept: Vec<Step> = rt.log.iter().map(|logged| logged.step()).collect();
        let last = rt.last.take();
        self.replay(&kept);
        let rt = self.rt_mut();
        rt.last = last;
        if is_news {
            rt.learn();
        }
    }
}

/// A thread that stands still, and should be tried.
fn undecided(rt: &Runtime) -> Option<(usize, Key)> {
    let stands = |number: usize| {
        let thread = &rt.threads[number];
        let key = thread.touched.undecided?;
        let is_still = thread.state == State::Ready && !rt.has_changed(number);
        let is_known = rt.shared.learned.loops.borrow_mut().decided(key, false).is_some();
        (is_still && !is_known && !rt.shared.is_unsteady.get()).then_some((number, key))
    };
    (0..rt.threads.len()).find_map(stands)
}

impl super::runtime::Logged {
    pub(crate) fn step(&self) -> Step {
        Step { thread: ThreadId::new(self.thread as usize), choice: self.choice }
    }
}
