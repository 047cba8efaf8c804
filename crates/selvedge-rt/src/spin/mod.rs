//! Spin loops: a thread that spins waits until something it read has changed.
//!
//! **The rule.** A turn of a loop ends where the code says so: a hint to spin, a yield, a sleep, a wait whose time is
//! up. What a thread touched since it was last there is kept, each object with the value that it saw. A thread
//! *stands still* at the end of a turn if it touched the same objects as in the turn before, and its code is in a
//! state that it was in at the end of an earlier turn; it continues when one of the values differs. A turn that would
//! find the same values everywhere, and begins in the same state, does the same again: so nothing is lost.
//!
//! **A loop may count its turns**, and end by itself. So before a thread stands still for the first time it is tried
//! out: it continues alone, up to as many turns as [`Settings::spin_turns`](crate::Settings::spin_turns) says.
//!
//! - It leaves the loop, or changes something that others can see: it *gives up*. Its turns are steps like all others.
//! - It comes to a state that it was in before: it *waits*. It makes all the turns up to there, so that what happens
//!   if something changes in any of these states is explored; in the last one it stands still.
//! - Neither: it is taken to wait, which may be wrong. The verdict says so, and is never that nothing is wrong.
//!
//! In the same way a thread is tried that stands still and saw what a lock guards, when others had the lock: if a
//! turn changes nothing, not even its own state, it need not be made.
//!
//! If it waits, and its last turn ended as that began, in all values and in the state, it stands still at once: alone it may
//! take another alternative of an operation than it did. The first turn does not count: it begins with what code before the loop
//! left in frames.
//!
//! **The state** of a thread's code is all that its next turn depends on: its stack, with the registers that it saved
//! there when it was switched away, and the memory of checked code (`state.rs`). Two states are the same only if all of that is,
//! byte for byte, also what no code will read again, and if the last turn took the same alternatives of its operations: what is
//! left of them in frames that are dead depends on the compiler. So a loop that counts is never taken to wait; the other mistake, that
//! states which mean the same are not recognised, costs executions. What lies elsewhere (statics that the front end does not set
//! back) is not seen; such code would also not be deterministic.
//!
//! Values that no code will read again do not keep loops from being recognised, whatever a compiler leaves in a frame:
//!
//! - A turn writes them as a function of the state in which it began. If that means the same as the state before, they are the
//!   same after the next turn.
//! - Values of the engine, which differ from turn to turn, are not among them: a thread is tried out *aside* (`aside.rs`), so that
//!   the engine works on the stack of the scheduler; and what its functions left on the thread's own stack is written over before
//!   the code continues ([`clear_stack_below`](crate::state::clear_stack_below)).
//!
//! **Answers** depend on the state of the thread and on the values that it saw, and on nothing else. They are kept
//! ([`Loops`]) with a number for all that the thread came to know so far, so that no state is tried twice.

mod alone;
mod key;
mod loops;
mod memory;
mod observed;
mod spins;
mod turn;

pub(crate) use alone::{Alone, End};
pub(crate) use key::Key;
pub(crate) use loops::Loops;
pub(crate) use memory::Sum;
pub use observed::{Content, Observed};
pub(crate) use spins::{Pause, Spins, Turning};

/// The text of a step that is the end of a turn. There may be one more or less of them in another process,
/// where it is not known yet that a loop gives up; so neither reports nor schedules have them.
pub const SPIN_STEP: &str = "";
