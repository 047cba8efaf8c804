//! Visible operations: what a thread announces before it does it.

use selvedge_core::{Effect, ObjectId};

/// One visible operation. It lives on the stack of its thread, which stands at it until it is
/// chosen; everything here looks at the state, `R`, and changes nothing.
pub trait Operation<R> {
    /// Returns whether it can run now.
    fn is_enabled(&self, _rt: &R, _me: usize) -> bool {
        true
    }

    /// Returns how many alternatives it has now.
    fn choices(&self, _rt: &R, _me: usize) -> u32 {
        1
    }

    /// What others can do to it: it is asked only for that.
    fn is_subject_to(&self) -> Subject {
        Subject::Both
    }

    /// Which of several alternatives it takes if nothing changes, however often it comes again.
    fn left_alone(&self) -> Option<u32> {
        None
    }

    /// What it would touch now; if it cannot run, what decides when it can.
    fn effect(&self, rt: &mut R, me: usize, choice: u32, effect: &mut Effect);

    /// What it is, without values.
    fn text(&self, rt: &R, me: usize) -> String;

    /// Why it cannot run, and who could change that.
    fn waits_for(&self, _rt: &R, _me: usize) -> Option<(String, Vec<usize>)> {
        None
    }

    /// Returns whether it chooses if another operation ends spuriously; see `spurious.rs`.
    fn is_whim(&self) -> bool {
        false
    }

    /// What must be so for it to wait, if it need not be.
    fn depends_on(&self) -> Option<&'static str> {
        None
    }

    /// What it may wait for.
    fn waits(&self) -> Waits {
        match self.is_subject_to() {
            Subject::Nothing => Waits::Never,
            Subject::Waiting | Subject::Both => Waits::Other,
        }
    }

    /// Returns whether time alone would end the wait, so that waiting forever does not count.
    fn is_timed(&self) -> bool {
        false
    }

    /// Returns whether the thread was taken to wait for something, and at the end that is not so: then another execution
    /// covers this one.
    fn is_without_reason(&self, _rt: &R) -> bool {
        false
    }
}

/// What may differ from state to state while a thread stands at an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// It can always run, in one way.
    Nothing,
    /// Whether it can run; there is one way.
    Waiting,
    /// Whether it can run, and in how many ways.
    Both,
}

/// What an operation may wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waits {
    /// For nothing.
    Never,
    /// For a lock.
    Lock {
        /// Which.
        object: ObjectId,
        /// Whether it is taken beside other readers.
        reads: bool,
    },
    /// For something that any thread may do.
    Other,
}

/// Where a thread stands that runs, or failed before it came to an operation.
pub(crate) struct Running;

impl Running {
    /// It has no content, so one is enough.
    pub(crate) const fn one<R: 'static>() -> *const dyn Operation<R> {
        &Self
    }
}

impl<R> Operation<R> for Running {
    fn effect(&self, _rt: &mut R, _me: usize, _choice: u32, _effect: &mut Effect) {}

    fn text(&self, _rt: &R, _me: usize) -> String {
        "start".to_owned()
    }
}
