//! What every explorer is built on: a run of one system, with its limits and its bookkeeping.

pub(crate) mod random;
pub(crate) mod run;
pub(crate) mod sampling;
