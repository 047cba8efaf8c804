//! Primitives under memory models: the verdict is that of the search through interleavings where weak memory makes no
//! difference, and each execution is counted once.

use std::sync::Arc as Std;

use selvedge::cell::UnsafeCell;
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use selvedge::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, mpsc};
use selvedge::{Builder, Memory, Verdict, hint, thread};

/// The same verdict without a memory model and under each; so many executions, if it is verified.
#[track_caller]
fn check(f: impl Fn() + 'static, verdict: Verdict, executions: Option<u64>) {
    let f = Std::new(f);
    let run = |builder: Builder| {
        let f = Std::clone(&f);
        builder.explore(move || f())
    };
    let plain = run(Builder::new());
    assert_eq!(plain.verdict(), verdict, "{}", plain.text());
    for memory in [Memory::Sc, Memory::Tso, Memory::Rc11, Memory::Cxx20] {
        let outcome = run(Builder::new().memory(memory));
        assert_eq!(outcome.verdict(), verdict, "{}: {}", memory.name(), outcome.text());
        if let Some(executions) = executions {
            assert_eq!(outcome.executions(), executions, "{}", memory.name());
        }
    }
}

#[test]
fn a_condition_that_is_waited_for_in_a_loop() {
    let code = || {
        let p = Arc::new((Mutex::new(false), Condvar::new()));
        let q = Arc::clone(&p);
        let t = thread::spawn(move || {
            *q.0.lock().unwrap() = true;
            q.1.notify_one();
        });
        let mut g = p.0.lock().unwrap();
        while !*g {
            g = p.1.wait(g).unwrap();
        }
        drop(g);
        t.join().unwrap();
    };
    check(code, Verdict::Verified, Some(4));
}

#[test]
fn two_waiters_and_two_notifications() {
    let code = || {
        let p = Arc::new((Mutex::new(0), Condvar::new()));
        let ts: Vec<_> = (0..2)
            .map(|_| {
                let q = Arc::clone(&p);
                thread::spawn(move || {
                    let mut g = q.0.lock().unwrap();
                    while *g == 0 {
                        g = q.1.wait(g).unwrap();
                    }
                    *g -= 1;
                })
            })
            .collect();
        {
            *p.0.lock().unwrap() += 1;
            p.1.notify_one();
        }
        {
            *p.0.lock().unwrap() += 1;
            p.1.notify_one();
        }
        for t in ts {
            t.join().unwrap();
        }
    };
    check(code, Verdict::Verified, Some(374));
}

#[test]
fn a_notification_that_is_lost() {
    let code = || {
        let p = Arc::new((Mutex::new(false), Condvar::new()));
        let q = Arc::clone(&p);
        let t = thread::spawn(move || {
            q.1.notify_one();
            *q.0.lock().unwrap() = true;
        });
        let mut g = p.0.lock().unwrap();
        while !*g {
            g = p.1.wait(g).unwrap();
        }
        drop(g);
        t.join().unwrap();
    };
    check(code, Verdict::Violated, None);
}

#[test]
fn a_wait_that_does_not_look_again() {
    let code = || {
        let p = Arc::new((Mutex::new(false), Condvar::new()));
        let q = Arc::clone(&p);
        let t = thread::spawn(move || {
            *q.0.lock().unwrap() = true;
            q.1.notify_one();
        });
        let mut g = p.0.lock().unwrap();
        if !*g {
            g = p.1.wait(g).unwrap();
        }
        assert!(*g);
        drop(g);
        t.join().unwrap();
    };
    check(code, Verdict::Violated, None);
}

#[test]
fn a_barrier_makes_stores_visible() {
    let code = || {
        let b = Arc::new(Barrier::new(2));
        let c = Arc::clone(&b);
        let x = Arc::new(AtomicU32::new(0));
        let y = Arc::clone(&x);
        let t = thread::spawn(move || {
            y.store(1, Relaxed);
            c.wait();
        });
        b.wait();
        assert_eq!(x.load(Relaxed), 1);
        t.join().unwrap();
    };
    check(code, Verdict::Verified, Some(2));
}

#[test]
fn one_initialisation() {
    let code = || {
        let o = Arc::new(OnceLock::new());
        let p = Arc::clone(&o);
        let t = thread::spawn(move || *p.get_or_init(|| 1));
        let a = *o.get_or_init(|| 2);
        assert_eq!(a, t.join().unwrap());
    };
    check(code, Verdict::Verified, Some(4));
}

#[test]
fn parking_in_a_loop() {
    let code = || {
        let x = Arc::new(AtomicBool::new(false));
        let y = Arc::clone(&x);
        let me = thread::current();
        let t = thread::spawn(move || {
            y.store(true, Relaxed);
            me.unpark();
        });
        while !x.load(Relaxed) {
            thread::park();
        }
        t.join().unwrap();
    };
    check(code, Verdict::Verified, Some(4));
}

#[test]
fn parking_without_a_loop() {
    let code = || {
        let x = Arc::new(AtomicBool::new(false));
        let y = Arc::clone(&x);
        let me = thread::current();
        let t = thread::spawn(move || {
            y.store(true, Relaxed);
            me.unpark();
        });
        thread::park();
        assert!(x.load(Relaxed));
        t.join().unwrap();
    };
    check(code, Verdict::Violated, None);
}

#[test]
fn two_senders() {
    let code = || {
        let (s, r) = mpsc::channel();
        let s2 = s.clone();
        let a = thread::spawn(move || s.send(1).unwrap());
        let b = thread::spawn(move || s2.send(2).unwrap());
        let v: Vec<i32> = r.iter().collect();
        assert_eq!(v.iter().sum::<i32>(), 3);
        a.join().unwrap();
        b.join().unwrap();
    };
    check(code, Verdict::Verified, Some(50));
}

/// A sender that finds the receiver gone sees what that did before; one that succeeds need not.
#[test]
fn a_sender_without_a_receiver() {
    let code = |reads_if: fn(bool) -> bool| {
        move || {
            let data = Arc::new(Shared(UnsafeCell::new(0)));
            let theirs = Arc::clone(&data);
            let (s, r) = mpsc::channel();
            let receiver = thread::spawn(move || {
                // SAFETY: whether that is a race is what is checked.
                theirs.0.with_mut(|data| unsafe { *data = 1 });
                drop(r);
            });
            if reads_if(s.send(1).is_ok()) {
                // SAFETY: as above.
                data.0.with(|data| unsafe { *data });
            }
            receiver.join().unwrap();
        }
    };
    check(code(|sends| !sends), Verdict::Verified, None);
    check(code(|sends| sends), Verdict::Violated, None);
}

struct Shared(UnsafeCell<u32>);
// SAFETY: as above.
unsafe impl Sync for Shared {}

#[test]
fn a_channel_with_a_bound() {
    let code = || {
        let (s, r) = mpsc::sync_channel(1);
        let a = thread::spawn(move || (0..3).for_each(|i| s.send(i).unwrap()));
        assert_eq!(r.iter().collect::<Vec<_>>(), [0, 1, 2]);
        a.join().unwrap();
    };
    check(code, Verdict::Verified, Some(2));
}

#[test]
fn two_readers_and_a_writer() {
    let code = || {
        let m = Arc::new(RwLock::new(0));
        let ts: Vec<_> = (0..2)
            .map(|_| {
                let m = Arc::clone(&m);
                thread::spawn(move || *m.read().unwrap())
            })
            .collect();
        *m.write().unwrap() += 1;
        for t in ts {
            t.join().unwrap();
        }
    };
    check(code, Verdict::Verified, Some(14));
}

#[test]
fn a_lock_that_is_tried() {
    let code = || {
        let m = Arc::new(Mutex::new(0));
        let n = Arc::clone(&m);
        let t = thread::spawn(move || *n.lock().unwrap() += 1);
        if let Ok(mut g) = m.try_lock() {
            *g += 1;
        }
        t.join().unwrap();
    };
    check(code, Verdict::Verified, Some(3));
}

#[test]
fn an_atomic_on_the_stack() {
    let code = || {
        let x = AtomicU32::new(0);
        thread::scope(|s| {
            s.spawn(|| x.store(1, Relaxed));
            s.spawn(|| x.store(2, Relaxed));
        });
        let v = x.load(Relaxed);
        assert!(v == 1 || v == 2);
        assert_eq!(x.into_inner(), v);
    };
    check(code, Verdict::Verified, Some(2));
}

#[test]
fn spinning_on_a_flag() {
    let code = || {
        let x = Arc::new(AtomicBool::new(false));
        let y = Arc::clone(&x);
        let t = thread::spawn(move || y.store(true, Release));
        while !x.load(Acquire) {
            hint::spin_loop();
        }
        t.join().unwrap();
    };
    check(code, Verdict::Verified, Some(2));
}

#[test]
fn spinning_for_ever() {
    let code = || {
        let x = Arc::new(AtomicBool::new(false));
        let y = Arc::clone(&x);
        let t = thread::spawn(move || y.store(false, Release));
        while !x.load(Acquire) {
            hint::spin_loop();
        }
        t.join().unwrap();
    };
    check(code, Verdict::Violated, None);
}

#[test]
fn spinning_so_many_times() {
    let code = || {
        let x = Arc::new(AtomicBool::new(false));
        let y = Arc::clone(&x);
        let t = thread::spawn(move || y.store(true, Release));
        let mut n = 0;
        for _ in 0..3 {
            if x.load(Acquire) {
                break;
            }
            n += 1;
            hint::spin_loop();
        }
        assert!(n <= 3);
        t.join().unwrap();
    };
    check(code, Verdict::Verified, Some(4));
}

#[test]
fn a_spin_lock() {
    let code = || {
        let l = Arc::new(AtomicBool::new(false));
        let c = Arc::new(AtomicU32::new(0));
        let ts: Vec<_> = (0..2)
            .map(|_| {
                let l = Arc::clone(&l);
                let c = Arc::clone(&c);
                thread::spawn(move || {
                    while l.swap(true, Acquire) {
                        hint::spin_loop();
                    }
                    let v = c.load(Relaxed);
                    c.store(v + 1, Relaxed);
                    l.store(false, Release);
                })
            })
            .collect();
        for t in ts {
            t.join().unwrap();
        }
        assert_eq!(c.load(Relaxed), 2);
    };
    check(code, Verdict::Verified, Some(4));
}

#[test]
fn a_loop_of_weak_exchanges() {
    let code = || {
        let c = Arc::new(AtomicU32::new(0));
        let ts: Vec<_> = (0..2)
            .map(|_| {
                let c = Arc::clone(&c);
                thread::spawn(move || {
                    let mut v = c.load(Relaxed);
                    while let Err(w) = c.compare_exchange_weak(v, v + 1, Relaxed, Relaxed) {
                        v = w;
                    }
                })
            })
            .collect();
        for t in ts {
            t.join().unwrap();
        }
        assert_eq!(c.load(Relaxed), 2);
    };
    check(code, Verdict::Verified, Some(20));
}

#[test]
fn the_last_reference_drops_the_content() {
    let code = || {
        struct D(Arc<AtomicU32>);
        impl Drop for D {
            fn drop(&mut self) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        let n = Arc::new(AtomicU32::new(0));
        let d = Arc::new(D(Arc::clone(&n)));
        let e = Arc::clone(&d);
        let t = thread::spawn(move || drop(e));
        drop(d);
        t.join().unwrap();
        assert_eq!(n.load(Relaxed), 1);
    };
    check(code, Verdict::Verified, Some(2));
}

#[test]
fn a_leak() {
    let code = || std::mem::forget(Arc::new(3));
    check(code, Verdict::Violated, None);
}

#[test]
fn a_static() {
    let code = || {
        static X: AtomicU32 = AtomicU32::new(5);
        let t = thread::spawn(|| X.fetch_add(1, Relaxed));
        X.fetch_add(1, Relaxed);
        t.join().unwrap();
        assert_eq!(X.load(Relaxed), 7);
    };
    check(code, Verdict::Verified, Some(2));
}

#[test]
fn a_pointer_that_is_published() {
    let code = || {
        let p: Arc<AtomicPtr<AtomicU32>> = Arc::new(AtomicPtr::new(std::ptr::null_mut()));
        let q = Arc::clone(&p);
        let t = thread::spawn(move || q.store(Box::into_raw(Box::new(AtomicU32::new(7))), Release));
        let r = p.load(Acquire);
        if !r.is_null() {
            // SAFETY: it is freed after this thread has joined the other, which is after this.
            assert_eq!(unsafe { (*r).load(Relaxed) }, 7);
        }
        t.join().unwrap();
        // SAFETY: the other thread has ended, and left it here.
        drop(unsafe { Box::from_raw(p.load(Relaxed)) });
    };
    check(code, Verdict::Verified, Some(2));
}

#[test]
fn an_access_that_races_with_a_free() {
    let code = || {
        let p = Arc::new(AtomicPtr::new(Box::into_raw(Box::new(AtomicU32::new(7)))));
        let q = Arc::clone(&p);
        let t = thread::spawn(move || {
            let r = q.load(Acquire);
            // SAFETY: it may be freed already: that is what the check has to find.
            unsafe {
                (*r).store(1, Relaxed);
            }
        });
        // SAFETY: the other thread may still use it: that is what the check has to find.
        drop(unsafe { Box::from_raw(p.load(Relaxed)) });
        t.join().unwrap();
    };
    check(code, Verdict::Violated, None);
}

#[test]
fn values_of_threads() {
    let code = || {
        selvedge::thread_local! { static T: std::cell::Cell<u32> = std::cell::Cell::new(1); }
        let t = thread::spawn(|| T.with(|t| t.set(2)));
        T.with(|t| assert_eq!(t.get(), 1));
        t.join().unwrap();
    };
    check(code, Verdict::Verified, Some(1));
}

#[test]
fn an_atomic_that_its_owner_changes() {
    let code = || {
        let mut x = AtomicU32::new(1);
        *x.get_mut() += 1;
        thread::scope(|s| {
            s.spawn(|| x.fetch_add(1, Relaxed));
            s.spawn(|| x.fetch_add(1, Relaxed));
        });
        *x.get_mut() += 1;
        assert_eq!(x.load(Relaxed), 5);
    };
    check(code, Verdict::Verified, Some(2));
}
