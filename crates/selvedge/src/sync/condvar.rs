//! Condition variables.

mod answered;

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use selvedge_core::{Effect, Flexibility, Mode, ObjectId, Order, ViolationKind};
use smallvec::SmallVec;

use super::lock::{Acquire, Hold, Lock};
use super::mutex::{Mutex, MutexGuard};
use super::{LockResult, PoisonError};
use crate::rt::{Engine, Header, Observed, Operation, Restorer, Runtime, Spot, State};

/// A condition variable, as [`std::sync::Condvar`]. Waits may end spuriously, as there: see
/// [`Builder::spurious`](crate::Builder::spurious).
pub struct Condvar {
    header: Header,
    /// The waiters, in ascending order of their numbers, and their mutex.
    waiters: RefCell<Waiters>,
}

/// Threads that wait, and the mutex that each waits with.
type Waiters = SmallVec<[(usize, ObjectId); 2]>;

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl Send for Condvar {}
// SAFETY: as above.
unsafe impl Sync for Condvar {}
impl std::panic::UnwindSafe for Condvar {}
impl std::panic::RefUnwindSafe for Condvar {}

/// Whether a wait ended because its time was up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Returns whether the time was up.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// No thread waits.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            header: Header::new(Location::caller()),
            waiters: RefCell::new(SmallVec::new_const()),
        }
    }

    fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, "Condvar", || {
            let waiters: *const RefCell<Waiters> = &self.waiters;
            Restorer::With(Box::new(move || {
                // SAFETY: what outlives an execution is not freed before the check is over.
                unsafe { (*waiters).borrow_mut().clear() };
            }))
        })
    }

    /// Releases the mutex, waits to be notified, and takes the mutex again.
    ///
    /// # Errors
    /// With the guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let spot = Location::caller();
        let mutex = match wakes_without_reason(guard, spot) {
            Ok(mutex) => mutex,
            Err(guard) => self.wait_at(guard, false, spot).0,
        };
        mutex.guarded(spot)
    }

    /// Waits until `condition` is false.
    ///
    /// # Errors
    /// With the guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        let spot = Location::caller();
        while condition(&mut guard) {
            let mutex = match wakes_without_reason(guard, spot) {
                Ok(mutex) => mutex,
                Err(guard) => self.wait_at(guard, false, spot).0,
            };
            guard = mutex.guarded(spot)?;
        }
        Ok(guard)
    }

    /// Waits to be notified or until the time is up; both are tried.
    ///
    /// # Errors
    /// With the guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        _duration: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let spot = Location::caller();
        let (mutex, timed_out) = match wakes_without_reason(guard, spot) {
            Ok(mutex) => (mutex, false),
            Err(guard) => self.wait_timed(guard, spot),
        };
        match mutex.guarded(spot) {
            Ok(guard) => Ok((guard, WaitTimeoutResult(timed_out))),
            Err(poisoned) => {
                Err(PoisonError::new((poisoned.into_inner(), WaitTimeoutResult(timed_out))))
            }
        }
    }

    /// Waits until `condition` is false or the time is up; both are tried.
    ///
    /// # Errors
    /// With the guard, if the mutex is poisoned.
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        _duration: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let spot = Location::caller();
        while condition(&mut guard) {
            let (mutex, timed_out) = match wakes_without_reason(guard, spot) {
                Ok(mutex) => (mutex, false),
                Err(guard) => self.wait_timed(guard, spot),
            };
            match mutex.guarded(spot) {
                Ok(taken) => guard = taken,
                Err(poisoned) => {
                    let result = WaitTimeoutResult(timed_out);
                    return Err(PoisonError::new((poisoned.into_inner(), result)));
                }
            }
            if timed_out {
                let still = condition(&mut guard);
                return Ok((guard, WaitTimeoutResult(still)));
            }
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Waits until it is woken, or its time is up; returns the mutex, which is held, and whether it is.
    fn wait_timed<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        spot: Spot,
    ) -> (&'a Mutex<T>, bool) {
        let (mutex, end) = self.wait_at(guard, true, spot);
        let timed_out = end == End::TimeIsUp;
        if timed_out {
            // A thread that waits in a loop, and whose time is up each time, need not go round for nothing.
            crate::rt::pause("wait with a timeout", spot);
            mutex.acquire_again(spot);
        }
        (mutex, timed_out)
    }

    /// Waits; returns the mutex, which is not held if the time was up.
    fn wait_at<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        timed: bool,
        spot: Spot,
    ) -> (&'a Mutex<T>, End) {
        let mutex = guard.mutex();
        std::mem::forget(guard);
        let engine = Engine::enter();
        let (object, lock) = (mutex.object(&engine), mutex.state());
        let condition = self.object(&engine);
        if engine.asks() {
            return (mutex, self.ask_wait(&engine, mutex, (condition, object), timed, spot));
        }
        let choice = engine.visible(&Wait { condition, mutex: object, timed }, spot);
        self.check_mutex(&engine, condition, object, spot);
        let content = mutex.content();
        lock.released(&engine, object, Hold::Alone, (content, Observed::Gave(content)));
        let end = if choice == 1 { End::TimeIsUp } else { End::Woken };
        if end == End::TimeIsUp {
            engine.note(|rt| format!("wait {}: the time will be up", rt.object_name(condition)));
        } else {
            let me = engine.me();
            self.waiters.borrow_mut().push((me, object));
            self.waiters.borrow_mut().sort_unstable();
            // For threads that notify in a loop.
            engine.observed(condition, Observed::Changed(Mode::Probe));
            engine.note(|rt| format!("wait {}", rt.object_name(condition)));
            engine.park(&Woken { condition, mutex: object, lock, timed }, spot);
            self.waiters.borrow_mut().retain(|&mut (waiter, _)| waiter != me);
            lock.acquired(&engine, object, Hold::Alone, mutex.content(), spot);
            engine.note(|rt| {
                let (condition, mutex) = (rt.object_name(condition), rt.object_name(object));
                format!("woken by {condition}, lock {mutex}")
            });
        }
        (mutex, end)
    }

    /// All waiters must use the same mutex.
    fn check_mutex(&self, engine: &Engine, condition: ObjectId, mutex: ObjectId, spot: Spot) {
        let other = self.waiters.borrow().iter().map(|&(_, mutex)| mutex).find(|&m| m != mutex);
        if other.is_some() && !crate::rt::is_unwinding() {
            let name = engine.rt().object_name(condition);
            let message = format!("{name} is used with two mutexes");
            engine.fail(ViolationKind::Misuse, message, &[spot]);
        }
    }

    /// Wakes one waiter, if there is one; each is tried.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(false, Location::caller());
    }

    /// Wakes all waiters.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(true, Location::caller());
    }

    fn notify(&self, all: bool, spot: Spot) {
        let engine = Engine::enter();
        let condition = self.object(&engine);
        let notify = Notify { condition, waiters: &self.waiters, all };
        let choice = match engine.asks() {
            true => notify.ask(&engine, spot),
            false => engine.visible(&notify, spot),
        };
        let woken = chosen(&self.waiters, all, choice);
        self.waiters.borrow_mut().retain(|(waiter, _)| !woken.contains(waiter));
        match woken.is_empty() {
            true => engine.observed(condition, Observed::Looked(Mode::Probe)),
            false => engine.observed(condition, Observed::Changed(Mode::Probe)),
        }
        for &waiter in &woken {
            engine.rt().threads[waiter].state = State::Ready;
        }
        engine.note(|rt| {
            let names: Vec<_> = woken.iter().map(|&waiter| rt.thread_name(waiter)).collect();
            let who = if names.is_empty() { "no thread".to_owned() } else { names.join(", ") };
            let verb = if all { "notify_all" } else { "notify_one" };
            format!("{verb} {}: wakes {who}", rt.object_name(condition))
        });
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Woken,
    TimeIsUp,
}

/// A wait may end without a notification: the mutex is released and acquired again. `Err`: it does not.
fn wakes_without_reason<'a, T: ?Sized>(
    guard: MutexGuard<'a, T>,
    spot: Spot,
) -> Result<&'a Mutex<T>, MutexGuard<'a, T>> {
    let engine = Engine::enter();
    let ends = match engine.asks() {
        true => {
            let mutex = guard.mutex().object(&engine);
            engine.asks_whim(&Wait { condition: mutex, mutex, timed: false }, spot)
        }
        false => engine.ends_without_reason("wait", spot),
    };
    drop(engine);
    if !ends {
        return Err(guard);
    }
    let mutex = guard.mutex();
    drop(guard);
    mutex.acquire_again(spot);
    Ok(mutex)
}

/// Which waiters a notification wakes.
fn chosen(waiters: &RefCell<Waiters>, all: bool, choice: u32) -> SmallVec<[usize; 4]> {
    let waiters = waiters.borrow();
    let numbers = waiters.iter().map(|&(waiter, _)| waiter);
    match all {
        true => numbers.collect(),
        false => numbers.skip(choice as usize).take(1).collect(),
    }
}

impl Default for Condvar {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

/// Releases the mutex and starts to wait. If it is timed, the second alternative is that the time
/// will be up before another thread wakes it.
struct Wait {
    condition: ObjectId,
    mutex: ObjectId,
    timed: bool,
}

impl Operation<Runtime> for Wait {
    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
        if self.timed { 2 } else { 1 }
    }

    fn left_alone(&self) -> Option<u32> {
        Some(1)
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        // Both alternatives touch the same: explorers take a step that is independent of others to
        // be so with each of its alternatives.
        effect.footprint.add(self.condition, Mode::Wait);
        effect.footprint.add(self.mutex, Mode::Release);
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("wait {}", rt.object_name(self.condition))
    }
}

/// Continues after a notification, once the mutex is free.
struct Woken<'a> {
    condition: ObjectId,
    mutex: ObjectId,
    lock: &'a Lock,
    timed: bool,
}

impl Operation<Runtime> for Woken<'_> {
    fn is_enabled(&self, rt: &Runtime, me: usize) -> bool {
        Acquire { object: self.mutex, lock: self.lock, hold: Hold::Alone }.is_enabled(rt, me)
    }

    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.mutex, Mode::Acquire);
        effect.footprint.add(rt.known[me].wake, Mode::Woken);
        effect.flexibility = Flexibility::Lock;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("wait {}", rt.object_name(self.condition))
    }

    fn waits_for(&self, rt: &Runtime, me: usize) -> Option<(String, Vec<usize>)> {
        if rt.threads[me].state == State::Parked {
            let name = rt.object_name(self.condition);
            return Some((format!("waits for a notification of {name}"), Vec::new()));
        }
        Acquire { object: self.mutex, lock: self.lock, hold: Hold::Alone }.waits_for(rt, me)
    }

    fn is_timed(&self) -> bool {
        self.timed
    }
}

struct Notify<'a> {
    condition: ObjectId,
    waiters: &'a RefCell<Waiters>,
    all: bool,
}

impl Operation<Runtime> for Notify<'_> {
    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
        match self.all {
            true => 1,
            false => self.waiters.borrow().len().max(1) as u32,
        }
    }

    fn effect(&self, rt: &mut Runtime, _me: usize, choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.condition, Mode::Signal);
        for waiter in chosen(self.waiters, self.all, choice) {
            effect.footprint.add(rt.known[waiter].wake, Mode::Wake);
        }
        effect.flexibility = Flexibility::Conditional;
        // In `std`, what was done before a notification is visible to the waiter through the mutex alone.
        effect.order = Some(Order::Relaxed);
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        let verb = if self.all { "notify_all" } else { "notify_one" };
        format!("{verb} {}", rt.object_name(self.condition))
    }
}
