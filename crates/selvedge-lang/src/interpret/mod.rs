//! Runs programs: the intermediate representation as a [`System`].
//!
//! Read `machine.rs` first: the state, and how steps are taken back. A step is performed in
//! `step.rs`: one visible instruction, then invisible ones (`invisible.rs`). What an instruction touches and does,
//! and when it can run, is said where the operation is: in `ops/`, outside of this folder. Words are made only on
//! demand: `fault.rs`, `describe.rs`, `ending.rs`.

mod awaited;
mod conditions;
mod describe;
mod ending;
pub(crate) mod fault;
mod foresight;
mod ghosts;
pub(crate) mod invariants;
pub(crate) mod invisible;
mod load;
pub(crate) mod machine;
mod names;
mod promises;
mod record;
mod restored;
mod saved;
mod step;
mod symmetry;
#[cfg(test)]
mod tests;
mod threads;
mod values;

use std::cell::RefCell;
use std::sync::Arc;

use selvedge_core::{
    Ahead, Conditions, Describe, Description, Effect, Ending, Footprint, Foresight, Freed, Judging,
    ObjectId, ObjectKey, Promises, States, Status, Step, System, ThreadId, ThreadKey, ValueChange,
    Values, Violation,
};

use crate::ir::Program;
pub(crate) use awaited::Reads;
use conditions::Analysis;
pub use conditions::{Caps, FindConstraints};
pub(crate) use fault::Failure;
pub(crate) use load::Loaded;
pub(crate) use machine::{At, FREE, Machine, Phase, held_by};
pub use names::ThreadNames;
pub(crate) use record::{Done, typed};
use symmetry::Symmetry;

/// Instructions that a step may run unless told otherwise. A step that runs more ends its execution: inconclusive.
pub(crate) const DEFAULT_BUDGET: u64 = 1_000_000;

/// A program that can be driven step by step.
///
/// The program must be [verified](crate::ir::verify()). Taking steps back costs what taking them
/// cost. Of a pending step, [`Effect::fault`] is never told: to find out, take it.
pub struct Interpreter {
    loaded: Loaded,
    /// Whether an atomic section can run is found out by running it and taking that back: a
    /// question that changes the state for a moment.
    machine: RefCell<Machine>,
    caps: Caps,
    /// Made when conditions are first asked for.
    analysis: Option<Box<Analysis>>,
    /// Asked for constraints of pairs of sections, each once.
    finder: Option<Arc<dyn FindConstraints>>,
    /// The initial state, if a state was restored since: then taking back all steps does not lead there.
    initial: Option<Box<[u8]>>,
    /// If states are saved up to the names of threads.
    symmetry: Option<Box<Symmetry>>,
}

impl Interpreter {
    /// Returns the program in its initial state.
    pub fn new(program: Arc<Program>) -> Self {
        debug_assert_eq!(crate::ir::verify(&program), Ok(()), "the program is not well formed");
        let loaded = Loaded::new(program);
        let machine = RefCell::new(initial(&loaded, DEFAULT_BUDGET));
        Self {
            loaded,
            machine,
            caps: Caps::default(),
            analysis: None,
            finder: None,
            initial: None,
            symmetry: None,
        }
    }

    /// Returns the same program, with another limit to the instructions of one step.
    #[must_use]
    pub fn with_instruction_budget(mut self, budget: u64) -> Self {
        self.machine = RefCell::new(initial(&self.loaded, budget));
        self
    }

    /// The same program, with other limits to how far its code is followed.
    #[must_use]
    pub fn with_caps(self, caps: Caps) -> Self {
        Self { caps, analysis: None, ..self }
    }

    /// Returns the same program, for which more constraints are found when they are asked for.
    #[must_use]
    pub fn finding_constraints(self, finder: Arc<dyn FindConstraints>) -> Self {
        Self { finder: Some(finder), analysis: None, ..self }
    }

    /// Returns the same program, which puts the names of its threads into `names`, also of those that come into being later.
    /// Threads are numbered in the order in which a search meets them, so only the system of that search knows their names.
    #[must_use]
    pub fn telling_names(mut self, names: &ThreadNames) -> Self {
        let machine = self.machine.get_mut();
        machine.names.told = Some(ThreadNames::clone(names));
        machine.tell_names(&self.loaded);
        self
    }

    /// What it runs.
    pub fn program(&self) -> &Arc<Program> {
        &self.loaded.program
    }
}

pub(crate) fn initial(loaded: &Loaded, budget: u64) -> Machine {
    let mut machine = Machine::new(loaded, budget);
    machine.start_static_threads(loaded);
    machine
}

impl System for Interpreter {
    fn restart(&mut self) {
        match self.initial.take() {
            Some(initial) => {
                let (loaded, machine, analysis) = self.parts();
                machine.restore(loaded, &analysis.live, &initial);
            }
            None => self.rewind(&[]),
        }
    }

    fn rewind(&mut self, kept: &[Step]) {
        let machine = self.machine.get_mut();
        while machine.steps() > kept.len() {
            machine.undo_step();
        }
    }

    fn thread_count(&self) -> usize {
        self.machine.borrow().threads.len()
    }

    fn thread_key(&self, thread: ThreadId) -> ThreadKey {
        self.machine.borrow().names.thread_key(thread.index())
    }

    fn object_key(&self, object: ObjectId) -> ObjectKey {
        self.machine.borrow().names.object_key(object)
    }

    #[inline]
    fn status(&self, thread: ThreadId) -> Status {
        if let Some(status) = self.machine.borrow().quick_status(&self.loaded, thread.index()) {
            return status;
        }
        self.machine.borrow_mut().tried_status(&self.loaded, thread.index())
    }

    fn choices(&self, thread: ThreadId) -> u32 {
        let machine = self.machine.borrow();
        machine.choices(machine.at(&self.loaded, thread.index()))
    }

    fn pending(&mut self, step: Step, effect: &mut Effect) {
        self.machine.get_mut().pending(&self.loaded, step.thread.index(), step.choice, effect);
    }

    fn obstacles(&mut self, thread: ThreadId, objects: &mut Vec<ObjectId>) {
        self.machine.get_mut().obstacles(&self.loaded, thread.index(), objects);
    }

    #[inline]
    fn step(&mut self, step: Step, effect: &mut Effect) {
        self.machine.get_mut().step(&self.loaded, step.thread.index(), step.choice, effect);
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        self.machine.get_mut().end(&self.loaded)
    }

    fn freed(&self) -> &[Freed] {
        &[]
    }

    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        None
    }

    fn values(&self) -> Option<&dyn Values> {
        None
    }

    fn judging(&mut self) -> Option<&mut dyn Judging> {
        Some(self)
    }

    fn foresight(&mut self) -> Option<&mut dyn Foresight> {
        Some(self)
    }

    fn conditions(&mut self) -> Option<&mut dyn Conditions> {
        Some(self)
    }

    fn states(&mut self) -> Option<&mut dyn States> {
        Some(self)
    }

    fn promises(&mut self) -> Option<&mut dyn Promises> {
        (!self.loaded.program.promises.is_empty()).then_some(self)
    }
}

impl Judging for Interpreter {
    fn judged(&mut self, footprint: &mut Footprint) {
        self.machine.get_mut().judged(&self.loaded, footprint);
    }
}

impl Foresight for Interpreter {
    fn may_write(&mut self, thread: ThreadId, variable: ObjectId) -> bool {
        self.may_access(thread).may_write(variable)
    }
}

impl Describe for Interpreter {
    fn thread_name(&self, thread: ThreadId) -> String {
        self.machine.borrow().thread_name(&self.loaded, thread.index())
    }

    fn object_name(&self, object: ObjectId) -> String {
        self.machine.borrow().object_name(&self.loaded, object)
    }

    fn values_of_last(&self) -> Vec<(ObjectId, ValueChange)> {
        Vec::new()
    }

    fn value(&self, object: ObjectId) -> Option<String> {
        self.machine.borrow().object_value(&self.loaded, object)
    }

    fn describe_last(&self) -> Description {
        self.machine.borrow().describe_last(&self.loaded)
    }

    fn describe_pending(&self, thread: ThreadId) -> Description {
        self.machine.borrow_mut().describe_pending(&self.loaded, thread.index())
    }
}
