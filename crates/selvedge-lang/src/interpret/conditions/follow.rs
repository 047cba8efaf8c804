//! Follows the code of a thread from where it stands, with what is known of its slots.
//!
//! Where a branch depends on something unknown, it goes both ways. A loop whose bound is unknown would be followed without
//! end, each time with another counter: when a branch has been met often, what differs from time to time is no longer
//! known there (widening). Whatever is known less leads to at least as much.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_core::MayAccess;

use crate::ir::{
    BinaryOp, Domain, Indexed, ObjectRef, Op, Operand, ProcedureId, Range, Slot, Table, Thread,
    UnaryOp,
};
use crate::ops::Reach;

use super::super::invisible::frames;
use super::super::load::Loaded;
use super::super::machine::{Machine, Phase};
use super::Live;
use super::may::Caps;

/// So often an unknown branch is met with all that is known; then what differs is forgotten. Loops over the elements of an
/// array are mostly shorter, and are followed exactly.
const EXACT_BRANCHES: u32 = 24;

/// The same for the way back in a loop, which also those take whose bounds are known.
const EXACT_ROUNDS: u32 = 256;

/// What is known of a slot.
pub(super) type Known = Option<i32>;

/// A frame of a thread of which not all is known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Frame {
    pub(super) pc: u32,
    /// The slot that gets the result of the call above it.
    target: Option<u32>,
    slots: Vec<Known>,
}

/// Where a thread may stand: its frames, the current one last.
pub(super) type Standing = Vec<Frame>;

/// Returns where a thread stands, with what matters of its slots.
pub(super) fn standing(loaded: &Loaded, machine: &Machine, live: &Live, thread: usize) -> Standing {
    let stack = &machine.stacks[thread];
    let mut standing: Standing = frames(&machine.threads[thread], stack)
        .map(|frame| {
            let procedure = loaded.procedure_at(frame.pc);
            let size = loaded.procedures[procedure.index()].frame as usize;
            let mut slots = vec![None; size];
            for &slot in live.at(frame.pc) {
                slots[slot.index()] = Some(stack[(frame.base + slot.0) as usize]);
            }
            Frame { pc: frame.pc, target: frame.target, slots }
        })
        .collect();
    standing.reverse();
    standing
}

/// Returns whether the step at which a thread stands touches the same in every state in which it does not fail: no
/// branch, no index and no waiting depends on what is shared.
pub(super) fn is_steady(
    loaded: &Loaded,
    machine: &Machine,
    live: &Live,
    caps: Caps,
    thread: usize,
) -> bool {
    if machine.threads[thread].phase != Phase::Ready {
        return false;
    }
    let mut standing = standing(loaded, machine, live, thread);
    let mut follow = Follow::new(loaded, live);
    let (mut sections, mut is_done) = (0, false);
    for _ in 0..caps.instructions {
        let Some(frame) = standing.last() else { return true };
        let op = loaded.op(frame.pc);
        if is_done && op.is_visible() {
            return true;
        }
        match op {
            Op::AtomicBegin { .. } => sections += 1,
            Op::AtomicEnd { .. } => sections -= 1,
            Op::Variable(op) => {
                let is_known = known(op.variable().index, frame).is_some();
                if !is_known || op.fixed_mode().is_none() {
                    return false;
                }
            }
            Op::Await { .. } | Op::Ghost(_) => return false,
            op if op.is_visible() => return false,
            _ => {}
        }
        is_done |= sections == 0 && (op.is_visible() || matches!(op, Op::AtomicEnd { .. }));
        match follow.instruction(&mut standing) {
            Next::On if standing.len() <= caps.calls => {}
            Next::End => return true,
            Next::On | Next::Either(..) => return false,
        }
    }
    false
}

/// Follows the code from where a thread stands.
pub(super) struct Follow<'a> {
    loaded: &'a Loaded,
    live: &'a Live,
    /// What may be touched.
    pub(super) found: MayAccess,
    /// What may be spawned.
    pub(super) spawned: Vec<Standing>,
}

impl<'a> Follow<'a> {
    pub(super) fn new(loaded: &'a Loaded, live: &'a Live) -> Self {
        Self { loaded, live, found: MayAccess::default(), spawned: Vec::new() }
    }

    /// Follows everything that can happen. Returns false if it takes too long.
    pub(super) fn run(&mut self, start: Standing, caps: Caps) -> bool {
        let (mut branches, mut rounds) = (Met::new(EXACT_BRANCHES), Met::new(EXACT_ROUNDS));
        let mut work = vec![start];
        let mut left = caps.instructions;
        while let Some(mut standing) = work.pop() {
            loop {
                left -= 1;
                if left == 0 || standing.len() > caps.calls {
                    return false;
                }
                let before = standing.last().map(|frame| (standing.len(), frame.pc));
                match self.instruction(&mut standing) {
                    Next::On => {
                        // Back in a loop without an unknown branch: the second time nothing is new.
                        let now = standing.last().map(|frame| (standing.len(), frame.pc));
                        let is_back =
                            now.zip(before).is_some_and(|((now_deep, now), (deep, pc))| {
                                now_deep == deep && now <= pc
                            });
                        if is_back && !rounds.is_new(&mut standing) {
                            break;
                        }
                    }
                    Next::End => break,
                    Next::Either(then, otherwise) => {
                        self.forget_dead(&mut standing);
                        if !branches.is_new(&mut standing) {
                            break;
                        }
                        let frame = standing.len() - 1;
                        let mut other = standing.clone();
                        other[frame].pc = otherwise;
                        standing[frame].pc = then;
                        work.push(other);
                    }
                }
            }
            if self.found.everything {
                return true;
            }
        }
        true
    }

    /// What has no effect any more in the current frame is not known, so that it makes no difference.
    fn forget_dead(&self, standing: &mut Standing) {
        let Some(frame) = standing.last_mut() else { return };
        let live = self.live.at(frame.pc);
        for (slot, known) in frame.slots.iter_mut().enumerate() {
            if known.is_some() && !live.iter().any(|it| it.index() == slot) {
                *known = None;
            }
        }
    }

    fn instruction(&mut self, standing: &mut Standing) -> Next {
        let Some(frame) = standing.last_mut() else { return Next::End };
        let loaded = self.loaded;
        let op = loaded.op(frame.pc);
        match op {
            Op::Jump { to } => frame.pc = to.0,
            Op::Branch { condition, then, otherwise } => match known(*condition, frame) {
                Some(0) => frame.pc = otherwise.0,
                Some(_) => frame.pc = then.0,
                None => return Next::Either(then.0, otherwise.0),
            },
            Op::Call { procedure, arguments, target } => {
                frame.pc += 1;
                frame.target = target.map(|target| target.0);
                let called = entered(loaded, *procedure, arguments, frame);
                standing.push(called);
            }
            Op::Return { value } => {
                let value = value.and_then(|value| known(value, frame));
                standing.pop();
                let Some(caller) = standing.last_mut() else { return Next::End };
                if let Some(target) = caller.target.take() {
                    caller.slots[target as usize] = value;
                }
            }
            Op::Assert { condition, .. } | Op::Assume { condition } | Op::Await { condition } => {
                if known(*condition, frame) == Some(0) && !matches!(op, Op::Await { .. }) {
                    return Next::End;
                }
                frame.pc += 1;
            }
            Op::Compute { target, value } => {
                let Ok(result) = value.evaluate(&loaded.program, frame) else { return Next::End };
                frame.slots[target.index()] = result;
                frame.pc += 1;
            }
            _ => {
                self.touch(op, frame);
                if let Some(Slot(target)) = op.target() {
                    frame.slots[target as usize] = None;
                }
                frame.pc += 1;
            }
        }
        Next::On
    }

    /// A visible operation.
    fn touch(&mut self, op: &Op, frame: &Frame) {
        match op {
            Op::Thread(Thread::Spawn { procedure, arguments, .. }) => {
                self.spawned.push(vec![entered(self.loaded, *procedure, arguments, frame)]);
            }
            op => note(self.loaded, op, &mut self.found, |index| known(index, frame)),
        }
    }
}

/// Where a thread may have been: at unknown branches, or back in a loop.
struct Met {
    /// So often with all that is known.
    exact: u32,
    exactly: BTreeSet<Standing>,
    /// By where all frames stand: how often, and what is known at all of the times since it is too often.
    widened: BTreeMap<Vec<u32>, (u32, Option<Standing>)>,
}

impl Met {
    fn new(exact: u32) -> Self {
        Self { exact, exactly: BTreeSet::new(), widened: BTreeMap::new() }
    }

    /// Returns whether something new may follow from here; what is known may become less.
    fn is_new(&mut self, standing: &mut Standing) -> bool {
        let place = standing.iter().map(|frame| frame.pc).collect();
        let (times, common) = self.widened.entry(place).or_default();
        if let Some(common) = common {
            let is_new = widen(common, standing);
            standing.clone_from(common);
            return is_new;
        }
        if !self.exactly.insert(standing.clone()) {
            return false;
        }
        *times += 1;
        if *times > self.exact {
            *common = Some(standing.clone());
        }
        true
    }
}

/// Leaves in `common` what is known in both. Returns whether that is less than before.
fn widen(common: &mut Standing, other: &Standing) -> bool {
    let mut is_less = false;
    for (frame, other) in common.iter_mut().zip(other) {
        for (known, other) in frame.slots.iter_mut().zip(&other.slots) {
            if known.is_some() && known != other {
                *known = None;
                is_less = true;
            }
        }
    }
    is_less
}

/// Adds what an operation may touch, with what is known of its indices.
pub(super) fn note(
    loaded: &Loaded,
    op: &Op,
    found: &mut MayAccess,
    known: impl Fn(Operand) -> Known,
) {
    let Some(operation) = op.operation() else { return };
    let reach = operation.facts().reach;
    found.everything |= reach == Reach::Anything;
    op.for_each_object(|object| {
        let (start, end) = objects(loaded, object, known(object.index));
        found.reads.insert(start, end);
        if reach != Reach::Reads {
            found.writes.insert(start, end);
            loaded.for_each_check(start..end, |check| {
                found.writes.insert(check.number(), check.number() + 1);
            });
        }
    });
}

enum Next {
    On,
    End,
    /// At a branch that goes to one of these.
    Either(u32, u32),
}

fn known(operand: Operand, frame: &Frame) -> Known {
    match operand {
        Operand::Slot(slot) => frame.slots[slot.index()],
        Operand::Constant(value) => Some(value),
    }
}

/// Returns the frame of a procedure that is called or spawned.
fn entered(loaded: &Loaded, procedure: ProcedureId, arguments: &[Operand], by: &Frame) -> Frame {
    let entry = loaded.procedures[procedure.index()];
    let mut slots: Vec<Known> = arguments.iter().map(|&argument| known(argument, by)).collect();
    slots.resize(entry.frame as usize, None);
    Frame { pc: entry.pc, target: None, slots }
}

impl Domain for Frame {
    type Value = Known;
    type Halt = Fails;

    fn operand(&mut self, operand: Operand) -> Known {
        known(operand, self)
    }

    fn unary(&mut self, op: UnaryOp, value: Known) -> Result<Known, Fails> {
        value.map(|value| op.apply(value).ok_or(Fails)).transpose()
    }

    fn binary(&mut self, op: BinaryOp, left: Known, right: Known) -> Result<Known, Fails> {
        let both = left.zip(right);
        both.map(|(left, right)| op.apply(left, right).ok_or(Fails)).transpose()
    }

    fn position(&mut self, index: Known, range: Range) -> Result<Known, Fails> {
        match (index, range.of) {
            (Some(index), Indexed::Objects(..) | Indexed::Table(_) | Indexed::Local)
                if index < 0 || index as u32 >= range.size =>
            {
                Err(Fails)
            }
            _ => Ok(index),
        }
    }

    fn flat(&mut self, row: Known, columns: u32, column: Known) -> Known {
        row.zip(column).map(|(row, column)| row * columns as i32 + column)
    }

    /// Handles are not followed.
    fn thread(&mut self, _: u32, _: Known) -> Known {
        None
    }

    fn lookup(&mut self, table: &Table, position: Known) -> Result<Known, Fails> {
        Ok(position.map(|position| table.values[position as usize]))
    }

    fn pick(&mut self, operands: &[Operand], position: Known) -> Result<Known, Fails> {
        Ok(position.and_then(|position| known(operands[position as usize], self)))
    }

    fn own(&mut self) -> Known {
        None
    }
}

/// The thread ends here.
pub(super) struct Fails;

/// Returns the numbers of the objects that are meant: one, or all of an array.
fn objects(loaded: &Loaded, object: ObjectRef, index: Known) -> (u32, u32) {
    let global = &loaded.program.globals[object.global.index()];
    let each = global.objects_per_element() as u32;
    match index {
        Some(index) => {
            let start = global.base + index as u32 * each;
            (start, start + each)
        }
        None => (global.base, global.base + global.objects() as u32),
    }
}
