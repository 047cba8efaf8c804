//! Edges that never form a cycle: the theory inside the solver.
//!
//! Keeps a topological order of all nodes while edges come and go (the algorithm of Pearce and
//! Kelly). An edge that goes along the order costs nothing; one against it moves the nodes in
//! between, or closes a cycle, whose edges then cannot all be true. Taking edges back leaves the
//! order as it is: it stays one of the fewer edges.

use std::collections::VecDeque;

use super::Lit;

/// A node of the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Node(u32);

impl Node {
    /// Returns its number: nodes count from 0.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An edge in the list of its start or end.
#[derive(Clone, Copy)]
struct Half {
    /// The other end.
    node: u32,
    /// Why it is there: [`Lit::TRUE`] for a fixed one.
    why: Lit,
}

/// All that is known of the order.
#[derive(Default)]
pub(super) struct OrderTheory {
    after: Vec<Vec<Half>>,
    before: Vec<Vec<Half>>,
    /// The place of each node in the topological order.
    place: Vec<u32>,
    fixed: Vec<(Node, Node)>,
    /// Per literal, by its index: the edges it stands for.
    atoms: Vec<Vec<(u32, u32)>>,
    atom_lits: Vec<Lit>,
    /// Edges that are there because of a literal, in the order in which they came.
    added: Vec<(u32, u32)>,
    /// Where each level of the search starts: in `added`, and in the solver's trail.
    levels: Vec<(usize, usize)>,
    /// How much of the solver's trail was looked at.
    pub(super) seen: usize,
    scratch: Scratch,
}

/// Marks and lists that searches need; kept for their memory.
#[derive(Default)]
struct Scratch {
    /// Per node: reached forward, with the edge by which, in the current search.
    reached: Vec<Option<(u32, Lit)>>,
    marked: Vec<bool>,
    forward: Vec<u32>,
    backward: Vec<u32>,
    queue: VecDeque<u32>,
}

impl OrderTheory {
    pub(super) fn new_node(&mut self) -> Node {
        let node = u32::try_from(self.place.len()).expect("internal error: more than 2^32 nodes");
        self.after.push(Vec::new());
        self.before.push(Vec::new());
        self.place.push(node);
        self.scratch.reached.push(None);
        self.scratch.marked.push(false);
        Node(node)
    }

    pub(super) fn nodes(&self) -> usize {
        self.place.len()
    }

    /// Adds an edge permanently. Returns false if it closes a cycle.
    pub(super) fn add_fixed(&mut self, from: Node, to: Node) -> bool {
        self.fixed.push((from, to));
        self.insert(from.0, to.0, Lit::TRUE).is_ok()
    }

    pub(super) fn add_atom(&mut self, lit: Lit, from: Node, to: Node) {
        if self.atoms.len() <= lit.index() {
            self.atoms.resize_with(lit.index() + 1, Vec::new);
        }
        if self.atoms[lit.index()].is_empty() {
            self.atom_lits.push(lit);
        }
        self.atoms[lit.index()].push((from.0, to.0));
        // The literal may be true already.
        self.seen = 0;
        debug_assert!(self.levels.is_empty(), "atoms are added between queries");
        while let Some((from, to)) = self.added.pop() {
            self.remove(from, to);
        }
    }

    /// Returns all edges with what they depend on.
    pub(super) fn atoms(&self) -> impl Iterator<Item = (Lit, Node, Node)> {
        let fixed = self.fixed.iter().map(|&(from, to)| (Lit::TRUE, from, to));
        let atoms = self.atom_lits.iter().flat_map(|&lit| {
            let edges = self.atoms[lit.index()].iter();
            edges.map(move |&(from, to)| (lit, Node(from), Node(to)))
        });
        fixed.chain(atoms)
    }

    /// Returns the edges whose literals are true.
    pub(super) fn edges_where(&self, is_true: impl Fn(Lit) -> bool) -> Vec<(Node, Node)> {
        let there = self.atoms().filter(|&(lit, ..)| lit == Lit::TRUE || is_true(lit));
        there.map(|(_, from, to)| (from, to)).collect()
    }

    pub(super) fn push_level(&mut self) {
        self.levels.push((self.added.len(), self.seen));
    }

    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    pub(super) fn pop_levels(&mut self, count: usize) {
        let Some(&(added, seen)) = self.levels.get(self.levels.len().saturating_sub(count)) else {
            return;
        };
        self.levels.truncate(self.levels.len() - count);
        while self.added.len() > added {
            if let Some((from, to)) = self.added.pop() {
                self.remove(from, to);
            }
        }
        self.seen = seen;
    }

    /// Records that a literal became true. Returns literals that cannot all be true, if its edges close a cycle.
    pub(super) fn assert(&mut self, lit: Lit) -> Result<(), Vec<Lit>> {
        let count = self.atoms.get(lit.index()).map_or(0, Vec::len);
        for i in 0..count {
            let (from, to) = self.atoms[lit.index()][i];
            self.insert(from, to, lit)?;
            self.added.push((from, to));
        }
        Ok(())
    }

    fn remove(&mut self, from: u32, to: u32) {
        // Edges go in the reverse order in which they came: each is the last of its lists.
        let there = self.after[from as usize].pop();
        let here = self.before[to as usize].pop();
        debug_assert_eq!(there.map(|half| half.node), Some(to));
        debug_assert_eq!(here.map(|half| half.node), Some(from));
    }

    fn insert(&mut self, from: u32, to: u32, why: Lit) -> Result<(), Vec<Lit>> {
        if from == to {
            return Err(vec![why]);
        }
        if self.place[from as usize] > self.place[to as usize] {
            self.reorder(from, to, why)?;
        }
        self.after[from as usize].push(Half { node: to, why });
        self.before[to as usize].push(Half { node: from, why });
        Ok(())
    }

    /// Makes room for an edge against the order, or finds the cycle that it closes.
    fn reorder(&mut self, from: u32, to: u32, why: Lit) -> Result<(), Vec<Lit>> {
        let closed = self.search_forward(to, from);
        let result = match closed {
            true => Err(self.cycle(from, to, why)),
            false => {
                self.search_backward(from, self.place[to as usize]);
                self.move_nodes();
                Ok(())
            }
        };
        for &node in &self.scratch.forward {
            self.scratch.reached[node as usize] = None;
        }
        for &node in &self.scratch.backward {
            self.scratch.marked[node as usize] = false;
        }
        self.scratch.forward.clear();
        self.scratch.backward.clear();
        result
    }

    /// Visits everything that comes after `start`, up to the place of `goal`. Returns whether `goal` is met.
    /// Breadth first: the cycle that is found is short, and so is the clause that it becomes.
    fn search_forward(&mut self, start: u32, goal: u32) -> bool {
        let Scratch { reached, forward, queue, .. } = &mut self.scratch;
        let limit = self.place[goal as usize];
        queue.clear();
        queue.push_back(start);
        reached[start as usize] = Some((start, Lit::TRUE));
        forward.push(start);
        while let Some(node) = queue.pop_front() {
            for half in &self.after[node as usize] {
                let next = half.node as usize;
                if reached[next].is_some() || self.place[next] > limit {
                    continue;
                }
                reached[next] = Some((node, half.why));
                forward.push(half.node);
                if half.node == goal {
                    return true;
                }
                queue.push_back(half.node);
            }
        }
        false
    }

    fn search_backward(&mut self, start: u32, limit: u32) {
        let Scratch { marked, backward, .. } = &mut self.scratch;
        marked[start as usize] = true;
        backward.push(start);
        let mut next = 0;
        while let Some(&node) = backward.get(next) {
            next += 1;
            for half in &self.before[node as usize] {
                if !marked[half.node as usize] && self.place[half.node as usize] >= limit {
                    marked[half.node as usize] = true;
                    backward.push(half.node);
                }
            }
        }
    }

    /// Puts all that was found backward in front of all that was found forward.
    fn move_nodes(&mut self) {
        let Scratch { forward, backward, .. } = &mut self.scratch;
        let place = &mut self.place;
        forward.sort_unstable_by_key(|&node| place[node as usize]);
        backward.sort_unstable_by_key(|&node| place[node as usize]);
        let mut places: Vec<u32> =
            forward.iter().chain(backward.iter()).map(|&node| place[node as usize]).collect();
        places.sort_unstable();
        for (&node, &at) in backward.iter().chain(forward.iter()).zip(&places) {
            place[node as usize] = at;
        }
    }

    /// Returns the literals of the cycle that the edge from `from` to `to` closes.
    fn cycle(&self, from: u32, to: u32, why: Lit) -> Vec<Lit> {
        let mut lits = vec![why];
        let mut node = from;
        while node != to {
            let Some((previous, why)) = self.scratch.reached[node as usize] else { break };
            if why != Lit::TRUE {
                lits.push(why);
            }
            node = previous;
        }
        lits.sort_unstable();
        lits.dedup();
        lits
    }
}

/// Returns whether the edges have no cycle. From the definition: nodes without a predecessor are taken
/// away until none is left.
pub(super) fn is_acyclic(nodes: usize, edges: &[(Node, Node)]) -> bool {
    let mut incoming = vec![0_usize; nodes];
    let mut after = vec![Vec::new(); nodes];
    for &(from, to) in edges {
        incoming[to.index()] += 1;
        after[from.index()].push(to.index());
    }
    let mut free: Vec<usize> = (0..nodes).filter(|&node| incoming[node] == 0).collect();
    let mut gone = 0;
    while let Some(node) = free.pop() {
        gone += 1;
        for &next in &after[node] {
            incoming[next] -= 1;
            if incoming[next] == 0 {
                free.push(next);
            }
        }
    }
    gone == nodes
}
