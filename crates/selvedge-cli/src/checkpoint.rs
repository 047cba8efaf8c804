//! Checkpoints: a search that is not finished, in a file.

use std::path::Path;
use std::time::Duration;

use selvedge_core::{
    Bound, Counts, Inconclusive, Place, Schedule, ThreadId, ThreadKey, Violation, ViolationKind,
};
use selvedge_explore::{Frontier, Part, Pending, Tally};
use selvedge_report::ConstantJson;
use serde::{Deserialize, Serialize};

use crate::args::{CheckArgs, ResumeArgs};
use crate::exit::{self, Failure};
use crate::source::{Constants, Loaded};

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

#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
enum PartJson {
    Done(Box<TallyJson>),
    ToDo(PendingJson),
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct PendingJson {
    unit: String,
    share: f64,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct TallyJson {
    complete: u64,
    deadlocked: u64,
    blocked: u64,
    redundant: u64,
    cut: u64,
    steps: u64,
    longest: usize,
    threads: Vec<String>,
    violations: Vec<ViolationJson>,
    inconclusive: Vec<DoubtJson>,
    share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<PendingJson>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct ViolationJson {
    kind: String,
    message: String,
    places: Vec<PlaceJson>,
    notes: Vec<String>,
    thread: Option<usize>,
    schedule: String,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct PlaceJson {
    file: String,
    line: u32,
    column: u32,
    length: u32,
}

/// Why nothing is proved: what can be the case in the middle of a search.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(rename_all = "kebab-case")]
enum DoubtJson {
    Steps(usize),
    /// A bound on preemptions, and whether everything within it is covered.
    Preemptions(u32, bool),
    ContextSwitches(u32, bool),
    GaveUp(String),
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
                "{path} exists, and a checkpoint does not replace it\n  go on with it: selvedge resume {path}; or \
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

impl PartJson {
    fn of(part: &Part) -> Self {
        match part {
            Part::ToDo(unit) => PartJson::ToDo(PendingJson::of(unit)),
            Part::Done(tally, from) => {
                let from = from.as_ref().map(PendingJson::of);
                PartJson::Done(Box::new(TallyJson { from, ..TallyJson::of(tally) }))
            }
        }
    }

    fn part(&self) -> Option<Part> {
        Some(match self {
            PartJson::ToDo(unit) => Part::ToDo(unit.pending()),
            PartJson::Done(tally) => {
                Part::Done(tally.tally()?, tally.from.as_ref().map(PendingJson::pending))
            }
        })
    }
}

impl PendingJson {
    fn of(unit: &Pending) -> Self {
        Self { unit: unit.unit.clone(), share: unit.share }
    }

    fn pending(&self) -> Pending {
        Pending { unit: self.unit.clone(), share: self.share }
    }
}

impl TallyJson {
    fn of(tally: &Tally) -> Self {
        let Counts { complete, deadlocked, blocked, redundant, cut } = tally.counts;
        let violations = tally.violations.iter();
        Self {
            complete,
            deadlocked,
            blocked,
            redundant,
            cut,
            steps: tally.steps,
            longest: tally.longest,
            threads: tally.threads.iter().map(ThreadKey::to_string).collect(),
            violations: violations.map(|(found, by)| ViolationJson::of(found, by)).collect(),
            inconclusive: tally.inconclusive.iter().map(DoubtJson::of).collect(),
            share: tally.share,
            from: None,
        }
    }

    fn tally(&self) -> Option<Tally> {
        let &Self { complete, deadlocked, blocked, redundant, cut, .. } = self;
        Some(Tally {
            counts: Counts { complete, deadlocked, blocked, redundant, cut },
            steps: self.steps,
            longest: self.longest,
            threads: self.threads.iter().map(|key| key.parse().ok()).collect::<Option<_>>()?,
            violations: self.violations.iter().map(ViolationJson::found).collect::<Option<_>>()?,
            inconclusive: self.inconclusive.iter().map(DoubtJson::reason).collect(),
            share: self.share,
        })
    }
}

impl ViolationJson {
    fn of(violation: &Violation, schedule: &Schedule) -> Self {
        let place = |place: &Place| PlaceJson {
            file: place.file.clone(),
            line: place.line,
            column: place.column,
            length: place.length,
        };
        Self {
            kind: violation.kind.name().to_owned(),
            message: violation.message.clone(),
            places: violation.places.iter().map(place).collect(),
            notes: violation.notes.clone(),
            thread: violation.thread.map(ThreadId::index),
            schedule: schedule.to_string(),
        }
    }

    fn found(&self) -> Option<(Violation, Schedule)> {
        let place = |place: &PlaceJson| Place {
            file: place.file.clone(),
            line: place.line,
            column: place.column,
            length: place.length,
        };
        let violation = Violation {
            kind: ViolationKind::named(&self.kind)?,
            message: self.message.clone(),
            places: self.places.iter().map(place).collect(),
            notes: self.notes.clone(),
            thread: self.thread.map(ThreadId::new),
        };
        Some((violation, self.schedule.parse().ok()?))
    }
}

impl DoubtJson {
    fn of(reason: &Inconclusive) -> Self {
        match reason {
            Inconclusive::Bound(Bound::Steps(most)) => DoubtJson::Steps(*most),
            &Inconclusive::Bound(Bound::Preemptions { most, exact }) => {
                DoubtJson::Preemptions(most, exact)
            }
            &Inconclusive::Bound(Bound::ContextSwitches { most, exact }) => {
                DoubtJson::ContextSwitches(most, exact)
            }
            other => DoubtJson::GaveUp(other.to_string()),
        }
    }

    fn reason(&self) -> Inconclusive {
        match self {
            DoubtJson::Steps(most) => Inconclusive::Bound(Bound::Steps(*most)),
            &DoubtJson::Preemptions(most, exact) => {
                Inconclusive::Bound(Bound::Preemptions { most, exact })
            }
            &DoubtJson::ContextSwitches(most, exact) => {
                Inconclusive::Bound(Bound::ContextSwitches { most, exact })
            }
            DoubtJson::GaveUp(why) => Inconclusive::GaveUp(why.clone()),
        }
    }
}
