//! Initialisation that happens once, also if it panics.
//!
//! In all models, `state` is 0 if no thread came, 1 while it runs, 2 when it is complete, 3 when it panicked.

use std::sync::Arc;

use crate::common::model::{attempt, compare, together};
use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{LazyLock, Once, OnceLock};

#[test]
fn waiting_for_others() {
    let model = "
        shared atomic state = 0;
        shared atomic x = 0;
        thread a {
            let mine = false;
            atomic { await state != 1; if state == 0 { state = 1; mine = true; } }
            if mine { x = 1; state = 2; }
        }
        thread b { await state == 2; let v = x; r1 = v; }
        thread c { x = 2; let v = state; if v == 2 { r2 = 1; } }
    ";
    compare(model, 3, || {
        together(
            (Once::new(), AtomicUsize::new(0)),
            &[
                |(once, x)| {
                    once.call_once(|| x.store(1, SeqCst));
                    0
                },
                |(once, x)| {
                    once.wait();
                    x.load(SeqCst)
                },
                |(once, x)| {
                    x.store(2, SeqCst);
                    usize::from(once.is_completed())
                },
            ],
        )
    });
}

/// What others find after a panic: those who insist, those who do not, and those who wait.
const AFTER_A_PANIC: &str = "
    shared atomic state = 0;
    shared atomic x = 0;
    thread a {
        let seen = 0;
        atomic { await state != 1; seen = state; if seen == 0 { state = 1; } }
        if seen == 0 { let v = x; r0 = v; state = 3; } else { r0 = 3; }
    }
    thread b {
        x = 1;
        let seen = 0;
        atomic { await state != 1; seen = state; if seen != 2 { state = 1; } }
        if seen != 2 { state = 2; r1 = 1; }
        if seen == 3 { r1 = 2; }
    }
";

type Shared = (Once, AtomicUsize);

/// Returns what it saw before it panicked.
fn panics((once, x): &Shared) -> usize {
    let mut seen = 3;
    attempt(0, || {
        once.call_once(|| {
            seen = x.load(SeqCst);
            panic!("out of luck");
        });
        0
    });
    seen
}

/// Returns whether it ran, and whether there was a panic before.
fn insists((once, x): &Shared) -> usize {
    x.store(1, SeqCst);
    let mut ran = 0;
    once.call_once_force(|state| ran = 1 + usize::from(state.is_poisoned()));
    ran
}

#[test]
fn who_insists_and_who_does_not() {
    let model = format!(
        "{AFTER_A_PANIC}
        thread c {{
            let seen = 0;
            atomic {{ await state != 1; seen = state; if seen == 0 {{ state = 1; }} }}
            if seen == 0 {{ state = 2; }}
            r2 = seen;
        }}"
    );
    compare(&model, 4, || {
        let third: fn(&Shared) -> usize = |(once, _)| {
            attempt(3, || {
                let mut ran = 2;
                once.call_once(|| ran = 0);
                ran
            })
        };
        together((Once::new(), AtomicUsize::new(0)), &[panics, insists, third])
    });
}

#[test]
fn who_waits_sees_a_panic() {
    let model = format!(
        "{AFTER_A_PANIC}
        thread c {{ let seen = 0; atomic {{ await state >= 2; seen = state; }} r2 = seen; }}"
    );
    compare(&model, 4, || {
        let third: fn(&Shared) -> usize = |(once, _)| {
            attempt(3, || {
                once.wait();
                2
            })
        };
        together((Once::new(), AtomicUsize::new(0)), &[panics, insists, third])
    });
    let model = format!("{AFTER_A_PANIC} thread c {{ await state == 2; let v = x; r2 = v; }}");
    compare(&model, 4, || {
        let third: fn(&Shared) -> usize = |(once, x)| {
            once.wait_force();
            x.load(SeqCst)
        };
        together((Once::new(), AtomicUsize::new(0)), &[panics, insists, third])
    });
}

#[test]
fn cells_that_are_filled_once() {
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
fn cells_that_are_set() {
    let model = "
        shared atomic state = 0;
        shared value = 0;
        thread a {
            let mine = false;
            atomic { await state != 1; if state == 0 { state = 1; mine = true; } }
            if mine { value = 1; state = 2; r0 = 1; }
        }
        thread b {
            let mine = false;
            atomic { await state != 1; if state == 0 { state = 1; mine = true; } }
            if mine { value = 2; state = 2; r1 = 1; }
        }
        thread c { await state == 2; let v = value; r2 = v; }
    ";
    compare(model, 3, || {
        together(
            OnceLock::new(),
            &[
                |cell| usize::from(cell.set(1).is_ok()),
                |cell| usize::from(cell.set(2).is_ok()),
                |cell| *cell.wait(),
            ],
        )
    });
}

/// After a panic, a cell can be filled by others.
#[test]
fn cells_whose_initialiser_panics() {
    let model = "
        shared atomic state = 0;
        shared atomic x = 0;
        shared value = 0;
        thread a {
            let seen = 0;
            atomic { await state != 1; seen = state; if seen != 2 { state = 1; } }
            if seen != 2 {
                let v = x;
                if v == 0 { state = 3; r0 = 3; } else { value = v; state = 2; r0 = v; }
            } else { let v = value; r0 = v; }
        }
        thread b {
            x = 1;
            let seen = 0;
            atomic { await state != 1; seen = state; if seen != 2 { state = 1; } }
            if seen != 2 { value = 2; state = 2; }
            let v = value; r1 = v;
        }
        thread c { await state == 2; let v = value; r2 = v; }
    ";
    compare(model, 4, || {
        together(
            (OnceLock::new(), AtomicUsize::new(0)),
            &[
                |(cell, x)| {
                    let make = || match x.load(SeqCst) {
                        0 => panic!("too early"),
                        value => value,
                    };
                    attempt(3, || *cell.get_or_init(make))
                },
                |(cell, x)| {
                    x.store(1, SeqCst);
                    *cell.get_or_init(|| 2)
                },
                |(cell, _)| *cell.wait(),
            ],
        )
    });
}

/// After a panic, a lazy value is lost.
#[test]
fn lazy_values() {
    let model = "
        shared atomic state = 0;
        shared atomic x = 0;
        proc force(me: int) {
            let seen = 0;
            atomic { await state != 1; seen = state; if seen == 0 { state = 1; } }
            if seen == 0 {
                let v = x;
                if v == 0 { state = 3; seen = 3; } else { state = 2; seen = 2; }
            }
            if me == 0 { r0 = seen; } else { r1 = seen; }
        }
        thread a { force(0); }
        thread b { x = 1; force(1); }
        thread c { let v = state; if v == 2 { r2 = 1; } }
    ";
    type Lazy = LazyLock<usize, Box<dyn FnOnce() -> usize + Send>>;
    compare(model, 4, || {
        let x = Arc::new(AtomicUsize::new(0));
        let y = Arc::clone(&x);
        let make = move || match y.load(SeqCst) {
            0 => panic!("too early"),
            _ => 2,
        };
        let lazy: Lazy = LazyLock::new(Box::new(make));
        together(
            (lazy, x),
            &[
                |(lazy, _)| attempt(3, || **lazy),
                |(lazy, x)| {
                    x.store(1, SeqCst);
                    attempt(3, || *LazyLock::force(lazy))
                },
                |(lazy, _)| usize::from(LazyLock::get(lazy).is_some()),
            ],
        )
    });
}
