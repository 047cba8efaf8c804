//! Threads that may borrow.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use super::builder::start_thread;
use super::handle::{Packet, Thread, is_finished, join};
use crate::rt::Spot;

/// Whether the end of a thread is known to somebody.
type IsKnown = Box<dyn Fn() -> bool>;

/// A scope to spawn threads in.
pub struct Scope<'scope, 'env: 'scope> {
    /// Threads of the scope: number, and whether somebody has joined it or will know of its panic.
    threads: RefCell<Vec<(usize, IsKnown)>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: all threads of checked code run on one thread of the system, by turns.
unsafe impl Sync for Scope<'_, '_> {}

/// Runs `f` with a scope, and waits for all threads that were spawned in it.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let spot = Location::caller();
    let scope = Scope { threads: RefCell::new(Vec::new()), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    let mut panicked = false;
    // Threads may spawn others while we wait.
    let mut next = 0;
    loop {
        let Some(number) = scope.threads.borrow().get(next).map(|&(number, _)| number) else {
            break;
        };
        if !scope.threads.borrow()[next].1() {
            join(number, spot);
            panicked |= !scope.threads.borrow()[next].1();
        }
        next += 1;
    }
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Spawns a thread in the scope.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_named(None, f, Location::caller())
    }

    pub(super) fn spawn_named<F, T>(
        &'scope self,
        name: Option<String>,
        f: F,
        spot: Spot,
    ) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // The result travels on the side, so that only the code must pretend to live long.
        let packet: Packet<T> = Packet::default();
        let done: Packet<()> = Packet::default();
        let (result, finished) = (packet.clone(), done.clone());
        let code: Box<dyn FnOnce() + 'scope> = Box::new(move || {
            let value = f();
            *result.borrow_mut() = Some(Ok(value));
            *finished.borrow_mut() = Some(Ok(()));
        });
        // SAFETY: only the lifetime changes: the scope does not end before the thread has.
        let code = unsafe {
            std::mem::transmute::<Box<dyn FnOnce() + 'scope>, Box<dyn FnOnce() + 'static>>(code)
        };
        let started = start_thread(name, code, spot);
        let joined = done.clone();
        self.threads
            .borrow_mut()
            .push((started.number, Box::new(move || joined.borrow().is_some())));
        let thread = Thread { number: started.number, name: started.name };
        ScopedJoinHandle { packet, failure: started.packet, done, thread, scope: PhantomData }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// Owned permission to join on a thread of a scope.
pub struct ScopedJoinHandle<'scope, T> {
    packet: Packet<T>,
    failure: Packet<()>,
    done: Packet<()>,
    thread: Thread,
    scope: PhantomData<&'scope ()>,
}

// SAFETY: all threads of checked code run on one thread of the system, by turns.
unsafe impl<T> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: as above.
unsafe impl<T> Sync for ScopedJoinHandle<'_, T> {}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to end.
    ///
    /// # Errors
    /// As [`super::JoinHandle::join`].
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        join(self.thread.number, Location::caller());
        let value = self.packet.borrow_mut().take();
        if value.is_none() {
            // Whoever joins knows of the panic.
            *self.done.borrow_mut() = Some(Ok(()));
        }
        value.unwrap_or_else(|| match self.failure.borrow_mut().take() {
            Some(Err(payload)) => Err(payload),
            _ => Err(Box::new("the thread was taken down")),
        })
    }

    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        is_finished(self.thread.number, Location::caller())
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
