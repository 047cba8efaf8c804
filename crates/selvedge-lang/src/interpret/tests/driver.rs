//! Drives an interpreter by names, and says in words what it sees.

use std::sync::Arc;

use selvedge_core::{
    Describe, Effect, Ending, Fault, Flexibility, Status, Step, System, ThreadId, Violation,
};

use crate::interpret::Interpreter;
use crate::ir::Program;

pub(super) struct Driver {
    pub(super) system: Interpreter,
    pub(super) effect: Effect,
}

impl Driver {
    pub(super) fn new(program: &Arc<Program>) -> Self {
        Self { system: Interpreter::new(Arc::clone(program)), effect: Effect::default() }
    }

    pub(super) fn thread(&self, name: &str) -> ThreadId {
        (0..self.system.thread_count())
            .map(ThreadId::new)
            .find(|&thread| self.system.thread_name(thread) == name)
            .unwrap_or_else(|| panic!("no thread {name}"))
    }

    pub(super) fn status(&self, name: &str) -> Status {
        self.system.status(self.thread(name))
    }

    /// Takes a step; gives its description and footprint: "read x → 0 [Read x]".
    pub(super) fn step(&mut self, name: &str) -> String {
        self.step_choice(name, 0)
    }

    pub(super) fn step_choice(&mut self, name: &str, choice: u32) -> String {
        let thread = self.thread(name);
        assert_eq!(self.system.status(thread), Status::Enabled, "{name}");
        self.system.step(Step { thread, choice }, &mut self.effect);
        format!("{} {}", self.system.describe_last().text, self.footprint())
    }

    /// The footprint of the last effect: "[Read x]".
    pub(super) fn footprint(&self) -> String {
        let accesses = self.effect.footprint.accesses().iter();
        let texts: Vec<_> = accesses
            .map(|access| format!("{:?} {}", access.mode, self.system.object_name(access.object)))
            .collect();
        format!("[{}]", texts.join(", "))
    }

    /// Of the pending step: "Fixed [Read x]".
    pub(super) fn pending(&mut self, name: &str) -> String {
        let thread = self.thread(name);
        let mut effect = std::mem::take(&mut self.effect);
        self.system.pending(Step::of(thread), &mut effect);
        self.effect = effect;
        format!("{:?} {}", self.effect.flexibility, self.footprint())
    }

    pub(super) fn flexibility(&self) -> Flexibility {
        self.effect.flexibility
    }

    /// The message of the last step's fault.
    pub(super) fn fault(&self) -> String {
        match &self.effect.fault {
            None => "none".to_owned(),
            Some(Fault::Violation(violation)) => {
                format!("{}: {}", violation.kind, violation.message)
            }
            Some(Fault::GaveUp(reason)) => format!("gave up: {reason}"),
        }
    }

    pub(super) fn end(&mut self) -> (Ending, Option<Violation>) {
        self.system.end()
    }

    /// Everything that can be seen of the state, in words: names do not depend on what ran before.
    pub(super) fn observe(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        for thread in (0..self.system.thread_count()).map(ThreadId::new) {
            let status = self.system.status(thread);
            if status == Status::Absent {
                continue;
            }
            let name = self.system.thread_name(thread);
            let pending = self.system.describe_pending(thread);
            lines.push(format!("{name}: {status:?}, {pending:?}"));
            let choices = match status {
                Status::Enabled => self.system.choices(thread),
                Status::Blocked => 1,
                _ => 0,
            };
            for choice in 0..choices {
                let mut effect = std::mem::take(&mut self.effect);
                self.system.pending(Step { thread, choice }, &mut effect);
                self.effect = effect;
                lines.push(format!("{name}: {choice} of {choices}: {}", self.show_effect()));
            }
            assert_eq!(self.system.status(thread), status, "asking changed the state");
        }
        lines.sort();
        lines
    }

    pub(super) fn show_effect(&self) -> String {
        let Effect { flexibility, choices, order, .. } = &self.effect;
        format!("{flexibility:?} {choices} {order:?} {}", self.footprint())
    }

    pub(super) fn enabled(&self) -> Vec<ThreadId> {
        (0..self.system.thread_count())
            .map(ThreadId::new)
            .filter(|&thread| self.system.status(thread) == Status::Enabled)
            .collect()
    }
}
