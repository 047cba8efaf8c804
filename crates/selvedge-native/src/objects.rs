//! Objects: which accesses are to the same.
//!
//! An access is a range of addresses. *Cells* are a partition of the addresses that were touched: `a[0]` and `a[1]` are
//! different cells, and a `memcpy` over both touches both. An access that straddles a border cuts a cell in two. Steps
//! so far had the old cell, so the search begins again with what is known now. Cells outlive searches; a program has few
//! of these cuts.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use selvedge_core::ObjectId;
use smallvec::SmallVec;

/// The objects of an operation: mostly one.
pub(crate) type Ids = SmallVec<[ObjectId; 2]>;

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Object {
    /// A range of addresses.
    Cell { start: usize, size: usize },
    /// The start and the end of a thread.
    Life(usize),
    /// What wakes a thread.
    Wake(usize),
    /// Whether the block that begins at an address is allocated.
    Block(usize),
    /// The waiters for the word at an address.
    Queue(usize),
    /// The arrivals of every other round at a barrier.
    Barrier { address: usize, half: bool },
    /// Whether a thread came to a barrier in a round, under a memory model.
    Arrival { address: usize, round: u64, thread: usize },
}

/// All objects of a program. Numbers once assigned are kept.
#[derive(Default)]
pub(crate) struct Objects {
    table: Vec<Object>,
    /// Cells by exact range, for the usual access.
    exact: FxHashMap<(usize, usize), ObjectId>,
    /// Cells by address: the address after the end, and the object.
    cells: BTreeMap<usize, (usize, ObjectId)>,
    others: FxHashMap<Object, ObjectId>,
}

impl Objects {
    /// Returns what an object is.
    pub(crate) fn get(&self, id: ObjectId) -> Object {
        self.table[id.index()]
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> usize {
        self.table.len()
    }

    /// Returns all cells.
    pub(crate) fn cells_so_far(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.cells.values().map(|(_, id)| *id)
    }

    fn add(&mut self, object: Object) -> ObjectId {
        let id = ObjectId::new(self.table.len());
        self.table.push(object);
        id
    }

    /// Returns the object that is no cell.
    pub(crate) fn other(&mut self, object: Object) -> ObjectId {
        debug_assert!(!matches!(object, Object::Cell { .. }), "{object:?}");
        if let Some(&id) = self.others.get(&object) {
            return id;
        }
        let id = self.add(object);
        self.others.insert(object, id);
        id
    }

    /// Adds the cells of a range. Returns whether one was cut, so that what was recorded before is out of date.
    #[inline]
    pub(crate) fn cells(&mut self, start: usize, size: usize, ids: &mut Ids) -> bool {
        if let Some(&id) = self.exact.get(&(start, size)) {
            ids.push(id);
            return false;
        }
        self.parts(start, start + size, ids)
    }

    #[cold]
    fn parts(&mut self, start: usize, end: usize, ids: &mut Ids) -> bool {
        let is_cut = self.cut(start) | self.cut(end);
        let known: SmallVec<[(usize, usize, ObjectId); 4]> =
            self.cells.range(start..end).map(|(&from, &(to, id))| (from, to, id)).collect();
        let mut at = start;
        for (from, to, id) in known {
            if at < from {
                ids.push(self.cell(at, from));
            }
            ids.push(id);
            at = to;
        }
        if at < end {
            ids.push(self.cell(at, end));
        }
        is_cut
    }

    fn cell(&mut self, start: usize, end: usize) -> ObjectId {
        let id = self.add(Object::Cell { start, size: end - start });
        self.cells.insert(start, (end, id));
        self.exact.insert((start, end - start), id);
        id
    }

    /// Makes an address a border. Returns whether it was inside of a cell.
    fn cut(&mut self, address: usize) -> bool {
        let before = self.cells.range(..address).next_back();
        let Some((&start, &(end, _))) = before.filter(|(_, (end, _))| *end > address) else {
            return false;
        };
        self.exact.remove(&(start, end - start));
        self.cells.remove(&start);
        self.cell(start, address);
        self.cell(address, end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(objects: &mut Objects, start: usize, size: usize) -> (Vec<usize>, bool) {
        let mut ids = Ids::new();
        let is_cut = objects.cells(start, size, &mut ids);
        (ids.iter().map(|id| id.index()).collect(), is_cut)
    }

    #[test]
    fn ranges_that_do_not_overlap_share_nothing() {
        let mut objects = Objects::default();
        assert_eq!(ids(&mut objects, 8, 4), (vec![0], false));
        assert_eq!(ids(&mut objects, 12, 4), (vec![1], false));
        assert_eq!(ids(&mut objects, 8, 4), (vec![0], false));
        // Both, and what lies around them.
        assert_eq!(ids(&mut objects, 4, 16), (vec![2, 0, 1, 3], false));
    }

    #[test]
    fn a_range_that_straddles_a_border_cuts() {
        let mut objects = Objects::default();
        assert_eq!(ids(&mut objects, 8, 8), (vec![0], false));
        assert_eq!(ids(&mut objects, 12, 8), (vec![2, 3], true));
        assert_eq!(ids(&mut objects, 8, 8), (vec![1, 2], false));
        // Both ends are inside: 4 and 5 are what the first cut leaves, 6 and 7 the second.
        assert_eq!(ids(&mut objects, 13, 1), (vec![6], true));
    }
}
