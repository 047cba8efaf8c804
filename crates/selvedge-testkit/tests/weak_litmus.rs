//! The litmus tests of the literature: how many executions each has under each memory model, and whether the weak
//! outcome is among them. Each number was found by brute force as well.

use selvedge_core::{Location, Order, ThreadId};
use selvedge_explore::{Act, Graph, Memory};
use selvedge_testkit::litmus::{Instruction, LitmusProgram, add, fence, load, store, tally};

use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

/// What makes an outcome the weak one.
#[derive(Clone, Debug)]
enum Fact {
    /// The thread reads these values, all in all.
    Reads(usize, Vec<u64>),
    /// The variable is this in the end.
    Last(usize, u64),
}

fn holds(fact: &Fact, graph: &Graph) -> bool {
    let reads = |thread: usize| -> Vec<u64> {
        let events = graph.events(ThreadId::new(thread)).iter();
        events.filter(|event| matches!(event.act, Act::Read { .. })).map(|e| e.value).collect()
    };
    match fact {
        Fact::Reads(thread, values) => reads(*thread) == *values,
        Fact::Last(variable, value) => {
            let last = graph.writes(Location::new(*variable)).last();
            last.map_or(0, |&write| graph.event(write).value) == *value
        }
    }
}

fn reads(thread: usize, values: &[u64]) -> Fact {
    Fact::Reads(thread, values.to_vec())
}

struct Test {
    name: &'static str,
    threads: Vec<Vec<Instruction>>,
    weak: Vec<Fact>,
}

fn test(name: &'static str, threads: Vec<Vec<Instruction>>, weak: Vec<Fact>) -> Test {
    Test { name, threads, weak }
}

/// `"3/4/4 TR"`: executions under SC, TSO and RC11, and the models that allow the weak outcome.
fn check(test: &Test, expected: &str) {
    let program = LitmusProgram::new(test.threads.clone());
    let weak = |graph: &Graph| test.weak.iter().all(|fact| holds(fact, graph));
    let mut counts = Vec::new();
    let mut allowed = String::new();
    for (memory, letter) in [(Memory::Sc, 'S'), (Memory::Tso, 'T'), (Memory::Rc11, 'R')] {
        let tally = tally(&program, memory, &weak);
        assert_eq!(tally.report.counts.redundant, 0, "{}", test.name);
        counts.push(tally.met.to_string());
        if tally.marked > 0 {
            allowed.push(letter);
        }
    }
    let found = format!("{} {allowed}", counts.join("/"));
    assert_eq!(found.trim(), expected, "{}: {:?}", test.name, test.threads);
}

/// The tests with writes of ordering `w`, reads of ordering `r` and updates of ordering `u`.
fn family(w: Order, r: Order, u: Order) -> Vec<Test> {
    vec![
        test(
            "MP",
            vec![vec![store(X, 1, w), store(Y, 1, w)], vec![load(0, Y, r), load(1, X, r)]],
            vec![reads(1, &[1, 0])],
        ),
        test(
            "SB",
            vec![vec![store(X, 1, w), load(0, Y, r)], vec![store(Y, 1, w), load(0, X, r)]],
            vec![reads(0, &[0]), reads(1, &[0])],
        ),
        test(
            "LB",
            vec![vec![load(0, X, r), store(Y, 1, w)], vec![load(0, Y, r), store(X, 1, w)]],
            vec![reads(0, &[1]), reads(1, &[1])],
        ),
        test(
            "IRIW",
            vec![
                vec![store(X, 1, w)],
                vec![store(Y, 1, w)],
                vec![load(0, X, r), load(1, Y, r)],
                vec![load(0, Y, r), load(1, X, r)],
            ],
            vec![reads(2, &[1, 0]), reads(3, &[1, 0])],
        ),
        test(
            "2+2W",
            vec![vec![store(X, 1, w), store(Y, 2, w)], vec![store(Y, 1, w), store(X, 2, w)]],
            vec![Fact::Last(X, 1), Fact::Last(Y, 1)],
        ),
        test(
            "S",
            vec![vec![store(X, 2, w), store(Y, 1, w)], vec![load(0, Y, r), store(X, 1, w)]],
            vec![reads(1, &[1]), Fact::Last(X, 2)],
        ),
        test(
            "R",
            vec![vec![store(X, 1, w), store(Y, 1, w)], vec![store(Y, 2, w), load(0, X, r)]],
            vec![reads(1, &[0]), Fact::Last(Y, 2)],
        ),
        test(
            "WRC",
            vec![
                vec![store(X, 1, w)],
                vec![load(0, X, r), store(Y, 1, w)],
                vec![load(0, Y, r), load(1, X, r)],
            ],
            vec![reads(1, &[1]), reads(2, &[1, 0])],
        ),
        test(
            "ISA2",
            vec![
                vec![store(X, 1, w), store(Y, 1, w)],
                vec![load(0, Y, r), store(Z, 1, w)],
                vec![load(0, Z, r), load(1, X, r)],
            ],
            vec![reads(1, &[1]), reads(2, &[1, 0])],
        ),
        test(
            "RWC",
            vec![
                vec![store(X, 1, w)],
                vec![load(0, X, r), load(1, Y, r)],
                vec![store(Y, 1, w), load(0, X, r)],
            ],
            vec![reads(1, &[1, 0]), reads(2, &[0])],
        ),
        test(
            "W+RWC",
            vec![
                vec![store(X, 1, w), store(Z, 1, w)],
                vec![load(0, Z, r), load(1, Y, r)],
                vec![store(Y, 1, w), load(0, X, r)],
            ],
            vec![reads(1, &[1, 0]), reads(2, &[0])],
        ),
        test(
            "Z6.U",
            vec![
                vec![store(X, 1, w), store(Y, 1, w)],
                vec![add(0, Y, 1, u), load(1, Z, r)],
                vec![store(Z, 1, w), load(0, X, r)],
            ],
            vec![reads(1, &[1, 0]), reads(2, &[0])],
        ),
        test(
            "Z6.3",
            vec![
                vec![store(X, 1, w), store(Y, 1, w)],
                vec![store(Y, 2, w), store(Z, 1, w)],
                vec![load(0, Z, r), load(1, X, r)],
            ],
            vec![reads(2, &[1, 0]), Fact::Last(Y, 2)],
        ),
        test(
            "3.SB",
            vec![
                vec![store(X, 1, w), load(0, Y, r)],
                vec![store(Y, 1, w), load(0, Z, r)],
                vec![store(Z, 1, w), load(0, X, r)],
            ],
            vec![reads(0, &[0]), reads(1, &[0]), reads(2, &[0])],
        ),
        test(
            "3.LB",
            vec![
                vec![load(0, X, r), store(Y, 1, w)],
                vec![load(0, Y, r), store(Z, 1, w)],
                vec![load(0, Z, r), store(X, 1, w)],
            ],
            vec![reads(0, &[1]), reads(1, &[1]), reads(2, &[1])],
        ),
        test(
            "CoRR",
            vec![vec![store(X, 1, w)], vec![load(0, X, r), load(1, X, r)]],
            vec![reads(1, &[1, 0])],
        ),
        test(
            "CoRR2",
            vec![
                vec![store(X, 1, w)],
                vec![store(X, 2, w)],
                vec![load(0, X, r), load(1, X, r)],
                vec![load(0, X, r), load(1, X, r)],
            ],
            vec![reads(2, &[1, 2]), reads(3, &[2, 1])],
        ),
        test("CoWW", vec![vec![store(X, 1, w), store(X, 2, w)]], vec![Fact::Last(X, 1)]),
        test(
            "CoWR",
            vec![vec![store(X, 1, w), load(0, X, r)], vec![store(X, 2, w)]],
            vec![reads(0, &[2]), Fact::Last(X, 1)],
        ),
        test(
            "CoRW",
            vec![vec![load(0, X, r), store(X, 1, w)], vec![store(X, 2, w)]],
            vec![reads(0, &[2]), Fact::Last(X, 2)],
        ),
        test(
            "inc3",
            vec![vec![add(0, X, 1, u)], vec![add(0, X, 1, u)], vec![add(0, X, 1, u)]],
            vec![Fact::Last(X, 2)],
        ),
    ]
}

#[test]
fn all_relaxed_all_release_acquire_all_seqcst() {
    let expected = [
        ("MP", ["3/3/4 R", "3/3/3", "3/3/3"]),
        ("SB", ["3/4/4 TR", "3/4/4 TR", "3/3/3"]),
        ("LB", ["3/3/3", "3/3/3", "3/3/3"]),
        ("IRIW", ["15/15/16 R", "15/15/16 R", "15/15/15"]),
        ("2+2W", ["3/3/4 R", "3/3/4 R", "3/3/3"]),
        ("S", ["3/3/4 R", "3/3/3", "3/3/3"]),
        ("R", ["3/4/4 TR", "3/4/4 TR", "3/3/3"]),
        ("WRC", ["7/7/8 R", "7/7/7", "7/7/7"]),
        ("ISA2", ["7/7/8 R", "7/7/7", "7/7/7"]),
        ("RWC", ["7/8/8 TR", "7/8/8 TR", "7/7/7"]),
        ("W+RWC", ["7/8/8 TR", "7/8/8 TR", "7/7/7"]),
        ("Z6.U", ["7/8/8 TR", "7/8/8 TR", "7/7/7"]),
        ("Z6.3", ["7/7/8 R", "7/7/8 R", "7/7/7"]),
        ("3.SB", ["7/8/8 TR", "7/8/8 TR", "7/7/7"]),
        ("3.LB", ["7/7/7", "7/7/7", "7/7/7"]),
        ("CoRR", ["3/3/3", "3/3/3", "3/3/3"]),
        ("CoRR2", ["72/72/72", "72/72/72", "72/72/72"]),
        ("CoWW", ["1/1/1", "1/1/1", "1/1/1"]),
        ("CoWR", ["3/3/3", "3/3/3", "3/3/3"]),
        ("CoRW", ["3/3/3", "3/3/3", "3/3/3"]),
        ("inc3", ["6/6/6", "6/6/6", "6/6/6"]),
    ];
    let orders =
        [(Relaxed, Relaxed, Relaxed), (Release, Acquire, AcqRel), (SeqCst, SeqCst, SeqCst)];
    for (column, (w, r, u)) in orders.into_iter().enumerate() {
        let tests = family(w, r, u);
        assert_eq!(tests.len(), expected.len());
        for (test, (name, counts)) in tests.iter().zip(expected) {
            assert_eq!(test.name, name);
            check(test, counts[column]);
        }
    }
}

#[test]
fn message_passing() {
    let a = Relaxed;
    let weak = || vec![reads(1, &[1, 0])];
    let both = |writer: Vec<Instruction>, reader: Vec<Instruction>| vec![writer, reader];
    check(
        &test(
            "fences",
            both(
                vec![store(X, 1, a), fence(Release), store(Y, 1, a)],
                vec![load(0, Y, a), fence(Acquire), load(1, X, a)],
            ),
            weak(),
        ),
        "3/3/3",
    );
    for (w, r) in [(Release, Relaxed), (Relaxed, Acquire)] {
        let writer = vec![store(X, 1, a), store(Y, 1, w)];
        let reader = vec![load(0, Y, r), load(1, X, a)];
        check(&test("one side", both(writer, reader), weak()), "3/3/4 R");
    }
    let reader = || vec![load(0, Y, Acquire), load(1, X, a)];
    check(
        &test(
            "a later store of the same thread is not in the release sequence",
            both(vec![store(X, 1, a), store(Y, 1, Release), store(Y, 2, a)], reader()),
            vec![reads(1, &[2, 0])],
        ),
        "4/4/5 R",
    );
    check(
        &test(
            "a relaxed update is in the release sequence",
            vec![vec![store(X, 1, a), store(Y, 1, Release)], vec![add(0, Y, 1, a)], reader()],
            vec![reads(2, &[2, 0])],
        ),
        "9/9/9",
    );
    check(
        &test(
            "a store of another thread is not in the release sequence",
            vec![
                vec![store(X, 1, a), store(Y, 1, Release)],
                vec![load(0, Y, a), store(Y, 2, a)],
                reader(),
            ],
            vec![reads(1, &[1]), reads(2, &[2, 0])],
        ),
        "13/13/15 R",
    );
}

#[test]
fn store_buffering() {
    let a = Relaxed;
    let weak = || vec![reads(0, &[0]), reads(1, &[0])];
    for (order, counts) in [(SeqCst, "3/3/3"), (AcqRel, "3/4/4 TR")] {
        let threads = vec![
            vec![store(X, 1, a), fence(order), load(0, Y, a)],
            vec![store(Y, 1, a), fence(order), load(0, X, a)],
        ];
        check(&test("fences", threads, weak()), counts);
    }
    check(
        &test(
            "a fence and a pair of accesses",
            vec![
                vec![store(X, 1, a), fence(SeqCst), load(0, Y, a)],
                vec![store(Y, 1, SeqCst), load(0, X, SeqCst)],
            ],
            weak(),
        ),
        "3/3/3",
    );
    check(
        &test(
            "SeqCst writes, Acquire reads",
            vec![
                vec![store(X, 1, SeqCst), load(0, Y, Acquire)],
                vec![store(Y, 1, SeqCst), load(0, X, Acquire)],
            ],
            weak(),
        ),
        "3/3/4 R",
    );
    check(
        &test(
            "an update as a fence",
            vec![
                vec![store(X, 1, a), add(0, Z, 0, AcqRel), load(1, Y, a)],
                vec![store(Y, 1, a), add(0, Z, 0, AcqRel), load(1, X, a)],
            ],
            vec![Fact::Reads(0, vec![0, 0]), Fact::Reads(1, vec![0, 0])],
        ),
        "4/4/4",
    );
    check(
        &test(
            "each thread reads its own write first",
            vec![
                vec![store(X, 1, a), load(0, X, a), load(1, Y, a)],
                vec![store(Y, 1, a), load(0, Y, a), load(1, X, a)],
            ],
            vec![reads(0, &[1, 0]), reads(1, &[1, 0])],
        ),
        "3/4/4 TR",
    );
}

#[test]
fn others_with_fences() {
    let a = Relaxed;
    let sc = || fence(SeqCst);
    check(
        &test(
            "2+2W",
            vec![
                vec![store(X, 1, a), sc(), store(Y, 2, a)],
                vec![store(Y, 1, a), sc(), store(X, 2, a)],
            ],
            vec![Fact::Last(X, 1), Fact::Last(Y, 1)],
        ),
        "3/3/3",
    );
    check(
        &test(
            "R",
            vec![
                vec![store(X, 1, a), sc(), store(Y, 1, a)],
                vec![store(Y, 2, a), sc(), load(0, X, a)],
            ],
            vec![reads(1, &[0]), Fact::Last(Y, 2)],
        ),
        "3/3/3",
    );
    check(
        &test(
            "S",
            vec![
                vec![store(X, 2, a), fence(Release), store(Y, 1, a)],
                vec![load(0, Y, a), fence(Acquire), store(X, 1, a)],
            ],
            vec![reads(1, &[1]), Fact::Last(X, 2)],
        ),
        "3/3/3",
    );
    check(
        &test(
            "RWC",
            vec![
                vec![store(X, 1, a)],
                vec![load(0, X, a), sc(), load(1, Y, a)],
                vec![store(Y, 1, a), sc(), load(0, X, a)],
            ],
            vec![reads(1, &[1, 0]), reads(2, &[0])],
        ),
        "7/7/7",
    );
    check(
        &test(
            "WRC",
            vec![
                vec![store(X, 1, a)],
                vec![load(0, X, a), store(Y, 1, Release)],
                vec![load(0, Y, Acquire), load(1, X, a)],
            ],
            vec![reads(1, &[1]), reads(2, &[1, 0])],
        ),
        "7/7/7",
    );
}

fn iriw(w: Order, (first, second): (Order, Order), fenced: bool) -> Test {
    let reader = |a, b| {
        let mut code = vec![load(0, a, first), load(1, b, second)];
        if fenced {
            code.insert(1, fence(SeqCst));
        }
        code
    };
    test(
        "IRIW",
        vec![vec![store(X, 1, w)], vec![store(Y, 1, w)], reader(X, Y), reader(Y, X)],
        vec![reads(2, &[1, 0]), reads(3, &[1, 0])],
    )
}

#[test]
fn independent_reads_of_independent_writes() {
    check(&iriw(SeqCst, (Acquire, Acquire), false), "15/15/16 R");
    check(&iriw(SeqCst, (Acquire, SeqCst), false), "15/15/16 R");
    check(&iriw(Relaxed, (Relaxed, Relaxed), true), "15/15/15");
    // The wording of C++20 forbids what RC11 allows where SeqCst reads see relaxed writes.
    let test = iriw(Relaxed, (SeqCst, SeqCst), false);
    check(&test, "15/15/16 R");
    let program = LitmusProgram::new(test.threads);
    assert_eq!(tally(&program, Memory::Cxx20, &|_| false).met, 15);
}

/// A processor may read its own store before others see it, and compilers rely on plain loads being enough for
/// SeqCst. The wording of C++20 forbids the outcome; RC11 has it.
#[test]
fn x86_does_what_the_wording_of_cxx20_forbids() {
    let threads = vec![
        vec![store(X, 1, SeqCst), load(0, Y, SeqCst)],
        vec![store(Y, 1, Release), load(0, Y, SeqCst), load(1, X, SeqCst)],
    ];
    let weak = vec![reads(0, &[0]), reads(1, &[1, 0])];
    check(&test("SB with a forwarded store", threads.clone(), weak), "3/4/4 TR");
    assert_eq!(tally(&LitmusProgram::new(threads), Memory::Cxx20, &|_| false).met, 3);
}

#[test]
fn z6_u() {
    check(
        &test(
            "PLDI 2017, figure 1",
            vec![
                vec![store(X, 1, SeqCst), store(Y, 1, Release)],
                vec![add(0, Y, 1, Acquire), load(1, Z, Relaxed)],
                vec![store(Z, 1, SeqCst), load(0, X, SeqCst)],
            ],
            vec![reads(1, &[1, 0]), reads(2, &[0])],
        ),
        "7/7/8 R",
    );
    check(
        &test(
            "all SeqCst but one release",
            vec![
                vec![store(X, 1, SeqCst), store(Y, 1, Release)],
                vec![add(0, Y, 1, SeqCst), load(1, Z, SeqCst)],
                vec![store(Z, 1, SeqCst), load(0, X, SeqCst)],
            ],
            vec![reads(1, &[1, 0]), reads(2, &[0])],
        ),
        "7/7/7",
    );
    // A read part is not before its own write part at another location.
    let threads = vec![
        vec![store(X, 1, SeqCst), store(Y, 1, Release)],
        vec![add(0, Y, 1, SeqCst), load(1, Y, Relaxed)],
        vec![store(Y, 3, SeqCst), load(0, X, SeqCst)],
    ];
    let weak = vec![reads(1, &[1, 3]), reads(2, &[0])];
    check(&test("an update between two locations", threads, weak), "18/18/24 R");
}
