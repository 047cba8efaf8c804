//! Wakeup trees: sequences that must still be explored from a node, as an ordered tree.
//!
//! Abdulla, Aronis, Jonsson, Sagonas: *Optimal Dynamic Partial Order Reduction*, POPL 2014, section 6.
//! Each tree node also stores the accesses of its step, so that independence can be decided without
//! running anything.
//!
//! Invariants:
//! 1. a branch is never moved: new branches come last;
//! 2. for two branches `u` before `w` of one node, `u` is not a weak initial of the sequence that put
//!    `w` there.
//!
//! **Steps with alternatives.** A step that is not in the sequence but independent of all of it is a weak initial,
//! since its thread must take it sooner or later. If it is one of several alternatives, that is so only of all together: its
//! thread may take another one, which may depend on the sequence. So the sequence goes below every one of them, or
//! below none.

use std::num::NonZeroU32;

use selvedge_core::Step;

use crate::trace::sequence::{Alternatives, Initial, Move, Sequence};

/// A node of some tree; it stands for the step that leads to it. Counted from 1, so that an optional
/// one takes no more room: there can be very many nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeId(NonZeroU32);

impl NodeId {
    fn of_index(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("internal error: more than 2^32 nodes"))
    }

    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Debug)]
struct Node {
    by: Move,
    first_child: Option<NodeId>,
    next: Option<NodeId>,
}

/// All wakeup trees of one exploration. A tree is the list of its branches, named by the first.
#[derive(Default)]
pub(crate) struct WakeupTrees {
    nodes: Vec<Node>,
    free: Vec<NodeId>,
    /// The items of a sequence that are still to be inserted.
    items: Vec<usize>,
}

/// What a step that is not in a sequence but independent of all of it means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Absent {
    /// It is a weak initial: the sequence has everything that is independent of `e`.
    Initial,
    /// The part of the sequence that is not there may depend on it.
    Undecided,
    /// The execution is not maximal: something may be missing that depends on it.
    Nothing,
}

/// Where a sequence goes on among the branches of a node.
enum Fit {
    /// Nowhere: it becomes a branch of its own.
    None,
    /// Below one of them, which is this item of it.
    Below(NodeId, usize, Alternatives),
    /// Below each of these, which it is independent of; with those that sleep they are all alternatives of a step.
    BelowAll(Vec<(NodeId, Alternatives)>),
    /// The rest of the sequence decides.
    Undecided,
}

impl WakeupTrees {
    pub(crate) fn step(&self, node: NodeId) -> Step {
        self.nodes[node.index()].by.step
    }

    /// Returns the branches below `node`.
    pub(crate) fn children(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].first_child
    }

    /// Returns the branch after `node`.
    pub(crate) fn next(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].next
    }

    /// Returns the branches of a tree in order.
    pub(crate) fn branches(&self, first: Option<NodeId>) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(first, |&node| self.next(node))
    }

    /// Adds a branch of one step after `behind`, or as the first one.
    #[inline]
    pub(crate) fn add_leaf(
        &mut self,
        first: &mut Option<NodeId>,
        behind: Option<NodeId>,
        by: Move,
    ) -> NodeId {
        let next = match behind {
            Some(behind) => self.nodes[behind.index()].next,
            None => *first,
        };
        let node = self.allocate(Node { by, first_child: None, next });
        match behind {
            Some(behind) => self.nodes[behind.index()].next = Some(node),
            None => *first = Some(node),
        }
        node
    }

    /// Adds a branch of one step as the last of a tree.
    fn add_last(&mut self, first: &mut Option<NodeId>, by: Move) -> NodeId {
        let last = self.branches(*first).last();
        self.add_leaf(first, last, by)
    }

    /// Takes the children of `node` away, to be the tree of the node it leads to.
    pub(crate) fn take_children(&mut self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].first_child.take()
    }

    /// Frees a branch whose children were taken. Returns the one after it.
    pub(crate) fn drop_branch(&mut self, node: NodeId) -> Option<NodeId> {
        debug_assert!(self.children(node).is_none(), "a branch is dropped after its exploration");
        self.free.push(node);
        self.nodes[node.index()].next
    }

    /// Frees a whole tree.
    #[inline]
    pub(crate) fn drop_tree(&mut self, first: Option<NodeId>) {
        if let Some(first) = first {
            self.drop_branches(first);
        }
    }

    fn drop_branches(&mut self, first: NodeId) {
        let mut todo = vec![first];
        while let Some(node) = todo.pop() {
            todo.extend(self.next(node));
            todo.extend(self.children(node));
            self.free.push(node);
        }
    }

    /// Inserts the sequence into a tree of branches that are not being explored. The one that is
    /// would never fit: the sequence contains an event that depends on it. `asleep` are steps with alternatives
    /// that sleep there, independent of the sequence.
    ///
    /// Returns false, and does nothing, if a step that the sequence does not contain would be taken
    /// for a weak initial of it, and `absent` does not allow that.
    pub(crate) fn insert(
        &mut self,
        tree: &mut Option<NodeId>,
        sequence: &Sequence,
        asleep: Alternatives,
        absent: Absent,
    ) -> bool {
        let mut items = std::mem::take(&mut self.items);
        items.clear();
        items.extend(0..sequence.len());
        let mut todo = vec![(None, items, asleep)];
        while let Some((parent, mut items, asleep)) = todo.pop() {
            let children = match parent {
                None => *tree,
                // A leaf that was itself inserted: whatever follows it will be explored.
                Some(node) if self.children(node).is_none() => continue,
                Some(node) => self.children(node),
            };
            match self.fitting(children, sequence, &items, asleep, absent) {
                Fit::Undecided => return false,
                Fit::None => self.append(tree, parent, sequence, &items),
                Fit::Below(child, index, asleep) => {
                    items.remove(index);
                    todo.push((Some(child), items, asleep));
                    continue;
                }
                Fit::BelowAll(branches) => {
                    let below = branches.into_iter().rev();
                    todo.extend(below.map(|(child, asleep)| (Some(child), items.clone(), asleep)));
                }
            }
            self.items = items;
        }
        true
    }

    /// The first of these branches that are weak initials of the items.
    fn fitting(
        &self,
        children: Option<NodeId>,
        sequence: &Sequence,
        items: &[usize],
        mut asleep: Alternatives,
        absent: Absent,
    ) -> Fit {
        let mut alternatives = Vec::new();
        for child in self.branches(children) {
            let by = &self.nodes[child.index()].by;
            match (sequence.weak_initial(items.iter().copied(), by), absent) {
                (Initial::No, _) | (Initial::Absent, Absent::Nothing) => {}
                (Initial::Absent, Absent::Undecided) => return Fit::Undecided,
                (Initial::At(index), _) => {
                    return Fit::Below(child, index, asleep.after(by));
                }
                (Initial::Absent, Absent::Initial) => {
                    // What is below it is explored while those before it sleep.
                    alternatives.push((child, asleep.after(by)));
                    if asleep.add(by) {
                        let is_of_thread = |&(other, _): &(NodeId, Alternatives)| {
                            self.step(other).thread == by.step.thread
                        };
                        return Fit::BelowAll(
                            alternatives.into_iter().filter(is_of_thread).collect(),
                        );
                    }
                }
            }
        }
        Fit::None
    }

    /// Appends the items as a new last branch below `parent`, or of the tree itself.
    fn append(
        &mut self,
        tree: &mut Option<NodeId>,
        parent: Option<NodeId>,
        sequence: &Sequence,
        items: &[usize],
    ) {
        let mut parent = parent;
        for &index in items {
            let by = sequence.to_move(index);
            parent = Some(match parent {
                None => self.add_last(tree, by),
                Some(parent) => {
                    let mut children = self.children(parent);
                    let node = self.add_last(&mut children, by);
                    self.nodes[parent.index()].first_child = children;
                    node
                }
            });
        }
    }

    #[inline]
    fn allocate(&mut self, node: Node) -> NodeId {
        match self.free.pop() {
            Some(id) => {
                self.nodes[id.index()] = node;
                id
            }
            None => {
                let id = NodeId::of_index(self.nodes.len());
                self.nodes.push(node);
                id
            }
        }
    }
}
