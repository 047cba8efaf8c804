//! The values of shared objects, as reports show them.

use selvedge_core::ObjectId;

use crate::ir::GlobalKind;

use super::fault::value_text;
use super::load::Loaded;
use super::machine::{FREE, Machine};

/// So many elements of a list or a map are shown.
const MOST_ELEMENTS: usize = 16;

impl Machine {
    /// Returns the value of an object: of a variable, the count of a semaphore, the contents of a container, the holders of
    /// a lock.
    pub(super) fn object_value(&self, loaded: &Loaded, object: ObjectId) -> Option<String> {
        let (global, element) = loaded.program.global_of(object)?;
        let cell = self.cells[object.index()];
        let content = loaded.globals[global.index()].content as usize + element;
        match &loaded.program.globals[global.index()].kind {
            GlobalKind::Variable { ty, .. } | GlobalKind::Ghost { ty, .. } => {
                Some(value_text(&loaded.program, cell, *ty))
            }
            GlobalKind::Semaphore { .. } => Some(cell.to_string()),
            GlobalKind::Mutex => Some(self.held_text(loaded, cell, &[])),
            GlobalKind::RwLock => Some(self.held_text(loaded, cell, &self.readers[content])),
            GlobalKind::List { .. } | GlobalKind::Channel { .. } => {
                let elements = self.lists[content].iter().map(i32::to_string);
                Some(format!("[{}]", listed(elements)))
            }
            GlobalKind::Map { .. } => {
                let pairs = self.maps[content].iter().map(|(key, value)| format!("{key}: {value}"));
                Some(format!("{{{}}}", listed(pairs)))
            }
            GlobalKind::Cond | GlobalKind::Barrier { .. } | GlobalKind::Invariant => None,
        }
    }

    fn held_text(&self, loaded: &Loaded, owner: i32, readers: &[usize]) -> String {
        if owner != FREE {
            return format!("held by {}", self.thread_name(loaded, owner as usize - 1));
        }
        let mut readers = readers.to_vec();
        self.names.sort(&mut readers);
        match readers.is_empty() {
            true => "free".to_owned(),
            false => {
                let names = readers.iter().map(|&reader| self.thread_name(loaded, reader));
                format!("read by {}", listed(names))
            }
        }
    }
}

/// "1, 2, 3", or the first ones and how many there are.
fn listed(elements: impl ExactSizeIterator<Item = String>) -> String {
    let count = elements.len();
    let mut shown: Vec<String> = elements.take(MOST_ELEMENTS).collect();
    if count > MOST_ELEMENTS {
        shown.push(format!("… ({count} in all)"));
    }
    shown.join(", ")
}
