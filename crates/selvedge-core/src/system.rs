//! The seam between programs and algorithms.

use crate::abilities::{Ahead, Foresight, Judging, Promises, States, Values};
use crate::conditions::Conditions;
use crate::forward_system;
use crate::ids::{ObjectId, ThreadId};
use crate::names::{ObjectKey, ThreadKey};
use crate::op::Footprint;
use crate::order::Order;
use crate::replay::{Description, ValueChange};
use crate::violation::{Fault, Violation};

/// A choice of the scheduler: which thread runs, and which of its alternatives it takes.
///
/// Most steps have one alternative, number 0. More than one: a value chosen from a range, which
/// waiter a signal wakes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// The thread that runs.
    pub thread: ThreadId,
    /// Which alternative, below [`System::choices`].
    pub choice: u32,
}

impl Step {
    /// Returns the only alternative of `thread`, or its first.
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
    /// It does not exist: it has not been spawned in this execution.
    Absent,
    /// It can take a step.
    Enabled,
    /// It has a pending step that cannot be taken now.
    Blocked,
    /// It waits to be made runnable by another thread's step; it has no pending step of its own.
    Parked,
    /// It ran to its end.
    Finished,
    /// It is blocked by an `assume` that is false: the rest of the execution does not count.
    Assumed,
    /// A [`Fault`] stopped it.
    Failed,
}

/// How a step may act when it runs in another state: what must be determined again when a race is
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

/// What a step may touch where less has happened of what it conflicts with: after some of the events before it, and others
/// that are independent of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Elsewhere {
    /// Something else. Always a sound answer.
    #[default]
    Anything,
    /// At most what it touches here, and nothing in a mode that conflicts with more.
    AtMostThis,
    /// It takes a message from the mailbox of its thread, the object of which is all that says so, and waits while that is
    /// empty. It may take another message, and end its thread or not.
    AnotherMessage,
}

/// What a step did, or what a pending step would do.
///
/// A buffer that callers keep: [`System::step`] overwrites all of it.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// The shared objects that it accesses. Of a blocked step: those that decide whether it is enabled.
    pub footprint: Footprint,
    /// What must be determined again if it runs in another state.
    pub flexibility: Flexibility,
    /// What it may touch in another state. Saves explorers from trying it there.
    pub elsewhere: Elsewhere,
    /// How many alternatives it had in the state in which it ran: at least 1.
    pub choices: u32,
    /// The memory ordering of its reads and writes, which decides what they synchronise with. Those that are
    /// [`Order::NonAtomic`] can be part of a data race. `None`: each is ordered with all that depend on it, as
    /// a lock is; so are atomic operations, blocks and variables of the modelling language. A step that
    /// accesses nothing and has an ordering is a fence.
    pub order: Option<Order>,
    /// Whether the step stopped its thread.
    pub fault: Option<Fault>,
}

impl Effect {
    /// Makes it the effect of a step that does nothing shared.
    #[inline]
    pub fn clear(&mut self) {
        self.footprint.clear();
        self.flexibility = Flexibility::Fixed;
        self.elsewhere = Elsewhere::Anything;
        self.choices = 1;
        self.order = None;
        self.fault = None;
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
    /// Every thread finished, or one failed and the others ran as far as they could.
    Complete,
    /// A thread is blocked, and no thread can unblock it.
    Deadlocked,
    /// A thread is blocked by an `assume` that is false.
    Blocked,
}

/// How an execution ended that a search counts, maximal or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// A step or the end of it showed a violation.
    Violated,
    /// It is maximal, and nothing is wrong.
    Maximal(Ending),
    /// It was abandoned: every enabled thread sleeps.
    Redundant,
    /// It was cut at a bound.
    Cut,
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
/// 3. *Complete footprints:* if two steps of different threads are both enabled and their
///    footprints are independent, taking them in either order leads to the same state, and neither
///    changes whether or how the other runs. A step that is enabled or disabled by another is
///    dependent with it.
/// 4. *What it waits for:* the footprint of a step that can wait contains, whether it runs or is blocked,
///    everything that can decide in any state whether it is enabled.
/// 5. *Faults stop the thread, not the program:* after a step with a fault its thread is
///    [`Status::Failed`]; the others can continue.
/// 6. *Alternatives touch the same:* what a step touches does not depend on the alternative that is taken, but for the
///    end of its thread and the thread that it wakes. (A choice between two operations is two steps: one that
///    chooses, and one that acts.)
/// 7. *Waiting is a matter of the operation:* whether the pending step of a thread can wait, as its [`Flexibility`] says, does
///    not change until the thread takes it.
///
/// # No method has a default
///
/// What a default answers is a guess about a system that it does not know, and a system that wraps another would
/// fall back on it by oversight. Front ends name what they do not have ([`without!`](crate::without)); wrappers use
/// [`forward_system!`](crate::forward_system). What only some systems can do is a trait of its own in
/// `abilities.rs` or `conditions.rs`, returned by one of the last methods.
pub trait System {
    /// Returns to the initial state.
    fn restart(&mut self);

    /// Returns to the state after `kept`, which is a prefix of the steps taken since `restart`.
    /// [`rewind_by_replay`] is the definition.
    fn rewind(&mut self, kept: &[Step]);

    /// Returns how many thread ids are known so far: all of them are below this number.
    fn thread_count(&self) -> usize;

    /// Returns the name of a thread that is known: the same in every process that runs this program.
    fn thread_key(&self, thread: ThreadId) -> ThreadKey;

    /// Returns the name of an object that a step has touched: the same in every process that runs this program.
    fn object_key(&self, object: ObjectId) -> ObjectKey;

    /// Returns what `thread` can do now.
    fn status(&self, thread: ThreadId) -> Status;

    /// Returns how many alternatives the pending step of `thread` has now; at least 1. `thread` is enabled.
    fn choices(&self, thread: ThreadId) -> u32;

    /// What the pending step of `step.thread` would do if it ran now with alternative
    /// `step.choice`. If it is blocked: with which footprint it waits. The thread is enabled or
    /// blocked. The state does not change.
    fn pending(&mut self, step: Step, effect: &mut Effect);

    /// Adds objects for which the pending step of `thread`, which is blocked, waits: as long as none of
    /// them changes, it stays blocked. The fewer, the less an explorer has to try. The set of all objects that decide
    /// whether the step is enabled is always a sound answer: [`obstacles_by_footprint`].
    fn obstacles(&mut self, thread: ThreadId, objects: &mut Vec<ObjectId>);

    /// Takes the pending step of `step.thread`, which is enabled, with alternative `step.choice`.
    fn step(&mut self, step: Step, effect: &mut Effect);

    /// Judges a maximal execution: called when no thread is enabled. Reports a deadlock or what
    /// the `finally` block finds; never anything if a thread failed. The state does not change.
    fn end(&mut self) -> (Ending, Option<Violation>);

    /// Returns the memory that was freed since [`System::restart`]. An access to one of its objects that does not
    /// happen before the free can also come after it; an explorer then tries that order, in which the
    /// step that has the access shows what is wrong. A system without memory to free returns `&[]`.
    fn freed(&self) -> &[Freed];

    /// Returns the ability to take several steps at once, if the system has it.
    fn ahead(&mut self) -> Option<&mut dyn Ahead>;

    /// Returns the values that steps found, if the system remembers them.
    fn values(&self) -> Option<&dyn Values>;

    /// Returns what [`System::end`] reads, if the system can name it.
    fn judging(&mut self) -> Option<&mut dyn Judging>;

    /// Returns what threads may still write, if the system knows it.
    fn foresight(&mut self) -> Option<&mut dyn Foresight>;

    /// Returns what is known about the state beyond footprints, if the system supports it. Asking does not change the
    /// answers of other methods.
    fn conditions(&mut self) -> Option<&mut dyn Conditions>;

    /// Returns the ability to save the state and to return to it, if the system has it.
    fn states(&mut self) -> Option<&mut dyn States>;

    /// Returns what the program promises about whole executions, if it promises anything. This is no ability: an explorer that
    /// does not decide promises is not complete for a program that has them.
    fn promises(&mut self) -> Option<&mut dyn Promises>;
}

/// A system behind a pointer: code that works on any system can be compiled once, for `Box<dyn System>`.
impl<S: System + ?Sized> System for Box<S> {
    forward_system! { self => (**self);
        restart rewind thread_count thread_key object_key status choices pending obstacles step end freed
        ahead values judging foresight conditions states promises
    }
}

/// [`System::rewind`] by its definition: by point 1 of the contract the same steps lead to the same state.
pub fn rewind_by_replay<S: System + ?Sized>(system: &mut S, kept: &[Step]) {
    system.restart();
    let mut effect = Effect::default();
    for &step in kept {
        system.step(step, &mut effect);
    }
}

/// Returns the thread with this name, if the system knows it.
pub fn thread_named<S: System + ?Sized>(system: &S, key: &ThreadKey) -> Option<ThreadId> {
    let mut threads = (0..system.thread_count()).map(ThreadId::new);
    threads.find(|&thread| system.thread_key(thread) == *key)
}

/// [`System::obstacles`] for a system that knows no better: by point 4 of the contract the footprint of a blocked
/// step contains everything that decides whether it is enabled.
pub fn obstacles_by_footprint<S: System + ?Sized>(
    system: &mut S,
    thread: ThreadId,
    objects: &mut Vec<ObjectId>,
) {
    let mut effect = Effect::default();
    system.pending(Step::of(thread), &mut effect);
    let own = effect.footprint.accesses().iter().filter(|access| !access.mode.is_cause());
    objects.extend(own.map(|access| access.object));
}

/// What reports need to know about a system, beyond running it.
pub trait Describe: System {
    /// Returns the thread's name as the user would write it: `writer`, `reader[2]`.
    fn thread_name(&self, thread: ThreadId) -> String;

    /// Returns the object's name as the user would write it: `x`, `a[3]`, `fork[1]`.
    fn object_name(&self, object: ObjectId) -> String;

    /// Returns the object's value now, as the user would write it: `7`, `held by writer`. `None` if it has none that
    /// can be shown, or if it is not known.
    fn value(&self, object: ObjectId) -> Option<String>;

    /// Returns what the most recent step found in objects and what it left there, where [`Self::value`] does not tell:
    /// the values of a system in which only operations know types. Only asked after a step.
    fn values_of_last(&self) -> Vec<(ObjectId, ValueChange)>;

    /// Returns what the most recent step did, with values. Only asked after a step.
    fn describe_last(&self) -> Description;

    /// Returns what the pending step of a live thread would do, or what a parked thread waits for.
    fn describe_pending(&self, thread: ThreadId) -> Description;
}
