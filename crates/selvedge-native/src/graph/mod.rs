//! Checked code under a memory model: an explorer of graphs answers its operations.
//!
//! What an atomic operation reads is the explorer's answer. Everything else is as without a memory model: the explorer
//! tells threads their answers in an order in which everything comes after what it depends on, so that plain memory and
//! the state of locks are what they should be. The memory of an atomic has the newest of the values that were written so
//! far.
//!
//! *Plain accesses to memory that is also accessed atomically*, such as an initialisation, are events with values. The
//! instrumentation is before an access, so that what is written is known only at the thread's next operation, and told then:
//! nothing that the thread does lies in between, and what others do that is not ordered with the write is a data race.
//!
//! An operation that has no label is not supported, and ends its thread with a reason.
//!
//! | module | |
//! |---|---|
//! | `locations` | which locations there are, and their initial values |
//! | `asked` | what a thread stands at, and what it was told |
//! | `labels` | operations as labels |
//! | `ask` | from checked code to the explorer, and back |
//! | `cond` | condition variables |
//! | `futex` | waits for a word |
//! | `barrier` | barriers |
//! | `rwlock` | reader-writer locks |
//! | `tries` | what may fail, in loops |
//! | `spin` | loops that wait |
//! | `system` | [`GraphProgram`], the `GraphSystem` |

mod ask;
mod asked;
mod barrier;
mod cond;
mod futex;
mod labels;
mod locations;
mod rwlock;
mod spin;
mod system;
mod tries;

pub(crate) use ask::Atomic;
pub(crate) use asked::Asked;
pub(crate) use locations::Locations;
pub use system::GraphProgram;
