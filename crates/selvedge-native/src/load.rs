//! A program that was compiled, in this process.

use std::cell::{Cell, RefCell};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use selvedge_core::{Inconclusive, Report};

use crate::crash;
use crate::graph::GraphProgram;
use crate::layout;
use crate::machine::{Doubts, Shared};
use crate::module::Module;
use crate::spin::Learned;
use crate::spurious::{Spurious, Whims};
use crate::system::Program;

/// A program in memory. A process loads one.
pub struct Loaded {
    shared: Rc<Shared>,
}

/// Limits on what is looked at before something is given up. Tests make them tiny.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// How often a search begins again because it learned something. Then it is inconclusive.
    pub restarts: usize,
    /// How many looks a turn of a loop can have. The loop that has more is not taken for one that waits, so that it runs on: no
    /// execution is lost, and the search may not end.
    pub looks: usize,
    /// Turns of one loop that are told apart, after which a thread does something else under a memory model. With more, all its
    /// turns are explored one by one.
    pub counting: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { restarts: 10_000, looks: 256, counting: 32 }
    }
}

impl Loaded {
    /// Loads the module that was built from these files. `arguments`: what `main` gets after the name of the program.
    ///
    /// # Errors
    /// A sentence that says why it cannot be loaded.
    pub fn new(module: &Path, sources: &[PathBuf], arguments: &[String]) -> Result<Self, String> {
        layout::reserve().map_err(|error| format!("its memory cannot be mapped: {error}"))?;
        let module = Module::load(module, sources)?;
        crash::install();
        let name = sources.first().map_or_else(String::new, |file| file.display().to_string());
        Ok(Self::with(Rc::new(module), &name, arguments, Caps::default()))
    }

    /// Returns the same program with other limits, of which nothing is known yet.
    pub fn with_caps(&self, caps: Caps) -> Self {
        Self::with(Rc::clone(&self.shared.module), "program", &[], caps)
    }

    /// Returns the same program with other arguments, of which nothing is known yet.
    pub fn again(&self, arguments: &[String]) -> Self {
        Self::with(Rc::clone(&self.shared.module), "program", arguments, self.shared.caps)
    }

    fn with(module: Rc<Module>, name: &str, arguments: &[String], caps: Caps) -> Self {
        let arguments = std::iter::once(name).chain(arguments.iter().map(String::as_str));
        let mut pointers: Vec<*mut libc::c_char> =
            arguments.map(|text| CString::new(text).unwrap_or_default().into_raw()).collect();
        pointers.push(std::ptr::null_mut());
        Self {
            shared: Rc::new(Shared {
                module,
                objects: RefCell::default(),
                learned: Learned::default(),
                whims: Whims::default(),
                doubts: RefCell::new(Doubts::default()),
                unsteady: RefCell::default(),
                is_unsteady: Cell::new(false),
                arguments: pointers,
                caps,
                leaks: Cell::new(false),
            }),
        }
    }

    /// From now on memory that is never freed is a violation.
    pub fn look_for_leaks(&self) {
        self.shared.leaks.set(true);
    }

    /// Says how operations that may end spuriously do so, before anything runs.
    pub fn set_spurious(&self, spurious: Spurious) {
        self.shared.whims.asked.set(spurious);
    }

    /// Returns whether an operation could have ended spuriously more often, and that might matter.
    pub fn is_spurious_bounded(&self) -> bool {
        self.shared.whims.is_bounded.get()
    }

    /// Returns whether one was left out, since the code rechecks.
    pub fn is_spurious_left_out(&self) -> bool {
        self.shared.whims.is_left_out.get()
    }

    /// Returns a fresh system. Its steps have no texts.
    pub fn program(&self) -> Program {
        Program::new(Rc::clone(&self.shared), false)
    }

    /// Returns a fresh system whose steps have texts and whose output is kept.
    pub fn traced(&self) -> Program {
        Program::new(Rc::clone(&self.shared), true)
    }

    /// Returns a fresh system for explorers of graphs. `is_tracing`: whether its steps have texts.
    pub fn graph_program(&self, is_tracing: bool) -> GraphProgram {
        GraphProgram::new(Rc::clone(&self.shared), is_tracing)
    }

    /// Returns whether something was learned since this was last asked, so that a search has to begin again.
    pub fn has_learned(&self) -> bool {
        self.shared.learned.news.replace(false)
    }

    /// Returns a number that changes with all that is known about the program from its executions: its objects, what was
    /// learned, doubts. Nothing of that is ever forgotten, so counting is enough.
    pub fn known(&self) -> u64 {
        let Shared { objects, learned, whims, doubts, is_unsteady, .. } = &*self.shared;
        let doubts = doubts.borrow();
        let said = [doubts.weak, doubts.inputs.is_some(), is_unsteady.get(), learned.news.get()];
        let said = said.iter().filter(|&&it| it).count();
        (objects.borrow().count() + learned.count() + whims.count() + said) as u64
    }

    /// Returns whether what is known makes the search of no use, which then has to begin again or cannot go on.
    pub fn is_void(&self) -> bool {
        self.shared.learned.news.get() || self.shared.is_unsteady.get()
    }

    /// Runs a search until it learns nothing new about the program.
    pub fn settle(&self, mut search: impl FnMut() -> Report) -> Report {
        let most = self.shared.caps.restarts;
        let mut report = search();
        let mut restarts = 0;
        while self.has_learned() {
            if restarts == most {
                // What was found belongs to a program of which less was known.
                report.violations.clear();
                report.note(Inconclusive::GaveUp(format!(
                    "the search learned something new about the program {most} times: which accesses are to the same \
                     memory, or which variables threads share"
                )));
                break;
            }
            restarts += 1;
            report = search();
        }
        report
    }

    /// Returns the words of stacks that other threads saw: the thread, and how many words below the top. A schedule is
    /// only valid with these, since accesses to them are steps.
    pub fn shared_locals(&self) -> Vec<(usize, usize)> {
        self.shared.learned.shared_locals()
    }

    /// Has these known from the beginning.
    pub fn set_shared_locals(&self, locals: &[(usize, usize)]) {
        self.shared.learned.set_shared_locals(locals);
    }

    /// Returns how the same steps did something else, if they did.
    pub fn unsteady(&self) -> Option<String> {
        self.shared.unsteady.borrow().clone()
    }

    /// Returns whether an atomic operation asks for a weaker ordering than sequential consistency.
    pub fn is_weak(&self) -> bool {
        self.shared.doubts.borrow().weak
    }

    /// Returns the function that stands for an input and returned 0 every time, if there is one.
    pub fn unknown_input(&self) -> Option<String> {
        self.shared.doubts.borrow().inputs.clone()
    }

    /// Returns a function whose name says that it is atomic, which is not supported.
    pub fn atomic_function(&self) -> Option<String> {
        let known = ["__VERIFIER_atomic_begin", "__VERIFIER_atomic_end"];
        let defined = self.shared.module.symbols.defined().iter();
        let mut names = defined.map(|symbol| &symbol.name);
        names
            .find(|name| name.starts_with("__VERIFIER_atomic_") && !known.contains(&name.as_str()))
            .cloned()
    }
}
