//! `selvedge farm`: a search on many machines. How units travel is in the crate `selvedge-farm`; here is what they are.

mod ledger;
mod status;
mod submit;
mod worker;

use selvedge_farm::{Error, Server};

use crate::args::{AccessArgs, FarmArgs, FarmCommand};
use crate::exit::{Exit, Failure};
use crate::hash::hash_of_bytes;
use crate::screen::Screen;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Does what is asked for.
pub(crate) fn run(args: &FarmArgs, screen: &Screen) -> Result<Exit, Failure> {
    match &args.command {
        FarmCommand::Check(args) => submit::run(args, screen),
        FarmCommand::Work(args) => worker::run(args, screen),
        FarmCommand::Status(args) => status::run(args, screen),
        FarmCommand::Clean(args) => status::clean(args, screen),
    }
}

fn connect(access: &AccessArgs) -> Result<Server, Failure> {
    Server::connect(&access.access()).map_err(failure)
}

fn failure(error: Error) -> Failure {
    Failure::User(error.0)
}

/// Returns which build of the tool this is: a hash of the executable. Two builds of one version may divide a search in
/// different ways.
fn build() -> Result<String, Failure> {
    let bytes = std::env::current_exe().and_then(std::fs::read).map_err(|error| {
        Failure::User(format!(
            "the executable of selvedge cannot be read, so its build is unknown: {error}\n  make it readable"
        ))
    })?;
    Ok(hash_of_bytes(&bytes))
}
