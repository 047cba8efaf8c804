//! Condition variables under a memory model. The word has a bit for each thread that waits, and one for a thread that chooses whom
//! to wake. A notification takes bits away, and a thread waits until its own is gone. Nothing but the mutex
//! synchronises.

use selvedge_core::{Bits, ObjectId, Order};

use super::{Condvar, End, Notify, Wait, Woken};
use crate::rt::{Engine, Observed, Spot};
use crate::sync::lock::Hold;
use crate::sync::mutex::Mutex;

/// Some thread chooses whom to wake.
const CHOOSES: Bits = 1 << 63;

/// So often the time of a thread may be up at one place.
const TIMEOUTS: usize = 3;

fn is_open(word: Bits) -> bool {
    word & CHOOSES == 0
}

impl Condvar {
    /// Waits until it is woken, and takes the mutex again; or until its time is up. Both are tried.
    pub(super) fn ask_wait<T: ?Sized>(
        &self,
        engine: &Engine,
        mutex: &Mutex<T>,
        (condition, object): (ObjectId, ObjectId),
        timed: bool,
        spot: Spot,
    ) -> End {
        let (me, lock) = (engine.me(), mutex.state());
        let left = (mutex.content(), Observed::Gave(mutex.content()));
        if me as u32 >= CHOOSES.trailing_zeros() {
            let most = CHOOSES.trailing_zeros();
            engine.give_up(format!(
                "more than {most} threads, of which one waits for a condition variable, are not supported under a \
                 memory model"
            ));
        }
        let mine: Bits = 1 << me;
        let wait = Wait { condition, mutex: object, timed };
        if timed && engine.choose(2, &wait, spot) == 1 {
            check_timeouts(engine, spot);
            self.check_mutex(engine, condition, object, spot);
            engine.note(|rt| format!("wait {}: the time will be up", rt.object_name(condition)));
            lock.release(engine, object, Hold::Alone, left, spot);
            return End::TimeIsUp;
        }
        let word = engine.word(condition, 0);
        word.wait_and_update(Order::Unseen, &is_open, &|word| word | mine, &wait, spot);
        self.check_mutex(engine, condition, object, spot);
        self.waiters.borrow_mut().push((me, object));
        self.waiters.borrow_mut().sort_unstable();
        engine.note(|rt| format!("wait {}", rt.object_name(condition)));
        lock.release(engine, object, Hold::Alone, left, spot);
        let woken = Woken { condition, mutex: object, lock, timed };
        match engine.asks() {
            true => {
                let is_woken = |word: Bits| word & mine == 0 && is_open(word);
                word.wait(Order::Unseen, &is_woken, &woken, spot);
                engine.note(|rt| format!("woken by {}", rt.object_name(condition)));
            }
            // Teardown: any notification wakes it.
            false => engine.park(&woken, spot),
        }
        self.waiters.borrow_mut().retain(|&mut (waiter, _)| waiter != me);
        lock.acquire(engine, object, Hold::Alone, mutex.content(), spot);
        End::Woken
    }
}

/// The time of the running thread is up at a place. A thread that waits in a loop could go round without end.
fn check_timeouts(engine: &Engine, spot: Spot) {
    let (rt, me) = (engine.rt(), engine.me());
    let timeouts = &mut rt.threads[me].own.timeouts;
    timeouts.push(spot);
    if timeouts.iter().filter(|&&other| std::ptr::eq(other, spot)).count() > TIMEOUTS {
        let name = rt.thread_name(me);
        engine.give_up(format!(
            "the time of {name} is up more than {TIMEOUTS} times at {spot}: that is not explored further under a memory model"
        ));
    }
}

impl Notify<'_> {
    /// Clears the bits of the waiters that are woken. Returns which of the waiters it is, if it is one.
    pub(super) fn ask(&self, engine: &Engine, spot: Spot) -> u32 {
        let word = engine.word(self.condition, 0);
        let all = self.all;
        let next = |word: Bits| match all || word.count_ones() < 2 {
            true => 0,
            false => word | CHOOSES,
        };
        let waiting = word.wait_and_update(Order::Unseen, &is_open, &next, self, spot);
        let Some(waiting) = waiting.filter(|waiting| !all && waiting.count_ones() > 1) else {
            return 0;
        };
        let choice = engine.choose(waiting.count_ones(), self, spot);
        let mut left = waiting;
        for _ in 0..choice {
            left &= left - 1;
        }
        let woken = left & left.wrapping_neg();
        word.store(Order::Unseen, waiting & !woken, self, spot);
        choice
    }
}
