//! Threads that may borrow.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;

use super::handle::{JoinHandle, Thread};
use super::start::start_thread;
use crate::rt::{Engine, Spot};

/// What a scope wants to know of one of its threads when it has ended.
#[derive(Default)]
struct Fate {
    /// Whether it came to its end without a panic.
    succeeded: Cell<bool>,
    /// Who joined it.
    joined_by: Cell<Option<usize>>,
}

/// A scope to spawn threads in.
pub struct Scope<'scope, 'env: 'scope> {
    threads: RefCell<Vec<(Thread, Rc<Fate>)>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl Send for Scope<'_, '_> {}
// SAFETY: as above.
unsafe impl Sync for Scope<'_, '_> {}
impl std::panic::RefUnwindSafe for Scope<'_, '_> {}

/// Runs `f` with a scope, and waits for all threads that were spawned in it. As in `std`, those that
/// are not joined may still drop thread-local values after it.
///
/// # Panics
/// If a thread panicked that was not joined.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let spot = Location::caller();
    let scope = Scope { threads: RefCell::new(Vec::new()), scope: PhantomData, env: PhantomData };
    let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
    scope.join_all(spot);
    let is_unknown = |fate: &Fate| !fate.succeeded.get() && fate.joined_by.get().is_none();
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if scope.threads.borrow().iter().any(|(_, fate)| is_unknown(fate)) => {
            panic!("a scoped thread panicked")
        }
        Ok(value) => value,
    }
}

impl Scope<'_, '_> {
    /// Waits for all threads. Only what this thread joined itself it knows to have ended: whether
    /// others have is nothing that it may look at without a step.
    ///
    /// Threads may spawn others while we wait, in any order. A thread has a larger number
    /// than its creator, so that the one with the least number does not depend on that order.
    fn join_all(&self, spot: Spot) {
        let me = Engine::enter().me();
        let mut last = None;
        while let Some((thread, fate)) = self.first_after(last) {
            if fate.joined_by.get() != Some(me) {
                thread.wait_until_done(spot);
            }
            last = Some(thread.number);
        }
    }

    fn add(&self, thread: &Thread, fate: &Rc<Fate>) {
        // The list belongs to no thread: when it grows, the memory must not be that of the last thread.
        let _engine = Engine::enter();
        self.threads.borrow_mut().push((thread.clone(), Rc::clone(fate)));
    }

    /// The thread with the least number above `last`.
    fn first_after(&self, last: Option<usize>) -> Option<(Thread, Rc<Fate>)> {
        let threads = self.threads.borrow();
        let rest = threads.iter().filter(|(thread, _)| Some(thread.number) > last);
        rest.min_by_key(|(thread, _)| thread.number).cloned()
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
        let fate = Rc::new(Fate::default());
        let told = Rc::clone(&fate);
        let code = move || {
            let value = f();
            told.succeeded.set(true);
            value
        };
        // SAFETY: the scope does not end before the thread has.
        let handle = JoinHandle::new(unsafe { start_thread(name, code, spot) });
        self.add(handle.thread(), &fate);
        ScopedJoinHandle { handle, fate, scope: PhantomData }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// Owned permission to join on a thread of a scope.
pub struct ScopedJoinHandle<'scope, T> {
    handle: JoinHandle<T>,
    fate: Rc<Fate>,
    scope: PhantomData<&'scope ()>,
}

// SAFETY: all threads of checked code run on one thread of the system, one at a time.
unsafe impl<T: Send> Send for ScopedJoinHandle<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for ScopedJoinHandle<'_, T> {}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to end.
    ///
    /// # Errors
    /// As [`super::JoinHandle::join`].
    #[track_caller]
    pub fn join(self) -> std::thread::Result<T> {
        let result = self.handle.join();
        self.fate.joined_by.set(Some(Engine::enter().me()));
        result
    }

    /// Returns the thread.
    pub fn thread(&self) -> &Thread {
        self.handle.thread()
    }

    /// Returns whether the thread has ended.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
