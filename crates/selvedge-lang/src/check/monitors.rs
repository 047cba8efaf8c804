//! `monitor t(1, v);`: a message when a thread has ended.

use super::Meaning;
use super::body::BodyChecker;
use super::effects::Effect;
use crate::ir::{ProcedureId, Type};
use crate::ops::{Compute, Op, Thread};
use crate::span::Span;
use crate::tree::resolved::{Expr, ExprKind};
use crate::tree::written::Monitor;

impl BodyChecker<'_, '_> {
    /// Starts what waits for the end of the thread and then sends the message.
    pub(super) fn monitor(&mut self, monitor: &Monitor, span: Span) -> Option<Expr> {
        self.effect(Effect::Send, "`monitor`", span);
        let thread = match self.is_unknown_target(&monitor.thread) {
            true => None,
            false => self.typed(&monitor.thread, Type::Thread, "what `monitor` watches"),
        };
        let values: Vec<_> = monitor.values.iter().map(|it| self.message_value(it)).collect();
        let watcher = self.checker.names.get(&monitor.watcher).map(|entry| entry.meaning);
        let Some(Meaning::Routine(watcher)) = watcher else { return None };
        let own = Expr::of(Op::Compute { target: (), value: Compute::Own }, Type::Thread, span);
        let mut arguments = vec![thread?, own];
        for value in values {
            arguments.push(number(value?));
        }
        let (procedure, arguments) = (ProcedureId::new(watcher), arguments.into());
        let op = Thread::Spawn { procedure, arguments, target: Some(()) };
        Some(Expr::of(op, Type::Thread, span))
    }
}

/// Returns a value as it is sent.
fn number(value: Expr) -> Expr {
    let span = value.span;
    match value.ty() {
        Type::Bool => {
            let [then, otherwise] = [1, 0].map(|it| Box::new(Expr::constant(it, Type::Int, span)));
            let kind = ExprKind::If { condition: Box::new(value), then, otherwise };
            Expr { kind, known: Type::Int, span }
        }
        _ => Expr { known: Type::Int, ..value },
    }
}
