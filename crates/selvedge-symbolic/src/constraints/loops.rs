//! Loops that are not looked into: uninterpreted functions of what they read.

use std::collections::BTreeSet;

use selvedge_lang::ir::{Compute, Label, Op, Operand, ProcedureId};

use super::GiveUp;
use super::blocks::{Touched, slot_type};
use super::path::{Exit, Path, Task, Value};
use super::run::{Halt, Runner};
use super::store::Objects;
use super::term::{CallId, Opaque, Output};
use super::words::{Argument, Call};

impl Runner<'_, '_> {
    /// Passes the loop from `head` to `end` in one go.
    pub(super) fn pass_loop(
        &mut self,
        path: &mut Path,
        head: Label,
        end: Label,
    ) -> Result<(), Halt> {
        let procedure = path.frame().procedure;
        let labels = (head.0..end.0).map(Label);
        let touched = Touched::by_labels(self.program, self.words.values, procedure, labels);
        if touched.waits || !self.leaves_at_end(procedure, head, end) {
            return Err(GiveUp::TooLarge("a loop has more than one way out").into());
        }
        let arguments = self.arguments(path, procedure, (head, end), &touched)?;
        let call = self.call_id(Call { run: (procedure, head), arguments });
        path.is_local = false;
        let fails = touched.may_fail && {
            let fails = self.words.fails(call);
            self.holds(path, &fails)?
        };
        self.abstracted = true;
        path.has_effects = true;
        self.leave_loop(path, (head, end), call, &touched)?;
        // A loop that fails has a result as well, which also depends only on what it read.
        if fails { Err(Halt::Left(Exit::FailedInLoop(call))) } else { Ok(()) }
    }

    fn leaves_at_end(&self, procedure: ProcedureId, head: Label, end: Label) -> bool {
        let code = &self.program.procedures[procedure.index()].code;
        (head.0..end.0).map(Label).all(|at| {
            let op = &code[at.index()].op;
            let mut inside = !matches!(op, Op::Return { .. });
            op.for_each_successor(at, |next, _| inside &= (head..=end).contains(&next));
            inside
        })
    }

    fn arguments(
        &mut self,
        path: &mut Path,
        procedure: ProcedureId,
        (head, end): (Label, Label),
        touched: &Touched,
    ) -> Result<Vec<Argument>, Halt> {
        let mut arguments = Vec::new();
        let code = &self.program.procedures[procedure.index()].code;
        let mut used = BTreeSet::new();
        for instruction in &code[head.index()..end.index()] {
            used.extend(instruction.op.target());
            instruction.op.for_each_operand(|operand| {
                if let Operand::Slot(slot) = operand {
                    used.insert(slot);
                }
            });
        }
        // What is only used after the loop is not part of it.
        for &slot in self.shape(procedure).live[head.index()].intersection(&used) {
            match self.value(path, Operand::Slot(slot)) {
                Value::Number(number) => arguments.push(Argument::Value(number)),
                Value::Index(index) => arguments.extend(index.into_iter().map(Argument::Value)),
            }
        }
        for &global in &touched.globals {
            let untouched = Objects::untouched(global, self.kind(global)?);
            let objects = path.store.globals.get(&global).cloned().unwrap_or(untouched);
            arguments.push(Argument::Objects(objects));
        }
        Ok(arguments)
    }

    /// Returns the number of a run: the same for one that reads the same.
    fn call_id(&mut self, call: Call) -> CallId {
        let calls = &mut self.words.calls;
        let same = |known: &Call| known.run == call.run && known.arguments == call.arguments;
        let at = calls.iter().position(same).unwrap_or_else(|| {
            calls.push(call.clone());
            calls.len() - 1
        });
        CallId::new(at)
    }

    fn leave_loop(
        &mut self,
        path: &mut Path,
        (head, end): (Label, Label),
        call: CallId,
        touched: &Touched,
    ) -> Result<(), Halt> {
        let procedure = path.frame().procedure;
        let live = self.shape(procedure).live[end.index()].clone();
        let code = &self.program.procedures[procedure.index()].code;
        for instruction in &code[head.index()..end.index()] {
            let Some(slot) = instruction.op.target() else { continue };
            if live.contains(&slot) {
                if matches!(instruction.op, Op::Compute { value: Compute::Index { .. }, .. }) {
                    return Err(
                        GiveUp::TooLarge("an index from inside a loop is used later").into()
                    );
                }
                let ty = slot_type(self.program, procedure, slot);
                let output = Opaque::Output(call, Output::Slot(slot));
                let output = self.words.opaque(output, ty);
                self.set(path, slot, Value::Number(output));
            }
        }
        for &global in &touched.written {
            let changed =
                Objects { after: Some(call), ..Objects::untouched(global, self.kind(global)?) };
            path.store.globals.insert(global, changed);
        }
        if touched.spawns {
            path.tasks.push(Task::Loop(call));
        }
        path.frame().pc = end;
        Ok(())
    }
}
