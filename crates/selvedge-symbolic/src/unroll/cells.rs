//! What events access: one value each.

use selvedge_lang::ir::{GlobalId, GlobalKind, ObjectRef, Operand, Type};

use super::state::State;
use super::{CutReason, Unrolled};
use crate::circuit::{Range, Word};
use crate::solver::Lit;

/// A cell: its index in [`Unrolled::cells`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CellId(u32);

impl CellId {
    pub(crate) fn new(index: usize) -> Self {
        Self(u32::try_from(index).expect("internal error: more than 2^32 cells"))
    }

    /// Returns its index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One shared value.
#[derive(Clone, Debug)]
pub struct Cell {
    /// At the beginning.
    pub initial: Word,
    /// All values that it can have.
    pub range: Range,
    /// As in the source, for tables and pictures.
    pub name: String,
}

/// Which cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum CellName {
    /// A variable, the count of a semaphore; whether a mutex is held, or a reader-writer lock for
    /// writing; how many have arrived at a barrier.
    Value(GlobalId, u32),
    /// How many threads hold a reader-writer lock for reading.
    Readers(GlobalId, u32),
    /// How often a barrier has opened.
    Generation(GlobalId, u32),
    /// Whether a thread waits on a condition variable.
    Waiting(GlobalId, u32, usize),
}

impl Unrolled {
    pub(super) fn cell(&mut self, name: CellName) -> CellId {
        if let Some(&id) = self.cell_ids.get(&name) {
            return id;
        }
        let id = CellId::new(self.cells.len());
        let (global, element, suffix) = match name {
            CellName::Value(global, element) => (global, element, ""),
            CellName::Readers(global, element) => (global, element, " (readers)"),
            CellName::Generation(global, element) => (global, element, " (generation)"),
            CellName::Waiting(global, element, _) => (global, element, " (waiting)"),
        };
        let global = &self.program.globals[global.index()];
        let initial = match (name, &global.kind) {
            // As wide as the number of a barrier's parties. No execution counts further: it has fewer events.
            (CellName::Readers(..) | CellName::Generation(..), _)
            | (_, GlobalKind::Barrier { .. }) => Word::integer(0),
            (CellName::Value(..), GlobalKind::Variable { ty, initial, .. }) => {
                Word::constant(initial[element as usize], width(*ty))
            }
            (CellName::Value(..), GlobalKind::Semaphore { initial }) => {
                Word::integer(initial[element as usize])
            }
            _ => Word::boolean(Lit::FALSE),
        };
        let name_text = format!("{}{suffix}", global.element_name(element as usize));
        let range = Range::of_width(initial.width());
        self.cells.push(Cell { initial, range, name: name_text });
        self.cell_ids.insert(name, id);
        id
    }

    /// Returns the elements that an object reference may mean, each with its condition. `Err`: too many.
    pub(super) fn elements(
        &mut self,
        state: &State,
        object: ObjectRef,
    ) -> Result<Vec<(Lit, u32)>, CutReason> {
        let index = match object.index {
            Operand::Constant(value) => return Ok(vec![(Lit::TRUE, value as u32)]),
            Operand::Slot(slot) => state.slot(slot),
        };
        if let Some(value) = index.as_constant() {
            return Ok(vec![(Lit::TRUE, value as u32)]);
        }
        let global = &self.program.globals[object.global.index()];
        let count = global.elements();
        let most = self.caps.elements;
        if count > most {
            let name = &global.name;
            return Err(CutReason::Unsupported(format!(
                "an index of `{name}` that is not constant: it has {count} elements, and \
                 {most} are the most"
            )));
        }
        let mut elements = Vec::new();
        for element in 0..count as u32 {
            let condition = self.circuit.is(&index, element as i32);
            if condition != Lit::FALSE {
                elements.push((condition, element));
            }
        }
        Ok(elements)
    }
}

/// Returns how many bits a value of a type has. Handles are numbers of threads.
pub(super) fn width(ty: Type) -> usize {
    match ty {
        Type::Bool => 1,
        Type::Int | Type::Thread | Type::Enum(_) | Type::Future(_) => 32,
    }
}
