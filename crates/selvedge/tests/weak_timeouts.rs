//! Primitives under memory models that may give up waiting, or do not wait at all.
//!
//! Under `Memory::Sc` there are as many executions as without a memory model, with these exceptions: there a timeout is two steps
//! (it will be up, or the thread waits) and here one; a writer that waits is said in a step of its own there; and here all
//! that happens to a channel is ordered, also what commutes there.

use std::sync::Arc as Std;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError};
use std::time::Duration;

use selvedge::future::{AtomicWaker, block_on, spawn};
use selvedge::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use selvedge::sync::atomic::{AtomicBool, AtomicU32};
use selvedge::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use selvedge::{Builder, Memory, RwLockPolicy, Verdict, hint, thread};

pub(super) const SOON: Duration = Duration::from_millis(1);

/// Executions without a memory model, under `sc` and under `rc11`. Nothing is wrong under any.
#[track_caller]
pub(super) fn verified(f: impl Fn() + 'static, executions: [u64; 3]) {
    let found = outcomes(f, |it| it).map(|outcome| {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
        outcome.executions()
    });
    assert_eq!(found, executions);
}

/// Something is wrong, with these words, without a memory model and under each.
#[track_caller]
pub(super) fn violated(f: impl Fn() + 'static, words: &str) {
    for outcome in outcomes(f, |it| it) {
        let text = outcome.text();
        assert!(outcome.verdict() == Verdict::Violated && text.contains(words), "{text}");
    }
}

/// Something is wrong, with these words, under `rc11` and nowhere else.
#[track_caller]
fn violated_weakly(f: impl Fn() + 'static, words: &str) {
    let [plain, sc, rc11] = outcomes(f, |it| it);
    for outcome in [plain, sc] {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
    let text = rc11.text();
    assert!(rc11.verdict() == Verdict::Violated && text.contains(words), "{text}");
}

#[track_caller]
pub(super) fn outcomes(
    f: impl Fn() + 'static,
    with: fn(Builder) -> Builder,
) -> [selvedge::Outcome; 3] {
    let f = Std::new(f);
    let builder = || with(Builder::new());
    let plain = builder().sequentially_consistent(true);
    [plain, builder().memory(Memory::Sc), builder().memory(Memory::Rc11)].map(|builder| {
        let f = Std::clone(&f);
        builder.explore(move || f())
    })
}

pub(super) fn sent<T: Send + 'static>(value: T) -> (thread::JoinHandle<()>, mpsc::Receiver<T>) {
    let (sender, receiver) = mpsc::channel();
    (thread::spawn(move || sender.send(value).unwrap()), receiver)
}

#[test]
fn a_message_within_a_time() {
    verified(
        || {
            let (thread, receiver) = sent(1);
            match receiver.recv_timeout(SOON) {
                Ok(value) => assert_eq!(value, 1),
                Err(error) => assert_eq!(error, RecvTimeoutError::Timeout),
            }
            thread.join().unwrap();
        },
        [4, 3, 3],
    );
    violated(
        || {
            let (thread, receiver) = sent(1);
            assert_eq!(receiver.recv_timeout(SOON), Ok(1));
            thread.join().unwrap();
        },
        "Timeout",
    );
    violated(
        || {
            let (thread, receiver) = sent(1);
            assert_eq!(receiver.recv_timeout(SOON), Err(RecvTimeoutError::Timeout));
            thread.join().unwrap();
        },
        "Ok(1)",
    );
}

/// A message that is not there yet orders nothing: neither thread need see what the other stored.
#[test]
fn a_message_that_is_not_there_yet() {
    fn code(f: fn(&mpsc::Receiver<()>) -> bool, bound: Option<usize>) -> impl Fn() {
        move || {
            let x = Arc::new(AtomicU32::new(0));
            let y = Arc::clone(&x);
            let (send, receiver): (Box<dyn FnOnce() + Send>, _) = match bound {
                None => {
                    let (sender, receiver) = mpsc::channel();
                    (Box::new(move || sender.send(()).unwrap()), receiver)
                }
                Some(bound) => {
                    let (sender, receiver) = mpsc::sync_channel(bound);
                    (Box::new(move || sender.send(()).unwrap()), receiver)
                }
            };
            let thread = thread::spawn(move || {
                send();
                y.load(Relaxed)
            });
            x.store(1, Relaxed);
            let nothing = f(&receiver);
            if nothing && receiver.recv().is_err() {
                return;
            }
            assert!(thread.join().unwrap() == 1 || !nothing, "neither saw the other");
        }
    }
    for bound in [None, Some(1)] {
        violated_weakly(code(|r| r.try_recv() == Err(TryRecvError::Empty), bound), "neither saw");
        let timeout = |r: &mpsc::Receiver<()>| r.recv_timeout(SOON).is_err();
        violated_weakly(code(timeout, bound), "neither saw");
    }
}

#[test]
fn a_bounded_message_within_a_time() {
    verified(
        || {
            let (sender, receiver) = mpsc::sync_channel(1);
            let thread = thread::spawn(move || sender.send(1).unwrap());
            match receiver.recv_timeout(SOON) {
                Ok(value) => assert_eq!(value, 1),
                Err(error) => {
                    assert_eq!(error, RecvTimeoutError::Timeout);
                    assert_eq!(receiver.recv(), Ok(1));
                }
            }
            thread.join().unwrap();
        },
        [3, 4, 4],
    );
}

#[test]
fn a_channel_without_room() {
    verified(
        || {
            let x = Arc::new(AtomicU32::new(0));
            let y = Arc::clone(&x);
            let (sender, receiver) = mpsc::sync_channel(0);
            let thread = thread::spawn(move || {
                sender.send(1).unwrap();
                // Who took the message had stored before.
                assert_eq!(y.load(Relaxed), 1);
            });
            x.store(1, Relaxed);
            assert_eq!(receiver.recv(), Ok(1));
            thread.join().unwrap();
        },
        [2, 2, 2],
    );
    verified(
        || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let other = sender.clone();
            let a = thread::spawn(move || sender.send(1).unwrap());
            let b = thread::spawn(move || other.send(2).unwrap());
            assert_eq!(receiver.iter().sum::<i32>(), 3);
            a.join().unwrap();
            b.join().unwrap();
        },
        [204, 524, 524],
    );
    // Without a receiver who takes it, the message comes back.
    verified(
        || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let thread = thread::spawn(move || assert!(sender.send(1).is_err()));
            drop(receiver);
            thread.join().unwrap();
        },
        [2, 2, 2],
    );
    violated(
        || {
            let (sender, receiver) = mpsc::sync_channel(0);
            sender.send(1).unwrap();
            drop(receiver);
        },
        "deadlock",
    );
}

#[test]
fn a_channel_without_room_that_is_tried() {
    let seen = |f: fn(Result<(), TrySendError<i32>>) -> bool| {
        move || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let thread = thread::spawn(move || {
                let result = sender.try_send(1);
                assert!(!f(result), "seen");
                drop(sender);
            });
            let _ = receiver.recv();
            drop(receiver);
            thread.join().unwrap();
        }
    };
    violated(seen(|it| it.is_ok()), "seen");
    violated(seen(|it| it == Err(TrySendError::Full(1))), "seen");
    let seen = |f: fn(Result<i32, RecvTimeoutError>) -> bool| {
        move || {
            let (sender, receiver) = mpsc::sync_channel(0);
            let thread = thread::spawn(move || {
                let _ = sender.send(1);
            });
            assert!(!f(receiver.recv_timeout(SOON)), "seen");
            drop(receiver);
            thread.join().unwrap();
        }
    };
    violated(seen(|it| it == Ok(1)), "seen");
    violated(seen(|it| it == Err(RecvTimeoutError::Timeout)), "seen");
    verified(seen(|it| it == Err(RecvTimeoutError::Disconnected)), [6, 11, 11]);
}

#[test]
fn a_token_within_a_time() {
    verified(
        || {
            let me = thread::current();
            let thread = thread::spawn(move || me.unpark());
            thread::park_timeout(SOON);
            thread.join().unwrap();
        },
        [4, 3, 3],
    );
    // It may return without the token.
    let early = |order| {
        move || {
            let x = Arc::new(AtomicBool::new(false));
            let y = Arc::clone(&x);
            let me = thread::current();
            let thread = thread::spawn(move || {
                y.store(true, order);
                me.unpark();
            });
            thread::park_timeout(SOON);
            assert!(x.load(Acquire), "too early");
            thread.join().unwrap();
        }
    };
    violated(early(Release), "too early");
    // In a loop it does not matter.
    verified(
        || {
            let x = Arc::new(AtomicBool::new(false));
            let y = Arc::clone(&x);
            let me = thread::current();
            let thread = thread::spawn(move || {
                y.store(true, Release);
                me.unpark();
            });
            while !x.load(Acquire) {
                thread::park_timeout(SOON);
            }
            thread.join().unwrap();
        },
        [8, 16, 21],
    );
}

#[test]
fn a_notification_within_a_time() {
    let code = |asserts: bool| {
        move || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&pair);
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let guard = pair.0.lock().unwrap();
            if !*guard {
                let (guard, result) = pair.1.wait_timeout(guard, SOON).unwrap();
                assert!(!asserts || *guard || !result.timed_out(), "time is up");
            } else {
                drop(guard);
            }
            thread.join().unwrap();
        }
    };
    verified(code(false), [6, 6, 6]);
    violated(code(true), "time is up");
}

/// No thread notifies: a wait with a timeout is no deadlock, and one without is.
#[test]
fn a_notification_that_does_not_come() {
    let code = |timed: bool| {
        move || {
            let (mutex, condition) = (Mutex::new(0), Condvar::new());
            let guard = mutex.lock().unwrap();
            match timed {
                true => drop(condition.wait_timeout(guard, SOON).unwrap()),
                false => drop(condition.wait(guard).unwrap()),
            }
        }
    };
    for outcome in outcomes(code(true), |it| it.spurious(0)) {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
    for outcome in outcomes(code(false), |it| it.spurious(0)) {
        assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
    }
}

/// A loop whose time is up again and again is followed so far, and the verdict says so.
#[test]
fn a_time_that_is_up_again_and_again() {
    let [plain, _, rc11] = outcomes(
        || {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let other = Arc::clone(&pair);
            let thread = thread::spawn(move || {
                *other.0.lock().unwrap() = true;
                other.1.notify_one();
            });
            let mut guard = pair.0.lock().unwrap();
            while !*guard {
                guard = pair.1.wait_timeout(guard, SOON).unwrap().0;
            }
            drop(guard);
            thread.join().unwrap();
        },
        |it| it.spurious(0),
    );
    assert_eq!(plain.verdict(), Verdict::Verified, "{}", plain.text());
    let text = rc11.text();
    assert_eq!(rc11.verdict(), Verdict::Inconclusive, "{text}");
    assert!(text.contains("the time of main is up more than 3 times at"), "{text}");
}

fn reads_and_writes(f: fn(&RwLock<i32>) -> bool) -> impl Fn() {
    move || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.write().unwrap() = 1);
        assert!(!f(&lock), "seen");
        thread.join().unwrap();
    }
}

#[test]
fn a_reader_that_does_not_wait() {
    verified(reads_and_writes(|lock| lock.try_read().is_ok_and(|it| *it > 1)), [4, 3, 3]);
    violated(reads_and_writes(|lock| lock.try_read().is_ok_and(|it| *it == 1)), "seen");
    violated(reads_and_writes(|lock| lock.try_read().is_ok_and(|it| *it == 0)), "seen");
    violated(reads_and_writes(|lock| lock.try_read().is_err()), "seen");
}

#[test]
fn a_writer_that_does_not_wait() {
    violated(reads_and_writes(|lock| lock.try_write().is_ok_and(|it| *it == 1)), "seen");
    violated(reads_and_writes(|lock| lock.try_write().is_err()), "seen");
    verified(reads_and_writes(|lock| lock.try_write().is_ok_and(|it| *it > 1)), [3, 3, 3]);
}

/// While a writer waits `try_read` may fail, which is not explored: so nothing is said then.
#[test]
fn a_reader_that_a_waiting_writer_may_keep_out() {
    let code = || {
        let lock = Arc::new(RwLock::new(0));
        let (a, b) = (Arc::clone(&lock), Arc::clone(&lock));
        let threads = [
            thread::spawn(move || assert!(*a.read().unwrap() < 2)),
            thread::spawn(move || *b.write().unwrap() = 1),
        ];
        if let Ok(value) = lock.try_read() {
            assert!(*value < 2);
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    let [plain, _, rc11] = outcomes(code, |it| it);
    assert_eq!(plain.verdict(), Verdict::Verified, "{}", plain.text());
    assert_eq!(rc11.verdict(), Verdict::Inconclusive, "{}", rc11.text());
    assert!(rc11.text().contains("may fail since a writer waits"), "{}", rc11.text());
    for outcome in outcomes(code, |it| it.rwlock_policy(RwLockPolicy::Readers)) {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
}

#[test]
fn a_reference_that_may_be_gone() {
    let code = |f: fn(Option<i32>) -> bool| {
        move || {
            let strong = Arc::new(7);
            let weak = Arc::downgrade(&strong);
            let thread = thread::spawn(move || drop(strong));
            assert!(!f(weak.upgrade().map(|it| *it)), "seen");
            thread.join().unwrap();
        }
    };
    violated(code(|it| it == Some(7)), "seen");
    violated(code(|it| it.is_none()), "seen");
    verified(code(|it| it.is_some_and(|it| it != 7)), [3, 3, 3]);
    // After the join it is gone.
    verified(
        || {
            let strong = Arc::new(7);
            let weak = Arc::downgrade(&strong);
            let thread = thread::spawn(move || drop(strong));
            thread.join().unwrap();
            assert!(weak.upgrade().is_none() && weak.strong_count() == 0);
        },
        [1, 1, 1],
    );
}

/// A count says nothing about what others stored.
#[test]
fn a_count_that_is_looked_at() {
    violated_weakly(
        || {
            let data = Arc::new(AtomicU32::new(0));
            let (other, counted) = (Arc::clone(&data), Arc::new(0));
            let clone = Arc::clone(&counted);
            let thread = thread::spawn(move || {
                other.store(1, Relaxed);
                drop(clone);
            });
            if Arc::strong_count(&counted) == 1 {
                assert_eq!(data.load(Relaxed), 1, "not yet");
            }
            thread.join().unwrap();
        },
        "not yet",
    );
}

#[test]
fn tasks() {
    verified(
        || {
            let x = Arc::new(AtomicU32::new(0));
            let y = Arc::clone(&x);
            let task = spawn(async move {
                y.store(1, Relaxed);
                20
            });
            let sum = block_on(async { task.await.unwrap() + 1 });
            assert_eq!((sum, x.load(Relaxed)), (21, 1));
        },
        [3, 3, 3],
    );
    violated(
        || {
            let task = spawn(async { 1 });
            task.abort();
            block_on(async { task.await.unwrap() });
        },
        "cancelled",
    );
    violated(
        || {
            let task = spawn(async { 1 });
            assert!(!task.is_finished(), "seen");
            block_on(async { task.await.unwrap() });
        },
        "seen",
    );
}

/// The state is set before the waker is: what is lost if it is looked at the other way round.
#[test]
fn a_waker_that_is_registered() {
    fn code(first: bool) -> impl Fn() {
        move || {
            let state = Arc::new((AtomicBool::new(false), AtomicWaker::new()));
            let other = Arc::clone(&state);
            let thread = thread::spawn(move || {
                other.0.store(true, Relaxed);
                other.1.wake();
            });
            block_on(std::future::poll_fn(|context| {
                if !first && state.0.load(Relaxed) {
                    return std::task::Poll::Ready(());
                }
                state.1.register_by_ref(context.waker());
                match first && state.0.load(Relaxed) {
                    true => std::task::Poll::Ready(()),
                    false => std::task::Poll::Pending,
                }
            }));
            thread.join().unwrap();
        }
    }
    verified(code(true), [3, 3, 3]);
    violated(code(false), "deadlock");
}

#[test]
fn spinning_on_one_of_two() {
    let code = |stores: bool| {
        move || {
            let flags = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
            let other = Arc::clone(&flags);
            let thread = thread::spawn(move || {
                if stores {
                    other.1.store(true, Release);
                }
            });
            while !flags.0.load(Acquire) && !flags.1.load(Acquire) {
                hint::spin_loop();
            }
            thread.join().unwrap();
        }
    };
    for outcome in outcomes(code(true), |it| it) {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
    violated(code(false), "waits for a change of");
}

#[test]
fn spinning_on_a_lock_that_is_tried() {
    let code = || {
        let lock = Arc::new(Mutex::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.lock().unwrap() += 1);
        loop {
            if let Ok(mut guard) = lock.try_lock() {
                *guard += 1;
                break;
            }
            hint::spin_loop();
        }
        thread.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 2);
    };
    for outcome in outcomes(code, |it| it) {
        assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    }
    let held = || {
        let lock = Mutex::new(0);
        let _guard = lock.lock().unwrap();
        while lock.try_lock().is_err() {
            hint::spin_loop();
        }
    };
    for outcome in outcomes(held, |it| it) {
        assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
    }
}
