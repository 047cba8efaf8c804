//! The result of a check, ready to be shown. Command line and library make the same one, so that every form of it
//! is put together once.

use std::collections::BTreeMap;
use std::time::Duration;

use selvedge_core::{Covers, Inconclusive, Report, Verdict};
use serde::Serialize;

use crate::json::{self, ConstantJson};
use crate::source::SourceView;
use crate::tree::Tree;
use crate::view::TraceView;

/// What a check found out, and how.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The file as the user named it.
    pub file: String,
    /// All constants with their values.
    pub constants: BTreeMap<String, ConstantJson>,
    /// How executions were covered.
    pub method: Method,
    /// What a "verified" of this check means.
    pub covers: Covers,
    /// What was counted and found, and what keeps it from being a proof.
    pub report: Report,
    /// The distinct violations of the report, replayed: each the first one of its execution.
    pub found: Vec<TraceView>,
    /// The source around the places of `found`.
    pub source: Vec<SourceView>,
    /// The explored executions, if they were requested.
    pub tree: Option<Tree>,
    /// How long the search took.
    pub time: Duration,
    /// What the user can do about a reason why nothing is proved.
    pub advice: fn(&Inconclusive) -> Advice,
}

/// A reason why nothing is proved, for the user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// What happened, in one sentence.
    pub what: String,
    /// The next step, in lines that fit a terminal; empty if the sentence names it.
    pub next: Vec<String>,
}

impl From<&Inconclusive> for Advice {
    /// Without a next step.
    fn from(reason: &Inconclusive) -> Self {
        Self { what: reason.to_string(), next: Vec::new() }
    }
}

/// How executions are covered.
#[derive(Clone, Debug)]
pub enum Method {
    /// One by one.
    Explored {
        /// The name of the algorithm, `sample` or `replay`.
        algorithm: &'static str,
        /// The relation of which one execution per class is explored; `None` if some are picked.
        equivalence: Option<&'static str>,
        /// The seed of the random choices, if there were any.
        seed: Option<u64>,
    },
    /// All at once, as a formula.
    Symbolic(Encoding, Box<Sizes>),
}

/// How interleavings are encoded. Its JSON form is documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct Encoding {
    /// The name of the encoding.
    pub symbolic: &'static str,
    /// The name of the solver.
    pub solver: &'static str,
    /// The bound on loop iterations.
    pub unroll: u32,
    /// The bound on context switches, if there is one.
    pub context_bound: Option<u32>,
    /// The bounds on context switches to single threads, as on the command line.
    pub thread_bounds: Vec<String>,
}

/// How large a formula is. Its JSON form is documented in `docs/json.md`.
#[derive(Clone, Debug, Serialize)]
pub struct Sizes {
    /// Per thread.
    pub shared_accesses: Vec<usize>,
    /// Locks included.
    pub shared_variables: usize,
    /// Instructions of the unrolled threads.
    pub transitions: u64,
    /// Ordered pairs between which a token could pass.
    pub pairs: Option<usize>,
    /// Those that are kept.
    pub kept_pairs: Option<usize>,
    /// Mutually atomic transactions of all pairs of threads, if they were computed.
    pub transactions: Option<usize>,
    /// Per depth of unrolling.
    pub depths: Vec<DepthSizes>,
}

/// The formula of one depth of unrolling.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DepthSizes {
    /// The bound on loop iterations.
    pub depth: u32,
    /// How long it took.
    #[serde(rename = "seconds", serialize_with = "json::seconds")]
    pub time: Duration,
    /// Of the solver.
    pub conflicts: u64,
    /// Boolean variables.
    pub variables: u64,
    /// Clauses.
    pub clauses: u64,
    /// Literals in them.
    pub literals: u64,
    /// Atoms of the theory of orders.
    pub order_atoms: u64,
}

impl Outcome {
    /// Returns the answer in one word.
    pub fn verdict(&self) -> Verdict {
        self.report.verdict()
    }
}

impl TraceView {
    /// Returns what was chosen from outside, as the execution shows it.
    pub fn inputs(&self) -> Vec<String> {
        let chosen = self.steps.iter().filter(|step| step.text.starts_with("choose("));
        chosen
            .map(|step| {
                let place = step.place.as_ref().map(|place| format!(" (line {})", place.line));
                format!("{}: {}{}", step.name, step.text, place.unwrap_or_default())
            })
            .collect()
    }
}
