//! Random programs with addresses in atomics, whose blocks are used and freed by any thread: what is found without a memory
//! model and under sequential consistency is the same, and no model finds less.

use std::ptr::null_mut;
use std::rc::Rc;

use selvedge::sync::Arc;
use selvedge::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use selvedge::sync::atomic::{AtomicPtr, AtomicU32};
use selvedge::{Builder, Memory, Outcome, Verdict, thread};
use selvedge_testkit::{Random, seeds};

/// Words before the first object of a block: with two that are 0, it looks like one of `std::sync::Arc`.
struct Node {
    _words: [u64; 2],
    numbers: [AtomicU32; 2],
}

const CELLS: usize = 2;

struct Shared {
    cells: [AtomicPtr<Node>; CELLS],
    flag: AtomicU32,
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    /// Keeps the address in a cell.
    Look(usize),
    /// Takes the address out of a cell, and keeps it.
    Take(usize),
    /// Puts a new block into a cell, and keeps the address that was there.
    Replace(usize),
    Read(usize),
    Add(usize),
    Free,
    Raise,
    /// Ends the thread if the flag was raised, or was not.
    StopIf(bool),
}

#[derive(Debug)]
struct Program {
    threads: Vec<Vec<Deed>>,
    how: How,
}

#[derive(Clone, Copy, Debug)]
struct How {
    is_relaxed: bool,
    /// Whether an object of a node is used before it comes to its block.
    moves: bool,
}

fn deed(random: &mut Random) -> Deed {
    match random.below(9) {
        0 => Deed::Look(random.below(CELLS)),
        1 => Deed::Replace(random.below(CELLS)),
        2 | 3 => Deed::Read(random.below(2)),
        4 => Deed::Add(random.below(2)),
        5 | 6 => Deed::Free,
        7 => Deed::Raise,
        _ => Deed::StopIf(random.one_in(2)),
    }
}

/// A thread has an address from the beginning: mostly one that others may have, too.
fn thread_of(random: &mut Random) -> Vec<Deed> {
    let cell = random.below(CELLS);
    let first = if random.one_in(2) { Deed::Take(cell) } else { Deed::Look(cell) };
    let rest = 1 + random.below(4);
    std::iter::once(first).chain((0..rest).map(|_| deed(random))).collect()
}

fn draw(random: &mut Random) -> Program {
    let threads = 2 + random.below(2);
    let threads = (0..threads).map(|_| thread_of(random)).collect();
    Program { threads, how: How { is_relaxed: random.one_in(2), moves: random.one_in(3) } }
}

fn new_node(how: How) -> *mut Node {
    let numbers = [AtomicU32::new(0), AtomicU32::new(0)];
    if how.moves {
        numbers[1].store(1, Relaxed);
    }
    Box::into_raw(Box::new(Node { _words: [0; 2], numbers }))
}

fn run(deeds: &[Deed], shared: &Shared, how: How) {
    let (load, swap, store) = match how.is_relaxed {
        true => (Relaxed, Relaxed, Relaxed),
        false => (Acquire, AcqRel, Release),
    };
    let mut kept: *mut Node = null_mut();
    for &deed in deeds {
        // SAFETY: the check finds a use after the free before it does harm.
        let node = unsafe { kept.as_ref() };
        match (deed, node) {
            (Deed::Look(cell), _) => kept = shared.cells[cell].load(load),
            (Deed::Take(cell), _) => kept = shared.cells[cell].swap(null_mut(), swap),
            (Deed::Replace(cell), _) => kept = shared.cells[cell].swap(new_node(how), swap),
            (Deed::Read(number), Some(node)) => _ = node.numbers[number].load(Relaxed),
            (Deed::Add(number), Some(node)) => _ = node.numbers[number].fetch_add(1, Relaxed),
            (Deed::Free, Some(_)) => {
                // SAFETY: as above.
                drop(unsafe { Box::from_raw(kept) });
                kept = null_mut();
            }
            (Deed::Raise, _) => shared.flag.store(1, store),
            (Deed::StopIf(raised), _) => {
                if (shared.flag.load(load) == 1) == raised {
                    return;
                }
            }
            (Deed::Read(_) | Deed::Add(_) | Deed::Free, None) => {}
        }
    }
}

fn code(program: &Program) {
    let cells = [(); CELLS].map(|()| AtomicPtr::new(new_node(program.how)));
    let shared = Arc::new(Shared { cells, flag: AtomicU32::new(0) });
    let others: Vec<_> = program.threads[1..]
        .iter()
        .map(|deeds| {
            let (deeds, shared) = (deeds.clone(), Arc::clone(&shared));
            let how = program.how;
            thread::spawn(move || run(&deeds, &shared, how))
        })
        .collect();
    run(&program.threads[0], &shared, program.how);
    for other in others {
        other.join().unwrap();
    }
    _ = shared.flag.load(SeqCst);
}

fn explore(builder: Builder, program: &Rc<Program>) -> Outcome {
    let program = Rc::clone(program);
    builder.quiet(true).explore(move || code(&program))
}

#[test]
fn agree_without_a_model_and_under_each() {
    let mut violated = 0;
    let mut all = 0;
    for seed in seeds(400) {
        let program = Rc::new(draw(&mut Random::new(seed)));
        let first = Builder::new().sequentially_consistent(true).guard_freed(false);
        let first = explore(first, &program);
        assert_ne!(first.verdict(), Verdict::Inconclusive, "{program:?}: {}", first.text());
        all += 1;
        violated += u32::from(first.verdict() == Verdict::Violated);
        for &memory in Memory::ALL {
            let found = explore(Builder::new().memory(memory), &program);
            let text = || format!("{memory:?} {seed}: {program:?}: {}", found.text());
            match (memory, first.verdict()) {
                // Relaxed accesses do not order a free, which only the memory models know.
                (Memory::Sc, verdict) if !program.how.is_relaxed => {
                    assert_eq!(found.verdict(), verdict, "{}", text())
                }
                (_, Verdict::Violated) => {
                    assert_eq!(found.verdict(), Verdict::Violated, "{}", text())
                }
                _ => assert_ne!(found.verdict(), Verdict::Inconclusive, "{}", text()),
            }
        }
    }
    assert!(violated > all / 10 && violated < all - all / 10, "{violated} of {all}");
}
