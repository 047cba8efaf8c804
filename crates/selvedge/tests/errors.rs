//! What users see when something is wrong. `UPDATE_EXPECT=1 cargo test -p selvedge --test it errors`
//! writes the snapshots in `tests/errors/` anew.

use std::path::Path;

use selvedge::alloc::{Layout, Track, alloc, dealloc};
use selvedge::cell::{Cell, UnsafeCell};
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use selvedge::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock, mpsc};
use selvedge::{Algorithm, Builder, Verdict, thread};

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
    let load = || _ = AtomicUsize::new(0).load(Relaxed);
    let outcome = Builder::new().explore(load);
    assert_eq!(outcome.verdict(), Verdict::Verified);
    assert!(outcome.uses_weak_orderings());
    let also =
        "orderings weaker than SeqCst are used: no violation in 1 execution under rc11 either";
    assert_eq!(outcome.text().matches(also).count(), 1, "{}", outcome.text());
    let outcome = Builder::new().sequentially_consistent(true).explore(load);
    assert!(outcome.uses_weak_orderings() && outcome.text().matches("weak memory").count() == 1);
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
    assert!(outcome.text().contains("the closure is nondeterministic"), "{}", outcome.text());
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
fn a_report_file_is_text_json_or_a_page() {
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
    let page = run("report.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("main takes Mutex@errors.rs"));
    std::fs::remove_dir_all(&folder).unwrap();
    let step = &json["violations"][0]["trace"][0];
    assert_eq!(step["accesses"][0]["mode"], "acquire");
    assert_eq!((&step["choices"], &step["others"]), (&1.into(), &serde_json::json!([])));
    let source = &json["source"][0];
    let line = |number: u64| {
        source["lines"][(number - source["first"].as_u64().unwrap()) as usize].clone()
    };
    let text = line(step["place"]["line"].as_u64().unwrap());
    assert!(text.as_str().unwrap().contains("let _once = lock.lock()"), "{text}");
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
    assert!(
        after.ends_with("/0@2 cargo test errors::a_report_file_is_text_json_or_a_page"),
        "{replay}"
    );
}

#[test]
fn a_data_race_on_an_unsafe_cell() {
    expect("unsafe-cell", || {
        struct Shared(UnsafeCell<u32>);
        // SAFETY: it is wrong, and the check must say so.
        unsafe impl Sync for Shared {}
        let shared = Arc::new(Shared(UnsafeCell::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            // SAFETY: as above.
            other.0.with_mut(|value| unsafe { *value = 1 });
        });
        // SAFETY: as above.
        shared.0.with(|value| unsafe { *value });
        thread.join().unwrap();
    });
}

#[test]
fn memory_that_is_not_freed_or_freed_twice() {
    let layout = Layout::new::<u64>();
    expect("alloc", move || {
        // SAFETY: the layout is not empty.
        unsafe { alloc(layout) };
    });
    expect("free", move || {
        // SAFETY: it is wrong, and the check must say so before it happens.
        unsafe {
            let block = alloc(layout);
            dealloc(block, layout);
            dealloc(block, layout);
        }
    });
}

#[test]
fn a_condition_with_two_mutexes() {
    expect("two-mutexes", || {
        let shared = Arc::new((Mutex::new(0), Mutex::new(0), Condvar::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || drop(other.2.wait(other.0.lock().unwrap())));
        drop(shared.2.wait(shared.1.lock().unwrap()));
        thread.join().unwrap();
    });
}

#[test]
fn a_notification_that_comes_too_early() {
    expect("notification", || {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let guard = shared.0.lock().unwrap();
        drop(shared.1.wait(guard));
        thread.join().unwrap();
    });
}

#[test]
fn an_initialisation_that_needs_itself() {
    expect("once", || {
        let once = Once::new();
        once.call_once(|| once.call_once(|| ()));
    });
}

#[test]
fn a_bounded_channel_that_nobody_empties() {
    expect("bounded", || {
        let (sender, receiver) = mpsc::sync_channel(1);
        let thread = thread::spawn(move || (0..2).for_each(|i| sender.send(i).unwrap()));
        thread.join().unwrap();
        drop(receiver);
    });
}

#[test]
fn a_receiver_that_is_gone() {
    expect("receiver", || {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(1).unwrap());
        drop(receiver);
    });
}

#[test]
fn a_future_that_nobody_wakes() {
    use selvedge::future::{block_on, spawn};
    expect("future", || {
        let task = spawn(std::future::pending::<()>());
        block_on(task).unwrap();
    });
}

/// Reports name an object after the place that created it, whichever thread uses it.
#[test]
fn a_destructor_that_comes_too_late() {
    expect("destructor", || {
        struct Last(std::sync::Arc<AtomicBool>);
        impl Drop for Last {
            fn drop(&mut self) {
                self.0.store(true, SeqCst);
            }
        }
        let dropped = std::sync::Arc::new(AtomicBool::new(false));
        let mine = Arc::new(Last(std::sync::Arc::clone(&dropped)));
        let other = Arc::clone(&mine);
        thread::spawn(move || drop(other));
        drop(mine);
        assert!(dropped.load(SeqCst), "not dropped yet");
    });
}

#[test]
fn a_check_inside_of_a_check() {
    expect("nested", || selvedge::check(|| ()));
}

#[test]
fn what_was_not_explored_is_told() {
    let many = || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        thread::spawn(move || y.store(1, SeqCst));
        x.store(2, SeqCst);
    };
    expect_with("max-steps", &Builder::new().max_steps(2), many);
    expect_with("max-executions", &Builder::new().max_executions(1), many);
    expect_with("preemptions", &Builder::new().preemptions(0), many);
    let observation = Builder::new().algorithm(Algorithm::DataCentric);
    expect_with("no-data-races", &observation, many);
}

#[test]
fn a_schedule_that_does_not_fit() {
    let fails = |schedule: &str| {
        let builder = Builder::new().replay(schedule);
        let error = std::panic::catch_unwind(|| builder.check(|| ())).unwrap_err();
        error.downcast_ref::<String>().unwrap().clone()
    };
    assert!(fails("0@2").contains("the schedule does not fit this code, or not any more"));
    assert!(fails("zero").contains("`zero` is not a schedule"), "{}", fails("zero"));
}

/// Threads that have the same name, or an empty one, can be told apart; columns that would be too narrow
/// have shorter names.
#[test]
fn threads_with_unhappy_names() {
    expect("names", || {
        let lock = Arc::new(Mutex::new(0));
        let threads = ["worker", "worker", "main", ""].map(|name| {
            let lock = Arc::clone(&lock);
            let thread = thread::Builder::new().name(name.to_owned());
            thread.spawn(move || *lock.lock().unwrap() += 1).unwrap()
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(*lock.lock().unwrap(), 5);
    });
}

/// A pointer has the same text in every run.
#[test]
fn pointers() {
    expect("pointers", || {
        let shared = Arc::new(AtomicPtr::new(std::ptr::null_mut::<u32>()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || other.swap(Box::leak(Box::new(1)), SeqCst).is_null());
        let found = shared.swap(Box::leak(Box::new(2)), SeqCst);
        assert!(thread.join().unwrap() && found.is_null(), "both were first");
    });
}

#[test]
fn a_panic_that_the_hook_does_not_see() {
    expect("resumed", || {
        let caught = std::panic::catch_unwind(|| panic!("this one is caught"));
        drop(caught);
        std::panic::resume_unwind(Box::new("this one is not"));
    });
}

#[test]
fn a_report_that_cannot_be_written_hides_no_failure() {
    let builder = Builder::new().report_file("/nowhere/report.json");
    let error = std::panic::catch_unwind(|| builder.check(|| panic!("the reason"))).unwrap_err();
    let text = error.downcast_ref::<String>().unwrap();
    assert!(text.contains("main panicked: the reason"), "{text}");
    assert!(text.contains("cannot write the report to /nowhere/report.json"), "{text}");
    let error = std::panic::catch_unwind(|| builder.check(|| ())).unwrap_err();
    let text = error.downcast_ref::<String>().unwrap();
    assert!(text.starts_with("selvedge: cannot write the report"), "{text}");
}

#[test]
fn weak_orderings_are_mentioned_in_json() {
    let load = |order| Builder::new().explore(move || _ = AtomicUsize::new(0).load(order)).json();
    assert!(load(Acquire).contains("1 execution under rc11"));
    let first = Builder::new().sequentially_consistent(true);
    let first = first.explore(|| _ = AtomicUsize::new(0).load(Acquire)).json();
    assert!(first.contains("only weak memory shows, were not explored"));
    assert!(!load(SeqCst).contains("weak memory"));
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_crash() {
    expect("crash", || {
        let list = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(7))));
        let other = Arc::clone(&list);
        thread::spawn(move || other.store(std::ptr::null_mut(), SeqCst));
        // SAFETY: it is not: this is what is to be noticed. Volatile: a debug build would look itself.
        unsafe { std::ptr::read_volatile(list.load(SeqCst)) };
    });
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn a_double_panic() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the second");
        }
    }
    expect("double-panic", || {
        let x = AtomicUsize::new(0);
        let _bomb = Bomb;
        assert_eq!(x.load(SeqCst), 1, "the first");
    });
}

#[test]
fn a_loop_without_a_hint() {
    expect("unhinted", || {
        let flag = Arc::new(AtomicBool::new(false));
        let other = Arc::clone(&flag);
        thread::spawn(move || other.store(true, SeqCst));
        while !flag.load(SeqCst) {}
    });
}

#[test]
fn a_computation_without_end() {
    let builder = Builder::new().max_step_time(std::time::Duration::from_millis(100));
    expect_with("endless", &builder, || {
        let x = AtomicUsize::new(1);
        while std::hint::black_box(x.load(SeqCst)) > 0 {
            while std::hint::black_box(true) {}
        }
    });
}

#[path = "errors/memory.rs"]
mod memory;

/// The steps are the same in each run, and what they find is not.
#[test]
fn values_that_are_not_deterministic() {
    let tried = |value: fn(usize) -> usize| {
        let turn = std::cell::Cell::new(0);
        Builder::new().quiet(true).explore(move || {
            turn.set(turn.get() + 1);
            let x = AtomicUsize::new(value(turn.get()));
            x.fetch_add(1, SeqCst);
        })
    };
    let outcome = tried(|turn| turn);
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{}", outcome.text());
    let text = outcome.text();
    assert!(text.contains("step 1 of the same schedule, by main at "), "{text}");
    assert!(text.contains(", found 1, and now 2"), "{text}");
    // Addresses are others in each run of right code, too.
    fn address(turn: usize) -> usize {
        let places = vec![0u8; 16 * turn];
        places.as_ptr() as usize + turn
    }
    for value in [address, |turn| address(turn) << 16 | 3, |turn| address(turn) | 5 << 48] {
        let outcome = tried(value);
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
}
