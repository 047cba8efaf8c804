//! The program of a search: a system that can leave behind what its threads are called.

use std::sync::PoisonError;

use selvedge_core::{Describe, System, ThreadId, forward_system};
use selvedge_lang::ThreadNames;

/// A program that is explored.
///
/// Numbers are given in the order in which a search meets threads, so only the system of that search knows their names.
pub(crate) struct Named<S: Describe> {
    program: S,
    /// Where the names go when the search is over, if they are wanted.
    names: Option<ThreadNames>,
}

impl<S: Describe> Named<S> {
    /// Returns a program that leaves the names of its threads in `names`, if they are wanted.
    #[cfg_attr(
        not(all(target_os = "linux", target_arch = "x86_64")),
        allow(dead_code, reason = "C programs are checked on Linux on x86-64 only")
    )]
    pub(crate) fn new(program: S, names: Option<&ThreadNames>) -> Self {
        Self { program, names: names.map(ThreadNames::clone) }
    }
}

impl<S: Describe> Drop for Named<S> {
    fn drop(&mut self) {
        if let Some(names) = &self.names {
            let threads = (0..self.program.thread_count()).map(ThreadId::new);
            *names.lock().unwrap_or_else(PoisonError::into_inner) =
                threads.map(|thread| self.program.thread_name(thread)).collect();
        }
    }
}

impl<S: Describe> System for Named<S> {
    forward_system! { self => self.program;
        restart rewind thread_count thread_key object_key status choices pending obstacles step end freed
        ahead values judging foresight conditions states promises
    }
}
