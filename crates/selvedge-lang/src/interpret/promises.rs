//! What the program promises about whole executions: [`Promises`].

use selvedge_core::{Fault, Footprint, Promises, ThreadId, Violation, ViolationKind};

use crate::ir::{ProcedureId, Promise, Promised};

use super::invisible::Pause;
use super::{Interpreter, fault};

impl Promises for Interpreter {
    fn count(&self) -> usize {
        self.loaded.program.promises.len()
    }

    fn broken(&self, promise: usize) -> Violation {
        let program = &self.loaded.program;
        let Promise { what, site, message } = &program.promises[promise];
        let kind = match what {
            Promised::Eventually { .. } => ViolationKind::Eventually,
            Promised::LeadsTo { .. } => ViolationKind::LeadsTo,
            Promised::Progress => ViolationKind::Progress,
        };
        Violation {
            kind,
            message: message.clone(),
            places: vec![program.place(*site)],
            notes: Vec::new(),
            thread: None,
        }
    }

    fn is_asked(&mut self, promise: usize) -> Result<bool, String> {
        match self.loaded.program.promises[promise].what {
            Promised::LeadsTo { premise, .. } => self.holds(premise),
            Promised::Eventually { .. } | Promised::Progress => Ok(false),
        }
    }

    fn is_kept(&mut self, promise: usize) -> Result<bool, String> {
        match self.loaded.program.promises[promise].what {
            Promised::Eventually { goal } | Promised::LeadsTo { goal, .. } => self.holds(goal),
            Promised::Progress => Ok(false),
        }
    }

    fn has_passed_mark(&self, thread: ThreadId) -> bool {
        self.machine.borrow().threads[thread.index()].marked
    }
}

impl Interpreter {
    /// Returns whether what a procedure asserts is true.
    fn holds(&mut self, condition: ProcedureId) -> Result<bool, String> {
        let machine = self.machine.get_mut();
        let fault = match machine.look(&self.loaded, condition, &[], &mut Footprint::new()) {
            Pause::Fault(fault) => *fault,
            Pause::Endless => *fault::endless(machine.budget),
            _ => return Ok(true),
        };
        match fault {
            Fault::Violation(violation) if violation.kind == ViolationKind::Assertion => Ok(false),
            Fault::Violation(violation) => Err(format!(
                "a condition of `eventually` or `leads_to` cannot be evaluated in every state: {} ({})",
                violation.message,
                violation.places.first().map(ToString::to_string).unwrap_or_default()
            )),
            Fault::GaveUp(reason) => Err(reason),
        }
    }
}
