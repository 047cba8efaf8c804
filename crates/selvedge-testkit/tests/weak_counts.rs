//! GenMC's expected counts (v0.11.0, `tests/correct`), with its programs restated. Executions that an `assume` stopped
//! are not counted. One differs, Z6.U: see `weak_litmus.rs`.

use selvedge_core::Order;
use selvedge_explore::Memory;
use selvedge_testkit::litmus::{
    Condition, Instruction, LitmusProgram, Value, add, assume, cas, fence, load, lock, plus,
    skip_unless, store, sum, swap, tally, unlock,
};

use Order::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};

type Code = Vec<Instruction>;

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;
const R: (Order, Order) = (Relaxed, Relaxed);

fn is(register: usize, value: i64) -> Condition {
    Condition::Is(plus(register, 0), Value::Constant(value))
}

fn is_not(register: usize, value: i64) -> Condition {
    Condition::IsNot(plus(register, 0), Value::Constant(value))
}

fn more(register: usize, value: i64) -> Condition {
    Condition::Less(Value::Constant(value), plus(register, 0))
}

fn check(name: &str, threads: Vec<Code>, sc: u64, rc11: u64) {
    check_from(name, LitmusProgram::new(threads), sc, rc11);
}

fn check_from(name: &str, program: LitmusProgram, sc: u64, rc11: u64) {
    for (memory, expected) in [(Memory::Sc, sc), (Memory::Rc11, rc11)] {
        let report = tally(&program, memory, &|_| false).report;
        let found = report.counts.complete + report.counts.deadlocked;
        assert_eq!(found, expected, "{name}, {memory:?}");
        assert_eq!(report.counts.redundant, 0, "{name}");
    }
}

#[test]
fn message_passing() {
    let writer = || vec![store(X, 1, NonAtomic), store(Y, 0, Release), store(Y, 1, Relaxed)];
    let reader = vec![load(0, Y, Acquire), skip_unless(is_not(0, 0), 1), load(1, X, NonAtomic)];
    check("MP+rels+acq", vec![writer(), reader], 3, 4);
    let writes_if_more =
        |than| vec![load(0, Y, Acquire), skip_unless(more(0, than), 1), store(X, 2, NonAtomic)];
    check("MPU", vec![writer(), vec![add(0, Y, 1, Relaxed)], writes_if_more(1)], 12, 13);
    check(
        "MPU2",
        vec![writer(), vec![cas(0, Y, (2, 3), R)], vec![cas(0, Y, (1, 2), R)], writes_if_more(2)],
        35,
        36,
    );
    check(
        "relseq",
        vec![
            vec![store(X, 1, Relaxed), store(Y, 1, Release), store(Y, 2, Relaxed)],
            vec![swap(0, Y, 3, Relaxed)],
            vec![load(0, Y, Relaxed), fence(AcqRel), load(1, X, Relaxed)],
        ],
        16,
        20,
    );
    check(
        "viktor-relseq",
        vec![
            vec![add(0, X, 1, Acquire), add(0, X, 1, Relaxed)],
            vec![add(0, X, 1, Relaxed), add(0, X, 1, Relaxed)],
            vec![add(0, X, 1, Release)],
            vec![add(0, X, 1, Relaxed)],
        ],
        180,
        180,
    );
}

#[test]
fn seqcst() {
    check(
        "psc-sbhbsb",
        vec![
            vec![store(X, 1, SeqCst), store(Y, 1, SeqCst)],
            vec![load(0, X, Acquire), assume(is(0, 1)), load(1, Y, SeqCst), assume(is(1, 0))],
        ],
        1,
        1,
    );
    check(
        "psc-base-notin-ar",
        vec![
            vec![load(0, X, Relaxed), assume(is(0, 2)), store(Y, 1, SeqCst)],
            vec![store(Y, 2, SeqCst)],
            vec![load(0, Y, Relaxed), assume(is(0, 2)), store(X, plus(0, 0), Relaxed)],
        ],
        1,
        2,
    );
    check(
        "psc-ar",
        vec![
            vec![
                load(0, Y, Relaxed),
                assume(is(0, 1)),
                fence(SeqCst),
                load(1, Z, Relaxed),
                assume(is(1, 0)),
            ],
            vec![store(Z, 1, Relaxed), fence(SeqCst), store(X, 1, Relaxed)],
            vec![load(0, X, Relaxed), assume(is(0, 1)), store(Y, 1, Relaxed)],
        ],
        0,
        1,
    );
    check(
        "2+2W+3sc+rel1",
        vec![
            vec![store(X, 1, SeqCst), store(Y, 2, SeqCst)],
            vec![store(Y, 1, Release), store(X, 2, SeqCst)],
        ],
        3,
        4,
    );
    check(
        "SB+2sc+scf",
        vec![
            vec![store(X, 1, SeqCst), load(0, Y, SeqCst)],
            vec![store(Y, 1, Relaxed), fence(SeqCst), load(0, X, Relaxed)],
        ],
        3,
        3,
    );
    check(
        "W+RWC",
        vec![
            vec![store(X, 1, Relaxed), store(Z, 1, Release)],
            vec![load(0, Z, Acquire), fence(SeqCst), load(1, Y, Relaxed)],
            vec![store(Y, 1, Relaxed), fence(SeqCst), load(0, X, Relaxed)],
        ],
        7,
        7,
    );
    check(
        "RWC+syncs",
        vec![
            vec![store(X, 1, Relaxed)],
            vec![load(0, X, Relaxed), fence(SeqCst), load(1, Y, Relaxed)],
            vec![store(Y, 1, Relaxed), fence(SeqCst), load(0, X, Relaxed)],
        ],
        7,
        7,
    );
}

#[test]
fn one_location() {
    let (release, acquire) = (Release, Acquire);
    check(
        "CoRR",
        vec![
            vec![store(X, 1, release), store(X, 2, release)],
            vec![load(0, X, acquire), load(1, X, acquire)],
        ],
        6,
        6,
    );
    check(
        "inc2w",
        vec![vec![add(0, X, 1, Relaxed)], vec![store(X, 4, Release)], vec![add(0, X, 2, Relaxed)]],
        6,
        6,
    );
    check(
        "ccr",
        vec![vec![cas(0, X, (0, 42), R)], vec![cas(0, X, (0, 17), R), load(0, X, Relaxed)]],
        2,
        2,
    );
    check(
        "detour",
        vec![
            vec![store(X, 1, Relaxed)],
            vec![
                load(0, Z, Relaxed),
                store(X, plus(0, -1), Relaxed),
                load(1, X, Relaxed),
                store(Y, plus(1, 0), Relaxed),
            ],
            vec![load(0, Y, Relaxed), store(Z, plus(0, 0), Relaxed)],
        ],
        9,
        9,
    );
    for (threads, count) in [(2, 6), (3, 66), (4, 1200)] {
        let code = |value: i64| vec![cas(0, X, (0, 1), R), store(X, value + 3, Release)];
        check("casw", (0..threads).map(code).collect(), count, count);
    }
    for (threads, count) in [(3, 5), (5, 43), (7, 523), (8, 2048)] {
        let code = |value| vec![cas(0, X, (value - 1, value), R)];
        check("casrot", (1..=threads).map(code).collect(), count, count);
    }
    for (threads, count) in [(1, 2), (2, 5), (4, 33)] {
        let mut all = vec![vec![store(X, 2, Release)]];
        all.extend(vec![vec![cas(0, X, (2, 3), R)]; threads]);
        check("wcas", all, count, count);
    }
    for (threads, count) in [(4, 24), (7, 5040)] {
        check("ainc", vec![vec![add(0, X, 1, Relaxed)]; threads], count, count);
    }
    for (threads, count) in [(2, 4), (3, 36), (4, 576)] {
        let code = vec![load(0, X, Acquire), store(X, plus(0, 1), Release)];
        check("inc", vec![code; threads], count, count);
    }
    for (threads, count) in [(3, 6), (4, 24), (7, 5040)] {
        let code = vec![lock(0), load(0, X, Relaxed), store(X, plus(0, 1), Relaxed), unlock(0)];
        check("lockinc", vec![code; threads], count, count);
    }
}

#[test]
fn co_a() {
    for (n, sc, rc11) in [(2, 15, 16), (3, 130, 144), (4, 2028, 2304)] {
        let mut threads = vec![
            vec![store(X, 1, Release), load(0, Y, Acquire), load(1, X, Acquire)],
            vec![store(X, 2, Release), load(0, Z, Acquire), load(1, X, Acquire)],
        ];
        threads.extend((0..n - 1).map(|i| vec![store(Y, i, Release), store(Z, i, Release)]));
        check("CoA", threads, sc, rc11);
    }
}

#[test]
fn algorithms() {
    for (w, r, rc11) in [(Release, Acquire, 22), (SeqCst, SeqCst, 4)] {
        let (turn, x) = (2, 3);
        let code = |me, you, mine: i64, value: i64| {
            vec![
                store(me, 1, w),
                store(turn, mine, w),
                load(0, you, r),
                skip_unless(is(0, 1), 2),
                load(1, turn, r),
                assume(is_not(1, mine)),
                store(x, value, w),
                load(2, x, r),
                store(me, 0, w),
            ]
        };
        check("peterson", vec![code(0, 1, 1, 0), code(1, 0, 0, 1)], 4, rc11);
    }
    let sieve = |n: usize| {
        let mut code = Vec::new();
        for i in 0..n {
            let crossed: Vec<usize> = (2 * i + 2..n).step_by(i + 2).collect();
            code.push(load(0, i, Acquire));
            code.push(skip_unless(is(0, 0), 1 + crossed.len()));
            code.push(store(i, 1, Release));
            code.extend(crossed.into_iter().map(|j| store(j, 2, Release)));
        }
        vec![code.clone(), code]
    };
    check("eratosthenes", sieve(5), 398, 1512);
    let readers = |n: usize| {
        let mut threads = vec![vec![store(X, 1, Release)]];
        threads.extend((1..=n).map(|i| vec![load(0, i, Acquire), load(1, X, Acquire)]));
        threads
    };
    check("readers", readers(8), 256, 256);
    let last_zero = |n: usize| {
        let mut first = Vec::new();
        for i in (0..=n).rev() {
            // As soon as one is 0 it skips the rest.
            first.push(load(0, i, Acquire));
            first.push(skip_unless(is_not(0, 0), 2 * i));
        }
        let mut threads = vec![first];
        threads
            .extend((1..=n).map(|j| vec![load(0, j - 1, Acquire), store(j, plus(0, 1), Release)]));
        threads
    };
    check("lastzero", last_zero(5), 64, 64);
}

/// The larger ones.
#[test]
fn large() {
    let (w, o) = (Release, Acquire);
    let writer =
        |a, b| (1..=3).flat_map(|value| [store(a, value, w), store(b, value, w)]).collect::<Code>();
    let read = |variables: &[usize]| -> Code {
        variables.iter().map(|&variable| load(0, variable, o)).collect()
    };
    check(
        "big0",
        vec![read(&[0, 1, 2, 3, 0, 1, 2]), read(&[0, 1, 2]), writer(0, 1), writer(2, 3)],
        69112,
        82472,
    );
    let fib = |times, into| -> Code {
        (0..times).flat_map(|_| [load(0, X, o), load(1, Y, o), store(into, sum(0, 1), w)]).collect()
    };
    let program =
        LitmusProgram::new(vec![fib(5, X), fib(5, Y), vec![load(0, X, o), load(1, Y, o)]]);
    check_from("fib_bench(5)", program.with_initial(&[(X, 1), (Y, 1)]), 218_243, 525_630);
}
