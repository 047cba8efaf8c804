//! Mutexes and reader-writer locks.

use crate::common::model::{compare, together};
use selvedge::sync::{Mutex, RwLock, RwLockWriteGuard};

#[test]
fn mutexes() {
    let model = "
        mutex m;
        shared count = 0;
        thread a { lock m; count += 1; let v = count; unlock m; r0 = v; }
        thread b { r1 = 3; if try_lock(m) { let v = count; unlock m; r1 = v; } }
        thread c { lock m; count += 1; let v = count; unlock m; r2 = v; }
    ";
    fn add(m: &Mutex<usize>) -> usize {
        let mut count = m.lock().unwrap();
        *count += 1;
        *count
    }
    compare(model, 4, || {
        together(Mutex::new(0), &[add, |m| m.try_lock().map_or(3, |count| *count), add])
    });
}

fn read(rw: &RwLock<usize>) -> usize {
    *rw.read().unwrap()
}

fn write(rw: &RwLock<usize>) -> usize {
    *rw.write().unwrap() = 1;
    0
}

#[test]
fn reader_writer_locks() {
    let model = "
        rwlock rw;
        shared x = 0;
        thread a { read_lock rw; let v = x; read_unlock rw; r0 = v; }
        thread b { write_lock rw; x = 1; write_unlock rw; }
        thread c { r2 = 2; if try_read_lock(rw) { let v = x; read_unlock rw; r2 = v; } }
    ";
    compare(model, 3, || {
        together(RwLock::new(0), &[read, write, |rw| rw.try_read().map_or(2, |x| *x)])
    });
    let model = "
        rwlock rw;
        shared x = 0;
        thread a { read_lock rw; let v = x; read_unlock rw; r0 = v; }
        thread b { write_lock rw; x = 1; write_unlock rw; }
        thread c { r2 = 3; if try_write_lock(rw) { let v = x; x = 2; write_unlock rw; r2 = v; } }
    ";
    compare(model, 4, || {
        let try_write: fn(&RwLock<usize>) -> usize =
            |rw| rw.try_write().map_or(3, |mut x| std::mem::replace(&mut x, 2));
        together(RwLock::new(0), &[read, write, try_write])
    });
}

/// A writer that finds the lock held says that it waits, and then `try_read` may fail, also if the lock is free again.
#[test]
fn writers_that_wait() {
    // -1: it is written; else so many read.
    let model = "
        shared atomic state = 0;
        shared atomic waiting = 0;
        shared atomic x = 0;
        thread a {
            atomic { await state >= 0; state += 1; }
            let v = x;
            atomic { state -= 1; }
            r0 = v;
        }
        thread b {
            let mine = false;
            atomic { if state == 0 { state = -1; mine = true; } else { waiting += 1; } }
            if !mine { atomic { await state == 0; state = -1; waiting -= 1; } }
            x = 1;
            state = 0;
        }
        thread c {
            r2 = 3;
            let unlucky = choose(0..2);
            let mine = false;
            atomic { if state >= 0 && !(waiting > 0 && unlucky == 1) { state += 1; mine = true; } }
            if mine { let v = x; r2 = v; atomic { state -= 1; } }
            else { atomic { if state == 0 { state = -1; mine = true; } } if mine { r2 = 2; state = 0; } }
        }
    ";
    compare(model, 4, || {
        let try_both: fn(&RwLock<usize>) -> usize = |rw| {
            if let Ok(x) = rw.try_read() {
                return *x;
            }
            if rw.try_write().is_ok() { 2 } else { 3 }
        };
        together(RwLock::new(0), &[read, write, try_both])
    });
}

/// Several read at the same time, and who tries to write sees it.
#[test]
fn readers_beside_each_other() {
    let model = "
        rwlock rw;
        shared atomic x = 0;
        thread a { read_lock rw; x = 1; let v = x; read_unlock rw; r0 = v; }
        thread b { read_lock rw; x = 2; let v = x; read_unlock rw; r1 = v; }
        thread c { if try_write_lock(rw) { x = 3; write_unlock rw; r2 = 1; } }
    ";
    use selvedge::sync::atomic::AtomicUsize;
    use selvedge::sync::atomic::Ordering::SeqCst;
    fn change(rw: &RwLock<AtomicUsize>, value: usize) -> usize {
        let x = rw.read().unwrap();
        x.store(value, SeqCst);
        x.load(SeqCst)
    }
    compare(model, 3, || {
        together(
            RwLock::new(AtomicUsize::new(0)),
            &[
                |rw| change(rw, 1),
                |rw| change(rw, 2),
                |rw| {
                    let Ok(x) = rw.try_write() else { return 0 };
                    x.store(3, SeqCst);
                    1
                },
            ],
        )
    });
}

#[test]
fn write_locks_that_are_downgraded() {
    // -1: it is written; else so many read.
    let model = "
        shared atomic state = 0;
        shared x = 0;
        thread a {
            atomic { await state == 0; state = -1; }
            x = 1;
            state = 1;
            let v = x;
            atomic { state -= 1; }
            r0 = v;
        }
        thread b { atomic { await state == 0; state = -1; } x = 2; state = 0; }
        thread c {
            r2 = 3;
            let mine = false;
            atomic { if state >= 0 { state += 1; mine = true; } }
            if mine { let v = x; r2 = v; atomic { state -= 1; } }
        }
    ";
    compare(model, 4, || {
        together(
            RwLock::new(0),
            &[
                |rw| {
                    let mut guard = rw.write().unwrap();
                    *guard = 1;
                    *RwLockWriteGuard::downgrade(guard)
                },
                |rw| {
                    *rw.write().unwrap() = 2;
                    0
                },
                |rw| rw.try_read().map_or(3, |x| *x),
            ],
        )
    });
}
