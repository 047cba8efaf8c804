//! The states that were reached, each once: in full, or only a hash of each.
//!
//! States are numbered in the order in which they come. Their bytes lie one after the other in chunks; an index with a
//! part of a hash for each state finds the few that may be the same, whose bytes are then compared. Nothing depends on
//! the hash but the time.
//!
//! That is different with [`Keeps::Hashes`] (P. Wolper, D. Leroy: *Reliable Hashing Without Collision Detection*, CAV 1993):
//! bytes are forgotten once a state was expanded, and states with the same hash of 64 bits are taken for one. Of each state, the
//! step that led there is kept, so that a path consists of steps that were taken, whatever was taken for one.

use std::collections::BTreeMap;

use selvedge_core::{Step, ThreadId};

use super::hash::Hash;

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

    /// Returns the state that came so many later, or would come.
    pub(super) fn after(self, count: usize) -> StateId {
        StateId(self.0.saturating_add(count as u32))
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

/// What is kept of each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Keeps {
    /// All of it.
    States,
    /// A hash, and all of it until it was expanded.
    Hashes,
}

/// Some states that came one after the other.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
    /// Of each, the state from which it was reached first; the initial state has itself.
    parents: Vec<StateId>,
    /// Of each, if only that is kept: the half of its hash that is not in the index, and the step that led there.
    hashes: Vec<(u32, PackedStep)>,
}

impl Chunk {
    /// Returns memory that was reserved for more states.
    fn close(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }
}

/// A step in little room. Those that do not fit are in `Store::large_steps`.
#[derive(Clone, Copy, Default)]
struct PackedStep {
    thread: u16,
    choice: u16,
}

impl PackedStep {
    fn new(step: Step) -> Option<Self> {
        let thread = u16::try_from(step.thread.index()).ok()?;
        Some(Self { thread, choice: u16::try_from(step.choice).ok()? })
    }

    fn step(self) -> Step {
        Step { thread: ThreadId::new(usize::from(self.thread)), choice: u32::from(self.choice) }
    }
}

/// Where a state was reached from, and by which step.
pub(super) type From = (StateId, Step);

/// A set of states.
pub(super) struct Store {
    keeps: Keeps,
    chunks: Vec<Chunk>,
    /// The number of chunks whose bytes are forgotten.
    forgotten: usize,
    len: usize,
    /// Bytes of all states together.
    bytes: usize,
    /// The steps that led to some states.
    large_steps: BTreeMap<StateId, Step>,
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
    pub(super) fn new(keeps: Keeps, most: u32) -> Self {
        Self {
            keeps,
            chunks: Vec::new(),
            forgotten: 0,
            len: 0,
            bytes: 0,
            large_steps: BTreeMap::new(),
            most,
            index: vec![0; 1 << 12],
        }
    }

    /// Returns how many states there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns what is kept of each state.
    pub(super) fn keeps(&self) -> Keeps {
        self.keeps
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

    /// Returns the bytes of a state, which are not forgotten.
    pub(super) fn bytes(&self, state: StateId) -> &[u8] {
        let (chunk, place) = (&self.chunks[state.index() / CHUNK], state.index() % CHUNK);
        let start = if place == 0 { 0 } else { chunk.ends[place - 1] as usize };
        &chunk.bytes[start..chunk.ends[place] as usize]
    }

    /// Returns whether a state whose hash has the same upper half has these bytes, as far as it is known.
    fn is(&self, state: StateId, hash: Hash, bytes: &[u8]) -> bool {
        match self.keeps {
            Keeps::States => self.bytes(state) == bytes,
            Keeps::Hashes => self.hashed(state).0 == hash.lower(),
        }
    }

    fn hashed(&self, state: StateId) -> (u32, PackedStep) {
        self.chunks[state.index() / CHUNK].hashes[state.index() % CHUNK]
    }

    /// Returns the state from which this one was reached first, and the step if that is kept; `None` for the initial state.
    pub(super) fn parent(&self, state: StateId) -> Option<(StateId, Option<Step>)> {
        let parent = self.chunks[state.index() / CHUNK].parents[state.index() % CHUNK];
        let step = match self.keeps {
            Keeps::States => None,
            Keeps::Hashes => {
                let large = self.large_steps.get(&state);
                Some(large.copied().unwrap_or_else(|| self.hashed(state).1.step()))
            }
        };
        (parent != state).then_some((parent, step))
    }

    /// Returns at most `most` states whose bytes are known, evenly spaced.
    pub(super) fn sample(&self, most: usize) -> impl Iterator<Item = StateId> {
        let first = self.forgotten * CHUNK;
        let every = (self.len - first).div_ceil(most.max(1)).max(1);
        (first..self.len).step_by(every).map(|index| StateId(index as u32))
    }

    /// Returns the state with these bytes, if it is there.
    pub(super) fn find(&self, hash: Hash, bytes: &[u8]) -> Option<StateId> {
        self.look(hash, bytes).ok()
    }

    /// Returns the state with these bytes, or else its place in the index.
    fn look(&self, hash: Hash, bytes: &[u8]) -> Result<StateId, usize> {
        let mut slot = slot(hash.upper(), self.index.len());
        loop {
            let entry = self.index[slot];
            if entry == 0 {
                return Err(slot);
            }
            let state = StateId(entry as u32 - 1);
            if (entry >> 32) as u32 == hash.upper() && self.is(state, hash, bytes) {
                return Ok(state);
            }
            slot = (slot + 1) & (self.index.len() - 1);
        }
    }

    /// Adds a state, unless it is there. `from`: how it was reached; `None` for the initial state.
    pub(super) fn put(&mut self, hash: Hash, bytes: &[u8], from: Option<From>) -> Put {
        let slot = match self.look(hash, bytes) {
            Ok(state) => return Put::Known(state),
            Err(slot) => slot,
        };
        if self.len >= self.most as usize {
            return Put::Full;
        }
        let state = StateId(self.len as u32);
        self.index[slot] = entry(hash.upper(), state);
        self.append(hash, bytes, from);
        // At most two thirds are used.
        if self.len * 3 > self.index.len() * 2 {
            self.grow();
        }
        Put::New(state)
    }

    fn append(&mut self, hash: Hash, bytes: &[u8], from: Option<From>) {
        let (keeps, state) = (self.keeps, self.end());
        if self.len.is_multiple_of(CHUNK) {
            self.chunks.last_mut().into_iter().for_each(Chunk::close);
            self.chunks.push(Chunk::default());
        }
        self.len += 1;
        self.bytes += bytes.len();
        let Some(chunk) = self.chunks.last_mut() else { return };
        chunk.bytes.extend_from_slice(bytes);
        chunk.ends.push(u32::try_from(chunk.bytes.len()).expect("internal error: huge states"));
        chunk.parents.push(from.map_or(state, |(parent, _)| parent));
        if keeps == Keeps::Hashes {
            self.bytes += size_of::<(u32, PackedStep)>();
            let step = from.map(|(_, step)| step);
            let packed = step.and_then(PackedStep::new);
            chunk.hashes.push((hash.lower(), packed.unwrap_or_default()));
            if let (Some(large), None) = (step, packed) {
                self.large_steps.insert(state, large);
            }
        }
    }

    /// Says that the states before this one were expanded.
    pub(super) fn expanded_before(&mut self, state: StateId) {
        if self.keeps == Keeps::States {
            return;
        }
        while self.forgotten < state.index() / CHUNK {
            let chunk = &mut self.chunks[self.forgotten];
            self.bytes -= chunk.bytes.len();
            (chunk.bytes, chunk.ends) = (Vec::new(), Vec::new());
            self.forgotten += 1;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn a_step() -> Step {
        Step { thread: ThreadId::new(1), choice: 2 }
    }

    fn put(store: &mut Store, bytes: &[u8], from: Option<From>) -> Put {
        store.put(Hash::of(bytes, u64::BITS), bytes, from)
    }

    /// Against a set of the standard library, with states of all lengths and more than one chunk.
    #[test]
    fn every_state_is_kept_once() {
        let (mut store, mut known) =
            (Store::new(Keeps::States, u32::MAX), std::collections::BTreeMap::new());
        let mut random = 7_u64;
        for _ in 0..60_000 {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let number = (random >> 40) % 20_000;
            let bytes = &number.to_le_bytes()[..(number % 3 + 2) as usize];
            let bytes = [bytes, &vec![7; (number % 23) as usize]].concat();
            let from = (store.len() > 0).then_some((StateId::FIRST, a_step()));
            match put(&mut store, &bytes, from) {
                Put::New(state) => assert_eq!(known.insert(bytes, state), None),
                Put::Known(state) => assert_eq!(known.get(&bytes), Some(&state)),
                Put::Full => panic!("there is room"),
            }
        }
        assert_eq!(store.len(), known.len());
        assert!(store.len() > 2 * CHUNK);
        for (bytes, &state) in &known {
            assert_eq!(store.bytes(state), &bytes[..]);
            let parent = (state != StateId::FIRST).then_some((StateId::FIRST, None));
            assert_eq!(store.parent(state), parent);
        }
    }

    /// States whose hashes collide are told apart by their bytes.
    #[test]
    fn equal_hashes_are_not_equal_states() {
        let mut by_hash = std::collections::HashMap::new();
        let mut store = Store::new(Keeps::States, u32::MAX);
        for number in 0_u32..200_000 {
            if let Some(other) =
                by_hash.insert(Hash::of(&number.to_le_bytes(), u64::BITS).upper(), number)
            {
                assert!(matches!(put(&mut store, &u32::to_le_bytes(other), None), Put::New(_)));
                assert!(matches!(put(&mut store, &number.to_le_bytes(), None), Put::New(_)));
                return;
            }
        }
        panic!("no collision among so many: the test tests nothing");
    }

    /// With hashes alone, states are found after their bytes are forgotten, and states with the same hash are one.
    #[test]
    fn hashes_stay_when_states_are_forgotten() {
        let mut store = Store::new(Keeps::Hashes, u32::MAX);
        let states = 3 * CHUNK as u32;
        for number in 0..states {
            let from = store.has(StateId::FIRST).then_some((StateId::FIRST, a_step()));
            assert!(matches!(put(&mut store, &number.to_le_bytes(), from), Put::New(_)));
        }
        let before = store.bytes_in_use();
        let open = StateId::new(2 * CHUNK + 7);
        store.expanded_before(open);
        assert!(store.bytes_in_use() <= before - 2 * CHUNK * size_of::<u32>());
        assert_eq!(store.bytes(open), open.0.to_le_bytes());
        assert!(store.sample(100).all(|state| state >= StateId::new(2 * CHUNK)));
        for number in 0..states {
            let bytes = number.to_le_bytes();
            let found = store.find(Hash::of(&bytes, u64::BITS), &bytes);
            assert_eq!(found, Some(StateId(number)));
        }
        assert_eq!(store.parent(open), Some((StateId::FIRST, Some(a_step()))));
        let large = Step { choice: 1 << 20, ..a_step() };
        let Put::New(last) = put(&mut store, b"last", Some((open, large))) else {
            panic!("it was there");
        };
        assert_eq!(store.parent(last), Some((open, Some(large))));
        let same = Hash::of(&5_u32.to_le_bytes(), u64::BITS);
        assert!(matches!(store.put(same, b"another", None), Put::Known(StateId(5))));
    }
}
