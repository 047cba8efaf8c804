//! The state of checked code: its threads, where each stands, and what an execution needs.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::FxHashMap;
use selvedge_core::{Fault, Mode, ObjectId, Place, Step, ThreadId, Violation, ViolationKind};

use super::ahead::Ahead;
use super::alone::{Alone, Loops};
use super::arena::Arena;
use super::blocks::Memory;
use super::caps::Caps;
use super::crash::Crash;
use super::fiber::{Fiber, Stacks, Yielder};
use super::leaks::Leaks;
use super::lock_order::LockOrder;
use super::names::Names;
use super::object::Touching;
use super::operation::{Operation, Spot, Subject};
use super::restore::{Firsts, Outliving};
use super::spin::Touched;
use super::watched::{AboutBlock, Watched};
use super::whim::{Spurious, Trial, Whims};
use crate::failure::ReplayCommand;
use crate::watch::Pulse;

/// What all systems of one check share.
pub(crate) struct Shared {
    /// The code under test.
    pub(crate) program: Rc<dyn Fn()>,
    /// Where the check is: where its main thread stands before its first operation.
    pub(crate) checked_at: Spot,
    pub(crate) stack_size: usize,
    /// Whether a panic in a spawned thread is only what `join` gives.
    pub(crate) panics_are_results: bool,
    /// How far a spin loop is followed to see whether it gives up.
    pub(crate) spin_turns: u32,
    /// Whether a loop that only reads is given up, since the user did not say how long it may be.
    pub(crate) ends_loops: bool,
    pub(crate) rwlock_policy: RwLockPolicy,
    pub(crate) spurious: Spurious,
    pub(crate) learned: Learned,
    /// Whether an ordering weaker than sequential consistency was asked for.
    pub(crate) weak: Cell<bool>,
    /// Where a thread stood still in a spin loop that may give up after many turns.
    pub(crate) assumed: Cell<Option<Spot>>,
    /// Why the search makes no sense any more: the code does not do the same every time.
    pub(crate) unsteady: RefCell<Option<String>>,
    /// Static data belongs to one check at a time: tests run side by side.
    pub(crate) statics: RefCell<Option<MutexGuard<'static, ()>>>,
    /// What static data was like at first.
    pub(crate) firsts: RefCell<Firsts>,
    /// What others know about this check.
    pub(crate) pulse: Arc<Pulse>,
    /// What shows an execution again.
    pub(crate) replay_command: ReplayCommand,
    /// Whether a crash was told.
    pub(crate) has_crashed: Cell<bool>,
    /// Why it makes no sense to go on: a thread computes without end, or waits in a loop that does not say so.
    pub(crate) hopeless: RefCell<Option<String>>,
    /// From the last panic that was seen in a replay, if the environment asks for backtraces.
    pub(crate) backtrace: RefCell<Option<Backtrace>>,
    /// What happened to the block that the last violation of a replay is about.
    pub(crate) about_block: RefCell<Option<AboutBlock>>,
    /// The block that a replay looks at.
    pub(crate) watched: RefCell<Option<Watched>>,
    /// Whether an allocation may give a block that was freed before.
    pub(crate) reuses: bool,
    /// Whether freed blocks are made inaccessible.
    pub(crate) guards: bool,
    /// Whether one of them could not be.
    pub(crate) unguarded: Cell<bool>,
    pub(crate) caps: Caps,
    /// Whether blocks that are never freed are reported.
    pub(crate) block_leaks: bool,
    /// Whether there is such a reason, or it makes no sense to go on, or something new was learned: nothing runs
    /// any more.
    pub(crate) is_unsteady: Cell<bool>,
}

impl Shared {
    /// Waits until no other check uses static data, and keeps it until this check is over.
    pub(crate) fn claim_statics(&self) {
        static STATICS: Mutex<()> = Mutex::new(());
        let mut claimed = self.statics.borrow_mut();
        if claimed.is_none() {
            self.pulse.is_queued.store(true, Ordering::Relaxed);
            *claimed = Some(STATICS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
            self.pulse.is_queued.store(false, Ordering::Relaxed);
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

/// What turns out while the code runs, and matters from the first step on. When something is
/// learned, the search starts again.
#[derive(Default)]
pub(crate) struct Learned {
    /// Whether there are spin loops.
    pub(crate) spins: Cell<bool>,
    /// Whether there are, or operations that may end without reason: what each thread reads must be kept in mind.
    pub(crate) watches: Cell<bool>,
    /// Which of them give up by themselves.
    pub(crate) loops: RefCell<Loops>,
    /// Contents of `Arc`s whose counts matter: someone looks at them, or dropping the last one does
    /// something visible. Also results of threads, which belong to the thread and to its handle.
    pub(crate) counted: RefCell<BTreeSet<&'static str>>,
    /// Layouts, as size and alignment, of blocks that may be used again.
    pub(crate) recycled: RefCell<BTreeSet<(usize, usize)>>,
    /// Whether there are reader-writer locks, so that what threads hold while they wait must be kept in mind.
    pub(crate) rwlocks: Cell<bool>,
    pub(crate) lock_order: RefCell<LockOrder>,
    pub(crate) whims: RefCell<Whims>,
    /// Whether something new was learned.
    pub(crate) news: Cell<bool>,
}

/// What the engine does with a visible operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// It is announced, and runs when it is chosen.
    Announce,
    /// It runs at once if it can: what is left of an execution is run to its end.
    Drain,
    /// It runs at once if it is part of a turn: a thread shows whether it gives up a spin loop.
    Alone,
    /// It runs at once if it changes nothing: a thread shows whether it comes back to where it stands.
    Trial,
    /// It runs at once: everything is taken down.
    Close,
}

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Absent,
    /// It stands at an operation.
    Ready,
    /// It waits to be woken, and stands at what it will do then.
    Parked,
    Finished,
    Failed,
}

/// A thread of checked code.
pub(crate) struct Thread {
    pub(crate) state: State,
    /// The operation it stands at: on its own stack, so valid as long as it stands there.
    pub(crate) pending: *const dyn Operation,
    pub(crate) subject: Subject,
    pub(crate) spot: Spot,
    pub(crate) begun: bool,
    /// Whether it runs, or lets others run that do.
    pub(crate) runs: bool,
    pub(crate) life: ObjectId,
    pub(crate) wake: ObjectId,
    pub(crate) token_object: Option<ObjectId>,
    pub(crate) fiber: Option<Fiber>,
    pub(crate) yielder: *const Yielder,
    pub(crate) arena: Box<Arena>,
    pub(crate) creator: Option<(usize, u32)>,
    pub(crate) children: Vec<usize>,
    pub(crate) spawned: u32,
    /// Where it was spawned.
    pub(crate) spawned_at: Spot,
    /// Whether its stack is being taken down.
    pub(crate) aborting: bool,
    /// Whether it stands at a step of the allocator.
    pub(crate) allocates: bool,
    /// Whether it unwound when it last stood still, or has panicked since.
    pub(crate) unwinding: bool,
    /// Whether somebody unparked it.
    pub(crate) token: bool,
    pub(crate) fault: Option<Fault>,
    pub(crate) panic: Option<Panicked>,
    /// The panic before that one.
    pub(crate) panic_before: Option<Panicked>,
    pub(crate) name: Option<String>,
    pub(crate) touched: Touched,
    /// Values of thread-local keys: the key, and the value until it is dropped.
    pub(crate) locals: Vec<(usize, Option<Box<dyn Any>>)>,
    /// Whether one of them has a destructor.
    pub(crate) drops_locals: bool,
    /// Whether it has left its result. Its thread-local values may not be dropped yet.
    pub(crate) is_done: bool,
    /// Contents of the `Arc`s that it is taking down.
    pub(crate) dropping: Vec<&'static str>,
    /// Its last step, as an index of the log.
    pub(crate) last_step: Option<usize>,
    /// Messages sent so far.
    pub(crate) sent: u64,
    /// Visible operations so far.
    pub(crate) operations: u64,
    /// How many threads of this execution were created before it: its number in a fresh system.
    pub(crate) rank: usize,
    /// Where an operation of its ended without reason.
    pub(crate) whims: Vec<Spot>,
    /// What ended it.
    pub(crate) crash: Option<Crash>,
}

/// A panic, as the hook saw it.
#[derive(Clone)]
pub(crate) struct Panicked {
    pub(crate) message: String,
    pub(crate) place: Option<Place>,
}

/// What was done at a step, to notice code that does not do the same every time.
#[derive(Clone, Copy)]
pub(crate) struct Logged {
    pub(crate) thread: u32,
    pub(crate) choice: u32,
    pub(crate) spot: Spot,
    /// Where the thread came to behind it.
    pub(crate) next: Option<Spot>,
    /// The object that it touched, and how it found it, if that is known.
    pub(crate) found: Option<(ObjectId, Found)>,
    /// Whether it is the end of a turn of a spin loop, and nothing else.
    pub(crate) spins: bool,
}

/// How an operation found its object: enough to tell what another would do that finds it so.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    /// The value of an atomic. A compare-exchange: also the value with which it succeeds.
    Value { value: u64, expected: Option<u64> },
    /// A lock that somebody holds for writing or for reading, or nobody.
    Lock { written: bool, read: bool, wants: Wants },
}

impl Found {
    /// How the operation would touch its object if it found it like `before`. `None`: it would wait.
    pub(crate) fn instead(self, before: Found) -> Option<Mode> {
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

/// What is done with a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wants {
    /// It is given up.
    Nothing,
    /// It is waited for.
    Lock(Mode),
    /// It is taken if it is free.
    Try(Mode),
}

impl Logged {
    pub(crate) fn new(thread: usize, choice: u32, spot: Spot) -> Self {
        Self { thread: thread as u32, choice, spot, next: None, found: None, spins: false }
    }
}

/// The state of checked code.
pub(crate) struct Runtime {
    pub(crate) shared: Rc<Shared>,
    /// By their numbers; boxed, since running threads point to theirs.
    #[allow(clippy::vec_box, reason = "pointers to a thread stay valid while others are added")]
    pub(crate) threads: Vec<Box<Thread>>,
    pub(crate) current: usize,
    pub(crate) way: Way,
    /// The alternative that the running step takes.
    pub(crate) choice: u32,
    pub(crate) names: Names,
    /// Counts executions of the whole process; stamps of objects contain it.
    pub(crate) epoch: u64,
    /// Per object, its value or how often it was changed; see `spin.rs`.
    pub(crate) values: Vec<u64>,
    /// Per object, how many steps were taken when it was last changed so that its value does not show it.
    pub(crate) changed_at: FxHashMap<ObjectId, usize>,
    /// A thread that runs alone to see whether it gives up a spin loop.
    pub(crate) alone: Option<Alone>,
    /// A thread that is tried out; see `whim.rs`.
    pub(crate) trial: Option<Trial>,
    /// Whether a thread may stand where it should be.
    pub(crate) has_whims: bool,
    /// Steps to follow, and how many were taken.
    pub(crate) script: *const [Step],
    pub(crate) scripted: usize,
    pub(crate) ahead: Ahead,
    /// The steps taken; while a script is followed, also those that are to come again.
    pub(crate) log: Vec<Logged>,
    /// Whether texts of steps are asked for.
    pub(crate) tracing: bool,
    pub(crate) last: Option<(String, Spot)>,
    /// How many threads stand still while they unwind.
    pub(crate) unwinding: u32,
    /// How many threads were created in this execution.
    pub(crate) created: usize,
    /// Whether a thread was left in the middle of something.
    pub(crate) is_broken: bool,
    /// Static data that was touched, and how to set it back.
    pub(crate) resets: Vec<Outliving>,
    pub(crate) leaks: Leaks,
    pub(crate) memory: Memory,
    /// Whether a block is watched.
    pub(crate) watches_block: bool,
    /// What the next operation of the running thread is about.
    pub(crate) touching: [Option<Touching>; 2],
    pub(crate) stacks: Stacks,
    /// How far down the running thread's stack the engine can be entered; 0 if none runs.
    pub(crate) least_stack: usize,
    /// Operations that run at once in this execution.
    pub(crate) drained: u64,
}

thread_local! {
    /// The runtime whose code runs on this thread of the system.
    static RUNNING: Cell<*mut Runtime> = const { Cell::new(std::ptr::null_mut()) };
}

/// The runtime whose code runs, if any.
pub(crate) fn running() -> *mut Runtime {
    RUNNING.with(Cell::get)
}

/// Makes `runtime` the one whose code runs, and gives the one before.
pub(crate) fn set_running(runtime: *mut Runtime) -> *mut Runtime {
    RUNNING.with(|running| running.replace(runtime))
}

impl Runtime {
    pub(crate) fn new(shared: Rc<Shared>, tracing: bool) -> Box<Self> {
        let stacks = Stacks::new(shared.stack_size);
        let watches_block = shared.watched.borrow().is_some();
        let mut new = Box::new(Self {
            shared,
            threads: Vec::new(),
            current: 0,
            way: Way::Announce,
            choice: 0,
            names: Names::default(),
            epoch: 0,
            values: Vec::new(),
            changed_at: FxHashMap::default(),
            alone: None,
            trial: None,
            has_whims: false,
            script: &raw const *<&[Step]>::default(),
            scripted: 0,
            ahead: Ahead::default(),
            log: Vec::new(),
            tracing,
            last: None,
            unwinding: 0,
            created: 0,
            is_broken: false,
            resets: Vec::new(),
            leaks: Leaks::default(),
            memory: Memory::default(),
            watches_block,
            touching: [None; 2],
            stacks,
            least_stack: 0,
            drained: 0,
        });
        new.add_thread(None);
        new
    }

    /// One more thread that does not exist yet.
    pub(crate) fn add_thread(&mut self, creator: Option<(usize, u32)>) -> usize {
        let number = self.threads.len();
        self.names.add_thread(creator);
        let life = self.names.add_of(number, 1, "thread");
        let wake = self.names.add_of(number, 2, "wake-up");
        let mut arena = Box::new(Arena::new(number));
        arena.asks = self.looks_at_allocations();
        arena.guards = self.shared.guards;
        arena.owner = Arc::as_ptr(&self.shared.pulse) as usize;
        self.threads.push(Box::new(Thread {
            state: State::Absent,
            pending: super::operation::Running::ONE,
            subject: Subject::Nothing,
            spot: Location::caller(),
            begun: false,
            runs: false,
            life,
            wake,
            token_object: None,
            fiber: None,
            yielder: std::ptr::null(),
            arena,
            creator,
            children: Vec::new(),
            spawned: 0,
            spawned_at: Location::caller(),
            aborting: false,
            allocates: false,
            unwinding: false,
            token: false,
            fault: None,
            panic: None,
            panic_before: None,
            name: None,
            touched: Touched::new(self.shared.caps),
            locals: Vec::new(),
            drops_locals: false,
            is_done: false,
            dropping: Vec::new(),
            last_step: None,
            sent: 0,
            operations: 0,
            rank: 0,
            whims: Vec::new(),
            crash: None,
        }));
        number
    }

    /// The number of the thread that `creator` would spawn next.
    pub(crate) fn next_child(&mut self, creator: usize) -> usize {
        let nth = self.threads[creator].spawned;
        if let Some(&known) = self.threads[creator].children.get(nth as usize) {
            return known;
        }
        let child = self.add_thread(Some((creator, nth)));
        self.threads[creator].children.push(child);
        child
    }

    /// The object that a thread's `park` waits for.
    pub(crate) fn token_object(&mut self, thread: usize) -> ObjectId {
        if let Some(known) = self.threads[thread].token_object {
            return known;
        }
        let new = self.names.add_of(thread, 3, "park token");
        self.threads[thread].token_object = Some(new);
        new
    }

    #[inline]
    pub(crate) fn is_enabled(&self, thread: usize) -> bool {
        let it = &self.threads[thread];
        it.state == State::Ready && self.can_run(it, thread)
    }

    /// Whether a thread that is ready can go on.
    #[inline]
    pub(crate) fn can_run(&self, it: &Thread, thread: usize) -> bool {
        // SAFETY: a thread that is ready stands at its operation, which is on its stack.
        it.subject == Subject::Nothing || unsafe { (*it.pending).is_enabled(self, thread) }
    }

    /// In how many ways a thread that can run can do so.
    #[inline]
    pub(crate) fn choices(&self, thread: usize) -> u32 {
        let it = &self.threads[thread];
        match it.subject {
            Subject::Nothing | Subject::Waiting => 1,
            // SAFETY: the thread stands at its operation, which is on its stack.
            Subject::Both => unsafe { (*it.pending).choices(self, thread) },
        }
    }

    pub(crate) fn object_name(&self, object: ObjectId) -> String {
        self.names.name(object)
    }

    /// A thread's name as a person would write it.
    pub(crate) fn thread_name(&self, thread: usize) -> String {
        self.name_of(thread).to_string()
    }

    /// The same, without allocating anything.
    pub(super) fn name_of(&self, thread: usize) -> ThreadName<'_> {
        ThreadName { rt: self, thread }
    }

    /// How many threads before this one have its name.
    fn namesakes_before(&self, thread: usize, name: &str) -> usize {
        let same = |other: &usize| {
            let other = &self.threads[*other];
            match &other.name {
                Some(other_name) => other_name == name && other.state != State::Absent,
                None => other.creator.is_none() && name == "main",
            }
        };
        (0..thread).filter(same).count()
    }

    /// Notes that the code does not do the same every time.
    pub(crate) fn note_unsteady(&self, what: String) {
        // After news the search starts again anyway, and code that was left is not what it was.
        if !self.shared.learned.news.get() && self.shared.hopeless.borrow().is_none() {
            self.shared.unsteady.borrow_mut().get_or_insert(what);
        }
        self.shared.is_unsteady.set(true);
    }

    /// Notes why it makes no sense to go on.
    pub(crate) fn note_hopeless(&self, why: &str) {
        self.shared.hopeless.borrow_mut().get_or_insert_with(|| why.to_owned());
        self.shared.is_unsteady.set(true);
    }

    /// Notes something that matters from the first step on.
    pub(crate) fn learn(&self) {
        self.shared.learned.news.set(true);
        self.shared.is_unsteady.set(true);
    }

    /// A violation that a thread's step shows.
    pub(crate) fn violation(
        &self,
        thread: usize,
        kind: ViolationKind,
        message: String,
        spots: &[Spot],
    ) -> Violation {
        Violation {
            kind,
            message,
            places: spots.iter().map(|spot| place(spot)).collect(),
            notes: Vec::new(),
            thread: Some(ThreadId::new(thread)),
        }
    }
}

/// A thread's name as a person would write it.
pub(super) struct ThreadName<'a> {
    rt: &'a Runtime,
    thread: usize,
}

impl fmt::Display for ThreadName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_ANCESTORS: usize = 6;
        let (rt, thread) = (self.rt, self.thread);
        if let Some(name) = rt.threads[thread].name.as_ref().filter(|name| !name.is_empty()) {
            return match rt.namesakes_before(thread, name) {
                0 => f.write_str(name),
                before => write!(f, "{name}#{}", before + 1),
            };
        }
        let ancestry = |mut at: usize| {
            std::iter::from_fn(move || {
                let (creator, nth) = rt.threads[at].creator?;
                at = creator;
                Some(nth + 1)
            })
        };
        let depth = ancestry(thread).count();
        if depth == 0 {
            return f.write_str("main");
        }
        f.write_str(if depth > MOST_ANCESTORS { "thread …" } else { "thread " })?;
        for level in (0..depth.min(MOST_ANCESTORS)).rev() {
            let is_first = level + 1 == depth;
            let dot = if is_first { "" } else { "." };
            write!(f, "{dot}{}", ancestry(thread).nth(level).unwrap_or_default())?;
        }
        Ok(())
    }
}

/// A spot as reports want it.
pub(crate) fn place(spot: Spot) -> Place {
    Place { file: spot.file().to_owned(), line: spot.line(), column: spot.column(), length: 1 }
}
