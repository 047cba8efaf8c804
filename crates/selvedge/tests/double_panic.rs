//! A panic while a thread unwinds ends the process. What a user sees before: who panicked, where, and
//! how to see it again.

use std::process::{Command, Output};

use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::{sync::Arc, thread};

/// Set for the process that is to be ended.
const VICTIM: &str = "SELVEDGE_TEST_VICTIM";

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the second");
    }
}

/// Panics twice if the other thread comes first.
#[test]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    selvedge::check(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let other = thread::spawn(move || y.store(1, SeqCst));
        if x.load(SeqCst) == 1 {
            let _bomb = Bomb;
            panic!("the first");
        }
        other.join().unwrap();
    });
}

fn run(schedule: Option<&str>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "victim", "--nocapture"]).env(VICTIM, "1");
    if let Some(schedule) = schedule {
        command.env("SELVEDGE_REPLAY", schedule);
    }
    command.output().unwrap()
}

#[test]
fn a_double_panic_is_told_before_the_process_ends() {
    let output = run(None);
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in [
        "selvedge: double panic: main panicked while it was unwinding",
        "first: the first at crates/selvedge/tests/double_panic.rs:33",
        "then: the second at crates/selvedge/tests/double_panic.rs:17",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    let schedule = text.split("SELVEDGE_REPLAY=").nth(1).and_then(|rest| rest.split(' ').next());
    let again = run(Some(schedule.expect("a schedule")));
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("selvedge: double panic: main"));
}

/// Without a panic before it, a panic in a destructor is like any other.
#[test]
fn a_panic_in_a_destructor() {
    let outcome = selvedge::Builder::new().explore(|| drop(Bomb));
    assert_eq!(outcome.messages(), ["main panicked: the second"]);
}
