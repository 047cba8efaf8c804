//! Primitives against their specification: the same small program as a model in the language `.sel`
//! must have as many classes, by the best explorer and by brute force.

mod common;

use std::collections::HashSet;
use std::sync::Arc;

use common::executions;
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Condvar, Mutex, RwLock};
use selvedge::{Algorithm, thread};
use selvedge_core::{Ending, Execution, TraceKey};
use selvedge_explore::{Observer, Options, explore};
use selvedge_lang::{Interpreter, compile};

#[derive(Default)]
struct Keys(HashSet<TraceKey>);

impl Observer for Keys {
    fn execution(&mut self, execution: &Execution, _ending: Ending) {
        self.0.insert(TraceKey::of(execution));
    }
}

/// The classes of a model, by brute force.
fn classes(model: &str) -> u64 {
    let program = compile("model.sel", model, &[]).expect("a correct model").program;
    let make = || Interpreter::new(Arc::clone(&program));
    let mut keys = Keys::default();
    let report = explore(Algorithm::Oracle, &make, &Options::default(), &mut keys);
    assert!(report.violations.is_empty() && report.inconclusive.is_empty(), "{report:?}");
    keys.0.len() as u64
}

/// Runs the closures, the first one in main.
fn together<S: Send + Sync + 'static>(state: S, threads: &'static [fn(&S)]) {
    let state = Arc::new(state);
    let handles: Vec<_> = threads[1..]
        .iter()
        .map(|run| {
            let state = Arc::clone(&state);
            thread::spawn(move || run(&state))
        })
        .collect();
    threads[0](&state);
    handles.into_iter().for_each(|handle| handle.join().unwrap());
}

#[test]
fn atomics() {
    let model = "
        shared atomic x = 0;
        thread a { x = 1; let v = x; }
        thread b { let v = fetch_add(x, 1); }
        thread c { let v = compare_exchange(x, 1, 5); }
    ";
    let run = || {
        together(
            AtomicUsize::new(0),
            &[
                |x| {
                    x.store(1, SeqCst);
                    x.load(SeqCst);
                },
                |x| _ = x.fetch_add(1, SeqCst),
                |x| _ = x.compare_exchange(1, 5, SeqCst, SeqCst),
            ],
        );
    };
    assert_eq!(executions(run), classes(model));
}

#[test]
fn the_stack() {
    let model = "
        const N = 2;
        shared atomic head = -1;
        shared next[N] = -1;
        thread t(i in 0..N) {
            let old = head;
            loop {
                next[i] = old;
                if compare_exchange(head, old, i) { break; }
                old = head;
            }
        }
    ";
    let run = || {
        struct Stack {
            head: AtomicUsize,
            next: [AtomicUsize; 2],
        }
        fn push(stack: &Stack, i: usize) {
            let mut old = stack.head.load(SeqCst);
            loop {
                stack.next[i].store(old, SeqCst);
                if stack.head.compare_exchange(old, i, SeqCst, SeqCst).is_ok() {
                    break;
                }
                old = stack.head.load(SeqCst);
            }
        }
        let stack = Stack { head: AtomicUsize::new(9), next: [const { AtomicUsize::new(9) }; 2] };
        together(stack, &[|stack| push(stack, 0), |stack| push(stack, 1)]);
    };
    assert_eq!(executions(run), classes(model));
}

#[test]
fn mutexes() {
    let model = "
        mutex m;
        thread a { lock m; unlock m; lock m; unlock m; }
        thread b { if try_lock(m) { unlock m; } }
        thread c { lock m; unlock m; }
    ";
    let run = || {
        together(
            Mutex::new(()),
            &[
                |m| (0..2).for_each(|_| drop(m.lock().unwrap())),
                |m| drop(m.try_lock()),
                |m| drop(m.lock().unwrap()),
            ],
        );
    };
    assert_eq!(executions(run), classes(model));
}

#[test]
fn reader_writer_locks() {
    let model = "
        rwlock rw;
        thread a { read_lock rw; read_unlock rw; }
        thread b { write_lock rw; write_unlock rw; }
        thread c { if try_read_lock(rw) { read_unlock rw; } }
        thread d { if try_write_lock(rw) { write_unlock rw; } }
    ";
    let run = || {
        together(
            RwLock::new(()),
            &[
                |rw| drop(rw.read().unwrap()),
                |rw| drop(rw.write().unwrap()),
                |rw| drop(rw.try_read()),
                |rw| drop(rw.try_write()),
            ],
        );
    };
    assert_eq!(executions(run), classes(model));
}

#[test]
fn conditions() {
    let model = "
        mutex m;
        cond ready;
        shared items = 0;
        thread consumer(i in 0..2) {
            lock m {
                while items == 0 { wait(ready, m); }
                items -= 1;
            }
        }
        thread producer {
            lock m { items += 2; }
            broadcast(ready);
        }
    ";
    fn consume((m, ready): &(Mutex<u32>, Condvar)) {
        let mut items = m.lock().unwrap();
        while *items == 0 {
            items = ready.wait(items).unwrap();
        }
        *items -= 1;
    }
    let run = || {
        together(
            (Mutex::new(0), Condvar::new()),
            &[consume, consume, |(m, ready)| {
                *m.lock().unwrap() += 2;
                ready.notify_all();
            }],
        );
    };
    assert_eq!(executions(run), classes(model));
}
