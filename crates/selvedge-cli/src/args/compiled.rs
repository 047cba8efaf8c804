//! Options for programs that are compiled.

use std::path::PathBuf;

use clap::Args;

use super::{CheckArgs, SpuriousArgs};
use crate::exit::Failure;

/// How a C program is compiled.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompilerArgs {
    /// Further files of a C program
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,

    /// The C compiler [default: CC in the environment, or cc]
    #[arg(long, value_name = "COMMAND", help_heading = "C programs")]
    pub(crate) cc: Option<String>,

    /// The C++ compiler [default: CXX in the environment, or c++]
    #[arg(long, value_name = "COMMAND", help_heading = "C programs")]
    pub(crate) cxx: Option<String>,

    /// Report memory that is never freed and that nothing points to at the end
    #[arg(long, help_heading = "C programs")]
    pub(crate) leaks: bool,

    #[command(flatten)]
    pub(crate) spurious: SpuriousArgs,

    /// Flags for the compiler, such as -Iinclude -DN=3 -lm; after a second `--` the arguments of the program
    #[arg(last = true, value_name = "FLAGS")]
    pub(crate) flags: Vec<String>,
}

impl CompilerArgs {
    /// Returns an error if an option for C programs is used with another program.
    pub(crate) fn refuse(&self) -> Result<(), Failure> {
        let file = self.more.first().map(|file| format!("a second file ({})", file.display()));
        let cc = self.cc.as_ref().map(|_| "--cc".to_owned());
        let cxx = self.cxx.as_ref().map(|_| "--cxx".to_owned());
        let flag = self.flags.first().map(|flag| format!("the flag {flag}"));
        let leaks = self.leaks.then(|| "--leaks".to_owned());
        let most = self.spurious.most.map(|_| "--spurious".to_owned());
        let everywhere = self.spurious.everywhere.then(|| "--spurious-everywhere".to_owned());
        let spurious = most.or(everywhere);
        let Some(given) = file.or(cc).or(cxx).or(leaks).or(spurious).or(flag) else {
            return Ok(());
        };
        Err(only_for_c(&given))
    }
}

impl CompilerArgs {
    /// Returns the arguments that say what is explored of a C program, those `of_check` that are on among them; the last ones
    /// are flags.
    pub(super) fn explored(&self, of_check: &[(bool, &str)]) -> Vec<String> {
        let text = |path: &PathBuf| path.to_string_lossy().into_owned();
        // A name that begins with a dash is no option.
        let file = |path: &PathBuf| match text(path) {
            name if name.starts_with('-') => format!("./{name}"),
            name => name,
        };
        let mut all: Vec<String> = self.more.iter().map(file).collect();
        let leaks = (self.leaks, "--leaks");
        let switches = of_check.iter().chain([&leaks]);
        all.extend(switches.filter(|(on, _)| *on).map(|(_, name)| (*name).to_owned()));
        all.extend(self.spurious.typed().split_whitespace().map(str::to_owned));
        for (name, compiler) in [("--cc", &self.cc), ("--cxx", &self.cxx)] {
            all.extend(compiler.iter().map(|compiler| format!("{name}={compiler}")));
        }
        if !self.flags.is_empty() {
            all.push("--".to_owned());
            all.extend(self.flags.iter().cloned());
        }
        all
    }
}

impl CheckArgs {
    /// Returns the switches of a check that only apply to C programs, and whether each is on.
    pub(super) fn of_compiled(&self) -> [(bool, &'static str); 2] {
        [(self.no_races, "--no-races"), (self.sequentially_consistent, "--sequentially-consistent")]
    }

    /// Returns an error if an option for C programs is used with another program.
    pub(crate) fn refuse_compiled_options(&self) -> Result<(), Failure> {
        let given = self.of_compiled().into_iter().find(|(on, _)| *on);
        given.map_or_else(|| self.compiler.refuse(), |(_, name)| Err(only_for_c(name)))
    }
}

fn only_for_c(given: &str) -> Failure {
    Failure::User(format!("{given} only applies to C programs\n  leave it out"))
}
