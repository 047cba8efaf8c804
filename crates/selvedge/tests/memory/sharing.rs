//! The ways in which threads come to know a node that one of them frees too early, or not.

use super::plain::{EXPLORERS, Node};
use super::*;

/// A raw pointer that a thread is handed.
#[derive(Clone, Copy)]
struct Handed(*mut Node);
// SAFETY: whether it is used rightly is what is checked.
unsafe impl Send for Handed {}
// SAFETY: as above.
unsafe impl Sync for Handed {}

impl Handed {
    fn new() -> Self {
        Self(Box::into_raw(Box::new(Node { value: 3, next: ptr::null_mut() })))
    }

    fn value(self) -> usize {
        // SAFETY: as above.
        unsafe { (&raw const (*self.0).value).read_volatile() }
    }

    fn free(self) {
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// How a thread comes to know a node that another frees, and whether that one waits for its end first.
type Sharing = fn(bool);

fn through_a_closure(waits: bool) {
    let node = Handed::new();
    free_and_join(thread::spawn(move || _ = node.value()), node, waits);
}

/// The new thread frees it, or the one that started it.
fn freed_by_the_other(waits: bool) {
    let node = Handed::new();
    let freer = thread::spawn(move || node.free());
    if !waits {
        node.value();
    }
    freer.join().unwrap();
}

fn sent_and_kept(waits: bool) {
    let (sender, receiver) = mpsc::channel::<Handed>();
    let freer = thread::spawn(move || receiver.recv().unwrap().free());
    let node = Handed::new();
    sender.send(node).unwrap();
    if !waits {
        node.value();
    }
    freer.join().unwrap();
}

fn through_a_channel(waits: bool) {
    let (sender, receiver) = mpsc::channel::<Handed>();
    let reader = thread::spawn(move || _ = receiver.recv().unwrap().value());
    let node = Handed::new();
    sender.send(node).unwrap();
    free_and_join(reader, node, waits);
}

fn through_a_bounded_channel(waits: bool) {
    let (sender, receiver) = mpsc::sync_channel::<Handed>(1);
    let reader = thread::spawn(move || _ = receiver.recv().unwrap().value());
    let node = Handed::new();
    sender.send(node).unwrap();
    free_and_join(reader, node, waits);
}

/// Two atomics have the address: no step of one thread depends on one of the other, but for the free.
fn through_two_atomics(waits: bool) {
    let node = Handed::new();
    let shared = Arc::new([AtomicPtr::new(node.0), AtomicPtr::new(node.0)]);
    let other = Arc::clone(&shared);
    let reader = thread::spawn(move || _ = Handed(other[0].load(SeqCst)).value());
    free_and_join(reader, Handed(shared[1].load(SeqCst)), waits);
}

/// The thread that made the atomic keeps the address.
fn kept_by_its_owner(waits: bool) {
    let node = Handed::new();
    let shared = Arc::new(AtomicPtr::new(node.0));
    let other = Arc::clone(&shared);
    let freer = thread::spawn(move || Handed(other.swap(ptr::null_mut(), SeqCst)).free());
    if !waits {
        node.value();
    }
    freer.join().unwrap();
}

/// The address is stored, and the node freed, in one step.
fn freed_once_it_is_stored(waits: bool) {
    let shared = Arc::new(AtomicPtr::new(ptr::null_mut()));
    let other = Arc::clone(&shared);
    let freer = thread::spawn(move || {
        let node = Handed::new();
        other.store(node.0, SeqCst);
        node.free();
    });
    let node = Handed(shared.load(SeqCst));
    if !waits && !node.0.is_null() {
        node.value();
    }
    freer.join().unwrap();
}

/// A vector moves to a larger block.
fn moved_by_its_owner(waits: bool) {
    let mut numbers: Vec<u64> = vec![1; 4];
    let shared = Arc::new(AtomicPtr::new(numbers.as_mut_ptr()));
    let other = Arc::clone(&shared);
    let reader = thread::spawn(move || {
        // SAFETY: a mistake: the vector may have moved.
        unsafe { other.load(SeqCst).read_volatile() };
    });
    if waits {
        reader.join().unwrap();
        numbers.reserve(1000);
    } else {
        numbers.reserve(1000);
        shared.store(numbers.as_mut_ptr(), SeqCst);
        reader.join().unwrap();
    }
}

/// The address is what a lock guards.
fn through_a_lock(waits: bool) {
    let shared = Arc::new(Mutex::new(Handed::new()));
    let other = Arc::clone(&shared);
    let reader = thread::spawn(move || {
        let node = *other.lock().unwrap();
        node.value();
    });
    let node = *shared.lock().unwrap();
    free_and_join(reader, node, waits);
}

/// Who puts it there keeps it.
fn put_into_a_lock(waits: bool) {
    let shared = Arc::new(RwLock::new(Handed(ptr::null_mut())));
    let other = Arc::clone(&shared);
    let node = Handed::new();
    let freer = thread::spawn(move || {
        let node = *other.read().unwrap();
        if !node.0.is_null() {
            node.free();
        }
    });
    *shared.write().unwrap() = node;
    if !waits {
        node.value();
    }
    freer.join().unwrap();
}

/// A value that is written once.
fn through_a_cell(waits: bool) {
    let shared = Arc::new(OnceLock::new());
    let other = Arc::clone(&shared);
    let reader = thread::spawn(move || _ = other.get().copied().map(Handed::value));
    let node = *shared.get_or_init(Handed::new);
    free_and_join(reader, node, waits);
}

fn free_and_join(reader: thread::JoinHandle<()>, node: Handed, waits: bool) {
    if waits {
        reader.join().unwrap();
        node.free();
    } else {
        node.free();
        reader.join().unwrap();
    }
}

const SHARINGS: [Sharing; 12] = [
    through_a_lock,
    put_into_a_lock,
    through_a_cell,
    kept_by_its_owner,
    freed_once_it_is_stored,
    moved_by_its_owner,
    through_a_closure,
    freed_by_the_other,
    through_a_channel,
    through_a_bounded_channel,
    sent_and_kept,
    through_two_atomics,
];

/// The thread that frees the node may be the first to run, or the last, in the only execution of a class.
#[test]
fn nodes_that_are_freed_too_early_however_they_are_shared() {
    for (share, algorithm) in SHARINGS.into_iter().flat_map(|it| EXPLORERS.map(|by| (it, by))) {
        let outcome = Builder::new().algorithm(algorithm).explore(move || share(false));
        let kinds = outcome.kinds();
        assert_eq!(kinds, [ViolationKind::UseAfterFree], "{algorithm:?}: {}", outcome.text());
        let outcome = Builder::new().algorithm(algorithm).explore(move || share(true));
        assert_eq!(outcome.verdict(), Verdict::Verified, "{algorithm:?}: {}", outcome.text());
    }
}
