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
//! | a step that is put off, the reasons for it, and what sleeps because of it | `stages.rs` |
//! | the step that is taken next | `forward.rs`, `guesses.rs` |
//! | the children of a unit | `children.rs`, `elsewhere.rs`, `bounded.rs`, `pasts.rs` |
//! | a unit as text, for other processes | `portable.rs` |
//! | one of several workers | `worker.rs` |
//!
//! **Equivalence:** Mazurkiewicz traces.
//! **Guarantee:** exactly one maximal execution per trace; `docs/papers.md` has the proof. **Not guaranteed:** no wasted work. A
//! step that was put off may then be blocked, or touch other things than before; others sleep meanwhile. If these are
//! the only ones that can go on, the execution is given up and counted as redundant.
//! **Differs from the paper:**
//! 1. The canonical form takes the place of sleep sets and conflict detectors, so that a unit needs nothing but
//!    its own steps: its children depend on it alone.
//! 2. Steps that wait, steps that act differently in another state, and alternatives follow from the same
//!    definition; the paper has reads, writes and locks. Steps that can be made to wait are chosen last.
//! 3. Where a race has many reversals they are made a few at a time: what is left is a unit of its own.
//!
//! **Cost:** per execution, the steps after the prefix that it shares with the one before, and one look at
//! each race of its new events. Memory for the pending units: at most the square of the length of an
//! execution, and far fewer in practice.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle and with `optimal`, golden programs, deliberate
//! mistakes; `parsimonious/tests.rs`: units in any order, and again.

mod bounded;
mod children;
mod elsewhere;
mod forward;
mod guesses;
mod pasts;
mod portable;
mod stages;
#[cfg(test)]
mod tests;
mod unit;
mod worker;

pub(crate) use worker::{begin, worker};

use selvedge_core::{
    Access, Effect, Elsewhere, Event, Flexibility, Footprint, Mode, Position, Report, Step, System,
    ThreadId,
};
use smallvec::SmallVec;

use crate::options::{Observer, Options};
use crate::registry::{Covers, Equivalence, Info, Setting};
use crate::search::order::Order;
use crate::search::run::Run;
use crate::trace::races::NOT_REPRODUCIBLE;

use guesses::Guesses;
use stages::{Config, Stage, all_accesses, is_varied};
use unit::{Item, Mark, Reasons, Unit};

pub(crate) const INFO: Info = Info {
    name: "parsimonious",
    summary: "one execution per trace in flat memory: canonical units of work",
    advice: "As `optimal`, in memory that does not grow with the number of traces. Where steps wait for several \
             things, a few executions may be redundant.",
    paper: "after Abdulla, Atig, Das, Jonsson, Sagonas, CAV 2024",
    equivalence: Equivalence::Mazurkiewicz,
    covers: Covers::EVERYTHING,
    optimal: false,
    chooses_from: &[],
    settings: &[Setting::Division],
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
        // What was interrupted is not run again.
        let _ = search.perform(unit);
    }
    search.run.into_report()
}

struct Search<'a, S> {
    run: Run<'a, S>,
    order: Order,
    /// What each event of the execution is to its canonical sequence.
    marks: Vec<Mark>,
    /// The events that depart from the first choice, in order.
    departures: Vec<Position>,
    /// The events whose races must be looked at in every execution that has them, in order.
    unsettled: Vec<Position>,
    /// The blocks of the execution, in order.
    stages: Vec<Stage>,
    /// The numbers of those that steps may sleep because of, now or when the block has ended.
    open: Vec<usize>,
    /// The events that were chosen while steps slept. Only while children are looked for.
    sleepy: Vec<Position>,
    /// The events with alternatives that touch different things, in order, and all that these touch.
    varied: Vec<(Position, SmallVec<[Access; 4]>)>,
    /// Threads whose step after this event of theirs was found to be one that can wait.
    waiting: Vec<(ThreadId, Option<Position>)>,
    /// The places in the order of the threads that were not seen to have ended, in order.
    live: Vec<usize>,
    /// Which steps are looked at before they are taken.
    guesses: Guesses,
    /// How many events come from the unit.
    replayed: usize,
    /// The alternatives of the head of the unit, if there are several.
    siblings: Vec<(Step, Footprint)>,
    pending: Vec<Unit>,
    /// Memory for the items of units to come.
    spare: Vec<Vec<Item>>,
    /// Estimated share of the search that is done.
    done: f64,
    /// A buffer.
    effect: Effect,
}

/// How running a unit went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ran {
    /// To the end of an execution, to a limit, or until every enabled step sleeps.
    Ended,
    /// It could not be run.
    Dropped,
}

impl<'a, S: System> Search<'a, S> {
    fn new(make: &dyn Fn() -> S, options: &'a Options, observer: &'a mut dyn Observer) -> Self {
        let run = Run::new(make, options, observer);
        let mut order = Order::default();
        order.update(&run.system);
        Self {
            run,
            order,
            marks: Vec::new(),
            departures: Vec::new(),
            unsettled: Vec::new(),
            stages: Vec::new(),
            open: Vec::new(),
            sleepy: Vec::new(),
            waiting: Vec::new(),
            live: Vec::new(),
            guesses: Guesses::default(),
            replayed: 0,
            varied: Vec::new(),
            siblings: Vec::new(),
            spare: Vec::new(),
            pending: vec![Unit { share: 1.0, ..Unit::new(Vec::new()) }],
            done: 0.0,
            effect: Effect::default(),
        }
    }

    /// Runs a unit and adds its children to those that are pending. Returns it if the budget was exhausted meanwhile.
    fn perform(&mut self, unit: Unit) -> Option<Unit> {
        self.replayed = unit.items.len();
        self.siblings.clear();
        let known = self.pending.len();
        let steps = self.run.report.steps;
        let ran = self.replay(&unit.items);
        // Steps that the unit shares with its parent only restore a state.
        let is_run = unit.rest.is_none();
        let new = if is_run { unit.items.len() - unit.shared() } else { 0 };
        self.run.report.steps = steps + new as u64;
        if ran == Ran::Ended {
            match &unit.rest {
                Some(rest) => self.go_on_with((**rest).clone()),
                None => {
                    self.go_on();
                    if !self.run.is_stopped() {
                        self.add_children();
                    }
                }
            }
        }
        if self.run.options.budget.is_spent() && !self.run.is_violated() {
            return Some(unit);
        }
        let parts = self.pending.len() - known + usize::from(is_run);
        let share = unit.share / parts.max(1) as f64;
        for child in &mut self.pending[known..] {
            child.share = share;
        }
        if is_run || parts == 0 {
            self.done += share;
        }
        self.spare.push(unit.items);
        let done = self.done;
        self.run.after_execution(&|| done);
        None
    }

    /// Takes the steps of a unit.
    fn replay(&mut self, items: &[Item]) -> Ran {
        self.go_back(items);
        for at in self.run.execution.len()..items.len() {
            let Item { step, mark } = items[at];
            let is_known = step.thread.index() < self.run.system.thread_count();
            if !is_known || !self.run.is_enabled(step.thread) {
                self.run.give_up(NOT_REPRODUCIBLE.to_owned());
                return Ran::Dropped;
            }
            if self.run.is_at_step_limit() {
                self.run.finish_cut();
                return Ran::Dropped;
            }
            if matches!(mark, Mark::Block | Mark::Head(..))
                && (at == 0 || self.marks[at - 1] != Mark::Block)
            {
                self.begin_block(&items[at..]);
            }
            debug_assert!(!self.sleeps_now(step), "what sleeps is not run");
            let is_last = at + 1 == items.len();
            if !is_last && step.choice == 0 && self.take_if_alone(step.thread, mark) {
                continue;
            }
            let choices = self.run.system.choices(step.thread);
            if step.choice >= choices {
                self.run.give_up(NOT_REPRODUCIBLE.to_owned());
                return Ran::Dropped;
            }
            if is_last && choices > 1 && matches!(mark, Mark::Head(..)) {
                self.note_siblings(step);
            }
            self.take(step, choices, mark);
        }
        Ran::Ended
    }

    /// Goes back to where the unit parts from the execution, but not into a block.
    fn go_back(&mut self, items: &[Item]) {
        let taken = self.run.execution.steps().iter().zip(&self.marks);
        let taken = taken.map(|(&step, &mark)| Item { step, mark });
        let mut common = items.iter().zip(taken).take_while(|(item, taken)| *item == taken).count();
        // The alternatives of the head of a unit are looked at when it is taken.
        if common == items.len() {
            common = common.saturating_sub(1);
        }
        while common > 0 && items[common - 1].mark == Mark::Block {
            common -= 1;
        }
        self.run.backtrack(common);
        self.marks.truncate(common);
        self.fill_live();
        // Another execution may start a thread with another step.
        self.waiting.retain(|(_, last)| last.is_some_and(|last| last.index() < common));
        for list in [&mut self.departures, &mut self.unsettled] {
            while list.last().is_some_and(|last| last.index() >= common) {
                list.pop();
            }
        }
        while self.varied.last().is_some_and(|(last, _)| last.index() >= common) {
            self.varied.pop();
        }
        while self.stages.last().is_some_and(|stage| stage.head.index() >= common) {
            self.stages.pop();
        }
        self.open.clear();
        for (number, stage) in self.stages.iter_mut().enumerate() {
            stage.truncate(common);
            if stage.is_open(common) {
                self.open.push(number);
            }
        }
    }

    /// Notes the step that the block puts off. Its items are the first of `items`.
    fn begin_block(&mut self, items: &[Item]) {
        let at = self.run.execution.len();
        let ends = |(nth, item): (usize, &Item)| match item.mark {
            Mark::Head(put_off, reasons) => Some((nth, put_off, reasons)),
            _ => None,
        };
        let Some((nth, thread, reasons)) = items.iter().enumerate().find_map(ends) else { return };
        debug_assert_eq!(
            self.chosen().map(|step| step.thread),
            Some(thread),
            "the chosen thread is put off"
        );
        if reasons == Reasons::Settled {
            return;
        }
        let alternatives = self.alternatives(thread);
        self.open.push(self.stages.len());
        self.stages.push(Stage::new(at, Position::new(at + nth), thread, alternatives));
    }

    /// Returns what the alternatives of the pending step of a thread, which is enabled, touch now.
    fn alternatives(&mut self, thread: ThreadId) -> SmallVec<[Footprint; 1]> {
        let mut footprints = SmallVec::new();
        for choice in 0..self.run.system.choices(thread) {
            self.run.system.pending(Step { thread, choice }, &mut self.effect);
            footprints.push(self.effect.footprint.clone());
        }
        footprints
    }

    /// Notes the alternatives of the head of the unit, which is taken next.
    fn note_siblings(&mut self, head: Step) {
        let steps = (0..).map(|choice| Step { choice, ..head });
        self.siblings = steps.zip(self.alternatives(head.thread)).collect();
    }

    /// Takes a step that is one of so many alternatives.
    fn take(&mut self, step: Step, choices: u32, mark: Mark) {
        let at = Position::new(self.run.execution.len());
        if choices > 1 {
            let alternatives = self.alternatives(step.thread);
            if is_varied(&alternatives) {
                self.varied.push((at, all_accesses(&alternatives)));
            }
        }
        self.run.step(step);
        self.note_taken(mark);
    }

    /// Notes what the last event is to the canonical sequence.
    fn note_taken(&mut self, mark: Mark) {
        let last = Position::new(self.run.execution.len() - 1);
        if self.order.update(&self.run.system) {
            self.fill_live();
        }
        self.marks.push(mark);
        if mark.departs() {
            self.departures.push(last);
        }
        if !is_settled(self.run.execution.event(last), self.run.execution.accesses(last)) {
            self.unsettled.push(last);
        }
        if self.open.is_empty() {
            return;
        }
        let execution = &self.run.execution;
        self.open.retain(|&number| {
            let stage = &mut self.stages[number];
            stage.note(execution);
            stage.head > last || stage.is_open(execution.len())
        });
    }

    /// Returns whether any step may sleep now.
    fn is_open(&self) -> bool {
        let len = self.run.execution.len();
        self.open.iter().any(|&number| self.stages[number].head.index() < len)
    }

    /// Returns the first alternative of an enabled thread that does not sleep.
    fn first_awake(&mut self, thread: ThreadId) -> Option<Step> {
        if !self.is_open() {
            return Some(Step::of(thread));
        }
        let choices = 0..self.run.system.choices(thread);
        choices.map(|choice| Step { thread, choice }).find(|&step| !self.sleeps_now(step))
    }

    /// Returns whether a step, which is enabled, sleeps at the end of the execution.
    fn sleeps_now(&mut self, step: Step) -> bool {
        if !self.is_open() {
            return false;
        }
        self.run.system.pending(step, &mut self.effect);
        self.sleeps(self.run.execution.len(), &[], step, self.effect.footprint.accesses())
    }

    /// Returns whether a step, which can run after the first `len` events and `more`, sleeps because of what was put off
    /// in these first events.
    fn sleeps(&self, len: usize, more: &[Position], step: Step, accesses: &[Access]) -> bool {
        let config = Config { execution: &self.run.execution, order: &self.order, len, more };
        let mut open = self.stages.iter().filter(|stage| stage.is_open(len));
        open.any(|stage| stage.sleeps(&config, step, accesses))
    }
}

/// Returns whether a step has these accesses, apart from what made it possible.
#[inline]
fn is_only(accesses: &[Access], mode: Mode) -> bool {
    accesses.iter().all(|access| access.mode == mode || access.mode.is_cause())
}

/// Returns whether the races of an event lead to nothing new once more has happened after it. A child of an execution
/// has the last departure in its target: so that would have to be in the past of the step where it runs earlier. If the
/// step touches no more elsewhere, what comes last in its past conflicts with the event, or is known to its thread anyway;
/// and what conflicts with the event and comes after it happens after it. Other steps may touch something else where
/// they run earlier, even if they touch one object here: an atomic block, for one.
#[inline]
fn is_settled(event: &Event, accesses: &[Access]) -> bool {
    match event.flexibility {
        Flexibility::Fixed => true,
        Flexibility::Lock if is_only(accesses, Mode::Acquire) => true,
        Flexibility::Blocking if is_only(accesses, Mode::Join) => true,
        _ => event.elsewhere == Elsewhere::AtMostThis,
    }
}
