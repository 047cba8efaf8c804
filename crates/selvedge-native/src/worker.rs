//! The process in which a program runs: another one than that which reports, so that nothing the program does can harm
//! the report.
//!
//! The worker writes each step into memory that it shares with the process that started it ([`record`]). If the worker
//! is ended by a signal, that says which schedule led there.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering::Relaxed};

use selvedge_core::{Schedule, Step, ThreadId};

/// The shared memory: how many steps there are, and then the steps.
const STEPS: usize = 1 << 20;
const SIZE: usize = 4 * (STEPS + 1);
/// A step is one number: the thread in the low byte, the alternative in the others.
const THREAD_BITS: u32 = 8;

/// Where steps are written; null if they are not read.
static RECORD: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

/// From now on steps are written to a file.
///
/// # Errors
/// If it cannot be written.
pub fn record_in(path: &Path) -> io::Result<()> {
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
    file.set_len(SIZE as u64)?;
    // SAFETY: a new mapping of a file of this size, which stays for the life of the process.
    let mapped = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        libc::mmap(std::ptr::null_mut(), SIZE, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    RECORD.store(mapped.cast(), Relaxed);
    Ok(())
}

/// From now on steps are not written: a copy of the worker has its own.
pub fn stop_recording() {
    RECORD.store(std::ptr::null_mut(), Relaxed);
}

/// A step is taken, the first one as number 0.
#[inline]
pub(crate) fn record(number: usize, step: Step) {
    let record = RECORD.load(Relaxed);
    if record.is_null() || number >= STEPS {
        return;
    }
    // SAFETY: the mapping has room for so many numbers, and is never freed.
    unsafe {
        let code = step.choice << THREAD_BITS | step.thread.number();
        (*record.add(number + 1)).store(code, Relaxed);
        (*record).store(number as u32 + 1, Relaxed);
    }
}

/// Returns the steps that a worker wrote last.
///
/// # Errors
/// If the file cannot be read.
pub fn recorded(path: &Path) -> io::Result<Schedule> {
    let bytes = std::fs::read(path)?;
    let number =
        |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |sum, &byte| sum << 8 | u32::from(byte));
    let mut numbers = bytes.chunks_exact(4).map(number);
    let count = numbers.next().unwrap_or(0) as usize;
    let step = |code: u32| Step {
        thread: ThreadId::new((code & ((1 << THREAD_BITS) - 1)) as usize),
        choice: code >> THREAD_BITS,
    };
    Ok(numbers.take(count).map(step).collect::<Vec<_>>().into())
}

/// The worker, for the handler of signals.
static WORKER: AtomicI32 = AtomicI32::new(0);

extern "C" fn hand_on(signal: i32) {
    let worker = WORKER.load(Relaxed);
    if worker > 0 {
        // SAFETY: sends a signal to the process that this one started.
        unsafe { libc::kill(worker, signal) };
    }
}

/// Runs a worker to its end. Signals that ask to stop are left to it: it shows what it found.
///
/// # Errors
/// If it cannot be started.
pub fn supervise(command: &mut Command) -> io::Result<ExitStatus> {
    // SAFETY: only calls that are allowed between fork and exec.
    unsafe {
        command.pre_exec(|| {
            // Addresses are deterministic, the worker does not outlive this process, and crashes leave no files.
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    // SAFETY: the handler does nothing but send a signal. The terminal sends an interruption to both processes.
    let before = unsafe {
        let handler: extern "C" fn(i32) = hand_on;
        (libc::signal(libc::SIGINT, libc::SIG_IGN), libc::signal(libc::SIGTERM, handler as usize))
    };
    let result = command.spawn().and_then(|mut worker| {
        WORKER.store(worker.id() as i32, Relaxed);
        let status = worker.wait();
        WORKER.store(0, Relaxed);
        status
    });
    // SAFETY: what the system gave before.
    unsafe {
        libc::signal(libc::SIGINT, before.0);
        libc::signal(libc::SIGTERM, before.1);
    }
    result
}
