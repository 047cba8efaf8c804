//! Atomics: every operation that reads and writes in one step, those that try again, and fences.

use crate::common::model::{compare, together};
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, fence};

#[test]
fn loads_stores_and_exchanges() {
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

/// The operation twice, beside two others. `next`: what it makes of `v`, in the language of models.
/// Bytes are numbers up to 255; results are what is left of them when divided by 8.
#[track_caller]
fn operation(next: &str, run: fn(&AtomicU8) -> u8) {
    let model = format!(
        "shared atomic x = 1;
        thread a {{
            atomic {{ let v = x; x = {next}; r0 = v % 8; }}
            atomic {{ let v = x; x = {next}; r1 = v % 8; }}
        }}
        thread b {{ x = 2; let w = x; r2 = w % 8; }}
        thread c {{ let w = exchange(x, 5); r3 = w % 8; }}"
    );
    compare(&model, 8, move || {
        let results = together(
            (AtomicU8::new(1), run),
            &[
                |(x, run)| {
                    let first = usize::from(run(x) % 8);
                    first + 8 * usize::from(run(x) % 8)
                },
                |(x, _)| {
                    x.store(2, Release);
                    usize::from(x.load(Acquire) % 8)
                },
                |(x, _)| usize::from(x.swap(5, AcqRel) % 8),
            ],
        );
        vec![results[0] % 8, results[0] / 8, results[1], results[2]]
    });
}

#[test]
fn arithmetic() {
    operation("if v >= 253 { v - 253 } else { v + 3 }", |x| x.fetch_add(3, SeqCst));
    operation("if v >= 3 { v - 3 } else { v + 253 }", |x| x.fetch_sub(3, SeqCst));
    operation("max(v, 3)", |x| x.fetch_max(3, SeqCst));
    operation("min(v, 3)", |x| x.fetch_min(3, SeqCst));
    operation("4", |x| x.swap(4, SeqCst));
}

#[test]
fn bits() {
    operation("v % 4", |x| x.fetch_and(3, SeqCst));
    operation("255 - v % 4", |x| x.fetch_nand(3, SeqCst));
    operation("v - v % 2 + 1", |x| x.fetch_or(1, SeqCst));
    operation("v + 1 - 2 * (v % 2)", |x| x.fetch_xor(1, SeqCst));
}

#[test]
fn comparisons() {
    operation("if v == 2 { 6 } else { v }", |x| {
        x.compare_exchange(2, 6, SeqCst, Relaxed).unwrap_or_else(|found| found)
    });
    operation("if v == 5 { 6 } else { v }", |x| {
        x.compare_exchange_weak(5, 6, AcqRel, Acquire).unwrap_or_else(|found| found)
    });
    operation("if v == 1 { 6 } else { v }", |x| x.compare_and_swap(1, 6, SeqCst));
}

/// A look, and then a compare-exchange for as long as it fails.
const UPDATE: &str = "
    let v = x;
    let done = false;
    while !done && v != 2 {
        atomic { if x == v { x = v + 3; done = true; } else { v = x; } }
    }
    r0 = if done { v } else { v + 4 };
";

#[test]
fn updates() {
    let model = format!(
        "shared atomic x = 0;
        thread a {{ {UPDATE} }}
        thread b {{ x = 1; x = 2; }}
        thread c {{ let w = x; r2 = w; }}"
    );
    type Update = fn(&AtomicUsize) -> Result<usize, usize>;
    fn run(update: Update) -> Vec<usize> {
        together(
            (AtomicUsize::new(0), update),
            &[
                |(x, update)| update(x).unwrap_or_else(|found| found + 4),
                |(x, _)| {
                    x.store(1, SeqCst);
                    x.store(2, SeqCst);
                    0
                },
                |(x, _)| x.load(SeqCst),
            ],
        )
    }
    compare(&model, 7, || run(|x| x.fetch_update(SeqCst, SeqCst, |v| (v != 2).then_some(v + 3))));
    compare(&model, 7, || run(|x| x.try_update(SeqCst, SeqCst, |v| (v != 2).then_some(v + 3))));
    let model = model.replace(" && v != 2", "");
    compare(&model, 7, || run(|x| Ok(x.update(SeqCst, SeqCst, |v| v + 3))));
}

#[test]
fn truth_values() {
    type Run = fn(&AtomicBool) -> bool;
    let table: [(&str, Run); 6] = [
        ("v", |x| x.fetch_and(true, SeqCst)),
        ("1 - v", |x| x.fetch_nand(true, SeqCst)),
        ("1", |x| x.fetch_or(true, SeqCst)),
        ("1 - v", |x| x.fetch_xor(true, SeqCst)),
        ("1 - v", |x| x.fetch_not(SeqCst)),
        ("if v == 0 { 1 } else { v }", |x| {
            x.compare_exchange(false, true, SeqCst, SeqCst).unwrap_or_else(|found| found)
        }),
    ];
    for (next, run) in table {
        let model = format!(
            "shared atomic x = 0;
            thread a {{ atomic {{ let v = x; x = {next}; r0 = v; }} let w = x; r1 = w; }}
            thread b {{ x = 1; }}
            thread c {{ let w = exchange(x, 0); r2 = w; }}"
        );
        compare(&model, 2, move || {
            let results = together(
                (AtomicBool::new(false), run),
                &[
                    |(x, run)| usize::from(run(x)) + 2 * usize::from(x.load(SeqCst)),
                    |(x, _)| {
                        x.store(true, SeqCst);
                        0
                    },
                    |(x, _)| usize::from(x.swap(false, SeqCst)),
                ],
            );
            vec![results[0] % 2, results[0] / 2, results[2]]
        });
    }
}

/// Places in an array, by their numbers; with tags in the lowest bit.
#[test]
fn pointers() {
    static ARRAY: [u16; 8] = [0; 8];
    fn place(number: usize) -> *mut u16 {
        ARRAY.as_ptr().cast_mut().wrapping_byte_add(number)
    }
    fn number(pointer: *mut u16) -> usize {
        pointer as usize - ARRAY.as_ptr() as usize
    }
    type Run = fn(&AtomicPtr<u16>) -> *mut u16;
    let table: [(&str, Run); 7] = [
        ("v + 4", |x| x.fetch_ptr_add(2, SeqCst)),
        ("v - 4", |x| x.fetch_ptr_sub(2, SeqCst)),
        ("v + 1", |x| x.fetch_byte_add(1, SeqCst)),
        ("v - 1", |x| x.fetch_byte_sub(1, SeqCst)),
        ("v - v % 2 + 1", |x| x.fetch_or(1, SeqCst)),
        ("v + 1 - 2 * (v % 2)", |x| x.fetch_xor(1, SeqCst)),
        ("if v == 5 { 6 } else { v }", |x| {
            let exchanged = x.compare_exchange(place(5), place(6), SeqCst, SeqCst);
            exchanged.unwrap_or_else(|found| found)
        }),
    ];
    for (next, run) in table {
        let model = format!(
            "shared atomic x = 4;
            thread a {{ atomic {{ let v = x; x = {next}; r0 = v; }} let w = x; r1 = w; }}
            thread b {{ x = 5; }}
            thread c {{ let w = exchange(x, 7); r2 = w; }}"
        );
        compare(&model, 16, move || {
            let results = together(
                (AtomicPtr::new(place(4)), run),
                &[
                    |(x, run)| number(run(x)) + 16 * number(x.load(SeqCst)),
                    |(x, _)| {
                        x.store(place(5), SeqCst);
                        0
                    },
                    |(x, _)| number(x.swap(place(7), SeqCst)),
                ],
            );
            vec![results[0] % 16, results[0] / 16, results[2]]
        });
    }
}

/// Fences order no accesses to atomics: executions are sequentially consistent with and without them.
#[test]
fn fences() {
    let model = "
        shared atomic x = 0;
        shared atomic y = 0;
        thread a { x = 1; let v = y; r0 = v; }
        thread b { y = 1; let v = x; r1 = v; }
        thread c { let v = x; let w = y; r2 = v * 2 + w; }
    ";
    compare(model, 4, || {
        together(
            [AtomicUsize::new(0), AtomicUsize::new(0)],
            &[
                |[x, y]| {
                    x.store(1, Relaxed);
                    fence(SeqCst);
                    y.load(Relaxed)
                },
                |[x, y]| {
                    y.store(1, Relaxed);
                    fence(SeqCst);
                    x.load(Relaxed)
                },
                |[x, y]| {
                    let first = x.load(Acquire);
                    fence(Acquire);
                    first * 2 + y.load(Acquire)
                },
            ],
        )
    });
}
