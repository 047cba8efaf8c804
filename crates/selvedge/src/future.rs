//! Futures: each task is a thread of its own that polls, and waits until it is woken.
//!
//! ```
//! use selvedge::future::{block_on, spawn};
//!
//! selvedge::check(|| {
//!     let task = spawn(async { 20 });
//!     let sum = block_on(async { task.await.unwrap() + 1 });
//!     assert_eq!(sum, 21);
//! });
//! ```

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use selvedge_core::{Bits, Mode, ObjectId, Order};

use crate::rt::body::Abort;
use crate::rt::{Engine, Header, Observed, Restorer, Spot, Touch};
use crate::sync::Notify;
use crate::thread;

struct WakeUp {
    notify: Notify,
    /// Where the future is polled: where its waker is used is unknown.
    spot: Spot,
}

impl Wake for WakeUp {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify.notify_at("wake", self.spot);
    }
}

/// Runs a future to its end on this thread.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    block_on_at(future, Location::caller())
}

fn block_on_at<F: Future>(future: F, spot: Spot) -> F::Output {
    let mut future = pin!(future);
    let wake_up = Arc::new(WakeUp { notify: Notify::named("waker", spot), spot });
    let waker = Waker::from(Arc::clone(&wake_up));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => wake_up.notify.wait_at(spot),
        }
    }
}

/// A task that has ended, as a word.
const ENDED: Bits = 1;

/// What a task and its handle share.
struct Shared<T> {
    header: Header,
    state: RefCell<State<T>>,
}

struct State<T> {
    result: Option<Result<T, JoinError>>,
    ended: bool,
    /// The task or thread that waits for the result.
    waiting: Option<Waker>,
    /// How to wake the task.
    task: Option<Waker>,
    aborted: bool,
}

impl<T> Shared<T> {
    fn new(spot: Spot) -> Self {
        let state = State { result: None, ended: false, waiting: None, task: None, aborted: false };
        Self { header: Header::new(spot), state: RefCell::new(state) }
    }

    /// A step that changes the task. If it has no place of its own, that is where the task was spawned.
    fn step<R>(
        &self,
        verb: &'static str,
        spot: Option<Spot>,
        f: impl FnOnce(&mut State<T>) -> R,
    ) -> R {
        self.step_to(verb, spot, |word| word, f)
    }

    /// The same; `next` says what becomes of the task as a word, under a memory model: [`ENDED`] or 0.
    fn step_to<R>(
        &self,
        verb: &'static str,
        spot: Option<Spot>,
        next: fn(Bits) -> Bits,
        f: impl FnOnce(&mut State<T>) -> R,
    ) -> R {
        let (engine, spot) = (Engine::enter(), spot.unwrap_or(self.header.created));
        let object = self.object(&engine);
        let touch = Touch { object, mode: Mode::Update, verb, order: None };
        engine.update_word(object, Order::AcqRel, &next, &touch, spot);
        engine.observed(object, Observed::Changed(Mode::Read));
        drop(engine);
        f(&mut self.state.borrow_mut())
    }

    /// Returns whether the task has ended.
    fn has_ended(&self, spot: Spot) -> bool {
        let engine = Engine::enter();
        let object = self.object(&engine);
        let touch = Touch { object, mode: Mode::Read, verb: "is_finished", order: None };
        let seen = match engine.asks() {
            true => engine.word(object, 0).load(Order::Acquire, &touch, spot),
            false => {
                engine.visible(&touch, spot);
                None
            }
        };
        engine.observed(object, Observed::Looked(Mode::Read));
        seen.map_or_else(|| self.state.borrow().ended, |word| word == ENDED)
    }

    // A task belongs to the execution that spawned it.
    fn object(&self, engine: &Engine) -> ObjectId {
        self.header.object(engine, "task", || Restorer::With(Box::new(|| ())))
    }
}

/// Why a task has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinError {
    cancelled: bool,
}

impl JoinError {
    /// Returns whether the task was aborted.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Returns whether the task panicked, and [`crate::Builder::panics_are_results`] lets the check continue.
    pub fn is_panic(&self) -> bool {
        !self.cancelled
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.cancelled { "the task was cancelled" } else { "the task panicked" })
    }
}

impl std::error::Error for JoinError {}

/// Owned permission to wait for a task.
pub struct JoinHandle<T> {
    shared: Rc<Shared<T>>,
    /// Whether the result was given.
    is_over: Cell<bool>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

/// Starts a task.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let spot = Location::caller();
    let shared = Rc::new(Shared::new(spot));
    let task = Rc::clone(&shared);
    let code = move || {
        let run = || block_on_at(Task { future: Box::pin(future), shared: Rc::clone(&task) }, spot);
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(result) => task.finish(result.ok_or(JoinError { cancelled: true })),
            Err(payload) => {
                if panics_are_results() && !payload.is::<Abort>() {
                    task.finish(Err(JoinError { cancelled: false }));
                }
                resume_unwind(payload);
            }
        }
    };
    drop(thread::Builder::new().spawn_local(code));
    JoinHandle { shared, is_over: Cell::new(false) }
}

fn panics_are_results() -> bool {
    Engine::enter().rt().shared.panics_are_results
}

impl<T> Shared<T> {
    /// The task leaves its result. If the handle is gone, it is dropped with the task.
    fn finish(&self, result: Result<T, JoinError>) {
        let waiting = self.step_to(
            "finish",
            None,
            |_| ENDED,
            |state| {
                state.result = Some(result);
                (state.ended, state.task) = (true, None);
                state.waiting.take()
            },
        );
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }
}

/// A future that can be aborted between polls.
struct Task<F: Future> {
    future: Pin<Box<F>>,
    shared: Rc<Shared<F::Output>>,
}

impl<F: Future> Future for Task<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let aborted = self.shared.step("poll", None, |state| {
            state.task = Some(context.waker().clone());
            state.aborted
        });
        match aborted {
            true => Poll::Ready(None),
            false => self.future.as_mut().poll(context).map(Some),
        }
    }
}

impl<T> JoinHandle<T> {
    /// Ends the task before its next poll.
    #[track_caller]
    pub fn abort(&self) {
        let here = Some(Location::caller());
        let task = self.shared.step("abort", here, |state| {
            state.aborted = true;
            state.task.take()
        });
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Returns whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.shared.has_ended(Location::caller())
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.shared.step("await", None, |state| match state.result.take() {
            Some(result) => {
                self.is_over.set(true);
                Poll::Ready(result)
            }
            None => {
                state.waiting = Some(context.waker().clone());
                Poll::Pending
            }
        })
    }
}

impl<T> Drop for JoinHandle<T> {
    /// The last of the task and its handle drops the result. If that can be observed, it is a step.
    fn drop(&mut self) {
        if self.is_over.get() || !std::mem::needs_drop::<T>() || !is_checked() {
            return;
        }
        let verb = "drop the handle of";
        drop(self.shared.step(verb, None, |state| state.result.take()));
    }
}

fn is_checked() -> bool {
    Engine::try_enter().is_some()
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// A waker that one task registers and others wake.
pub struct AtomicWaker {
    header: Header,
    waker: RefCell<Option<Waker>>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl Send for AtomicWaker {}
// SAFETY: as above.
unsafe impl Sync for AtomicWaker {}
impl std::panic::RefUnwindSafe for AtomicWaker {}

impl AtomicWaker {
    /// No task is registered.
    #[track_caller]
    pub const fn new() -> Self {
        Self { header: Header::new(Location::caller()), waker: RefCell::new(None) }
    }

    /// Registers a waker in place of the one before.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        drop(self.replace("register", Some(waker), Location::caller()));
    }

    /// Registers a waker in place of the one before.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        drop(self.replace("register", Some(waker.clone()), Location::caller()));
    }

    /// Wakes the registered task.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.replace("wake", None, Location::caller()) {
            waker.wake();
        }
    }

    /// Takes the waker of the registered task.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.replace("take_waker", None, Location::caller())
    }

    fn replace(&self, verb: &'static str, new: Option<Waker>, spot: Spot) -> Option<Waker> {
        let engine = Engine::enter();
        let object = self.header.object(&engine, "AtomicWaker", || {
            let waker: *const RefCell<Option<Waker>> = &self.waker;
            // SAFETY: what outlives an execution is not freed before the check is over.
            Restorer::With(Box::new(move || drop(unsafe { (*waker).take() })))
        });
        let touch = Touch { object, mode: Mode::Update, verb, order: None };
        engine.update_word(object, Order::AcqRel, &|word| word, &touch, spot);
        engine.observed(object, Observed::Changed(Mode::Read));
        self.waker.replace(new)
    }
}

impl Default for AtomicWaker {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for AtomicWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtomicWaker").finish_non_exhaustive()
    }
}
