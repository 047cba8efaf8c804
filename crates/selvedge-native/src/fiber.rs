//! Threads of checked code: coroutines on the stacks of their slots.

use std::num::NonZeroUsize;

use corosensei::stack::{Stack, StackPointer};
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};

use crate::layout;

/// What checked code switches away with.
pub(crate) type Yielder = corosensei::Yielder<(), ()>;

/// How the code of a thread came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It returned.
    Done,
    /// A signal ended it.
    Crashed,
}

/// The stack of a slot.
struct SlotStack {
    limit: NonZeroUsize,
    base: NonZeroUsize,
}

// SAFETY: the slot is mapped for the whole life of the process, with inaccessible memory below it, and one
// coroutine at a time uses it.
unsafe impl Stack for SlotStack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// A thread's stack with its code on it.
pub(crate) struct Fiber {
    coroutine: Coroutine<(), (), Outcome, SlotStack>,
}

impl Fiber {
    /// Returns a fiber on the stack of `thread` whose code has not begun. No other fiber is on it.
    pub(crate) fn new(thread: usize, code: impl FnOnce(&Yielder) -> Outcome + 'static) -> Self {
        let (limit, base) = layout::stack(thread);
        let address = |address| NonZeroUsize::new(address).expect("slots do not begin at 0");
        let stack = SlotStack { limit: address(limit), base: address(base) };
        Self { coroutine: Coroutine::with_stack(stack, move |yielder: &Yielder, ()| code(yielder)) }
    }

    /// Lets the code run until it switches away, or to its end.
    #[inline]
    pub(crate) fn resume(&mut self) -> Option<Outcome> {
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(outcome) => Some(outcome),
        }
    }

    /// What ends its code from inside a signal handler.
    pub(crate) fn trap_handler(&self) -> CoroutineTrapHandler<Outcome> {
        self.coroutine.trap_handler()
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if !self.coroutine.done() {
            // SAFETY: frames of C need no destructors, and those of this crate that lie on the stack own nothing while
            // they are switched away from.
            unsafe { self.coroutine.force_reset() };
        }
    }
}
