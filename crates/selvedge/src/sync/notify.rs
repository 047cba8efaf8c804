//! A flag that one thread waits for.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;

use selvedge_core::{Effect, Flexibility, Mode, ObjectId, Order};

use crate::rt::{Engine, Header, Operation, Restorer, Runtime, Spot, Touch};

/// A flag that some threads set, and that others wait for and clear.
pub struct Notify {
    header: Header,
    /// What reports call it.
    kind: &'static str,
    raised: Cell<bool>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl Send for Notify {}
// SAFETY: as above.
unsafe impl Sync for Notify {}

impl Notify {
    /// Not raised.
    #[track_caller]
    pub const fn new() -> Self {
        Self::named("Notify", Location::caller())
    }

    pub(crate) const fn named(kind: &'static str, created: Spot) -> Self {
        Self { header: Header::new(created), kind, raised: Cell::new(false) }
    }

    fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, self.kind, || {
            let raised: *const Cell<bool> = &self.raised;
            // SAFETY: what outlives an execution is not freed before the check is over.
            Restorer::With(Box::new(move || unsafe { (*raised).set(false) }))
        })
    }

    /// Raises the flag.
    #[track_caller]
    pub fn notify(&self) {
        self.notify_at("notify", Location::caller());
    }

    pub(crate) fn notify_at(&self, verb: &'static str, spot: Spot) {
        let engine = Engine::enter();
        let object = self.object(&engine);
        let touch = Touch { object, mode: Mode::Up, verb, order: None };
        engine.update_word(object, Order::Release, &|_| 1, &touch, spot);
        self.raised.set(true);
    }

    /// Waits for the flag and takes it down.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_at(Location::caller());
    }

    pub(crate) fn wait_at(&self, spot: Spot) {
        let engine = Engine::enter();
        let object = self.object(&engine);
        let wait = Wait { object, raised: &self.raised };
        match engine.asks() {
            true => {
                let (is_raised, lowers) = (|raised| raised == 1, |_| 0);
                let word = engine.word(object, 0);
                word.wait_and_update(Order::Acquire, &is_raised, &lowers, &wait, spot);
            }
            false => _ = engine.visible(&wait, spot),
        }
        self.raised.set(false);
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}

struct Wait<'a> {
    object: ObjectId,
    raised: &'a Cell<bool>,
}

impl Operation<Runtime> for Wait<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        self.raised.get()
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.object, Mode::Down);
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("wait {}", rt.object_name(self.object))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        Some((format!("waits for {}", rt.object_name(self.object)), Vec::new()))
    }
}
