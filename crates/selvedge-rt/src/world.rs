//! What a front end says about the code that it checks.
//!
//! [`World`] has what can be said without looking at an execution: places, memory, the program itself. [`Hooks`]
//! has what the engine asks while code runs.
//!
//! [`Hooks`]: crate::Hooks

use std::fmt::{Debug, Display};
use std::hash::Hash;

use selvedge_core::Place;

use crate::fiber::Body;
use crate::fresh::Fresh;

/// The code under check, as its front end sees it. The value is what all systems of a check share.
pub trait World: Sized + 'static {
    /// A place in checked code.
    type Spot: Copy + Eq + Hash + Debug + Display + 'static;
    /// What places have in common at which objects are told apart by counting them.
    type Line: Eq + Hash;
    /// The memory of a thread, which outlives executions.
    type Home;
    /// What a thread allocated and freed up to some point.
    type Mark: Copy;
    /// Whose memory allocations come from: that of a thread, or the engine's.
    type Code: Copy;
    /// What the front end keeps about a thread in an execution.
    type Thread: Default;
    /// What it keeps about an execution.
    type Execution: Default + Fresh;
    /// Why code should be left that takes too long.
    type Overdue: Display;

    // Places.

    /// Returns whether two places are the same.
    fn is_same(one: Self::Spot, other: Self::Spot) -> bool;

    /// The line of a place.
    fn line(spot: Self::Spot) -> Self::Line;

    /// A place as reports show it.
    fn place(spot: Self::Spot) -> Place;

    /// The name of all objects of a kind that are created at a place.
    fn object_name(kind: &str, created: Self::Spot) -> String;

    // The program.

    /// Where the check is: its main thread stands there before its first operation.
    fn checked_at(&self) -> Self::Spot;

    /// The code of the main thread.
    fn enter(&self) -> Body;

    // Its memory.

    /// Returns whether a value may be an address: then it may be another one when the same steps are taken again.
    fn may_be_address(value: u64) -> bool;

    /// Memory for one more thread.
    fn home(&self, thread: usize) -> Self::Home;

    /// An execution begins. `was_used`: whether the thread existed in the one before.
    fn settle(&self, home: &mut Self::Home, was_used: bool);

    /// What a thread with this memory filled in this execution, as pairs of addresses; `None` if not all of it is
    /// known.
    fn filled(home: &Self::Home) -> Option<impl Iterator<Item = (usize, usize)>>;

    /// The code of a thread with this memory.
    fn code_of(home: &mut Self::Home) -> Self::Code;

    /// The engine's own code.
    fn engine_code() -> Self::Code;

    /// From now on this code runs. Returns which did before.
    fn switch(code: Self::Code) -> Self::Code;

    /// Returns whether the engine runs, on this thread of the system.
    fn is_engine() -> bool;

    // What the rest of the process knows about the check.

    /// Checked code came to an operation.
    fn beat(&self);

    /// The name of the check, for what is said when the process may be about to end.
    fn check_name(&self) -> &str;

    /// The command that shows an execution again: what comes before the schedule, and after it.
    fn replay_command(&self) -> (&str, &str);

    /// Why the code that runs now should be left, if so, and whether the process ends if it cannot be.
    fn overdue(&self) -> Option<(Self::Overdue, bool)>;

    /// The exit code of a process that ends in the middle of a check.
    const FAILED: i32;

    /// The name of the main thread's code.
    const MAIN: &'static str;

    /// Advice for users of this front end.
    fn advice(about: Advice) -> String;
}

/// What users may need advice about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// A thread needs a stack of so many bytes, as the end of a sentence.
    Stack(usize),
    /// Code takes long, as a question.
    LongCode,
    /// A loop waits and does not say so.
    LoopWithoutHint,
    /// A spin loop seems to have no end.
    EndlessLoop,
}
