//! Spin loops under a memory model.
//!
//! A turn of a loop that only reads, and finds the same values again, is not a step that others can see. So when a thread
//! comes back to a place where it read an atomic, and has done nothing but read since, it first continues *silently*: it is
//! told the same values again, without the explorer. If it comes back with the registers and the stack that it had before,
//! it can only go round until one of its reads finds something else: which read is the first is chosen, and there it waits for
//! another value. If it does something else, such turns count, and from then on each of them is explored; as that changes
//! what the thread is seen to do, the search begins again.

use selvedge_core::{Answer, Bits, Counting, Location};

use super::asked::{Look, Silent};
use crate::entry::At;
use crate::machine::Machine;
use crate::op::{How, Op};
use crate::spin;

/// So many turns are silent.
const TURNS: usize = 8;

/// What becomes of an atomic operation of a thread that may go round.
pub(super) enum Round {
    /// The explorer is asked.
    Asks,
    /// It is told this without the explorer.
    Told(Answer),
    /// One of so many reads is chosen.
    Chooses(u32),
}

/// What an operation of a loop looks at.
#[derive(Clone, Copy)]
pub(super) enum Range {
    /// Memory.
    Cell(usize, usize),
    /// Something that has no value of the program.
    Lock(usize, usize),
}

/// Returns whether an operation that is no atomic access does nothing if it is repeated. A plain read finds the same unless it races.
pub(super) fn is_neutral(op: Op) -> bool {
    matches!(op, Op::Access { how: How(0), .. } | Op::Fence { .. })
}

impl Machine {
    /// A thread comes to an atomic operation. `again`: what it is told if it finds a value, if it does nothing then but find
    /// it.
    pub(super) fn comes_round(
        &mut self,
        here: At,
        range: Range,
        again: &dyn Fn(Bits) -> Option<Answer>,
    ) -> Round {
        let me = here.me;
        let asked = &self.threads[me].asked;
        if asked.silent.is_none() && asked.turn.is_empty() {
            return Round::Asks;
        }
        let mut objects = crate::objects::Ids::new();
        let (Range::Cell(address, size) | Range::Lock(address, size)) = range;
        if self.shared.objects.borrow_mut().cells(address, size, &mut objects) {
            self.shared.learned.news.set(true);
        }
        let state = spin::state(me, here.frame, self.threads[me].top);
        let is_one = objects.len() == 1 || matches!(range, Range::Lock(..));
        let (Some(&object), Some(state)) = (objects.first().filter(|_| is_one), state) else {
            self.ends_silently(me);
            return Round::Asks;
        };
        let at = match range {
            Range::Cell(..) => self.locate_cell(object),
            Range::Lock(..) => self.locate(object, crate::marks::early(address).unwrap_or(0)),
        };
        match self.threads[me].asked.silent.is_some() {
            true => self.goes_on_round(me, (here.pc, at), state, again),
            false => self.begins_round(me, (here.pc, at), state, again),
        }
    }

    fn begins_round(
        &mut self,
        me: usize,
        (pc, at): (usize, Location),
        state: u128,
        again: &dyn Fn(Bits) -> Option<Answer>,
    ) -> Round {
        let turn = &self.threads[me].asked.turn;
        let before = turn.iter().rposition(|look| look.pc == pc && look.at == at);
        let Some(before) = before else { return Round::Asks };
        let turn: Vec<Look> = turn[before..].to_vec();
        let number = Counting::<usize>::turn(Some(state), &turn);
        if self.shared.learned.counts(me, pc, number, self.shared.caps.counting) {
            return Round::Asks;
        }
        // What it found first is what it would find again.
        let is_steady =
            |look: &Look| turn.iter().all(|it| it.at != look.at || it.value == look.value);
        match again(turn[0].value) {
            Some(answer) if turn.iter().all(is_steady) => {
                let silent = Silent { turn, number, next: 1, states: vec![state], waits: None };
                self.threads[me].asked.silent = Some(silent);
                Round::Told(answer)
            }
            _ => Round::Asks,
        }
    }

    fn goes_on_round(
        &mut self,
        me: usize,
        (pc, at): (usize, Location),
        state: u128,
        again: &dyn Fn(Bits) -> Option<Answer>,
    ) -> Round {
        let Some(silent) = &mut self.threads[me].asked.silent else { return Round::Asks };
        let nth = silent.next % silent.turn.len();
        let look = silent.turn[nth];
        let answer = again(look.value).filter(|_| (look.pc, look.at) == (pc, at));
        let Some(answer) = answer else {
            self.ends_silently(me);
            return Round::Asks;
        };
        if nth == 0 && silent.waits.is_none() {
            if silent.states.contains(&state) {
                let reads = silent.turn.len() as u32;
                if reads > 1 {
                    return Round::Chooses(reads);
                }
                silent.waits = Some(0);
            } else if silent.states.len() >= TURNS {
                self.ends_silently(me);
                return Round::Asks;
            } else {
                silent.states.push(state);
            }
        }
        if silent.waits == Some(nth) {
            // `waits_for_change` says for what.
            return Round::Asks;
        }
        silent.next += 1;
        Round::Told(answer)
    }

    /// The read that finds something else first is chosen.
    pub(super) fn waits_at(&mut self, me: usize, read: u32) {
        if let Some(silent) = &mut self.threads[me].asked.silent {
            silent.waits = Some(read as usize);
        }
    }

    /// A thread that continues silently does something else: such turns of its loop count.
    pub(crate) fn ends_silently(&mut self, me: usize) {
        if let Some(silent) = self.threads[me].asked.silent.take()
            && self.shared.learned.note_counts(me, silent.turn[0].pc, silent.number)
        {
            self.shared.learned.news.set(true);
        }
    }

    /// Returns whether an operation that is no atomic access takes place without the explorer, since its thread continues silently.
    pub(super) fn goes_silently(&mut self, me: usize, op: Op) -> bool {
        if self.threads[me].asked.silent.is_none() {
            return false;
        }
        let is_neutral = is_neutral(op);
        if !is_neutral {
            self.ends_silently(me);
        }
        is_neutral
    }

    /// Notes that an operation which may fail did so, or not.
    pub(super) fn note_tried(&mut self, here: At, answer: Option<Answer>) {
        match answer {
            Some(Answer::Failed(value)) => self.note_told(here, false, value),
            _ => self.note_told(here, true, 0),
        }
    }

    /// Returns the value that a thread has to see changed, if it can only go round.
    pub(super) fn waits_for_change(&mut self, me: usize) -> Option<Bits> {
        let asked = &mut self.threads[me].asked;
        asked.looks.clear();
        let silent = asked.silent.take()?;
        asked.turn.clear();
        let value = silent.turn[silent.waits?].value;
        asked.looks = silent.turn;
        Some(value)
    }

    /// Notes what an atomic operation of a thread means for the loop that it may be in.
    pub(super) fn note_told(&mut self, here: At, changes: bool, value: Bits) {
        let thread = &mut self.threads[here.me];
        if thread.asked.silent.is_some() {
            return;
        }
        if changes {
            thread.asked.used.clear();
            return thread.asked.turn.clear();
        }
        let Some(&object) = thread.objects.first() else { return };
        let at = self.locate_cell(object);
        let turn = &mut self.threads[here.me].asked.turn;
        turn.push(Look { pc: here.pc, at, value });
        let most = self.shared.caps.looks;
        if turn.len() > most {
            turn.drain(..most.div_ceil(2));
        }
    }
}
