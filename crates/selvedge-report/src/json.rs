//! The JSON form of results. Documented in `docs/json.md`; fields are added, never changed.
//!
//! What has the same form in memory serialises itself (`view.rs`, `outcome.rs`). Here is what is put together from
//! several parts: the answers of the commands, and a violation with its execution.

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge_core::{
    Bar, Counts, Covers, Decision, Ending, FactValue, Histogram, Inconclusive, Place, Statistics,
    Status, ThreadId,
};
use serde::{Deserialize, Serialize, Serializer};

use crate::outcome::{Advice, Encoding, Method, Outcome, Sizes};
use crate::source::SourceView;
use crate::tree::Tree;
use crate::view::{StepView, TraceView, ValueView, ViolationView, WaitingView};

/// The version of the tool: all crates have the same one.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What `check` answers, on the command line and in the library.
#[derive(Serialize)]
struct CheckJson<'a> {
    version: &'static str,
    command: &'static str,
    file: &'a str,
    constants: &'a BTreeMap<String, ConstantJson>,
    verdict: &'static str,
    #[serde(flatten)]
    method: MethodJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<DecisionJson<'a>>,
    covers: CoversJson,
    #[serde(flatten)]
    sizes: SizesJson<'a>,
    seconds: f64,
    /// Absent with a formula, `null` without random choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<Option<u64>>,
    violations: Vec<ViolationJson<'a>>,
    inconclusive: Vec<InconclusiveJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<BTreeMap<&'static str, FactJson<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<StatisticsJson>,
    source: &'a [SourceView],
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<&'a Tree>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum MethodJson<'a> {
    Explored { algorithm: &'static str, equivalence: Option<&'static str> },
    Symbolic(&'a Encoding),
}

#[derive(Serialize)]
#[serde(untagged)]
enum SizesJson<'a> {
    Explored {
        executions: ExecutionsJson,
        #[serde(skip_serializing_if = "Option::is_none")]
        states: Option<u64>,
        steps: u64,
        longest: usize,
        threads: usize,
    },
    Symbolic {
        threads: usize,
        #[serde(flatten)]
        sizes: &'a Sizes,
    },
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = &self.report;
        let is_symbolic = matches!(self.method, Method::Symbolic(..));
        CheckJson {
            version: VERSION,
            command: "check",
            file: &self.file,
            constants: &self.constants,
            verdict: self.verdict().name(),
            method: match &self.method {
                Method::Explored { algorithm, equivalence, .. } => {
                    MethodJson::Explored { algorithm, equivalence: *equivalence }
                }
                Method::Symbolic(encoding, _) => MethodJson::Symbolic(encoding),
            },
            decision: report.decision.as_ref().map(Into::into),
            covers: self.covers.into(),
            sizes: match &self.method {
                Method::Explored { .. } => SizesJson::Explored {
                    executions: report.counts.into(),
                    states: report.states,
                    steps: report.steps,
                    longest: report.longest,
                    threads: report.threads,
                },
                Method::Symbolic(_, sizes) => {
                    SizesJson::Symbolic { threads: report.threads, sizes }
                }
            },
            seconds: self.time.as_secs_f64(),
            seed: match self.method {
                Method::Explored { seed, .. } => Some(seed),
                Method::Symbolic(..) => None,
            },
            violations: self
                .found
                .iter()
                .map(|trace| ViolationJson {
                    inputs: is_symbolic.then(|| trace.inputs()),
                    ..ViolationJson::new(&trace.violations[0], trace)
                })
                .collect(),
            inconclusive: report
                .inconclusive
                .iter()
                .map(|reason| InconclusiveJson::new(reason, &(self.advice)(reason)))
                .collect(),
            facts: (!is_symbolic).then(|| {
                report.facts.iter().map(|fact| (fact.name, FactJson::from(&fact.value))).collect()
            }),
            statistics: report.statistics.as_deref().map(Into::into),
            source: &self.source,
            tree: self.tree.as_ref(),
        }
        .serialize(serializer)
    }
}

/// Which explorer decided, of one that chooses among others.
#[derive(Serialize)]
struct DecisionJson<'a> {
    explorer: &'static str,
    after: Option<BeforeJson>,
    why: Option<&'a str>,
}

/// What another explorer did before.
#[derive(Serialize)]
struct BeforeJson {
    explorer: &'static str,
    executions: u64,
}

impl<'a> From<&'a Decision> for DecisionJson<'a> {
    fn from(decision: &'a Decision) -> Self {
        let after =
            decision.before.map(|(explorer, executions)| BeforeJson { explorer, executions });
        Self { explorer: decision.explorer, after, why: decision.why.as_deref() }
    }
}

/// A number, or words.
#[derive(Serialize)]
#[serde(untagged)]
enum FactJson<'a> {
    Count(u64),
    Text(&'a str),
}

impl<'a> From<&'a FactValue> for FactJson<'a> {
    fn from(value: &'a FactValue) -> Self {
        match value {
            FactValue::Count(count) => FactJson::Count(*count),
            FactValue::Text(text) => FactJson::Text(text),
        }
    }
}

/// Statistics of a search.
#[derive(Serialize)]
struct StatisticsJson {
    numbers: Vec<NumberJson>,
    times: Vec<TimeJson>,
    histograms: Vec<HistogramJson>,
}

/// A named number.
#[derive(Serialize)]
struct NumberJson {
    name: &'static str,
    value: f64,
}

/// A part of the time.
#[derive(Serialize)]
struct TimeJson {
    name: &'static str,
    seconds: f64,
}

/// How often which values occurred.
#[derive(Serialize)]
struct HistogramJson {
    name: &'static str,
    bars: Vec<BarJson>,
}

/// How often values in a range occurred.
#[derive(Serialize)]
struct BarJson {
    from: u64,
    to: u64,
    count: u64,
}

/// What `compare` answers.
#[derive(Clone, Debug, Serialize)]
pub struct CompareJson {
    /// The version of the tool.
    pub version: &'static str,
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
    /// Distinct states that were reached, of an algorithm that tells them apart.
    pub states: Option<u64>,
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
#[derive(Serialize)]
pub struct ReplayJson<'a> {
    version: &'static str,
    command: &'static str,
    file: &'a str,
    constants: &'a BTreeMap<String, ConstantJson>,
    #[serde(flatten)]
    execution: &'a TraceView,
    violations: Vec<ViolationJson<'a>>,
    source: &'a [SourceView],
}

impl<'a> ReplayJson<'a> {
    /// Returns the answer for an execution of the program in `file`.
    pub fn new(
        file: &'a str,
        constants: &'a BTreeMap<String, ConstantJson>,
        trace: &'a TraceView,
        source: &'a [SourceView],
    ) -> Self {
        Self {
            version: VERSION,
            command: "replay",
            file,
            constants,
            execution: trace,
            source,
            violations: trace
                .violations
                .iter()
                .map(|found| ViolationJson::new(found, trace))
                .collect(),
        }
    }
}

impl Serialize for TraceView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ExecutionJson<'a> {
            schedule: String,
            ending: Option<&'static str>,
            threads: &'a [String],
            context_switches: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            cycle: Option<usize>,
            steps: &'a [StepView],
            waiting: &'a [WaitingView],
            initial: &'a [ValueView],
        }
        ExecutionJson {
            schedule: self.schedule.to_string(),
            ending: self.ending.map(ending_name),
            threads: &self.threads,
            context_switches: self.context_switches(),
            cycle: self.schedule.cycle.map(|before| before + 1),
            steps: &self.steps,
            waiting: &self.waiting,
            initial: &self.initial,
        }
        .serialize(serializer)
    }
}

/// A violation, and the execution that shows it.
#[derive(Serialize)]
struct ViolationJson<'a> {
    kind: &'static str,
    message: &'a str,
    place: Option<PlaceJson<'a>>,
    places: Vec<PlaceJson<'a>>,
    notes: &'a [String],
    thread: Option<String>,
    schedule: String,
    replay: Option<&'a str>,
    context_switches: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cycle: Option<usize>,
    trace: &'a [StepView],
    waiting: &'a [WaitingView],
    initial: &'a [ValueView],
    race: Option<[usize; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<String>>,
}

impl<'a> ViolationJson<'a> {
    fn new(violation: &'a ViolationView, trace: &'a TraceView) -> Self {
        let places: Vec<PlaceJson<'_>> =
            violation.places.iter().map(|view| PlaceJson::from(&view.place)).collect();
        Self {
            kind: violation.kind.name(),
            message: &violation.message,
            place: places.first().copied(),
            places,
            notes: &violation.notes,
            thread: violation.thread.map(|thread| trace.name(thread)),
            schedule: trace.schedule.to_string(),
            replay: Some(&violation.replay),
            context_switches: trace.context_switches(),
            cycle: trace.schedule.cycle.map(|before| before + 1),
            trace: &trace.steps,
            waiting: &trace.waiting,
            initial: &trace.initial,
            race: violation.race,
            inputs: None,
        }
    }
}

/// A place in the source. Lines and columns count from 1.
#[derive(Clone, Copy, Serialize)]
struct PlaceJson<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    length: u32,
}

impl<'a> From<&'a Place> for PlaceJson<'a> {
    fn from(place: &'a Place) -> Self {
        let Place { file, line, column, length } = place;
        Self { file, line: *line, column: *column, length: *length }
    }
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
    /// What the user can do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl InconclusiveJson {
    /// Returns the reason with the next step.
    pub fn new(reason: &Inconclusive, advice: &Advice) -> Self {
        Self {
            reason: reason.name(),
            message: reason.to_string(),
            next: (!advice.next.is_empty()).then(|| advice.next.join(" ")),
        }
    }
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

impl From<Covers> for CoversJson {
    fn from(covers: Covers) -> Self {
        let Covers { assertions, deadlocks, data_races } = covers;
        Self { assertions, deadlocks, data_races }
    }
}

/// A thread is its number.
pub(crate) fn number<S: Serializer>(thread: &ThreadId, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u32(thread.number())
}

/// A place is an object, or `null`.
pub(crate) fn place<S: Serializer>(
    place: &Option<Place>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    place.as_ref().map(PlaceJson::from).serialize(serializer)
}

/// A duration is a number of seconds.
pub(crate) fn seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// A status is a word.
pub(crate) fn status<S: Serializer>(status: &Status, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match status {
        Status::Absent => "absent",
        Status::Enabled => "enabled",
        Status::Blocked => "blocked",
        Status::Parked => "parked",
        Status::Finished => "finished",
        Status::Assumed => "assumed",
        Status::Failed => "failed",
    })
}

/// The name of an ending.
pub(crate) fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Complete => "complete",
        Ending::Deadlocked => "deadlocked",
        Ending::Blocked => "blocked",
    }
}
