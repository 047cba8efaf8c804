//! Checks a program: unroll, encode, ask; deeper and deeper.

use std::sync::Arc;

use selvedge_core::{Inconclusive, Report, ViolationKind};
use selvedge_lang::ir::Program;

use crate::bounds::{Bounds, ThreadBound};
use crate::caps::Caps;
use crate::circuit::Circuit;
use crate::encode::goals::{Goals, Wrong};
use crate::encode::racing::Race;
use crate::encode::{Encoding, NoFormula, Scheme, encode};
use crate::solver::{Answer, Engine, Lit, Solver};
use crate::stats::{DepthStats, Stats};
use crate::unroll::{CutReason, Depth, Unrolled, has_weak_orders, unroll};
use crate::witness::{self, Witness};
use selvedge_core::Budget;

/// What to check, and how far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// How interleavings are encoded.
    pub scheme: Scheme,
    /// Loops are repeated at most so often, unless constants decide.
    pub unroll: u32,
    /// At most so many context switches; only for schemes with a token.
    pub context_bound: Option<u32>,
    /// Bounds on the context switches to single threads; only for schemes with a token.
    pub thread_bounds: Vec<ThreadBound>,
    /// Look for data races too; not with bounds on context switches.
    pub data_races: bool,
    /// Collect all that is wrong, not only the first.
    pub keep_going: bool,
    /// The solver.
    pub engine: Engine,
    /// What bounds the size of a formula.
    pub caps: Caps,
}

impl Options {
    /// The default bound on loop iterations.
    pub const DEFAULT_UNROLL: u32 = 8;

    /// Returns the bounds on context switches.
    pub fn bounds(&self) -> Bounds<'_> {
        Bounds { switches: self.context_bound, threads: &self.thread_bounds }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scheme: Scheme::Order,
            unroll: Self::DEFAULT_UNROLL,
            context_bound: None,
            thread_bounds: Vec::new(),
            data_races: false,
            keep_going: false,
            engine: Engine::default(),
            caps: Caps::default(),
        }
    }
}

/// What came out.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Violations with their schedules, and what keeps it from being a proof.
    pub report: Report,
    /// Sizes, per depth.
    pub stats: Stats,
    /// What the encoding got wrong: a model that was no execution. Anything here is a mistake of
    /// this crate.
    pub mistakes: Vec<String>,
}

/// Checks a program. `clock` tells the time since some moment; it is asked around each query, for
/// statistics only.
pub fn check(
    program: &Arc<Program>,
    options: &Options,
    budget: &Budget,
    clock: &dyn Fn() -> std::time::Duration,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut search =
        Search { program, options, budget, clock, outcome: &mut outcome, known: Vec::new() };
    search.deepen();
    outcome
}

/// An unrolled and encoded program, ready for questions.
pub struct Encoded {
    /// The events.
    pub unrolled: Unrolled,
    /// The questions.
    pub goals: Goals,
    /// The interleavings.
    pub encoding: Encoding,
}

/// Unrolls and encodes a program, for a solver without clauses.
///
/// # Errors
/// If the caller asks to stop, or if it would be too large.
pub fn encoded(
    program: &Arc<Program>,
    options: &Options,
    unroll_to: u32,
    solver: Solver,
    budget: &Budget,
) -> Result<Encoded, NoFormula> {
    let depth = Depth {
        repetitions: unroll_to,
        stops_anywhere: options.bounds().count(),
        stops_at_races: options.data_races,
    };
    let mut unrolled = unroll(program, depth, options.caps, Circuit::new(solver), budget)?;
    let mut goals = Goals::new(&mut unrolled);
    let encoding = encode(&mut unrolled, &mut goals, options.scheme, options.bounds(), budget)?;
    Ok(Encoded { unrolled, goals, encoding })
}

struct Search<'a> {
    program: &'a Arc<Program>,
    options: &'a Options,
    budget: &'a Budget,
    clock: &'a dyn Fn() -> std::time::Duration,
    outcome: &'a mut Outcome,
    /// What was found wrong so far, by place and kind.
    known: Vec<Wrong>,
}

/// How a depth ended.
enum Ended {
    /// No loop continues: what was seen is all.
    Complete,
    /// A loop may go on.
    GoesOn(Inconclusive),
    /// Something was found, or the caller asked to stop.
    Done,
}

impl Search<'_> {
    fn deepen(&mut self) {
        let limit = self.options.unroll;
        let mut covered = None;
        let mut size = limit.min(2);
        loop {
            let started = (self.clock)();
            let Some(mut encoded) = self.encoded(size) else { return };
            self.outcome.report.threads = encoded.unrolled.threads.len();
            self.outcome.stats.describe(&encoded);
            let mut first = covered.map_or(0, |depth| depth + 1);
            if encoded.unrolled.repetitions.is_empty() {
                first = size;
            }
            let mut started = Some(started);
            for depth in first..=size {
                let before = started.take().unwrap_or_else(|| (self.clock)());
                let ended = self.depth(&mut encoded, depth);
                let time = (self.clock)().saturating_sub(before);
                let conflicts = encoded.unrolled.circuit.solver.conflicts();
                let formula = encoded.unrolled.circuit.solver.size();
                self.outcome.stats.depths.push(DepthStats { depth, time, conflicts, formula });
                match ended {
                    Ended::Complete => return self.unsupported(&mut encoded),
                    Ended::Done => return,
                    Ended::GoesOn(reason) if depth == limit => {
                        self.unsupported(&mut encoded);
                        return self.outcome.report.note(reason);
                    }
                    Ended::GoesOn(_) => {}
                }
            }
            covered = Some(size);
            size = (2 * size).min(limit).max(1);
        }
    }

    /// `None`: the caller asked to stop.
    fn encoded(&mut self, size: u32) -> Option<Encoded> {
        let solver = Solver::of(self.options.engine);
        let encoded = encoded(self.program, self.options, size, solver, self.budget);
        match encoded {
            Ok(encoded) => return Some(encoded),
            Err(NoFormula::Stopped(spent)) => {
                self.outcome.report.note(Inconclusive::Bound(spent.into()));
            }
            Err(too_large) => {
                self.outcome.report.note(Inconclusive::GaveUp(too_large.to_string()));
            }
        }
        None
    }

    fn depth(&mut self, encoded: &mut Encoded, depth: u32) -> Ended {
        let beyond = beyond(&mut encoded.unrolled, depth);
        for question in Question::ALL {
            loop {
                let wanted: Vec<Lit> = encoded
                    .goals
                    .wrong
                    .iter()
                    .filter(|(_, wrong)| Question::of(wrong) == question)
                    .filter(|(_, wrong)| !self.known.iter().any(|known| same(known, wrong)))
                    .map(|&(lit, _)| lit)
                    .collect();
                let goal = encoded.unrolled.circuit.any(&wanted);
                match self.ask(encoded, &[goal, !beyond]) {
                    Answer::Unsat => break,
                    Answer::Stopped => return Ended::Done,
                    Answer::Sat => {}
                }
                let is_found = self.found(encoded, question);
                if is_found && !self.options.keep_going || !self.outcome.mistakes.is_empty() {
                    return Ended::Done;
                }
            }
        }
        match self.ask(encoded, &[beyond]) {
            Answer::Unsat => Ended::Complete,
            Answer::Stopped => Ended::Done,
            Answer::Sat => Ended::GoesOn(goes_on(&encoded.unrolled, depth)),
        }
    }

    fn ask(&mut self, encoded: &mut Encoded, goal: &[Lit]) -> Answer {
        if goal.contains(&Lit::FALSE) {
            return Answer::Unsat;
        }
        let answer = encoded.unrolled.circuit.solver.solve(goal, self.budget);
        if answer == Answer::Stopped {
            let spent = self.budget.spent().expect("internal error: stopped without a reason");
            self.outcome.report.note(Inconclusive::Bound(spent.into()));
        }
        answer
    }

    /// The model shows something wrong: makes an execution of it. Returns whether it is wrong indeed.
    fn found(&mut self, encoded: &Encoded, question: Question) -> bool {
        let Encoded { unrolled, goals, encoding } = encoded;
        let shown = goals.wrong.iter().find(|(lit, wrong)| {
            unrolled.circuit.solver.value(*lit)
                && Question::of(wrong) == question
                && !self.known.iter().any(|known| same(known, wrong))
        });
        let Some(&(_, wrong)) = shown else { return false };
        self.known.push(wrong);
        let order = encoding.linearize(unrolled);
        let witness = match wrong {
            Wrong::Race(race) => witness::replay_race(unrolled, &order, race),
            wrong => witness::replay(unrolled, &order, &wrong).map(Some),
        };
        match witness {
            Ok(Some(Witness { violation, schedule })) => {
                let report = &mut self.outcome.report;
                report.longest = report.longest.max(schedule.steps.len());
                if !report.knows(&violation) {
                    report.violations.push((violation, schedule));
                }
                return true;
            }
            Ok(None) => self.undecided(unrolled, &wrong),
            Err(reason) => self.outcome.mistakes.push(reason),
        }
        false
    }

    /// A replay did not decide whether two accesses race.
    fn undecided(&mut self, unrolled: &Unrolled, wrong: &Wrong) {
        let Wrong::Race(Race { cell, threads: [first, second], .. }) = *wrong else { return };
        let name = |thread: usize| unrolled.threads[thread].name.as_str();
        self.outcome.report.note(Inconclusive::GaveUp(format!(
            "whether {} and {} race for `{}` depends on what an atomic block or a compare-exchange does; leave out \
             --symbolic",
            name(first),
            name(second),
            unrolled.cells[cell.index()].name
        )));
    }

    /// Something that has no encoding: is it ever reached?
    fn unsupported(&mut self, encoded: &mut Encoded) {
        if self.options.bounds().count() {
            let covered = self.options.bounds().to_string();
            self.outcome.report.note(Inconclusive::GaveUp(covered));
        }
        if self.options.data_races && has_weak_orders(self.program) {
            self.outcome.report.note(Inconclusive::GaveUp(
                "a memory ordering is weaker than `acquire` for a load, `release` for a store or `acq_rel` for both, \
                 so that data races may be missed; leave out --symbolic"
                    .to_owned(),
            ));
        }
        if self.ask(encoded, &[encoded.goals.unsupported]) != Answer::Sat {
            return;
        }
        let unrolled = &encoded.unrolled;
        let reached = unrolled.cuts.iter().filter(|cut| unrolled.circuit.solver.value(cut.lit));
        for cut in reached {
            if let CutReason::Unsupported(what) = &cut.reason {
                self.outcome.report.note(Inconclusive::GaveUp(format!(
                    "{}: {what}: there is no symbolic encoding for that; leave out --symbolic",
                    cut.place
                )));
            }
        }
    }
}

/// Returns whether a loop is repeated more than `depth` times.
fn beyond(unrolled: &mut Unrolled, depth: u32) -> Lit {
    let more = unrolled.repetitions.iter().filter(|(count, _)| *count > depth);
    let mut lits: Vec<Lit> = more.map(|&(_, lit)| lit).collect();
    let cut = unrolled.cuts.iter().filter(|cut| cut.reason == CutReason::Bound);
    lits.extend(cut.map(|cut| cut.lit));
    unrolled.circuit.any(&lits)
}

fn goes_on(unrolled: &Unrolled, depth: u32) -> Inconclusive {
    let reached = unrolled
        .cuts
        .iter()
        .find(|cut| cut.reason == CutReason::Bound && unrolled.circuit.solver.value(cut.lit));
    let place = reached.map(|cut| format!("{}: ", cut.place)).unwrap_or_default();
    Inconclusive::GaveUp(format!(
        "{place}a loop or recursion may go on after {depth} repetitions; raise the bound: \
         --unroll {}",
        2 * depth.max(1)
    ))
}

/// What is asked about one after the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    /// Everything else.
    Usual,
    /// Overflow: what holds without it is easier to show.
    Arithmetic,
    /// Data races that a replay decides.
    Uncertain,
}

impl Question {
    const ALL: [Question; 3] = [Question::Usual, Question::Arithmetic, Question::Uncertain];

    fn of(wrong: &Wrong) -> Self {
        match wrong {
            Wrong::Fault(fault) if fault.kind == ViolationKind::Arithmetic => Question::Arithmetic,
            Wrong::Race(race) if !race.is_certain => Question::Uncertain,
            _ => Question::Usual,
        }
    }
}

fn same(a: &Wrong, b: &Wrong) -> bool {
    match (a, b) {
        (Wrong::Deadlock, Wrong::Deadlock) => true,
        (Wrong::Race(a), Wrong::Race(b)) => a == b,
        (Wrong::Fault(a), Wrong::Fault(b)) => {
            (a.site, a.kind, a.thread.is_none()) == (b.site, b.kind, b.thread.is_none())
        }
        _ => false,
    }
}
