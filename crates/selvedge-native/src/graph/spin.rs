//! Spin loops under a memory model.
//!
//! A turn of a loop that only reads one atomic, and finds the same value again, is not a step that others can see. So when a
//! thread comes back to a place where it read an atomic, and has read nothing else, it first continues *silently*: it is told
//! the same value again, without the explorer. If it comes back with the registers and the stack that it had before, it can
//! only go round: it waits until the location has another value. If it does something else, its turns count, and from then on
//! each of them is explored; as that changes what the thread is seen to do, the search begins again.

use selvedge_core::{Answer, Bits, Location};

use super::asked::{Look, Silent};
use crate::entry::At;
use crate::machine::Machine;
use crate::op::{How, Op};
use crate::spin;

/// So many turns are silent.
const TURNS: usize = 8;

impl Machine {
    /// A thread comes to an atomic operation. Returns what it is told without the explorer, if it may only go round.
    /// `again`: what it is told if it finds the same value again, if it does nothing then.
    pub(super) fn comes_round(
        &mut self,
        here: At,
        (address, size): (usize, usize),
        again: &dyn Fn(Bits) -> Option<Answer>,
    ) -> Option<Answer> {
        let (me, pc) = (here.me, here.pc);
        if self.threads[me].asked.silent.is_none() && self.threads[me].asked.turn.is_empty() {
            return None;
        }
        let mut objects = crate::objects::Ids::new();
        self.shared.objects.borrow_mut().cells(address, size, &mut objects);
        let &[object] = objects.as_slice() else { return None };
        let at = self.locate_cell(object);
        let state = spin::state(me, here.frame, self.threads[me].top)?;
        match &mut self.threads[me].asked.silent {
            Some(silent) if silent.at == at && again(silent.value).is_some() => {
                if silent.pc == pc {
                    if silent.states.contains(&state) {
                        // It waits: `waits_for_change` says for what.
                        return None;
                    }
                    if silent.states.len() >= TURNS {
                        self.ends_silently(me);
                        return None;
                    }
                    silent.states.push(state);
                }
                again(silent.value)
            }
            Some(_) => {
                self.ends_silently(me);
                None
            }
            None => self.begins_silently((me, pc), at, state, again),
        }
    }

    fn begins_silently(
        &mut self,
        (me, pc): (usize, usize),
        at: Location,
        state: u128,
        again: &dyn Fn(Bits) -> Option<Answer>,
    ) -> Option<Answer> {
        if self.shared.learned.counts(me, pc) {
            return None;
        }
        let turn = &self.threads[me].asked.turn;
        let before = turn.iter().rposition(|look| look.pc == pc && look.at == at)?;
        let value = turn.last()?.value;
        let is_alone = turn[before..].iter().all(|look| look.at == at && look.value == value);
        if !is_alone || again(value).is_none() {
            return None;
        }
        self.threads[me].asked.silent = Some(Silent { pc, at, value, states: vec![state] });
        again(value)
    }

    /// A thread that continues silently does something else: the turns of its loop count.
    pub(super) fn ends_silently(&mut self, me: usize) {
        if let Some(silent) = self.threads[me].asked.silent.take()
            && self.shared.learned.note_counts(me, silent.pc)
        {
            self.shared.learned.news.set(true);
        }
    }

    /// Whether an operation that is no atomic access takes place without the explorer, since its thread continues silently.
    pub(super) fn goes_silently(&mut self, me: usize, op: Op) -> bool {
        if self.threads[me].asked.silent.is_none() {
            return false;
        }
        // A plain read finds the same unless it races.
        let reads = matches!(op, Op::Access { how: How(0), .. });
        if !reads {
            self.ends_silently(me);
        }
        reads
    }

    /// Returns the value that a thread which comes to a location has to see changed, if it can only go round.
    pub(super) fn waits_for_change(&mut self, me: usize, at: Location) -> Option<Bits> {
        let silent = self.threads[me].asked.silent.take()?;
        self.threads[me].asked.turn.clear();
        (silent.at == at).then_some(silent.value)
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
