//! Ends: of a thread, of the process, and those that are violations.

use selvedge_core::ViolationKind;

use super::{At, text};
use crate::machine::State;
use crate::op::Op;
use crate::tasks::ASSUMPTIONS;

/// The code of `abort` among what ends a thread.
const ABORT: u64 = 1;

/// The process ends: the thread never continues, and what the others still do they could have done before.
pub(super) fn exit(at: At) {
    if at.with(|machine| machine.locations.is_some()) {
        at.tell_written();
    }
    at.with(|machine| {
        machine.has_exited = true;
        let thread = &mut machine.threads[at.me];
        (thread.state, thread.frame) = (State::Exited, at.frame);
    });
    at.stand_still();
}

impl At {
    /// The end of the running thread: destructors of its keys, and its last step.
    pub(super) fn end(self, result: u64) -> u64 {
        self.leave_locals();
        let starter = self.with(|machine| machine.shared.module.starter);
        loop {
            let next = self.with(|machine| {
                let keys = &mut machine.threads[self.me].keys;
                let made = &machine.synchronisation.keys;
                let destructor = |key: u64| made.get(key as usize).copied().flatten();
                let found = keys.iter_mut().find(|(key, value)| {
                    *value != 0 && destructor(*key).is_some_and(|function| function != 0)
                });
                found.map(|(key, value)| (destructor(*key), std::mem::take(value)))
            });
            let Some((Some(function), value)) = next else { break };
            starter.call(function as usize, value);
        }
        self.with(|machine| machine.threads[self.me].returned = result);
        self.announce(Op::End, &[]);
        self.with(|machine| machine.threads[self.me].state = State::Finished);
        self.stand_still()
    }

    /// Destructors of variables of the running thread, the last one first.
    pub(super) fn leave_locals(self) -> u64 {
        let starter = self.with(|machine| machine.shared.module.starter);
        while let Some((function, object)) =
            self.with(|machine| machine.threads[self.me].locals.pop())
        {
            starter.call(function, object);
        }
        0
    }

    /// An exception is not caught, or the program ends itself as if one were not.
    pub(super) fn uncaught(self, kind: usize, what: usize, object: usize) -> u64 {
        // SAFETY: the shim passes texts.
        let (kind, what) = unsafe { (text(kind), text(what)) };
        self.with(|machine| {
            let name = machine.thread_name(self.me);
            let thrown = machine.thrown.iter().rev().find(|(it, _)| *it == object);
            let place = thrown.map_or(self.pc, |(_, pc)| *pc);
            let (violation, message) = match (kind.is_empty(), what.is_empty()) {
                (true, _) => (ViolationKind::Crash, format!("{name} calls std::terminate")),
                (false, true) => {
                    (ViolationKind::Exception, format!("nothing catches what {name} throws: {kind}"))
                }
                (false, false) => (
                    ViolationKind::Exception,
                    format!("nothing catches what {name} throws: {kind}: {what}"),
                ),
            };
            let notes = match kind.is_empty() {
                true => vec!["a std::thread is destroyed or replaced that was neither joined nor detached, or a \
                              handler has no exception to throw again"
                    .to_owned()],
                false => Vec::new(),
            };
            let fault = machine.violation(self.me, violation, message, &[place], notes);
            machine.fail(self.me, fault);
            drop((kind, what));
        });
        self.stand_still()
    }

    /// An assumption does not hold: the execution does not count.
    pub(super) fn assume(self) -> u64 {
        self.with(|machine| machine.threads[self.me].state = State::Assumed);
        self.stand_still()
    }

    pub(super) fn fail(self, why: u64, what: usize) -> u64 {
        // A call that does not return may be the last of its function: what it would return to lies behind that.
        let assumes = |name: String| ASSUMPTIONS.contains(&name.as_str());
        if why == ABORT
            && self.with(|machine| machine.shared.module.function(self.pc - 1).is_some_and(assumes))
        {
            return self.assume();
        }
        // SAFETY: the program passes a text of its own.
        let what = unsafe { text(what) };
        self.with(|machine| {
            let name = machine.thread_name(self.me);
            let (kind, message) = match why {
                0 => (ViolationKind::Assertion, format!("assertion `{what}` is false")),
                ABORT => (ViolationKind::Crash, format!("{name} aborts the process")),
                _ => (ViolationKind::Assertion, format!("{name} reached {what}()")),
            };
            let fault = machine.violation(self.me, kind, message, &[self.pc], Vec::new());
            machine.fail(self.me, fault);
            drop(what);
        });
        self.stand_still()
    }
}
