//! The seam between programs and algorithms.

use crate::conditions::Conditions;
use crate::ids::{ObjectId, ThreadId};
use crate::op::{Footprint, Mode};
use crate::replay::Description;
use crate::violation::{Fault, Violation};

/// A choice of the scheduler: which thread runs, and which of its alternatives it takes.
///
/// Most steps have one alternative, number 0. More than one: a value chosen from a range, which
/// waiter a signal wakes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// Who runs.
    pub thread: ThreadId,
    /// Which alternative, below [`System::choices`].
    pub choice: u32,
}

impl Step {
    /// The only alternative of `thread`, or its first.
    pub fn of(thread: ThreadId) -> Self {
        Self { thread, choice: 0 }
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.thread)?;
        if self.choice > 0 {
            write!(f, ":{}", self.choice)?;
        }
        Ok(())
    }
}

/// What a thread can do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It does not exist: nobody has spawned it in this execution.
    Absent,
    /// It can take a step.
    Enabled,
    /// It has a pending step that cannot be taken now.
    Blocked,
    /// It waits to be made runnable by another thread's step; it has no pending step of its own.
    Parked,
    /// It ran to its end.
    Finished,
    /// It stands at an `assume` that is false: the rest of the execution does not count.
    Assumed,
    /// A [`Fault`] stopped it.
    Failed,
}

/// How a step may act when it runs in another state: what must be decided anew when a race is
/// reversed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flexibility {
    /// It is always enabled and its footprint does not depend on the shared state.
    #[default]
    Fixed,
    /// It takes a mutex: enabled when the mutex is free, with the same footprint everywhere. The
    /// mutex is the one object it has in mode [`Mode::Acquire`](crate::Mode::Acquire).
    Lock,
    /// It is always enabled, but its footprint depends on the state: a compare-exchange, an
    /// atomic block.
    Conditional,
    /// It may be disabled, and its footprint may depend on the state.
    Blocking,
}

/// What a step did, or what a pending step would do.
///
/// A buffer that callers keep: [`System::step`] overwrites all of it.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// The shared objects that it touches. Of a blocked step: those that decide when it can run.
    pub footprint: Footprint,
    /// What must be decided anew if it runs elsewhere.
    pub flexibility: Flexibility,
    /// How many alternatives it had in the state in which it ran: at least 1.
    pub choices: u32,
    /// Whether its reads and writes are ordinary ones that synchronise nothing, so that they can
    /// be part of a data race: not an atomic operation, an atomic block or an atomic variable.
    pub plain: bool,
    /// Whether the step stopped its thread.
    pub fault: Option<Fault>,
}

impl Effect {
    /// Makes it the effect of a step that does nothing shared.
    #[inline]
    pub fn clear(&mut self) {
        self.footprint.clear();
        self.flexibility = Flexibility::Fixed;
        self.choices = 1;
        self.plain = false;
        self.fault = None;
    }

    /// Whether another step can take from it, once it is enabled, that it can run. Not so for waiting until a
    /// thread has ended: that stays as it is.
    pub fn can_be_disabled(&self) -> bool {
        let lasts = |mode: Mode| mode.is_cause() || matches!(mode, Mode::Join | Mode::End);
        self.flexibility == Flexibility::Blocking
            && self.footprint.accesses().iter().any(|access| !lasts(access.mode))
    }
}

/// Memory that an execution freed. That is no step of its own: it happens in the code after one.
#[derive(Clone, Debug, Default)]
pub struct Freed {
    /// What lay in it.
    pub objects: Vec<ObjectId>,
    /// The step whose code freed it, counted since [`System::restart`].
    pub by: usize,
    /// Steps in whose code references to it were given up: had one of them not been taken, it would not
    /// have been freed.
    pub after: Vec<usize>,
}

/// How a maximal execution ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Ending {
    /// Every thread finished, or one failed and the others went as far as they could.
    Complete,
    /// A thread waits for ever.
    Deadlocked,
    /// A thread stands at an `assume` that is false.
    Blocked,
}

/// Whether a system tells what [`System::end`] looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "what is not told may be anything"]
pub enum Judged {
    /// All of it was added to the footprint.
    Told,
    /// It may look at any variable. An explorer that runs executions only up to what they observe then
    /// proves nothing.
    NotTold,
}

/// A program under test that can be driven one visible operation at a time.
///
/// Front ends implement it; explorers only use it. A thread's step is one *visible* operation (it
/// touches a shared object, or chooses) plus all invisible code up to, but not including, its
/// next visible operation. So before any step is taken, the pending operation of every live thread
/// is known.
///
/// # Contract
///
/// 1. *Deterministic:* after `restart`, the same steps give the same answers and effects.
/// 2. *Stable names:* thread and object ids mean the same thing in every execution. A spawned
///    thread is named by its creator and how many it created before; ids once given are kept.
/// 3. *Footprints tell all:* if two steps of different threads are both enabled and their
///    footprints are independent, taking them in either order leads to the same state, and neither
///    changes whether or how the other runs. A step that is enabled or disabled by another is
///    dependent with it.
/// 4. *What it waits for:* the footprint of a step that can wait contains, whether it runs or is blocked,
///    everything that can decide in any state whether it is enabled.
/// 5. *Faults stop the thread, not the program:* after a step with a fault its thread is
///    [`Status::Failed`]; the others can go on.
///
/// # Methods with a default
///
/// Each default is an answer that is right for every system: it costs time, or makes a verdict
/// inconclusive, and never hides a behaviour. Why stands at the method. A system that wraps another
/// implements all of them, so that what the inner one tells is not lost (a test in
/// `selvedge-testkit/tests/tidy.rs` checks it).
pub trait System {
    /// Back to the initial state.
    fn restart(&mut self);

    /// Back to the state after `kept`, which is a prefix of the steps taken since `restart`.
    ///
    /// The default is the definition: by point 1 of the contract the same steps lead to the same state.
    fn rewind(&mut self, kept: &[Step]) {
        self.restart();
        let mut effect = Effect::default();
        for &step in kept {
            self.step(step, &mut effect);
        }
    }

    /// How many thread ids are known so far: all of them are below this number.
    fn thread_count(&self) -> usize;

    /// What `thread` can do now.
    fn status(&self, thread: ThreadId) -> Status;

    /// How many alternatives the pending step of `thread` has now; at least 1. `thread` is enabled.
    fn choices(&self, thread: ThreadId) -> u32;

    /// What the pending step of `step.thread` would do if it ran now with alternative
    /// `step.choice`. If it is blocked: with which footprint it waits. The thread is enabled or
    /// blocked. The state does not change.
    fn pending(&mut self, step: Step, effect: &mut Effect);

    /// Adds objects that keep the pending step of `thread`, which is blocked, waiting: as long as none of
    /// them changes, it waits. The fewer, the less an explorer has to try. All that decides whether the
    /// step can run is always a right answer.
    ///
    /// The default is that answer: by point 4 of the contract the footprint of a blocked step contains
    /// everything that decides whether it is enabled.
    fn obstacles(&mut self, thread: ThreadId, objects: &mut Vec<ObjectId>) {
        let mut effect = Effect::default();
        self.pending(Step::of(thread), &mut effect);
        let own = effect.footprint.accesses().iter().filter(|access| !access.mode.is_cause());
        objects.extend(own.map(|access| access.object));
    }

    /// Whether the pending step of `thread`, which is enabled, can be disabled by a step of another thread in
    /// more ways than by taking a mutex: [`Effect::can_be_disabled`].
    ///
    /// The default is the definition.
    fn can_be_disabled(&mut self, thread: ThreadId) -> bool {
        let mut effect = Effect::default();
        self.pending(Step::of(thread), &mut effect);
        effect.can_be_disabled()
    }

    /// Takes the pending step of `step.thread`, which is enabled, with alternative `step.choice`.
    fn step(&mut self, step: Step, effect: &mut Effect);

    /// Takes a step as [`System::step`] does and, if the system likes, further ones of the same thread, up
    /// to `most` in all: each of them is enabled, has one alternative and cannot be disabled
    /// ([`System::can_be_disabled`]), and no thread with a lower number is enabled. That is how a search
    /// goes on that is free to choose; it is asked only when it would do so. Returns how many steps were taken; their effects are the first of `effects`.
    ///
    /// The default takes the one step that was asked for; the search then chooses the next itself.
    fn step_on(&mut self, step: Step, most: usize, effects: &mut Vec<Effect>) -> usize {
        let _ = most;
        if effects.is_empty() {
            effects.push(Effect::default());
        }
        self.step(step, &mut effects[0]);
        1
    }

    /// How the step at `later` would touch `object`, which is all that it touches, if it found it as
    /// the step at `earlier` did. Both positions count the steps taken since `restart`. `None` if
    /// that is not known, or if it could not run then: the caller then tries it out.
    ///
    /// The default says that it is not known, so that everything is tried out.
    fn instead(&self, object: ObjectId, earlier: usize, later: usize) -> Option<Mode> {
        let _ = (object, earlier, later);
        None
    }

    /// Judges a maximal execution: called when no thread is enabled. Reports a deadlock or what
    /// the `finally` block finds; never anything if a thread failed. The state does not change.
    fn end(&mut self) -> (Ending, Option<Violation>);

    /// The memory that was freed since [`System::restart`]. An access to one of its objects that does not
    /// happen before the free can also come after it; an explorer then tries that order, in which the
    /// step that has the access shows what is wrong. A system without memory to free has none.
    fn freed(&self) -> &[Freed] {
        &[]
    }

    /// Adds reads of the variables that [`System::end`] looks at in this state, in the order in
    /// which it does. Which ones it looks at next may depend on the values of those before, and on
    /// nothing else.
    ///
    /// The default says that nothing is told. `data-centric`, the only one to ask, then ends inconclusive
    /// unless it finds a violation; for all others the end depends on the whole execution anyway.
    fn judged(&mut self, footprint: &mut Footprint) -> Judged {
        let _ = footprint;
        Judged::NotTold
    }

    /// Whether `thread`, or a thread that it will create, might write the variable from now on.
    /// `true` is always a right answer, and the default.
    fn may_write(&mut self, thread: ThreadId, variable: ObjectId) -> bool {
        let _ = (thread, variable);
        true
    }

    /// What can be told about the state beyond footprints, if the system can. It then starts no
    /// thread, and takes no step, that would change the answers to anything else.
    ///
    /// The default tells nothing: `constrained` and `context-sensitive` then order all that footprints
    /// order, and do what `source` does.
    fn conditions(&mut self) -> Option<&mut dyn Conditions> {
        None
    }
}

/// What reports need to know about a system, beyond running it.
pub trait Describe: System {
    /// The thread's name as the user would write it: `writer`, `reader[2]`.
    fn thread_name(&self, thread: ThreadId) -> String;

    /// The object's name as the user would write it: `x`, `a[3]`, `fork[1]`.
    fn object_name(&self, object: ObjectId) -> String;

    /// What the most recent step did, with values. Only asked after a step.
    fn describe_last(&self) -> Description;

    /// What the pending step of a live thread would do, or what a parked thread waits for.
    fn describe_pending(&self, thread: ThreadId) -> Description;
}
