//! What the engine asks a front end while checked code runs.

use selvedge_core::{Fault, Freed, Violation};

use crate::runtime::Runtime;
use crate::world::World;

/// What is done with an operation of a thread that runs without asking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtOnce {
    /// It runs as it would otherwise.
    AsUsual,
    /// It runs now, whether it can or not: the thread is taken down.
    Now,
    /// The thread never continues.
    Never,
}

/// What a front end does, and what it knows, at certain points of an execution.
pub trait Hooks: World {
    /// What an operation is about, from when it is announced until it runs.
    type About;

    // Which checked code runs on this thread of the system.

    /// The runtime whose code runs, or null.
    fn running() -> *mut Runtime<Self>;

    /// Makes `rt` the one whose code runs. Returns the one before.
    fn set_running(rt: *mut Runtime<Self>) -> *mut Runtime<Self>;

    /// A system is made: sees to it that the front end notices what it must, once for each process.
    fn install();

    /// A thread of the system that runs no checked code came to the engine.
    #[track_caller]
    fn stranger();

    /// The same, and it cannot continue without one.
    #[track_caller]
    fn outside() -> !;

    // A visible operation.

    /// Checked code entered the engine.
    fn entered(rt: &mut Runtime<Self>);

    /// Checked code leaves the engine.
    fn left(rt: &Runtime<Self>);

    /// The running thread comes to an operation.
    fn announces(rt: &mut Runtime<Self>) -> Self::About;

    /// The operation runs now. Returns what is wrong with that.
    fn chosen(rt: &mut Runtime<Self>, about: Self::About, spot: Self::Spot) -> Option<Fault>;

    /// Calls `switch`, which lets other threads run and comes back when the running one is chosen.
    ///
    /// # Safety
    /// `rt` is valid, and no reference into it is held.
    unsafe fn switches(rt: *mut Runtime<Self>, switch: impl FnOnce());

    /// Checked code is about to run.
    fn resumes(rt: &mut Runtime<Self>);

    /// The running thread was chosen. It may be taken down: then this does not return.
    fn resumed(rt: &mut Runtime<Self>);

    /// Returns whether the stack of the running thread is being unwound.
    fn is_unwinding() -> bool;

    /// What is done with an operation that runs without asking.
    fn at_once(rt: &mut Runtime<Self>) -> AtOnce;

    /// Takes the running thread down: what is left of its execution takes too long.
    fn take_down(rt: &mut Runtime<Self>) -> !;

    /// A thread is left where it is: what it would still do is no result of the code.
    fn abandon(thread: &mut Self::Thread);

    /// Returns whether a thread was left, or is taken down.
    fn is_abandoned(thread: &Self::Thread) -> bool;

    /// The code is wrong, and is only taken down.
    fn fail_at_close(message: String) -> !;

    /// A thread took a step.
    fn took_step(rt: &mut Runtime<Self>, thread: usize);

    // The end of threads and executions.

    /// What is wrong if a thread failed.
    fn failed(rt: &Runtime<Self>, thread: usize) -> Option<Fault>;

    /// The running thread accesses memory that cannot be accessed: called in a signal handler. Returns what that is, as the
    /// end of a sentence, if it is known and does no harm.
    fn recognise(rt: &mut Runtime<Self>, address: usize) -> Option<&'static str>;

    /// The instruction at an address in the code of the running thread accesses memory that cannot be accessed: called in a signal handler.
    /// Returns whether that becomes an operation: then [`plain_access`](Hooks::plain_access) is called on the stack of
    /// the thread, and the instruction runs again.
    fn is_plain_access(rt: &mut Runtime<Self>, address: usize, instruction: usize) -> bool;

    /// The operation that a plain access has become. Nothing unwinds out of it.
    fn plain_access();

    /// The engine accesses memory that cannot be accessed: called in a signal handler. Returns whether it can be now.
    fn open(address: usize) -> bool;

    /// Adds what is known about a thread that crashed.
    fn about_crash(rt: &Runtime<Self>, thread: usize, violation: &mut Violation);

    /// All threads came to their ends. Returns what is wrong nevertheless.
    ///
    /// # Safety
    /// `rt` is valid, and no reference into it is held.
    unsafe fn ends(rt: *mut Runtime<Self>) -> Option<Violation>;

    /// Runs what is left of an execution to its end or leaves it, and sets back what outlives it.
    ///
    /// # Safety
    /// `rt` is valid, and no reference into it is held.
    unsafe fn finish(rt: *mut Runtime<Self>);

    // What is known about memory.

    /// From now on what a thread allocates can be taken back.
    fn set_apart(rt: &mut Runtime<Self>, thread: usize) -> Self::Mark;

    /// Takes back what a thread allocated since, if all of it was freed: then its next blocks lie where these did.
    /// Returns whether it was.
    fn take_back(rt: &mut Runtime<Self>, thread: usize, mark: Self::Mark) -> bool;

    /// The blocks of memory that were freed.
    fn freed(rt: &Runtime<Self>) -> &[Freed];

    /// A value as the same number in every execution of every system of a check, also if it is an address.
    fn steady(rt: &Runtime<Self>, value: u64) -> u64;
}
