//! Work that is divided: what is left to be explored from a state.
//!
//! A unit is the way to a state. What is left there depends on what sleeps, and that on what was explored from the states on
//! the way; so each of them has that too. Its text: the steps, joined by dots; after each of them those that were
//! explored from the same state before, each after a `-`; and after `!` those that were explored from the last state.
//! A step is the name of its thread, and `:` with the number of its alternative if that is not the first one. `0.1-0!-0`: from
//! the state after thread 0 and then 1, all that is awake but thread 0, where thread 0 was explored in place of 1 too.

use std::collections::BTreeSet;

use selvedge_core::{
    Position, Report, Schedule, Step, System, ThreadId, ThreadKey, Violation, thread_named,
};

use super::EveryThread;
use crate::division::worker::{Advance, Before, Worker};
use crate::division::{Part, Pending};
use crate::options::{Observer, Options};
use crate::reductions::backtrack::{Backtracking, Rule as _};
use crate::search::depth_first::{Reduction, to_the_end};
use crate::search::run::Run;
use crate::trace::races::NOT_REPRODUCIBLE;

const DAMAGED: &str = "a unit of work is damaged: it is not what is left of a state";

/// Begins with what is left of a state.
pub(crate) fn begin<'a, S: System + 'static>(
    make: &dyn Fn() -> S,
    options: &'a Options,
    observer: &'a mut dyn Observer,
    start: &Pending,
) -> Result<Box<dyn Worker + 'a>, String> {
    let mut worker = Divided {
        run: Run::new(make, options, observer),
        search: Backtracking::new(EveryThread::default()),
        explored: Vec::new(),
        is_over: false,
        share: start.share,
        besides: Vec::new(),
    };
    if !start.unit.is_empty() {
        worker.go_to(&start.unit)?;
    }
    Ok(Box::new(worker))
}

struct Divided<'a, S> {
    run: Run<'a, S>,
    search: Backtracking<EveryThread>,
    /// The steps that were explored from each state on the way, without the one that leads further. Those of later states
    /// are missing if there are none.
    explored: Vec<Vec<Step>>,
    /// Whether nothing is left.
    is_over: bool,
    /// The share of the search that it has, without what it handed over.
    share: f64,
    besides: Vec<(Violation, Schedule)>,
}

impl<S: System> Divided<'_, S> {
    /// Follows a unit to its state.
    fn go_to(&mut self, text: &str) -> Result<(), String> {
        let (way, explored) = text.split_once('!').ok_or(DAMAGED)?;
        for item in way.split('.').filter(|item| !item.is_empty()) {
            let mut steps = item.split('-');
            let step = steps.next().ok_or(DAMAGED)?;
            self.put_to_sleep(steps)?;
            let step = self.find(step)?;
            let at = Position::new(self.run.execution.len());
            self.run.step(step);
            let sets = &mut self.search.sets;
            sets.frontiers.push(std::iter::empty().collect());
            sets.sleep.descend(step, self.run.execution.accesses(at));
        }
        let Backtracking { rule, sets } = &mut self.search;
        if let Ok((first, _)) = self.run.first_awake(|step| sets.sleep.contains(step)) {
            sets.frontiers.push(rule.frontier(&self.run, &sets.sleep, first.thread));
        }
        self.put_to_sleep(explored.split('-').skip(1))?;
        // What was seen on the way belongs to others; that a bound rules out the next step does not.
        self.run.forget_found();
        let sets = &mut self.search.sets;
        sets.next = sets.next_of_last(&mut self.run);
        self.is_over = sets.next.is_none();
        Ok(())
    }

    /// Takes the steps, each from the state that the run is in, to see what they touch, and puts them to sleep.
    fn put_to_sleep<'t>(&mut self, steps: impl Iterator<Item = &'t str>) -> Result<(), String> {
        let depth = self.run.execution.len();
        for step in steps {
            let step = self.find(step)?;
            self.run.step(step);
            self.search.sets.sleep.add_event(&self.run.execution, Position::new(depth));
            self.run.backtrack(depth);
            self.note_explored(depth, step);
        }
        Ok(())
    }

    /// Returns the step that a text names.
    fn find(&self, text: &str) -> Result<Step, String> {
        let (thread, choice) = text.split_once(':').unwrap_or((text, "0"));
        let key: ThreadKey = thread.parse().map_err(|_| DAMAGED)?;
        let choice = choice.parse().map_err(|_| DAMAGED)?;
        let thread = thread_named(&self.run.system, &key).ok_or(NOT_REPRODUCIBLE)?;
        let step = Step { thread, choice };
        self.run.can_take(step).then_some(step).ok_or_else(|| NOT_REPRODUCIBLE.to_owned())
    }

    fn name(&self, thread: ThreadId) -> ThreadKey {
        self.run.system.thread_key(thread)
    }

    fn push_step(&self, text: &mut String, step: Step) {
        text.push_str(&self.name(step.thread).to_string());
        if step.choice > 0 {
            text.push_str(&format!(":{}", step.choice));
        }
    }

    fn note_explored(&mut self, depth: usize, step: Step) {
        self.explored.resize(depth + 1, Vec::new());
        self.explored[depth].push(step);
    }

    /// Goes back to the next step.
    fn go_back(&mut self) {
        let steps = self.run.execution.steps().to_vec();
        self.is_over = !self.search.go_back(&mut self.run);
        let depth = self.run.execution.len();
        if let Some(&step) = steps.get(depth).filter(|_| !self.is_over) {
            self.note_explored(depth, step);
        }
    }

    /// Writes what was explored from the state at a depth.
    fn push_explored(&self, text: &mut String, depth: usize) {
        for &step in self.explored.get(depth).into_iter().flatten() {
            text.push('-');
            self.push_step(text, step);
        }
    }

    /// Returns what is left of the state at a depth, once `besides` is explored from it too.
    fn unit(&self, depth: usize, besides: Option<Step>) -> Part {
        let mut unit = String::new();
        for (at, &step) in self.run.execution.steps()[..depth].iter().enumerate() {
            if at > 0 {
                unit.push('.');
            }
            self.push_step(&mut unit, step);
            self.push_explored(&mut unit, at);
        }
        unit.push('!');
        self.push_explored(&mut unit, depth);
        if let Some(step) = besides {
            unit.push('-');
            self.push_step(&mut unit, step);
        }
        Part::ToDo(Pending { unit, share: self.share_of(depth, besides.is_some()), floor: 0 })
    }

    /// Returns the share of what is left of the state at a depth.
    fn share_of(&self, depth: usize, is_begun: bool) -> f64 {
        let mut share = self.share;
        for (nth, frontier) in self.search.sets.frontiers.iter().take(depth + 1).enumerate() {
            let (begun, all) = frontier.progress();
            match all {
                0 => {}
                _ if nth < depth => share /= all as f64,
                _ => share *= (all - begun + usize::from(!is_begun)) as f64 / all as f64,
            }
        }
        share
    }

    /// Returns the depths of the states that have something left beside the next step, the last one first.
    fn depths_left(&self) -> impl Iterator<Item = usize> + '_ {
        let frontiers = self.search.sets.frontiers.iter().enumerate().rev();
        frontiers.filter(|(_, frontier)| frontier.has_more()).map(|(depth, _)| depth)
    }

    /// Returns the step that is explored from the state at a depth, or is next.
    fn current(&self, depth: usize) -> Option<Step> {
        self.run.execution.steps().get(depth).copied().or(self.search.sets.next)
    }

    /// Returns whether nothing was run yet.
    fn is_fresh(&self) -> bool {
        self.search.sets.frontiers.is_empty() && !self.is_over
    }
}

impl<S: System> Worker for Divided<'_, S> {
    fn advance(&mut self) -> Advance {
        if let Some(ended) = Advance::ended(&self.run) {
            return ended;
        }
        // Not before it is needed: what a bound rules out here is not noted if the report ends before it.
        if !self.is_over && !self.is_fresh() && self.search.sets.next.is_none() {
            self.go_back();
        }
        if self.is_over {
            return Advance::Nothing;
        }
        let (depth, next) = (self.run.execution.len(), self.search.sets.next);
        let before = Before::of(&self.run.report);
        to_the_end(&mut self.run, &mut self.search);
        self.search.rule.order.update(&self.run.system);
        if self.run.options.budget.is_spent() && !self.run.is_violated() {
            self.run.backtrack(depth);
            let sets = &mut self.search.sets;
            sets.sleep.ascend(depth);
            sets.frontiers.truncate(if next.is_some() { depth + 1 } else { depth });
            sets.next = next;
            self.besides.extend(before.restore(&mut self.run.report));
            return Advance::Interrupted;
        }
        // If nothing is enabled in the initial state, there is nothing to go back to.
        self.is_over = self.search.sets.frontiers.is_empty();
        if self.run.is_violated() { Advance::Violated } else { Advance::Ran }
    }

    fn left(&self) -> usize {
        let next = usize::from(self.is_fresh() || self.search.sets.next.is_some());
        next + self.depths_left().count()
    }

    fn all_left(&self) -> Vec<Part> {
        if self.is_fresh() {
            return vec![Part::ToDo(Pending { share: self.share, ..Pending::root() })];
        }
        let last = self.run.execution.len();
        let next = self.search.sets.next.map(|_| self.unit(last, None));
        let above = self.depths_left().filter(|&depth| next.is_none() || depth < last);
        let above: Vec<usize> = above.collect();
        let rest = above.into_iter().map(|depth| self.unit(depth, self.current(depth)));
        next.into_iter().chain(rest).collect()
    }

    fn give_away(&mut self) -> Vec<Part> {
        let Some(depth) = self.depths_left().last() else { return Vec::new() };
        let unit = self.unit(depth, self.current(depth));
        self.share -= self.share_of(depth, true);
        self.search.sets.frontiers[depth].clear();
        vec![unit]
    }

    fn report(&self) -> &Report {
        &self.run.report
    }

    fn seen_besides(&self) -> &[(Violation, Schedule)] {
        &self.besides
    }

    fn threads(&self) -> BTreeSet<ThreadKey> {
        self.search.rule.order.names().cloned().collect()
    }

    fn share(&self) -> f64 {
        match self.is_over {
            true => self.share,
            false if self.is_fresh() => 0.0,
            false => self.share * Reduction::<S>::fraction(&self.search),
        }
    }
}
