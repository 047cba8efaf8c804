//! Locations: where the threads of a program meet, and what is stored there.
//!
//! A location holds 64 bits. Variables and counts are such numbers; contents of lists and mailboxes and sets of threads
//! are kept once each, and the location holds their number. Locations and contents are numbered when they are met; the
//! numbers stay for the whole search.

use rustc_hash::FxHashMap;
use selvedge_core::{Bits, Location};

/// What a location is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum What {
    /// A variable, mutex, reader-writer lock, semaphore, list or map: the number of its object.
    Object(u32),
    /// Who waits at a condition variable: the number of its object.
    Waiters(u32),
    /// Whether a thread that waited at a condition variable was woken.
    Token(u32),
    /// The mailbox of a thread.
    Mailbox(u32),
    /// Whether a thread has arrived at a barrier in one of its rounds.
    Arrived { barrier: u32, round: u32, thread: u32 },
    /// How many have arrived at a barrier that more threads use than it has places.
    Count(u32),
    /// Whether a round of such a barrier is over.
    Opened { barrier: u32, round: u32 },
    /// What a thread waits for at an `await` that is false and reads nothing shared: no thread changes it.
    Never(u32),
}

/// What the locations are.
#[derive(Default)]
pub(super) struct Locations {
    met: Vec<What>,
    numbers: FxHashMap<What, Location>,
}

impl Locations {
    pub(super) fn of(&mut self, what: What) -> Location {
        let next = Location::new(self.met.len());
        let met = &mut self.met;
        *self.numbers.entry(what).or_insert_with(|| {
            met.push(what);
            next
        })
    }

    pub(super) fn what(&self, at: Location) -> Option<What> {
        self.met.get(at.index()).copied()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (Location, What)> + '_ {
        self.met.iter().enumerate().map(|(index, &what)| (Location::new(index), what))
    }
}

/// Contents that do not fit into a location.
#[derive(Default)]
pub(super) struct Contents {
    known: Vec<Box<[i32]>>,
    numbers: FxHashMap<Box<[i32]>, Bits>,
}

impl Contents {
    pub(super) fn number(&mut self, content: &[i32]) -> Bits {
        if let Some(&number) = self.numbers.get(content) {
            return number;
        }
        let number = self.known.len() as Bits;
        self.known.push(content.into());
        self.numbers.insert(content.into(), number);
        number
    }

    pub(super) fn content(&self, number: Bits) -> &[i32] {
        usize::try_from(number).ok().and_then(|index| self.known.get(index)).map_or(&[], |it| it)
    }
}

/// A number as bits, and back.
pub(super) fn bits(value: i32) -> Bits {
    Bits::from(value as u32)
}

pub(super) fn number(bits: Bits) -> i32 {
    bits as u32 as i32
}
