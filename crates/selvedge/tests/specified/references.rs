//! Counts of references: those who look at them, those who need to be alone, and weak ones.
//!
//! In all models, `strong` and `weak` are the counts.

use crate::common::model::compare;
use selvedge::sync::Arc;
use selvedge::thread;

/// Passes a reference to each closure, the first in main, and the others in threads.
fn shared(threads: &[fn(Arc<usize>) -> usize]) -> Vec<usize> {
    let mine = Arc::new(7);
    let handles: Vec<_> = threads[1..]
        .iter()
        .map(|&run| {
            let other = Arc::clone(&mine);
            thread::spawn(move || run(other))
        })
        .collect();
    let mut results = vec![threads[0](mine)];
    results.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
    results
}

#[test]
fn counting() {
    let model = "
        shared atomic strong = 3;
        shared atomic weak = 3;
        thread a {
            let s = strong; let w = weak;
            r0 = s * 4 + w;
        }
        thread b { atomic { strong -= 1; } atomic { weak -= 1; } }
        thread c { atomic { weak -= 1; } atomic { strong -= 1; } }
    ";
    compare(model, 16, || {
        let first = Arc::new(7);
        let (second, third) = (Arc::clone(&first), Arc::clone(&first));
        let [_mine, theirs, others] = [(); 3].map(|()| Arc::downgrade(&first));
        let b = thread::spawn(move || {
            drop(second);
            drop(theirs);
        });
        let c = thread::spawn(move || {
            drop(others);
            drop(third);
        });
        let seen = Arc::strong_count(&first) * 4 + Arc::weak_count(&first);
        b.join().unwrap();
        c.join().unwrap();
        vec![seen]
    });
}

#[test]
fn upgrading() {
    let model = "
        shared atomic strong = 2;
        thread a { atomic { strong -= 1; } }
        thread b { atomic { strong -= 1; } }
        thread c {
            let mine = false;
            atomic { if strong > 0 { strong += 1; mine = true; } }
            if mine { let s = strong; atomic { strong -= 1; } r0 = s; }
            atomic { if strong > 0 { r1 = 1; } }
        }
    ";
    compare(model, 4, || {
        let first = Arc::new(7);
        let (weak, second) = (Arc::downgrade(&first), Arc::clone(&first));
        let threads = [first, second].map(|mine| thread::spawn(move || drop(mine)));
        let count = weak.upgrade().map_or(0, |mine| Arc::strong_count(&mine));
        let alive = usize::from(weak.upgrade().is_some());
        _ = threads.map(|thread| thread.join().unwrap());
        vec![count, alive]
    });
}

#[test]
fn being_alone() {
    let model = "
        shared atomic strong = 2;
        shared atomic weak = 1;
        thread a {
            atomic { if strong == 1 && weak == 0 { r0 = 1; } }
            atomic { if strong == 1 && weak == 0 { r0 += 2; } }
        }
        thread b { atomic { strong -= 1; } }
        thread c { atomic { weak -= 1; } }
    ";
    compare(model, 4, || {
        let mut mine = Arc::new(7);
        let (other, weak) = (Arc::clone(&mine), Arc::downgrade(&mine));
        let b = thread::spawn(move || drop(other));
        let c = thread::spawn(move || drop(weak));
        let first = usize::from(Arc::get_mut(&mut mine).is_some());
        let second = usize::from(Arc::get_mut(&mut mine).is_some());
        b.join().unwrap();
        c.join().unwrap();
        vec![first + 2 * second]
    });
}

/// Of those who unwrap, the last one gets the value; of those who try, and drop it if they fail, perhaps none.
#[test]
fn taking_the_value_out() {
    let model = "
        shared atomic strong = 3;
        proc into_inner(me: int) {
            let last = 0;
            atomic { strong -= 1; if strong == 0 { last = 1; } }
            if me == 0 { r0 = last; }
            if me == 1 { r1 = last; }
            if me == 2 { r2 = last; }
        }
        thread a { into_inner(0); }
        thread b { into_inner(1); }
        thread c { into_inner(2); }
    ";
    fn into_inner(mine: Arc<usize>) -> usize {
        usize::from(Arc::into_inner(mine).is_some())
    }
    compare(model, 2, || shared(&[into_inner, into_inner, into_inner]));
    let model = "
        shared atomic strong = 3;
        proc try_unwrap(me: int) {
            let alone = 0;
            atomic { if strong == 1 { strong = 0; alone = 1; } }
            if alone == 0 { atomic { strong -= 1; } }
            if me == 0 { r0 = alone; }
            if me == 1 { r1 = alone; }
            if me == 2 { r2 = alone; }
        }
        thread a { try_unwrap(0); }
        thread b { try_unwrap(1); }
        thread c { try_unwrap(2); }
    ";
    fn try_unwrap(mine: Arc<usize>) -> usize {
        usize::from(Arc::try_unwrap(mine).is_ok())
    }
    compare(model, 2, || shared(&[try_unwrap, try_unwrap, try_unwrap]));
}

/// Who is alone changes the value in place, and takes it away from weak references.
#[test]
fn changing_the_value() {
    let model = "
        shared atomic strong = 2;
        thread a {
            let alone = false;
            atomic { if strong == 1 { strong = 0; alone = true; } }
            if !alone { atomic { strong -= 1; } }
        }
        thread b { atomic { strong -= 1; } }
        thread c { atomic { if strong > 0 { r0 = 1; } } atomic { if strong > 0 { r1 = 1; } } }
    ";
    compare(model, 2, || {
        let mut mine = Arc::new(7);
        let (other, weak) = (Arc::clone(&mine), Arc::downgrade(&mine));
        let a = thread::spawn(move || {
            *Arc::make_mut(&mut mine) = 8;
            *mine
        });
        let b = thread::spawn(move || drop(other));
        let alive = [(); 2].map(|()| usize::from(weak.strong_count() > 0));
        assert_eq!(a.join().unwrap(), 8);
        b.join().unwrap();
        alive.to_vec()
    });
}

/// A loop that waits until the value is gone ends, however that happens.
#[test]
fn waiting_until_it_is_gone() {
    let model = "
        shared atomic strong = 1;
        shared atomic x = 0;
        thread a { x = 1; atomic { strong = 0; } x = 2; }
        thread b { await strong == 0; let v = x; r0 = v; }
    ";
    use selvedge::sync::atomic::AtomicUsize;
    use selvedge::sync::atomic::Ordering::SeqCst;
    fn run(lose: fn(Arc<usize>)) -> Vec<usize> {
        let (mine, x) = (Arc::new(7), std::sync::Arc::new(AtomicUsize::new(0)));
        let (weak, y) = (Arc::downgrade(&mine), std::sync::Arc::clone(&x));
        let a = thread::spawn(move || {
            y.store(1, SeqCst);
            lose(mine);
            y.store(2, SeqCst);
        });
        while weak.strong_count() > 0 {
            thread::yield_now();
        }
        let seen = x.load(SeqCst);
        a.join().unwrap();
        vec![seen]
    }
    compare(model, 3, || run(drop));
    compare(model, 3, || run(|mine| _ = Arc::try_unwrap(mine)));
    compare(model, 3, || run(|mine| _ = Arc::into_inner(mine)));
    compare(model, 3, || run(|mut mine| *Arc::make_mut(&mut mine) = 8));
}
