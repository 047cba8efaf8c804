//! The steps of executions, from what is kept of states: the way to a state, and along edges of the graph.
//!
//! Bytes of states on the way may be forgotten, so a way is followed from the initial state: each step from a state that is
//! known leads to the bytes of the next one.

use selvedge_core::{Fault, Step, System, ThreadId, Violation};

use super::expand::list_steps;
use super::hash::Hash;
use super::liveness::{Edge, Lasso};
use super::search::Search;
use super::store::StateId;

/// A step between states each of which has names of its own.
struct Stage {
    step: Step,
    /// The state that it leads to.
    to: Vec<u8>,
    /// What the names before it are there.
    names: Vec<ThreadId>,
}

impl<S: System> Search<'_, S> {
    /// Returns the steps that lead to a state, up to the names of threads. The state that the system is in changes; if threads are
    /// renamed, it is the one that the steps lead to.
    pub(super) fn path(&mut self, state: StateId) -> Vec<Step> {
        let (mut ways, mut at) = (Vec::new(), state);
        while let Some((parent, step)) = self.store.parent(at) {
            ways.push((at, step));
            at = parent;
        }
        self.run.system.restart();
        self.save();
        let mut stages = Vec::new();
        for (to, step) in ways.into_iter().rev() {
            self.restore_saved();
            let Some(step) = self.step_to(to, step) else { break };
            stages.push(Stage { step, to: self.bytes.clone(), names: self.names_as_saved() });
        }
        match self.renamed.is_empty() {
            true => stages.into_iter().map(|stage| stage.step).collect(),
            false => self.with_their_own_names(&stages),
        }
    }

    /// Returns the steps of an execution from steps between states each of which has names of its own.
    fn with_their_own_names(&mut self, stages: &[Stage]) -> Vec<Step> {
        self.run.system.restart();
        self.save();
        // What the threads of the execution are called in the state that it has come to.
        let mut names = self.names_as_saved();
        let mut steps: Vec<Step> = Vec::new();
        for stage in stages {
            let called = names.iter().position(|&name| name == stage.step.thread);
            let thread = called.map_or(stage.step.thread, ThreadId::new);
            names.iter_mut().for_each(|name| *name = stage.names[name.index()]);
            for choice in 0..self.run.system.choices(thread) {
                let step = Step { thread, choice };
                self.run.system.step(step, &mut self.effect);
                self.bytes.clear();
                if let Some(states) = self.run.system.states() {
                    states.save_with_names(&names, &mut self.bytes);
                }
                if self.bytes == stage.to {
                    steps.push(step);
                    break;
                }
                self.run.system.rewind(&steps);
            }
        }
        steps
    }

    fn names_as_saved(&mut self) -> Vec<ThreadId> {
        match self.run.system.states() {
            Some(states) if !self.renamed.is_empty() => states.names_as_saved(),
            _ => Vec::new(),
        }
    }

    /// Takes the step that leads from the state that was restored to another one, which is saved, and goes back. `kept`: that
    /// step, if it is known.
    fn step_to(&mut self, to: StateId, kept: Option<Step>) -> Option<Step> {
        list_steps(&self.run.system, &mut self.steps, &mut self.statuses);
        for index in 0..self.steps.len() {
            let step = self.steps[index];
            if kept.is_some_and(|kept| kept != step) {
                continue;
            }
            self.run.system.step(step, &mut self.effect);
            self.save();
            self.run.system.rewind(&[]);
            if kept.is_some() || self.is_saved(to) {
                return Some(step);
            }
        }
        None
    }

    /// Returns whether the state that was saved last is this one.
    fn is_saved(&self, state: StateId) -> bool {
        let hash = Hash::of(&self.bytes, self.hash_bits);
        self.store.find(hash, &self.bytes) == Some(state)
    }

    /// Takes steps from the initial state. Returns what is wrong with the last.
    pub(super) fn follow(&mut self, steps: &[Step]) -> Option<Violation> {
        self.run.system.restart();
        for &step in steps {
            self.run.system.step(step, &mut self.effect);
        }
        match self.effect.fault.take() {
            Some(Fault::Violation(violation)) => Some(violation),
            _ => None,
        }
    }

    /// Returns the step that fails as `step` did in a state that may have had other names of threads.
    pub(super) fn step_that_fails(
        &mut self,
        path: &[Step],
        step: Step,
        violation: &Violation,
    ) -> Step {
        if self.renamed.is_empty() {
            return step;
        }
        list_steps(&self.run.system, &mut self.steps, &mut self.statuses);
        for index in 0..self.steps.len() {
            self.run.system.step(self.steps[index], &mut self.effect);
            self.run.system.rewind(path);
            if let Some(Fault::Violation(it)) = self.effect.fault.take()
                && (it.kind, &it.places) == (violation.kind, &violation.places)
            {
                return self.steps[index];
            }
        }
        step
    }

    /// Returns the steps of an execution that was found in the graph, and how many come before the cycle. `None` if only hashes
    /// are kept and they do not lead there.
    pub(super) fn steps_of(&mut self, lasso: &Lasso) -> Option<(Vec<Step>, Option<usize>)> {
        let mut steps = self.path(StateId::new(lasso.start));
        let (start, stem) = (steps.len(), lasso.stem.len());
        self.follow(&steps);
        self.save();
        for edge in lasso.stem.iter().chain(&lasso.cycle) {
            self.restore_saved();
            steps.push(self.step_along(edge)?);
        }
        Some((steps, (!lasso.cycle.is_empty()).then_some(start + stem)))
    }

    /// Takes the step that leads from where the system is to where an edge of the graph leads, and as that does; the state there
    /// is saved.
    fn step_along(&mut self, edge: &Edge) -> Option<Step> {
        list_steps(&self.run.system, &mut self.steps, &mut self.statuses);
        for index in 0..self.steps.len() {
            let step = self.steps[index];
            self.run.system.step(step, &mut self.effect);
            let is_along =
                edge.thread == step.thread && edge.is_marked == self.has_passed_mark(step.thread);
            self.save();
            self.run.system.rewind(&[]);
            if is_along && self.is_saved(StateId::new(edge.to)) {
                return Some(step);
            }
        }
        None
    }

    fn has_passed_mark(&mut self, thread: ThreadId) -> bool {
        self.run.system.promises().is_some_and(|promises| promises.has_passed_mark(thread))
    }

    pub(super) fn save(&mut self) {
        self.bytes.clear();
        if let Some(states) = self.run.system.states() {
            states.save(&mut self.bytes);
        }
    }

    /// Returns to the state that was saved last.
    fn restore_saved(&mut self) {
        if let Some(states) = self.run.system.states() {
            states.restore(&self.bytes);
        }
    }
}
