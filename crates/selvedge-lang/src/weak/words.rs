//! What threads do and wait for, in words.

use selvedge_core::{Bits, Description, GraphDescribe, Location, ObjectId, ThreadId};

use super::locations::{What, number};
use super::{GraphInterpreter, Inner, Last};
use crate::interpret::fault::value_text;
use crate::ir::GlobalKind;

impl Inner {
    pub(super) fn object_name(&self, object: u32) -> String {
        let id = ObjectId::new(object as usize);
        match self.loaded.program.global_of(id) {
            Some((global, element)) => {
                self.loaded.program.globals[global.index()].element_name(element)
            }
            None => format!("object {object}"),
        }
    }

    fn name_of(&self, thread: u32) -> String {
        self.machine.thread_name(&self.loaded, thread as usize)
    }

    /// A part of the operation at which a thread stands.
    pub(super) fn part(&self, me: usize, what: &str) -> Last {
        let pc = self.machine.threads[me].pc;
        let text = match self.loaded.op(pc).operation() {
            Some(_) => {
                let written = &self.loaded.program.sites[self.loaded.site(pc).index()].text;
                format!("{written}: {what}")
            }
            None => what.to_owned(),
        };
        Last::Part { pc, text }
    }
}

impl GraphDescribe for GraphInterpreter {
    fn thread_name(&self, thread: ThreadId) -> String {
        self.0.borrow().name_of(thread.number())
    }

    fn location_name(&self, at: Location) -> String {
        let all = self.0.borrow();
        match all.locations.what(at) {
            Some(What::Object(object)) => all.object_name(object),
            Some(What::Waiters(cond)) => format!("the waiters of {}", all.object_name(cond)),
            Some(What::Token(thread)) => format!("the wake-up of {}", all.name_of(thread)),
            Some(What::Mailbox(thread)) => format!("the mailbox of {}", all.name_of(thread)),
            Some(What::Arrived { barrier, thread, .. }) => {
                format!("the arrival of {} at {}", all.name_of(thread), all.object_name(barrier))
            }
            Some(What::Count(barrier)) => format!("the count of {}", all.object_name(barrier)),
            Some(What::Opened { barrier, .. }) => {
                format!("the opening of {}", all.object_name(barrier))
            }
            Some(What::Never(thread)) => format!("what {} waits for", all.name_of(thread)),
            None => format!("{at:?}"),
        }
    }

    fn is_variable(&self, at: Location) -> bool {
        let all = self.0.borrow();
        let Some(What::Object(object)) = all.locations.what(at) else { return false };
        let global = all.loaded.program.global_of(ObjectId::new(object as usize));
        global.is_some_and(|(global, _)| {
            matches!(
                all.loaded.program.globals[global.index()].kind,
                GlobalKind::Variable { .. } | GlobalKind::List { .. } | GlobalKind::Map { .. }
            )
        })
    }

    fn value_text(&self, at: Location, value: Bits) -> Option<String> {
        let all = self.0.borrow();
        let list =
            |numbers: &[i32]| numbers.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
        let Some(What::Object(object)) = all.locations.what(at) else {
            return Some(number(value).to_string());
        };
        let Some((global, _)) = all.loaded.program.global_of(ObjectId::new(object as usize)) else {
            return Some(number(value).to_string());
        };
        Some(match &all.loaded.program.globals[global.index()].kind {
            GlobalKind::Variable { ty, .. } => value_text(&all.loaded.program, number(value), *ty),
            GlobalKind::List { .. } => format!("[{}]", list(all.contents.content(value))),
            GlobalKind::Map { .. } => {
                let pairs = all.contents.content(value).chunks_exact(2);
                let pairs: Vec<_> = pairs.map(|pair| format!("{}: {}", pair[0], pair[1])).collect();
                format!("{{{}}}", pairs.join(", "))
            }
            _ => number(value).to_string(),
        })
    }

    fn describe_last(&self) -> Description {
        let all = self.0.borrow();
        match &all.last {
            Last::Operation => all.machine.describe_last(&all.loaded),
            Last::Part { pc, text } => Description {
                text: text.clone(),
                place: Some(all.loaded.program.place(all.loaded.site(*pc))),
            },
        }
    }

    fn describe_pending(&mut self, thread: ThreadId) -> Description {
        let all = self.0.get_mut();
        all.machine.describe_pending(&all.loaded, thread.index())
    }
}
