//! What was done at each step: to notice nondeterministic code, and to tell what a step would
//! have done if it had come earlier.

use std::fmt;

use selvedge_core::{Mode, ObjectId, Step, ThreadId};

use crate::world::World;

/// A step that was taken.
pub struct Logged<W: World> {
    /// Whose it is.
    pub thread: u32,
    /// The alternative that was taken.
    pub choice: u32,
    /// Where it is.
    pub spot: W::Spot,
    /// Where the thread came to after it.
    pub next: Option<W::Spot>,
    /// The object that it touched, and how it found it, if that is known.
    pub found: Option<(ObjectId, Found)>,
    /// Whether it is the end of a turn of a spin loop, and nothing else.
    pub spins: bool,
}

impl<W: World> Logged<W> {
    pub(crate) fn new(thread: usize, choice: u32, spot: W::Spot) -> Self {
        Self { thread: thread as u32, choice, spot, next: None, found: None, spins: false }
    }

    /// The step, as explorers name it.
    pub fn step(&self) -> Step {
        Step { thread: ThreadId::new(self.thread as usize), choice: self.choice }
    }
}

/// How an operation found its object: enough to tell what another would do that finds it so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The value of an atomic. A compare-exchange: also the value with which it succeeds.
    Value {
        /// What it is.
        value: u64,
        /// What it must be.
        expected: Option<u64>,
    },
    /// A lock that is held for writing, for reading, or not at all.
    Lock {
        /// Whether it is held for writing.
        written: bool,
        /// Whether it is held for reading.
        read: bool,
        /// What is done with it.
        wants: Wants,
    },
}

impl Found {
    /// The values that it has.
    pub(crate) fn values(self) -> [Option<u64>; 2] {
        match self {
            Found::Value { value, expected } => [Some(value), expected],
            Found::Lock { .. } => [None, None],
        }
    }

    /// How the operation would touch its object if it found it like `before`. `None`: it would wait.
    pub fn instead(self, before: Found) -> Option<Mode> {
        match (self, before) {
            (Found::Value { expected, .. }, Found::Value { value, .. }) => {
                Some(if expected? == value { Mode::Update } else { Mode::Read })
            }
            (Found::Lock { wants, .. }, Found::Lock { written, read, .. }) => {
                let is_free = |mode| !written && (mode == Mode::ShareAcquire || !read);
                match wants {
                    Wants::Lock(mode) => is_free(mode).then_some(mode),
                    Wants::Try(mode) => Some(if is_free(mode) { mode } else { Mode::Probe }),
                    Wants::Nothing => None,
                }
            }
            _ => None,
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Value { value, expected: None } => write!(f, "{value}"),
            Found::Value { value, expected: Some(expected) } => {
                write!(f, "{value} where it expected {expected}")
            }
            Found::Lock { written: true, .. } => f.write_str("a lock that was held"),
            Found::Lock { read: true, .. } => f.write_str("a lock that was held for reading"),
            Found::Lock { .. } => f.write_str("a free lock"),
        }
    }
}

/// What is done with a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    /// It is given up.
    Nothing,
    /// It is waited for.
    Lock(Mode),
    /// It is taken if it is free.
    Try(Mode),
}
