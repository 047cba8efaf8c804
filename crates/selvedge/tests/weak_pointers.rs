//! Addresses in atomics under a memory model: blocks that an execution leaves, or that it had when it was cut, move those of
//! the next one, and the code is the same nevertheless.

use std::ptr::null_mut;

use selvedge::cell::UnsafeCell;
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use selvedge::{Builder, Memory, Outcome, Verdict, ViolationKind, hint, thread};

fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Frees what [`boxed`] returned.
fn free<T>(it: *mut T) {
    // SAFETY: where it is freed too early, the check finds that first.
    drop(unsafe { Box::from_raw(it) });
}

/// Nothing is wrong, under RC11 either.
#[track_caller]
fn right(code: fn()) {
    let outcome = Builder::new().explore(code);
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(outcome.text().contains("under rc11 either"), "{}", outcome.text());
    for &memory in Memory::ALL {
        let outcome = under(memory, code);
        assert_eq!(outcome.verdict(), Verdict::Verified, "{memory:?}: {}", outcome.text());
    }
}

fn under(memory: Memory, code: fn()) -> Outcome {
    Builder::new().quiet(true).memory(memory).explore(code)
}

#[track_caller]
fn gives_up(code: fn(), why: &str) {
    let outcome = under(Memory::Rc11, code);
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{}", outcome.text());
    let text = outcome.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(why), "{}", outcome.text());
}

/// A reader uses one of two boxes, which are never freed.
#[test]
fn of_boxes_that_leak() {
    fn code() {
        let at = Arc::new(AtomicPtr::new(boxed(AtomicU32::new(1))));
        let reader = Arc::clone(&at);
        let reader = thread::spawn(move || {
            // SAFETY: it is never freed.
            unsafe { (*reader.load(Acquire)).load(Relaxed) }
        });
        at.swap(boxed(AtomicU32::new(2)), AcqRel);
        let seen = reader.join().unwrap();
        assert!(seen == 1 || seen == 2);
    }
    right(code);
    let outcome = under(Memory::Rc11, code);
    assert_eq!(outcome.executions(), 2, "the reader sees one box, or the other");
}

/// The same as a number with a mark in its lowest bit, among so much memory that it does not lie in one piece.
#[test]
fn with_a_mark_among_much_memory() {
    right(|| {
        let [first, second] = [1, 2].map(|value| {
            let _: *mut [u8; 40_000] = boxed([0; 40_000]);
            boxed(AtomicU32::new(value)) as usize
        });
        let at = Arc::new(AtomicUsize::new(first));
        let reader = Arc::clone(&at);
        let reader = thread::spawn(move || {
            let seen = reader.fetch_or(1, AcqRel) & !1;
            // SAFETY: it is never freed.
            unsafe { (*(seen as *const AtomicU32)).load(Relaxed) }
        });
        let before = at.swap(second, AcqRel);
        let seen = reader.join().unwrap();
        let is_marked = |value: usize| value & 1 == 1;
        assert_eq!((before & !1, is_marked(before)), (first, seen == 1));
        assert_eq!(is_marked(at.load(Relaxed)), seen == 2);
    });
}

struct Counter(UnsafeCell<u32>);
// SAFETY: a race is found before it matters.
unsafe impl Send for Counter {}
// SAFETY: as above.
unsafe impl Sync for Counter {}

impl Counter {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self) -> u32 {
        // SAFETY: as above.
        self.0.with_mut(|value| unsafe {
            *value += 1;
            *value
        })
    }
}

/// Two threads do the same.
fn both<T: Send + Sync + 'static>(shared: T, code: impl Fn(&T) + Copy + Send + 'static) -> Arc<T> {
    let shared = Arc::new(shared);
    let other = Arc::clone(&shared);
    let other = thread::spawn(move || code(&other));
    code(&shared);
    other.join().unwrap();
    shared
}

struct Waiter {
    waits: AtomicBool,
    next: AtomicPtr<Waiter>,
}

/// The lock of Mellor-Crummey and Scott: each waits at its own node. `pass`: how it is passed on.
fn mcs(pass: Ordering) {
    let queue = (AtomicPtr::<Waiter>::new(null_mut()), Counter::new());
    let queue = both(queue, move |(tail, counter)| {
        let mine = boxed(Waiter { waits: AtomicBool::new(true), next: AtomicPtr::default() });
        let before = tail.swap(mine, AcqRel);
        // SAFETY: who frees a node is the last to use it.
        let (mine_is, before_is) = unsafe { (&*mine, before.as_ref()) };
        if let Some(before) = before_is {
            before.next.store(mine, Release);
            while mine_is.waits.load(Acquire) {
                hint::spin_loop();
            }
        }
        counter.add();
        let mut next = mine_is.next.load(Acquire);
        if next.is_null() {
            if tail.compare_exchange(mine, null_mut(), Release, Relaxed).is_ok() {
                return free(mine);
            }
            while next.is_null() {
                hint::spin_loop();
                next = mine_is.next.load(Acquire);
            }
        }
        // SAFETY: its owner waits.
        unsafe { (*next).waits.store(false, pass) };
        free(mine);
    });
    assert_eq!(queue.1.add(), 3);
}

#[test]
fn of_an_mcs_lock() {
    right(|| mcs(Release));
    let outcome = under(Memory::Rc11, || mcs(Relaxed));
    assert_eq!(outcome.kinds(), [ViolationKind::DataRace], "{}", outcome.text());
}

/// The lock of Craig, Landin and Hagersten: each waits at the node before its own.
#[test]
fn of_a_clh_lock() {
    right(|| {
        let tail = AtomicPtr::new(boxed(AtomicBool::new(false)));
        let queue = both((tail, Counter::new()), |(tail, counter)| {
            let mine = boxed(AtomicBool::new(true));
            let before = tail.swap(mine, AcqRel);
            // SAFETY: who frees a node is the last to use it.
            while unsafe { (*before).load(Acquire) } {
                hint::spin_loop();
            }
            counter.add();
            free(before);
            // SAFETY: the next one frees it after that.
            unsafe { (*mine).store(false, Release) };
        });
        assert_eq!(queue.1.add(), 3);
        free(queue.0.load(Relaxed));
    });
}

struct Node {
    value: u32,
    next: AtomicPtr<Node>,
}

fn push(head: &AtomicPtr<Node>, value: u32) {
    let node = boxed(Node { value, next: AtomicPtr::default() });
    loop {
        let old = head.load(Relaxed);
        // SAFETY: others do not have it yet.
        unsafe { (*node).next.store(old, Relaxed) };
        if head.compare_exchange(old, node, Release, Relaxed).is_ok() {
            return;
        }
    }
}

fn pop(head: &AtomicPtr<Node>) -> Option<u32> {
    loop {
        let old = head.load(Acquire);
        // SAFETY: nodes are not freed.
        let node = unsafe { old.as_ref()? };
        let next = node.next.load(Relaxed);
        if head.compare_exchange(old, next, Acquire, Relaxed).is_ok() {
            return Some(node.value);
        }
    }
}

#[test]
fn of_a_stack_whose_nodes_leak() {
    right(|| {
        let head = Arc::new(AtomicPtr::default());
        push(&head, 1);
        let other = Arc::clone(&head);
        let other = thread::spawn(move || {
            push(&other, 2);
            pop(&other)
        });
        let mine = pop(&head);
        let theirs = other.join().unwrap();
        assert!(theirs.is_some() && mine != theirs);
    });
}

/// A reader announces what it is about to use, and looks whether that is still so. A writer frees what no reader announced.
/// `order`: of what must not be reordered.
fn hazard_pointer(order: Ordering) {
    #[derive(Default)]
    struct Shared {
        current: AtomicPtr<AtomicU32>,
        announced: AtomicPtr<AtomicU32>,
    }
    let (load, store, update) = match order {
        SeqCst => (SeqCst, SeqCst, SeqCst),
        _ => (Acquire, Release, AcqRel),
    };
    let shared = Arc::new(Shared::default());
    shared.current.store(boxed(AtomicU32::new(1)), Relaxed);
    let reader = Arc::clone(&shared);
    let reader = thread::spawn(move || {
        loop {
            let seen = reader.current.load(load);
            reader.announced.store(seen, store);
            if reader.current.load(load) == seen {
                // SAFETY: it is not freed while it is announced.
                unsafe { (*seen).load(Relaxed) };
                break;
            }
        }
        reader.announced.store(null_mut(), Release);
    });
    let old = shared.current.swap(boxed(AtomicU32::new(2)), update);
    if shared.announced.load(load) != old {
        free(old);
    }
    reader.join().unwrap();
}

#[test]
fn of_a_hazard_pointer() {
    right(|| hazard_pointer(SeqCst));
    let outcome = Builder::new().quiet(true).explore(|| hazard_pointer(AcqRel));
    assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree], "{}", outcome.text());
}

/// A bump allocator comes to the end of its block, which is in no other block.
#[test]
fn of_the_end_of_a_block() {
    right(|| {
        let block = boxed([0_u8; 24]).cast::<u8>();
        let end = block as usize + 24;
        let next = both(AtomicPtr::new(block), move |next| {
            let mine = next.fetch_update(Relaxed, Relaxed, |mine| Some(mine.wrapping_add(12)));
            assert!(mine.is_ok_and(|mine| (mine as usize) < end));
        });
        let after = boxed([0_u8; 24]).cast();
        assert!(next.load(Relaxed) as usize == end && next.swap(after, Relaxed) != after);
    });
}

/// Later there may be one.
#[test]
fn of_no_block() {
    gives_up(
        || {
            let block = boxed([0_u8; 24]);
            AtomicPtr::default().store(block.wrapping_add(2), Relaxed);
            free(block);
        },
        "an atomic has an address that is in no block of memory",
    );
}

/// An explorer could not tell it from an address.
#[test]
fn of_a_number_that_looks_like_a_name() {
    gives_up(
        || AtomicU64::new(0).store(0x5e1d_0000_0000_0080, Relaxed),
        "an atomic has the value 0x5e1d000000000080, which stands for an address",
    );
    let others = || AtomicU64::new(u64::MAX).store(0x5e1c_ffff_ffff_ffff, Relaxed);
    assert_eq!(under(Memory::Rc11, others).verdict(), Verdict::Verified);
}

/// Whether the block is used is decided without its address: in some orders it is freed before anything in it was used.
#[test]
fn a_use_after_a_free_that_comes_first() {
    fn late<T: 'static>(content: T, used: fn(&T)) {
        let shared = Arc::new((AtomicPtr::new(boxed(content)), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let other = thread::spawn(move || {
            let at = other.0.load(Relaxed);
            if other.1.load(Relaxed) == 0 {
                // SAFETY: the check finds that it may be freed.
                used(unsafe { &*at });
            }
        });
        shared.1.store(1, Relaxed);
        free(shared.0.load(Relaxed));
        other.join().unwrap();
    }
    let small = || late(AtomicU32::new(1), |it| _ = it.fetch_add(1, Relaxed));
    // Its address is in no atomic.
    let captured = || {
        let at = boxed(AtomicU32::new(1)) as usize;
        let turn = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&turn);
        let other = thread::spawn(move || {
            if other.load(Relaxed) == 0 {
                // SAFETY: as above.
                unsafe { (*(at as *const AtomicU32)).fetch_add(1, Relaxed) };
            }
        });
        turn.store(1, Relaxed);
        free(at as *mut AtomicU32);
        other.join().unwrap();
    };
    // It begins like a block of `std::sync::Arc` whose last reference is gone.
    let zeros = || late((0_u64, 0_u64, AtomicU32::new(0)), |it| _ = it.2.load(Relaxed));
    for &memory in Memory::ALL {
        for code in [small as fn(), captured, zeros] {
            let outcome = under(memory, code);
            assert_eq!(outcome.verdict(), Verdict::Violated, "{memory:?}: {}", outcome.text());
            let kind = outcome.report().violations[0].0.kind;
            assert_eq!(kind, ViolationKind::UseAfterFree, "{}", outcome.text());
        }
    }
}
