//! A program that is run by several explorers, one after the other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use selvedge_core::{Describe, Effect, Report, Status, Step, System, ThreadId, forward_system};
use selvedge_explore::{Algorithm, Auto, Explorer as _, Observer, Options};
use selvedge_lang::ir::Program;
use selvedge_lang::{Caps, Interpreter, compile, render};

use crate::classes::Classes;
use crate::explore::explore;
use crate::states::{Outcomes, search_states};

/// A compiled program.
///
/// Ids of spawned threads and of messages are given when they first occur, and kept. So that the
/// classes that two explorers find can be compared, all explorations use the same interpreter.
pub struct Subject {
    program: Arc<Program>,
    warnings: String,
    caps: Caps,
    free: Rc<RefCell<Interpreters>>,
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The classes of its executions.
    pub classes: Classes,
    /// Counts and violations.
    pub report: Report,
}

impl Subject {
    /// Compiles `text` with these constants.
    ///
    /// # Errors
    /// If there is anything wrong with it: the diagnostics, as text.
    pub fn new(name: &str, text: &str, constants: &[(String, i64)]) -> Result<Self, String> {
        match compile(name, text, constants) {
            Ok(compiled) => Ok(Self {
                program: compiled.program,
                warnings: render(&compiled.warnings, name, text, false),
                caps: Caps::default(),
                free: Rc::default(),
            }),
            Err(diagnostics) => Err(render(&diagnostics, name, text, false)),
        }
    }

    /// The same program, whose code is followed only so far to find what threads may still do.
    #[must_use]
    pub fn with_caps(self, caps: Caps) -> Self {
        Self { caps, ..self }
    }

    /// The compiled program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What the compiler warns about, as text; empty if nothing.
    pub fn warnings(&self) -> &str {
        &self.warnings
    }

    /// Explores it and collects the classes.
    ///
    /// # Errors
    /// The message, if the explorer or the interpreter panics: an error of ours like any other.
    pub fn classes(&self, algorithm: Algorithm, options: &Options) -> Result<Findings, String> {
        let mut classes = Classes::default();
        let report = self.explore(algorithm, options, &mut classes)?;
        Ok(Findings { classes, report })
    }

    /// Explores it.
    ///
    /// # Errors
    /// The message, if the explorer or the interpreter panics.
    pub fn explore(
        &self,
        algorithm: Algorithm,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, String> {
        self.searched(|make| explore(algorithm, make, options, observer))
    }

    /// Explores it by the explorer that chooses.
    ///
    /// # Errors
    /// The message, if the explorer or the interpreter panics.
    pub fn explore_auto(
        &self,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, String> {
        self.searched(|make| Auto.explore(make, options, observer))
    }

    fn searched(&self, search: impl FnOnce(&dyn Fn() -> Loan) -> Report) -> Result<Report, String> {
        // What a panic interrupted is not used again: see `Loan::drop`.
        let search = AssertUnwindSafe(|| search(&|| self.lend()));
        catch_unwind(search).map_err(|payload| {
            let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
            text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
        })
    }

    /// Every way in which it can end, by a plain search. `None` if it has more than `most` states.
    pub fn search_states(&self, most: usize) -> Option<Outcomes> {
        search_states(&mut self.lend(), most)
    }

    /// The threads that have not finished after `steps` of an execution of it: the name of each, what it can do, and the
    /// line of its next step.
    pub fn waiting(&self, steps: &[Step]) -> Vec<(String, Status, u32)> {
        let mut system = self.lend();
        system.restart();
        let mut effect = Effect::default();
        for &step in steps {
            system.step(step, &mut effect);
        }
        let mut waiting = Vec::new();
        for thread in (0..system.thread_count()).map(ThreadId::new) {
            let status = system.status(thread);
            if let Status::Enabled | Status::Blocked | Status::Parked = status {
                let place = system.describe_pending(thread).place;
                let line = place.expect("every step has a place").line;
                waiting.push((system.thread_name(thread), status, line));
            }
        }
        waiting
    }

    fn lend(&self) -> Loan {
        let mut free = self.free.borrow_mut();
        let (number, interpreter) = free.idle.pop_first().unwrap_or_else(|| {
            free.made += 1;
            (free.made, Interpreter::new(Arc::clone(&self.program)).with_caps(self.caps))
        });
        Loan { number, interpreter: Some(interpreter), home: Rc::clone(&self.free) }
    }
}

#[derive(Default)]
struct Interpreters {
    /// Not in use now, by number. The one with the lowest number is lent first: always the same.
    idle: BTreeMap<u32, Interpreter>,
    made: u32,
}

/// An interpreter that goes back to its subject when the exploration is over.
struct Loan {
    number: u32,
    /// `None` only while it is dropped.
    interpreter: Option<Interpreter>,
    home: Rc<RefCell<Interpreters>>,
}

impl Drop for Loan {
    fn drop(&mut self) {
        if let Some(interpreter) = self.interpreter.take()
            && !std::thread::panicking()
        {
            self.home.borrow_mut().idle.insert(self.number, interpreter);
        }
    }
}

impl Deref for Loan {
    type Target = Interpreter;

    fn deref(&self) -> &Interpreter {
        self.interpreter.as_ref().expect("internal error: used after it was given back")
    }
}

impl DerefMut for Loan {
    fn deref_mut(&mut self) -> &mut Interpreter {
        self.interpreter.as_mut().expect("internal error: used after it was given back")
    }
}

impl System for Loan {
    forward_system! { self => (**self);
        restart rewind thread_count thread_key object_key status choices pending obstacles step end freed
        ahead values judging foresight conditions states promises
    }
}
