//! `selvedge compare`: all algorithms side by side.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use selvedge_core::{Bound, Covers, Inconclusive, Report, Verdict};
use selvedge_explore::{Equivalence, Memory, Observers, Options, QuasiOptions, Setting};
use selvedge_report::{
    Align, CompareJson, CompareRowJson, InconclusiveJson, Style, Table, bytes, grouped, plural,
    rate, seconds, to_text,
};

use crate::advice::advice;
use crate::args::CompareArgs;
use crate::check::{asked_for, confirm_all};
use crate::constraints::Used;
use crate::exit::{self, Exit, Failure};
use crate::guard::Guard;
use crate::progress::Watch;
use crate::registry::{self, Chosen};
use crate::screen::Screen;
use crate::so_far::shown_in_any_case;
use crate::source::Loaded;
use crate::{constraints, guard, memory, weak};

/// Runs the algorithms one after the other and shows a table.
pub(crate) fn run(args: &CompareArgs, screen: &Screen) -> Result<Exit, Failure> {
    let searches = args.searches()?;
    let has_constraints =
        searches.iter().any(|(algorithm, _)| algorithm.takes(Setting::Constraints));
    let wants_constraints = has_constraints && !args.races;
    let from = args.constraints.as_ref();
    let loaded = Loaded::new(&args.program, screen)?;
    let guard = args.guard();
    let (loaded, used) =
        constraints::loaded(loaded, from, wants_constraints, guard.budget(), screen)?;
    // Large enough from the beginning: code that is stopped in the allocator must not hold the lock.
    let takes = |algorithm: &Chosen| args.observers && algorithm.takes(Setting::Observers);
    let with_observers: Vec<Chosen> = registry::all().filter(takes).collect();
    let wanted = searches.len() + with_observers.len() + args.memories.len();
    let rows = Mutex::new(Vec::with_capacity(wanted));
    let rows_so_far = || rows.lock().unwrap_or_else(PoisonError::into_inner);
    let conclude = |_| {
        exit::complain("the memory limit was reached: the other algorithms are missing\n");
        show(&rows_so_far(), wanted, args, (&loaded, &used), screen)
    };
    shown_in_any_case(&conclude, || {
        for &(algorithm, quasi) in &searches {
            if !guard::is_interrupted() {
                let row = measure(algorithm, quasi, Observers::Absent, args, &loaded)?;
                rows_so_far().push(row);
            }
        }
        for &algorithm in &with_observers {
            if !guard::is_interrupted() {
                let quasi = QuasiOptions::default();
                let row = measure(algorithm, quasi, Observers::Decide, args, &loaded)?;
                rows_so_far().push(row);
            }
        }
        for &memory in &args.memories {
            if !guard::is_interrupted() {
                let row = measure_graphs(memory, args, &loaded)?;
                rows_so_far().push(row);
            }
        }
        Ok(())
    })?;
    show(&rows_so_far(), wanted, args, (&loaded, &used), screen)
}

fn show(
    rows: &[Row],
    wanted: usize,
    args: &CompareArgs,
    (loaded, used): (&Loaded, &Used),
    screen: &Screen,
) -> Result<Exit, Failure> {
    let rows_agree = |rows: &[&Row]| verdicts_agree(rows, args.races) && counts_agree(rows);
    let agree = rows_agree(&rows.iter().collect::<Vec<_>>());
    let text = if args.json {
        to_text(&json(rows, agree, args, loaded))
    } else {
        text(rows, wanted, args, loaded, screen)
    };
    screen.print(&text)?;
    if agree {
        return Ok(exit_of(rows));
    }
    let text = disagreement(rows);
    let has_constraints = |row: &&Row| row.algorithm.takes(Setting::Constraints);
    let (_, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(has_constraints);
    if used.are_given() && rows_agree(&others) {
        let path = args.program.file.display();
        return Err(Failure::User(format!(
            "{text}\n  an independence constraint that was given does not hold; to find it: selvedge check {path} \
             --algorithm constrained --check-constraints"
        )));
    }
    Err(Failure::Internal(text))
}

/// What was run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ran {
    /// An algorithm of the registry.
    Algorithm(Chosen, Observers),
    /// Execution graphs under a memory model.
    Graphs(Memory),
}

impl Ran {
    fn name(self) -> &'static str {
        match self {
            Ran::Algorithm(algorithm, _) => algorithm.info().name,
            Ran::Graphs(_) => "graph",
        }
    }

    fn takes(self, setting: Setting) -> bool {
        matches!(self, Ran::Algorithm(algorithm, _) if algorithm.takes(setting))
    }

    fn covers(self) -> Covers {
        match self {
            Ran::Algorithm(algorithm, observers) => {
                let covers = algorithm.info().covers;
                let data_races = covers.data_races && observers == Observers::Absent;
                Covers { data_races, ..covers }
            }
            Ran::Graphs(_) => Covers::EVERYTHING,
        }
    }

    /// Returns the relation of whose classes it runs one execution each, if others have the same.
    fn equivalence(self) -> Option<Equivalence> {
        match self {
            Ran::Algorithm(algorithm, observers) => {
                Some(algorithm.info().equivalence_with(observers))
            }
            Ran::Graphs(_) => None,
        }
    }

    fn equivalence_name(self) -> &'static str {
        self.equivalence().map_or(weak::EQUIVALENCE, Equivalence::name)
    }

    /// Returns whether it explores the executions of sequential consistency, as all others do.
    fn is_sequential(self) -> bool {
        !matches!(self, Ran::Graphs(memory) if memory != Memory::Sc)
    }
}

/// The result of one algorithm.
struct Row {
    algorithm: Ran,
    /// Of `quasi`, unless it looks at all that sleep.
    k: Option<NonZeroU32>,
    report: Report,
    /// What is wrong, in words.
    messages: Vec<String>,
    time: Duration,
    peak: u64,
}

impl Row {
    fn name(&self) -> String {
        let name = self.algorithm.name();
        match self.algorithm {
            Ran::Graphs(memory) => format!("{name} --memory {}", memory.name()),
            Ran::Algorithm(_, Observers::Decide) => format!("{name} --observers"),
            Ran::Algorithm(_, Observers::Absent) => {
                self.k.map_or(name.to_owned(), |k| format!("{name} --k {k}"))
            }
        }
    }

    /// Returns whether the search came to its end, so that its numbers are not only lower bounds.
    fn is_exhausted(&self) -> bool {
        !self.report.inconclusive.iter().any(|reason| match reason {
            Inconclusive::Bound(
                Bound::Executions(_)
                | Bound::Time
                | Bound::Memory
                | Bound::Work
                | Bound::Interrupted,
            ) => true,
            Inconclusive::Bound(_)
            | Inconclusive::GaveUp(_)
            | Inconclusive::Assumed(_)
            | Inconclusive::DataRace(_)
            | Inconclusive::Nondeterministic(_) => false,
        })
    }

    fn verdict(&self) -> Verdict {
        self.report.verdict()
    }
}

fn measure(
    algorithm: Chosen,
    quasi: QuasiOptions,
    observers: Observers,
    args: &CompareArgs,
    loaded: &Loaded,
) -> Result<Row, Failure> {
    let info = algorithm.info();
    let guard = Guard::start(Some(args.time));
    let options = Options {
        budget: guard.budget().clone(),
        keep_going: true,
        data_races: args.races && info.covers.data_races && observers == Observers::Absent,
        limits: args.limits(),
        quasi,
        observers,
        ..Options::default()
    };
    let mut watch = Watch::start(true, info.name);
    let make = || loaded.system();
    let (mut report, peak) = memory::peak_of(|| algorithm.explore(&make, &options, &mut watch));
    let time = watch.finish();
    let found = confirm_all(loaded, &mut report, guard.budget())?;
    let messages = found.iter().map(|trace| trace.violations[0].message.clone()).collect();
    let algorithm = Ran::Algorithm(algorithm, observers);
    Ok(Row { algorithm, k: quasi.k, report, messages, time, peak })
}

fn measure_graphs(memory: Memory, args: &CompareArgs, loaded: &Loaded) -> Result<Row, Failure> {
    let guard = Guard::start(Some(args.time));
    let options = Options {
        budget: guard.budget().clone(),
        keep_going: true,
        data_races: args.races,
        limits: args.limits(),
        ..Options::default()
    };
    let mut watch = Watch::start(true, "graph");
    let (found, peak) =
        memory::peak_of(|| weak::explore(loaded, memory, &options, false, &mut watch));
    let time = watch.finish();
    let weak::Found { report, traces, .. } = found?;
    let messages = traces.iter().map(|trace| trace.violations[0].message.clone()).collect();
    Ok(Row { algorithm: Ran::Graphs(memory), k: None, report, messages, time, peak })
}

/// Returns whether no two conclusive verdicts contradict each other. Algorithms that cover less may miss
/// what others find.
fn verdicts_agree(rows: &[&Row], asked_for_races: bool) -> bool {
    let covers = |row: &Row| {
        let covers = row.algorithm.covers();
        (covers.assertions, covers.deadlocks, covers.data_races && asked_for_races)
    };
    // Under a weaker model there may be more to find.
    let rows: Vec<&Row> =
        rows.iter().copied().filter(|row| row.algorithm.is_sequential()).collect();
    rows.iter().filter(|row| row.verdict() == Verdict::Verified).all(|verified| {
        let contradicts =
            |row: &&&Row| row.verdict() == Verdict::Violated && covers(row) == covers(verified);
        !rows.iter().any(|row| contradicts(&row))
    })
}

/// Returns whether algorithms with the same equivalence found equally many classes of each kind: each of
/// them promises to complete exactly one execution per class.
fn counts_agree(rows: &[&Row]) -> bool {
    let mut counts = rows.iter().filter_map(|row| {
        let equivalence = row.algorithm.equivalence()?;
        // No explorer of states guarantees to visit a state once.
        let is_comparable = !matches!(equivalence, Equivalence::Interleaving | Equivalence::State)
            && row.is_exhausted()
            && row.report.counts.cut == 0;
        let counts = row.report.counts;
        let ended = (counts.complete, counts.deadlocked, counts.blocked);
        is_comparable.then_some((equivalence, ended))
    });
    let mut seen: Vec<(Equivalence, (u64, u64, u64))> = Vec::new();
    counts.all(|(equivalence, ended)| {
        let known = seen.iter().find(|(other, _)| *other == equivalence).copied();
        seen.push((equivalence, ended));
        known.is_none_or(|(_, other)| other == ended)
    })
}

fn disagreement(rows: &[Row]) -> String {
    let said = rows.iter().map(|row| {
        let name = row.name();
        let classes = plural(row.report.counts.maximal(), "class", "classes");
        format!("{name} says {} after {classes}", row.verdict())
    });
    format!("the algorithms contradict each other: {}", said.collect::<Vec<_>>().join(", "))
}

fn exit_of(rows: &[Row]) -> Exit {
    let has = |verdict| rows.iter().any(|row| row.verdict() == verdict);
    if has(Verdict::Violated) {
        Exit::Violated
    } else if has(Verdict::Verified) {
        Exit::Good
    } else {
        Exit::Inconclusive
    }
}

fn text(
    rows: &[Row],
    wanted: usize,
    args: &CompareArgs,
    loaded: &Loaded,
    screen: &Screen,
) -> String {
    let mut out =
        format!("{}\n\n{}", title(loaded), table(rows).render(screen.table_width, screen.paint));
    let unfinished = rows.iter().filter(|row| !row.is_exhausted()).count();
    if unfinished > 0 && !guard::is_interrupted() {
        out.push_str(&format!(
            "\n≥: stopped at a limit; to give each algorithm more time: --time {}\n",
            twice(args.time)
        ));
    }
    if guard::is_interrupted() {
        let missing = wanted - rows.len();
        out.push_str(&format!("\ninterrupted: {missing} of {wanted} algorithms did not run\n"));
    }
    for row in rows.iter().filter(|row| row.is_exhausted()) {
        for reason in &row.report.inconclusive {
            out.push_str(&format!("{}: {reason}\n", row.name()));
        }
    }
    let violated = rows.iter().find_map(|row| Some((row, row.messages.first()?)));
    if let Some((row, message)) = violated {
        let head = screen.paint.style(Style::Bad, "violated");
        let races = if args.races { " --races" } else { "" };
        let command = loaded.command("check");
        let (under, memory) = match row.algorithm {
            Ran::Algorithm(..) => (String::new(), String::new()),
            Ran::Graphs(memory) => {
                (format!(", under {}", memory.name()), format!(" --memory {}", memory.name()))
            }
        };
        out.push_str(&format!("\n{head}: {message}{under}\n  show it: {command}{memory}{races}\n"));
    }
    out
}

fn title(loaded: &Loaded) -> String {
    let constants = loaded.constants_text();
    match constants.as_str() {
        "" => loaded.name().to_owned(),
        constants => format!("{} with {constants}", loaded.name()),
    }
}

fn twice(time: Duration) -> String {
    format!("{}s", (2 * time).as_secs_f64().ceil())
}

fn table(rows: &[Row]) -> Table {
    // A column of its own, if an algorithm tells states apart.
    let has_states = rows.iter().any(|row| row.report.states.is_some());
    let mut columns = vec![
        ("algorithm", Align::Left),
        ("complete", Align::Right),
        ("deadlocked", Align::Right),
        ("blocked", Align::Right),
        ("redundant", Align::Right),
        ("cut", Align::Right),
        ("time", Align::Right),
        ("executions/s", Align::Right),
        ("memory", Align::Right),
        ("verdict", Align::Left),
        ("equivalence", Align::Left),
    ];
    if has_states {
        columns.insert(1, ("states", Align::Right));
    }
    let mut table = Table::new(&columns);
    for row in rows {
        let counts = row.report.counts;
        let bound = if row.is_exhausted() { "" } else { "≥ " };
        let number = |number: u64| format!("{bound}{}", grouped(number));
        let speed = rate(counts.total(), row.time).map_or("-".to_owned(), grouped);
        let mut cells = vec![
            row.name(),
            number(counts.complete),
            number(counts.deadlocked),
            number(counts.blocked),
            number(counts.redundant),
            number(counts.cut),
            seconds(row.time),
            speed,
            bytes(row.peak),
            row.verdict().name().to_owned(),
            row.algorithm.equivalence_name().to_owned(),
        ];
        if has_states {
            cells.insert(1, row.report.states.map_or("-".to_owned(), number));
        }
        table.row(cells);
    }
    table
}

fn json(rows: &[Row], agree: bool, args: &CompareArgs, loaded: &Loaded) -> CompareJson {
    let algorithms = rows.iter().map(|row| CompareRowJson {
        algorithm: match row.algorithm {
            Ran::Algorithm(algorithm, _) => algorithm.info().name.to_owned(),
            Ran::Graphs(_) => row.name(),
        },
        k: row.k.map(NonZeroU32::get),
        equivalence: row.algorithm.equivalence_name(),
        verdict: row.verdict().name(),
        exhausted: row.is_exhausted(),
        covers: asked_for(row.algorithm.covers(), args.races).into(),
        executions: row.report.counts.into(),
        states: row.report.states,
        steps: row.report.steps,
        seconds: row.time.as_secs_f64(),
        peak_bytes: row.peak,
        violations: row.messages.clone(),
        inconclusive: (row.report.inconclusive.iter())
            .map(|reason| InconclusiveJson::new(reason, &advice(reason)))
            .collect(),
    });
    CompareJson {
        version: env!("CARGO_PKG_VERSION"),
        command: "compare",
        file: loaded.file.clone(),
        constants: loaded.constants.clone(),
        agree,
        algorithms: algorithms.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_core::{Schedule, Violation, ViolationKind};
    use selvedge_explore::Algorithm;

    fn each(rows: &[Row]) -> Vec<&Row> {
        rows.iter().collect()
    }

    fn row(algorithm: Algorithm, verdict: Verdict) -> Row {
        let mut report = Report::default();
        match verdict {
            Verdict::Verified => {}
            Verdict::Inconclusive => report.note(Inconclusive::Bound(Bound::Time)),
            Verdict::Violated => {
                let violation = Violation {
                    kind: ViolationKind::Assertion,
                    message: "assertion `false` is false".to_owned(),
                    places: Vec::new(),
                    notes: Vec::new(),
                    thread: None,
                };
                report.violations.push((violation, Schedule::default()));
            }
        }
        Row {
            algorithm: Ran::Algorithm(algorithm.into(), Observers::Absent),
            k: None,
            report,
            messages: Vec::new(),
            time: Duration::ZERO,
            peak: 0,
        }
    }

    #[test]
    fn contradictions_are_seen() {
        use Verdict::{Inconclusive, Verified, Violated};
        let rows = |first, second| [row(Algorithm::Oracle, first), row(Algorithm::Optimal, second)];
        assert!(!verdicts_agree(&each(&rows(Verified, Violated)), false));
        assert!(!verdicts_agree(&each(&rows(Violated, Verified)), false));
        for (first, second) in [
            (Verified, Verified),
            (Violated, Violated),
            (Inconclusive, Violated),
            (Verified, Inconclusive),
        ] {
            assert!(verdicts_agree(&each(&rows(first, second)), false));
        }
        let text = disagreement(&rows(Verified, Violated));
        assert!(text.contains("oracle says verified after 0 classes, optimal"), "{text}");
    }

    #[test]
    fn a_reduction_that_misses_a_class_is_seen() {
        let with = |algorithm, complete| {
            let mut row = row(algorithm, Verdict::Verified);
            row.report.counts.complete = complete;
            row
        };
        let oracle = || with(Algorithm::Oracle, 6);
        let rows =
            |optimal| [oracle(), with(Algorithm::Source, 3), with(Algorithm::Optimal, optimal)];
        assert!(counts_agree(&each(&rows(3))), "interleavings are no classes");
        assert!(!counts_agree(&each(&rows(2))));
        let mut stopped = rows(2);
        stopped[2].report.note(Inconclusive::Bound(Bound::Time));
        assert!(counts_agree(&each(&stopped)), "it did not come to its end");
    }

    #[test]
    fn the_exit_code_is_the_strongest_verdict() {
        use Verdict::{Inconclusive, Verified, Violated};
        let exit = |first, second| {
            exit_of(&[row(Algorithm::Oracle, first), row(Algorithm::Optimal, second)])
        };
        assert_eq!(exit(Inconclusive, Violated), Exit::Violated);
        assert_eq!(exit(Inconclusive, Verified), Exit::Good);
        assert_eq!(exit(Inconclusive, Inconclusive), Exit::Inconclusive);
    }
}
