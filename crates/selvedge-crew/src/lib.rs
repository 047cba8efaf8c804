//! A search by several processes.
//!
//! Threads share a search of models (`selvedge-explore/src/division/crew.rs`). Compiled code cannot be run by two threads at
//! a time: its memory lies at fixed addresses, and its statics are there once. So its workers are copies of the process
//! (`fork`), which know all that it knew: modules that are loaded, what was learned about loops and variables.
//!
//! | file | contents |
//! |---|---|
//! | `parts.rs` | parts of a search as JSON |
//! | `messages.rs` | what a process and its copies say to each other |
//! | `copies.rs` | copies of this process, and pipes to them |
//! | `journal.rs` | what a process was told while it ran units, so that another one can be told the same |
//! | `checkpoint.rs` | a search that is not finished, as text |
//! | `aside.rs` | a copy that computes something while this process goes on |
//! | `crew.rs` | which of them runs what, and what becomes of it |

mod aside;
mod checkpoint;
mod copies;
mod crew;
mod journal;
mod messages;
mod parts;

pub use aside::Aside;
pub use checkpoint::{Checkpoint, Unread, of_version};
pub use crew::{Crew, Pace, Run};
pub use journal::{Journal, Keeper, Told};
pub use parts::PartJson;
