//! Saved traces: a schedule with the program that it belongs to.

use std::path::Path;

use selvedge_core::{Schedule, ViolationKind};
use selvedge_explore::Memory;
use selvedge_report::{SourceView, TraceView, ViolationView, to_text};
use serde::{Deserialize, Serialize};

use crate::args::SpuriousArgs;
use crate::exit::{self, Failure};
use crate::hash::hash;
use crate::screen::Screen;
use crate::source::{Constants, Source};

/// What makes a file a saved trace.
const FORMAT: &str = "selvedge-trace-1";

/// A saved trace.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Saved {
    /// Always the same.
    format: String,
    /// The program's file, as the user named it.
    pub(crate) file: String,
    /// Further files of a compiled program, and flags for the compiler.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) more: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flags: Vec<String>,
    /// A hash of its text.
    text_hash: String,
    /// The constants that the user set.
    pub(crate) constants: Constants,
    /// The schedule as text.
    schedule: String,
    /// Variables on stacks that threads of a compiled program share.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) locals: String,
    /// How operations of a compiled program end spuriously.
    #[serde(default, skip_serializing_if = "SpuriousArgs::is_usual")]
    pub(crate) spurious: SpuriousArgs,
    /// The memory model, if the schedule is one of an execution graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    /// Whether it leads to a data race, which is shown only with `--races`.
    pub(crate) races: bool,
    /// What it leads to.
    message: String,
}

/// A saved trace as it is written: the schedule says all, the rest is for programs that read it.
#[derive(Serialize)]
struct WithExecution<'a> {
    #[serde(flatten)]
    saved: Saved,
    execution: &'a TraceView,
    source: &'a [SourceView],
}

/// Saves the first violation, if the user wants that and there is one.
pub(crate) fn save(
    path: Option<&Path>,
    source: Source<'_>,
    locals: &str,
    memory: Option<Memory>,
    found: Option<&TraceView>,
    texts: &[SourceView],
    screen: &Screen,
) -> Result<(), Failure> {
    match (path, found) {
        (None, _) => Ok(()),
        (Some(path), Some(trace)) => {
            let saved = Saved::new(source, locals, memory, &trace.schedule, &trace.violations[0]);
            let with_execution = WithExecution { saved, execution: trace, source: texts };
            exit::write_file(path, "the trace", &to_text(&with_execution))
        }
        (Some(_), None) => {
            screen.warn("no violation was found, so no trace is saved");
            Ok(())
        }
    }
}

impl Saved {
    fn new(
        source: Source<'_>,
        locals: &str,
        memory: Option<Memory>,
        schedule: &Schedule,
        violation: &ViolationView,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            file: source.file.to_owned(),
            more: source.more.to_vec(),
            flags: source.flags.to_vec(),
            text_hash: hash(&source.text),
            constants: source.given.clone(),
            schedule: schedule.to_string(),
            locals: locals.to_owned(),
            spurious: source.spurious,
            memory: memory.map(|memory| memory.name().to_owned()),
            races: violation.kind == ViolationKind::DataRace,
            message: violation.message.clone(),
        }
    }

    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = crate::source::read(path)?;
        let wrong = |why: String| {
            Failure::User(format!(
                "{} is not a saved trace: {why}\n  \
                 make one: selvedge check FILE --save-trace {}",
                path.display(),
                path.display()
            ))
        };
        let saved: Self = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if saved.format != FORMAT {
            return Err(wrong(format!("its format is `{}`, not `{FORMAT}`", saved.format)));
        }
        Ok(saved)
    }

    /// Returns the memory model, if it has one.
    pub(crate) fn memory(&self) -> Result<Option<Memory>, Failure> {
        let unknown = |name: &String| {
            Failure::User(format!("the saved trace is of an unknown memory model, `{name}`"))
        };
        self.memory
            .as_ref()
            .map(|name| Memory::named(name).ok_or_else(|| unknown(name)))
            .transpose()
    }

    pub(crate) fn schedule(&self) -> Result<Schedule, Failure> {
        self.schedule.parse().map_err(|error: selvedge_core::ParseScheduleError| {
            Failure::User(format!("the schedule of the saved trace is damaged: {error}"))
        })
    }

    /// Returns whether `text` is the program that the trace was saved for.
    pub(crate) fn belongs_to(&self, text: &str) -> bool {
        self.text_hash == hash(&text)
    }
}
