//! Visible instructions: variables, choices and threads here, what synchronises in `locks.rs`.

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{
    Choice, Global, MOST_ALTERNATIVES, Op, Operand, ProcedureId, Program, Semaphore, Slot, Thread,
    Variable,
};

use super::cells::{CellId, CellName, width};
use super::events::{EventId, Read, Write};
use super::run::{Runner, Turn};
use super::{CutReason, ThreadInstance, Unrolled};
use crate::caps::Caps;
use crate::circuit::{Range, Word};
use crate::solver::Lit;

/// Returns whether a program has an instruction that may have no encoding and can stand in an atomic block.
pub(super) fn lacks_encodings(program: &Program, caps: Caps) -> bool {
    let is_large = |global: &Global| global.elements() > caps.elements;
    let mut code = program.procedures.iter().flat_map(|procedure| &procedure.code);
    !program.invariants.is_empty()
        || !program.promises.is_empty()
        || program.globals.iter().any(is_large)
        || code.any(|instruction| has_no_encoding(&instruction.op))
}

fn has_no_encoding(op: &Op) -> bool {
    matches!(
        op,
        Op::Message(_)
            | Op::Channel(_)
            | Op::Container(_)
            | Op::Ghost(_)
            | Op::Thread(Thread::Await { .. })
            | Op::Semaphore(Semaphore::Count { .. })
    )
}

impl Unrolled {
    /// Runs one visible instruction: an event of its own, or a part of the section it is in.
    pub(super) fn visible(&mut self, turn: &mut Turn<'_>, op: &Op) -> Result<(), CutReason> {
        match op {
            // It may be false after any of them.
            _ if !self.program.invariants.is_empty() => {
                Err(CutReason::Unsupported("`always`".to_owned()))
            }
            // A formula is about executions that end.
            _ if !self.program.promises.is_empty() => {
                Err(CutReason::Unsupported("`eventually`, `leads_to` or `progress`".to_owned()))
            }
            Op::Variable(op) => self.variable(turn, op),
            Op::Choice(Choice::Choose { target, low, high }) => {
                self.choose(turn, *target, [*low, *high]);
                Ok(())
            }
            Op::Choice(Choice::Yield | Choice::Fence { .. }) => {
                self.here(turn);
                Ok(())
            }
            Op::Thread(Thread::Spawn { procedure, arguments, target }) => {
                self.spawn(turn, *target, *procedure, arguments)
            }
            Op::Thread(Thread::Join { thread }) => self.join(turn, *thread),
            Op::Thread(Thread::Await { .. }) => Err(CutReason::Unsupported("futures".to_owned())),
            Op::Message(_) => Err(CutReason::Unsupported("messages".to_owned())),
            Op::Channel(_) => Err(CutReason::Unsupported("channels".to_owned())),
            Op::Container(_) => Err(CutReason::Unsupported("lists and maps".to_owned())),
            op => self.synchronise(turn, op),
        }
    }

    /// Returns the event that an instruction belongs to; a new one if it is not in a section. `None` in a
    /// look.
    pub(super) fn here(&mut self, turn: &mut Turn<'_>) -> Option<EventId> {
        self.here_or_stop(turn, false)
    }

    /// As [`Self::here`]; the thread may also stop before a new one if it `stops`.
    fn here_or_stop(&mut self, turn: &mut Turn<'_>, stops: bool) -> Option<EventId> {
        match (turn.state.section, &*turn.runner) {
            (Some(section), _) => section.event,
            (None, Runner::Look(_)) => None,
            (None, Runner::Thread(thread)) => {
                Some(self.new_event(*thread, turn.state, turn.site, stops))
            }
        }
    }

    /// Returns what one of the elements holds: the one whose condition is true.
    pub(super) fn read(
        &mut self,
        runner: &mut Runner,
        at: Option<EventId>,
        guard: Lit,
        global: selvedge_lang::ir::GlobalId,
        elements: &[(Lit, u32)],
    ) -> Word {
        let mut found: Option<Word> = None;
        for &(condition, element) in elements {
            let cell = self.cell(CellName::Value(global, element));
            let guard = self.circuit.and(guard, condition);
            let word = self.read_cell(runner, at, cell, guard);
            found = Some(match found {
                Some(other) => self.circuit.choose_word(condition, &word, &other),
                None => word,
            });
        }
        found.unwrap_or_else(|| Word::integer(0))
    }

    /// Returns what the same step wrote to a cell so far, and whether it did.
    fn written(&self, runner: &Runner, at: Option<EventId>, cell: CellId) -> Option<(Lit, Word)> {
        match (at, runner) {
            (Some(event), _) => {
                let write = self.events[event.index()].writes.get(&cell);
                write.map(|write| (write.guard, write.value.clone()))
            }
            (None, Runner::Look(look)) => look.written.get(&cell).cloned(),
            (None, Runner::Thread(_)) => None,
        }
    }

    /// Returns what a cell holds, after what the same step wrote.
    pub(super) fn read_cell(
        &mut self,
        runner: &mut Runner,
        at: Option<EventId>,
        cell: CellId,
        guard: Lit,
    ) -> Word {
        let own = self.written(runner, at, cell);
        if let Some((written, word)) = &own
            && self.circuit.implies(guard, *written)
        {
            return word.clone();
        }
        let outside = match at {
            None => self.final_value(cell),
            Some(event) => self.read_outside(event, cell, guard),
        };
        match own {
            Some((written, word)) => self.circuit.choose_word(written, &word, &outside),
            None => outside,
        }
    }

    fn read_outside(&mut self, event: EventId, cell: CellId, guard: Lit) -> Word {
        if let Some(Read { guard: known, value }) = self.events[event.index()].reads.get(&cell) {
            let (known, value) = (*known, value.clone());
            let guard = self.circuit.or(known, guard);
            self.events[event.index()].reads.insert(cell, Read { guard, value: value.clone() });
            return value;
        }
        let value = self.circuit.fresh_word(self.cells[cell.index()].initial.width());
        self.events[event.index()].reads.insert(cell, Read { guard, value: value.clone() });
        value
    }

    pub(super) fn write_cell(
        &mut self,
        runner: &mut Runner,
        at: Option<EventId>,
        cell: CellId,
        guard: Lit,
        value: &Word,
    ) {
        if guard == Lit::FALSE {
            return;
        }
        let old = self.written(runner, at, cell);
        let (written, word) = match old {
            Some((written, old)) => {
                (self.circuit.or(written, guard), self.circuit.choose_word(guard, value, &old))
            }
            None => (guard, value.clone()),
        };
        match (at, runner) {
            (Some(event), _) => {
                let write = Write { guard: written, value: word };
                self.events[event.index()].writes.insert(cell, write);
            }
            (None, Runner::Look(look)) => {
                look.written.insert(cell, (written, word));
            }
            (None, Runner::Thread(_)) => {}
        }
    }

    fn variable(&mut self, turn: &mut Turn<'_>, op: &Variable) -> Result<(), CutReason> {
        let variable = op.variable();
        let elements = self.elements(turn.state, variable)?;
        let is_alone = turn.state.section.is_none() && turn.runner.thread().is_some();
        let races = is_alone && self.may_race(variable.global);
        let at = self.here_or_stop(turn, races);
        if races {
            self.note_racing(turn, op, &elements);
        }
        let width = width(self.program.globals[variable.global.index()].value_type());
        let read = |all: &mut Self, turn: &mut Turn<'_>| {
            all.read(turn.runner, at, turn.state.guard, variable.global, &elements)
        };
        let (result, new, changes) = match op {
            Variable::Read { target, .. } => {
                let old = read(self, turn);
                self.store(turn.state, *target, old);
                return Ok(());
            }
            Variable::Write { value, .. } => (None, turn.state.operand(*value, width), Lit::TRUE),
            Variable::CompareExchange { target, expected, new, .. } => {
                let old = read(self, turn);
                let expected = turn.state.operand(*expected, width);
                let same = self.circuit.equal_words(&old, &expected);
                let result = Some((*target, Word::boolean(same)));
                (result, turn.state.operand(*new, width), same)
            }
            Variable::FetchAdd { target, delta, .. } => {
                let old = read(self, turn);
                let (sum, overflow) = self.circuit.add(&old, &turn.state.operand(*delta, width));
                self.fault(turn, overflow, ViolationKind::Arithmetic);
                (Some((*target, old)), sum, Lit::TRUE)
            }
            Variable::Exchange { target, new, .. } => {
                (Some((*target, read(self, turn))), turn.state.operand(*new, width), Lit::TRUE)
            }
        };
        let guard = self.circuit.and(turn.state.guard, changes);
        for (condition, element) in elements {
            let cell = self.cell(CellName::Value(variable.global, element));
            let guard = self.circuit.and(guard, condition);
            self.write_cell(turn.runner, at, cell, guard, &new);
        }
        if let Some((target, word)) = result {
            self.store(turn.state, target, word);
        }
        Ok(())
    }

    /// A value from outside: any in the range.
    fn choose(&mut self, turn: &mut Turn<'_>, target: Slot, [low, high]: [Operand; 2]) {
        let (low, high) = (turn.state.operand(low, 32), turn.state.operand(high, 32));
        let Some(event) = self.here(turn) else { return };
        let some = self.circuit.less(&low, &high);
        self.fault(turn, !some, ViolationKind::Bounds);
        // One bit more, so that the difference does not overflow.
        let count = self.circuit.subtract(&high.resized(33), &low.resized(33)).0;
        let many = self.circuit.less(&Word::integer(MOST_ALTERNATIVES).resized(33), &count);
        self.fault(turn, many, ViolationKind::Resources);
        let range = match (low.as_constant(), high.as_constant()) {
            (Some(low), Some(high)) => Range { low: low.into(), high: i64::from(high) - 1 },
            _ => Range::of_width(32),
        };
        let value = self.circuit.fresh_word_in(range, 32);
        let least = self.circuit.at_most(&low, &value);
        let most = self.circuit.less(&value, &high);
        self.circuit.imply(&[turn.state.guard], &[least]);
        self.circuit.imply(&[turn.state.guard], &[most]);
        self.events[event.index()].input = Some((value.clone(), low));
        self.store(turn.state, target, value);
    }

    fn spawn(
        &mut self,
        turn: &mut Turn<'_>,
        target: Option<Slot>,
        procedure: ProcedureId,
        arguments: &[Operand],
    ) -> Result<(), CutReason> {
        let Runner::Thread(parent) = *turn.runner else { return Ok(()) };
        let generation = self.threads[parent].generation + 1;
        if generation > self.depth.repetitions + 1 {
            return Err(CutReason::Bound);
        }
        if self.threads.len() >= self.caps.threads {
            let reason = format!("more than {} threads", self.caps.threads);
            return Err(CutReason::Unsupported(reason));
        }
        let Some(event) = self.here(turn) else { return Ok(()) };
        let child = self.threads.len();
        let name = &self.program.procedures[procedure.index()].name;
        let siblings = self.events.iter().filter(|event| event.thread == parent);
        let nth = siblings.map(|event| event.spawns.len()).sum::<usize>() + 1;
        let name = format!("{}/{name}#{nth}", self.threads[parent].name);
        let finished = self.circuit.fresh();
        self.threads.push(ThreadInstance {
            parent: Some(event),
            start: turn.state.guard,
            daemon: self.program.procedures[procedure.index()].watches,
            finished,
            events: Vec::new(),
            name,
            procedure,
            arguments: arguments.iter().map(|&value| turn.state.operand(value, 32)).collect(),
            generation,
        });
        self.events[event.index()].spawns.push((turn.state.guard, child));
        if let Some(target) = target {
            self.store(turn.state, target, Word::integer(child as i32));
        }
        Ok(())
    }

    fn join(&mut self, turn: &mut Turn<'_>, thread: Operand) -> Result<(), CutReason> {
        let Runner::Thread(me) = *turn.runner else { return Ok(()) };
        let handle = turn.state.operand(thread, 32);
        let event = self.new_event(me, turn.state, turn.site, true);
        let mut waits = Vec::new();
        for other in 0..self.threads.len() {
            let condition = self.circuit.is(&handle, other as i32);
            if condition == Lit::FALSE {
                continue;
            }
            let finished = self.threads[other].finished;
            self.circuit.imply(&[turn.state.guard, condition], &[finished]);
            waits.push(self.circuit.and(condition, !finished));
            let condition = self.circuit.and(turn.state.guard, condition);
            self.events[event.index()].joins.push((condition, other));
        }
        let blocked = self.circuit.any(&waits);
        self.set_blocked(blocked);
        Ok(())
    }

    /// The step that was made last cannot be taken in the final state if `blocked`.
    pub(super) fn set_blocked(&mut self, blocked: Lit) {
        if let Some(stop) = self.stops.last_mut() {
            stop.blocked = blocked;
        }
    }
}
