//! Checks that a program is well formed: what every run and every analysis may rely on.
//!
//! # Invariants
//!
//! 1. *Tables.* Every id is in range; every instruction has a site. Initial values: one per
//!    element, of the right type, semaphores not negative, barriers of at least one party. Objects
//!    are numbered without gaps, at most two dimensions. A thread that starts at the beginning
//!    gets one argument per parameter, and its procedure has no result.
//! 2. *Control flow.* Labels are in range and no reachable instruction falls off the end.
//! 3. *Types.* Operands and targets have the types that the operation wants; calls agree with what
//!    they call; objects are of the kind that the operation works on.
//! 4. *Assignment.* A slot is written before it is used, on every path; also if only a message
//!    shows it.
//! 5. *Indices.* An object reference has a constant index in range, or a slot that only
//!    [`Compute::Index`](super::Compute::Index) of the same global writes.
//! 6. *Atomic sections.* On every path they are entered and left in the order of a stack, and none
//!    is open at a `Return`. `Await` stands inside one. The body of an atomic procedure is one.
//! 7. *Contexts.* Inside an atomic section, and in everything called from there, stands only what
//!    is allowed there; the same for `finally` and conditions; a guard has only invisible
//!    instructions, without `Assume` and `Own`.

mod contexts;
mod flow;
mod tables;
#[cfg(test)]
mod tests;
mod types;

use super::{Label, Program};
pub(crate) use types::{Checked, Checker};

/// Checks all invariants of a program.
///
/// # Errors
/// One line for each thing that is wrong, with the procedure and the instruction.
pub fn verify(program: &Program) -> Result<(), Vec<String>> {
    let mut errors = Errors::default();
    tables::check(program, &mut errors);
    // What follows indexes the tables.
    if errors.lines.is_empty() {
        types::check(program, &mut errors);
    }
    if errors.lines.is_empty() {
        flow::check(program, &mut errors);
        contexts::check(program, &mut errors);
    }
    if errors.lines.is_empty() { Ok(()) } else { Err(errors.lines) }
}

#[derive(Default)]
struct Errors {
    lines: Vec<String>,
}

impl Errors {
    fn add(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn at(&mut self, procedure: &str, at: Label, what: impl std::fmt::Display) {
        self.lines.push(format!("{procedure}, instruction {at}: {what}"));
    }
}
