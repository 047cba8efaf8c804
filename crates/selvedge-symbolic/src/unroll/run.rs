//! Runs the code of a thread symbolically, place by place.

use std::collections::BTreeMap;

use selvedge_core::ViolationKind;
use selvedge_lang::ir::{Instruction, Label, Op, ProcedureId, SiteId};

use super::events::{Event, EventId};
use super::state::{Frame, Jump, Key, Section, State};
use super::{Cut, CutReason, FaultSite, Stop, Unrolled};
use crate::caps::Caps;
use crate::circuit::Word;
use crate::solver::Lit;
use selvedge_core::{Budget, Spent};

/// The places that are still to be visited.
pub(super) type Pending = BTreeMap<Key, State>;

/// For whom code is run.
pub(super) enum Runner {
    /// A thread.
    Thread(usize),
    /// A look at the final state that changes nothing: `finally`, or whether a section waits.
    Look(Look),
}

impl Runner {
    /// Returns the thread, if it is one.
    pub(super) fn thread(&self) -> Option<usize> {
        match self {
            Runner::Thread(thread) => Some(*thread),
            Runner::Look(_) => None,
        }
    }
}

/// The running thread: which it is, what it knows, and which instruction it is at.
pub(super) struct Turn<'a> {
    pub(super) runner: &'a mut Runner,
    pub(super) state: &'a mut State,
    pub(super) site: SiteId,
}

/// A look at the final state.
#[derive(Default)]
pub(super) struct Look {
    /// What it wrote, with the condition.
    pub(super) written: BTreeMap<super::CellId, (Lit, Word)>,
    /// Whether it stands at an `await` that is false.
    pub(super) blocked: Vec<Lit>,
    pub(super) faults: Vec<FaultSite>,
    /// Whether it ends with the section in which it starts.
    pub(super) is_section: bool,
}

/// What a visit of a place needs and adds to.
struct Visit<'a> {
    runner: &'a mut Runner,
    pending: &'a mut Pending,
    ended: &'a mut Vec<Lit>,
    budget: &'a Budget,
}

/// Why an instruction is not followed.
enum Halt {
    /// It has no encoding, or goes too far.
    Cut(CutReason),
    /// The budget is spent.
    Stopped(Spent),
}

impl From<CutReason> for Halt {
    fn from(reason: CutReason) -> Self {
        Halt::Cut(reason)
    }
}

impl From<Spent> for Halt {
    fn from(spent: Spent) -> Self {
        Halt::Stopped(spent)
    }
}

impl Unrolled {
    pub(super) fn run_thread(&mut self, thread: usize, budget: &Budget) -> Result<(), Spent> {
        let instance = &self.threads[thread];
        let start = instance.start;
        let (procedure, arguments) = (instance.procedure, instance.arguments.clone());
        let mut state = State {
            guard: start,
            control: Lit::TRUE,
            frames: Vec::new(),
            last: vec![(Lit::TRUE, None)],
            holds: BTreeMap::new(),
            section: None,
        };
        state.frames.push(self.new_frame(procedure, arguments));
        let ended = self.run(&mut Runner::Thread(thread), state, budget)?;
        let finished = self.threads[thread].finished;
        let ended = self.circuit.any(&ended);
        self.circuit.require(&[!finished, ended]);
        self.circuit.require(&[finished, !ended]);
        Ok(())
    }

    /// Runs a state and all that follows. Returns the guards of those that came to the end.
    pub(super) fn run(
        &mut self,
        runner: &mut Runner,
        state: State,
        budget: &Budget,
    ) -> Result<Vec<Lit>, Spent> {
        let mut pending = Pending::new();
        let mut ended = Vec::new();
        let mut places = 0;
        self.add(&mut pending, state);
        while let Some((_, mut state)) = pending.pop_first() {
            budget.check()?;
            state.note_head();
            let frame = state.frame();
            let Instruction { op, site } =
                self.program.procedures[frame.procedure.index()].code[frame.pc].clone();
            places += 1;
            self.transitions += 1;
            let Caps { places: most_places, clauses: most_clauses, .. } = self.caps;
            if places > most_places || self.circuit.solver.size().clauses > most_clauses {
                let reason = match places > most_places {
                    true => format!("a thread with more than {most_places} unrolled instructions"),
                    false => format!("a formula with more than {most_clauses} clauses"),
                };
                self.cut(&state, site, CutReason::Unsupported(reason));
                continue;
            }
            let mut visit = Visit { runner, pending: &mut pending, ended: &mut ended, budget };
            match self.instruction(&mut visit, state.clone(), op, site) {
                Ok(()) => {}
                Err(Halt::Cut(reason)) => self.cut(&state, site, reason),
                Err(Halt::Stopped(spent)) => return Err(spent),
            }
        }
        Ok(ended)
    }

    /// Runs one instruction.
    fn instruction(
        &mut self,
        visit: &mut Visit<'_>,
        mut state: State,
        op: Op,
        site: SiteId,
    ) -> Result<(), Halt> {
        let Visit { runner, pending, ended, budget } = visit;
        let here = state.frame().pc;
        match op {
            Op::Jump { to } => self.jump(pending, state, to.index(), site),
            Op::Branch { condition, then, otherwise } => {
                let condition = state.condition(condition);
                for (condition, to) in [(condition, then), (!condition, otherwise)] {
                    let mut state = state.clone();
                    state.guard = self.circuit.and(state.guard, condition);
                    state.control = self.circuit.and(state.control, condition);
                    self.jump(pending, state, to.index(), site);
                }
            }
            Op::Call { procedure, arguments, .. } => {
                let depth = state.frames.iter().filter(|frame| frame.procedure == procedure);
                let depth = depth.count() as u32;
                if depth > 0 {
                    self.repetitions.push((depth, state.guard));
                }
                if depth > self.depth.repetitions {
                    self.cut(&state, site, CutReason::Bound);
                    return Ok(());
                }
                let arguments = arguments.iter().map(|&value| state.operand(value, 32)).collect();
                let frame = self.new_frame(procedure, arguments);
                state.frames.push(frame);
                self.add(pending, state);
            }
            Op::Return { value } => {
                let result = value.map(|value| state.operand(value, 32));
                state.frames.pop();
                let Some(caller) = state.frames.last() else {
                    ended.push(state.guard);
                    return Ok(());
                };
                let (procedure, pc) = (caller.procedure, caller.pc);
                let call = &self.program.procedures[procedure.index()].code[pc].op;
                if let (Op::Call { target: Some(target), .. }, Some(result)) = (call, result) {
                    let target = *target;
                    let width = self.slot_width(procedure, target);
                    state.set_slot(target, result.resized(width));
                }
                self.jump(pending, state, pc + 1, site);
            }
            Op::AtomicBegin { .. } => {
                let turn = &mut Turn { runner, state: &mut state, site };
                self.begin_section(turn, budget)?;
                self.jump(pending, state, here + 1, site);
            }
            Op::AtomicEnd { .. } => {
                let closed = state.section.as_mut().is_some_and(|section| {
                    section.depth -= 1;
                    section.depth == 0
                });
                if closed {
                    state.section = None;
                    if matches!(runner, Runner::Look(look) if look.is_section) {
                        return Ok(());
                    }
                }
                self.jump(pending, state, here + 1, site);
            }
            // What they are part of is the event before, which has been made.
            Op::Ghost(_) => {
                return Err(CutReason::Unsupported("ghost variables".to_owned()).into());
            }
            op if !op.is_visible() => {
                self.local(&mut Turn { runner, state: &mut state, site }, &op);
                self.jump(pending, state, here + 1, site);
            }
            op => {
                self.visible(&mut Turn { runner, state: &mut state, site }, &op)?;
                self.jump(pending, state, here + 1, site);
            }
        }
        Ok(())
    }

    fn jump(&mut self, pending: &mut Pending, mut state: State, to: usize, site: SiteId) {
        let procedure = state.frame().procedure;
        let loops = std::mem::take(&mut self.loops[procedure.index()]);
        let jump = state.go_to(to, &loops);
        self.loops[procedure.index()] = loops;
        if let Jump::Repeats(count) = jump
            && state.guard != Lit::FALSE
        {
            self.repetitions.push((count, state.guard));
            if count > self.depth.repetitions {
                self.cut(&state, site, CutReason::Bound);
                return;
            }
        }
        self.add(pending, state);
    }

    fn add(&mut self, pending: &mut Pending, state: State) {
        if state.guard == Lit::FALSE {
            return;
        }
        let key = state.key();
        let merged = match pending.remove(&key) {
            Some(other) => other.merge(state, &mut self.circuit),
            None => state,
        };
        pending.insert(key, merged);
    }

    pub(super) fn new_frame(&mut self, procedure: ProcedureId, arguments: Vec<Word>) -> Frame {
        let slots = self.program.procedures[procedure.index()].slots.len();
        let mut frame = Frame { procedure, pc: 0, slots: vec![None; slots], loops: Vec::new() };
        for (i, argument) in arguments.into_iter().enumerate() {
            let slot = selvedge_lang::ir::Slot::new(i);
            frame.slots[i] = Some(argument.resized(self.slot_width(procedure, slot)));
        }
        // The first instruction may be the head of a loop.
        for l in self.loops[procedure.index()].iter().filter(|l| l.head == 0) {
            frame.loops.push(super::state::LoopAt {
                head: l.head,
                iteration: 0,
                repetitions: 0,
                control: Lit::TRUE,
            });
        }
        frame
    }

    pub(super) fn slot_width(
        &self,
        procedure: ProcedureId,
        slot: selvedge_lang::ir::Slot,
    ) -> usize {
        super::cells::width(self.program.procedures[procedure.index()].slots[slot.index()].ty)
    }

    /// The unrolling ends here. A section that has no encoding is not run: half of it would be no step of any execution.
    /// Its thread stands before it.
    pub(super) fn cut(&mut self, state: &State, site: SiteId, reason: CutReason) {
        let place = self.place(site);
        let mut lit = state.guard;
        let section = state.section.and_then(|section| section.event);
        if matches!(reason, CutReason::Unsupported(_))
            && let Some(event) = section
            && let Some(stop) = self.stops.iter().rev().find(|stop| stop.event == event)
        {
            lit = stop.lit;
            self.circuit.require(&[!state.guard]);
        }
        self.cuts.push(Cut { lit, reason, place });
    }

    /// Something is wrong if `condition` holds; else the thread continues.
    pub(super) fn fault(&mut self, turn: &mut Turn<'_>, condition: Lit, kind: ViolationKind) {
        let lit = self.circuit.and(turn.state.guard, condition);
        if lit == Lit::FALSE {
            return;
        }
        turn.state.guard = self.circuit.and(turn.state.guard, !condition);
        match turn.runner {
            Runner::Thread(thread) => {
                let lit = self.first_step_fails(*thread, turn.state, turn.site, lit);
                self.faults.push(FaultSite { lit, site: turn.site, kind, thread: Some(*thread) });
            }
            Runner::Look(look) => {
                look.faults.push(FaultSite { lit, site: turn.site, kind, thread: None });
            }
        }
    }

    /// Code before the first step of a thread fails in a step of its own. Returns whether there is a fault:
    /// `lit`, unless the thread stops before that step.
    fn first_step_fails(&mut self, thread: usize, state: &State, site: SiteId, lit: Lit) -> Lit {
        let Some(&(condition, _)) = state.last.iter().find(|(_, event)| event.is_none()) else {
            return lit;
        };
        let guard = self.circuit.and(lit, condition);
        if guard == Lit::FALSE {
            return lit;
        }
        let mut failing = State { guard, last: vec![(Lit::TRUE, None)], ..state.clone() };
        self.new_event(thread, &mut failing, site, false);
        let later = self.circuit.and(lit, !condition);
        self.circuit.or(failing.guard, later)
    }

    /// Adds a step of `thread`, which comes to it with `state`. If it may stay undone, a stop is noted,
    /// and the state continues only if it is done.
    pub(super) fn new_event(
        &mut self,
        thread: usize,
        state: &mut State,
        site: SiteId,
        waits: bool,
    ) -> EventId {
        let event = EventId::new(self.events.len());
        if waits || self.depth.stops_anywhere {
            let goes = self.circuit.fresh();
            let lit = self.circuit.and(state.guard, !goes);
            state.guard = self.circuit.and(state.guard, goes);
            self.stops.push(Stop { event, lit, blocked: Lit::FALSE });
        }
        self.events.push(Event {
            thread,
            guard: state.guard,
            site,
            reads: BTreeMap::new(),
            writes: BTreeMap::new(),
            previous: std::mem::replace(&mut state.last, vec![(Lit::TRUE, Some(event))]),
            holds: state.held_for_sure(),
            takes: None,
            input: None,
            spawns: Vec::new(),
            joins: Vec::new(),
            wakes: Vec::new(),
        });
        self.threads[thread].events.push(event);
        event
    }

    fn begin_section(&mut self, turn: &mut Turn<'_>, budget: &Budget) -> Result<(), Spent> {
        if let Some(section) = &mut turn.state.section {
            section.depth += 1;
            return Ok(());
        }
        let event = match turn.runner {
            Runner::Look(_) => None,
            Runner::Thread(thread) => {
                let before = turn.state.clone();
                let waits = self.section_awaits(turn.state);
                let races = self.depth.stops_at_races;
                let stops = waits || races || self.lacks_encodings;
                let event = self.new_event(*thread, turn.state, turn.site, stops);
                if races {
                    let begin = (turn.state.frame().procedure, Label::new(turn.state.frame().pc));
                    self.note_block(event, waits.then_some(begin));
                }
                if waits {
                    self.try_section(before, budget)?;
                }
                Some(event)
            }
        };
        turn.state.section = Some(Section { event, depth: 1 });
        Ok(())
    }
}
