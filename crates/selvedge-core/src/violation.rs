//! Violations: what can be wrong with a program.

use std::fmt;

use crate::ids::ThreadId;

/// A place in the user's source text. Lines and columns count from 1.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place {
    /// The file as the user named it.
    pub file: String,
    /// First line.
    pub line: u32,
    /// First column, in characters.
    pub column: u32,
    /// How many characters it spans on its first line; at least 1.
    pub length: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// What kind of thing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ViolationKind {
    /// An `assert` in a thread is false.
    Assertion,
    /// An `assert` in the `finally` block is false.
    Finally,
    /// An invariant is false after a step.
    Always,
    /// An `eventually` never becomes true.
    Eventually,
    /// The conclusion of a `leads_to` never follows.
    LeadsTo,
    /// Threads run forever without passing a mark of progress.
    Progress,
    /// Some threads are blocked, and no thread can unblock them.
    Deadlock,
    /// A lock, semaphore, condition variable, thread or mailbox is used in a way it does not allow.
    Misuse,
    /// Arithmetic overflow or division by zero.
    Arithmetic,
    /// An index outside its array or list, or a key that a map does not have.
    Bounds,
    /// Two conflicting accesses that no synchronisation orders.
    DataRace,
    /// The program exceeds what can be run: too many threads, calls nested too deep.
    Resources,
    /// The program panicked.
    Panic,
    /// An exception is thrown that nothing catches.
    Exception,
    /// The program crashed: a signal, an abort.
    Crash,
    /// Something is never freed, or a lock never released.
    Leak,
    /// An object is used after its memory was freed, or the memory is written to.
    UseAfterFree,
    /// Memory is freed a second time.
    DoubleFree,
    /// Something is freed that was never allocated, or not like this.
    InvalidFree,
    /// A declared independence constraint holds where the steps do not commute.
    Constraint,
}

impl ViolationKind {
    /// Every kind.
    pub const ALL: &[ViolationKind] = &[
        ViolationKind::Assertion,
        ViolationKind::Finally,
        ViolationKind::Always,
        ViolationKind::Eventually,
        ViolationKind::LeadsTo,
        ViolationKind::Progress,
        ViolationKind::Deadlock,
        ViolationKind::Misuse,
        ViolationKind::Arithmetic,
        ViolationKind::Bounds,
        ViolationKind::DataRace,
        ViolationKind::Resources,
        ViolationKind::Panic,
        ViolationKind::Exception,
        ViolationKind::Crash,
        ViolationKind::Leak,
        ViolationKind::UseAfterFree,
        ViolationKind::DoubleFree,
        ViolationKind::InvalidFree,
        ViolationKind::Constraint,
    ];

    /// Returns the kind with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Returns its name in reports and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ViolationKind::Assertion => "assertion",
            ViolationKind::Finally => "finally",
            ViolationKind::Always => "always",
            ViolationKind::Eventually => "eventually",
            ViolationKind::LeadsTo => "leads-to",
            ViolationKind::Progress => "progress",
            ViolationKind::Deadlock => "deadlock",
            ViolationKind::Misuse => "misuse",
            ViolationKind::Arithmetic => "arithmetic",
            ViolationKind::Bounds => "bounds",
            ViolationKind::DataRace => "data-race",
            ViolationKind::Resources => "resources",
            ViolationKind::Panic => "panic",
            ViolationKind::Exception => "exception",
            ViolationKind::Crash => "crash",
            ViolationKind::Leak => "leak",
            ViolationKind::UseAfterFree => "use-after-free",
            ViolationKind::DoubleFree => "double-free",
            ViolationKind::InvalidFree => "invalid-free",
            ViolationKind::Constraint => "constraint",
        }
    }
}

impl ViolationKind {
    /// Returns whether it is about a whole execution, which may be infinite: then the order of all steps matters.
    pub fn is_about_promises(self) -> bool {
        matches!(self, ViolationKind::Eventually | ViolationKind::LeadsTo | ViolationKind::Progress)
    }
}

impl fmt::Display for ViolationKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One thing that is wrong, without the execution that shows it.
///
/// Two violations are the same to the user if [`same_as`](Self::same_as) returns true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// What kind.
    pub kind: ViolationKind,
    /// One sentence without a full stop, as for a person: "assertion `x == 2` is false (x = 1)".
    pub message: String,
    /// Where, and if it has two sides, the other one.
    pub places: Vec<Place>,
    /// Further explanations: which thread waits for what, which thread holds it.
    pub notes: Vec<String>,
    /// The thread whose step failed; `None` at the end of an execution.
    pub thread: Option<ThreadId>,
}

impl Violation {
    /// Returns whether both are the same to the user.
    pub fn same_as(&self, other: &Violation) -> bool {
        self.kind == other.kind && self.message == other.message && self.places == other.places
    }
}

/// Why a thread stopped in the middle of a step.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The program is wrong.
    Violation(Violation),
    /// The tool gave up: the reason, as a sentence with a hint. The verdict can only be
    /// inconclusive.
    GaveUp(String),
}
