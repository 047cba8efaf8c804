//! Code that is hard on the engine: it must neither end the process nor run without end, and the verdict must be
//! right.

use std::rc::Rc;

use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, LazyLock, Mutex, RwLock};
use selvedge::{Builder, Outcome, Verdict, check, hint, thread};
use selvedge_testkit::share_of;

fn explore(f: impl Fn() + 'static) -> Outcome {
    Builder::new().explore(f)
}

#[track_caller]
fn expect(outcome: &Outcome, verdict: Verdict, part: &str) {
    let text = outcome.text();
    assert_eq!(outcome.verdict(), verdict, "{text}");
    assert!(text.contains(part), "{part} is missing in:\n{text}");
}

#[test]
fn a_static_that_was_made_at_run_time_and_owns_memory() {
    static LAZY: std::sync::LazyLock<Mutex<Vec<u64>>> =
        std::sync::LazyLock::new(|| Mutex::new(vec![1, 2, 3]));
    let run = || {
        let thread = thread::spawn(|| LAZY.lock().unwrap().push(4));
        assert!(LAZY.lock().unwrap().starts_with(&[1, 2, 3]));
        thread.join().unwrap();
    };
    expect(&explore(run), Verdict::Violated, "lies in a static, but was made at run time");
    // One that owns nothing can be set back, and one of this crate is made anew.
    static NUMBER: std::sync::LazyLock<Mutex<u64>> = std::sync::LazyLock::new(|| Mutex::new(7));
    static OWN: LazyLock<Mutex<Vec<u64>>> = LazyLock::new(|| Mutex::new(vec![1, 2, 3]));
    static EMPTY: Mutex<Vec<u64>> = Mutex::new(Vec::new());
    static TEXT: Mutex<(&str, String)> = Mutex::new(("static", String::new()));
    static INNER: Mutex<Option<Mutex<Vec<u64>>>> = Mutex::new(None);
    check(|| {
        let thread = thread::spawn(|| {
            *NUMBER.lock().unwrap() += 1;
            OWN.lock().unwrap().push(4);
            EMPTY.lock().unwrap().push(1);
            TEXT.lock().unwrap().1.push('x');
            let mut outer = INNER.lock().unwrap();
            outer.get_or_insert_with(|| Mutex::new(vec![8, 9])).lock().unwrap().push(1);
        });
        assert!((7..9).contains(&*NUMBER.lock().unwrap()));
        assert!((3..5).contains(&OWN.lock().unwrap().len()));
        assert!(EMPTY.lock().unwrap().len() < 2);
        assert_eq!(TEXT.lock().unwrap().0, "static");
        let seen = INNER.lock().unwrap().as_ref().map(|inner| inner.lock().unwrap().clone());
        assert!(seen.is_none_or(|seen| seen == [8, 9, 1]));
        thread.join().unwrap();
    });
}

#[test]
fn a_lazy_value_that_was_made_outside_and_owns_memory() {
    let data = vec![7_u64; 100];
    let lazy = std::sync::Arc::new(LazyLock::new(move || data));
    let run = move || {
        let other = std::sync::Arc::clone(&lazy);
        let thread = thread::spawn(move || assert!(other.iter().all(|&x| x == 7)));
        assert!(LazyLock::get(&lazy).is_none_or(|all| all.len() == 100));
        assert!(lazy.iter().all(|&x| x == 7));
        thread.join().unwrap();
    };
    expect(&explore(run), Verdict::Violated, "was created outside of the checked closure");
}

#[test]
fn an_object_that_moves_between_checks() {
    let x = std::sync::Arc::new(AtomicUsize::new(5));
    let add = |x: &std::sync::Arc<AtomicUsize>, sum| {
        let x = std::sync::Arc::clone(x);
        check(move || {
            let other = std::sync::Arc::clone(&x);
            let thread = thread::spawn(move || other.fetch_add(1, SeqCst));
            x.fetch_add(1, SeqCst);
            thread.join().unwrap();
            assert_eq!(x.load(SeqCst), sum);
        });
    };
    add(&x, 7);
    // Elsewhere, and with another value.
    let mut x = std::sync::Arc::into_inner(x).unwrap();
    assert_eq!(*x.get_mut(), 5);
    *x.get_mut() = 8;
    let x = std::sync::Arc::new(x);
    add(&x, 10);
    assert_eq!(std::sync::Arc::into_inner(x).unwrap().into_inner(), 8);
}

#[test]
fn who_drops_the_last_reference_matters() {
    selvedge::thread_local! {
        static DROPPED: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
    }
    struct Home(thread::ThreadId);
    impl Drop for Home {
        fn drop(&mut self) {
            assert_eq!(thread::current().id(), self.0, "dropped elsewhere");
        }
    }
    struct Counts;
    impl Drop for Counts {
        fn drop(&mut self) {
            DROPPED.set(DROPPED.get() + 1);
        }
    }
    let outcome = explore(|| {
        let here = Arc::new(Home(thread::current().id()));
        let there = Arc::clone(&here);
        let thread = thread::spawn(move || drop(there));
        drop(here);
        thread.join().unwrap();
    });
    expect(&outcome, Verdict::Violated, "dropped elsewhere");
    let outcome = explore(|| {
        let here = Arc::new(Counts);
        let there = Arc::clone(&here);
        let thread = thread::spawn(move || drop(there));
        drop(here);
        thread.join().unwrap();
        assert_eq!(DROPPED.get(), 1, "dropped elsewhere");
    });
    expect(&outcome, Verdict::Violated, "dropped elsewhere");
}

#[test]
fn a_destructor_that_allocates_moves_nothing() {
    struct Allocates;
    impl Drop for Allocates {
        fn drop(&mut self) {
            drop(Box::new([0_u8; 100]));
        }
    }
    // Where the second variable lies depends on who came last.
    let outcome = explore(|| {
        let shared = Arc::new(Allocates);
        let other = Arc::clone(&shared);
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let thread = thread::spawn(move || {
            drop(other);
            let own = Box::new(AtomicUsize::new(0));
            own.store(y.fetch_add(1, SeqCst), SeqCst);
        });
        drop(shared);
        x.fetch_add(1, SeqCst);
        thread.join().unwrap();
    });
    expect(&outcome, Verdict::Verified, "executions");
}

/// Waits in its destructor until another thread sets the flag.
struct Waits(Arc<AtomicBool>, fn());

impl Drop for Waits {
    fn drop(&mut self) {
        while !self.0.load(SeqCst) {
            (self.1)();
        }
    }
}

#[test]
fn a_destructor_that_waits_for_ever_while_its_thread_unwinds() {
    for pause in [thread::park, hint::spin_loop] {
        let outcome = explore(move || {
            let waits = Waits(Arc::new(AtomicBool::new(false)), pause);
            thread::spawn(move || {
                let _waits = waits;
                panic!("out of luck");
            });
        });
        expect(&outcome, Verdict::Violated, "deadlock: thread 1");
        // Nothing of it is left.
        assert!(!std::thread::panicking());
        let outcome = explore(|| {
            let lock = Mutex::new(0);
            let _first = lock.lock().unwrap();
            let _second = lock.lock().unwrap();
        });
        expect(&outcome, Verdict::Violated, "which it holds already");
    }
}

#[test]
fn a_thread_is_taken_down_while_another_unwinds() {
    struct Adds(Arc<Mutex<u32>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let outcome = Builder::new().panics_are_results(true).explore(|| {
        let locks = Arc::new((Arc::new(Mutex::new(0)), Mutex::new(0)));
        let _guard = locks.0.lock().unwrap();
        let adds = Adds(Arc::clone(&locks.0));
        let panics = thread::spawn(move || {
            let _adds = adds;
            panic!("out of luck");
        });
        let other = Arc::clone(&locks);
        thread::spawn(move || {
            let _guard = other.1.lock().unwrap();
            thread::park();
        });
        _ = panics.join();
    });
    expect(&outcome, Verdict::Violated, "deadlock: main, thread 1 and thread 2 are blocked");
    assert!(!std::thread::panicking());
}

#[test]
fn values_are_shown_in_messages_of_panics() {
    // To look at them takes no step: a thread that were stopped there would hold up all other panics.
    let outcome = Builder::new().panics_are_results(true).explore(|| {
        type Shown = (AtomicUsize, Mutex<u32>, RwLock<u32>, selvedge::sync::OnceLock<u32>);
        let all: Arc<Shown> = Arc::default();
        let threads = [1, 2].map(|value| {
            let all = Arc::clone(&all);
            thread::spawn(move || {
                all.0.store(value, SeqCst);
                panic!("{:?}", *all);
            })
        });
        for thread in threads {
            let payload = thread.join().unwrap_err();
            let text = payload.downcast_ref::<String>().unwrap();
            assert!(text.contains("Mutex { data: 0, poisoned: false, .. }"), "{text}");
        }
    });
    expect(&outcome, Verdict::Verified, "2 executions");
}

#[test]
fn a_block_that_is_too_large() {
    struct Large {
        _rest: [u8; 300 << 20],
        x: AtomicUsize,
    }
    let outcome = explore(|| {
        let mut new = std::sync::Arc::<Large>::new_uninit();
        let place = std::sync::Arc::get_mut(&mut new).unwrap().as_mut_ptr();
        // SAFETY: the other field may have any value, as the system sets it.
        let large = unsafe {
            (&raw mut (*place).x).write(AtomicUsize::new(0));
            new.assume_init()
        };
        let other = std::sync::Arc::clone(&large);
        let thread = thread::spawn(move || other.x.fetch_add(1, SeqCst));
        large.x.fetch_add(1, SeqCst);
        thread.join().unwrap();
    });
    expect(&outcome, Verdict::Inconclusive, "a block of more than 256 MiB");
    // Without anything shared in it, it does no harm, and its memory is not kept.
    let blocks = share_of(50);
    check(move || {
        let other = thread::spawn(|| vec![1_u8; 280 << 20].len());
        assert_eq!(other.join().unwrap(), 280 << 20);
        (0..blocks).for_each(|_| assert_eq!(vec![1_u8; 100 << 20][7], 1));
    });
}

#[test]
fn a_check_at_the_end_of_a_thread() {
    struct Checks;
    impl Drop for Checks {
        fn drop(&mut self) {
            check(|| thread::spawn(|| ()).join().unwrap());
        }
    }
    std::thread_local!(static CHECKS: Checks = const { Checks });
    let first = std::thread::spawn(|| {
        CHECKS.with(|_| ());
        check(|| thread::spawn(|| ()).join().unwrap());
    });
    let last = std::thread::spawn(|| {
        check(|| thread::spawn(|| ()).join().unwrap());
        CHECKS.with(|_| ());
    });
    first.join().unwrap();
    last.join().unwrap();
}

#[test]
fn a_check_in_a_destructor_of_a_test_that_panics() {
    struct Explores(Rc<std::cell::RefCell<Option<Outcome>>>);
    impl Drop for Explores {
        fn drop(&mut self) {
            *self.0.borrow_mut() = Some(explore(|| ()));
        }
    }
    let found = Rc::default();
    let explores = Explores(Rc::clone(&found));
    let run = std::panic::AssertUnwindSafe(move || {
        let _explores = explores;
        panic!("out of luck");
    });
    assert!(std::panic::catch_unwind(run).is_err());
    expect(found.borrow().as_ref().unwrap(), Verdict::Inconclusive, "call it from another thread");
}

#[test]
fn a_check_in_checked_code() {
    let outcome = explore(|| check(|| ()));
    expect(&outcome, Verdict::Violated, "a check cannot run inside of checked code");
}

#[test]
fn a_stack_that_overflows_with_values_of_its_thread() {
    struct Adds(Arc<Mutex<u32>>);
    impl Drop for Adds {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    selvedge::thread_local! {
        static ADDS: std::cell::RefCell<Option<Adds>> = const { std::cell::RefCell::new(None) };
    }
    #[inline(never)]
    fn deep(n: u64) -> u64 {
        let local = std::hint::black_box([n; 64]);
        if n == 0 { 0 } else { deep(n + 1) + local[3] }
    }
    let outcome = explore(|| {
        ADDS.set(Some(Adds(Arc::new(Mutex::new(0)))));
        deep(1);
    });
    expect(&outcome, Verdict::Violated, "main overflows its stack of 256 KiB");
}

#[test]
fn a_stack_that_overflows_in_the_engine() {
    #[inline(never)]
    fn deep(n: u64, lock: &Mutex<Vec<Arc<u64>>>) -> u64 {
        let local = std::hint::black_box([n; 2]);
        lock.lock().unwrap().push(Arc::new(n));
        let block = std::hint::black_box(vec![n; (n % 7 * 100) as usize]);
        if n == 0 { block[0] } else { deep(n + 1, lock) + local[1] }
    }
    fn below(frames: u64, f: &dyn Fn()) {
        let local = std::hint::black_box([frames; 3]);
        if local[0] == 0 { f() } else { below(frames - 1, f) }
    }
    // Wherever in it the stack ends.
    for frames in 0..24 {
        let outcome = Builder::new().stack_size(64 << 10).explore(move || {
            below(frames, &|| _ = deep(1, &Mutex::new(Vec::new())));
        });
        expect(&outcome, Verdict::Violated, "main overflows its stack of 64 KiB");
    }
}

#[test]
fn a_thread_that_fails_before_its_first_step() {
    let channel = std::sync::Arc::new(Mutex::new(vec![1]));
    let outcome = explore(move || {
        let other = std::sync::Arc::clone(&channel);
        let thread = thread::spawn(move || other.lock().unwrap().push(1));
        assert!(channel.lock().unwrap().is_empty());
        thread.join().unwrap();
    });
    expect(&outcome, Verdict::Violated, "was created outside of the checked closure");
}

#[test]
fn a_thousand_threads() {
    check(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..1_000)
            .map(|_| {
                let count = Arc::clone(&count);
                thread::spawn(move || count.load(SeqCst))
            })
            .collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), 0));
    });
}
