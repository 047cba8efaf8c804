//! A C program in a worker: its files, what is known about it, and how it is explored.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

use selvedge_core::{Fact, FactValue, Inconclusive, Report, Schedule, ViolationKind};
use selvedge_explore::{Observer, Options};
use selvedge_lang::ThreadNames;
use selvedge_native::{Language, Loaded, Notes, Program, Spurious};
use selvedge_report::Origin;

use crate::args::{CompilerArgs, SpuriousArgs};
use crate::estimate::Estimator;
use crate::exit::Failure;
use crate::hash::{hash, hash_of_bytes};
use crate::named::Named;
use crate::registry::Chosen;
use crate::source::{self, Constants, Sample, Source, Subject, shell_word};

/// What a report says about memory orderings.
pub(super) const ORDERINGS: &str = "memory orderings";
const UNEXPLORED: &str =
    "weaker atomic orderings are checked as sequentially consistent (--memory rc11)";

/// The files of a program, and the flags to compile them with.
pub(super) struct Files {
    names: Vec<String>,
    /// Their texts.
    texts: Vec<String>,
    /// All of them, one after the other.
    pub(super) text: String,
    /// What the user typed behind `--`.
    flags: Vec<String>,
    /// How operations end spuriously.
    pub(super) spurious: SpuriousArgs,
    /// Whether it is a module that was linked already.
    is_module: bool,
    none: Constants,
}

impl Files {
    pub(super) fn new(file: &Path, compiler: &CompilerArgs) -> Result<Self, Failure> {
        let paths: Vec<&Path> =
            std::iter::once(file).chain(compiler.more.iter().map(PathBuf::as_path)).collect();
        let is_module = source::is_elf(file);
        if is_module {
            return Self::of_module(file, compiler);
        }
        for path in &paths {
            let why = match Language::of(path) {
                Some(_) => continue,
                None if source::is_elf(path) => {
                    "it is compiled already; name source files, or one program alone"
                }
                None => "all files of a C or C++ program are source files (.c, .cc, .cpp, .cxx)",
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
            spurious: compiler.spurious,
            is_module: false,
            none: Constants::new(),
        })
    }

    /// A program that `selvedge cc` or `selvedge c++` linked. What is behind `--` are its arguments.
    fn of_module(file: &Path, compiler: &CompilerArgs) -> Result<Self, Failure> {
        let refuse =
            |why: &str| Err(Failure::User(format!("cannot check {}: {why}", file.display())));
        if let Some(more) = compiler.more.first() {
            return refuse(&format!(
                "it is compiled already, and {} is another file\n  name one program",
                more.display()
            ));
        }
        match Notes::read(file) {
            None if source::is_32_bit(file) => {
                return refuse(
                    "it is a 32-bit program, which cannot be loaded\n  build it for 64 bits",
                );
            }
            None => {
                return refuse(
                    "it was not built by selvedge\n  build it again: CC=\"selvedge cc\" CXX=\"selvedge c++\" make",
                );
            }
            Some(notes) if notes.is_outdated => {
                return refuse(
                    "it was built by another version of selvedge\n  build it again with this one, from the sources",
                );
            }
            Some(_) => {}
        }
        let bytes = std::fs::read(file).map_err(|error| {
            Failure::User(format!("{} cannot be read: {error}", file.display()))
        })?;
        let mut flags = vec!["--".to_owned()];
        flags.extend(compiler.flags.iter().filter(|flag| *flag != "--").cloned());
        Ok(Self {
            names: vec![file.to_string_lossy().into_owned()],
            texts: vec![String::new()],
            text: fingerprint(&bytes),
            flags: if flags.len() == 1 { Vec::new() } else { flags },
            spurious: compiler.spurious,
            is_module: true,
            none: Constants::new(),
        })
    }

    /// Returns where the module is, or will be once it is built in `folder`.
    pub(super) fn module(&self, folder: &Path) -> PathBuf {
        if self.is_module {
            std::path::absolute(&self.names[0]).unwrap_or_else(|_| PathBuf::from(&self.names[0]))
        } else {
            folder.join(MODULE)
        }
    }

    pub(super) fn is_module(&self) -> bool {
        self.is_module
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
        let mut command = format!("selvedge {name} {}{}", files.join(" "), self.spurious.typed());
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
            spurious: self.spurious,
        }
    }
}

/// Returns the option that shows a violation of a kind.
pub(super) fn option_for(kind: ViolationKind) -> &'static str {
    match kind {
        ViolationKind::DataRace => " --races",
        ViolationKind::Leak => " --leaks",
        _ => "",
    }
}

/// Returns a command with a schedule, which comes before the flags. `locals`: variables on stacks that threads share.
pub(super) fn with_schedule(
    command: &str,
    schedule: &Schedule,
    options: &str,
    locals: &[(usize, usize)],
) -> String {
    let (command, flags) = match command.split_once(" -- ") {
        Some((command, flags)) => (command, format!(" -- {flags}")),
        None => (command, String::new()),
    };
    let schedule = schedule.to_string();
    let schedule = if schedule.is_empty() { "''" } else { &schedule };
    let locals = match locals {
        [] => String::new(),
        some => format!(" --locals {}", locals_text(some)),
    };
    format!("{command}{options} --schedule {schedule}{locals}{flags}")
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

const MODULE: &str = "program.so";
const STEPS: &str = "steps";

/// Returns a text that differs if a file does.
fn fingerprint(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{} bytes, {hash:016x}", bytes.len())
}

/// Returns the schedule that a worker followed last.
pub(super) fn recorded(folder: &Path) -> Option<Schedule> {
    selvedge_native::recorded(&folder.join(STEPS)).ok()
}

/// A program in memory.
pub(super) struct Compiled {
    pub(super) files: Files,
    pub(super) program: Loaded,
    pub(super) notes: Notes,
    /// Where the module is.
    module: PathBuf,
    /// What keeps a proof from being one of the program.
    doubts: RefCell<Vec<Inconclusive>>,
}

impl Compiled {
    pub(super) fn load(files: Files, folder: &Path, leaks: bool) -> Result<Self, Failure> {
        let wrong =
            |why: String| Failure::User(format!("{} cannot be loaded: {why}", files.name()));
        let module = files.module(folder);
        let notes = Notes::read(&module)
            .ok_or_else(|| wrong("it does not say how it was built".to_owned()))?;
        // Without the record a crash of the process is reported without its schedule.
        let _ = selvedge_native::record_in(&folder.join(STEPS));
        let program = Loaded::new(&module, &files.paths(), files.arguments());
        let program = program.map_err(wrong)?;
        if leaks {
            program.look_for_leaks();
        }
        let (most, everywhere) = (files.spurious.most(), files.spurious.everywhere);
        program.set_spurious(Spurious { most, everywhere });
        let loaded = Self { files, program, notes, module, doubts: RefCell::default() };
        loaded.note_doubts();
        Ok(loaded)
    }

    /// Says what is known to be missing before anything runs.
    fn note_doubts(&self) {
        let mut doubts = self.doubts.borrow_mut();
        if let Some(place) = self.notes.assembly.first() {
            doubts.push(Inconclusive::GaveUp(format!(
                "{place} has inline assembly, whose accesses are not seen; use atomic operations of the language"
            )));
        }
        if self.notes.has_destructors {
            doubts.push(Inconclusive::GaveUp(
                "it has functions with the attribute `destructor`, which are not run; call them at the end of main, or \
                 register them with atexit"
                    .to_owned(),
            ));
        }
        if let Some(place) = self.notes.by_value.first() {
            doubts.push(unseen_copy(place));
        }
        if let Some(name) = self.program.atomic_function() {
            doubts.push(Inconclusive::GaveUp(format!(
                "{name} is meant to be atomic by its name, which is not supported: what was found may not happen; use \
                 __VERIFIER_atomic_begin and __VERIFIER_atomic_end"
            )));
        }
    }

    /// Returns a hash of all that decides what the program does: the code, and its arguments. The same files give the same
    /// code, if the compiler is the same one.
    pub(super) fn identity(&self) -> Result<String, Failure> {
        let code = std::fs::read(&self.module).map_err(|error| {
            Failure::User(format!("{} cannot be read: {error}", self.module.display()))
        })?;
        let (arguments, spurious) = (self.files.arguments(), self.files.spurious.typed());
        Ok(hash(&format!("{} {arguments:?} {spurious}", hash_of_bytes(&code))))
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
        let compilers = self.notes.compilers.join("; ");
        let compilers = match self.files.is_module {
            true => compilers,
            false => format!("{compilers}, {flags}"),
        };
        let mut facts = vec![text("compiler", compilers)];
        if !self.notes.optimised.is_empty() {
            facts.push(text(
                "optimised",
                "the verdict is about the optimised program, which may have fewer accesses than the source".to_owned(),
            ));
        }
        facts
    }

    /// Runs a search until it learns nothing new.
    pub(super) fn search(&self, search: impl FnMut() -> Report) -> Report {
        let mut report = self.program.settle(search);
        if self.program.is_weak() {
            report.fact(ORDERINGS, UNEXPLORED.to_owned());
        }
        self.add_doubts(&mut report);
        report
    }

    /// Says what a search left out, and what keeps it from being a proof.
    pub(super) fn add_doubts(&self, report: &mut Report) {
        let (is_bounded, is_left_out) =
            (self.program.is_spurious_bounded(), self.program.is_spurious_left_out());
        if let Some(text) = self.files.spurious.unexplored(is_bounded, is_left_out) {
            report.fact("spurious", text);
        }
        if let Some(place) = self.notes.local_by_value.first()
            && !self.program.shared_locals().is_empty()
        {
            report.note(unseen_copy(place));
        }
        for doubt in self.doubts.borrow().iter() {
            report.note(doubt.clone());
        }
        if self.program.atomic_function().is_some() {
            // Its steps were interleaved with those of others, which they must not be.
            report.violations.clear();
        }
        if let Some(name) = self.program.unknown_input() {
            report.note(Inconclusive::GaveUp(format!(
                "{name}() may return anything, and always returned 0; use __VERIFIER_nondet_bool, or a loop \
                 over the values that matter"
            )));
        }
        if let Some(how) = self.program.unsteady() {
            report.violations.clear();
            report.note(Inconclusive::Nondeterministic(format!(
                "the program is nondeterministic, since the same steps led to different states: {how}; does it read \
                 uninitialised memory?"
            )));
        }
    }

    /// Follows a schedule until nothing new is learned.
    pub(super) fn warm_up(&self, schedule: &Schedule, locals: &[(usize, usize)]) {
        self.program.set_shared_locals(locals);
        let _ = self.program.settle(|| {
            let _ = selvedge_core::replay(&mut self.program.traced(), schedule);
            Report::default()
        });
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

    fn has_invariants(&self) -> bool {
        false
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

    fn estimator(&self, options: &Options) -> Option<Estimator> {
        self.estimate_traces(options)
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
        with_schedule(&self.files.command("replay"), schedule, option_for(kind), &locals)
    }
}

/// What a compiler does not show of a call.
fn unseen_copy(place: &str) -> Inconclusive {
    Inconclusive::GaveUp(format!(
        "{place} has a structure that threads may share as an argument or a result of a call, and the compiler does not \
         show that it is copied there; copy it by an assignment, to or from a local variable"
    ))
}
