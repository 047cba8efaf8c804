//! What is known about blocks without running them: where they start, what they touch, which
//! of their local variables are used later, where their loops are.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_lang::ir::{
    AtomicId, BinaryOp, Compute, Container, GlobalId, Instruction, Label, Op, Operand, ProcedureId,
    Program, Query, SiteId, Slot, Thread, Type,
};

use crate::values::Values;

/// A block: an atomic procedure or an atomic block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) atomic: AtomicId,
    pub(super) procedure: ProcedureId,
    /// The instruction that enters it.
    pub(super) begin: Label,
}

impl Block {
    /// `None` if the section is never entered.
    pub(super) fn new(program: &Program, atomic: AtomicId) -> Option<Self> {
        let procedure = program.atomics[atomic.index()].procedure;
        let mut code = program.procedures[procedure.index()].code.iter();
        let enters =
            |op: &Op| matches!(op, Op::AtomicBegin { atomic: entered } if *entered == atomic);
        let begin = code.position(|instruction| enters(&instruction.op))?;
        Some(Self { atomic, procedure, begin: Label::new(begin) })
    }
}

/// What code touches, calls included.
#[derive(Clone, Default, Debug)]
pub(super) struct Touched {
    pub(super) globals: BTreeSet<GlobalId>,
    pub(super) written: BTreeSet<GlobalId>,
    /// Lists and maps whose length is asked for.
    pub(super) measured: BTreeSet<GlobalId>,
    pub(super) spawns: bool,
    pub(super) may_fail: bool,
    /// The first thing that has no encoding, and where.
    pub(super) strange: Option<(SiteId, &'static str)>,
    /// The first `await`.
    pub(super) waits: bool,
}

impl Touched {
    pub(super) fn by_block(program: &Program, values: &Values, block: &Block) -> Self {
        let procedure = &program.procedures[block.procedure.index()];
        let rest = procedure.rest_of_section(program, block.begin, block.begin);
        // In the order of the code, so that the first thing without an encoding is reported.
        let labels: BTreeSet<Label> = rest.into_iter().collect();
        Self::by_labels(program, values, block.procedure, labels.into_iter())
    }

    pub(super) fn by_labels(
        program: &Program,
        values: &Values,
        procedure: ProcedureId,
        labels: impl Iterator<Item = Label>,
    ) -> Self {
        let mut touched = Self::default();
        let code = &program.procedures[procedure.index()].code;
        let mut called = Vec::new();
        for label in labels {
            touched.add(code, label, values.is_safe(procedure, label));
            called.extend(code[label.index()].op.called());
        }
        for procedure in program.called_from(called) {
            let code = &program.procedures[procedure.index()].code;
            let labels = (0..code.len()).map(Label::new);
            labels.for_each(|at| touched.add(code, at, values.is_safe(procedure, at)));
        }
        touched
    }

    /// Adds what an instruction does, one that never fails if it is `safe`.
    fn add(&mut self, code: &[Instruction], at: Label, safe: bool) {
        let Instruction { op, site } = &code[at.index()];
        let site = *site;
        op.for_each_object(|object| {
            self.globals.insert(object.global);
            if !op.only_reads() {
                self.written.insert(object.global);
            }
        });
        if let Op::Container(Container::Ask { container, query: Query::Length, .. }) = op {
            self.measured.insert(container.global);
        }
        self.spawns |= matches!(op, Op::Thread(Thread::Spawn { .. }));
        self.waits |= matches!(op, Op::Await { .. });
        self.may_fail |= may_fail(op) && !safe && !counts_rounds(code, at);
        if let Some(what) = strange(op) {
            self.strange.get_or_insert((site, what));
        }
    }

    /// Returns whether neither touches what the other writes.
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        self.written.is_disjoint(&other.globals) && other.written.is_disjoint(&self.globals)
    }
}

/// Returns whether it fails by itself, in a way that the solver is asked about: not by running out of something.
fn may_fail(op: &Op) -> bool {
    op.may_fault() && !matches!(op, Op::AtomicBegin { .. } | Op::Thread(_) | Op::Message(_))
}

/// Returns whether it raises the index of a `for` loop, which is below a limit then.
fn counts_rounds(code: &[Instruction], at: Label) -> bool {
    let computed = |at: Label| match code.get(at.index()).map(|instruction| &instruction.op) {
        Some(Op::Compute { target, value: Compute::Binary(op, Operand::Slot(left), right) }) => {
            Some((*target, *op, *left, *right))
        }
        _ => None,
    };
    let Some((target, BinaryOp::Add, index, Operand::Constant(1))) = computed(at) else {
        return false;
    };
    let Some(Op::Jump { to }) = code.get(at.index() + 1).map(|next| &next.op) else { return false };
    let Some((_, BinaryOp::Less, compared, _)) = computed(*to) else { return false };
    target == index && compared == index
}

/// Returns what has no encoding.
fn strange(op: &Op) -> Option<&'static str> {
    match op {
        Op::Message(_) => Some("sends a message"),
        Op::Thread(Thread::Await { .. }) => Some("awaits a future"),
        Op::Compute { value: Compute::Binary(op, ..), .. } if op.is_of_bits() => {
            Some("computes with bits")
        }
        op if !op.allowed_in_atomic() => Some("has an operation that no block may have"),
        _ => None,
    }
}

/// What is known about the code of one procedure.
pub(super) struct Shape {
    /// Slots whose values are still used, by instruction.
    pub(super) live: Vec<BTreeSet<Slot>>,
    /// Loops: where they start, and one past where they end.
    pub(super) loops: BTreeMap<Label, Label>,
}

impl Shape {
    pub(super) fn new(program: &Program, procedure: ProcedureId) -> Self {
        let procedure = &program.procedures[procedure.index()];
        let live = procedure.live_slots(program).into_iter().map(BTreeSet::from_iter).collect();
        let loops = procedure.loops().into_iter();
        Self { live, loops: loops.map(|(head, last)| (head, Label(last.0 + 1))).collect() }
    }
}

/// Returns the type of a slot.
pub(super) fn slot_type(program: &Program, procedure: ProcedureId, slot: Slot) -> Type {
    program.procedures[procedure.index()].slots[slot.index()].ty
}
