//! Futures: what a task sees when it is polled, woken, awaited and aborted.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use crate::common::model::{compare, compare_with_deadlock};
use selvedge::future::{AtomicWaker, JoinHandle, block_on, spawn};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::thread;

type Shared = Arc<(AtomicWaker, AtomicUsize)>;

fn shared() -> Shared {
    Arc::new((AtomicWaker::new(), AtomicUsize::new(0)))
}

/// How the future was polled: so often, and what it saw at last.
async fn until_set(shared: Shared, registers_first: bool) -> usize {
    let mut polls = 0;
    let (waker, x) = &*shared;
    let seen = poll_fn(|context| {
        polls += 1;
        if registers_first {
            waker.register_by_ref(context.waker());
        }
        match x.load(SeqCst) {
            0 => {
                if !registers_first {
                    waker.register_by_ref(context.waker());
                }
                Poll::Pending
            }
            seen => Poll::Ready(seen),
        }
    });
    let seen = seen.await;
    seen * 4 + polls
}

/// `registered`: whether a waker is, `token`: whether it was used.
fn waking(poll: &str) -> String {
    format!(
        "shared atomic x = 0;
        shared atomic registered = 0;
        shared atomic token = 0;
        proc wake() {{
            let was = exchange(registered, 0);
            if was == 1 {{ token = 1; }}
        }}
        thread task {{
            let polls = 0;
            let seen = 0;
            while seen == 0 {{
                if polls > 0 {{ atomic {{ await token == 1; token = 0; }} }}
                polls += 1;
                {poll}
            }}
            r0 = seen * 4 + polls;
        }}
        thread one {{ x = 1; wake(); }}
        thread other {{ x = 2; wake(); }}"
    )
}

fn woken_by_two(registers_first: bool) -> Vec<usize> {
    let shared = shared();
    let threads = [1, 2].map(|value| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || {
            shared.1.store(value, SeqCst);
            shared.0.wake();
        })
    });
    let seen = block_on(until_set(shared, registers_first));
    _ = threads.map(|thread| thread.join().unwrap());
    vec![seen]
}

#[test]
fn who_is_woken_is_polled_again() {
    let model = waking("registered = 1; seen = x;");
    compare(&model, 16, || woken_by_two(true));
}

/// Who looks first and registers then may never be woken.
#[test]
fn a_waker_that_is_registered_too_late() {
    let model = waking("seen = x; if seen == 0 { registered = 1; }");
    compare_with_deadlock(&model, 16, || woken_by_two(false));
}

#[test]
fn tasks() {
    let model = "
        shared atomic x = 0;
        shared atomic ended = 0;
        thread main { let e = ended; let v = x; r0 = e * 3 + v; await ended == 1; let w = x; r1 = w; }
        thread task { let v = fetch_add(x, 1); r2 = v; ended = 1; }
        thread other { x = 1; }
    ";
    compare(model, 6, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, z) = (Arc::clone(&x), Arc::clone(&x));
        let task = spawn(async move { y.fetch_add(1, SeqCst) });
        let other = thread::spawn(move || z.store(1, SeqCst));
        let first = usize::from(task.is_finished()) * 3 + x.load(SeqCst);
        let third = block_on(task).unwrap();
        let second = x.load(SeqCst);
        other.join().unwrap();
        vec![first, second, third]
    });
}

/// How a task ended: 0 cancelled, 1 panicked, else with its result.
fn ended(task: JoinHandle<usize>) -> usize {
    match block_on(task) {
        Ok(result) => result,
        Err(error) => usize::from(error.is_panic()),
    }
}

/// It is aborted before its next poll, or it comes to its end, one way or another.
#[test]
fn tasks_that_are_aborted_or_panic() {
    let model = "
        shared atomic x = 0;
        shared atomic aborted = 0;
        shared atomic ended = 0;
        thread main { aborted = 1; await ended == 1; let w = x; r1 = w; }
        thread task {
            let a = aborted;
            if a == 0 { let v = fetch_add(x, 1); r0 = if v == 0 { 1 } else { 2 }; }
            ended = 1;
        }
        thread other { let v = fetch_add(x, 1); r2 = v; }
    ";
    compare(model, 3, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, z) = (Arc::clone(&x), Arc::clone(&x));
        let task = spawn(async move {
            assert_ne!(y.fetch_add(1, SeqCst), 0, "too early");
            2
        });
        let other = thread::spawn(move || z.fetch_add(1, SeqCst));
        task.abort();
        let first = ended(task);
        let second = x.load(SeqCst);
        vec![first, second, other.join().unwrap()]
    });
}

/// Who comes last drops the result: the task, or the owner of its handle.
#[test]
fn a_result_that_nobody_wants() {
    struct Unwanted(Arc<AtomicUsize>);
    impl Drop for Unwanted {
        fn drop(&mut self) {
            let is_main = thread::current().name() == Some("main");
            self.0.store(if is_main { 1 } else { 2 }, SeqCst);
        }
    }
    let model = "
        shared atomic x = 0;
        shared atomic left = 0;
        thread main {
            let v = x;
            let mine = false;
            atomic { if left == 1 { mine = true; } else { left = 2; } }
            if mine { x = 1; }
            let w = x;
            r0 = v; r1 = w;
        }
        thread task {
            x = 3;
            let mine = false;
            atomic { if left == 2 { mine = true; } else { left = 1; } }
            if mine { x = 2; }
        }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let task = spawn(async move {
            y.store(3, SeqCst);
            Unwanted(y)
        });
        let before = x.load(SeqCst);
        drop(task);
        vec![before, x.load(SeqCst)]
    });
}
