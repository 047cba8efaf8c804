//! The order of SeqCst events: `psc = psc_base ∪ psc_F` must have no cycle.
//!
//! | relation | is |
//! |---|---|
//! | `scb` | `po ∪ (po≠ ; hb ; po≠) ∪ hb\|loc ∪ mo ∪ fr` |
//! | `psc_base` | `([SC] ∪ [F SC] ; hb?) ; scb ; ([SC] ∪ hb? ; [F SC])` |
//! | `psc_F` | `[F SC] ; (hb ∪ hb ; eco ; hb) ; [F SC]` |
//!
//! In RC11 `po≠` is program order between different locations. By the wording of C++20 it is program order but
//! for the two parts of a read-modify-write, and `scb` has `eco` in the place of `mo ∪ fr`.
//!
//! A thread that is spawned has a beginning before its first event and an end after its last, as in both texts:
//! spawn and join synchronise with these, so that `po≠ ; hb ; po≠` leads from what is before a spawn to the first
//! event of the thread. Here they are nodes of their own.
//!
//! Relations are rows of bits, one row for each node.

use selvedge_core::{EventId, Location, Order, ThreadId};

use crate::graph::clocks::HB;
use crate::graph::event::{Act, Event};
use crate::graph::execution::Graph;

/// Whose definition is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wording {
    /// The paper's.
    Rc11,
    /// The standard's.
    Cxx20,
}

/// What stands at a node.
#[derive(Clone, Copy, Debug)]
enum Node {
    Beginning(ThreadId),
    Event(EventId),
    End(ThreadId),
}

/// Buffers for relations on the events of a graph.
#[derive(Debug, Default)]
pub(super) struct Rows {
    nodes: Vec<Node>,
    /// The first node of each thread.
    first: Vec<usize>,
    /// Words of a row.
    words: usize,
    /// Happens-before, backwards and forwards.
    before: Vec<u64>,
    after: Vec<u64>,
    /// The accesses of each location.
    located: Vec<u64>,
    /// Nodes with SeqCst: all of them, and the fences.
    strong: Vec<u64>,
    fences: Vec<u64>,
    /// `psc`.
    order: Vec<u64>,
    /// Buffers for sets.
    sets: [Vec<u64>; 3],
}

impl Rows {
    /// Returns whether `psc` has no cycle.
    pub(super) fn is_acyclic(&mut self, graph: &Graph, wording: Wording) -> bool {
        self.number(graph);
        self.relate(graph);
        let strong: Vec<usize> = ones(&self.strong).collect();
        self.order.clear();
        self.order.resize(self.nodes.len() * self.words, 0);
        for &from in &strong {
            self.follow(graph, wording, from);
        }
        self.peel()
    }

    /// Numbers the nodes, thread by thread in program order. Blocked reads have none.
    fn number(&mut self, graph: &Graph) {
        self.nodes.clear();
        self.first.clear();
        for thread in graph.threads() {
            self.first.push(self.nodes.len());
            self.nodes.push(Node::Beginning(thread));
            for (nth, event) in graph.events(thread).iter().enumerate() {
                if !event.is_blocked() {
                    self.nodes.push(Node::Event(EventId { thread, nth: nth as u32 }));
                }
            }
            self.nodes.push(Node::End(thread));
        }
        self.words = self.nodes.len().div_ceil(64);
    }

    #[inline]
    fn node(&self, event: EventId) -> usize {
        self.first[event.thread.index()] + 1 + event.nth as usize
    }

    fn end_of(&self, thread: ThreadId) -> usize {
        self.first.get(thread.index() + 1).map_or(self.nodes.len(), |&next| next) - 1
    }

    #[inline]
    fn row<'a>(&self, rows: &'a [u64], node: usize) -> &'a [u64] {
        &rows[node * self.words..(node + 1) * self.words]
    }

    /// Happens-before, and which nodes are what.
    fn relate(&mut self, graph: &Graph) {
        let (count, words) = (self.nodes.len(), self.words);
        for rows in [&mut self.before, &mut self.after] {
            rows.clear();
            rows.resize(count * words, 0);
        }
        self.located.clear();
        self.located.resize(graph.cells.len() * words, 0);
        for set in [&mut self.strong, &mut self.fences] {
            set.clear();
            set.resize(words, 0);
        }
        let mut joins = Vec::new();
        for node in 0..count {
            let mut before = std::mem::take(&mut self.before);
            let row = &mut before[node * words..(node + 1) * words];
            match self.nodes[node] {
                Node::Beginning(thread) => {
                    if let Some(spawn) = graph.threads[thread.index()].spawned {
                        self.add_past(graph, row, spawn);
                        set_range(row, self.node(spawn), self.node(spawn) + 1);
                    }
                }
                Node::Event(id) => {
                    self.add_past(graph, row, id);
                    let event = graph.event(id);
                    if let (Act::Read { .. } | Act::Write { .. }, Some(at)) = (event.act, event.at)
                    {
                        set_range(&mut self.located[at.index() * words..], node, node + 1);
                    }
                    if event.order == Order::SeqCst {
                        set_range(&mut self.strong, node, node + 1);
                        if event.is_strong_fence() {
                            set_range(&mut self.fences, node, node + 1);
                        }
                    }
                    if let Act::Join(child) = event.act {
                        joins.push((node, self.end_of(child)));
                    }
                }
                Node::End(thread) => {
                    let nth = (node - self.first[thread.index()] - 1) as u32;
                    match nth.checked_sub(1) {
                        Some(nth) => self.add_past(graph, row, EventId { thread, nth }),
                        None => {
                            if let Some(spawn) = graph.threads[thread.index()].spawned {
                                self.add_past(graph, row, spawn);
                                set_range(row, self.node(spawn), self.node(spawn) + 1);
                            }
                        }
                    }
                    set_range(row, self.first[thread.index()], node);
                }
            }
            self.before = before;
        }
        // What is after a join is after the end of the thread.
        for &(join, end) in &joins {
            for node in 0..count {
                if node == join || has(self.row(&self.before, node), join) {
                    set_range(&mut self.before[node * words..(node + 1) * words], end, end + 1);
                }
            }
        }
        for node in 0..count {
            for earlier in ones(&self.before[node * words..(node + 1) * words]) {
                set_range(&mut self.after[earlier * words..(earlier + 1) * words], node, node + 1);
            }
        }
    }

    /// Adds what happens before an event.
    fn add_past(&self, graph: &Graph, row: &mut [u64], event: EventId) {
        for (thread, &events) in graph.clock(event, HB).0.iter().enumerate() {
            if events > 0 || thread == event.thread.index() {
                let first = self.first[thread];
                set_range(row, first, first + 1 + events as usize);
            }
        }
    }

    /// Adds to `row` what comes after a node in its thread; `po≠` if `elsewhere`.
    fn add_later(
        &self,
        graph: &Graph,
        wording: Wording,
        node: usize,
        row: &mut [u64],
        elsewhere: bool,
    ) {
        let (thread, event) = match self.nodes[node] {
            Node::Beginning(thread) | Node::End(thread) => (thread, None),
            Node::Event(id) => (id.thread, Some(graph.event(id))),
        };
        let end = self.end_of(thread) + 1;
        match (elsewhere, event) {
            (true, Some(event)) if wording == Wording::Cxx20 => {
                let skip = usize::from(event.is_updating_read());
                set_range(row, node + 1 + skip, end);
            }
            (true, Some(event)) => {
                for later in node + 1..end {
                    let same = location(event)
                        .is_some_and(|at| has(&self.located[at.index() * self.words..], later));
                    if !same {
                        set_range(row, later, later + 1);
                    }
                }
            }
            _ => set_range(row, node + 1, end),
        }
    }

    /// Adds to `row` what an access is before in modification order and from-read, or in `eco`.
    fn add_eco(&self, graph: &Graph, node: usize, row: &mut [u64], with_reads: bool) {
        let Node::Event(id) = self.nodes[node] else { return };
        let event = graph.event(id);
        let (Act::Read { .. } | Act::Write { .. }, Some(at)) = (event.act, event.at) else {
            return;
        };
        let cell = &graph.cells[at.index()];
        let place = graph.place(event);
        for &write in &cell.writes[place as usize..] {
            let later = self.node(write);
            set_range(row, later, later + 1);
        }
        if with_reads {
            let is_write = matches!(event.act, Act::Write { .. });
            for &read in &cell.reads {
                let other = graph.event(read);
                let theirs = graph.place(other);
                if !other.is_blocked() && (theirs > place || (is_write && theirs == place)) {
                    let later = self.node(read);
                    set_range(row, later, later + 1);
                }
            }
        }
    }

    /// Adds `scb` from a node to `row`.
    fn add_scb(&self, graph: &Graph, wording: Wording, node: usize, row: &mut [u64]) {
        self.add_later(graph, wording, node, row, false);
        self.add_eco(graph, node, row, wording == Wording::Cxx20);
        let mut elsewhere = vec![0; self.words];
        self.add_later(graph, wording, node, &mut elsewhere, true);
        // What is after any of them is after the first.
        if let Some(first) = ones(&elsewhere).next() {
            for middle in ones(self.row(&self.after, first)) {
                self.add_later(graph, wording, middle, row, true);
            }
        }
        if let Node::Event(id) = self.nodes[node]
            && let Some(at) = location(graph.event(id))
        {
            let located = &self.located[at.index() * self.words..(at.index() + 1) * self.words];
            for ((row, after), located) in
                row.iter_mut().zip(self.row(&self.after, node)).zip(located)
            {
                *row |= after & located;
            }
        }
    }

    /// Adds `psc` from a node.
    fn follow(&mut self, graph: &Graph, wording: Wording, from: usize) {
        let [mut reached, mut onward, mut beyond] = std::mem::take(&mut self.sets);
        for set in [&mut reached, &mut onward, &mut beyond] {
            set.clear();
            set.resize(self.words, 0);
        }
        self.add_scb(graph, wording, from, &mut reached);
        if has(&self.fences, from) {
            for later in ones(self.row(&self.after, from)) {
                self.add_scb(graph, wording, later, &mut reached);
                self.add_eco(graph, later, &mut onward, true);
            }
            beyond.copy_from_slice(self.row(&self.after, from));
            for later in ones(&onward) {
                for (beyond, after) in beyond.iter_mut().zip(self.row(&self.after, later)) {
                    *beyond |= after;
                }
            }
        }
        let words = self.words;
        for to in ones(&self.strong) {
            let is_fence = has(&self.fences, to);
            let meets = || reached.iter().zip(self.row(&self.before, to)).any(|(a, b)| a & b != 0);
            if has(&reached, to) || (is_fence && (has(&beyond, to) || meets())) {
                set_range(&mut self.order[from * words..(from + 1) * words], to, to + 1);
            }
        }
        self.sets = [reached, onward, beyond];
    }

    /// Removes nodes without successors until there are none: the rest is on a cycle or leads to one.
    fn peel(&mut self) -> bool {
        loop {
            let mut changed = false;
            for node in 0..self.nodes.len() {
                if has(&self.strong, node) {
                    let leads = self.row(&self.order, node).iter().zip(&self.strong);
                    if leads.fold(0, |all, (row, left)| all | (row & left)) == 0 {
                        self.strong[node / 64] &= !(1 << (node % 64));
                        changed = true;
                    }
                }
            }
            if !changed {
                return self.strong.iter().all(|&word| word == 0);
            }
        }
    }
}

/// Returns the location of a read or a write. What a program accesses in memory of its own has no modification order.
fn location(event: &Event) -> Option<Location> {
    event.at.filter(|_| matches!(event.act, Act::Read { .. } | Act::Write { .. }))
}

#[inline]
fn has(row: &[u64], node: usize) -> bool {
    row[node / 64] >> (node % 64) & 1 == 1
}

/// Sets the bits from `from` up to, but not including, `to`.
#[inline]
fn set_range(row: &mut [u64], from: usize, to: usize) {
    for node in from..to {
        row[node / 64] |= 1 << (node % 64);
    }
}

fn ones(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(index, &word)| {
        let mut rest = word;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                index * 64 + bit
            })
        })
    })
}
