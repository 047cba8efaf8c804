//! The headers of golden programs: what each program of the corpus must give.
//!
//! The format is described in `programs/README.md`. A header is made of comment lines that start
//! with `//#`; the rest of the file is a program like any other.

use std::collections::BTreeSet;
use std::fmt;

use selvedge_core::{Counts, Ending, Report, Verdict};
use selvedge_explore::{Algorithm, Equivalence, Limits, Options};

mod memory;

pub use memory::MemoryLine;

use crate::classes::Classes;
use crate::subject::Subject;
use crate::variant::Variant;

/// What a file expects.
#[derive(Clone, Debug)]
pub struct Golden {
    /// How it is explored.
    pub options: Options,
    /// What is expected, for each setting of the constants.
    pub settings: Vec<Setting>,
}

/// What is expected for one setting of the constants.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Index of its line in the file.
    line: usize,
    /// Too large for every day.
    pub slow: bool,
    /// Constants that differ from the file's.
    pub constants: Vec<(String, i64)>,
    /// The verdict.
    pub verdict: ExpectedVerdict,
    /// The verdict of `states`, which does not cut executions.
    pub of_states: ExpectedVerdict,
    /// How many classes there are, derived by hand.
    pub classes: ClassCounts,
    /// What each algorithm does: only those that have a line.
    pub algorithms: Vec<AlgorithmLine>,
    /// What it does under memory models: only those that have a line.
    pub memory: Vec<MemoryLine>,
}

impl Setting {
    /// Returns how many executions all algorithms need together, and how many states.
    pub fn executions(&self) -> u64 {
        let costs = self.algorithms.iter().filter_map(|line| line.cost);
        let of =
            |cost: Cost| cost.maximal + cost.redundant + cost.cut + cost.states.unwrap_or_default();
        costs.map(of).sum()
    }
}

/// How many classes there are, and how many of them end in a special way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassCounts {
    /// All classes.
    pub all: u64,
    /// Those in which a thread stays blocked.
    pub deadlocked: u64,
    /// Those in which a thread stands at an `assume`.
    pub blocked: u64,
    /// All observation classes, if that was derived too.
    pub observations: Option<u64>,
    /// All reachable states, if that was derived too.
    pub states: Option<u64>,
}

/// A verdict with the kinds of the violations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExpectedVerdict {
    /// Nothing is wrong.
    Verified,
    /// Exactly violations of these kinds are found.
    Violated(BTreeSet<String>),
    /// A limit is reached.
    Inconclusive,
}

/// The line of one algorithm.
#[derive(Clone, Debug)]
pub struct AlgorithmLine {
    line: usize,
    /// Which.
    pub variant: Variant,
    /// How many executions it needs; `None` if those are too many to run it.
    pub cost: Option<Cost>,
}

/// How many executions an algorithm needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Executions that came to their end.
    pub maximal: u64,
    /// Executions that were given up.
    pub redundant: u64,
    /// Executions that were cut.
    pub cut: u64,
    /// States, if it tells them apart.
    pub states: Option<u64>,
}

impl Cost {
    fn of(counts: &Counts, states: Option<u64>) -> Self {
        let Counts { redundant, cut, .. } = *counts;
        Self { maximal: counts.maximal(), redundant, cut, states }
    }

    fn show(&self, variant: Variant) -> String {
        let mut text = self.maximal.to_string();
        if variant.algorithm.info().equivalence != Equivalence::Interleaving {
            text += &format!("+{}", self.redundant);
        }
        if self.cut > 0 {
            text += &format!(" cut={}", self.cut);
        }
        if let Some(states) = self.states {
            text += &format!(" states={states}");
        }
        text
    }
}

/// What each algorithm needed, in the order of the registry; `None`: it was not run.
pub type Measured = Vec<(Variant, Option<Cost>)>;

/// What is wrong with a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeaderError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl Golden {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// If a line cannot be understood, or there is no setting.
    pub fn parse(text: &str) -> Result<Self, HeaderError> {
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            if let Some(line) = line.strip_prefix("//#") {
                let (key, value) = line.split_once(':').unwrap_or((line, ""));
                reader
                    .line(index, key.trim(), value.trim())
                    .map_err(|message| HeaderError { line: index + 1, message })?;
            }
        }
        if reader.settings.is_empty() {
            let message = "there is no setting such as `//# default: classes=4`".to_owned();
            return Err(HeaderError { line: 1, message });
        }
        let options = reader.options.unwrap_or_else(default_options);
        Ok(Self { options, settings: reader.settings })
    }

    /// The text with the algorithm lines of some settings replaced by what was measured. `None` for
    /// a setting that was not run. What was derived by hand stays as it is.
    pub fn rewrite(&self, text: &str, measured: &[Option<Measured>]) -> String {
        let mut lines: Vec<Option<String>> =
            text.lines().map(|line| Some(line.to_owned())).collect();
        for (setting, measured) in self.settings.iter().zip(measured) {
            let Some(measured) = measured else { continue };
            for old in &setting.algorithms {
                lines[old.line] = None;
            }
            let head = lines[setting.line].as_mut().expect("internal error: settings stay");
            for (variant, cost) in measured {
                let cost = cost.map_or("-".to_owned(), |cost| cost.show(*variant));
                let name = format!("{}:", variant.name());
                *head += &format!("\n//#   {name:<8} {cost}");
            }
        }
        let mut text: String = lines.into_iter().flatten().collect::<Vec<_>>().join("\n");
        text.push('\n');
        text
    }
}

/// Counts are complete only if a violation does not end the search.
fn default_options() -> Options {
    Options { keep_going: true, ..Options::default() }
}

#[derive(Default)]
struct Reader {
    options: Option<Options>,
    verdict: Option<ExpectedVerdict>,
    of_states: Option<ExpectedVerdict>,
    settings: Vec<Setting>,
}

impl Reader {
    fn line(&mut self, index: usize, key: &str, value: &str) -> Result<(), String> {
        if let Some(variant) = Variant::named(key) {
            return self.algorithm(index, variant, value);
        }
        if let Some(model) = key.strip_prefix("memory ") {
            let setting = self.settings.last_mut().ok_or("there is no setting above this line")?;
            setting.memory.push(MemoryLine::parse(model, value)?);
            return Ok(());
        }
        match key {
            "options" => self.options = Some(parse_options(value)?),
            "verdict" => (self.verdict, self.of_states) = (Some(parse_verdict(value)?), None),
            "verdict of states" => self.of_states = Some(parse_verdict(value)?),
            _ => self.setting(index, key, value)?,
        }
        Ok(())
    }

    fn setting(&mut self, line: usize, key: &str, value: &str) -> Result<(), String> {
        let (slow, key) = match key.strip_prefix("slow ") {
            Some(key) => (true, key.trim()),
            None => (false, key),
        };
        let verdict = self.verdict.clone().ok_or("a setting needs a `verdict:` line above it")?;
        let constants = match key {
            "default" => Vec::new(),
            _ => key.split(',').map(parse_constant).collect::<Result<_, _>>()?,
        };
        let classes = parse_classes(value)?;
        self.settings.push(Setting {
            line,
            slow,
            constants,
            of_states: self.of_states.clone().unwrap_or_else(|| verdict.clone()),
            verdict,
            classes,
            algorithms: Vec::new(),
            memory: Vec::new(),
        });
        Ok(())
    }

    fn algorithm(&mut self, line: usize, variant: Variant, value: &str) -> Result<(), String> {
        let setting = self.settings.last_mut().ok_or("there is no setting above this line")?;
        if setting.algorithms.iter().any(|other| other.variant == variant) {
            return Err(format!("`{}` has two lines", variant.name()));
        }
        let cost = if value == "-" { None } else { Some(parse_cost(value)?) };
        setting.algorithms.push(AlgorithmLine { line, variant, cost });
        Ok(())
    }
}

fn parse_options(text: &str) -> Result<Options, String> {
    let mut options = default_options();
    for part in text.split(',').map(str::trim) {
        match part.split_once('=') {
            Some(("steps", steps)) => {
                let steps = parse_number(steps)? as usize;
                options.limits = Limits { steps, ..Limits::default() };
            }
            None if part == "data-races" => options.data_races = true,
            _ => {
                return Err(format!("`{part}` is no option; there are `data-races` and `steps=…`"));
            }
        }
    }
    Ok(options)
}

pub(super) fn parse_verdict(text: &str) -> Result<ExpectedVerdict, String> {
    match text.split_once(' ').unwrap_or((text, "")) {
        ("verified", "") => Ok(ExpectedVerdict::Verified),
        ("inconclusive", "") => Ok(ExpectedVerdict::Inconclusive),
        ("violated", kinds) if !kinds.is_empty() => Ok(ExpectedVerdict::Violated(
            kinds.split(',').map(|kind| kind.trim().to_owned()).collect(),
        )),
        _ => Err(format!(
            "`{text}` is no verdict; write `verified`, `inconclusive`, or `violated` with the kinds \
             of violations, such as `violated assertion, deadlock`"
        )),
    }
}

fn parse_constant(text: &str) -> Result<(String, i64), String> {
    let wrong = || {
        format!(
            "`{}` is neither an algorithm, `options`, `verdict`, `default`, nor a constant such as \
             `N=3`",
            text.trim()
        )
    };
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    Ok((name.trim().to_owned(), value.trim().parse().map_err(|_| wrong())?))
}

fn parse_classes(text: &str) -> Result<ClassCounts, String> {
    let mut counts =
        ClassCounts { all: 0, deadlocked: 0, blocked: 0, observations: None, states: None };
    let mut said = false;
    for part in text.split_whitespace() {
        let (name, number) = part.split_once('=').unwrap_or((part, ""));
        let number = parse_number(number)?;
        match name {
            "classes" => (counts.all, said) = (number, true),
            "deadlocked" => counts.deadlocked = number,
            "blocked" => counts.blocked = number,
            "observations" => counts.observations = Some(number),
            // Executions may be endless: then there is no number of classes.
            "states" => (counts.states, said) = (Some(number), true),
            _ => {
                return Err(format!(
                    "`{name}` is not one of `classes`, `deadlocked`, `blocked`, `observations`, `states`"
                ));
            }
        }
    }
    if said { Ok(counts) } else { Err("`classes=…` is missing".to_owned()) }
}

pub(super) fn parse_cost(text: &str) -> Result<Cost, String> {
    let (text, states) = match text.split_once(" states=") {
        Some((text, states)) => (text, Some(parse_number(states)?)),
        None => (text, None),
    };
    let (executions, cut) = match text.split_once(" cut=") {
        Some((executions, cut)) => (executions, parse_number(cut)?),
        None => (text, 0),
    };
    let (maximal, redundant) = executions.split_once('+').unwrap_or((executions, "0"));
    Ok(Cost { maximal: parse_number(maximal)?, redundant: parse_number(redundant)?, cut, states })
}

fn parse_number(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| format!("`{}` is not a number", text.trim()))
}

/// What came out when a setting was run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What each algorithm needed.
    pub measured: Measured,
    /// Everything that is not as it must be: derived numbers, verdicts, promises.
    pub wrong: Vec<String>,
    /// Measured numbers that are not those of the header.
    pub outdated: Vec<String>,
}

/// Runs one setting of a file with every algorithm.
///
/// # Errors
/// If the program does not compile.
pub fn run(name: &str, text: &str, golden: &Golden, setting: &Setting) -> Result<Outcome, String> {
    let subject = Subject::new(name, text, &setting.constants)?;
    let mut outcome = Outcome { measured: Vec::new(), wrong: Vec::new(), outdated: Vec::new() };
    if !subject.warnings().is_empty() {
        outcome.wrong.push(subject.warnings().to_owned());
    }
    for line in &setting.memory {
        outcome.wrong.extend(line.problems(subject.program(), &golden.options));
    }
    outcome.wrong.extend(states_problem(&subject, golden, setting)?);
    let mut oracle = None;
    for variant in variants(setting) {
        let name = variant.name();
        let line = setting.algorithms.iter().find(|line| line.variant == variant);
        let covers = variant.algorithm.info().covers.data_races || !golden.options.data_races;
        if !covers || line.is_some_and(|line| line.cost.is_none()) {
            outcome.measured.push((variant, None));
            continue;
        }
        let (report, classes) = match explore(&subject, golden, setting, variant) {
            Ok(found) => found,
            Err(message) => {
                outcome.measured.push((variant, None));
                outcome.wrong.push(format!("{name}: panics: {message}"));
                continue;
            }
        };
        let cost = Cost::of(&report.counts, report.states);
        outcome.measured.push((variant, Some(cost)));
        match line.and_then(|line| line.cost) {
            None => outcome.outdated.push(format!("`{name}` has no line")),
            Some(expected) if expected != cost => outcome.outdated.push(format!(
                "{name}: {} expected, {} found",
                expected.show(variant),
                cost.show(variant)
            )),
            Some(_) => {}
        }
        let verdict = match variant.algorithm {
            Algorithm::States => &setting.of_states,
            _ => &setting.verdict,
        };
        let mut problems = verdict_problems(&report, verdict);
        match variant.algorithm.info().equivalence {
            Equivalence::Interleaving | Equivalence::Mazurkiewicz => {
                let optimal = variant.is_optimal();
                problems.extend(count_problems(&report.counts, &setting.classes, optimal));
                problems
                    .extend(classes.as_ref().and_then(|it| class_problem(it, &setting.classes)));
            }
            // Classes with observers are finer.
            Equivalence::Observation | Equivalence::Observers => {
                problems.extend(observation_problem(&report.counts, &setting.classes));
                let both = classes.as_ref().zip(oracle.as_ref());
                problems.extend(both.and_then(|(found, all)| unlike_brute_force(found, all)));
            }
            Equivalence::State => {
                let both = classes.as_ref().zip(oracle.as_ref());
                problems.extend(both.and_then(|(found, all)| {
                    let same = found.states.keys().eq(all.states.keys());
                    (!same).then(|| "the final states are not those of brute force".to_owned())
                }));
            }
        }
        if variant.algorithm == Algorithm::Oracle {
            oracle = classes;
        }
        outcome.wrong.extend(problems.iter().map(|problem| format!("{name}: {problem}")));
    }
    Ok(outcome)
}

/// Every algorithm, and the variants that have a line.
fn variants(setting: &Setting) -> Vec<Variant> {
    let mut variants: Vec<Variant> = Algorithm::ALL.iter().copied().map(Variant::of).collect();
    for line in &setting.algorithms {
        if !variants.contains(&line.variant) {
            variants.push(line.variant);
        }
    }
    variants
}

/// Naming classes takes time, so large settings go without.
fn explore(
    subject: &Subject,
    golden: &Golden,
    setting: &Setting,
    variant: Variant,
) -> Result<(Report, Option<Classes>), String> {
    let options = variant.options(&golden.options);
    if setting.slow {
        let mut silent = selvedge_explore::Silent;
        Ok((subject.explore(variant.algorithm, &options, &mut silent)?, None))
    } else {
        let findings = subject.classes(variant.algorithm, &options)?;
        Ok((findings.report, Some(findings.classes)))
    }
}

fn verdict_problems(report: &Report, expected: &ExpectedVerdict) -> Vec<String> {
    let kinds: BTreeSet<String> =
        report.violations.iter().map(|(violation, _)| violation.kind.name().to_owned()).collect();
    let found = match report.verdict() {
        Verdict::Verified => ExpectedVerdict::Verified,
        Verdict::Violated => ExpectedVerdict::Violated(kinds),
        Verdict::Inconclusive => ExpectedVerdict::Inconclusive,
    };
    let mut problems = Vec::new();
    if found != *expected {
        problems.push(format!("the verdict is {found:?}, not {expected:?}"));
    }
    // A violation can hide that the search was not complete.
    if *expected != ExpectedVerdict::Inconclusive {
        problems.extend(report.inconclusive.iter().map(|reason| format!("inconclusive: {reason}")));
    }
    problems
}

fn count_problems(counts: &Counts, classes: &ClassCounts, optimal: bool) -> Vec<String> {
    let mut problems = Vec::new();
    for (what, found, expected) in [
        ("executions that came to their end", counts.maximal(), classes.all),
        ("deadlocked executions", counts.deadlocked, classes.deadlocked),
        ("blocked executions", counts.blocked, classes.blocked),
    ] {
        if optimal && found != expected {
            problems.push(format!("{found} {what}, but there are {expected} such classes"));
        } else if found < expected {
            problems.push(format!("only {found} {what}, but there are {expected} such classes"));
        }
    }
    if optimal && counts.redundant > 0 {
        problems.push(format!("{} executions were given up", counts.redundant));
    }
    problems
}

/// What was derived must come out exactly, if every step is taken in every state.
fn states_problem(
    subject: &Subject,
    golden: &Golden,
    setting: &Setting,
) -> Result<Option<String>, String> {
    let Some(expected) = setting.classes.states else { return Ok(None) };
    let options = Options { unreduced: true, ..golden.options.clone() };
    let report = subject.explore(Algorithm::States, &options, &mut selvedge_explore::Silent)?;
    let problem = || format!("{:?} states, but there are {expected}", report.states);
    Ok((report.states != Some(expected)).then(problem))
}

/// What was derived must come out exactly.
fn observation_problem(counts: &Counts, classes: &ClassCounts) -> Option<String> {
    let expected = classes.observations.filter(|&expected| expected != counts.maximal())?;
    Some(format!("{} executions, but there are {expected} observation classes", counts.maximal()))
}

fn unlike_brute_force(found: &Classes, all: &Classes) -> Option<String> {
    let (found, all) = (&found.observations, &all.observations);
    let same = found.len() == all.len()
        && found.iter().zip(all).all(|((a, x), (b, y))| a == b && x.ending == y.ending);
    (!same).then(|| {
        format!("it visited {} observation classes, and brute force {}", found.len(), all.len())
    })
}

fn class_problem(classes: &Classes, expected: &ClassCounts) -> Option<String> {
    let found = ClassCounts {
        observations: expected.observations,
        states: expected.states,
        all: classes.traces.len() as u64,
        deadlocked: classes.ending_in(Ending::Deadlocked),
        blocked: classes.ending_in(Ending::Blocked),
    };
    (found != *expected).then(|| format!("it visited {found:?}, not {expected:?}"))
}

#[cfg(test)]
mod tests;
