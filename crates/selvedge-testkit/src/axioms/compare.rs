//! The explorer of execution graphs, compared with the axioms.

use std::collections::BTreeSet;
use std::fmt;

use selvedge_core::{Ending, EventId, Fault, Label, Location, Order};
use selvedge_explore::{
    Act, Finding, Graph, GraphObserver, Memory, Options, Reading, Source, explore_graphs,
};

use crate::litmus::{Litmus, LitmusProgram};

use super::candidates::Refusal;
use super::facts::{Entry, Facts, Form, Name, Race, Reads, Scribe, facts};
use super::models::{as_models_tell, explored_model, has_model};
use super::shrink::smallest;

/// How much is tried before a program counts as too large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Steps of the enumeration.
    pub steps: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { steps: 4_000 }
    }
}

/// What came of a comparison without a difference.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Compared {
    /// Both found the same, for each model.
    Same(Vec<Facts>),
    /// It is not compared: there are too many executions, or it misuses a mutex.
    Not(Refusal),
}

/// What the explorer and the axioms do not agree on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The program.
    pub program: LitmusProgram,
    /// The model.
    pub memory: Memory,
    /// What differs.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.memory.name(), self.what)?;
        for (thread, code) in self.program.threads.iter().enumerate() {
            writeln!(f, "  thread {thread}:")?;
            code.iter().try_for_each(|instruction| writeln!(f, "    {instruction:?}"))?;
        }
        write!(f, "  initial values: {:?}", self.program.initial)
    }
}

/// Compares the explorer with the axioms, as [`agree`] does, and makes the program smaller if they differ.
///
/// # Errors
/// The smallest program that shows a difference under the same model.
pub fn agree_or_shrink(
    program: &LitmusProgram,
    models: &[Memory],
    effort: Effort,
) -> Result<Compared, Box<Difference>> {
    agree(program, models, effort).map_err(|difference| {
        let models = [difference.memory];
        let compare = |program: &LitmusProgram| agree(program, &models, effort).err();
        let smallest = smallest(program, &|program| compare(program).is_some());
        compare(&smallest).unwrap_or(difference)
    })
}

/// Compares the explorer with the axioms: the graphs, each once, the deadlocks, the failures, and the data races: each that
/// the explorer names is one, and it names one of each two threads and location that have some in a graph.
///
/// # Errors
/// What they differ in.
pub fn agree(
    program: &LitmusProgram,
    models: &[Memory],
    effort: Effort,
) -> Result<Compared, Box<Difference>> {
    let as_model = program.has_meetings();
    if as_model && !has_model(program) {
        return Ok(Compared::Not(Refusal::NoModel));
    }
    let mut expected = match facts(program, models, effort.steps) {
        Ok(expected) => expected,
        Err(refusal) => return Ok(Compared::Not(refusal)),
    };
    match as_model {
        true => expected.iter_mut().for_each(as_models_tell),
        false => expected.iter_mut().for_each(as_litmus_tests_tell),
    }
    for (&memory, expected) in models.iter().zip(&expected) {
        let explored =
            if as_model { explored_model(program, memory) } else { explored(program, memory) };
        let what = match explored {
            Ok(found) => difference(&found, expected),
            Err(what) => Some(what),
        };
        if let Some(what) = what {
            return Err(Box::new(Difference { program: program.clone(), memory, what }));
        }
    }
    Ok(Compared::Same(expected))
}

/// What the explorer says.
///
/// # Errors
/// If it meets a graph twice, contradicts its own counts, or does not finish.
pub fn explored(program: &LitmusProgram, memory: Memory) -> Result<Facts, String> {
    let options = Options { keep_going: true, data_races: true, ..Options::default() };
    let mut listener = Listener { graphs: Vec::new(), locations: program.memory().len() };
    let mut system = Litmus::new(program.clone());
    let report = explore_graphs(&mut system, memory, &options, &mut listener);
    if !report.inconclusive.is_empty() {
        return Err(format!("inconclusive: {:?}", report.inconclusive));
    }
    let mut facts = Facts { graphs: listener.graphs, ..Facts::default() };
    if report.counts.maximal() != facts.graphs.len() as u64 {
        return Err(format!("{} graphs, but {:?}", facts.graphs.len(), report.counts));
    }
    facts.graphs.sort();
    if let Some(twice) = facts.graphs.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("a graph was met twice: {:?}", twice[0]));
    }
    for (finding, witness) in &report.findings {
        if !witness.replay(&mut system) {
            return Err(format!("{finding:?} cannot be replayed"));
        }
        match finding {
            Finding::Fault(thread, Fault::Violation(violation)) => {
                let code = &program.threads[thread.index()];
                let says = |at: &usize| violation.message == format!("assertion {at} is false");
                let failed = (0..code.len()).find(says);
                facts.failures.extend(failed.map(|at| (ANY_THREAD, at)));
            }
            Finding::Fault(_, Fault::GaveUp(why)) => return Err(format!("gave up: {why}")),
            Finding::Judged(violation) => {
                return Err(format!("litmus tests judge nothing: {}", violation.message));
            }
            Finding::Deadlock(threads) => {
                facts.deadlocks.insert(threads.iter().map(|thread| thread.index()).collect());
            }
            Finding::DataRace(a, b) => {
                let (a, b) = (name(*a), name(*b));
                facts.races.insert(vec![(a.min(b), a.max(b))]);
            }
        }
    }
    Ok(facts)
}

/// What is different, if anything is.
fn difference(found: &Facts, expected: &Facts) -> Option<String> {
    let all = |facts: &Facts| facts.graphs.iter().cloned().collect::<BTreeSet<Form>>();
    if found.graphs != expected.graphs {
        let (mine, theirs) = (all(expected), all(found));
        return Some(format!(
            "{} graphs of {} are missing: {:?}; {} are not consistent: {:?}",
            mine.difference(&theirs).count(),
            mine.len(),
            mine.difference(&theirs).next(),
            theirs.difference(&mine).count(),
            theirs.difference(&mine).next(),
        ));
    }
    let is_race = |race: &Race| expected.races.iter().any(|all| all.contains(race));
    let is_told = |all: &Vec<Race>| found.races.iter().flatten().any(|race| all.contains(race));
    let same = found.deadlocks == expected.deadlocks
        && found.failures == expected.failures
        && found.races.iter().flatten().all(is_race)
        && expected.races.iter().all(is_told);
    let rest = |facts: &Facts| {
        format!(
            "deadlocks {:?}, failures {:?}, races {:?}",
            facts.deadlocks, facts.failures, facts.races
        )
    };
    (!same).then(|| format!("{}; expected {}", rest(found), rest(expected)))
}

struct Listener {
    graphs: Vec<Form>,
    locations: usize,
}

impl GraphObserver for Listener {
    fn execution(&mut self, graph: &Graph, ending: Ending) {
        self.graphs.push(form(graph, ending, self.locations));
    }
}

fn name(event: EventId) -> Name {
    (event.thread.index(), event.nth as usize)
}

fn form(graph: &Graph, ending: Ending, locations: usize) -> Form {
    let mut scribe = Scribe::new(ending);
    for thread in graph.threads() {
        for event in graph.events(thread).iter().filter(|event| !event.is_blocked()) {
            let order = match event.label {
                // The explorer notes there whose section ends.
                Label::Unshare(_) => Order::Release,
                _ => event.order,
            };
            let entry = match event.act {
                Act::Read { .. } if matches!(event.label, Label::Unshare(_)) => Entry::Unshare,
                Act::Read { from, reading } => {
                    let from = match from {
                        Source::Initial => None,
                        Source::Write(write) => Some(name(write)),
                    };
                    let reads = match reading {
                        Reading::Alone if matches!(event.label, Label::Share(_)) => Reads::Sharing,
                        Reading::Alone => Reads::Alone,
                        Reading::Spurious => Reads::Spuriously,
                        Reading::Updating => Reads::ForUpdate,
                        Reading::Blocked => continue,
                    };
                    Entry::Read(reads, from)
                }
                Act::Write { updating, .. } => Entry::Write { updates: updating },
                Act::Fence => Entry::Fence,
                Act::Spawn(child) => Entry::Spawn(child.index()),
                Act::Join(child) => Entry::Join(child.index()),
                Act::Choice => Entry::Choice,
                Act::Access { .. } => unreachable!("litmus tests have no such access"),
            };
            let is_fence = matches!(event.act, Act::Fence);
            let at = event.at.map(|at| at.index() + 1).or(is_fence.then_some(0));
            let place = at.map(|at| (at, order as usize));
            scribe.event(entry, place, event.value.cast_signed());
        }
        scribe.end();
    }
    for at in (0..locations).map(Location::new) {
        graph.writes(at).iter().for_each(|&write| scribe.write(name(write)));
        scribe.end();
    }
    scribe.finish()
}

/// The thread of what fails, where that is not told.
const ANY_THREAD: usize = 0;

/// The same instruction of several threads fails with one message, and so is one finding.
fn as_litmus_tests_tell(facts: &mut Facts) {
    facts.failures = facts.failures.iter().map(|&(_, at)| (ANY_THREAD, at)).collect();
}
