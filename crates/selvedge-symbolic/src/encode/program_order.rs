//! What comes before what in every execution: program order, and the start and end of threads.

use crate::solver::{Lit, Node};
use crate::unroll::{EventId, Unrolled};

/// Orders that always hold, closed under transitivity.
pub struct ProgramOrder {
    /// Per node: which nodes come after it, as bits.
    after: Vec<Vec<u64>>,
    /// Edges that hold if the literal is true: the end of a thread and who waits for it.
    joins: Vec<(Lit, usize, usize)>,
    edges: Vec<(usize, usize)>,
}

impl ProgramOrder {
    /// Of an unrolled program. Nodes are the events, then one for the end of each thread.
    pub fn new(unrolled: &Unrolled) -> Self {
        let events = unrolled.events.len();
        let nodes = events + unrolled.threads.len();
        let mut edges = Vec::new();
        for (number, thread) in unrolled.threads.iter().enumerate() {
            let end = events + number;
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
                // Nobody waits for who waits for him, if it is his child.
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
        Self { after: closure(nodes, &edges), joins, edges }
    }

    /// Whether `a` comes before `b` in every execution that has both.
    pub fn is_before(&self, a: EventId, b: EventId) -> bool {
        let b = b.index();
        self.after[a.index()][b / 64] >> (b % 64) & 1 == 1
    }

    /// Gives the solver all nodes and edges.
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

/// Per node, all nodes that can be reached. The edges have no cycle.
fn closure(nodes: usize, edges: &[(usize, usize)]) -> Vec<Vec<u64>> {
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
    let mut after = vec![vec![0_u64; nodes.div_ceil(64)]; nodes];
    for &node in order.iter().rev() {
        let mut reached = std::mem::take(&mut after[node]);
        for &to in &next[node] {
            reached[to / 64] |= 1 << (to % 64);
            for (mine, theirs) in reached.iter_mut().zip(&after[to]) {
                *mine |= theirs;
            }
        }
        after[node] = reached;
    }
    after
}
