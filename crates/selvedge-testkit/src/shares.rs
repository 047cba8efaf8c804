//! The share that the line of a running check shows, compared with the share of the executions that is done.

use std::sync::Arc;

use selvedge_core::{Bound, Ending, Execution};
use selvedge_explore::{
    Algorithm, Graph, GraphObserver, GraphReport, Memory, Observer, Options, Progress, Sampled,
    TraceHasher, estimate, estimate_graphs, explore_graphs,
};
use selvedge_lang::ir::Program;
use selvedge_lang::{GraphInterpreter, Interpreter};

use crate::explore::explore;
use crate::golden::Golden;
use crate::subject::Subject;
use crate::{corpus, programs, text_of};

/// At how many moments of a search the share is looked at: after each tenth of the executions but the last.
pub const MOMENTS: usize = 9;

/// Searches with fewer executions show no line.
const LEAST: u64 = 200;
/// Searches with more take too long for a table.
const MOST: u64 = 20_000;

/// What is searched.
#[derive(Clone, Copy, Debug)]
pub enum Searched {
    /// Traces, by this explorer.
    Traces(Algorithm),
    /// Graphs, under this memory model.
    Graphs(Memory),
}

/// What was shown while a program was searched.
#[derive(Clone, Debug)]
pub struct Row {
    /// The program, with the setting of its constants.
    pub name: String,
    /// The executions of the whole search.
    pub total: u64,
    /// The share that was shown after each tenth of them.
    pub shown: [Option<f64>; MOMENTS],
}

impl Row {
    /// Returns by how much each share was off.
    pub fn errors(&self) -> impl Iterator<Item = f64> + '_ {
        let shown = self.shown.iter().enumerate();
        shown.filter_map(|(nth, &shown)| Some(shown? - (nth + 1) as f64 / 10.0))
    }
}

/// Searches all programs of the corpus with so many random executions each. `wanted`: which, by their name and number of classes.
///
/// # Panics
/// If a program is not as its header says.
pub fn shares(searched: Searched, samples: u64, wanted: impl Fn(&str, u64) -> bool) -> Vec<Row> {
    let mut rows = Vec::new();
    for file in programs() {
        let name = file.strip_prefix(corpus()).expect("it is in the corpus").display().to_string();
        let text = text_of(&file);
        let golden = Golden::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        for setting in golden.settings.iter().filter(|setting| !setting.slow) {
            let is_cut =
                |line: &crate::golden::AlgorithmLine| line.cost.is_some_and(|cost| cost.cut > 0);
            let is_large = (LEAST..=MOST).contains(&setting.classes.all);
            let is_wanted = is_large && wanted(&name, setting.classes.all);
            if !is_wanted || setting.algorithms.iter().any(is_cut) {
                continue;
            }
            let subject = Subject::new(&name, &text, &setting.constants);
            let subject = subject.unwrap_or_else(|error| panic!("{error}"));
            let mut options = golden.options.clone();
            options.keep_going = true;
            let shown = match searched {
                Searched::Traces(algorithm) => {
                    of_traces(subject.program(), algorithm, &options, samples)
                }
                Searched::Graphs(memory) => of_graphs(subject.program(), memory, &options, samples),
            };
            let Some(shown) = shown else { continue };
            let constants = setting.constants.iter().map(|(name, value)| format!("{name}={value}"));
            let name = format!("{name} {}", constants.collect::<Vec<_>>().join(", "));
            rows.extend(row(name.trim_end().to_owned(), &shown));
        }
    }
    rows
}

/// Returns the row, if there were executions enough.
fn row(name: String, shown: &[(u64, Option<f64>)]) -> Option<Row> {
    let &(total, _) = shown.last().filter(|&&(total, _)| total >= LEAST)?;
    let at = |tenths: u64| {
        let moment = shown.iter().find(|&&(done, _)| 10 * done >= tenths * total);
        moment.and_then(|&(_, share)| share)
    };
    Some(Row { name, total, shown: std::array::from_fn(|nth| at(nth as u64 + 1)) })
}

/// Returns what was shown after each execution.
fn of_traces(
    program: &Arc<Program>,
    algorithm: Algorithm,
    options: &Options,
    samples: u64,
) -> Option<Vec<(u64, Option<f64>)>> {
    let make = || Interpreter::new(Arc::clone(program));
    let found = estimate(&make, options, 0, &mut |sampled| sampled < samples);
    let sampled = Sampled::new(found.traces?, found.drawn);
    let mut watched = Watched::new(sampled);
    let report = explore(algorithm, &make, options, &mut watched);
    let total = watched.shown.last().map_or(0, |&(done, _)| done);
    assert_eq!(report.counts.maximal(), total, "every execution was polled");
    Some(watched.shown)
}

/// The same of graphs. `None`: there are too many, random ones say too little, or the program has no meaning under the model.
fn of_graphs(
    program: &Arc<Program>,
    memory: Memory,
    options: &Options,
    samples: u64,
) -> Option<Vec<(u64, Option<f64>)>> {
    let mut options = options.clone();
    options.limits.executions = Some(MOST);
    let mut system = GraphInterpreter::new(Arc::clone(program)).ok()?;
    let go_on = &mut |sampled| sampled < samples;
    let sampled = estimate_graphs(&mut system, memory, &options, 0, go_on);
    let sampled = sampled.filter(Sampled::is_telling)?;
    let mut watched = Watched::new(sampled);
    let mut system = GraphInterpreter::new(Arc::clone(program)).ok()?;
    let report = explore_graphs(&mut system, memory, &options, &mut watched);
    report.inconclusive.is_empty().then_some(watched.shown)
}

/// Notes what would be shown after each execution.
struct Watched {
    sampled: Sampled,
    hasher: TraceHasher,
    shown: Vec<(u64, Option<f64>)>,
}

impl Watched {
    fn new(sampled: Sampled) -> Self {
        Self { sampled, hasher: TraceHasher::default(), shown: Vec::new() }
    }

    fn look(&mut self, done: u64) {
        if self.shown.last().is_none_or(|&(last, _)| last < done) {
            let total = self.sampled.expected(done);
            self.shown.push((done, total.map(|total| done as f64 / total.estimate)));
        }
    }
}

impl Observer for Watched {
    fn execution(&mut self, execution: &Execution, _: Ending) {
        self.sampled.meet(self.hasher.hash(execution));
    }

    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        self.look(progress().counts.maximal());
        None
    }
}

impl GraphObserver for Watched {
    fn execution(&mut self, graph: &Graph, _: Ending) {
        self.sampled.meet(graph.hash());
        let done = self.shown.last().map_or(0, |&(done, _)| done) + 1;
        self.look(done);
    }

    fn poll(&mut self, _: &GraphReport) -> Option<Bound> {
        None
    }
}
