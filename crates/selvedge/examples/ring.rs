//! A queue for one producer and one consumer, without locks: first broken, then mended.
//!
//! `cargo run --example ring` shows the report for the broken one.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use selvedge::cell::UnsafeCell;
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::{Acquire, Release};
use selvedge::{Builder, Outcome, thread};

const SLOTS: usize = 2;

/// When the producer tells the consumer about a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Publish {
    /// Before it has written it: the mistake.
    Early,
    /// After.
    Late,
}

struct Ring {
    slots: [UnsafeCell<u32>; SLOTS],
    /// How many were taken out.
    head: AtomicUsize,
    /// How many were put in.
    tail: AtomicUsize,
    publish: Publish,
}

// SAFETY: a slot is written by the producer before `tail` covers it, and read by the consumer after.
// (Not so with `Publish::Early`: that is what the check finds.)
unsafe impl Sync for Ring {}

impl Ring {
    fn new(publish: Publish) -> Self {
        Self {
            slots: [const { UnsafeCell::new(0) }; SLOTS],
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(0),
            publish,
        }
    }

    fn push(&self, value: u32) -> bool {
        let tail = self.tail.load(Acquire);
        if tail - self.head.load(Acquire) == SLOTS {
            return false;
        }
        if self.publish == Publish::Early {
            self.tail.store(tail + 1, Release);
        }
        // SAFETY: see above.
        self.slots[tail % SLOTS].with_mut(|slot| unsafe { *slot = value });
        if self.publish == Publish::Late {
            self.tail.store(tail + 1, Release);
        }
        true
    }

    fn pop(&self) -> Option<u32> {
        let head = self.head.load(Acquire);
        if head == self.tail.load(Acquire) {
            return None;
        }
        // SAFETY: see above.
        let value = self.slots[head % SLOTS].with(|slot| unsafe { *slot });
        self.head.store(head + 1, Release);
        Some(value)
    }
}

#[track_caller]
fn explore(publish: Publish) -> Outcome {
    Builder::new().explore(move || {
        let ring = Arc::new(Ring::new(publish));
        let producer = {
            let ring = Arc::clone(&ring);
            thread::spawn(move || (1..=3).filter(|&value| ring.push(value)).collect::<Vec<_>>())
        };
        let mut taken: Vec<u32> = (0..3).filter_map(|_| ring.pop()).collect();
        let put = producer.join().unwrap();
        while let Some(value) = ring.pop() {
            taken.push(value);
        }
        assert_eq!(taken, put, "what goes in comes out, in the same order");
    })
}

fn main() {
    println!("{}", explore(Publish::Early).text());
    println!("mended:\n{}", explore(Publish::Late).text());
}

#[test]
fn the_mistake_is_found_and_the_remedy_holds() {
    let broken = explore(Publish::Early);
    assert_eq!(broken.verdict(), selvedge::Verdict::Violated);
    assert!(broken.text().contains("in the same order"), "{}", broken.text());
    assert_eq!(explore(Publish::Late).verdict(), selvedge::Verdict::Verified);
}
