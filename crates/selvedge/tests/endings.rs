//! How an execution in which threads still wait is judged, and what a report says of the search.

use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Builder, Verdict, thread};
use std::time::Duration;

/// One thread waits with a timeout that is not up yet, and another one for it: that is no deadlock,
/// since the execution in which the time is up is explored too.
#[test]
fn a_thread_that_waits_for_one_with_a_timeout() {
    // Without spurious wake-ups, so that only the time can end the wait.
    let outcome = Builder::new().spurious(0).explore(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new()));
        let other = thread::spawn(move || {
            let guard = shared.0.lock().unwrap();
            let (_guard, result) = shared.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
            assert!(result.timed_out());
        });
        other.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

/// But if one waits with a timeout and two others for each other, the two are found where it has ended.
#[test]
fn a_deadlock_beside_a_timeout() {
    let outcome = Builder::new().explore(|| {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (c, d) = (Arc::clone(&a), Arc::clone(&b));
        let other = thread::spawn(move || {
            let _first = c.lock().unwrap();
            let _second = d.lock().unwrap();
        });
        thread::spawn(|| thread::park_timeout(Duration::from_secs(1)));
        let second = b.lock().unwrap();
        let first = a.lock().unwrap();
        drop((first, second));
        other.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
}

/// A report names the equivalence that the search covers; a sample covers none.
#[test]
fn a_report_names_the_equivalence() {
    let equivalence = |outcome: selvedge::Outcome| {
        let json: serde_json::Value = serde_json::from_str(&outcome.json()).unwrap();
        json["equivalence"].as_str().map(str::to_owned)
    };
    let searched = equivalence(Builder::new().explore(|| {}));
    assert!(searched.is_some_and(|name| !name.is_empty()));
}

/// A report says whether data races were looked for.
#[test]
fn a_report_names_what_is_covered() {
    for looks in [true, false] {
        let outcome = Builder::new().data_races(looks).explore(|| {});
        let json: serde_json::Value = serde_json::from_str(&outcome.json()).unwrap();
        assert_eq!(json["covers"]["data_races"], looks);
    }
}
