//! What the most recent step did: numbers only, so that writing it down costs next to nothing.

use crate::ir::Type;

use super::fault::plain_text;
use super::machine::Phase;

/// What the most recent step did.
pub(crate) struct Record {
    /// Whether steps are recorded; not while one is only tried.
    pub(crate) on: bool,
    /// Where the step's thread stood before it.
    pub(crate) pc: u32,
    /// What it was doing before it.
    pub(crate) phase: Phase,
    /// The visible operations: one, or those of an atomic section.
    entries: Vec<Entry>,
    /// Arguments of the operations.
    values: Vec<i32>,
}

impl Default for Record {
    fn default() -> Self {
        Self { on: true, pc: 0, phase: Phase::Absent, entries: Vec::new(), values: Vec::new() }
    }
}

/// One visible operation.
#[derive(Clone, Copy)]
struct Entry {
    pc: u32,
    element: u32,
    old: i32,
    result: Option<i32>,
    /// Where its arguments end in the list of all.
    values_end: u32,
}

/// One visible operation, for formatting: one that was done, or a pending one.
pub(crate) struct Done<'a> {
    /// The instruction.
    pub(crate) pc: u32,
    /// What its thread was doing before it.
    pub(crate) phase: Phase,
    /// Which element of the global it names.
    pub(crate) element: usize,
    /// The old value of what it wrote.
    pub(crate) old: i32,
    /// What it found out; `None` if it faulted or is pending.
    pub(crate) result: Option<i32>,
    /// Its arguments.
    pub(crate) values: &'a [i32],
}

impl Done<'_> {
    /// Adds the result to a text, if there is one: "try_lock(m) → true".
    pub(crate) fn with_result(&self, text: String, ty: Type) -> String {
        match self.result {
            Some(result) => format!("{text} → {}", plain_text(result, ty)),
            None => text,
        }
    }
}

/// "1, 5".
pub(crate) fn typed(values: &[i32], ty: Type) -> String {
    values.iter().map(|&value| plain_text(value, ty)).collect::<Vec<_>>().join(", ")
}

impl Record {
    #[inline]
    pub(crate) fn start(&mut self, pc: u32, phase: Phase) {
        self.pc = pc;
        self.phase = phase;
        self.entries.clear();
        self.values.clear();
    }

    #[inline]
    pub(crate) fn add(
        &mut self,
        pc: u32,
        element: u32,
        old: i32,
        result: Option<i32>,
        values: &[i32],
    ) {
        if !self.on {
            return;
        }
        self.values.extend_from_slice(values);
        let values_end = self.values.len() as u32;
        self.entries.push(Entry { pc, element, old, result, values_end });
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = Done<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let values = &self.values[start..entry.values_end as usize];
            start = entry.values_end as usize;
            Done {
                pc: entry.pc,
                phase: self.phase,
                element: entry.element as usize,
                old: entry.old,
                result: entry.result,
                values,
            }
        })
    }
}
