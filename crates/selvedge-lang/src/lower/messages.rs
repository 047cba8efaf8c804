//! `receive`.

use super::Lowerer;
use super::conditions::locals_in;
use crate::check::tree::{Alternative, Local, LocalId, Pattern, Stmt};
use crate::ir::{self, Guard, GuardArgument, Label, Op, Operand};
use crate::span::Span;

impl Lowerer<'_> {
    pub(super) fn receive(
        &mut self,
        alternatives: &[Alternative],
        after: Option<&[Stmt]>,
        span: Span,
    ) {
        let end = self.code.new_label();
        let labels: Vec<Label> = alternatives.iter().map(|_| self.code.new_label()).collect();
        let after_label = after.map(|_| self.code.new_label());
        let lowered: Vec<_> = alternatives
            .iter()
            .zip(&labels)
            .map(|(alternative, &to)| self.alternative(alternative, to))
            .collect();
        let site = self.sites.header(span);
        let op = Op::Receive { alternatives: lowered.into(), after: after_label };
        self.code.emit(op, site);
        for (alternative, &label) in alternatives.iter().zip(&labels) {
            self.code.place(label);
            self.statements(&alternative.body);
            self.jump(end, span);
        }
        if let (Some(statements), Some(label)) = (after, after_label) {
            self.code.place(label);
            self.statements(statements);
        }
        self.code.place(end);
    }

    /// Evaluates what the pattern compares with.
    fn alternative(&mut self, alternative: &Alternative, to: Label) -> ir::Alternative {
        let patterns = alternative.pattern.iter().map(|pattern| match pattern {
            Pattern::Value(value) => ir::Pattern::Equal(self.value(value)),
            Pattern::Bind(local) => ir::Pattern::Bind(self.code.local(*local)),
            Pattern::Any => ir::Pattern::Ignore,
        });
        let patterns = patterns.collect();
        let guard = alternative.guard.as_ref().map(|guard| {
            let used = locals_in(guard);
            let arguments = used.iter().map(|&local| self.guard_argument(local, alternative));
            let arguments = arguments.collect();
            let locals = used.iter().map(|&local| (local, self.local_info(local))).collect();
            Guard { procedure: self.expression_procedure("guard", locals, guard), arguments }
        });
        ir::Alternative { patterns, guard, to }
    }

    fn guard_argument(&self, local: LocalId, alternative: &Alternative) -> GuardArgument {
        let binds = |pattern: &Pattern| matches!(pattern, Pattern::Bind(bound) if *bound == local);
        match alternative.pattern.iter().position(binds) {
            Some(element) => GuardArgument::Element(
                u32::try_from(element).expect("internal error: a long message"),
            ),
            None => GuardArgument::Local(Operand::Slot(self.code.local(local))),
        }
    }

    fn local_info(&self, local: LocalId) -> Local {
        let slot = &self.code.slots[self.code.local(local).index()];
        Local { name: slot.name.clone().unwrap_or_default(), ty: slot.ty }
    }
}
