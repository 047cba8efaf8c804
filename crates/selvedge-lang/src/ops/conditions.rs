//! Condition variables.
//!
//! A wait is two steps: the thread releases the mutex and parks; when it has been woken, it takes the mutex again.

use std::fmt::{self, Formatter};

use selvedge_core::{Flexibility, Footprint, Mode};

use super::declare::operations;
use super::{Facts, Operation, Then};
use crate::interpret::{At, Done, FREE, Failure, Loaded, Machine, Phase, held_by, machine};
use crate::ir::{Checked, Checker, GlobalKind, Names, ObjectRef};

operations! {
    /// An operation on a condition variable.
    pub enum Cond {
        /// Releases `mutex`, which the thread holds, and waits for a signal; then acquires it again. Two steps.
        Wait { cond: F::Object, mutex: F::Object },
        /// Wakes one waiting thread, if there is one.
        Signal { cond: F::Object },
        /// Wakes all waiting threads.
        Broadcast { cond: F::Object },
    }
}

impl Cond {
    fn cond(&self) -> ObjectRef {
        match self {
            Cond::Wait { cond, .. } | Cond::Signal { cond } | Cond::Broadcast { cond } => *cond,
        }
    }

    fn waiters<'m>(&self, machine: &'m Machine, at: At<'_>) -> &'m [usize] {
        &machine.waiters[machine.content(at, self.cond())]
    }

    /// Returns whom alternative `choice` wakes.
    fn woken(&self, machine: &Machine, at: At<'_>, choice: u32) -> Vec<usize> {
        let mut waiters = self.waiters(machine, at).to_vec();
        machine.names.sort(&mut waiters);
        match self {
            Cond::Signal { .. } => waiters.get(choice as usize).copied().into_iter().collect(),
            _ => waiters,
        }
    }

    /// Releases the mutex and parks, or takes it again.
    fn wait(&self, machine: &mut Machine, at: At<'_>, mutex: ObjectRef) -> Result<Then, Failure> {
        let element = machine.element(at, mutex);
        let cond = machine.element(at, self.cond());
        machine.record.add(at.thread.pc, cond, 0, Some(0), &[element as i32]);
        let cell = at.loaded.cell(mutex, element);
        if at.thread.phase == Phase::Woken {
            machine.set_cell(cell as u32, held_by(at.me));
            machine.threads[at.me].phase = Phase::Ready;
            return Ok(Then::Next);
        }
        if machine.cells[cell] != held_by(at.me) {
            return Err(machine.not_held(at, "wait with", mutex));
        }
        machine.set_cell(cell as u32, FREE);
        machine.add_waiter(at.loaded.content(self.cond(), cond), at.me);
        machine.threads[at.me].phase = Phase::Parked;
        Ok(Then::Placed)
    }
}

impl Operation for Cond {
    fn facts(&self) -> Facts {
        match self {
            Cond::Wait { .. } => Facts { may_fault: true, has_second_half: true, ..Facts::STEP },
            Cond::Signal { .. } | Cond::Broadcast { .. } => Facts::STEP,
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        checker.kind(self.cond(), |kind| matches!(kind, GlobalKind::Cond))?;
        match self {
            Cond::Wait { mutex, .. } => {
                checker.kind(*mutex, |kind| matches!(kind, GlobalKind::Mutex))
            }
            Cond::Signal { .. } | Cond::Broadcast { .. } => Ok(()),
        }
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        let cond = names.object(self.cond());
        match self {
            Cond::Wait { mutex, .. } => write!(f, "wait {cond} {}", names.object(*mutex)),
            Cond::Signal { .. } => write!(f, "signal {cond}"),
            Cond::Broadcast { .. } => write!(f, "broadcast {cond}"),
        }
    }

    fn footprint(&self, machine: &mut Machine, at: At<'_>, choice: u32, footprint: &mut Footprint) {
        let Cond::Wait { cond, mutex } = self else {
            footprint.add(machine.object(at, self.cond()), Mode::Signal);
            for woken in self.woken(machine, at, choice) {
                footprint.add(machine.names.wake(woken), Mode::Wake);
            }
            return;
        };
        let lock = machine.object(at, *mutex);
        if at.thread.phase == Phase::Woken {
            footprint.add(lock, Mode::Acquire);
            footprint.add(machine.names.wake(at.me), Mode::Woken);
        } else if machine.cells[machine.cell(at, *mutex)] == held_by(at.me) {
            footprint.add(machine.object(at, *cond), Mode::Wait);
            footprint.add(lock, Mode::Release);
        } else {
            footprint.add(lock, Mode::Probe);
        }
    }

    fn can_run(&self, machine: &Machine, at: At<'_>) -> bool {
        match self {
            Cond::Wait { mutex, .. } if at.thread.phase == Phase::Woken => {
                machine.cells[machine.cell(at, *mutex)] == FREE
            }
            _ => true,
        }
    }

    fn choices(&self, machine: &Machine, at: At<'_>) -> u32 {
        match self {
            Cond::Signal { .. } => self.waiters(machine, at).len().max(1) as u32,
            Cond::Wait { .. } | Cond::Broadcast { .. } => 1,
        }
    }

    fn flexibility(&self, _: &Machine, at: At<'_>) -> Flexibility {
        match self {
            Cond::Wait { .. } if at.thread.phase == Phase::Woken => Flexibility::Lock,
            Cond::Wait { .. } => Flexibility::Fixed,
            Cond::Signal { .. } | Cond::Broadcast { .. } => Flexibility::Conditional,
        }
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, choice: u32) -> Result<Then, Failure> {
        if let Cond::Wait { mutex, .. } = self {
            return self.wait(machine, at, *mutex);
        }
        let woken = self.woken(machine, at, choice);
        let numbers: Vec<i32> = woken.iter().map(|&thread| thread as i32).collect();
        let element = machine.element(at, self.cond());
        machine.record.add(at.thread.pc, element, 0, Some(0), &numbers);
        for woken in woken {
            machine.remove_waiter(at.loaded.content(self.cond(), element), woken);
            let state = machine::Thread { phase: Phase::Woken, ..machine.threads[woken] };
            machine.set_other(woken, state);
        }
        Ok(Then::Next)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        match self {
            Cond::Wait { mutex, .. } => vec![machine.value(at, mutex.index)],
            Cond::Signal { .. } | Cond::Broadcast { .. } => Vec::new(),
        }
    }

    fn text(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let cond = loaded.name(self.cond(), done.element);
        let word = match self {
            Cond::Wait { mutex, .. } => {
                let mutex = loaded.name(*mutex, done.values.first().map_or(0, |&i| i as usize));
                return match done.phase {
                    Phase::Woken => format!("lock {mutex} again after wait({cond}, {mutex})"),
                    _ => format!("wait({cond}, {mutex})"),
                };
            }
            Cond::Signal { .. } => "signal",
            Cond::Broadcast { .. } => "broadcast",
        };
        let woken: Vec<_> =
            done.values.iter().map(|&it| machine.thread_name(loaded, it as usize)).collect();
        match (done.result, woken.is_empty()) {
            (None, _) => format!("{word}({cond})"),
            (Some(_), true) => format!("{word}({cond}): no waiter"),
            (Some(_), false) => format!("{word}({cond}): wakes {}", woken.join(", ")),
        }
    }

    fn waits_for(&self, machine: &Machine, at: At<'_>) -> String {
        match self {
            Cond::Wait { mutex, .. } if at.thread.phase != Phase::Parked => {
                machine.waits_for_lock(at, *mutex)
            }
            _ => format!("waits for a signal on {}", machine.name(at, self.cond())),
        }
    }

    fn waits_for_thread(&self, machine: &Machine, at: At<'_>) -> Option<(Option<String>, usize)> {
        match self {
            Cond::Wait { mutex, .. } if at.thread.phase == Phase::Woken => {
                machine.waits_for_holder(at, *mutex)
            }
            _ => None,
        }
    }
}
