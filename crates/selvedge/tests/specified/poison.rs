//! Locks whose holder panics: who sees the poison, and when.

use crate::common::model::{attempt, compare, together};
use selvedge::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

/// 0: free, 1: taken, 2: poisoned.
fn tried<G>(result: Result<G, TryLockError<G>>) -> usize {
    match result {
        Ok(_) => 0,
        Err(TryLockError::WouldBlock) => 1,
        Err(TryLockError::Poisoned(_)) => 2,
    }
}

fn panics(lock: &Mutex<usize>) -> usize {
    attempt(0, || {
        let mut guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        *guard += 1;
        panic!("while it has the lock");
    })
}

/// Poison can be seen before the lock is free.
#[test]
fn a_mutex_is_poisoned_before_it_is_given_up() {
    let model = "
        mutex m;
        shared atomic poison = 0;
        thread a { lock m; poison = 1; unlock m; }
        thread b {
            let before = poison;
            let found = 1;
            if try_lock(m) { let p = poison; unlock m; found = 2 * p; }
            r1 = 3 * before + found;
        }
        thread c { lock m; let p = poison; unlock m; r2 = p; }
    ";
    compare(model, 6, || {
        together(
            Mutex::new(0),
            &[
                panics,
                |m| 3 * usize::from(m.is_poisoned()) + tried(m.try_lock()),
                |m| usize::from(m.lock().is_err()),
            ],
        )
    });
}

#[test]
fn poison_is_taken_away() {
    let model = "
        mutex m;
        shared atomic poison = 0;
        thread a { lock m; poison = 1; unlock m; }
        thread b { if try_lock(m) { unlock m; } else { r1 = 1; } poison = 0; }
        thread c { lock m; let p = poison; unlock m; r2 = p; }
    ";
    compare(model, 2, || {
        together(
            Mutex::new(0),
            &[
                panics,
                |m| {
                    let taken = matches!(m.try_lock(), Err(TryLockError::WouldBlock));
                    m.clear_poison();
                    usize::from(taken)
                },
                |m| usize::from(m.lock().is_err()),
            ],
        )
    });
}

#[test]
fn writers_leave_poison_and_readers_none() {
    let model = "
        rwlock rw;
        shared atomic poison = 0;
        thread a { write_lock rw; poison = 1; write_unlock rw; }
        thread b { read_lock rw; let p = poison; read_unlock rw; r1 = p; }
        thread c {
            let found = 1;
            if try_read_lock(rw) { let p = poison; read_unlock rw; found = 2 * p; }
            let p = poison;
            r2 = 3 * p + found;
        }
    ";
    compare(model, 6, || {
        together(
            RwLock::new(0),
            &[
                |rw| {
                    attempt(0, || {
                        let _guard = rw.write().unwrap();
                        panic!("while it writes")
                    })
                },
                |rw| {
                    let mut poisoned = false;
                    attempt(0, || {
                        let guard = rw.read();
                        poisoned = guard.is_err();
                        panic!("while it reads")
                    });
                    usize::from(poisoned)
                },
                |rw| tried(rw.try_read()) + 3 * usize::from(rw.is_poisoned()),
            ],
        )
    });
}

/// Who waits for a condition finds the poison when it has the lock again.
#[test]
fn conditions_of_poisoned_mutexes() {
    let model = "
        mutex m;
        cond ready;
        shared atomic poison = 0;
        shared items = 0;
        thread waits {
            lock m;
            let p = poison;
            while p == 0 && items == 0 { wait(ready, m); p = poison; }
            let v = items;
            unlock m;
            r0 = 2 * v + p;
        }
        thread panics { lock m; poison = 1; unlock m; signal(ready); }
        thread puts { lock m; items = 1; unlock m; signal(ready); }
    ";
    type Shared = (Mutex<usize>, Condvar);
    fn entered((m, _): &Shared) -> MutexGuard<'_, usize> {
        m.lock().unwrap_or_else(PoisonError::into_inner)
    }
    compare(model, 4, || {
        let waits: fn(&Shared) -> usize = |(m, ready)| {
            let found = m.lock().and_then(|guard| ready.wait_while(guard, |items| *items == 0));
            match found {
                Ok(guard) => 2 * *guard,
                Err(poisoned) => 2 * **poisoned.get_ref() + 1,
            }
        };
        let panics: fn(&Shared) -> usize = |shared| {
            attempt(0, || {
                let _guard = entered(shared);
                panic!("while it has the lock")
            });
            shared.1.notify_one();
            0
        };
        let puts: fn(&Shared) -> usize = |shared| {
            *entered(shared) = 1;
            shared.1.notify_one();
            0
        };
        together((Mutex::new(0), Condvar::new()), &[waits, panics, puts])[..1].to_vec()
    });
}
