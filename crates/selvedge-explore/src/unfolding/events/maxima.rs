//! `lmax`: for each event and each object, the history of the object as the event knows it.
//!
//! An event changes one or two entries of what its predecessors know. So entries are stored in chunks
//! that events share: a row is a list of chunks. Comparing two rows skips what they share.

use super::forest::NodeRef;
use super::objects::ObjectTrees;
use super::rows::{self, Rows};

const CHUNK: usize = 8;

type Chunk = [Option<NodeRef>; CHUNK];

/// The chunk with this number; 0 is the empty one.
type ChunkRef = u32;

/// One row per event that was added, in the order in which they were added.
#[derive(Debug)]
pub(crate) struct Maxima {
    chunks: Vec<Chunk>,
    rows: Rows<ChunkRef>,
    /// The row of the event that is being added.
    row: Vec<ChunkRef>,
    /// Chunks from here on belong to the event that is being added alone.
    shared: usize,
}

impl Maxima {
    pub(crate) fn new() -> Self {
        Self { chunks: vec![[None; CHUNK]], rows: Rows::new(), row: Vec::new(), shared: 1 }
    }

    /// Returns how many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns what the event of a row knows of the object.
    #[inline]
    pub(crate) fn get(&self, row: usize, object: usize) -> Option<NodeRef> {
        let chunk = *self.rows.get(row).get(object / CHUNK)?;
        self.chunks[chunk as usize][object % CHUNK]
    }

    /// Begins the row of a new event.
    pub(crate) fn begin(&mut self) {
        self.shared = self.chunks.len();
        self.row.clear();
    }

    /// Begins with what the event of a row knows, its first cause.
    pub(crate) fn copy(&mut self, row: usize) {
        self.row.extend_from_slice(self.rows.get(row));
    }

    /// Adds what the event of a row knows, another cause.
    pub(crate) fn join(&mut self, row: usize, trees: &mut ObjectTrees) {
        let other_len = self.rows.get(row).len();
        self.row.resize(self.row.len().max(other_len), 0);
        for index in 0..other_len {
            let (mine, theirs) = (self.row[index], self.rows.get(row)[index]);
            if mine == theirs || theirs == 0 {
                continue;
            }
            if mine == 0 {
                self.row[index] = theirs;
                continue;
            }
            let (old, other) = (self.chunks[mine as usize], self.chunks[theirs as usize]);
            let mut joined = old;
            for (mine, theirs) in joined.iter_mut().zip(other) {
                *mine = match (*mine, theirs) {
                    (Some(mine), Some(theirs)) => Some(trees.join(mine, theirs)),
                    (mine, theirs) => mine.or(theirs),
                };
            }
            if joined == other {
                self.row[index] = theirs;
            } else if joined != old {
                self.store(index, joined);
            }
        }
    }

    /// Returns what the new event knows of the object.
    pub(crate) fn get_new(&self, object: usize) -> Option<NodeRef> {
        let chunk = *self.row.get(object / CHUNK)?;
        self.chunks[chunk as usize][object % CHUNK]
    }

    /// Says what the new event knows of the object.
    pub(crate) fn set_new(&mut self, object: usize, place: NodeRef) {
        let index = object / CHUNK;
        if self.row.len() <= index {
            self.row.resize(index + 1, 0);
        }
        let mut chunk = self.chunks[self.row[index] as usize];
        chunk[object % CHUNK] = Some(place);
        self.store(index, chunk);
    }

    fn store(&mut self, index: usize, chunk: Chunk) {
        let old = self.row[index] as usize;
        if old >= self.shared {
            self.chunks[old] = chunk;
        } else {
            self.row[index] =
                ChunkRef::try_from(self.chunks.len()).expect("internal error: too many events");
            self.chunks.push(chunk);
        }
    }

    /// Completes the new event. Returns its row.
    pub(crate) fn end(&mut self) -> usize {
        self.rows.push_row(&self.row);
        self.rows.len() - 1
    }

    /// Returns whether all that the events of two rows know of objects fits together.
    pub(crate) fn are_compatible(&self, a: usize, b: usize, trees: &ObjectTrees) -> bool {
        let pairs = self.rows.get(a).iter().zip(self.rows.get(b)).filter(|(a, b)| a != b);
        pairs.into_iter().all(|(&a, &b)| {
            let (a, b) = (&self.chunks[a as usize], &self.chunks[b as usize]);
            a.iter().zip(b).all(|(a, b)| match (a, b) {
                (Some(a), Some(b)) => trees.are_compatible(*a, *b),
                _ => true,
            })
        })
    }

    /// Keeps some rows. Returns the nodes that they name.
    pub(crate) fn retain(&mut self, keep: &[bool], nodes: usize) -> Vec<bool> {
        let mut used = vec![false; nodes];
        self.rows.retain(keep);
        let mut is_used = vec![false; self.chunks.len()];
        is_used[0] = true;
        self.rows.items_mut().iter().for_each(|&chunk| is_used[chunk as usize] = true);
        let mut names: Vec<ChunkRef> = vec![0; self.chunks.len()];
        let kept = (0..self.chunks.len()).filter(|&chunk| is_used[chunk]);
        for (name, chunk) in kept.enumerate() {
            self.chunks[chunk].iter().flatten().for_each(|node| used[node.index()] = true);
            names[chunk] = name as ChunkRef;
        }
        rows::retain(&mut self.chunks, &is_used);
        self.rows.items_mut().iter_mut().for_each(|chunk| *chunk = names[*chunk as usize]);
        used
    }

    /// Renames the nodes.
    pub(crate) fn rename(&mut self, names: &[Option<NodeRef>]) {
        for entry in self.chunks.iter_mut().flatten() {
            *entry = entry
                .map(|node| names[node.index()].expect("internal error: a history was dropped"));
        }
    }
}
