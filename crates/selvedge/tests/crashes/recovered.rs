//! Where a thread can be left, the report is that of any other violation, and the next check is as before.

use std::time::Instant;

use super::*;

#[track_caller]
fn is_violation(message: &str, code: impl Fn() + Clone + 'static) {
    let outcome = Builder::new().explore(code.clone());
    let text = outcome.text();
    assert_eq!(outcome.kinds(), [ViolationKind::Crash], "{text}");
    assert!(outcome.messages()[0].contains(message), "{text}");
    assert!(text.contains("the place is its last operation"), "{text}");
    let again = Builder::new().replay(&outcome.schedules()[0]).explore(code);
    assert_eq!(again.messages(), outcome.messages());
    let fine = Builder::new().explore(|| if_late(|| ()));
    assert_eq!((fine.verdict(), fine.executions()), (Verdict::Verified, 2));
    assert!(!std::thread::panicking());
}

#[test]
fn crashes() {
    is_violation("main crashed: it used a null pointer (SIGSEGV)", || if_late(touches_null));
    is_violation("worker crashed: it accessed memory that is not mapped", || {
        elsewhere(touches_nothing)
    });
    is_violation("main crashed: it accessed memory that is not mapped", || {
        if_late(touches_nowhere)
    });
    is_violation("main aborts the process (SIGABRT)", || if_late(aborts));
    is_violation("main panicked while it was unwinding", || if_late(panics_twice));
}

#[test]
fn in_a_destructor() {
    is_violation("main crashed: it used a null pointer", || if_late(|| drop(Bomb(touches_null))));
    // While the thread unwinds.
    is_violation("main crashed: it used a null pointer", || {
        if_late(|| {
            let _bomb = Bomb(touches_null);
            panic!("the first");
        });
    });
    // After the code, when thread-local values are dropped.
    selvedge::thread_local!(static LOCAL: Bomb = Bomb(touches_null));
    is_violation("thread 1 crashed: it used a null pointer", || {
        thread::spawn(|| LOCAL.with(|_| ())).join().unwrap();
    });
}

#[test]
fn before_the_first_operation() {
    is_violation("main crashed: it used a null pointer", touches_null);
    is_violation("thread 1 aborts the process", || _ = thread::spawn(aborts).join());
}

/// The engine itself looks at the object.
#[test]
fn an_object_that_is_not_there() {
    // With debug assertions the compiler looks first.
    let checked = "main aborts the process (SIGABRT)";
    let message =
        if cfg!(debug_assertions) { checked } else { "main crashed: it used a null pointer" };
    is_violation(message, || {
        let list = AtomicPtr::new(std::ptr::null_mut::<AtomicUsize>());
        // SAFETY: it is not: this is what is to be noticed.
        let first = unsafe { &*list.load(SeqCst) };
        first.store(1, SeqCst);
    });
}

/// Others go on, and may use what is on its stack.
#[test]
fn others_are_borrowing_its_stack() {
    let outcome = Builder::new().keep_going(true).explore(|| {
        let x = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| x.fetch_add(1, SeqCst));
            scope.spawn(|| x.fetch_add(1, SeqCst));
            if x.load(SeqCst) == 1 {
                touches_null();
            }
        });
    });
    assert_eq!(outcome.kinds(), [ViolationKind::Crash], "{}", outcome.text());
}

/// What is left of an execution runs to its end; that is no result.
#[test]
fn what_comes_after_a_failure_is_not_told() {
    let outcome = Builder::new().explore(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        thread::spawn(move || {
            y.store(1, SeqCst);
            y.store(2, SeqCst);
            touches_null();
        });
        let _bomb = Bomb(|| ());
        assert_eq!(x.load(SeqCst), 3, "it never is");
    });
    assert_eq!(outcome.kinds(), [ViolationKind::Panic], "{}", outcome.text());
}

#[test]
fn in_a_sample_and_in_every_algorithm() {
    for algorithm in selvedge::Algorithm::ALL {
        let builder = Builder::new().algorithm(*algorithm).data_races(false);
        let outcome = builder.explore(|| if_late(touches_null));
        if algorithm.info().equivalence == selvedge::Equivalence::State {
            // States of Rust code are not known: it does not search by other means instead.
            assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{}", outcome.text());
            assert!(outcome.text().contains("System::"), "{}", outcome.text());
        } else {
            assert_eq!(outcome.kinds(), [ViolationKind::Crash], "{}", outcome.text());
        }
    }
    let outcome = Builder::new().sample(50, 1).explore(|| if_late(aborts));
    assert_eq!(outcome.kinds(), [ViolationKind::Crash], "{}", outcome.text());
}

#[test]
fn code_that_computes_is_left() {
    // In a campaign both.
    let codes = [allocates, computes];
    for &code in if is_campaign() { &codes[..] } else { &codes[..1] } {
        let start = Instant::now();
        let outcome = short().explore(move || if_late(code));
        let text = outcome.text();
        assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{text}");
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        assert!(text.contains("main came to no operation that the check sees"), "{text}");
        let fine = Builder::new().explore(|| if_late(|| ()));
        assert_eq!((fine.verdict(), fine.executions()), (Verdict::Verified, 2));
    }
}

#[test]
fn the_harness_shows_a_crash() {
    let parts = [
        "null: main crashed: it used a null pointer (SIGSEGV); a report follows",
        "test crashes::null ... FAILED",
    ];
    let text = fails_again("null", &parts);
    assert!(text.contains("the execution: 3 steps"), "{text}");
}

#[test]
fn time_limits() {
    let limit = "the time limit of 300ms (`Builder::max_time`)";
    let text = fails_slowly(
        "never_ends",
        &[limit, "its last operation: crates/selvedge/tests/crashes.rs:"],
    );
    assert!(text.contains("test crashes::never_ends ... FAILED"), "{text}");
    fails_slowly("never_gets_it", &[limit, "wait for something of `std`"]);
    fails_slowly("computes_for_long", &["worker computed for 300ms without an operation"]);
    fails_slowly("computes_without_end", &["main computed for 100ms without an operation"]);
}
