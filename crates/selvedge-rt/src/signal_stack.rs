//! A stack for signal handlers: that of `std` is too small to print anything on.

use std::cell::RefCell;
use std::marker::PhantomData;

const SIZE: usize = 64 << 10;

thread_local! {
    /// One is enough for all checks of a thread of the system.
    static STACK: RefCell<Option<Box<[u8]>>> = const { RefCell::new(None) };
}

/// As long as this lives, signal handlers of this thread run on a larger stack.
pub struct SignalStack {
    /// What they ran on before, and what they run on now.
    before: libc::stack_t,
    stack: Box<[u8]>,
    /// It belongs to its thread.
    _not_send: PhantomData<*const u8>,
}

impl SignalStack {
    /// From now on.
    #[allow(clippy::new_without_default, reason = "it is made for what it does")]
    pub fn new() -> Self {
        // At the end of a thread of the system nothing is spared any more.
        let spare = STACK.try_with(|stack| stack.borrow_mut().take()).ok().flatten();
        let mut stack = spare.unwrap_or_else(|| vec![0; SIZE].into_boxed_slice());
        // SAFETY: a zeroed description is a valid one, and the stack lives until the one before is back.
        let before = unsafe {
            let mut before: libc::stack_t = std::mem::zeroed();
            let mut new: libc::stack_t = std::mem::zeroed();
            new.ss_sp = stack.as_mut_ptr().cast();
            new.ss_size = SIZE;
            libc::sigaltstack(&raw const new, &raw mut before);
            before
        };
        Self { before, stack, _not_send: PhantomData }
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: it is what the system gave.
        unsafe { libc::sigaltstack(&raw const self.before, std::ptr::null_mut()) };
        let stack = std::mem::take(&mut self.stack);
        let _ = STACK.try_with(|spare| spare.borrow_mut().replace(stack));
    }
}
