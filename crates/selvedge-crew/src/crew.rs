//! Which process runs what, and what becomes of it.
//!
//! The process begins alone: a small search ends before copies would be of use, and what there is to learn about a program is
//! mostly learned in its first executions. Then each copy gets some units at a time, the first ones that are free, and
//! returns what came of them with the units that are left. Where units are cut depends on the clock; what they add up to does
//! not ([`Ledger`]).
//!
//! By running a unit a process may learn something that is not in its result: that a loop waits, that a variable on a stack is
//! shared, that an ordering is weak. Then the process runs the unit itself, as soon as all before it are done, so that it
//! learns what it learns when it works alone; and the copy, which has learned it, is replaced by another. So is one that dies
//! or does not answer, and the process runs its units itself: whatever they do to it, it is watched.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Budget, Spent};
use selvedge_explore::{Ledger, Observer, Part, Pending, Progress};

use crate::copies::{Copy, Said, wait};
use crate::journal::Journal;
use crate::messages::{Answer, Order, RanJson, line};

/// Units of an order, at most, and the size of their texts.
const UNITS: usize = 32;
const BYTES: usize = 1 << 15;
/// How often the process looks at its limits.
const LOOK: Duration = Duration::from_millis(20);
/// How long an order should take.
const ORDER: std::ops::Range<Duration> = Duration::from_millis(40)..Duration::from_millis(160);

/// Runs units in this process, beginning with one, while the second argument returns true: [`selvedge_explore::run_unit`].
pub type Run<'a> = dyn Fn(&Pending, &mut dyn FnMut(u64) -> bool) -> Result<Vec<Part>, String> + 'a;

/// A process that works on a search with copies of itself.
pub struct Crew<'a> {
    /// How many copies there are. With one job there are none: the process works alone.
    pub jobs: NonZeroUsize,
    /// When to make copies, and when to give one up.
    pub pace: Pace,
    /// Runs units.
    pub run: &'a Run<'a>,
    /// Called in each copy at its beginning.
    pub as_copy: &'a dyn Fn(),
    /// Returns a number that differs when running units has told the process something that is not in their results.
    pub told: &'a dyn Fn() -> u64,
    /// Returns whether what was learned makes the search void.
    pub is_void: &'a dyn Fn() -> bool,
    /// Returns whether a copy has too little memory to go on.
    pub is_full: &'a dyn Fn() -> bool,
    /// When to stop.
    pub budget: &'a Budget,
}

/// When copies are made and given up. Nothing that is found depends on it; tests make it tiny.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The process runs so many executions before it makes copies.
    pub alone: u64,
    /// The process runs so many units at a time.
    pub own: u64,
    /// A copy that does not answer for so long does not come to an end: the process runs its units itself.
    pub patience: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { alone: 2_000, own: 500, patience: Duration::from_secs(20) }
    }
}

/// A copy, and what it was ordered to do.
struct Member {
    copy: Copy,
    order: Vec<Pending>,
    since: Instant,
    /// How many units the next order has.
    most: u64,
}

/// Why the crew stops.
enum Stop {
    Bound(Bound),
    /// Nothing is left, or nothing that is of use.
    Over,
}

impl Crew<'_> {
    /// Works on a search until nothing is left, or it is void, or a limit ends it: that is returned if the observer set it.
    ///
    /// # Errors
    /// A unit does not belong to the program, or no copy can be made.
    pub fn explore(
        &self,
        ledger: &mut Ledger,
        journal: &mut Journal<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Bound>, String> {
        if !self.catch_up(ledger, journal)? {
            return Ok(None);
        }
        let is_small = |ledger: &Ledger| {
            self.jobs == NonZeroUsize::MIN
                || ledger.frontier().executions() < self.pace.alone
                || ledger.left() < 2 * self.jobs.get()
        };
        while is_small(ledger) {
            match (self.look(ledger, journal, observer), ledger.issue(1, BYTES).pop()) {
                (None, Some(unit)) => self.run_here(ledger, journal, &unit)?,
                (stop, _) => return Ok(stop.and_then(Stop::bound)),
            }
        }
        self.explore_together(ledger, journal, observer)
    }

    fn explore_together(
        &self,
        ledger: &mut Ledger,
        journal: &mut Journal<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Option<Bound>, String> {
        let mut members = Vec::new();
        for _ in 0..self.jobs.get() {
            members.push(self.member()?);
        }
        // Units that this process runs itself.
        let mut own: Vec<Pending> = Vec::new();
        loop {
            if let Some(stop) = self.look(ledger, journal, observer) {
                return Ok(stop.bound());
            }
            let first = ledger.first_left().map(|unit| unit.unit.as_str());
            if let Some(nth) = own.iter().position(|unit| Some(unit.unit.as_str()) == first) {
                self.run_here(ledger, journal, &own.swap_remove(nth))?;
                continue;
            }
            for member in members.iter_mut().filter(|member| member.order.is_empty()) {
                let share = (ledger.left() / (2 * self.jobs.get())).clamp(1, UNITS);
                let units = ledger.issue(share, BYTES);
                if units.is_empty() || member.order(units).is_err() {
                    break;
                }
            }
            let copies = members.iter().map(|member| &member.copy);
            for index in wait(copies, LOOK) {
                match members[index].copy.said() {
                    Ok(Said::Nothing) => {}
                    Ok(Said::Line(text)) => {
                        if self.settle(&mut members[index], &text, ledger, &mut own)? {
                            members[index] = self.member()?;
                        }
                    }
                    Ok(Said::Ended) | Err(_) => {
                        own.append(&mut members[index].order);
                        members[index] = self.member()?;
                    }
                }
            }
            for member in &mut members {
                if !member.order.is_empty() && member.since.elapsed() > self.pace.patience {
                    own.append(&mut member.order);
                    *member = self.member()?;
                }
            }
        }
    }

    /// Polls the limits, and has the search kept if it is time.
    fn look(
        &self,
        ledger: &Ledger,
        journal: &mut Journal<'_>,
        observer: &mut dyn Observer,
    ) -> Option<Stop> {
        let progress = || {
            let sum = ledger.so_far();
            Progress {
                counts: sum.counts,
                states: None,
                steps: sum.steps,
                depth: sum.longest,
                fraction: sum.share,
            }
        };
        let is_over = ledger.is_over() || (self.is_void)() || self.budget.is_spent();
        if !is_over {
            journal.keep_if_due(ledger.frontier());
        }
        match observer.poll(&progress) {
            Some(bound) => Some(Stop::Bound(bound)),
            None => is_over.then_some(Stop::Over),
        }
    }

    fn run_here(
        &self,
        ledger: &mut Ledger,
        journal: &mut Journal<'_>,
        unit: &Pending,
    ) -> Result<(), String> {
        let before = (self.told)();
        let (most, is_kept) = (journal.most(self.pace.own), journal.is_kept());
        // How many units were begun, and whether the last one came to its end before this was asked.
        let (mut begun, mut is_between) = (0, false);
        let mut go_on = |ran| {
            is_between = ran >= most
                || self.budget.is_spent()
                || (self.is_void)()
                || is_kept && (self.told)() != before;
            begun = if is_between { ran } else { ran + 1 };
            !is_between
        };
        let parts = (self.run)(unit, &mut go_on)?;
        ledger.accept(&unit.unit, parts.clone());
        // What an interrupted unit told is told again when it is run again: only then it is a lesson.
        if is_between || !self.budget.is_spent() || ledger.is_over() {
            journal.note(unit, begun, &parts, (self.told)());
        }
        Ok(())
    }

    fn member(&self) -> Result<Member, String> {
        let copy = Copy::start(self.as_copy, &mut |order| self.answer(order));
        let copy = copy.map_err(|error| format!("a process cannot be started: {error}"))?;
        Ok(Member { copy, order: Vec::new(), since: Instant::now(), most: 64 })
    }

    /// What a copy does with an order.
    fn answer(&self, order: &str) -> String {
        let Ok(order) = serde_json::from_str::<Order>(order) else {
            return line(&"this is not an order");
        };
        let mut left = order.most;
        let mut results = Vec::new();
        for unit in order.units() {
            let before = (self.told)();
            let mut ran = 0;
            let mut go_on = |units| {
                ran = units;
                units < left && !(self.is_full)()
            };
            let result = (self.run)(&unit, &mut go_on);
            left = left.saturating_sub(ran.max(1));
            let is_told = (self.told)() != before;
            results.push(match result {
                _ if is_told => RanJson::Told,
                Ok(parts) => RanJson::of(&parts),
                Err(why) => RanJson::Damaged(why),
            });
            if left == 0 || is_told || (self.is_full)() {
                break;
            }
        }
        line(&Answer { results, is_full: (self.is_full)() })
    }

    /// Enters an answer. Returns whether the copy is to be replaced.
    fn settle(
        &self,
        member: &mut Member,
        text: &str,
        ledger: &mut Ledger,
        own: &mut Vec<Pending>,
    ) -> Result<bool, String> {
        let mut order = std::mem::take(&mut member.order).into_iter();
        let Ok(answer) = serde_json::from_str::<Answer>(text) else {
            own.extend(order);
            return Ok(true);
        };
        let mut is_told = false;
        for result in answer.results {
            let Some(unit) = order.next() else { break };
            match result {
                RanJson::Parts(parts) => {
                    let parts: Option<Vec<Part>> = parts.iter().map(|part| part.part()).collect();
                    ledger.accept(&unit.unit, parts.ok_or("a part is not that of a search")?);
                }
                RanJson::Told => {
                    own.push(unit);
                    is_told = true;
                }
                RanJson::Damaged(why) => return Err(why),
            }
        }
        for unit in order {
            ledger.take_back(&unit.unit);
        }
        if answer.is_full {
            self.budget.end(Spent::Memory);
        }
        match member.since.elapsed() {
            time if time < ORDER.start => member.most = member.most.saturating_mul(2),
            time if time > ORDER.end => member.most = (member.most / 2).max(1),
            _ => {}
        }
        Ok(is_told)
    }
}

impl Stop {
    fn bound(self) -> Option<Bound> {
        match self {
            Self::Bound(bound) => Some(bound),
            Self::Over => None,
        }
    }
}

impl Member {
    fn order(&mut self, units: Vec<Pending>) -> std::io::Result<()> {
        let text = line(&Order::new(&units, self.most));
        (self.order, self.since) = (units, Instant::now());
        // If it has ended, it says so when it is asked.
        self.copy.order(&text)
    }
}
