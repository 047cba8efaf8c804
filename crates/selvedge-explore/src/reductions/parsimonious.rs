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
//! **Guarantee:** exactly one maximal execution per trace of programs whose steps are always enabled or take a mutex,
//! and have no alternatives; with others the verdict says that nothing is proved, since traces can be lost. **Not guaranteed:** no wasted work, where a step waits for
//! several things while all other threads wait as well: a unit may then be begun and dropped, and is counted as
//! redundant.
//! **Differs from the paper:**
//! 1. The canonical form takes the place of sleep sets and conflict detectors, so that a unit needs nothing but
//!    its own steps: its children depend on it alone.
//! 2. Steps that wait, steps that act differently in another state, and alternatives follow from the same
//!    definition; the paper has reads, writes and locks. Steps that can be made to wait in several ways are chosen
//!    last.
//!
//! **Cost:** per execution, the steps behind the prefix that it shares with the one before, and one look at
//! each race of its new events. Memory for the pending units: at most the square of the length of an
//! execution, and far fewer in practice.
//! **Tests:** `selvedge-testkit/tests/`: comparison with the oracle, golden programs, deliberate mistakes.

mod children;
mod pasts;
mod stages;
mod unit;

use selvedge_core::{
    Effect, Event, Flexibility, Inconclusive, Position, Report, Step, System, ThreadId,
};
use smallvec::SmallVec;

use crate::options::{Observer, Options};
use crate::registry::{Covers, Equivalence, Info};
use crate::search::run::Run;
use crate::trace::races::NOT_REPRODUCIBLE;

use stages::Stage;
use unit::{Item, Mark, Unit};

pub(crate) const INFO: Info = Info {
    name: "parsimonious",
    summary: "one execution per trace in flat memory: canonical units of work",
    advice: "As `optimal`, in memory that does not grow with the number of traces. Proves nothing yet where \
             steps wait for something else than a mutex, or act differently in another state.",
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
    let mut search = Search {
        run: Run::new(make, options, observer),
        marks: Vec::new(),
        departures: Vec::new(),
        stages: Vec::new(),
        replayed: 0,
        pending: vec![Unit { items: Vec::new(), share: 1.0 }],
        done: 0.0,
        effect: Effect::default(),
        is_beyond_proof: false,
    };
    if options.limits.preemptions.is_some() || options.limits.context_switches.is_some() {
        search.run.give_up(NO_SWITCHES.to_owned());
        return search.run.into_report();
    }
    while !search.run.is_stopped()
        && let Some(unit) = search.pending.pop()
    {
        search.perform(unit);
    }
    if search.is_beyond_proof {
        search.run.report.note(Inconclusive::NotProved(NOT_PROVED));
    }
    search.run.into_report()
}

/// Random programs of many threads have shown that traces are lost there.
const NOT_PROVED: &str = "`parsimonious` is proved complete only for steps without alternatives that are always enabled \
                          or lock a mutex; this program has others, so use `optimal`";

struct Search<'a, S> {
    run: Run<'a, S>,
    /// What each event of the execution is to its canonical sequence.
    marks: Vec<Mark>,
    /// The events that depart from the first choice, in order.
    departures: Vec<Position>,
    /// The blocks of the execution, in order.
    stages: Vec<Stage>,
    /// How many events come from the unit.
    replayed: usize,
    pending: Vec<Unit>,
    /// Estimated share of the search that is done.
    done: f64,
    /// A buffer.
    effect: Effect,
    /// Whether a step was met that the argument for completeness does not cover.
    is_beyond_proof: bool,
}

/// How running a unit went.
enum Ran {
    /// To the end of an execution, or to a limit.
    Ended,
    /// It is not canonical: its trace belongs to another unit.
    Dropped,
}

impl<S: System> Search<'_, S> {
    /// Runs a unit and adds its children to those that are pending.
    fn perform(&mut self, unit: Unit) {
        self.replayed = unit.items.len();
        let known = self.pending.len();
        if let Ran::Ended = self.replay(&unit.items)
            && let Ran::Ended = self.go_on()
            && !self.run.is_stopped()
        {
            self.add_children();
        }
        let is_covered = |event: &Event| {
            event.choices == 1
                && matches!(event.flexibility, Flexibility::Fixed | Flexibility::Lock)
        };
        self.is_beyond_proof |= !self.run.execution.events().iter().all(is_covered);
        let share = unit.share / (self.pending.len() - known + 1) as f64;
        for child in &mut self.pending[known..] {
            child.share = share;
        }
        self.done += share;
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
        self.run.backtrack(common);
        self.marks.truncate(common);
        while self.departures.last().is_some_and(|last| last.index() >= common) {
            self.departures.pop();
        }
        while self.stages.last().is_some_and(|stage| stage.head.index() >= common) {
            self.stages.pop();
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
        self.marks.push(mark);
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
            let first = stage.first;
            if stage.open
                && !self.stages[first..].iter().all(|stage| stage.is_right_so_far(execution))
            {
                return Ran::Dropped;
            }
        }
        Ran::Ended
    }

    /// Whether all stages at which the thread of the last event was put off, since it ran before, are as they
    /// should be.
    fn is_right(&self, last: Position) -> bool {
        let thread = self.run.execution.event(last).thread();
        let previous = self.run.execution.previous_of_thread(last);
        let since = |stage: &&Stage| previous.is_none_or(|previous| stage.head > previous);
        let own = self.stages.iter().rev().take_while(since).filter(|s| s.put_off.thread == thread);
        let mut own = own.filter(|stage| stage.head < last).peekable();
        let Some(stage) = own.peek() else { return true };
        let is_simple = stage.first + 1 == self.stages.len()
            && !stage.open
            && stage.footprints.len() == 1
            && self.run.execution.event(last).choice == 0;
        is_simple || own.all(|stage| stage.is_right(&self.run.execution))
    }

    /// Goes on freely to the end of the execution.
    fn go_on(&mut self) -> Ran {
        while !self.run.is_stopped() {
            if self.take_if_plain() {
                continue;
            }
            let Some(step) = self.chosen() else {
                if self.run.threads().any(|thread| self.run.is_enabled(thread)) {
                    self.run.finish_redundant();
                    return Ran::Dropped;
                }
                self.run.finish();
                return Ran::Ended;
            };
            if self.run.is_at_step_limit() {
                self.run.finish_cut();
                return Ran::Ended;
            }
            self.run.step(step);
            let mark = if step.choice == 0 { Mark::Free } else { Mark::Other };
            if let Ran::Dropped = self.mark(mark) {
                if self.run.execution.len() > self.replayed + 1 {
                    self.run.finish_redundant();
                }
                return Ran::Dropped;
            }
            let done = self.done;
            self.run.after_step(&|| done);
        }
        Ran::Ended
    }

    /// Takes the step of the first enabled thread, if that is the chosen one and nothing is to be looked at.
    fn take_if_plain(&mut self) -> bool {
        let after_head = matches!(self.marks.last(), Some(Mark::Head(_)));
        if after_head || self.run.is_at_step_limit() || self.waits_for_reasons() {
            return false;
        }
        let Some(thread) = self.run.enabled_in_order().next() else { return false };
        let at = Position::new(self.run.execution.len());
        self.run.step(Step::of(thread));
        if self.run.execution.event(at).flexibility == Flexibility::Blocking {
            self.run.backtrack(at.index());
            return false;
        }
        self.marks.push(Mark::Free);
        let done = self.done;
        self.run.after_step(&|| done);
        true
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
        let mut waiting: SmallVec<[ThreadId; 4]> = SmallVec::new();
        let enabled: SmallVec<[ThreadId; 8]> = self.run.enabled_in_order().collect();
        let last = enabled.last().copied();
        for thread in enabled {
            if (Some(thread) != last || !waiting.is_empty()) && self.can_wait(thread) {
                waiting.push(thread);
            } else if let Some(step) = self.first_choice(thread, open) {
                return Some(step);
            }
        }
        waiting.into_iter().find_map(|thread| self.first_choice(thread, open))
    }

    /// Whether the pending step of a thread, which is enabled, can be made to wait in several ways. Such steps come
    /// last: while one of them is put off, everything that can keep it waiting would have to be looked at.
    fn can_wait(&mut self, thread: ThreadId) -> bool {
        self.run.system.pending(Step::of(thread), &mut self.effect);
        self.effect.flexibility == Flexibility::Blocking
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
        self.open_stages().next().is_some()
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
