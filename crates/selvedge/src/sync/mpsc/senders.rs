//! How many senders a channel has.

use std::cell::Cell;

use selvedge_core::{Mode, ObjectId, Order};

use super::words;
use crate::rt::{Engine, Observed, Spot, Touch};

/// How many senders a channel has.
pub(super) struct Senders(Cell<usize>);

impl Senders {
    pub(super) fn one() -> Self {
        Self(Cell::new(1))
    }

    pub(super) fn are_gone(&self) -> bool {
        self.0.get() == 0
    }

    /// One more: its creator has one, so the difference is not visible. Under a memory model it is a step on the channel.
    pub(super) fn add(&self, channel: impl FnOnce(&Engine) -> ObjectId, spot: Spot) {
        if let Some(engine) = Engine::try_enter()
            && engine.asks()
        {
            let object = channel(&engine);
            let (mode, verb) = (Mode::Update, "clone a sender of");
            let touch = Touch { object, mode, verb, order: None };
            engine.word(object, 0).update(Order::Relaxed, &words::with_sender, &touch, spot);
        }
        self.0.set(self.0.get() + 1);
    }

    /// One less. `objects`: the channel, and its senders.
    pub(super) fn drop_one(
        &self,
        objects: impl FnOnce(&Engine) -> (ObjectId, ObjectId),
        spot: Spot,
    ) {
        if let Some(engine) = Engine::try_enter() {
            let (channel, object) = objects(&engine);
            let touch = Touch { object, mode: Mode::Arrive, verb: "drop one of", order: None };
            engine.update_word(channel, Order::AcqRel, &words::without_sender, &touch, spot);
            engine.observed(object, Observed::Changed(Mode::Pass));
            engine.note(|rt| format!("drop a sender of {}", rt.object_name(channel)));
        }
        self.0.set(self.0.get() - 1);
    }
}
