//! What the most recent step did: numbers only, so that writing it down costs next to nothing.

use super::machine::Phase;

/// What the most recent step did.
pub(super) struct Record {
    /// Whether steps are recorded; not while one is only tried.
    pub(super) on: bool,
    /// Where the step's thread stood before it.
    pub(super) pc: u32,
    /// What it was doing before it.
    pub(super) phase: Phase,
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
pub(super) struct Done<'a> {
    /// The instruction.
    pub(super) pc: u32,
    /// Which element of the global it names.
    pub(super) element: usize,
    /// The old value of what it wrote.
    pub(super) old: i32,
    /// What it found out; `None` if it faulted or is pending.
    pub(super) result: Option<i32>,
    /// Its arguments.
    pub(super) values: &'a [i32],
}

impl Record {
    #[inline]
    pub(super) fn start(&mut self, pc: u32, phase: Phase) {
        self.pc = pc;
        self.phase = phase;
        self.entries.clear();
        self.values.clear();
    }

    #[inline]
    pub(super) fn add(
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

    pub(super) fn operations(&self) -> impl Iterator<Item = Done<'_>> {
        let mut start = 0;
        self.entries.iter().map(move |entry| {
            let values = &self.values[start..entry.values_end as usize];
            start = entry.values_end as usize;
            Done {
                pc: entry.pc,
                element: entry.element as usize,
                old: entry.old,
                result: entry.result,
                values,
            }
        })
    }
}
