//! Which values cells can have: small ones need few bits, and what cannot overflow is not asked.
//!
//! Ranges of values are followed through all interleavings at once, in two ways. The first takes no
//! notice of order: a read finds any value that is ever written. Where values grow with every
//! write, that comes to no end. Then the second goes through all combinations of places in the
//! threads, if they are few: for each, the values that cells and reads can have there.
//!
//! A range holds for every execution of the unrolled program. What overflows ends its thread, so
//! nothing after it needs to be right about the value that would have come out.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{CellId, EventId, Unrolled};
use crate::circuit::{Computation, Range, Word};
use crate::encode::program_order::ProgramOrder;
use selvedge_core::{Budget, Spent};

impl Unrolled {
    /// Bounds what reads find and what is left at the end, by unit clauses.
    pub(super) fn bound_values(&mut self, budget: &Budget) -> Result<(), Spent> {
        let analysis = Analysis::new(self);
        let found = match analysis.without_order() {
            Some(found) => Some(found),
            None => analysis.by_places(budget)?,
        };
        let Some(Found { words, cells }) = found else { return Ok(()) };
        for (word, range) in words {
            self.circuit.require_range(&word, range);
        }
        for (cell, range) in cells {
            self.cells[cell.index()].range = range;
        }
        Ok(())
    }
}

/// What came out.
struct Found {
    /// Words of reads and of final values, each with its range.
    words: Vec<(Word, Range)>,
    /// All values that cells ever have.
    cells: Vec<(CellId, Range)>,
}

/// Ranges of cells, then of reads that something is computed from.
type State = Vec<Range>;

/// What an event does to a state.
#[derive(Default)]
struct Step {
    /// The cell, and where the range of what is read is kept.
    reads: Vec<(usize, Option<usize>)>,
    writes: Vec<Written>,
}

struct Written {
    cell: usize,
    value: Word,
    computation: Computation,
    /// Whether the write is always made.
    sure: bool,
}

struct Analysis<'a> {
    unrolled: &'a Unrolled,
    /// The first state: initial values.
    initial: State,
    /// Where the range of a cell is kept. Truth values are left out.
    cells: BTreeMap<CellId, usize>,
    /// Where the range of a read is kept, by its word.
    places: FxHashMap<Word, usize>,
    /// One per event.
    steps: Vec<Step>,
}

impl<'a> Analysis<'a> {
    fn new(unrolled: &'a Unrolled) -> Self {
        let cells = unrolled.cells.iter().enumerate().filter(|(_, cell)| cell.initial.width() > 1);
        let cells: Vec<CellId> = cells.map(|(index, _)| CellId::new(index)).collect();
        let cells: BTreeMap<CellId, usize> = cells.into_iter().zip(0..).collect();
        let mut words = FxHashMap::default();
        for event in &unrolled.events {
            for (cell, read) in &event.reads {
                if let Some(&at) = cells.get(cell) {
                    words.insert(&read.value, at);
                }
            }
        }
        let mut analysis = Self {
            unrolled,
            initial: State::new(),
            cells,
            places: FxHashMap::default(),
            steps: Vec::new(),
        };
        analysis.initial = analysis.initial_values();
        for event in &unrolled.events {
            let mut step = Step::default();
            for (cell, write) in &event.writes {
                let Some(&at) = analysis.cells.get(cell) else { continue };
                let value = write.value.clone();
                let computation =
                    unrolled.circuit.computation(&value, |word| words.contains_key(word));
                let inputs = unrolled.circuit.reads_of(&computation).chain([&value]);
                for word in inputs.filter(|word| words.contains_key(word)) {
                    let next = analysis.cells.len() + analysis.places.len();
                    analysis.places.entry(word.clone()).or_insert(next);
                }
                let sure = write.guard == crate::solver::Lit::TRUE;
                step.writes.push(Written { cell: at, value, computation, sure });
            }
            analysis.steps.push(step);
        }
        for (event, step) in unrolled.events.iter().zip(&mut analysis.steps) {
            for (cell, read) in &event.reads {
                if let Some(&at) = analysis.cells.get(cell) {
                    step.reads.push((at, analysis.places.get(&read.value).copied()));
                }
            }
        }
        analysis
    }

    fn initial_values(&self) -> State {
        let initial = |cell: &CellId| {
            let word = &self.unrolled.cells[cell.index()].initial;
            self.unrolled.circuit.range(word, &[], |_| None)
        };
        self.cells.keys().map(initial).collect()
    }

    /// Every read finds any value of its cell. `None`: the values grow on and on.
    fn without_order(&self) -> Option<Found> {
        let mut cells = self.initial.clone();
        for _ in 0..self.unrolled.caps.range_rounds {
            let before = cells.clone();
            let mut state = cells.clone();
            state.resize(self.cells.len() + self.places.len(), Range::of(0));
            for step in &self.steps {
                for &(cell, place) in &step.reads {
                    if let Some(place) = place {
                        state[place] = before[cell];
                    }
                }
            }
            for write in self.steps.iter().flat_map(|step| &step.writes) {
                let range = self.written(write, &state);
                cells[write.cell] = cells[write.cell].join(range);
            }
            if cells == before {
                let of_reads = self
                    .steps
                    .iter()
                    .map(|step| step.reads.iter().map(|&(cell, _)| Some(cells[cell])).collect());
                return Some(self.found(of_reads.collect(), &cells));
            }
        }
        None
    }

    fn written(&self, write: &Written, state: &State) -> Range {
        let known = |word: &Word| self.places.get(word).map(|&place| state[place]);
        self.unrolled.circuit.range(&write.value, &write.computation, known)
    }

    /// Returns all combinations of places in the threads, those with fewer steps first. `None`: too many.
    fn by_places(&self, budget: &Budget) -> Result<Option<Found>, Spent> {
        let threads: Vec<&[EventId]> =
            self.unrolled.threads.iter().map(|thread| thread.events.as_slice()).collect();
        let needs = self.needs(&threads);
        let mut of_cells = self.initial.clone();
        let mut of_reads: Vec<Vec<Option<Range>>> =
            self.steps.iter().map(|step| vec![None; step.reads.len()]).collect();
        let mut state = self.initial.clone();
        state.resize(self.cells.len() + self.places.len(), Range::of(0));
        let mut level = BTreeMap::from([(vec![0_u32; threads.len()], state)]);
        let mut work = 0;
        while !level.is_empty() {
            let mut next: BTreeMap<Vec<u32>, State> = BTreeMap::new();
            for (at, state) in &level {
                budget.check()?;
                for (thread, events) in threads.iter().enumerate() {
                    let Some(&event) = events.get(at[thread] as usize) else { continue };
                    let needs = &needs[event.index()];
                    if at.iter().zip(needs).any(|(passed, needed)| passed < needed) {
                        continue;
                    }
                    work += state.len() + self.steps[event.index()].cost();
                    if work > self.unrolled.caps.range_work {
                        return Ok(None);
                    }
                    let state = self.step(event, state, &mut of_reads[event.index()]);
                    for (all, here) in of_cells.iter_mut().zip(&state) {
                        *all = all.join(*here);
                    }
                    let mut at = at.clone();
                    at[thread] += 1;
                    next.entry(at)
                        .and_modify(|other| {
                            for (other, here) in other.iter_mut().zip(&state) {
                                *other = other.join(*here);
                            }
                        })
                        .or_insert(state);
                }
            }
            level = next;
        }
        Ok(Some(self.found(of_reads, &of_cells)))
    }

    /// Per event, how many events of each thread come before it in every execution.
    fn needs(&self, threads: &[&[EventId]]) -> Vec<Vec<u32>> {
        let order = ProgramOrder::new(self.unrolled);
        let needs = |event: usize| {
            let event = EventId::new(event);
            let before = |events: &&[EventId]| {
                events.partition_point(|&other| order.is_before(other, event)) as u32
            };
            threads.iter().map(before).collect()
        };
        (0..self.unrolled.events.len()).map(needs).collect()
    }

    fn step(&self, event: EventId, state: &State, reads: &mut [Option<Range>]) -> State {
        let step = &self.steps[event.index()];
        let mut state = state.clone();
        for (&(cell, place), range) in step.reads.iter().zip(reads) {
            *range = Some(range.map_or(state[cell], |known| known.join(state[cell])));
            if let Some(place) = place {
                state[place] = state[cell];
            }
        }
        for write in &step.writes {
            let range = self.written(write, &state);
            let kept = state[write.cell];
            state[write.cell] = if write.sure { range } else { kept.join(range) };
        }
        state
    }

    fn found(&self, of_reads: Vec<Vec<Option<Range>>>, of_cells: &State) -> Found {
        let mut words = Vec::new();
        for (event, ranges) in self.unrolled.events.iter().zip(of_reads) {
            let reads = event.reads.iter().filter(|(cell, _)| self.cells.contains_key(cell));
            for ((_, read), range) in reads.zip(ranges) {
                words.extend(range.map(|range| (read.value.clone(), range)));
            }
        }
        for (cell, word) in &self.unrolled.finals {
            if let Some(&at) = self.cells.get(cell) {
                words.push((word.clone(), of_cells[at]));
            }
        }
        let cells = self.cells.iter().map(|(&cell, &at)| (cell, of_cells[at])).collect();
        Found { words, cells }
    }
}

impl Step {
    fn cost(&self) -> usize {
        self.writes.iter().map(|write| write.computation.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caps::Caps;
    use crate::circuit::Circuit;
    use crate::unroll::{Depth, unroll};

    #[test]
    fn a_budget_that_is_spent_ends_it() {
        let text = "shared x = 0; shared y = 0; thread t { x = y + 1; } thread u { y = x + 1; }";
        let program = selvedge_lang::compile("test.sel", text, &[]).expect("it compiles").program;
        let (budget, depth) = (
            Budget::unlimited(),
            Depth { repetitions: 1, stops_anywhere: false, stops_at_races: false },
        );
        let unrolled = unroll(&program, depth, Caps::default(), Circuit::default(), &budget);
        let unrolled = unrolled.expect("nothing is spent");
        let analysis = Analysis::new(&unrolled);
        assert!(analysis.by_places(&budget).is_ok_and(|found| found.is_some()));
        budget.end(Spent::Interrupted);
        assert_eq!(analysis.by_places(&budget).err(), Some(Spent::Interrupted));
    }
}
