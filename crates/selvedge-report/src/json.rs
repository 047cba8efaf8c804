//! The JSON form of results. Documented in `docs/json.md`; fields are added, never changed.

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge_core::{
    Bar, Bound, Counts, Ending, Fact, FactValue, Histogram, Inconclusive, Place, Statistics, Status,
};
use serde::{Deserialize, Serialize};

use crate::view::{TraceView, ViolationView};

/// What `check` answers.
#[derive(Clone, Debug, Serialize)]
pub struct CheckJson {
    /// The version of the tool.
    pub version: String,
    /// Always `check`.
    pub command: &'static str,
    /// The file as the user named it.
    pub file: String,
    /// All constants with their values.
    pub constants: BTreeMap<String, ConstantJson>,
    /// `verified`, `violated` or `inconclusive`.
    pub verdict: &'static str,
    /// The name of the algorithm, or `sample`.
    pub algorithm: String,
    /// Which executions it takes to be the same; none for samples.
    pub equivalence: Option<&'static str>,
    /// What a "verified" of this run means.
    pub covers: CoversJson,
    /// How many executions of each kind.
    pub executions: ExecutionsJson,
    /// Steps taken.
    pub steps: u64,
    /// Length of the longest execution.
    pub longest: usize,
    /// Most threads in an execution.
    pub threads: usize,
    /// How long the exploration took.
    pub seconds: f64,
    /// The seed of the random choices, if there were any.
    pub seed: Option<u64>,
    /// The distinct violations.
    pub violations: Vec<ViolationJson>,
    /// Why nothing is proved.
    pub inconclusive: Vec<InconclusiveJson>,
    /// What else the algorithm tells about its search, by name.
    pub facts: BTreeMap<&'static str, FactJson>,
    /// Statistics of the search, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<StatisticsJson>,
}

/// A number, or words.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum FactJson {
    /// How many.
    Count(u64),
    /// In words.
    Text(String),
}

/// Returns what an algorithm tells about its search.
pub fn facts_json(facts: &[Fact]) -> BTreeMap<&'static str, FactJson> {
    let value = |fact: &Fact| match &fact.value {
        FactValue::Count(count) => FactJson::Count(*count),
        FactValue::Text(text) => FactJson::Text(text.clone()),
    };
    facts.iter().map(|fact| (fact.name, value(fact))).collect()
}

/// Statistics of a search.
#[derive(Clone, Debug, Serialize)]
pub struct StatisticsJson {
    /// Named numbers.
    pub numbers: Vec<NumberJson>,
    /// Where the time went.
    pub times: Vec<TimeJson>,
    /// How often which values occurred.
    pub histograms: Vec<HistogramJson>,
}

/// A named number.
#[derive(Clone, Debug, Serialize)]
pub struct NumberJson {
    /// What it counts.
    pub name: &'static str,
    /// The number.
    pub value: f64,
}

/// A part of the time.
#[derive(Clone, Debug, Serialize)]
pub struct TimeJson {
    /// What the search was busy with.
    pub name: &'static str,
    /// How long.
    pub seconds: f64,
}

/// How often which values occurred.
#[derive(Clone, Debug, Serialize)]
pub struct HistogramJson {
    /// Of what.
    pub name: &'static str,
    /// How often values from one number to another occurred.
    pub bars: Vec<BarJson>,
}

/// How often values in a range occurred.
#[derive(Clone, Debug, Serialize)]
pub struct BarJson {
    /// The smallest value.
    pub from: u64,
    /// The largest.
    pub to: u64,
    /// How often.
    pub count: u64,
}

/// What `compare` answers.
#[derive(Clone, Debug, Serialize)]
pub struct CompareJson {
    /// The version of the tool.
    pub version: String,
    /// Always `compare`.
    pub command: &'static str,
    /// The file as the user named it.
    pub file: String,
    /// All constants with their values.
    pub constants: BTreeMap<String, ConstantJson>,
    /// Whether all conclusive verdicts are the same.
    pub agree: bool,
    /// One per algorithm.
    pub algorithms: Vec<CompareRowJson>,
}

/// The result of one algorithm.
#[derive(Clone, Debug, Serialize)]
pub struct CompareRowJson {
    /// Its name.
    pub algorithm: String,
    /// k of the k-partial alternatives of `quasi`; null: optimal, or another algorithm.
    pub k: Option<u32>,
    /// Which executions it takes to be the same.
    pub equivalence: &'static str,
    /// `verified`, `violated` or `inconclusive`.
    pub verdict: &'static str,
    /// Whether it finished; otherwise the numbers are lower bounds.
    pub exhausted: bool,
    /// What its "verified" means.
    pub covers: CoversJson,
    /// How many executions of each kind.
    pub executions: ExecutionsJson,
    /// Steps taken.
    pub steps: u64,
    /// How long it took.
    pub seconds: f64,
    /// Its peak memory.
    pub peak_bytes: u64,
    /// The messages of what is wrong.
    pub violations: Vec<String>,
    /// Why nothing is proved.
    pub inconclusive: Vec<InconclusiveJson>,
}

/// What `replay` answers.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayJson {
    /// The version of the tool.
    pub version: String,
    /// Always `replay`.
    pub command: &'static str,
    /// The file as the user named it.
    pub file: String,
    /// All constants with their values.
    pub constants: BTreeMap<String, ConstantJson>,
    /// The schedule that was followed.
    pub schedule: String,
    /// `complete`, `deadlocked` or `blocked`; none if some thread is enabled.
    pub ending: Option<&'static str>,
    /// The names of the threads, by their numbers.
    pub threads: Vec<String>,
    /// How often control passes from one thread to another.
    pub context_switches: usize,
    /// What happened.
    pub steps: Vec<StepJson>,
    /// The threads that did not finish.
    pub waiting: Vec<WaitingJson>,
    /// What is wrong in it.
    pub violations: Vec<ViolationJson>,
}

/// The value of a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ConstantJson {
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Int(i64),
}

/// What the verdict covers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CoversJson {
    /// Assertions, `finally`, arithmetic, bounds and misuse.
    pub assertions: bool,
    /// Deadlocks.
    pub deadlocks: bool,
    /// Data races.
    pub data_races: bool,
}

/// A reason why nothing is proved.
#[derive(Clone, Debug, Serialize)]
pub struct InconclusiveJson {
    /// `executions`, `steps`, `preemptions`, `context-switches`, `time`, `memory`,
    /// `interrupted`, `sampling` or `gave-up`.
    pub reason: &'static str,
    /// One sentence.
    pub message: String,
}

/// Executions by kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ExecutionsJson {
    /// Every thread finished, or one failed.
    pub complete: u64,
    /// A thread is blocked, and no thread can unblock it.
    pub deadlocked: u64,
    /// A thread is blocked by an `assume` that is false.
    pub blocked: u64,
    /// Abandoned: the class was explored before.
    pub redundant: u64,
    /// Cut off at a bound.
    pub cut: u64,
}

/// A violation, and the execution that shows it.
#[derive(Clone, Debug, Serialize)]
pub struct ViolationJson {
    /// What kind.
    pub kind: &'static str,
    /// One sentence.
    pub message: String,
    /// The first of the places.
    pub place: Option<PlaceJson>,
    /// Where; a data race has two.
    pub places: Vec<PlaceJson>,
    /// More lines that help to understand it.
    pub notes: Vec<String>,
    /// The name of the thread whose step showed it.
    pub thread: Option<String>,
    /// The schedule that leads to it.
    pub schedule: String,
    /// The command that replays it, if there is one.
    pub replay: Option<String>,
    /// How often control passes from one thread to another.
    pub context_switches: usize,
    /// The steps that lead to it.
    pub trace: Vec<StepJson>,
    /// The threads that did not finish.
    pub waiting: Vec<WaitingJson>,
}

/// A place in the source. Lines and columns count from 1.
#[derive(Clone, Debug, Serialize)]
pub struct PlaceJson {
    /// The file as the user named it.
    pub file: String,
    /// First line.
    pub line: u32,
    /// First column, in characters.
    pub column: u32,
    /// How many characters on that line.
    pub length: u32,
}

/// One step of an execution.
#[derive(Clone, Debug, Serialize)]
pub struct StepJson {
    /// The number of the thread.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// Which of its alternatives it took.
    pub choice: u32,
    /// What it did, with values.
    pub text: String,
    /// Where it stands.
    pub place: Option<PlaceJson>,
    /// Why the thread stopped, if it did.
    pub stopped: Option<String>,
}

/// A thread that did not finish.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingJson {
    /// The number of the thread.
    pub thread: u32,
    /// Its name.
    pub name: String,
    /// `enabled`, `blocked`, `parked`, `assumed` or `failed`.
    pub status: &'static str,
    /// What it would do next, or what it waits for.
    pub text: String,
    /// Where it stands.
    pub place: Option<PlaceJson>,
}

/// Returns the text of a JSON object, indented, with a line break at its end.
pub fn to_text<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .expect("internal error: these types have only string keys");
    text.push('\n');
    text
}

impl From<Counts> for ExecutionsJson {
    fn from(counts: Counts) -> Self {
        let Counts { complete, deadlocked, blocked, redundant, cut } = counts;
        Self { complete, deadlocked, blocked, redundant, cut }
    }
}

impl From<&Statistics> for StatisticsJson {
    fn from(statistics: &Statistics) -> Self {
        let number = |&(name, value): &(&'static str, f64)| NumberJson { name, value };
        let time = |&(name, time): &(&'static str, Duration)| TimeJson {
            name,
            seconds: time.as_secs_f64(),
        };
        let bar = |&Bar { from, to, count }: &Bar| BarJson { from, to, count };
        let histogram = |histogram: &Histogram| HistogramJson {
            name: histogram.name,
            bars: histogram.bars.iter().map(bar).collect(),
        };
        Self {
            numbers: statistics.numbers.iter().map(number).collect(),
            times: statistics.times.iter().map(time).collect(),
            histograms: statistics.histograms.iter().map(histogram).collect(),
        }
    }
}

impl From<&Inconclusive> for InconclusiveJson {
    fn from(inconclusive: &Inconclusive) -> Self {
        let reason = match inconclusive {
            Inconclusive::GaveUp(_) => "gave-up",
            Inconclusive::Bound(bound) => match bound {
                Bound::Executions(_) => "executions",
                Bound::Steps(_) => "steps",
                Bound::Preemptions { .. } => "preemptions",
                Bound::ContextSwitches { .. } => "context-switches",
                Bound::Time => "time",
                Bound::Memory => "memory",
                Bound::Work => "work",
                Bound::Interrupted => "interrupted",
                Bound::Sampling(_) => "sampling",
            },
        };
        Self { reason, message: inconclusive.to_string() }
    }
}

impl From<&Place> for PlaceJson {
    fn from(place: &Place) -> Self {
        let Place { file, line, column, length } = place.clone();
        Self { file, line, column, length }
    }
}

impl ViolationJson {
    /// Returns a violation and the execution that shows it.
    pub fn new(violation: &ViolationView, trace: &TraceView) -> Self {
        let places: Vec<PlaceJson> =
            violation.places.iter().map(|view| PlaceJson::from(&view.place)).collect();
        Self {
            kind: violation.kind.name(),
            message: violation.message.clone(),
            place: places.first().cloned(),
            places,
            notes: violation.notes.clone(),
            thread: violation.thread.map(|thread| trace.name(thread)),
            schedule: trace.schedule.to_string(),
            replay: None,
            context_switches: trace.context_switches(),
            trace: StepJson::all(trace),
            waiting: WaitingJson::all(trace),
        }
    }

    /// With the command that replays it.
    #[must_use]
    pub fn replayed_by(mut self, command: String) -> Self {
        self.replay = Some(command);
        self
    }
}

impl StepJson {
    /// Returns the steps of an execution.
    pub fn all(trace: &TraceView) -> Vec<Self> {
        let steps = trace.steps.iter().map(|step| Self {
            thread: step.thread.number(),
            name: trace.name(step.thread),
            choice: step.choice,
            text: step.text.clone(),
            place: step.place.as_ref().map(PlaceJson::from),
            stopped: step.stopped.clone(),
        });
        steps.collect()
    }
}

impl WaitingJson {
    /// Returns the threads that did not finish in an execution.
    pub fn all(trace: &TraceView) -> Vec<Self> {
        let waiting = trace.waiting.iter().map(|waiting| Self {
            thread: waiting.thread.number(),
            name: trace.name(waiting.thread),
            status: status_name(waiting.status),
            text: waiting.text.clone(),
            place: waiting.place.as_ref().map(PlaceJson::from),
        });
        waiting.collect()
    }
}

impl ReplayJson {
    /// Returns how an execution ended, as `ending` says it.
    pub fn ending_name(ending: Ending) -> &'static str {
        match ending {
            Ending::Complete => "complete",
            Ending::Deadlocked => "deadlocked",
            Ending::Blocked => "blocked",
        }
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Absent => "absent",
        Status::Enabled => "enabled",
        Status::Blocked => "blocked",
        Status::Parked => "parked",
        Status::Finished => "finished",
        Status::Assumed => "assumed",
        Status::Failed => "failed",
    }
}
