//! The order encoding: which write a read observes, and an order without cycles.
//!
//! For each read of a cell and each write of it that could be observed, one literal. If it is
//! true, the values agree, the write comes before the read, and every other write of the cell that
//! is executed comes before that write or after the read. "Comes before" is an edge in the order
//! theory of the solver (`solver/order.rs`), so there are no clocks.
//!
//! **Equivalence:** reads-from: what is not observed is not ordered.
//! **Guarantee:** every execution within the bound has a model, but for the order of threads that are
//! alike (`symmetry.rs`), and the order of every model, completed in any way, is an execution. One model per class, if the class is what is asked for.
//! **Differs from the paper:** it is the modern alternative to it. What is known in this field as
//! write serialisation is only demanded where a read needs it.
//! **Cost:** per cell, for each pair of a write and a read a few clauses, and one for each write
//! of a third thread. Order atoms only for pairs that some clause names.
//! **Tests:** `tests/classes.rs`: the models of random programs are the reads-from functions of all
//! interleavings; `tests/agreement.rs`: the same verdicts as the explorers.

use rustc_hash::FxHashMap;

use super::program_order::ProgramOrder;
use super::{NoFormula, go_on, symmetry};
use crate::circuit::Word;
use crate::solver::{Lit, Node};
use crate::unroll::{CellId, EventId, Unrolled};
use selvedge_core::Budget;

/// What the encoding says about a program.
pub struct OrderEncoding {
    /// Per read and write that it may observe: whether it does.
    pub observations: Vec<Lit>,
    /// The node of each event, and then of the end of each thread.
    pub nodes: Vec<Node>,
}

/// Who accesses a cell, in program order: for two writes of one thread, whatever comes after the
/// first of them, or before the second, is a run of writes.
#[derive(Default)]
struct Accesses {
    /// Per thread.
    writes: Vec<Vec<WriteOf>>,
    reads: Vec<(EventId, Lit, Word)>,
}

/// A write of a cell.
struct WriteOf {
    event: EventId,
    guard: Lit,
    value: Word,
}

/// The reader: an event, or the end of the execution.
struct Reader<'a> {
    event: Option<EventId>,
    guard: Lit,
    value: &'a Word,
}

struct Encoder<'a> {
    unrolled: &'a mut Unrolled,
    program_order: ProgramOrder,
    nodes: Vec<Node>,
    /// Per pair of events with ascending numbers: whether the second comes before the first.
    before: FxHashMap<(EventId, EventId), Lit>,
    observations: Vec<Lit>,
}

/// Encodes all interleavings. `at_end`: the literal under which final values matter.
///
/// # Errors
/// If the caller asks to stop, or if it would be too large.
pub fn encode(
    unrolled: &mut Unrolled,
    at_end: Lit,
    budget: &Budget,
) -> Result<OrderEncoding, NoFormula> {
    let marks = symmetry::marks(unrolled);
    let marks: Vec<(EventId, EventId)> =
        marks.iter().flat_map(|marks| marks.windows(2).map(|pair| (pair[0], pair[1]))).collect();
    for &(first, second) in &marks {
        let guard = |event: EventId| unrolled.events[event.index()].guard;
        let (first, second) = (guard(first), guard(second));
        unrolled.circuit.imply(&[second], &[first]);
    }
    let program_order = ProgramOrder::with(unrolled, &marks);
    let nodes = program_order.add_to(unrolled);
    let mut encoder = Encoder {
        unrolled,
        program_order,
        nodes,
        before: FxHashMap::default(),
        observations: Vec::new(),
    };
    for (index, accesses) in encoder.accesses().iter().enumerate() {
        encoder.encode_cell(CellId::new(index), accesses, at_end, budget)?;
    }
    Ok(OrderEncoding { observations: encoder.observations, nodes: encoder.nodes })
}

impl Encoder<'_> {
    /// Per cell.
    fn accesses(&self) -> Vec<Accesses> {
        let mut all: Vec<Accesses> = Vec::new();
        all.resize_with(self.unrolled.cells.len(), Accesses::default);
        for (number, thread) in self.unrolled.threads.iter().enumerate() {
            for &id in &thread.events {
                let event = &self.unrolled.events[id.index()];
                for (cell, write) in event.writes.iter().filter(|(_, w)| w.guard != Lit::FALSE) {
                    let writes = &mut all[cell.index()].writes;
                    if writes.len() <= number {
                        writes.resize_with(number + 1, Vec::new);
                    }
                    let (guard, value) = (write.guard, write.value.clone());
                    writes[number].push(WriteOf { event: id, guard, value });
                }
                for (cell, read) in event.reads.iter().filter(|(_, r)| r.guard != Lit::FALSE) {
                    all[cell.index()].reads.push((id, read.guard, read.value.clone()));
                }
            }
        }
        all
    }

    fn encode_cell(
        &mut self,
        cell: CellId,
        Accesses { writes, reads }: &Accesses,
        at_end: Lit,
        budget: &Budget,
    ) -> Result<(), NoFormula> {
        for (event, guard, value) in reads {
            let reader = Reader { event: Some(*event), guard: *guard, value };
            self.encode_read(cell, writes, &reader, budget)?;
        }
        if let Some(value) = self.unrolled.finals.get(&cell).cloned() {
            let reader = Reader { event: None, guard: at_end, value: &value };
            self.encode_read(cell, writes, &reader, budget)?;
        }
        Ok(())
    }

    /// Makes a read observe one of the writes, or the initial value.
    fn encode_read(
        &mut self,
        cell: CellId,
        writes: &[Vec<WriteOf>],
        reader: &Reader<'_>,
        budget: &Budget,
    ) -> Result<(), NoFormula> {
        let initial = self.unrolled.cells[cell.index()].initial.clone();
        let mut choices = Vec::new();
        for source in writes.iter().flatten().map(Some).chain([None]) {
            go_on(self.unrolled, budget)?;
            if !self.can_observe(writes, source, reader) {
                continue;
            }
            let value = source.map_or(&initial, |write| &write.value);
            if never_equal(value, reader.value) {
                continue;
            }
            let lit = self.unrolled.circuit.fresh();
            choices.push(lit);
            self.unrolled.circuit.imply(&[lit], &[reader.guard]);
            self.unrolled.circuit.imply_equal(&[lit], value, reader.value);
            if let Some(write) = source {
                self.unrolled.circuit.imply(&[lit], &[write.guard]);
                if let Some(event) = reader.event {
                    let before = self.before(write.event, event);
                    self.unrolled.circuit.imply(&[lit], &[before]);
                }
            }
            self.keep_apart(writes, source, reader, lit, budget)?;
            if reader.event.is_some() {
                self.observations.push(lit);
            }
        }
        self.unrolled.circuit.imply(&[reader.guard], &choices);
        Ok(())
    }

    /// Returns whether a write could be the last before a read.
    fn can_observe(
        &self,
        writes: &[Vec<WriteOf>],
        source: Option<&WriteOf>,
        reader: &Reader<'_>,
    ) -> bool {
        if let (Some(write), Some(event)) = (source, reader.event)
            && (write.event == event || self.program_order.is_before(event, write.event))
        {
            return false;
        }
        // A write that always comes in between hides it.
        !writes.iter().any(|of_thread| {
            let (after, before) = self.around(of_thread, source, reader);
            let between = of_thread.get(after..before).unwrap_or_default();
            between.iter().any(|other| self.unrolled.circuit.implies(reader.guard, other.guard))
        })
    }

    /// From where on the writes of a thread come after the source in any case, and up to where they
    /// come before the read.
    fn around(
        &self,
        of_thread: &[WriteOf],
        source: Option<&WriteOf>,
        reader: &Reader<'_>,
    ) -> (usize, usize) {
        let order = &self.program_order;
        let after = source.map_or(0, |write| {
            of_thread.partition_point(|other| !order.is_before(write.event, other.event))
        });
        let before = reader.event.map_or(of_thread.len(), |event| {
            of_thread.partition_point(|other| order.is_before(other.event, event))
        });
        (after, before)
    }

    /// No other write comes between `source` and the reader, if `lit`.
    fn keep_apart(
        &mut self,
        writes: &[Vec<WriteOf>],
        source: Option<&WriteOf>,
        reader: &Reader<'_>,
        lit: Lit,
        budget: &Budget,
    ) -> Result<(), NoFormula> {
        for of_thread in writes {
            let (after, before) = self.around(of_thread, source, reader);
            // Those that must come after the read: once one of them is there for sure, program
            // order says the rest.
            for other in &of_thread[after..] {
                go_on(self.unrolled, budget)?;
                self.keep_one_apart(source, reader, other, lit);
                if self.unrolled.circuit.implies(lit_guard(source, reader), other.guard) {
                    break;
                }
            }
            let Some(write) = source else { continue };
            // Those that must come before the write, from the last one back.
            for other in of_thread[..before].iter().rev() {
                go_on(self.unrolled, budget)?;
                if other.event == write.event {
                    continue;
                }
                self.keep_one_apart(source, reader, other, lit);
                if self.unrolled.circuit.implies(reader.guard, other.guard) {
                    break;
                }
            }
            // Those of which neither is known; and what comes before the write does no harm.
            let order = &self.program_order;
            let harmless = of_thread.partition_point(|other| {
                other.event == write.event || order.is_before(other.event, write.event)
            });
            for other in of_thread.get(before.max(harmless)..after).unwrap_or_default() {
                go_on(self.unrolled, budget)?;
                self.keep_one_apart(source, reader, other, lit);
            }
        }
        Ok(())
    }

    fn keep_one_apart(
        &mut self,
        source: Option<&WriteOf>,
        reader: &Reader<'_>,
        other: &WriteOf,
        lit: Lit,
    ) {
        if reader.event == Some(other.event) {
            return;
        }
        let before = source.map_or(Lit::FALSE, |write| self.before(other.event, write.event));
        let after = reader.event.map_or(Lit::FALSE, |event| self.before(event, other.event));
        self.unrolled.circuit.imply(&[lit, other.guard], &[before, after]);
    }

    /// Returns whether one event comes before another.
    fn before(&mut self, a: EventId, b: EventId) -> Lit {
        if self.program_order.is_before(a, b) {
            return Lit::TRUE;
        }
        if a == b || self.program_order.is_before(b, a) {
            return Lit::FALSE;
        }
        // One variable for both directions. The solver tries "false" first: then the earlier
        // number comes first, which never leads to a cycle.
        let (low, high) = (a.min(b), a.max(b));
        let high_first = match self.before.get(&(low, high)) {
            Some(&lit) => lit,
            None => {
                let lit = self.unrolled.circuit.fresh();
                let (low_node, high_node) = (self.nodes[low.index()], self.nodes[high.index()]);
                self.unrolled.circuit.solver.add_edge(lit, high_node, low_node);
                self.unrolled.circuit.solver.add_edge(!lit, low_node, high_node);
                self.before.insert((low, high), lit);
                lit
            }
        };
        if a == high { high_first } else { !high_first }
    }
}

/// Returns a condition that holds whenever the reader observes the source.
fn lit_guard(source: Option<&WriteOf>, reader: &Reader<'_>) -> Lit {
    source.map_or(reader.guard, |write| write.guard)
}

/// Returns whether two words differ in a constant bit.
fn never_equal(a: &Word, b: &Word) -> bool {
    a.bits().iter().zip(b.bits()).any(|(&a, &b)| a == !b)
}
