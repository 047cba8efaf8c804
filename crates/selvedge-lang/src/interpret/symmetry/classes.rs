//! What values flow between: slots where they are live, results of procedures, variables, elements of lists, and indices of
//! arrays.
//!
//! A slot is used for one thing after the other, so it is looked at separately before each instruction where it is live.

use std::collections::BTreeSet;

use crate::ir::{BinaryOp, Compute, GlobalId, ObjectRef, Op, Operand, ProcedureId, Slot, Variable};
use crate::ops::{Change, Container, Ghost, Part, Query};

use super::super::conditions::Live;
use super::super::load::Loaded;

/// Something that holds values.
#[derive(Clone, Copy)]
pub(super) enum Node {
    /// Before an instruction, one of the slots that are live there.
    Slot(u32, usize),
    /// What an instruction puts into its target.
    Target(u32),
    /// What a procedure returns.
    Result(ProcedureId),
    /// The elements of a variable or list.
    Value(GlobalId),
    Index(GlobalId),
}

/// Sets of nodes between which values are copied or compared.
pub(super) struct Classes<'a> {
    loaded: &'a Loaded,
    live: &'a Live,
    parents: Vec<usize>,
    /// Of each root: whether something is computed from it or with it.
    is_number: Vec<bool>,
    /// Of each root: the constants that come there.
    constants: Vec<BTreeSet<i32>>,
    /// Per instruction, its first slot; at last, where targets begin.
    slots: Vec<usize>,
    results: usize,
    globals: usize,
}

impl<'a> Classes<'a> {
    /// Returns the classes of a program; `None` if it has instructions that may tell threads apart by more than their numbers.
    pub(super) fn of(loaded: &'a Loaded, live: &'a Live) -> Option<Self> {
        let mut slots = vec![0];
        for pc in 0..loaded.code.len() {
            slots.push(slots[pc] + live.at(pc as u32).len());
        }
        let results = slots[loaded.code.len()] + loaded.code.len();
        let globals = results + loaded.procedures.len();
        let count = globals + 2 * loaded.program.globals.len();
        let mut classes = Self {
            loaded,
            live,
            parents: (0..count).collect(),
            is_number: vec![false; count],
            constants: vec![BTreeSet::new(); count],
            slots,
            results,
            globals,
        };
        for pc in 0..loaded.code.len() as u32 {
            classes.instruction(pc)?;
            classes.flow(pc);
        }
        Some(classes)
    }

    /// Returns the class of a node.
    pub(super) fn of_node(&self, node: Node) -> usize {
        let mut at = match node {
            Node::Slot(pc, place) => self.slots[pc as usize] + place,
            Node::Target(pc) => self.slots[self.loaded.code.len()] + pc as usize,
            Node::Result(procedure) => self.results + procedure.index(),
            Node::Value(global) => self.globals + 2 * global.index(),
            Node::Index(global) => self.globals + 2 * global.index() + 1,
        };
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    /// Returns the class of a parameter of a procedure, if the parameter is used.
    pub(super) fn parameter(
        &self,
        loaded: &Loaded,
        procedure: ProcedureId,
        place: u32,
    ) -> Option<usize> {
        let entry = loaded.procedures[procedure.index()].pc;
        self.slot(entry, Slot(place)).map(|node| self.of_node(node))
    }

    /// Returns whether something is computed from values of a class or with them.
    pub(super) fn is_number(&self, class: usize) -> bool {
        self.is_number[class]
    }

    /// Returns the constants that come into a class.
    pub(super) fn constants(&self, class: usize) -> impl Iterator<Item = i32> + '_ {
        self.constants[class].iter().copied()
    }

    /// Returns the arrays that are indexed by values of a class.
    pub(super) fn arrays(&self, class: usize) -> impl Iterator<Item = GlobalId> + '_ {
        let globals = (0..self.loaded.program.globals.len()).map(GlobalId::new);
        globals.filter(move |&it| self.of_node(Node::Index(it)) == class)
    }

    fn slot(&self, pc: u32, slot: Slot) -> Option<Node> {
        let place = self.live.at(pc).iter().position(|&it| it == slot)?;
        Some(Node::Slot(pc, place))
    }

    /// Values go from one to the other, or are compared.
    fn same(&mut self, a: Node, b: Node) {
        let (a, b) = (self.of_node(a), self.of_node(b));
        if a != b {
            self.parents[b] = a;
            self.is_number[a] |= self.is_number[b];
            let constants = std::mem::take(&mut self.constants[b]);
            self.constants[a].extend(constants);
        }
    }

    /// The same for a value that an instruction uses. Returns `None` if it is not live, which cannot be.
    fn same_operand(&mut self, pc: u32, operand: Operand, node: Node) -> Option<()> {
        match operand {
            Operand::Slot(slot) => self.same(self.slot(pc, slot)?, node),
            Operand::Constant(value) => {
                let class = self.of_node(node);
                self.constants[class].insert(value);
            }
        }
        Some(())
    }

    /// Something is computed with it.
    fn number(&mut self, node: Node) {
        let class = self.of_node(node);
        self.is_number[class] = true;
    }

    fn number_operand(&mut self, pc: u32, operand: Operand) -> Option<()> {
        if let Operand::Slot(slot) = operand {
            self.number(self.slot(pc, slot)?);
        }
        Some(())
    }

    fn object(&mut self, pc: u32, object: ObjectRef) -> Option<()> {
        match self.loaded.program.globals[object.global.index()].dims[..] {
            [] => {}
            [_] => self.same_operand(pc, object.index, Node::Index(object.global))?,
            _ => self.number(Node::Index(object.global)),
        }
        Some(())
    }

    /// All values of an instruction are computed with, or come from something that is not followed.
    fn numbers(&mut self, pc: u32, op: &Op) -> Option<()> {
        let mut is_followed = Some(());
        op.for_each_part(|part| {
            let done = match part {
                Part::Value(value) => self.number_operand(pc, value),
                Part::Object(object) => self.object(pc, object),
                Part::Target(_) => {
                    self.number(Node::Target(pc));
                    Some(())
                }
                Part::Label(_) => Some(()),
                Part::Local(_) | Part::Routine(_) | Part::Guard(_) => None,
            };
            is_followed = is_followed.and(done);
        });
        is_followed
    }

    /// What is live behind an instruction was there before it, or is what it puts into its target.
    fn flow(&mut self, pc: u32) {
        let (loaded, live) = (self.loaded, self.live);
        let op = loaded.op(pc);
        let mut next = Vec::new();
        op.for_each_part(|part| {
            if let Part::Label(label) = part {
                next.push(label.0);
            }
        });
        if !matches!(op, Op::Jump { .. } | Op::Branch { .. } | Op::Return { .. }) {
            next.push(pc + 1);
        }
        for next in next {
            for (place, &slot) in live.at(next).iter().enumerate() {
                let before = match op.target() == Some(slot) {
                    true => Some(Node::Target(pc)),
                    false => self.slot(pc, slot),
                };
                if let Some(before) = before {
                    self.same(before, Node::Slot(next, place));
                }
            }
        }
    }

    /// Returns `None` for an instruction that may tell threads apart by more than their numbers.
    fn instruction(&mut self, pc: u32) -> Option<()> {
        let loaded = self.loaded;
        let op = loaded.op(pc);
        let target = Node::Target(pc);
        match op {
            Op::Jump { .. }
            | Op::Branch { .. }
            | Op::Assert { .. }
            | Op::Assume { .. }
            | Op::Await { .. }
            | Op::Progress
            | Op::AtomicBegin { .. }
            | Op::AtomicEnd { .. } => {}
            Op::Compute { value, .. } => match value {
                Compute::Copy(value) => self.same_operand(pc, *value, target)?,
                Compute::Binary(BinaryOp::Equal | BinaryOp::NotEqual, left, right) => {
                    match (*left, *right) {
                        (Operand::Slot(slot), other) | (other, Operand::Slot(slot)) => {
                            self.same_operand(pc, other, self.slot(pc, slot)?)?;
                        }
                        (Operand::Constant(_), Operand::Constant(_)) => {}
                    }
                }
                Compute::Index { global, first, second: None } => {
                    self.same_operand(pc, *first, Node::Index(*global))?;
                    self.same(target, Node::Index(*global));
                }
                Compute::Unary(..)
                | Compute::Binary(..)
                | Compute::Index { .. }
                | Compute::Within { .. } => self.numbers(pc, op)?,
                Compute::Element { index, elements } => {
                    self.number_operand(pc, *index)?;
                    elements.iter().try_for_each(|it| self.same_operand(pc, *it, target))?;
                }
                Compute::Updated { index, new, old, .. } => {
                    self.number_operand(pc, *index)?;
                    self.same_operand(pc, *new, target)?;
                    self.same_operand(pc, *old, target)?;
                }
                _ => return None,
            },
            Op::Call { procedure, arguments, target: wanted } => {
                let entry = loaded.procedures[procedure.index()].pc;
                for (place, argument) in arguments.iter().enumerate() {
                    if let Some(parameter) = self.slot(entry, Slot(place as u32)) {
                        self.same_operand(pc, *argument, parameter)?;
                    }
                }
                if wanted.is_some() {
                    self.same(target, Node::Result(*procedure));
                }
            }
            Op::Return { value } => {
                if let Some(value) = value {
                    self.same_operand(pc, *value, Node::Result(loaded.procedure_at(pc)))?;
                }
            }
            Op::Variable(op) => self.variable(pc, op)?,
            Op::Ghost(op) => self.ghost(pc, op)?,
            Op::Lock(_) | Op::Semaphore(_) | Op::Cond(_) | Op::Choice(_) => self.numbers(pc, op)?,
            Op::Barrier(_) => {
                self.numbers(pc, op)?;
                op.for_each_object(|object| self.number(Node::Index(object.global)));
            }
            Op::Container(container) => self.container(pc, op, container)?,
            // Handles of threads, and messages to them.
            _ => return None,
        }
        Some(())
    }

    fn variable(&mut self, pc: u32, op: &Variable) -> Option<()> {
        let variable = op.variable();
        let value = Node::Value(variable.global);
        self.object(pc, variable)?;
        match op {
            Variable::Read { .. } => self.same(Node::Target(pc), value),
            Variable::Write { value: new, .. } => self.same_operand(pc, *new, value)?,
            Variable::CompareExchange { expected, new, .. } => {
                self.same_operand(pc, *expected, value)?;
                self.same_operand(pc, *new, value)?;
            }
            Variable::Exchange { new, .. } => {
                self.same_operand(pc, *new, value)?;
                self.same(Node::Target(pc), value);
            }
            Variable::FetchAdd { delta, .. } => {
                self.number(value);
                self.number_operand(pc, *delta)?;
                self.number(Node::Target(pc));
            }
        }
        Some(())
    }

    fn ghost(&mut self, pc: u32, op: &Ghost) -> Option<()> {
        let ghost = op.ghost();
        let value = Node::Value(ghost.global);
        self.object(pc, ghost)?;
        match op {
            Ghost::Read { .. } => self.same(Node::Target(pc), value),
            Ghost::Write { value: new, .. } => self.same_operand(pc, *new, value)?,
            Ghost::Count { .. } => self.number(value),
        }
        Some(())
    }

    fn container(&mut self, pc: u32, op: &Op, container: &Container) -> Option<()> {
        let target = Node::Target(pc);
        match container {
            Container::Ask { container, query, .. } => {
                let value = Node::Value(container.global);
                self.object(pc, *container)?;
                match query {
                    Query::Element(index) => {
                        self.number_operand(pc, *index)?;
                        self.same(target, value);
                    }
                    Query::Length => self.number(target),
                    Query::Contains(element) => self.same_operand(pc, *element, value)?,
                    _ => {
                        self.numbers(pc, op)?;
                        self.number(value);
                    }
                }
            }
            Container::Change { container, change } => {
                let value = Node::Value(container.global);
                self.object(pc, *container)?;
                match change {
                    Change::Push(element) => self.same_operand(pc, *element, value)?,
                    Change::Set(index, element) => {
                        self.number_operand(pc, *index)?;
                        self.same_operand(pc, *element, value)?;
                    }
                    Change::Pop(_) | Change::PopFront(_) => self.same(target, value),
                    Change::Clear => {}
                    _ => {
                        self.numbers(pc, op)?;
                        self.number(value);
                    }
                }
            }
        }
        Some(())
    }
}
