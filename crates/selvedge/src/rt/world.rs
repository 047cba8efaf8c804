//! Checked Rust code as a [`World`].

use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use selvedge_core::Place;
use selvedge_rt::{Advice, Body, Fresh, World};

use super::arena::{self, Arena, Filled};
use super::blocks::{Memory, Remembered};
use super::body::body;
use super::locals::Locals;
use super::object::Touching;
use super::panics::Panicked;
use super::restore::{Firsts, Outliving};
use super::watched::{AboutBlock, Watched};
use crate::watch::{Overdue, Pulse};

/// A place in checked code.
pub(crate) type Spot = &'static Location<'static>;
pub(crate) type Engine = selvedge_rt::Engine<Rust>;
pub(crate) type Program = selvedge_rt::Program<Rust>;
pub(crate) type Word<'a> = selvedge_rt::Word<'a, Rust>;
pub(crate) type GraphProgram = selvedge_rt::GraphProgram<Rust>;
pub(crate) type Runtime = selvedge_rt::Runtime<Rust>;
pub(crate) type Shared = selvedge_rt::Shared<Rust>;

/// The closure under test, and what all systems of a check share about it.
pub(crate) struct Rust {
    program: Rc<dyn Fn()>,
    /// Where the check is.
    pub(crate) checked_at: Spot,
    /// Whether a panic in a spawned thread is only what `join` returns.
    pub(crate) panics_are_results: bool,
    /// Whether an allocation may give a block that was freed before.
    pub(crate) reuses: bool,
    /// Whether freed blocks are made inaccessible.
    pub(crate) guards: bool,
    /// Whether one of them could not be.
    pub(crate) unguarded: Cell<bool>,
    /// Whether blocks that are never freed are reported.
    pub(crate) block_leaks: bool,
    /// What others know about this check.
    pub(crate) pulse: Arc<Pulse>,
    /// What shows an execution again: the text before its schedule, and after it.
    replay_command: (String, String),
    /// Contents of `Arc`s whose counts matter: someone looks at them, or dropping the last one does
    /// something visible. Also results of threads, which belong to the thread and to its handle.
    pub(super) counted: RefCell<BTreeSet<&'static str>>,
    /// Layouts, as size and alignment, of blocks that may be used again.
    pub(super) recycled: RefCell<BTreeSet<(usize, usize)>>,
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
}

impl Rust {
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
            guards: false,
            unguarded: Cell::new(false),
            block_leaks: false,
            pulse,
            replay_command,
            counted: RefCell::default(),
            recycled: RefCell::default(),
            statics: RefCell::new(None),
            firsts: RefCell::default(),
            backtrace: RefCell::new(None),
            about_block: RefCell::new(None),
            watched: RefCell::new(None),
        }
    }

    /// Whether a block is watched.
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

/// What Rust code adds to a thread of an execution.
#[derive(Default)]
pub(crate) struct RustThread {
    /// Whether its stack is being taken down.
    pub(crate) aborting: bool,
    /// Whether it stands at a step of the allocator.
    pub(super) allocates: bool,
    /// Whether it unwound when it last stood still, or has panicked since.
    pub(super) unwinding: bool,
    /// Whether somebody unparked it.
    pub(crate) token: bool,
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
    /// Messages sent so far.
    pub(crate) sent: u64,
}

/// What Rust code adds to an execution.
#[derive(Default)]
pub(crate) struct RustExecution {
    /// How many threads stand still while they unwind.
    pub(super) unwinding: u32,
    /// Static data that was touched, and how to set it back.
    pub(super) resets: Vec<Outliving>,
    pub(super) memory: Memory,
    /// What the next operation of the running thread is about.
    pub(crate) touching: [Option<Touching>; 2],
}

impl Fresh for RustExecution {
    fn fresh(last: Self) -> Self {
        Self {
            unwinding: 0,
            resets: Vec::fresh(last.resets),
            memory: Memory::fresh(last.memory),
            touching: [None; 2],
        }
    }
}

impl World for Rust {
    type Spot = Spot;
    type Line = (&'static str, u32);
    type Home = Box<Arena>;
    type Mark = (Filled, Remembered);
    type Code = *mut Arena;
    type Thread = RustThread;
    type Execution = RustExecution;
    type Overdue = Overdue;

    #[inline]
    fn is_same(one: Spot, other: Spot) -> bool {
        std::ptr::eq(one, other)
    }

    fn line(spot: Spot) -> Self::Line {
        (spot.file(), spot.line())
    }

    fn place(spot: Spot) -> Place {
        Place { file: spot.file().to_owned(), line: spot.line(), column: spot.column(), length: 1 }
    }

    fn object_name(kind: &str, created: Spot) -> String {
        let file = created.file().rsplit(['/', '\\']).next().unwrap_or(created.file());
        format!("{kind}@{file}:{}", created.line())
    }

    fn checked_at(&self) -> Spot {
        self.checked_at
    }

    fn enter(&self) -> Body {
        let program = Rc::clone(&self.program);
        body(move || program(), |_| ())
    }

    fn home(&self, thread: usize) -> Box<Arena> {
        Box::new(Arena::new(thread, Arc::as_ptr(&self.pulse) as usize, self.guards))
    }

    fn settle(&self, home: &mut Box<Arena>, was_used: bool) {
        let reuses = self.reuses && !self.recycled.borrow().is_empty();
        home.asks = reuses || self.watches_block() || self.guards;
        if was_used {
            home.reset();
        }
    }

    fn filled(home: &Box<Arena>) -> Option<impl Iterator<Item = (usize, usize)>> {
        home.blocks()
    }

    #[inline]
    fn code_of(home: &mut Box<Arena>) -> *mut Arena {
        &raw mut **home
    }

    #[inline]
    fn engine_code() -> *mut Arena {
        std::ptr::null_mut()
    }

    #[inline]
    fn switch(code: *mut Arena) -> *mut Arena {
        arena::switch(code)
    }

    fn is_engine() -> bool {
        arena::current().is_null()
    }

    #[inline]
    fn beat(&self) {
        self.pulse.beat();
    }

    fn check_name(&self) -> &str {
        self.pulse.test()
    }

    fn replay_command(&self) -> (&str, &str) {
        (&self.replay_command.0, &self.replay_command.1)
    }

    fn overdue(&self) -> Option<(Overdue, bool)> {
        self.pulse.overdue().map(|overdue| (overdue, overdue.must_end))
    }

    /// That of a test binary whose tests failed.
    const FAILED: i32 = 101;

    const MAIN: &'static str = "the closure";

    fn advice(about: Advice) -> String {
        match about {
            Advice::Stack(bytes) => format!("Builder::stack_size({bytes})"),
            Advice::LongCode => {
                "does it loop without end, or wait for something of `std`?".to_owned()
            }
            Advice::LoopWithoutHint => "a loop that waits for another thread needs \
                                        `hint::spin_loop()` or `thread::yield_now()` in it, and one that ends \
                                        by itself `Builder::max_steps`"
                .to_owned(),
            Advice::EndlessLoop => "let the loop end sooner, or set `Builder::max_steps` if it ends by itself"
                .to_owned(),
        }
    }
}

/// Which of those who wait for a reader-writer lock it lets in first. `std` leaves this open: for a program to be
/// right it must not matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RwLockPolicy {
    /// Whatever `std` allows. While a writer waits, a reader may have to wait, also if others read, or the thread
    /// itself does; and [`try_read`](crate::sync::RwLock::try_read) may fail. This covers locks that always let
    /// writers in first: a writer that has only just come may be counted as waiting or not.
    #[default]
    Any,
    /// Readers never wait for a writer that waits.
    Readers,
}

/// What a bound on operations that end without reason hides, if it might matter.
pub(crate) fn bounded(shared: &Shared) -> Option<String> {
    let spurious = &shared.settings.spurious;
    let (most, more) = (spurious.most, spurious.most.saturating_add(1));
    let times = if most == 1 { "once".to_owned() } else { format!("{most} times") };
    spurious.is_bounded().then(|| {
        format!(
            "waits and weak compare-exchanges end without reason at most {times} for each thread and \
             place, and more might matter (`Builder::spurious({more})`)"
        )
    })
}

/// What is left out, since the code looks again.
pub(crate) fn left_out(shared: &Shared) -> Option<String> {
    shared.settings.spurious.is_left_out().then(|| {
        "waits and weak compare-exchanges do not end without reason where the code looks again and \
         changes nothing (`Builder::spurious_everywhere`)"
            .to_owned()
    })
}
