//! Locks under a memory model, as labels. A mutex is a lock to the explorer. A reader-writer lock is a number: how many
//! read, or [`WRITTEN`].

use selvedge_core::{Answer, Bits, Label, Order};

use super::lock::{Acquire, Hold, Lock, TryAcquire};
use crate::rt::{Ask, Engine, Spot, Touch};

/// Who has a reader-writer lock has it for writing.
const WRITTEN: Bits = Bits::MAX;

impl Lock {
    /// Waits for the lock.
    pub(super) fn ask_acquire(&self, engine: &Engine, acquire: &Acquire<'_>, spot: Spot) {
        let at = engine.location(acquire.object, || 0);
        let wait = Label::Await { at, order: Order::Acquire, update: true };
        match acquire.hold {
            Hold::Alone => _ = engine.ask(&Ask::plain(Label::Lock(at)), acquire, spot),
            Hold::Write => {
                engine.check_tries(acquire.object, false);
                let ask = Ask { label: wait, satisfies: &|held| held == 0, next: &|_| WRITTEN };
                engine.ask(&ask, acquire, spot);
            }
            Hold::Read => {
                let (satisfies, next) = (|held| held != WRITTEN, |held| held + 1);
                let ask = Ask { label: wait, satisfies: &satisfies, next: &next };
                engine.ask(&ask, acquire, spot);
                engine.reads_beside_others(true);
            }
        }
    }

    /// Returns whether it is free, and then taken.
    pub(super) fn ask_try(&self, engine: &Engine, attempt: &TryAcquire<'_>, spot: Spot) -> bool {
        let at = engine.location(attempt.object, || 0);
        let label = match attempt.hold {
            Hold::Alone => Label::TryLock(at),
            Hold::Write => Label::Compare {
                at,
                expected: 0,
                new: WRITTEN,
                success: Order::Acquire,
                failure: Order::Relaxed,
                weak: false,
            },
            Hold::Read => return self.ask_try_read(engine, attempt, spot),
        };
        match engine.ask(&Ask::plain(label), attempt, spot) {
            Some(answer) => matches!(answer, Answer::Value(_)),
            None => self.is_free(attempt.hold),
        }
    }

    fn ask_try_read(&self, engine: &Engine, attempt: &TryAcquire<'_>, spot: Spot) -> bool {
        let word = engine.word(attempt.object, 0);
        let (is_open, next) = (|held| held != WRITTEN, |held| held + 1);
        let orders = (Order::Acquire, Order::Relaxed);
        match word.attempt(orders, &is_open, &next, attempt, spot) {
            Some(Ok(readers)) => {
                if readers > 0 {
                    engine.check_tries(attempt.object, true);
                }
                engine.reads_beside_others(true);
                true
            }
            Some(Err(_)) => false,
            None => self.is_free(Hold::Read),
        }
    }

    /// Gives it up.
    pub(super) fn ask_release(&self, engine: &Engine, touch: &Touch, hold: Hold, spot: Spot) {
        let at = engine.location(touch.object, || 0);
        let order = Order::Release;
        match hold {
            Hold::Alone => _ = engine.ask(&Ask::plain(Label::Unlock(at)), touch, spot),
            Hold::Write => {
                engine.ask(&Ask::plain(Label::Store { at, order, value: 0 }), touch, spot);
            }
            Hold::Read => {
                let label = Label::Update { at, order };
                let next = |held: Bits| held.saturating_sub(1);
                engine.ask(&Ask { label, satisfies: &|_| true, next: &next }, touch, spot);
                engine.reads_beside_others(false);
            }
        }
    }

    /// Goes on reading.
    pub(super) fn ask_downgrade(&self, engine: &Engine, touch: &Touch, spot: Spot) {
        let at = engine.location(touch.object, || 0);
        let label = Label::Store { at, order: Order::Release, value: 1 };
        engine.ask(&Ask::plain(label), touch, spot);
        engine.reads_beside_others(true);
    }
}
