//! The search: states are expanded in the order in which they were reached.

use selvedge_core::{
    Effect, Ended, Fault, Promises, Report, Status, Step, System, ThreadId, Verdict, Violation,
    ViolationKind,
};

use super::growth;
use super::liveness::{self, Edge, Graph, Lasso};
use super::persistent::Persistent;
use super::store::{Put, StateId, Store};
use crate::options::Observer;
use crate::search::run::Run;

/// A search of the state graph, which can be paused.
pub(crate) struct Search<'a, S> {
    run: Run<'a, S>,
    store: Store,
    /// The state that is expanded next.
    at: StateId,
    /// The first state that is one step further away than that.
    further: StateId,
    /// The final states, as far as it is known.
    finals: Vec<StateId>,
    /// What the promises of the program are decided on, if it makes any.
    graph: Option<Graph>,
    /// `None`: all steps are taken in every state.
    persistent: Option<Persistent>,
    /// The threads whose names make no difference.
    renamed: Vec<String>,
    steps: Vec<Step>,
    /// What each thread can do in the state at hand.
    statuses: Vec<Status>,
    bytes: Vec<u8>,
    effect: Effect,
    /// Whether a state was expanded only in part.
    is_reduced: bool,
}

impl<'a, S: System> Search<'a, S> {
    /// Begins in the initial state of a system that can save its states.
    pub(super) fn new(mut run: Run<'a, S>) -> Self {
        let promises = run.system.promises();
        let graph = promises.map(|promises| Graph::new(promises.count(), &run.options.budget));
        // A promise is about every state on the way: nothing is left out.
        let is_whole = run.options.unreduced || graph.is_some();
        let persistent = (!is_whole).then(Persistent::default);
        let renamed = match run.system.states() {
            Some(states) if run.options.symmetry && !is_whole => states.up_to_renaming(),
            _ => Vec::new(),
        };
        let store = Store::new(run.options.caps.kept_states);
        let mut search = Self {
            run,
            store,
            at: StateId::FIRST,
            further: StateId::FIRST.next(),
            finals: Vec::new(),
            graph,
            persistent,
            renamed,
            steps: Vec::new(),
            statuses: Vec::new(),
            bytes: Vec::new(),
            effect: Effect::default(),
            is_reduced: false,
        };
        search.save();
        search.store.put(&search.bytes, None);
        search
    }

    /// Expands states until there are none left, or something ends the search, or `is_enough` says so of the steps taken and
    /// the bytes of all states. Returns whether the search is over.
    pub(crate) fn advance(&mut self, is_enough: impl Fn(u64, usize) -> bool) -> bool {
        while self.store.has(self.at) && !self.run.is_stopped() {
            if is_enough(self.run.report.steps, self.store.bytes_in_use()) {
                return false;
            }
            if self.at == self.further {
                self.run.report.longest += 1;
                self.further = self.store.end();
            }
            self.expand(self.at);
            self.run.report.states = Some(self.store.len() as u64);
            let share = self.store.share_up_to(self.at);
            self.run.after_steps(self.steps.len().max(1), &|| share);
            self.at = self.at.next();
        }
        if !self.run.is_stopped() {
            self.decide_promises();
        }
        true
    }

    /// Decides what is promised, when all states are known.
    fn decide_promises(&mut self) {
        let Some(graph) = self.graph.take() else { return };
        let fairness = self.run.options.fairness;
        let mut kept = 0;
        for promise in 0..graph.promises() {
            let Some(violation) = self.promises().map(|promises| promises.broken(promise)) else {
                return;
            };
            let Some(lasso) = liveness::broken(&graph, promise, violation.kind, fairness) else {
                kept += 1;
                continue;
            };
            let (steps, cycle) = self.steps_of(&lasso);
            let violation = liveness::told(violation, &steps, cycle, fairness);
            self.run.note_broken(violation, &steps, cycle);
            if self.run.is_stopped() {
                return;
            }
        }
        if !self.run.is_stopped() {
            let (of, fairness) = (graph.promises(), fairness.name());
            self.run.report.fact("promises", format!("{kept} of {of} kept, fairness: {fairness}"));
        }
    }

    fn promises(&mut self) -> Option<&mut dyn Promises> {
        self.run.system.promises()
    }

    /// Returns the steps of an execution that was found in the graph, and how many come before the cycle.
    fn steps_of(&mut self, lasso: &Lasso) -> (Vec<Step>, Option<usize>) {
        let mut steps = self.path(StateId::new(lasso.start));
        let (start, stem) = (steps.len(), lasso.stem.len());
        for edge in lasso.stem.iter().chain(&lasso.cycle) {
            self.restore(StateId::new(edge.from));
            steps.extend(self.step_along(edge));
        }
        (steps, (!lasso.cycle.is_empty()).then_some(start + stem))
    }

    /// Returns how much memory the states need.
    pub(crate) fn bytes_in_use(&self) -> usize {
        self.store.bytes_in_use()
    }

    /// Returns whether what was found is an answer, when the search is over.
    pub(crate) fn has_answer(&self) -> bool {
        let is_spent = self.run.options.budget.is_spent();
        !is_spent && self.run.report.verdict() != Verdict::Inconclusive
    }

    /// Tells an observer of all final states, in the order in which they were found: for one that was not told of the search.
    pub(crate) fn retell(&mut self, observer: &mut dyn Observer) {
        observer.begins();
        for index in 0..self.finals.len() {
            let state = self.finals[index];
            self.restore(state);
            let (ending, violation) = self.run.system.end();
            if observer.wants_steps() {
                let how = match violation {
                    Some(_) => Ended::Violated,
                    None => Ended::Maximal(ending),
                };
                let steps = self.path(state);
                observer.ended(&steps, how);
                self.restore(state);
            }
            if let Some(conditions) = self.run.system.conditions() {
                observer.state(conditions, ending);
            }
        }
    }

    /// Ends the search: what was found.
    pub(crate) fn into_report(mut self) -> Report {
        let is_cut = self.store.has(self.at) && self.run.report.violations.is_empty();
        if is_cut && let Some(system) = self.run.system.states() {
            let grows = growth::growing(system, &self.store);
            if let Some(it) = grows {
                self.run.report.fact(
                    "most values",
                    format!("{}: {} in {} of the states", it.name, it.values, it.of),
                );
            }
        }
        if !self.renamed.is_empty() {
            let told =
                format!("states are up to the names of threads: {}", self.renamed.join(", "));
            self.run.report.fact("symmetry", told);
        }
        let is_about_steps = |kind: ViolationKind| !kind.is_about_promises();
        if self.run.report.violations.iter().any(|(found, _)| is_about_steps(found.kind)) {
            let path = match self.is_reduced {
                true => "may not be the shortest; --unreduced finds the shortest",
                false => "the shortest, before it is rearranged for fewer context switches",
            };
            self.run.report.fact("path", path.to_owned());
        }
        self.run.into_report()
    }

    /// Takes the steps from a state that are necessary.
    fn expand(&mut self, state: StateId) {
        self.restore(state);
        self.list_steps();
        self.note_state();
        if self.steps.is_empty() {
            self.finish(state);
            return;
        }
        let first = match &mut self.persistent {
            Some(persistent) => {
                persistent.first(&mut self.run.system, &mut self.steps, &self.statuses)
            }
            None => self.steps.len(),
        };
        // The proviso: some state that follows is expanded later. So no step is put off without end: from each state, such
        // states lead to one in which all steps are taken.
        let mut leads_on = false;
        for index in 0..self.steps.len() {
            if index == first && leads_on {
                self.is_reduced = true;
                return;
            }
            let Some(next) = self.take(state, self.steps[index]) else { return };
            leads_on |= next > state;
        }
    }

    /// Notes what the current state means for promises.
    fn note_state(&mut self) {
        let Some(graph) = &mut self.graph else { return };
        let system = &mut self.run.system;
        let is_void = (0..system.thread_count()).any(|thread| {
            matches!(system.status(ThreadId::new(thread)), Status::Assumed | Status::Failed)
        });
        let Some(promises) = system.promises() else { return };
        if let Err(why) = graph.enter(is_void, promises) {
            self.run.give_up(why);
            self.run.stop_now();
        }
    }

    /// Takes one step and goes back. Returns the state that it leads to; `None` if the search ends.
    fn take(&mut self, state: StateId, step: Step) -> Option<StateId> {
        self.run.system.step(step, &mut self.effect);
        self.run.report.steps += 1;
        let is_marked = self.graph.is_some() && self.has_passed_mark(step.thread);
        self.save();
        self.run.system.rewind(&[]);
        if let Some(fault) = self.effect.fault.take() {
            self.note_fault(state, step, fault);
            if self.run.is_stopped() {
                return None;
            }
        }
        match self.store.put(&self.bytes, Some(state)) {
            Put::New(next) | Put::Known(next) => {
                if let Some(graph) = &mut self.graph {
                    graph.add(next.index(), step.thread, is_marked);
                }
                Some(next)
            }
            Put::Full => {
                self.run.give_up(format!(
                    "there are more than {} states, which is all that `states` can keep",
                    self.store.len()
                ));
                self.run.stop_now();
                None
            }
        }
    }

    /// Judges a state in which no thread is enabled.
    fn finish(&mut self, state: StateId) {
        let (ending, violation) = self.run.system.end();
        let is_violated = violation.is_some();
        self.finals.push(state);
        self.run.count_ending(ending);
        if self.run.wants_steps() {
            let steps = self.path(state);
            let how = if is_violated { Ended::Violated } else { Ended::Maximal(ending) };
            self.run.tell_ended(&steps, how);
        }
        if let Some(violation) = violation.filter(|it| !self.run.report.knows(it)) {
            let steps = self.path(state);
            self.follow(&steps);
            // Names of spawned threads depend on how they came into being.
            let violation = self.run.system.end().1.unwrap_or(violation);
            self.run.note_violation_behind(violation, steps);
        } else if is_violated && !self.run.options.keep_going {
            self.run.stop_now();
        }
        self.restore(state);
        self.run.tell_state(ending);
        let share = self.store.share_up_to(state);
        self.run.after_execution(&|| share);
    }

    #[cold]
    fn note_fault(&mut self, state: StateId, step: Step, fault: Fault) {
        match fault {
            Fault::GaveUp(reason) => self.run.give_up(reason),
            Fault::Violation(violation) => {
                if self.run.report.knows(&violation) {
                    return;
                }
                let mut steps = self.path(state);
                steps.push(self.step_that_fails(&steps, step, &violation));
                let violation = self.follow(&steps).unwrap_or(violation);
                self.run.note_violation_behind(violation, steps);
                self.restore(state);
            }
        }
    }

    /// Takes steps from the initial state. Returns what is wrong with the last.
    fn follow(&mut self, steps: &[Step]) -> Option<Violation> {
        self.run.system.restart();
        for &step in steps {
            self.run.system.step(step, &mut self.effect);
        }
        match self.effect.fault.take() {
            Some(Fault::Violation(violation)) => Some(violation),
            _ => None,
        }
    }

    /// Returns the steps that lead to a state, up to the names of threads. The state that the system is in changes; if threads are
    /// renamed, it is the one that the steps lead to.
    fn path(&mut self, state: StateId) -> Vec<Step> {
        // The current state is not done with these.
        let (steps, bytes) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.bytes));
        let (mut path, mut at) = (Vec::new(), state);
        while let Some(parent) = self.store.parent(at) {
            self.restore(parent);
            path.extend(self.step_to(at).map(|step| (at, step, self.names_as_saved())));
            at = parent;
        }
        path.reverse();
        let path = match self.renamed.is_empty() {
            true => path.into_iter().map(|(_, step, _)| step).collect(),
            false => self.with_their_own_names(&path),
        };
        (self.steps, self.bytes) = (steps, bytes);
        path
    }

    /// Returns the steps of an execution from steps between states each of which has names of its own: with each step, the
    /// state that it leads to, and what the names before it are there.
    fn with_their_own_names(&mut self, path: &[(StateId, Step, Vec<ThreadId>)]) -> Vec<Step> {
        self.run.system.restart();
        self.save();
        // What the threads of the execution are called in the state that it has come to.
        let mut names = self.names_as_saved();
        let mut steps: Vec<Step> = Vec::new();
        for (to, step, next) in path {
            let called = names.iter().position(|&name| name == step.thread);
            let thread = called.map_or(step.thread, ThreadId::new);
            names.iter_mut().for_each(|name| *name = next[name.index()]);
            for choice in 0..self.run.system.choices(thread) {
                let step = Step { thread, choice };
                self.run.system.step(step, &mut self.effect);
                self.bytes.clear();
                if let Some(states) = self.run.system.states() {
                    states.save_with_names(&names, &mut self.bytes);
                }
                if self.bytes == self.store.bytes(*to) {
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

    fn has_passed_mark(&mut self, thread: ThreadId) -> bool {
        self.promises().is_some_and(|promises| promises.has_passed_mark(thread))
    }

    /// Returns the step that leads from the state that was restored to another one.
    fn step_to(&mut self, to: StateId) -> Option<Step> {
        self.list_steps();
        for index in 0..self.steps.len() {
            let step = self.steps[index];
            self.run.system.step(step, &mut self.effect);
            self.save();
            self.run.system.rewind(&[]);
            if self.bytes == self.store.bytes(to) {
                return Some(step);
            }
        }
        None
    }

    /// Returns the step that fails as `step` did in a state that may have had other names of threads.
    fn step_that_fails(&mut self, path: &[Step], step: Step, violation: &Violation) -> Step {
        if self.renamed.is_empty() {
            return step;
        }
        let steps = std::mem::take(&mut self.steps);
        self.list_steps();
        let mut found = step;
        for index in 0..self.steps.len() {
            self.run.system.step(self.steps[index], &mut self.effect);
            self.run.system.rewind(path);
            if let Some(Fault::Violation(it)) = self.effect.fault.take()
                && (it.kind, &it.places) == (violation.kind, &violation.places)
            {
                found = self.steps[index];
                break;
            }
        }
        self.steps = steps;
        found
    }

    /// Returns the step that leads from where the system is to where an edge of the graph leads, and as that does.
    fn step_along(&mut self, edge: &Edge) -> Option<Step> {
        self.list_steps();
        for index in 0..self.steps.len() {
            let step = self.steps[index];
            self.run.system.step(step, &mut self.effect);
            let is_along =
                edge.thread == step.thread && edge.is_marked == self.has_passed_mark(step.thread);
            self.save();
            self.run.system.rewind(&[]);
            if is_along && self.bytes == self.store.bytes(StateId::new(edge.to)) {
                return Some(step);
            }
        }
        None
    }

    /// Lists all steps that can be taken now, by ascending threads.
    fn list_steps(&mut self) {
        self.steps.clear();
        self.statuses.clear();
        for thread in (0..self.run.system.thread_count()).map(ThreadId::new) {
            let status = self.run.system.status(thread);
            self.statuses.push(status);
            if status == Status::Enabled {
                let choices = self.run.system.choices(thread);
                self.steps.extend((0..choices).map(|choice| Step { thread, choice }));
            }
        }
    }

    fn save(&mut self) {
        self.bytes.clear();
        if let Some(states) = self.run.system.states() {
            states.save(&mut self.bytes);
        }
    }

    fn restore(&mut self, state: StateId) {
        if let Some(states) = self.run.system.states() {
            states.restore(self.store.bytes(state));
        }
    }
}
