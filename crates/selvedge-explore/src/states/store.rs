//! The states that were reached, each once and in full.
//!
//! States are numbered in the order in which they come. Their bytes lie one after the other in chunks; an index with a
//! part of a hash for each state finds the few that may be the same, whose bytes are then compared. Nothing depends on
//! the hash but the time.

use std::hash::Hasher;

use rustc_hash::FxHasher;

/// The number of a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct StateId(u32);

impl StateId {
    /// The initial state.
    pub(super) const FIRST: StateId = StateId(0);

    /// Returns the state that came next.
    pub(super) fn next(self) -> StateId {
        StateId(self.0 + 1)
    }

    /// Returns the state with this index.
    pub(super) fn new(index: usize) -> StateId {
        StateId(index as u32)
    }

    /// Returns its index among all states.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// States in one chunk.
const CHUNK: usize = 1 << 12;

/// Some states that came one after the other.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
    /// Of each, the state from which it was reached first; the initial state has itself.
    parents: Vec<StateId>,
}

/// A set of states.
pub(super) struct Store {
    chunks: Vec<Chunk>,
    len: usize,
    /// Bytes of all states together.
    bytes: usize,
    /// No more states than this.
    most: u32,
    /// Open addressing: the upper half is a part of the hash, the lower one more than the number of the state; 0 is free.
    index: Vec<u64>,
}

/// What became of a state that was put into the store.
pub(super) enum Put {
    /// It came for the first time.
    New(StateId),
    /// It was there.
    Known(StateId),
    /// There is no number left for it.
    Full,
}

impl Store {
    /// At most `most` states fit in.
    pub(super) fn new(most: u32) -> Self {
        Self { chunks: Vec::new(), len: 0, bytes: 0, most, index: vec![0; 1 << 12] }
    }

    /// Returns how many states there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns how much memory is in use, but for what is reserved.
    pub(super) fn bytes_in_use(&self) -> usize {
        let of_each = size_of::<u32>() + size_of::<StateId>();
        self.bytes + self.len * of_each + self.index.len() * size_of::<u64>()
    }

    /// Returns whether there is a state with this number.
    pub(super) fn has(&self, state: StateId) -> bool {
        state.index() < self.len
    }

    /// Returns the number that the next new state will have.
    pub(super) fn end(&self) -> StateId {
        StateId(self.len as u32)
    }

    /// Returns which share of all states are those up to this one.
    pub(super) fn share_up_to(&self, state: StateId) -> f64 {
        (state.index() + 1) as f64 / self.len as f64
    }

    /// Returns the bytes of a state.
    pub(super) fn bytes(&self, state: StateId) -> &[u8] {
        let (chunk, place) = (&self.chunks[state.index() / CHUNK], state.index() % CHUNK);
        let start = if place == 0 { 0 } else { chunk.ends[place - 1] as usize };
        &chunk.bytes[start..chunk.ends[place] as usize]
    }

    /// Returns the state from which this one was reached first; `None` for the initial state.
    pub(super) fn parent(&self, state: StateId) -> Option<StateId> {
        let parent = self.chunks[state.index() / CHUNK].parents[state.index() % CHUNK];
        (parent != state).then_some(parent)
    }

    /// Returns at most `most` states, evenly spaced.
    pub(super) fn sample(&self, most: usize) -> impl Iterator<Item = StateId> {
        let every = self.len.div_ceil(most.max(1)).max(1);
        (0..self.len).step_by(every).map(|index| StateId(index as u32))
    }

    /// Adds a state, unless it is there. `from`: where it was reached from; `None` for the initial state.
    pub(super) fn put(&mut self, bytes: &[u8], from: Option<StateId>) -> Put {
        let hash = hash(bytes);
        let mut slot = slot(hash, self.index.len());
        loop {
            let entry = self.index[slot];
            if entry == 0 {
                break;
            }
            let state = StateId(entry as u32 - 1);
            if entry >> 32 == u64::from(hash) && self.bytes(state) == bytes {
                return Put::Known(state);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
        if self.len >= self.most as usize {
            return Put::Full;
        }
        let state = StateId(self.len as u32);
        self.index[slot] = entry(hash, state);
        self.append(bytes, from.unwrap_or(state));
        // At most two thirds are used.
        if self.len * 3 > self.index.len() * 2 {
            self.grow();
        }
        Put::New(state)
    }

    fn append(&mut self, bytes: &[u8], parent: StateId) {
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.push(Chunk::default());
        }
        self.len += 1;
        self.bytes += bytes.len();
        let Some(chunk) = self.chunks.last_mut() else { return };
        chunk.bytes.extend_from_slice(bytes);
        chunk.ends.push(u32::try_from(chunk.bytes.len()).expect("internal error: huge states"));
        chunk.parents.push(parent);
    }

    #[cold]
    fn grow(&mut self) {
        let mut index = vec![0_u64; self.index.len() * 2];
        for &entry in self.index.iter().filter(|&&entry| entry != 0) {
            let mut slot = slot((entry >> 32) as u32, index.len());
            while index[slot] != 0 {
                slot = (slot + 1) & (index.len() - 1);
            }
            index[slot] = entry;
        }
        self.index = index;
    }
}

fn entry(hash: u32, state: StateId) -> u64 {
    u64::from(hash) << 32 | u64::from(state.0 + 1)
}

/// Returns where the search for a state with this hash begins. The index is at most 2^33 long; what the hash has no
/// bits for are the lowest of the place.
#[inline]
fn slot(hash: u32, len: usize) -> usize {
    let bits = len.trailing_zeros();
    (u64::from(hash) << 32 >> (64 - bits)) as usize
}

#[inline]
fn hash(bytes: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    // Once more: the bits of a short input are not spread over all of it.
    (hasher.finish().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a set of the standard library, with states of all lengths and more than one chunk.
    #[test]
    fn every_state_is_kept_once() {
        let (mut store, mut known) = (Store::new(u32::MAX), std::collections::BTreeMap::new());
        let mut random = 7_u64;
        for _ in 0..60_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let number = (random >> 40) % 20_000;
            let bytes = &number.to_le_bytes()[..(number % 3 + 2) as usize];
            let bytes = [bytes, &vec![7; (number % 23) as usize]].concat();
            let from = (store.len() > 0).then_some(StateId::FIRST);
            match store.put(&bytes, from) {
                Put::New(state) => assert_eq!(known.insert(bytes, state), None),
                Put::Known(state) => assert_eq!(known.get(&bytes), Some(&state)),
                Put::Full => panic!("there is room"),
            }
        }
        assert_eq!(store.len(), known.len());
        assert!(store.len() > 2 * CHUNK);
        for (bytes, &state) in &known {
            assert_eq!(store.bytes(state), &bytes[..]);
            assert_eq!(store.parent(state), (state != StateId::FIRST).then_some(StateId::FIRST));
        }
    }

    /// States whose hashes collide are told apart by their bytes.
    #[test]
    fn equal_hashes_are_not_equal_states() {
        let mut by_hash = std::collections::HashMap::new();
        let mut store = Store::new(u32::MAX);
        for number in 0_u32..200_000 {
            if let Some(other) = by_hash.insert(hash(&number.to_le_bytes()), number) {
                assert!(matches!(store.put(&u32::to_le_bytes(other), None), Put::New(_)));
                assert!(matches!(store.put(&number.to_le_bytes(), None), Put::New(_)));
                return;
            }
        }
        panic!("no collision among so many: the test tests nothing");
    }
}
