//! Handles of threads, and joining.

use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use selvedge_core::{Effect, Flexibility, Label, Mode, Order};

use super::packet::Packet;
use super::parking::token_object;
use super::start::Started;
use crate::rt::counted::{is_counted, last_drop, note_self};
use crate::rt::knowers::{note_done, note_joined};
use crate::rt::{Ask, Engine, Observed, Operation, Runtime, Spot, State, Touch};

/// Owned permission to join on a thread.
pub struct JoinHandle<T> {
    packet: Rc<Packet<T>>,
    thread: Thread,
    joined: bool,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    pub(super) fn new(started: Started<T>) -> Self {
        let Started { number, name, packet } = started;
        Self { packet, thread: Thread { number, name }, joined: false }
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    /// If it panicked, and [`crate::Builder::panics_are_results`] lets the check continue.
    #[track_caller]
    pub fn join(mut self) -> std::thread::Result<T> {
        self.thread.join(Location::caller());
        self.joined = true;
        self.packet.take().unwrap_or_else(|| Err(Box::new("the thread was taken down")))
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Returns whether the code of the thread has ended. As in `std`, its thread-local values may not be dropped
    /// yet.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished(Location::caller())
    }
}

impl<T> Drop for JoinHandle<T> {
    /// The last of the thread and its handle drops the result. If that can be observed, it is a step.
    fn drop(&mut self) {
        if self.joined || !std::mem::needs_drop::<T>() {
            return;
        }
        let Some(engine) = Engine::try_enter() else { return };
        let rt = engine.rt();
        if is_counted::<Packet<T>>(rt) {
            let number = self.thread.number;
            let (object, spot) = (rt.known[number].life, rt.threads[number].spawned_at);
            let (mode, verb) = (Mode::Alive, "drop the handle of");
            engine.visible(&Touch { object, mode, verb, order: None }, spot);
            let name = |rt: &Runtime| rt.thread_name(self.thread.number);
            engine.note(|rt| format!("drop the handle of {}", name(rt)));
        }
        drop(engine);
        let result = self.packet.give_up();
        last_drop::<Packet<T>>(|| drop(result));
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Waits for a thread.
struct Join {
    number: usize,
    until: Until,
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The thread has left its result.
    Done,
    /// It has also dropped its thread-local values.
    Ended,
}

impl Operation<Runtime> for Join {
    fn is_enabled(&self, rt: &Runtime, _me: usize) -> bool {
        let thread = &rt.threads[self.number];
        match self.until {
            Until::Done => thread.own.is_done,
            Until::Ended => thread.state == State::Finished,
        }
    }

    fn effect(&self, rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let mode = match self.until {
            Until::Done => Mode::Alive,
            Until::Ended => Mode::Join,
        };
        effect.footprint.add(rt.known[self.number].life, mode);
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("join {}", rt.thread_name(self.number))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        Some((format!("waits for the end of {}", rt.thread_name(self.number)), Vec::new()))
    }
}

/// A handle to a thread.
#[derive(Clone, Debug)]
pub struct Thread {
    pub(super) number: usize,
    name: Option<String>,
}

impl Thread {
    /// Waits for its end.
    fn join(&self, spot: Spot) {
        self.wait(Until::Ended, spot);
    }

    /// Waits until it has left its result: a scope does not wait for thread-local values to be dropped.
    pub(super) fn wait_until_done(&self, spot: Spot) {
        self.wait(Until::Done, spot);
    }

    fn wait(&self, until: Until, spot: Spot) {
        let (engine, number) = (Engine::enter(), self.number);
        let join = Join { number, until };
        match engine.asks() {
            true => {
                let label = Label::Join(selvedge_core::ThreadId::new(number));
                engine.ask(&Ask::plain(label), &join, spot);
            }
            false => _ = engine.visible(&join, spot),
        }
        match until {
            Until::Ended => note_joined(engine.rt(), number),
            Until::Done => note_done(engine.rt(), number),
        }
        engine.observed(engine.rt().known[number].life, Observed::Heard(0));
        engine.note(|rt| format!("join {}", rt.thread_name(number)));
    }

    /// Returns whether it has left its result; its thread-local values may not be dropped yet.
    fn is_finished(&self, spot: Spot) -> bool {
        let (engine, number) = (Engine::enter(), self.number);
        let object = engine.rt().known[number].life;
        let verb = "is it finished:";
        // It only looks at a count, in `std`: what the thread did is visible after `join`.
        let order = Some(Order::Relaxed);
        let touch = Touch { object, mode: Mode::Alive, verb, order };
        engine.visible(&touch, spot);
        let finished = engine.rt().threads[number].own.is_done;
        engine.observed(object, Observed::Looked(Mode::Alive));
        engine.only_looked(object, spot);
        engine.note(|rt| format!("is {} finished → {finished}", rt.thread_name(number)));
        finished
    }

    /// Its number, the same in every execution.
    pub fn id(&self) -> ThreadId {
        ThreadId(self.number)
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        match &self.name {
            None if self.number == 0 => Some("main"),
            name => name.as_deref(),
        }
    }

    /// Lets its next (or current) [`park`](super::park) return.
    #[track_caller]
    pub fn unpark(&self) {
        let spot = Location::caller();
        let engine = Engine::enter();
        let number = self.number;
        let object = token_object(engine.rt(), number);
        let touch = Touch { object, mode: Mode::Up, verb: "unpark", order: None };
        engine.update_word(object, Order::Release, &|_| 1, &touch, spot);
        let before = std::mem::replace(&mut engine.rt().threads[number].own.token, true);
        engine.observed(
            object,
            Observed::Value { look: Mode::Probe, found: u64::from(before), left: 1 },
        );
        engine.note(|rt| format!("unpark {}", rt.thread_name(number)));
    }
}

/// The number of a thread, the same in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(usize);

/// Returns the thread that runs.
#[track_caller]
pub fn current() -> Thread {
    let engine = Engine::enter();
    note_self(engine.rt());
    let number = engine.me();
    let name = engine.rt().threads[number].name.clone();
    Thread { number, name }
}
