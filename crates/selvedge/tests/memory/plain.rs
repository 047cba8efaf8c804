//! Plain uses of nodes that threads share through atomics, and that one of them frees: nothing in a node is a type of this crate.

use super::*;

pub(super) struct Node {
    pub(super) value: usize,
    pub(super) next: *mut Node,
}

/// A stack of nodes.
struct Stack {
    head: AtomicPtr<Node>,
    /// Popped nodes that are not freed yet; a lock of `std`, so that it orders nothing for the check.
    retired: std::sync::Mutex<Vec<usize>>,
}

impl Stack {
    fn with(values: std::ops::Range<usize>) -> Arc<Self> {
        let stack = Arc::new(Self { head: AtomicPtr::default(), retired: Default::default() });
        values.for_each(|value| stack.push(value));
        stack
    }

    fn push(&self, value: usize) {
        let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
        loop {
            let head = self.head.load(SeqCst);
            // SAFETY: the node is not shared yet.
            unsafe { (*node).next = head };
            if self.head.compare_exchange(head, node, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    /// Takes the first node out, and says what to do with it.
    fn pop(&self, done: impl Fn(&Self, *mut Node)) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            if head.is_null() {
                return None;
            }
            // SAFETY: what is tested is that this is noticed if the node was freed.
            let next = unsafe { (*head).next };
            if self.head.compare_exchange(head, next, SeqCst, SeqCst).is_ok() {
                // SAFETY: as above.
                let value = unsafe { (*head).value };
                done(self, head);
                return Some(value);
            }
        }
    }

    fn free_at_once(&self, node: *mut Node) {
        // SAFETY: a mistake: another thread may be about to read the node.
        drop(unsafe { Box::from_raw(node) });
    }

    fn retire(&self, node: *mut Node) {
        self.retired.lock().unwrap().push(node as usize);
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while self.pop(Self::retire).is_some() {}
        for node in std::mem::take(&mut *self.retired.lock().unwrap()) {
            // SAFETY: no other thread has the stack, and each node was taken out once.
            drop(unsafe { Box::from_raw(node as *mut Node) });
        }
    }
}

fn two_pops(done: fn(&Stack, *mut Node)) -> impl Fn() + Copy {
    move || {
        let stack = Stack::with(1..3);
        let other = Arc::clone(&stack);
        let popper = thread::spawn(move || other.pop(done));
        stack.pop(done);
        popper.join().unwrap();
    }
}

/// The search that every test gets.
#[test]
fn a_stack_that_frees_popped_nodes_at_once() {
    let outcome = explore(two_pops(Stack::free_at_once));
    assert_eq!(outcome.kinds(), [ViolationKind::UseAfterFree], "{}", outcome.text());
    let text = outcome.text();
    for part in [
        "thread 1 reads or writes memory that was freed",
        "unsafe { (*head).next }",
        "main freed it",
        "in this schedule the use comes first",
        "SELVEDGE_GUARD_FREED=1 SELVEDGE_REPLAY",
        "Builder::new().guard_freed(true).replay(",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

/// Explorers that look at whole classes.
pub(super) const EXPLORERS: [Algorithm; 6] = [
    Algorithm::Oracle,
    Algorithm::Sleep,
    Algorithm::Source,
    Algorithm::Optimal,
    Algorithm::Parsimonious,
    Algorithm::Quasi,
];

/// They find it with and without being asked.
#[test]
fn every_explorer_finds_it() {
    for algorithm in EXPLORERS {
        let builder = Builder::new().algorithm(algorithm);
        for builder in [builder.clone(), builder.clone().guard_freed(true), builder.jobs(2)] {
            let outcome = builder.explore(two_pops(Stack::free_at_once));
            let kinds = outcome.kinds();
            assert_eq!(kinds, [ViolationKind::UseAfterFree], "{algorithm:?}: {}", outcome.text());
        }
    }
}

/// The schedule of the report reproduces the violation.
#[test]
fn it_is_replayed_with_guarded_memory() {
    let found = explore(two_pops(Stack::free_at_once));
    let text = found.text();
    let schedule = text.split(".replay(\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let again = Builder::new().guard_freed(true).replay(schedule);
    let again = again.explore(two_pops(Stack::free_at_once));
    assert_eq!(again.messages(), found.messages());
}

/// Uses are steps that commute with all others: they cost no executions.
#[test]
fn uses_cost_no_executions() {
    for algorithm in [Algorithm::Optimal, Algorithm::Parsimonious] {
        let builder = Builder::new().algorithm(algorithm);
        let unguarded = builder.clone().guard_freed(false).explore(two_pops(Stack::retire));
        let guarded = builder.guard_freed(true).explore(two_pops(Stack::retire));
        assert_eq!(guarded.verdict(), Verdict::Verified, "{}", guarded.text());
        assert_eq!(guarded.executions(), unguarded.executions());
        assert!(guarded.report().steps > unguarded.report().steps, "no use was a step");
    }
}

/// Nodes are freed when all threads that knew them were joined: there is nothing to look for.
#[test]
fn nothing_is_looked_for_where_nothing_can_be() {
    let outcome = explore(|| {
        let stack = Stack::with(1..3);
        let other = Arc::clone(&stack);
        thread::spawn(move || other.pop(Stack::retire)).join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Verified);
    assert!(!outcome.text().contains("whose address other threads have"), "{}", outcome.text());
}

/// The thread that takes a node out of the slot owns it.
fn handed_over() {
    let slot = Arc::new(AtomicPtr::<Node>::default());
    let other = Arc::clone(&slot);
    let take = |slot: &AtomicPtr<Node>, new| {
        let node = slot.swap(new, SeqCst);
        if !node.is_null() {
            // SAFETY: only one thread takes it.
            assert!(unsafe { Box::from_raw(node) }.value > 0);
        }
    };
    let taker = thread::spawn(move || (0..2).for_each(|_| take(&other, ptr::null_mut())));
    for value in 1..4 {
        take(&slot, Box::into_raw(Box::new(Node { value, next: ptr::null_mut() })));
    }
    taker.join().unwrap();
    take(&slot, ptr::null_mut());
}

#[test]
fn what_is_handed_over_may_be_freed() {
    let outcome = explore(handed_over);
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    let line = "no plain use of it after the free in 10 executions";
    assert!(outcome.text().contains(line), "{}", outcome.text());
    assert!(outcome.json().contains(line), "{}", outcome.json());
    let left_out = Builder::new().guard_freed(false).explore(handed_over);
    assert_eq!(left_out.verdict(), Verdict::Verified);
    assert!(left_out.text().contains("were not looked for"), "{}", left_out.text());
}

/// A reader announces the node it reads; the node is freed if no reader has announced it.
fn hazard(announces: bool) -> impl Fn() + Copy {
    move || {
        let shared = Arc::new((
            AtomicPtr::new(Box::into_raw(Box::new(Node { value: 1, next: ptr::null_mut() }))),
            AtomicPtr::<Node>::default(),
        ));
        let other = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            let node = other.0.load(SeqCst);
            if announces {
                other.1.store(node, SeqCst);
                if other.0.load(SeqCst) != node {
                    return;
                }
            }
            if !node.is_null() {
                // SAFETY: it is announced, or what is tested is that this is noticed.
                assert_eq!(unsafe { (*node).value }, 1);
            }
            other.1.store(ptr::null_mut(), SeqCst);
        });
        let node = shared.0.swap(ptr::null_mut(), SeqCst);
        let is_free = shared.1.load(SeqCst) != node;
        if is_free {
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(node) });
        }
        reader.join().unwrap();
        if !is_free {
            // SAFETY: the reader has ended.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

#[test]
fn hazard_pointers() {
    let outcome = explore(hazard(true));
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(outcome.text().contains("no plain use of it"), "{}", outcome.text());
    assert_eq!(explore(hazard(false)).kinds(), [ViolationKind::UseAfterFree]);
}

/// One instruction, or one call, may use two blocks that are shared.
#[test]
fn copies_between_two_shared_blocks() {
    const WORDS: usize = 3000;
    let outcome = Builder::new().guard_freed(true).explore(|| {
        let block = |value| AtomicPtr::new(Box::into_raw(Box::new([value; WORDS])));
        let shared = Arc::new((block(1_u64), block(2)));
        let copy = |shared: &(AtomicPtr<[u64; WORDS]>, AtomicPtr<[u64; WORDS]>)| {
            let (from, to) = (shared.0.load(SeqCst), shared.1.load(SeqCst));
            // SAFETY: both are freed at the end.
            unsafe {
                ptr::copy_nonoverlapping(from, to, 1);
                assert_eq!((*to)[WORDS - 1], (*from)[0]);
                std::arch::asm!("movsq", in("rsi") from, in("rdi") to, lateout("rsi") _, lateout("rdi") _);
            }
        };
        let other = Arc::clone(&shared);
        let copier = thread::spawn(move || copy(&other));
        copy(&shared);
        copier.join().unwrap();
        for block in [&shared.0, &shared.1] {
            // SAFETY: the other thread has ended.
            drop(unsafe { Box::from_raw(block.load(SeqCst)) });
        }
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

/// Registers are as they were when the use runs: also those of vectors.
#[test]
fn a_use_that_is_interrupted_changes_nothing() {
    let outcome = Builder::new().guard_freed(true).explore(|| {
        let shared = Arc::new(AtomicPtr::new(Box::into_raw(Box::new([1.5_f64, 2.5, 3.5, 4.5]))));
        let sum = |shared: &AtomicPtr<[f64; 4]>, scale: f64| {
            let numbers = shared.load(SeqCst);
            // SAFETY: it is freed at the end.
            let numbers = unsafe { &*numbers };
            let mut sum = scale;
            for number in numbers {
                sum += std::hint::black_box(scale) * number;
            }
            assert_eq!(sum, 13.0 * scale);
        };
        let others = [2.0, 3.0].map(|scale| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || sum(&shared, scale))
        });
        sum(&shared, 7.0);
        others.into_iter().for_each(|other| other.join().unwrap());
        // SAFETY: the other threads have ended.
        drop(unsafe { Box::from_raw(shared.load(SeqCst)) });
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

/// A spin loop that looks into a shared node again and again.
#[test]
fn a_loop_that_waits_beside_shared_memory() {
    struct Waits {
        ready: AtomicBool,
        turns: usize,
    }
    let outcome = Builder::new().guard_freed(true).explore(|| {
        let node = Box::into_raw(Box::new(Waits { ready: AtomicBool::new(false), turns: 3 }));
        let shared = Arc::new(AtomicPtr::new(node));
        let other = Arc::clone(&shared);
        let waiter = thread::spawn(move || {
            let node = other.load(SeqCst);
            // SAFETY: it is freed at the end.
            while !unsafe { &(*node).ready }.load(SeqCst) {
                // SAFETY: as above.
                assert_eq!(unsafe { (*node).turns }, 3);
                thread::yield_now();
            }
        });
        // SAFETY: as above.
        unsafe { &(*shared.load(SeqCst)).ready }.store(true, SeqCst);
        waiter.join().unwrap();
        // SAFETY: the other thread has ended.
        drop(unsafe { Box::from_raw(shared.load(SeqCst)) });
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}

/// A thread that stands at a use is taken down when the execution is over.
#[test]
fn threads_that_stand_at_a_use_are_taken_down() {
    let outcome = Builder::new().guard_freed(true).keep_going(true).explore(|| {
        let stack = Stack::with(1..3);
        let other = Arc::clone(&stack);
        let popper = thread::spawn(move || other.pop(Stack::retire));
        assert_ne!(stack.pop(Stack::retire), Some(1), "the other was first");
        popper.join().unwrap();
    });
    assert_eq!(outcome.messages().len(), 1, "{}", outcome.text());
    assert!(outcome.messages()[0].contains("the other was first"), "{}", outcome.text());
}

/// A thread takes a reference to the content of a slot, which another may have dropped the last one of in the meantime.
#[test]
fn references_to_what_may_be_gone() {
    let takes: [unsafe fn(*const AtomicUsize) -> Arc<AtomicUsize>; 2] = [
        |content| {
            // SAFETY: a mistake: the content may be gone.
            unsafe {
                Arc::increment_strong_count(content);
                Arc::from_raw(content)
            }
        },
        |content| {
            // SAFETY: as above.
            let shared = std::mem::ManuallyDrop::new(unsafe { Arc::from_raw(content) });
            Arc::clone(&shared)
        },
    ];
    for (take, algorithm) in takes.into_iter().flat_map(|take| EXPLORERS.map(|by| (take, by))) {
        let outcome = Builder::new().algorithm(algorithm).explore(move || {
            let content = |value| Arc::into_raw(Arc::new(AtomicUsize::new(value))).cast_mut();
            let slot = Arc::new(AtomicPtr::new(content(1)));
            let other = Arc::clone(&slot);
            let reader = thread::spawn(move || {
                // SAFETY: as above.
                unsafe { take(other.load(SeqCst)) }.load(SeqCst);
            });
            // SAFETY: the slot's own reference.
            drop(unsafe { Arc::from_raw(slot.swap(content(2), SeqCst)) });
            reader.join().unwrap();
            // SAFETY: as above.
            drop(unsafe { Arc::from_raw(slot.load(SeqCst)) });
        });
        let kinds = outcome.kinds();
        assert_eq!(kinds, [ViolationKind::UseAfterFree], "{algorithm:?}: {}", outcome.text());
    }
}

fn is_searched_twice(outcome: &Outcome) -> bool {
    outcome.json().contains("freed memory")
}

/// What is borrowed, counted or given away is not freed under another thread: one search suffices.
#[test]
fn ordinary_sharing_takes_one_search() {
    let outcome = Builder::new().explore(|| {
        let numbers = vec![1, 2, 3];
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(numbers.len(), 3));
            scope.spawn(|| assert_eq!(numbers[1], 2));
        });
        drop(numbers);
        let shared = Arc::new(Mutex::new(vec![1]));
        let other = Arc::clone(&shared);
        let (boxed, (sender, receiver)) = (Box::new(7), mpsc::channel::<Vec<u32>>());
        let thread = thread::spawn(move || {
            other.lock().unwrap().push(*boxed);
            sender.send(vec![4]).unwrap();
        });
        shared.lock().unwrap().push(2);
        assert_eq!(receiver.recv().unwrap(), [4]);
        drop(shared);
        thread.join().unwrap();
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(!is_searched_twice(&outcome), "{}", outcome.text());
}

/// Numbers that look like addresses may lie between blocks.
#[test]
fn numbers_near_a_block() {
    let outcome = Builder::new().guard_freed(true).explore(|| {
        for distance in (0..=8192).step_by(512) {
            let block = Box::new([1_u64; 4]);
            let near =
                [&raw const *block as usize - distance, &raw const *block as usize + distance];
            thread::spawn(move || assert_ne!(near, [0; 2])).join().unwrap();
        }
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
}
