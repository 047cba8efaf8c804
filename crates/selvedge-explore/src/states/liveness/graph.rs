//! The state graph, with what its states mean for promises.

use selvedge_core::{Budget, ThreadId};

/// States by their indices, and the steps between them.
#[derive(Default)]
pub(crate) struct Graph {
    /// For each state that was entered, where its edges begin.
    first: Vec<usize>,
    edges: Vec<Packed>,
    /// States of executions that do not count.
    void: Bits,
    /// By promise.
    asked: Vec<Bits>,
    kept: Vec<Bits>,
    budget: Budget,
}

/// An edge in little room: 31 bits of a thread's number, and whether it is marked.
#[derive(Clone, Copy)]
struct Packed {
    to: u32,
    by: u32,
}

/// A step from one state to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) thread: ThreadId,
    /// Whether it passes a mark of progress.
    pub(crate) is_marked: bool,
}

impl Graph {
    pub(crate) fn new(promises: usize, budget: &Budget) -> Self {
        let bits = || (0..promises).map(|_| Bits::default()).collect();
        Self { asked: bits(), kept: bits(), budget: budget.clone(), ..Self::default() }
    }

    /// Adds the next state; edges that are added belong to it. Of each promise: whether it is asked, and whether it is kept.
    pub(crate) fn enter(&mut self, is_void: bool, of_promises: &[(bool, bool)]) {
        self.first.push(self.edges.len());
        self.void.push(is_void);
        for (promise, &(is_asked, is_kept)) in of_promises.iter().enumerate() {
            self.asked[promise].push(is_asked);
            self.kept[promise].push(is_kept);
        }
    }

    /// Adds an edge of the state that was entered last.
    pub(crate) fn add(&mut self, to: usize, thread: ThreadId, is_marked: bool) {
        let by = thread.number() << 1 | u32::from(is_marked);
        self.edges.push(Packed { to: to as u32, by });
    }

    /// Returns whether searches in it must end: what they find then is not known to be all.
    pub(crate) fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    pub(crate) fn promises(&self) -> usize {
        self.asked.len()
    }

    pub(crate) fn states(&self) -> usize {
        self.first.len()
    }

    /// Returns the steps from a state: all that its threads can take.
    pub(crate) fn edges(&self, from: usize) -> impl ExactSizeIterator<Item = Edge> + '_ {
        let end = self.first.get(from + 1).copied().unwrap_or(self.edges.len());
        self.edges[self.first[from]..end].iter().map(move |packed| Edge {
            from,
            to: packed.to as usize,
            thread: ThreadId::new((packed.by >> 1) as usize),
            is_marked: packed.by & 1 == 1,
        })
    }

    pub(crate) fn can_run(&self, thread: ThreadId, state: usize) -> bool {
        self.edges(state).any(|edge| edge.thread == thread)
    }

    pub(crate) fn is_void(&self, state: usize) -> bool {
        self.void.has(state)
    }

    pub(crate) fn is_asked(&self, promise: usize, state: usize) -> bool {
        self.asked[promise].has(state)
    }

    pub(crate) fn is_kept(&self, promise: usize, state: usize) -> bool {
        self.kept[promise].has(state)
    }
}

/// One bit per state.
#[derive(Default)]
struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(bit) << (self.len % 64);
        }
        self.len += 1;
    }

    fn has(&self, index: usize) -> bool {
        self.words[index / 64] >> (index % 64) & 1 == 1
    }
}
