//! Programs of published suites: litmus tests of GenMC's and Nidhugg's, and store buffering between three threads.

use super::{Instruction, LitmusProgram, add, cas, fence, load, lock, plus, store, sum, unlock};
use selvedge_core::Order;

use Order::{Acquire, Relaxed, Release, SeqCst};

type Code = Vec<Instruction>;

/// Returns these programs with their names.
pub fn published() -> Vec<(&'static str, LitmusProgram)> {
    let (x, y, z) = (0, 1, 2);
    let r = (Relaxed, Relaxed);
    let mut co_a: Vec<Code> = vec![
        vec![store(x, 1, Release), load(0, y, Acquire), load(1, x, Acquire)],
        vec![store(x, 2, Release), load(0, z, Acquire), load(1, x, Acquire)],
    ];
    co_a.extend((0..4).map(|i| vec![store(y, i, Release), store(z, i, Release)]));
    let cas_w = (0..5).map(|i| vec![cas(0, x, (0, 1), r), store(x, i + 3, Release)]).collect();
    let lock_inc = vec![lock(0), load(0, x, Relaxed), store(x, plus(0, 1), Relaxed), unlock(0)];
    let read = |all: &[usize]| -> Code {
        all.iter().map(|&variable| load(0, variable, Acquire)).collect()
    };
    let write = |a, b| -> Code {
        (1..=3).flat_map(|value| [store(a, value, Release), store(b, value, Release)]).collect()
    };
    let big = vec![read(&[0, 1, 2, 3, 0, 1, 2]), read(&[0, 1, 2]), write(0, 1), write(2, 3)];
    let fib = |into| -> Code {
        let once = [load(0, x, Acquire), load(1, y, Acquire), store(into, sum(0, 1), Release)];
        std::iter::repeat_n(once, 5).flatten().collect()
    };
    let last = vec![load(0, x, Acquire), load(1, y, Acquire)];
    let ring = |mine, next, order, fenced: bool| -> Code {
        (1..=2)
            .flat_map(|value| {
                let mut code = vec![store(mine, value, order)];
                code.extend(fenced.then(|| fence(SeqCst)));
                code.push(load(0, next, order));
                code
            })
            .collect()
    };
    let rings = |order, fenced| {
        vec![ring(x, y, order, fenced), ring(y, z, order, fenced), ring(z, x, order, fenced)]
    };
    vec![
        ("CoA(5)", LitmusProgram::new(co_a)),
        ("casw(5)", LitmusProgram::new(cas_w)),
        ("ainc(7)", LitmusProgram::new(vec![vec![add(0, x, 1, Relaxed)]; 7])),
        ("lockinc(7)", LitmusProgram::new(vec![lock_inc; 7])),
        ("big0", LitmusProgram::new(big)),
        (
            "fib_bench(5)",
            LitmusProgram::new(vec![fib(x), fib(y), last]).with_initial(&[(x, 1), (y, 1)]),
        ),
        ("SB x3, SeqCst", LitmusProgram::new(rings(SeqCst, false))),
        ("SB x3, fences", LitmusProgram::new(rings(Relaxed, true))),
    ]
}
