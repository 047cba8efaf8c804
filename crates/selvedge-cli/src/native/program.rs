//! A C program in a worker: its files, what is known about it, and how it is explored.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

use selvedge_core::{Fact, FactValue, Inconclusive, Report, Schedule, ViolationKind};
use selvedge_explore::{Observer, Options};
use selvedge_lang::ThreadNames;
use selvedge_native::{Built, Loaded, Program};
use selvedge_report::Origin;
use serde::{Deserialize, Serialize};

use crate::args::CompilerArgs;
use crate::exit::Failure;
use crate::named::Named;
use crate::registry::Chosen;
use crate::source::{self, Constants, Sample, Source, Subject, shell_word};

/// The files of a program, and the flags to compile them with.
pub(super) struct Files {
    names: Vec<String>,
    /// Their texts.
    texts: Vec<String>,
    /// All of them, one after the other.
    pub(super) text: String,
    /// What the user typed behind `--`.
    flags: Vec<String>,
    none: Constants,
}

impl Files {
    pub(super) fn new(file: &Path, compiler: &CompilerArgs) -> Result<Self, Failure> {
        let paths: Vec<&Path> =
            std::iter::once(file).chain(compiler.more.iter().map(PathBuf::as_path)).collect();
        for path in &paths {
            let extension = path.extension().and_then(|extension| extension.to_str());
            let why = match extension {
                Some("c" | "i") => continue,
                Some("cc" | "cpp" | "cxx" | "C") => "C++ is not supported",
                Some("so") => "it is a module; name the source files",
                _ => "all files of a C program are C files (.c)",
            };
            return Err(Failure::User(format!("cannot check {}: {why}", path.display())));
        }
        let texts: Vec<String> =
            paths.iter().map(|path| source::read_text(path)).collect::<Result<_, _>>()?;
        Ok(Self {
            names: paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            text: texts.concat(),
            texts,
            flags: compiler.flags.clone(),
            none: Constants::new(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.names[0]
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        self.names.iter().map(PathBuf::from).collect()
    }

    /// Returns the flags for the compiler.
    pub(super) fn flags(&self) -> &[String] {
        self.flags.split(|flag| flag == "--").next().unwrap_or(&[])
    }

    /// Returns these and the arguments of the program, as they were typed.
    pub(super) fn all_flags(&self) -> &[String] {
        &self.flags
    }

    /// Returns the arguments of the program.
    fn arguments(&self) -> &[String] {
        let at = self.flags.iter().position(|flag| flag == "--");
        at.map_or(&[], |at| &self.flags[at + 1..])
    }

    /// Returns a command on the same program.
    pub(super) fn command(&self, name: &str) -> String {
        let files: Vec<String> = self.names.iter().map(|file| shell_word(file)).collect();
        let mut command = format!("selvedge {name} {}", files.join(" "));
        if !self.flags.is_empty() {
            command.push_str(&format!(" -- {}", super::typed(&self.flags)));
        }
        command
    }

    pub(super) fn source(&self) -> Source<'_> {
        Source {
            file: &self.names[0],
            shown: &self.names[0],
            text: &self.text,
            given: &self.none,
            constants: &self.none,
            more: &self.names[1..],
            flags: &self.flags,
        }
    }
}

/// Returns a command with a schedule, which comes before the flags. `locals`: variables on stacks that threads share.
pub(super) fn with_schedule(
    command: &str,
    schedule: &Schedule,
    kind: ViolationKind,
    locals: &[(usize, usize)],
) -> String {
    let (command, flags) = match command.split_once(" -- ") {
        Some((command, flags)) => (command, format!(" -- {flags}")),
        None => (command, String::new()),
    };
    let races = if kind == ViolationKind::DataRace { " --races" } else { "" };
    let schedule = schedule.to_string();
    let schedule = if schedule.is_empty() { "''" } else { &schedule };
    let locals = match locals {
        [] => String::new(),
        some => format!(" --locals {}", locals_text(some)),
    };
    format!("{command}{races} --schedule {schedule}{locals}{flags}")
}

/// Returns variables on stacks as they are typed: `0:12,0:13`.
fn locals_text(locals: &[(usize, usize)]) -> String {
    let texts: Vec<String> =
        locals.iter().map(|(thread, word)| format!("{thread}:{word}")).collect();
    texts.join(",")
}

/// The same the other way round.
pub(super) fn locals(text: &str) -> Result<Vec<(usize, usize)>, Failure> {
    let one = |part: &str| {
        let (thread, word) = part.split_once(':')?;
        Some((thread.parse().ok()?, word.parse().ok()?))
    };
    let all: Option<Vec<_>> = text.split(',').filter(|part| !part.is_empty()).map(one).collect();
    all.ok_or_else(|| {
        Failure::User(format!(
            "--locals {text} is not a list such as 0:12,0:13\n  copy the command that `selvedge check` printed"
        ))
    })
}

/// What the process that compiled tells the worker.
#[derive(Serialize, Deserialize)]
struct Told {
    compiler: String,
    is_optimised: bool,
    assembly: Vec<String>,
}

const MODULE: &str = "program.so";
const TOLD: &str = "program.json";
const STEPS: &str = "steps";

/// Writes what the worker has to know.
pub(super) fn write(folder: &Path, built: &Built) -> Result<(), Failure> {
    let Built { compiler, is_optimised, assembly, .. } = built.clone();
    let told = selvedge_report::to_text(&Told { compiler, is_optimised, assembly });
    crate::exit::write_file(&folder.join(TOLD), "what was compiled", &told)
}

/// Returns the schedule that a worker followed last.
pub(super) fn recorded(folder: &Path) -> Option<Schedule> {
    selvedge_native::recorded(&folder.join(STEPS)).ok()
}

/// A program in memory.
pub(super) struct Compiled {
    files: Files,
    program: Loaded,
    told: Told,
    /// What keeps a proof from being one of the program.
    doubts: RefCell<Vec<Inconclusive>>,
}

/// A replay or a search that learns something begins again, each time with more of the program known.
const MOST_RESTARTS: usize = 10_000;

impl Compiled {
    pub(super) fn load(files: Files, folder: &Path) -> Result<Self, Failure> {
        let wrong =
            |why: String| Failure::User(format!("{} cannot be loaded: {why}", files.name()));
        let told =
            std::fs::read_to_string(folder.join(TOLD)).map_err(|error| wrong(error.to_string()))?;
        let told = serde_json::from_str(&told).map_err(|error| wrong(error.to_string()))?;
        // Without the record a crash of the process is reported without its schedule.
        let _ = selvedge_native::record_in(&folder.join(STEPS));
        let program = Loaded::new(&folder.join(MODULE), &files.paths(), files.arguments());
        let program = program.map_err(wrong)?;
        let loaded = Self { files, program, told, doubts: RefCell::default() };
        loaded.note_doubts();
        Ok(loaded)
    }

    /// Says what is known to be missing before anything runs.
    fn note_doubts(&self) {
        let mut doubts = self.doubts.borrow_mut();
        if let Some(place) = self.told.assembly.first() {
            doubts.push(Inconclusive::GaveUp(format!(
                "{place} has inline assembly, whose accesses are not seen; use atomic operations of the language"
            )));
        }
        if let Some(name) = self.program.atomic_function() {
            doubts.push(Inconclusive::GaveUp(format!(
                "{name} is meant to be atomic by its name, which is not supported; use __VERIFIER_atomic_begin \
                 and __VERIFIER_atomic_end"
            )));
        }
    }

    /// Returns what else a report says about the program.
    pub(super) fn facts(&self) -> Vec<Fact> {
        let flags = self.files.flags();
        let flags = if flags.is_empty() {
            "-O0".to_owned()
        } else {
            format!("-O0 {}", super::typed(flags))
        };
        let text = |name, text: String| Fact { name, value: FactValue::Text(text) };
        let mut facts = vec![text("compiler", format!("{}, {flags}", self.told.compiler))];
        if self.told.is_optimised {
            facts.push(text(
                "optimised",
                "the verdict is about the optimised program, which may have fewer accesses than the source".to_owned(),
            ));
        }
        let unknown = self.program.unknown_functions();
        if !unknown.is_empty() {
            let names = unknown.join(", ");
            facts.push(text("not instrumented", format!("{names}: data races in it are not seen")));
        }
        facts
    }

    /// Runs a search until it learns nothing new.
    fn search(&self, mut search: impl FnMut() -> Report) -> Report {
        let mut report = search();
        let mut restarts = 0;
        while self.program.has_learned() {
            if restarts == MOST_RESTARTS {
                report.note(Inconclusive::GaveUp(format!(
                    "the search learned something new about the program {MOST_RESTARTS} times"
                )));
                break;
            }
            restarts += 1;
            report = search();
        }
        if self.program.is_weak() {
            let text = "weaker atomic orderings are checked as sequentially consistent";
            report.fact("memory orderings", text.to_owned());
        }
        for doubt in self.doubts.borrow().iter() {
            report.note(doubt.clone());
        }
        if let Some(name) = self.program.unknown_input() {
            report.note(Inconclusive::GaveUp(format!(
                "{name}() may return anything, and returned 0 every time; use __VERIFIER_nondet_bool, or a loop \
                 over the values that matter"
            )));
        }
        if let Some(how) = self.program.unsteady() {
            report.violations.clear();
            report.note(Inconclusive::Nondeterministic(format!(
                "the program did not do the same when it ran the same steps again: {how}; does it read memory that \
                 was never written?"
            )));
        }
        report
    }

    /// Follows a schedule until nothing new is learned.
    pub(super) fn warm_up(&self, schedule: &Schedule, locals: &[(usize, usize)]) {
        self.program.set_shared_locals(locals);
        for _ in 0..MOST_RESTARTS {
            let _ = selvedge_core::replay(&mut self.program.traced(), schedule);
            if !self.program.has_learned() {
                return;
            }
        }
    }

    /// Returns what the program writes if it follows a schedule.
    pub(super) fn output(&self, schedule: &Schedule) -> String {
        let mut program = self.program.traced();
        let _ = selvedge_core::replay(&mut program, schedule);
        program.output()
    }
}

impl Subject for Compiled {
    type System = Program;

    fn system(&self) -> Program {
        self.program.traced()
    }

    fn explore(
        &self,
        chosen: Chosen,
        options: &Options,
        names: Option<&ThreadNames>,
        observer: &mut dyn Observer,
    ) -> Report {
        let make = || Named::new(self.program.program(), names);
        self.search(|| chosen.explore_compiled(&make, options, observer))
    }

    fn sample(
        &self,
        sample: Sample,
        options: &Options,
        names: Option<&ThreadNames>,
        observer: &mut dyn Observer,
    ) -> Report {
        let make = || Named::new(self.program.program(), names);
        self.search(|| sample.run(&make, options, observer))
    }

    fn origin(&self) -> Source<'_> {
        self.files.source()
    }

    fn locals(&self) -> String {
        locals_text(&self.program.shared_locals())
    }
}

impl Origin for Compiled {
    fn text(&self, file: &str) -> Option<Cow<'_, str>> {
        let at = self.files.names.iter().position(|name| name == file);
        match at {
            Some(at) => Some(Cow::Borrowed(&self.files.texts[at])),
            None => std::fs::read_to_string(file).ok().map(Cow::Owned),
        }
    }

    fn replay_command(&self, schedule: &Schedule, kind: ViolationKind) -> String {
        let locals = self.program.shared_locals();
        with_schedule(&self.files.command("replay"), schedule, kind, &locals)
    }
}
