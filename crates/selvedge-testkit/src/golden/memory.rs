//! What a program gives under memory models: lines such as `memory rc11: 4 violated assertion`.

use std::collections::BTreeSet;
use std::sync::Arc;

use selvedge_core::{Fault, Verdict};
use selvedge_explore::{Finding, Memory, Options, Silent, explore_graphs};
use selvedge_lang::GraphInterpreter;
use selvedge_lang::ir::Program;

use super::{Cost, ExpectedVerdict, parse_cost, parse_verdict};

/// What a program gives under one memory model, derived by hand.
#[derive(Clone, Debug)]
pub struct MemoryLine {
    memory: Memory,
    cost: Cost,
    verdict: ExpectedVerdict,
}

impl MemoryLine {
    /// Reads a line: executions, and a verdict unless it is verified.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(model: &str, value: &str) -> Result<Self, String> {
        let memory = Memory::named(model).ok_or_else(|| format!("`{model}` is no memory model"))?;
        let (cost, verdict) = value.split_once(' ').unwrap_or((value, "verified"));
        Ok(Self { memory, cost: parse_cost(cost)?, verdict: parse_verdict(verdict.trim())? })
    }

    /// Returns what is not as the line says.
    pub(super) fn problems(&self, program: &Arc<Program>, options: &Options) -> Vec<String> {
        let name = self.memory.name();
        let mut system = match GraphInterpreter::new(Arc::clone(program)) {
            Ok(system) => system,
            Err(refused) => return vec![format!("memory {name}: refused: {refused:?}")],
        };
        let report = explore_graphs(&mut system, self.memory, options, &mut Silent);
        let kinds: BTreeSet<String> = report
            .findings
            .iter()
            .filter_map(|(finding, _)| match finding {
                Finding::Fault(_, Fault::Violation(violation)) | Finding::Judged(violation) => {
                    Some(violation.kind.name().to_owned())
                }
                Finding::DataRace(..) => Some("data-race".to_owned()),
                Finding::Deadlock(_) => Some("deadlock".to_owned()),
                Finding::Fault(_, Fault::GaveUp(_)) => None,
            })
            .collect();
        let found = match report.verdict() {
            Verdict::Verified => ExpectedVerdict::Verified,
            Verdict::Violated => ExpectedVerdict::Violated(kinds),
            Verdict::Inconclusive => ExpectedVerdict::Inconclusive,
        };
        let cost = Cost::of(&report.counts, None);
        let mut problems = Vec::new();
        if found != self.verdict {
            problems.push(format!("memory {name}: {found:?} found, {:?} expected", self.verdict));
        }
        if cost != self.cost {
            problems.push(format!("memory {name}: {cost:?} found, {:?} expected", self.cost));
        }
        problems
    }
}
