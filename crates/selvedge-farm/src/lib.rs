//! A search on many machines, by way of a NATS server with JetStream.
//!
//! | file | contents |
//! |---|---|
//! | `server.rs` | the connection, requests, and what can go wrong with them |
//! | `stream.rs` | the few requests to JetStream that are needed |
//! | `names.rs` | names of jobs, streams and subjects |
//! | `pieces.rs` | texts that are larger than a message |
//! | `job.rs` | what a job is, and its three streams |
//! | `messages.rs` | what travels: batches of units, and what came of them |
//! | `leader.rs` | one submitter per job |
//! | `submit.rs` | the submitter: issues units, and adds up what came of them |
//! | `work.rs` | a worker: takes a batch, runs it, publishes what came of it |
//! | `status.rs` | which jobs there are; removing one |
//!
//! Nothing here knows what a unit is: it is a text, and what came of it is another. The submitter brings a [`Ledger`], which
//! knows what is left to be done, a worker brings a [`Workshop`], which runs a unit.
//!
//! Why no work is lost and none counts twice:
//!
//! - Only the submitter issues units. A unit stays in the work queue until a worker acknowledges it, and a worker does that
//!   after the server has stored what came of it. If the worker dies before, its lease runs out and another one gets the unit.
//! - What came of a unit counts if the ledger still has that unit to do. So of two results for one unit, which may be cut in
//!   different places, the first in the stream counts as a whole and the other not at all.
//! - The submitter has no state but the stream of results: one that is started again reads them from the beginning, or from
//!   the last snapshot, and comes to the same ledger.

mod job;
mod leader;
mod messages;
mod names;
mod pieces;
mod server;
mod status;
mod stream;
mod submit;
mod work;

pub use job::Job;
pub use names::JobName;
pub use server::{Access, Error, Server};
pub use status::{JobStatus, clean, jobs};
pub use submit::{Ended, Host, Ledger, Pace, submit};
pub use work::{Opened, Output, Settings, Worked, Workshop, work};
