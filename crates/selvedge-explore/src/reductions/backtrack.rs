//! Backtrack sets and sleep sets: what `sleep`, `classic` and `source` have in common.
//!
//! Each node on the path has a set of threads to explore. It begins as the [`Rule`] of an algorithm says; the rule adds to
//! the sets of earlier nodes when it sees that another order matters. The lines are those of Algorithm 1 of Abdulla, Aronis,
//! Jonsson, Sagonas (POPL 2014), which are the same in all three.

use selvedge_core::{Position, Report, Step, System, ThreadId};

use crate::options::{Observer, Options};
use crate::search::depth_first::{Halt, Reduction, depth_first};
use crate::search::run::Run;
use crate::search::share::share_done;
use crate::trace::frontier::Frontier;
use crate::trace::sleep_set::SleepSets;

/// When and how an algorithm adds to backtrack sets.
pub(crate) trait Rule<S: System> {
    /// In every state, before anything is explored from it; also at the end of an execution.
    fn at_state(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets) {
        let _ = (run, sets);
    }

    /// Returns the step to begin with: the first that is awake.
    fn first(&self, run: &Run<'_, S>, sleep: &SleepSets) -> Result<Step, Halt> {
        Ok(run.first_awake(|step| sleep.contains(step))?.0)
    }

    /// Returns the backtrack set to begin with, in a state in which `first` is awake.
    fn frontier(&mut self, run: &Run<'_, S>, sleep: &SleepSets, first: ThreadId) -> Frontier {
        let _ = (run, sleep);
        // [l.3]
        Frontier::new(first)
    }

    /// After a step: its event stands at `position`, the last one.
    fn after_step(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets, position: Position) {
        let _ = (run, sets, position);
    }

    /// Where an execution is cut at the limit of steps, before [`Rule::at_end`].
    fn at_cut(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets) {
        let _ = (run, sets);
    }

    /// At the end of an execution.
    fn at_end(&mut self, run: &mut Run<'_, S>, sets: &mut BacktrackSets) {
        let _ = (run, sets);
    }
}

/// Explores by `rule`.
pub(crate) fn explore<S: System>(
    rule: impl Rule<S>,
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut run = Run::new(make, options, observer);
    depth_first(&mut run, &mut Backtracking::new(rule));
    run.into_report()
}

pub(crate) struct Backtracking<R> {
    pub(crate) rule: R,
    pub(crate) sets: BacktrackSets,
}

impl<R> Backtracking<R> {
    pub(crate) fn new(rule: R) -> Self {
        let sets = BacktrackSets { sleep: SleepSets::new(), frontiers: Vec::new(), next: None };
        Self { rule, sets }
    }
}

/// The sets along the current path.
pub(crate) struct BacktrackSets {
    pub(crate) sleep: SleepSets,
    /// One per prefix of the execution: `frontiers[i]` is `backtrack(E)` in the state before the event at `i`.
    pub(crate) frontiers: Vec<Frontier>,
    /// The next step from the state that the search has gone back to.
    pub(crate) next: Option<Step>,
}

impl BacktrackSets {
    /// Goes back to the node at `depth`, where what was explored from it sleeps from now on.
    fn go_back_to<S: System>(&mut self, run: &mut Run<'_, S>, depth: usize) {
        self.sleep.ascend(depth);
        // [l.12]
        self.sleep.add_event(&run.execution, Position::new(depth));
        run.backtrack(depth);
    }

    /// Returns the next step of the last node that does not sleep.
    pub(crate) fn next_of_last<S: System>(&mut self, run: &mut Run<'_, S>) -> Option<Step> {
        let frontier = self.frontiers.last_mut()?;
        // [l.4]
        loop {
            let step = frontier.next(run)?;
            if !self.sleep.contains(step) {
                return Some(step);
            }
        }
    }
}

impl<S: System, R: Rule<S>> Reduction<S> for Backtracking<R> {
    fn choose(&mut self, run: &mut Run<'_, S>) -> Result<Step, Halt> {
        let Self { rule, sets } = self;
        if let Some(next) = sets.next.take() {
            return Ok(next);
        }
        rule.at_state(run, sets);
        run.sync_to(run.execution.len());
        // [l.2]
        let first = rule.first(run, &sets.sleep)?;
        sets.frontiers.push(rule.frontier(run, &sets.sleep, first.thread));
        Ok(sets.next_of_last(run).expect("internal error: no step of a thread that is awake"))
    }

    fn take(&mut self, run: &mut Run<'_, S>, step: Step) {
        let position = Position::new(run.execution.len());
        run.step(step);
        // [l.10]
        self.sets.sleep.descend(step, run.execution.accesses(position));
        self.rule.after_step(run, &mut self.sets, position);
        run.sync_to(run.execution.len());
    }

    fn end(&mut self, run: &mut Run<'_, S>, halt: Halt) {
        // Nothing is explored from a state at the limit of steps.
        self.sets.frontiers.truncate(run.execution.len());
        if halt == Halt::Steps {
            self.rule.at_cut(run, &mut self.sets);
        }
        self.rule.at_end(run, &mut self.sets);
    }

    fn go_back(&mut self, run: &mut Run<'_, S>) -> bool {
        let sets = &mut self.sets;
        while let Some(last) = sets.frontiers.last() {
            if last.has_more() {
                sets.go_back_to(run, sets.frontiers.len() - 1);
                sets.next = sets.next_of_last(run);
                if sets.next.is_some() {
                    return true;
                }
            }
            sets.frontiers.pop();
        }
        false
    }

    fn fraction(&self) -> f64 {
        share_done(self.sets.frontiers.iter().map(Frontier::progress))
    }
}
