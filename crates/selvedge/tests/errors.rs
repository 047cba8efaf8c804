//! What users see when something is wrong. `UPDATE_EXPECT=1 cargo test -p selvedge --test errors`
//! writes the snapshots in `tests/errors/` anew.

use std::path::Path;

use selvedge::alloc::Track;
use selvedge::cell::Cell;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Barrier, Condvar, Mutex, RwLock, mpsc};
use selvedge::{Builder, Verdict, thread};

/// Checks that the report of `f` is what the snapshot says, and that its schedule shows it again.
#[track_caller]
fn expect(name: &str, f: impl Fn() + Clone + 'static) {
    expect_with(name, &Builder::new(), f);
}

#[track_caller]
fn expect_with(name: &str, builder: &Builder, f: impl Fn() + Clone + 'static) {
    let outcome = builder.explore(f.clone());
    let text = outcome.text();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/errors/{name}.txt"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} differs from its snapshot:\n{text}");
    for schedule in outcome.schedules() {
        let (builder, f) = (builder.clone(), f.clone());
        let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            builder.replay(&schedule).check(f);
        }));
        assert!(again.is_err(), "{name}: the replay shows nothing");
    }
}

#[test]
fn an_assertion() {
    expect("assertion", || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let other = thread::spawn(move || {
            let old = y.load(SeqCst);
            y.store(old + 1, SeqCst);
        });
        let old = x.load(SeqCst);
        x.store(old + 1, SeqCst);
        other.join().unwrap();
        assert_eq!(x.load(SeqCst), 2, "an update was lost");
    });
}

#[test]
fn a_panic_in_a_thread_with_a_name() {
    expect("panic", || {
        let worker = thread::Builder::new().name("worker".to_owned());
        let worker = worker.spawn(|| panic!("out of luck")).unwrap();
        let _ = worker.join();
    });
}

#[test]
fn a_deadlock() {
    expect("deadlock", || {
        let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
        let other = Arc::clone(&locks);
        let thread = thread::spawn(move || {
            let _first = other.0.lock().unwrap();
            let _second = other.1.lock().unwrap();
        });
        let _second = locks.1.lock().unwrap();
        let _first = locks.0.lock().unwrap();
        drop(_first);
        drop(_second);
        thread.join().unwrap();
    });
}

#[test]
fn a_data_race() {
    expect("data-race", || {
        struct Shared(Cell<u32>);
        // SAFETY: it is wrong, and the check must say so.
        unsafe impl Sync for Shared {}
        let shared = std::sync::Arc::new(Shared(Cell::new(0)));
        let other = std::sync::Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let shared = &*other;
            shared.0.set(1);
        });
        shared.0.get();
        thread.join().unwrap();
    });
}

#[test]
fn a_leak() {
    expect("leak", || {
        struct Node {
            _next: Mutex<Option<Arc<Node>>>,
        }
        let node = Arc::new(Node { _next: Mutex::new(None) });
        *node._next.lock().unwrap() = Some(Arc::clone(&node));
    });
}

#[test]
fn a_tracked_value_that_is_forgotten() {
    expect("track", || std::mem::forget(Track::new(7)));
}

#[test]
fn a_guard_that_is_leaked() {
    expect("guard", || {
        let lock = Mutex::new(0);
        std::mem::forget(lock.lock().unwrap());
    });
}

#[test]
fn a_guard_that_is_leaked_and_missed() {
    expect("guard-deadlock", || {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        thread::spawn(move || std::mem::forget(other.lock().unwrap())).join().unwrap();
        let _guard = lock.lock();
    });
}

#[test]
fn a_lock_that_is_taken_twice() {
    expect("twice", || {
        let lock = Mutex::new(0);
        let _once = lock.lock().unwrap();
        let _twice = lock.lock();
    });
    expect("upgrade", || {
        let lock = RwLock::new(0);
        let _reading = lock.read().unwrap();
        let _writing = lock.write();
    });
}

#[test]
fn a_thread_that_outlives_the_closure() {
    expect("outlives", || {
        let pair = Arc::new((Mutex::new(()), Condvar::new()));
        thread::spawn(move || {
            let guard = pair.0.lock().unwrap();
            drop(pair.1.wait(guard));
        });
    });
}

#[test]
fn a_channel_that_nobody_closes() {
    expect("channel", || {
        let (sender, receiver) = mpsc::channel::<u8>();
        assert!(receiver.recv().is_err());
        drop(sender);
    });
}

#[test]
fn a_spin_loop_that_nobody_ends() {
    expect("spin", || {
        let flag = Arc::new(AtomicBool::new(false));
        while !flag.load(SeqCst) {
            selvedge::hint::spin_loop();
        }
    });
}

#[test]
fn a_barrier_that_is_one_short() {
    expect("barrier", || {
        Barrier::new(2).wait();
    });
}

#[test]
fn a_stack_that_overflows() {
    #[allow(unconditional_recursion, reason = "that is the point")]
    fn deeper(n: usize) -> usize {
        let here = std::hint::black_box([n; 64]);
        deeper(here[1] + 1) + here[2]
    }
    expect("overflow", || {
        let x = AtomicUsize::new(0);
        x.load(SeqCst);
        x.store(deeper(0), SeqCst);
    });
}

#[test]
fn weak_orderings_are_mentioned() {
    let outcome = Builder::new().explore(|| {
        AtomicUsize::new(0).load(Relaxed);
    });
    assert_eq!(outcome.verdict(), Verdict::Verified);
    assert!(outcome.uses_weak_orderings() && outcome.text().contains("weak memory"));
    expect("weak", || {
        let x = AtomicUsize::new(1);
        assert_eq!(x.load(Acquire), 0);
    });
}

#[test]
fn several_failures() {
    expect_with("several", &Builder::new().keep_going(true), || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let other = thread::spawn(move || y.store(1, SeqCst));
        if x.load(SeqCst) == 0 {
            panic!("too early");
        }
        other.join().unwrap();
        panic!("too late");
    });
}

#[test]
fn a_closure_that_is_not_deterministic() {
    let turn = std::cell::Cell::new(0);
    let outcome = Builder::new().explore(move || {
        turn.set(turn.get() + 1);
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let other = thread::spawn(move || y.store(1, SeqCst));
        if turn.get() % 2 == 0 {
            x.load(SeqCst);
        } else {
            x.store(2, SeqCst);
        }
        other.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Inconclusive);
    assert!(outcome.text().contains("does not do the same every time"), "{}", outcome.text());
    assert!(outcome.text().contains("errors.rs"), "{}", outcome.text());
}

#[test]
fn what_lives_outside_and_owns_memory_is_refused() {
    let outside = std::sync::Arc::new(Mutex::new(vec![1]));
    let outcome = Builder::new().explore(move || outside.lock().unwrap().push(2));
    assert!(outcome.text().contains("created outside"), "{}", outcome.text());
    let channel = mpsc::channel();
    let outcome = Builder::new().explore(move || channel.0.send(1).unwrap());
    assert!(outcome.text().contains("created outside"), "{}", outcome.text());
}

#[test]
fn types_work_only_in_a_check() {
    let error = std::panic::catch_unwind(|| AtomicUsize::new(0).load(SeqCst)).unwrap_err();
    let text = error.downcast_ref::<&str>().unwrap();
    assert!(text.contains("only in code that `selvedge::check` runs"), "{text}");
}

#[test]
fn a_report_file_is_text_or_json() {
    let folder = std::env::temp_dir().join(format!("selvedge-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let run = |name: &str| {
        let path = folder.join(name);
        let builder = Builder::new().report_file(&path);
        let check = move || {
            let lock = Mutex::new(0);
            let _once = lock.lock().unwrap();
            let _again = lock.lock().unwrap();
        };
        let failed =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| builder.check(check)));
        assert!(failed.is_err());
        std::fs::read_to_string(path).unwrap()
    };
    assert!(run("report.txt").starts_with("selvedge: main takes Mutex@errors.rs"));
    let json: serde_json::Value = serde_json::from_str(&run("report.json")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!((&json["command"], &json["verdict"]), (&"check".into(), &"violated".into()));
    assert_eq!(json["file"], file!());
    assert_eq!(json["executions"]["complete"], 1);
    assert_eq!(json["covers"]["data_races"], true);
    let violation = &json["violations"][0];
    assert_eq!((&violation["kind"], &violation["schedule"]), (&"misuse".into(), &"0@2".into()));
    assert_eq!(violation["trace"].as_array().unwrap().len(), 2);
    let replay = violation["replay"].as_str().unwrap();
    let (before, after) = replay.split_once(".rs:").unwrap();
    assert_eq!(before, "SELVEDGE_REPLAY=errors");
    assert!(after.ends_with("/0@2 cargo test a_report_file_is_text_or_json"), "{replay}");
}
