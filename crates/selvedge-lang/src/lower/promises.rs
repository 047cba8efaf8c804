//! `eventually`, `leads_to` and marks of progress: what holds for whole executions.

use super::Lowerer;
use crate::ir::{Op, ProcedureId, Promise, Promised};
use crate::tree::resolved::{Body, Program, StmtKind};

/// Returns how many procedures the conditions of all promises are.
pub(super) fn bodies(tree: &Program) -> usize {
    tree.promises.iter().map(|promise| 1 + usize::from(promise.premise.is_some())).sum()
}

/// Lowers the promises of the program; `next` is the number of the first procedure.
pub(super) fn lower(lowerer: &mut Lowerer<'_>, mut next: usize) {
    let tree = lowerer.tree;
    // If there is a mark of progress, threads that run forever pass marks: even if none of them can come to that mark.
    if let Some(span) = tree.mark {
        let site = lowerer.sites.plain(span);
        let message = "threads run forever without passing a `progress` mark".to_owned();
        lowerer.program.promises.push(Promise { what: Promised::Progress, site, message });
    }
    for promise in &tree.promises {
        let mut number = || {
            next += 1;
            ProcedureId::new(next - 1)
        };
        let (goal, its_goal) = (number(), lowerer.condition_text(&promise.goal));
        let (what, message) = match &promise.premise {
            None => (Promised::Eventually { goal }, format!("`{}` never becomes true", its_goal.0)),
            Some(body) => {
                let (premise, its_premise) = (number(), lowerer.condition_text(body));
                let message = format!(
                    "`{}` is true, and `{}` never becomes true afterwards",
                    its_premise.0, its_goal.0
                );
                (Promised::LeadsTo { premise, goal }, message)
            }
        };
        let message = match its_goal.1 {
            Some(told) => format!("{message}: {told}"),
            None => message,
        };
        let site = lowerer.sites.plain(promise.span);
        lowerer.program.promises.push(Promise { what, site, message });
        lowerer.body(goal, "promise", 0, None, &promise.goal);
        if let (Promised::LeadsTo { premise, .. }, Some(body)) = (what, &promise.premise) {
            lowerer.body(premise, "premise", 0, None, body);
        }
    }
}

impl Lowerer<'_> {
    /// Returns the text of the condition that a body asserts, and the message of the assertion.
    fn condition_text(&self, body: &Body) -> (String, Option<String>) {
        match body.block.statements.first().map(|statement| &statement.kind) {
            Some(StmtKind::Op(Op::Assert { condition, message })) => {
                (self.sites.one_line(condition.span), message.as_deref().map(str::to_owned))
            }
            _ => Default::default(),
        }
    }
}
