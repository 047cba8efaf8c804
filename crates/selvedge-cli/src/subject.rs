//! The program of a search: an interpreter that can leave behind what its threads are called.

use std::cell::RefCell;
use std::rc::Rc;

use selvedge_core::{Describe as _, System, ThreadId, forward_system};
use selvedge_lang::Interpreter;

/// Names of threads, by their numbers.
pub(crate) type Names = Rc<RefCell<Vec<String>>>;

/// A program that is explored.
///
/// Numbers are given in the order in which a search meets threads, so only the system of that search knows their names.
pub struct Subject {
    program: Interpreter,
    /// Where the names go when the search is over, if they are wanted.
    names: Option<Names>,
}

impl Subject {
    /// Returns a program whose names are not wanted.
    pub(crate) fn new(program: Interpreter) -> Self {
        Self { program, names: None }
    }

    /// Returns a program that leaves the names of its threads in `names`.
    pub(crate) fn naming(program: Interpreter, names: Names) -> Self {
        Self { program, names: Some(names) }
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Some(names) = &self.names {
            let threads = (0..self.program.thread_count()).map(ThreadId::new);
            names.replace(threads.map(|thread| self.program.thread_name(thread)).collect());
        }
    }
}

impl System for Subject {
    forward_system! { self => self.program;
        restart rewind thread_count thread_key object_key status choices pending obstacles step end freed
        ahead values judging foresight conditions
    }
}
