//! `LOOM_*` variables: each is tried on a model with 24 classes, in a process of its own.

use std::process::Command;

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::SeqCst;
use loom::thread;

/// Set for the process that runs the model.
const VICTIM: &str = "SELVEDGE_TEST_VICTIM";

#[test]
fn victim() {
    if std::env::var_os(VICTIM).is_none() {
        return;
    }
    loom::model(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2, 3].map(|i| {
            let x = Arc::clone(&x);
            thread::spawn(move || x.store(i, SeqCst))
        });
        x.store(4, SeqCst);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// Whether the model passes with these variables, and what it prints.
fn run(variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "environment::victim", "--nocapture"]).env(VICTIM, "1");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[track_caller]
fn prints(variables: &[(&str, &str)], line: &str) {
    let all = [&[("LOOM_LOG", "info")], variables].concat();
    let (passes, text) = run(&all);
    assert!(passes && text.contains(line), "{text}");
}

#[test]
fn bounds() {
    prints(&[], "selvedge: environment::victim: verified, 24 executions");
    prints(
        &[("LOOM_MAX_PERMUTATIONS", "5")],
        "selvedge: environment::victim: inconclusive, 5 executions",
    );
    prints(
        &[("LOOM_MAX_PREEMPTIONS", "0")],
        "selvedge: environment::victim: inconclusive, 6 executions",
    );
    prints(&[("LOOM_MAX_DURATION", "0")], "selvedge: environment::victim: inconclusive, ");
}

#[test]
fn those_without_effect() {
    for (variable, value) in [
        ("LOOM_MAX_BRANCHES", "1"),
        ("LOOM_CHECKPOINT_FILE", "/nowhere/at/all.json"),
        ("LOOM_CHECKPOINT_INTERVAL", "1"),
        ("LOOM_LOCATION", "1"),
    ] {
        prints(&[(variable, value)], "selvedge: environment::victim: verified, 24 executions");
    }
    let (passes, text) = run(&[]);
    assert!(passes && !text.contains("selvedge: environment::victim"), "not asked for: {text}");
}

#[test]
fn a_value_that_is_none() {
    let (passes, text) = run(&[("LOOM_MAX_PREEMPTIONS", "many")]);
    assert!(
        !passes && text.contains("LOOM_MAX_PREEMPTIONS is `many`, and should be a number"),
        "{text}"
    );
}

/// Runs a model that ends badly in a process of its own. Returns what is printed, if it fails.
fn fails(name: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("environment::{name}"), "--nocapture"]).env(VICTIM, "1");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert!(!output.status.success(), "{name} passes");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Does something bad if the other thread comes first.
fn if_late(does: fn()) {
    if std::env::var_os(VICTIM).is_some() {
        loom::model(move || {
            let x = Arc::new(AtomicUsize::new(0));
            let y = Arc::clone(&x);
            let other = thread::spawn(move || y.store(1, SeqCst));
            if x.load(SeqCst) == 1 {
                does();
            }
            other.join().unwrap();
        });
    }
}

#[test]
fn aborts() {
    if_late(|| std::process::abort());
}

#[test]
fn exits() {
    if_late(|| std::process::exit(0));
}

#[test]
fn computes() {
    if_late(|| while std::hint::black_box(true) {});
}

/// As in a check: it fails, and the schedule shows it again.
#[test]
fn models_that_end_badly() {
    let soon = ("LOOM_MAX_DURATION", "1");
    for (name, part) in [
        ("aborts", "aborts: main aborts the process (SIGABRT)"),
        ("exits", "exits: main ends the process (`exit`) in the middle of a check"),
        ("computes", "main came to no operation that the check sees"),
    ] {
        let text = fails(name, &[soon]);
        assert!(text.contains(part), "{name}: {text}");
        let schedule =
            text.split("SELVEDGE_REPLAY=").nth(1).and_then(|rest| rest.split(' ').next());
        let text = fails(name, &[soon, ("SELVEDGE_REPLAY", schedule.expect("a schedule"))]);
        assert!(text.contains(part), "{name} again: {text}");
    }
}
