//! A thread at one place of its unrolled code.

use std::collections::BTreeMap;

use selvedge_lang::ir::{Operand, ProcedureId, Slot};

use super::cells::CellId;
use super::events::EventId;
use crate::circuit::{Circuit, Word};
use crate::solver::Lit;

/// A thread at one place: where it is, when it comes there, and what it knows then.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Whether the thread comes here.
    pub(super) guard: Lit,
    /// Which way it went at branches, leaving apart whether it waits, fails or is dropped.
    pub(super) control: Lit,
    pub(super) frames: Vec<Frame>,
    /// Its most recent event, by condition; `None`: there was none.
    pub(super) last: Vec<(Lit, Option<EventId>)>,
    /// The locks that it holds. No other thread can acquire or release a lock in its name.
    pub(super) holds: BTreeMap<CellId, Lit>,
    /// The atomic section it is in.
    pub(super) section: Option<Section>,
}

/// An open atomic section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Section {
    /// The event that it is; `None` if it is only tried.
    pub(super) event: Option<EventId>,
    /// How many sections are open inside each other.
    pub(super) depth: u32,
}

/// A call.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) procedure: ProcedureId,
    pub(super) pc: usize,
    pub(super) slots: Vec<Option<Word>>,
    /// The loops around `pc`, outer ones first.
    pub(super) loops: Vec<LoopAt>,
}

/// A loop in which a frame is.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopAt {
    pub(super) head: usize,
    /// How often it jumped back.
    pub(super) iteration: u32,
    /// How often that was not decided by constants.
    pub(super) repetitions: u32,
    /// [`State::control`] when the head was passed.
    pub(super) control: Lit,
}

/// The order in which places are visited: that of the code, iteration by iteration, a call
/// right after its instruction. When a place is visited, all ways to it are known.
pub(super) type Key = Vec<u32>;

impl State {
    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("internal error: a thread without a frame")
    }

    /// Returns what a slot of the current frame holds.
    pub(super) fn slot(&self, slot: Slot) -> Word {
        let frame = self.frames.last().expect("internal error: a thread without a frame");
        let word = frame.slots[slot.index()].clone();
        word.expect("internal error: a slot is read before it is written")
    }

    pub(super) fn set_slot(&mut self, slot: Slot, word: Word) {
        self.frame().slots[slot.index()] = Some(word);
    }

    /// Returns the value of an operand with so many bits.
    pub(super) fn operand(&self, operand: Operand, width: usize) -> Word {
        match operand {
            Operand::Slot(slot) => self.slot(slot).resized(width),
            Operand::Constant(value) => Word::constant(value, width),
        }
    }

    /// Returns a condition.
    pub(super) fn condition(&self, operand: Operand) -> Lit {
        self.operand(operand, 1).truth()
    }

    /// Returns whether the thread holds a lock.
    pub(super) fn hold(&self, cell: CellId) -> Lit {
        self.holds.get(&cell).copied().unwrap_or(Lit::FALSE)
    }

    /// Returns the locks that the thread holds in any case.
    pub(super) fn held_for_sure(&self) -> Vec<CellId> {
        let sure = self.holds.iter().filter(|(_, hold)| **hold == Lit::TRUE);
        sure.map(|(&cell, _)| cell).collect()
    }

    pub(super) fn key(&self) -> Key {
        let mut key = Key::new();
        for frame in &self.frames {
            for at in &frame.loops {
                key.extend([at.head as u32, at.iteration]);
            }
            key.push(frame.pc as u32);
        }
        key
    }

    /// Goes to another instruction of the frame. `loops` are those of the procedure.
    pub(super) fn go_to(&mut self, to: usize, loops: &[super::loops::Loop]) -> Jump {
        let control = self.control;
        let frame = self.frame();
        let back = to <= frame.pc;
        frame.pc = to;
        frame.loops.retain(|at| loops.iter().any(|l| l.head == at.head && l.contains(to)));
        let mut jump = Jump::Ahead;
        if back && let Some(at) = frame.loops.iter_mut().find(|at| at.head == to) {
            at.iteration += 1;
            let is_endless = loops.iter().any(|l| l.head == to && l.is_endless);
            if at.control != control || is_endless {
                at.repetitions += 1;
                jump = Jump::Repeats(at.repetitions);
            }
            let head = at.head;
            frame.loops.retain(|at| at.head <= head);
        }
        for l in loops.iter().filter(|l| l.contains(to)) {
            if !frame.loops.iter().any(|at| at.head == l.head) {
                frame.loops.push(LoopAt { head: l.head, iteration: 0, repetitions: 0, control });
            }
        }
        jump
    }

    /// Notes what is known at the head of a loop, once all ways to it have met.
    pub(super) fn note_head(&mut self) {
        let control = self.control;
        let frame = self.frame();
        let pc = frame.pc;
        for at in frame.loops.iter_mut().filter(|at| at.head == pc) {
            at.control = control;
        }
    }

    /// Both ways to one place become one.
    pub(super) fn merge(mut self, other: State, circuit: &mut Circuit) -> State {
        let second = other.guard;
        if self.last != other.last {
            let mut last = Vec::new();
            for (guard, events) in [(self.guard, &self.last), (second, &other.last)] {
                for &(condition, event) in events {
                    last.push((circuit.and(guard, condition), event));
                }
            }
            self.last = join_same(last, circuit);
        }
        for (frame, theirs) in self.frames.iter_mut().zip(&other.frames) {
            for (slot, their) in frame.slots.iter_mut().zip(&theirs.slots) {
                match (&slot, their) {
                    (Some(mine), Some(their)) if mine.width() == their.width() => {
                        *slot = Some(circuit.choose_word(second, their, mine));
                    }
                    (None, Some(their)) => *slot = Some(their.clone()),
                    _ => {}
                }
            }
            for (at, their) in frame.loops.iter_mut().zip(&theirs.loops) {
                at.repetitions = at.repetitions.max(their.repetitions);
            }
        }
        let locks: Vec<CellId> = self.holds.keys().chain(other.holds.keys()).copied().collect();
        for lock in locks {
            let (mine, theirs) = (self.hold(lock), other.hold(lock));
            self.holds.insert(lock, circuit.choose(second, theirs, mine));
        }
        self.guard = circuit.or(self.guard, second);
        self.control = circuit.or(self.control, other.control);
        self
    }
}

/// Returns one entry per event.
fn join_same(
    entries: Vec<(Lit, Option<EventId>)>,
    circuit: &mut Circuit,
) -> Vec<(Lit, Option<EventId>)> {
    let mut joined: Vec<(Lit, Option<EventId>)> = Vec::new();
    for (condition, event) in entries {
        match joined.iter_mut().find(|(_, known)| *known == event) {
            Some((known, _)) => *known = circuit.or(*known, condition),
            None => joined.push((condition, event)),
        }
    }
    joined
}

/// What a jump is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Jump {
    /// Forward, or back by constants alone.
    Ahead,
    /// Back, for the how-manieth time that constants do not decide.
    Repeats(u32),
}
