//! Spin loops under a memory model.
//!
//! A turn of a loop that only reads, and finds the same values again, is not a step that others can see. So when
//! a thread comes to the end of such a turn, it first goes on *silently*: it is told the same values again, without the
//! explorer. If it comes back in a state that it was in before, it can only go round: it waits until a location has
//! another value. Of several locations, the one that changes first is chosen; an execution in which another one has changed
//! in the end, and the chosen one has not, says nothing: `GraphProgram::judge`. If the thread does something else, such
//! turns count, and from then on each of them is explored; as that changes
//! what the thread is seen to do, the search starts again.

use selvedge_core::{Answer, Bits, Effect, Flexibility, Label, Location, Mode, ObjectId, Order};

use super::ask::Ask;
use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::labels::Turn;
use crate::operation::Operation;
use crate::runtime::{Call, Runtime};
use crate::state::clear_stack_below;
use crate::world::World;

impl<W: Hooks> Engine<W> {
    /// What the running thread, which goes on silently, is told. `None`: it does not, or no longer.
    pub(super) fn told_silently(&self, ask: &Ask<'_>) -> Option<Answer> {
        let rt = self.rt();
        let me = rt.now.current;
        let silent = rt.threads[me].asked.silent.as_ref()?;
        let of = |at| silent.reads.iter().find(|read| read.0 == at).map(|read| read.1);
        let again = match ask.label {
            Label::Load { at, .. } => of(at).map(Answer::Value),
            Label::Compare { at, expected, .. } => {
                of(at).filter(|&value| value != expected).map(Answer::Failed)
            }
            Label::Try { at, .. } => {
                of(at).filter(|&value| !(ask.satisfies)(value)).map(Answer::Failed)
            }
            Label::TryLock(at) => of(at).filter(|&value| value != 0).map(Answer::Failed),
            Label::Update { at, .. } => {
                of(at).filter(|&value| (ask.next)(value) == value).map(Answer::Value)
            }
            // An operation that could end without reason does not: that would only begin the next turn earlier.
            Label::Choose(_) => Some(Answer::Chosen(0)),
            // What a turn that is left out would have ordered, the next one does.
            Label::Fence(_) => Some(Answer::Done),
            _ => None,
        };
        if again.is_none() {
            self.ends_silently();
        }
        again
    }

    /// The running thread does something else: if it went on silently, such turns of its loop count.
    pub(super) fn ends_silently(&self) {
        let rt = self.rt();
        let me = rt.now.current;
        if let Some(silent) = rt.threads[me].asked.silent.take() {
            let place = rt.threads[me].paused_at;
            if rt.shared.learned.counting.borrow_mut().note(me, place, silent.turn) {
                rt.learn();
            }
        }
    }

    /// Notes what an operation of the running thread did in this turn.
    pub(super) fn note_turn(&self, ask: &Ask<'_>, answer: Answer) {
        let rt = self.rt();
        let asked = &mut rt.threads[rt.now.current].asked;
        let read = match (ask.label, answer) {
            (Label::Load { at, .. }, Answer::Value(value))
            | (
                Label::Compare { at, .. } | Label::Try { at, .. } | Label::TryLock(at),
                Answer::Failed(value),
            ) => Some((at, value)),
            (Label::Update { at, .. }, Answer::Value(value)) if (ask.next)(value) == value => {
                Some((at, value))
            }
            _ => None,
        };
        match read {
            Some(read) => asked.turn.push(read),
            None if matches!(ask.label, Label::Choose(_) | Label::Fence(_)) => {}
            None => asked.turn.clear(),
        }
    }

    /// The end of a turn of a loop.
    pub fn pause_asked(&self, verb: &'static str, spot: W::Spot) {
        clear_stack_below();
        self.call(Call::Turn(spot));
        let me = self.me();
        let ends = &mut self.rt().threads[me].asked.ends;
        if let Turn::Waits(reads) = std::mem::replace(ends, Turn::GoesOn) {
            self.wait_for_change(&reads, verb, spot);
        }
    }

    /// Waits until one of these locations has another value.
    fn wait_for_change(&self, reads: &[(Location, Bits)], verb: &'static str, spot: W::Spot) {
        let rt = self.rt();
        let Some(labels) = rt.labels.as_ref() else { return };
        let objects: Vec<ObjectId> = reads.iter().map(|read| labels.object(read.0)).collect();
        let waits = Waits { objects: &objects, verb };
        let first = self.choose(reads.len() as u32, &waits, spot) as usize;
        let (Some(&(at, value)), Some(&object)) = (reads.get(first), objects.get(first)) else {
            return;
        };
        if reads.len() > 1 {
            self.rt().threads[self.me()].asked.several_changes = reads.to_vec();
        }
        let label = Label::Await { at, order: Order::Relaxed, update: false };
        let satisfies = |other| other != value;
        let ask = Ask { label, satisfies: &satisfies, next: &|bits| bits };
        self.ask(&ask, &waits, spot);
        self.note(|rt| format!("{verb}: {} has changed", rt.object_name(object)));
        let rt = self.rt();
        let asked = &mut rt.threads[rt.now.current].asked;
        asked.turn.clear();
        asked.several_changes.clear();
    }
}

/// Waits until one of some objects has another value.
struct Waits<'a> {
    objects: &'a [ObjectId],
    verb: &'static str,
}

impl<W: World> Operation<Runtime<W>> for Waits<'_> {
    /// What is left of an execution does not go round.
    fn is_enabled(&self, _rt: &Runtime<W>, _me: usize) -> bool {
        false
    }

    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, effect: &mut Effect) {
        for &object in self.objects {
            effect.footprint.add(object, Mode::Read);
        }
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        self.verb.to_owned()
    }

    fn waits_for(&self, rt: &Runtime<W>, _me: usize) -> Option<(String, Vec<usize>)> {
        let names: Vec<String> =
            self.objects.iter().map(|&object| rt.object_name(object)).collect();
        Some((format!("spins, and waits for a change of {}", names.join(" or ")), Vec::new()))
    }
}
