//! Symbolic checking of concurrent programs.

pub mod circuit;
pub mod solver;
#[cfg(test)]
mod testing;
