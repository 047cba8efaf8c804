//! 2-SAT in linear time, by strongly connected components.
//!
//! B. Aspvall, M. Plass, R. Tarjan: *A linear-time algorithm for testing the truth of certain
//! quantified Boolean formulas*, 1979. Literal `2v` is variable `v`, literal `2v + 1` its negation.

/// A conjunction of clauses of two literals.
#[derive(Default)]
pub(super) struct TwoSat {
    /// Of each literal: what follows from it.
    implied: Vec<Vec<u32>>,
}

impl TwoSat {
    /// One of the two literals holds.
    pub(super) fn either(&mut self, a: usize, b: usize) {
        let needed = (a.max(b) | 1) + 1;
        if self.implied.len() < needed {
            self.implied.resize_with(needed, Vec::new);
        }
        self.implied[a ^ 1].push(b as u32);
        self.implied[b ^ 1].push(a as u32);
    }

    /// Values of the variables that satisfy all clauses, if there are any.
    pub(super) fn solve(&mut self, variables: usize) -> Option<Vec<bool>> {
        self.implied.resize_with(2 * variables, Vec::new);
        let components = components(&self.implied);
        (0..variables)
            .map(|v| {
                let (yes, no) = (components[2 * v], components[2 * v + 1]);
                // Components are numbered from the sinks: what is implied comes first.
                (yes != no).then_some(yes < no)
            })
            .collect()
    }
}

/// Returns the component of each node. Tarjan's algorithm with a stack of its own.
fn components(edges: &[Vec<u32>]) -> Vec<u32> {
    let mut search = Tarjan {
        index: vec![None; edges.len()],
        low: vec![0; edges.len()],
        component: vec![None; edges.len()],
        open: Vec::new(),
        visited: 0,
        found: 0,
    };
    for root in 0..edges.len() {
        if search.index[root].is_none() {
            search.visit(edges, root);
        }
    }
    search.component.into_iter().map(|component| component.expect("all were visited")).collect()
}

struct Tarjan {
    index: Vec<Option<u32>>,
    low: Vec<u32>,
    component: Vec<Option<u32>>,
    /// Visited, and not yet in a component.
    open: Vec<usize>,
    visited: u32,
    found: u32,
}

impl Tarjan {
    fn visit(&mut self, edges: &[Vec<u32>], root: usize) {
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some(&mut (node, ref mut next)) = path.last_mut() {
            if let Some(&to) = edges[node].get(*next) {
                *next += 1;
                let to = to as usize;
                match (self.index[to], self.component[to]) {
                    (None, _) => {
                        self.enter(to);
                        path.push((to, 0));
                    }
                    (Some(index), None) => self.low[node] = self.low[node].min(index),
                    (Some(_), Some(_)) => {}
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low[parent] = self.low[parent].min(self.low[node]);
            }
            if Some(self.low[node]) == self.index[node] {
                self.close(node);
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.index[node] = Some(self.visited);
        self.low[node] = self.visited;
        self.visited += 1;
        self.open.push(node);
    }

    /// Makes a component of everything that was opened since `node`.
    fn close(&mut self, node: usize) {
        while let Some(member) = self.open.pop() {
            self.component[member] = Some(self.found);
            if member == node {
                break;
            }
        }
        self.found += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::random::Random;

    #[test]
    fn agrees_with_trying_everything() {
        let mut random = Random::new(7);
        let (mut yes, mut no) = (0, 0);
        for _ in 0..2000 {
            let variables = 1 + random.below(6);
            let clauses: Vec<(usize, usize)> = (0..random.below(3 * variables + 1))
                .map(|_| (random.below(2 * variables), random.below(2 * variables)))
                .collect();
            let holds = |bits: usize, literal: usize| (bits >> (literal / 2) & 1) != (literal & 1);
            let satisfies =
                |bits: usize| clauses.iter().all(|&(a, b)| holds(bits, a) || holds(bits, b));
            let possible = (0..1 << variables).any(satisfies);
            let mut problem = TwoSat::default();
            clauses.iter().for_each(|&(a, b)| problem.either(a, b));
            match problem.solve(variables) {
                Some(values) => {
                    let bits =
                        values.iter().rev().fold(0, |bits, &value| bits << 1 | usize::from(value));
                    assert!(satisfies(bits), "{clauses:?} {values:?}");
                    yes += 1;
                }
                None => {
                    assert!(!possible, "{clauses:?}");
                    no += 1;
                }
            }
        }
        assert!(yes > 100 && no > 100);
    }
}
