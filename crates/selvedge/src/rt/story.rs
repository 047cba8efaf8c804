//! The history of a block that a violation is about: which threads allocated, freed and used it, and where.

use std::backtrace::Backtrace;

use selvedge_core::{Place, Violation};

use super::arena::{self, Lies};
use crate::spot::{Spot, place};

/// A block as all executions name it: the thread that allocates it, and how much it allocated before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockName {
    pub(super) thread: usize,
    pub(super) offset: u64,
}

impl BlockName {
    /// The name of the block that begins at an address.
    pub(super) fn of(address: usize) -> Option<Self> {
        match arena::locate(address) {
            Lies::In { thread, offset } => Some(Self { thread, offset }),
            Lies::Kept | Lies::Outside => None,
        }
    }
}

/// What is seen of a block while an execution runs again.
#[derive(Default)]
pub(crate) struct Watched {
    pub(super) block: Option<BlockName>,
    pub(crate) allocated: Option<Backtrace>,
    pub(crate) freed: Option<Backtrace>,
    /// The free that is wrong, of whatever block.
    pub(crate) wrong_free: Option<Backtrace>,
    /// The plain access to the block after it was freed.
    pub(crate) accessed: Option<Backtrace>,
    /// The step in whose code it is first written to after it was freed.
    pub(crate) written: Option<Written>,
}

impl Watched {
    pub(crate) fn new(block: Option<BlockName>) -> Self {
        Self { block, ..Self::default() }
    }
}

/// A step in whose code a freed block changes.
pub(crate) struct Written {
    pub(crate) position: usize,
    pub(crate) thread: String,
    pub(crate) spot: Spot,
}

/// Something that happened to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// An operation on an object in it, of which the place is known.
    Used,
    /// A plain access.
    Accessed,
    /// A free that is wrong.
    WrongFree,
    Freed,
    Allocated,
}

/// An event in the life of a block that a violation is about.
pub(crate) struct Happened {
    pub(crate) event: Event,
    /// Returns it as a sentence: which thread did what.
    pub(crate) text: String,
    /// The operation itself, or the last one of its thread before it.
    pub(crate) spot: Option<Spot>,
}

/// What is known about the block of a violation.
pub(crate) struct AboutBlock {
    /// Of the violation.
    pub(crate) message: String,
    pub(crate) block: Option<BlockName>,
    pub(crate) happened: Vec<Happened>,
    /// The step in whose code it was freed.
    pub(crate) freed_by: Option<usize>,
}

impl AboutBlock {
    /// Makes places and notes of a violation from what happened, with the exact places that are known.
    pub(crate) fn tell(&self, violation: &mut Violation, exact: &dyn Fn(Event) -> Option<Place>) {
        violation.places.clear();
        violation.notes.clear();
        for happened in &self.happened {
            let mut text = happened.text.clone();
            let known = exact(happened.event);
            if known.is_none() && happened.spot.is_some() && happened.event != Event::Used {
                text.push_str(", after this operation");
            }
            match known.or_else(|| happened.spot.map(place)) {
                Some(place) => {
                    violation.places.push(place);
                    let number = violation.places.len();
                    violation.notes.push(match self.happened.len() {
                        1 => text,
                        _ => format!("({number}) {text}"),
                    });
                }
                None => violation.notes.push(text),
            }
        }
    }
}
