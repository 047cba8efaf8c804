//! A channel for one value: a thread parks until the value is there.
//!
//! `cargo run --example oneshot` shows the report for a version that sleeps through the wake-up.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use selvedge::cell::UnsafeCell;
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicBool;
use selvedge::sync::atomic::Ordering::{Acquire, Release};
use selvedge::thread::Thread;
use selvedge::{Builder, Outcome, thread};

struct OneShot {
    value: UnsafeCell<Option<u32>>,
    ready: AtomicBool,
    receiver: Thread,
}

// SAFETY: the value is written before `ready` is set, and read after it was seen.
unsafe impl Sync for OneShot {}
// SAFETY: it owns nothing that belongs to a thread.
unsafe impl Send for OneShot {}

impl OneShot {
    fn new() -> Self {
        Self {
            value: UnsafeCell::new(None),
            ready: AtomicBool::new(false),
            receiver: thread::current(),
        }
    }

    /// `order`: whether the receiver is woken after the value is announced, or (wrongly) before.
    fn send(&self, value: u32, order: Order) {
        // SAFETY: see above.
        self.value.with_mut(|slot| unsafe { *slot = Some(value) });
        if order == Order::WakeFirst {
            self.receiver.unpark();
        }
        self.ready.store(true, Release);
        if order == Order::AnnounceFirst {
            self.receiver.unpark();
        }
    }

    fn receive(&self) -> Option<u32> {
        while !self.ready.load(Acquire) {
            thread::park();
        }
        // SAFETY: see above.
        self.value.with_mut(|slot| unsafe { (*slot).take() })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    WakeFirst,
    AnnounceFirst,
}

#[track_caller]
fn explore(order: Order) -> Outcome {
    Builder::new().explore(move || {
        let channel = Arc::new(OneShot::new());
        let sender = {
            let channel = Arc::clone(&channel);
            thread::spawn(move || channel.send(7, order))
        };
        assert_eq!(channel.receive(), Some(7));
        sender.join().unwrap();
    })
}

fn main() {
    println!("{}", explore(Order::WakeFirst).text());
    println!("mended:\n{}", explore(Order::AnnounceFirst).text());
}

#[test]
fn the_lost_wake_up_is_found_and_the_remedy_holds() {
    let broken = explore(Order::WakeFirst);
    assert!(broken.text().contains("deadlock"), "{}", broken.text());
    assert_eq!(explore(Order::AnnounceFirst).verdict(), selvedge::Verdict::Verified);
}
