//! Spin loops under memory models: which of their turns are explored, and which wait for another value.

use selvedge::hint::spin_loop;
use selvedge::sync::Arc;
use selvedge::sync::atomic::AtomicU32;
use selvedge::sync::atomic::Ordering::{Acquire, Release};
use selvedge::{Builder, Memory, Verdict, thread};

/// A loop in a loop, and one that leaves a turn after it has seen the value: turns of the same loop that found something else wait.
#[test]
fn turns_that_leave_the_loop_beside_turns_that_wait() {
    fn nested() {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        let other = Arc::clone(&shared);
        let waiter = thread::spawn(move || {
            loop {
                let seen = other.0.load(Acquire);
                while other.1.load(Acquire) == 0 {
                    spin_loop();
                }
                if seen == 1 {
                    break;
                }
                spin_loop();
            }
        });
        shared.1.store(1, Release);
        shared.0.store(1, Release);
        waiter.join().unwrap();
    }
    fn one_turn_later() {
        let shared = Arc::new(AtomicU32::new(0));
        let other = Arc::clone(&shared);
        let waiter = thread::spawn(move || {
            let mut seen = 0;
            while seen == 0 {
                seen = other.load(Acquire);
                spin_loop();
            }
        });
        shared.store(1, Release);
        waiter.join().unwrap();
    }
    for &memory in Memory::ALL {
        for (code, most) in [(nested as fn(), 12), (one_turn_later, 3)] {
            let builder = Builder::new().memory(memory).max_executions(1_000);
            let outcome = builder.explore(code);
            assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
            let executions = outcome.report().counts.complete;
            assert!(executions <= most, "{executions}: {}", outcome.text());
        }
    }
}
