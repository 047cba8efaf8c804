//! H. T. T. Nguyen, C. Rodríguez, M. Sousa, C. Coti, L. Petrucci: *Quasi-Optimal Partial Order Reduction*, CAV 2018,
//! extended version.
//!
//! | paper | here |
//! |---|---|
//! | Algorithm 1, `Explore(C,D,A)` | `quasi.rs` and the folder beside it |
//! | the unfolding, causality and conflict, trees with skip pointers | `events.rs` and the folder beside it |

pub(crate) mod events;
pub(crate) mod quasi;
