//! What comes before what in every execution: program order, and the start and end of threads.

use crate::solver::{Lit, Node};
use crate::unroll::{EventId, Unrolled};

/// Orders that always hold, closed under transitivity.
pub struct ProgramOrder {
    /// Per node: its thread, and its place there. The end of a thread comes after its events.
    places: Vec<(usize, u32)>,
    /// Per node and thread: the first place there that comes after it.
    after: Vec<Vec<u32>>,
    /// Edges that hold if the literal is true: the end of a thread and the step that waits for it.
    joins: Vec<(Lit, usize, usize)>,
    edges: Vec<(usize, usize)>,
}

impl ProgramOrder {
    /// Of an unrolled program. Nodes are the events, then one for the end of each thread.
    pub fn new(unrolled: &Unrolled) -> Self {
        Self::with(unrolled, &[])
    }

    /// As [`Self::new`], with more orders that hold in all executions that matter.
    pub fn with(unrolled: &Unrolled, more: &[(EventId, EventId)]) -> Self {
        let events = unrolled.events.len();
        let threads = unrolled.threads.len();
        let mut places = vec![(0, 0); events + threads];
        let mut edges: Vec<(usize, usize)> =
            more.iter().map(|(a, b)| (a.index(), b.index())).collect();
        for (number, thread) in unrolled.threads.iter().enumerate() {
            let end = events + number;
            let of_thread = thread.events.iter().map(|event| event.index()).chain([end]);
            for (node, place) in of_thread.zip(0..) {
                places[node] = (number, place);
            }
            let chain: Vec<usize> = thread
                .parent
                .iter()
                .chain(&thread.events)
                .map(|event| event.index())
                .chain([end])
                .collect();
            edges.extend(chain.windows(2).map(|pair| (pair[0], pair[1])));
        }
        let mut joins = Vec::new();
        for (index, event) in unrolled.events.iter().enumerate() {
            for &(condition, thread) in &event.joins {
                let parent = unrolled.threads[thread].parent;
                // A parent is never joined by its own child.
                let is_child = parent.is_some_and(|parent| {
                    unrolled.events[parent.index()].thread == event.thread && parent.index() < index
                });
                if is_child && condition == event.guard && event.joins.len() == 1 {
                    edges.push((events + thread, index));
                } else {
                    joins.push((condition, events + thread, index));
                }
            }
        }
        let after = closure(&places, threads, &edges);
        Self { places, after, joins, edges }
    }

    /// Returns whether `a` comes before `b` in every execution that has both.
    pub fn is_before(&self, a: EventId, b: EventId) -> bool {
        let (thread, place) = self.places[b.index()];
        self.after[a.index()][thread] <= place
    }

    /// Adds all nodes and edges to the solver.
    pub fn add_to(&self, unrolled: &mut Unrolled) -> Vec<Node> {
        let solver = &mut unrolled.circuit.solver;
        let nodes: Vec<Node> = (0..self.after.len()).map(|_| solver.new_node()).collect();
        for &(from, to) in &self.edges {
            solver.add_edge(Lit::TRUE, nodes[from], nodes[to]);
        }
        for &(lit, from, to) in &self.joins {
            solver.add_edge(lit, nodes[from], nodes[to]);
        }
        nodes
    }
}

/// Per node and thread, the first place that can be reached. The edges have no cycle, and those of a
/// thread are one chain.
fn closure(places: &[(usize, u32)], threads: usize, edges: &[(usize, usize)]) -> Vec<Vec<u32>> {
    let nodes = places.len();
    let mut next = vec![Vec::new(); nodes];
    let mut incoming = vec![0_usize; nodes];
    for &(from, to) in edges {
        next[from].push(to);
        incoming[to] += 1;
    }
    let mut order: Vec<usize> = (0..nodes).filter(|&node| incoming[node] == 0).collect();
    let mut done = 0;
    while let Some(&node) = order.get(done) {
        done += 1;
        for &to in &next[node] {
            incoming[to] -= 1;
            if incoming[to] == 0 {
                order.push(to);
            }
        }
    }
    let mut after = vec![Vec::new(); nodes];
    for &node in order.iter().rev() {
        let mut first = vec![u32::MAX; threads];
        for &to in &next[node] {
            let (thread, place) = places[to];
            first[thread] = first[thread].min(place);
            for (mine, theirs) in first.iter_mut().zip(&after[to]) {
                *mine = (*mine).min(*theirs);
            }
        }
        after[node] = first;
    }
    after
}
