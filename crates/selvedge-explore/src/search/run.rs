//! What all explorers share: one system, the execution it is in, limits, and bookkeeping.
//!
//! An explorer takes steps with [`Run::step`], goes back with [`Run::backtrack`], and says how each execution ended:
//! [`Run::finish`], [`Run::finish_redundant`], [`Run::finish_cut`]. In between it calls [`Run::after_step`] and
//! [`Run::after_execution`], and stops when [`Run::is_stopped`] says so. Violations are noted on the way.

use std::time::Duration;

use selvedge_core::{
    Bound, Counts, Edges, Effect, Ended, Ending, Execution, Fault, Inconclusive, Position, Report,
    Schedule, Status, Step, System, ThreadId, Violation,
};

use crate::options::{Observer, Options, Progress};
use crate::outcome::data_race;
use crate::outcome::frees::Suspects;
use crate::search::order::Order;

/// Polling the observer may read the clock, so it is not polled at every step.
const STEPS_BETWEEN_POLLS: u32 = 512;

/// An exploration in progress: a system, and the execution that it is in.
pub struct Run<'a, S> {
    pub(crate) system: S,
    pub(crate) execution: Execution,
    pub(crate) report: Report,
    pub(crate) options: &'a Options,
    observer: &'a mut dyn Observer,
    effect: Effect,
    /// Of steps that are taken together.
    effects: Vec<Effect>,
    /// The system has taken this many steps of `execution`, and no others. Less than all of them
    /// only while races are examined.
    synced: usize,
    /// Whether it then took others too.
    strayed: bool,
    /// Switches up to each event; empty without a bound on them.
    switches: Vec<Switches>,
    steps_to_poll: u32,
    pub(crate) stopped: bool,
    /// The length of the execution after its first step that showed a violation.
    violated_at: Option<usize>,
    suspects: Suspects,
    /// Which alternatives of an enabled thread with several of them can be taken.
    possible: fn(&S, Step) -> bool,
}

impl<'a, S: System> Run<'a, S> {
    /// Begins with the empty execution of a system that `make` creates. What the system promises about whole executions is
    /// not decided by looking at some of them, and is a doubt.
    pub fn new(make: &dyn Fn() -> S, options: &'a Options, observer: &'a mut dyn Observer) -> Self {
        let mut run = Self::deciding_promises(make, options, observer);
        if let Some(promises) = run.system.promises() {
            let first = promises.broken(0);
            let place = first.places.first().map(|place| format!(" ({place})")).unwrap_or_default();
            run.give_up(format!(
                "`{}`{place} is about infinite executions, which only --algorithm states decides",
                // As it is written in a program.
                first.kind.name().replace('-', "_")
            ));
        }
        run
    }

    /// As [`Run::new`], for an explorer that decides what is promised.
    pub(crate) fn deciding_promises(
        make: &dyn Fn() -> S,
        options: &'a Options,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let mut system = make();
        system.restart();
        observer.begins();
        Self {
            system,
            execution: Execution::new(),
            report: Report::default(),
            options,
            observer,
            effect: Effect::default(),
            effects: Vec::new(),
            synced: 0,
            strayed: false,
            switches: Vec::new(),
            steps_to_poll: STEPS_BETWEEN_POLLS,
            stopped: false,
            violated_at: None,
            suspects: Suspects::default(),
            possible: |_, _| true,
        }
    }

    /// Says that not all alternatives of a thread can be taken in every state in which it has them.
    pub(crate) fn only_if(&mut self, possible: fn(&S, Step) -> bool) {
        self.possible = possible;
    }

    /// Returns whether a step of an enabled thread, one of `choices` alternatives, can be taken.
    #[inline]
    pub(crate) fn is_possible(&self, step: Step, choices: u32) -> bool {
        choices == 1 || (self.possible)(&self.system, step)
    }

    /// Returns the execution so far, with its happens-before relation.
    pub fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Returns the system, in the state after the execution. A caller that takes steps with it restores that state.
    pub fn system(&mut self) -> &mut S {
        &mut self.system
    }

    /// Returns what the exploration was asked to do.
    pub fn options(&self) -> &'a Options {
        self.options
    }

    /// Returns what was found so far, to add to it.
    pub fn report(&mut self) -> &mut Report {
        &mut self.report
    }

    /// Returns whether the exploration must end now. Cheap: polled in every long computation.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stopped || self.options.budget.is_spent()
    }

    /// Returns the thread ids known so far.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> + use<S> {
        (0..self.system.thread_count()).map(ThreadId::new)
    }

    /// Returns the enabled threads in the order in which a search that is free to choose tries them: the
    /// lowest number first. But a thread that has run for very long without a switch comes last,
    /// since it may wait in a loop for the others; and with a bound on switches the thread that runs
    /// continues.
    pub fn enabled_in_order(&self) -> impl Iterator<Item = ThreadId> + '_ {
        let count = self.system.thread_count();
        let first = match self.execution.steps().last() {
            Some(last) if self.has_switch_bound() => last.thread.index(),
            _ => self.tired().map_or(0, |thread| thread.index() + 1),
        };
        let around = move |index| if index < count { index } else { index - count };
        (first..first + count)
            .map(move |index| ThreadId::new(around(index)))
            .filter(|&thread| self.is_enabled(thread))
    }

    /// Returns the enabled threads, the last one by name first; otherwise as [`Run::enabled_in_order`].
    pub(crate) fn enabled_last_first<'o>(
        &'o self,
        order: &'o Order,
    ) -> impl Iterator<Item = ThreadId> + 'o {
        let end = order.len();
        let first = match self.execution.steps().last() {
            Some(last) if self.has_switch_bound() => order.place(last.thread),
            _ => self.tired().map_or(0, |thread| order.place(thread)).checked_sub(1).unwrap_or(end),
        };
        order.back_from(first).filter(|&thread| self.is_enabled(thread))
    }

    /// Returns the thread that took the last steps, if they are as many as `tiring`.
    fn tired(&self) -> Option<ThreadId> {
        let steps = self.execution.steps();
        let last = steps.last()?.thread;
        // Most of the time one look is enough.
        let from = steps.len().checked_sub(self.options.caps.tiring)?;
        (steps[from].thread == last && steps[from..].iter().all(|step| step.thread == last))
            .then_some(last)
    }

    /// Returns whether the thread can take a step.
    #[inline]
    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.system.status(thread) == Status::Enabled
    }

    /// Returns whether the step can be taken now. Of one that comes from another execution, that says whether the program is
    /// deterministic.
    pub fn can_take(&self, step: Step) -> bool {
        step.thread.index() < self.system.thread_count()
            && self.is_enabled(step.thread)
            && step.choice < self.system.choices(step.thread)
    }

    /// Returns whether the execution may not grow further.
    #[inline]
    pub fn is_at_step_limit(&self) -> bool {
        self.execution.len() >= self.options.limits.steps
    }

    /// Takes a step and adds its event to the execution.
    #[inline]
    pub fn step(&mut self, step: Step) {
        self.step_with(step, None);
    }

    /// Takes a step and adds its event, ordered as `edges` say.
    #[inline]
    pub(crate) fn step_with(&mut self, step: Step, edges: Option<&Edges>) {
        debug_assert_eq!((self.synced, self.strayed), (self.execution.len(), false));
        if self.has_switch_bound() {
            self.switches.push(self.switches_with(step.thread));
        }
        self.system.step(step, &mut self.effect);
        self.add_event(step, edges);
    }

    /// Takes a step if it has such an effect; returns whether it has. If not, nothing has happened, and no fault is noted.
    #[inline]
    pub(crate) fn step_if(&mut self, step: Step, is_such: impl Fn(&Effect) -> bool) -> bool {
        debug_assert_eq!((self.synced, self.strayed), (self.execution.len(), false));
        debug_assert!(!self.has_switch_bound(), "switches are not counted here");
        self.system.step(step, &mut self.effect);
        if is_such(&self.effect) {
            self.add_event(step, None);
            return true;
        }
        self.strayed = true;
        self.sync_to(self.execution.len());
        false
    }

    #[inline]
    fn add_event(&mut self, step: Step, edges: Option<&Edges>) {
        match edges {
            None => self.execution.push(step, &self.effect),
            Some(edges) => self.execution.push_with(step, &self.effect, edges),
        }
        self.synced += 1;
        self.report.steps += 1;
        if let Some(fault) = self.effect.fault.take() {
            self.note_fault(fault);
        }
    }

    /// Takes a step, and those of its thread that [`enabled_in_order`](Self::enabled_in_order) would choose
    /// next anyway; adds their events to the execution.
    #[inline]
    pub fn step_on(&mut self, step: Step) {
        if self.has_switch_bound() {
            return self.step(step);
        }
        debug_assert_eq!((self.synced, self.strayed), (self.execution.len(), false));
        let most = self.options.limits.steps.saturating_sub(self.execution.len());
        let most = most.clamp(1, self.options.caps.ahead);
        let Some(system) = self.system.ahead() else { return self.step(step) };
        let taken = system.step_on(step, most, &mut self.effects);
        self.execution.push(step, &self.effects[0]);
        for effect in &self.effects[1..taken] {
            self.execution.push(Step::of(step.thread), effect);
        }
        self.synced += taken;
        self.report.steps += taken as u64;
        if let Some(fault) = self.effects[taken - 1].fault.take() {
            self.note_fault(fault);
        }
    }

    /// Removes all events from `len` on.
    pub fn backtrack(&mut self, len: usize) {
        self.execution.truncate(len);
        self.switches.truncate(len);
        if self.violated_at.is_some_and(|at| at > len) {
            self.violated_at = None;
        }
        self.sync_to(len);
    }

    /// Undoes everything, also what was counted.
    pub(crate) fn start_again(&mut self) {
        self.backtrack(0);
        self.report.counts = Counts::default();
        self.observer.begins();
    }

    /// Brings the system to the first `len` steps of the execution.
    pub fn sync_to(&mut self, len: usize) {
        if len < self.synced || self.strayed {
            self.synced = self.synced.min(len);
            self.strayed = false;
            self.system.rewind(&self.execution.steps()[..self.synced]);
        }
        for position in self.synced..len {
            self.system.step(self.execution.steps()[position], &mut self.effect);
        }
        self.synced = len;
    }

    /// Says that the system takes steps that are not those of the execution. It goes back when it is
    /// needed elsewhere, and then only once.
    pub(crate) fn stray(&mut self) {
        self.strayed = true;
    }

    /// Returns whether the system has taken the step at `position`.
    pub(crate) fn has_taken(&self, position: Position) -> bool {
        position.index() < self.synced
    }

    #[inline]
    fn has_switch_bound(&self) -> bool {
        let limits = &self.options.limits;
        limits.preemptions.is_some() || limits.context_switches.is_some()
    }

    /// Returns whether the bounds on preemptions and on context switches let `thread` run next.
    pub fn is_within_preemptions(&self, thread: ThreadId) -> bool {
        if !self.has_switch_bound() {
            return true;
        }
        let (limits, switches) = (&self.options.limits, self.switches_with(thread));
        limits.preemptions.is_none_or(|most| switches.preemptions <= most)
            && limits.context_switches.is_none_or(|most| switches.all <= most)
    }

    /// Notes that a bound on switches cut something off. `exact`: nothing within it is lost.
    pub fn note_preemption_cut(&mut self, exact: bool) {
        if let Some(most) = self.options.limits.preemptions {
            self.report.note(Inconclusive::Bound(Bound::Preemptions { most, exact }));
        }
        if let Some(most) = self.options.limits.context_switches {
            self.report.note(Inconclusive::Bound(Bound::ContextSwitches { most, exact }));
        }
    }

    /// Judges a maximal execution.
    pub fn finish(&mut self) {
        self.note_length();
        let (ending, violation) = self.system.end();
        self.count_ending(ending);
        let mut is_violated = self.violated_at.is_some() || violation.is_some();
        if let Some(violation) = violation {
            self.note_violation(violation, self.execution.len());
        }
        if self.options.data_races {
            for race in data_race::find(&self.execution) {
                is_violated = true;
                self.note_violation(race.violation, race.second.index() + 1);
                if self.options.budget.is_spent() {
                    break;
                }
            }
        }
        let how = if is_violated { Ended::Violated } else { Ended::Maximal(ending) };
        self.observer.ended(self.execution.steps(), how);
        self.observer.execution(&self.execution, ending);
        self.tell_state(ending);
        self.try_frees();
    }

    /// Counts a maximal execution, or a final state.
    pub(crate) fn count_ending(&mut self, ending: Ending) {
        match ending {
            Ending::Complete => self.report.counts.complete += 1,
            Ending::Deadlocked => self.report.counts.deadlocked += 1,
            Ending::Blocked => self.report.counts.blocked += 1,
        }
    }

    /// Returns whether the observer wants to know the steps of each execution.
    pub(crate) fn wants_steps(&self) -> bool {
        self.observer.wants_steps()
    }

    /// Tells the observer of an execution that is not the one that the run is in.
    pub(crate) fn tell_ended(&mut self, steps: &[Step], how: Ended) {
        self.observer.ended(steps, how);
    }

    /// Tells the observer of the state that the system is in, which is final.
    pub(crate) fn tell_state(&mut self, ending: Ending) {
        if let Some(conditions) = self.system.conditions() {
            self.observer.state(conditions, ending);
        }
    }

    /// Tries accesses to memory that was freed, and did not have to be freed later than they were made, in
    /// the other order.
    #[inline]
    fn try_frees(&mut self) {
        if !self.system.freed().is_empty()
            && self.suspects.find(&self.execution, self.system.freed())
        {
            self.try_suspects();
        }
    }

    #[cold]
    fn try_suspects(&mut self) {
        let orders = self.suspects.orders(&self.execution, self.system.freed());
        for of_a_thread in orders {
            for steps in of_a_thread {
                // If it is not freed before the last access of a thread, something that is no step keeps it
                // alive until then, as a count without an access: then also before its other accesses.
                if self.is_stopped() || !self.try_out(&steps) {
                    break;
                }
            }
        }
        self.system.restart();
        self.synced = 0;
        self.sync_to(self.execution.len());
    }

    /// Returns whether steps that are not those of the execution show that something is wrong.
    fn try_out(&mut self, steps: &[Step]) -> bool {
        self.system.restart();
        for (index, &step) in steps.iter().enumerate() {
            if !self.can_take(step) {
                return false;
            }
            self.system.step(step, &mut self.effect);
            self.report.steps += 1;
            match self.effect.fault.take() {
                Some(Fault::Violation(violation)) => {
                    self.note_violation_behind(violation, steps[..=index].to_vec());
                    return true;
                }
                Some(Fault::GaveUp(reason)) => {
                    self.report.note(Inconclusive::GaveUp(reason));
                    return false;
                }
                None => {}
            }
        }
        false
    }

    /// Counts an execution that was abandoned because every enabled thread sleeps.
    pub fn finish_redundant(&mut self) {
        self.note_length();
        self.report.counts.redundant += 1;
        self.observer.ended(self.execution.steps(), Ended::Redundant);
    }

    /// Counts an execution that was cut at the limit of steps.
    pub fn finish_cut(&mut self) {
        self.note_length();
        self.report.counts.cut += 1;
        self.observer.ended(self.execution.steps(), Ended::Cut);
        self.report.note(Inconclusive::Bound(Bound::Steps(self.options.limits.steps)));
    }

    /// Counts an execution that was cut at a limit of switches. `exact`: nothing within the
    /// limit is lost.
    pub fn finish_preempted(&mut self, exact: bool) {
        self.note_length();
        self.report.counts.cut += 1;
        self.observer.ended(self.execution.steps(), Ended::Cut);
        self.note_preemption_cut(exact);
    }

    /// Checks the limits after an execution. `fraction`: how much of the search is done.
    pub fn after_execution(&mut self, fraction: &dyn Fn() -> f64) {
        if let Some(most) = self.options.limits.executions
            && self.report.counts.total() >= most
        {
            self.stop(Bound::Executions(most));
        }
        self.poll(fraction);
    }

    /// Checks the limits after a step, now and then.
    #[inline]
    pub fn after_step(&mut self, fraction: &dyn Fn() -> f64) {
        self.after_steps(1, fraction);
    }

    /// Checks the limits after some steps, now and then.
    #[inline]
    pub fn after_steps(&mut self, taken: usize, fraction: &dyn Fn() -> f64) {
        self.steps_to_poll = self.steps_to_poll.saturating_sub(taken as u32);
        if self.steps_to_poll == 0 {
            self.poll(fraction);
        }
    }

    /// Ends the exploration: what was found.
    pub fn into_report(mut self) -> Report {
        // A search that was cut short because the budget was exhausted may look complete.
        if let Some(spent) = self.options.budget.spent() {
            self.stop(spent.into());
        }
        self.report.threads = self.system.thread_count();
        self.report
    }

    /// Returns the time, for statistics.
    pub(crate) fn now(&self) -> Duration {
        self.observer.now()
    }

    /// Gives up on something that the explorer does not support.
    pub fn give_up(&mut self, reason: String) {
        self.report.note(Inconclusive::GaveUp(reason));
    }

    /// Ends the exploration, for a reason that was noted.
    pub(crate) fn stop_now(&mut self) {
        self.stopped = true;
    }

    fn poll(&mut self, fraction: &dyn Fn() -> f64) {
        self.steps_to_poll = STEPS_BETWEEN_POLLS;
        self.report.threads = self.system.thread_count();
        self.observer.found(&self.report);
        let progress = || Progress {
            counts: self.report.counts,
            states: self.report.states,
            steps: self.report.steps,
            depth: self.report.states.map_or(self.execution.len(), |_| self.report.longest),
            fraction: fraction(),
        };
        if let Some(bound) = self.observer.poll(&progress) {
            self.stop(bound);
        }
    }

    fn stop(&mut self, bound: Bound) {
        self.stopped = true;
        self.report.note(Inconclusive::Bound(bound));
    }

    #[cold]
    fn note_fault(&mut self, fault: Fault) {
        match fault {
            Fault::Violation(violation) => {
                self.violated_at.get_or_insert(self.execution.len());
                self.note_violation(violation, self.execution.len());
                if self.stopped {
                    // It ends here and will not be judged as a maximal one.
                    self.note_length();
                    self.report.counts.complete += 1;
                    self.observer.ended(self.execution.steps(), Ended::Violated);
                }
            }
            Fault::GaveUp(reason) => self.report.note(Inconclusive::GaveUp(reason)),
        }
    }

    /// Notes a violation that the first `len` steps lead to.
    pub(crate) fn note_violation(&mut self, violation: Violation, len: usize) {
        if !self.report.knows(&violation) {
            let schedule = Schedule::fresh(&mut self.system, &self.execution.steps()[..len]);
            self.synced = len;
            self.sync_to(self.execution.len());
            self.report.violations.push((violation, schedule));
        }
        self.stopped |= !self.options.keep_going;
    }

    /// Notes a violation that is seen after steps that are not a prefix of the execution.
    pub(crate) fn note_violation_behind(&mut self, violation: Violation, steps: Vec<Step>) {
        if !self.report.knows(&violation) {
            let schedule = Schedule::fresh(&mut self.system, &steps);
            self.report.violations.push((violation, schedule));
        }
        self.stopped |= !self.options.keep_going;
    }

    /// Notes an execution that does not keep a promise. `cycle`: how many steps come before those that repeat forever.
    pub(crate) fn note_broken(
        &mut self,
        violation: Violation,
        steps: &[Step],
        cycle: Option<usize>,
    ) {
        if !self.report.knows(&violation) {
            let schedule = Schedule { cycle, ..Schedule::fresh(&mut self.system, steps) };
            self.report.violations.push((violation, schedule));
        }
        self.stopped |= !self.options.keep_going;
    }

    fn note_length(&mut self) {
        self.report.longest = self.report.longest.max(self.execution.len());
    }

    /// Switches of the execution if `thread` runs next.
    fn switches_with(&self, thread: ThreadId) -> Switches {
        let mut switches = self.switches.last().copied().unwrap_or_default();
        if let Some(last) = self.execution.steps().last().filter(|last| last.thread != thread) {
            switches.all += 1;
            switches.preemptions += u32::from(self.is_enabled(last.thread));
        }
        switches
    }
}

/// The number of switches.
#[derive(Clone, Copy, Default)]
struct Switches {
    /// In all.
    all: u32,
    /// Of which the previous thread was enabled.
    preemptions: u32,
}
