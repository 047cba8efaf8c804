//! What keeps Selvedge honest: random programs, brute force, and a corpus of programs that carry
//! their expected results.
//!
//! - [`Sketch`], [`generate`], [`shrink`](shrink()): random programs over every construct of the
//!   language, and the smallest one that still fails.
//! - [`actors`](actors()): random programs of actors.
//! - [`Subject`], [`Classes`], [`compare`]: runs explorers on a program and compares what they find
//!   with what brute force finds.
//! - [`explore`](explore()): all explorers, for systems of any type.
//! - [`campaign`]: random programs of every profile, all explorers against one reference.
//! - [`mod@reference`]: a second semantics of the language, written from its documentation.
//! - [`axioms`]: weak memory by the axioms alone, to judge the explorer of execution graphs.
//! - [`golden`]: the headers of the files in `programs/`.
//!
//! Only tests depend on this crate.

mod actors;
pub mod axioms;
pub mod campaign;
pub mod compare;
pub mod estimates;
pub mod golden;
pub mod litmus;
pub mod looping;
pub mod rate;
pub mod reference;
pub mod script;
pub mod shares;

mod classes;
mod corpus;
mod explore;
mod generate;
mod print;
mod profile;
mod random;
mod seeds;
mod shrink;
mod size;
mod sketch;
mod states;
mod subject;
mod variant;

pub use actors::actors;
pub use classes::{Class, Classes};
pub use corpus::{corpus, listed_programs, programs, text_of};
pub use explore::explore;
pub use generate::generate;
pub use profile::{Construct, Profile};
pub use random::Random;
pub use seeds::{few_seeds, is_campaign, least, listed, seeds, share_of};
pub use shrink::shrink;
pub use sketch::{
    Alternative, Bits, Channel, Comparison, Guard, Index, Mutex, Op, Place, Share, Sketch, Test,
    ThreadSketch, Value, for_each_op, for_each_op_mut,
};
pub use states::{Exact, Outcomes, search_states};
pub use subject::{Findings, Subject};
pub use variant::Variant;
