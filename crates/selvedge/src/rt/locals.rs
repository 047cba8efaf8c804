//! The thread-local values of a thread.

use std::any::Any;

/// The values that a thread made, each by its key.
#[derive(Default)]
pub(crate) struct Locals {
    /// Each until it is dropped.
    values: Vec<(usize, Option<Box<dyn Any>>)>,
    /// Whether one of them has a destructor.
    pub(crate) have_destructors: bool,
}

impl Locals {
    /// The value of a key: `None` before it is made, `Some(None)` after it was dropped.
    pub(crate) fn get(&self, key: usize) -> Option<Option<&dyn Any>> {
        let (_, value) = self.values.iter().find(|(known, _)| *known == key)?;
        Some(value.as_deref())
    }

    pub(crate) fn insert(&mut self, key: usize, value: Box<dyn Any>, has_destructor: bool) {
        self.have_destructors |= has_destructor;
        self.values.push((key, Some(value)));
    }

    /// Takes out the value that was made last, to drop it.
    pub(super) fn take_last(&mut self) -> Option<Box<dyn Any>> {
        self.values.iter_mut().rev().find_map(|(_, value)| value.take())
    }

    /// Leaves all values as they are, permanently.
    pub(super) fn forget(&mut self) {
        self.values.drain(..).for_each(|(_, value)| std::mem::forget(value));
    }
}
