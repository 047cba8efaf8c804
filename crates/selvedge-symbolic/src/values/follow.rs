//! Follows the code of every thread once, with ranges in the place of values.
//!
//! Ways that meet again are followed together: of the labels that are left, the least is next, and code is laid out so
//! that only loops jump back. A loop is followed round by round, until its condition ends it. If the values at its head are
//! those of the round before, it can go on for good; then what was added in it is added without end, and it is left by the
//! ways out that were found. Values that change for very many rounds are taken for unknown, so that this comes.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_lang::ir::{
    AtomicId, BinaryOp, Choice, Domain, GlobalId, Label, Op, Operand, Procedure, ProcedureId,
    Program, Slot, Table, Thread, Type, UnaryOp, Variable,
};

use super::Written;
use super::interval::{ALL, Computed, Fails, Value};
use crate::caps::Caps;
use crate::circuit::Range;

/// What came out.
pub(super) struct Found {
    pub(super) written: BTreeMap<GlobalId, Written>,
    /// Slots of the frame when a block begins.
    pub(super) locals: BTreeMap<(AtomicId, Slot), Range>,
    /// Blocks that were not followed in every way in which they can begin.
    pub(super) unknown: BTreeSet<AtomicId>,
    /// Instructions that were followed, and whether they can fail.
    pub(super) may_fail: BTreeMap<(ProcedureId, Label), bool>,
    /// Procedures that were not followed in every way in which they can be called.
    pub(super) given_up: BTreeSet<ProcedureId>,
    /// What each instruction adds to its variable.
    added: BTreeMap<(ProcedureId, Label), (GlobalId, Range)>,
}

/// So many instructions were followed.
struct Exhausted;

/// A thread that starts.
struct Task {
    procedure: ProcedureId,
    arguments: Vec<Value>,
}

pub(super) struct Follow<'a> {
    program: &'a Program,
    caps: &'a Caps,
    assumed: &'a BTreeMap<GlobalId, Range>,
    tasks: Vec<Task>,
    left: u32,
    pub(super) found: Found,
}

/// The slots of a procedure.
type Frame = Vec<Value>;

impl<'a> Follow<'a> {
    pub(super) fn new(
        program: &'a Program,
        caps: &'a Caps,
        assumed: &'a BTreeMap<GlobalId, Range>,
        initial: &BTreeMap<GlobalId, Range>,
    ) -> Self {
        let start = |(&global, &set): (&GlobalId, &Range)| {
            (global, Written { set, up: Some(0), down: Some(0) })
        };
        let found = Found {
            written: initial.iter().map(start).collect(),
            locals: BTreeMap::new(),
            unknown: BTreeSet::new(),
            may_fail: BTreeMap::new(),
            given_up: BTreeSet::new(),
            added: BTreeMap::new(),
        };
        Self { program, caps, assumed, tasks: Vec::new(), left: caps.followed, found }
    }

    /// Follows all threads, and all that they spawn.
    pub(super) fn threads(&mut self) {
        for thread in self.program.threads.iter().rev() {
            let arguments = thread.arguments.iter().map(|&value| Value::constant(value)).collect();
            self.tasks.push(Task { procedure: thread.procedure, arguments });
        }
        while let Some(Task { procedure, arguments }) = self.tasks.pop() {
            if let Err(Exhausted) = self.procedure(procedure, arguments, 0) {
                let rest = std::mem::take(&mut self.tasks).into_iter().map(|task| task.procedure);
                self.give_up(rest.chain([procedure]).collect());
            }
        }
    }

    /// Follows a procedure; returns its result, if it comes to an end.
    fn procedure(
        &mut self,
        procedure: ProcedureId,
        arguments: Vec<Value>,
        depth: usize,
    ) -> Result<Option<Value>, Exhausted> {
        let code = &self.program.procedures[procedure.index()];
        let slots = code.slots.iter().map(|slot| Value::any(slot.ty));
        let mut frame: Frame = slots.collect();
        frame[..arguments.len()].copy_from_slice(&arguments);
        let mut result: Option<Value> = None;
        let mut pending = BTreeMap::from([(Label(0), frame)]);
        let mut heads = BTreeMap::new();
        while let Some((at, mut frame)) = pending.pop_first() {
            self.left = self.left.checked_sub(1).ok_or(Exhausted)?;
            let op = &code.code[at.index()].op;
            let may_fail = op.may_fault() && self.may_fail(op, &frame);
            *self.found.may_fail.entry((procedure, at)).or_default() |= may_fail;
            let next: Vec<(Label, Frame)> = match op {
                Op::Jump { to } => vec![(*to, frame)],
                Op::Branch { condition, then, otherwise } => {
                    match operand(&frame, *condition).truth() {
                        Some(true) => vec![(*then, frame)],
                        Some(false) => vec![(*otherwise, frame)],
                        None => vec![(*then, frame.clone()), (*otherwise, frame)],
                    }
                }
                Op::Return { value } => {
                    let value = value.map_or(Value::constant(0), |value| operand(&frame, value));
                    result = Some(result.map_or(value, |result| result.join(value)));
                    continue;
                }
                Op::Call { procedure, arguments, target } => {
                    let arguments = arguments.iter().map(|&it| operand(&frame, it)).collect();
                    let value = if depth < self.caps.calls {
                        self.procedure(*procedure, arguments, depth + 1)?
                    } else {
                        self.give_up(vec![*procedure]);
                        let ty = self.program.procedures[procedure.index()].result;
                        Some(Value::any(ty.unwrap_or(Type::Int)))
                    };
                    let Some(value) = value else { continue };
                    if let Some(target) = target {
                        frame[target.index()] = value;
                    }
                    vec![(Label(at.0 + 1), frame)]
                }
                Op::Assert { condition, .. }
                | Op::Assume { condition }
                | Op::Await { condition } => {
                    if operand(&frame, *condition).truth() == Some(false) {
                        continue;
                    }
                    vec![(Label(at.0 + 1), frame)]
                }
                Op::Compute { target, value } => {
                    let mut slots = Slots { frame: &frame, may_fail: false };
                    let Ok(value) = value.evaluate(self.program, &mut slots) else { continue };
                    frame[target.index()] = value;
                    vec![(Label(at.0 + 1), frame)]
                }
                Op::AtomicBegin { atomic } => {
                    self.begins(code, *atomic, &frame);
                    vec![(Label(at.0 + 1), frame)]
                }
                Op::Variable(op) => {
                    self.variable(op, (procedure, at), &mut frame);
                    vec![(Label(at.0 + 1), frame)]
                }
                op => {
                    if let Op::Thread(Thread::Spawn { procedure, arguments, .. }) = op {
                        let arguments = arguments.iter().map(|&it| operand(&frame, it)).collect();
                        self.tasks.push(Task { procedure: *procedure, arguments });
                    }
                    let mut next = Vec::new();
                    op.for_each_successor(at, |to, written| {
                        let mut frame = frame.clone();
                        for slot in written {
                            frame[slot.index()] = found_by(op, code, &frame, *slot);
                        }
                        next.push((to, frame));
                    });
                    next
                }
            };
            for (to, frame) in next {
                let frame = match to <= at {
                    true => match self.again((procedure, code), (to, at), frame, &mut heads) {
                        Some(frame) => frame,
                        None => continue,
                    },
                    false => frame,
                };
                let frame = match pending.remove(&to) {
                    Some(other) => joined(&other, &frame),
                    None => frame,
                };
                pending.insert(to, frame);
            }
        }
        Ok(result)
    }

    /// Returns whether an instruction that can fail at all can do so here.
    fn may_fail(&self, op: &Op, frame: &Frame) -> bool {
        match op {
            Op::Compute { value, .. } => {
                let mut slots = Slots { frame, may_fail: false };
                value.evaluate(self.program, &mut slots).is_err() || slots.may_fail
            }
            Op::Assert { condition, .. } => operand(frame, *condition).truth() != Some(true),
            Op::Variable(Variable::FetchAdd { variable, delta, .. }) => {
                let old = self.assumed.get(&variable.global).copied().unwrap_or(ALL);
                let sum = Value::binary(BinaryOp::Add, Value::range(old), operand(frame, *delta));
                sum.is_ok_and(|sum| sum.may_fail) || sum.is_err()
            }
            _ => true,
        }
    }

    /// Back at the head of a loop. `None`: nothing is new there.
    fn again(
        &mut self,
        (procedure, code): (ProcedureId, &Procedure),
        (head, last): (Label, Label),
        frame: Frame,
        heads: &mut BTreeMap<Label, (u32, Frame)>,
    ) -> Option<Frame> {
        // Loops inside of it start anew.
        heads.retain(|inner, _| *inner <= head || *inner > last);
        let (rounds, before) = heads.entry(head).or_insert_with(|| (0, frame.clone()));
        *rounds += 1;
        if *rounds == 1 {
            return Some(frame);
        }
        let mut next = frame;
        if *rounds > self.caps.followed_rounds {
            next = joined(&next, before);
            for (slot, (now, before)) in next.iter_mut().zip(before.iter()).enumerate() {
                if now != before {
                    *now = Value::any(code.slots[slot].ty);
                }
            }
        }
        if next != *before {
            before.clone_from(&next);
            return Some(next);
        }
        self.without_end(procedure, head, last);
        None
    }

    /// What a loop does it does any number of times.
    fn without_end(&mut self, procedure: ProcedureId, head: Label, last: Label) {
        let code = &self.program.procedures[procedure.index()].code;
        let body = &code[head.index()..=last.index()];
        let called = self.program.called_from(body.iter().filter_map(|it| it.op.called()));
        let in_loop = |&(at, label): &(ProcedureId, Label)| {
            at == procedure && (head..=last).contains(&label) || called.contains(&at)
        };
        for (_, &(global, delta)) in self.found.added.iter().filter(|(at, _)| in_loop(at)) {
            if let Some(written) = self.found.written.get_mut(&global) {
                written.add_without_end(delta);
            }
        }
        let of_called =
            called.iter().flat_map(|called| &self.program.procedures[called.index()].code);
        let spawned = body.iter().chain(of_called).filter_map(|it| match &it.op {
            Op::Thread(Thread::Spawn { procedure, .. }) => Some(*procedure),
            _ => None,
        });
        self.give_up(spawned.collect());
    }

    /// All that these procedures can write, with what they call and spawn, can be anything; and so can their local
    /// variables.
    fn give_up(&mut self, mut work: Vec<ProcedureId>) {
        let mut seen = BTreeSet::new();
        while let Some(procedure) = work.pop() {
            if !seen.insert(procedure) {
                continue;
            }
            self.found.given_up.insert(procedure);
            for instruction in &self.program.procedures[procedure.index()].code {
                match &instruction.op {
                    Op::Call { procedure, .. } | Op::Thread(Thread::Spawn { procedure, .. }) => {
                        work.push(*procedure)
                    }
                    Op::AtomicBegin { atomic } => {
                        self.found.unknown.insert(*atomic);
                    }
                    Op::Variable(op) if !matches!(op, Variable::Read { .. }) => {
                        if let Some(written) = self.found.written.get_mut(&op.variable().global) {
                            *written = Written { set: ALL, up: None, down: None };
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn begins(&mut self, code: &Procedure, atomic: AtomicId, frame: &Frame) {
        for (index, value) in frame.iter().enumerate() {
            if code.slots[index].ty == Type::Int {
                let slot = Slot::new(index);
                let range = self.found.locals.entry((atomic, slot)).or_insert(value.range);
                *range = range.join(value.range);
            }
        }
    }

    fn variable(&mut self, op: &Variable, at: (ProcedureId, Label), frame: &mut Frame) {
        let global = op.variable().global;
        let any = Value::any(self.program.globals[global.index()].value_type());
        let assumed = self.assumed.get(&global).copied().unwrap_or(any.range);
        let old = Value::read(global, assumed);
        match op {
            Variable::Read { target, .. } => frame[target.index()] = old,
            Variable::Write { value, .. } => self.write(global, at, operand(frame, *value)),
            Variable::CompareExchange { new, target, .. } => {
                self.write(global, at, operand(frame, *new));
                frame[target.index()] = Value::any(Type::Bool);
            }
            Variable::Exchange { new, target, .. } => {
                self.write(global, at, operand(frame, *new));
                frame[target.index()] = old;
            }
            Variable::FetchAdd { delta, target, .. } => {
                let delta = operand(frame, *delta).range;
                self.write(global, at, Value { range: ALL, base: Some((global, delta)) });
                frame[target.index()] = old;
            }
        }
    }

    fn write(&mut self, global: GlobalId, at: (ProcedureId, Label), value: Value) {
        let Some(written) = self.found.written.get_mut(&global) else { return };
        match value.base {
            Some((base, delta)) if base == global => {
                written.add(delta);
                let (_, added) = self.found.added.entry(at).or_insert((global, delta));
                *added = added.join(delta);
            }
            _ => written.set = written.set.join(value.range),
        }
    }
}

/// Returns what an operation that is no access to a variable puts into a slot.
fn found_by(op: &Op, code: &Procedure, frame: &Frame, slot: Slot) -> Value {
    let any = Value::any(code.slots[slot.index()].ty);
    match op {
        Op::Choice(Choice::Choose { low, high, .. }) => {
            let (low, high) = (operand(frame, *low).range, operand(frame, *high).range);
            // An empty choice fails.
            Value::range(Range { low: low.low, high: low.low.max(high.high - 1) })
        }
        _ => any,
    }
}

fn operand(frame: &Frame, operand: Operand) -> Value {
    match operand {
        Operand::Slot(slot) => frame[slot.index()],
        Operand::Constant(value) => Value::constant(value),
    }
}

fn joined(one: &Frame, other: &Frame) -> Frame {
    one.iter().zip(other).map(|(a, b)| a.join(*b)).collect()
}

/// Slots to compute with.
struct Slots<'f> {
    frame: &'f Frame,
    /// Whether what was computed can fail.
    may_fail: bool,
}

impl Slots<'_> {
    fn note(&mut self, computed: Result<Computed, Fails>) -> Result<Value, Fails> {
        let Computed { value, may_fail } = computed?;
        self.may_fail |= may_fail;
        Ok(value)
    }
}

impl Domain for Slots<'_> {
    type Value = Value;
    type Halt = Fails;

    fn operand(&mut self, value: Operand) -> Value {
        operand(self.frame, value)
    }

    fn unary(&mut self, op: UnaryOp, value: Value) -> Result<Value, Fails> {
        self.note(Value::unary(op, value))
    }

    fn binary(&mut self, op: BinaryOp, left: Value, right: Value) -> Result<Value, Fails> {
        self.note(Value::binary(op, left, right))
    }

    fn position(&mut self, index: Value, range: selvedge_lang::ir::Range) -> Result<Value, Fails> {
        let lowest = i64::from(range.lowest);
        let highest = lowest + i64::from(range.size) - 1;
        let (low, high) = (index.range.low.max(lowest), index.range.high.min(highest));
        if low > high {
            return Err(Fails);
        }
        self.may_fail |= low > index.range.low || high < index.range.high;
        Ok(Value::range(Range { low: low - lowest, high: high - lowest }))
    }

    fn flat(&mut self, row: Value, columns: u32, column: Value) -> Value {
        let columns = i64::from(columns);
        let low = row.range.low * columns + column.range.low;
        let high = row.range.high * columns + column.range.high;
        Value::range(Range { low, high })
    }

    fn lookup(&mut self, table: &Table, position: Value) -> Result<Value, Fails> {
        let Range { low, high } = position.range;
        let values = &table.values[low as usize..=high as usize];
        let values = values.iter().map(|&value| Value::constant(value));
        values.reduce(Value::join).ok_or(Fails)
    }

    fn pick(&mut self, operands: &[Operand], position: Value) -> Result<Value, Fails> {
        let Range { low, high } = position.range;
        let picked = &operands[low as usize..=high as usize];
        let values = picked.iter().map(|&value| operand(self.frame, value));
        values.reduce(Value::join).ok_or(Fails)
    }

    fn thread(&mut self, _: u32, _: Value) -> Value {
        Value::any(Type::Thread)
    }

    fn own(&mut self) -> Value {
        Value::any(Type::Thread)
    }
}
