//! Sleep sets (Godefroid): steps that need not be taken, because what they lead to was explored
//! before from an equivalent execution.
//!
//! A sleeper keeps the footprint it had when it was explored. That footprint stays valid as long as
//! nothing dependent runs, and then the sleeper wakes.

use selvedge_core::{Access, Execution, Footprint, Position, Step};

use crate::trace::sequence::Move;

/// The sleep sets of all nodes on the current path, one on top of the other.
#[derive(Clone, Debug)]
pub struct SleepSets {
    sleepers: Vec<Move>,
    /// Where the set of each node begins; it ends where the next begins.
    starts: Vec<usize>,
}

impl Default for SleepSets {
    fn default() -> Self {
        Self::new()
    }
}

impl SleepSets {
    /// Returns the empty set of the root.
    pub fn new() -> Self {
        Self { sleepers: Vec::new(), starts: vec![0] }
    }

    /// Returns the set of the last node.
    #[inline]
    pub fn last(&self) -> &[Move] {
        &self.sleepers[self.starts[self.starts.len() - 1]..]
    }

    /// Returns the set of the node at `depth`.
    pub fn at(&self, depth: usize) -> &[Move] {
        let end = self.starts.get(depth + 1).copied().unwrap_or(self.sleepers.len());
        &self.sleepers[self.starts[depth]..end]
    }

    /// Returns whether `step` sleeps at the last node.
    #[inline]
    pub fn contains(&self, step: Step) -> bool {
        self.last().iter().any(|sleeper| sleeper.contains(step))
    }

    /// Puts `step` to sleep at the last node.
    pub fn add(&mut self, step: Step, choices: u32, accesses: &[Access]) {
        let start = self.starts[self.starts.len() - 1];
        // Alternatives of one step come one after the other, and there can be very many.
        let extended = match self.sleepers[start..].last_mut() {
            Some(last) => last.extend(step, accesses),
            None => false,
        };
        if !extended {
            self.sleepers.push(Move::new(step, choices, Footprint::of_event(accesses)));
        }
    }

    /// Puts the event at `position` to sleep at the last node, if the execution has one there.
    pub fn add_event(&mut self, execution: &Execution, position: Position) {
        if position.index() < execution.len() {
            let event = execution.event(position);
            self.add(event.step(), event.choices, execution.accesses(position));
        }
    }

    /// Goes down from the last node by `step`, which had these accesses: a sleeper that commutes with it
    /// sleeps on.
    #[inline]
    pub fn descend(&mut self, step: Step, accesses: &[Access]) {
        let (start, end) = (self.starts[self.starts.len() - 1], self.sleepers.len());
        self.starts.push(end);
        for index in start..end {
            let sleeper = &self.sleepers[index];
            if sleeper.step.thread != step.thread && !sleeper.depends_on(accesses) {
                self.sleepers.push(sleeper.clone());
            }
        }
    }

    /// Goes back up to the node at `depth`.
    pub fn ascend(&mut self, depth: usize) {
        if let Some(&start) = self.starts.get(depth + 1) {
            self.sleepers.truncate(start);
            self.starts.truncate(depth + 1);
        }
    }
}

#[cfg(test)]
mod tests;
