//! `always`: conditions that are checked after every step that may make them false.
//!
//! A step that changes something that an invariant reads checks the invariant at its end, and fails if it was true before and is
//! false: so a violation is a failing step like any other, and explorers need not know of invariants. Whether the check fails depends on
//! all that the invariant reads. Therefore all steps that change any of it touch an object of the invariant, in a mode that
//! commutes with nothing ([`Mode::Check`]): their order is what decides. Steps that only read are not concerned.

use std::ops::Range;
use std::sync::Arc;

use selvedge_core::{Fault, Footprint, Mode, ObjectId, ViolationKind};
use smallvec::SmallVec;

use crate::ir::Program;

use super::conditions::may::named;
use super::fault;
use super::invisible::Pause;
use super::load::Loaded;
use super::machine::Machine;
use super::{DEFAULT_BUDGET, initial};

/// In the cell of an invariant: it holds.
const TRUE: i32 = 0;

/// In the cell of an invariant: it is false, which is reported once.
const FALSE: i32 = 1;

/// For each object of a global, the invariants that may read it. Empty if there is no invariant.
pub(super) fn read_by(loaded: &Loaded) -> Vec<Vec<usize>> {
    let invariants = &loaded.program.invariants;
    if invariants.is_empty() {
        return Vec::new();
    }
    let named = named(loaded);
    let reads = |object| {
        let all = invariants.iter().enumerate();
        let readers = all.filter(|(_, it)| named[it.procedure.index()].reads.contains(object));
        readers.map(|(number, _)| number).collect()
    };
    (0..loaded.global_objects as usize).map(|object| reads(ObjectId::new(object))).collect()
}

/// Returns the object of an invariant.
fn object(program: &Program, number: usize) -> ObjectId {
    let global = program.invariants[number].object;
    ObjectId::new(program.globals[global.index()].base as usize)
}

impl Loaded {
    /// Calls `found` with the objects of the invariants that read any of these objects.
    pub(crate) fn for_each_check(&self, objects: Range<u32>, mut found: impl FnMut(ObjectId)) {
        if !self.read_by.is_empty() {
            for number in objects.flat_map(|at| &self.read_by[at as usize]) {
                found(object(&self.program, *number));
            }
        }
    }

    /// Adds the checks that a step with these accesses ends with.
    #[inline]
    pub(super) fn add_checks(&self, footprint: &mut Footprint) {
        if !self.read_by.is_empty() {
            self.add_checks_of(footprint);
        }
    }

    fn add_checks_of(&self, footprint: &mut Footprint) {
        let mut checks: SmallVec<[ObjectId; 4]> = SmallVec::new();
        for access in footprint.accesses() {
            let number = access.object.number();
            let changes = access.mode.writes()
                || access.mode.changes_ghost()
                || matches!(access.mode, Mode::Up | Mode::Down);
            if changes && number < self.global_objects {
                self.for_each_check(number..number + 1, |check| checks.push(check));
            }
        }
        checks.into_iter().for_each(|check| footprint.add(check, Mode::Check));
    }

    /// Returns whether the instruction, or a ghost after it, may change what an invariant reads.
    pub(super) fn may_check(&self, pc: u32) -> bool {
        let mut changes = self.ghosts.checked && self.foresight[pc as usize].ghosts;
        if !self.read_by.is_empty() {
            self.op(pc).for_each_object(|object| {
                let global = &self.program.globals[object.global.index()];
                let end = global.base + global.objects() as u32;
                self.for_each_check(global.base..end, |_| changes = true);
            });
        }
        changes
    }
}

/// Returns the first invariant that does not hold in the initial state, and what is wrong with it.
pub(crate) fn false_at_first(program: &Arc<Program>) -> Option<(usize, String)> {
    if program.invariants.is_empty() {
        return None;
    }
    let loaded = Loaded::new(Arc::clone(program));
    let (number, fault) = initial(&loaded, DEFAULT_BUDGET).false_invariant(&loaded)?;
    let message = match fault {
        Fault::Violation(violation) => violation.message,
        Fault::GaveUp(reason) => reason,
    };
    Some((number, message))
}

impl Machine {
    /// Evaluates the invariants that a step with this footprint has to check. Returns what is wrong with the first that
    /// the step makes false. The cell of an invariant says whether it is false: 1.
    #[inline]
    pub(super) fn check_invariants(
        &mut self,
        loaded: &Loaded,
        footprint: &Footprint,
    ) -> Option<Fault> {
        if loaded.read_by.is_empty() { None } else { self.check_those(loaded, footprint) }
    }

    fn check_those(&mut self, loaded: &Loaded, footprint: &Footprint) -> Option<Fault> {
        let mut first = None;
        for (number, invariant) in loaded.program.invariants.iter().enumerate() {
            let check = object(&loaded.program, number);
            if !footprint.accesses().iter().any(|access| access.object == check) {
                continue;
            }
            let pause = self.look(loaded, invariant.procedure, &[], &mut Footprint::new());
            let fault = fault_of(self.budget, pause);
            let was_false = self.cells[check.index()] == FALSE;
            if fault.is_some() != was_false {
                self.set_cell(check.number(), if was_false { TRUE } else { FALSE });
            }
            first = first.or(fault.filter(|_| !was_false));
        }
        first
    }

    /// Returns the first invariant that does not hold now, and what is wrong with it.
    fn false_invariant(&mut self, loaded: &Loaded) -> Option<(usize, Fault)> {
        loaded.program.invariants.iter().enumerate().find_map(|(number, invariant)| {
            let pause = self.look(loaded, invariant.procedure, &[], &mut Footprint::new());
            fault_of(self.budget, pause).map(|fault| (number, fault))
        })
    }
}

fn fault_of(budget: u64, pause: Pause) -> Option<Fault> {
    let mut fault = match pause {
        Pause::Fault(fault) => *fault,
        Pause::Endless => *fault::endless(budget),
        _ => return None,
    };
    if let Fault::Violation(violation) = &mut fault
        && violation.kind == ViolationKind::Assertion
    {
        violation.kind = ViolationKind::Always;
        let what = violation.message.strip_prefix("assertion").unwrap_or(&violation.message);
        violation.message = format!("invariant{what}");
    }
    Some(fault)
}
