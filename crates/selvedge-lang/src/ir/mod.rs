//! The intermediate representation: a small typed register machine.
//!
//! A [`Program`] has shared objects ([`Global`]), [`Procedure`]s and the threads that start at the
//! beginning. A procedure is a flat list of [`Instruction`]s over numbered, typed [`Slot`]s; control
//! flow is jumps to instruction numbers. Every value is an `i32`: an integer, a boolean (0 or 1) or
//! a thread handle (the number of the thread).
//!
//! # Visible and invisible
//!
//! An [`Op`] either works on slots alone (*invisible*) or is one *visible* operation: a read, a
//! write, a lock, … ([`Op::is_visible`]). Outside atomic sections each visible operation is one
//! step of its thread, together with the invisible instructions after it. So the order of visible
//! instructions is the order of steps: `x = y + z` is `Read y`, `Read z`, `Binary Add`, `Write x`.
//!
//! # How to lower to it
//!
//! - *Frames.* A call gives the callee fresh slots; the first `parameters` of them hold the
//!   arguments. A slot must be written before it is read, on every path.
//! - *Jumps.* A [`Label`] is the number of an instruction of the same procedure. The last
//!   instruction must not fall off the end: finish with [`Op::Return`].
//! - *Elements.* [`ObjectRef::index`] is 0 for an object without dimensions, a constant in range,
//!   or a slot that **only** [`Compute::Index`] instructions **of the same global** write. So an index
//!   is checked once, as invisible code, where `Index` stands. Two dimensions: `Index` makes one
//!   flat index, row by row.
//! - *Conditions.* `&&`, `||` and conditional expressions become [`Op::Branch`].
//! - *Assertions.* Read what the condition needs, compute it, then [`Op::Assert`]. The site's text
//!   is the condition as written; its [`Site::shown`] lists the names to print with the slots that
//!   hold their values. These slots too must be written on every path to the assertion; for
//!   `assert x == 1 && y == 2` let each way out to "false" have an `Assert` of its own, with
//!   the constant 0 as condition and a site that shows what was read on that way.
//! - *Arithmetic.* The site's text is the expression (`a * b`), `shown` the operands that have
//!   names. Used if it overflows.
//! - *Atomic sections.* [`Op::AtomicBegin`] … [`Op::AtomicEnd`]; they may nest, and every path
//!   through a procedure must balance them: emit `AtomicEnd` before `Return`, `break`, `continue` that
//!   leave the section. The body of an `atomic proc` is such a section, entered by its first
//!   instruction. Inside may stand what [`Op::allowed_in_atomic`] says, and calls of procedures
//!   that contain nothing else.
//! - *Await.* `await c` outside of atomic sections is a section of kind [`AtomicKind::Await`] that
//!   reads, computes and ends with [`Op::Await`]. Inside an atomic section it needs no section of
//!   its own. The site of `Await` has the text of the condition.
//! - *Tasks* of actors are sections of kind [`AtomicKind::Task`]. An `await` ends one and begins the next, whose first instruction
//!   is the [`Thread::Await`] of the future, or which computes the condition and has the [`Op::Await`]. Such a section
//!   [continues](Atomic::continues) the first one, so that code that both reach has one end.
//! - *Scoped locks* are a lock and, on every way out, an unlock.
//! - *`choose()`* is [`Choice::Choose`] from 0 to 2 into a boolean slot.
//! - *Thread handles.* A thread that starts at the beginning is the constant of its number;
//!   `worker[i]` with an `i` that is not constant is [`Compute::ThreadIndex`]; `self` is [`Compute::Own`].
//! - *Guards* of `receive` and conditions of independence constraints are procedures of their own.
//! - *`finally`* is a procedure without parameters and result. It runs as one look at the final
//!   state: it needs no atomic section.
//!
//! [`verify`] checks all this.

#[cfg(test)]
pub(crate) mod builder;
mod display;
mod identity;
mod ids;
mod instruction;
mod paths;
mod queries;
mod verify;

pub use crate::ops::{
    Alternative, Barrier, BinaryOp, Change, Channel, Choice, Code, Compute, Cond, Container,
    Delivery, Domain, Form, Ghost, Guard, GuardArgument, Indexed, Lock, LockMode,
    MOST_ALTERNATIVES, Message, Op, Pattern, Query, Range, Semaphore, Thread, UnaryOp, Variable,
};
pub(crate) use display::{Names, list};
pub use identity::Identity;
pub use ids::{AtomicId, EnumId, GlobalId, Label, ProcedureId, SiteId, Slot, TableId};
pub use instruction::{Instruction, ObjectRef, Operand};
pub use verify::verify;
pub(crate) use verify::{Checked, Checker};

/// A program, ready to be run or analysed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// The source file as the user named it.
    pub source_name: String,
    /// Places in the source, by [`SiteId`].
    pub sites: Vec<Site>,
    /// Constant arrays, by [`TableId`].
    pub tables: Vec<Table>,
    /// Enumerations, by [`EnumId`].
    pub enums: Vec<Enum>,
    /// Shared objects in the order of their declaration, by [`GlobalId`]. Add with
    /// [`Program::add_global`], which numbers their objects.
    pub globals: Vec<Global>,
    /// All procedures, by [`ProcedureId`]: bodies of threads too, guards, conditions, `finally`.
    pub procedures: Vec<Procedure>,
    /// The threads that start at the beginning. The number of a thread is its index here. The
    /// threads of one replicated declaration follow each other.
    pub threads: Vec<StaticThread>,
    /// Run when every thread has ended.
    pub finally: Option<ProcedureId>,
    /// Conditions that hold in the initial state and after every step.
    pub invariants: Vec<Invariant>,
    /// What holds for whole executions.
    pub promises: Vec<Promise>,
    /// Atomic sections, by [`AtomicId`].
    pub atomics: Vec<Atomic>,
    /// Declared independence between atomic sections. Of several for one pair, any one suffices.
    pub independence: Vec<Independence>,
    /// The files that were imported, in the order of their lines.
    pub imports: Vec<Additions>,
    /// Where independence was declared besides the source file.
    pub additions: Option<Additions>,
}

/// A condition that holds in the initial state and after every step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Invariant {
    /// Asserts it; without parameters and result. Runs as one look, like `finally`.
    pub procedure: ProcedureId,
    /// A [`GlobalKind::Invariant`] of its own.
    pub object: GlobalId,
}

/// Something that holds for whole executions, also those without end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Promise {
    /// What exactly.
    pub what: Promised,
    /// Where it is written.
    pub site: SiteId,
    /// What is wrong if it is not kept.
    pub message: String,
}

/// What is promised. Conditions are asserted by procedures without parameters and result, which run as one look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promised {
    /// The goal becomes true.
    Eventually {
        /// Asserts it.
        goal: ProcedureId,
    },
    /// Whenever the premise is true, the goal is or becomes true.
    LeadsTo {
        /// Asserts the premise.
        premise: ProcedureId,
        /// Asserts the goal.
        goal: ProcedureId,
    },
    /// Threads that run forever pass marks forever.
    Progress,
}

impl Promise {
    /// Returns the procedures that evaluate its conditions.
    pub fn procedures(&self) -> impl Iterator<Item = ProcedureId> + use<> {
        let both = match self.what {
            Promised::Eventually { goal } => [None, Some(goal)],
            Promised::LeadsTo { premise, goal } => [Some(premise), Some(goal)],
            Promised::Progress => [None, None],
        };
        both.into_iter().flatten()
    }
}

/// A place in the source and what messages say about it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Site {
    /// First line, from 1.
    pub line: u32,
    /// First column, from 1, in characters.
    pub column: u32,
    /// How many characters it spans on its first line; at least 1.
    pub length: u32,
    /// The source text of the expression or statement, on one line: "x == 2".
    pub text: String,
    /// Names in `text` and where their values are when the instruction runs. Only assertions and
    /// arithmetic use it.
    pub shown: Vec<Shown>,
}

/// A name and its value, for a message: " (x = 1)".
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    /// As in the source: `x`, `a[i]`, `v`.
    pub name: String,
    /// Where the value is.
    pub value: Operand,
    /// How to print it.
    pub ty: Type,
}

/// The type of a slot or of an element of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A 32-bit integer.
    Int,
    /// 0 or 1.
    Bool,
    /// The number of a thread; in slots only.
    Thread,
    /// The number of a member of an enumeration.
    Enum(EnumId),
    /// The number of the thread of a task that returns this; in slots only.
    Future(Yield),
}

/// What a task returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yield {
    /// Only that it has ended.
    Nothing,
    /// An integer.
    Int,
    /// A boolean.
    Bool,
    /// A member of an enumeration.
    Enum(EnumId),
}

impl Yield {
    /// Returns what a task with this result has; `None` if a task cannot return it.
    pub fn of(result: Option<Type>) -> Option<Self> {
        match result {
            None => Some(Yield::Nothing),
            Some(Type::Int) => Some(Yield::Int),
            Some(Type::Bool) => Some(Yield::Bool),
            Some(Type::Enum(id)) => Some(Yield::Enum(id)),
            Some(Type::Thread | Type::Future(_)) => None,
        }
    }

    /// Returns the type of its future, as it is written.
    pub(crate) fn future(self) -> &'static str {
        match self {
            Yield::Nothing => "future",
            Yield::Int => "future int",
            Yield::Bool => "future bool",
            Yield::Enum(_) => "future of an enumeration",
        }
    }

    /// Returns the type of the value, if there is one.
    pub fn ty(self) -> Option<Type> {
        match self {
            Yield::Nothing => None,
            Yield::Int => Some(Type::Int),
            Yield::Bool => Some(Type::Bool),
            Yield::Enum(id) => Some(Type::Enum(id)),
        }
    }
}

impl Type {
    /// Returns what its values are computed with: members of enumerations are integers, futures are threads.
    pub fn representation(self) -> Self {
        match self {
            Type::Enum(_) => Type::Int,
            Type::Future(_) => Type::Thread,
            other => other,
        }
    }
}

/// A constant array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// As declared.
    pub name: String,
    /// The type of its elements.
    pub ty: Type,
    /// Its elements.
    pub values: Vec<i32>,
}

/// An enumeration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enum {
    /// As declared.
    pub name: String,
    /// The names of its values 0, 1, …
    pub members: Vec<String>,
}

/// A declaration of shared objects: one, or an array of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// As declared.
    pub name: String,
    /// Sizes of the dimensions: none, one or two. A size may be 0.
    pub dims: Vec<u32>,
    /// What they are, with initial values per element, row by row.
    pub kind: GlobalKind,
    /// Number of the first object; [`Program::add_global`] sets it.
    pub base: u32,
    /// Of a field of an actor: how many of the dimensions are its own, the last ones, and not the actor's.
    pub own_dims: u32,
}

/// What the elements of a [`Global`] are. The vectors have one entry per element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GlobalKind {
    /// Variables.
    Variable {
        /// [`Type::Int`], [`Type::Bool`] or [`Type::Enum`].
        ty: Type,
        /// Whether accesses are synchronisation, never a data race.
        atomic: bool,
        /// Initial values.
        initial: Vec<i32>,
    },
    /// Ghost variables.
    Ghost {
        /// [`Type::Int`], [`Type::Bool`] or [`Type::Enum`].
        ty: Type,
        /// Initial values.
        initial: Vec<i32>,
        /// Whether a property can tell what it holds: one reads it, or reads a ghost that is computed from it, or an update of such a ghost
        /// can fail. If not, no operation is there.
        kept: bool,
    },
    /// Mutexes, free at first.
    Mutex,
    /// Reader-writer locks, free at first.
    RwLock,
    /// Condition variables.
    Cond,
    /// Counting semaphores.
    Semaphore {
        /// Initial counts; not negative.
        initial: Vec<i32>,
    },
    /// Cyclic barriers; each has two objects, one per parity of its generation.
    Barrier {
        /// How many arrivals open it; at least 1.
        parties: Vec<u32>,
    },
    /// Growable lists of integers.
    List {
        /// Initial contents.
        initial: Vec<Vec<i32>>,
    },
    /// Bounded queues of integers, empty at first.
    Channel {
        /// How many values fit; at least 1.
        capacity: Vec<u32>,
        /// What may become of a value that is sent.
        delivery: Delivery,
    },
    /// Nothing that code names: a step that changes what an [`Invariant`] reads touches it, so that those steps are ordered.
    Invariant,
    /// Maps from integers to integers.
    Map {
        /// Initial contents; a later pair with the same key wins.
        initial: Vec<Vec<(i32, i32)>>,
    },
}

/// Code with its own slots.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Procedure {
    /// As declared; for a generated one anything readable, such as `finally`.
    pub name: String,
    /// How many of the slots are parameters: the first ones.
    pub parameters: u32,
    /// The slots; at most 65,535.
    pub slots: Vec<SlotInfo>,
    /// What it returns, if anything.
    pub result: Option<Type>,
    /// For an `atomic proc`: the section that is its whole body. For a task: the section up to its first `await`.
    pub atomic: Option<AtomicId>,
    /// Whether it belongs to one of several actors: its first parameter is the index of the actor.
    pub of_indexed_actor: bool,
    /// Whether it waits for the end of the thread that is its first parameter, to tell the one that is its second. A thread that runs it may
    /// stay blocked without that being a deadlock.
    pub watches: bool,
    /// The instructions, numbered by [`Label`].
    pub code: Vec<Instruction>,
}

/// A slot of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotInfo {
    /// Its name in the source, unless it is a temporary.
    pub name: Option<String>,
    /// What it holds.
    pub ty: Type,
}

/// A thread that starts at the beginning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticThread {
    /// As declared, without the index.
    pub name: String,
    /// Which of the replicated threads: shown as `name[index]`. Counts from 0 within the
    /// declaration, or from wherever its range starts.
    pub index: Option<i32>,
    /// Its code; no result.
    pub procedure: ProcedureId,
    /// Values of the parameters.
    pub arguments: Vec<i32>,
    /// Whether it may stay blocked without that being a deadlock.
    pub daemon: bool,
}

/// An atomic section of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Atomic {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Of a block without a name: which of them it is, from 1, if constraints can speak of it.
    pub number: Option<u32>,
    /// What it was in the source.
    pub kind: AtomicKind,
    /// The procedure that contains it.
    pub procedure: ProcedureId,
    /// Of a part of a task that follows an `await`: the section that is its first part. Both end at the same places, which name
    /// the first part.
    pub continues: Option<AtomicId>,
}

impl Atomic {
    /// Returns how an independence constraint refers to it: by its name, or as `atomic 2`.
    pub fn reference(&self) -> Option<String> {
        self.name.clone().or_else(|| self.number.map(|number| format!("atomic {number}")))
    }
}

/// Where an atomic section comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtomicKind {
    /// `atomic { … }`.
    Block,
    /// The body of an `atomic proc`.
    Procedure,
    /// `await c;` on its own.
    Await,
    /// The step of `for each` that finds the next element.
    Each,
    /// What `await scan c;` waits for after it read that `c` is false.
    Scan,
    /// A part of a task of an actor: up to its first `await`, or from one `await` to the next.
    Task,
}

/// A further text: an imported file, or independence constraints. Its line numbers continue those of the text before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Additions {
    /// The file as the user named it, or where else it comes from.
    pub name: String,
    /// The number of the last line before it.
    pub after_line: u32,
}

/// Two atomic sections that are independent, always or under a condition.
///
/// What it promises: in every state in which both sections are about to run and the condition
/// evaluates to true, both can run in either order, and both orders lead to the same state. To the state
/// belong the shared objects, the local variables that are still used, and the spawned tasks as a
/// multiset: the creator of a task, and the number of its thread, may differ. A section that fails counts:
/// in both orders it fails at the same place, with the same message, after the same changes; its thread
/// stops, and the other section still runs. An overflow is a failure like any other, so a condition has
/// to exclude overflows that would depend on the order.
///
/// A condition that fails when it is evaluated (it overflows, an index is out of range) does not hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Independence {
    /// One section.
    pub first: AtomicId,
    /// The other; may be the same.
    pub second: AtomicId,
    /// When; `None` is always.
    pub condition: Option<Condition>,
    /// Where it is declared.
    pub site: SiteId,
}

/// A condition on two atomic sections about to run and the shared state before them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Returns a boolean; may read shared objects; runs as one look, like `finally`.
    pub procedure: ProcedureId,
    /// Where the parameters come from.
    pub arguments: Vec<ConditionArgument>,
}

/// Where a parameter of a [`Condition`] comes from: a slot of the frame in which one of the two
/// sections is about to run. For an atomic procedure these are its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConditionArgument {
    /// A slot of the procedure that contains the first section.
    First(Slot),
    /// A slot of the procedure that contains the second section.
    Second(Slot),
}
