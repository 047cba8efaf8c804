//! Cells: an access is a data race exactly if it is one in a model with plain variables.

use std::sync::Arc;

use selvedge::cell::{Cell, UnsafeCell};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Mutex, RwLock};
use selvedge::{Algorithm, Builder, Verdict, ViolationKind, thread};
use selvedge_explore::{Observer, Options};
use selvedge_lang::{Interpreter, compile};
use selvedge_testkit::explore;

struct Unobserved;

impl Observer for Unobserved {}

/// Whether a model can race, by brute force.
fn model_races(model: &str) -> bool {
    let program = compile("model.sel", model, &[]).expect("a correct model").program;
    let make = || Interpreter::new(Arc::clone(&program));
    let options = Options { data_races: true, keep_going: true, ..Options::default() };
    let report = explore(Algorithm::Oracle, &make, &options, &mut Unobserved);
    assert!(report.inconclusive.is_empty(), "{report:?}");
    let kinds: Vec<_> = report.violations.iter().map(|(violation, _)| violation.kind).collect();
    assert!(kinds.iter().all(|&kind| kind == ViolationKind::DataRace), "{kinds:?}");
    !kinds.is_empty()
}

/// What the programs share.
struct Shared {
    cell: Cell<usize>,
    raw: UnsafeCell<usize>,
    flag: AtomicUsize,
    lock: Mutex<()>,
    rw: RwLock<()>,
}

// SAFETY: some programs are wrong, and the check must say so.
unsafe impl Sync for Shared {}

impl Shared {
    fn read(&self) -> usize {
        // SAFETY: threads of checked code run one at a time.
        self.cell.get() + self.raw.with(|value| unsafe { *value })
    }

    fn write(&self) {
        self.cell.set(1);
        // SAFETY: as above.
        self.raw.with_mut(|value| unsafe { *value = 1 });
    }
}

/// Runs the closures, the first one in main.
fn code_races(algorithm: Algorithm, threads: &'static [fn(&Shared)]) -> bool {
    let outcome = Builder::new().algorithm(algorithm).explore(move || {
        let shared = Arc::new(Shared {
            cell: Cell::new(0),
            raw: UnsafeCell::new(0),
            flag: AtomicUsize::new(0),
            lock: Mutex::new(()),
            rw: RwLock::new(()),
        });
        let handles: Vec<_> = threads[1..]
            .iter()
            .map(|run| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || run(&shared))
            })
            .collect();
        threads[0](&shared);
        handles.into_iter().for_each(|handle| handle.join().unwrap());
    });
    match outcome.verdict() {
        Verdict::Verified => false,
        _ => {
            let is_race = |&kind: &ViolationKind| kind == ViolationKind::DataRace;
            assert!(outcome.kinds().iter().all(is_race), "{}", outcome.text());
            true
        }
    }
}

#[track_caller]
fn compare(races: bool, threads: &'static [fn(&Shared)], model: &str) {
    let declared = "
        shared cell = 0;
        shared atomic flag = 0;
        mutex m;
        rwlock rw;
    ";
    assert_eq!(model_races(&format!("{declared}{model}")), races, "the model");
    for algorithm in [Algorithm::Optimal, Algorithm::Source, Algorithm::Quasi, Algorithm::Oracle] {
        assert_eq!(code_races(algorithm, threads), races, "{algorithm:?}");
    }
}

#[test]
fn without_synchronisation() {
    compare(
        true,
        &[|it| it.write(), |it| _ = it.read(), |_| ()],
        "thread a { cell = 1; } thread b { let v = cell; }",
    );
    compare(
        true,
        &[|_| (), |it| it.write(), |it| it.write()],
        "thread a { cell = 1; } thread b { cell = 1; }",
    );
    compare(
        false,
        &[|it| _ = it.read(), |it| _ = it.read(), |it| _ = it.read()],
        "thread t(i in 0..3) { let v = cell; }",
    );
}

#[test]
fn behind_locks() {
    compare(
        false,
        &[
            |it| {
                let _guard = it.lock.lock().unwrap();
                it.write();
            },
            |it| {
                let _guard = it.lock.lock().unwrap();
                it.read();
            },
            |it| {
                if let Ok(_guard) = it.lock.try_lock() {
                    it.write();
                }
            },
        ],
        "thread a { lock m { cell = 1; } }
        thread b { lock m { let v = cell; } }
        thread c { if try_lock(m) { cell = 1; unlock m; } }",
    );
    // Two read, and one of them writes.
    compare(
        true,
        &[
            |it| {
                let _guard = it.rw.read().unwrap();
                it.read();
            },
            |it| {
                let _guard = it.rw.read().unwrap();
                it.write();
            },
        ],
        "thread a { read_lock rw { let v = cell; } } thread b { read_lock rw { cell = 1; } }",
    );
    compare(
        false,
        &[
            |it| {
                let _guard = it.rw.read().unwrap();
                it.read();
            },
            |it| {
                let _guard = it.rw.write().unwrap();
                it.write();
            },
            |it| {
                let _guard = it.rw.read().unwrap();
                it.read();
            },
        ],
        "thread a { read_lock rw { let v = cell; } }
        thread b { write_lock rw { cell = 1; } }
        thread c { read_lock rw { let v = cell; } }",
    );
    // It lets go too early.
    compare(
        true,
        &[
            |it| {
                drop(it.lock.lock().unwrap());
                it.write();
            },
            |it| {
                let _guard = it.lock.lock().unwrap();
                it.read();
            },
        ],
        "thread a { lock m; unlock m; cell = 1; } thread b { lock m { let v = cell; } }",
    );
}

#[test]
fn behind_a_flag() {
    // Published once it is written.
    compare(
        false,
        &[
            |it| {
                it.write();
                it.flag.store(1, SeqCst);
            },
            |it| {
                if it.flag.load(SeqCst) == 1 {
                    it.read();
                }
            },
            |it| {
                if it.flag.load(SeqCst) == 1 {
                    it.read();
                }
            },
        ],
        "thread a { cell = 1; flag = 1; }
        thread t(i in 0..2) { if flag == 1 { let v = cell; } }",
    );
    // Published too early.
    compare(
        true,
        &[
            |it| {
                it.flag.store(1, SeqCst);
                it.write();
            },
            |it| {
                if it.flag.load(SeqCst) == 1 {
                    it.read();
                }
            },
        ],
        "thread a { flag = 1; cell = 1; } thread b { if flag == 1 { let v = cell; } }",
    );
    // Both who find it published write.
    compare(
        true,
        &[
            |it| {
                it.write();
                it.flag.store(1, SeqCst);
            },
            |it| {
                if it.flag.load(SeqCst) == 1 {
                    it.write();
                }
            },
            |it| {
                if it.flag.load(SeqCst) == 1 {
                    it.write();
                }
            },
        ],
        "thread a { cell = 1; flag = 1; }
        thread t(i in 0..2) { if flag == 1 { cell = 1; } }",
    );
    // Only one of them does: who is first.
    compare(
        false,
        &[
            |it| {
                it.write();
                it.flag.store(1, SeqCst);
            },
            |it| {
                if it.flag.compare_exchange(1, 2, SeqCst, SeqCst).is_ok() {
                    it.write();
                }
            },
            |it| {
                if it.flag.compare_exchange(1, 2, SeqCst, SeqCst).is_ok() {
                    it.write();
                }
            },
        ],
        "thread a { cell = 1; flag = 1; }
        thread t(i in 0..2) { if compare_exchange(flag, 1, 2) { cell = 1; } }",
    );
}

/// An access that goes on while the thread does something else races with what comes in between.
#[test]
fn accesses_that_last() {
    compare(
        true,
        &[
            |it| {
                it.raw.with_mut(|value| {
                    it.flag.store(1, SeqCst);
                    // SAFETY: threads of checked code run one at a time.
                    unsafe { *value = 1 };
                });
            },
            |it| {
                if it.flag.load(SeqCst) == 1 {
                    it.read();
                }
            },
        ],
        "thread a { cell = 1; flag = 1; cell = 1; } thread b { if flag == 1 { let v = cell; } }",
    );
    compare(
        false,
        &[
            |it| {
                it.raw.with(|value| {
                    it.flag.store(1, SeqCst);
                    // SAFETY: as above.
                    unsafe { *value }
                });
            },
            |it| {
                if it.flag.load(SeqCst) == 1 {
                    it.read();
                }
            },
        ],
        "thread a { let v = cell; flag = 1; let w = cell; }
        thread b { if flag == 1 { let v = cell; } }",
    );
}
