//! What a thread stands at when an explorer of graphs answers it, and what it was told.

use selvedge_core::{Answer, Bits, Label, Location, ObjectId};
use smallvec::SmallVec;

use super::{barrier, cond};

/// States of what is done once: it was begun, or is done. Before that it is 0.
pub(super) const BEGUN: Bits = 1;
pub(super) const DONE: Bits = 2;

/// A reader-writer lock that counts its readers, and is held by a writer.
pub(super) const WRITTEN: Bits = Bits::MAX;

/// What a thread stands at, and what it was told.
pub(crate) struct Asked {
    pub(super) label: Label,
    pub(super) answer: Option<Answer>,
    /// What an update writes.
    pub(super) update: Update,
    /// Which values end its wait.
    pub(super) ready: Ready,
    /// Whether what it writes is the newest value.
    pub(super) newest: bool,
    /// Plain writes that it did and that were not told yet.
    pub(super) written: SmallVec<[Written; 1]>,
    /// Blocks of the heap that it used since it last did something that orders accesses of others behind its own.
    pub(super) used: SmallVec<[ObjectId; 4]>,
    /// What it read since it last did something else.
    pub(crate) turn: Vec<Look>,
    /// The reads of a turn of the loop in which it waits.
    pub(super) looks: Vec<Look>,
    /// The mutexes that it has taken of several, while it waits for the others.
    pub(super) taken: SmallVec<[Location; 2]>,
    /// Set while it continues without the explorer, to see whether it only goes round.
    pub(super) silent: Option<Silent>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            label: Label::Ended,
            answer: None,
            update: Update::Same,
            ready: Ready::Never,
            newest: false,
            written: SmallVec::new(),
            used: SmallVec::new(),
            turn: Vec::new(),
            looks: Vec::new(),
            taken: SmallVec::new(),
            silent: None,
        }
    }
}

impl Asked {
    /// A label of several was answered.
    pub(super) fn note_taken(&mut self, label: Label) {
        if let Label::Lock(at) = label {
            self.taken.push(at);
        }
    }
}

/// A plain write to memory that is also accessed atomically.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub(super) at: Location,
    pub(super) object: ObjectId,
    pub(super) address: usize,
    pub(super) size: usize,
    pub(super) pc: usize,
}

/// A read of an atomic in a turn of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Look {
    pub(super) pc: usize,
    pub(super) at: Location,
    pub(super) value: Bits,
}

/// A thread that is told the same values again.
pub(super) struct Silent {
    /// The reads of a turn.
    pub(super) turn: Vec<Look>,
    /// The number of the turn, for `Counting`.
    pub(super) number: u64,
    /// How many it was told again so far, all turns together.
    pub(super) next: usize,
    /// Its states at the beginnings of turns.
    pub(super) states: Vec<u128>,
    /// The read of a turn that finds something else first, if it can only go round.
    pub(super) waits: Option<usize>,
}

/// Which values end a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ready {
    Never,
    /// All but this one.
    OtherThan(Bits),
    Is(Bits),
    Positive,
    /// No signal is choosing a thread to wake.
    Open,
    /// The same, and this bit is gone.
    Woken(Bits),
    /// No thread is running the function that runs once.
    NotBegun,
    /// The round of a barrier is over.
    RoundOver(Bits),
}

impl Ready {
    pub(super) fn holds(self, value: Bits) -> bool {
        match self {
            Ready::Never => false,
            Ready::OtherThan(other) => value != other,
            Ready::Positive => value > 0,
            Ready::Open => cond::is_open(value),
            Ready::Woken(mine) => cond::is_open(value) && value & mine == 0,
            Ready::NotBegun => value != BEGUN,
            Ready::Is(wanted) => value == wanted,
            Ready::RoundOver(round) => barrier::round(value) != round,
        }
    }
}

/// What an update writes, of `size` bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Update {
    Same,
    /// At most so many waiters are woken.
    Signalled {
        most: usize,
    },
    /// A reader-writer lock is taken by a writer.
    Writes,
    /// A thread comes to a barrier of so many.
    Arrives {
        parties: u64,
    },
    /// What is done once begins, unless it is done.
    Begins,
    Does {
        kind: Does,
        operand: Bits,
        size: usize,
    },
}

/// How an update computes what it writes. The shim has the same numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nand,
}

impl Update {
    pub(super) fn next(self, old: Bits) -> Bits {
        let (kind, operand, size) = match self {
            Update::Same => return old,
            Update::Signalled { most } => return cond::signalled(old, most),
            Update::Writes => return WRITTEN,
            Update::Arrives { parties } => return barrier::arrived(old, parties),
            Update::Begins => return if old == 0 { BEGUN } else { old },
            Update::Does { kind, operand, size } => (kind, operand, size),
        };
        let new = match kind {
            Does::Exchange => operand,
            Does::Add => old.wrapping_add(operand),
            Does::Sub => old.wrapping_sub(operand),
            Does::And => old & operand,
            Does::Or => old | operand,
            Does::Xor => old ^ operand,
            Does::Nand => !(old & operand),
        };
        new & mask(size)
    }
}

/// Returns the bits of a value of so many bytes.
pub(super) fn mask(size: usize) -> Bits {
    if size >= 8 { Bits::MAX } else { (1 << (8 * size)) - 1 }
}
