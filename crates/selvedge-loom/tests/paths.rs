//! The paths of loom 0.7 that projects use, with the types that they have in loom.
#![allow(unsafe_code, reason = "what loom is for")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use loom::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};
use loom::cell::{Cell, ConstPtr, MutPtr, UnsafeCell};
use loom::future::{AtomicWaker, block_on};
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicPtr, AtomicU8,
    AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence, spin_loop_hint,
};
use loom::sync::mpsc::channel;
use loom::sync::{
    Arc, Condvar, LockResult, Mutex, MutexGuard, Notify, RwLock, RwLockReadGuard, RwLockWriteGuard,
};
use loom::thread;

#[test]
fn atomics() {
    loom::model(|| {
        macro_rules! integer {
            ($($atomic:ident)+) => {$(
                let mut x = $atomic::new(1);
                x.with_mut(|x| *x += 1);
                // SAFETY: there is only this thread.
                assert_eq!(unsafe { x.unsync_load() }, 2);
                let swapped = x.compare_and_swap(2, 3, SeqCst);
                assert_eq!((swapped, x.fetch_update(SeqCst, SeqCst, |x| Some(x + 1))), (2, Ok(3)));
                assert_eq!(x.into_inner(), 4);
            )+};
        }
        integer!(AtomicI8 AtomicI16 AtomicI32 AtomicI64 AtomicIsize);
        integer!(AtomicU8 AtomicU16 AtomicU32 AtomicU64 AtomicUsize);
        let (mut value, mut flag) = (1, AtomicBool::new(false));
        let mut pointer = AtomicPtr::new(&raw mut value);
        pointer.with_mut(|pointer| *pointer = std::ptr::null_mut());
        flag.with_mut(|flag| *flag = true);
        assert!(pointer.load(Acquire).is_null() && flag.load(Relaxed));
        fence(Release);
        spin_loop_hint();
        loom::hint::spin_loop();
    });
}

#[test]
fn cells() {
    loom::model(|| {
        let cell = UnsafeCell::new(1);
        // SAFETY: there is only this thread.
        cell.with_mut(|value| unsafe { *value += 1 });
        let reading: ConstPtr<i32> = cell.get();
        // SAFETY: as above.
        assert_eq!(unsafe { (*reading.deref(), reading.with(|value| *value)) }, (2, 2));
        drop(reading);
        let writing: MutPtr<i32> = cell.get_mut();
        // SAFETY: as above.
        unsafe { *writing.deref() = writing.with(|value| *value + 1) };
        drop(writing);
        // SAFETY: as above.
        assert_eq!((cell.with(|value| unsafe { *value }), cell.into_inner()), (3, 3));
        let cell = Cell::new(1);
        cell.swap(&Cell::from(2));
        assert_eq!((cell.replace(4), cell.clone().take(), cell.get()), (2, 4, 4));
    });
}

#[test]
fn allocation() {
    loom::model(|| {
        let layout = Layout::new::<u64>();
        // SAFETY: what is allocated is freed, once.
        unsafe {
            dealloc(alloc(layout), layout);
            dealloc(alloc_zeroed(layout), layout);
        }
        let mut tracked = Track::new(1);
        *tracked.get_mut() += 1;
        assert_eq!((*tracked.get_ref(), tracked.into_inner()), (2, 2));
    });
}

#[test]
fn locks() {
    fn lock(mutex: &Mutex<i32>) -> LockResult<MutexGuard<'_, i32>> {
        mutex.lock()
    }
    loom::model(|| {
        let pair = Arc::new((Mutex::new(0), Condvar::new(), Notify::new()));
        let other = Arc::clone(&pair);
        let thread = thread::spawn(move || {
            *other.0.lock().unwrap() = 1;
            other.1.notify_all();
            other.2.notify();
        });
        let mut guard = lock(&pair.0).unwrap();
        while *guard == 0 {
            guard = pair.1.wait(guard).unwrap();
        }
        let (guard, _) = pair.1.wait_timeout(guard, Duration::ZERO).unwrap();
        drop(guard);
        pair.2.wait();
        thread.join().unwrap();
        let lock = RwLock::new(1);
        let writing: RwLockWriteGuard<'_, i32> = lock.write().unwrap();
        drop(writing);
        let reading: RwLockReadGuard<'_, i32> = lock.read().unwrap();
        assert!(*reading == 1 && lock.try_write().is_err());
    });
}

loom::lazy_static! {
    /// With a comment.
    static ref LIST: Mutex<Vec<u32>> = Mutex::new(vec![]);
    pub(crate) static ref NUMBER: u32 = 7;
    static ref CELL: Own = Own;
}

/// A value with a method whose name a wrapper may have as well.
struct Own;

impl Own {
    fn get(&self) -> u32 {
        3
    }
}

loom::thread_local! {
    static LOCAL: RefCell<u32> = RefCell::new(1);
    pub(crate) static OTHER: Cell<u32> = Cell::new(2);
}

#[test]
fn statics_and_locals() {
    loom::model(|| {
        LIST.lock().unwrap().push(1);
        assert_eq!((LIST.lock().unwrap().len(), *NUMBER, CELL.get()), (1, 7, 3));
        LOCAL.with(|local| *local.borrow_mut() += 1);
        let other = OTHER.try_with(Cell::get);
        let seen: Result<u32, loom::lazy_static::AccessError> = other;
        assert_eq!((seen.ok(), LOCAL.with(|local| *local.borrow())), (Some(2), 2));
    });
}

/// In loom, what is spawned need not be `Send`.
#[test]
fn threads() {
    loom::model(|| {
        let shared = Rc::new(Mutex::new(0));
        let other = Rc::clone(&shared);
        let named = thread::Builder::new().name("named".to_owned()).stack_size(1 << 16);
        let thread = named.spawn(|| thread::current().name().map(str::to_owned)).unwrap();
        assert_eq!(thread.thread().name(), Some("named"));
        assert_eq!(thread.join().unwrap().as_deref(), Some("named"));
        let main = thread::current();
        let thread: thread::JoinHandle<()> = thread::spawn(move || {
            *other.lock().unwrap() += 1;
            main.unpark();
        });
        thread::park();
        thread.join().unwrap();
        assert_eq!(*shared.lock().unwrap(), 1);
        assert!(!thread::panicking());
    });
}

#[test]
fn messages_and_futures() {
    loom::model(|| {
        let (sender, receiver) = channel();
        let waker = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
        let other = Arc::clone(&waker);
        let thread = thread::spawn(move || {
            sender.send(1).unwrap();
            other.1.store(true, SeqCst);
            other.0.wake();
        });
        block_on(std::future::poll_fn(|context| {
            waker.0.register_by_ref(context.waker());
            match waker.1.load(SeqCst) {
                true => std::task::Poll::Ready(()),
                false => std::task::Poll::Pending,
            }
        }));
        assert_eq!(receiver.recv(), Ok(1));
        thread.join().unwrap();
        let value: Arc<str> = Arc::from_std("text".into());
        assert_eq!((&*value, Arc::strong_count(&value)), ("text", 1));
    });
}

/// Both results of a race that loom 0.7 runs only one way: a load before the store hides it.
#[test]
fn no_execution_is_missed() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let all = std::sync::Arc::clone(&seen);
    loom::model(move || {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || {
            other.load(SeqCst);
            other.store(1, SeqCst);
        });
        all.lock().unwrap().insert(x.load(SeqCst));
        thread.join().unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), BTreeSet::from([0, 1]));
}

#[test]
#[should_panic(expected = "an update was lost")]
fn a_failure_is_a_panic_of_the_test() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 10_000;
    builder.max_threads = 3;
    builder.max_duration = Some(Duration::from_secs(60));
    builder.checkpoint_file("never-written.json");
    builder.check(|| {
        let x = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&x);
        let thread = thread::spawn(move || other.store(other.load(SeqCst) + 1, SeqCst));
        x.store(x.load(SeqCst) + 1, SeqCst);
        thread.join().unwrap();
        assert_eq!(x.load(SeqCst), 2, "an update was lost");
    });
}

/// As in loom: while an access may write, there is no other.
#[test]
fn accesses_to_a_cell_that_overlap() {
    let fails = |model: fn(&UnsafeCell<u32>)| {
        let model = move || loom::model(move || model(&UnsafeCell::new(0)));
        let panic = std::panic::catch_unwind(model).err()?;
        Some(panic.downcast_ref::<String>().unwrap().clone())
    };
    let nested = fails(|cell| cell.with_mut(|_| cell.with_mut(|_| ()))).unwrap();
    assert!(nested.contains("a write to UnsafeCell@"), "{nested}");
    assert!(nested.contains("begins before a write to it has ended"), "{nested}");
    let nested = fails(|cell| cell.with(|_| cell.with_mut(|_| ()))).unwrap();
    assert!(nested.contains("begins before a read of it has ended"), "{nested}");
    let nested = fails(|cell| {
        let writing = cell.get_mut();
        let reading = cell.get();
        drop((writing, reading));
    });
    assert!(nested.unwrap().contains("begins before a write to it has ended"));
    assert_eq!(fails(|cell| cell.with(|_| cell.with(|_| ()))), None);
    assert_eq!(
        fails(|cell| [cell.with_mut(|_| ()), cell.with_mut(|_| ())].into_iter().collect()),
        None
    );
}

/// The access of one thread begins and ends in the middle of the other's, and all is ordered.
#[test]
#[should_panic(expected = "begins before a write to it has ended")]
fn an_access_in_the_middle_of_another() {
    loom::model(|| {
        let locked = || AtomicUsize::new(0);
        let shared = Arc::new((locked(), locked(), Slot(UnsafeCell::new(0))));
        let other = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            while other.0.load(SeqCst) == 0 {
                thread::yield_now();
            }
            other.2.0.with(|_| ());
            other.1.store(1, SeqCst);
        });
        shared.2.0.with_mut(|_| {
            shared.0.store(1, SeqCst);
            while shared.1.load(SeqCst) == 0 {
                thread::yield_now();
            }
        });
        reader.join().unwrap();
    });
}

struct Slot(UnsafeCell<u32>);
// SAFETY: whether accesses overlap is what is checked.
unsafe impl Sync for Slot {}

/// One preemption suffices, but not in the execution that stands for its class.
#[test]
#[should_panic(expected = "both happened")]
fn a_failure_within_the_bound_that_its_class_hides() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(1);
    builder.check(|| {
        let shared = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let [one, two] = [Arc::clone(&shared), Arc::clone(&shared)];
        let one = thread::spawn(move || {
            one[1].fetch_add(1, SeqCst);
            one[0].compare_exchange(0, 6, SeqCst, SeqCst)
        });
        let two = thread::spawn(move || two[0].fetch_add(1, SeqCst));
        let won = shared[0].compare_exchange(1, 4, SeqCst, SeqCst).is_ok();
        let seen = one.join().unwrap();
        two.join().unwrap();
        assert!(!(won && seen == Err(4)), "both happened");
    });
}
