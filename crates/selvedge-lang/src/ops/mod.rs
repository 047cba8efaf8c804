//! The operations of the language, each said once.
//!
//! An [`Op`] is one instruction. It belongs to a *family*, and the file of the family says all there is to say
//! about its operations:
//!
//! | question | where |
//! |---|---|
//! | what are its operands, in which order are they evaluated | the type and its `map` |
//! | is it well formed, how is it written | `check`, `write` of [`Operation`] |
//! | where may it stand, can it fault, what can it reach | [`Facts`] |
//! | what does it touch in this state | `footprint` |
//! | can it run, with which alternatives, what changes elsewhere | `can_run`, `choices`, `flexibility` |
//! | what does it do | `execute`; changes are logged, so that they can be undone |
//! | how is it told | `text`, `waits_for` |
//!
//! Everything else is generic. An operation is generic over the [`Form`] of its parts: the parser applies it to
//! expressions with names, the checker to expressions with types, and the code to slots; lowering, resolving labels
//! and listing operands are one `map` each. The interpreter (`interpret/`) asks [`Op::operation`] and knows no
//! operation but those on variables, which are inlined. The analyses ask for [`Facts`]. What invisible instructions
//! compute is said over a [`Domain`]: numbers when the program runs, unknowns when its future is estimated, circuits
//! and terms in `selvedge-symbolic`. What visible operations do is not: there a circuit adds events and a term forks,
//! and code that is generic over both would be longer than each of them.
//!
//! Control flow is no family: a jump, a branch, a call and the borders of atomic sections mean something else to
//! everyone who follows code.

mod barriers;
mod channels;
mod choices;
mod compute;
mod conditions;
mod containers;
mod declare;
mod form;
mod ghosts;
mod locks;
mod messages;
mod semaphores;
mod threads;
mod variables;

use std::fmt::{self, Formatter};

use selvedge_core::{Elsewhere, Flexibility, Footprint, Order};

use crate::interpret::{At, Done, Failure, Loaded, Machine, Reads};
use crate::ir::{AtomicId, Checked, Checker, Label, Names, ObjectRef, Operand, Slot};

pub use barriers::Barrier;
pub use channels::{Channel, Delivery};
pub use choices::{Choice, MOST_ALTERNATIVES};
pub use compute::{BinaryOp, Compute, Domain, Indexed, Range, UnaryOp};
pub use conditions::Cond;
pub use containers::{Change, Container, Query};
pub use form::{Code, Form};
pub(crate) use form::{Nothing, Part, Parts, Relabel, Visit};
pub use ghosts::Ghost;
pub use locks::{Lock, LockMode};
pub use messages::{Alternative, Guard, GuardArgument, Message, Pattern};
pub use semaphores::Semaphore;
pub use threads::Thread;
pub use variables::Variable;
pub(crate) use variables::order_word;

/// What an instruction does. `target` is the slot that gets the result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op<F: Form = Code> {
    // ---- Invisible: slots and control flow ----
    /// `target = value`; may fault.
    Compute {
        /// Gets the result.
        target: F::Target,
        /// What is computed.
        value: Compute<F>,
    },
    /// Goes to `to`.
    Jump {
        /// Where to.
        to: F::Label,
    },
    /// Goes to `then` if `condition` is true, else to `otherwise`.
    Branch {
        /// A boolean.
        condition: F::Value,
        /// Where to if true.
        then: F::Label,
        /// Where to if false.
        otherwise: F::Label,
    },
    /// Calls a procedure.
    Call {
        /// Which.
        procedure: F::Routine,
        /// One per parameter.
        arguments: Box<[F::Value]>,
        /// Gets the result, if it is wanted; only of procedures that have one.
        target: Option<F::Target>,
    },
    /// Goes back to the caller, or ends the thread.
    Return {
        /// Present exactly if the procedure has a result.
        value: Option<F::Value>,
    },
    /// Faults unless `condition` is true. The site has the condition's text and what to show.
    Assert {
        /// A boolean.
        condition: F::Value,
        /// What the user adds to the message.
        message: Option<Box<str>>,
    },
    /// Stops the thread, without a fault, unless `condition` is true.
    Assume {
        /// A boolean.
        condition: F::Value,
    },
    /// A mark: the thread gets on.
    Progress,

    // ---- Atomic sections ----
    /// Enters an atomic section; outside of others, the section is one visible operation.
    AtomicBegin {
        /// Which.
        atomic: AtomicId,
    },
    /// Leaves the atomic section entered last.
    AtomicEnd {
        /// Which.
        atomic: AtomicId,
    },
    /// Inside an atomic section only: disables the whole step while `condition` is false. The
    /// site has the condition's text.
    Await {
        /// A boolean.
        condition: F::Value,
    },

    // ---- Visible, by family ----
    /// Reads and writes.
    Variable(Variable<F>),
    /// Mutexes and reader-writer locks.
    Lock(Lock<F>),
    /// Semaphores.
    Semaphore(Semaphore<F>),
    /// Condition variables.
    Cond(Cond<F>),
    /// Barriers.
    Barrier(Barrier<F>),
    /// Lists and maps.
    Container(Container<F>),
    /// Channels.
    Channel(Channel<F>),
    /// Threads.
    Thread(Thread<F>),
    /// Messages.
    Message(Message<F>),
    /// Choices.
    Choice(Choice<F>),

    // ---- Part of the step before ----
    /// Ghost variables.
    Ghost(Ghost<F>),
}

impl<F: Form> Op<F> {
    /// Returns the same operation on other parts.
    pub(crate) fn map<G: Form>(&self, parts: &mut impl Parts<F, G>) -> Op<G> {
        match self {
            Op::Compute { target, value } => {
                Op::Compute { value: value.map(parts), target: parts.target(target) }
            }
            Op::Jump { to } => Op::Jump { to: parts.label(to) },
            Op::Branch { condition, then, otherwise } => Op::Branch {
                condition: parts.value(condition),
                then: parts.label(then),
                otherwise: parts.label(otherwise),
            },
            Op::Call { procedure, arguments, target } => Op::Call {
                procedure: parts.routine(procedure),
                arguments: parts.values(arguments),
                target: parts.optional_target(target),
            },
            Op::Return { value } => {
                Op::Return { value: value.as_ref().map(|value| parts.value(value)) }
            }
            Op::Assert { condition, message } => {
                Op::Assert { condition: parts.value(condition), message: message.clone() }
            }
            Op::Assume { condition } => Op::Assume { condition: parts.value(condition) },
            Op::Progress => Op::Progress,
            Op::AtomicBegin { atomic } => Op::AtomicBegin { atomic: *atomic },
            Op::AtomicEnd { atomic } => Op::AtomicEnd { atomic: *atomic },
            Op::Await { condition } => Op::Await { condition: parts.value(condition) },
            Op::Variable(op) => Op::Variable(op.map(parts)),
            Op::Lock(op) => Op::Lock(op.map(parts)),
            Op::Semaphore(op) => Op::Semaphore(op.map(parts)),
            Op::Cond(op) => Op::Cond(op.map(parts)),
            Op::Barrier(op) => Op::Barrier(op.map(parts)),
            Op::Container(op) => Op::Container(op.map(parts)),
            Op::Channel(op) => Op::Channel(op.map(parts)),
            Op::Thread(op) => Op::Thread(op.map(parts)),
            Op::Message(op) => Op::Message(op.map(parts)),
            Op::Choice(op) => Op::Choice(op.map(parts)),
            Op::Ghost(op) => Op::Ghost(op.map(parts)),
        }
    }
}

macro_rules! family {
    ($($family:ident),*) => {
        $(impl<F: Form> From<$family<F>> for Op<F> {
            fn from(op: $family<F>) -> Self {
                Op::$family(op)
            }
        })*
    };
}

family!(
    Variable, Lock, Semaphore, Cond, Barrier, Container, Channel, Thread, Message, Choice, Ghost
);

/// What is known about an operation wherever it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// It can fault.
    pub(crate) may_fault: bool,
    /// Where it may stand.
    pub(crate) stands: Stands,
    /// What it can touch.
    pub(crate) reach: Reach,
    /// What the thread does next may depend on what it finds, although it can always run and touches the same.
    pub(crate) finds: bool,
    /// It notices whether another thread has ended.
    pub(crate) observes_ends: bool,
    /// What follows it belongs to a step of its own, in which it continues.
    pub(crate) has_second_half: bool,
}

impl Facts {
    /// What holds for most operations that take or give something.
    pub(crate) const STEP: Facts = Facts {
        may_fault: false,
        stands: Stands::Alone,
        reach: Reach::Changes,
        finds: false,
        observes_ends: false,
        has_second_half: false,
    };
}

/// Where an operation may stand.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Stands {
    /// Only in a step of its own: it waits or chooses.
    Alone,
    /// Also in an atomic section.
    InSections,
    /// Also in `finally` and in conditions, where changes have no effect outside.
    InLooks,
}

/// What an operation can touch, for code that analyses programs without running them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// It reads the objects that it names.
    Reads,
    /// It changes the objects that it names.
    Changes,
    /// It touches the threads that it names; what comes of it is not followed.
    Anything,
}

/// What follows an operation that was performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// The next instruction.
    Next,
    /// It has moved the thread itself, or continues later.
    Placed,
}

/// A visible operation. `at` is where it stands: the thread that performs it, with the values of its slots.
pub(crate) trait Operation {
    fn facts(&self) -> Facts;

    /// Checks types and kinds of objects.
    fn check(&self, checker: &Checker<'_>) -> Checked;

    /// Writes it, without the target.
    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result;

    /// Adds what it touches if alternative `choice` of it runs now; if it is blocked, what decides when it can run.
    fn footprint(&self, machine: &mut Machine, at: At<'_>, choice: u32, footprint: &mut Footprint);

    fn can_run(&self, _machine: &Machine, _at: At<'_>) -> bool {
        true
    }

    /// Returns how many alternatives it has.
    fn choices(&self, _machine: &Machine, _at: At<'_>) -> u32 {
        1
    }

    /// Returns how it may act in another state.
    fn flexibility(&self, _machine: &Machine, _at: At<'_>) -> Flexibility {
        Flexibility::Fixed
    }

    /// Returns what it may touch in another state, apart from the end of its thread by what follows.
    fn elsewhere(&self, machine: &Machine, at: At<'_>) -> Elsewhere {
        match self.flexibility(machine, at) {
            Flexibility::Fixed => Elsewhere::AtMostThis,
            _ => Elsewhere::Anything,
        }
    }

    /// Returns the memory ordering of what it would access now; see [`Effect::order`](selvedge_core::Effect::order).
    fn memory_order(&self, _machine: &Machine, _at: At<'_>) -> Option<Order> {
        None
    }

    /// Performs it.
    fn execute(&self, machine: &mut Machine, at: At<'_>, choice: u32) -> Result<Then, Failure>;

    /// Returns its arguments before it runs, as a record of it would have them.
    fn arguments(&self, _machine: &Machine, _at: At<'_>) -> Vec<i32> {
        Vec::new()
    }

    /// Returns what it did, or is about to do if there is no result.
    fn text(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String;

    /// Returns the same for an operation in an atomic section.
    fn text_inside(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        self.text(machine, loaded, done)
    }

    /// Returns what it waits for.
    fn waits_for(&self, _machine: &Machine, _at: At<'_>) -> String {
        "waits".to_owned()
    }

    /// Returns the thread that must go on before this one can, and the lock between them.
    fn waits_for_thread(&self, _machine: &Machine, _at: At<'_>) -> Option<(Option<String>, usize)> {
        None
    }

    /// Notes what can decide whether an atomic section in which it stands waits.
    fn decides(&self, _reads: &mut Reads) {}
}

impl Op {
    /// Returns the visible operation that it is, or what it does to a ghost; `None` for invisible ones and atomic sections.
    #[inline]
    pub(crate) fn operation(&self) -> Option<&dyn Operation> {
        Some(match self {
            Op::Variable(op) => op,
            Op::Lock(op) => op,
            Op::Semaphore(op) => op,
            Op::Cond(op) => op,
            Op::Barrier(op) => op,
            Op::Container(op) => op,
            Op::Channel(op) => op,
            Op::Thread(op) => op,
            Op::Message(op) => op,
            Op::Choice(op) => op,
            Op::Ghost(op) => op,
            Op::Compute { .. }
            | Op::Jump { .. }
            | Op::Branch { .. }
            | Op::Call { .. }
            | Op::Return { .. }
            | Op::Assert { .. }
            | Op::Assume { .. }
            | Op::Progress
            | Op::AtomicBegin { .. }
            | Op::AtomicEnd { .. }
            | Op::Await { .. } => return None,
        })
    }

    /// Returns whether it is a step of its own outside of atomic sections. What a ghost is part of is the step before it.
    pub fn is_visible(&self) -> bool {
        match self {
            Op::Ghost(_) => false,
            op => op.operation().is_some() || matches!(op, Op::AtomicBegin { .. }),
        }
    }

    /// Returns whether it may stand in an atomic section: all but what waits or chooses by itself.
    pub fn allowed_in_atomic(&self) -> bool {
        self.operation().is_none_or(|op| op.facts().stands >= Stands::InSections)
    }

    /// Returns whether it only looks: may stand in `finally` and in the condition of an independence
    /// constraint. Changes there have no effect outside.
    pub fn allowed_in_look(&self) -> bool {
        match self {
            Op::Await { .. } | Op::Compute { value: Compute::Own, .. } => false,
            op => op.operation().is_none_or(|op| op.facts().stands == Stands::InLooks),
        }
    }

    /// Returns whether it can fault by itself.
    pub fn may_fault(&self) -> bool {
        match self {
            Op::Compute { value, .. } => value.may_fault(),
            Op::Call { .. } | Op::Assert { .. } | Op::AtomicBegin { .. } => true,
            op => op.operation().is_some_and(|op| op.facts().may_fault),
        }
    }

    /// Returns whether it leaves the objects that it names as they are.
    pub fn only_reads(&self) -> bool {
        self.operation().is_some_and(|op| op.facts().reach == Reach::Reads)
    }

    /// Returns whether it may reach an `await` before the next instruction, if these procedures do.
    pub fn awaits(&self, awaiting: &[bool]) -> bool {
        match self {
            Op::Await { .. } | Op::Thread(Thread::Await { .. }) => true,
            Op::Call { procedure, .. } => awaiting[procedure.index()],
            _ => false,
        }
    }

    /// Calls `visit` with every part.
    pub(crate) fn for_each_part(&self, visit: impl FnMut(Part<'_>)) {
        self.map(&mut Visit(visit));
    }

    /// Calls `visit` with every operand, those in object references included.
    pub fn for_each_operand(&self, mut visit: impl FnMut(Operand)) {
        self.for_each_part(|part| match part {
            Part::Value(value) => visit(value),
            Part::Object(object) => visit(object.index),
            _ => {}
        });
    }

    /// Calls `visit` with every shared object it names.
    pub fn for_each_object(&self, mut visit: impl FnMut(ObjectRef)) {
        self.for_each_part(|part| {
            if let Part::Object(object) = part {
                visit(object);
            }
        });
    }

    /// Returns the slot that gets its result, if it has one. What a message is taken apart into is not meant here.
    pub fn target(&self) -> Option<Slot> {
        let mut target = None;
        self.for_each_part(|part| {
            if let Part::Target(slot) = part {
                target = Some(slot);
            }
        });
        target
    }

    /// Returns whether the next instruction follows, unless it faults.
    pub(crate) fn falls_through(&self) -> bool {
        match self {
            Op::Jump { .. } | Op::Branch { .. } | Op::Return { .. } => false,
            Op::Message(op) => !op.jumps(),
            _ => true,
        }
    }

    /// Calls `visit` for each instruction that may run next in the same frame when it stands at
    /// `at`, with the slots that it writes on that way.
    pub fn for_each_successor(&self, at: Label, mut visit: impl FnMut(Label, &[Slot])) {
        if self.falls_through() {
            visit(Label(at.0 + 1), self.target().as_slice());
            return;
        }
        // What a message is taken apart into is written on the way to the label that follows.
        let mut written = Vec::new();
        self.for_each_part(|part| match part {
            Part::Local(slot) => written.push(slot),
            Part::Label(to) => {
                visit(to, &written);
                written.clear();
            }
            _ => {}
        });
    }
}
