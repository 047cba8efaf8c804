//! Threads: their ends, parking, scopes, and what only lets others run.

use std::sync::Arc;
use std::time::Duration;

use crate::common::model::{compare, compare_with_deadlock, together};
use selvedge::sync::Mutex;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::thread;

#[test]
fn ends() {
    let model = "
        shared atomic x = 0;
        shared atomic done = 0;
        thread looks { let d = done; let v = x; await done == 1; let w = x; r0 = d * 2 + v; r1 = w; }
        thread other { x = 1; done = 1; }
        thread third { x = 2; }
    ";
    compare(model, 5, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, z) = (Arc::clone(&x), Arc::clone(&x));
        let other = thread::spawn(move || y.store(1, SeqCst));
        let third = thread::spawn(move || z.store(2, SeqCst));
        let finished = other.is_finished();
        let seen = x.load(SeqCst);
        other.join().unwrap();
        let last = x.load(SeqCst);
        third.join().unwrap();
        vec![usize::from(finished) * 2 + seen, last]
    });
}

/// A panic unwinds step by step; then the thread has ended, and `join` says how.
#[test]
fn a_thread_that_panics() {
    struct OnDrop(Arc<AtomicUsize>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(1, SeqCst);
            self.0.store(2, SeqCst);
        }
    }
    let model = "
        shared atomic x = 0;
        shared atomic done = 0;
        thread looks {
            let d = done; let v = x; await done == 1; let w = x;
            r0 = d * 4 + v; r1 = w; r2 = 1;
        }
        thread panics { x = 1; x = 2; done = 1; }
        thread other { x = 3; }
    ";
    compare(model, 8, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, z) = (Arc::clone(&x), Arc::clone(&x));
        let panics = thread::spawn(move || {
            let _last = OnDrop(y);
            panic!("out of luck");
        });
        let other = thread::spawn(move || z.store(3, SeqCst));
        let finished = panics.is_finished();
        let seen = x.load(SeqCst);
        let panicked = panics.join().is_err();
        let last = x.load(SeqCst);
        other.join().unwrap();
        vec![usize::from(finished) * 4 + seen, last, usize::from(panicked)]
    });
}

/// A result that tells who dropped it: 1 for main, 2 for another thread.
struct Unwanted(Arc<AtomicUsize>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        let is_main = thread::current().name() == Some("main");
        self.0.store(if is_main { 1 } else { 2 }, SeqCst);
    }
}

/// Writes before it leaves its result.
fn writes_first(x: Arc<AtomicUsize>) -> Unwanted {
    x.store(3, SeqCst);
    Unwanted(x)
}

/// Who comes last drops the result: the thread, or the owner of its handle.
#[test]
fn a_result_that_nobody_wants() {
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
        thread other {
            x = 3;
            let mine = false;
            atomic { if left == 2 { mine = true; } else { left = 1; } }
            if mine { x = 2; }
        }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let other = thread::spawn(move || writes_first(y));
        let before = x.load(SeqCst);
        drop(other);
        vec![before, x.load(SeqCst)]
    });
}

/// The end of a scope comes after the results of its threads are dropped.
#[test]
fn a_result_that_nobody_wants_in_a_scope() {
    let model = "
        shared atomic x = 0;
        shared atomic left = 0;
        shared atomic done = 0;
        thread main {
            let mine = false;
            atomic { if left == 1 { mine = true; } else { left = 2; } }
            if mine { x = 1; }
            await done == 1;
            let w = x;
            r0 = w;
        }
        thread other {
            x = 3;
            let mine = false;
            atomic { if left == 2 { mine = true; } else { left = 1; } }
            if mine { x = 2; }
            done = 1;
        }
        thread third { let v = x; r1 = v; }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let seen = thread::scope(|scope| {
            let third = scope.spawn(|| x.load(SeqCst));
            let y = Arc::clone(&x);
            drop(scope.spawn(move || writes_first(y)));
            third.join().unwrap()
        });
        vec![x.load(SeqCst), seen]
    });
}

#[test]
fn scopes() {
    let model = "
        shared atomic x = 0;
        thread main { let v = x; join a; join b; let w = x; r0 = v; r1 = w; }
        thread a { let v = fetch_add(x, 1); r2 = v; }
        thread b { x = 2; }
    ";
    compare(model, 4, || {
        let x = AtomicUsize::new(0);
        let (first, second) = thread::scope(|scope| {
            let a = scope.spawn(|| x.fetch_add(1, SeqCst));
            scope.spawn(|| x.store(2, SeqCst));
            (x.load(SeqCst), a.join().unwrap())
        });
        vec![first, x.load(SeqCst), second]
    });
}

#[test]
fn parking() {
    let model = "
        shared atomic x = 0;
        shared atomic token = 0;
        thread parked { atomic { await token == 1; token = 0; } let v = x; r0 = v; }
        thread one { x = 1; token = 1; }
        thread other { x = 2; token = 1; x = 3; }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (main, y, z) = (thread::current(), Arc::clone(&x), Arc::clone(&x));
        let unparks = main.clone();
        let one = thread::spawn(move || {
            y.store(1, SeqCst);
            unparks.unpark();
        });
        let other = thread::spawn(move || {
            z.store(2, SeqCst);
            main.unpark();
            z.store(3, SeqCst);
        });
        thread::park();
        let seen = x.load(SeqCst);
        _ = [one, other].map(|thread| thread.join().unwrap());
        vec![seen]
    });
}

/// Two tokens that come before one is taken are one.
#[test]
fn tokens_do_not_add_up() {
    let model = "
        shared atomic x = 0;
        shared atomic token = 0;
        thread parked {
            atomic { await token == 1; token = 0; } let v = x;
            atomic { await token == 1; token = 0; } let w = x;
            r0 = v; r1 = w;
        }
        thread one { x = 1; token = 1; }
        thread other { x = 2; token = 1; }
    ";
    compare_with_deadlock(model, 3, || {
        let x = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2].map(|value| {
            let (main, x) = (thread::current(), Arc::clone(&x));
            thread::spawn(move || {
                x.store(value, SeqCst);
                main.unpark();
            })
        });
        let seen = [(); 2].map(|()| {
            thread::park();
            x.load(SeqCst)
        });
        _ = threads.map(|thread| thread.join().unwrap());
        seen.to_vec()
    });
}

/// It takes the token if it is there; to wait for it is to come later.
#[test]
fn parking_for_a_time() {
    let model = "
        shared atomic x = 0;
        shared atomic token = 0;
        proc park_for_a_time() { atomic { if token == 1 { token = 0; } } }
        thread parked {
            park_for_a_time(); let v = x;
            park_for_a_time(); let w = x;
            atomic { await token == 1; token = 0; }
            r0 = v; r1 = w;
        }
        thread other { x = 1; token = 1; x = 2; token = 1; }
    ";
    compare_with_deadlock(model, 3, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (main, y) = (thread::current(), Arc::clone(&x));
        let other = thread::spawn(move || {
            for value in 1..3 {
                y.store(value, SeqCst);
                main.unpark();
            }
        });
        let seen = [(); 2].map(|()| {
            thread::park_timeout(Duration::from_secs(1));
            x.load(SeqCst)
        });
        thread::park();
        other.join().unwrap();
        seen.to_vec()
    });
}

/// To let others run changes nothing: neither what can be seen, nor what cannot.
#[test]
fn yielding_and_sleeping() {
    let model = "
        shared atomic x = 0;
        thread a { let v = x; let w = x; let u = x; r0 = v; r1 = w; r2 = u; }
        thread b { x = 1; x = 2; }
        thread c { let v = fetch_add(x, 1); r3 = v; }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (y, z) = (Arc::clone(&x), Arc::clone(&x));
        let b = thread::spawn(move || {
            y.store(1, SeqCst);
            thread::sleep(Duration::from_millis(1));
            y.store(2, SeqCst);
        });
        let c = thread::spawn(move || {
            thread::yield_now();
            z.fetch_add(1, SeqCst)
        });
        let mut seen = vec![x.load(SeqCst)];
        thread::yield_now();
        seen.push(x.load(SeqCst));
        thread::sleep(Duration::from_secs(1));
        seen.push(x.load(SeqCst));
        b.join().unwrap();
        seen.push(c.join().unwrap());
        seen
    });
}

#[test]
fn spin_loops() {
    let model = "
        shared atomic x = 0;
        thread a { await x != 0; let v = x; r0 = v; }
        thread b { x = 1; x = 2; }
    ";
    compare(model, 3, || {
        let look: fn(&AtomicUsize) -> usize = |x| {
            while x.load(SeqCst) == 0 {
                thread::yield_now();
            }
            x.load(SeqCst)
        };
        let write: fn(&AtomicUsize) -> usize = |x| {
            x.store(1, SeqCst);
            x.store(2, SeqCst);
            0
        };
        together(AtomicUsize::new(0), &[look, write])
    });
    let model = "
        mutex m;
        shared y = 0;
        thread a { atomic { await y != 0; } lock m; let v = y; unlock m; r0 = v; }
        thread b { lock m; y = 1; unlock m; lock m; y = 2; unlock m; }
    ";
    compare(model, 3, || {
        let poll: fn(&Mutex<usize>) -> usize = |y| loop {
            let seen = *y.lock().unwrap();
            if seen != 0 {
                return seen;
            }
            thread::yield_now();
        };
        let write: fn(&Mutex<usize>) -> usize = |y| {
            *y.lock().unwrap() = 1;
            *y.lock().unwrap() = 2;
            0
        };
        together(Mutex::new(0), &[poll, write])
    });
}
