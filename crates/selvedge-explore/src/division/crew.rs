//! Threads that work on one frontier.
//!
//! Each worker runs the units on its own stack, the newest first. It takes the lock only to hand over its oldest unit while
//! another worker has nothing to do, at the end of its stack, and when the frontier is kept: then all of them pause
//! between two units. The calling thread watches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use selvedge_core::{Bound, Counts, Report, Schedule, System, Violation};

use super::frontier::{Frontier, Part, Pending, Tally, sum};
use super::rest::settle;
use super::slot::{Live, News, Slot, What};
use super::until::{Until, work};
use super::worker::{Advance, Begin, Worker};
use super::{Divided, Division, Keeper};
use crate::options::{Observer, Options, Progress, Silent};

/// How often the calling thread looks.
const LOOK: Duration = Duration::from_millis(20);
/// A worker tells the others so often how far it is: after so many units.
const UNITS_BETWEEN_NEWS: u32 = 64;

struct State {
    slots: Vec<Slot>,
    next_number: u64,
    /// Why the search cannot go on.
    failed: Option<String>,
    /// Violations of units that were interrupted.
    besides: Vec<(Violation, Schedule)>,
    is_over: bool,
}

struct Crew<'a> {
    options: &'a Options,
    /// Where the report ends.
    until: Until,
    state: Mutex<State>,
    /// A slot was added or ended, or workers may go on.
    changed: Condvar,
    /// How many workers have nothing to do.
    idle: AtomicUsize,
    /// Whether workers are to pause.
    is_pausing: AtomicBool,
}

/// What came of the parts up to some place.
pub(crate) struct UpTo {
    pub(crate) divided: Divided,
    /// Whether that place was reached before the end of the search.
    pub(crate) is_reached: bool,
}

/// Works on the frontier until nothing is left, or a limit or a violation ends the search.
pub(crate) fn explore<S: System + 'static>(
    begin: Begin<S>,
    make: &(dyn Fn() -> S + Sync),
    options: &Options,
    observer: &mut dyn Observer,
    division: Division<'_>,
) -> Result<Divided, String> {
    let until = Until::executions(options.limits.executions);
    Ok(explore_until(until, begin, make, options, observer, division)?.divided)
}

/// The same, and not further than some place.
pub(crate) fn explore_until<S: System + 'static>(
    until: Until,
    begin: Begin<S>,
    make: &(dyn Fn() -> S + Sync),
    options: &Options,
    observer: &mut dyn Observer,
    division: Division<'_>,
) -> Result<UpTo, String> {
    let Division { jobs, start, mut keeper } = division;
    // Which execution is the last one is decided when the parts are put together.
    let mut own = options.clone();
    own.limits.executions = None;
    let crew = Crew::new(options, until, start);
    let mut ended = None;
    thread::scope(|scope| {
        for number in 0..jobs.get() {
            let work = || crew.work(begin, make, &own);
            let named = thread::Builder::new().name(format!("worker {number}"));
            if let Err(error) = named.spawn_scoped(scope, work) {
                crew.fail(format!("worker {number} of {jobs} cannot be started: {error}"));
                break;
            }
        }
        ended = crew.watch(observer, &mut keeper);
    });
    crew.conclude(begin, make, &own, ended)
}

/// Puts the parts of a search together whose units were run elsewhere.
pub(super) fn put_together<S: System>(
    begin: Begin<S>,
    make: &dyn Fn() -> S,
    options: &Options,
    frontier: Frontier,
    ended: Option<Bound>,
) -> Result<Divided, String> {
    let mut own = options.clone();
    own.limits.executions = None;
    let until = Until::executions(options.limits.executions);
    let crew = Crew::new(options, until, frontier);
    Ok(crew.conclude(begin, make, &own, ended)?.divided)
}

impl<'a> Crew<'a> {
    fn new(options: &'a Options, until: Until, start: Frontier) -> Self {
        let mut state = State {
            slots: Vec::new(),
            next_number: 0,
            failed: None,
            besides: Vec::new(),
            is_over: false,
        };
        state.add(0, start.parts);
        Self {
            options,
            until,
            state: Mutex::new(state),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            is_pausing: AtomicBool::new(false),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: String) {
        let mut state = self.state();
        state.failed.get_or_insert(why);
        state.is_over = true;
        state.slots.iter().for_each(Slot::stop);
        self.changed.notify_all();
    }

    /// What a worker does: unit after unit.
    fn work<S: System>(&self, begin: Begin<S>, make: &dyn Fn() -> S, options: &Options) {
        let _watched = Watched(self);
        while let Some((number, unit, live)) = self.take() {
            let mut observer = Silent;
            match begin(make, options, &mut observer, &unit) {
                Ok(mut worker) => self.run(number, &live, worker.as_mut()),
                Err(why) => self.fail(why),
            }
        }
    }

    /// Waits for a unit. Returns the number of its slot; nothing if the search is over.
    fn take(&self) -> Option<(u64, Pending, Arc<Live>)> {
        let mut state = self.state();
        self.idle.fetch_add(1, Relaxed);
        let taken = loop {
            if state.is_over || self.options.budget.is_spent() {
                break None;
            }
            if !self.is_pausing.load(Relaxed) {
                let needed = state.needed(self.options, self.until);
                let is_to_do = |slot: &Slot| matches!(slot.what, What::ToDo(_));
                if let Some(slot) = state.slots[..needed].iter_mut().find(|slot| is_to_do(slot)) {
                    let live = Arc::<Live>::default();
                    let what = std::mem::replace(&mut slot.what, What::Running(Arc::clone(&live)));
                    let What::ToDo(unit) = what else { unreachable!("it is to be done") };
                    // A part of it is run again if the report ends inside.
                    slot.start = self.until.is_before_the_end().then(|| unit.clone());
                    break Some((slot.number, unit, live));
                }
                if state.is_finished(needed) {
                    state.is_over = true;
                    self.changed.notify_all();
                    break None;
                }
            }
            state = self.wait(state);
        };
        self.idle.fetch_sub(1, Relaxed);
        taken
    }

    /// Runs the units of one slot.
    fn run(&self, number: u64, live: &Live, worker: &mut dyn Worker) {
        let mut units_to_news = UNITS_BETWEEN_NEWS;
        let piece = self.until.piece();
        loop {
            if worker.advance() != Advance::Ran || live.is_needless.load(Relaxed) {
                break;
            }
            let Report { counts, steps, longest, .. } = worker.report();
            if work(counts, *steps, *longest) >= piece {
                break;
            }
            if self.idle.load(Relaxed) > 0 && worker.left() > 1 {
                self.hand_over(number, worker);
            }
            if self.is_pausing.load(Relaxed) {
                self.pause(number, live, worker);
            }
            units_to_news -= 1;
            if units_to_news == 0 {
                units_to_news = UNITS_BETWEEN_NEWS;
                *live.news.lock().unwrap_or_else(PoisonError::into_inner) = News::of(worker);
                if self.until.is_before_the_end() {
                    self.state().tell_needless(self.options, self.until);
                }
            }
        }
        let mut state = self.state();
        let at = state.index(number);
        state.slots[at].what = What::Done(Tally::of(worker));
        state.add(at + 1, worker.all_left());
        state.besides.extend_from_slice(worker.seen_besides());
        state.tell_needless(self.options, self.until);
        self.changed.notify_all();
    }

    /// Puts the oldest unit right behind the slot: that is where one worker alone would come to it.
    fn hand_over(&self, number: u64, worker: &mut dyn Worker) {
        let mut state = self.state();
        let is_waiting = |slot: &Slot| matches!(slot.what, What::ToDo(_));
        let waiting = state.slots.iter().filter(|slot| is_waiting(slot)).count();
        if waiting < self.idle.load(Relaxed) {
            let parts = worker.give_away();
            let at = state.index(number);
            state.slots[at].floor = worker.asks().1;
            if !parts.is_empty() {
                state.add(at + 1, parts);
                self.changed.notify_all();
            }
        }
    }

    /// Says what was done and what is left, and waits until that is kept.
    fn pause(&self, number: u64, live: &Live, worker: &dyn Worker) {
        let mut state = self.state();
        let at = state.index(number);
        let running = What::Paused(Tally::of(worker), worker.all_left());
        let running = std::mem::replace(&mut state.slots[at].what, running);
        self.changed.notify_all();
        while self.is_pausing.load(Relaxed) {
            state = self.wait(state);
        }
        let at = state.index(number);
        state.slots[at].what = running;
        // It was not told while it paused.
        state.tell_needless(self.options, self.until);
        drop(state);
        *live.news.lock().unwrap_or_else(PoisonError::into_inner) = News::of(worker);
    }

    /// Watches the workers until the search is over. Returns the limit that the observer found to be reached, if any.
    fn watch(
        &self,
        observer: &mut dyn Observer,
        keeper: &mut Option<&mut dyn Keeper>,
    ) -> Option<Bound> {
        let mut ended = None;
        let mut state = self.state();
        while !state.is_over {
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            let (found, share) = state.so_far();
            if self.options.budget.is_spent() {
                state.is_over = true;
            }
            drop(state);
            observer.found(&found);
            let progress = || Progress {
                counts: found.counts,
                states: None,
                steps: found.steps,
                depth: found.longest,
                fraction: share,
            };
            ended = observer.poll(&progress);
            if let Some(keeper) = keeper.as_deref_mut()
                && keeper.is_due()
            {
                self.keep(keeper);
            }
            state = self.state();
            if ended.is_some() {
                state.is_over = true;
                state.slots.iter().for_each(Slot::stop);
            }
        }
        self.changed.notify_all();
        ended
    }

    /// Has all workers pause, and the frontier kept.
    fn keep(&self, keeper: &mut dyn Keeper) {
        let mut state = self.state();
        self.is_pausing.store(true, Relaxed);
        let is_running = |slot: &Slot| matches!(slot.what, What::Running(_));
        while !state.is_over && state.slots.iter().any(is_running) {
            state = self.wait(state);
        }
        if !state.slots.iter().any(is_running) {
            keeper.keep(&state.frontier());
        }
        self.is_pausing.store(false, Relaxed);
        self.changed.notify_all();
    }

    /// Puts the parts together.
    fn conclude<S: System>(
        self,
        begin: Begin<S>,
        make: &dyn Fn() -> S,
        options: &Options,
        ended: Option<Bound>,
    ) -> Result<UpTo, String> {
        let until = self.until;
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = state.failed {
            return Err(why);
        }
        let is_violated = |found: &Tally| !options.keep_going && !found.violations.is_empty();
        let mut all = Tally::default();
        let mut is_reached = false;
        for slot in &state.slots {
            let What::Done(tally) = &slot.what else { continue };
            let (counts, steps, longest) = (all.counts, all.steps, all.longest);
            let is_enough = |counts_of_it, steps_of_it, longest_of_it| {
                let counts = sum(counts, counts_of_it);
                until.is_reached(&counts, steps + steps_of_it, longest.max(longest_of_it))
            };
            is_reached = is_enough(tally.counts, tally.steps, tally.longest);
            match &slot.start {
                Some(start) if is_reached => {
                    let is_enough =
                        |report: &Report| is_enough(report.counts, report.steps, report.longest);
                    all.add(&run_again(begin, make, options, start, is_enough)?);
                }
                _ => all.add(tally),
            }
            if is_reached || is_violated(&all) {
                break;
            }
        }
        if !is_violated(&all) {
            for (violation, schedule) in &state.besides {
                all.add_violation(violation, schedule);
            }
        }
        if let Some(most) = until.executions.filter(|&most| all.counts.total() >= most) {
            all.note(Bound::Executions(most));
        }
        if let Some(bound) = ended.or(options.budget.spent().map(Bound::from)) {
            all.note(bound);
        }
        let is_reached = is_reached && !is_violated(&all);
        let divided = Divided { report: all.into_report(), left: state.frontier() };
        Ok(UpTo { divided, is_reached })
    }
}

/// Runs units while `go_on` says so, beginning with `unit`.
pub(super) fn run_unit<S: System>(
    begin: Begin<S>,
    make: &dyn Fn() -> S,
    options: &Options,
    unit: &Pending,
    go_on: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Part>, String> {
    let mut own = options.clone();
    own.limits.executions = None;
    let mut observer = Silent;
    let mut worker = begin(make, &own, &mut observer, unit)?;
    let mut units = 0;
    while go_on(units) && worker.advance() == Advance::Ran {
        units += 1;
    }
    let start = options.limits.executions.map(|_| unit.clone());
    let mut parts = vec![Part::Done(Tally::of(worker.as_ref()), start)];
    parts.extend(worker.all_left());
    Ok(parts)
}

/// Runs a unit until `is_enough` holds of what it has led to, in the order in which one worker alone runs it.
fn run_again<S: System>(
    begin: Begin<S>,
    make: &dyn Fn() -> S,
    options: &Options,
    start: &Pending,
    is_enough: impl Fn(&Report) -> bool,
) -> Result<Tally, String> {
    let mut observer = Silent;
    let mut worker = begin(make, options, &mut observer, start)?;
    while !is_enough(worker.report()) && worker.advance() == Advance::Ran {}
    Ok(Tally::of(worker.as_ref()))
}

impl State {
    /// Adds parts at a place, and settles what has been asked for.
    fn add(&mut self, at: usize, parts: Vec<Part>) {
        let Self { slots, next_number, .. } = self;
        let mut slot = |part| {
            *next_number += 1;
            Slot::new(*next_number, part)
        };
        slots.splice(at..at, parts.into_iter().map(&mut slot));
        settle(slots, slot);
        slots.dedup_by(|next, slot| slot.absorbs(next));
    }

    fn index(&self, number: u64) -> usize {
        let found = self.slots.iter().position(|slot| slot.number == number);
        found.expect("internal error: a slot stays in the list")
    }

    /// Returns the slot in which the search ends: by a violation, or since the report ends in it or before its end.
    fn end(&self, options: &Options, until: Until) -> Option<usize> {
        let (mut counts, mut steps, mut longest) = (Counts::default(), 0, 0);
        for (index, slot) in self.slots.iter().enumerate() {
            let more = slot.done();
            counts = sum(counts, more.counts);
            (steps, longest) = (steps + more.steps, longest.max(more.longest));
            let is_violated =
                matches!(&slot.what, What::Done(tally) if !tally.violations.is_empty());
            if is_violated && !options.keep_going || until.is_reached(&counts, steps, longest) {
                return Some(index);
            }
        }
        None
    }

    /// Returns how many slots matter: what comes after the end does not.
    fn needed(&self, options: &Options, until: Until) -> usize {
        self.end(options, until).map_or(self.slots.len(), |end| end + 1)
    }

    fn is_finished(&self, needed: usize) -> bool {
        self.slots[..needed].iter().all(|slot| matches!(slot.what, What::Done(_)))
    }

    /// Stops the workers whose work does not matter any more.
    fn tell_needless(&self, options: &Options, until: Until) {
        if let Some(end) = self.end(options, until) {
            self.slots[end..].iter().for_each(Slot::stop);
        }
    }

    /// Returns what was found so far, and the share of the search that was done.
    fn so_far(&self) -> (Report, f64) {
        let mut all = Tally::default();
        for slot in &self.slots {
            match &slot.what {
                What::ToDo(_) | What::Rest(_) => {}
                What::Paused(tally, _) | What::Done(tally) => all.add(tally),
                What::Running(live) => {
                    let News { counts, steps, longest, share } = live.news();
                    all.add(&Tally { counts, steps, longest, share, ..Tally::default() });
                }
            }
        }
        let share = all.share;
        (all.into_report(), share)
    }

    /// Returns the frontier. No worker runs.
    fn frontier(&self) -> Frontier {
        let mut frontier = Frontier { parts: Vec::new() };
        for slot in &self.slots {
            match &slot.what {
                What::ToDo(unit) => frontier.push(Part::ToDo(unit.clone())),
                What::Rest(rest) => frontier.push(Part::Rest(rest.clone())),
                What::Done(tally) => {
                    frontier.push(Part::Done(tally.clone(), slot.start.clone()));
                }
                What::Paused(tally, left) => {
                    frontier.push(Part::Done(tally.clone(), slot.start.clone()));
                    left.iter().for_each(|part| frontier.push(part.clone()));
                }
                What::Running(_) => unreachable!("no worker runs"),
            }
        }
        frontier
    }
}

/// If a worker panics, the others end too.
struct Watched<'a>(&'a Crew<'a>);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail("internal error: a worker panicked".to_owned());
        }
    }
}
