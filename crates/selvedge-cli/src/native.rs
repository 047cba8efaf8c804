//! C programs: compiled, and run in a process of their own.
//!
//! This process compiles and then waits. Another one, the *worker*, is the same command again; it finds the module in a
//! folder that the environment names, searches, and shows the result. If the program ends the worker, this process says
//! so, with the schedule that led there.

mod aside;
mod besides;
mod program;
mod together;
mod weak;

use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use selvedge_core::{Covers, Inconclusive, Report, Schedule, Violation, ViolationKind};
use selvedge_explore::{Equivalence, Memory, Observer, Options};
use selvedge_native::{Driver, Language, Sources, Unbuilt};
use selvedge_report::{Outcome, TraceView, ViolationView};

use crate::advice::advice;
use crate::args::{CheckArgs, CompilerArgs, ReplayArgs};
use crate::check::{self, Search};
use crate::checkpoint::{self, Checkpoint};
use crate::exit::{Exit, Failure, complain};
use crate::method::Method;
use crate::named::Named;
use crate::progress::Watch;
use crate::registry;
use crate::replay;
use crate::saved::Saved;
use crate::screen::Screen;
use crate::shown::Shown;
use crate::source::{is_compiled, shell_word};
use crate::work;

pub(crate) use selvedge_native::Program;

use program::{Compiled, Files};
use together::Parts;

/// Names the folder of the module to a worker.
const FOLDER: &str = "SELVEDGE_MODULE";

/// Checks a C program. `interrupted`: where to go on.
pub(crate) fn check(
    interrupted: Option<Checkpoint>,
    args: &CheckArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    check::check_output_options(args)?;
    refuse_options(args)?;
    weak::refuse_options(args)?;
    let files = Files::new(&args.program.file, &args.compiler)?;
    let quasi = args.quasi.options(args.algorithm)?;
    let method = Method::new(args.algorithm, quasi, &args.sampling).with_observers(args.observers);
    let parts = work::divisible_parts(args, method, false)?;
    let Some(folder) = std::env::var_os(FOLDER) else {
        if let (None, Some(path)) = (&interrupted, &args.work.checkpoint) {
            checkpoint::refuse_existing(path)?;
        }
        let supervisor = Supervisor { files: &files, compiler: &args.compiler };
        return supervisor.check(args, method, screen);
    };
    if let Some(memory) = args.weak.model {
        let loaded = Compiled::load(files, Path::new(&folder), args.compiler.leaks)?;
        return weak::check(&loaded, args, memory, screen);
    }
    let guard = args.limits.guard();
    // Races are undefined behaviour in C, so they are looked for wherever that is possible.
    let probe = check::options(args, &method, quasi, args.races, guard.budget())?;
    let races = args.races || (!args.no_races && method.covers(&probe).data_races);
    let options = check::options(args, &method, quasi, races, guard.budget())?;
    let covers = method.covers(&options);
    let loaded = Compiled::load(files, Path::new(&folder), args.compiler.leaks)?;
    let (known, budget) = (loaded.facts(), guard.budget());
    let facts = || known.clone();
    let search = Search { loaded: &loaded, args, method, covers, races, facts: &facts, budget };
    let jobs = args.work.jobs.jobs()?;
    match parts {
        Some((what, root)) => {
            let parts = Parts { what, root, jobs };
            search.run_in_parts(&parts, interrupted.as_ref(), &options, screen)
        }
        None => {
            if jobs.get() > 1 {
                let (why, instead) = work::not_divisible(args, method, false);
                screen.warn(&format!("{why}; it runs in one process, {instead} in {jobs}"));
            }
            let first = |watch: &mut Watch| Ok(search.searched(&options, watch));
            besides::run(&search, &options, Duration::ZERO, screen, first)
        }
    }
}

/// Compiles for an existing build, if that is what the arguments of the process ask for.
pub(crate) fn compile(
    mut arguments: impl Iterator<Item = String>,
) -> Option<Result<Exit, Failure>> {
    let (language, variable, usual) = match arguments.next()?.as_str() {
        "cc" => (Language::C, "SELVEDGE_CC", "cc"),
        "c++" => (Language::Cxx, "SELVEDGE_CXX", "c++"),
        _ => return None,
    };
    let arguments: Vec<String> = arguments.collect();
    // About selvedge and not about the compiler; these, and a call without arguments, are answered by the help of the command.
    if arguments.is_empty() || arguments == ["--help"] || arguments == ["-h"] {
        return None;
    }
    let run = || {
        let folder = Folder::new()?;
        let driver = Driver {
            compiler: compiler(None, variable, usual),
            language,
            arguments,
            folder: folder.0.clone(),
            cache: cache(),
        };
        match driver.run().map_err(unbuilt)? {
            0 => Ok(Exit::Good),
            // The compiler said why.
            _ => Err(Failure::Rendered(String::new())),
        }
    };
    Some(run())
}

/// A compiler without arguments.
pub(crate) fn compile_nothing() -> Result<Exit, Failure> {
    Err(Failure::User(
        "there is nothing to compile\n  name files: selvedge cc main.c -o main".to_owned(),
    ))
}

/// A program that comes with the tool, compiled and loaded into this process to be measured.
pub(crate) struct Measured {
    loaded: selvedge_native::Loaded,
    _folder: Folder,
}

/// Looks at nothing.
pub(crate) struct Unwatched;

impl Observer for Unwatched {}

impl Measured {
    /// Compiles a text. `None` if there is no compiler.
    pub(crate) fn new(name: &str, text: &str, flags: &[String]) -> Result<Option<Self>, Failure> {
        let folder = Folder::new()?;
        let file = folder.0.join(name).with_extension("c");
        crate::exit::write_file(&file, "the program", text)?;
        let sources = Sources {
            c: compiler(None, "CC", "cc"),
            cxx: compiler(None, "CXX", "c++"),
            files: vec![file.clone()],
            flags: flags.to_vec(),
            folder: folder.0.clone(),
            cache: cache(),
        };
        match sources.build() {
            Ok(built) => {
                let loaded = selvedge_native::Loaded::new(&built.module, &[file], &[]);
                let loaded = loaded.map_err(Failure::Internal)?;
                Ok(Some(Self { loaded, _folder: folder }))
            }
            Err(Unbuilt::Refused(_)) => Ok(None),
            Err(error) => Err(unbuilt(error)),
        }
    }

    /// Explores it with `optimal`.
    pub(crate) fn explore(&self, options: &Options) -> Report {
        let optimal = registry::named("optimal").expect("it comes with the tool");
        let make = || Named::new(self.loaded.program(), None);
        self.loaded.settle(|| optimal.explore_compiled(&make, options, &mut Unwatched))
    }
}

/// What needs the text of a model does not apply.
fn refuse_options(args: &CheckArgs) -> Result<(), Failure> {
    let refuse = |option: &str, why: &str| {
        Err(Failure::User(format!("{option} does not apply to C programs: {why}\n  leave it out")))
    };
    if args.symbolic.scheme.is_some() {
        return refuse("--symbolic", "there is no formula for compiled code");
    }
    if args.tree && (args.work.jobs.jobs()?.get() > 1 || args.work.checkpoint.is_some()) {
        return refuse(
            "--tree with --jobs or --checkpoint",
            "processes explore them, and do not record their executions",
        );
    }
    if !args.program.constants()?.is_empty() {
        return refuse("--const", "constants of C are set by the compiler: -- -DN=3");
    }
    if args.constraints.is_some() || args.check_constraints {
        return refuse(
            "--constraints",
            "independence constraints are about atomic blocks of models",
        );
    }
    let needs_states = args.algorithm.info().equivalence == Equivalence::State;
    if args.sampling.sample.is_none() && needs_states {
        let name = args.algorithm.info().name;
        return Err(Failure::User(format!(
            "--algorithm {name} does not apply to C programs: it compares states, which are \
             not known for compiled code\n  use another one: optimal, parsimonious, source, data-centric"
        )));
    }
    Ok(())
}

/// A schedule of a C program, to be replayed.
pub(crate) struct Replayed {
    files: Files,
    schedule: Schedule,
    races: bool,
    /// The memory model, if the schedule is one of an execution graph.
    memory: Option<Memory>,
    /// Variables on stacks that threads share.
    locals: Vec<(usize, usize)>,
}

impl Replayed {
    /// Returns what the arguments ask for, if it is a C program.
    pub(crate) fn of(args: &ReplayArgs) -> Result<Option<Self>, Failure> {
        if let Some(path) = &args.trace {
            let saved = Saved::read(path)?;
            let file = args.file.clone().unwrap_or_else(|| PathBuf::from(&saved.file));
            if !is_compiled(&file) {
                return Ok(None);
            }
            let mut compiler = args.compiler.clone();
            compiler.more.extend(saved.more.iter().map(PathBuf::from));
            compiler.flags.extend(saved.flags.iter().cloned());
            if compiler.spurious.is_usual() {
                compiler.spurious = saved.spurious;
            }
            let files = Files::new(&file, &compiler)?;
            if !saved.belongs_to(&files.text) && std::env::var_os(FOLDER).is_none() {
                complain(&format!(
                    "warning: {} has changed since the trace was saved: the schedule may lead to another execution\n",
                    file.display()
                ));
            }
            let races = args.races || saved.races;
            let locals = program::locals(&saved.locals)?;
            let memory = match args.weak.model {
                Some(memory) => Some(memory),
                None => saved.memory()?,
            };
            return Ok(Some(Self { files, schedule: saved.schedule()?, races, memory, locals }));
        }
        match (&args.file, &args.schedule) {
            (Some(file), Some(schedule)) if is_compiled(file) => {
                let files = Files::new(file, &args.compiler)?;
                let locals = program::locals(args.locals.as_deref().unwrap_or_default())?;
                let (schedule, races) = (schedule.clone(), args.races);
                let memory = args.weak.model;
                Ok(Some(Self { files, schedule, races, memory, locals }))
            }
            _ => Ok(None),
        }
    }

    /// Shows the execution, and what the program wrote.
    pub(crate) fn run(self, args: &ReplayArgs, screen: &Screen) -> Result<Exit, Failure> {
        let Some(folder) = std::env::var_os(FOLDER) else {
            let supervisor = Supervisor { files: &self.files, compiler: &args.compiler };
            return supervisor.replay(screen);
        };
        let check = self.files.command("check");
        let loaded = Compiled::load(self.files, Path::new(&folder), args.compiler.leaks)?;
        if let Some(memory) = self.memory {
            loaded.program.set_shared_locals(&self.locals);
            return weak::replay(&loaded, memory, &self.schedule, args, screen);
        }
        loaded.warm_up(&self.schedule, &self.locals);
        let exit = replay::show(&loaded, &self.schedule, self.races, &check, args, screen)?;
        show_output(&loaded.output(&self.schedule), args, screen)?;
        Ok(exit)
    }
}

/// Shows what the program wrote.
fn show_output(output: &str, args: &ReplayArgs, screen: &Screen) -> Result<(), Failure> {
    if !args.output.json && !output.is_empty() {
        let end = if output.ends_with('\n') { "" } else { "\n" };
        screen.print(&format!("\noutput of the program:\n{output}{end}"))?;
    }
    Ok(())
}

/// The process that compiles and waits.
struct Supervisor<'a> {
    files: &'a Files,
    compiler: &'a CompilerArgs,
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        // Each has a name of its own: a module of the same name would be taken for the one that is loaded.
        static FOLDERS: AtomicU32 = AtomicU32::new(0);
        let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("selvedge-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).map_err(|error| {
            Failure::User(format!(
                "{} cannot be written: {error}\n  choose another folder for temporary files: TMPDIR",
                path.display()
            ))
        })?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Supervisor<'_> {
    /// Compiles, unless that was done before.
    fn build(&self, folder: &Folder) -> Result<(), Failure> {
        if self.files.is_module() {
            return Ok(());
        }
        let sources = Sources {
            c: compiler(self.compiler.cc.as_deref(), "CC", "cc"),
            cxx: compiler(self.compiler.cxx.as_deref(), "CXX", "c++"),
            files: self.files.paths(),
            flags: self.files.flags().to_vec(),
            folder: folder.0.clone(),
            cache: cache(),
        };
        let built = sources.build().map_err(unbuilt)?;
        complain(&built.warnings);
        Ok(())
    }

    /// Runs the same command again, as a worker.
    fn work(&self, folder: &Folder) -> Result<ExitStatus, Failure> {
        self.run(folder, Command::new(own_name()?).args(std::env::args_os().skip(1)))
    }

    fn run(&self, folder: &Folder, command: &mut Command) -> Result<ExitStatus, Failure> {
        selvedge_native::supervise(command.env(FOLDER, &folder.0))
            .map_err(|error| Failure::User(format!("a second process cannot be started: {error}")))
    }

    fn check(&self, args: &CheckArgs, method: Method, screen: &Screen) -> Result<Exit, Failure> {
        let folder = Folder::new()?;
        self.build(&folder)?;
        let status = self.work(&folder)?;
        let Some(signal) = status.signal() else { return exit_of(status) };
        let schedule = program::recorded(&folder.0);
        let again = match &schedule {
            Some(schedule) if signal != libc_kill() => {
                self.is_ended_again(&folder, schedule, signal)?
            }
            _ => false,
        };
        let mut report = Report::default();
        let mut found = Vec::new();
        match (again, schedule) {
            (true, Some(schedule)) => {
                let message =
                    format!("the program crashed the process that runs it ({})", name_of(signal));
                let violation = Violation {
                    kind: ViolationKind::Crash,
                    message: message.clone(),
                    places: Vec::new(),
                    notes: vec!["the last step of the schedule leads there".to_owned()],
                    thread: None,
                };
                found.push(self.crash(&violation, &schedule));
                report.violations.push((violation, schedule));
            }
            (_, schedule) => {
                let schedule = schedule.map_or(String::new(), |schedule| {
                    format!("; it ran this schedule: {schedule}")
                });
                report.note(Inconclusive::GaveUp(format!(
                    "the process that runs the program was ended by {}{schedule}",
                    name_of(signal)
                )));
            }
        }
        let shown = Shown {
            verified: String::new(),
            summary: String::new(),
            statistics: None,
            outcome: Outcome {
                file: self.files.name().to_owned(),
                constants: Default::default(),
                method: method.reported(&report),
                covers: Covers { assertions: true, deadlocks: true, data_races: !args.no_races },
                report,
                found,
                source: Vec::new(),
                tree: None,
                time: Duration::ZERO,
                advice,
            },
            source: self.files.source(),
            locals: String::new(),
            memory: None,
            args,
        };
        let exit = shown.show(screen)?;
        match &args.work.checkpoint {
            // Whatever is left: this is the result.
            Some(path) if again => _ = std::fs::remove_file(path),
            Some(path) if path.exists() => {
                complain(&format!("to go on: selvedge resume {}\n", path.display()));
            }
            _ => {}
        }
        Ok(exit)
    }

    /// Whether a schedule ends a second worker by the same signal.
    fn is_ended_again(
        &self,
        folder: &Folder,
        schedule: &Schedule,
        signal: i32,
    ) -> Result<bool, Failure> {
        let mut command = Command::new(own_name()?);
        command.arg("replay").args(self.files.paths());
        command.args(self.files.spurious.typed().split_whitespace());
        command.arg("--schedule").arg(schedule.to_string()).arg("--").args(self.files.all_flags());
        command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
        Ok(self.run(folder, &mut command)?.signal() == Some(signal))
    }

    fn crash(&self, violation: &Violation, schedule: &Schedule) -> TraceView {
        let command = self.files.command("replay");
        TraceView {
            threads: Vec::new(),
            steps: Vec::new(),
            initial: Vec::new(),
            waiting: Vec::new(),
            ending: None,
            violations: vec![ViolationView {
                kind: violation.kind,
                message: violation.message.clone(),
                places: Vec::new(),
                notes: violation.notes.clone(),
                thread: None,
                race: None,
                replay: program::with_schedule(&command, schedule, "", &[]),
            }],
            schedule: schedule.clone(),
            calls: None,
        }
    }

    fn replay(&self, screen: &Screen) -> Result<Exit, Failure> {
        let folder = Folder::new()?;
        self.build(&folder)?;
        let status = self.work(&folder)?;
        match status.signal() {
            None => exit_of(status),
            Some(signal) => {
                screen.print(&format!(
                    "violated: the program crashed the process that runs it ({})\n",
                    name_of(signal)
                ))?;
                Ok(Exit::Violated)
            }
        }
    }
}

/// Returns the command of a compiler: as an option, in the environment, or the usual one. In the environment of a build
/// that selvedge takes part in, it is selvedge itself.
fn compiler(option: Option<&str>, variable: &str, usual: &str) -> String {
    let is_other = |name: &String| !name.is_empty() && !name.contains("selvedge");
    let set = || std::env::var(variable).ok().filter(is_other);
    option.map(str::to_owned).or_else(set).unwrap_or_else(|| usual.to_owned())
}

fn unbuilt(error: Unbuilt) -> Failure {
    match error {
        Unbuilt::Refused(reason) => Failure::User(reason),
        Unbuilt::Rejected(said) => Failure::Rendered(said),
    }
}

/// Returns this program.
fn own_name() -> Result<PathBuf, Failure> {
    std::env::current_exe()
        .map_err(|error| Failure::Internal(format!("this program is not known by name: {error}")))
}

/// A worker has shown everything.
fn exit_of(status: ExitStatus) -> Result<Exit, Failure> {
    match status.code() {
        Some(0) => Ok(Exit::Good),
        Some(1) => Ok(Exit::Violated),
        Some(3) => Ok(Exit::Inconclusive),
        // It said why.
        _ => Err(Failure::Rendered(String::new())),
    }
}

/// The signal that no process handles.
fn libc_kill() -> i32 {
    9
}

fn name_of(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal}, {name}")
}

/// Returns a folder for what can be made again.
fn cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || Some(PathBuf::from(set("HOME")?).join(".cache"));
    let base = set("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    Some(base.unwrap_or_else(std::env::temp_dir).join("selvedge"))
}

/// Returns flags as they are typed behind `--`.
fn typed(flags: &[String]) -> String {
    let words: Vec<String> = flags
        .iter()
        .map(|flag| if flag == "--" { flag.clone() } else { shell_flag(flag) })
        .collect();
    words.join(" ")
}

fn shell_flag(flag: &str) -> String {
    // A flag may begin with a hyphen, unlike the name of a file.
    match flag.strip_prefix('-') {
        Some(rest) if shell_word(&format!("x{rest}")) == format!("x{rest}") => flag.to_owned(),
        Some(_) => format!("'{}'", flag.replace('\'', r"'\''")),
        None => shell_word(flag),
    }
}
