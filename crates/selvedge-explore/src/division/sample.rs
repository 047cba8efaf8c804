//! Random executions that several workers run: a unit is a range of their numbers.

use std::collections::BTreeSet;
use std::ops::Range;

use selvedge_core::{Report, Schedule, System, ThreadKey, Violation};

use super::frontier::{Frontier, Part, Pending};
use super::worker::{Advance, Worker};
use crate::options::{Observer, Options};
use crate::search::order::Order;
use crate::search::random::Random;
use crate::search::run::Run;
use crate::search::sampling::{Scheduler, one};

impl Frontier {
    /// Returns the frontier of a sample of so many executions, with [`Sampling::Uniform`](crate::Sampling::Uniform).
    pub fn of_sample(executions: u64, seed: u64) -> Self {
        let unit = Unit { seed, all: executions, range: 0..executions };
        Self { parts: vec![Part::ToDo(unit.pending())] }
    }
}

/// Some of the executions of a sample.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Unit {
    seed: u64,
    /// How many there are in all.
    all: u64,
    range: Range<u64>,
}

impl Unit {
    fn pending(&self) -> Pending {
        let Range { start, end } = self.range;
        let unit = format!("sample {} {} {start} {end}", self.seed, self.all);
        Pending { unit, share: self.share(end - start), floor: 0 }
    }

    fn share(&self, executions: u64) -> f64 {
        executions as f64 / self.all.max(1) as f64
    }

    fn read(text: &str) -> Option<Self> {
        let mut words = text.strip_prefix("sample ")?.split(' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (seed, all, start, end) = (number()?, number()?, number()?, number()?);
        let is_whole = words.next().is_none() && start <= end && end <= all;
        is_whole.then_some(Self { seed, all, range: start..end })
    }
}

/// Begins with some of the executions.
pub(super) fn begin<'a, S: System + 'static>(
    make: &dyn Fn() -> S,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    start: &Pending,
) -> Result<Box<dyn Worker + 'a>, String> {
    let unit =
        Unit::read(&start.unit).ok_or("a unit of work is damaged: it is not part of a sample")?;
    let run = Run::new(make, options, observer);
    Ok(Box::new(Sampled { run, order: Order::default(), unit, done: 0, besides: Vec::new() }))
}

struct Sampled<'a, S> {
    run: Run<'a, S>,
    order: Order,
    unit: Unit,
    /// How many were run.
    done: u64,
    besides: Vec<(Violation, Schedule)>,
}

impl<S: System> Worker for Sampled<'_, S> {
    fn advance(&mut self) -> Advance {
        if let Some(ended) = Advance::ended(&self.run) {
            return ended;
        }
        if self.unit.range.is_empty() {
            return Advance::Nothing;
        }
        let before = self.run.report.clone();
        self.run.backtrack(0);
        let mut random = Random::nth(self.unit.seed, self.unit.range.start);
        one(&mut self.run, &mut self.order, &mut Scheduler::Uniform, &mut random, &|| 0.0);
        if self.run.options.budget.is_spent() && !self.run.is_violated() {
            let found = std::mem::replace(&mut self.run.report, before);
            self.besides = found.violations[self.run.report.violations.len()..].to_vec();
            return Advance::Interrupted;
        }
        self.unit.range.start += 1;
        self.done += 1;
        if self.run.is_violated() { Advance::Violated } else { Advance::Ran }
    }

    fn left(&self) -> usize {
        usize::try_from(self.unit.range.end - self.unit.range.start).unwrap_or(usize::MAX)
    }

    fn all_left(&self) -> Vec<Part> {
        let is_left = !self.unit.range.is_empty();
        is_left.then(|| Part::ToDo(self.unit.pending())).into_iter().collect()
    }

    /// Hands over the second half.
    fn give_away(&mut self) -> Vec<Part> {
        let Range { start, end } = self.unit.range;
        let middle = start + (end - start).div_ceil(2);
        if middle == end {
            return Vec::new();
        }
        self.unit.range.end = middle;
        vec![Part::ToDo(Unit { range: middle..end, ..self.unit.clone() }.pending())]
    }

    fn report(&self) -> &Report {
        &self.run.report
    }

    fn seen_besides(&self) -> &[(Violation, Schedule)] {
        &self.besides
    }

    fn threads(&self) -> BTreeSet<ThreadKey> {
        self.order.names().cloned().collect()
    }

    fn share(&self) -> f64 {
        self.unit.share(self.done)
    }
}
