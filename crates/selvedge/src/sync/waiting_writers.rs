//! Reader-writer locks that let writers in first: what `std` may do, and does on most systems.
//!
//! A reader may have to wait as long as a writer waits. Waiting without end is enough: in every deadlock that needs it, it
//! is so, and elsewhere a wait that ends shows nothing new. So a reader chooses, in a step that touches
//! nothing, whether it never continues; at the end it must be so that a writer waits, and only because of
//! readers. `rt/lock_order.rs` says for which locks this is tried.
//!
//! `try_read` may fail as long as a writer waits. So, if there is a `try_read` of a lock, a writer that finds it
//! held says that it waits, in a step of its own.

use selvedge_core::{Effect, Flexibility, Mode, ObjectId};

use super::lock::{Hold, Lock};
use crate::rt::{Engine, Observed, Operation, Runtime, Spot, State, Subject, Waits};

/// Whether waiting readers or waiting writers get a reader-writer lock first. `std` leaves this open: for a program to be
/// right it must not matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum RwLockPolicy {
    /// Whatever `std` allows. While a writer waits, a reader may have to wait, also if others read, or the thread
    /// itself does; and [`try_read`](crate::sync::RwLock::try_read) may fail. This covers locks that always let
    /// writers in first: a writer that has only just come may be counted as waiting or not.
    #[default]
    Any,
    /// Readers never wait for a writer that waits.
    Readers,
}

impl Lock {
    /// Tries what happens if the reader waits for a writer that waits.
    #[cold]
    pub(super) fn queue(&self, engine: &Engine, object: ObjectId, spot: Spot) {
        if engine.visible(&Queue { object }, spot) == 1 {
            engine
                .note(|rt| format!("read {}: waits while a writer waits", rt.object_name(object)));
            engine.park(&Queued { object, lock: self }, spot);
        } else {
            let text =
                |rt: &Runtime| format!("read {}: no writer is first", rt.object_name(object));
            engine.note(text);
        }
    }

    /// Takes the lock for writing, or says that a writer waits. Returns whether it was taken.
    #[cold]
    pub(super) fn take_or_announce(&self, engine: &Engine, object: ObjectId, spot: Spot) -> bool {
        engine.visible(&Announce { object, lock: self }, spot);
        if self.is_free(Hold::Write) || self.is_own(engine.rt(), object, Hold::Write, engine.me()) {
            return true;
        }
        self.waiting.set(self.waiting.get() + 1);
        // For threads that try to read in a loop.
        engine.observed(object, Observed::Changed(Mode::Probe));
        engine.note(|rt| format!("write {}: begins to wait", rt.object_name(object)));
        false
    }
}

/// Chooses whether a reader waits for a writer that waits.
struct Queue {
    object: ObjectId,
}

impl Operation<Runtime> for Queue {
    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
        2
    }

    fn left_alone(&self) -> Option<u32> {
        Some(0)
    }

    fn waits(&self) -> Waits {
        Waits::Never
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, _effect: &mut Effect) {}

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("read {}", rt.object_name(self.object))
    }
}

/// Where a reader stands that never continues.
struct Queued<'a> {
    object: ObjectId,
    lock: &'a Lock,
}

impl Operation<Runtime> for Queued<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        false
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("read {}", rt.object_name(self.object))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        let lock = rt.object_name(self.object);
        let writer = self.writer(rt).map_or_else(String::new, |writer| rt.thread_name(writer));
        let what = format!("waits to read {lock} while {writer} waits to write it");
        Some((what, self.lock.holders(rt, self.object)))
    }

    fn depends_on(&self) -> Option<&'static str> {
        Some(
            "this depends on the lock letting waiting writers in before readers: `std` leaves it open, and              does so on most systems; Builder::rwlock_policy(RwLockPolicy::Readers) leaves it out",
        )
    }

    fn is_without_reason(&self, rt: &Runtime) -> bool {
        !self.lock.is_read() || self.writer(rt).is_none()
    }
}

impl Queued<'_> {
    /// A thread that waits to write.
    fn writer(&self, rt: &Runtime) -> Option<usize> {
        let wanted = Waits::Lock { object: self.object, reads: false };
        (0..rt.threads.len()).find(|&number| {
            let thread = &rt.threads[number];
            // SAFETY: a thread that is ready stands at its operation, which is on its stack.
            thread.state == State::Ready && unsafe { (*thread.pending).waits() } == wanted
        })
    }
}

/// Takes a lock for writing, or says that a writer waits.
struct Announce<'a> {
    object: ObjectId,
    lock: &'a Lock,
}

impl Operation<Runtime> for Announce<'_> {
    fn is_subject_to(&self) -> Subject {
        Subject::Nothing
    }

    /// Not before it has said so.
    fn waits(&self) -> Waits {
        Waits::Never
    }

    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        let mode = match self.lock.is_own(rt, self.object, Hold::Write, me) {
            true => Mode::Probe,
            false if self.lock.is_free(Hold::Write) => Mode::Acquire,
            false => Mode::Update,
        };
        effect.footprint.add(self.object, mode);
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("write {}", rt.object_name(self.object))
    }
}
