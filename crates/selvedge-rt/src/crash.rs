//! A crash of checked code is a violation with its schedule, not the end of the process; so is a stack overflow.
//! Code that computes without end is left when the time is up.
//!
//! A signal handler, on a stack of its own, sees that checked code runs, and lets the running thread end instead:
//! the thread's stack stays as it is, and nothing of that execution runs again. What the thread did before may have
//! harmed more than itself, so a line with the schedule is printed at once: whatever comes next, that is known.
//!
//! Outside of checked code, and where a thread cannot be left, a signal does what it did before.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::Once;

use crate::context;
use crate::fiber::{Crash, Fiber, Outcome};
use crate::hooks::Hooks;
use crate::last_words;
use crate::plain_access;
use crate::runtime::{Runtime, Way};

/// The signal that asks to leave code that takes too long: one that does nothing to a process without a handler.
pub const WAKE_UP: i32 = libc::SIGURG;

const SIGNALS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, WAKE_UP];

/// A frame may skip so much of the page below the stack.
const GUARD: usize = 64 << 10;

/// No pointer that is right points below this.
const NULL: usize = 4 << 10;

/// What was installed before, for each of them.
struct Before(UnsafeCell<[MaybeUninit<libc::sigaction>; SIGNALS.len()]>);
// SAFETY: each is written once, before the handler that reads it is installed.
unsafe impl Sync for Before {}
static BEFORE: Before = Before(UnsafeCell::new([MaybeUninit::uninit(); SIGNALS.len()]));

/// Installs the handlers that report crashes of checked code. One front end of a process can do so.
pub(crate) fn install<W: Hooks>() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        for (index, signal) in SIGNALS.into_iter().enumerate() {
            // SAFETY: a zeroed action is a valid one, and the handler keeps to its signature.
            unsafe {
                let before = (&mut *BEFORE.0.get())[index].as_mut_ptr();
                libc::sigaction(signal, std::ptr::null(), before);
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                libc::sigaddset(&raw mut action.sa_mask, plain_access::SIGNAL);
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    handle::<W>;
                action.sa_sigaction = handler as usize;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
        plain_access::install::<W>();
    });
}

extern "C" fn handle<W: Hooks>(
    signal: i32,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let rt = W::running();
    // SAFETY: the system calls this with valid pointers. If checked code runs, its runtime is alive; the thread of
    // the system that runs it is this one, and does nothing else now.
    unsafe {
        let is_told = match signal {
            libc::SIGSEGV | libc::SIGBUS if W::is_engine() && is_opened::<W>(&*info) => true,
            _ if rt.is_null() => signal == WAKE_UP,
            WAKE_UP => {
                interrupted(&mut *rt, context);
                true
            }
            _ => is_of_this_process(&*info) && crashed(&mut *rt, signal, &*info, context),
        };
        if !is_told {
            hand_on(signal, info, context);
        }
    }
}

/// The engine looks at something that is inaccessible. Returns whether it can, now.
fn is_opened<W: Hooks>(info: &libc::siginfo_t) -> bool {
    // SAFETY: such a signal has an address, if the system raised it.
    info.si_code > 0 && W::open(unsafe { info.si_addr() } as usize)
}

/// Checked code crashed. Returns whether the thread was left.
///
/// # Safety
/// In the handler of a signal that the running thread of `rt` caused.
unsafe fn crashed<W: Hooks>(
    rt: &mut Runtime<W>,
    number: i32,
    info: &libc::siginfo_t,
    context: *mut libc::c_void,
) -> bool {
    // SAFETY: such a signal has an address, if it is about one.
    let address = unsafe { info.si_addr() } as usize;
    let is_memory = matches!(number, libc::SIGSEGV | libc::SIGBUS);
    // A signal that was sent, or an address that cannot be one, comes without it.
    let is_exact = (1..=2).contains(&info.si_code);
    let thread = &mut rt.threads[rt.now.current];
    let guard = thread
        .fiber
        .as_ref()
        .map_or(0..0, |it| it.limit().saturating_sub(GUARD)..it.limit() + GUARD);
    if is_memory && guard.contains(&address) {
        // SAFETY: the caller's promise.
        return unsafe { leave(rt, context, Outcome::Overflowed) };
    }
    // SAFETY: the caller's promise.
    if is_memory && is_exact && unsafe { plain_access::is_operation(rt, address, context) } {
        return true;
    }
    let before = rt.threads[rt.now.current].crash;
    let known = match is_memory && is_exact {
        // SAFETY: the caller's promise.
        true => unsafe { context::as_a_call(context, || W::recognise(rt, address)) },
        false => None,
    };
    let signal = Crash::Signal { number, null: is_memory && is_exact && address < NULL };
    let crash = before.unwrap_or(known.map_or(signal, Crash::Known));
    let me = rt.now.current;
    rt.threads[me].crash = Some(crash);
    // What is left of an execution that is over is no result; and the report of what does no harm is enough.
    let is_result = rt.now.way == Way::Announce && known.is_none();
    let can_leave = rt.fiber_of(context).is_some();
    if (is_result || !can_leave) && !rt.shared.has_crashed.replace(true) {
        let and =
            if can_leave { "; a report follows, if the crash did not break more" } else { "" };
        last_words::say(rt, &crash, and);
    }
    // SAFETY: the caller's promise.
    unsafe { leave(rt, context, Outcome::Crashed) }
}

/// The thread that looks on asks to leave code that takes too long.
///
/// # Safety
/// In the handler of the signal.
unsafe fn interrupted<W: Hooks>(rt: &mut Runtime<W>, context: *mut libc::c_void) {
    let Some((overdue, must_end)) = rt.shared.overdue() else { return };
    // In the engine it holds what others need: then again in a moment. In its own code it holds nothing of ours.
    let is_in_code = !W::is_engine();
    // SAFETY: the caller's promise.
    if is_in_code && unsafe { leave(rt, context, Outcome::Interrupted) } {
        return;
    }
    if must_end || (is_in_code && rt.fiber_of(context).is_none()) {
        last_words::say(rt, &overdue, "; the process ends, since the thread cannot be left there");
        // SAFETY: nothing runs after it.
        unsafe { libc::_exit(W::FAILED) }
    }
}

/// Returns whether a signal was not sent by another process.
fn is_of_this_process(info: &libc::siginfo_t) -> bool {
    // SAFETY: a signal that a process sent says which.
    info.si_code > 0 || unsafe { info.si_pid() == libc::getpid() }
}

/// Does what the signal did before.
///
/// # Safety
/// In the handler of the signal.
unsafe fn hand_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(index) = SIGNALS.iter().position(|&known| known == signal) else { return };
    // SAFETY: it was written before the handler was installed, and says itself what it is.
    unsafe {
        let before = &*(&*BEFORE.0.get())[index].as_ptr();
        match before.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                libc::sigaction(signal, before, std::ptr::null_mut());
                // The code that caused it tries again; one that was sent comes once.
                if (*info).si_code <= 0 {
                    libc::raise(signal);
                }
            }
            handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
                type Handler = extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void);
                std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
            }
            handler => std::mem::transmute::<usize, extern "C" fn(i32)>(handler)(signal),
        }
    }
}

impl<W: Hooks> Runtime<W> {
    /// The stack that was interrupted, if it is that of the running thread and can be left.
    pub(crate) fn fiber_of(&self, context: *mut libc::c_void) -> Option<&Fiber> {
        let fiber = self.threads.get(self.now.current)?.fiber.as_ref()?;
        let stack = context::stack_pointer(context)?;
        (fiber.limit() - GUARD..fiber.base()).contains(&stack).then_some(fiber)
    }
}

/// Lets the running thread end when the handler returns. False if it cannot be left.
///
/// # Safety
/// In the handler of a signal, with its context.
unsafe fn leave<W: Hooks>(rt: &Runtime<W>, context: *mut libc::c_void, outcome: Outcome) -> bool {
    let fiber = rt.fiber_of(context);
    if let Some(fiber) = fiber {
        // SAFETY: the stack that was interrupted is this thread's, and nothing of it is used again.
        unsafe { context::leave(fiber, context, outcome) };
    }
    fiber.is_some()
}
