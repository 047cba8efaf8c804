//! Sending and receiving.

use selvedge_core::ViolationKind;

use crate::ir::{Alternative, Guard, GuardArgument, Op, Pattern};

use super::fault::{self, Failure};
use super::invisible::{self, Pause};
use super::load::Loaded;
use super::machine::{ContentUndo, Machine, Message, Phase, Thread};

/// What a `receive` finds.
pub(super) enum Found {
    /// This message, by this alternative.
    Message { position: usize, alternative: usize },
    /// No message fits.
    Nothing,
    /// A guard faults on the oldest message that may fit.
    Fault(Failure),
}

impl Machine {
    pub(super) fn send(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let Op::Send { to, values } = loaded.op(thread.pc) else { return Ok(()) };
        let to = self.value(me, thread, *to) as usize;
        let values = self.values(me, thread, values);
        self.record.add(thread.pc, to as u32, 0, Some(0), &values);
        if self.has_stopped(to) {
            let message = format!("send to a finished thread, {}", self.thread_name(loaded, to));
            return Err(fault::violation(loaded, thread.pc, ViolationKind::Misuse, message));
        }
        let object = self.names.message(me, thread.sent);
        self.threads[me].sent += 1;
        self.mailboxes[to].push_back(Message::new(object, values.into_iter()));
        self.content_log.push(ContentUndo::MessagePosted(to));
        Ok(())
    }

    /// Returns whether nothing can be sent to a thread any more.
    pub(super) fn has_stopped(&self, thread: usize) -> bool {
        matches!(self.threads[thread].phase, Phase::Finished | Phase::Failed)
    }

    pub(super) fn receive(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let Op::Receive { alternatives, after } = loaded.op(thread.pc) else { return Ok(()) };
        match self.find_message(loaded, me, thread) {
            Found::Fault(fault) => {
                self.record.add(thread.pc, 0, 0, None, &[]);
                Err(fault)
            }
            Found::Nothing => {
                self.record.add(thread.pc, 0, 0, None, &[]);
                // Without `after` the step is not enabled, and this is not called.
                if let Some(after) = after {
                    self.threads[me].pc = after.0;
                }
                Ok(())
            }
            Found::Message { position, alternative } => {
                let Some(message) = self.mailboxes[me].remove(position) else { return Ok(()) };
                self.record.add(thread.pc, 0, 0, Some(0), message.values());
                let taken = ContentUndo::MessageTaken(me, position, Box::new(message));
                self.content_log.push(taken);
                let alternative = &alternatives[alternative];
                for (pattern, &value) in alternative.patterns.iter().zip(message.values()) {
                    if let Pattern::Bind(slot) = pattern {
                        self.set_local(me, thread.base + slot.0, value);
                    }
                }
                self.threads[me].pc = alternative.to.0;
                Ok(())
            }
        }
    }

    /// Returns the oldest message that fits any alternative of the `Receive` at which `thread` stands.
    pub(super) fn find_message(&self, loaded: &Loaded, me: usize, thread: &Thread) -> Found {
        let Op::Receive { alternatives, .. } = loaded.op(thread.pc) else { return Found::Nothing };
        for (position, message) in self.mailboxes[me].iter().enumerate() {
            for (alternative, offered) in alternatives.iter().enumerate() {
                match self.fits(loaded, me, thread, offered, message.values()) {
                    Ok(true) => return Found::Message { position, alternative },
                    Ok(false) => {}
                    Err(fault) => return Found::Fault(fault),
                }
            }
        }
        Found::Nothing
    }

    fn fits(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        alternative: &Alternative,
        values: &[i32],
    ) -> Result<bool, Failure> {
        let equal = |(pattern, &value): (&Pattern, &i32)| match pattern {
            Pattern::Equal(wanted) => self.value(me, thread, *wanted) == value,
            Pattern::Bind(_) | Pattern::Ignore => true,
        };
        let shape = alternative.patterns.len() == values.len()
            && alternative.patterns.iter().zip(values).all(equal);
        match &alternative.guard {
            Some(guard) if shape => self.guard_holds(loaded, me, thread, guard, values),
            _ => Ok(shape),
        }
    }

    /// Runs a guard on a stack of its own.
    fn guard_holds(
        &self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
        guard: &Guard,
        values: &[i32],
    ) -> Result<bool, Failure> {
        let entry = loaded.procedures[guard.procedure.index()];
        let mut stack: Vec<i32> = guard
            .arguments
            .iter()
            .map(|argument| match *argument {
                GuardArgument::Local(operand) => self.value(me, thread, operand),
                GuardArgument::Element(index) => values[index as usize],
            })
            .collect();
        stack.resize(entry.frame as usize, 0);
        let mut frame =
            Thread { pc: entry.pc, top: entry.frame, phase: Phase::Ready, ..Thread::ABSENT };
        let (mut log, mut budget) = (Vec::new(), self.budget);
        match invisible::run(loaded, me, &mut frame, &mut stack, &mut log, &mut budget) {
            Pause::Returned(result) => Ok(result == Some(1)),
            Pause::Fault(fault) => Err(fault),
            Pause::Endless => Err(fault::endless(self.budget)),
            Pause::Visible | Pause::AtomicEnd | Pause::Blocked | Pause::Assumed => Ok(false),
        }
    }
}
