//! What reads are to observe, and what follows from the order so far: saturation.
//!
//! A read `q` observes the write `s`; every other write `v` to the variable is before `s` or after `q`. Of the writes of one
//! thread, a beginning is before `s` and an end is after `q`: so it is enough to look at the first write after `s` and at the
//! last one before `q`, which are found by the clocks.

use rustc_hash::FxHashMap;
use selvedge_core::ObjectId;

use super::realize::{Conflict, Local, Realizer};

/// A read, and the write that it is to observe.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) read: Local,
    pub(super) source: Local,
    /// The writes to the variable: see [`Readings::writes`].
    pub(super) writes: Slot,
}

/// A variable that is read.
#[derive(Clone, Copy)]
pub(super) struct Slot(usize);

/// What is to be observed, and all writes.
#[derive(Default)]
pub(super) struct Readings {
    all: Vec<Reading>,
    slots: FxHashMap<ObjectId, usize>,
    /// Of each variable: its writes, thread by thread, each in its order.
    writes: Vec<Vec<Local>>,
    /// Of each variable and thread: where its writes begin, and one more at the end.
    begins: Vec<Vec<usize>>,
}

impl Readings {
    pub(super) fn clear(&mut self) {
        self.all.clear();
        self.slots.clear();
        self.writes.clear();
        self.begins.clear();
    }

    pub(super) fn slot(&self, object: ObjectId) -> Option<Slot> {
        self.slots.get(&object).copied().map(Slot)
    }

    /// Adds a variable with its writes, by thread and in its order. `offsets`: the number of the first event of each thread.
    pub(super) fn add_variable(
        &mut self,
        object: ObjectId,
        writes: Vec<Local>,
        offsets: &[Local],
    ) -> Slot {
        self.slots.insert(object, self.writes.len());
        let begin = |&offset: &Local| writes.partition_point(|&write| write < offset);
        self.begins.push(offsets.iter().map(begin).collect());
        self.writes.push(writes);
        Slot(self.writes.len() - 1)
    }

    pub(super) fn add(&mut self, reading: Reading) {
        self.all.push(reading);
    }

    pub(super) fn all(&self) -> &[Reading] {
        &self.all
    }

    /// Returns the writes of a thread to the variable.
    pub(super) fn writes(&self, slot: Slot, thread: usize) -> &[Local] {
        let begins = &self.begins[slot.0];
        &self.writes[slot.0][begins[thread]..begins[thread + 1]]
    }

    /// Returns the writes to each variable.
    pub(super) fn all_writes(&self) -> impl Iterator<Item = &[Local]> {
        self.writes.iter().map(Vec::as_slice)
    }
}

impl Slot {
    pub(super) fn index(self) -> usize {
        self.0
    }
}

impl Realizer {
    /// Orders what observations demand, given the order so far. Returns whether that was anything.
    pub(super) fn saturate_readings(&mut self) -> Result<bool, Conflict> {
        let mut changed = false;
        for index in 0..self.readings.all.len() {
            self.go_on()?;
            let Reading { read, source, writes } = self.readings.all[index];
            for thread in 0..self.threads() {
                let from = self.first_after(source, thread);
                let of_thread = self.readings.writes(writes, thread);
                let first = of_thread.get(of_thread.partition_point(|&write| write < from));
                if let Some(&first) = first
                    && first != read
                    && !self.is_before(read, first)
                {
                    self.order(read, first)?;
                    changed = true;
                }
                let to = self.offsets[thread] + self.row(read)[thread] as usize;
                let of_thread = self.readings.writes(writes, thread);
                let before = of_thread.partition_point(|&write| write < to);
                if let Some(&last) = of_thread[..before].last()
                    && last != source
                    && !self.is_before(last, source)
                {
                    self.order(last, source)?;
                    changed = true;
                }
            }
        }
        Ok(changed)
    }

    /// Returns the writes of a thread that are neither before the source nor after the read.
    fn window(&self, reading: Reading, thread: usize) -> &[Local] {
        let Reading { read, source, writes } = reading;
        let of_thread = self.readings.writes(writes, thread);
        let itself = usize::from(thread == self.thread_of[source]);
        let from = self.offsets[thread] + self.row(source)[thread] as usize + itself;
        let to = match thread == self.thread_of[read] {
            true => read,
            false => self.first_after(read, thread),
        };
        let first = of_thread.partition_point(|&write| write < from);
        let end = of_thread.partition_point(|&write| write < to);
        &of_thread[first.min(end)..end]
    }

    /// Returns whether a write could still be on either side of a read and its source.
    pub(super) fn leaves_open(&self) -> bool {
        let is_open = |&reading: &Reading| {
            (0..self.threads()).any(|thread| !self.window(reading, thread).is_empty())
        };
        self.readings.all.iter().any(is_open)
    }

    /// Makes a pair of each write that could still be on either side.
    pub(super) fn open_readings(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        for &reading in &self.readings.all {
            for thread in 0..self.threads() {
                let pair = |&write: &Local| [(write, reading.source), (reading.read, write)];
                open.extend(self.window(reading, thread).iter().map(pair));
            }
        }
        self.open = open;
    }
}
