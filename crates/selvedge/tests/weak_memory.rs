//! Rust code under memory models: the litmus tests of the literature have as many executions as they have by brute force
//! (`selvedge-testkit/tests/weak_litmus.rs`), and the weak outcome is found where a model allows it.

use std::sync::Arc;

use selvedge::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicU32, fence};
use selvedge::{Builder, Memory, Verdict, thread};

#[derive(Clone, Copy)]
enum Do {
    Load(usize, Ordering),
    Store(usize, u32, Ordering),
    Add(usize, u32, Ordering),
    Fence(Ordering),
}
use Do::{Add, Fence, Load, Store};

const X: usize = 0;
const Y: usize = 1;
const Z: usize = 2;

/// Runs threads of such code; returns what each of them read, and what is in memory in the end.
fn run(threads: &[Vec<Do>]) -> (Vec<Vec<u32>>, Vec<u32>) {
    let memory: Arc<[AtomicU32; 3]> = Arc::new([const { AtomicU32::new(0) }; 3]);
    let handles: Vec<_> = threads
        .iter()
        .cloned()
        .map(|code| {
            let memory = Arc::clone(&memory);
            thread::spawn(move || {
                let mut read = Vec::new();
                for step in code {
                    match step {
                        Load(at, order) => read.push(memory[at].load(order)),
                        Store(at, value, order) => memory[at].store(value, order),
                        Add(at, value, order) => read.push(memory[at].fetch_add(value, order)),
                        Fence(order) => fence(order),
                    }
                }
                read
            })
        })
        .collect();
    let read = handles.into_iter().map(|handle| handle.join().unwrap()).collect();
    let mut memory = Arc::into_inner(memory).unwrap();
    (read, memory.iter_mut().map(|cell| *cell.get_mut()).collect())
}

/// `"3/4/4 TR"`: executions under SC, TSO and RC11, and the models that allow the weak outcome.
fn check(
    name: &str,
    threads: Vec<Vec<Do>>,
    is_weak: fn(&[Vec<u32>], &[u32]) -> bool,
    expected: &str,
) {
    let (mut counts, mut letters) = (Vec::new(), String::new());
    for (memory, letter) in [(Memory::Sc, 'S'), (Memory::Tso, 'T'), (Memory::Rc11, 'R')] {
        let builder = Builder::new().memory(memory);
        let code = threads.clone();
        let outcome = builder.explore(move || _ = run(&code));
        assert_eq!(outcome.verdict(), Verdict::Verified, "{name}: {}", outcome.text());
        counts.push(outcome.executions().to_string());
        let code = threads.clone();
        let outcome = builder.explore(move || {
            let (read, last) = run(&code);
            assert!(!is_weak(&read, &last));
        });
        if outcome.verdict() == Verdict::Violated {
            letters.push(letter);
        }
    }
    let found = format!("{} {letters}", counts.join("/"));
    assert_eq!(found.trim(), expected, "{name}");
}

#[test]
fn store_buffering() {
    let sb = |store, load| {
        vec![vec![Store(X, 1, store), Load(Y, load)], vec![Store(Y, 1, store), Load(X, load)]]
    };
    let weak = |read: &[Vec<u32>], _: &[u32]| read == [[0], [0]];
    check("SB", sb(Relaxed, Relaxed), weak, "3/4/4 TR");
    check("SB ra", sb(Release, Acquire), weak, "3/4/4 TR");
    check("SB sc", sb(SeqCst, SeqCst), weak, "3/3/3");
}

#[test]
fn message_passing() {
    let mp = |store, load| {
        vec![vec![Store(X, 1, Relaxed), Store(Y, 1, store)], vec![Load(Y, load), Load(X, Relaxed)]]
    };
    let weak = |read: &[Vec<u32>], _: &[u32]| read[1] == [1, 0];
    check("MP", mp(Relaxed, Relaxed), weak, "3/3/4 R");
    check("MP ra", mp(Release, Acquire), weak, "3/3/3");
}

/// A write and a read with these orderings.
type Orders = (Ordering, Ordering);

/// Relaxed, Release and Acquire, SeqCst: as in the tables of `selvedge-testkit/tests/weak_litmus.rs`.
const ALL: [Orders; 3] = [(Relaxed, Relaxed), (Release, Acquire), (SeqCst, SeqCst)];

fn check_all(
    name: &str,
    test: impl Fn(Orders) -> Vec<Vec<Do>>,
    is_weak: fn(&[Vec<u32>], &[u32]) -> bool,
    expected: [&str; 3],
) {
    for (orders, expected) in ALL.into_iter().zip(expected) {
        check(&format!("{name} {orders:?}"), test(orders), is_weak, expected);
    }
}

#[test]
fn two_threads() {
    let lb = |(w, r)| vec![vec![Load(X, r), Store(Y, 1, w)], vec![Load(Y, r), Store(X, 1, w)]];
    check_all("LB", lb, |read, _| read == [[1], [1]], ["3/3/3", "3/3/3", "3/3/3"]);
    let ww =
        |(w, _)| vec![vec![Store(X, 1, w), Store(Y, 2, w)], vec![Store(Y, 1, w), Store(X, 2, w)]];
    check_all("2+2W", ww, |_, last| last[..2] == [1, 1], ["3/3/4 R", "3/3/4 R", "3/3/3"]);
    let s = |(w, r)| vec![vec![Store(X, 2, w), Store(Y, 1, w)], vec![Load(Y, r), Store(X, 1, w)]];
    let weak = |read: &[Vec<u32>], last: &[u32]| read[1] == [1] && last[X] == 2;
    check_all("S", s, weak, ["3/3/4 R", "3/3/3", "3/3/3"]);
    let r = |(w, r)| vec![vec![Store(X, 1, w), Store(Y, 1, w)], vec![Store(Y, 2, w), Load(X, r)]];
    let weak = |read: &[Vec<u32>], last: &[u32]| read[1] == [0] && last[Y] == 2;
    check_all("R", r, weak, ["3/4/4 TR", "3/4/4 TR", "3/3/3"]);
}

#[test]
fn three_threads() {
    let wrc = |(w, r)| {
        vec![vec![Store(X, 1, w)], vec![Load(X, r), Store(Y, 1, w)], vec![Load(Y, r), Load(X, r)]]
    };
    let weak = |read: &[Vec<u32>], _: &[u32]| read[1] == [1] && read[2] == [1, 0];
    check_all("WRC", wrc, weak, ["7/7/8 R", "7/7/7", "7/7/7"]);
    let isa2 = |(w, r)| {
        vec![
            vec![Store(X, 1, w), Store(Y, 1, w)],
            vec![Load(Y, r), Store(Z, 1, w)],
            vec![Load(Z, r), Load(X, r)],
        ]
    };
    check_all("ISA2", isa2, weak, ["7/7/8 R", "7/7/7", "7/7/7"]);
    let rwc = |(w, r)| {
        vec![vec![Store(X, 1, w)], vec![Load(X, r), Load(Y, r)], vec![Store(Y, 1, w), Load(X, r)]]
    };
    let weak = |read: &[Vec<u32>], _: &[u32]| read[1] == [1, 0] && read[2] == [0];
    check_all("RWC", rwc, weak, ["7/8/8 TR", "7/8/8 TR", "7/7/7"]);
    let sb3 = |(w, r)| {
        let thread = |mine, other| vec![Store(mine, 1, w), Load(other, r)];
        vec![thread(X, Y), thread(Y, Z), thread(Z, X)]
    };
    let weak = |read: &[Vec<u32>], _: &[u32]| read == [[0], [0], [0]];
    check_all("3.SB", sb3, weak, ["7/8/8 TR", "7/8/8 TR", "7/7/7"]);
}

#[test]
fn four_threads() {
    let iriw = |(w, r)| {
        vec![
            vec![Store(X, 1, w)],
            vec![Store(Y, 1, w)],
            vec![Load(X, r), Load(Y, r)],
            vec![Load(Y, r), Load(X, r)],
        ]
    };
    let weak = |read: &[Vec<u32>], _: &[u32]| read[2] == [1, 0] && read[3] == [1, 0];
    check_all("IRIW", iriw, weak, ["15/15/16 R", "15/15/16 R", "15/15/15"]);
}

#[test]
fn release_sequences() {
    let weak = |read: &[Vec<u32>], _: &[u32]| read.last() == Some(&vec![2, 0]);
    let reader = || vec![Load(Y, Acquire), Load(X, Relaxed)];
    let writer = |last: Option<Do>| {
        [Store(X, 1, Relaxed), Store(Y, 1, Release)].into_iter().chain(last).collect::<Vec<_>>()
    };
    let by_store = vec![writer(Some(Store(Y, 2, Relaxed))), reader()];
    check("a store of the same thread ends it", by_store, weak, "4/4/5 R");
    let by_update = vec![writer(None), vec![Add(Y, 1, Relaxed)], reader()];
    check("an update of another thread continues it", by_update, weak, "9/9/9");
}

#[test]
fn fences() {
    let sb = |order| {
        let thread =
            |mine, other| vec![Store(mine, 1, Relaxed), Fence(order), Load(other, Relaxed)];
        vec![thread(X, Y), thread(Y, X)]
    };
    let weak = |read: &[Vec<u32>], _: &[u32]| read == [[0], [0]];
    check("SB with SeqCst fences", sb(SeqCst), weak, "3/3/3");
    check("SB with AcqRel fences", sb(AcqRel), weak, "3/4/4 TR");
    let mp = vec![
        vec![Store(X, 1, Relaxed), Fence(Release), Store(Y, 1, Relaxed)],
        vec![Load(Y, Relaxed), Fence(Acquire), Load(X, Relaxed)],
    ];
    check("MP with fences", mp, |read, _| read[1] == [1, 0], "3/3/3");
}

#[test]
fn updates_are_atomic() {
    let inc = || vec![Add(X, 1, Relaxed)];
    let lost = |_: &[Vec<u32>], last: &[u32]| last[X] != 3;
    check("inc3", vec![inc(), inc(), inc()], lost, "6/6/6");
}

/// A flag that is stored and loaded with these orderings after the data, which somebody then finds to be old.
fn publish(store: Ordering, load: Ordering) -> impl Fn() + Copy + 'static {
    move || {
        let shared = Arc::new([const { AtomicU32::new(0) }; 2]);
        let theirs = Arc::clone(&shared);
        let writer = thread::spawn(move || {
            theirs[0].store(42, Relaxed);
            theirs[1].store(1, store);
        });
        if shared[1].load(load) == 1 {
            assert_eq!(shared[0].load(Relaxed), 42);
        }
        writer.join().unwrap();
    }
}

/// The report of a failure, without line breaks.
fn report(f: impl Fn() + 'static) -> String {
    let outcome = Builder::new().memory(Memory::Rc11).explore(f);
    assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
    outcome.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_report_says_what_a_load_did_not_see_and_what_is_missing() {
    let text = report(publish(Relaxed, Acquire));
    assert!(text.contains("→ 0 (does not see AtomicU32@"), "{text}");
    assert!(text.contains(" = 42 of step "), "{text}");
    assert!(text.contains("was written with Relaxed at"), "{text}");
    assert!(text.contains("visible: use Release"), "{text}");
    let text = report(publish(Release, Relaxed));
    assert!(text.contains("was read with Relaxed at"), "{text}");
    assert!(text.contains("use Acquire"), "{text}");
    let text = report(publish(Relaxed, Relaxed));
    assert!(text.contains("use Release for the write and Acquire for the read"), "{text}");
    assert!(text.contains("Memory::Rc11"), "{text}");
    let right = Builder::new().memory(Memory::Rc11).explore(publish(Release, Acquire));
    assert_eq!(right.verdict(), Verdict::Verified, "{}", right.text());
    assert!(right.json().contains("rc11: loads see every value"), "{}", right.json());
}

#[test]
fn a_failure_is_run_again_by_its_schedule() {
    let builder = Builder::new().memory(Memory::Rc11);
    let first = builder.explore(publish(Relaxed, Acquire));
    let schedule = &first.schedules()[0];
    let again = builder.clone().replay(schedule).explore(publish(Relaxed, Acquire));
    assert_eq!(again.verdict(), Verdict::Violated);
    assert_eq!(first.messages(), again.messages());
    assert_eq!(first.schedules(), again.schedules());
    // The model does not allow it with the right orderings.
    let other = std::panic::catch_unwind(|| {
        builder.clone().replay(schedule).explore(publish(Release, Acquire))
    });
    let error = other.expect_err("the schedule does not fit");
    let error = error.downcast_ref::<String>().expect("a message");
    assert!(error.contains("the memory model does not allow it"), "{error}");
}

#[test]
fn what_is_not_supported_is_named() {
    let outcome = Builder::new().memory(Memory::Rc11).explore(|| {
        selvedge::sync::Mutex::new(0).clear_poison();
    });
    assert_eq!(outcome.verdict(), Verdict::Inconclusive);
    let text = outcome.text();
    assert!(text.contains("`clear_poison Mutex@"), "{text}");
    assert!(text.contains("is not supported under a memory model"), "{text}");
}

/// Nothing has to be asked for: what passes under sequential consistency and uses weaker orderings is explored again.
#[test]
fn a_test_with_weaker_orderings_is_explored_twice() {
    let outcome = Builder::new().explore(publish(Relaxed, Relaxed));
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Violated, "{text}");
    assert!(text.contains("SELVEDGE_MEMORY=rc11 SELVEDGE_REPLAY=weak_memory.rs:"), "{text}");
    let outcome = Builder::new().explore(publish(Release, Acquire));
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(outcome.text().contains("under rc11 either"), "{}", outcome.text());
    // What is found anyway needs no second search, and what is asked for neither.
    let outcome = Builder::new().explore(|| {
        publish(Relaxed, Relaxed)();
        panic!("always");
    });
    assert_eq!(outcome.messages(), ["main panicked: always"]);
    for first in [Builder::new().sequentially_consistent(true), Builder::new().memory(Memory::Sc)] {
        assert_eq!(first.explore(publish(Relaxed, Relaxed)).verdict(), Verdict::Verified);
    }
}

/// What cannot be explored a second time is said.
#[test]
fn a_second_search_that_does_not_come_to_its_end() {
    let outcome = Builder::new().explore(|| {
        AtomicU32::new(0).store(1, Relaxed);
        assert!(!selvedge::sync::Mutex::new(0).is_poisoned());
    });
    let text = outcome.text();
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{text}");
    assert!(text.contains("is not supported under a memory model yet"), "{text}");
    assert!(text.contains("under rc11, not all"), "{text}");
}

/// `std::sync::Arc` counts without steps. It orders the free of what it keeps, also of what that owns.
#[test]
fn references_that_std_counts() {
    let outcome = Builder::new().explore(|| {
        let flags: Arc<(AtomicU32, AtomicU32)> = Arc::default();
        let other = Arc::clone(&flags);
        thread::spawn(move || {
            other.0.store(1, Relaxed);
            other.1.store(1, Release);
        });
        if flags.1.load(Acquire) == 1 {
            assert_eq!(flags.0.load(Relaxed), 1);
        }
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(outcome.text().contains("under rc11 either"), "{}", outcome.text());
    #[expect(clippy::vec_box, reason = "each is a block of its own, which the content owns")]
    struct Owner(Vec<Box<AtomicU32>>);
    let outcome = Builder::new().explore(|| {
        let owner = Arc::new(Owner((0..2).map(|_| Box::new(AtomicU32::new(0))).collect()));
        let other = Arc::clone(&owner);
        thread::spawn(move || other.0[1].store(1, Relaxed));
        owner.0[1].store(2, Relaxed);
        owner.0[0].load(Relaxed);
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    assert!(outcome.text().contains("under rc11 either"), "{}", outcome.text());
}

/// What merely looks like it: a block that begins with two words, and one that something owns that does.
#[test]
fn frees_that_nothing_orders() {
    struct Node {
        _words: [usize; 2],
        value: AtomicU32,
    }
    for words in [[0, 0], [1, 1], [0, 1]] {
        let outcome = Builder::new().explore(move || {
            let node = Box::new(Node { _words: words, value: AtomicU32::new(0) });
            // The pointer is left behind the words of another block.
            let owner = Box::new((words, Box::into_raw(node) as usize));
            let node = owner.1;
            // SAFETY: it may be freed already: that is what the check has to find.
            let load = move || unsafe { (*(node as *const Node)).value.load(Relaxed) };
            let thread = thread::spawn(load);
            // SAFETY: the other thread may still use it: that is what the check has to find.
            drop(unsafe { Box::from_raw(node as *mut Node) });
            drop(owner);
            thread.join().unwrap();
        });
        assert_eq!(outcome.verdict(), Verdict::Violated, "{words:?}");
        let outcome = Builder::new().memory(Memory::Rc11).explore(move || {
            let node = Box::new(Node { _words: words, value: AtomicU32::new(0) });
            let owner = Box::new((words, Box::into_raw(node) as usize));
            let (node, done) = (owner.1, Arc::new(AtomicU32::new(0)));
            let other = Arc::clone(&done);
            thread::spawn(move || {
                // SAFETY: it is not freed before `done` is set, but nothing makes that visible.
                unsafe { (*(node as *const Node)).value.store(1, Relaxed) };
                other.store(1, Relaxed);
            });
            if done.load(Relaxed) == 1 {
                // SAFETY: as above: that is what the check has to find.
                drop(unsafe { Box::from_raw(node as *mut Node) });
            }
            drop(owner);
        });
        let messages = outcome.messages();
        assert!(
            messages.iter().any(|it| it.starts_with("data race on")),
            "{words:?}: {messages:?}"
        );
    }
}

/// A bound on preemptions is one of the first search only.
#[test]
fn few_preemptions_first() {
    let weak = || {
        let read = run(&[
            vec![Store(X, 1, Relaxed), Load(Y, Relaxed)],
            vec![Store(Y, 1, Relaxed), Load(X, Relaxed)],
        ])
        .0;
        assert!(read != [[0], [0]]);
    };
    let outcome = Builder::new().preemptions(0).explore(weak);
    assert_eq!(outcome.verdict(), Verdict::Violated, "{}", outcome.text());
    let outcome = Builder::new().preemptions(0).sequentially_consistent(true).explore(weak);
    assert_eq!(outcome.verdict(), Verdict::Inconclusive, "{}", outcome.text());
}
