//! Spawning.

use std::io;
use std::panic::Location;

use super::handle::JoinHandle;
use super::scoped::{Scope, ScopedJoinHandle};
use super::start::start_thread;

/// Spawns a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: it borrows nothing.
    JoinHandle::new(unsafe { start_thread(None, f, Location::caller()) })
}

/// A thread to be, with a name.
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    name: Option<String>,
}

impl Builder {
    /// A thread without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its name in reports.
    pub fn name(self, name: String) -> Self {
        Self { name: Some(name) }
    }

    /// Accepted and ignored: all stacks have the size that [`crate::Builder::stack_size`] says.
    pub fn stack_size(self, _size: usize) -> Self {
        self
    }

    /// Spawns it.
    ///
    /// # Errors
    /// Never: a thread that cannot be started is reported by the check.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: it borrows nothing.
        unsafe { self.spawn_unchecked(f) }
    }

    /// Spawns it, whatever it borrows.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    ///
    /// # Safety
    /// As for [`std::thread::Builder::spawn_unchecked`]: what it borrows must outlive it.
    #[track_caller]
    pub unsafe fn spawn_unchecked<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        // SAFETY: the caller promises that what it borrows outlives it.
        let started = unsafe { start_thread(self.name, f, Location::caller()) };
        Ok(JoinHandle::new(started))
    }

    /// Spawns it, also if it cannot be sent: all threads of checked code run on one thread of the
    /// system. `std` would refuse it.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_local<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        // SAFETY: it borrows nothing.
        Ok(JoinHandle::new(unsafe { start_thread(self.name, f, Location::caller()) }))
    }

    /// Spawns it in a scope.
    ///
    /// # Errors
    /// As [`Builder::spawn`].
    #[track_caller]
    pub fn spawn_scoped<'scope, F, T>(
        self,
        scope: &'scope Scope<'scope, '_>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Ok(scope.spawn_named(self.name, f, Location::caller()))
    }
}
