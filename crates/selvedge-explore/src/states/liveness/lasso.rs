//! Executions in the state graph: the way to a state, and a way round in a component.

use std::collections::{BTreeMap, VecDeque};

use super::graph::{Edge, Graph};

/// An execution: the way to the state `start` that the search found first, then `stem`, then `cycle` again and again.
/// Without a cycle it ends.
#[derive(Clone, Debug)]
pub(crate) struct Lasso {
    pub(crate) start: usize,
    pub(crate) stem: Vec<Edge>,
    pub(crate) cycle: Vec<Edge>,
}

/// The states that are reached from some states through states of a kind.
pub(super) struct Reached {
    /// The nearest first.
    pub(super) order: Vec<usize>,
    /// By state: its position in `order`, and the edge over which it was reached, but for the first ones.
    found: Vec<Option<(usize, Option<Edge>)>>,
}

impl Reached {
    pub(super) fn new(graph: &Graph, starts: &[usize], is_inside: impl Fn(usize) -> bool) -> Self {
        let mut reached = Self { order: Vec::new(), found: vec![None; graph.states()] };
        starts.iter().for_each(|&start| reached.add(start, None));
        let mut next = 0;
        while let Some(&state) = reached.order.get(next).filter(|_| !graph.is_spent()) {
            next += 1;
            for edge in graph.edges(state) {
                if is_inside(edge.to) {
                    reached.add(edge.to, Some(edge));
                }
            }
        }
        reached
    }

    fn add(&mut self, state: usize, over: Option<Edge>) {
        if self.found[state].is_none() {
            self.found[state] = Some((self.order.len(), over));
            self.order.push(state);
        }
    }

    /// Returns the position of a state in the order, if it was reached.
    pub(super) fn position(&self, state: usize) -> Option<usize> {
        self.found[state].map(|(position, _)| position)
    }

    /// Returns the execution that ends in a state that was reached.
    pub(super) fn to(&self, state: usize) -> Lasso {
        let (mut start, mut stem) = (state, Vec::new());
        while let Some((_, Some(edge))) = self.found[start] {
            stem.push(edge);
            start = edge.from;
        }
        stem.reverse();
        Lasso { start, stem, cycle: Vec::new() }
    }
}

/// Returns the shortest way from a state, of at least one edge, along edges that `follows` allows, to one after which `is_there`
/// holds of the last edge.
pub(super) fn way(
    graph: &Graph,
    from: usize,
    follows: impl Fn(&Edge) -> bool,
    is_there: impl Fn(&Edge) -> bool,
) -> Option<Vec<Edge>> {
    let mut over: BTreeMap<usize, Edge> = BTreeMap::new();
    let mut queue = VecDeque::from([from]);
    while let Some(state) = queue.pop_front() {
        for edge in graph.edges(state).filter(|edge| follows(edge)) {
            if is_there(&edge) {
                let (mut way, mut at) = (vec![edge], state);
                while at != from {
                    let edge = over[&at];
                    way.push(edge);
                    at = edge.from;
                }
                way.reverse();
                return Some(way);
            }
            if edge.to != from && !over.contains_key(&edge.to) {
                over.insert(edge.to, edge);
                queue.push_back(edge.to);
            }
        }
    }
    None
}
