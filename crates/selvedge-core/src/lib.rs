//! The vocabulary of Selvedge: programs under test, their executions, and the results of a check.
//!
//! Front ends implement [`System`]; explorers drive it and build an [`Execution`]; what they
//! find is a [`Report`]. This crate does no I/O, reads no clock and prints nothing.
//!
//! # Glossary
//!
//! These words have one meaning each, everywhere in the code and the documents.
//!
//! | word | meaning | type |
//! |---|---|---|
//! | thread | a thread of the program under test; the same id in every execution | [`ThreadId`] |
//! | object | something shared that steps access: a variable, a mutex, a mailbox, … | [`ObjectId`] |
//! | key | the name of a thread or object that is the same in every process | [`ThreadKey`], [`ObjectKey`] |
//! | access | how a step accesses an object | [`Access`], [`Mode`] |
//! | footprint | all accesses of one step | [`Footprint`] |
//! | step | one visible operation and the invisible code after it, as a choice of the scheduler | [`Step`] |
//! | event | a step that was taken: the *n*-th of its thread | [`Event`], [`EventId`] |
//! | position | index of an event in one execution | [`Position`] |
//! | execution | a sequence of events from the initial state; *maximal* if nothing is enabled | [`Execution`] |
//! | trace | class of executions equal up to swapping independent neighbours | [`TraceKey`] |
//! | schedule | the list of steps that reproduces an execution | [`Schedule`] |
//! | deadlocked | maximal, and some thread is blocked | [`Ending::Deadlocked`] |
//! | blocked | maximal, and some thread is blocked by an `assume` that is false | [`Ending::Blocked`] |
//! | redundant | abandoned because every enabled thread sleeps | [`Counts::redundant`] |

mod abilities;
mod budget;
mod conditions;
mod counting;
mod dependence;
mod equivalence;
mod execution;
mod forward;
mod graph_system;
mod ids;
mod names;
mod number;
mod op;
mod order;
mod replay;
mod report;
mod schedule;
mod statistics;
mod system;
mod violation;

pub use abilities::{Ahead, Foresight, Judging, Promises, States, Values};
pub use budget::{Budget, Spent};
pub use conditions::{
    Commutation, Conditions, Holding, MayAccess, MayTouch, ObjectRanges, StateKey, Touched,
};
pub use counting::Counting;
pub use dependence::{commute, dependent, may_enable_only, never_disables};
pub use equivalence::{ObservationKey, ObserversKey, TraceKey};
pub use execution::{Edges, Event, Execution};
pub use graph_system::{Answer, Bits, GraphDescribe, GraphSystem, Label};
pub use ids::{EventId, Location, ObjectId, Position, ThreadId, ThreadSet, narrow};
pub use names::{ObjectKey, ThreadKey};
pub use number::grouped;
pub use op::{Access, Footprint, Mode};
pub use order::Order;
pub use replay::{
    Description, Numbering, Replay, ReplayError, ReplayedStep, Unfinished, ValueChange, replay,
};
pub use report::{Bound, Counts, Covers, Decision, Fact, FactValue, Inconclusive, Report, Verdict};
pub use schedule::{ParseScheduleError, Schedule, write_schedule};
pub use statistics::{Bar, Histogram, Statistics};
pub use system::{
    Describe, Effect, Elsewhere, Ended, Ending, Flexibility, Freed, Status, Step, System,
    obstacles_by_footprint, rewind_by_replay, thread_named,
};
pub use violation::{Fault, Place, Violation, ViolationKind};
