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

/// A branch of some tree: a step, and what comes after it. Counted from 1, so that an optional
/// one takes no more room: there can be very many branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BranchId(NonZeroU32);

impl BranchId {
    fn of_index(index: usize) -> Self {
        let number = u32::try_from(index + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("internal error: more than 2^32 branches"))
    }

    #[inline]
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Debug)]
struct Branch {
    by: Move,
    first_child: Option<BranchId>,
    next: Option<BranchId>,
}

/// All wakeup trees of one exploration. A tree is the list of its branches, named by the first.
#[derive(Default)]
pub(crate) struct WakeupTrees {
    arena: Vec<Branch>,
    free: Vec<BranchId>,
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

/// Where a sequence continues among the branches of a node.
enum Fit {
    /// Nowhere: it becomes a branch of its own.
    None,
    /// Below one of them, which is this item of it.
    Below(BranchId, usize, Alternatives),
    /// Below each of these, which it is independent of; with those that sleep they are all alternatives of a step.
    BelowAll(Vec<(BranchId, Alternatives)>),
    /// The rest of the sequence decides.
    Undecided,
}

impl WakeupTrees {
    pub(crate) fn step(&self, branch: BranchId) -> Step {
        self.arena[branch.index()].by.step
    }

    /// Returns the branches below `branch`.
    pub(crate) fn children(&self, branch: BranchId) -> Option<BranchId> {
        self.arena[branch.index()].first_child
    }

    /// Returns the one after `branch`.
    pub(crate) fn next(&self, branch: BranchId) -> Option<BranchId> {
        self.arena[branch.index()].next
    }

    /// Returns the branches of a tree in order.
    pub(crate) fn branches(&self, first: Option<BranchId>) -> impl Iterator<Item = BranchId> + '_ {
        std::iter::successors(first, |&branch| self.next(branch))
    }

    /// Adds a branch of one step after `behind`, or as the first one.
    #[inline]
    pub(crate) fn add_leaf(
        &mut self,
        first: &mut Option<BranchId>,
        behind: Option<BranchId>,
        by: Move,
    ) -> BranchId {
        let next = match behind {
            Some(behind) => self.arena[behind.index()].next,
            None => *first,
        };
        let branch = self.allocate(Branch { by, first_child: None, next });
        match behind {
            Some(behind) => self.arena[behind.index()].next = Some(branch),
            None => *first = Some(branch),
        }
        branch
    }

    /// Adds a branch of one step as the last of a tree.
    fn add_last(&mut self, first: &mut Option<BranchId>, by: Move) -> BranchId {
        let last = self.branches(*first).last();
        self.add_leaf(first, last, by)
    }

    /// Takes the children of `branch` away, to be the tree of the node it leads to.
    pub(crate) fn take_children(&mut self, branch: BranchId) -> Option<BranchId> {
        self.arena[branch.index()].first_child.take()
    }

    /// Frees a branch whose children were taken. Returns the one after it.
    pub(crate) fn drop_branch(&mut self, branch: BranchId) -> Option<BranchId> {
        debug_assert!(self.children(branch).is_none(), "a branch is dropped after its exploration");
        self.free.push(branch);
        self.arena[branch.index()].next
    }

    /// Frees a whole tree.
    #[inline]
    pub(crate) fn drop_tree(&mut self, first: Option<BranchId>) {
        if let Some(first) = first {
            self.drop_branches(first);
        }
    }

    fn drop_branches(&mut self, first: BranchId) {
        let mut todo = vec![first];
        while let Some(branch) = todo.pop() {
            todo.extend(self.next(branch));
            todo.extend(self.children(branch));
            self.free.push(branch);
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
        tree: &mut Option<BranchId>,
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
                Some(branch) if self.children(branch).is_none() => continue,
                Some(branch) => self.children(branch),
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
        children: Option<BranchId>,
        sequence: &Sequence,
        items: &[usize],
        mut asleep: Alternatives,
        absent: Absent,
    ) -> Fit {
        let mut alternatives = Vec::new();
        for child in self.branches(children) {
            let by = &self.arena[child.index()].by;
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
                        let is_of_thread = |&(other, _): &(BranchId, Alternatives)| {
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
        tree: &mut Option<BranchId>,
        parent: Option<BranchId>,
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
                    let branch = self.add_last(&mut children, by);
                    self.arena[parent.index()].first_child = children;
                    branch
                }
            });
        }
    }

    #[inline]
    fn allocate(&mut self, branch: Branch) -> BranchId {
        match self.free.pop() {
            Some(id) => {
                self.arena[id.index()] = branch;
                id
            }
            None => {
                let id = BranchId::of_index(self.arena.len());
                self.arena.push(branch);
                id
            }
        }
    }
}

#[cfg(test)]
mod tests;
