//! Handles of threads, and joining.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use selvedge_core::{Effect, Flexibility, Mode};

use super::builder::Started;
use crate::rt::runtime::{Runtime, State};
use crate::rt::{Engine, Operation, Spot, Touch};

/// Where a thread leaves its result.
pub(super) type Packet<T> = Rc<RefCell<Option<std::thread::Result<T>>>>;

/// Owned permission to join on a thread.
pub struct JoinHandle<T> {
    packet: Packet<T>,
    thread: Thread,
}

// SAFETY: all threads of checked code run on one thread of the system, by turns.
unsafe impl<T> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    pub(super) fn new(started: Started<T>) -> Self {
        let Started { number, name, packet } = started;
        Self { packet, thread: Thread { number, name } }
    }

    /// Waits for the thread to end.
    ///
    /// # Errors
    /// If it panicked, and [`crate::Builder::panics_are_results`] lets the check go on.
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        self.thread.join(Location::caller());
        let result = self.packet.borrow_mut().take();
        result.unwrap_or_else(|| Err(Box::new("the thread was taken down")))
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished(Location::caller())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Waits for the end of a thread.
pub(crate) struct Join {
    pub(crate) number: usize,
}

impl Operation for Join {
    fn is_enabled(&self, rt: &Runtime, _me: usize) -> bool {
        rt.threads[self.number].state == State::Finished
    }

    fn effect(&self, rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(rt.threads[self.number].life, Mode::Join);
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
    pub(super) fn join(&self, spot: Spot) {
        let (engine, number) = (Engine::enter(), self.number);
        engine.visible(&Join { number }, spot);
        engine.heard(engine.rt().threads[number].life, 0);
        engine.note(|rt| format!("join {}", rt.thread_name(number)));
    }

    /// Whether it has ended.
    fn is_finished(&self, spot: Spot) -> bool {
        let (engine, number) = (Engine::enter(), self.number);
        let object = engine.rt().threads[number].life;
        let verb = "is it finished:";
        let touch = Touch { object, mode: Mode::Alive, plain: false, verb, order: None };
        engine.visible(&touch, spot);
        let finished = engine.rt().threads[number].state == State::Finished;
        engine.looked(object, Mode::Alive);
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
        let object = engine.rt().token_object(number);
        let touch = Touch { object, mode: Mode::Up, plain: false, verb: "unpark", order: None };
        engine.visible(&touch, spot);
        let before = std::mem::replace(&mut engine.rt().threads[number].token, true);
        engine.saw(object, Mode::Probe, u64::from(before), 1);
        engine.note(|rt| format!("unpark {}", rt.thread_name(number)));
    }
}

/// The number of a thread, the same in every execution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(usize);

/// The thread that runs.
#[track_caller]
pub fn current() -> Thread {
    let engine = Engine::enter();
    engine.note_self();
    let number = engine.me();
    let name = engine.rt().threads[number].name.clone();
    Thread { number, name }
}
