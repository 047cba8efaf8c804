//! Cyclic barriers.
//!
//! Passing one is two steps: the thread arrives; it continues once the generation in which it arrived is over. A
//! barrier has two objects, one per parity of its generation, and two cells with the same numbers: how many have
//! arrived, and the generation.

use std::fmt::{self, Formatter};

use selvedge_core::{Elsewhere, Flexibility, Footprint, Mode, ObjectId};

use super::declare::operations;
use super::{Facts, Operation, Then};
use crate::interpret::{At, Done, Failure, Loaded, Machine, Phase};
use crate::ir::{Checked, Checker, GlobalKind, Names, ObjectRef};

operations! {
    /// An operation on a barrier.
    pub enum Barrier {
        /// Arrives and waits for the others. Two steps.
        Arrive { barrier: F::Object },
    }
}

/// A barrier as a thread finds it.
struct Found {
    element: u32,
    /// The cell that counts arrivals; the one of the generation follows.
    first: usize,
    arrived: i32,
    generation: i32,
    parties: i32,
}

impl Found {
    fn object(&self, generation: i32) -> ObjectId {
        ObjectId::new(self.first + (generation & 1) as usize)
    }
}

impl Barrier {
    /// Returns the barrier.
    pub fn barrier(&self) -> ObjectRef {
        let Barrier::Arrive { barrier } = self;
        *barrier
    }

    fn find(&self, machine: &Machine, at: At<'_>) -> Found {
        let barrier = self.barrier();
        let element = machine.element(at, barrier);
        let first = (at.loaded.globals[barrier.global.index()].base + 2 * element) as usize;
        let parties = at.loaded.parties(barrier.global, element as usize);
        let (arrived, generation) = (machine.cells[first], machine.cells[first + 1]);
        Found { element, first, arrived, generation, parties }
    }
}

impl Operation for Barrier {
    fn facts(&self) -> Facts {
        Facts { has_second_half: true, ..Facts::STEP }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        checker.kind(self.barrier(), |kind| matches!(kind, GlobalKind::Barrier { .. }))
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        write!(f, "arrive {}", names.object(self.barrier()))
    }

    /// Arrivals of one generation commute: they are counted. If more threads may come than there
    /// are parties, the order of arrival matters, and no two arrivals commute.
    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        let found = self.find(machine, at);
        if at.thread.phase == Phase::Passing {
            footprint.add(found.object(at.thread.generation), Mode::Pass);
        } else if at.loaded.globals[self.barrier().global.index()].crowded {
            footprint.add(found.object(0), Mode::Update);
            footprint.add(found.object(1), Mode::Update);
        } else {
            footprint.add(found.object(found.generation), Mode::Arrive);
        }
    }

    fn can_run(&self, machine: &Machine, at: At<'_>) -> bool {
        at.thread.phase != Phase::Passing
            || self.find(machine, at).generation != at.thread.generation
    }

    fn flexibility(&self, _: &Machine, at: At<'_>) -> Flexibility {
        match at.thread.phase {
            Phase::Passing => Flexibility::Blocking,
            _ => Flexibility::Fixed,
        }
    }

    fn elsewhere(&self, _: &Machine, _: At<'_>) -> Elsewhere {
        Elsewhere::AtMostThis
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        let Found { element, first, arrived, generation, parties } = self.find(machine, at);
        if at.thread.phase == Phase::Passing {
            machine.record.add(at.thread.pc, element, 0, Some(0), &[]);
            machine.threads[at.me].phase = Phase::Ready;
            return Ok(Then::Next);
        }
        let arrived = arrived + 1;
        machine.record.add(at.thread.pc, element, arrived, Some(0), &[parties]);
        if arrived == parties {
            machine.set_cell(first as u32, 0);
            machine.set_cell(first as u32 + 1, generation.wrapping_add(1));
        } else {
            machine.set_cell(first as u32, arrived);
        }
        machine.threads[at.me].generation = generation;
        machine.threads[at.me].phase = Phase::Passing;
        Ok(Then::Placed)
    }

    fn text(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let name = loaded.name(self.barrier(), done.element);
        match (done.phase, done.result, done.values) {
            (Phase::Passing, ..) => format!("pass barrier {name}"),
            (_, Some(_), [parties]) if machine.is_whole => {
                format!("arrive({name}): {} of {parties}", done.old)
            }
            _ => format!("arrive({name})"),
        }
    }

    fn waits_for(&self, machine: &Machine, at: At<'_>) -> String {
        let Found { arrived, parties, .. } = self.find(machine, at);
        let name = machine.name(at, self.barrier());
        format!("waits at barrier {name}: {arrived} of {parties} arrived")
    }
}
