//! Primitives against their specification: all results of small programs, by the best explorer and by
//! brute force, compared with all results of the same program as a model in the language `.sel`.

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use common::{outcomes, outcomes_with};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Barrier, Condvar, Mutex, OnceLock, RwLock, RwLockWriteGuard, mpsc};
use selvedge::{Algorithm, Builder, Verdict, thread};
use selvedge_explore::{Observer, Options, explore};
use selvedge_lang::{Interpreter, compile};

type Results = BTreeSet<Vec<usize>>;

struct Nobody;

impl Observer for Nobody {}

/// Whether the variables `r0`, `r1` … of a model can end with these values, by brute force.
fn is_reachable(model: &str, values: &[usize]) -> bool {
    let parts: Vec<_> = values.iter().enumerate().map(|(i, v)| format!("r{i} == {v}")).collect();
    let shared: Vec<_> = (0..values.len()).map(|i| format!("shared r{i} = 0;")).collect();
    let text =
        format!("{}\n{model}\nfinally {{ assert !({}); }}", shared.join("\n"), parts.join(" && "));
    let program = compile("model.sel", &text, &[]).expect("a correct model").program;
    let make = || Interpreter::new(Arc::clone(&program));
    let report = explore(Algorithm::Oracle, &make, &Options::default(), &mut Nobody);
    assert!(report.inconclusive.is_empty(), "{report:?}");
    report.verdict() == Verdict::Violated
}

/// All results of a model with values below `below`.
fn results(model: &str, count: usize, below: usize) -> Results {
    let all = (0..below.pow(count as u32)).map(|number| {
        (0..count).map(|i| number / below.pow(i as u32) % below).collect::<Vec<usize>>()
    });
    all.filter(|values| is_reachable(model, values)).collect()
}

/// Compares the results of the code with those of its model.
fn compare(model: &str, below: usize, code: impl Fn() -> Vec<usize> + Copy + 'static) {
    let found = outcomes(code).0;
    let count = found.first().map_or(0, Vec::len);
    assert!(found.len() > 1, "the order should show: {found:?}");
    assert_eq!(found, results(model, count, below), "code on the left, model on the right");
    let oracle = Builder::new().algorithm(Algorithm::Oracle);
    assert_eq!(found, outcomes_with(&oracle, code).0, "all interleavings on the right");
}

/// Runs the closures, the first one in main, and gives their results.
fn together<S: Send + Sync + 'static>(state: S, threads: &[fn(&S) -> usize]) -> Vec<usize> {
    let state = Arc::new(state);
    let handles: Vec<_> = threads[1..]
        .iter()
        .map(|&run| {
            let state = Arc::clone(&state);
            thread::spawn(move || run(&state))
        })
        .collect();
    let mut results = vec![threads[0](&state)];
    results.extend(handles.into_iter().map(|handle| handle.join().unwrap()));
    results
}

#[test]
fn atomics() {
    let model = "
        shared atomic x = 0;
        thread a { x = 1; let v = x; r0 = v; }
        thread b { let v = fetch_add(x, 1); r1 = v; }
        thread c { if compare_exchange(x, 1, 3) { r2 = 1; } }
    ";
    compare(model, 5, || {
        together(
            AtomicUsize::new(0),
            &[
                |x| {
                    x.store(1, SeqCst);
                    x.load(SeqCst)
                },
                |x| x.fetch_add(1, SeqCst),
                |x| usize::from(x.compare_exchange(1, 3, SeqCst, SeqCst).is_ok()),
            ],
        )
    });
}

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

#[test]
fn reader_writer_locks() {
    let reading = "
        rwlock rw;
        shared x = 0;
        thread a { read_lock rw; let v = x; read_unlock rw; r0 = v; }
        thread b { write_lock rw; x = 1; write_unlock rw; }
        thread c { r2 = 2; if try_read_lock(rw) { let v = x; read_unlock rw; r2 = v; } }
    ";
    fn read(rw: &RwLock<usize>) -> usize {
        *rw.read().unwrap()
    }
    fn write(rw: &RwLock<usize>) -> usize {
        *rw.write().unwrap() = 1;
        0
    }
    compare(reading, 3, || {
        together(RwLock::new(0), &[read, write, |rw| rw.try_read().map_or(2, |x| *x)])
    });
    let writing = "
        rwlock rw;
        shared x = 0;
        thread a { read_lock rw; let v = x; read_unlock rw; r0 = v; }
        thread b { write_lock rw; x = 1; write_unlock rw; }
        thread c { r2 = 3; if try_write_lock(rw) { let v = x; x = 2; write_unlock rw; r2 = v; } }
    ";
    compare(writing, 4, || {
        let try_write: fn(&RwLock<usize>) -> usize =
            |rw| rw.try_write().map_or(3, |mut x| std::mem::replace(&mut x, 2));
        together(RwLock::new(0), &[read, write, try_write])
    });
}

#[test]
fn conditions() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread consumer {
            lock m;
            let waits = 0;
            while items == 0 { waits += 1; wait(ready, m); }
            let v = items;
            unlock m;
            r0 = v * 2 + waits;
        }
        thread producer(i in 0..2) { lock m { items += 1; } signal(ready); }
    ";
    fn produce((m, ready): &(Mutex<usize>, Condvar)) -> usize {
        *m.lock().unwrap() += 1;
        ready.notify_one();
        0
    }
    compare(model, 8, || {
        let consume: fn(&(Mutex<usize>, Condvar)) -> usize = |(m, ready)| {
            let (mut items, mut waits) = (m.lock().unwrap(), 0);
            while *items == 0 {
                waits += 1;
                items = ready.wait(items).unwrap();
            }
            *items * 2 + waits
        };
        together((Mutex::new(0), Condvar::new()), &[consume, produce, produce])[..1].to_vec()
    });
}

#[test]
fn barriers() {
    let model = "
        shared atomic x = 0;
        shared atomic arrived = 0;
        thread a {
            x = 1;
            let before = fetch_add(arrived, 1);
            if before < 1 { await arrived == 2; }
            let v = x;
            r0 = v * 2 + before;
        }
        thread b {
            x = 2;
            let before = fetch_add(arrived, 1);
            if before < 1 { await arrived == 2; }
            let v = x;
            r1 = v * 2 + before;
        }
    ";
    fn meet((x, barrier): &(AtomicUsize, Barrier), value: usize) -> usize {
        x.store(value, SeqCst);
        let leads = barrier.wait().is_leader();
        x.load(SeqCst) * 2 + usize::from(leads)
    }
    compare(model, 6, || {
        together((AtomicUsize::new(0), Barrier::new(2)), &[|it| meet(it, 1), |it| meet(it, 2)])
    });
}

#[test]
fn initialisation() {
    // 0: nobody came, 1: it runs, 2: it is complete.
    let model = "
        shared atomic state = 0;
        shared value = 0;
        thread a {
            let mine = false;
            atomic { await state != 1; if state == 0 { state = 1; mine = true; } }
            if mine { value = 1; state = 2; }
            let v = value; r0 = v;
        }
        thread b {
            let mine = false;
            atomic { await state != 1; if state == 0 { state = 1; mine = true; } }
            if mine { value = 2; state = 2; }
            let v = value; r1 = v;
        }
        thread c { let complete = state == 2; if complete { let v = value; r2 = v; } }
    ";
    compare(model, 3, || {
        together(
            OnceLock::new(),
            &[
                |cell| *cell.get_or_init(|| 1),
                |cell| *cell.get_or_init(|| 2),
                |cell| cell.get().copied().unwrap_or(0),
            ],
        )
    });
}

#[test]
fn channels() {
    let model = "
        thread receiver {
            receive (let a) { r0 = a; }
            receive (let b) { r1 = b; }
            receive (let c) { r2 = c; }
        }
        thread one { send receiver(1); send receiver(2); }
        thread other { send receiver(3); }
    ";
    compare(model, 4, || {
        let (sender, receiver) = mpsc::channel();
        let other = sender.clone();
        let threads = [
            thread::spawn(move || (1..3).for_each(|message| sender.send(message).unwrap())),
            thread::spawn(move || other.send(3).unwrap()),
        ];
        let received = receiver.iter().collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        received
    });
}

#[test]
fn parking() {
    let model = "
        shared atomic x = 0;
        shared atomic token = 0;
        thread parked { atomic { await token == 1; token = 0; } let v = x; r0 = v; }
        thread other { x = 1; token = 1; x = 2; token = 1; }
    ";
    compare(model, 3, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (main, y) = (thread::current(), Arc::clone(&x));
        let other = thread::spawn(move || {
            for value in 1..=2 {
                y.store(value, SeqCst);
                main.unpark();
            }
        });
        thread::park();
        let seen = x.load(SeqCst);
        other.join().unwrap();
        vec![seen]
    });
}

#[test]
fn parking_for_a_time() {
    let model = "
        shared atomic x = 0;
        shared atomic token = 0;
        thread parked {
            if choose() { atomic { await token == 1; token = 0; } }
            let v = x;
            r0 = v;
        }
        thread other { x = 1; token = 1; x = 2; }
    ";
    compare(model, 3, || {
        let x = Arc::new(AtomicUsize::new(0));
        let (main, y) = (thread::current(), Arc::clone(&x));
        let other = thread::spawn(move || {
            y.store(1, SeqCst);
            main.unpark();
            y.store(2, SeqCst);
        });
        thread::park_timeout(Duration::from_secs(1));
        let seen = x.load(SeqCst);
        other.join().unwrap();
        vec![seen]
    });
}

#[test]
fn waiting_for_a_time() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread consumer {
            let up = 0;
            lock m;
            if items == 0 {
                if choose() { up = 1; unlock m; lock m; } else { wait(ready, m); }
            }
            let v = items;
            unlock m;
            r0 = v * 2 + up;
        }
        thread producer(i in 0..2) { lock m { items += 1; } signal(ready); }
    ";
    fn produce((m, ready): &(Mutex<usize>, Condvar)) -> usize {
        *m.lock().unwrap() += 1;
        ready.notify_one();
        0
    }
    compare(model, 6, || {
        let consume: fn(&(Mutex<usize>, Condvar)) -> usize = |(m, ready)| {
            let (mut items, mut up) = (m.lock().unwrap(), false);
            if *items == 0 {
                let (guard, result) = ready.wait_timeout(items, Duration::ZERO).unwrap();
                (items, up) = (guard, result.timed_out());
            }
            *items * 2 + usize::from(up)
        };
        together((Mutex::new(0), Condvar::new()), &[consume, produce, produce])[..1].to_vec()
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

#[test]
fn ends_of_threads() {
    let model = "
        shared atomic x = 0;
        shared atomic done = 0;
        thread looks { let d = done; let v = x; r0 = d * 2 + v; }
        thread other { x = 1; done = 1; }
    ";
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let other = thread::spawn(move || y.store(1, SeqCst));
        let finished = other.is_finished();
        let seen = x.load(SeqCst);
        other.join().unwrap();
        vec![usize::from(finished) * 2 + seen]
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
