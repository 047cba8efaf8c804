//! `farm` in a build without it: a sentence that says how to get it.

use crate::args::FarmArgs;
use crate::exit::{Exit, Failure};
use crate::screen::Screen;

pub(crate) fn run(_: &FarmArgs, _: &Screen) -> Result<Exit, Failure> {
    Err(Failure::User(
        "this build of selvedge has no `farm`, which needs a NATS client\n  \
         build one that has it, in a checkout of its repository: cargo install --path crates/selvedge-cli --features farm"
            .to_owned(),
    ))
}
