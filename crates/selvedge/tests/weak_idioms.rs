//! Idioms as they are written in practice, right and with one ordering or fence too few: the verdict, and what the report says is
//! missing. Nothing but the code is given: the second search finds what sequential consistency does not show.

use selvedge::cell::UnsafeCell;
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, fence};
use selvedge::{Builder, Verdict, hint, thread};

/// Nothing is wrong, under RC11 either.
#[track_caller]
fn right(code: impl Fn() + 'static) {
    let outcome = Builder::new().explore(code);
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(outcome.text().contains("under rc11 either"), "{}", outcome.text());
}

/// This is wrong, and the report has these words.
#[track_caller]
fn wrong(code: impl Fn() + 'static, what: &str, why: &str) {
    let outcome = Builder::new().explore(code);
    assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
    // Long lines are broken.
    let text = outcome.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(what), "{what}: {}", outcome.text());
    assert!(text.contains(why), "{why}: {}", outcome.text());
}

const RELEASE: &str = "did not make what came before visible: use Release";
const ACQUIRE: &str = "did not become visible: use Acquire";
const FENCES: &str = "use SeqCst for all four, or a SeqCst fence between the two in both threads";

struct Cell<T>(UnsafeCell<T>);
// SAFETY: what is wrong with its uses is what the checks look for.
unsafe impl<T> Send for Cell<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Cell<T> {}

impl<T: Copy> Cell<T> {
    fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    fn get(&self) -> T {
        // SAFETY: a race is found before it matters.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, value: T) {
        // SAFETY: as above.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}

/// Orderings of a producer's store and load, and of a consumer's.
#[derive(Clone, Copy)]
struct Ring {
    tail_store: Ordering,
    head_load: Ordering,
    head_store: Ordering,
    tail_load: Ordering,
}

const RING: Ring =
    Ring { tail_store: Release, head_load: Acquire, head_store: Release, tail_load: Acquire };

fn ring(orders: Ring) -> impl Fn() {
    struct Shared {
        head: AtomicUsize,
        tail: AtomicUsize,
        slots: [Cell<u32>; 2],
    }
    move || {
        let slots = [Cell::new(0), Cell::new(0)];
        let shared = Shared { head: AtomicUsize::new(0), tail: AtomicUsize::new(0), slots };
        let ring = Arc::new(shared);
        let producer = Arc::clone(&ring);
        let thread = thread::spawn(move || {
            for tail in 0..3 {
                while tail - producer.head.load(orders.head_load) == 2 {
                    hint::spin_loop();
                }
                producer.slots[tail % 2].set(tail as u32);
                producer.tail.store(tail + 1, orders.tail_store);
            }
        });
        for head in 0..3 {
            while ring.tail.load(orders.tail_load) == head {
                hint::spin_loop();
            }
            assert_eq!(ring.slots[head % 2].get(), head as u32);
            ring.head.store(head + 1, orders.head_store);
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_ring_of_one_producer_and_one_consumer() {
    right(ring(RING));
    wrong(ring(Ring { tail_store: Relaxed, ..RING }), "data race on `UnsafeCell@", RELEASE);
    wrong(ring(Ring { tail_load: Relaxed, ..RING }), "data race on `UnsafeCell@", ACQUIRE);
    wrong(ring(Ring { head_store: Relaxed, ..RING }), "data race on `UnsafeCell@", RELEASE);
    wrong(ring(Ring { head_load: Relaxed, ..RING }), "data race on `UnsafeCell@", ACQUIRE);
}

/// References that count: the last one frees.
fn counted(sub: Ordering, fenced: bool) -> impl Fn() {
    struct Content {
        count: AtomicUsize,
        data: Cell<u32>,
    }
    struct Reference(*mut Content);
    // SAFETY: what is wrong with its uses is what the checks look for.
    unsafe impl Send for Reference {}
    impl Reference {
        fn drop(self, sub: Ordering, fenced: bool) {
            // SAFETY: it is freed once, by the last.
            unsafe {
                assert_eq!((*self.0).data.get(), 0);
                if (*self.0).count.fetch_sub(1, sub) == 1 {
                    if fenced {
                        fence(Acquire);
                    }
                    (*self.0).data.set(1);
                    drop(Box::from_raw(self.0));
                }
            }
        }
    }
    move || {
        let content = Content { count: AtomicUsize::new(1), data: Cell::new(0) };
        let one = Reference(Box::into_raw(Box::new(content)));
        // SAFETY: it is there, since `one` is.
        unsafe { (*one.0).count.fetch_add(1, Relaxed) };
        let other = Reference(one.0);
        let thread = thread::spawn(move || other.drop(sub, fenced));
        one.drop(sub, fenced);
        thread.join().unwrap();
    }
}

#[test]
fn references_that_count() {
    right(counted(Release, true));
    right(counted(AcqRel, false));
    wrong(counted(Release, false), "data race on `UnsafeCell@", ACQUIRE);
    wrong(counted(Relaxed, true), "data race on `UnsafeCell@", RELEASE);
}

fn sequence_lock(writer: bool, reader: bool) -> impl Fn() {
    move || {
        let lock = Arc::new([const { AtomicU32::new(0) }; 3]);
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || {
            other[0].store(1, Relaxed);
            if writer {
                fence(Release);
            }
            other[1].store(1, Relaxed);
            other[2].store(1, Relaxed);
            other[0].store(2, Release);
        });
        loop {
            let before = lock[0].load(Acquire);
            if before % 2 == 0 {
                let values = (lock[1].load(Relaxed), lock[2].load(Relaxed));
                if reader {
                    fence(Acquire);
                }
                if lock[0].load(Relaxed) == before {
                    assert_eq!(values.0, values.1, "torn");
                    break;
                }
            }
            hint::spin_loop();
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_sequence_lock() {
    right(sequence_lock(true, true));
    wrong(sequence_lock(false, true), "torn", RELEASE);
    wrong(sequence_lock(true, false), "torn", ACQUIRE);
}

/// A reader protects what it reads, and the thread that takes it out frees it unless it is protected.
fn hazard_pointer(between: Option<Ordering>) -> impl Fn() {
    type Data = Cell<u32>;
    move || {
        let first = Box::into_raw(Box::new(Data::new(5)));
        let none = std::ptr::null_mut::<Data>();
        let shared = Arc::new((AtomicPtr::new(first), AtomicPtr::new(none)));
        let reader = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let seen = reader.0.load(Relaxed);
            if seen.is_null() {
                return;
            }
            reader.1.store(seen, Release);
            between.into_iter().for_each(fence);
            if reader.0.load(Acquire) == seen {
                // SAFETY: it is protected: that is what the check looks at.
                assert_eq!(unsafe { (*seen).get() }, 5);
            }
            reader.1.store(std::ptr::null_mut(), Release);
        });
        let old = shared.0.swap(none, AcqRel);
        between.into_iter().for_each(fence);
        if shared.1.load(Acquire) == old {
            thread.join().unwrap();
            // SAFETY: the reader is gone.
            drop(unsafe { Box::from_raw(old) });
        } else {
            // SAFETY: no reader has it: that is what the check looks at.
            drop(unsafe { Box::from_raw(old) });
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_hazard_pointer() {
    right(hazard_pointer(Some(SeqCst)));
    for between in [Some(AcqRel), None] {
        wrong(hazard_pointer(between), "but its memory was freed", FENCES);
    }
}

fn once(failure: Ordering, set: Ordering) -> impl Fn() {
    move || {
        let once = Arc::new((AtomicU32::new(0), Cell::new(0)));
        let other = Arc::clone(&once);
        let get = move |once: &(AtomicU32, Cell<u32>)| {
            match once.0.compare_exchange(0, 1, Acquire, failure) {
                Ok(_) => {
                    once.1.set(7);
                    once.0.store(2, set);
                }
                Err(2) => {}
                Err(_) => {
                    while once.0.load(failure) != 2 {
                        hint::spin_loop();
                    }
                }
            }
            assert_eq!(once.1.get(), 7);
        };
        let thread = thread::spawn(move || get(&other));
        get(&once);
        thread.join().unwrap();
    }
}

#[test]
fn a_cell_that_is_set_once() {
    right(once(Acquire, Release));
    wrong(once(Relaxed, Release), "data race on `UnsafeCell@", ACQUIRE);
    wrong(once(Acquire, Relaxed), "data race on `UnsafeCell@", RELEASE);
}

/// One that looks before it tries, with weak exchanges.
fn spin_lock(lock: Ordering, unlock: Ordering) -> impl Fn() {
    move || {
        let shared = Arc::new((AtomicBool::new(false), Cell::new(0)));
        let other = Arc::clone(&shared);
        let count = move |shared: &(AtomicBool, Cell<u32>)| {
            while shared.0.compare_exchange_weak(false, true, lock, Relaxed).is_err() {
                while shared.0.load(Relaxed) {
                    hint::spin_loop();
                }
            }
            shared.1.set(shared.1.get() + 1);
            shared.0.store(false, unlock);
        };
        let thread = thread::spawn(move || count(&other));
        count(&shared);
        thread.join().unwrap();
        assert_eq!(shared.1.get(), 2);
    }
}

#[test]
fn a_spin_lock() {
    right(spin_lock(Acquire, Release));
    wrong(spin_lock(Relaxed, Release), "data race on `UnsafeCell@", ACQUIRE);
    wrong(spin_lock(Acquire, Relaxed), "data race on `UnsafeCell@", RELEASE);
}

/// A queue of two places with a sequence number each (Vyukov).
fn queue(push: Ordering, pop: Ordering) -> impl Fn() {
    struct Queue {
        ends: [AtomicUsize; 2],
        cells: [(AtomicUsize, Cell<u32>); 2],
    }
    impl Queue {
        /// Takes the place at an end whose number is so much larger than the place.
        fn claim(&self, end: usize, order: Ordering) -> Option<usize> {
            let mut place = self.ends[end].load(Relaxed);
            loop {
                let number = self.cells[place % 2].0.load(order);
                if number < place + end {
                    return None;
                }
                match self.ends[end].compare_exchange(place, place + 1, Relaxed, Relaxed) {
                    Ok(_) if number == place + end => return Some(place),
                    Ok(_) => unreachable!("no other thread took it"),
                    Err(newer) => place = newer,
                }
            }
        }
    }
    move || {
        let cells = [0, 1].map(|number| (AtomicUsize::new(number), Cell::new(0)));
        let queue = Arc::new(Queue { ends: [const { AtomicUsize::new(0) }; 2], cells });
        let threads: Vec<_> = (1..3)
            .map(|value| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || {
                    let place = queue.claim(0, Acquire).expect("there is room");
                    queue.cells[place % 2].1.set(value);
                    queue.cells[place % 2].0.store(place + 1, push);
                })
            })
            .collect();
        if let Some(place) = queue.claim(1, pop) {
            let value = queue.cells[place % 2].1.get();
            queue.cells[place % 2].0.store(place + 2, Release);
            assert!(value == 1 || value == 2);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_queue_of_several_producers() {
    right(queue(Release, Acquire));
    wrong(queue(Relaxed, Acquire), "data race on `UnsafeCell@", RELEASE);
    wrong(queue(Release, Relaxed), "data race on `UnsafeCell@", ACQUIRE);
}

/// A writer replaces what readers read, and frees the old one when no reader is there.
fn read_copy_update(publish: Ordering, fenced: bool) -> impl Fn() {
    move || {
        let first = Box::into_raw(Box::new(Cell::new(1)));
        let shared = Arc::new((AtomicPtr::new(first), AtomicU32::new(0)));
        let reader = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            reader.1.store(1, Relaxed);
            if fenced {
                fence(SeqCst);
            }
            // SAFETY: it is freed only when no reader is there: that is what the check looks at.
            assert!(unsafe { (*reader.0.load(Acquire)).get() } > 0);
            reader.1.store(0, Release);
        });
        let new = Box::new(Cell::new(0));
        new.set(2);
        let old = shared.0.swap(Box::into_raw(new), publish);
        if fenced {
            fence(SeqCst);
        }
        while shared.1.load(Acquire) != 0 {
            hint::spin_loop();
        }
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(old) });
        thread.join().unwrap();
        // SAFETY: the reader is gone.
        drop(unsafe { Box::from_raw(shared.0.load(Relaxed)) });
    }
}

#[test]
fn a_grace_period() {
    right(read_copy_update(AcqRel, true));
    wrong(read_copy_update(Relaxed, true), "data race on `UnsafeCell@", RELEASE);
    wrong(read_copy_update(AcqRel, false), "but its memory was freed", FENCES);
}

/// Each says that it wants to enter, and does if the other has not.
fn dekker(between: Option<Ordering>) -> impl Fn() {
    move || {
        let flags = [const { AtomicBool::new(false) }; 2];
        let shared = Arc::new((flags, Cell::new(0)));
        let other = Arc::clone(&shared);
        let enter = move |shared: &([AtomicBool; 2], Cell<u32>), me: usize| {
            shared.0[me].store(true, Relaxed);
            between.into_iter().for_each(fence);
            if !shared.0[1 - me].load(Relaxed) {
                shared.1.set(me as u32);
            }
        };
        let thread = thread::spawn(move || enter(&other, 0));
        enter(&shared, 1);
        thread.join().unwrap();
    }
}

#[test]
fn an_entry_after_dekker() {
    right(dekker(Some(SeqCst)));
    for between in [Some(AcqRel), None] {
        wrong(dekker(between), "data race on `UnsafeCell@", FENCES);
    }
}

/// A stack of nodes, which the consumer takes all at once.
fn stack(push: Ordering, take: Ordering) -> impl Fn() {
    struct Node {
        value: Cell<u32>,
        next: *mut Node,
    }
    move || {
        let stack = Arc::new(AtomicPtr::new(std::ptr::null_mut::<Node>()));
        let other = Arc::clone(&stack);
        let thread = thread::spawn(move || {
            for value in 1..3 {
                let node = Node { value: Cell::new(0), next: std::ptr::null_mut() };
                node.value.set(value);
                let node = Box::into_raw(Box::new(node));
                loop {
                    let next = other.load(Relaxed);
                    // SAFETY: it is not published yet.
                    unsafe { (*node).next = next };
                    if other.compare_exchange(next, node, push, Relaxed).is_ok() {
                        break;
                    }
                }
            }
        });
        let empty = |mut next: *mut Node| {
            while !next.is_null() {
                // SAFETY: it was pushed once, and is taken once.
                let node = unsafe { Box::from_raw(next) };
                assert!(node.value.get() > 0);
                next = node.next;
            }
        };
        empty(stack.swap(std::ptr::null_mut(), take));
        thread.join().unwrap();
        empty(stack.load(Relaxed));
    }
}

#[test]
fn a_stack_that_is_emptied() {
    right(stack(Release, Acquire));
    wrong(stack(Relaxed, Acquire), "data race on `UnsafeCell@", RELEASE);
    wrong(stack(Release, Relaxed), "data race on `UnsafeCell@", ACQUIRE);
}

fn publication(store: Ordering, load: Ordering) -> impl Fn() {
    move || {
        let shared = Arc::new((AtomicBool::new(false), Cell::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.set(42);
            other.0.store(true, store);
        });
        while !shared.0.load(load) {
            hint::spin_loop();
        }
        assert_eq!(shared.1.get(), 42);
        thread.join().unwrap();
    }
}

#[test]
fn a_value_that_is_published() {
    right(publication(Release, Acquire));
    wrong(publication(Relaxed, Acquire), "data race on `UnsafeCell@", RELEASE);
    wrong(publication(Release, Relaxed), "data race on `UnsafeCell@", ACQUIRE);
    let both = "use Release for the write and Acquire for the read";
    wrong(publication(Relaxed, Relaxed), "data race on `UnsafeCell@", both);
}

fn ticket_lock(load: Ordering, store: Ordering) -> impl Fn() {
    struct Lock {
        next: AtomicU32,
        serving: AtomicU32,
        data: Cell<u32>,
    }
    move || {
        let (next, serving) = (AtomicU32::new(0), AtomicU32::new(0));
        let lock = Arc::new(Lock { next, serving, data: Cell::new(0) });
        let other = Arc::clone(&lock);
        let count = move |lock: &Lock| {
            let mine = lock.next.fetch_add(1, Relaxed);
            while lock.serving.load(load) != mine {
                hint::spin_loop();
            }
            lock.data.set(lock.data.get() + 1);
            lock.serving.store(mine + 1, store);
        };
        let thread = thread::spawn(move || count(&other));
        count(&lock);
        thread.join().unwrap();
        assert_eq!(lock.data.get(), 2);
    }
}

#[test]
fn a_ticket_lock() {
    right(ticket_lock(Acquire, Release));
    wrong(ticket_lock(Relaxed, Release), "data race on `UnsafeCell@", ACQUIRE);
    wrong(ticket_lock(Acquire, Relaxed), "data race on `UnsafeCell@", RELEASE);
}

/// A sleeper says that it sleeps and looks once more; who has work for it looks whether it sleeps.
fn sleeper(fenced: bool) -> impl Fn() {
    move || {
        let shared = Arc::new((AtomicU32::new(0), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let me = thread::current();
        let thread = thread::spawn(move || {
            other.0.store(1, Relaxed);
            if fenced {
                fence(SeqCst);
            }
            if other.1.load(Relaxed) {
                me.unpark();
            }
        });
        shared.1.store(true, Relaxed);
        if fenced {
            fence(SeqCst);
        }
        while shared.0.load(Relaxed) == 0 {
            thread::park();
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_sleeper_that_is_woken() {
    right(sleeper(true));
    wrong(sleeper(false), "deadlock: main is blocked", FENCES);
}

/// Readers count themselves in; a writer enters when there are none.
fn readers(enter: Ordering, leave: Ordering) -> impl Fn() {
    const WRITES: usize = 1 << 31;
    move || {
        let shared = Arc::new((AtomicUsize::new(0), Cell::new(0)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            loop {
                let count = other.0.load(Relaxed);
                if count & WRITES == 0
                    && other.0.compare_exchange(count, count + 1, enter, Relaxed).is_ok()
                {
                    break;
                }
                hint::spin_loop();
            }
            assert!(other.1.get() < 2);
            other.0.fetch_sub(1, leave);
        });
        while shared.0.compare_exchange(0, WRITES, Acquire, Relaxed).is_err() {
            hint::spin_loop();
        }
        shared.1.set(1);
        shared.0.store(0, Release);
        thread.join().unwrap();
    }
}

#[test]
fn readers_that_count_themselves_in() {
    right(readers(Acquire, Release));
    wrong(readers(Relaxed, Release), "data race on `UnsafeCell@", ACQUIRE);
    wrong(readers(Acquire, Relaxed), "data race on `UnsafeCell@", RELEASE);
}
