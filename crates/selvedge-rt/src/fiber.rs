//! Threads of checked code: coroutines on pooled stacks.

use std::cell::RefCell;
use std::fmt;

use corosensei::stack::{DefaultStack, Stack};
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};

/// What a thread's code switches away with.
pub type Yielder = corosensei::Yielder<(), ()>;

/// How the code of a thread came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// As it should.
    Done,
    /// Its code failed, in a way that the front end knows more about.
    Failed,
    /// Its stack was taken down because it is no longer needed, or after a fault.
    Aborted,
    /// Its stack was too small.
    Overflowed,
    /// A signal ended it.
    Crashed,
    /// It took too long.
    Interrupted,
}

/// What ended a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crash {
    /// A signal.
    Signal {
        /// Which.
        number: i32,
        /// Whether it is about memory near address 0.
        null: bool,
    },
    /// Something that the front end recognised, as the end of a sentence.
    Known(&'static str),
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Crash::Known(text) => text,
            Crash::Signal { number: libc::SIGSEGV | libc::SIGBUS, null: true } => {
                "crashed: it used a null pointer (SIGSEGV)"
            }
            Crash::Signal { number: libc::SIGSEGV, .. } => {
                "crashed: it accessed memory that is not mapped, or not for this kind of access (SIGSEGV)"
            }
            Crash::Signal { number: libc::SIGBUS, .. } => {
                "crashed: it used memory in a way that is not possible (SIGBUS)"
            }
            Crash::Signal { number: libc::SIGFPE, .. } => {
                "crashed: an arithmetic operation is not possible (SIGFPE)"
            }
            Crash::Signal { number: libc::SIGILL, .. } => {
                "crashed: it aborts, or came to an invalid instruction (SIGILL)"
            }
            Crash::Signal { .. } => "aborts the process (SIGABRT)",
        })
    }
}

/// The code of a thread.
pub type Body = Box<dyn FnOnce() -> Outcome>;

/// The engine needs so much of a stack. If there is less left, it overflows before the engine holds
/// anything that others need.
pub(crate) const ROOM: usize = 32 << 10;

/// A thread's stack, with its code on it.
pub struct Fiber {
    coroutine: Coroutine<(), (), Outcome, DefaultStack>,
    /// Addresses of the stack: the end of its guard, and its top.
    limit: usize,
    base: usize,
}

impl Fiber {
    /// A stack with code on it that has not begun.
    pub(crate) fn new(
        stack: DefaultStack,
        code: impl FnOnce(&Yielder) -> Outcome + 'static,
    ) -> Self {
        let (limit, base) = (stack.limit().get(), stack.base().get());
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder, ()| code(yielder));
        Self { coroutine, limit, base }
    }

    /// Lets the code run until it switches away, or to its end.
    #[inline]
    pub(crate) fn resume(&mut self) -> Option<Outcome> {
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(()) => None,
            CoroutineResult::Return(outcome) => Some(outcome),
        }
    }

    /// The stack of code that came to its end.
    pub(crate) fn into_stack(self) -> DefaultStack {
        self.coroutine.into_stack()
    }

    /// The lowest address of the stack, above its guard.
    #[inline]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The address after the stack.
    #[inline]
    pub fn base(&self) -> usize {
        self.base
    }

    /// Returns whether an address lies on the stack.
    pub fn contains(&self, address: usize) -> bool {
        (self.limit..self.base).contains(&address)
    }

    /// What ends its code from inside a signal handler.
    pub fn trap_handler(&self) -> CoroutineTrapHandler<Outcome> {
        self.coroutine.trap_handler()
    }

    /// Leaves the stack as it is.
    pub fn forget(self) {
        std::mem::forget(self.coroutine);
    }
}

/// Unused stacks.
pub(crate) struct Stacks {
    free: Vec<DefaultStack>,
    /// Those that belong to threads, by their numbers: addresses on them are values that another execution is told.
    own: Vec<Option<DefaultStack>>,
    pub(crate) size: usize,
}

impl Stacks {
    pub(crate) fn new(size: usize) -> Self {
        const PAGE: usize = 16 << 10;
        Self { free: Vec::new(), own: Vec::new(), size: size.max(1).next_multiple_of(PAGE) }
    }

    pub(crate) fn put(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }

    /// The stack of a thread, the same in every execution.
    pub(crate) fn take_own(&mut self, thread: usize) -> Result<DefaultStack, std::io::Error> {
        match self.own.get_mut(thread).and_then(Option::take) {
            Some(stack) => Ok(stack),
            None => self.take(),
        }
    }

    pub(crate) fn put_own(&mut self, thread: usize, stack: DefaultStack) {
        if self.own.len() <= thread {
            self.own.resize_with(thread + 1, || None);
        }
        self.own[thread] = Some(stack);
    }

    pub(crate) fn take(&mut self) -> Result<DefaultStack, std::io::Error> {
        // At the end of a thread of the system nothing is spared any more.
        let spare = || SPARE.try_with(|spare| spare.borrow_mut().take(self.size)).ok().flatten();
        match self.free.pop().or_else(spare) {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(self.size + ROOM),
        }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        self.free.extend(self.own.drain(..).flatten());
        // Nothing is spared at the end of the thread.
        let _ = SPARE.try_with(|spare| spare.borrow_mut().put(self.size, &mut self.free));
    }
}

thread_local! {
    /// For the next check of this thread: a short one takes no longer than to map its stacks.
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare { size: 0, stacks: Vec::new() }) };
}

/// Some stacks of one size.
struct Spare {
    size: usize,
    stacks: Vec<DefaultStack>,
}

impl Spare {
    /// More are given back to the system.
    const MOST: usize = 16;

    fn take(&mut self, size: usize) -> Option<DefaultStack> {
        if self.size == size { self.stacks.pop() } else { None }
    }

    fn put(&mut self, size: usize, stacks: &mut Vec<DefaultStack>) {
        if self.size != size {
            self.stacks.clear();
            self.size = size;
        }
        let room = Self::MOST - self.stacks.len();
        self.stacks.extend(stacks.drain(..room.min(stacks.len())));
    }
}
