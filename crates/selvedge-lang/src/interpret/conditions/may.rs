//! What a thread may still touch: `W(b)` of the paper on constrained reduction, and what it may read.
//!
//! The rest of a thread's code is run with what is known: its slots are, shared values are not. Where
//! a branch depends on something unknown, it goes both ways; an element with an unknown index stands
//! for the whole array. A thread that is spawned on the way is a node of its own, known by its procedure
//! and what is known of its arguments; nodes are kept, and what a thread may touch is all that can be
//! reached from its node. If that takes too long, everything that its procedures name is taken instead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
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

/// How far the rest of a thread's code is followed to find what it may still touch.
///
/// Nothing is lost beyond: the thread may then touch everything that its procedures name, and all that they call and
/// spawn; and a step is not taken to be steady. Both answers only make explorers prune less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// So many instructions for one node. At least 1.
    pub instructions: u32,
    /// Calls so deep.
    pub calls: usize,
    /// So many nodes for one thread.
    pub nodes: usize,
    /// When so many nodes are kept, all are forgotten, and found again when they are asked for.
    pub kept: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { instructions: 20_000, calls: 64, nodes: 10_000, kept: 50_000 }
    }
}

impl Caps {
    /// As small as they can be, for tests.
    pub fn tiny() -> Self {
        Self { instructions: 3, calls: 1, nodes: 1, kept: 1 }
    }
}

/// What is known of a slot.
type Known = Option<i32>;

/// A frame of a thread of which not all is known.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Frame {
    pc: u32,
    /// The slot that gets the result of the call above it.
    target: Option<u32>,
    slots: Vec<Known>,
}

/// Where a thread may stand: its frames, the current one last.
type Standing = Vec<Frame>;

/// What is known of all that can happen from where a thread stands.
struct Node {
    own: MayAccess,
    spawns: Vec<usize>,
    /// What it may touch with all that it spawns, computed on demand.
    all: Option<Arc<MayAccess>>,
}

pub(super) struct May {
    caps: Caps,
    nodes: Vec<Node>,
    known: BTreeMap<Standing, usize>,
    /// Per procedure, all that it and what it calls and spawns names.
    named: Vec<MayAccess>,
    nothing: Arc<MayAccess>,
    /// The answers, by where a thread stands in numbers: the same as a look at the nodes, and quicker.
    answers: FxHashMap<Box<[i32]>, Arc<MayAccess>>,
    /// A key of `answers`, as a buffer.
    key: Vec<i32>,
}

impl May {
    pub(super) fn new(loaded: &Loaded, caps: Caps) -> Self {
        let named = named(loaded);
        Self {
            caps,
            nodes: Vec::new(),
            known: BTreeMap::new(),
            named,
            nothing: Arc::default(),
            answers: FxHashMap::default(),
            key: Vec::new(),
        }
    }

    pub(super) fn of_thread(
        &mut self,
        loaded: &Loaded,
        machine: &Machine,
        live: &Live,
        thread: usize,
    ) -> Arc<MayAccess> {
        let state = &machine.threads[thread];
        match state.phase {
            Phase::Absent | Phase::Finished | Phase::Assumed | Phase::Failed => {
                return Arc::clone(&self.nothing);
            }
            Phase::Ready | Phase::FaultsAtOnce | Phase::Parked | Phase::Woken | Phase::Passing => {}
        }
        self.key.clear();
        let stack = &machine.stacks[thread];
        for frame in frames(state, stack) {
            self.key.extend([frame.pc as i32, frame.target.map_or(-1, |target| target as i32)]);
            let slots = live.at(frame.pc).iter();
            self.key.extend(slots.map(|&slot| stack[(frame.base + slot.0) as usize]));
        }
        if let Some(answer) = self.answers.get(&self.key[..]) {
            return Arc::clone(answer);
        }
        if self.nodes.len() > self.caps.kept || self.answers.len() > self.caps.kept {
            self.nodes.clear();
            self.known.clear();
            self.answers.clear();
        }
        let node = self.node(loaded, standing(loaded, machine, live, thread));
        let answer = self.all(node);
        self.answers.insert(self.key.as_slice().into(), Arc::clone(&answer));
        answer
    }

    /// Returns the node of a standing, and those of all that can be spawned from it.
    fn node(&mut self, loaded: &Loaded, standing: Standing) -> usize {
        if let Some(&node) = self.known.get(&standing) {
            return node;
        }
        let first = self.add(standing.clone());
        let mut work = vec![(first, standing)];
        while let Some((node, standing)) = work.pop() {
            let mut follow = Follow { loaded, found: MayAccess::default(), spawned: Vec::new() };
            // Tasks that spawn tasks with ever new arguments never end.
            let is_too_much = self.nodes.len() - first > self.caps.nodes;
            if !is_too_much && follow.run(standing.clone(), self.caps) {
                for child in follow.spawned {
                    let number = match self.known.get(&child) {
                        Some(&number) => number,
                        None => {
                            let number = self.add(child.clone());
                            work.push((number, child));
                            number
                        }
                    };
                    self.nodes[node].spawns.push(number);
                }
                self.nodes[node].own = follow.found;
            } else {
                for frame in &standing {
                    let procedure = loaded.procedure_at(frame.pc);
                    self.nodes[node].own.extend(&self.named[procedure.index()]);
                }
            }
        }
        first
    }

    fn add(&mut self, standing: Standing) -> usize {
        self.nodes.push(Node { own: MayAccess::default(), spawns: Vec::new(), all: None });
        self.known.insert(standing, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Returns all that can be touched from a node.
    fn all(&mut self, node: usize) -> Arc<MayAccess> {
        if let Some(all) = &self.nodes[node].all {
            return Arc::clone(all);
        }
        let mut all = MayAccess::default();
        let mut seen = BTreeSet::from([node]);
        let mut work = vec![node];
        while let Some(next) = work.pop() {
            if let Some(known) = &self.nodes[next].all {
                all.extend(known);
                continue;
            }
            all.extend(&self.nodes[next].own);
            work.extend(self.nodes[next].spawns.iter().copied().filter(|&it| seen.insert(it)));
        }
        let all = Arc::new(all);
        self.nodes[node].all = Some(Arc::clone(&all));
        all
    }
}

/// Returns where a thread stands, with what matters of its slots.
fn standing(loaded: &Loaded, machine: &Machine, live: &Live, thread: usize) -> Standing {
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
    let mut follow = Follow { loaded, found: MayAccess::default(), spawned: Vec::new() };
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
            Op::Await { .. } => return false,
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
struct Follow<'a> {
    loaded: &'a Loaded,
    found: MayAccess,
    spawned: Vec<Standing>,
}

impl Follow<'_> {
    /// False if it takes too long.
    fn run(&mut self, start: Standing, caps: Caps) -> bool {
        // Where it branched, and where it came back to: apart, since it may come back to a branch.
        let (mut seen, mut returned) = (BTreeSet::new(), BTreeSet::new());
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
                        if is_back && !returned.insert(standing.clone()) {
                            break;
                        }
                    }
                    Next::End => break,
                    Next::Either(then, otherwise) => {
                        if !seen.insert(standing.clone()) {
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

/// Adds what an operation may touch, with what is known of its indices.
fn note(loaded: &Loaded, op: &Op, found: &mut MayAccess, known: impl Fn(Operand) -> Known) {
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
            (Some(index), Indexed::Objects(..) | Indexed::Table(_))
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

    fn own(&mut self) -> Known {
        None
    }
}

/// The thread ends here.
struct Fails;

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

/// Per procedure, all that it names, with what it calls and spawns.
pub(in crate::interpret) fn named(loaded: &Loaded) -> Vec<MayAccess> {
    let procedures = &loaded.program.procedures;
    let mut named = vec![MayAccess::default(); procedures.len()];
    loop {
        let before = named.clone();
        for (index, procedure) in procedures.iter().enumerate() {
            for instruction in &procedure.code {
                let mut all = std::mem::take(&mut named[index]);
                match &instruction.op {
                    Op::Call { procedure, .. } | Op::Thread(Thread::Spawn { procedure, .. }) => {
                        if procedure.index() != index {
                            all.extend(&named[procedure.index()]);
                        }
                    }
                    op => note(loaded, op, &mut all, |index| match index {
                        Operand::Constant(index) => Some(index),
                        Operand::Slot(_) => None,
                    }),
                }
                named[index] = all;
            }
        }
        if named == before {
            return named;
        }
    }
}
