//! A stack overflow of checked code is reported, not a crash.
//!
//! Below every stack lies a page that cannot be touched. A signal handler sees that the address that
//! was touched lies there, and lets the thread end instead.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod handler {
    use std::cell::UnsafeCell;
    use std::mem::MaybeUninit;
    use std::sync::Once;

    use crate::rt::fiber::Outcome;
    use crate::rt::runtime::running;

    /// What was installed before.
    struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);
    // SAFETY: written once, before the handler that reads it is installed.
    unsafe impl Sync for Before {}
    static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::uninit()));

    /// A frame may skip so much of the page below the stack.
    const GUARD: usize = 64 << 10;

    pub(crate) fn install() {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            // SAFETY: a zeroed action is a valid one, and the handler keeps to its signature.
            unsafe {
                libc::sigaction(libc::SIGSEGV, std::ptr::null(), (*BEFORE.0.get()).as_mut_ptr());
                let mut action: libc::sigaction = std::mem::zeroed();
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = handle;
                action.sa_sigaction = handler as usize;
                libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut());
            }
        });
    }

    extern "C" fn handle(_signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the system calls this with valid pointers. If checked code runs, its runtime and
        // its thread are alive, and the stack that overflowed is the thread's.
        unsafe {
            let address = (*info).si_addr() as usize;
            let rt = running();
            if !rt.is_null()
                && let rt = &*rt
                && let Some(thread) = rt.threads.get(rt.current)
                && let Some(fiber) = &thread.fiber
                && (fiber.limit.saturating_sub(GUARD)..fiber.limit + GUARD).contains(&address)
            {
                let registers = fiber.trap_handler().setup_trap_handler(|| Outcome::Overflowed);
                let context = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext;
                context.gregs[libc::REG_RIP as usize] = registers.rip as i64;
                context.gregs[libc::REG_RSP as usize] = registers.rsp as i64;
                context.gregs[libc::REG_RBP as usize] = registers.rbp as i64;
                context.gregs[libc::REG_RDI as usize] = registers.rdi as i64;
                context.gregs[libc::REG_RSI as usize] = registers.rsi as i64;
                return;
            }
            // Not ours: whoever was there before sees it when the code tries again.
            libc::sigaction(libc::SIGSEGV, (*BEFORE.0.get()).as_ptr(), std::ptr::null_mut());
        }
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) use handler::install;

/// On other systems an overflow ends the process with the message of the operating system.
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub(crate) fn install() {}
