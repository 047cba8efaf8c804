//! The result of a thread, from its end until it is joined.

use std::cell::{Cell, RefCell};

use selvedge_core::Mode;

use crate::rt::counted::{is_counted, last_drop};
use crate::rt::{Engine, Observed, Touch};

/// Where a thread leaves its result.
pub(super) struct Packet<T> {
    result: RefCell<Option<std::thread::Result<T>>>,
    /// Whether the handle is gone, so that the thread drops its result itself.
    is_unwanted: Cell<bool>,
}

impl<T> Default for Packet<T> {
    fn default() -> Self {
        Self { result: RefCell::new(None), is_unwanted: Cell::new(false) }
    }
}

impl<T> Packet<T> {
    /// The running thread leaves its result, or drops it if it is not wanted. That is a step of its own if
    /// it can show: if it matters which thread drops the result, or the thread has more to drop after it.
    pub(super) fn leave(&self, result: std::thread::Result<T>) {
        let engine = Engine::enter();
        let rt = engine.rt();
        let goes_on = result.is_ok() || rt.shared.panics_are_results;
        let drops_locals = goes_on && rt.threads[engine.me()].own.locals.have_destructors;
        let mut is_step = drops_locals || (goes_on && is_counted::<Self>(rt));
        if is_step {
            step_at_end(&engine);
        }
        drop(engine);
        if self.is_unwanted.get() {
            last_drop::<Self>(|| drop(result));
            is_step = drops_locals;
            if is_step {
                step_at_end(&Engine::enter());
            }
        } else {
            *self.result.borrow_mut() = Some(result);
        }
        // Otherwise that comes with its end.
        if is_step {
            let engine = Engine::enter();
            engine.rt().threads[engine.me()].own.is_done = true;
        }
    }

    /// The result, if the thread has left it.
    pub(super) fn take(&self) -> Option<std::thread::Result<T>> {
        self.result.borrow_mut().take()
    }

    /// The handle is gone. Returns the result, if the thread has left it: otherwise the thread drops it.
    pub(super) fn give_up(&self) -> Option<std::thread::Result<T>> {
        self.is_unwanted.set(true);
        self.take()
    }
}

/// A step of a thread whose code came to its end, before it ends itself.
fn step_at_end(engine: &Engine) {
    let (rt, me) = (engine.rt(), engine.me());
    let (object, spot) = (rt.known[me].life, rt.threads[me].spawned_at);
    let (mode, verb) = (Mode::Update, "leave the result of");
    engine.visible(&Touch { object, mode, verb, order: None }, spot);
    engine.observed(object, Observed::Changed(Mode::Alive));
    engine.note(|_| "leave the result".to_owned());
}
