//! A crash of checked code is a violation with its schedule, not the end of the process; so is a stack overflow.
//! Code that computes without end is left when the time is up.
//!
//! A signal handler, on a stack of its own, sees that checked code runs, and lets the running thread end instead:
//! the thread's stack stays as it is, and nothing of that execution runs again. What the thread did before may have
//! harmed more than itself, so a line with the schedule is printed at once: whatever comes next, that is known.
//!
//! Outside of checked code, and where a thread cannot be left, a signal does what it did before.

use std::cell::UnsafeCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Once;

use super::arena;
use super::fiber::{Fiber, Outcome};
use super::guarded;
use super::last_words;
use super::runtime::{Runtime, Way, running};
use crate::watch::WAKE_UP;

/// What ended a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crash {
    /// A signal. If it is about memory: whether that is near address 0.
    Signal { number: i32, null: bool },
    /// A panic while it was unwinding.
    DoublePanic,
    /// A plain access to memory that was freed and cannot be used; see `guarded.rs`.
    Freed { address: usize },
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Crash::DoublePanic => "panicked while it was unwinding, which aborts the process",
            Crash::Freed { .. } => "reads or writes memory that was freed",
            Crash::Signal { number: libc::SIGSEGV | libc::SIGBUS, null: true } => {
                "crashed: it used a null pointer (SIGSEGV)"
            }
            Crash::Signal { number: libc::SIGSEGV, .. } => {
                "crashed: it used memory that is not there, or not for this (SIGSEGV)"
            }
            Crash::Signal { number: libc::SIGBUS, .. } => {
                "crashed: it used memory in a way that is not possible (SIGBUS)"
            }
            Crash::Signal { number: libc::SIGFPE, .. } => {
                "crashed: an arithmetic operation is not possible (SIGFPE)"
            }
            Crash::Signal { number: libc::SIGILL, .. } => {
                "crashed: it aborts, or came to an instruction that is none (SIGILL)"
            }
            Crash::Signal { .. } => "aborts the process (SIGABRT)",
        })
    }
}

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

/// Sees to it that crashes of checked code are told.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        for (index, signal) in SIGNALS.into_iter().enumerate() {
            // SAFETY: a zeroed action is a valid one, and the handler keeps to its signature.
            unsafe {
                let before = (&mut *BEFORE.0.get())[index].as_mut_ptr();
                libc::sigaction(signal, std::ptr::null(), before);
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = handle;
                action.sa_sigaction = handler as usize;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    });
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let rt = running();
    // SAFETY: the system calls this with valid pointers. If checked code runs, its runtime is alive; the thread of
    // the system that runs it is this one, and does nothing else now.
    unsafe {
        let is_told = match signal {
            libc::SIGSEGV | libc::SIGBUS if arena::current().is_null() && is_opened(&*info) => true,
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

/// The engine looks into a freed block. Returns whether it can, now.
fn is_opened(info: &libc::siginfo_t) -> bool {
    // SAFETY: such a signal has an address, if the system raised it.
    info.si_code > 0 && guarded::open_for_engine(unsafe { info.si_addr() } as usize)
}

/// Checked code crashed. Returns whether the thread was left.
///
/// # Safety
/// In the handler of a signal that the running thread of `rt` caused.
unsafe fn crashed(
    rt: &mut Runtime,
    number: i32,
    info: &libc::siginfo_t,
    context: *mut libc::c_void,
) -> bool {
    // SAFETY: such a signal has an address, if it is about one.
    let address = unsafe { info.si_addr() } as usize;
    let is_memory = matches!(number, libc::SIGSEGV | libc::SIGBUS);
    // A signal that was sent, or an address that cannot be one, comes without it.
    let is_exact = (1..=2).contains(&info.si_code);
    let thread = &mut rt.threads[rt.current];
    let guard =
        thread.fiber.as_ref().map_or(0..0, |it| it.limit.saturating_sub(GUARD)..it.limit + GUARD);
    if is_memory && guard.contains(&address) {
        // SAFETY: the caller's promise.
        return unsafe { leave(rt, context, Outcome::Overflowed) };
    }
    let is_freed = is_memory && is_exact && rt.shared.guards && arena::is_inside(address);
    let crash = thread.crash.unwrap_or(match is_freed {
        true => Crash::Freed { address },
        false => Crash::Signal { number, null: is_memory && is_exact && address < NULL },
    });
    thread.crash = Some(crash);
    if is_freed && rt.watches_block {
        let code = arena::switch(std::ptr::null_mut());
        rt.watch_access(address);
        arena::switch(code);
    }
    // What is left of an execution that is over is no result.
    let is_result = rt.way == Way::Announce;
    let can_leave = rt.fiber_of(context).is_some();
    // An access to a freed block does no harm: the report is enough.
    let is_result = is_result && !is_freed;
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
unsafe fn interrupted(rt: &mut Runtime, context: *mut libc::c_void) {
    let Some(overdue) = rt.shared.pulse.overdue() else { return };
    // In the engine it holds what others need: then again in a moment. In its own code it holds nothing of ours.
    let is_in_code = !arena::current().is_null();
    // SAFETY: the caller's promise.
    if is_in_code && unsafe { leave(rt, context, Outcome::Interrupted) } {
        return;
    }
    if overdue.must_end || (is_in_code && rt.fiber_of(context).is_none()) {
        last_words::say(rt, &overdue, "; the process ends, since the thread cannot be left there");
        // SAFETY: nothing runs after it.
        unsafe { libc::_exit(super::exit::FAILED) }
    }
}

/// Whether a signal was not sent by another process.
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

impl Runtime {
    /// The stack that was interrupted, if it is that of the running thread and can be left.
    fn fiber_of(&self, context: *mut libc::c_void) -> Option<&Fiber> {
        let fiber = self.threads.get(self.current)?.fiber.as_ref()?;
        let stack = registers::stack_pointer(context)?;
        (fiber.limit - GUARD..fiber.base).contains(&stack).then_some(fiber)
    }
}

/// Lets the running thread end when the handler returns. False if it cannot be left.
///
/// # Safety
/// In the handler of a signal, with its context.
unsafe fn leave(rt: &Runtime, context: *mut libc::c_void, outcome: Outcome) -> bool {
    let fiber = rt.fiber_of(context);
    if let Some(fiber) = fiber {
        // SAFETY: the stack that was interrupted is this thread's, and nothing of it is used again.
        unsafe { registers::leave(fiber, context, outcome) };
    }
    fiber.is_some()
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod registers {
    use super::{Fiber, Outcome};

    pub(super) fn stack_pointer(context: *mut libc::c_void) -> Option<usize> {
        // SAFETY: the system gave it to the handler.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        Some(context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize)
    }

    /// # Safety
    /// The context is that of a signal which interrupted code on this stack.
    pub(super) unsafe fn leave(fiber: &Fiber, context: *mut libc::c_void, outcome: Outcome) {
        // SAFETY: the caller's promise.
        unsafe {
            let registers = fiber.trap_handler().setup_trap_handler(move || outcome);
            let context = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
            context.gregs[libc::REG_RIP as usize] = registers.rip as i64;
            context.gregs[libc::REG_RSP as usize] = registers.rsp as i64;
            context.gregs[libc::REG_RBP as usize] = registers.rbp as i64;
            context.gregs[libc::REG_RDI as usize] = registers.rdi as i64;
            context.gregs[libc::REG_RSI as usize] = registers.rsi as i64;
        }
    }
}

/// On other systems no thread is left: the signal does what it did before, when the schedule was printed.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod registers {
    use super::{Fiber, Outcome};

    pub(super) fn stack_pointer(_context: *mut libc::c_void) -> Option<usize> {
        None
    }

    /// # Safety
    /// Never called: there is no stack pointer.
    pub(super) unsafe fn leave(_fiber: &Fiber, _context: *mut libc::c_void, _outcome: Outcome) {}
}
