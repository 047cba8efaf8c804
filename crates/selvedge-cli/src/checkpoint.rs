//! Checkpoints: a search that is not finished, in a file.

use std::path::Path;
use std::time::Duration;

use selvedge_explore::{Frontier, Part};
use selvedge_report::ConstantJson;
use serde::{Deserialize, Serialize};

use crate::args::{CheckArgs, ResumeArgs};
use crate::exit::{self, Failure};
use crate::source::{Constants, Loaded};
use selvedge_crew::PartJson;

/// What makes a file a checkpoint.
const FORMAT: &str = "selvedge-checkpoint-1";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A search that is not finished.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Checkpoint {
    /// Always the same.
    format: String,
    /// The version that wrote it: another one may divide the search differently.
    version: String,
    /// The program's file, as the user named it, and the folder in which the check was started.
    file: String,
    folder: String,
    /// A hash of the program with its constants.
    program: String,
    /// The constants that the user set.
    constants: Constants,
    /// The arguments that say what is explored.
    arguments: Vec<String>,
    /// How long the search took so far.
    seconds: f64,
    /// The search, in order.
    parts: Vec<PartJson>,
}

impl Checkpoint {
    /// Returns all but the frontier of a search.
    pub(crate) fn new(args: &CheckArgs, loaded: &Loaded) -> Result<Self, Failure> {
        if loaded.file == "-" {
            return Err(Failure::User(
                "--checkpoint needs a program in a file: what is read from standard input is gone when the search \
                 continues\n  write it to a file"
                    .to_owned(),
            ));
        }
        let folder = std::env::current_dir().unwrap_or_default();
        Ok(Self {
            format: FORMAT.to_owned(),
            version: VERSION.to_owned(),
            file: loaded.file.clone(),
            folder: folder.to_string_lossy().into_owned(),
            program: loaded.identity(),
            constants: loaded.given.clone(),
            arguments: args.explored(),
            seconds: 0.0,
            parts: Vec::new(),
        })
    }

    /// Writes the first checkpoint of a search, unless there is a file with that name.
    pub(crate) fn begin(&self, path: &Path) -> Result<(), Failure> {
        if std::fs::symlink_metadata(path).is_ok() {
            let path = path.display();
            return Err(Failure::User(format!(
                "{path} exists, and a checkpoint does not replace it\n  continue it: selvedge resume {path}; or \
                 remove it, or choose another name"
            )));
        }
        self.write(path, &Frontier::root(), Duration::ZERO)
    }

    /// Writes the checkpoint of a search with this frontier, which took so long.
    pub(crate) fn write(
        &self,
        path: &Path,
        frontier: &Frontier,
        time: Duration,
    ) -> Result<(), Failure> {
        let parts = frontier.parts.iter().map(PartJson::of).collect();
        let all = Self { parts, seconds: time.as_secs_f64(), ..self.clone() };
        exit::write_file(path, "the checkpoint", &selvedge_report::to_text(&all))
    }

    /// Reads a checkpoint.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        // It may be larger than any program.
        let text = std::fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            Failure::User(format!(
                "{path} cannot be read: {error}\n  name a file that `check --checkpoint` wrote"
            ))
        })?;
        let wrong = |why: String| {
            Failure::User(format!(
                "{} is not a checkpoint: {why}\n  make one: selvedge check FILE --algorithm parsimonious \
                 --checkpoint OTHER",
                path.display(),
            ))
        };
        let kept: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if kept.format != FORMAT {
            return Err(wrong(format!("its format is `{}`, not `{FORMAT}`", kept.format)));
        }
        if kept.version != VERSION {
            let (path, writer) = (path.display(), &kept.version);
            return Err(Failure::User(format!(
                "{path} was written by version {writer}, and this is {VERSION}, which may divide the search \
                 differently\n  use version {writer}, or start the check again"
            )));
        }
        Ok(kept)
    }

    /// Returns the arguments of the check.
    pub(crate) fn check(&self, args: &ResumeArgs) -> Result<CheckArgs, Failure> {
        // A name that begins with a dash is no option.
        let dash = if self.file.starts_with('-') { "./" } else { "" };
        let mut arguments = vec![format!("{dash}{}", self.file)];
        arguments.extend(self.arguments.iter().cloned());
        for (name, value) in &self.constants {
            let value = match value {
                ConstantJson::Bool(value) => value.to_string(),
                ConstantJson::Int(value) => value.to_string(),
            };
            arguments.extend(["--const".to_owned(), format!("{name}={value}")]);
        }
        let check = args
            .check(&arguments)
            .ok_or_else(|| damaged("its arguments are not those of a check"))?;
        if !Path::new(&self.file).exists() {
            return Err(Failure::User(format!(
                "{} is not here\n  resume in the folder in which the check was started: {}",
                self.file, self.folder
            )));
        }
        Ok(check)
    }

    /// Makes sure that the program is still the one that the search began with.
    pub(crate) fn belongs_to(&self, loaded: &Loaded) -> Result<(), Failure> {
        if self.program == loaded.identity() {
            return Ok(());
        }
        Err(Failure::User(format!(
            "{} has changed since the checkpoint was written, so what was explored does not apply to it\n  restore \
             the program, or start the check again",
            self.file
        )))
    }

    /// Returns how long the search took so far.
    pub(crate) fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    /// Returns the frontier of the search.
    pub(crate) fn frontier(&self) -> Result<Frontier, Failure> {
        let parts = self.parts.iter().map(PartJson::part).collect::<Option<Vec<Part>>>();
        let parts = parts.filter(|parts| !parts.is_empty());
        Ok(Frontier { parts: parts.ok_or_else(|| damaged("its parts are not those of a search"))? })
    }
}

fn damaged(why: &str) -> Failure {
    Failure::User(format!("the checkpoint is damaged: {why}\n  start the check again"))
}
