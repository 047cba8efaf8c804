//! A crash of checked code is a violation with its schedule, not the end of the process.
//!
//! A signal handler, on a stack of its own, sees that checked code runs on its stack, and lets the thread end instead.
//! A timer that counts the time of the processor finds code that reaches no operation. Elsewhere a signal does what it
//! does by default, and the process that started this one reports it.

use std::cell::{Cell, UnsafeCell};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use selvedge_core::{Fault, ViolationKind};

use corosensei::trap::CoroutineTrapHandler;

use crate::fiber::{Fiber, Outcome};
use crate::layout;
use crate::machine::{Machine, running};

/// What ended a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Crash {
    signal: i32,
    /// What it tried to access.
    address: usize,
    /// The instruction.
    pc: usize,
}

const SIGNALS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];
/// How often the timer looks.
const TICK: i64 = 100_000_000;
/// After so many looks without an operation in between, code is taken to have no end.
const MOST_TICKS: u32 = 20;

/// The fiber that runs, for signal handlers.
struct Running(UnsafeCell<Option<CoroutineTrapHandler<Outcome>>>);
// SAFETY: one thread of the system runs checked code; handlers of others find no running machine.
unsafe impl Sync for Running {}
static FIBER: Running = Running(UnsafeCell::new(None));

/// Counts operations, so that the timer can tell whether there were any.
pub(crate) static BEATS: AtomicU64 = AtomicU64::new(0);
static SEEN: AtomicU64 = AtomicU64::new(0);
static TICKS: AtomicU32 = AtomicU32::new(0);

/// From now on a fiber runs. Returns the one before, which creates its thread.
#[inline]
pub(crate) fn enter(fiber: &Fiber) -> Option<CoroutineTrapHandler<Outcome>> {
    // SAFETY: handlers of this thread look at it only while the fiber runs.
    unsafe { (*FIBER.0.get()).replace(fiber.trap_handler()) }
}

/// The one before runs again.
#[inline]
pub(crate) fn leave(before: Option<CoroutineTrapHandler<Outcome>>) {
    // SAFETY: as above.
    unsafe { *FIBER.0.get() = before };
}

/// Installs the handlers, once for each process, and a stack for them, for this thread of the system.
pub(crate) fn install() {
    static INSTALL: Once = Once::new();
    // SAFETY: a zeroed description is valid, and the stack is never freed.
    unsafe {
        let stack = Box::leak(vec![0_u8; 64 << 10].into_boxed_slice());
        let mut own: libc::stack_t = std::mem::zeroed();
        (own.ss_sp, own.ss_size) = (stack.as_mut_ptr().cast(), stack.len());
        libc::sigaltstack(&raw const own, std::ptr::null_mut());
    }
    INSTALL.call_once(|| {
        // SAFETY: zeroed descriptions are valid, and the handlers keep to their signature.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = handle;
            action.sa_sigaction = handler as usize;
            for signal in SIGNALS {
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
            action.sa_flags |= libc::SA_RESTART;
            libc::sigaction(libc::SIGVTALRM, &raw const action, std::ptr::null_mut());
        }
    });
    start_timer();
}

/// Has a timer look at this thread of the system, which counts the time that the thread computes.
fn start_timer() {
    thread_local! {
        static STARTED: Cell<bool> = const { Cell::new(false) };
    }
    if STARTED.replace(true) {
        return;
    }
    // SAFETY: zeroed descriptions are valid, and the thread is this one.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGVTALRM;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = std::mem::zeroed();
        let clock = libc::CLOCK_THREAD_CPUTIME_ID;
        if libc::timer_create(clock, &raw mut event, &raw mut timer) == 0 {
            let tick = libc::timespec { tv_sec: 0, tv_nsec: TICK };
            let time = libc::itimerspec { it_interval: tick, it_value: tick };
            libc::timer_settime(timer, 0, &raw const time, std::ptr::null_mut());
        }
    }
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system calls this with valid pointers.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let register = |number: i32| registers[number as usize] as usize;
        let (pc, stack) = (register(libc::REG_RIP), register(libc::REG_RSP));
        let machine = running();
        let handler = (*FIBER.0.get()).filter(|_| !machine.is_null());
        let current = if machine.is_null() { 0 } else { (*machine).current };
        let fits = |handler: &CoroutineTrapHandler<Outcome>| {
            handler.stack_ptr_in_bounds(stack) || layout::is_below_stack(current, stack)
        };
        let Some(handler) = handler.filter(fits) else {
            return hand_on(signal);
        };
        let is_tick = signal == libc::SIGVTALRM;
        if is_tick && !is_endless(&*machine, pc) {
            return;
        }
        let address = if is_tick { 0 } else { (*info).si_addr() as usize };
        (&mut (*machine).threads)[current].crash = Some(Crash { signal, address, pc });
        let end = handler.setup_trap_handler(|| Outcome::Crashed);
        registers[libc::REG_RIP as usize] = end.rip as i64;
        registers[libc::REG_RSP as usize] = end.rsp as i64;
        registers[libc::REG_RBP as usize] = end.rbp as i64;
        registers[libc::REG_RDI as usize] = end.rdi as i64;
        registers[libc::REG_RSI as usize] = end.rsi as i64;
    }
}

/// Returns whether the code has reached no operation for long, and is the program's own.
fn is_endless(machine: &Machine, pc: usize) -> bool {
    let beats = BEATS.load(Relaxed);
    if SEEN.swap(beats, Relaxed) != beats {
        TICKS.store(0, Relaxed);
        return false;
    }
    TICKS.fetch_add(1, Relaxed) + 1 >= MOST_TICKS && machine.shared.module.contains(pc)
}

/// Does what the signal does by default.
fn hand_on(signal: i32) {
    if signal == libc::SIGVTALRM {
        return;
    }
    // SAFETY: the default action is always valid; the instruction runs again and raises the signal.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

impl Machine {
    /// A thread was ended by a signal: says why.
    pub(crate) fn note_crash(&mut self, number: usize) {
        let Some(crash) = self.threads[number].crash else { return };
        let name = self.thread_name(number);
        let is_inside = self.shared.module.contains(crash.pc);
        let mut notes = Vec::new();
        // The instruction itself, where `place` expects a return address.
        let place = if is_inside { crash.pc + 1 } else { self.threads[number].pc };
        if !is_inside {
            notes.push("the place is its last operation: it crashed in a library".to_owned());
        }
        if crash.signal == libc::SIGVTALRM {
            // Only a clock can tell, and on a clock no verdict may depend.
            let place = self.place(place).map_or_else(String::new, |place| format!(" at {place}"));
            return self.give_up(
                number,
                format!("{name} reached no operation in 2 s of processor time{place}: it may run without an end"),
            );
        }
        let (kind, message) = match crash.signal {
            libc::SIGSEGV | libc::SIGBUS if layout::is_below_stack(number, crash.address) => {
                let size = layout::STACK >> 10;
                (ViolationKind::Resources, format!("{name} overflows its stack of {size} KiB"))
            }
            libc::SIGSEGV | libc::SIGBUS if crash.address < 4096 => {
                (ViolationKind::Crash, format!("{name} crashed: it used a null pointer (SIGSEGV)"))
            }
            libc::SIGSEGV | libc::SIGBUS => (
                ViolationKind::Crash,
                format!(
                    "{name} crashed: it accessed memory that is not mapped, or not for this kind of access (SIGSEGV)"
                ),
            ),
            libc::SIGFPE => (
                ViolationKind::Arithmetic,
                format!("{name} crashed: a division by zero, or one that overflows (SIGFPE)"),
            ),
            _ => (
                ViolationKind::Crash,
                format!("{name} crashed: it came to an invalid instruction (SIGILL)"),
            ),
        };
        let fault = self.violation(number, kind, message, &[place], notes);
        self.fail(number, fault);
    }

    /// Stops a thread that does something that cannot be checked.
    pub(crate) fn give_up(&mut self, number: usize, reason: String) {
        self.fail(number, Fault::GaveUp(reason));
    }
}
