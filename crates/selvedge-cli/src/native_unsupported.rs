//! C programs on systems where they cannot be checked: a sentence that says so.

use std::convert::Infallible;

use crate::args::{CheckArgs, ReplayArgs};
use crate::checkpoint::Checkpoint;
use crate::exit::{Exit, Failure};
use crate::saved::Saved;
use crate::screen::Screen;
use crate::source::is_compiled;

/// There are no compiled programs: explorers of models stand in for theirs.
pub(crate) use selvedge_lang::Interpreter as Program;

fn refused() -> Failure {
    Failure::User(
        "C programs can be checked on Linux, x86-64, only: the checker lays out their memory itself\n  \
         run it there, or write a model: docs/language.md"
            .to_owned(),
    )
}

pub(crate) fn check(_: Option<Checkpoint>, _: &CheckArgs, _: &Screen) -> Result<Exit, Failure> {
    Err(refused())
}

pub(crate) fn compile(
    mut arguments: impl Iterator<Item = String>,
) -> Option<Result<Exit, Failure>> {
    let first = arguments.next()?;
    (first == "cc" || first == "c++").then(|| Err(refused()))
}

pub(crate) fn compile_nothing() -> Result<Exit, Failure> {
    Err(refused())
}

/// A program to be measured: there is none.
pub(crate) struct Measured(Infallible);

/// Looks at nothing.
pub(crate) struct Unwatched;

impl selvedge_explore::Observer for Unwatched {}

impl Measured {
    pub(crate) fn new(_: &str, _: &str, _: &[String]) -> Result<Option<Self>, Failure> {
        Ok(None)
    }

    pub(crate) fn explore(&self, _: &selvedge_explore::Options) -> selvedge_core::Report {
        match self.0 {}
    }
}

/// A schedule of a C program: there is none.
pub(crate) struct Replayed(Infallible);

impl Replayed {
    pub(crate) fn of(args: &ReplayArgs) -> Result<Option<Self>, Failure> {
        let saved = args.trace.as_deref().map(Saved::read).transpose()?;
        let of_trace = saved.as_ref().map(|saved| saved.file.as_ref());
        match args.file.as_deref().or(of_trace) {
            Some(file) if is_compiled(file) => Err(refused()),
            _ => Ok(None),
        }
    }

    pub(crate) fn run(self, _: &ReplayArgs, _: &Screen) -> Result<Exit, Failure> {
        match self.0 {}
    }
}
