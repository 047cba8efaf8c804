//! Fair strongly connected components, and a fair cycle in one.

use std::collections::BTreeSet;

use selvedge_core::ThreadId;

use super::graph::{Edge, Graph};
use super::lasso::{Reached, way};
use crate::options::Fairness;

/// A component in which threads can run forever, scheduled fairly.
pub(super) struct Component {
    states: BTreeSet<usize>,
    /// The edges between its states over which they do, sorted.
    edges: Vec<Edge>,
    /// The position of its nearest state among those that were reached.
    pub(super) entry: usize,
}

/// Returns the fair component with the nearest state, if there is one, of the states that were reached and the edges between
/// them that `follows` allows.
pub(super) fn component(
    graph: &Graph,
    reached: &Reached,
    fairness: Fairness,
    follows: impl Fn(&Edge) -> bool,
) -> Option<Component> {
    let mut best: Option<Component> = None;
    let mut open: Vec<Vec<usize>> = vec![reached.order.clone()];
    // Which part a state belongs to: edges between parts are not followed.
    let mut part = vec![0_usize; graph.states()];
    let mut parts = 1;
    reached.order.iter().for_each(|&state| part[state] = 1);
    while let Some(states) = open.pop().filter(|_| !graph.is_spent()) {
        let found =
            components(graph, &states, |edge| follows(edge) && part[edge.to] == part[edge.from]);
        for states in found {
            parts += 1;
            states.iter().for_each(|&state| part[state] = parts);
            let mut edges: Vec<Edge> = states
                .iter()
                .flat_map(|&state| graph.edges(state))
                .filter(|edge| follows(edge) && part[edge.to] == parts)
                .collect();
            if edges.is_empty() {
                continue;
            }
            edges.sort_unstable();
            match unfair(graph, &states, &edges, fairness) {
                Unfair::Fair => {
                    let entry = states.iter().filter_map(|&state| reached.position(state)).min();
                    let states = states.into_iter().collect();
                    let found = entry.map(|entry| Component { states, edges, entry });
                    let best_entry = best.as_ref().map(|best| best.entry);
                    best = match (&found, best_entry) {
                        (Some(found), Some(entry)) if found.entry > entry => best,
                        _ => found.or(best),
                    };
                }
                Unfair::Without(thread) => {
                    let rest = states.into_iter().filter(|&state| !graph.can_run(thread, state));
                    let rest: Vec<usize> = rest.collect();
                    parts += 1;
                    rest.iter().for_each(|&state| part[state] = parts);
                    open.push(rest);
                }
                Unfair::Always => {}
            }
        }
    }
    best
}

/// Why a component is not fair.
enum Unfair {
    /// It is.
    Fair,
    /// Only parts of it in which this thread cannot run may be.
    Without(ThreadId),
    /// And no part of it is.
    Always,
}

fn unfair(graph: &Graph, states: &[usize], edges: &[Edge], fairness: Fairness) -> Unfair {
    let running: BTreeSet<ThreadId> = edges.iter().map(|edge| edge.thread).collect();
    let able: BTreeSet<ThreadId> =
        states.iter().flat_map(|&state| graph.edges(state)).map(|edge| edge.thread).collect();
    let mut left_out = able.difference(&running).copied();
    match fairness {
        Fairness::None => Unfair::Fair,
        Fairness::Weak => {
            match left_out.any(|thread| states.iter().all(|&state| graph.can_run(thread, state))) {
                true => Unfair::Always,
                false => Unfair::Fair,
            }
        }
        Fairness::Strong => left_out.next().map_or(Unfair::Fair, Unfair::Without),
    }
}

impl Component {
    /// Returns a fair cycle from a state of it.
    pub(super) fn cycle(&self, graph: &Graph, from: usize, fairness: Fairness) -> Vec<Edge> {
        let mut cycle: Vec<Edge> = Vec::new();
        let follows = |edge: &Edge| self.edges.binary_search(edge).is_ok();
        let able: BTreeSet<ThreadId> = self
            .states
            .iter()
            .flat_map(|&state| graph.edges(state))
            .map(|edge| edge.thread)
            .collect();
        for thread in able {
            let here = cycle.last().map_or(from, |edge| edge.to);
            let runs = |edge: &Edge| edge.thread == thread;
            let is_let_out = |state: usize| !graph.can_run(thread, state);
            let is_done = match fairness {
                Fairness::None => true,
                Fairness::Weak => {
                    is_let_out(from) || cycle.iter().any(|edge| runs(edge) || is_let_out(edge.to))
                }
                Fairness::Strong => cycle.iter().any(runs),
            };
            if !is_done {
                let on = way(graph, here, follows, |edge| match fairness {
                    Fairness::Strong => runs(edge),
                    _ => runs(edge) || is_let_out(edge.to),
                });
                cycle.extend(on.unwrap_or_default());
            }
        }
        let here = cycle.last().map_or(from, |edge| edge.to);
        if here != from || cycle.is_empty() {
            cycle.extend(way(graph, here, follows, |edge| edge.to == from).unwrap_or_default());
        }
        cycle
    }
}

/// Returns the strongly connected components of some states, along edges that `follows` allows: Tarjan, without recursion.
fn components(graph: &Graph, states: &[usize], follows: impl Fn(&Edge) -> bool) -> Vec<Vec<usize>> {
    let mut tarjan = Tarjan {
        number: vec![None; graph.states()],
        low: vec![0; graph.states()],
        is_on_stack: vec![false; graph.states()],
        stack: Vec::new(),
        count: 0,
        found: Vec::new(),
    };
    for &root in states {
        if tarjan.number[root].is_some() {
            continue;
        }
        let successors = |state: usize| -> Vec<usize> {
            graph.edges(state).filter(|edge| follows(edge)).map(|edge| edge.to).collect()
        };
        tarjan.enter(root);
        let mut path = vec![(root, successors(root), 0)];
        while let Some((state, next, at)) = path.last_mut().filter(|_| !graph.is_spent()) {
            let state = *state;
            match next.get(*at).copied() {
                Some(to) => {
                    *at += 1;
                    match tarjan.number[to] {
                        None => {
                            tarjan.enter(to);
                            path.push((to, successors(to), 0));
                        }
                        Some(number) if tarjan.is_on_stack[to] => {
                            tarjan.low[state] = tarjan.low[state].min(number);
                        }
                        Some(_) => {}
                    }
                }
                None => {
                    path.pop();
                    if let Some((parent, ..)) = path.last() {
                        tarjan.low[*parent] = tarjan.low[*parent].min(tarjan.low[state]);
                    }
                    tarjan.leave(state);
                }
            }
        }
    }
    tarjan.found
}

struct Tarjan {
    number: Vec<Option<usize>>,
    low: Vec<usize>,
    is_on_stack: Vec<bool>,
    stack: Vec<usize>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Tarjan {
    fn enter(&mut self, state: usize) {
        self.number[state] = Some(self.count);
        self.low[state] = self.count;
        self.count += 1;
        self.stack.push(state);
        self.is_on_stack[state] = true;
    }

    fn leave(&mut self, state: usize) {
        if self.number[state] != Some(self.low[state]) {
            return;
        }
        let mut component = Vec::new();
        while let Some(top) = self.stack.pop() {
            self.is_on_stack[top] = false;
            component.push(top);
            if top == state {
                break;
            }
        }
        component.sort_unstable();
        self.found.push(component);
    }
}
