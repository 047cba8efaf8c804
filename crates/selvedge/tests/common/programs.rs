// The programs that other tools were measured on. They use only what those have, too: benchmarks include
// this file once for each library.

use std::sync::Arc;

use super::library::sync::atomic::Ordering::SeqCst;
use super::library::sync::atomic::{AtomicPtr, AtomicUsize};
use super::library::sync::{Condvar, Mutex, RwLock, mpsc};
use super::library::thread;

/// `n` threads, main among them, store to one variable.
pub fn stores(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (1..n)
        .map(|i| {
            let x = Arc::clone(&x);
            thread::spawn(move || x.store(i, SeqCst))
        })
        .collect();
    x.store(n, SeqCst);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Main writes what `n` others read.
pub fn readers(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..n)
        .map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || x.load(SeqCst))
        })
        .collect();
    x.store(1, SeqCst);
    threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
}

/// Thread i copies element i - 1 plus one; main looks for the last zero.
pub fn lastzero(n: usize) {
    let array: Arc<Vec<AtomicUsize>> = Arc::new((0..=n).map(|_| AtomicUsize::new(0)).collect());
    let threads: Vec<_> = (1..=n)
        .map(|i| {
            let array = Arc::clone(&array);
            thread::spawn(move || {
                let before = array[i - 1].load(SeqCst);
                array[i].store(before + 1, SeqCst);
            })
        })
        .collect();
    let mut i = n;
    while array[i].load(SeqCst) != 0 {
        i -= 1;
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// `n` threads, main among them, count under a mutex.
pub fn mutex_counter(n: usize) {
    let count = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (1..n)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || *count.lock().unwrap() += 1)
        })
        .collect();
    *count.lock().unwrap() += 1;
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Two threads write and read one variable `n` times.
pub fn rounds(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let y = Arc::clone(&x);
    let round = move |x: &AtomicUsize, me: usize| {
        for i in 0..n {
            x.store(me * 100 + i, SeqCst);
            x.load(SeqCst);
        }
    };
    let other = thread::spawn(move || round(&y, 1));
    round(&x, 2);
    other.join().unwrap();
}

/// `n` threads, main among them, add.
pub fn fetch_add(n: usize) {
    let x = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (1..n)
        .map(|_| {
            let x = Arc::clone(&x);
            thread::spawn(move || x.fetch_add(1, SeqCst))
        })
        .collect();
    x.fetch_add(1, SeqCst);
    threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
}

/// Two producers send `n` messages each; main takes them all.
pub fn producers(n: usize) {
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..2)
        .map(|i| {
            let sender = sender.clone();
            thread::spawn(move || {
                for message in 0..n {
                    sender.send(i * 100 + message).unwrap();
                }
            })
        })
        .collect();
    for _ in 0..2 * n {
        receiver.recv().unwrap();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

struct Node {
    value: usize,
    next: *mut Node,
}

/// A stack without locks.
pub struct Treiber {
    head: AtomicPtr<Node>,
}

// SAFETY: nodes are reached through an atomic, and never freed.
unsafe impl Send for Treiber {}
// SAFETY: as above.
unsafe impl Sync for Treiber {}

impl Treiber {
    pub fn new() -> Self {
        Self { head: AtomicPtr::new(std::ptr::null_mut()) }
    }

    pub fn push(&self, value: usize) {
        let node = Box::into_raw(Box::new(Node { value, next: std::ptr::null_mut() }));
        let mut head = self.head.load(SeqCst);
        loop {
            // SAFETY: no other thread knows the node yet.
            unsafe { (*node).next = head };
            match self.head.compare_exchange(head, node, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    /// Nodes that are taken out are not freed: another thread may look at them.
    pub fn pop(&self) -> Option<usize> {
        let mut head = self.head.load(SeqCst);
        while !head.is_null() {
            // SAFETY: nodes are never freed, and never changed once they are in the stack.
            let next = unsafe { (*head).next };
            match self.head.compare_exchange(head, next, SeqCst, SeqCst) {
                // SAFETY: as above.
                Ok(_) => return Some(unsafe { (*head).value }),
                Err(found) => head = found,
            }
        }
        None
    }
}

/// `n` threads, main among them, push and pop once.
pub fn treiber(n: usize) {
    let stack = Arc::new(Treiber::new());
    let threads: Vec<_> = (1..n)
        .map(|i| {
            let stack = Arc::clone(&stack);
            thread::spawn(move || {
                stack.push(i);
                stack.pop()
            })
        })
        .collect();
    stack.push(n);
    stack.pop();
    threads.into_iter().for_each(|thread| _ = thread.join().unwrap());
}

/// A ring for one producer and one consumer, with atomic slots.
pub struct Ring {
    slots: [AtomicUsize; 2],
    head: AtomicUsize,
    tail: AtomicUsize,
}

impl Ring {
    pub fn new() -> Self {
        Self {
            slots: [AtomicUsize::new(0), AtomicUsize::new(0)],
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
        }
    }

    pub fn try_push(&self, value: usize) -> bool {
        let tail = self.tail.load(SeqCst);
        if tail - self.head.load(SeqCst) == self.slots.len() {
            return false;
        }
        self.slots[tail % 2].store(value, SeqCst);
        self.tail.store(tail + 1, SeqCst);
        true
    }

    pub fn try_pop(&self) -> Option<usize> {
        let head = self.head.load(SeqCst);
        if head == self.tail.load(SeqCst) {
            return None;
        }
        let value = self.slots[head % 2].load(SeqCst);
        self.head.store(head + 1, SeqCst);
        Some(value)
    }
}

/// One thread tries `n` times to push, main as often to pop.
pub fn ring(n: usize) {
    let ring = Arc::new(Ring::new());
    let producer = {
        let ring = Arc::clone(&ring);
        thread::spawn(move || (1..=n).for_each(|value| _ = ring.try_push(value)))
    };
    (0..n).for_each(|_| _ = ring.try_pop());
    producer.join().unwrap();
}

/// A bounded buffer guarded by a reader-writer lock and a condition, `n` items, two threads.
pub fn buffer(n: usize) {
    struct Buffer {
        items: RwLock<Vec<usize>>,
        gate: Mutex<usize>,
        changed: Condvar,
    }
    let buffer = Arc::new(Buffer {
        items: RwLock::new(Vec::new()),
        gate: Mutex::new(0),
        changed: Condvar::new(),
    });
    let producer = {
        let buffer = Arc::clone(&buffer);
        thread::spawn(move || {
            for item in 0..n {
                buffer.items.write().unwrap().push(item);
                *buffer.gate.lock().unwrap() += 1;
                buffer.changed.notify_one();
            }
        })
    };
    for item in 0..n {
        let mut ready = buffer.gate.lock().unwrap();
        while *ready == 0 {
            ready = buffer.changed.wait(ready).unwrap();
        }
        *ready -= 1;
        drop(ready);
        assert!(buffer.items.read().unwrap().contains(&item));
    }
    producer.join().unwrap();
}
