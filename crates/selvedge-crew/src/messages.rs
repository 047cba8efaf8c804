//! What a process and its copies say to each other: a line of JSON each.

use selvedge_explore::{Part, Pending};
use serde::{Deserialize, Serialize};

use crate::parts::{PartJson, PendingJson};

/// What a copy is to do.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Order {
    units: Vec<PendingJson>,
    /// It stops after so many units, those that they lead to included.
    pub(crate) most: u64,
}

impl Order {
    pub(crate) fn new(units: &[Pending], most: u64) -> Self {
        Self { units: units.iter().map(PendingJson::of).collect(), most }
    }

    pub(crate) fn units(&self) -> Vec<Pending> {
        self.units.iter().map(PendingJson::pending).collect()
    }
}

/// What became of the units of an order, in their order. Those that are missing at the end were not begun.
#[derive(Serialize, Deserialize, Debug)]
pub(crate) struct Answer {
    pub(crate) results: Vec<RanJson>,
    /// The copy has too little memory to go on.
    pub(crate) is_full: bool,
}

/// What became of a unit.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RanJson {
    /// These parts take its place.
    Parts(Vec<PartJson>),
    /// It told something that the process itself has to see: that has to run it.
    Told,
    /// It does not belong to the program.
    Damaged(String),
}

impl RanJson {
    pub(crate) fn of(parts: &[Part]) -> Self {
        Self::Parts(parts.iter().map(PartJson::of).collect())
    }
}

/// Returns a message as a line.
pub(crate) fn line(message: &impl Serialize) -> String {
    let mut line = serde_json::to_string(message).expect("internal error: a message is not text");
    line.push('\n');
    line
}
