//! Tests of searches by several processes.

mod copies;
mod journal;
