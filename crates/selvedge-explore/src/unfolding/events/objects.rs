//! Object trees: how the histories of one object branch.
//!
//! The history of an object is a sequence of epochs: groups of accesses that commute with each other
//! (see `execution.rs` in the core). A *place* is such a history, as a node of the object's tree. An
//! access that commutes with nothing is a node of its own, below the history it found. Accesses that
//! commute are one node together, below the epoch before them; there is such a node for every set of
//! them that occurs as the end of a history.
//!
//! Two histories are compatible if one continues the other, where a set may be continued by
//! commuting accesses. In terms of nodes `a` and `b` of equal depth: they are the same, or sets of one
//! group below the same node. If `b` is deeper, and `c` is its ancestor as deep as `a`: `c` is `a`, or
//! a set of one group with `a` that contains all of `a`, since what came after `c` depends on all of them.

use selvedge_core::{Access, Mode, commute};

use super::EventRef;
use super::forest::{Forest, NodeRef};
use super::rows::{self, Rows};
use super::table::{Table, hash};

/// What a node stands for.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// One access that commutes with nothing.
    Exclusive,
    /// Accesses that commute with each other. One of them tells the object and the group.
    Group(Access),
}

/// The trees of all objects.
#[derive(Debug)]
pub(crate) struct ObjectTrees {
    forest: Forest,
    kinds: Vec<Kind>,
    /// The events of each group, ascending.
    members: Rows<EventRef>,
    /// Groups by parent and members.
    groups: Table,
    buffer: Vec<EventRef>,
}

impl ObjectTrees {
    pub(crate) fn new(step: u32) -> Self {
        Self {
            forest: Forest::new(step),
            kinds: Vec::new(),
            members: Rows::new(),
            groups: Table::default(),
            buffer: Vec::new(),
        }
    }

    pub(crate) fn forest(&self) -> &Forest {
        &self.forest
    }

    pub(crate) fn forest_mut(&mut self) -> &mut Forest {
        &mut self.forest
    }

    /// Returns the place after an access by `event`, which found the history `before` of the object.
    pub(crate) fn access(
        &mut self,
        before: Option<NodeRef>,
        access: Access,
        event: EventRef,
    ) -> NodeRef {
        let mode = access.mode;
        if !commute(mode, mode) {
            self.kinds.push(Kind::Exclusive);
            self.members.begin();
            return self.forest.push(before);
        }
        let mut members = std::mem::take(&mut self.buffer);
        members.clear();
        let parent = match before {
            Some(place) if self.group(place).is_some_and(|group| commute(group, mode)) => {
                members.extend_from_slice(self.members(place));
                self.forest.parent(place)
            }
            place => place,
        };
        // It is later than its causes.
        members.push(event);
        let node = self.intern(parent, access, &members);
        self.buffer = members;
        node
    }

    /// Returns the union of two histories that are compatible.
    pub(crate) fn join(&mut self, a: NodeRef, b: NodeRef) -> NodeRef {
        match self.forest.depth(a).cmp(&self.forest.depth(b)) {
            _ if a == b => a,
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Equal => self.unite(a, b),
        }
    }

    fn unite(&mut self, a: NodeRef, b: NodeRef) -> NodeRef {
        // Histories that are not compatible come only from a program that breaks its contract.
        let Kind::Group(access) = self.kinds[a.index()] else { return a };
        if !self.are_compatible(a, b) {
            return a;
        }
        let mut members = std::mem::take(&mut self.buffer);
        members.clear();
        members.extend_from_slice(self.members(a));
        members.extend_from_slice(self.members(b));
        members.sort_unstable();
        members.dedup();
        let node = self.intern(self.forest.parent(a), access, &members);
        self.buffer = members;
        node
    }

    /// Returns whether two histories of one object can be parts of one.
    #[inline]
    pub(crate) fn are_compatible(&self, a: NodeRef, b: NodeRef) -> bool {
        if a == b {
            return true;
        }
        let (a, b) = if self.forest.depth(a) <= self.forest.depth(b) { (a, b) } else { (b, a) };
        if self.forest.depth(a) == self.forest.depth(b) {
            return self.are_alike(a, b);
        }
        let c = self.forest.ancestor(b, self.forest.depth(a));
        c == a || (self.are_alike(a, c) && self.is_subset(a, c))
    }

    /// Returns whether two histories are compatible, if `known` is compatible with the one before the last access
    /// of `place`.
    #[inline]
    pub(crate) fn can_continue(&self, known: NodeRef, place: NodeRef) -> bool {
        self.forest.depth(known) + 1 < self.forest.depth(place) || self.are_compatible(known, place)
    }

    /// Returns whether both are sets of one group below the same node.
    fn are_alike(&self, a: NodeRef, b: NodeRef) -> bool {
        match (self.group(a), self.group(b)) {
            (Some(one), Some(other)) => {
                commute(one, other) && self.forest.parent(a) == self.forest.parent(b)
            }
            _ => false,
        }
    }

    fn is_subset(&self, a: NodeRef, b: NodeRef) -> bool {
        let mut larger = self.members(b).iter();
        self.members(a).iter().all(|event| larger.any(|other| other == event))
    }

    fn group(&self, node: NodeRef) -> Option<Mode> {
        match self.kinds[node.index()] {
            Kind::Exclusive => None,
            Kind::Group(access) => Some(access.mode),
        }
    }

    fn members(&self, node: NodeRef) -> &[EventRef] {
        self.members.get(node.index())
    }

    /// Returns the node of a group.
    fn intern(&mut self, parent: Option<NodeRef>, access: Access, members: &[EventRef]) -> NodeRef {
        let hash = group_hash(parent, access, members);
        let is_it = |index: usize| {
            let node = NodeRef::of_index(index);
            let object = match self.kinds[index] {
                Kind::Group(access) => Some(access.object),
                Kind::Exclusive => None,
            };
            object == Some(access.object)
                && self.forest.parent(node) == parent
                && self.members(node) == members
        };
        if let Some(index) = self.groups.find(hash, is_it) {
            return NodeRef::of_index(index);
        }
        self.groups.insert(hash, self.forest.len());
        self.members.push_row(members);
        self.kinds.push(Kind::Group(access));
        self.forest.push(parent)
    }

    /// Keeps these nodes and their ancestors. Returns the new name of each. `events` has those of the
    /// events.
    pub(crate) fn retain(
        &mut self,
        mut keep: Vec<bool>,
        events: &[Option<EventRef>],
    ) -> Vec<Option<NodeRef>> {
        for index in (0..keep.len()).rev() {
            if let (true, Some(parent)) =
                (keep[index], self.forest.parent(NodeRef::of_index(index)))
            {
                keep[parent.index()] = true;
            }
        }
        let names = self.forest.retain(&keep);
        rows::retain(&mut self.kinds, &keep);
        self.members.retain(&keep);
        for member in self.members.items_mut() {
            *member = events[member.index()].expect("internal error: a cause was dropped");
        }
        self.groups.clear();
        for (index, kind) in self.kinds.iter().enumerate() {
            if let Kind::Group(access) = *kind {
                let parent = self.forest.parent(NodeRef::of_index(index));
                self.groups.insert(group_hash(parent, access, self.members.get(index)), index);
            }
        }
        names
    }
}

fn group_hash(parent: Option<NodeRef>, access: Access, members: &[EventRef]) -> u32 {
    let parent = parent.map_or(0, |parent| parent.index() as u32 + 1);
    let first = [parent, access.object.number()];
    hash(first.into_iter().chain(members.iter().map(|event| event.number())))
}
