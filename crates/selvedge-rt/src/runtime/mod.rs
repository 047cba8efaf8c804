//! The state of checked code: its threads, where each stands, and what an execution needs.
//!
//! [`Shared`] is one for all systems of a check, [`Runtime`] belongs to a system, and [`Execution`] and [`Thread`]
//! to an execution: the next one begins with new values of these, so that nothing can be left in them.

mod ahead;
mod call;
mod lock_order;
mod looks;
mod whims;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Deref;
use std::rc::Rc;

use selvedge_core::{Counting, Fault, ObjectId, Step, ThreadId, Violation, ViolationKind};

use crate::caps::Caps;
use crate::fiber::{Crash, Fiber, Stacks, Yielder};
use crate::fresh::Fresh;
use crate::labels::{Asked, Labels};
use crate::leaks::Leaks;
use crate::log::Logged;
use crate::names::Names;
use crate::operation::{Operation, Running, Subject};
use crate::spin::{Key, Loops, Spins};
use crate::told::Told;
use crate::world::World;

use ahead::Ahead;
pub(crate) use call::{Call, StandsAside};
use lock_order::LockOrder;
use looks::Looks;
pub use whims::Spurious;
pub(crate) use whims::Trial;
use whims::Whims;

/// What a check is asked for.
pub struct Settings {
    /// The size of each thread's stack in bytes.
    pub stack_size: usize,
    /// How far a spin loop is followed to see whether it gives up.
    pub spin_turns: u32,
    /// Whether a loop that only reads is given up, since the user did not say how long it may be.
    pub ends_loops: bool,
    /// Whether a reader-writer lock may let waiting writers in before readers.
    pub writers_may_be_first: bool,
    /// Operations that may end spuriously.
    pub spurious: Spurious,
    /// Where another method is used, or it is given up.
    pub caps: Caps,
}

/// What all systems of one check share.
pub struct Shared<W: World> {
    /// What the front end keeps.
    world: W,
    /// What the check is asked for.
    pub settings: Settings,
    /// What turned out so far.
    pub learned: Learned<W>,
    /// Whether an ordering weaker than sequential consistency was asked for.
    pub weak: Cell<bool>,
    /// Where a thread stood still in a spin loop that may give up after many turns.
    pub assumed: Cell<Option<W::Spot>>,
    /// Why the search is void: the code is nondeterministic.
    pub unsteady: RefCell<Option<String>>,
    /// Why it makes no sense to go on: a thread computes without end, or waits in a loop that does not say so.
    pub hopeless: RefCell<Option<String>>,
    /// Whether there is such a reason, or it makes no sense to go on, or something new was learned: nothing runs
    /// any more.
    pub is_unsteady: Cell<bool>,
    /// Whether a crash was reported.
    pub(crate) has_crashed: Cell<bool>,
}

impl<W: World> Shared<W> {
    /// Nothing has run yet.
    pub fn new(world: W, settings: Settings) -> Self {
        Self {
            world,
            settings,
            learned: Learned::default(),
            weak: Cell::new(false),
            assumed: Cell::new(None),
            unsteady: RefCell::new(None),
            hopeless: RefCell::new(None),
            is_unsteady: Cell::new(false),
            has_crashed: Cell::new(false),
        }
    }

    /// Returns a number that grows with all that executions have told about the code, and is not part of their results.
    pub fn known(&self) -> u64 {
        let said = [
            self.weak.get(),
            self.assumed.get().is_some(),
            self.unsteady.borrow().is_some(),
            self.hopeless.borrow().is_some(),
            self.is_unsteady.get(),
            self.has_crashed.get(),
        ];
        (self.learned.count() + said.iter().filter(|&&it| it).count()) as u64
    }

    /// Notes something that matters from the first step on.
    pub fn learn(&self) {
        self.learned.news.set(true);
        self.is_unsteady.set(true);
    }
}

impl<W: World> Deref for Shared<W> {
    type Target = W;

    #[inline]
    fn deref(&self) -> &W {
        &self.world
    }
}

/// What turns out while the code runs, and matters from the first step on. When something is
/// learned, the search starts again.
pub struct Learned<W: World> {
    /// Whether there are spin loops.
    pub(crate) spins: Cell<bool>,
    /// Whether there are, or operations that may end spuriously: what each thread reads must be kept in mind.
    pub(crate) watches: Cell<bool>,
    /// Which of them give up by themselves.
    pub(crate) loops: RefCell<Loops<W>>,
    /// Whether there are reader-writer locks, so that what threads hold while they wait must be kept in mind.
    pub rwlocks: Cell<bool>,
    pub(crate) lock_order: RefCell<LockOrder>,
    /// Where operations may end spuriously.
    pub(crate) whims: RefCell<Whims<W>>,
    /// Turns of loops after which threads do something else: under a memory model.
    pub(crate) counting: RefCell<Counting<W::Spot>>,
    /// Whether something new was learned.
    pub news: Cell<bool>,
}

impl<W: World> Default for Learned<W> {
    fn default() -> Self {
        Self {
            spins: Cell::new(false),
            watches: Cell::new(false),
            loops: RefCell::default(),
            rwlocks: Cell::new(false),
            lock_order: RefCell::default(),
            whims: RefCell::default(),
            counting: RefCell::default(),
            news: Cell::new(false),
        }
    }
}

impl<W: World> Learned<W> {
    /// Returns how much was learned. Nothing is ever forgotten.
    fn count(&self) -> usize {
        let flags = [&self.spins, &self.watches, &self.rwlocks, &self.news];
        let flags = flags.iter().filter(|flag| flag.get()).count();
        let whims = self.whims.borrow();
        let loops = self.loops.borrow().count() + self.counting.borrow().noted();
        let whims = whims.len() + whims.values().filter(|&&matters| matters).count();
        flags + loops + whims + self.lock_order.borrow().count()
    }

    /// Returns whether there are operations of which it is known if it matters that they end spuriously.
    pub fn has_whims(&self) -> bool {
        !self.whims.borrow().is_empty()
    }
}

/// What the engine does with a visible operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It is announced, and runs when it is chosen.
    Announce,
    /// It runs at once if it can: what is left of an execution is run to its end.
    Drain,
    /// The scheduler is asked: a thread shows whether it gives up a loop, or comes back to where it stands.
    Aside,
    /// It runs at once: everything is taken down.
    Close,
}

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It does not exist yet.
    Absent,
    /// It stands at an operation.
    Ready,
    /// It waits to be woken, and stands at what it will do then.
    Parked,
    /// Its code came to its end.
    Finished,
    /// Something is wrong with it.
    Failed,
}

/// What is the same about a thread in all executions of a system.
pub struct Known<W: World> {
    /// Its start and its end, as an object.
    pub life: ObjectId,
    /// What wakes it, as an object.
    pub wake: ObjectId,
    /// Who spawns it, and how many others before it.
    pub creator: Option<(usize, u32)>,
    /// The threads that it spawns.
    children: Vec<usize>,
    /// Its memory.
    pub home: W::Home,
}

/// A thread of checked code in an execution.
pub struct Thread<W: World> {
    /// What it is doing.
    pub state: State,
    /// The operation it stands at: on its own stack, so valid as long as it stands there.
    pub pending: *const dyn Operation<Runtime<W>>,
    pub(crate) subject: Subject,
    /// Where that is; if it stands at none, where it last did.
    pub spot: W::Spot,
    pub(crate) begun: bool,
    /// Whether it runs, or lets others run that do.
    pub runs: bool,
    /// Its stack, as long as there is code on it.
    pub fiber: Option<Fiber>,
    pub(crate) yielder: *const Yielder,
    /// How many threads it spawned.
    pub spawned: u32,
    /// Where it was spawned.
    pub spawned_at: W::Spot,
    /// What is wrong with it.
    pub fault: Option<Fault>,
    /// The name that the code gave it.
    pub name: Option<String>,
    /// What it looked at without changing anything.
    pub(crate) looks: Looks<W>,
    /// What it wants, if it runs aside; see `aside.rs`.
    pub(crate) call: Option<Call<W>>,
    /// Where it stands since then.
    pub(crate) stands_aside: Option<StandsAside>,
    /// Where its stack ended then, or further up.
    pub(crate) stack_end: usize,
    /// Its last step, as an index of the log.
    pub last_step: Option<usize>,
    /// Visible operations so far.
    pub operations: u64,
    /// How many threads of this execution were created before it: its number in a fresh system.
    pub(crate) rank: usize,
    /// Where an operation of its ended spuriously.
    pub(crate) whims: Vec<W::Spot>,
    /// Where it chooses whether one does, and it is not known if that matters.
    pub(crate) whim: Option<Key<W>>,
    /// What ended it.
    pub crash: Option<Crash>,
    /// What it stands at under a memory model.
    pub(crate) asked: Asked,
    /// Where its last turn of a loop ended.
    pub(crate) paused_at: W::Spot,
    /// What the front end keeps about it.
    pub own: W::Thread,
}

impl<W: World> Thread<W> {
    /// One that does not exist yet, of a check at `spot`.
    fn absent(spot: W::Spot) -> Self {
        Self {
            state: State::Absent,
            pending: Running::one(),
            subject: Subject::Nothing,
            spot,
            begun: false,
            runs: false,
            fiber: None,
            yielder: std::ptr::null(),
            spawned: 0,
            spawned_at: spot,
            fault: None,
            name: None,
            looks: Looks::default(),
            call: None,
            stands_aside: None,
            stack_end: 0,
            last_step: None,
            operations: 0,
            rank: 0,
            whims: Vec::new(),
            whim: None,
            crash: None,
            asked: Asked::default(),
            paused_at: spot,
            own: W::Thread::default(),
        }
    }
}

/// What an execution adds to what a system knows, besides its threads.
pub struct Execution<W: World> {
    /// Counts executions of the whole process; a front end may mark objects with it.
    pub epoch: u64,
    /// The thread that runs.
    pub current: usize,
    /// What is done with operations.
    pub way: Way,
    /// The alternative that the running step takes.
    pub choice: u32,
    pub(crate) spins: Spins<W>,
    /// A thread that is tried out; see `spurious.rs`.
    pub(crate) trial: Option<Trial<W>>,
    /// Locks that a thread took which is tried out, with a number for all memory at that time.
    pub(crate) taken: Vec<(ObjectId, Option<u128>)>,
    /// Whether a thread may stand where it should be.
    pub(crate) has_whims: bool,
    /// What the last step was, if that is asked for.
    pub(crate) last: Option<Told<W>>,
    /// How many threads were created.
    pub(crate) created: usize,
    /// Whether a thread was left in the middle of something.
    pub is_broken: bool,
    /// What is not given back yet.
    pub leaks: Leaks<W>,
    /// How far down the running thread's stack the engine can be entered; 0 if none runs.
    pub(crate) least_stack: usize,
    /// Operations that run at once.
    pub drained: u64,
    /// What the front end keeps about it.
    pub own: W::Execution,
}

impl<W: World> Execution<W> {
    /// The first one, which takes no step.
    fn none(caps: Caps) -> Self {
        let (spins, leaks) = (Spins::new(caps), Leaks::default());
        Self::new(0, Way::Announce, (spins, leaks, W::Execution::default()))
    }

    /// The next one. Of this one only memory is used again.
    fn next(&mut self, epoch: u64, way: Way, caps: Caps) -> Self {
        let spins = Spins::fresh(std::mem::replace(&mut self.spins, Spins::new(caps)));
        let leaks = Leaks::fresh(std::mem::take(&mut self.leaks));
        let own = W::Execution::fresh(std::mem::take(&mut self.own));
        Self::new(epoch, way, (spins, leaks, own))
    }

    fn new(epoch: u64, way: Way, (spins, leaks, own): (Spins<W>, Leaks<W>, W::Execution)) -> Self {
        Self {
            epoch,
            current: 0,
            way,
            choice: 0,
            spins,
            trial: None,
            taken: Vec::new(),
            has_whims: false,
            last: None,
            created: 0,
            is_broken: false,
            leaks,
            least_stack: 0,
            drained: 0,
            own,
        }
    }
}

/// The state of checked code.
pub struct Runtime<W: World> {
    /// What it shares with other systems of the check.
    pub shared: Rc<Shared<W>>,
    /// What is the same about threads in all executions, by their numbers.
    pub known: Vec<Known<W>>,
    /// The threads of this execution, by the same numbers; boxed, since running threads point to theirs.
    #[allow(clippy::vec_box, reason = "pointers to a thread stay valid while others are added")]
    pub threads: Vec<Box<Thread<W>>>,
    /// Everything else about this execution.
    pub now: Execution<W>,
    /// Numbers of objects.
    pub names: Names<W>,
    /// Steps to follow, and how many were taken.
    pub(crate) script: *const [Step],
    pub(crate) scripted: usize,
    pub(crate) ahead: Ahead,
    /// The locations of objects, if an explorer of graphs answers operations.
    pub(crate) labels: Option<Box<Labels>>,
    /// The steps taken; while a script is followed, also those that are to come again.
    pub log: Vec<Logged<W>>,
    /// Whether texts of steps are asked for.
    pub tracing: bool,
    pub(crate) stacks: Stacks,
}

/// No steps to follow.
pub(crate) const NO_SCRIPT: *const [Step] = &raw const *EMPTY;
const EMPTY: &[Step] = &[];

impl<W: World> Runtime<W> {
    pub(crate) fn new(shared: Rc<Shared<W>>, tracing: bool) -> Box<Self> {
        let stacks = Stacks::new(shared.settings.stack_size);
        let now = Execution::none(shared.settings.caps);
        let mut new = Box::new(Self {
            shared,
            known: Vec::new(),
            threads: Vec::new(),
            now,
            names: Names::default(),
            script: NO_SCRIPT,
            scripted: 0,
            ahead: Ahead::default(),
            labels: None,
            log: Vec::new(),
            tracing,
            stacks,
        });
        new.add_thread(None);
        new
    }

    /// Another execution begins.
    pub(crate) fn begin(&mut self, epoch: u64, way: Way) {
        self.now = self.now.next(epoch, way, self.shared.settings.caps);
        self.names.start(epoch);
        let checked_at = self.shared.checked_at();
        for (thread, known) in self.threads.iter_mut().zip(&mut self.known) {
            let was_used = thread.state != State::Absent;
            self.shared.settle(&mut known.home, was_used);
            if was_used {
                **thread = Thread::absent(checked_at);
            }
        }
    }

    /// One more thread that does not exist yet.
    fn add_thread(&mut self, creator: Option<(usize, u32)>) -> usize {
        let number = self.threads.len();
        self.names.add_thread(creator);
        let life = self.names.add_of(number, 1, "thread");
        let wake = self.names.add_of(number, 2, "wake-up");
        let mut home = self.shared.home(number);
        self.shared.settle(&mut home, false);
        self.known.push(Known { life, wake, creator, children: Vec::new(), home });
        self.threads.push(Box::new(Thread::absent(self.shared.checked_at())));
        number
    }

    /// The number of the thread that `creator` would spawn next.
    pub fn next_child(&mut self, creator: usize) -> usize {
        let nth = self.threads[creator].spawned;
        if let Some(&known) = self.known[creator].children.get(nth as usize) {
            return known;
        }
        let child = self.add_thread(Some((creator, nth)));
        self.known[creator].children.push(child);
        child
    }

    /// Returns whether a thread can take its next step.
    #[inline]
    pub fn is_enabled(&self, thread: usize) -> bool {
        let it = &self.threads[thread];
        it.state == State::Ready && self.can_run(it, thread)
    }

    /// Returns whether a thread that is ready can go on.
    #[inline]
    pub fn can_run(&self, it: &Thread<W>, thread: usize) -> bool {
        // SAFETY: a thread that is ready stands at its operation, which is on its stack.
        it.subject == Subject::Nothing || unsafe { (*it.pending).is_enabled(self, thread) }
    }

    /// In how many ways a thread that can run can do so.
    #[inline]
    pub fn choices(&self, thread: usize) -> u32 {
        let it = &self.threads[thread];
        match it.subject {
            Subject::Nothing | Subject::Waiting => 1,
            // SAFETY: the thread stands at its operation, which is on its stack.
            Subject::Both => unsafe { (*it.pending).choices(self, thread) },
        }
    }

    /// An object's name as a person would write it.
    pub fn object_name(&self, object: ObjectId) -> String {
        self.names.name(object)
    }

    /// A thread's name as a person would write it.
    pub fn thread_name(&self, thread: usize) -> String {
        self.name_of(thread).to_string()
    }

    /// The same, without allocating anything.
    pub(crate) fn name_of(&self, thread: usize) -> ThreadName<'_, W> {
        ThreadName { rt: self, thread }
    }

    /// Returns how many threads before this one have its name.
    fn namesakes_before(&self, thread: usize, name: &str) -> usize {
        let same = |&number: &usize| {
            let other = &self.threads[number];
            match &other.name {
                Some(other_name) => other_name == name && other.state != State::Absent,
                None => self.known[number].creator.is_none() && name == "main",
            }
        };
        (0..thread).filter(same).count()
    }

    /// Notes that the code is nondeterministic.
    pub fn note_unsteady(&self, what: String) {
        // After news the search starts again anyway, and code that was left is not what it was.
        if !self.shared.learned.news.get() && self.shared.hopeless.borrow().is_none() {
            self.shared.unsteady.borrow_mut().get_or_insert(what);
        }
        self.shared.is_unsteady.set(true);
    }

    /// Notes why it makes no sense to go on.
    pub fn note_hopeless(&self, why: &str) {
        self.shared.hopeless.borrow_mut().get_or_insert_with(|| why.to_owned());
        self.shared.is_unsteady.set(true);
    }

    /// Notes something that matters from the first step on.
    pub fn learn(&self) {
        self.shared.learn();
    }

    /// A violation that a thread's step shows.
    pub fn violation(
        &self,
        thread: usize,
        kind: ViolationKind,
        message: String,
        spots: &[W::Spot],
    ) -> Violation {
        Violation {
            kind,
            message,
            places: spots.iter().map(|&spot| W::place(spot)).collect(),
            notes: Vec::new(),
            thread: Some(ThreadId::new(thread)),
        }
    }
}

/// A thread's name as a person would write it.
pub(crate) struct ThreadName<'a, W: World> {
    rt: &'a Runtime<W>,
    thread: usize,
}

impl<W: World> fmt::Display for ThreadName<'_, W> {
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
                let (creator, nth) = rt.known[at].creator?;
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
