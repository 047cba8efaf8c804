//! Operations: their operands are evaluated, what they go to is lowered after them.

use std::rc::Rc;

use super::Lowerer;
use super::conditions::locals_in;
use crate::ir::{Code, Guard, GuardArgument, Label, ObjectRef, Operand, ProcedureId, Slot, Type};
use crate::ops::{Op, Parts, Pattern};
use crate::span::Span;
use crate::tree::Resolved;
use crate::tree::resolved::{Block, Element, Expr, Local, LocalId};

/// Where the result of an operation goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goes {
    /// Into a temporary.
    Anywhere,
    To(Slot),
    /// It is not used.
    Nowhere,
}

/// An instruction whose operands have been evaluated.
pub(super) struct Lowered {
    pub(super) op: Op,
    /// Where its result is.
    pub(super) target: Option<Slot>,
    /// What it goes to.
    blocks: Vec<(Label, Rc<Block>)>,
}

impl Lowerer<'_> {
    /// Evaluates the operands of an operation whose result has type `ty`. Its target is chosen last, when the
    /// temporaries of its operands are in use.
    pub(super) fn operation(&mut self, op: &Op<Resolved>, ty: Type, goes: Goes) -> Lowered {
        let mut operands = Operands { lowerer: self, ty, goes, target: None, blocks: Vec::new() };
        let op = op.map(&mut operands);
        Lowered { op, target: operands.target, blocks: operands.blocks }
    }

    /// A statement that is one instruction after the evaluation of its operands, and the blocks that it goes to.
    pub(super) fn operation_statement(&mut self, op: &Op<Resolved>, span: Span) {
        let Lowered { op, blocks, .. } = self.operation(op, Type::Int, Goes::Nowhere);
        let site = if blocks.is_empty() { self.sites.plain(span) } else { self.sites.header(span) };
        self.code.emit(op, site);
        if blocks.is_empty() {
            return;
        }
        let end = self.code.new_label();
        for (label, block) in blocks {
            self.code.place(label);
            self.statements(&block.statements);
            self.jump(end, span);
        }
        self.code.place(end);
    }

    fn local_info(&self, local: LocalId) -> Local {
        let slot = &self.code.slots[self.code.local(local).index()];
        Local { name: slot.name.clone().unwrap_or_default(), ty: slot.ty }
    }
}

struct Operands<'l, 't> {
    lowerer: &'l mut Lowerer<'t>,
    ty: Type,
    goes: Goes,
    target: Option<Slot>,
    blocks: Vec<(Label, Rc<Block>)>,
}

impl Parts<Resolved, Code> for Operands<'_, '_> {
    fn value(&mut self, value: &Expr) -> Operand {
        self.lowerer.value(value)
    }

    fn object(&mut self, object: &Element) -> ObjectRef {
        self.lowerer.object(object)
    }

    fn target(&mut self, (): &()) -> Slot {
        let target = match self.goes {
            Goes::To(slot) => slot,
            Goes::Anywhere | Goes::Nowhere => self.lowerer.code.temporary(self.ty),
        };
        self.target = Some(target);
        target
    }

    fn optional_target(&mut self, target: &Option<()>) -> Option<Slot> {
        match self.goes {
            Goes::Nowhere => None,
            Goes::Anywhere | Goes::To(_) => target.as_ref().map(|target| self.target(target)),
        }
    }

    fn local(&mut self, local: &LocalId) -> Slot {
        self.lowerer.code.local(*local)
    }

    fn label(&mut self, block: &Rc<Block>) -> Label {
        let label = self.lowerer.code.new_label();
        self.blocks.push((label, Rc::clone(block)));
        label
    }

    fn routine(&mut self, routine: &ProcedureId) -> ProcedureId {
        *routine
    }

    fn guard(&mut self, guard: &Expr, patterns: &[Pattern<Resolved>]) -> Guard {
        let used = locals_in(guard);
        let argument = |local: &LocalId| {
            let binds =
                |it: &Pattern<Resolved>| matches!(it, Pattern::Bind(bound) if bound == local);
            match patterns.iter().position(binds) {
                Some(element) => GuardArgument::Element(
                    u32::try_from(element).expect("internal error: a long message"),
                ),
                None => GuardArgument::Local(Operand::Slot(self.lowerer.code.local(*local))),
            }
        };
        let arguments = used.iter().map(argument).collect();
        let locals = used.iter().map(|&local| (local, self.lowerer.local_info(local))).collect();
        let procedure = self.lowerer.expression_procedure("guard", locals, guard);
        Guard { procedure, arguments }
    }
}
