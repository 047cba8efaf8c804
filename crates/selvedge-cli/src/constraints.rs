//! `selvedge constraints`: independence constraints between atomic blocks, synthesised by the solver; and the source
//! of the constraints of `check`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use selvedge_core::{Budget, Fact, FactValue, Spent};
use selvedge_lang::ir::{Atomic, Op, Program};
use selvedge_report::{plural, seconds, to_text};
use selvedge_symbolic::constraints::{Constraint, Found, GiveUp, Synthesis, pairs, synthesise};
use selvedge_symbolic::{Caps, Values};
use serde::Serialize;

use crate::args::ConstraintsArgs;
use crate::exit::{self, Exit, Failure};
use crate::on_demand::OnDemand;
use crate::screen::Screen;
use crate::so_far::shown_in_any_case;
use crate::source::{self, Constants, Loaded};

/// Where independence constraints come from, besides those in the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// Nowhere else.
    Declared,
    /// The solver.
    Synthesised,
    /// A file.
    File(PathBuf),
}

/// The work spent on a pair before a check: see [`Solver::solve`](selvedge_symbolic::solver::Solver::solve).
/// A pair that can be solved rarely takes a third of it, and all of it takes about two seconds. Counted, not
/// timed, so the result does not depend on the load. A pair without a constraint is dependent: that costs executions, and hides
/// nothing.
pub(crate) const WORK: u64 = 10_000;
/// All pairs together before a check.
pub(crate) const TOTAL_WORK: u64 = 40_000;

/// The constraints of a check.
pub(crate) struct Used {
    declared: usize,
    /// From a file.
    read: usize,
    /// Synthesised.
    found: Option<Arc<OnDemand>>,
}

/// One pair of blocks.
struct Pair {
    synthesis: Synthesis,
    time: Duration,
}

/// Finds constraints and shows them.
pub(crate) fn run(args: &ConstraintsArgs, screen: &Screen) -> Result<Exit, Failure> {
    let loaded = Loaded::new(&args.program, screen)?;
    let guard = args.guard();
    let started = Instant::now();
    let pairs = all_pairs(loaded.program(), args.pair_work, guard.budget());
    // Large enough from the beginning: code that is stopped in the allocator must not hold the lock.
    let done = Mutex::new(Vec::with_capacity(pairs.len()));
    let so_far = || done.lock().unwrap_or_else(PoisonError::into_inner);
    let show = |exit| {
        let (all, time) = (so_far(), started.elapsed());
        let text = match args.json {
            true => to_text(&ConstraintsJson::new(&loaded, &all, time)),
            false => text(&loaded, &all, time),
        };
        let printed = screen.print(&text);
        let written = args.write.as_ref().map_or(Ok(()), |path| write(path, &loaded, &all));
        exit::after(exit, [printed, written])
    };
    let conclude = |_| {
        exit::complain("the memory limit was reached: the other pairs of blocks are missing\n");
        show(Exit::Inconclusive)
    };
    shown_in_any_case(&conclude, || {
        for pair in pairs {
            so_far().push(pair);
        }
    });
    show(if guard.budget().is_spent() { Exit::Inconclusive } else { Exit::Good })
}

/// Returns the program of `check` or `compare`, with its constraints. Unless the user says where from, they are
/// synthesised if the program declares none and they are `wanted`.
pub(crate) fn loaded(
    loaded: Loaded,
    from: Option<&Origin>,
    wanted: bool,
    budget: &Budget,
    screen: &Screen,
) -> Result<(Loaded, Used), Failure> {
    let declared = loaded.program().independence.len();
    let from = match from {
        Some(from) => from,
        None if wanted && declared == 0 => &Origin::Synthesised,
        None => &Origin::Declared,
    };
    let mut found = None;
    let loaded = match from {
        Origin::Declared => loaded,
        Origin::File(path) => {
            let text = source::read_text(path)?;
            let stale = check_identity(path, &text, &loaded);
            let name = path.to_string_lossy().into_owned();
            match (loaded.with_constraints(name, text, screen), stale) {
                (Ok(loaded), Ok(())) => loaded,
                (Ok(_), Err(stale)) => return Err(stale),
                // What is wrong in it has a place, and comes first.
                (Err(Failure::Rendered(wrong)), Err(Failure::User(stale))) => {
                    return Err(Failure::Rendered(format!("{wrong}\nerror: {stale}\n")));
                }
                (Err(wrong), _) => return Err(wrong),
            }
        }
        Origin::Synthesised => {
            let (loaded, finder) = loaded.finding_constraints(budget);
            found = Some(finder);
            loaded
        }
    };
    let read = loaded.program().independence.len() - declared;
    Ok((loaded, Used { declared, read, found }))
}

impl Used {
    /// Returns whether some are the user's: in the program, or in a file.
    pub(crate) fn are_given(&self) -> bool {
        self.declared + self.read > 0
    }

    /// For the lines under a verdict.
    pub(crate) fn facts(&self) -> Vec<Fact> {
        let count = |name, count: usize| Fact { name, value: FactValue::Count(count as u64) };
        let mut facts = vec![count("constraints declared", self.declared)];
        if self.read > 0 {
            facts.push(count("constraints read", self.read));
        }
        if let Some(found) = &self.found {
            let known = found.so_far();
            facts.push(count("constraints found", known.found));
            let value = FactValue::Text(seconds(known.time));
            facts.push(Fact { name: "time to find them", value });
            if !known.given_up.is_empty() {
                let value = FactValue::Text(some_of(&known.given_up));
                facts.push(Fact { name: "no constraints for", value });
            }
        }
        facts
    }
}

/// Returns the first few of many texts.
fn some_of(all: &[String]) -> String {
    let mut text = all[..all.len().min(3)].join("; ");
    if all.len() > 3 {
        text.push_str(&format!("; and {} more (selvedge constraints)", all.len() - 3));
    }
    text
}

/// Solves one pair of blocks after the other.
fn all_pairs(program: &Program, work: u64, budget: &Budget) -> impl ExactSizeIterator<Item = Pair> {
    let values = Values::of(program, &Caps::default());
    pairs(program).into_iter().map(move |pair| {
        let started = Instant::now();
        let budget = budget.with_work(work);
        let synthesis = synthesise(program, pair, &values, &Caps::default(), &budget);
        Pair { synthesis, time: started.elapsed() }
    })
}

/// What the line begins with that says which program a file of constraints belongs to.
const IDENTITY: &str = "// program: ";

/// Constraints of another program, or of other constants, may be wrong here: two steps that do not commute would be
/// treated as independent.
fn check_identity(path: &Path, text: &str, loaded: &Loaded) -> Result<(), Failure> {
    let known = text.lines().find_map(|line| line.trim().strip_prefix(IDENTITY));
    let expected = loaded.identity();
    let file = path.display();
    let why = match known {
        Some(known) if known.trim() == expected => return Ok(()),
        Some(_) => format!(
            "{file} belongs to another program, or to other values of the constants, than {}",
            loaded.name()
        ),
        None => format!("{file} does not say which program it belongs to"),
    };
    let command = loaded.command("constraints");
    let path = source::shell_word(&path.to_string_lossy());
    Err(Failure::User(format!(
        "{why}\n  write it again: {command} --write {path}\n  or, if you know that each constraint holds \
         here, begin it with the line `{IDENTITY}{expected}`"
    )))
}

fn write(path: &Path, loaded: &Loaded, all: &[Pair]) -> Result<(), Failure> {
    let mut text = format!("// Independence constraints of {}", loaded.name());
    let constants = loaded.constants_text();
    if !constants.is_empty() {
        text.push_str(&format!(" with {constants}"));
    }
    text.push_str(", found by `selvedge constraints`.\n");
    text.push_str(&format!("{IDENTITY}{}\n", loaded.identity()));
    for pair in all {
        let declarations = pair.synthesis.declarations();
        match &pair.synthesis.found {
            Err(reason) => {
                let [first, second] = &pair.synthesis.heads;
                text.push_str(&format!("// {first}, {second}: none: {}\n", because(reason)));
            }
            Ok(_) => text.push_str(&declarations),
        }
    }
    exit::write_file(path, "the file of constraints", &text)
}

fn text(loaded: &Loaded, all: &[Pair], time: Duration) -> String {
    let mut out = String::new();
    let mut guarded = false;
    let mut count = 0;
    for pair in all {
        let [first, second] = &pair.synthesis.heads;
        let took = seconds(pair.time);
        out.push_str(&format!("{first}, {second}: {}, {took}\n", summary(&pair.synthesis.found)));
        let constraints = pair.synthesis.found.iter().flat_map(|found| &found.constraints);
        count += constraints.clone().count();
        // "always" has said it.
        let constraints = constraints.filter(|constraint| constraint.text().is_some());
        let lines: Vec<(String, String)> = constraints.map(shown).collect();
        let width = lines.iter().map(|(condition, _)| condition.chars().count()).max().unwrap_or(0);
        for (condition, guard) in &lines {
            guarded |= !guard.is_empty();
            let line = format!("  {condition:<width$}  {guard}");
            out.push_str(&format!("{}\n", line.trim_end()));
        }
    }
    out.push_str(&notes(loaded, all, guarded));
    let pairs = plural(all.len() as u64, "pair", "pairs");
    let found = plural(count as u64, "constraint", "constraints");
    out.push_str(&format!("{pairs}, {found}, {}\n", seconds(time)));
    out
}

fn summary(found: &Result<Found, GiveUp>) -> String {
    match found {
        Err(reason) => format!("none: {}", because(reason)),
        Ok(found) => {
            let count = found.constraints.len() as u64;
            match (count, found.complete) {
                (0, true) => "never independent".to_owned(),
                (0, false) => "none found".to_owned(),
                (1, true) if found.constraints[0].text().is_none() => "always".to_owned(),
                (_, true) => plural(count, "constraint", "constraints"),
                (_, false) => {
                    format!("{}, perhaps not all", plural(count, "constraint", "constraints"))
                }
            }
        }
    }
}

pub(crate) fn because(reason: &GiveUp) -> String {
    match reason {
        GiveUp::Stopped(Spent::Work) => "the limit on work was reached (--pair-work)".to_owned(),
        GiveUp::Stopped(spent) => spent.to_string(),
        GiveUp::Unsupported { block, what, line } => format!("`{block}` {what} (line {line})"),
        GiveUp::TooLarge(reason) => (*reason).to_owned(),
        GiveUp::NoName => "constraints cannot refer to it".to_owned(),
    }
}

fn shown(constraint: &Constraint) -> (String, String) {
    let condition = match constraint.condition.as_slice() {
        [] => "true".to_owned(),
        parts => parts.join(" && "),
    };
    let guard = match constraint.guard.as_slice() {
        [] => String::new(),
        parts => format!("guard: {}", parts.join(" && ")),
    };
    (condition, guard)
}

fn notes(loaded: &Loaded, all: &[Pair], guarded: bool) -> String {
    let mut out = String::from("\n");
    if guarded {
        out.push_str("a guard excludes overflows that would depend on the order\n");
    }
    let program = loaded.program();
    for number in 1.. {
        let is_it = |atomic: &&Atomic| atomic.number == Some(number);
        let Some(atomic) = program.atomics.iter().find(is_it) else { break };
        let begin = program.procedures[atomic.procedure.index()].code.iter().find(|it| {
            matches!(it.op, Op::AtomicBegin { atomic } if program.atomics[atomic.index()].number == Some(number))
        });
        if let Some(begin) = begin {
            let line = program.sites[begin.site.index()].line;
            out.push_str(&format!("atomic {number} is the block on line {line}\n"));
        }
    }
    if all.is_empty() {
        out.push_str("there are no atomic procedures and no atomic blocks\n");
    }
    out
}

#[derive(Serialize)]
struct ConstraintsJson {
    version: &'static str,
    command: &'static str,
    file: String,
    constants: Constants,
    pairs: Vec<PairJson>,
    seconds: f64,
}

#[derive(Serialize)]
struct PairJson {
    first: String,
    second: String,
    constraints: Vec<ConstraintJson>,
    complete: bool,
    gave_up: Option<String>,
    seconds: f64,
}

#[derive(Serialize)]
struct ConstraintJson {
    condition: String,
    guard: Option<String>,
    declaration: String,
}

impl ConstraintsJson {
    fn new(loaded: &Loaded, all: &[Pair], time: Duration) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            command: "constraints",
            file: loaded.file.clone(),
            constants: loaded.constants.clone(),
            pairs: all.iter().map(PairJson::new).collect(),
            seconds: time.as_secs_f64(),
        }
    }
}

impl PairJson {
    fn new(pair: &Pair) -> Self {
        let [first, second] = pair.synthesis.heads.clone();
        let found = pair.synthesis.found.as_ref();
        let declarations = pair.synthesis.declarations();
        let constraints = found.iter().flat_map(|found| &found.constraints);
        let constraints = constraints.zip(declarations.lines()).map(|(constraint, line)| {
            let guard = constraint.guard.join(" && ");
            ConstraintJson {
                condition: shown(constraint).0,
                guard: (!guard.is_empty()).then_some(guard),
                declaration: line.to_owned(),
            }
        });
        Self {
            first,
            second,
            constraints: constraints.collect(),
            complete: found.is_ok_and(|found| found.complete),
            gave_up: found.err().map(because),
            seconds: pair.time.as_secs_f64(),
        }
    }
}
