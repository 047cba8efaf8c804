//! Creating threads, and waiting for their end.

use std::fmt::{self, Formatter};

use selvedge_core::{Elsewhere, Flexibility, Footprint, Mode, ViolationKind};

use super::declare::operations;
use super::{Facts, Operation, Reach, Stands, Then};
use crate::interpret::fault::{self, value_text};
use crate::interpret::{At, Done, Failure, Loaded, Machine, Phase, Reads, typed};
use crate::ir::{Checked, Checker, Names, Type, list};

operations! {
    /// An operation on threads.
    pub enum Thread {
        /// Creates a thread that runs `procedure`; `target`, if it is given, gets its handle.
        Spawn { procedure: F::Routine, arguments: Box<[F::Value]>, target: Option<F::Target> },
        /// Waits for the end of the thread with this handle.
        Join { thread: F::Value },
        /// Waits for the end of the task whose future this is; `target`, if it is given, gets what the task returned. As the first
        /// instruction of an atomic section it disables the section until then.
        Await { future: F::Value, target: Option<F::Target> },
    }
}

impl Operation for Thread {
    fn facts(&self) -> Facts {
        match self {
            Thread::Spawn { .. } => {
                Facts { may_fault: true, stands: Stands::InSections, ..Facts::STEP }
            }
            Thread::Join { .. } | Thread::Await { .. } => {
                Facts { reach: Reach::Anything, observes_ends: true, ..Facts::STEP }
            }
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        match self {
            Thread::Spawn { procedure, arguments, target } => {
                checker.arguments(*procedure, arguments)?;
                target.iter().try_for_each(|&target| checker.slot(target, Type::Thread))
            }
            Thread::Join { thread } => checker.operand(*thread, Type::Thread),
            Thread::Await { future, target } => {
                checker.operand(*future, Type::Thread)?;
                // What a task returns is known by the types of the language.
                target.iter().try_for_each(|&target| {
                    match checker.type_of(target).representation() {
                        Type::Thread => Err("a task returns no handle".to_owned()),
                        _ => Ok(()),
                    }
                })
            }
        }
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        match self {
            Thread::Spawn { procedure, arguments, .. } => {
                write!(f, "spawn {}(", names.procedure(*procedure))?;
                list(f, arguments)?;
                write!(f, ")")
            }
            Thread::Join { thread } => write!(f, "join {thread}"),
            Thread::Await { future, .. } => write!(f, "await {future}"),
        }
    }

    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        match self {
            Thread::Spawn { procedure, .. } => {
                if !machine.is_full(at.loaded) {
                    let child = machine.next_child(at, *procedure);
                    footprint.add(machine.names.life(child), Mode::Spawn);
                    footprint.add(machine.names.wake(child), Mode::Spawn);
                }
            }
            Thread::Join { thread } | Thread::Await { future: thread, .. } => {
                let other = machine.value(at, *thread) as usize;
                footprint.add(machine.names.life(other), Mode::Join);
            }
        }
    }

    fn can_run(&self, machine: &Machine, at: At<'_>) -> bool {
        match self {
            Thread::Spawn { .. } => true,
            Thread::Join { thread } | Thread::Await { future: thread, .. } => {
                machine.threads[machine.value(at, *thread) as usize].phase == Phase::Finished
            }
        }
    }

    fn flexibility(&self, _: &Machine, _: At<'_>) -> Flexibility {
        match self {
            Thread::Spawn { .. } => Flexibility::Fixed,
            Thread::Join { .. } | Thread::Await { .. } => Flexibility::Blocking,
        }
    }

    fn elsewhere(&self, _: &Machine, _: At<'_>) -> Elsewhere {
        Elsewhere::AtMostThis
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        let (pc, loaded) = (at.thread.pc, at.loaded);
        let arguments = self.arguments(machine, at);
        let (procedure, target) = match self {
            Thread::Spawn { procedure, target, .. } => (procedure, target),
            Thread::Join { .. } => {
                machine.record.add(pc, 0, 0, Some(0), &arguments);
                return Ok(Then::Next);
            }
            Thread::Await { target, .. } => {
                let result = machine.threads[arguments[0] as usize].result;
                machine.record.add(pc, 0, 0, Some(result), &arguments);
                if let Some(target) = target {
                    machine.set_target(at, *target, result);
                }
                return Ok(Then::Next);
            }
        };
        machine.record.add(pc, 0, 0, Some(0), &arguments);
        if machine.is_full(loaded) {
            let message = "too many threads: an execution can have 4,096".to_owned();
            return Err(fault::violation(loaded, pc, ViolationKind::Resources, message));
        }
        let child = machine.start_child(at, *procedure, &arguments);
        if let Some(target) = target {
            machine.set_target(at, *target, child as i32);
        }
        Ok(Then::Next)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        match self {
            Thread::Spawn { arguments, .. } => machine.values(at, arguments),
            Thread::Join { thread } | Thread::Await { future: thread, .. } => {
                vec![machine.value(at, *thread)]
            }
        }
    }

    fn text(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        match self {
            Thread::Spawn { procedure, .. } => {
                let procedure = &loaded.program.procedures[procedure.index()];
                let arguments = done.values.iter().zip(&procedure.slots);
                let arguments: Vec<_> = arguments
                    .map(|(&value, slot)| value_text(&loaded.program, value, slot.ty))
                    .collect();
                if let (true, [watched, _, message @ ..]) = (procedure.watches, done.values) {
                    let watched = machine.thread_name(loaded, *watched as usize);
                    return format!("monitor {watched}({})", typed(message, Type::Int));
                }
                match procedure.task(&arguments) {
                    Some(task) => format!("post {task}"),
                    None => format!("spawn {}({})", procedure.name, arguments.join(", ")),
                }
            }
            Thread::Join { .. } => {
                let other = done.values.first().map_or(0, |&other| other as usize);
                format!("join {}", machine.thread_name(loaded, other))
            }
            Thread::Await { target, .. } => {
                let other = done.values.first().map_or(0, |&other| other as usize);
                let name = machine.thread_name(loaded, other);
                let procedure = &loaded.program.procedures[loaded.procedure_at(done.pc).index()];
                match target.zip(done.result) {
                    Some((target, result)) => {
                        let ty = procedure.slots[target.index()].ty;
                        format!("await {name} → {}", value_text(&loaded.program, result, ty))
                    }
                    None => format!("await {name}"),
                }
            }
        }
    }

    fn waits_for(&self, machine: &Machine, at: At<'_>) -> String {
        match self.waits_for_thread(machine, at) {
            Some((_, other)) => {
                format!("waits for the end of {}", machine.thread_name(at.loaded, other))
            }
            None => "waits".to_owned(),
        }
    }

    fn waits_for_thread(&self, machine: &Machine, at: At<'_>) -> Option<(Option<String>, usize)> {
        match self {
            Thread::Spawn { .. } => None,
            Thread::Join { thread } | Thread::Await { future: thread, .. } => {
                Some((None, machine.value(at, *thread) as usize))
            }
        }
    }

    fn decides(&self, reads: &mut Reads) {
        // One thread too many: how many there are at most does not depend on the order.
        reads.may_fault_before |= matches!(self, Thread::Spawn { .. });
    }
}
