//! The code of one procedure while it grows: labels, slots, open scopes.

use rustc_hash::FxHashMap;

use crate::ir::{
    AtomicId, GlobalId, Instruction, Label, ObjectRef, Op, Operand, Procedure, Shown, SiteId, Slot,
    SlotInfo, Type,
};
use crate::ops::{LockMode, Part, Relabel};
use crate::tree::resolved::{Local, LocalId};

/// What must be undone when control leaves.
#[derive(Clone, Debug)]
pub(super) enum Scope {
    Loop { break_to: Label, continue_to: Label },
    Lock { mode: LockMode, object: ObjectRef, name: String },
    Atomic { atomic: AtomicId },
}

/// Labels are numbers of their own until [`Code::finish`] turns them into instruction numbers.
#[derive(Debug, Default)]
pub(super) struct Code {
    instructions: Vec<Instruction>,
    labels: Vec<LabelInfo>,
    /// Whether control can get to the next instruction. What cannot be reached is not emitted.
    pub(super) reachable: bool,
    pub(super) slots: Vec<SlotInfo>,
    /// Where the local variables are, unless local *n* is slot *n*.
    local_slots: Option<FxHashMap<usize, Slot>>,
    /// Temporaries that can be used again.
    free: FxHashMap<Pool, Vec<Slot>>,
    /// Temporaries in use.
    held: Vec<(Pool, Slot)>,
    pub(super) scopes: Vec<Scope>,
    /// While an assertion is lowered: the named values that were surely read so far.
    pub(super) shown: Option<Vec<Shown>>,
    /// The whole procedure runs as one look: reading something twice gives the same value.
    pub(super) one_look: bool,
    /// What comes next is an `await` that belongs to the first part of a task.
    pub(super) waits_first: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct LabelInfo {
    at: Option<usize>,
    used: bool,
}

/// Temporaries are interchangeable within a pool. Those for indices belong to one global.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Pool {
    Int,
    Bool,
    Thread,
    Index(GlobalId),
}

/// How many temporaries are in use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);

impl Code {
    /// Code whose first slots are the local variables.
    pub(super) fn new(locals: &[Local]) -> Self {
        let slots = locals
            .iter()
            .map(|local| SlotInfo { name: Some(local.name.clone()), ty: local.ty })
            .collect();
        Self { slots, reachable: true, ..Self::default() }
    }

    /// Code whose first slots are a few of another body's local variables.
    pub(super) fn with_some(locals: &[(LocalId, Local)]) -> Self {
        let own: Vec<_> = locals.iter().map(|(_, local)| local.clone()).collect();
        let slots = locals.iter().enumerate().map(|(i, (id, _))| (id.0, Slot::new(i)));
        Self { local_slots: Some(slots.collect()), ..Self::new(&own) }
    }

    pub(super) fn local(&self, local: LocalId) -> Slot {
        let moved = self.local_slots.as_ref().and_then(|slots| slots.get(&local.0));
        moved.copied().unwrap_or(Slot::new(local.0))
    }

    pub(super) fn emit(&mut self, op: Op, site: SiteId) {
        if !self.reachable {
            return;
        }
        op.for_each_part(|part| {
            if let Part::Label(label) = part {
                self.labels[label.index()].used = true;
            }
        });
        self.reachable = op.falls_through();
        self.instructions.push(Instruction { op, site });
    }

    pub(super) fn new_label(&mut self) -> Label {
        self.labels.push(LabelInfo::default());
        Label::new(self.labels.len() - 1)
    }

    /// The label is here. For a loop: also reached from below.
    pub(super) fn place(&mut self, label: Label) {
        let info = &mut self.labels[label.index()];
        info.at = Some(self.instructions.len());
        self.reachable |= info.used;
    }

    /// Returns whether the code runs in one step with what stands before it.
    pub(super) fn in_one_step(&self) -> bool {
        self.one_look || self.scopes.iter().any(|scope| matches!(scope, Scope::Atomic { .. }))
    }

    pub(super) fn temporary(&mut self, ty: Type) -> Slot {
        let ty = ty.representation();
        let pool = match ty {
            Type::Int | Type::Enum(_) => Pool::Int,
            Type::Bool => Pool::Bool,
            Type::Thread | Type::Future(_) => Pool::Thread,
        };
        self.take(pool, ty)
    }

    /// Returns a temporary that only `Index` of this global writes.
    pub(super) fn index_temporary(&mut self, global: GlobalId) -> Slot {
        self.take(Pool::Index(global), Type::Int)
    }

    fn take(&mut self, pool: Pool, ty: Type) -> Slot {
        let slot = self.free.get_mut(&pool).and_then(Vec::pop).unwrap_or_else(|| {
            self.slots.push(SlotInfo { name: None, ty });
            Slot::new(self.slots.len() - 1)
        });
        self.held.push((pool, slot));
        slot
    }

    /// Returns what can be shown where two ways meet: what was read on both, and all local variables,
    /// which have their values anyway.
    pub(super) fn common(&self, mut some: Vec<Shown>, others: Vec<Shown>) -> Vec<Shown> {
        let is_local = |shown: &Shown| match shown.value {
            Operand::Slot(slot) => self.slots[slot.index()].name.is_some(),
            Operand::Constant(_) => true,
        };
        some.retain(|shown| others.contains(shown) || is_local(shown));
        let more: Vec<_> =
            others.into_iter().filter(|other| is_local(other) && !some.contains(other)).collect();
        some.extend(more);
        some
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.held.len())
    }

    /// Releases all temporaries allocated since `mark`.
    pub(super) fn release(&mut self, mark: Mark) {
        for (pool, slot) in self.held.drain(mark.0..).rev() {
            self.free.entry(pool).or_default().push(slot);
        }
    }

    pub(super) fn finish(
        mut self,
        name: &str,
        params: usize,
        result: Option<Type>,
        atomic: Option<AtomicId>,
    ) -> Procedure {
        let labels = &self.labels;
        let mut resolve = Relabel(|label: Label| {
            let at = labels[label.index()].at.expect("internal error: a label that is nowhere");
            Label::new(at)
        });
        for instruction in &mut self.instructions {
            instruction.op = instruction.op.map(&mut resolve);
        }
        Procedure {
            name: name.to_owned(),
            parameters: u32::try_from(params).expect("internal error: too many parameters"),
            slots: self.slots,
            result,
            atomic,
            of_indexed_actor: false,
            watches: false,
            code: self.instructions,
        }
    }
}

/// Returns the constant, if it is one.
pub(super) fn constant_of(operand: Operand) -> Option<i32> {
    match operand {
        Operand::Constant(value) => Some(value),
        Operand::Slot(_) => None,
    }
}
