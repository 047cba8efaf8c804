//! What Rust code adds to the state of the runtime: to a check, to an execution and to its threads.

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use selvedge_core::{ObjectId, Place};
use selvedge_report::Tree;
use selvedge_rt::Fresh;

use super::in_blocks::InBlocks;
use super::locals::Locals;
use super::memory::Memory;
use super::published::MayUse;
use super::restore::{Firsts, Outliving};
use super::story::{AboutBlock, Watched};
use crate::spot::Spot;
use crate::watch::Pulse;

pub(crate) type Engine = selvedge_rt::Engine<Rust>;
pub(crate) type Program = selvedge_rt::Program<Rust>;
pub(crate) type GraphProgram = selvedge_rt::GraphProgram<Rust>;
pub(crate) type Word<'a> = selvedge_rt::Word<'a, Rust>;
pub(crate) type Runtime = selvedge_rt::Runtime<Rust>;
pub(crate) type Shared = selvedge_rt::Shared<Rust>;

/// Which freed blocks are made inaccessible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guards {
    Nothing,
    /// Those with the layout of one whose address was in an atomic.
    Published,
    All,
}

/// The closure under test, and what all systems of a check share about it.
pub(crate) struct Rust {
    pub(super) program: Rc<dyn Fn()>,
    /// Where the check is.
    pub(crate) checked_at: Spot,
    /// Whether a panic in a spawned thread is only what `join` returns.
    pub(crate) panics_are_results: bool,
    /// Whether an allocation may return a block that was freed before.
    pub(crate) reuses: bool,
    /// Which freed blocks are made inaccessible.
    pub(crate) guards: Guards,
    /// Whether one of them could not be.
    pub(crate) unguarded: Cell<bool>,
    /// Whether blocks that are never freed are reported.
    pub(crate) block_leaks: bool,
    /// Whether accesses to a cell may not overlap if one of them writes, even in one thread.
    pub(crate) exclusive_cells: bool,
    /// What others know about this check.
    pub(crate) pulse: Arc<Pulse>,
    /// What shows an execution again: the text before its schedule, and after it.
    pub(super) replay_command: (String, String),
    /// Contents of `Arc`s whose counts matter: someone looks at them, or dropping the last one does
    /// something visible. Also results of threads, which belong to the thread and to its handle.
    pub(super) counted: RefCell<BTreeSet<&'static str>>,
    /// Layouts, as size and alignment, of blocks that may be used again.
    pub(super) recycled: RefCell<BTreeSet<(usize, usize)>>,
    /// The same of blocks whose address was found in an atomic, or put into one, if those are guarded.
    pub(super) published: RefCell<BTreeSet<(usize, usize)>>,
    /// Which objects lay in which blocks, in any execution under a memory model.
    pub(super) in_blocks: RefCell<InBlocks>,
    /// Whether a block was freed that other threads knew, and the freeing thread had not waited for their ends.
    pub(crate) frees_known: Cell<bool>,
    /// Static data belongs to one check at a time: tests run side by side.
    statics: RefCell<Option<MutexGuard<'static, ()>>>,
    /// What static data was like at first.
    pub(super) firsts: RefCell<Firsts>,
    /// From the last panic that was seen in a replay, if the environment asks for backtraces.
    pub(crate) backtrace: RefCell<Option<Backtrace>>,
    /// What happened to the block that the last violation of a replay is about.
    pub(crate) about_block: RefCell<Option<AboutBlock>>,
    /// The block that a replay looks at.
    pub(crate) watched: RefCell<Option<Watched>>,
    /// Whether executions of the search are kept for a page.
    pub(crate) keeps_tree: Cell<bool>,
    /// Those that ended.
    pub(crate) tree: RefCell<Option<Tree>>,
}

impl Rust {
    /// Returns a number that grows with all that executions have told about the code, and is not part of their results.
    pub(crate) fn about(&self) -> u64 {
        let layouts = self.recycled.borrow().len() + self.published.borrow().len();
        let learned = self.counted.borrow().len() + layouts + self.in_blocks.borrow().learned();
        let said = [self.unguarded.get(), self.frees_known.get(), self.pulse.stranger().is_some()];
        (learned + said.iter().filter(|&&it| it).count()) as u64
    }

    /// `replay_command`: what shows an execution again, before its schedule and after it.
    pub(crate) fn new(
        program: Rc<dyn Fn()>,
        checked_at: Spot,
        pulse: Arc<Pulse>,
        replay_command: (String, String),
    ) -> Self {
        Self {
            program,
            checked_at,
            panics_are_results: false,
            reuses: false,
            guards: Guards::Nothing,
            unguarded: Cell::new(false),
            block_leaks: false,
            exclusive_cells: false,
            pulse,
            replay_command,
            counted: RefCell::default(),
            recycled: RefCell::default(),
            published: RefCell::default(),
            in_blocks: RefCell::default(),
            frees_known: Cell::new(false),
            statics: RefCell::new(None),
            firsts: RefCell::default(),
            backtrace: RefCell::new(None),
            about_block: RefCell::new(None),
            watched: RefCell::new(None),
            keeps_tree: Cell::new(false),
            tree: RefCell::new(None),
        }
    }

    /// Returns whether blocks of a layout, as size and alignment, lie on pages of their own.
    pub(super) fn guards(&self, layout: (usize, usize)) -> bool {
        match self.guards {
            Guards::Nothing => false,
            Guards::Published => self.published.borrow().contains(&layout),
            Guards::All => true,
        }
    }

    /// Returns whether uses of blocks of a layout are steps, however a thread came to know them.
    pub(super) fn is_published(&self, layout: (usize, usize)) -> bool {
        self.guards != Guards::Nothing && self.published.borrow().contains(&layout)
    }

    /// Returns whether a block is watched.
    #[inline]
    pub(super) fn watches_block(&self) -> bool {
        self.watched.borrow().is_some()
    }

    /// Waits until no other check uses static data, and keeps it until this check is over.
    pub(super) fn claim_statics(&self) {
        static STATICS: Mutex<()> = Mutex::new(());
        let mut claimed = self.statics.borrow_mut();
        if claimed.is_none() {
            self.pulse.is_queued.store(true, Ordering::Relaxed);
            *claimed = Some(STATICS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
            self.pulse.is_queued.store(false, Ordering::Relaxed);
        }
    }
}

/// A free that may be part of dropping the last reference that `std` counts: the block with the counts, and objects in what was
/// freed.
pub(crate) type Attributed = (usize, Vec<ObjectId>);

/// What Rust code adds to a thread of an execution.
#[derive(Default)]
pub(crate) struct RustThread {
    /// Whether its stack is being taken down.
    pub(crate) aborting: bool,
    /// Whether it stands at a step of the allocator.
    pub(super) allocates: bool,
    /// Whether it unwound when it last stood still, or has panicked since.
    pub(super) unwinding: bool,
    /// Whether another thread unparked it.
    pub(crate) token: bool,
    /// Threads whose end it waited for, or a thread that it waited for, or the one that spawned it before: a bit each, as in
    /// [`Block::known_to`](super::block::Block::known_to).
    pub(super) joined: u64,
    /// The same of the ends of their closures, which come first.
    pub(super) done: u64,
    /// Blocks that it may use although they are inaccessible to others.
    pub(super) may_use: MayUse,
    /// The address of a plain access to memory that was freed.
    pub(super) accessed: Option<usize>,
    pub(super) panic: Option<Panicked>,
    /// The panic before that one.
    pub(super) panic_before: Option<Panicked>,
    pub(crate) locals: Locals,
    /// Whether it has left its result. Its thread-local values may not be dropped yet.
    pub(crate) is_done: bool,
    /// Contents of the `Arc`s that it is taking down.
    pub(super) dropping: Vec<&'static str>,
    /// What it freed that references of `std` may have kept; see `unseen.rs`.
    pub(super) attributed: Vec<Attributed>,
    /// Where its time was up, under a memory model.
    pub(crate) timeouts: Vec<Spot>,
    /// Messages sent so far.
    pub(crate) sent: u64,
}

/// A panic, as the hook saw it.
#[derive(Clone)]
pub(super) struct Panicked {
    pub(super) message: String,
    pub(super) place: Option<Place>,
}

/// An object that the next operation is about.
///
/// Not an `Option` of what is known about it: the compiler does not write the fields of a `None`. They would be those of an
/// earlier operation, and a copy of them on the stack of a thread would be part of its state (`spin/mod.rs` of the runtime).
#[derive(Clone, Copy)]
pub(crate) struct Touching {
    /// Of a part of it.
    pub(crate) address: usize,
    pub(crate) kind: &'static str,
    /// Where it was created; `None` if there is no object.
    pub(crate) created: Option<Spot>,
}

impl Touching {
    pub(crate) const NOTHING: Self = Self { address: 0, kind: "", created: None };
}

/// An access to a cell that has not ended.
pub(crate) struct Open {
    pub(crate) object: ObjectId,
    pub(crate) writes: bool,
    pub(crate) spot: Spot,
}

/// What Rust code adds to an execution.
pub(crate) struct RustExecution {
    /// How many threads stand still while they unwind.
    pub(super) unwinding: u32,
    /// Static data that was touched, and how to set it back.
    pub(super) resets: Vec<Outliving>,
    pub(super) memory: Memory,
    /// What the next operation of the running thread is about.
    pub(crate) touching: [Touching; 2],
    /// Accesses to cells that have not ended, if those may not overlap.
    pub(crate) open: Vec<Open>,
}

impl Default for RustExecution {
    fn default() -> Self {
        Self {
            unwinding: 0,
            resets: Vec::new(),
            memory: Memory::default(),
            touching: [Touching::NOTHING; 2],
            open: Vec::new(),
        }
    }
}

impl Fresh for RustExecution {
    fn fresh(last: Self) -> Self {
        Self {
            unwinding: 0,
            resets: Vec::fresh(last.resets),
            memory: Memory::fresh(last.memory),
            touching: [Touching::NOTHING; 2],
            open: Vec::fresh(last.open),
        }
    }
}
