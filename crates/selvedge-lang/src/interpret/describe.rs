//! Steps in words.

use selvedge_core::{Description, ObjectId, Status};

use crate::ir::{AtomicKind, Ghost, Op};
use crate::ops::Operation;

use super::fault;
use super::load::Loaded;
use super::machine::{Machine, Phase};
use super::names::Named;
use super::record::Done;

impl Machine {
    pub(crate) fn describe_last(&self, loaded: &Loaded) -> Description {
        let record = &self.record;
        let mut operations = record.operations();
        let text = match (record.phase, loaded.op(record.pc)) {
            (Phase::FaultsAtOnce, _) => "starts".to_owned(),
            (Phase::Ready, Op::AtomicBegin { .. }) => {
                let inside: Vec<_> = operations
                    .map(|done| match loaded.op(done.pc).operation() {
                        Some(op) => op.text_inside(self, loaded, &done),
                        None => String::new(),
                    })
                    .collect();
                let head = section_text(loaded, record.pc);
                if inside.is_empty() { head } else { format!("{head}: {}", inside.join(", ")) }
            }
            (_, op) => match (operations.next(), op.operation()) {
                (Some(done), Some(op)) => {
                    let mut text = op.text(self, loaded, &done);
                    // What follows are ghosts.
                    for done in operations {
                        if let Op::Ghost(ghost) = loaded.op(done.pc)
                            && !matches!(ghost, Ghost::Read { .. })
                        {
                            text.push_str(&format!("; {}", ghost.text(self, loaded, &done)));
                        }
                    }
                    text
                }
                _ => "nothing".to_owned(),
            },
        };
        Description { text, place: Some(loaded.program.place(loaded.site(record.pc))) }
    }

    pub(crate) fn describe_pending(&mut self, loaded: &Loaded, me: usize) -> Description {
        let blocked_at = self.blocking_await(loaded, me);
        let thread = &self.threads[me];
        let text = match (thread.phase, loaded.op(thread.pc)) {
            (Phase::Absent, _) => "does not exist".to_owned(),
            (Phase::Finished, _) => "has finished".to_owned(),
            (Phase::Assumed, _) => {
                format!("is blocked by `assume {}`", fault::text(loaded, thread.pc))
            }
            (Phase::Failed, _) => "has failed".to_owned(),
            (Phase::FaultsAtOnce, _) => "starts".to_owned(),
            (Phase::Parked, _) => self.waits_for(loaded, me, None),
            (Phase::Ready, Op::AtomicBegin { .. }) => match blocked_at {
                Some(_) => {
                    let waits = self.waits_for(loaded, me, blocked_at);
                    format!("{}: {waits}", section_text(loaded, thread.pc))
                }
                None => section_text(loaded, thread.pc),
            },
            (_, op) => self.operation_text(loaded, me, op),
        };
        let site = loaded.site(blocked_at.unwrap_or(thread.pc));
        Description { text, place: Some(loaded.program.place(site)) }
    }

    /// Returns the pending operation of a thread, and what it waits for if it is blocked.
    fn operation_text(&self, loaded: &Loaded, me: usize, op: &Op) -> String {
        let at = self.at(loaded, me);
        let Some(operation) = op.operation() else {
            return fault::text(loaded, at.thread.pc).to_owned();
        };
        let mut first = None;
        op.for_each_object(|object| {
            first.get_or_insert(object);
        });
        let done = Done {
            pc: at.thread.pc,
            phase: at.thread.phase,
            element: first.map_or(0, |object| self.element(at, object)) as usize,
            old: 0,
            result: None,
            values: &operation.arguments(self, at),
        };
        let text = operation.text(self, loaded, &done);
        match self.quick_status(loaded, me) {
            Some(Status::Blocked) => format!("{text}: {}", operation.waits_for(self, at)),
            _ => text,
        }
    }

    pub(super) fn object_name(&self, loaded: &Loaded, object: ObjectId) -> String {
        if let Some((global, element)) = loaded.program.global_of(object) {
            return loaded.program.globals[global.index()].element_name(element);
        }
        let thread = |thread: selvedge_core::ThreadId| self.thread_name(loaded, thread.index());
        match self.names.object(object) {
            Some(Named::Mailbox(id)) => format!("mailbox of {}", thread(id)),
            Some(Named::Life(id)) => format!("life of {}", thread(id)),
            Some(Named::Wake(id)) => format!("wake-up of {}", thread(id)),
            Some(Named::Message(id, nth)) => format!("message {} of {}", nth + 1, thread(id)),
            None => format!("object {}", object.number()),
        }
    }
}

fn section_text(loaded: &Loaded, pc: u32) -> String {
    let Op::AtomicBegin { atomic } = loaded.op(pc) else { return String::new() };
    let atomic = &loaded.program.atomics[atomic.index()];
    match (atomic.kind, &atomic.name) {
        (AtomicKind::Await | AtomicKind::Scan | AtomicKind::Each, _) => {
            fault::text(loaded, pc).to_owned()
        }
        (AtomicKind::Task, Some(name)) => format!("task {name}"),
        (AtomicKind::Task, None) => fault::text(loaded, pc).to_owned(),
        (_, Some(name)) => format!("atomic {name}"),
        (AtomicKind::Procedure, None) => {
            format!("atomic {}", loaded.program.procedures[atomic.procedure.index()].name)
        }
        (_, None) => "atomic".to_owned(),
    }
}
