//! The order encoding: which write a read observes, and an order without cycles.
//!
//! For each read of a cell and each write of it that could be observed, one literal. If it is
//! true, the values agree, the write comes before the read, and every other write of the cell that
//! is executed comes before that write or after the read. "Comes before" is an edge in the order
//! theory of the solver (`solver/order.rs`), so there are no clocks.
//!
//! **Equivalence:** reads-from: what is not observed is not ordered.
//! **Guarantee:** every execution within the bound has a model, and the order of every model,
//! completed in any way, is an execution. One model per class, if the class is what is asked for.
//! **Differs from the paper:** it is the modern alternative to it. What is known in this field as
//! write serialisation is only demanded where a read needs it.
//! **Cost:** per cell, for each pair of a write and a read a few clauses, and one for each write
//! of a third thread. Order atoms only for pairs that some clause names.
//! **Tests:** `tests/classes.rs`: the models of random programs are the reads-from functions of all
//! interleavings; `tests/agreement.rs`: the same verdicts as the explorers.

use rustc_hash::FxHashMap;

use super::program_order::ProgramOrder;
use crate::circuit::Word;
use crate::patience::{Patience, Stopped};
use crate::solver::{Lit, Node};
use crate::unroll::{CellId, EventId, Unrolled};

/// What the encoding says about a program.
pub struct OrderEncoding {
    /// Per read and write that it may observe: whether it does.
    pub observations: Vec<Lit>,
    /// The node of each event, and then of the end of each thread.
    pub nodes: Vec<Node>,
}

/// A write of a cell.
struct WriteOf {
    event: EventId,
    guard: Lit,
    value: Word,
}

/// Who reads: an event, or somebody at the very end.
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
/// If the caller asks to stop.
pub fn encode(
    unrolled: &mut Unrolled,
    at_end: Lit,
    patience: &mut Patience<'_>,
) -> Result<OrderEncoding, Stopped> {
    let program_order = ProgramOrder::new(unrolled);
    let nodes = program_order.add_to(unrolled);
    let mut encoder = Encoder {
        unrolled,
        program_order,
        nodes,
        before: FxHashMap::default(),
        observations: Vec::new(),
    };
    for cell in encoder.cells() {
        encoder.encode_cell(cell, at_end, patience)?;
    }
    Ok(OrderEncoding { observations: encoder.observations, nodes: encoder.nodes })
}

impl Encoder<'_> {
    fn cells(&self) -> Vec<CellId> {
        let events = self.unrolled.events.iter();
        let mut cells: Vec<CellId> = events.flat_map(|event| event.reads.keys()).copied().collect();
        cells.extend(self.unrolled.finals.keys());
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    fn encode_cell(
        &mut self,
        cell: CellId,
        at_end: Lit,
        patience: &mut Patience<'_>,
    ) -> Result<(), Stopped> {
        let mut writes = Vec::new();
        let mut reads = Vec::new();
        for (index, event) in self.unrolled.events.iter().enumerate() {
            let id = EventId::new(index);
            if let Some(write) = event.writes.get(&cell).filter(|w| w.guard != Lit::FALSE) {
                writes.push(WriteOf { event: id, guard: write.guard, value: write.value.clone() });
            }
            if let Some(read) = event.reads.get(&cell).filter(|r| r.guard != Lit::FALSE) {
                reads.push((id, read.guard, read.value.clone()));
            }
        }
        for (event, guard, value) in &reads {
            let reader = Reader { event: Some(*event), guard: *guard, value };
            self.encode_read(cell, &writes, &reader, patience)?;
        }
        if let Some(value) = self.unrolled.finals.get(&cell).cloned() {
            let reader = Reader { event: None, guard: at_end, value: &value };
            self.encode_read(cell, &writes, &reader, patience)?;
        }
        Ok(())
    }

    /// A read observes one of the writes, or the initial value.
    fn encode_read(
        &mut self,
        cell: CellId,
        writes: &[WriteOf],
        reader: &Reader<'_>,
        patience: &mut Patience<'_>,
    ) -> Result<(), Stopped> {
        let initial = self.unrolled.cells[cell.index()].initial.clone();
        let mut choices = Vec::new();
        for source in writes.iter().map(Some).chain([None]) {
            patience.check()?;
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
            self.keep_apart(writes, source, reader, lit);
            if reader.event.is_some() {
                self.observations.push(lit);
            }
        }
        self.unrolled.circuit.imply(&[reader.guard], &choices);
        Ok(())
    }

    /// Whether a write could be the last before a read.
    fn can_observe(
        &self,
        writes: &[WriteOf],
        source: Option<&WriteOf>,
        reader: &Reader<'_>,
    ) -> bool {
        let order = &self.program_order;
        if let (Some(write), Some(event)) = (source, reader.event)
            && (write.event == event || order.is_before(event, write.event))
        {
            return false;
        }
        // A write that always comes in between hides it.
        !writes.iter().any(|other| {
            let before_read = reader.event.is_none_or(|event| order.is_before(other.event, event));
            let after_write = source.is_none_or(|write| order.is_before(write.event, other.event));
            before_read && after_write && self.unrolled.circuit.implies(reader.guard, other.guard)
        })
    }

    /// No other write comes between `source` and the reader, if `lit`.
    fn keep_apart(
        &mut self,
        writes: &[WriteOf],
        source: Option<&WriteOf>,
        reader: &Reader<'_>,
        lit: Lit,
    ) {
        let threads = self.unrolled.threads.len();
        let thread_of = |unrolled: &Unrolled, event: EventId| unrolled.events[event.index()].thread;
        for thread in 0..threads {
            let of_thread: Vec<&WriteOf> = writes
                .iter()
                .filter(|write| thread_of(self.unrolled, write.event) == thread)
                .collect();
            // Those that must come after the read: once one of them is there for sure, program
            // order says the rest.
            for other in &of_thread {
                let after_source = source
                    .is_none_or(|write| self.program_order.is_before(write.event, other.event));
                if after_source && source.is_none_or(|write| write.event != other.event) {
                    self.keep_one_apart(source, reader, other, lit);
                    if self.unrolled.circuit.implies(lit_guard(source, reader), other.guard) {
                        break;
                    }
                }
            }
            // Those that must come before the write, from the last one back.
            for other in of_thread.iter().rev() {
                let before_read = reader
                    .event
                    .is_none_or(|event| self.program_order.is_before(other.event, event));
                if before_read && source.is_some_and(|write| write.event != other.event) {
                    self.keep_one_apart(source, reader, other, lit);
                    if self.unrolled.circuit.implies(reader.guard, other.guard)
                        && reader.event.is_some()
                    {
                        break;
                    }
                }
            }
            for other in &of_thread {
                let Some(write) = source else { break };
                let ordered = self.program_order.is_before(write.event, other.event)
                    || reader.event.is_none_or(|e| self.program_order.is_before(other.event, e));
                if !ordered && write.event != other.event {
                    self.keep_one_apart(source, reader, other, lit);
                }
            }
        }
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

    /// Whether one event comes before another.
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

/// A condition that holds whenever the reader observes the source.
fn lit_guard(source: Option<&WriteOf>, reader: &Reader<'_>) -> Lit {
    source.map_or(reader.guard, |write| write.guard)
}

/// Whether two words differ in a constant bit.
fn never_equal(a: &Word, b: &Word) -> bool {
    a.bits().iter().zip(b.bits()).any(|(&a, &b)| a == !b)
}
