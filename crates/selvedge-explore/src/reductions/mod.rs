//! Depth-first search over traces: every interleaving, and what leaves out equivalent ones.
//!
//! | file | paper |
//! |---|---|
//! | `oracle.rs` | none: every interleaving |
//! | `sleep.rs` | Godefroid 1996 |
//! | `classic.rs` | Flanagan, Godefroid, POPL 2005 |
//! | `optimal_dpor/` | Abdulla, Aronis, Jonsson, Sagonas, POPL 2014 |
//! | `parsimonious.rs` | after Abdulla, Atig, Das, Jonsson, Sagonas, CAV 2024 |

pub(crate) mod backtrack;
pub(crate) mod classic;
pub(crate) mod optimal_dpor;
pub(crate) mod oracle;
pub(crate) mod parsimonious;
pub(crate) mod sleep;
