//! Runs two blocks one after the other on terms: every way through them is a [`Path`].
//!
//! Whenever a comparison can go both ways, the path forks and the instruction is run again; so an
//! instruction decides first and changes the state afterwards. Values therefore never contain
//! conditions: they are plain terms.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use selvedge_lang::ir::{
    Choice, GlobalId, Label, Op, Operand, ProcedureId, Program, Semaphore, SiteId, Slot, Thread,
    Type, Variable,
};

use super::GiveUp;
use super::arithmetic::Terms;
use super::blocks::{Block, Shape, Touched, slot_type};
use super::path::{Exit, Frame, Path, Task, Unrolling, Value};
use super::store::Kind;
use super::term::{Opaque, Poly, Side};
use super::witness::{Question, Witness};
use super::words::Words;
use crate::caps::Caps;
use crate::solver::Lit;

const TOO_MANY_PATHS: GiveUp = GiveUp::TooLarge("there are too many ways through the two blocks");

/// Why an instruction did not just run.
pub(super) enum Halt {
    /// It can go both ways: where the literal is true, and where it is false.
    Fork(Lit, [Vec<Rc<Witness>>; 2]),
    /// The block was left.
    Left(Exit),
    /// The loop here is not to be looked into.
    Summarise,
    GiveUp(GiveUp),
}

impl From<GiveUp> for Halt {
    fn from(reason: GiveUp) -> Self {
        Halt::GiveUp(reason)
    }
}

/// How two terms are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Relation {
    Equal,
    Less,
}

/// A comparison that mattered: a candidate for a constraint.
pub(super) type Comparison = (Relation, Poly, Poly);

pub(super) struct Runner<'p, 'a> {
    pub(super) program: &'p Program,
    pub(super) caps: Caps,
    pub(super) words: Words<'a>,
    pub(super) blocks: [Block; 2],
    /// What at least one of the blocks writes: all else needs no book-keeping.
    pub(super) written: BTreeSet<GlobalId>,
    pub(super) measured: BTreeSet<GlobalId>,
    pub(super) comparisons: Vec<Comparison>,
    /// What may overflow.
    pub(super) results: Vec<Poly>,
    pub(super) shapes: BTreeMap<ProcedureId, Rc<Shape>>,
    /// Whether something was not looked into.
    pub(super) abstracted: bool,
    paths: usize,
    pub(super) side: Side,
}

impl<'p, 'a> Runner<'p, 'a> {
    pub(super) fn new(
        program: &'p Program,
        blocks: [Block; 2],
        touched: &[Touched; 2],
        caps: Caps,
        words: Words<'a>,
    ) -> Self {
        Self {
            program,
            caps,
            words,
            blocks,
            written: touched.iter().flat_map(|one| one.written.iter().copied()).collect(),
            measured: touched.iter().flat_map(|one| one.measured.iter().copied()).collect(),
            comparisons: Vec::new(),
            results: Vec::new(),
            shapes: BTreeMap::new(),
            abstracted: false,
            paths: 0,
            side: Side::First,
        }
    }

    /// Runs all paths through both blocks, in this order.
    pub(super) fn run(&mut self, first: Side, start: Path) -> Result<Vec<Path>, GiveUp> {
        let mut ends = Vec::new();
        let halfway = self.run_block(first, start)?;
        let count = halfway.len();
        for (done, path) in (1..).zip(halfway) {
            ends.extend(self.run_block(first.other(), path)?);
            // A few of them show how many there will be.
            if done > 3 && ends.len() * count > done * self.caps.paths {
                return Err(TOO_MANY_PATHS);
            }
        }
        Ok(ends)
    }

    fn run_block(&mut self, side: Side, mut path: Path) -> Result<Vec<Path>, GiveUp> {
        self.side = side;
        let block = self.blocks[side.index()];
        let slots = self.program.procedures[block.procedure.index()].slots.len();
        let frame = Frame {
            procedure: block.procedure,
            pc: block.begin,
            slots: vec![None; slots],
            target: None,
        };
        path.frames = vec![frame];
        path.own.clear();
        path.is_local = true;
        path.has_effects = false;
        path.open = 0;
        let mut open = vec![path];
        let mut done = Vec::new();
        while let Some(mut path) = open.pop() {
            self.words.go_on()?;
            if self.run_path(&mut path, &mut open)? {
                done.push(path);
            }
            self.paths += 1;
            if self.paths > self.caps.paths {
                return Err(TOO_MANY_PATHS);
            }
        }
        Ok(done)
    }

    /// Runs a path to the end of the block; other ways go to `open`. `false`: it is left out
    /// of account.
    fn run_path(&mut self, path: &mut Path, open: &mut Vec<Path>) -> Result<bool, GiveUp> {
        loop {
            let Err(halt) = self.instruction(path) else { continue };
            match halt {
                Halt::Fork(lit, [if_true, if_false]) => {
                    let mut other = path.clone();
                    other.take(!lit, if_false);
                    open.push(other);
                    path.take(lit, if_true);
                }
                Halt::Summarise => {
                    let unrolling = path.unrolling.last().expect("internal error: no loop is open");
                    let before = Rc::clone(&unrolling.before);
                    // Other ways that are still in this loop are part of it.
                    open.retain(|other| {
                        !other.unrolling.iter().any(|loops| Rc::ptr_eq(&loops.before, &before))
                    });
                    *path = Path::clone(&before);
                    path.summarise = true;
                }
                Halt::Left(Exit::Failed(..)) if path.is_local && !path.has_effects => {
                    // It fails alike in every order, and that is all it does: it commutes with
                    // everything, and a constraint need not speak of it.
                    let clause: Vec<Lit> = path.own.iter().map(|&lit| !lit).collect();
                    self.words.circuit.require(&clause);
                    return Ok(false);
                }
                Halt::Left(mut exit) => {
                    if let Exit::Failed(_, values) = &mut exit {
                        values.extend(self.shown(path));
                    }
                    path.exits[self.side.index()] = Some(exit);
                    path.unrolling.clear();
                    return Ok(true);
                }
                Halt::GiveUp(reason) => return Err(reason),
            }
        }
    }

    /// Returns what the message of the current instruction shows if it fails.
    fn shown(&mut self, path: &mut Path) -> Vec<Value> {
        let frame = path.frame();
        let code = &self.program.procedures[frame.procedure.index()].code;
        let instruction = &code[frame.pc.index()];
        let mut operands = Vec::new();
        instruction.op.for_each_operand(|operand| operands.push(operand));
        let shown = &self.program.sites[instruction.site.index()].shown;
        operands.extend(shown.iter().map(|shown| shown.value));
        // What a `fetch_add` found belongs to its message.
        let mut values: Vec<Value> =
            operands.into_iter().map(|operand| self.value(path, operand)).collect();
        if let Op::Variable(Variable::FetchAdd { variable, .. })
        | Op::Semaphore(Semaphore::Up { semaphore: variable }) = &instruction.op
            && let Ok(old) = self.read(path, *variable)
        {
            values.push(Value::Number(old));
        }
        values
    }

    /// Returns whether the current instruction decides if the innermost loop continues.
    fn is_exit_test(&self, path: &Path) -> bool {
        let (Some(unrolling), Some(frame)) = (path.unrolling.last(), path.frames.last()) else {
            return false;
        };
        if unrolling.depth != path.frames.len() {
            return false;
        }
        let code = &self.program.procedures[frame.procedure.index()].code;
        let here = &code[frame.pc.index()].op;
        let next = code.get(frame.pc.index() + 1).map(|instruction| &instruction.op);
        let inside = unrolling.head..unrolling.end;
        [Some(here), next].into_iter().flatten().any(|op| match op {
            Op::Branch { then, otherwise, .. } => {
                !inside.contains(then) || !inside.contains(otherwise)
            }
            _ => false,
        })
    }

    pub(super) fn shape(&mut self, procedure: ProcedureId) -> Rc<Shape> {
        let program = self.program;
        let shape = self.shapes.entry(procedure);
        Rc::clone(shape.or_insert_with(|| Rc::new(Shape::new(program, procedure))))
    }

    /// Keeps account of loops. `true`: a loop was passed as a whole.
    fn enter_loops(&mut self, path: &mut Path) -> Result<bool, Halt> {
        let depth = path.frames.len();
        let (procedure, pc) = (path.frame().procedure, path.frame().pc);
        while let Some(last) = path.unrolling.last() {
            let inside =
                depth > last.depth || depth == last.depth && (last.head..last.end).contains(&pc);
            if inside {
                break;
            }
            path.unrolling.pop();
        }
        let Some(&end) = self.shape(procedure).loops.get(&pc) else { return Ok(false) };
        if std::mem::take(&mut path.summarise) {
            self.pass_loop(path, pc, end)?;
            return Ok(true);
        }
        match path.unrolling.last_mut() {
            Some(last) if last.depth == depth && last.head == pc => {
                last.rounds += 1;
                if last.rounds > self.caps.rounds {
                    return Err(Halt::Summarise);
                }
            }
            _ => {
                let before = Rc::new(path.clone());
                path.unrolling.push(Unrolling {
                    depth,
                    head: pc,
                    end,
                    rounds: 0,
                    forks: 0,
                    before,
                });
            }
        }
        Ok(false)
    }

    /// Runs one instruction.
    fn instruction(&mut self, path: &mut Path) -> Result<(), Halt> {
        // A fork runs it again: rounds are counted only if it gets through.
        let (unrolling, summarise) = (path.unrolling.clone(), path.summarise);
        let result = self.enter_loops(path).and_then(|passed| match passed {
            true => Ok(()),
            false => self.execute(path),
        });
        if let (Err(Halt::Fork(..)), false) = (&result, summarise) {
            let too_many = path.unrolling.last().is_some_and(|last| last.forks >= self.caps.forks);
            if too_many || self.is_exit_test(path) {
                return Err(Halt::Summarise);
            }
        }
        if matches!(result, Err(Halt::Fork(..))) {
            path.unrolling = unrolling;
            path.unrolling.iter_mut().for_each(|unrolling| unrolling.forks += 1);
            path.summarise = summarise;
        }
        result
    }

    fn execute(&mut self, path: &mut Path) -> Result<(), Halt> {
        let program = self.program;
        let frame = path.frame();
        let (procedure, pc) = (frame.procedure, frame.pc);
        let instruction = &program.procedures[procedure.index()].code[pc.index()];
        let site = instruction.site;
        let next = Label::new(pc.index() + 1);
        let mut to = next;
        match &instruction.op {
            Op::Compute { target, value } => {
                let value = value.evaluate(program, &mut Terms { runner: self, path, site })?;
                self.set(path, *target, value);
            }
            Op::Jump { to: there } => to = *there,
            Op::Branch { condition, then, otherwise } => {
                let condition = self.number(path, *condition);
                to = if self.holds(path, &condition)? { *then } else { *otherwise };
            }
            Op::Call { procedure, arguments, target } => {
                return self.call(path, *procedure, arguments, *target);
            }
            Op::Return { value } => {
                let value = value.map(|value| self.value(path, value));
                let target = path.frame().target;
                path.frames.pop();
                if let (Some(target), Some(value)) = (target, value) {
                    self.set(path, target, value);
                }
                return Ok(());
            }
            Op::Assert { condition, .. } => {
                let condition = self.number(path, *condition);
                if !self.holds(path, &condition)? {
                    return Err(Self::failed(site));
                }
            }
            Op::Assume { condition } => {
                let condition = self.number(path, *condition);
                if !self.holds(path, &condition)? {
                    return Err(Halt::Left(Exit::Assumed(site)));
                }
            }
            Op::Await { condition } => {
                let condition = self.number(path, *condition);
                if !self.holds(path, &condition)? {
                    return Err(Halt::Left(Exit::Waits));
                }
            }
            Op::AtomicBegin { .. } => path.open += 1,
            Op::AtomicEnd { .. } => {
                path.open -= 1;
                if path.open == 0 {
                    return Err(Halt::Left(self.exit(path, next)));
                }
            }
            Op::Choice(Choice::Yield | Choice::Fence { .. }) => {}
            Op::Thread(Thread::Spawn { procedure, arguments, target }) => {
                self.spawn(path, *procedure, arguments, *target);
            }
            op => self.visible(path, op, site)?,
        }
        path.frame().pc = to;
        Ok(())
    }

    pub(super) fn failed(site: SiteId) -> Halt {
        Halt::Left(Exit::Failed(site, Vec::new()))
    }

    fn call(
        &mut self,
        path: &mut Path,
        procedure: ProcedureId,
        arguments: &[Operand],
        target: Option<Slot>,
    ) -> Result<(), Halt> {
        if path.frames.len() >= self.caps.calls {
            return Err(GiveUp::TooLarge("calls go too deep").into());
        }
        let mut slots = vec![None; self.program.procedures[procedure.index()].slots.len()];
        for (slot, &argument) in slots.iter_mut().zip(arguments) {
            *slot = Some(self.value(path, argument));
        }
        let frame = path.frame();
        frame.pc = Label::new(frame.pc.index() + 1);
        path.frames.push(Frame { procedure, pc: Label::new(0), slots, target });
        Ok(())
    }

    fn spawn(
        &mut self,
        path: &mut Path,
        procedure: ProcedureId,
        arguments: &[Operand],
        target: Option<Slot>,
    ) {
        let arguments = arguments.iter().map(|&argument| self.number(path, argument)).collect();
        let handle = target.map(|_| {
            let number = path.spawned[self.side.index()];
            let opaque = Opaque::Spawned(self.side, number);
            self.words.opaque(opaque, Type::Thread)
        });
        path.spawned[self.side.index()] += 1;
        path.has_effects = true;
        if let (Some(target), Some(handle)) = (target, &handle) {
            self.set(path, target, Value::Number(handle.clone()));
        }
        path.tasks.push(Task::One { procedure, arguments, handle });
    }

    /// Returns where the thread continues, and with what.
    fn exit(&mut self, path: &mut Path, mut label: Label) -> Exit {
        let procedure = path.frame().procedure;
        let code = &self.program.procedures[procedure.index()].code;
        // A way round and round through jumps alone is no place to arrive at: it is cut short.
        for _ in 0..code.len() {
            match code[label.index()].op {
                Op::Jump { to } => label = to,
                Op::Return { value: None } => return Exit::Returned,
                _ => break,
            }
        }
        let live = self.shape(procedure).live[label.index()].clone();
        let slots = live.into_iter().map(|slot| (slot, self.value(path, Operand::Slot(slot))));
        Exit::At(label, slots.collect())
    }

    pub(super) fn set(&mut self, path: &mut Path, slot: Slot, value: Value) {
        path.frame().slots[slot.index()] = Some(value);
    }

    pub(super) fn value(&mut self, path: &mut Path, operand: Operand) -> Value {
        let slot = match operand {
            Operand::Constant(value) => return Value::Number(Poly::constant(value)),
            Operand::Slot(slot) => slot,
        };
        let frame = path.frame();
        match &frame.slots[slot.index()] {
            Some(value) => value.clone(),
            // From before the block.
            None => {
                let ty = slot_type(self.program, frame.procedure, slot);
                Value::Number(self.words.opaque(Opaque::Local(self.side, slot), ty))
            }
        }
    }

    pub(super) fn number(&mut self, path: &mut Path, operand: Operand) -> Poly {
        self.value(path, operand).into_number()
    }

    /// Returns whether a boolean is true here.
    pub(super) fn holds(&mut self, path: &mut Path, condition: &Poly) -> Result<bool, Halt> {
        let zero = Poly::constant(0);
        self.decide(path, Relation::Equal, condition, &zero).map(|is_zero| !is_zero)
    }

    /// Returns whether a comparison is true here.
    pub(super) fn decide(
        &mut self,
        path: &mut Path,
        relation: Relation,
        left: &Poly,
        right: &Poly,
    ) -> Result<bool, Halt> {
        let lit = match relation {
            Relation::Equal => self.words.equal(left, right),
            Relation::Less => self.words.less(left, right),
        };
        let answer = self.settle(path, lit, Question::Compare(relation, left, right));
        if let Err(Halt::Fork(..)) = answer {
            self.comparisons.push((relation, left.clone(), right.clone()));
        }
        answer
    }

    /// Returns whether a literal, which answers the question, is true here; a fork if it can be both.
    pub(super) fn settle(
        &mut self,
        path: &mut Path,
        lit: Lit,
        question: Question<'_>,
    ) -> Result<bool, Halt> {
        if let Some(constant) = lit.as_constant() {
            return Ok(constant);
        }
        for (known, answer) in [(lit, true), (!lit, false)] {
            if path.known.contains(&known) {
                path.own.push(known);
                return Ok(answer);
            }
        }
        let seen = self.answers(path, question);
        let mut assumptions = path.conditions.clone();
        for (possible, answer) in [(!lit, true), (lit, false)] {
            if seen[usize::from(!answer)] {
                continue;
            }
            assumptions.push(possible);
            if !self.words.possible(&assumptions)? {
                path.known.insert(!possible);
                path.own.push(!possible);
                return Ok(answer);
            }
            assumptions.pop();
            path.witnesses.push(Rc::new(self.words.witness()));
        }
        let extra = path.witnesses.len().saturating_sub(self.caps.witnesses);
        path.witnesses.drain(..extra);
        let words = &self.words;
        let [if_true, if_false] = [true, false].map(|answer| {
            let agrees = |it: &&Rc<Witness>| it.answer(words, question) == Some(answer);
            path.witnesses.iter().filter(agrees).cloned().collect()
        });
        Err(Halt::Fork(lit, [if_true, if_false]))
    }

    /// Returns the answers, false and true, that were seen in states where the guard holds.
    pub(super) fn answers(&self, path: &Path, question: Question<'_>) -> [bool; 2] {
        let mut seen = [false; 2];
        for witness in &path.witnesses {
            if let Some(answer) = witness.answer(&self.words, question) {
                seen[usize::from(answer)] = true;
            }
        }
        seen
    }

    pub(super) fn kind(&self, global: GlobalId) -> Result<Kind, Halt> {
        let kind = Kind::of(self.program, global);
        kind.ok_or_else(|| GiveUp::TooLarge("it uses an object of an unsupported kind").into())
    }
}
