//! What travels: batches of units, and what came of them.

use serde::{Deserialize, Serialize};

/// Units for one worker.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Batch {
    /// Which job: another one may have had the same name.
    pub(crate) born: String,
    /// Which submitter issued it, and its number.
    pub(crate) epoch: u64,
    pub(crate) serial: u64,
    /// After so long the worker says what it has, and what is left.
    pub(crate) milliseconds: u64,
    /// The units, in order.
    pub(crate) units: Vec<String>,
}

/// What came of a batch.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Result {
    /// As in the batch.
    pub(crate) born: String,
    pub(crate) epoch: u64,
    pub(crate) serial: u64,
    /// Which worker ran it.
    pub(crate) worker: String,
    /// Units that were begun, each with what came of it. The others of the batch are still to be run.
    pub(crate) ran: Vec<Ran>,
    /// Why units cannot be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<Failed>,
}

/// A unit, and what came of it.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ran {
    pub(crate) unit: String,
    pub(crate) result: String,
}

/// Units that cannot be run.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Failed {
    /// So many workers had them and did not say what came of them.
    Deadly { units: Vec<String>, workers: u64 },
    /// One of them does not belong to the program.
    Damaged(String),
}
