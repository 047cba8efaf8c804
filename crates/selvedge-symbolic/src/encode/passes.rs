//! Where a token may pass: all pairs of steps, or those that mutually atomic transactions need.
//!
//! M. Ganai, S. Kundu: *Reduction of Verification Conditions for Concurrent System using Mutually
//! Atomic Transactions*, SPIN 2009.
//!
//! **Equivalence:** Mazurkiewicz traces, under a dependence that is taken from the code.
//! **Guarantee:** no class is lost, for any number of threads; for two threads each is met once.
//! **Differs from the paper:** for three or more threads the paper adds passes to those of each
//! pair of threads (GenExtraTP). That loses classes: `tests/printed_construction.rs` shows it. In its place
//! we keep the passes of the least schedule of each class in the lexicographic order of the threads.
//! With `a` in thread *i*, `a⁺` the step after it, and `b` in thread *j*:
//! - *j* before *i*: a token passes from `a` to `b` only if the two are dependent;
//! - *j* after *i*: only if *i* ends with `a`, or `a⁺` is dependent with a step that has not run
//!   yet, and can run while *i* stands at `a⁺`.
//!
//! The least schedule of a class passes the token only so: otherwise swapping neighbours would give
//! a smaller one. With branches all this is said under conditions: `a⁺` is what runs next.
//! Two threads with few ways through them have the passes of GenMAT (`transactions.rs`), for each
//! pair of ways.
//!
//! **With a context bound** neither will do: the least schedule of a class, or the one that GenMAT keeps,
//! may have more switches than another schedule of the class. Then the rule for *j* after *i* is applied
//! to all pairs. Of the schedules of a class with the fewest switches, take one whose first turns are as
//! long as possible (its list of lengths is the greatest). If it passed the token from `a` although `a⁺`
//! commutes with everything that runs in between, `a⁺` could run right after `a`: that turn would be
//! longer, a later one shorter, and no switch would be added. So it passes the token only by the rule. The same holds
//! of the schedules of a class that keep to an upper bound for each thread: that turn of the thread, if `a⁺` was all
//! of it, is gone, and no other thread gets the token once more.
//! **Cost:** one literal per pair that is kept, and one per pair of a step and a later step.
//! **Tests:** `tests/classes.rs`, `tests/agreement.rs`.

use super::locksets::Locksets;
use super::steps::Steps;
use super::transactions;
use super::{NoFormula, Scheme};
use crate::solver::Lit;
use crate::unroll::{EventId, Unrolled};
use selvedge_core::{Budget, Spent};

/// A token may pass from the end of one step to the beginning of another.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Behind this.
    pub from: EventId,
    /// To this.
    pub to: EventId,
    /// Only if this is true.
    pub allowed: Lit,
}

/// All passes, and how many there could be.
pub struct Passes {
    /// Those that are left.
    pub kept: Vec<Pass>,
    /// All ordered pairs of steps of different threads.
    pub pairs: usize,
    /// How many mutually atomic transactions all pairs of threads have, if they have few ways through them.
    pub transactions: Option<usize>,
}

/// Which schedules of each class the passes must allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keep {
    /// One of them.
    AnySchedule,
    /// One with the fewest context switches, which are then counted.
    FewestSwitches,
}

impl Passes {
    /// Returns the passes of a scheme.
    ///
    /// # Errors
    /// If the caller asks to stop, or if there are too many.
    pub fn new(
        unrolled: &mut Unrolled,
        steps: &Steps,
        scheme: Scheme,
        keep: Keep,
        budget: &Budget,
    ) -> Result<Self, NoFormula> {
        if steps.pairs() > unrolled.caps.pairs {
            return Err(NoFormula::TooManyPairs(steps.pairs()));
        }
        let locksets = Locksets::new(unrolled, steps);
        let (mut kept, transactions) = match scheme {
            Scheme::Mat => {
                let of_two = match keep {
                    Keep::AnySchedule => of_two_threads(unrolled, steps),
                    Keep::FewestSwitches => None,
                };
                match of_two {
                    Some((passes, count)) => (passes, Some(count)),
                    None => {
                        let reduced = Reduced { unrolled, steps, locksets: &locksets, keep };
                        let passes = reduced.passes(budget)?;
                        (passes, transactions_of_pairs(unrolled, steps, budget)?)
                    }
                }
            }
            Scheme::Token | Scheme::Order => (all(steps), None),
        };
        kept.retain(|pass| {
            pass.allowed != Lit::FALSE && locksets.can_pass(unrolled, steps, pass.from, pass.to)
        });
        drop_useless(steps, &locksets, &mut kept, budget)?;
        if kept.len() > unrolled.caps.passes {
            return Err(NoFormula::TooManyPairs(kept.len()));
        }
        Ok(Self { kept, pairs: steps.pairs(), transactions })
    }
}

/// Takes away passes that no execution can use: a thread that passes the token on must get it back before its
/// next step, from a thread that can have it by then; and the thread that gets it must have passed it on before,
/// to a thread that can have had it by then, or not have begun.
fn drop_useless(
    steps: &Steps,
    locksets: &Locksets,
    kept: &mut Vec<Pass>,
    budget: &Budget,
) -> Result<(), Spent> {
    loop {
        let count = steps.is_last.len();
        let (mut leaves, mut enters) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for pass in kept.iter() {
            leaves[pass.from.index()].push(pass.to);
            enters[pass.to.index()].push(pass.from);
        }
        let mut useful = Vec::with_capacity(kept.len());
        for &pass in kept.iter() {
            budget.check()?;
            let can_return = steps.is_last[pass.from.index()] != Lit::FALSE
                || steps.next[pass.from.index()].iter().any(|(_, next)| {
                    let mut from = enters[next.index()].iter();
                    from.any(|&from| !locksets.is_before(from, pass.to))
                });
            let can_come = steps.previous[pass.to.index()].iter().any(|(_, previous)| {
                previous.is_none_or(|previous| {
                    let mut to = leaves[previous.index()].iter();
                    to.any(|&to| !locksets.is_before(pass.from, to))
                })
            });
            if can_return && can_come {
                useful.push(pass);
            }
        }
        if useful.len() == kept.len() {
            return Ok(());
        }
        *kept = useful;
    }
}

fn all(steps: &Steps) -> Vec<Pass> {
    let mut passes = Vec::new();
    for (i, first) in steps.of_thread.iter().enumerate() {
        for (_, second) in steps.of_thread.iter().enumerate().filter(|(j, _)| *j != i) {
            for &from in first {
                passes.extend(second.iter().map(|&to| Pass { from, to, allowed: Lit::TRUE }));
            }
        }
    }
    passes
}

/// Returns whether two steps of different threads may be dependent.
pub fn may_depend(unrolled: &Unrolled, a: EventId, b: EventId) -> bool {
    let (first, second) = (&unrolled.events[a.index()], &unrolled.events[b.index()]);
    let touches = |event: &crate::unroll::Event, thread: usize| {
        let mut threads = event.spawns.iter().chain(&event.joins);
        threads.any(|&(_, other)| other == thread)
    };
    first.may_conflict(second) || touches(first, second.thread) || touches(second, first.thread)
}

/// Returns whether two steps are dependent, if both are executed.
fn depends(unrolled: &mut Unrolled, a: EventId, b: EventId) -> Lit {
    if !may_depend(unrolled, a, b) {
        return Lit::FALSE;
    }
    let (first, second) = (&unrolled.events[a.index()], &unrolled.events[b.index()]);
    if !first.may_conflict(second) {
        return Lit::TRUE;
    }
    let mut sides = Vec::new();
    for (writer, other) in [(first, second), (second, first)] {
        for (cell, write) in &writer.writes {
            let touched = [
                other.reads.get(cell).map(|read| (read.guard, other.guard)),
                other.writes.get(cell).map(|write| (write.guard, other.guard)),
            ];
            for (touch, guard) in touched.into_iter().flatten() {
                // An access that its event always makes is there if the event is.
                let sure =
                    |access: Lit, event: Lit| if access == event { Lit::TRUE } else { access };
                sides.push((sure(write.guard, writer.guard), sure(touch, guard)));
            }
        }
    }
    let sides: Vec<Lit> = sides.into_iter().map(|(a, b)| unrolled.circuit.and(a, b)).collect();
    unrolled.circuit.any(&sides)
}

/// The passes that one schedule of each class needs: the least one in the lexicographic order of the
/// threads, or one with the fewest switches.
struct Reduced<'a> {
    unrolled: &'a mut Unrolled,
    steps: &'a Steps,
    locksets: &'a Locksets,
    keep: Keep,
}

impl Reduced<'_> {
    fn passes(mut self, budget: &Budget) -> Result<Vec<Pass>, Spent> {
        let mut passes = Vec::new();
        let threads = self.steps.of_thread.len();
        for i in 0..threads {
            for index in 0..self.steps.of_thread[i].len() {
                budget.check()?;
                let from = self.steps.of_thread[i][index];
                let first = match self.keep {
                    Keep::FewestSwitches => 0,
                    Keep::AnySchedule => {
                        self.backward(i, from, &mut passes);
                        i + 1
                    }
                };
                self.forward(i, from, first, &mut passes);
            }
        }
        Ok(passes)
    }

    /// Passes to earlier threads: to what is dependent.
    fn backward(&mut self, i: usize, from: EventId, passes: &mut Vec<Pass>) {
        for to in self.steps.of_thread[..i].iter().flatten().copied() {
            let allowed = depends(self.unrolled, from, to);
            passes.push(Pass { from, to, allowed });
        }
    }

    /// Passes to the threads from `first` on: where the thread cannot go on as well right now.
    fn forward(&mut self, i: usize, from: EventId, first: usize, passes: &mut Vec<Pass>) {
        let threads = self.steps.of_thread.len();
        // Per other thread: whether a step of it from some index on is dependent with what comes
        // next; the last entry is for none.
        let ahead: Vec<Vec<Lit>> = (0..threads)
            .map(|k| if k == i { vec![Lit::FALSE] } else { self.dependent_ahead(from, k) })
            .collect();
        for j in (first..threads).filter(|&j| j != i) {
            let others: Vec<Lit> = (0..threads).filter(|&k| k != j).map(|k| ahead[k][0]).collect();
            let mut reasons = vec![self.steps.is_last[from.index()]];
            reasons.extend(others);
            let always = self.unrolled.circuit.any(&reasons);
            for (index, &to) in self.steps.of_thread[j].iter().enumerate() {
                let allowed = self.unrolled.circuit.or(always, ahead[j][index]);
                passes.push(Pass { from, to, allowed });
            }
        }
    }

    fn dependent_ahead(&mut self, from: EventId, k: usize) -> Vec<Lit> {
        let next = self.steps.next[from.index()].clone();
        let steps = &self.steps.of_thread[k];
        let mut ahead = vec![Lit::FALSE; steps.len() + 1];
        for (index, &step) in steps.iter().enumerate().rev() {
            let mut reasons = vec![ahead[index + 1]];
            for &(condition, next) in &next {
                if !self.locksets.can_come_between(from, next, step) {
                    continue;
                }
                let depends = depends(self.unrolled, next, step);
                let guard = self.unrolled.events[step.index()].guard;
                // What is never certain to run may still be waited for in vain.
                let both = self.unrolled.circuit.all(&[condition, guard, depends]);
                reasons.push(weaken(self.unrolled, from, both));
            }
            ahead[index] = self.unrolled.circuit.any(&reasons);
        }
        ahead
    }
}

/// Returns the same condition without what is known to hold where `from` is executed.
fn weaken(unrolled: &Unrolled, from: EventId, lit: Lit) -> Lit {
    if unrolled.circuit.implies(unrolled.events[from.index()].guard, lit) { Lit::TRUE } else { lit }
}

/// A way through a thread: its steps, and whether it is taken.
struct Way {
    steps: Vec<EventId>,
    taken: Lit,
}

/// Returns the passes of GenMAT, if there are two threads with few ways through them; and how many
/// transactions.
fn of_two_threads(unrolled: &mut Unrolled, steps: &Steps) -> Option<(Vec<Pass>, usize)> {
    let &[first, second] = steps.threads().as_slice() else { return None };
    let first = ways(unrolled, steps, first)?;
    let second = ways(unrolled, steps, second)?;
    if first.len() * second.len() > unrolled.caps.ways {
        return None;
    }
    let mut reasons: std::collections::BTreeMap<(EventId, EventId), Vec<Lit>> = Default::default();
    let mut count = 0;
    for a in &first {
        for b in &second {
            let sizes = (a.steps.len(), b.steps.len());
            let conflict = |i: usize, j: usize| may_depend(unrolled, a.steps[i], b.steps[j]);
            let rounds = transactions::generate(sizes, &conflict);
            count += rounds.len();
            let taken = unrolled.circuit.and(a.taken, b.taken);
            let step = |(thread, index): (usize, usize)| [a, b][thread].steps[index];
            for (from, to) in transactions::passes(sizes, &rounds) {
                reasons.entry((step(from), step(to))).or_default().push(taken);
            }
        }
    }
    let passes = reasons.into_iter().map(|((from, to), reasons)| {
        let allowed = unrolled.circuit.any(&reasons);
        Pass { from, to, allowed }
    });
    Some((passes.collect(), count))
}

/// Returns how many transactions GenMAT finds for all pairs of threads, each pair by itself; `None` if they have too many ways.
fn transactions_of_pairs(
    unrolled: &Unrolled,
    steps: &Steps,
    budget: &Budget,
) -> Result<Option<usize>, Spent> {
    let paths = steps.threads().into_iter().map(|thread| steps.paths(thread, unrolled.caps.ways));
    let Some(paths) = paths.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let mut count = 0;
    for (i, first) in paths.iter().enumerate() {
        for second in &paths[i + 1..] {
            if first.len() * second.len() > unrolled.caps.ways {
                return Ok(None);
            }
            for (a, b) in first.iter().flat_map(|a| second.iter().map(move |b| (a, b))) {
                budget.check()?;
                let conflict = |i: usize, j: usize| may_depend(unrolled, a[i], b[j]);
                count += transactions::generate((a.len(), b.len()), &conflict).len();
            }
        }
    }
    Ok(Some(count))
}

/// Returns all ways through a thread; `None` if there are too many.
fn ways(unrolled: &mut Unrolled, steps: &Steps, thread: usize) -> Option<Vec<Way>> {
    let mut ways = Vec::new();
    let mut open: Vec<(Vec<EventId>, Lit)> = Vec::new();
    let mut none_runs = Vec::new();
    for &step in &steps.of_thread[thread] {
        let guard = unrolled.events[step.index()].guard;
        for &(condition, previous) in &steps.previous[step.index()] {
            if previous.is_none() {
                let starts = unrolled.circuit.and(guard, condition);
                open.push((vec![step], starts));
                none_runs.push(!starts);
            }
        }
    }
    let none_runs = unrolled.circuit.all(&none_runs);
    if none_runs != Lit::FALSE {
        ways.push(Way { steps: Vec::new(), taken: none_runs });
    }
    while let Some((path, taken)) = open.pop() {
        if ways.len() + open.len() > unrolled.caps.ways {
            return None;
        }
        let Some(&last) = path.last() else { continue };
        let ends = unrolled.circuit.and(taken, steps.is_last[last.index()]);
        for &(condition, next) in &steps.next[last.index()] {
            let taken = unrolled.circuit.and(taken, condition);
            if taken != Lit::FALSE {
                let longer = path.iter().copied().chain([next]).collect();
                open.push((longer, taken));
            }
        }
        if ends != Lit::FALSE {
            ways.push(Way { steps: path, taken: ends });
        }
    }
    Some(ways)
}
