//! Spin loops under a memory model.
//!
//! A turn of a loop that only reads one location, and finds the same value again, is not a step that others can see. So when
//! a thread comes to the end of such a turn, it first goes on *silently*: it is told the same value again, without the
//! explorer. If it comes back in a state that it was in before, it can only go round: it waits until the location has
//! another value. If it does something else, its turns count, and from then on each of them is explored; as that changes
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
        let (at, value) = (silent.at, silent.value);
        let again = match ask.label {
            Label::Load { at: other, .. } if other == at => Some(Answer::Value(value)),
            Label::Compare { at: other, expected, .. } if other == at && expected != value => {
                Some(Answer::Failed(value))
            }
            Label::Update { at: other, .. } if other == at && (ask.next)(value) == value => {
                Some(Answer::Value(value))
            }
            _ => None,
        };
        if again.is_none() {
            self.ends_silently();
        }
        again
    }

    /// The running thread does something else: if it went on silently, the turns of its loop count.
    pub(super) fn ends_silently(&self) {
        let rt = self.rt();
        let me = rt.now.current;
        if rt.threads[me].asked.silent.take().is_some() {
            let key = (me, rt.threads[me].paused_at);
            if rt.shared.learned.counting.borrow_mut().insert(key) {
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
            | (Label::Compare { at, .. }, Answer::Failed(value)) => Some((at, value)),
            (Label::Update { at, .. }, Answer::Value(value)) if (ask.next)(value) == value => {
                Some((at, value))
            }
            _ => None,
        };
        match read {
            Some(read) => asked.turn.push(read),
            None => asked.turn.clear(),
        }
    }

    /// The end of a turn of a loop.
    pub fn pause_asked(&self, verb: &'static str, spot: W::Spot) {
        clear_stack_below();
        self.call(Call::Turn(spot));
        let me = self.me();
        match self.rt().threads[me].asked.ends {
            Turn::GoesOn => {}
            Turn::Waits(at, value) => self.wait_for_change(at, value, verb, spot),
            Turn::WaitsForSeveral => {
                let name = self.rt().thread_name(me);
                self.give_up_all(format!(
                    "{name}, in the spin loop at {spot}, waits for one of several atomics to change: that is not supported \
                     under a memory model yet; check this code without one"
                ));
            }
        }
    }

    fn wait_for_change(&self, at: Location, value: Bits, verb: &'static str, spot: W::Spot) {
        let rt = self.rt();
        let Some(labels) = rt.labels.as_ref() else { return };
        let object = labels.object(at);
        let label = Label::Await { at, order: Order::Relaxed, update: false };
        let satisfies = |other| other != value;
        let ask = Ask { label, satisfies: &satisfies, next: &|bits| bits };
        self.ask(&ask, &Waits { object, verb }, spot);
        self.note(|rt| format!("{verb}: {} has changed", rt.object_name(object)));
        let rt = self.rt();
        rt.threads[rt.now.current].asked.turn.clear();
    }
}

/// Waits until a location has another value.
struct Waits {
    object: ObjectId,
    verb: &'static str,
}

impl<W: World> Operation<Runtime<W>> for Waits {
    /// What is left of an execution does not go round.
    fn is_enabled(&self, _rt: &Runtime<W>, _me: usize) -> bool {
        false
    }

    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.object, Mode::Read);
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        self.verb.to_owned()
    }

    fn waits_for(&self, rt: &Runtime<W>, _me: usize) -> Option<(String, Vec<usize>)> {
        let name = rt.object_name(self.object);
        Some((format!("spins, and waits for a change of {name}"), Vec::new()))
    }
}
