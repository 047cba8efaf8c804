//! One try to find a witness: the events one by one, in time linear in their number.
//!
//! A read waits until what it is to observe was written last; a write waits as long as a read of what was written last is missing.
//! Among the events that need not wait, the one that comes first in the current execution is next. What comes to its end is a
//! witness by construction; if all wait, it says nothing.

use selvedge_core::{EventId, ThreadId};

use super::graph::Cut;
use super::realize::{Local, Realizer};

/// What the events do, and how far the order is.
struct Try {
    /// Of each event: the variable that it writes.
    writes: Vec<Option<usize>>,
    /// Of each event: the write that it is to observe, and the variable.
    reads: Vec<Option<(Local, usize)>>,
    /// Of each event: how many are to observe it and have not.
    missing: Vec<u32>,
    /// Of each variable: the last write.
    last: Vec<Option<Local>>,
}

impl Try {
    fn can_be_next(&self, event: Local) -> bool {
        let source = self.reads[event].map(|(source, _)| source);
        let finds =
            self.reads[event].is_none_or(|(source, variable)| self.last[variable] == Some(source));
        let overwrites = self.writes[event].and_then(|variable| self.last[variable]);
        let is_free =
            overwrites.is_none_or(|last| self.missing[last] == u32::from(source == Some(last)));
        finds && is_free
    }

    fn add(&mut self, event: Local) {
        if let Some((source, _)) = self.reads[event] {
            self.missing[source] -= 1;
        }
        if let Some(variable) = self.writes[event] {
            self.last[variable] = Some(event);
        }
    }
}

impl Realizer {
    /// Returns a witness, if the first try finds one.
    pub(super) fn one_try(&self) -> Option<Vec<EventId>> {
        let mut events = Try {
            writes: vec![None; self.count()],
            reads: vec![None; self.count()],
            missing: vec![0; self.count()],
            last: vec![None; self.readings.all_writes().count()],
        };
        for reading in self.readings.all() {
            let variable = reading.writes.index();
            events.reads[reading.read] = Some((reading.source, variable));
            events.missing[reading.source] += 1;
        }
        for (variable, writes) in self.readings.all_writes().enumerate() {
            for &write in writes {
                events.writes[write] = Some(variable);
            }
        }
        let mut done: Cut = vec![0; self.threads()];
        let mut order = Vec::with_capacity(self.count());
        while order.len() < self.count() {
            let (thread, head) = self.next_in_order(&done, |head| events.can_be_next(head))?;
            order.push(EventId { thread: ThreadId::new(thread), nth: self.nth(head) });
            events.add(head);
            done[thread] += 1;
        }
        Some(order)
    }
}
