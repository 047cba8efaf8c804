//! Atomics under a memory model: the explorer decides what is read.
//!
//! The memory of an atomic has the newest of the values that were written so far, in modification order: for an exclusive
//! owner of the atomic, and for the teardown of an execution. The explorer knows addresses by name: `rt/named.rs`.

use selvedge_core::{Answer, Bits, Label, Location, Order};

use super::core::{Core, Exchange, Value};
use crate::rt::named::{named, value_of};
use crate::rt::{Ask, Compare, Engine, Spot, Touch};

impl<T: Value> Core<T> {
    fn location(&self, engine: &Engine, object: selvedge_core::ObjectId) -> Location {
        let initial = bits(engine, self.value.get());
        engine.location(object, || initial)
    }

    /// What a load reads.
    pub(super) fn ask_load(&self, engine: &Engine, touch: &Touch, order: Order, spot: Spot) -> T {
        let at = self.location(engine, touch.object);
        match engine.ask(&Ask::plain(Label::Load { at, order }), touch, spot) {
            Some(Answer::Value(bits)) => value(engine, bits),
            _ => self.value.get(),
        }
    }

    pub(super) fn ask_store(
        &self,
        engine: &Engine,
        touch: &Touch,
        value: T,
        order: Order,
        spot: Spot,
    ) {
        let at = self.location(engine, touch.object);
        let label = Label::Store { at, order, value: bits(engine, value) };
        let answer = engine.ask(&Ask::plain(label), touch, spot);
        if answer.is_none() || engine.is_newest() {
            self.value.set(value);
        }
    }

    /// What an update reads and writes.
    pub(super) fn ask_modify(
        &self,
        engine: &Engine,
        touch: &Touch,
        change: impl Fn(T) -> T,
        order: Order,
        spot: Spot,
    ) -> (T, T) {
        let at = self.location(engine, touch.object);
        let next = |old| bits(engine, change(value(engine, old)));
        let ask = Ask { label: Label::Update { at, order }, satisfies: &|_| true, next: &next };
        let answer = engine.ask(&ask, touch, spot);
        let old = match answer {
            Some(Answer::Value(bits)) => value(engine, bits),
            _ => self.value.get(),
        };
        let new = change(old);
        if answer.is_none() || engine.is_newest() {
            self.value.set(new);
        }
        (old, new)
    }

    /// What a compare-exchange reads, and whether it succeeds.
    pub(super) fn ask_exchange(
        &self,
        engine: &Engine,
        compare: &Compare<'_>,
        exchange: &Exchange<T>,
        weak: bool,
        spot: Spot,
    ) -> (T, bool) {
        let at = self.location(engine, compare.object);
        let &Exchange { expected, new, success, failure } = exchange;
        let weak = weak && engine.may_fail_without_reason(spot);
        let (expected, new_bits) = (bits(engine, expected), bits(engine, new));
        let label = Label::Compare { at, expected, new: new_bits, success, failure, weak };
        let answer = engine.ask(&Ask::plain(label), compare, spot);
        let (old, succeeds) = match answer {
            Some(Answer::Value(bits)) => (value(engine, bits), true),
            Some(Answer::Failed(bits)) => (value(engine, bits), false),
            _ => (self.value.get(), bits(engine, self.value.get()) == expected),
        };
        if weak && !succeeds && bits(engine, old) == expected {
            engine.failed_without_reason(spot);
        }
        if succeeds && (answer.is_none() || engine.is_newest()) {
            self.value.set(new);
        }
        (old, succeeds)
    }

    /// The owner has it for itself.
    pub(super) fn ask_own(&self, engine: &Engine, touch: &Touch, spot: Spot) {
        let at = self.location(engine, touch.object);
        engine.ask(&Ask::plain(Label::Access { at, write: true }), touch, spot);
        engine.lend(touch.object);
    }
}

/// A value as the explorer knows it.
fn bits<T: Value>(engine: &Engine, value: T) -> Bits {
    named(engine.rt(), value.bits())
}

/// The value that the explorer knows as this.
fn value<T: Value>(engine: &Engine, bits: Bits) -> T {
    T::from_bits(value_of(engine.rt(), bits))
}
