//! Builds programs instruction by instruction, for tests: independent of the language.

use std::sync::Arc;

use super::{
    Atomic, AtomicId, AtomicKind, BinaryOp, Change, Choice, Compute, Container, GlobalId,
    GlobalKind, Instruction, Label, Message, ObjectRef, Op, Operand, Procedure, ProcedureId,
    Program, Query, Shown, Site, SiteId, Slot, SlotInfo, StaticThread, Thread, Type, Variable,
    verify,
};
use crate::ops::Relabel;

#[derive(Default)]
pub(crate) struct Builder {
    program: Program,
}

impl Builder {
    pub(crate) fn new() -> Self {
        let mut program = Program { source_name: "test.sel".to_owned(), ..Program::default() };
        program.add_site(Site { line: 1, column: 1, length: 1, ..Site::default() });
        Self { program }
    }

    fn global(&mut self, name: &str, dims: &[u32], kind: GlobalKind) -> GlobalId {
        self.program.add_global(name.to_owned(), dims.to_vec(), kind)
    }

    pub(crate) fn int(&mut self, name: &str, initial: i32) -> ObjectRef {
        let kind = GlobalKind::Variable { ty: Type::Int, atomic: false, initial: vec![initial] };
        self.global(name, &[], kind).into()
    }

    pub(crate) fn flag(&mut self, name: &str, initial: bool) -> ObjectRef {
        let initial = vec![i32::from(initial)];
        let kind = GlobalKind::Variable { ty: Type::Bool, atomic: true, initial };
        self.global(name, &[], kind).into()
    }

    pub(crate) fn array(&mut self, name: &str, dims: &[u32]) -> GlobalId {
        let elements = dims.iter().product::<u32>() as usize;
        let kind =
            GlobalKind::Variable { ty: Type::Int, atomic: false, initial: vec![0; elements] };
        self.global(name, dims, kind)
    }

    pub(crate) fn object(&mut self, name: &str, kind: GlobalKind) -> ObjectRef {
        self.global(name, &[], kind).into()
    }

    pub(crate) fn mutex(&mut self, name: &str) -> ObjectRef {
        self.object(name, GlobalKind::Mutex)
    }

    pub(crate) fn mutexes(&mut self, name: &str, count: u32) -> GlobalId {
        self.global(name, &[count], GlobalKind::Mutex)
    }

    pub(crate) fn list(&mut self, name: &str, initial: &[i32]) -> ObjectRef {
        self.object(name, GlobalKind::List { initial: vec![initial.to_vec()] })
    }

    pub(crate) fn map(&mut self, name: &str, initial: &[(i32, i32)]) -> ObjectRef {
        self.object(name, GlobalKind::Map { initial: vec![initial.to_vec()] })
    }

    pub(crate) fn barrier(&mut self, name: &str, parties: u32) -> ObjectRef {
        self.object(name, GlobalKind::Barrier { parties: vec![parties] })
    }

    pub(crate) fn semaphore(&mut self, name: &str, count: i32) -> ObjectRef {
        self.object(name, GlobalKind::Semaphore { initial: vec![count] })
    }

    /// Reserves a procedure, so that it can call itself or be named before it is written.
    pub(crate) fn declare(
        &mut self,
        name: &str,
        parameters: &[Type],
        result: Option<Type>,
    ) -> ProcedureId {
        let slots = parameters.iter().map(|&ty| SlotInfo { name: None, ty }).collect();
        self.program.procedures.push(Procedure {
            name: name.to_owned(),
            parameters: parameters.len() as u32,
            slots,
            result,
            atomic: None,
            of_indexed_actor: false,
            watches: false,
            code: Vec::new(),
        });
        ProcedureId::new(self.program.procedures.len() - 1)
    }

    pub(crate) fn define(&mut self, id: ProcedureId, write: impl FnOnce(&mut Body<'_>)) {
        let mut body = Body { program: &mut self.program, id, labels: Vec::new(), site: SiteId(0) };
        write(&mut body);
        body.finish();
    }

    pub(crate) fn procedure(
        &mut self,
        name: &str,
        parameters: &[Type],
        result: Option<Type>,
        write: impl FnOnce(&mut Body<'_>),
    ) -> ProcedureId {
        let id = self.declare(name, parameters, result);
        self.define(id, write);
        id
    }

    pub(crate) fn thread(&mut self, name: &str, write: impl FnOnce(&mut Body<'_>)) {
        let procedure = self.procedure(name, &[], None, write);
        self.start(name, None, procedure, &[]);
    }

    pub(crate) fn daemon(&mut self, name: &str, write: impl FnOnce(&mut Body<'_>)) {
        self.thread(name, write);
        self.program.threads.last_mut().unwrap().daemon = true;
    }

    pub(crate) fn start(
        &mut self,
        name: &str,
        index: Option<i32>,
        procedure: ProcedureId,
        arguments: &[i32],
    ) {
        self.program.threads.push(StaticThread {
            name: name.to_owned(),
            index,
            procedure,
            arguments: arguments.to_vec(),
            daemon: false,
        });
    }

    pub(crate) fn finally(&mut self, write: impl FnOnce(&mut Body<'_>)) {
        self.program.finally = Some(self.procedure("finally", &[], None, write));
    }

    pub(crate) fn unverified(self) -> Program {
        self.program
    }

    pub(crate) fn finish(self) -> Arc<Program> {
        if let Err(errors) = verify(&self.program) {
            panic!("{}\n{}", errors.join("\n"), self.program);
        }
        Arc::new(self.program)
    }
}

pub(crate) struct Body<'a> {
    program: &'a mut Program,
    id: ProcedureId,
    /// Where labels stand, once known.
    labels: Vec<Option<Label>>,
    site: SiteId,
}

/// Numbers of labels that are not places yet start here.
const FIRST_LABEL: u32 = 1 << 30;

pub(crate) fn constant(value: i32) -> Operand {
    Operand::Constant(value)
}

impl From<Slot> for Operand {
    fn from(slot: Slot) -> Self {
        Operand::Slot(slot)
    }
}

impl From<i32> for Operand {
    fn from(value: i32) -> Self {
        Operand::Constant(value)
    }
}

impl Body<'_> {
    fn own(&mut self) -> &mut Procedure {
        &mut self.program.procedures[self.id.index()]
    }

    /// The next instructions come from this text; it shows these values.
    pub(crate) fn at(&mut self, line: u32, text: &str, shown: &[(&str, Slot)]) {
        let shown = shown.iter().map(|&(name, slot)| Shown {
            name: name.to_owned(),
            value: slot.into(),
            ty: self.program.procedures[self.id.index()].slots[slot.index()].ty,
        });
        let site =
            Site { line, column: 1, length: 1, text: text.to_owned(), shown: shown.collect() };
        self.site = self.program.add_site(site);
    }

    pub(crate) fn slot(&mut self, ty: Type) -> Slot {
        let slots = &mut self.own().slots;
        slots.push(SlotInfo { name: None, ty });
        Slot::new(slots.len() - 1)
    }

    pub(crate) fn emit(&mut self, op: impl Into<Op>) {
        let site = self.site;
        self.own().code.push(Instruction { op: op.into(), site });
    }

    pub(crate) fn compute(&mut self, target: Slot, value: Compute) {
        self.emit(Op::Compute { target, value });
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(FIRST_LABEL + self.labels.len() as u32 - 1)
    }

    pub(crate) fn place(&mut self, label: Label) {
        let here = Label::new(self.own().code.len());
        self.labels[(label.0 - FIRST_LABEL) as usize] = Some(here);
    }

    pub(crate) fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    pub(crate) fn read(&mut self, variable: ObjectRef) -> Slot {
        let ty = self.program.globals[variable.global.index()].value_type();
        let target = self.slot(ty);
        self.emit(Variable::Read { target, variable, order: None });
        target
    }

    pub(crate) fn write(&mut self, variable: ObjectRef, value: impl Into<Operand>) {
        self.emit(Variable::Write { variable, value: value.into(), order: None });
    }

    pub(crate) fn binary(
        &mut self,
        op: BinaryOp,
        left: impl Into<Operand>,
        right: impl Into<Operand>,
    ) -> Slot {
        let target = self.slot(op.result());
        self.compute(target, Compute::Binary(op, left.into(), right.into()));
        target
    }

    pub(crate) fn index(&mut self, global: GlobalId, first: impl Into<Operand>) -> ObjectRef {
        let target = self.slot(Type::Int);
        self.compute(target, Compute::Index { global, first: first.into(), second: None });
        ObjectRef { global, index: target.into() }
    }

    pub(crate) fn assert(&mut self, condition: impl Into<Operand>) {
        self.emit(Op::Assert { condition: condition.into(), message: None });
    }

    pub(crate) fn branch(&mut self, condition: impl Into<Operand>, then: Label, otherwise: Label) {
        self.emit(Op::Branch { condition: condition.into(), then, otherwise });
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.emit(Op::Jump { to });
    }

    pub(crate) fn section(
        &mut self,
        name: Option<&str>,
        kind: AtomicKind,
        write: impl FnOnce(&mut Self),
    ) {
        let name = name.map(str::to_owned);
        self.program.atomics.push(Atomic {
            name,
            number: None,
            kind,
            procedure: self.id,
            continues: None,
        });
        let atomic = AtomicId::new(self.program.atomics.len() - 1);
        if kind == AtomicKind::Procedure {
            self.own().atomic = Some(atomic);
        }
        self.emit(Op::AtomicBegin { atomic });
        write(self);
        self.emit(Op::AtomicEnd { atomic });
    }

    pub(crate) fn atomic(&mut self, write: impl FnOnce(&mut Self)) {
        self.section(None, AtomicKind::Block, write);
    }

    /// `await variable == value`.
    pub(crate) fn await_equal(&mut self, variable: ObjectRef, value: i32) {
        self.section(None, AtomicKind::Await, |body| {
            let found = body.read(variable);
            let condition = body.binary(BinaryOp::Equal, found, value);
            body.emit(Op::Await { condition: condition.into() });
        });
    }

    pub(crate) fn query(&mut self, container: ObjectRef, query: Query) -> Slot {
        let truth = matches!(query, Query::Contains(_) | Query::Has(_));
        let target = self.slot(if truth { Type::Bool } else { Type::Int });
        self.emit(Container::Ask { target, container, query });
        target
    }

    pub(crate) fn change(&mut self, container: ObjectRef, change: Change) {
        self.emit(Container::Change { container, change });
    }

    pub(crate) fn spawn(&mut self, procedure: ProcedureId, arguments: &[Operand]) -> Slot {
        let target = self.slot(Type::Thread);
        let arguments = arguments.into();
        self.emit(Thread::Spawn { procedure, arguments, target: Some(target) });
        target
    }

    pub(crate) fn call(&mut self, procedure: ProcedureId, arguments: &[Operand]) -> Option<Slot> {
        let result = self.program.procedures[procedure.index()].result;
        let target = result.map(|ty| self.slot(ty));
        self.emit(Op::Call { procedure, arguments: arguments.into(), target });
        target
    }

    pub(crate) fn send(&mut self, to: impl Into<Operand>, values: &[Operand]) {
        self.emit(Message::Send { to: to.into(), values: values.into() });
    }

    pub(crate) fn choose(&mut self, low: i32, high: i32) -> Slot {
        let target = self.slot(Type::Int);
        self.emit(Choice::Choose { target, low: low.into(), high: high.into() });
        target
    }

    /// A loop that runs `times` times.
    pub(crate) fn repeat(&mut self, times: i32, write: impl FnOnce(&mut Self, Slot)) {
        let i = self.slot(Type::Int);
        self.compute(i, Compute::Copy(constant(0)));
        let (start, body, end) = (self.here(), self.label(), self.label());
        let more = self.binary(BinaryOp::Less, i, times);
        self.branch(more, body, end);
        self.place(body);
        write(self, i);
        self.compute(i, Compute::Binary(BinaryOp::Add, i.into(), constant(1)));
        self.jump(start);
        self.place(end);
    }

    fn finish(self) {
        let mut resolve = Relabel(|label: Label| match label.0.checked_sub(FIRST_LABEL) {
            Some(number) => self.labels[number as usize].expect("a label is placed"),
            None => label,
        });
        let procedure = &mut self.program.procedures[self.id.index()];
        let ends = matches!(procedure.code.last().map(|last| &last.op), Some(Op::Return { .. }));
        if procedure.result.is_none() && !(ends && self.labels.is_empty()) {
            let site = self.site;
            procedure.code.push(Instruction { op: Op::Return { value: None }, site });
        }
        for instruction in &mut procedure.code {
            instruction.op = instruction.op.map(&mut resolve);
        }
    }
}
