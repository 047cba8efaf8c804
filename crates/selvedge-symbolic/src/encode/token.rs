//! The token encoding: decoupled threads, and a token that carries the shared values.
//!
//! M. Ganai, S. Kundu, SPIN 2009, section 2.1, after M. Ganai, A. Gupta: *Efficient modeling of
//! concurrent systems in BMC*, SPIN 2008.
//!
//! | paper | here |
//! |---|---|
//! | localised shared variables at `read_sync`, `write_sync` | `values`, `values` after the writes |
//! | `tk` | whether a step is reached from the previous one of its thread, or by a pass |
//! | `ctk` | `clock`: how often the token was passed |
//! | token-passing constraints | [`Passes`] |
//!
//! **Equivalence:** every interleaving that the passes allow is a model of its own.
//! **Guarantee:** the steps of a model, ordered by the token, are an execution; and every
//! interleaving that passes the token only as allowed has a model.
//! **Differs from the paper:** a step that can wait may stay undone, so that executions that do
//! not come to their end are covered; the last step with the token has the final values. That the
//! token passes in no cycle is stated to the order theory of the solver too: it follows from the clocks,
//! but there the solver sees it only when it has chosen all their bits.
//! **Cost:** per pass, the equality of all shared values and of the clock.
//! **Tests:** `tests/classes.rs`, `tests/agreement.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::goals::Goals;
use super::passes::{Pass, Passes};
use super::program_order::ProgramOrder;
use super::steps::Steps;
use super::{NoFormula, go_on, turns};
use crate::bounds::Bounds;
use crate::circuit::Word;
use crate::solver::Lit;
use crate::unroll::{Cell, CellId, Event, EventId, Unrolled};
use selvedge_core::Budget;

/// What the encoding says about a program.
pub struct TokenEncoding {
    /// Each pass, and whether it happens.
    pub happens: Vec<(Lit, Pass)>,
    /// Each step that can be the first of all, and whether it is.
    pub starts: Vec<(Lit, EventId)>,
    /// How often the token was passed before each step.
    clocks: BTreeMap<EventId, Word>,
    /// How many pairs there could be, and how many transactions there are.
    pub passes: Passes,
}

struct Encoder<'a> {
    unrolled: &'a mut Unrolled,
    steps: Steps,
    /// Per step: the shared values that it finds, and those that it leaves.
    found: BTreeMap<EventId, BTreeMap<CellId, Word>>,
    left: BTreeMap<EventId, BTreeMap<CellId, Word>>,
    clocks: BTreeMap<EventId, Word>,
    happens: Vec<(Lit, Pass)>,
    starts: Vec<(Lit, EventId)>,
}

/// Encodes the interleavings that pass the token as allowed.
///
/// # Errors
/// If the caller asks to stop, or if it would be too large.
pub fn encode(
    unrolled: &mut Unrolled,
    steps: Steps,
    passes: Passes,
    bounds: Bounds<'_>,
    goals: &mut Goals,
    budget: &Budget,
) -> Result<TokenEncoding, NoFormula> {
    let mut encoder = Encoder {
        unrolled,
        steps,
        found: BTreeMap::new(),
        left: BTreeMap::new(),
        clocks: BTreeMap::new(),
        happens: Vec::new(),
        starts: Vec::new(),
    };
    encoder.localise(&passes, bounds.switches, budget)?;
    encoder.pass_tokens(&passes, budget)?;
    encoder.follow_program_order(budget)?;
    encoder.create_and_join();
    encoder.end(goals.maximal);
    encoder.forbid_circles();
    let Encoder { unrolled, steps, clocks, happens, starts, .. } = encoder;
    turns::bound(unrolled, &steps, &happens, bounds, goals);
    Ok(TokenEncoding { happens, starts, clocks, passes })
}

impl Encoder<'_> {
    /// Every step has its own shared values, and a clock: those of the step before it, if it cannot
    /// have the token from elsewhere.
    fn localise(
        &mut self,
        passes: &Passes,
        context_bound: Option<u32>,
        budget: &Budget,
    ) -> Result<(), NoFormula> {
        let read = self.unrolled.events.iter().flat_map(|event| event.reads.keys());
        let mut cells: Vec<CellId> = read.chain(self.unrolled.finals.keys()).copied().collect();
        cells.sort_unstable();
        cells.dedup();
        let all: Vec<EventId> = self.steps.all().collect();
        // The token does not pass more often than there are steps.
        let context_bound = context_bound.filter(|&bound| (bound as usize) < all.len());
        let most = context_bound.map_or(all.len(), |bound| bound as usize + 1);
        let width = (usize::BITS - most.leading_zeros()) as usize + 1;
        let entered: BTreeSet<EventId> = passes.kept.iter().map(|pass| pass.to).collect();
        for event in all {
            go_on(self.unrolled, budget)?;
            let before = match self.steps.previous[event.index()].as_slice() {
                [(_, before)] if !entered.contains(&event) => *before,
                _ => None,
            };
            let (found, clock) = match before {
                Some(before) => (self.left[&before].clone(), self.clocks[&before].clone()),
                None => (self.any_values(&cells), self.any_clock(width, context_bound)),
            };
            let left = self.changed(event, &found);
            self.clocks.insert(event, clock);
            self.found.insert(event, found);
            self.left.insert(event, left);
        }
        Ok(())
    }

    fn any_clock(&mut self, width: usize, context_bound: Option<u32>) -> Word {
        let clock = self.unrolled.circuit.fresh_word(width);
        if let Some(bound) = context_bound {
            let most = Word::constant(i32::try_from(bound).unwrap_or(i32::MAX), width);
            let within = !self.unrolled.circuit.less_unsigned(&most, &clock);
            self.unrolled.circuit.require(&[within]);
        }
        clock
    }

    fn any_values(&mut self, cells: &[CellId]) -> BTreeMap<CellId, Word> {
        let mut values = BTreeMap::new();
        for &cell in cells {
            let Cell { initial, range, .. } = &self.unrolled.cells[cell.index()];
            let (range, width) = (*range, initial.width());
            values.insert(cell, self.unrolled.circuit.fresh_word_in(range, width));
        }
        values
    }

    /// Returns what a step leaves: what it found, but for what it writes.
    fn changed(
        &mut self,
        event: EventId,
        found: &BTreeMap<CellId, Word>,
    ) -> BTreeMap<CellId, Word> {
        let Event { reads, writes, .. } = self.unrolled.events[event.index()].clone();
        for (cell, read) in &reads {
            self.unrolled.circuit.imply_equal(&[read.guard], &read.value, &found[cell]);
        }
        let mut left = found.clone();
        for (cell, write) in &writes {
            if let Some(value) = left.get_mut(cell) {
                *value = self.unrolled.circuit.choose_word(write.guard, &write.value, value);
            }
        }
        left
    }

    fn pass_tokens(&mut self, passes: &Passes, budget: &Budget) -> Result<(), NoFormula> {
        for &pass in &passes.kept {
            go_on(self.unrolled, budget)?;
            let lit = self.unrolled.circuit.fresh();
            self.unrolled.circuit.imply(&[lit], &[pass.allowed]);
            for event in [pass.from, pass.to] {
                let guard = self.unrolled.events[event.index()].guard;
                self.unrolled.circuit.imply(&[lit], &[guard]);
            }
            self.same_values(&[lit], pass.from, pass.to);
            let before = self.clocks[&pass.from].clone();
            let one = Word::constant(1, before.width());
            let after = self.unrolled.circuit.add(&before, &one).0;
            self.unrolled.circuit.imply_equal(&[lit], &after, &self.clocks[&pass.to]);
            self.happens.push((lit, pass));
        }
        Ok(())
    }

    /// What one step leaves is what the other finds, if all of `premises`.
    fn same_values(&mut self, premises: &[Lit], from: EventId, to: EventId) {
        for (cell, value) in &self.left[&from] {
            self.unrolled.circuit.imply_equal(premises, value, &self.found[&to][cell]);
        }
    }

    /// Makes each step have the token from one place: the previous step of its thread, a pass, or the
    /// beginning.
    fn follow_program_order(&mut self, budget: &Budget) -> Result<(), NoFormula> {
        let (mut into, mut out): (BTreeMap<_, Vec<Lit>>, BTreeMap<_, Vec<Lit>>) =
            Default::default();
        for &(lit, pass) in &self.happens {
            into.entry(pass.to).or_default().push(lit);
            out.entry(pass.from).or_default().push(lit);
        }
        let all: Vec<EventId> = self.steps.all().collect();
        let mut received = BTreeMap::new();
        let mut passed = BTreeMap::new();
        for &event in &all {
            for (lits, any) in [(&into, &mut received), (&out, &mut passed)] {
                let lits = lits.get(&event).cloned().unwrap_or_default();
                self.unrolled.circuit.at_most_one(&lits);
                any.insert(event, self.unrolled.circuit.any(&lits));
            }
        }
        for &event in &all {
            go_on(self.unrolled, budget)?;
            let guard = self.unrolled.events[event.index()].guard;
            for (condition, previous) in self.steps.previous[event.index()].clone() {
                let here = [guard, condition];
                match previous {
                    None => self.first_step(event, &here, received[&event]),
                    Some(previous) => {
                        self.next_step(event, previous, &here, received[&event], passed[&previous]);
                    }
                }
            }
        }
        let starts: Vec<Lit> = self.starts.iter().map(|&(lit, _)| lit).collect();
        self.unrolled.circuit.at_most_one(&starts);
        Ok(())
    }

    fn first_step(&mut self, event: EventId, here: &[Lit; 2], received: Lit) {
        let thread = self.unrolled.events[event.index()].thread;
        if self.unrolled.threads[thread].parent.is_some() {
            return self.unrolled.circuit.imply(here, &[received]);
        }
        let start = self.unrolled.circuit.fresh();
        self.starts.push((start, event));
        for &lit in here {
            self.unrolled.circuit.imply(&[start], &[lit]);
        }
        self.unrolled.circuit.imply(here, &[received, start]);
        self.unrolled.circuit.require(&[!received, !start]);
        for (cell, value) in &self.found[&event] {
            let initial = self.unrolled.cells[cell.index()].initial.clone();
            self.unrolled.circuit.imply_equal(&[start], &initial, value);
        }
        let clock = &self.clocks[&event];
        let zero = Word::constant(0, clock.width());
        self.unrolled.circuit.imply_equal(&[start], &zero, clock);
    }

    fn next_step(
        &mut self,
        event: EventId,
        previous: EventId,
        here: &[Lit; 2],
        received: Lit,
        passed: Lit,
    ) {
        let [guard, condition] = *here;
        // Passed on there, it must come back here; else it stays.
        //
        // The first clause is there for the solver alone: it follows from the others. Each step that is
        // executed has the token from one place, all but the one at the beginning; stays keep the clock and
        // passes raise it, so these places make a tree, with at most one pass out of each step. A step from
        // which nothing continues has passed nothing, so the next one of its thread, if there is any, has
        // received nothing (second clause) and stays: it is the last of its thread, an end. There is at most one
        // end (`Self::end`), so the tree is a path, and what is passed on does not stay as well.
        self.unrolled.circuit.imply(&[guard, condition, passed], &[received]);
        self.unrolled.circuit.imply(&[guard, condition, received], &[passed]);
        self.same_values(&[guard, condition, !received], previous, event);
        let (before, after) = (self.clocks[&previous].clone(), self.clocks[&event].clone());
        self.unrolled.circuit.imply_equal(&[guard, condition, !received], &before, &after);
        let later = self.unrolled.circuit.less_unsigned(&before, &after);
        self.unrolled.circuit.imply(&[guard, condition, received], &[later]);
    }

    /// A thread runs after it is created, and a thread that waits for its end runs after that.
    fn create_and_join(&mut self) {
        for event in self.steps.all().collect::<Vec<_>>() {
            let (guard, thread, joins) = {
                let event = &self.unrolled.events[event.index()];
                (event.guard, event.thread, event.joins.clone())
            };
            if let Some(parent) = self.unrolled.threads[thread].parent {
                for (condition, previous) in self.steps.previous[event.index()].clone() {
                    match previous {
                        Some(_) => {}
                        None if self.clocks.contains_key(&parent) => {
                            self.before(parent, event, &[guard, condition]);
                        }
                        // It is known that the parent never comes to create it, though its own steps do not say so.
                        None => self.unrolled.circuit.require(&[!guard, !condition]),
                    }
                }
            }
            for (condition, other) in joins {
                for step in self.steps.of_thread[other].clone() {
                    let last = self.steps.is_last[step.index()];
                    if last != Lit::FALSE {
                        self.before(step, event, &[condition, last]);
                    }
                }
            }
        }
    }

    /// One step of another thread comes before a step, if all of `premises`.
    fn before(&mut self, a: EventId, b: EventId, premises: &[Lit]) {
        let (first, second) = (self.clocks[&a].clone(), self.clocks[&b].clone());
        let less = self.unrolled.circuit.less_unsigned(&first, &second);
        self.unrolled.circuit.imply(premises, &[less]);
    }

    /// A step that has the token from another has it later, and nothing runs in between.
    fn forbid_circles(&mut self) {
        let nodes = ProgramOrder::new(self.unrolled).add_to(self.unrolled);
        self.unrolled.circuit.solver.imply_order();
        for &(lit, pass) in &self.happens {
            let node = |event: EventId| nodes[event.index()];
            self.unrolled.circuit.solver.add_edge(lit, node(pass.from), node(pass.to));
            // What is always executed around the two comes after both, or before both.
            let (guard, circuit) =
                (self.unrolled.events[pass.from.index()].guard, &self.unrolled.circuit);
            let after = self.steps.next[pass.from.index()].iter();
            let after = after.filter(|&&(condition, _)| circuit.implies(guard, condition));
            let after: Vec<EventId> = after.map(|&(_, event)| event).collect();
            let before = match self.steps.previous[pass.to.index()].as_slice() {
                &[(_, before)] => before,
                _ => None,
            };
            let solver = &mut self.unrolled.circuit.solver;
            for event in after {
                solver.add_edge(lit, node(pass.to), node(event));
            }
            if let Some(before) = before {
                solver.add_edge(lit, node(before), node(pass.from));
            }
        }
    }

    /// The last step of all leaves the final values.
    fn end(&mut self, at_end: Lit) {
        let finals: Vec<(CellId, Word)> =
            self.unrolled.finals.iter().map(|(&cell, word)| (cell, word.clone())).collect();
        let mut executed = Vec::new();
        let mut ends = Vec::new();
        let mut out: BTreeMap<EventId, Vec<Lit>> = BTreeMap::new();
        for &(lit, pass) in &self.happens {
            out.entry(pass.from).or_default().push(!lit);
        }
        for event in self.steps.all().collect::<Vec<_>>() {
            executed.push(self.unrolled.events[event.index()].guard);
            let mut premises = out.remove(&event).unwrap_or_default();
            premises.push(self.steps.is_last[event.index()]);
            let is_end = self.unrolled.circuit.all(&premises);
            ends.push(is_end);
            for (cell, word) in &finals {
                let left = self.left[&event][cell].clone();
                self.unrolled.circuit.imply_equal(&[at_end, is_end], &left, word);
            }
        }
        // There is one way through all steps, so one end. The solver need not find that out.
        self.unrolled.circuit.at_most_one(&ends);
        let any = self.unrolled.circuit.any(&executed);
        for (cell, word) in &finals {
            let initial = self.unrolled.cells[cell.index()].initial.clone();
            self.unrolled.circuit.imply_equal(&[at_end, !any], &initial, word);
        }
    }
}

impl TokenEncoding {
    /// Returns the executed events of the last model: by the clock, and within one holding of the token in
    /// program order. What is no step comes right before the next one of its thread.
    pub fn linearize(&self, unrolled: &Unrolled) -> Vec<EventId> {
        let is_executed =
            |event: &EventId| unrolled.circuit.solver.value(unrolled.events[event.index()].guard);
        let mut steps: Vec<(i32, EventId)> = self
            .clocks
            .iter()
            .filter(|(event, _)| is_executed(event))
            .map(|(&event, clock)| (clock.value(&unrolled.circuit), event))
            .collect();
        steps.sort_unstable();
        let mut next = vec![0; unrolled.threads.len()];
        let mut order = Vec::new();
        let up_to = |thread: usize,
                     end: Option<EventId>,
                     next: &mut Vec<usize>,
                     order: &mut Vec<EventId>| {
            let events = &unrolled.threads[thread].events;
            while let Some(&event) = events.get(next[thread])
                && end.is_none_or(|end| event <= end)
            {
                next[thread] += 1;
                if is_executed(&event) {
                    order.push(event);
                }
            }
        };
        for (_, step) in steps {
            let event = &unrolled.events[step.index()];
            let ended = event.joins.iter().filter(|(lit, _)| unrolled.circuit.solver.value(*lit));
            for &(_, other) in ended {
                // A choice may follow its last step, before its end can be observed.
                up_to(other, None, &mut next, &mut order);
            }
            up_to(event.thread, Some(step), &mut next, &mut order);
        }
        for thread in 0..unrolled.threads.len() {
            up_to(thread, None, &mut next, &mut order);
        }
        order
    }
}
