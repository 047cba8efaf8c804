//! References that `std::sync::Arc` counts, which are no steps: under a memory model they would seem to order nothing, and
//! the free of what they keep would race with every access. So it is recognised, and left out as for contents that are counted
//! without steps (`counted.rs`): the last reference is dropped after all others, by any thread.
//!
//! A block of `std::sync::Arc` begins with the numbers of strong and of weak references. Both are positive while its content is
//! used, and 0 when it is freed; while its content is dropped, the first is 0 already. Blocks that the content owns are
//! freed then: they are reached from it.

use selvedge_core::ObjectId;

use super::block::Block;
use super::state::{Attributed, Runtime};

const WORD: usize = size_of::<usize>();
/// The content comes after this.
const COUNTS: usize = 2 * WORD;
/// Over so many blocks one is looked for that leads to another.
const FAR: usize = 4;

/// A word of a block.
fn word(block: &Block, at: usize) -> usize {
    // SAFETY: the caller stays within a block that is allocated, and blocks are aligned to words if they are read.
    unsafe { std::ptr::read_volatile((block.start + at) as *const usize) }
}

/// Its first two words, if it can begin with counts.
fn counts(block: &Block) -> Option<(usize, usize)> {
    let is_possible = block.size >= COUNTS && block.align() >= WORD;
    is_possible.then(|| (word(block, 0), word(block, WORD)))
}

fn is_count(word: usize) -> bool {
    (1..=i32::MAX as usize).contains(&word)
}

impl Block {
    /// An object in it is used for the first time: whether it begins with counts, and the object is in the content.
    pub(super) fn begins_with_counts(&self, object: usize) -> bool {
        object - self.start >= COUNTS && self.has_counts()
    }

    /// Returns whether it begins like a block of `std` whose references are counted.
    pub(super) fn has_counts(&self) -> bool {
        counts(self).is_some_and(|(strong, weak)| is_count(strong) && is_count(weak))
    }

    /// Returns whether `std` has just dropped the last reference to it, of any kind.
    pub(super) fn is_given_up(&self) -> bool {
        counts(self) == Some((0, 0))
    }

    /// Returns whether the last reference that keeps its content may be being dropped.
    pub(super) fn may_be_dropped(&self) -> bool {
        counts(self).is_some_and(|(strong, weak)| strong == 0 && is_count(weak))
    }

    fn points_to(&self, address: usize) -> bool {
        let words = (0..self.size / WORD).map(|nth| nth * WORD);
        self.align() >= WORD && words.into_iter().any(|at| word(self, at) == address)
    }
}

/// Blocks that may have counts, whose content may be being dropped and leads to `address`.
fn owners(rt: &Runtime, address: usize) -> Vec<usize> {
    let alive = || rt.known.iter().flat_map(|it| it.home.log()).filter(|it| it.free.is_none());
    let (mut reached, mut owners) = (vec![address], Vec::new());
    let mut from = 0;
    for _ in 0..FAR {
        let to = reached.len();
        for block in alive() {
            let is_new = !reached[1..to].contains(&block.start);
            if !is_new || !reached[from..to].iter().any(|&address| block.points_to(address)) {
                continue;
            }
            match block.may_be_dropped() {
                true => owners.push(block.start),
                false => reached.push(block.start),
            }
        }
        from = to;
    }
    owners
}

/// The running thread frees the block, with these objects in it. Returns whether the references to it are counted by `std`.
pub(super) fn is_counted_unseen(rt: &mut Runtime, block: Block, objects: &[ObjectId]) -> bool {
    let me = rt.now.current;
    if block.is_given_up() {
        let attributed = std::mem::take(&mut rt.threads[me].own.attributed);
        let (its, others): (Vec<Attributed>, _) =
            attributed.into_iter().partition(|(owner, _)| *owner == block.start);
        rt.threads[me].own.attributed = others;
        for (_, objects) in its {
            rt.forget_freed_objects(&objects);
        }
        return block.counted;
    }
    if !objects.is_empty() {
        for owner in owners(rt, block.start) {
            rt.threads[me].own.attributed.push((owner, objects.to_vec()));
        }
    }
    false
}
