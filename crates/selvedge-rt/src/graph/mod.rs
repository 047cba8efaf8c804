//! Checked code under a memory model: an explorer of graphs answers its operations.
//!
//! Everything but the values of atomics is as without a memory model: threads, memory and locks are real ones. The
//! explorer tells threads what they read in an order in which everything comes after what it depends on, so that plain
//! memory, and the state of locks, is what it should be; an atomic has the newest of the values written so far, for who
//! owns it. An operation that has no label yet is not supported, and ends its thread with a reason.

mod ask;
mod spin;
mod system;
mod word;

pub use ask::Ask;
pub use system::GraphProgram;
pub use word::Word;
