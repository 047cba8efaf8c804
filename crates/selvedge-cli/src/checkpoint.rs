//! Checkpoints: a search that is not finished, in a file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use selvedge_crew::{Told, Unread, of_version};
use selvedge_explore::Frontier;
use selvedge_report::ConstantJson;
use serde::{Deserialize, Serialize};

use crate::args::{CheckArgs, ResumeArgs};
use crate::exit::{self, Exit, Failure, complain};
use crate::source::{Constants, Loaded};

/// What is searched.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct About {
    /// The program's file, as the user named it, and the folder in which the check was started.
    file: String,
    folder: String,
    /// A hash of the program with its constants; of a C program: with all that it was compiled by.
    program: String,
    /// Of each file that a model consists of: its name, and a hash of its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<(String, String)>,
    /// The constants that the user set.
    constants: Constants,
    /// The arguments that say what is explored.
    arguments: Vec<String>,
}

/// A search that is not finished.
pub(crate) struct Checkpoint(selvedge_crew::Checkpoint<About>);

impl About {
    /// Returns what a check of a model is about.
    pub(crate) fn new(args: &CheckArgs, loaded: &Loaded) -> Result<Self, Failure> {
        if loaded.file == "-" {
            return Err(Failure::User(
                "--checkpoint needs a program in a file: what is read from standard input is gone when the search \
                 continues\n  write it to a file"
                    .to_owned(),
            ));
        }
        let about = Self::of_program(args, &loaded.file, loaded.written_identity());
        Ok(Self { constants: loaded.given.clone(), files: loaded.file_hashes(), ..about })
    }

    /// Returns what a check of a program is about that has no constants.
    pub(crate) fn of_program(args: &CheckArgs, file: &str, program: String) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        Self {
            file: file.to_owned(),
            folder: folder.to_string_lossy().into_owned(),
            program,
            files: Vec::new(),
            constants: Constants::new(),
            arguments: args.explored(),
        }
    }
}

/// Refuses to replace a file, which may hold the work of hours.
pub(crate) fn refuse_existing(path: &Path) -> Result<(), Failure> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::User(format!(
        "{path} exists, and a checkpoint does not replace it\n  continue it: selvedge resume {path}; or \
         remove it, or choose another name"
    )))
}

impl Checkpoint {
    /// Reads a checkpoint.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        // It may be larger than any program.
        let text = std::fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            Failure::User(format!(
                "{path} cannot be read: {error}\n  name a file that `check --checkpoint` wrote"
            ))
        })?;
        let path = path.display();
        selvedge_crew::Checkpoint::from_text(&text).map(Self).map_err(|unread| {
            Failure::User(match unread {
                Unread::NotOne(why) => format!(
                    "{path} is not a checkpoint: {why}\n  make one: selvedge check FILE --checkpoint OTHER"
                ),
                Unread::Version(writer) => format!(
                    "{path} {}\n  use version {writer}, or start the check again",
                    of_version(&writer)
                ),
            })
        })
    }

    /// Returns the arguments of the check.
    pub(crate) fn check(&self, args: &ResumeArgs) -> Result<CheckArgs, Failure> {
        let About { file, folder, constants, arguments, .. } = &self.0.about;
        // A name that begins with a dash is no option.
        let dash = if file.starts_with('-') { "./" } else { "" };
        let mut all = vec![format!("{dash}{file}")];
        for (name, value) in constants {
            let value = match value {
                ConstantJson::Bool(value) => value.to_string(),
                ConstantJson::Int(value) => value.to_string(),
            };
            all.extend(["--const".to_owned(), format!("{name}={value}")]);
        }
        // The last of them may be flags for a compiler.
        all.extend(arguments.iter().cloned());
        let check =
            args.check(&all).ok_or_else(|| damaged("its arguments are not those of a check"))?;
        if !Path::new(file).exists() {
            return Err(Failure::User(format!(
                "{file} is not here\n  resume in the folder in which the check was started: {folder}"
            )));
        }
        Ok(check)
    }

    /// Makes sure that the program is still the one that the search began with. `files`: those that a model consists of now.
    pub(crate) fn belongs_to(
        &self,
        program: &str,
        files: &[(String, String)],
    ) -> Result<(), Failure> {
        let about = &self.0.about;
        if about.program == program {
            return Ok(());
        }
        // A file that is imported now, and was not then, is imported by one that has changed.
        let changed = about.files.iter().find(|file| !files.contains(file));
        let name = changed.map_or(&about.file, |(name, _)| name);
        Err(Failure::User(format!(
            "{name} has changed since the checkpoint was written, so what was explored does not apply to it\n  restore \
             the program, or start the check again"
        )))
    }

    /// Returns how long the search took so far.
    pub(crate) fn time(&self) -> Duration {
        self.0.time()
    }

    /// Returns what the process was told that ran it.
    pub(crate) fn told(&self) -> Told {
        self.0.told()
    }

    /// Returns the frontier of the search.
    pub(crate) fn frontier(&self) -> Result<Frontier, Failure> {
        self.0.frontier().ok_or_else(|| damaged("its parts are not those of a search"))
    }
}

fn damaged(why: &str) -> Failure {
    Failure::User(format!("the checkpoint is damaged: {why}\n  start the check again"))
}

/// The file of a search that goes on.
pub(crate) struct Kept {
    path: PathBuf,
    every: Duration,
    about: About,
    /// When the search went on, and how long it took before.
    started: Instant,
    before: Duration,
    /// When it is written next, and whether it was said that it cannot be.
    next: Instant,
    has_complained: bool,
}

impl Kept {
    /// Begins a file with a search that begins here, or goes on with the one of a search that was interrupted.
    pub(crate) fn new(
        path: &Path,
        about: About,
        args: &CheckArgs,
        root: &Frontier,
        interrupted: Option<&Checkpoint>,
    ) -> Result<Self, Failure> {
        let (started, every) = (Instant::now(), args.work.jobs.checkpoint_every);
        let kept = Self {
            path: path.to_owned(),
            every,
            about,
            started,
            before: interrupted.map_or(Duration::ZERO, Checkpoint::time),
            next: started + every,
            has_complained: false,
        };
        if interrupted.is_none() {
            refuse_existing(path)?;
            kept.write(root, None)?;
        }
        Ok(kept)
    }

    /// Returns how long the search took before it was interrupted.
    pub(crate) fn time_before(&self) -> Duration {
        self.before
    }

    /// Returns whether it is time to write the file.
    pub(crate) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let is_due = now >= self.next;
        if is_due {
            self.next = now + self.every;
        }
        is_due
    }

    /// Writes the file.
    pub(crate) fn write(&self, frontier: &Frontier, told: Option<Told>) -> Result<(), Failure> {
        let time = self.before + self.started.elapsed();
        let all = selvedge_crew::Checkpoint::new(self.about.clone(), frontier, told, time);
        exit::write_file(&self.path, "the checkpoint", &all.to_text())
    }

    /// The same, while the search goes on: that it cannot be written is said once.
    pub(crate) fn try_write(&mut self, frontier: &Frontier, told: Option<Told>) {
        if let Err(Failure::User(why)) = self.write(frontier, told)
            && !std::mem::replace(&mut self.has_complained, true)
        {
            complain(&format!("warning: {why}\n  the search continues, and tries again\n"));
        }
    }

    /// The same, when the search has ended before its time. If it cannot be written, that is said, and what was
    /// found is shown.
    pub(crate) fn write_last(&self, frontier: &Frontier) {
        if let Err(Failure::User(why)) = self.write(frontier, None) {
            complain(&format!(
                "warning: {why}\n  what was done since the one before is done again\n"
            ));
        }
    }

    /// Returns the command that goes on.
    pub(crate) fn command(&self) -> String {
        format!("selvedge resume {}", self.path.display())
    }

    /// Removes the file, now that the result was shown. If it stays, it can be resumed once more.
    pub(crate) fn remove(self, exit: Result<Exit, Failure>) -> Result<Exit, Failure> {
        let exit = exit?;
        if let Err(error) = std::fs::remove_file(&self.path) {
            complain(&format!("warning: {} cannot be removed: {error}\n", self.path.display()));
        }
        Ok(exit)
    }
}
