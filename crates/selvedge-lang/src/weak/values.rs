//! Values of locations: put into the machine for a step, and read off afterwards.

use std::collections::VecDeque;

use selvedge_core::{Bits, Location, ObjectId};

use super::Inner;
use super::locations::{What, bits, number};
use crate::interpret::machine::{ContentUndo, Message as Letter};
use crate::ir::GlobalKind;

impl Inner {
    /// Puts a value into the machine, for the current step.
    pub(super) fn put(&mut self, what: What, value: Bits) {
        match what {
            What::Object(object) => {
                let id = ObjectId::new(object as usize);
                let Some((global, element)) = self.loaded.program.global_of(id) else { return };
                let content = self.loaded.globals[global.index()].content as usize + element;
                match self.loaded.program.globals[global.index()].kind {
                    GlobalKind::List { .. } => {
                        let new = self.contents.content(value).iter().copied().collect();
                        let old = std::mem::replace(&mut self.machine.lists[content], new);
                        self.machine.content_log.push(ContentUndo::ListCleared(content, old));
                    }
                    GlobalKind::Map { .. } => {
                        let pairs = self.contents.content(value).chunks_exact(2);
                        let new = pairs.map(|pair| (pair[0], pair[1])).collect();
                        let old = std::mem::replace(&mut self.machine.maps[content], new);
                        self.machine.content_log.push(ContentUndo::MapCleared(content, old));
                    }
                    _ => self.machine.set_cell(object, number(value)),
                }
            }
            What::Mailbox(thread) => {
                let thread = thread as usize;
                let mut letters = VecDeque::new();
                let mut rest = self.contents.content(value).get(1..).unwrap_or(&[]);
                while let [length, more @ ..] = rest {
                    let (letter, after) = more.split_at(*length as usize);
                    let object = self.machine.names.mailbox(thread);
                    letters.push_back(Letter::new(object, letter.iter().copied()));
                    rest = after;
                }
                let old = std::mem::replace(&mut self.machine.mailboxes[thread], letters);
                self.machine.content_log.push(ContentUndo::MailboxReplaced(thread, old));
            }
            _ => {}
        }
    }

    /// What the current step has made of a value.
    pub(super) fn get(&mut self, what: What) -> Bits {
        match what {
            What::Object(object) => {
                let id = ObjectId::new(object as usize);
                let Some((global, element)) = self.loaded.program.global_of(id) else { return 0 };
                let content = self.loaded.globals[global.index()].content as usize + element;
                match self.loaded.program.globals[global.index()].kind {
                    GlobalKind::List { .. } => {
                        let list: Vec<i32> = self.machine.lists[content].iter().copied().collect();
                        self.contents.number(&list)
                    }
                    GlobalKind::Map { .. } => {
                        let map = &self.machine.maps[content];
                        let map: Vec<i32> = map.iter().flat_map(|(&k, &v)| [k, v]).collect();
                        self.contents.number(&map)
                    }
                    _ => bits(self.machine.cells[object as usize]),
                }
            }
            What::Mailbox(thread) => {
                let mut content = vec![0];
                for letter in &self.machine.mailboxes[thread as usize] {
                    content.push(letter.values().len() as i32);
                    content.extend_from_slice(letter.values());
                }
                self.contents.number(&content)
            }
            _ => 0,
        }
    }

    /// The value of a location at the beginning.
    pub(super) fn initial_value(&mut self, at: Location) -> Bits {
        match self.locations.what(at) {
            Some(what @ (What::Object(_) | What::Mailbox(_))) => self.get(what),
            Some(What::Waiters(_)) => self.waiters(false, &[]),
            _ => 0,
        }
    }

    pub(super) fn waiters(&mut self, busy: bool, threads: &[u32]) -> Bits {
        let mut content = vec![i32::from(busy)];
        content.extend(threads.iter().map(|&thread| thread as i32));
        self.contents.number(&content)
    }
}
