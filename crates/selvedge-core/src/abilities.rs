//! What only some systems can do, and one family of explorers asks for.
//!
//! A [`System`](crate::System) says for each of them whether it has it. An explorer that needs one for its
//! verdict and does not get it ends inconclusive with a sentence that names it; one that is only quicker with
//! it continues without. Whether steps commute in a state is in [`Conditions`](crate::Conditions).

use crate::ids::{ObjectId, ThreadId};
use crate::op::{Footprint, Mode};
use crate::system::{Effect, Step};
use crate::violation::Violation;

/// Names what the verdict on a finished execution depends on. `data-centric` needs it: it runs executions only
/// up to what they observe, and the end of an execution observes as well.
pub trait Judging {
    /// Adds reads of the variables that [`System::end`](crate::System::end) looks at in this state, in the order
    /// in which it does. Which ones it looks at next may depend on the values of those before, and on nothing else.
    fn judged(&mut self, footprint: &mut Footprint);
}

/// Knows what threads may still do. Without it anything is possible, which costs executions.
pub trait Foresight {
    /// Returns whether `thread`, or a thread that it will create, might write the variable from now on. `true`
    /// is always a sound answer.
    fn may_write(&mut self, thread: ThreadId, variable: ObjectId) -> bool;
}

/// Takes several steps of a thread at once. Without it a search takes them one by one.
pub trait Ahead {
    /// Takes a step as [`System::step`](crate::System::step) does and optionally further ones of
    /// the same thread, up to `most` in all: each of them is enabled and has one alternative, and no thread with
    /// a lower number is enabled. That is how a search continues that is free to choose; it asks only when it
    /// would do so. Returns how many steps were taken; their effects are the first of `effects`.
    fn step_on(&mut self, step: Step, most: usize, effects: &mut Vec<Effect>) -> usize;
}

/// Remembers the values that steps found. Without it a step is run again to see what it does elsewhere.
pub trait Values {
    /// How the step at `later` would touch `object`, which is all that it touches, if it found it as the step
    /// at `earlier` did. Both positions count the steps taken since [`System::restart`](crate::System::restart).
    /// `None` if that is not known, or if it could not run then.
    fn instead(&self, object: ObjectId, earlier: usize, later: usize) -> Option<Mode>;
}

/// Saves the state that the system is in, and returns to it. `states` needs it.
pub trait States {
    /// Appends the state to `bytes`. Two states are the same to `step`, `status`, `choices` and `end`, now and after any
    /// steps, if their bytes are the same; what can have no effect any more need not be in them.
    fn save(&mut self, bytes: &mut Vec<u8>);

    /// From now on, states that differ only in the names of threads that run the same code may have the same bytes: those of
    /// one of them, which can be reached if some renaming of the initial state could be the initial state. Returns the threads that are
    /// renamed, as declared; none if all can be told apart.
    fn up_to_renaming(&mut self) -> Vec<String>;

    /// Returns the name of each thread in the state as it was saved last; threads that are not in the list have their own.
    fn names_as_saved(&mut self) -> Vec<ThreadId>;

    /// As [`save`](Self::save), with these names of threads: a permutation that [`names_as_saved`](Self::names_as_saved)
    /// returned, or some of them one after the other.
    fn save_with_names(&mut self, names: &[ThreadId], bytes: &mut Vec<u8>);

    /// Returns to a state that this system saved. Steps taken before are forgotten:
    /// [`System::rewind`](crate::System::rewind) counts those taken from here, and
    /// [`System::restart`](crate::System::restart) returns to the initial state.
    fn restore(&mut self, bytes: &[u8]);

    /// Returns whether the bytes mean the same to all systems of the program: one can restore what another has saved. It is not so
    /// if they depend on what a system has met before, such as numbers that are given out in the order of need.
    fn mean_the_same(&self) -> bool;

    /// Calls `part` for each part of the state that the system is in and that can take many values, such as a variable:
    /// with a name for users, and the value as numbers.
    fn parts(&mut self, part: &mut dyn FnMut(&str, &[i32]));
}

/// The liveness properties of a program: something becomes true, and threads make progress. An infinite execution
/// counts only if threads are scheduled fairly in it.
pub trait Promises {
    /// Returns how many promises there are: at least one.
    fn count(&self) -> usize;

    /// Returns the violation of an execution that does not keep a promise. Its kind says what is promised:
    /// [`Eventually`](crate::ViolationKind::Eventually), that a state keeps it;
    /// [`LeadsTo`](crate::ViolationKind::LeadsTo), that after each state that asks for it, or in it, a state keeps it;
    /// [`Progress`](crate::ViolationKind::Progress), that infinite executions pass marks infinitely often.
    fn broken(&self, promise: usize) -> Violation;

    /// Returns whether the state that the system is in asks for it.
    ///
    /// # Errors
    /// Why that is not known.
    fn is_asked(&mut self, promise: usize) -> Result<bool, String>;

    /// Returns whether the state that the system is in keeps it.
    ///
    /// # Errors
    /// Why that is not known.
    fn is_kept(&mut self, promise: usize) -> Result<bool, String>;

    /// Returns whether the last step, which was one of this thread, passed a mark of progress.
    fn has_passed_mark(&self, thread: ThreadId) -> bool;
}
