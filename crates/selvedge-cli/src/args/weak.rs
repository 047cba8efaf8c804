//! Memory models.

use clap::Args;
use selvedge_explore::Memory;

use super::CheckArgs;
use crate::exit::Failure;
use crate::registry;

/// Under which memory model a program is checked.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WeakArgs {
    /// Check under a memory model: sc, tso (x86), rc11 (C11, C++ and Rust) or c++20. Each consistent execution once,
    /// data races included (under sc with --races)
    #[arg(long = "memory", value_name = "MODEL", value_parser = parse_memory)]
    pub(crate) model: Option<Memory>,
}

/// A name of a model, or what it is called elsewhere.
pub(super) fn parse_memory(text: &str) -> Result<Memory, String> {
    let other = match text.to_lowercase().as_str() {
        "x86" | "x86-tso" => Some(Memory::Tso),
        "c11" | "rust" | "c++11" | "weak" => Some(Memory::Rc11),
        "cxx20" | "cpp20" => Some(Memory::Cxx20),
        "seqcst" | "seq_cst" => Some(Memory::Sc),
        name => Memory::named(name),
    };
    other.ok_or_else(|| {
        let all: Vec<&str> = Memory::ALL.iter().map(|memory| memory.name()).collect();
        format!("a memory model is one of {}", all.join(", "))
    })
}

impl CheckArgs {
    /// Returns an error if an option is used that does not apply to memory models.
    pub(crate) fn refuse_with_memory(&self) -> Result<(), Failure> {
        let limits = self.limits.limits();
        let quasi = self.quasi.given();
        let given = [
            (self.algorithm.info().name != registry::DEFAULT, "--algorithm"),
            (self.sampling.sample.is_some(), "--sample"),
            (self.symbolic.scheme.is_some(), "--symbolic"),
            (limits.preemptions.is_some(), "--preemptions"),
            (limits.context_switches.is_some(), "--context-switches"),
            (self.work.checkpoint.is_some(), "--checkpoint"),
            (self.constraints.is_some(), "--constraints"),
            (self.unreduced, "--unreduced"),
            (self.no_symmetry, "--no-symmetry"),
            (self.hash_compact, "--hash-compact"),
            (self.check_constraints, "--check-constraints"),
            (self.unobserved_locks, "--unobserved-locks"),
            (self.observers, "--observers"),
            (self.no_random, "--no-random"),
            (quasi.is_some(), quasi.unwrap_or_default()),
        ];
        match given.iter().find(|(given, _)| *given) {
            None => Ok(()),
            Some((_, option)) => Err(Failure::User(format!(
                "{option} does not apply to --memory, which has an algorithm of its own: execution graphs\n  leave out one \
                 of the two"
            ))),
        }
    }
}
