//! Parking.

use std::panic::Location;
use std::time::Duration;

use selvedge_core::{Effect, Flexibility, Mode, ObjectId, Order};

use crate::rt::{Engine, Observed, Operation, Runtime};

/// Waits until the thread's token is there, and takes it. It may return spuriously, as in `std`: see
/// [`Builder::spurious`](crate::Builder::spurious).
///
/// ```
/// use selvedge::thread;
///
/// selvedge::check(|| {
///     let sleeper = thread::spawn(|| thread::park());
///     sleeper.thread().unpark();
///     sleeper.join().unwrap();
/// });
/// ```
#[track_caller]
pub fn park() {
    let spot = Location::caller();
    let engine = Engine::enter();
    let ends = match engine.asks() {
        true => engine.asks_whim(&Park { timed: false }, spot),
        false => engine.ends_without_reason("park", spot),
    };
    if !ends {
        take_token(&engine, false, spot);
    }
}

/// Waits until the thread's token is there or the time is up; both are tried. It may return spuriously, as
/// [`park`].
#[track_caller]
pub fn park_timeout(_duration: Duration) {
    let spot = Location::caller();
    if is_time_up(spot) {
        // A thread that waits in a loop, and whose time is up each time, need not go round for nothing.
        crate::rt::pause("park with a timeout", spot);
    }
}

fn is_time_up(spot: crate::rt::Spot) -> bool {
    let engine = Engine::enter();
    let ends = match engine.asks() {
        true => engine.asks_whim(&Begin, spot),
        false => engine.ends_without_reason("park with a timeout", spot),
    };
    // Then the token stays, also if it is there.
    if ends {
        return false;
    }
    if engine.asks() {
        return !ask_token(&engine, spot);
    }
    let timed_out = engine.visible(&Begin, spot) == 1;
    match timed_out {
        true => {
            let rt = engine.rt();
            let token = token_object(rt, rt.now.current);
            engine.observed(token, Observed::Value { look: Mode::Probe, found: 0, left: 0 });
            engine.note(|_| "park: time is up".to_owned());
        }
        false => take_token(&engine, true, spot),
    }
    timed_out
}

/// The object that a thread's `park` waits for.
pub(super) fn token_object(rt: &mut Runtime, thread: usize) -> ObjectId {
    rt.names.of_thread(thread, 3, "park token")
}

/// Takes the token if the time is not up before, under a memory model: an unpark that comes too late is one that is not seen.
/// Returns whether it was there.
fn ask_token(engine: &Engine, spot: crate::rt::Spot) -> bool {
    let token = token_object(engine.rt(), engine.me());
    let (is_there, takes) = (|token| token == 1, |_| 0);
    let orders = (Order::Acquire, Order::Relaxed);
    let found = engine.word(token, 0).attempt(orders, &is_there, &takes, &Begin, spot);
    let is_taken =
        found.map_or_else(|| engine.rt().threads[engine.me()].own.token, |it| it.is_ok());
    match is_taken {
        true => took_token(engine),
        false => engine.note(|_| "park: time is up".to_owned()),
    }
    is_taken
}

fn take_token(engine: &Engine, timed: bool, spot: crate::rt::Spot) {
    match engine.asks() {
        true => {
            let token = token_object(engine.rt(), engine.me());
            let (is_there, takes) = (|token| token == 1, |_| 0);
            let word = engine.word(token, 0);
            word.wait_and_update(Order::Acquire, &is_there, &takes, &Park { timed }, spot);
        }
        false => _ = engine.visible(&Park { timed }, spot),
    }
    took_token(engine);
}

fn took_token(engine: &Engine) {
    let rt = engine.rt();
    let me = rt.now.current;
    rt.threads[me].own.token = false;
    // For threads that unpark it in a loop.
    let token = token_object(rt, me);
    engine.observed(token, Observed::Value { look: Mode::Probe, found: 1, left: 0 });
    engine.note(|_| "park: unparked".to_owned());
}

struct Park {
    timed: bool,
}

impl Operation<Runtime> for Park {
    fn is_enabled(&self, rt: &Runtime, me: usize) -> bool {
        rt.threads[me].own.token
    }

    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        let token = token_object(rt, me);
        effect.footprint.add(token, Mode::Down);
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        "park".to_owned()
    }

    fn waits_for(&self, _rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        Some(("waits to be unparked".to_owned(), Vec::new()))
    }

    fn is_timed(&self) -> bool {
        self.timed
    }
}

/// Decides whether the time will be up first. If the token is there, it cannot be.
struct Begin;

impl Operation<Runtime> for Begin {
    fn choices(&self, rt: &Runtime, me: usize) -> u32 {
        if rt.threads[me].own.token { 1 } else { 2 }
    }

    fn left_alone(&self) -> Option<u32> {
        Some(1)
    }

    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        let token = token_object(rt, me);
        effect.footprint.add(token, Mode::Probe);
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        "park with a timeout".to_owned()
    }
}
