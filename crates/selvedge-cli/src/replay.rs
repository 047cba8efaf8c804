//! `selvedge replay`: replays a schedule and shows its execution.

use std::io::{BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

use selvedge_core::{
    Describe, Effect, Ending, Numbering, Schedule, Status, System as _, ThreadId, Violation,
};
use selvedge_explore::{Fairness, Memory};
use selvedge_report::{
    Origin, ReplayJson, Style, TraceView, execution, page, plural, sources, status_text, to_text,
    violation, visible, width,
};

use crate::args::{Form, ReplayArgs};
use crate::exit::{self, Exit, Failure, complain};
use crate::imports::with_imports;
use crate::native;
use crate::saved::Saved;
use crate::screen::Screen;
use crate::source::{self, Constants, Loaded, Source, Subject};
use crate::weak;

/// Follows a schedule and shows what happens.
pub(crate) fn run(args: &ReplayArgs, screen: &Screen) -> Result<Exit, Failure> {
    args.output.check()?;
    if let Some(compiled) = native::Replayed::of(args)? {
        return compiled.run(args, screen);
    }
    args.compiler.refuse()?;
    let Wanted { loaded, schedule, races, memory } = load(args, screen)?;
    if let Some(memory) = memory {
        return weak::replay(&loaded, memory, &schedule, races, args, screen);
    }
    let check = loaded.command("check");
    show(&loaded, &schedule, races, &check, args, screen)
}

/// Follows a schedule, and shows what happens. `check` is the command that finds schedules.
pub(crate) fn show<L: Subject>(
    loaded: &L,
    schedule: &Schedule,
    races: bool,
    check: &str,
    args: &ReplayArgs,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let mut system = loaded.system();
    let replay = selvedge_core::replay(&mut system, schedule).map_err(|error| {
        Failure::User(format!(
            "{error}\n  \
             a schedule belongs to one program and its constants; find one: {check}"
        ))
    })?;
    let mut broken =
        selvedge_explore::broken_promises(&mut loaded.system(), schedule).map_err(Failure::User)?;
    let fairness = args.fairness.into();
    let unfair = selvedge_explore::unfair_to(&mut loaded.system(), schedule, fairness);
    if unfair.is_some() {
        broken.clear();
    }
    let races = if races { selvedge_explore::data_races(&system, &replay) } else { Vec::new() };
    let violations: Vec<&Violation> = replay.violations().chain(&races).chain(&broken).collect();
    let trace = TraceView::new(&replay, &violations, loaded);
    let exit = if violations.is_empty() { Exit::Good } else { Exit::Violated };
    let exit = output(&trace, exit, loaded.origin(), loaded, args, screen, || {
        if args.step {
            return step_through(loaded, &trace, screen);
        }
        let options = screen.text_options(args.output.full);
        let text = format!("{}\n{}", execution(&trace, &options), ending(&trace, screen));
        screen.print(&text)
    })?;
    if let Some(thread) = unfair {
        screen.warn(&not_counted(&trace, thread, fairness));
    }
    Ok(exit)
}

/// Writes the files that were asked for, and prints the execution in the form that was asked for, or else by `text`.
pub(crate) fn output(
    trace: &TraceView,
    exit: Exit,
    from: Source<'_>,
    origin: &dyn Origin,
    args: &ReplayArgs,
    screen: &Screen,
    text: impl FnOnce() -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    let Source { file, shown, constants, .. } = from;
    let source = sources(Some(shown), [trace], origin);
    let json = ReplayJson::new(file, constants, trace, &source);
    let render = |form| match form {
        Form::Json => to_text(&json),
        Form::Page => page(&json),
        Form::Picture(picture) => picture.of(trace),
    };
    let written = args.output.write(|form| Some(render(form)));
    match args.output.printed_form() {
        Some(form) => screen.print(&render(form))?,
        None => text()?,
    }
    exit::after(exit, written)
}

/// Says why an execution does not count for promises.
fn not_counted(trace: &TraceView, thread: ThreadId, fairness: Fairness) -> String {
    let often = match fairness {
        Fairness::Strong => "somewhere in",
        Fairness::Weak | Fairness::None => "everywhere in",
    };
    let (name, how) = (trace.name(thread), fairness.name());
    format!(
        "with --fairness {how} this execution does not count for promises: {name} can run {often} the steps that repeat, and \
         never does; --fairness none counts all executions"
    )
}

/// What to show.
struct Wanted {
    loaded: Loaded,
    schedule: Schedule,
    /// Whether data races are looked for.
    races: bool,
    /// The memory model, if the schedule is one of an execution graph.
    memory: Option<Memory>,
}

/// Returns the program and the schedule, from the arguments or from a saved trace.
fn load(args: &ReplayArgs, screen: &Screen) -> Result<Wanted, Failure> {
    let given = args.given.by_name()?;
    let (Some(path), None) = (&args.trace, &args.schedule) else {
        let (file, schedule) = args.file.clone().zip(args.schedule.clone()).ok_or_else(|| {
            Failure::User(
                "replay needs a file and a schedule: see selvedge replay --help".to_owned(),
            )
        })?;
        let loaded = load_program(&file, given, screen)?;
        return Ok(Wanted { loaded, schedule, races: args.races, memory: args.weak.model });
    };
    let saved = Saved::read(path)?;
    let schedule = saved.schedule()?;
    let file = match &args.file {
        Some(file) => file.clone(),
        None => PathBuf::from(&saved.file),
    };
    let mut constants = saved.constants.clone();
    constants.extend(given);
    let loaded = load_program(&file, constants, screen)?;
    if !saved.belongs_to(&loaded.text) {
        screen.warn(&format!(
            "{} has changed since the trace was saved: the schedule may lead to another execution",
            loaded.name()
        ));
    }
    let memory = match args.weak.model {
        Some(memory) => Some(memory),
        None => saved.memory()?,
    };
    Ok(Wanted { loaded, schedule, races: args.races || saved.races, memory })
}

fn load_program(file: &Path, constants: Constants, screen: &Screen) -> Result<Loaded, Failure> {
    let text = with_imports(file, source::read(file)?);
    Loaded::compile(file.to_string_lossy().into_owned(), text, constants, screen)
}

/// Returns what the execution shows in the end.
pub(crate) fn ending(trace: &TraceView, screen: &Screen) -> String {
    if !trace.violations.is_empty() {
        let options = screen.text_options(false);
        let head = screen.paint.style(Style::Bad, "violated");
        let texts = trace.violations.iter();
        return texts
            .map(|found| format!("{head}: {}\n{}", found.message, violation(found, &options)))
            .collect::<Vec<_>>()
            .join("\n");
    }
    let stopped = trace.steps.iter().find_map(|step| step.stopped.as_ref());
    let able = trace.waiting.iter().filter(|waiting| waiting.status == Status::Enabled).count();
    match (trace.ending, stopped) {
        (_, Some(reason)) => format!("no violation, but the tool gave up: {reason}\n"),
        (Some(Ending::Complete), _) => "no violation: every thread finished\n".to_owned(),
        (Some(Ending::Deadlocked), _) => "no violation: only daemon threads wait\n".to_owned(),
        (Some(Ending::Blocked), _) => {
            "no violation: a thread is blocked by an `assume` that is false, so the execution does not \
             count\n"
                .to_owned()
        }
        (None, _) if trace.schedule.cycle.is_some() => {
            let first = trace.schedule.cycle.map_or(0, |before| before + 1);
            format!("no violation: steps {first} to {} repeat forever\n", trace.steps.len())
        }
        (None, _) => {
            let able = plural(able as u64, "thread can", "threads can");
            format!("no violation so far: the schedule ends here, and {able} continue\n")
        }
    }
}

/// Shows one step at a time.
fn step_through<L: Subject>(loaded: &L, trace: &TraceView, screen: &Screen) -> Result<(), Failure> {
    let mut system = loaded.system();
    system.restart();
    let mut effect = Effect::default();
    let mut input = Input::new();
    screen.print(&states(&system, screen))?;
    let mut numbering = Numbering::default();
    for (i, &step) in trace.schedule.steps.iter().enumerate() {
        if input.wait() == Wish::Quit {
            return Ok(());
        }
        let step = numbering.step(&system, step);
        system.step(step, &mut effect);
        let view = &trace.steps[i];
        let line = view.place.as_ref().map_or(String::new(), |at| format!(", line {}", at.line));
        let switch = if view.switch { "▸ " } else { "" };
        let head = format!(
            "{switch}step {} of {}: {}{line}: {}",
            i + 1,
            trace.steps.len(),
            view.name,
            trace.told(view)
        );
        let mut text = format!("\n{}\n", screen.paint.style(Style::Strong, &head));
        if let Some(why) = &view.stopped {
            text.push_str(&format!("  ✗ {why}\n"));
        }
        text.push_str(&states(&system, screen));
        screen.print(&text)?;
    }
    screen.print(&format!("\n{}", ending(trace, screen)))
}

/// Returns a line for each existing thread: its next step.
fn states(system: &dyn Describe, screen: &Screen) -> String {
    let all = (0..system.thread_count()).map(ThreadId::new);
    let present: Vec<ThreadId> =
        all.filter(|&thread| system.status(thread) != Status::Absent).collect();
    let names: Vec<String> = present.iter().map(|&thread| system.thread_name(thread)).collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let mut out = String::new();
    for (&thread, name) in present.iter().zip(&names) {
        let blanks = " ".repeat(widest - width(name));
        let name = screen.paint.style(Style::Thread(thread.index()), name);
        out.push_str(&format!("  {name}{blanks}  {}\n", state(system, thread)));
    }
    out
}

fn state(system: &dyn Describe, thread: ThreadId) -> String {
    let status = system.status(thread);
    if matches!(status, Status::Finished | Status::Failed) {
        return status_text(status, "");
    }
    let pending = system.describe_pending(thread);
    let line = pending.place.map_or(String::new(), |at| format!("   (line {})", at.line));
    format!("{}{line}", status_text(status, &visible(&pending.text)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Next,
    Quit,
}

/// What the user wants after each step.
struct Input {
    /// The input has ended: the rest is shown.
    runs_on: bool,
    is_terminal: bool,
}

impl Input {
    fn new() -> Self {
        Self { runs_on: false, is_terminal: std::io::stdin().is_terminal() }
    }

    fn wait(&mut self) -> Wish {
        if self.runs_on {
            return Wish::Next;
        }
        if self.is_terminal {
            complain("[Enter: next step, c: all, q: quit] ");
        }
        let mut line = Vec::new();
        let read = std::io::stdin().lock().read_until(b'\n', &mut line);
        match (read, String::from_utf8_lossy(&line).trim()) {
            // At the end of its input a script wants the rest; a person at a terminal does not.
            (Ok(0) | Err(_), _) if self.is_terminal => Wish::Quit,
            (_, "q" | "quit") => Wish::Quit,
            (Ok(0) | Err(_), _) | (_, "c") => {
                self.runs_on = true;
                Wish::Next
            }
            _ => Wish::Next,
        }
    }
}
