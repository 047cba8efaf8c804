//! What becomes of executions that were explored: data races and frees found in them, violations replayed and shortened.

pub(crate) mod confirm;
pub(crate) mod data_race;
pub(crate) mod frees;
pub(crate) mod promises;
pub(crate) mod shorten;
