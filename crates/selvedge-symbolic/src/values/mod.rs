//! Which values shared variables can have in any execution, and local variables where atomic blocks begin.
//!
//! With them a constraint between blocks need not guard against overflows that cannot be: `x = x + 1` in each of 200
//! threads never takes `x` beyond 200 more than where it started.
//!
//! **How.** The code of every thread is followed once with ranges in the place of values (`follow.rs`). A read finds any
//! value that the variable is *assumed* to have. A write of `v` is one of two things:
//!
//! - It *adds*: `v` is a value that was read from the same variable, plus something from a range of deltas.
//! - Otherwise it *sets*: `v` is something from a range.
//!
//! No value of the variable is then above the greatest initial or set value plus the sum of all positive deltas, of as many
//! writes as there can be; the same for the least. By induction on the writes of an execution: what a write adds to was
//! in the variable before some of the writes that came earlier, and its own delta is not among theirs. It does not matter
//! which element of an array is meant, nor whether the read and the write are one step.
//!
//! If these bounds are within what was assumed, no execution leaves them, by induction on its steps; if not, more is assumed
//! and the threads are followed again. What still grows after a few rounds can be anything.
//!
//! **Why each write counts once.** A thread's path through its code is covered by a sequence of visits to labels, each later
//! than the one before; so a label is visited at least as often as any execution of the thread passes it. A
//! loop without an end in sight makes everything that is added in it unbounded, and what it spawns unknown.
//!
//! **Cost.** The number of instructions followed, at most [`Caps::followed`] in each of [`Caps::value_rounds`] rounds and the last one;
//! beyond, everything that the threads could still write, and all local variables there, can be anything.

mod follow;
mod interval;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use selvedge_lang::ir::{AtomicId, GlobalId, GlobalKind, Label, ProcedureId, Program, Slot};

use crate::caps::Caps;
use crate::circuit::Range;
use follow::Follow;
use interval::{ALL, within};

/// Ranges that no execution leaves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Values {
    /// By declaration; only variables that are bounded.
    globals: BTreeMap<GlobalId, Range>,
    /// Of local variables when a block begins; only bounded ones.
    locals: BTreeMap<(AtomicId, Slot), Range>,
    /// Instructions that fail in no execution.
    safe: BTreeSet<(ProcedureId, Label)>,
}

/// What following the threads found out about the writes of a variable.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// Initial values and those that are set.
    set: Range,
    /// The sum of what is added; `None`: without bound.
    up: Option<i64>,
    /// The sum of what is taken away; `None`: without bound.
    down: Option<i64>,
}

impl Values {
    /// Nothing is known: constraints hold in every state, also in one that no execution reaches.
    pub fn unknown() -> Self {
        Self::default()
    }

    /// Returns what is known about a program.
    pub fn of(program: &Program, caps: &Caps) -> Self {
        let initial = initial(program);
        let mut assumed: BTreeMap<GlobalId, Range> = initial.clone();
        for round in 0.. {
            let mut follow = Follow::new(program, caps, &assumed, &initial);
            follow.threads();
            let found = follow.found;
            let mut grows = false;
            for (global, assumed) in &mut assumed {
                let bounds = found.written[global].bounds();
                let joined = assumed.join(bounds);
                if joined != *assumed {
                    grows = true;
                    *assumed = if round < caps.value_rounds { joined } else { ALL };
                }
            }
            if !grows {
                let locals = found.locals.into_iter();
                let safe = found.may_fail.into_iter().filter(|((procedure, _), may_fail)| {
                    !may_fail && !found.given_up.contains(procedure)
                });
                let known = |(atomic, _): &(AtomicId, Slot)| !found.unknown.contains(atomic);
                return Self {
                    globals: assumed.into_iter().filter(|(_, range)| *range != ALL).collect(),
                    locals: locals.filter(|(at, range)| known(at) && *range != ALL).collect(),
                    safe: safe.map(|(at, _)| at).collect(),
                };
            }
        }
        Self::unknown()
    }

    /// Returns the range of a variable, or of all elements of an array; `None`: any value.
    pub fn of_global(&self, global: GlobalId) -> Option<Range> {
        self.globals.get(&global).copied()
    }

    /// Returns the range of a local variable when a block begins; `None`: any value.
    pub fn of_local(&self, atomic: AtomicId, slot: Slot) -> Option<Range> {
        self.locals.get(&(atomic, slot)).copied()
    }
}

impl Values {
    /// Returns whether an instruction fails in no execution.
    pub fn is_safe(&self, procedure: ProcedureId, at: Label) -> bool {
        self.safe.contains(&(procedure, at))
    }
}

impl Written {
    fn bounds(self) -> Range {
        let low = self.down.map_or(ALL.low, |down| self.set.low.saturating_sub(down));
        let high = self.up.map_or(ALL.high, |up| self.set.high.saturating_add(up));
        within(Range { low, high })
    }

    fn add(&mut self, delta: Range) {
        self.up = self.up.map(|up| up.saturating_add(delta.high.max(0)));
        self.down = self.down.map(|down| down.saturating_add((-delta.low).max(0)));
    }

    /// Adds as often as you like.
    fn add_without_end(&mut self, delta: Range) {
        self.up = self.up.filter(|_| delta.high <= 0);
        self.down = self.down.filter(|_| delta.low >= 0);
    }
}

/// Returns the initial values of all variables. Those without elements are left out.
fn initial(program: &Program) -> BTreeMap<GlobalId, Range> {
    let mut ranges = BTreeMap::new();
    for (index, global) in program.globals.iter().enumerate() {
        let GlobalKind::Variable { initial, .. } = &global.kind else { continue };
        let values: BTreeSet<i32> = initial.iter().copied().collect();
        if let (Some(&low), Some(&high)) = (values.first(), values.last()) {
            let range = Range { low: low.into(), high: high.into() };
            ranges.insert(GlobalId::new(index), range);
        }
    }
    ranges
}
