//! Typed, dense, 32-bit ids. Only this file converts them to and from `usize`.

use std::fmt;

macro_rules! define_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// Returns the id with this number.
            ///
            /// # Panics
            /// If there are more than 2³² of them; memory is exhausted long before.
            #[inline]
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("internal error: more than 2^32 ids"))
            }

            /// Returns the number, for indexing.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// Returns the number as it is stored.
            #[inline]
            pub fn number(self) -> u32 {
                self.0
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

/// Returns a length or an index as a number of 32 bits: a list of what an execution consists of.
///
/// # Panics
/// If it is 2³² or more; memory is exhausted long before. Explorers convert shorter lists, which have at most one entry for
/// each event of an execution, with `as`: a longer execution has ended here.
#[inline]
pub fn narrow(index: usize) -> u32 {
    u32::try_from(index).expect("internal error: more than 2^32 entries")
}

define_id!(
    /// A thread of the program under test.
    ///
    /// The same thread has the same id in every execution that one [`System`](crate::System)
    /// performs, whatever the order in which threads are spawned.
    ThreadId,
    "t"
);
define_id!(
    /// Something shared that steps touch. Like a thread's, its id is the same in every execution.
    ObjectId,
    "o"
);
define_id!(
    /// A place in the memory of a [`GraphSystem`](crate::GraphSystem): a variable, or a mutex. The same in
    /// every execution.
    Location,
    "l"
);
define_id!(
    /// The index of an event in one execution.
    Position,
    "@"
);

/// The `nth` event of a thread, counted from 0; the same in every interleaving.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    /// Whose event.
    pub thread: ThreadId,
    /// How many events of the thread come before it.
    pub nth: u32,
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}.{}", self.thread, self.nth)
    }
}

/// A set of threads, as bits.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ThreadSet {
    words: smallvec::SmallVec<[u64; 2]>,
}

impl ThreadSet {
    /// Returns the empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether `thread` is a member.
    #[inline]
    pub fn contains(&self, thread: ThreadId) -> bool {
        self.words
            .get(thread.index() / 64)
            .is_some_and(|word| word >> (thread.index() % 64) & 1 == 1)
    }

    /// Adds `thread`. Returns whether it was new.
    pub fn insert(&mut self, thread: ThreadId) -> bool {
        let (word, bit) = (thread.index() / 64, 1 << (thread.index() % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        new
    }

    /// Removes `thread`. Returns whether it was a member.
    pub fn remove(&mut self, thread: ThreadId) -> bool {
        let was_in = self.contains(thread);
        if was_in {
            self.words[thread.index() / 64] &= !(1 << (thread.index() % 64));
        }
        was_in
    }

    /// Removes all members, and keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Returns whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Returns how many members there are.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the members in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            std::iter::successors((word != 0).then_some(word), |&rest| {
                let rest = rest & (rest - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |rest| ThreadId::new(i * 64 + rest.trailing_zeros() as usize))
        })
    }
}

impl FromIterator<ThreadId> for ThreadSet {
    fn from_iter<I: IntoIterator<Item = ThreadId>>(threads: I) -> Self {
        let mut set = Self::new();
        for thread in threads {
            set.insert(thread);
        }
        set
    }
}

impl fmt::Debug for ThreadSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_set_is_a_set() {
        let mut set: ThreadSet = [3, 64, 200, 3].map(ThreadId::new).into_iter().collect();
        assert_eq!(set.len(), 3);
        assert!(set.contains(ThreadId::new(64)) && !set.contains(ThreadId::new(65)));
        assert!(set.remove(ThreadId::new(64)) && !set.remove(ThreadId::new(64)));
        assert_eq!(set.iter().map(ThreadId::index).collect::<Vec<_>>(), [3, 200]);
        assert_eq!(format!("{set:?}"), "{t3, t200}");
    }
}
