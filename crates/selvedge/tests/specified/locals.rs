//! Thread-local values: each thread has its own, and what its destructor does are steps of the thread,
//! after its code. As in `std`, `join` waits for them; `is_finished` and the end of a scope do not.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::common::model::compare;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::thread;

/// Writes twice when it is dropped.
struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(1, SeqCst);
        self.0.store(2, SeqCst);
    }
}

selvedge::thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
    static LAST: RefCell<Option<OnDrop>> = const { RefCell::new(None) };
}

#[test]
fn every_thread_has_its_own() {
    let model = "
        shared atomic x = 0;
        proc count(me: int) {
            let mine = 0;
            for i in 0..2 { let v = fetch_add(x, 1); mine += v; }
            if me == 0 { r0 = mine; } else { r1 = mine; }
        }
        thread a { count(0); }
        thread b { count(1); }
    ";
    fn count(x: &AtomicUsize) -> usize {
        for _ in 0..2 {
            let seen = x.fetch_add(1, SeqCst);
            COUNT.set(COUNT.get() + seen);
        }
        COUNT.get()
    }
    compare(model, 6, || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let other = thread::spawn(move || count(&y));
        let mine = count(&x);
        vec![mine, other.join().unwrap()]
    });
}

#[test]
fn destructors_run_behind_the_code() {
    let model = "
        shared atomic x = 0;
        shared atomic done = 0;
        shared atomic ended = 0;
        thread main {
            let d = done; let v = x; await ended == 1; let w = x;
            r0 = d * 4 + v; r1 = w;
        }
        thread other { done = 1; x = 1; x = 2; ended = 1; }
        thread third { x = 3; }
    ";
    compare(model, 8, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, z) = (Arc::clone(&x), Arc::clone(&x));
        let other = thread::spawn(move || LAST.set(Some(OnDrop(y))));
        let third = thread::spawn(move || z.store(3, SeqCst));
        let finished = other.is_finished();
        let seen = x.load(SeqCst);
        other.join().unwrap();
        let last = x.load(SeqCst);
        third.join().unwrap();
        vec![usize::from(finished) * 4 + seen, last]
    });
}

#[test]
fn scopes_do_not_wait_for_destructors() {
    let model = "
        shared atomic x = 0;
        shared atomic done = 0;
        thread main { await done == 1; let v = x; let w = x; r0 = v; r1 = w; }
        thread other { x = 3; done = 1; x = 1; x = 2; }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        thread::scope(|scope| {
            let y = Arc::clone(&x);
            scope.spawn(move || {
                y.store(3, SeqCst);
                LAST.set(Some(OnDrop(y)));
            });
        });
        vec![x.load(SeqCst), x.load(SeqCst)]
    });
    let model = "
        shared atomic x = 0;
        thread main { let v = x; join other; let w = x; r0 = v; r1 = w; }
        thread other { x = 3; x = 1; x = 2; }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let seen = thread::scope(|scope| {
            let y = Arc::clone(&x);
            let other = scope.spawn(move || {
                y.store(3, SeqCst);
                LAST.set(Some(OnDrop(y)));
            });
            let seen = x.load(SeqCst);
            other.join().unwrap();
            seen
        });
        vec![seen, x.load(SeqCst)]
    });
}
