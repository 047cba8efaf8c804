//! Parsimonious search: each trace once, without wakeup trees.
//!
//! After P. Abdulla, M. Atig, S. Das, B. Jonsson, K. Sagonas: *Parsimonious Optimal Dynamic Partial Order
//! Reduction*, CAV 2024. Which races are reversed is theirs; what keeps a trace from being met twice is a
//! canonical form in place of their conflict detectors: see `docs/papers.md`.
//!
//! | idea | here |
//! |---|---|
//! | the canonical sequence of a trace | `Search::marks` beside `Run::execution` |
//! | a unit: that sequence up to its last departure from the first choice | [`Unit`] |
//! | a step that is put off, and the reasons for it | `stages.rs` |
//! | the children of a unit | `children.rs`, `pasts.rs` |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** exactly one maximal execution per trace. **Not guaranteed:** no wasted work. Where a step waits for
//! several things, others that would have had to come first are kept away while it is put off. If nothing else
//! can run then, the execution is given up and counted as redundant.
//! **Differs from the paper:**
//! 1. The canonical form takes the place of sleep sets and conflict detectors, so that a unit needs nothing but
//!    its own steps: its children depend on it alone.
//! 2. Steps that wait, steps that act differently in another state, and alternatives follow from the same
//!    definition; the paper has reads, writes and locks. Steps that can be disabled in several ways are chosen
//!    last.
//! 3. Where a race has many reversals they are made a few at a time: what is left is a unit of its own.
//!
//! **Cost:** per execution, the steps after the prefix that it shares with the one before, and one look at
//! each race of its new events. Memory for the pending units: at most the square of the length of an
//! execution, and far fewer in practice.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle and with `optimal`, golden programs, deliberate
//! mistakes; `parsimonious/tests.rs`: units in any order, and again.

mod children;
mod pasts;
mod stages;
mod unit;

use selvedge_core::{Effect, Flexibility, Mode, Position, Report, Step, System, ThreadId};
use smallvec::SmallVec;

use crate::algorithm::{Covers, Equivalence, Info};
use crate::options::{Observer, Options};
use crate::races::{NOT_REPRODUCIBLE, is_only};
use crate::run::Run;

use children::Again;
use stages::Stage;
use unit::{Item, Mark, Unit};

pub(crate) const INFO: Info = Info {
    name: "parsimonious",
    summary: "one execution per trace in flat memory: canonical units of work",
    advice: "As `optimal`, in memory that does not grow with the number of traces. May waste an execution \
             where a step waits for several things and all other threads wait, too.",
    paper: "after Abdulla, Atig, Das, Jonsson, Sagonas, CAV 2024",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: false,
    switch_bounds: false,
};

const NO_SWITCHES: &str = "`parsimonious` has no bound on preemptions or context switches, as the execution that \
                           stands for a trace may have more of them than others of that trace; leave out the \
                           bound, or use another algorithm";

pub(crate) fn explore<S: System>(
    make: &dyn Fn() -> S,
    options: &Options,
    observer: &mut dyn Observer,
) -> Report {
    let mut search = Search::new(make, options, observer);
    if options.limits.preemptions.is_some() || options.limits.context_switches.is_some() {
        search.run.give_up(NO_SWITCHES.to_owned());
        return search.run.into_report();
    }
    while !search.run.is_stopped()
        && let Some(unit) = search.pending.pop()
    {
        search.perform(unit);
    }
    search.run.into_report()
}

struct Search<'a, S> {
    run: Run<'a, S>,
    /// What each event of the execution is to its canonical sequence.
    marks: Vec<Mark>,
    /// The events that depart from the first choice, in order.
    departures: Vec<Position>,
    /// The blocks of the execution, in order.
    stages: Vec<Stage>,
    /// How many of them are open.
    open: usize,
    /// The events that may wait or act differently elsewhere, in order, and whether their races must be
    /// looked at again when they are not new.
    flexible: Vec<(Position, Again)>,
    /// How many events come from the unit.
    replayed: usize,
    pending: Vec<Unit>,
    /// Room for the items of units to come.
    spare: Vec<Vec<Item>>,
    /// Estimated share of the search that is done.
    done: f64,
}

/// How running a unit went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ran {
    /// To the end of an execution, or to a limit.
    Ended,
    /// Every step that could be taken next belongs to other units. Those that share more than the unit with what was
    /// run so far are found from there all the same.
    Stuck,
    /// It is not canonical: its trace belongs to another unit.
    Dropped,
}

impl<'a, S: System> Search<'a, S> {
    fn new(make: &dyn Fn() -> S, options: &'a Options, observer: &'a mut dyn Observer) -> Self {
        Self {
            run: Run::new(make, options, observer),
            marks: Vec::new(),
            departures: Vec::new(),
            stages: Vec::new(),
            open: 0,
            flexible: Vec::new(),
            replayed: 0,
            pending: vec![Unit { share: 1.0, ..Unit::new(Vec::new()) }],
            spare: Vec::new(),
            done: 0.0,
        }
    }

    /// Runs a unit and adds its children to those that are pending.
    fn perform(&mut self, unit: Unit) {
        let known = self.pending.len();
        self.replayed = unit.items.len();
        let mut ran = self.replay(&unit.items);
        let is_run = unit.rest.is_none();
        match unit.rest {
            Some(rest) if ran == Ran::Ended => self.go_on_with(*rest),
            Some(_) => {}
            None => {
                if ran == Ran::Ended {
                    ran = self.go_on();
                }
                if ran != Ran::Dropped && !self.run.is_stopped() {
                    self.add_children();
                }
            }
        }
        self.spare.push(unit.items);
        let parts = self.pending.len() - known + usize::from(is_run);
        let share = unit.share / parts.max(1) as f64;
        for child in &mut self.pending[known..] {
            child.share = share;
        }
        if is_run {
            self.done += share;
        }
        let done = self.done;
        self.run.after_execution(&|| done);
    }

    /// Takes the steps of a unit.
    fn replay(&mut self, items: &[Item]) -> Ran {
        self.go_back(items);
        for at in self.run.execution.len()..items.len() {
            let Item { step, mark } = items[at];
            let known = step.thread.index() < self.run.system.thread_count();
            if !known
                || !self.run.is_enabled(step.thread)
                || step.choice >= self.run.system.choices(step.thread)
            {
                self.run.give_up(NOT_REPRODUCIBLE.to_owned());
                return Ran::Dropped;
            }
            if self.run.is_at_step_limit() {
                self.run.finish_cut();
                return Ran::Dropped;
            }
            if !mark.is_chosen() {
                if at == 0 || self.marks[at - 1] != Mark::Block {
                    self.begin_block(&items[at..]);
                }
                if self.is_kept_away(step) {
                    return Ran::Dropped;
                }
            }
            self.run.step(step);
            if let Ran::Dropped = self.mark(mark) {
                return Ran::Dropped;
            }
        }
        Ran::Ended
    }

    /// Goes back to where the unit parts from the execution, but not into a block.
    fn go_back(&mut self, items: &[Item]) {
        let taken = self.run.execution.steps().iter().zip(&self.marks);
        let taken = taken.map(|(&step, &mark)| Item { step, mark });
        let mut common = items.iter().zip(taken).take_while(|(item, taken)| *item == taken).count();
        while common > 0 && items[common - 1].mark == Mark::Block {
            common -= 1;
        }
        self.cut_to(common);
    }

    /// Takes back all events from `len` on, none of which is in a block that begins before.
    fn cut_to(&mut self, len: usize) {
        self.run.backtrack(len);
        self.marks.truncate(len);
        while self.departures.last().is_some_and(|last| last.index() >= len) {
            self.departures.pop();
        }
        while self.flexible.last().is_some_and(|(last, _)| last.index() >= len) {
            self.flexible.pop();
        }
        while let Some(stage) = self.stages.pop_if(|stage| stage.head.index() >= len) {
            self.open -= usize::from(stage.open);
        }
    }

    /// Notes the step that the block puts off. Its items are the first of `items`.
    fn begin_block(&mut self, items: &[Item]) {
        let at = self.run.execution.len();
        let ends = |(nth, item): (usize, &Item)| match item.mark {
            Mark::Head(put_off) => Some((nth, put_off)),
            _ => None,
        };
        let Some((nth, put_off)) = items.iter().enumerate().find_map(ends) else { return };
        debug_assert_eq!(
            self.chosen().map(|step| step.thread),
            Some(put_off.thread),
            "the chosen thread is put off"
        );
        let thread = put_off.thread;
        let mut effect = Effect::default();
        let mut footprints = SmallVec::new();
        for choice in 0..self.run.system.choices(thread) {
            self.run.system.pending(Step { thread, choice }, &mut effect);
            footprints.push(effect.footprint.clone());
        }
        let number = self.stages.len();
        let goes_on = |last: &&Stage| last.head.index() + 1 == at && last.put_off.thread == thread;
        let first = self.stages.last().filter(goes_on).map_or(number, |last| last.first);
        let head = Position::new(at + nth);
        self.stages.push(Stage { at, head, put_off, footprints, first, open: false });
    }

    /// Marks the last event, and checks what it settles.
    fn mark(&mut self, mark: Mark) -> Ran {
        let last = Position::new(self.run.execution.len() - 1);
        self.add_mark(mark);
        if mark.departs() {
            self.departures.push(last);
        }
        if !self.is_right(last) {
            return Ran::Dropped;
        }
        if let Mark::Head(put_off) = mark {
            let is_enabled = self.run.is_enabled(put_off.thread);
            let execution = &self.run.execution;
            let stage = self.stages.last_mut().expect("internal error: a head without its block");
            stage.open = !is_enabled && !stage.is_settled(execution);
            self.open += usize::from(stage.open);
            let first = stage.first;
            if stage.open
                && !self.stages[first..].iter().all(|stage| stage.is_right_so_far(execution))
            {
                return Ran::Dropped;
            }
        }
        Ran::Ended
    }

    /// Notes what the next event without a mark is.
    #[inline]
    fn add_mark(&mut self, mark: Mark) {
        let (execution, position) = (&self.run.execution, Position::new(self.marks.len()));
        self.marks.push(mark);
        let again = match execution.event(position).flexibility {
            Flexibility::Fixed => return,
            // The last departure, which comes later, is not in its past.
            Flexibility::Lock if is_only(execution, position, Mode::Acquire) => Again::No,
            _ => Again::Unknown,
        };
        self.flexible.push((position, again));
    }

    /// Whether all stages at which the thread of the last event was put off, since it ran before, are as they
    /// should be. If it always touched one object, that was seen when the unit was made.
    fn is_right(&self, last: Position) -> bool {
        let thread = self.run.execution.event(last).thread();
        let previous = self.run.execution.previous_of_thread(last);
        let since = |stage: &&Stage| previous.is_none_or(|previous| stage.head > previous);
        let own = self.stages.iter().rev().take_while(since);
        let mut own = own.filter(|stage| stage.put_off.thread == thread && stage.head < last);
        let Some(newest) = own.clone().next() else { return true };
        let object = newest.single_object();
        let is_simple =
            object.is_some() && own.clone().all(|stage| stage.single_object() == object);
        is_simple || own.all(|stage| stage.is_right(&self.run.execution))
    }

    /// Goes on freely to the end of the execution.
    fn go_on(&mut self) -> Ran {
        while !self.run.is_stopped() {
            let Some(step) = self.chosen() else {
                if self.run.threads().any(|thread| self.run.is_enabled(thread)) {
                    return self.get_stuck();
                }
                self.run.finish();
                return Ran::Ended;
            };
            if self.run.is_at_step_limit() {
                self.run.finish_cut();
                return Ran::Ended;
            }
            let at = self.run.execution.len();
            if self.is_plain(step) {
                self.run.step_on(step);
                while self.marks.len() < self.run.execution.len() {
                    self.add_mark(Mark::Free);
                }
            } else {
                self.run.step(step);
                let mark = if step.choice == 0 { Mark::Free } else { Mark::Other };
                if self.mark(mark) == Ran::Dropped {
                    if at == self.replayed {
                        return Ran::Dropped;
                    }
                    self.cut_to(at);
                    return self.get_stuck();
                }
            }
            let (done, taken) = (self.done, self.run.execution.len() - at);
            self.run.after_steps(taken, &|| done);
        }
        Ran::Ended
    }

    /// Ends an execution that cannot go on. If it is no longer than its unit, nothing was run in vain.
    fn get_stuck(&mut self) -> Ran {
        if self.run.execution.len() > self.replayed {
            self.run.finish_redundant();
        }
        Ran::Stuck
    }

    /// Whether nothing is to be looked at when the chosen step is taken, and its thread may go on.
    fn is_plain(&self, step: Step) -> bool {
        let after_head = matches!(self.marks.last(), Some(Mark::Head(_)));
        !after_head
            && step.choice == 0
            && !self.waits_for_reasons()
            && !self.run.could_get_tired(step.thread)
    }

    /// The step that is taken if nothing speaks against it.
    fn chosen(&mut self) -> Option<Step> {
        if let Some(&Mark::Head(put_off)) = self.marks.last()
            && self.run.is_enabled(put_off.thread)
        {
            let choices = self.run.system.choices(put_off.thread);
            let choice = if put_off.choice < choices { put_off.choice } else { 0 };
            return Some(Step { choice, ..put_off });
        }
        let open = self.waits_for_reasons();
        let first = self.run.enabled_in_order().next()?;
        // While a step that can be disabled is put off, everything that disables it has to be looked at. So such
        // steps come last.
        if !self.run.system.can_be_disabled(first)
            && let Some(step) = self.first_choice(first, open)
        {
            return Some(step);
        }
        let mut last: SmallVec<[ThreadId; 8]> = SmallVec::new();
        let enabled: SmallVec<[ThreadId; 8]> = self.run.enabled_in_order().collect();
        for thread in enabled {
            if self.run.system.can_be_disabled(thread) {
                last.push(thread);
            } else if let Some(step) = self.first_choice(thread, open) {
                return Some(step);
            }
        }
        last.into_iter().find_map(|thread| self.first_choice(thread, open))
    }

    /// The first alternative of a thread that is not a reason which should have come earlier.
    fn first_choice(&mut self, thread: ThreadId, open: bool) -> Option<Step> {
        if !open {
            return Some(Step::of(thread));
        }
        let choices = 0..self.run.system.choices(thread);
        choices.map(|choice| Step { thread, choice }).find(|&step| !self.is_kept_away(step))
    }

    /// The stages to which reasons can still be added, with all of their loops.
    fn open_stages(&self) -> impl Iterator<Item = &Stage> {
        let is_open = |(_, stage): &(usize, &Stage)| {
            let ran = self.run.execution.last_of(stage.put_off.thread);
            stage.open && ran.is_none_or(|last| last < stage.head)
        };
        let open = self.stages.iter().enumerate().filter(is_open);
        open.flat_map(|(number, stage)| &self.stages[stage.first..=number])
    }

    fn waits_for_reasons(&self) -> bool {
        self.open > 0 && self.open_stages().next().is_some()
    }

    /// Whether the step, which is enabled, would be a reason that should have come first.
    fn is_kept_away(&mut self, step: Step) -> bool {
        if !self.waits_for_reasons() {
            return false;
        }
        let mut effect = Effect::default();
        self.run.system.pending(step, &mut effect);
        let accesses = effect.footprint.accesses();
        let execution = &self.run.execution;
        let direct: Vec<Position> = execution
            .positions()
            .filter(|&x| selvedge_core::dependent(execution.accesses(x), accesses))
            .chain(execution.last_of(step.thread))
            .collect();
        let past = |x: Position| direct.iter().any(|&y| execution.happens_before(x, y));
        self.open_stages().any(|stage| stage.keeps_away(execution, step, accesses, &past))
    }
}

#[cfg(test)]
mod tests;
