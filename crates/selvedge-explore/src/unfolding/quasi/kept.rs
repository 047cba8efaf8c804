//! A list without repetitions, in the order in which its events came.

use crate::unfolding::events::EventRef;
use crate::unfolding::events::Table;

/// Shorter lists are looked through; longer ones have a table, which gives the same answers.
const SHORT: usize = 12;

/// Events that are kept with one of the path.
#[derive(Debug, Default)]
pub(super) struct Kept {
    list: Vec<EventRef>,
    /// Indices of the list by event; empty while the list is short.
    table: Table,
}

impl Kept {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = EventRef> + '_ {
        self.list.iter().copied()
    }

    /// Adds an event, unless it is there.
    pub(super) fn insert(&mut self, event: EventRef) {
        if self.list.len() < SHORT {
            if !self.list.contains(&event) {
                self.list.push(event);
            }
            return;
        }
        if self.list.len() == SHORT && self.table.is_empty() {
            self.fill_table();
        }
        let hash = event.hash();
        if self.table.find(hash, |index| self.list[index] == event).is_none() {
            self.table.insert(hash, self.list.len());
            self.list.push(event);
        }
    }

    /// Takes all out.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = EventRef> + '_ {
        self.table.clear_and_shrink();
        self.list.drain(..)
    }

    pub(super) fn clear(&mut self) {
        self.table.clear_and_shrink();
        self.list.clear();
    }

    /// Renames the events.
    pub(super) fn rename(&mut self, rename: impl Fn(&mut EventRef)) {
        self.list.iter_mut().for_each(rename);
        if !self.table.is_empty() {
            self.fill_table();
        }
    }

    fn fill_table(&mut self) {
        self.table.clear();
        for (index, event) in self.list.iter().enumerate() {
            self.table.insert(event.hash(), index);
        }
    }
}
