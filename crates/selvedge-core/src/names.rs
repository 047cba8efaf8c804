//! Names of threads and objects that mean the same in every process.
//!
//! A [`ThreadId`](crate::ThreadId) and an [`ObjectId`](crate::ObjectId) are numbers that one system gives as an
//! exploration meets things, so another system of the same program may give others. What leaves a process, or has to be
//! in the same order in all of them, uses these names.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use smallvec::SmallVec;

/// The name of a thread: the initial thread that it descends from, and the number of the child in each generation.
///
/// Its text form is these numbers, joined by slashes: `2` is the third initial thread, `2/0` the first thread
/// that it creates. Initial threads come first in the order, then the others by their creators.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ThreadKey(SmallVec<[u32; 4]>);

impl ThreadKey {
    /// Returns the name of the initial thread with this number.
    pub fn root(number: u32) -> Self {
        Self(SmallVec::from_slice(&[number]))
    }

    /// Returns the name of a thread that this one creates after `nth` others.
    #[must_use]
    pub fn child(&self, nth: u32) -> Self {
        let mut path = self.0.clone();
        path.push(nth);
        Self(path)
    }
}

impl Ord for ThreadKey {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0.len() > 1, &self.0).cmp(&(other.0.len() > 1, &other.0))
    }
}

impl PartialOrd for ThreadKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, number) in self.0.iter().enumerate() {
            let slash = if index > 0 { "/" } else { "" };
            write!(f, "{slash}{number}")?;
        }
        Ok(())
    }
}

impl FromStr for ThreadKey {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split('/').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

/// The name of an object.
///
/// An object that the program declares has its number; one that comes into being as the program runs has a hash of
/// 64 bits of what it is, so two have the same with a probability of 2⁻⁶³.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectKey(u64);

/// Set in the names of objects that the program does not declare.
const DYNAMIC: u64 = 1 << 63;

impl ObjectKey {
    /// Returns the name of an object whose number is the same in every system of the program.
    pub fn declared(number: u32) -> Self {
        Self(u64::from(number))
    }

    /// Returns the name of an object of a thread: the `nth` of this kind.
    pub fn of_thread(thread: &ThreadKey, kind: u32, nth: u32) -> Self {
        let hash = thread.0.iter().fold(mix(0, u64::from(kind)), |hash, &x| mix(hash, x.into()));
        Self::hashed(mix(hash, u64::from(nth)))
    }

    /// Returns the name of an object that a front end tells apart by a hash.
    pub fn hashed(hash: u64) -> Self {
        Self(hash | DYNAMIC)
    }
}

/// Returns one number for two (the finaliser of SplitMix64 between additions).
fn mix(a: u64, b: u64) -> u64 {
    let mut z = a.rotate_left(25).wrapping_add(b).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_beginning_come_first_then_the_others_by_their_creators() {
        let names = ["0", "1", "10", "0/0", "0/0/0", "0/1", "0/10", "1/0"];
        let keys: Vec<ThreadKey> = names.iter().map(|name| name.parse().unwrap()).collect();
        assert!(keys.is_sorted());
        let again: Vec<String> = keys.iter().map(ThreadKey::to_string).collect();
        assert_eq!(again, names);
        assert_eq!(ThreadKey::root(0).child(0).child(0), keys[4]);
        for wrong in ["", "/", "0/", "-1", "0/x"] {
            assert!(wrong.parse::<ThreadKey>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn objects_have_names_of_their_own() {
        let mut names: Vec<ObjectKey> = (0..100).map(ObjectKey::declared).collect();
        for thread in ["0", "1", "0/0", "0/1", "1/0", "0/0/0"] {
            let thread = thread.parse().unwrap();
            for kind in 0..4 {
                names.extend((0..50).map(|nth| ObjectKey::of_thread(&thread, kind, nth)));
            }
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
