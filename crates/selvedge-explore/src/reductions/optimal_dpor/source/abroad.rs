//! What is asked for in states whose backtrack sets belong to others, if the search is divided.

use selvedge_core::ThreadId;
use smallvec::{SmallVec, smallvec};

use super::{ask_for, is_initial};
use crate::search::order::Order;
use crate::trace::frontier::Frontier;
use crate::trace::sequence::Sequence;

/// Requests to others, and which states these have.
#[derive(Default)]
pub(super) struct Abroad {
    /// The states of so many prefixes belong to others.
    pub(super) floor: usize,
    /// Those of so many did when the worker began. What is added to the others before the worker is at its end, it adds itself, so
    /// their backtrack sets are known.
    pub(super) unknown: usize,
    /// In order: the state, and the initials of which one is to be explored, the first of them unless another is explored anyway.
    pub(super) asks: Vec<(usize, Initials)>,
    /// The same by state, as sets.
    asked: Vec<Vec<Set>>,
}

pub(super) type Initials = SmallVec<[ThreadId; 4]>;

/// A set of threads: bits by their numbers.
type Set = SmallVec<[u64; 2]>;

fn set(threads: &[ThreadId]) -> Set {
    let mut set = Set::new();
    for (word, bit) in threads.iter().map(|thread| (thread.index() / 64, thread.index() % 64)) {
        if set.len() <= word {
            set.resize(word + 1, 0);
        }
        set[word] |= 1 << bit;
    }
    set
}

fn is_subset(some: &Set, all: &Set) -> bool {
    some.iter().enumerate().all(|(word, &bits)| bits & !all.get(word).copied().unwrap_or(0) == 0)
}

impl Abroad {
    /// Goes to a state of which nothing is known but the way.
    pub(super) fn begin(&mut self, floor: usize) {
        *self = Self { floor, unknown: floor, ..Self::default() };
    }

    /// As the other [`ask_for`], in a state that belongs to others; `known` has some of its backtrack set.
    pub(super) fn ask_for(
        &mut self,
        sequence: &Sequence,
        at: usize,
        known: &mut Frontier,
        order: &Order,
    ) {
        if at >= self.unknown {
            let before = known.threads.len();
            ask_for(sequence, known, |thread| order.place(thread));
            self.note_new(at, known, before);
        } else if !known.threads.iter().any(|&thread| is_initial(sequence, thread)) {
            let mut initials = Initials::new();
            for thread in (0..sequence.len()).map(|index| sequence.step(index).thread) {
                if !initials.contains(&thread) && is_initial(sequence, thread) {
                    initials.push(thread);
                }
            }
            initials.sort_by_key(|&thread| order.place(thread));
            self.ask(at, initials);
        }
    }

    /// Asks for a thread that is not known to be explored.
    pub(super) fn ask_one(&mut self, at: usize, known: &mut Frontier, thread: ThreadId) {
        if at >= self.unknown {
            known.threads.push(thread);
            self.note_new(at, known, known.threads.len() - 1);
        } else {
            self.ask(at, smallvec![thread]);
        }
    }

    /// What was added to a set that is known is explored by others.
    fn note_new(&mut self, at: usize, known: &mut Frontier, before: usize) {
        if let Some(&thread) = known.threads.get(before) {
            self.asks.push((at, smallvec![thread]));
            known.close();
        }
    }

    /// Asks, unless something was asked for that makes this superfluous.
    fn ask(&mut self, at: usize, initials: Initials) {
        if self.asked.len() <= at {
            self.asked.resize(at + 1, Vec::new());
        }
        let (asked, initials_set) = (&mut self.asked[at], set(&initials));
        match asked.iter().position(|other| is_subset(other, &initials_set)) {
            // It is likely to be the next one too.
            Some(found) => asked.swap(0, found),
            None => {
                asked.push(initials_set);
                self.asks.push((at, initials));
            }
        }
    }
}
