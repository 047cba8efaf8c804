//! What a failing test prints.

use std::backtrace::Backtrace;
use std::borrow::Cow;

use selvedge_core::{Replay, Report, Schedule, Violation, ViolationKind};
use selvedge_explore::Memory;
use selvedge_report::{
    Origin, SourceView, TextOptions, TraceView, execution, grouped, has_room, plural, sources,
    violation,
};

use crate::backtrace::calls;
use crate::short_names;
use crate::spot::Spot;

/// How a report looks.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    width: usize,
    /// Whether it has the calls that led to a panic, if they are known.
    calls: bool,
    /// The memory model that executions are of.
    memory: Option<Memory>,
    /// Whether memory is guarded in them, without the test asking for it.
    guards: bool,
}

impl Look {
    /// The same everywhere.
    pub(crate) const PLAIN: Look = Look { width: 120, calls: false, memory: None, guards: false };

    /// For the terminal that a failing test is shown on, if it is one.
    pub(crate) fn of_terminal() -> Self {
        const LEAST: usize = 60;
        const MOST: usize = 160;
        let columns = [libc::STDOUT_FILENO, libc::STDERR_FILENO].into_iter().find_map(columns_of);
        let width = columns.map_or(Self::PLAIN.width, |columns| columns.clamp(LEAST, MOST));
        Self { width, calls: true, ..Self::PLAIN }
    }

    /// The same, for executions under a memory model, or with guarded memory.
    pub(crate) fn under(self, memory: Option<Memory>, guards: bool) -> Self {
        Self { memory, guards, ..self }
    }
}

fn columns_of(file: libc::c_int) -> Option<usize> {
    // SAFETY: a size is plain numbers, and the call writes one if it succeeds.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        (libc::ioctl(file, libc::TIOCGWINSZ, &raw mut size) == 0).then_some(size)
    };
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// The view of an execution that shows what is wrong, or of one that was asked for. `command`: what shows it again, before
/// its schedule and after it. `backtrace`: of the last panic in it.
pub(crate) fn view(
    replay: &Replay,
    violations: &[&Violation],
    command: (&str, &str),
    backtrace: Option<Backtrace>,
) -> TraceView {
    let mut view = TraceView::new(replay, violations, &Sources { command });
    let is_panic = view.violations.iter().any(|found| found.kind == ViolationKind::Panic);
    view.calls = backtrace.filter(|_| is_panic).map(|backtrace| calls(&backtrace));
    view
}

/// The source around what executions show.
pub(crate) fn source(views: &[TraceView]) -> Vec<SourceView> {
    sources(None, views, &Sources { command: ("", "") })
}

/// The text for one execution and what is wrong in it.
pub(crate) fn of_failure(look: Look, view: &TraceView) -> String {
    let options = TextOptions {
        width: look.width,
        colour: false,
        full: std::env::var_os("SELVEDGE_FULL").is_some(),
        full_hint: "SELVEDGE_FULL=1 shows all".to_owned(),
    };
    let mut text = String::new();
    for found in &view.violations {
        text.push_str(&format!("selvedge: {}\n", found.message));
        text.push_str(&violation(found, &options));
        text.push('\n');
    }
    text.push_str(&rows(view, &options));
    if let Some(calls) = view.calls.as_ref().filter(|_| look.calls) {
        text.push_str(&format!("\nthe calls that led to the panic:\n{calls}\n"));
    }
    if let Some(first) = view.violations.first() {
        let (schedule, command) = (&view.schedule, &first.replay);
        let memory =
            look.memory.map_or(String::new(), |memory| format!(".memory(Memory::{memory:?})"));
        let guards = if look.guards { ".guard_freed(true)" } else { "" };
        text.push_str(&format!(
            "\nto see it again: {command}\n\
             or in code:      selvedge::Builder::new(){memory}{guards}.replay(\"{schedule}\").check(…)\n\n"
        ));
    }
    text
}

/// The steps, if need be with shorter names.
fn rows(view: &TraceView, options: &TextOptions) -> String {
    match short_names::shorten(view) {
        Some((shorter, file)) if !has_room(view, options) => {
            format!("{}\n`@12` stands for line 12 of {file}\n", execution(&shorter, options))
        }
        _ => execution(view, options),
    }
}

/// The command that shows an execution again: what comes before the schedule, and after it.
pub(crate) struct ReplayCommand {
    pub(crate) before: String,
    pub(crate) after: String,
}

impl ReplayCommand {
    /// Of the check at `checked_at`, which this thread runs. `memory`: a model that the environment has to ask for. `guards`:
    /// whether it has to ask for guarded memory.
    pub(crate) fn new(checked_at: Spot, memory: Option<Memory>, guards: bool) -> Self {
        // A test may have several checks.
        let guards = if guards { "SELVEDGE_GUARD_FREED=1 " } else { "" };
        let variable = format!("{guards}SELVEDGE_REPLAY={}/", short(checked_at));
        match std::thread::current().name() {
            Some(name) if name != "main" => Self {
                before: format!("{}{variable}", flags(memory)),
                after: format!(" cargo test {name}"),
            },
            _ => Self {
                before: format!("set {}{variable}", memory.map_or(String::new(), asking)),
                after: " and run the same command".to_owned(),
            },
        }
    }
}

/// What asks for a memory model.
fn asking(memory: Memory) -> String {
    format!("SELVEDGE_MEMORY={} ", memory.name())
}

/// Flags of the compiler without which there might be no such test: `--cfg loom`; and the memory model that the
/// environment asks for, or has to.
fn flags(memory: Option<Memory>) -> String {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    let flags = match flags.contains("--cfg") && !flags.contains('\'') {
        true => format!("RUSTFLAGS='{flags}' "),
        false => String::new(),
    };
    let set = std::env::var("SELVEDGE_MEMORY").ok().filter(|name| !name.is_empty());
    let set = set.map_or(String::new(), |name| format!("SELVEDGE_MEMORY={name} "));
    format!("{flags}{}", memory.map_or(set, asking))
}

/// The file and the line of a check, as its schedules name it.
pub(crate) fn short(checked_at: Spot) -> String {
    let file = checked_at.file().rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{file}:{}", checked_at.line())
}

/// The schedule that a replay variable has for the check at `checked_at`. Without a place it is for
/// all checks.
#[allow(clippy::print_stderr, reason = "the user of a replay wants to know why it is not done")]
pub(crate) fn schedule_of(variable: &str, checked_at: Spot) -> Option<String> {
    let (place, schedule) = match variable.rsplit_once('/') {
        None => return Some(variable.to_owned()),
        Some(parts) => parts,
    };
    let here = short(checked_at);
    if place == here {
        return Some(schedule.to_owned());
    }
    eprintln!(
        "selvedge: SELVEDGE_REPLAY is for the check at {place}; this one, at {here}, is explored"
    );
    None
}

/// What a verdict says nothing about.
pub(crate) const WEAK: &str = "orderings weaker than SeqCst are used: data races follow them, but \
                               loads of older values, which only weak memory shows, were not explored";

/// What a verdict says nothing about, if memory is freed that others know.
pub(crate) const PLAIN: &str = "memory is freed whose address other threads have: plain reads and writes of it \
                                after the free were not looked for (Builder::guard_freed)";

/// What was explored in a search of its own.
pub(crate) fn no_plain_use(executions: u64) -> String {
    format!(
        "memory is freed whose address other threads have: no plain use of it after the free in {}",
        plural(executions, "execution", "executions")
    )
}

/// What was explored under a memory model.
pub(crate) fn explored(memory: Memory) -> String {
    format!(
        "{}: loads see every value that this memory model allows; values out of thin air (load buffering) are left out",
        memory.name()
    )
}

/// What was explored besides.
pub(crate) fn also(memory: Memory, executions: u64) -> String {
    format!(
        "orderings weaker than SeqCst are used: no violation in {} under {} either",
        plural(executions, "execution", "executions"),
        memory.name()
    )
}

/// What was not explored besides.
pub(crate) fn not_all(memory: Memory, executions: u64) -> String {
    format!(
        "orderings weaker than SeqCst are used: {} under {}, not all, and no violation in them",
        plural(executions, "execution", "executions"),
        memory.name()
    )
}

/// One line about how much was run, and what was not looked at.
pub(crate) fn summary(report: &Report, how: &str, not_covered: &[String]) -> String {
    let counts = report.counts;
    let mut text = format!(
        "selvedge: {} ({how}), {}, longest {}, {}\n",
        plural(counts.maximal(), "execution", "executions"),
        plural(report.steps, "step", "steps"),
        grouped(report.longest as u64),
        plural(report.threads as u64, "thread", "threads"),
    );
    for line in not_covered {
        text.push_str(&format!("selvedge: {line}\n"));
    }
    text
}

/// Where the executions of a check come from.
struct Sources<'a> {
    /// What shows an execution again: the text before its schedule, and after it.
    command: (&'a str, &'a str),
}

impl Origin for Sources<'_> {
    /// Paths are relative to where the compiler ran, which is here or further up.
    fn text(&self, file: &str) -> Option<Cow<'_, str>> {
        let here = std::env::current_dir().ok()?;
        let text =
            here.ancestors().find_map(|folder| std::fs::read_to_string(folder.join(file)).ok())?;
        Some(Cow::Owned(text))
    }

    fn replay_command(&self, schedule: &Schedule, _: ViolationKind) -> String {
        let (before, after) = self.command;
        format!("{before}{schedule}{after}")
    }
}
