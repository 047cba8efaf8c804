//! Rust code under memory models: the litmus tests of the literature have as many executions as they have by brute force
//! (`selvedge-testkit/tests/weak_litmus.rs`), and the weak outcome is found where a model allows it.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Count;

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
        let weak = Arc::new(Count::new(0));
        let (threads, seen) = (threads.clone(), Arc::clone(&weak));
        let outcome = Builder::new().memory(memory).explore(move || {
            let (read, last) = run(&threads);
            if is_weak(&read, &last) {
                seen.fetch_add(1, SeqCst);
            }
        });
        assert_eq!(outcome.verdict(), Verdict::Verified, "{name}: {}", outcome.text());
        counts.push(outcome.executions().to_string());
        if weak.load(SeqCst) > 0 {
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
