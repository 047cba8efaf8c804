//! Futures: tasks are threads that poll, and wait until they are woken.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::common::outcomes;
use selvedge::future::{AtomicWaker, block_on, spawn};
use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::{Algorithm, Builder, check, thread};

#[test]
fn futures_are_woken() {
    check(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicBool::new(false)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            other.1.store(true, SeqCst);
            other.0.wake();
        });
        block_on(poll_fn(|context| {
            shared.0.register_by_ref(context.waker());
            match shared.1.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        }));
        thread.join().unwrap();
    });
    check(|| {
        let task = spawn(async { 7 });
        assert_eq!(block_on(task), Ok(7));
    });
    let (found, _) = outcomes(|| {
        let task = spawn(std::future::ready(7));
        task.abort();
        block_on(task).ok()
    });
    assert_eq!(found, BTreeSet::from([None, Some(7)]));
}

/// A task that waits, one that wakes it, and a main thread that loses patience.
#[test]
fn tasks_in_every_order() {
    let run = || {
        let shared = std::sync::Arc::new((AtomicWaker::new(), AtomicUsize::new(0)));
        let (seen, set) = (std::sync::Arc::clone(&shared), std::sync::Arc::clone(&shared));
        let waits = spawn(poll_fn(move |context| {
            seen.0.register_by_ref(context.waker());
            match seen.1.load(SeqCst) {
                0 => Poll::Pending,
                found => Poll::Ready(found),
            }
        }));
        let wakes = spawn(async move {
            set.1.store(1, SeqCst);
            set.0.wake();
        });
        let finished = waits.is_finished();
        waits.abort();
        let result = block_on(waits).ok();
        block_on(wakes).unwrap();
        (finished, result)
    };
    // Too many interleavings for brute force; sleep sets alone do not look for races.
    let (found, _) = outcomes(run);
    let seen = Rc::new(RefCell::new(BTreeSet::new()));
    let all = Rc::clone(&seen);
    let sleep = Builder::new().algorithm(Algorithm::Sleep);
    sleep.check(move || _ = all.borrow_mut().insert(run()));
    assert_eq!(found, *seen.borrow());
    assert_eq!(found, BTreeSet::from([(false, None), (false, Some(1)), (true, Some(1))]));
}
