//! The state of a checked program: its threads, where each stands, and the states of what they synchronise with.
//!
//! A [`Machine`] belongs to a system. Memory belongs to the process: the module is loaded once, and its variables have one
//! place. So a machine *owns* the memory while its execution runs; one that lost it takes its steps again first.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

use rustc_hash::FxHashMap;
use selvedge_core::{Fault, ObjectId, Step, ThreadId, Violation, ViolationKind};

use crate::crash::Crash;
use crate::fiber::{Fiber, Outcome, Yielder};
use crate::graph::{Asked, Locations};
use crate::heap::Heap;
use crate::layout;
use crate::load::Caps;
use crate::module::Module;
use crate::objects::{Ids, Object, Objects};
use crate::op::Op;
use crate::spin::{Learned, Look};
use crate::spurious::{Key, Whims};

/// What all systems of a program share.
pub(crate) struct Shared {
    pub(crate) module: Rc<Module>,
    pub(crate) objects: RefCell<Objects>,
    pub(crate) learned: Learned,
    pub(crate) whims: Whims,
    pub(crate) doubts: RefCell<Doubts>,
    /// How the same steps did something else, and whether they did: then nothing runs any more.
    pub(crate) unsteady: RefCell<Option<String>>,
    pub(crate) is_unsteady: Cell<bool>,
    /// Arguments of `main`, the name of the program first.
    pub(crate) arguments: Vec<*mut libc::c_char>,
    pub(crate) caps: Caps,
    /// Whether memory that is never freed is a violation.
    pub(crate) leaks: Cell<bool>,
}

/// What makes a proof one of something else than the program.
#[derive(Default)]
pub(crate) struct Doubts {
    /// An atomic operation with a weaker ordering than sequential consistency was met.
    pub(crate) weak: bool,
    /// A function returned 0 that may return anything.
    pub(crate) inputs: Option<String>,
}

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Absent,
    Ready,
    Parked,
    Finished,
    /// It ended the process: it never continues, and cannot be joined.
    Exited,
    Assumed,
    Failed,
}

/// What is the same about a thread in all executions of a system.
pub(crate) struct Known {
    pub(crate) life: ObjectId,
    pub(crate) wake: ObjectId,
    /// The threads that it creates.
    children: Vec<usize>,
}

/// A thread in an execution.
pub(crate) struct Thread {
    pub(crate) state: State,
    /// What it stands at, where, and on what.
    pub(crate) op: Op,
    pub(crate) pc: usize,
    pub(crate) objects: Ids,
    /// The heap blocks that it uses there.
    pub(crate) blocks: Ids,
    /// The other thread whose stack or thread-local variables it uses there: they are gone when that one ends.
    pub(crate) guest_of: Option<usize>,
    pub(crate) begun: bool,
    pub(crate) fiber: Option<Fiber>,
    pub(crate) yielder: *const Yielder,
    /// Where the frames of its code begin: above lies what depends on the code that resumed it.
    pub(crate) top: usize,
    /// The frame of the shim where it stands: below lies what it does not use.
    pub(crate) frame: usize,
    /// What its operation returns.
    pub(crate) result: u64,
    /// How many threads it created.
    pub(crate) created: usize,
    /// The function that it runs, and what it returned.
    pub(crate) start: usize,
    pub(crate) returned: u64,
    pub(crate) is_detached: bool,
    pub(crate) is_joined: bool,
    pub(crate) name: Option<String>,
    pub(crate) fault: Option<Fault>,
    pub(crate) crash: Option<Crash>,
    /// Values of its keys.
    pub(crate) keys: Vec<(u64, u64)>,
    /// Destructors of its variables, and what they get.
    pub(crate) locals: Vec<(usize, u64)>,
    pub(crate) clock: u64,
    pub(crate) random: u64,
    /// The condition variable that it waits on, and whether time alone would end that.
    pub(crate) waits_on: Option<(usize, bool)>,
    /// What it looked at since it last changed something.
    pub(crate) turn: Vec<Look>,
    /// Its state when it came to its operation, if that matters.
    pub(crate) state_there: Option<u128>,
    /// All that it came to know so far, if that is watched.
    pub(crate) history: u64,
    /// Where its operations ended spuriously.
    pub(crate) whims: Vec<usize>,
    /// What it stands at, if it is not known whether it matters that it ends spuriously.
    pub(crate) whim: Option<Key>,
    /// What it stands at if an explorer of graphs answers, and what it was told.
    pub(crate) asked: Asked,
    /// A write of which it is not known yet whether it changed something: what lay there before.
    pub(crate) written: Option<Look>,
}

impl Thread {
    fn absent() -> Self {
        Self {
            state: State::Absent,
            op: Op::End,
            pc: 0,
            objects: Ids::new(),
            blocks: Ids::new(),
            guest_of: None,
            begun: false,
            fiber: None,
            yielder: std::ptr::null(),
            top: 0,
            frame: 0,
            result: 0,
            created: 0,
            start: 0,
            returned: 0,
            is_detached: false,
            is_joined: false,
            name: None,
            fault: None,
            crash: None,
            keys: Vec::new(),
            locals: Vec::new(),
            clock: 0,
            random: 0,
            waits_on: None,
            turn: Vec::new(),
            state_there: None,
            history: 0,
            whims: Vec::new(),
            whim: None,
            asked: Asked::default(),
            written: None,
        }
    }
}

/// A mutex.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mutex {
    pub(crate) owner: Option<usize>,
    pub(crate) depth: u32,
    /// Where it was taken.
    pub(crate) taken: usize,
    /// Whether it was destroyed and not initialised since.
    pub(crate) is_destroyed: bool,
}

/// A reader-writer lock.
#[derive(Clone, Default, Debug)]
pub(crate) struct RwLock {
    pub(crate) writer: Option<usize>,
    /// In ascending order, as often as each holds it.
    pub(crate) readers: Vec<usize>,
}

/// A barrier.
#[derive(Clone, Default, Debug)]
pub(crate) struct Barrier {
    pub(crate) parties: u64,
    /// Those that came in this round.
    pub(crate) arrived: Vec<usize>,
    /// The number of this round. No two rounds of an execution have the same, also if the barrier is initialised again.
    pub(crate) round: u64,
}

/// What is done once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Once {
    #[default]
    New,
    Running,
    Done,
}

/// States of what threads synchronise with, by address.
#[derive(Default)]
pub(crate) struct Synchronisation {
    pub(crate) mutexes: FxHashMap<usize, Mutex>,
    /// Who waits on a condition variable, or for a word.
    pub(crate) waiters: FxHashMap<usize, Vec<usize>>,
    pub(crate) rwlocks: FxHashMap<usize, RwLock>,
    pub(crate) semaphores: FxHashMap<usize, u64>,
    pub(crate) barriers: FxHashMap<usize, Barrier>,
    /// How often there was a barrier at an address.
    pub(crate) made_barriers: FxHashMap<usize, u64>,
    pub(crate) onces: FxHashMap<usize, Once>,
    /// Destructors of keys; `None`: deleted.
    pub(crate) keys: Vec<Option<u64>>,
}

/// The state of a program.
pub(crate) struct Machine {
    pub(crate) shared: Rc<Shared>,
    /// Tells machines apart.
    id: u64,
    pub(crate) known: Vec<Known>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) synchronisation: Synchronisation,
    pub(crate) heap: Heap,
    /// Exceptions that were thrown: the object, and where.
    pub(crate) thrown: Vec<(usize, usize)>,
    /// The thread that runs.
    pub(crate) current: usize,
    /// Whether `main` returned, or a thread ended the process.
    pub(crate) has_exited: bool,
    /// The steps of this execution.
    pub(crate) steps: Vec<Step>,
    /// The steps of this one and those that came after them before, and where each was.
    pub(crate) log: Vec<(Step, usize)>,
    /// The locations, if an explorer of graphs answers operations.
    pub(crate) locations: Option<Box<Locations>>,
    /// The thread that is tried out; see `spurious.rs`.
    pub(crate) tried: Option<usize>,
    /// Whether it changed something without an operation.
    pub(crate) has_changed: bool,
    /// Whether a thread may stand where it is not known whether it matters that an operation ends spuriously.
    pub(crate) has_whims: bool,
    /// Whether an execution began.
    pub(crate) is_started: bool,
    /// Whether texts of steps are asked for, and that of the last one.
    pub(crate) is_tracing: bool,
    pub(crate) last: Option<(String, usize)>,
    /// What the program wrote.
    pub(crate) output: Vec<u8>,
}

/// Machines so far; 0 is none.
static MACHINES: AtomicU64 = AtomicU64::new(1);
/// The machine that owns the memory.
static OWNER: AtomicU64 = AtomicU64::new(0);
/// The machine whose code runs now, for the shim and for signal handlers.
static RUNNING: AtomicPtr<Machine> = AtomicPtr::new(std::ptr::null_mut());

/// Returns the machine whose code runs now; null outside of checked code.
#[inline]
pub(crate) fn running() -> *mut Machine {
    RUNNING.load(Relaxed)
}

impl Machine {
    pub(crate) fn new(shared: Rc<Shared>, is_tracing: bool) -> Box<Self> {
        let id = MACHINES.fetch_add(1, Relaxed);
        let mut machine = Box::new(Self::fresh(shared, id, is_tracing, Vec::new()));
        machine.add_thread();
        machine
    }

    /// Returns a machine with these threads, none of which exists yet.
    fn fresh(shared: Rc<Shared>, id: u64, is_tracing: bool, known: Vec<Known>) -> Self {
        Self {
            shared,
            id,
            threads: known.iter().map(|_| Thread::absent()).collect(),
            known,
            synchronisation: Synchronisation::default(),
            heap: Heap::default(),
            thrown: Vec::new(),
            current: 0,
            has_exited: false,
            steps: Vec::new(),
            log: Vec::new(),
            locations: None,
            tried: None,
            has_changed: false,
            has_whims: false,
            is_started: false,
            is_tracing,
            last: None,
            output: Vec::new(),
        }
    }

    fn add_thread(&mut self) -> usize {
        let number = self.threads.len();
        let mut objects = self.shared.objects.borrow_mut();
        let (life, wake) =
            (objects.other(Object::Life(number)), objects.other(Object::Wake(number)));
        self.known.push(Known { life, wake, children: Vec::new() });
        self.threads.push(Thread::absent());
        number
    }

    /// Returns the number of the next thread that `creator` creates, which depends on nothing else.
    pub(crate) fn next_child(&mut self, creator: usize) -> Option<usize> {
        let nth = self.threads[creator].created;
        if let Some(&child) = self.known[creator].children.get(nth) {
            return Some(child);
        }
        if self.threads.len() >= layout::THREADS {
            return None;
        }
        let child = self.add_thread();
        self.known[creator].children.push(child);
        Some(child)
    }

    /// Returns whether the memory holds this machine's execution.
    pub(crate) fn owns_memory(&self) -> bool {
        OWNER.load(Relaxed) == self.id
    }

    /// Begins an execution: everything is as it was when the program was loaded.
    pub(crate) fn begin(&mut self) {
        OWNER.store(self.id, Relaxed);
        // What an execution does not leave behind is a fresh value; the log tells whether the same steps have the same effects in the next one.
        let (shared, known) = (Rc::clone(&self.shared), std::mem::take(&mut self.known));
        let (log, mut locations) = (std::mem::take(&mut self.log), self.locations.take());
        let fresh = Self::fresh(shared, self.id, self.is_tracing, known);
        if let Some(locations) = &mut locations {
            locations.begin();
        }
        *self = Self { log, locations, is_started: true, ..fresh };
        self.shared.module.restore();
        self.shared.module.set_answered(self.locations.is_some());
        let (main, starter) = (self.shared.module.main, self.shared.module.starter);
        self.start(0, move |machine| {
            // SAFETY: the machine lives while its code runs.
            let shared = unsafe { &*Rc::as_ptr(&(*machine).shared) };
            starter.main(main, &shared.arguments);
        });
    }

    /// Starts the code of a thread and runs it up to its first visible operation.
    pub(crate) fn start(&mut self, number: usize, code: impl FnOnce(*mut Machine) + 'static) {
        self.shared.module.restore_tls(number);
        // Of what the last execution left there neither states that are compared may have a part, nor atomics on the stack.
        const ATOMICS: usize = 64 << 10;
        let seen = if self.locations.is_some() { ATOMICS } else { 0 };
        layout::clear_stack(number, seen.max(self.shared.learned.compared()));
        let machine: *mut Machine = self;
        let fiber = Fiber::new(number, move |yielder| {
            let here = 0_u8;
            // SAFETY: the machine lives while its code runs, and nothing else uses it then.
            let thread = unsafe { &mut (&mut (*machine).threads)[number] };
            (thread.yielder, thread.top) = (yielder, &raw const here as usize);
            // SAFETY: the variable belongs to the thread of the system; the one that runs on it now is new.
            unsafe { *libc::__errno_location() = 0 };
            code(machine);
            Outcome::Done
        });
        let thread = &mut self.threads[number];
        (thread.state, thread.fiber) = (State::Ready, Some(fiber));
        thread.random = number as u64 + 1;
        // SAFETY: the variable belongs to the thread of the system; the code that called this may be checked code.
        let error = unsafe { *libc::__errno_location() };
        self.resume(number);
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = error };
        let thread = &mut self.threads[number];
        if thread.state == State::Failed {
            // A step of its own shows it.
            (thread.state, thread.op) = (State::Ready, Op::Doomed);
            (thread.objects, thread.blocks) = (Ids::new(), Ids::new());
        }
    }

    /// Lets a thread run up to its next visible operation, or to its end.
    pub(crate) fn resume(&mut self, number: usize) {
        let machine: *mut Machine = self;
        // SAFETY: code of the thread uses the machine only through `running`, and everything here goes through
        // the same pointer. The fiber is taken out, so that the list of threads may grow.
        unsafe {
            let Some(mut fiber) = (&mut (*machine).threads)[number].fiber.take() else { return };
            let before = std::mem::replace(&mut (*machine).current, number);
            let outer = RUNNING.swap(machine, Relaxed);
            let outside = crate::crash::enter(&fiber);
            let end = fiber.resume();
            crate::crash::leave(outside);
            RUNNING.store(outer, Relaxed);
            (*machine).current = before;
            let machine = &mut *machine;
            match end {
                None => machine.threads[number].fiber = Some(fiber),
                Some(Outcome::Done) => {}
                Some(Outcome::Crashed) => machine.note_crash(number),
            }
        }
    }

    /// Returns the locations of a program that an explorer of graphs answers.
    pub(crate) fn locations(&mut self) -> &mut Locations {
        self.locations.as_mut().expect("internal error: no explorer of graphs")
    }

    /// A thread cannot continue.
    pub(crate) fn fail(&mut self, number: usize, fault: Fault) {
        let thread = &mut self.threads[number];
        (thread.state, thread.fault) = (State::Failed, Some(fault));
    }

    /// Returns a violation of a thread at these places.
    pub(crate) fn violation(
        &self,
        thread: usize,
        kind: ViolationKind,
        message: String,
        places: &[usize],
        notes: Vec<String>,
    ) -> Fault {
        let places = places.iter().filter_map(|&pc| self.place(pc)).collect();
        let thread = Some(ThreadId::new(thread));
        Fault::Violation(Violation { kind, message, places, notes, thread })
    }

    /// The same steps did something else.
    #[cold]
    pub(crate) fn note_unsteady(&self, how: String) {
        self.shared.unsteady.borrow_mut().get_or_insert(how);
        self.shared.is_unsteady.set(true);
    }

    /// Returns whether nothing more can be said: what was found is out of date.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.shared.learned.news.get() || self.shared.is_unsteady.get()
    }
}
