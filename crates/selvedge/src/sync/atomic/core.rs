//! What all atomics have in common.

use std::cell::Cell;
use std::fmt::Debug;
use std::panic::Location;
use std::sync::atomic::Ordering;

use selvedge_core::{Mode, ObjectId, Order, ValueChange};

use crate::rt::counted::is_dropping;
use crate::rt::knowers::published;
use crate::rt::{
    Compare, Engine, Found, Header, Observed, Restorer, Runtime, Spot, Touch, ordering,
};

/// A value as bits, to see whether it has changed.
pub(super) trait Value: Copy + PartialEq + Debug {
    #[doc(hidden)]
    fn bits(self) -> u64;

    /// The value with these bits, which [`Self::bits`] gave.
    #[doc(hidden)]
    fn from_bits(bits: u64) -> Self;

    /// In a report.
    #[doc(hidden)]
    fn text(self, _rt: &Runtime) -> String {
        format!("{self:?}")
    }
}

/// An atomic cell.
pub(super) struct Core<T> {
    header: Header,
    pub(super) value: Cell<T>,
    kind: &'static str,
}

/// What a compare-exchange wants.
pub(super) struct Exchange<T> {
    pub(super) expected: T,
    pub(super) new: T,
    pub(super) success: Order,
    pub(super) failure: Order,
}

impl<T: Value> Core<T> {
    #[track_caller]
    pub(super) const fn new(value: T, kind: &'static str) -> Self {
        Self { header: Header::new(Location::caller()), value: Cell::new(value), kind }
    }

    #[inline]
    fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, self.kind, || {
            // SAFETY: what outlives an execution is not freed before the check is over, and no thread is
            // left when it is set back.
            unsafe { Restorer::of(self.value.as_ptr()) }
        })
    }

    #[inline]
    #[track_caller]
    pub(super) fn load(&self, order: Ordering) -> T {
        if matches!(order, Ordering::Release | Ordering::AcqRel) {
            panic!("there is no such thing as a release load");
        }
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        note_order(&engine, order.into());
        let touch = Touch { object, mode: Mode::Read, verb: "load", order: Some(order.into()) };
        let value = match engine.asks() {
            true => self.ask_load(&engine, &touch, order.into(), spot),
            false => {
                engine.visible(&touch, spot);
                self.value.get()
            }
        };
        engine.found(object, found(value, None));
        engine.observed(
            object,
            Observed::Value { look: Mode::Read, found: value.bits(), left: value.bits() },
        );
        published(&engine, value.bits());
        engine.only_looked(object, spot);
        engine.note_values(object, |rt| change(rt, Some(value), value));
        engine.note(|rt| {
            let (name, value) = (rt.object_name(object), value.text(rt));
            format!("load {name}{} → {value}", ordering(Some(order.into())))
        });
        value
    }

    #[inline]
    #[track_caller]
    pub(super) fn store(&self, value: T, order: Ordering) {
        if matches!(order, Ordering::Acquire | Ordering::AcqRel) {
            panic!("there is no such thing as an acquire store");
        }
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        note_order(&engine, order.into());
        if engine.is_tried() && self.value.get() == value {
            return;
        }
        let touch = Touch { object, mode: Mode::Write, verb: "store", order: Some(order.into()) };
        let old = match engine.asks() {
            true => {
                self.ask_store(&engine, &touch, value, order.into(), spot);
                None
            }
            false => {
                engine.visible(&touch, spot);
                let old = self.value.replace(value);
                engine.found(object, found(old, None));
                Some(old)
            }
        };
        engine.observed(
            object,
            Observed::Value { look: Mode::Read, found: value.bits(), left: value.bits() },
        );
        published(&engine, value.bits());
        engine.note_values(object, |rt| change(rt, old, value));
        engine.note(|rt| {
            let (name, value) = (rt.object_name(object), value.text(rt));
            format!("store {name}{} ← {value}", ordering(Some(order.into())))
        });
    }

    /// Reads, changes and writes in one step; returns the previous value.
    #[inline]
    #[track_caller]
    pub(super) fn modify(&self, verb: &'static str, order: Ordering, next: impl Fn(T) -> T) -> T {
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        note_order(&engine, order.into());
        let touch = Touch { object, mode: Mode::Update, verb, order: Some(order.into()) };
        let (old, new) = match engine.asks() {
            true => self.ask_modify(&engine, &touch, next, order.into(), spot),
            false => {
                engine.visible(&touch, spot);
                let old = self.value.get();
                let new = next(old);
                self.value.set(new);
                (old, new)
            }
        };
        if new == old {
            engine.only_looked(object, spot);
        }
        engine.found(object, found(old, None));
        engine.observed(
            object,
            Observed::Value { look: Mode::Read, found: old.bits(), left: new.bits() },
        );
        published(&engine, old.bits());
        published(&engine, new.bits());
        engine.note_values(object, |rt| change(rt, Some(old), new));
        engine.note(|rt| {
            let (name, old, new) = (rt.object_name(object), old.text(rt), new.text(rt));
            format!("{verb} {name}{}: {old} → {new}", ordering(Some(order.into())))
        });
        old
    }

    #[inline]
    #[track_caller]
    pub(super) fn compare_exchange(
        &self,
        verb: &'static str,
        expected: T,
        new: T,
        orders: (Ordering, Ordering),
    ) -> Result<T, T> {
        self.compare_exchange_or_fail(verb, expected, new, orders, false)
    }

    /// `weak`: whether it may fail spuriously under a memory model, where the explorer decides that.
    #[inline]
    #[track_caller]
    fn compare_exchange_or_fail(
        &self,
        verb: &'static str,
        expected: T,
        new: T,
        (success, failure): (Ordering, Ordering),
        weak: bool,
    ) -> Result<T, T> {
        if matches!(failure, Ordering::Release | Ordering::AcqRel) {
            panic!("there is no such thing as a release failure ordering");
        }
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        note_order(&engine, success.into());
        note_order(&engine, failure.into());
        let writes = || self.value.get() == expected;
        let (order, failed) = (Some(success.into()), Some(failure.into()));
        let compare = Compare { object, writes: &writes, verb, order, failure: failed };
        let (old, succeeds) = match engine.asks() {
            true => {
                let exchange =
                    Exchange { expected, new, success: success.into(), failure: failure.into() };
                self.ask_exchange(&engine, &compare, &exchange, weak, spot)
            }
            false => {
                engine.visible(&compare, spot);
                let old = self.value.get();
                if old == expected {
                    self.value.set(new);
                }
                (old, old == expected)
            }
        };
        if !succeeds {
            engine.only_looked(object, spot);
        }
        let left = if succeeds { new } else { old };
        engine.found(object, found(old, Some(expected)));
        engine.observed(
            object,
            Observed::Value { look: Mode::Read, found: old.bits(), left: left.bits() },
        );
        published(&engine, old.bits());
        published(&engine, left.bits());
        engine.note_values(object, |rt| change(rt, Some(old), left));
        engine.note(|rt| {
            let (name, order) = (rt.object_name(object), ordering(Some(success.into())));
            let (old, new, expected) = (old.text(rt), new.text(rt), expected.text(rt));
            match succeeds {
                true => format!("{verb} {name}{order}: {old} → {new}"),
                false => format!("{verb} {name}{order}: fails, found {old}, not {expected}"),
            }
        });
        if succeeds { Ok(old) } else { Err(old) }
    }

    /// As [`Self::compare_exchange`], but it may fail spuriously.
    #[inline]
    #[track_caller]
    pub(super) fn compare_exchange_weak(
        &self,
        expected: T,
        new: T,
        orders: (Ordering, Ordering),
    ) -> Result<T, T> {
        const VERB: &str = "compare_exchange_weak";
        let spot = Location::caller();
        let engine = Engine::enter();
        if engine.asks() {
            return self.compare_exchange_or_fail(VERB, expected, new, orders, true);
        }
        if engine.ends_without_reason(VERB, spot) {
            return Err(self.load(orders.1));
        }
        self.compare_exchange(VERB, expected, new, orders)
    }

    /// Replaces the value by what `f` makes of it, trying again if it changes meanwhile.
    #[track_caller]
    pub(super) fn try_update(
        &self,
        verb: &'static str,
        set: Ordering,
        fetch: Ordering,
        mut f: impl FnMut(T) -> Option<T>,
    ) -> Result<T, T> {
        let mut old = self.load(fetch);
        while let Some(new) = f(old) {
            match self.compare_exchange(verb, old, new, (set, fetch)) {
                Ok(found) => return Ok(found),
                Err(found) => old = found,
            }
        }
        Err(old)
    }

    /// Returns the value, not atomically: a race with any other access.
    #[track_caller]
    pub(super) fn get_mut(&mut self, verb: &'static str) -> &mut T {
        self.own(verb, Location::caller());
        self.value.get_mut()
    }

    fn own(&self, verb: &'static str, spot: Spot) {
        let Some(engine) = Engine::try_enter() else { return };
        // The thread that drops the last reference is alone: that is no reason to count them.
        if is_dropping(engine.rt()) {
            return;
        }
        let object = self.object(&engine);
        let touch = Touch { object, mode: Mode::Update, verb, order: Some(Order::NonAtomic) };
        match engine.asks() {
            true => self.ask_own(&engine, &touch, spot),
            false => _ = engine.visible(&touch, spot),
        }
        engine.observed(object, Observed::Changed(Mode::Probe));
    }

    pub(super) const fn into_inner(self) -> T {
        self.value.into_inner()
    }

    pub(super) const fn as_ptr(&self) -> *mut T {
        self.value.as_ptr()
    }

    /// Reads without synchronising: a race with any write.
    #[track_caller]
    pub(super) fn unsync_load(&self) -> T {
        let spot = Location::caller();
        let engine = Engine::enter();
        let object = self.object(&engine);
        let touch =
            Touch { object, mode: Mode::Read, verb: "unsync_load", order: Some(Order::NonAtomic) };
        let value = match engine.asks() {
            true => self.ask_load(&engine, &touch, Order::NonAtomic, spot),
            false => {
                engine.visible(&touch, spot);
                self.value.get()
            }
        };
        engine.observed(
            object,
            Observed::Value { look: Mode::Probe, found: value.bits(), left: value.bits() },
        );
        published(&engine, value.bits());
        engine.note_values(object, |rt| change(rt, Some(value), value));
        engine.note(|rt| format!("unsync_load {} → {}", rt.object_name(object), value.text(rt)));
        value
    }

    /// The value, to show it: a load like others, but also possible when the check is over.
    #[track_caller]
    pub(super) fn look(&self) -> T {
        if crate::rt::may_step_to_show() { self.load(Ordering::SeqCst) } else { self.value.get() }
    }
}

#[inline]
fn found<T: Value>(value: T, expected: Option<T>) -> Found {
    Found::Value { value: value.bits(), expected: expected.map(Value::bits) }
}

/// Remembers that behaviours which only weak memory shows may exist.
#[inline]
pub(super) fn note_order(engine: &Engine, order: Order) {
    if order != Order::SeqCst {
        engine.rt().shared.weak.set(true);
    }
}

/// In words: the value that a step found, if it is known, and the one that it left.
fn change<T: Value>(rt: &Runtime, found: Option<T>, left: T) -> ValueChange {
    ValueChange { before: found.map(|value| value.text(rt)), after: Some(left.text(rt)) }
}
