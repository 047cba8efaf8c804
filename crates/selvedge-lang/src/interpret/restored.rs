//! The state that was restored last: what has not changed since is not written or read again.
//!
//! A search restores a state, takes a step, saves the state that it leads to, and takes the step back. A step changes a few
//! cells, the thread that takes it, and seldom another thread. The bytes of everything else are copied from those of the
//! state that was restored. And where the next state that is restored has the same bytes, the state at hand is right
//! already: the bytes of a part tell where it ends, so equal bytes at the beginning are an equal part.

use std::sync::Arc;

use selvedge_core::MayAccess;

use super::conditions::Live;
use super::load::Loaded;
use super::machine::{ContentUndo, Machine};
use super::saved::unsigned;

/// Changed threads are marked in one number; in larger programs states are written anew.
const MOST_THREADS: usize = u64::BITS as usize;

/// A state as bytes, with what is known of its parts: the shared objects, then the threads.
#[derive(Default)]
pub(super) struct Restored {
    bytes: Vec<u8>,
    /// Where each part ends; empty if no state was restored.
    ends: Vec<usize>,
    /// Whether each cell is one byte.
    are_cells_short: bool,
    /// What each thread may still access, where that was asked.
    may: Vec<Option<Arc<MayAccess>>>,
}

impl Restored {
    /// Returns the part with this number.
    pub(super) fn part(&self, number: usize) -> Option<&[u8]> {
        let end = *self.ends.get(number)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// Takes over the bytes of a state whose parts end there. `is_kept` says which threads are as they were.
    pub(super) fn replace(
        &mut self,
        bytes: &[u8],
        ends: &mut Vec<usize>,
        are_cells_short: bool,
        is_kept: impl Fn(usize) -> bool,
    ) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        std::mem::swap(&mut self.ends, ends);
        self.are_cells_short = are_cells_short;
        self.may.resize(self.ends.len() - 1, None);
        for (thread, may) in self.may.iter_mut().enumerate() {
            if !is_kept(thread) {
                *may = None;
            }
        }
    }
}

impl Machine {
    /// Returns what a thread may still access, if that was asked before in a state with the same thread.
    pub(super) fn known_may(&self, thread: usize) -> Option<&Arc<MayAccess>> {
        if self.steps() > 0 { None } else { self.restored.may.get(thread)?.as_ref() }
    }

    /// Keeps what a thread may still access.
    pub(super) fn keep_may(&mut self, thread: usize, may: &Arc<MayAccess>) {
        if self.steps() == 0
            && let Some(known) = self.restored.may.get_mut(thread)
        {
            *known = Some(Arc::clone(may));
        }
    }

    /// Appends the state after one step from the state that was restored. Returns false if it has to be written anew.
    pub(super) fn save_after_step(
        &self,
        loaded: &Loaded,
        live: &Live,
        bytes: &mut Vec<u8>,
    ) -> bool {
        let base = &self.restored;
        let (Some(me), Some((&shared_end, threads))) = (self.only_step(), base.ends.split_first())
        else {
            return false;
        };
        // A barrier that opens changes the threads that wait there.
        let opens = |cell: u32| loaded.generations.binary_search(&cell).is_ok();
        if self.threads.len() > MOST_THREADS || self.cells_changed_since(0).any(opens) {
            return false;
        }
        let (mut changed, mut are_contents_changed) = (1_u64 << me, false);
        for undo in &self.content_log {
            match changed_thread(undo) {
                Some(thread) => changed |= 1 << thread,
                None => are_contents_changed = true,
            }
        }
        let start = bytes.len();
        if are_contents_changed || !self.patch_cells(loaded, shared_end, bytes) {
            bytes.truncate(start);
            self.save_shared(loaded, bytes);
        }
        let mut copied = shared_end;
        for (thread, &end) in threads.iter().enumerate() {
            if changed >> thread & 1 == 1 {
                let begin = thread.checked_sub(1).map_or(shared_end, |before| threads[before]);
                bytes.extend_from_slice(&base.bytes[copied..begin]);
                self.save_thread(loaded, live, thread, bytes);
                copied = end;
            }
        }
        bytes.extend_from_slice(&base.bytes[copied..]);
        for thread in threads.len()..self.existing_threads() {
            self.save_thread(loaded, live, thread, bytes);
        }
        true
    }

    /// Appends the shared objects as they were, with the cells that have changed. Returns false if that is not all.
    fn patch_cells(&self, loaded: &Loaded, shared_end: usize, bytes: &mut Vec<u8>) -> bool {
        let start = bytes.len();
        bytes.extend_from_slice(&self.restored.bytes[..shared_end]);
        for cell in self.cells_changed_since(0) {
            // Behind them, threads are counted.
            if cell < loaded.global_objects {
                let value = unsigned(self.cells[cell as usize]);
                if value >= 0x80 || !self.restored.are_cells_short {
                    return false;
                }
                let left_out = loaded.generations.partition_point(|&it| it < cell);
                bytes[start + cell as usize - left_out] = value as u8;
            }
        }
        true
    }
}

/// Returns the thread of whose part a change is; `None` if shared objects changed.
fn changed_thread(undo: &ContentUndo) -> Option<usize> {
    match *undo {
        ContentUndo::Thread(thread, _)
        | ContentUndo::MessagePosted(thread)
        | ContentUndo::MessageTaken(thread, ..)
        | ContentUndo::MailboxReplaced(thread, _) => Some(thread),
        ContentUndo::ListPushed(..)
        | ContentUndo::ListPopped(..)
        | ContentUndo::ListPoppedFront(..)
        | ContentUndo::ListTaken(..)
        | ContentUndo::ListSet(..)
        | ContentUndo::ListCleared(..)
        | ContentUndo::MapChanged(..)
        | ContentUndo::MapCleared(..)
        | ContentUndo::ReaderAdded(..)
        | ContentUndo::ReaderRemoved(..)
        | ContentUndo::WaiterAdded(..)
        | ContentUndo::WaiterRemoved(..) => None,
    }
}
