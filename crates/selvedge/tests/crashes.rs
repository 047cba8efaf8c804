//! Checked code that crashes, aborts, ends the process or computes without end: the test fails, with the schedule.
//! Each victim runs in a process of its own.

use std::process::{Command, Output};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, LazyLock};
use selvedge::{Builder, Verdict, ViolationKind, thread};
use selvedge_testkit::is_campaign;

/// Says which of the victims below is to run.
const VICTIM: &str = "SELVEDGE_TEST_CRASHES";

/// Does something bad if the other thread comes first.
fn if_late(does: fn()) {
    let x = Arc::new(AtomicUsize::new(0));
    let y = Arc::clone(&x);
    let other = thread::spawn(move || y.store(1, SeqCst));
    if x.load(SeqCst) == 1 {
        does();
    }
    other.join().unwrap();
}

/// The same in another thread than the main one.
fn elsewhere(does: fn()) {
    let worker = thread::Builder::new().name("worker".to_owned());
    worker.spawn(move || if_late(does)).unwrap().join().unwrap();
}

struct Bomb(fn());

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0();
    }
}

fn touches_null() {
    // SAFETY: it is not: this is what is to be noticed.
    unsafe { std::ptr::write_volatile(std::hint::black_box(std::ptr::null_mut::<u8>()), 1) };
}

fn touches_nothing() {
    // SAFETY: it is not: this is what is to be noticed.
    unsafe { std::ptr::read_volatile(std::hint::black_box(0x7fff_0000_0000_usize as *const u8)) };
}

/// An address that none can be.
#[cfg(target_arch = "x86_64")]
fn touches_nowhere() {
    // SAFETY: it is not: this is what is to be noticed.
    unsafe {
        std::ptr::read_volatile(std::hint::black_box(0xdead_0000_0000_0000_usize as *const u8))
    };
}

fn aborts() {
    std::process::abort()
}

fn panics_twice() {
    let _bomb = Bomb(|| panic!("the second"));
    panic!("the first");
}

fn computes() {
    let mut n = 0_u64;
    while std::hint::black_box(n) < u64::MAX {
        n = n.wrapping_add(1) / 2;
    }
}

fn allocates() {
    loop {
        drop(std::hint::black_box(vec![1; 100]));
    }
}

fn waits_for_std() {
    let lock = std::sync::Mutex::new(());
    let _first = lock.lock();
    let _second = lock.lock();
}

fn overflows(n: usize) -> usize {
    let here = std::hint::black_box([n; 64]);
    if here[0] == usize::MAX { 0 } else { overflows(here[1] + 1) + here[2] }
}

/// Tests that do nothing but in a process of their own.
macro_rules! victims {
    ($($name:ident => $code:expr;)*) => {
        $(#[test]
        fn $name() {
            if std::env::var_os(VICTIM).is_some() {
                $code;
            }
        })*
    };
}

static SET_BACK: LazyLock<Bomb> = LazyLock::new(|| Bomb(touches_null));

fn short() -> Builder {
    Builder::new().max_time(Duration::from_millis(300))
}

/// Another process sends this thread the signal of a crash.
fn is_sent_a_signal() {
    // SAFETY: the child does nothing but send a signal and end.
    unsafe {
        let (process, thread) = (libc::getpid(), libc::gettid());
        match libc::fork() {
            0 => {
                libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGABRT);
                libc::_exit(0);
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        };
    }
}

victims! {
    is_killed => selvedge::check(|| if_late(is_sent_a_signal));
    null => selvedge::check(|| if_late(touches_null));
    exits_0 => selvedge::check(|| if_late(|| std::process::exit(0)));
    exits_1 => selvedge::check(|| elsewhere(|| std::process::exit(1)));
    exits_in_a_child => selvedge::check(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        // In the first execution the child of this thread is created before the other's.
        thread::spawn(move || {
            y.store(1, SeqCst);
            thread::spawn(|| ());
        });
        thread::spawn(move || {
            thread::spawn(move || {
                if x.load(SeqCst) == 0 {
                    std::process::exit(0);
                }
            });
        });
    });
    exits_first => selvedge::check(|| std::process::exit(0));
    exits_when_dropped => selvedge::check(|| if_late(|| drop(Bomb(|| std::process::exit(0)))));
    a_stranger_exits => selvedge::check(|| {
        if_late(|| std::thread::spawn(|| std::process::exit(0)).join().unwrap());
    });
    never_ends => short().check(|| if_late(computes));
    is_confirmed_late => {
        let executions = AtomicU32::new(0);
        short().check(move || {
            if executions.fetch_add(1, SeqCst) > 0 {
                let started = Instant::now();
                while started.elapsed() < Duration::from_millis(1500) {
                    std::hint::black_box(0);
                }
            }
            panic!("found");
        });
    };
    never_gets_it => short().check(|| if_late(waits_for_std));
    computes_for_long => {
        let builder = Builder::new().max_step_time(Duration::from_millis(300));
        builder.check(|| elsewhere(computes));
    };
    computes_without_end => {
        let builder = Builder::new().max_step_time(Duration::from_millis(100));
        builder.check(allocates);
    };
    crashes_outside => touches_null();
    aborts_outside => aborts();
    exits_outside => std::process::exit(7);
    crashes_after => {
        selvedge::check(|| if_late(|| ()));
        touches_null();
    };
    overflows_outside => {
        selvedge::check(|| if_late(|| ()));
        overflows(0);
    };
    // A static is set back outside of all threads of the check.
    crashes_when_set_back => selvedge::check(|| if_late(|| _ = &SET_BACK.0));
    side_by_side_waits => selvedge::check(|| std::thread::sleep(Duration::from_secs(20)));
    side_by_side_exits => {
        std::thread::sleep(Duration::from_millis(200));
        selvedge::check(|| if_late(|| std::process::exit(0)));
    };
}

/// Runs the victims with this word in their name; with `--exact`, the one with this name.
fn run(name: &str, args: &[&str], schedule: Option<&str>) -> (Output, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .arg(format!("crashes::{name}"))
        .args(args)
        .env(VICTIM, "1")
        .env_remove("RUST_BACKTRACE")
        .env_remove("RUST_TEST_THREADS");
    command.envs(schedule.map(|schedule| ("SELVEDGE_REPLAY", schedule)));
    let output = command.output().unwrap();
    let text = [&*output.stdout, &*output.stderr].map(String::from_utf8_lossy).concat();
    (output, text)
}

/// Runs a victim. Returns what is printed, if the test fails.
#[track_caller]
fn fails(name: &str) -> String {
    let (output, text) = run(name, &["--exact"], None);
    assert!(!output.status.success(), "{name} passes:\n{text}");
    text
}

/// The schedule that a text gives.
#[track_caller]
fn schedule_in(text: &str) -> &str {
    let rest =
        text.split("SELVEDGE_REPLAY=").nth(1).unwrap_or_else(|| panic!("no schedule:\n{text}"));
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "_./@:".contains(c)));
    &rest[..end.unwrap_or(rest.len())]
}

/// Runs a victim that fails with all these parts, and so it does with the schedule that it prints.
#[track_caller]
fn fails_again(name: &str, parts: &[&str]) -> String {
    let text = fails(name);
    let (again, text_again) = run(name, &["--exact"], Some(schedule_in(&text)));
    assert!(!again.status.success(), "{name} passes again:\n{text_again}");
    for part in parts {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
        assert!(text_again.contains(part), "{part} is missing in the replay:\n{text_again}");
    }
    text
}

/// The same of a victim that takes a while: the schedule is tried in a campaign.
#[track_caller]
fn fails_slowly(name: &str, parts: &[&str]) -> String {
    if is_campaign() {
        return fails_again(name, parts);
    }
    let text = fails(name);
    schedule_in(&text);
    for part in parts {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    text
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod recovered;

#[test]
fn exits_are_told() {
    let what = "main ends the process (`exit`) in the middle of a check";
    let text =
        fails_again("exits_0", &[what, "its last operation: crates/selvedge/tests/crashes.rs:"]);
    assert!(text.contains("  step   2  thread 1: crates/selvedge/tests/crashes.rs:"), "{text}");
    fails_again("exits_1", &["exits_1: worker ends the process (`exit`)"]);
    fails_again("exits_when_dropped", &[what]);
    fails_again("exits_in_a_child", &["thread 2.1 ends the process (`exit`)"]);
    // There is no step yet, so the first execution is it.
    assert!(fails("exits_first").contains(what));
}

#[test]
fn a_thread_of_std_ends_the_process() {
    let text = fails("a_stranger_exits");
    assert!(
        text.contains("a_stranger_exits: the process ends (`exit`) while this check runs"),
        "{text}"
    );
}

/// The schedule is that of the check that it is about.
#[test]
fn checks_that_run_side_by_side() {
    let (output, text) = run("side_by_side_", &["--test-threads=2"], None);
    assert_eq!(output.status.code(), Some(101), "{text}");
    assert!(
        text.contains("selvedge: crashes::side_by_side_exits: main ends the process"),
        "{text}"
    );
    assert!(text.contains("cargo test crashes::side_by_side_exits\n"), "{text}");
    assert!(!text.contains("selvedge: crashes::side_by_side_waits"), "{text}");
}

/// A crash where no thread can be left ends the process, but not without a word.
#[test]
fn a_crash_outside_of_all_threads() {
    let text = fails("crashes_when_set_back");
    assert!(text.contains("crashes_when_set_back: main crashed: it used a null pointer"), "{text}");
    schedule_in(&text);
}

/// Outside of checked code all is as without this crate.
#[test]
fn outside_of_checks() {
    use std::os::unix::process::ExitStatusExt;

    let run = |name| run(name, &["--exact", "--nocapture"], None);
    for (name, signal) in [
        ("crashes_outside", libc::SIGSEGV),
        ("crashes_after", libc::SIGSEGV),
        ("aborts_outside", libc::SIGABRT),
        ("overflows_outside", libc::SIGABRT),
    ] {
        let (output, text) = run(name);
        assert_eq!(output.status.signal(), Some(signal), "{name}: {text}");
        assert!(!text.contains("selvedge:"), "{name}: {text}");
    }
    assert!(run("overflows_outside").1.contains("has overflowed its stack"));
    assert_eq!(run("exits_outside").0.status.code(), Some(7));
}

/// A signal of another process is not the doing of the checked code: it does what it does without this crate.
#[test]
fn another_process_ends_this_one() {
    use std::os::unix::process::ExitStatusExt;

    let (output, text) = run("is_killed", &["--exact", "--nocapture"], None);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{text}");
    assert!(!text.contains("crashed"), "{text}");
}

/// The time of a check is for its search: what was found is shown, however long that takes.
#[test]
fn what_was_found_is_confirmed_after_the_time_is_up() {
    // On a busy machine the time may be up before the search has begun.
    let is_shown = (0..5).any(|_| fails("is_confirmed_late").contains("main panicked: found"));
    assert!(is_shown);
}

/// Without a panic before it, a panic in a destructor is like any other.
#[test]
fn a_panic_in_a_destructor() {
    let outcome = Builder::new().explore(|| drop(Bomb(|| panic!("the second"))));
    assert_eq!(outcome.messages(), ["main panicked: the second"]);
}

/// A thread that the check does not know.
#[test]
fn threads_of_std() {
    let outcome = Builder::new().explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let _ = std::thread::spawn(move || y.store(1, SeqCst)).join();
    });
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{text}");
    assert!(text.contains("a thread that the check does not know used a type of this crate, at crates/selvedge/tests/crashes.rs:"), "{text}");
    assert!(text.contains("`thread::spawn` in place of `std`'s"), "{text}");
    // What follows from it is shown with it.
    let outcome = Builder::new().explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        std::thread::spawn(move || x.store(1, SeqCst)).join().unwrap();
    });
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Violated, "{text}");
    assert!(text.contains("selvedge: besides: a thread that the check does not know"), "{text}");
}
