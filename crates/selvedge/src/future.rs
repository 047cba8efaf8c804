//! Futures: each task is a thread of its own that polls, and waits until it is woken.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::sync::{Mutex, Notify};
use crate::thread;

struct WakeUp {
    notify: Notify,
}

impl Wake for WakeUp {
    #[track_caller]
    fn wake(self: Arc<Self>) {
        self.notify.notify();
    }

    #[track_caller]
    fn wake_by_ref(self: &Arc<Self>) {
        self.notify.notify();
    }
}

/// Runs a future to its end on this thread.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let wake_up = Arc::new(WakeUp { notify: Notify::new() });
    let waker = Waker::from(Arc::clone(&wake_up));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => wake_up.notify.wait(),
        }
    }
}

/// What a task and its handle share.
struct Shared<T> {
    result: Option<Result<T, JoinError>>,
    /// Who waits for the result.
    waiting: Option<Waker>,
    /// How to wake the task.
    task: Option<Waker>,
    aborted: bool,
}

/// Why a task has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JoinError {
    cancelled: bool,
}

impl JoinError {
    /// Whether the task was aborted.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task was cancelled")
    }
}

impl std::error::Error for JoinError {}

/// Owned permission to wait for a task.
pub struct JoinHandle<T> {
    shared: Arc<Mutex<Shared<T>>>,
}

/// Starts a task.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let new = Shared { result: None, waiting: None, task: None, aborted: false };
    let shared = Arc::new(Mutex::new(new));
    let task = Arc::clone(&shared);
    drop(thread::spawn(move || {
        let result = block_on(Task { future: Box::pin(future), shared: Arc::clone(&task) });
        let waiting = {
            let mut shared = task.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            shared.result = Some(result.ok_or(JoinError { cancelled: true }));
            shared.task = None;
            shared.waiting.take()
        };
        if let Some(waiting) = waiting {
            waiting.wake();
        }
    }));
    JoinHandle { shared }
}

/// A future that can be aborted between polls.
struct Task<F: Future> {
    future: Pin<Box<F>>,
    shared: Arc<Mutex<Shared<F::Output>>>,
}

impl<F: Future> Future for Task<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        {
            let mut shared = self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if shared.aborted {
                return Poll::Ready(None);
            }
            shared.task = Some(context.waker().clone());
        }
        self.future.as_mut().poll(context).map(Some)
    }
}

impl<T> JoinHandle<T> {
    /// Ends the task before its next poll.
    #[track_caller]
    pub fn abort(&self) {
        let task = {
            let mut shared = self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            shared.aborted = true;
            shared.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Whether the task has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).result.is_some()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut shared = self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match shared.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                shared.waiting = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// A waker that one task registers and others wake.
#[derive(Debug)]
pub struct AtomicWaker {
    waker: Mutex<Option<Waker>>,
}

impl AtomicWaker {
    /// Nobody is registered.
    #[track_caller]
    pub const fn new() -> Self {
        Self { waker: Mutex::new(None) }
    }

    /// Registers a waker in place of the one before.
    #[track_caller]
    pub fn register(&self, waker: Waker) {
        *self.lock() = Some(waker);
    }

    /// Registers a waker in place of the one before.
    #[track_caller]
    pub fn register_by_ref(&self, waker: &Waker) {
        *self.lock() = Some(waker.clone());
    }

    /// Wakes who is registered.
    #[track_caller]
    pub fn wake(&self) {
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }

    /// Takes who is registered.
    #[track_caller]
    pub fn take_waker(&self) -> Option<Waker> {
        self.lock().take()
    }

    #[track_caller]
    fn lock(&self) -> crate::sync::MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Default for AtomicWaker {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
