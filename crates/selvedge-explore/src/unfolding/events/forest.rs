//! Trees in which "is an ancestor of" is answered in logarithmic time, with skip pointers.
//!
//! Nguyen, Rodríguez, Sousa, Coti, Petrucci: *Quasi-Optimal Partial Order Reduction*, CAV 2018, section
//! 5.2. A node knows its depth and its parent, and its ancestors at the distances s, s², s³, … for as
//! long as these divide its depth; `s` is the *step*. Roots have depth 1: above them stands ⊥, which
//! is no node.
//!
//! Parents come before their children, so that nodes in ascending order are in topological order.

use std::cell::Cell;
use std::num::NonZeroU32;

use super::rows::{self, Rows};

/// A node of some tree. Counted from 1, so that an optional one takes no more room.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeRef(NonZeroU32);

impl NodeRef {
    #[inline]
    pub(crate) fn of_index(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("internal error: more than 2^32 nodes"))
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Clone, Copy, Debug)]
struct TreeNode {
    parent: Option<NodeRef>,
    depth: u32,
}

/// Some trees.
#[derive(Debug)]
pub(crate) struct Forest {
    /// At least 2.
    step: u32,
    nodes: Vec<TreeNode>,
    /// The skip pointers of each node, the nearest first.
    skips: Rows<NodeRef>,
    /// How far apart the nodes of queries were: see [`Forest::count_distances`].
    distances: Option<Box<[Cell<u64>; DISTANCES]>>,
}

/// Distances are counted in powers of two: 0, 1, 2 to 3, 4 to 7, …
pub(crate) const DISTANCES: usize = 24;

impl Forest {
    pub(crate) fn new(step: u32) -> Self {
        Self { step: step.max(2), nodes: Vec::new(), skips: Rows::new(), distances: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Counts from now on how far apart the nodes of queries are.
    pub(crate) fn count_distances(&mut self) {
        self.distances.get_or_insert_with(|| Box::new([const { Cell::new(0) }; DISTANCES]));
    }

    /// Returns how many queries had distances from 2^(i-1) to 2^i - 1, for each i.
    pub(crate) fn distances(&self) -> Vec<u64> {
        self.distances.iter().flat_map(|counts| counts.iter().map(Cell::get)).collect()
    }

    /// Adds a node.
    pub(crate) fn push(&mut self, parent: Option<NodeRef>) -> NodeRef {
        let depth = parent.map_or(0, |parent| self.depth(parent)) + 1;
        self.skips.begin();
        if let Some(parent) = parent {
            let mut distance = self.step;
            while distance < depth && depth.is_multiple_of(distance) {
                let skip = self.walk(parent, depth - distance);
                self.skips.push(skip);
                distance = distance.saturating_mul(self.step);
            }
        }
        self.nodes.push(TreeNode { parent, depth });
        NodeRef::of_index(self.nodes.len() - 1)
    }

    #[inline]
    pub(crate) fn depth(&self, node: NodeRef) -> u32 {
        self.nodes[node.index()].depth
    }

    #[inline]
    pub(crate) fn parent(&self, node: NodeRef) -> Option<NodeRef> {
        self.nodes[node.index()].parent
    }

    /// Returns the ancestor of `node`, or itself, that has this depth: at least 1, at most that of `node`.
    #[inline]
    pub(crate) fn ancestor(&self, node: NodeRef, depth: u32) -> NodeRef {
        if let Some(counts) = &self.distances {
            let distance = self.depth(node) - depth;
            let slot = (u32::BITS - distance.leading_zeros()) as usize;
            let count = &counts[slot.min(DISTANCES - 1)];
            count.set(count.get() + 1);
        }
        // Most queries end here, or one step above.
        let here = &self.nodes[node.index()];
        match (here.depth - depth, here.parent) {
            (0, _) => node,
            (1, Some(parent)) => parent,
            _ => self.walk(node, depth),
        }
    }

    fn walk(&self, mut node: NodeRef, depth: u32) -> NodeRef {
        loop {
            let here = &self.nodes[node.index()];
            if here.depth == depth {
                return node;
            }
            node = self.towards(node, here.depth - depth);
        }
    }

    /// As far up as one pointer leads, but not farther than `most`.
    fn towards(&self, node: NodeRef, most: u32) -> NodeRef {
        let skips = self.skips.get(node.index());
        let (mut reached, mut distance) = (self.parent(node), self.step);
        for &skip in skips.iter().take_while(|_| {
            let near = distance <= most;
            distance = distance.saturating_mul(self.step);
            near
        }) {
            reached = Some(skip);
        }
        reached.expect("internal error: looked for an ancestor above the root")
    }

    /// Returns whether `a` is an ancestor of `b`, or is it.
    #[inline]
    pub(crate) fn is_ancestor(&self, a: NodeRef, b: NodeRef) -> bool {
        a == b || (self.depth(a) < self.depth(b) && self.ancestor(b, self.depth(a)) == a)
    }

    /// Returns whether one is an ancestor of the other, or is it.
    #[inline]
    pub(crate) fn are_comparable(&self, a: NodeRef, b: NodeRef) -> bool {
        a == b
            || if self.depth(a) < self.depth(b) {
                self.is_ancestor(a, b)
            } else {
                self.is_ancestor(b, a)
            }
    }

    /// Drops the nodes that are not to be kept. Returns the new name of each. A kept node has its
    /// ancestors kept.
    pub(crate) fn retain(&mut self, keep: &[bool]) -> Vec<Option<NodeRef>> {
        let mut kept = 0..;
        let names: Vec<Option<NodeRef>> = keep
            .iter()
            .map(|&keep| if keep { kept.next().map(NodeRef::of_index) } else { None })
            .collect();
        let rename = |node: &mut NodeRef| {
            *node = names[node.index()].expect("internal error: an ancestor was dropped");
        };
        rows::retain(&mut self.nodes, keep);
        self.nodes.iter_mut().filter_map(|node| node.parent.as_mut()).for_each(rename);
        self.skips.retain(keep);
        self.skips.items_mut().iter_mut().for_each(rename);
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::random::Random;

    /// By following parents only.
    fn path(forest: &Forest, node: NodeRef) -> Vec<NodeRef> {
        std::iter::successors(Some(node), |&node| forest.parent(node)).collect()
    }

    #[test]
    fn ancestors_are_those_of_the_definition() {
        for step in [2, 3, 4, 8] {
            let mut random = Random::new(u64::from(step));
            let mut forest = Forest::new(step);
            for count in 0..600 {
                // Mostly deep: below one of the last few.
                let back = random.below(4);
                let parent = (count > 3).then(|| NodeRef::of_index(count - 1 - back));
                forest.push(parent);
            }
            let keep: Vec<bool> = {
                let mut keep = vec![false; forest.len()];
                for index in (0..forest.len()).rev() {
                    keep[index] |= random.below(3) == 0;
                    if let (true, Some(parent)) =
                        (keep[index], forest.parent(NodeRef::of_index(index)))
                    {
                        keep[parent.index()] = true;
                    }
                }
                keep
            };
            check(&forest);
            let names = forest.retain(&keep);
            assert_eq!(names.iter().flatten().count(), forest.len());
            check(&forest);
        }
    }

    fn check(forest: &Forest) {
        for a in (0..forest.len()).map(NodeRef::of_index) {
            let path = path(forest, a);
            assert_eq!(forest.depth(a) as usize, path.len());
            for (up, &node) in path.iter().enumerate() {
                assert_eq!(forest.ancestor(a, forest.depth(a) - up as u32), node);
            }
            for b in (0..forest.len()).step_by(7).map(NodeRef::of_index) {
                assert_eq!(forest.is_ancestor(b, a), path.contains(&b));
                let comparable = path.contains(&b) || self::path(forest, b).contains(&a);
                assert_eq!(forest.are_comparable(a, b), comparable);
            }
        }
    }

    #[test]
    fn distances_are_counted() {
        let mut forest = Forest::new(4);
        let mut last = None;
        for _ in 0..10 {
            last = Some(forest.push(last));
        }
        forest.count_distances();
        let last = last.unwrap();
        for depth in [10, 9, 8, 7, 1] {
            forest.ancestor(last, depth);
        }
        assert_eq!(forest.distances()[..5], [1, 1, 2, 0, 1]);
    }
}
