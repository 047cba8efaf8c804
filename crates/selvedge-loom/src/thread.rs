//! Threads, as in loom: what is spawned need not be `Send`.

use std::io;

pub use selvedge::thread::*;

/// Spawns a thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + 'static,
    T: 'static,
{
    let spawned = Builder::new().spawn(f);
    spawned.expect("a thread that cannot be started is reported by the check")
}

/// A thread to be, with a name.
#[derive(Debug)]
pub struct Builder {
    inner: selvedge::thread::Builder,
}

impl Builder {
    /// A thread without a name.
    #[allow(clippy::new_without_default, reason = "loom has none")]
    pub fn new() -> Self {
        Self { inner: selvedge::thread::Builder::new() }
    }

    /// Its name in reports.
    pub fn name(self, name: String) -> Self {
        Self { inner: self.inner.name(name) }
    }

    /// Accepted and ignored.
    pub fn stack_size(self, size: usize) -> Self {
        Self { inner: self.inner.stack_size(size) }
    }

    /// Spawns it.
    ///
    /// # Errors
    /// Never.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + 'static,
        T: 'static,
    {
        self.inner.spawn_local(f)
    }
}
