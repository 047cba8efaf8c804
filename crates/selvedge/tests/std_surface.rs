//! Every type of the mirrored modules does what its model in `std` does, in every interleaving.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::common::outcomes;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI64, AtomicPtr, AtomicU16, AtomicUsize, fence,
};
use selvedge::sync::mpsc::{self, RecvTimeoutError, TryRecvError, TrySendError};
use selvedge::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Notify, Once, OnceLock, RwLock, RwLockWriteGuard,
};
use selvedge::{Builder, Verdict, check, hint, thread};

#[test]
fn atomics_have_all_operations() {
    check(|| {
        let x = AtomicI8::new(100);
        assert_eq!(x.fetch_add(100, SeqCst), 100);
        assert_eq!(x.load(SeqCst), 200_u8 as i8);
        assert_eq!(x.fetch_sub(1, SeqCst), -56);
        assert_eq!(x.fetch_max(3, SeqCst), -57);
        assert_eq!(x.fetch_min(-3, SeqCst), 3);
        assert_eq!(x.swap(6, SeqCst), -3);
        assert_eq!((x.fetch_and(3, SeqCst), x.fetch_or(8, SeqCst)), (6, 2));
        assert_eq!((x.fetch_xor(2, SeqCst), x.fetch_nand(8, SeqCst)), (10, 8));
        assert_eq!(x.compare_exchange(1, 2, SeqCst, SeqCst), Err(!8));
        while x.compare_exchange_weak(!8, 2, SeqCst, SeqCst).is_err() {}
        assert_eq!(x.fetch_update(SeqCst, SeqCst, |x| (x == 2).then_some(9)), Ok(2));
        assert_eq!(x.fetch_update(SeqCst, SeqCst, |_| None), Err(9));
        let mut y = AtomicU16::new(7);
        *y.get_mut() += 1;
        y.with_mut(|y| *y += 1);
        assert_eq!(y.into_inner(), 9);
        let flag = AtomicBool::default();
        assert!(!flag.fetch_or(true, SeqCst) && flag.fetch_not(SeqCst) && !flag.load(SeqCst));
        let mut value = 5;
        let pointer = AtomicPtr::new(std::ptr::null_mut());
        pointer.store(&raw mut value, SeqCst);
        assert_eq!(pointer.load(SeqCst), &raw mut value);
        fence(SeqCst);
        assert_eq!(AtomicI64::from(3).load(SeqCst), 3);
    });
}

/// What `std` has only had since Rust 1.91.
#[test]
fn atomics_have_new_operations() {
    check(|| {
        let x = AtomicUsize::new(1);
        assert_eq!(x.try_update(SeqCst, SeqCst, |x| x.checked_sub(1)), Ok(1));
        assert_eq!(x.try_update(SeqCst, SeqCst, |x| x.checked_sub(1)), Err(0));
        assert_eq!((x.update(SeqCst, SeqCst, |x| x + 3), x.load(SeqCst)), (0, 3));
        let mut values = [1_u32, 2];
        let first = &raw mut values[0];
        let pointer = AtomicPtr::new(first);
        assert_eq!(pointer.fetch_ptr_add(1, SeqCst), first);
        // SAFETY: it points to the second value.
        assert_eq!(unsafe { *pointer.load(SeqCst) }, 2);
        assert_eq!(pointer.fetch_byte_sub(4, SeqCst), first.wrapping_add(1));
        assert_eq!(pointer.fetch_or(1, SeqCst), first);
        assert_eq!(pointer.fetch_xor(1, SeqCst).addr(), first.addr() | 1);
        assert_eq!(pointer.fetch_and(!1, SeqCst), first);
        assert_eq!(pointer.fetch_byte_add(4, SeqCst), first);
        assert_eq!(pointer.fetch_ptr_sub(1, SeqCst), first.wrapping_add(1));
    });
}

#[test]
fn a_poisoned_mutex_says_so() {
    Builder::new().panics_are_results(true).check(|| {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let result = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            panic!("on purpose");
        })
        .join();
        assert_eq!(result.unwrap_err().downcast_ref::<&str>(), Some(&"on purpose"));
        assert!(lock.is_poisoned() && lock.lock().is_err() && lock.try_lock().is_err());
        lock.clear_poison();
        assert!(lock.lock().is_ok());
    });
}

#[test]
fn a_panic_can_be_caught() {
    check(|| {
        let lock = std::sync::Arc::new(RwLock::new(0));
        let other = std::sync::Arc::clone(&lock);
        let result = std::panic::catch_unwind(move || {
            let _guard = other.write().unwrap();
            panic!("caught");
        });
        assert!(result.is_err() && lock.read().is_err());
    });
}

#[test]
fn readers_share_and_writers_do_not() {
    let (found, executions) = outcomes(|| {
        let lock = Arc::new(RwLock::new(0));
        let threads = [1, 2].map(|i| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || *lock.read().unwrap() + i)
        });
        *lock.write().unwrap() = 10;
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(found, BTreeSet::from([[1, 2], [1, 12], [11, 2], [11, 12]]));
    assert_eq!(executions, 4);
}

/// No thread writes between the end of writing and the begin of reading.
#[test]
fn a_writer_that_goes_on_reading() {
    let run = || {
        let lock = Arc::new(RwLock::new(0));
        let writer = Arc::clone(&lock);
        let writer = thread::spawn(move || *writer.write().unwrap() += 10);
        let reader = Arc::clone(&lock);
        let reader = thread::spawn(move || reader.try_read().map_or(5, |value| *value));
        let mut writing = lock.write().unwrap();
        *writing += 1;
        let written = *writing;
        let reading = RwLockWriteGuard::downgrade(writing);
        assert_eq!(*reading, written);
        drop(reading);
        writer.join().unwrap();
        (written, reader.join().unwrap())
    };
    let (found, _) = outcomes(run);
    let oracle = Builder::new().algorithm(selvedge::Algorithm::Oracle);
    assert_eq!(found, crate::common::outcomes_with(&oracle, run).0);
    let all = [(1, 0), (1, 1), (1, 5), (1, 11), (11, 0), (11, 5), (11, 10), (11, 11)];
    assert_eq!(found, BTreeSet::from(all));
}

#[test]
fn a_condition_wakes_one_or_all() {
    let (found, _) = outcomes(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new()));
        let threads = [1, 2].map(|_| {
            let pair = Arc::clone(&pair);
            thread::spawn(move || {
                let mut tickets = pair.1.wait_while(pair.0.lock().unwrap(), |n| *n == 0).unwrap();
                *tickets -= 1;
                *tickets
            })
        });
        *pair.0.lock().unwrap() = 2;
        pair.1.notify_all();
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(found, BTreeSet::from([[0, 1], [1, 0]]));
}

#[test]
fn a_timed_wait_ends_either_way() {
    let (found, _) = outcomes(|| {
        let pair = Arc::new((Mutex::new(false), Condvar::new()));
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = true;
            other.1.notify_one();
        });
        let guard = pair.0.lock().unwrap();
        let (guard, result) = pair.1.wait_timeout(guard, Duration::from_secs(1)).unwrap();
        let found = (*guard, result.timed_out());
        drop(guard);
        thread.join().unwrap();
        found
    });
    // Or it ends spuriously.
    let all = [(false, false), (false, true), (true, false), (true, true)];
    assert_eq!(found, BTreeSet::from(all));
}

#[test]
fn a_barrier_has_one_leader() {
    let (found, _) = outcomes(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = Arc::clone(&barrier);
        let thread = thread::spawn(move || [other.wait().is_leader(), other.wait().is_leader()]);
        let mine = [barrier.wait().is_leader(), barrier.wait().is_leader()];
        let theirs = thread.join().unwrap();
        assert!(mine[0] != theirs[0] && mine[1] != theirs[1]);
        mine
    });
    assert_eq!(found.len(), 4);
}

#[test]
fn an_initialisation_runs_once() {
    let (found, _) = outcomes(|| {
        let shared = Arc::new((Once::new(), AtomicUsize::new(0), OnceLock::new()));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.0.call_once(|| _ = other.1.fetch_add(1, SeqCst));
            *other.2.get_or_init(|| 1)
        });
        shared.0.call_once(|| _ = shared.1.fetch_add(1, SeqCst));
        let mine = *shared.2.get_or_init(|| 2);
        assert_eq!(thread.join().unwrap(), mine);
        assert!(shared.0.is_completed() && shared.2.set(9) == Err(9));
        assert_eq!(shared.1.load(SeqCst), 1);
        mine
    });
    assert_eq!(found, BTreeSet::from([1, 2]));
}

static COUNT: AtomicUsize = AtomicUsize::new(5);
static LIST: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static LAZY: LazyLock<Mutex<String>> = LazyLock::new(|| Mutex::new("made".to_owned()));
static READY: Condvar = Condvar::new();

#[test]
fn statics_are_set_back() {
    check(|| {
        let thread = thread::spawn(|| {
            COUNT.fetch_add(1, SeqCst);
            LIST.lock().unwrap().push(1);
            READY.notify_one();
            LAZY.lock().unwrap().push('!');
        });
        COUNT.fetch_add(1, SeqCst);
        LIST.lock().unwrap().push(2);
        LAZY.lock().unwrap().push('!');
        thread.join().unwrap();
        assert_eq!(COUNT.load(SeqCst), 7);
        assert_eq!(LIST.lock().unwrap().len(), 2);
        assert_eq!(*LAZY.lock().unwrap(), "made!!");
    });
}

/// A check that uses statics keeps them until it is over: another one that uses them, on another thread, waits.
#[test]
fn checks_take_turns_with_statics() {
    use std::sync::atomic::AtomicBool;
    static ONE_USES_THEM: AtomicBool = AtomicBool::new(false);
    static THE_OTHER_USES_THEM: AtomicBool = AtomicBool::new(false);
    let other = std::thread::spawn(|| {
        while !ONE_USES_THEM.load(SeqCst) {
            std::thread::yield_now();
        }
        check(|| {
            assert_eq!(COUNT.fetch_add(1, SeqCst), 5);
            THE_OTHER_USES_THEM.store(true, SeqCst);
        });
    });
    check(|| {
        assert_eq!(COUNT.fetch_add(1, SeqCst), 5);
        ONE_USES_THEM.store(true, SeqCst);
        for _ in 0..50 {
            assert!(!THE_OTHER_USES_THEM.load(SeqCst));
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(COUNT.load(SeqCst), 6);
    });
    other.join().unwrap();
    assert!(THE_OTHER_USES_THEM.load(SeqCst));
}

selvedge::thread_local! {
    static LOCAL: std::cell::Cell<u32> = const { std::cell::Cell::new(1) };
    static OTHER: std::cell::RefCell<Vec<u32>> = std::cell::RefCell::new(vec![]);
}

#[test]
fn thread_locals_belong_to_their_thread() {
    check(|| {
        let thread = thread::spawn(|| {
            LOCAL.set(LOCAL.get() + 1);
            OTHER.with_borrow_mut(|list| list.push(1));
            (LOCAL.get(), OTHER.with_borrow(Vec::len))
        });
        LOCAL.set(LOCAL.get() + 10);
        assert_eq!(thread.join().unwrap(), (2, 1));
        assert_eq!((LOCAL.get(), OTHER.take().len()), (11, 0));
    });
}

#[test]
fn channels_disconnect() {
    let (found, _) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1));
        let first = receiver.try_recv();
        let rest: Vec<i32> = receiver.iter().collect();
        thread.join().unwrap().unwrap();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        (first.ok(), rest)
    });
    assert_eq!(found, BTreeSet::from([(Some(1), vec![]), (None, vec![1])]));
    let (found, _) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || drop(receiver));
        let sent = sender.send(1).is_ok();
        thread.join().unwrap();
        sent
    });
    assert_eq!(found, BTreeSet::from([false, true]));
    let (found, _) = outcomes(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        let result = receiver.recv_timeout(Duration::from_secs(1));
        thread.join().unwrap();
        result.map_err(|error| error == RecvTimeoutError::Timeout)
    });
    assert_eq!(found, BTreeSet::from([Ok(1), Err(true)]));
}

#[test]
fn a_bounded_channel_is_full() {
    let (found, _) = outcomes(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let thread = thread::spawn(move || {
            sender.send(1).unwrap();
            match sender.try_send(2) {
                Ok(()) => true,
                Err(TrySendError::Full(2)) => false,
                other => panic!("{other:?}"),
            }
        });
        let all: Vec<i32> = receiver.into_iter().collect();
        assert_eq!(all.len() == 2, thread.join().unwrap());
        all
    });
    assert_eq!(found, BTreeSet::from([vec![1], vec![1, 2]]));
    check(|| {
        let (sender, receiver) = mpsc::sync_channel(0);
        let done = Arc::new(AtomicBool::new(false));
        let taken = Arc::clone(&done);
        let thread = thread::spawn(move || {
            sender.send(7).unwrap();
            assert!(taken.load(SeqCst), "it returns when the message was taken");
        });
        done.store(true, SeqCst);
        assert_eq!(receiver.recv(), Ok(7));
        thread.join().unwrap();
    });
}

#[test]
fn parking_waits_for_the_token() {
    let (found, _) = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, main) = (Arc::clone(&flag), thread::current());
        let thread = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        while !flag.load(SeqCst) {
            thread::park();
        }
        thread::park_timeout(Duration::from_millis(1));
        thread.join().unwrap();
    });
    assert_eq!(found.len(), 1);
    let (found, _) = outcomes(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let (other, main) = (Arc::clone(&flag), thread::current());
        let thread = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        thread::park_timeout(Duration::from_millis(1));
        let seen = flag.load(SeqCst);
        thread.join().unwrap();
        seen
    });
    assert_eq!(found, BTreeSet::from([false, true]));
}

#[test]
fn a_thread_is_finished_or_not() {
    let (found, _) = outcomes(|| {
        let thread = thread::spawn(|| ());
        let finished = thread.is_finished();
        thread.join().unwrap();
        finished
    });
    assert_eq!(found, BTreeSet::from([false, true]));
}

#[test]
fn spin_loops_end_when_something_changes() {
    let (found, executions) = outcomes(|| {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || {
            other.store(1, SeqCst);
            other.store(2, SeqCst);
        });
        let mut seen = Vec::with_capacity(4);
        while flag.load(SeqCst) != 2 {
            seen.push(flag.load(SeqCst));
            seen.dedup();
            hint::spin_loop();
        }
        thread.join().unwrap();
        seen
    });
    assert!(found.contains(&vec![]) && found.contains(&vec![0, 1]), "{found:?}");
    assert!(executions < 60, "{executions}");
}

#[test]
fn a_pause_is_no_spin_loop() {
    let (found, _) = outcomes(|| {
        let shared = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let seen = other.1.load(SeqCst);
            other.0.store(1, SeqCst);
            seen
        });
        let seen = shared.0.load(SeqCst);
        thread::sleep(Duration::from_millis(1));
        shared.1.store(1, SeqCst);
        (seen, thread.join().unwrap())
    });
    assert_eq!(found, BTreeSet::from([(0, 0), (0, 1), (1, 0)]));
}

#[test]
fn a_loop_that_spins_and_then_parks() {
    let run = || {
        let ready = Arc::new(AtomicBool::new(false));
        let (main, other) = (thread::current(), Arc::clone(&ready));
        let thread = thread::spawn(move || {
            other.store(true, SeqCst);
            main.unpark();
        });
        let (mut turns, mut parked) = (0, false);
        while !ready.load(SeqCst) {
            turns += 1;
            if turns <= 3 {
                hint::spin_loop();
            } else {
                thread::park();
                parked = true;
            }
        }
        thread.join().unwrap();
        parked
    };
    assert_eq!(outcomes(run).0, BTreeSet::from([false, true]));
    let parks = std::rc::Rc::new(std::cell::Cell::new(false));
    let seen = std::rc::Rc::clone(&parks);
    let waits = Builder::new().spin_turns(0).explore(move || seen.set(seen.get() || run()));
    assert_eq!(
        (waits.verdict(), parks.get()),
        (Verdict::Inconclusive, false),
        "it is taken to wait"
    );
}

#[test]
fn spin_loops_end_on_messages_and_ends_of_threads() {
    check(|| {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || sender.send(1).unwrap());
        while receiver.try_recv().is_err() {
            thread::yield_now();
        }
        while !thread.is_finished() {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
    check(|| {
        let (sender, receiver) = mpsc::sync_channel(1);
        let thread = thread::spawn(move || {
            for i in 0..2 {
                while sender.try_send(i).is_err() {
                    thread::yield_now();
                }
            }
        });
        while receiver.try_recv() != Ok(1) {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
}

#[test]
fn a_spin_loop_that_gives_up_is_no_deadlock() {
    check(|| {
        let flag = AtomicBool::new(false);
        for _ in 0..10 {
            if flag.load(SeqCst) {
                unreachable!("no thread sets it");
            }
            thread::yield_now();
        }
    });
}

#[test]
fn a_spin_lock_excludes() {
    let (found, executions) = outcomes(|| {
        let shared = Arc::new((AtomicBool::new(false), AtomicUsize::new(0)));
        let enter = |shared: &(AtomicBool, AtomicUsize)| {
            while shared.0.swap(true, SeqCst) {
                thread::yield_now();
            }
            let count = shared.1.load(SeqCst);
            shared.1.store(count + 1, SeqCst);
            shared.0.store(false, SeqCst);
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || enter(&other));
        enter(&shared);
        thread.join().unwrap();
        shared.1.load(SeqCst)
    });
    assert_eq!(found, BTreeSet::from([2]));
    assert!(executions < 100, "{executions}");
}

#[test]
fn a_notification_is_not_lost() {
    check(|| {
        let notify = Arc::new(Notify::new());
        let other = Arc::clone(&notify);
        let thread = thread::spawn(move || other.notify());
        notify.wait();
        thread.join().unwrap();
    });
}

#[test]
fn memory_is_allocated_as_in_std() {
    use selvedge::alloc::{Layout, alloc_zeroed, dealloc, realloc};
    check(|| {
        let (small, large) = (Layout::new::<[u64; 1]>(), Layout::new::<[u64; 100]>());
        // SAFETY: each block is freed once, with its layout.
        unsafe {
            let block = alloc_zeroed(small);
            block.write(7);
            let block = realloc(block, small, large.size());
            assert_eq!((block.read(), block.add(1).read()), (7, 0));
            dealloc(block, large);
        }
    });
}

#[test]
fn hints_that_promise_are_checked() {
    let outcome = Builder::new().explore(|| {
        // SAFETY: it is wrong, and the check must say so before anything happens.
        unsafe { hint::assert_unchecked(thread::current().name().is_none()) };
    });
    assert!(outcome.messages()[0].contains("`assert_unchecked` of a condition"), "{outcome:?}");
}

#[test]
fn bounds_are_respected() {
    let many = || crate::common::stores(5);
    let outcome = Builder::new().max_executions(10).explore(many);
    assert_eq!((outcome.verdict(), outcome.executions()), (Verdict::Inconclusive, 10));
    Builder::new().max_executions(10).check(many);
    Builder::new().preemptions(1).check(many);
    Builder::new().sample(20, 1).check(many);
    Builder::new().max_time(Duration::from_millis(1)).check(|| crate::common::stores(7));
}
