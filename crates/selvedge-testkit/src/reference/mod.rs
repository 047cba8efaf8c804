//! A second semantics of the language, written from `docs/language.md` alone.
//!
//! Every explorer is compared with brute force, but brute force runs on the interpreter of `selvedge-lang`, and so do all others:
//! a wrong meaning of a statement would be shared by all of them. This module shares nothing with it. It has a parser
//! of its own, and it runs programs in another way: a thread's state is the list of what its visible operations
//! returned, and its next step is found by running its code from the start with these answers. There are no
//! instructions, no footprints, no undo and no reduction; [`explore`](explore()) takes every step in every state.
//!
//! [`Facts`] is what a program can do; [`tool`] finds the same facts with the explorers.

mod agree;
mod arithmetic;
mod campaign;
pub mod draw;
mod explore;
mod expressions;
mod facts;
mod ghosts;
mod lexer;
mod monitors;
mod operations;
mod parse_expressions;
mod parse_statements;
mod parser;
mod passed;
mod probe;
mod program;
mod run;
mod state;
mod statements;
mod syntax;
pub mod tool;

pub use agree::{Compared, Effort, agree};
pub use campaign::Origin;
pub use explore::explore;
pub use facts::{Deadlock, Executions, Facts, Values};
pub use program::Program;
