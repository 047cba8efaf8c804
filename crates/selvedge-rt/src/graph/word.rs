//! Words: the state of a primitive as a number that the explorer keeps.
//!
//! What a primitive has in real memory beside its word is right if every operation that changes it updates the word: updates
//! of one location are a chain, and each is told after the one that it reads.

use selvedge_core::{Answer, Bits, Label, Location, ObjectId, Order};

use super::ask::Ask;
use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::operation::Operation;
use crate::runtime::Runtime;

/// A number that belongs to an object. `None` as the result of an operation: what is left of the execution is run to its
/// end, and the operation takes place in real memory.
pub struct Word<'a, W: Hooks> {
    engine: &'a Engine<W>,
    at: Location,
}

impl<W: Hooks> Engine<W> {
    /// The word of an object. `initial`: its value before its first operation.
    pub fn word(&self, object: ObjectId, initial: Bits) -> Word<'_, W> {
        Word { engine: self, at: self.location(object, || initial) }
    }

    /// Takes the step of an operation that changes an object: an explorer of graphs is asked for the change of its word, which is 0
    /// at first; any other chooses the operation.
    #[inline]
    pub fn update_word(
        &self,
        object: ObjectId,
        order: Order,
        next: &dyn Fn(Bits) -> Bits,
        operation: &impl Operation<Runtime<W>>,
        spot: W::Spot,
    ) {
        match self.asks() {
            true => _ = self.word(object, 0).update(order, next, operation, spot),
            false => _ = self.visible(operation, spot),
        }
    }

    /// Returns whether an operation at `spot` that may end spuriously does so.
    pub fn asks_whim(&self, operation: &dyn Operation<Runtime<W>>, spot: W::Spot) -> bool {
        if !self.may_fail_without_reason(spot) {
            return false;
        }
        let answer = self.ask(&Ask::plain(Label::Choose(2)), operation, spot);
        let ends = answer == Some(Answer::Chosen(1));
        if ends {
            self.failed_without_reason(spot);
        }
        ends
    }

    /// Chooses one of so many.
    pub fn choose(&self, among: u32, operation: &dyn Operation<Runtime<W>>, spot: W::Spot) -> u32 {
        if among < 2 {
            return 0;
        }
        match self.ask(&Ask::plain(Label::Choose(among)), operation, spot) {
            Some(Answer::Chosen(choice)) => choice,
            _ => 0,
        }
    }
}

impl<W: Hooks> Word<'_, W> {
    /// Changes it. Returns what it was.
    pub fn update(
        &self,
        order: Order,
        next: &dyn Fn(Bits) -> Bits,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Bits> {
        let label = Label::Update { at: self.at, order };
        self.value(&Ask { label, satisfies: &|_| true, next }, operation, spot)
    }

    /// Waits until it is `ready`, and changes it in the same step. Returns what it was.
    pub fn wait_and_update(
        &self,
        order: Order,
        ready: &dyn Fn(Bits) -> bool,
        next: &dyn Fn(Bits) -> Bits,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Bits> {
        let label = Label::Await { at: self.at, order, update: true };
        self.value(&Ask { label, satisfies: ready, next }, operation, spot)
    }

    /// Waits until it is `ready`. Returns it.
    pub fn wait(
        &self,
        order: Order,
        ready: &dyn Fn(Bits) -> bool,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Bits> {
        let label = Label::Await { at: self.at, order, update: false };
        self.value(&Ask { label, satisfies: ready, next: &|bits| bits }, operation, spot)
    }

    /// Reads it.
    pub fn load(
        &self,
        order: Order,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Bits> {
        self.value(&Ask::plain(Label::Load { at: self.at, order }), operation, spot)
    }

    /// Writes it: by who keeps others from writing it.
    pub fn store(
        &self,
        order: Order,
        value: Bits,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) {
        let label = Label::Store { at: self.at, order, value };
        self.engine.ask(&Ask::plain(label), operation, spot);
    }

    /// Writes `new` if it is `expected`. Returns what it was, as an error if it was something else.
    pub fn compare_exchange(
        &self,
        (expected, new): (Bits, Bits),
        order: Order,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Result<Bits, Bits>> {
        let (at, success, failure, weak) = (self.at, order, order.of_read_part(), false);
        let label = Label::Compare { at, expected, new, success, failure, weak };
        match self.engine.ask(&Ask::plain(label), operation, spot)? {
            Answer::Value(value) => Some(Ok(value)),
            Answer::Failed(value) => Some(Err(value)),
            Answer::Chosen(_) | Answer::Done => None,
        }
    }

    /// Changes it if it is `ready`, in one step, and else only reads it. Returns what it was, as an error if it was not.
    /// What is read then may be older than what real memory has.
    pub fn attempt(
        &self,
        (success, failure): (Order, Order),
        ready: &dyn Fn(Bits) -> bool,
        next: &dyn Fn(Bits) -> Bits,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Result<Bits, Bits>> {
        let label = Label::Try { at: self.at, success, failure };
        match self.engine.ask(&Ask { label, satisfies: ready, next }, operation, spot)? {
            Answer::Value(value) => Some(Ok(value)),
            Answer::Failed(value) => Some(Err(value)),
            Answer::Chosen(_) | Answer::Done => None,
        }
    }

    fn value(
        &self,
        ask: &Ask<'_>,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<Bits> {
        match self.engine.ask(ask, operation, spot)? {
            Answer::Value(value) => Some(value),
            Answer::Failed(_) | Answer::Chosen(_) | Answer::Done => None,
        }
    }
}
