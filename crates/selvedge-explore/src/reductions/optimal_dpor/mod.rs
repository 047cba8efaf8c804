//! P. Abdulla, S. Aronis, B. Jonsson, K. Sagonas: *Optimal Dynamic Partial Order Reduction*, POPL 2014.
//!
//! | paper | here |
//! |---|---|
//! | Algorithm 1, Source-DPOR | `source.rs` on `backtrack.rs` |
//! | Algorithm 2, Optimal-DPOR | `optimal.rs` |
//! | section 6, wakeup trees | `wakeup_tree.rs` |
//! | section 3, happens-before | `Execution` in `selvedge-core` |
//! | (TACAS 2018) observers | `observers.rs` |
//! | races, `notdep(e,E)`, `I_E(v)`, `WI_E(v)` | `trace/races.rs`, `trace/sequence.rs` |

mod observers;
pub(crate) mod optimal;
pub(crate) mod source;
pub(crate) mod wakeup_tree;
