//! What has no meaning under a memory model, and what is known of the code beforehand.
//!
//! An execution graph has events that access one location each. An atomic block that accesses several has no counterpart:
//! no machine and no language with weak memory has such a step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use selvedge_core::{Order, Place};

use crate::interpret::Loaded;
use crate::ir::{
    AtomicId, AtomicKind, GlobalId, Invariant, Label, Lock, Message, Op, Operand, Procedure,
    ProcedureId, Program, Promise, Semaphore, SiteId,
};

/// Something that cannot be checked under a memory model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Where it stands.
    pub place: Place,
    /// What it is, and why not.
    pub message: String,
    /// What to do instead.
    pub help: String,
}

/// What is known about an atomic section.
pub(super) struct Section {
    /// Whether it may write.
    pub(super) writes: bool,
    /// With which ordering it accesses its variable.
    pub(super) order: Order,
}

/// Without a state that all threads see there is nothing that an invariant could look at.
fn always(program: &Program, invariant: &Invariant) -> Refusal {
    let code = &program.procedures[invariant.procedure.index()].code;
    Refusal {
        place: program.place(code[0].site),
        message: "`always` has no meaning under a memory model, which has no state that all threads see".to_owned(),
        help: "leave out --memory to check it under sequential consistency, or use `assert` in the threads".to_owned(),
    }
}

/// Execution graphs are finite.
fn promise(program: &Program, promise: &Promise) -> Refusal {
    Refusal {
        place: program.place(promise.site),
        message: "`eventually`, `leads_to` and `progress` are about infinite executions, and those under a memory model are finite"
            .to_owned(),
        help: "leave out --memory to check it under sequential consistency: --algorithm states".to_owned(),
    }
}

/// The first access to a ghost: which step of another thread came before it is not known.
fn ghost(program: &Program) -> Option<Refusal> {
    let mut code = program.procedures.iter().flat_map(|procedure| &procedure.code);
    let first = code.find(|instruction| matches!(instruction.op, Op::Ghost(_)))?;
    Some(Refusal {
        place: program.place(first.site),
        message: "a ghost variable has no meaning under a memory model, which has no order of all steps".to_owned(),
        help: "leave out --memory to check it under sequential consistency, or declare it `shared atomic`".to_owned(),
    })
}

/// The first task: what one task of an actor wrote, the next one sees, and no memory model has objects like that.
fn actors(program: &Program) -> Option<Refusal> {
    let mut code = program.procedures.iter().flat_map(|procedure| &procedure.code);
    let is_task = |atomic: AtomicId| program.atomics[atomic.index()].kind == AtomicKind::Task;
    let first = code.find(|it| matches!(it.op, Op::AtomicBegin { atomic } if is_task(atomic)))?;
    Some(Refusal {
        place: program.place(first.site),
        message: "the tasks of an actor are steps, which no memory model has".to_owned(),
        help: "leave out --memory to check it under sequential consistency".to_owned(),
    })
}

/// Everything that the program has no meaning with.
pub(super) fn refusals(program: &Program) -> Vec<Refusal> {
    let mut found: Vec<Refusal> = program.invariants.iter().map(|it| always(program, it)).collect();
    found.extend(program.promises.iter().map(|it| promise(program, it)));
    found.extend(ghost(program));
    found.extend(actors(program));
    let mut seen = BTreeSet::new();
    for procedure in &program.procedures {
        for (at, instruction) in procedure.code.iter().enumerate() {
            if let Some(what) = unsupported(&instruction.op) {
                let what = if procedure.watches { "monitor" } else { what };
                found.push(Refusal {
                    place: program.place(instruction.site),
                    message: format!("`{what}` is not explored under a memory model"),
                    help: "leave out --memory to check it under sequential consistency".to_owned(),
                });
            }
            if let Op::Channel(_) = instruction.op {
                found.push(Refusal {
                    place: program.place(instruction.site),
                    message: "channels are not explored under a memory model".to_owned(),
                    help: "send to the mailbox of a thread, or use a list and a mutex; without --memory, channels are \
                           checked under sequential consistency"
                        .to_owned(),
                });
            }
            let Op::AtomicBegin { atomic } = instruction.op else { continue };
            let atomic = &program.atomics[atomic.index()];
            if atomic.kind == AtomicKind::Task {
                continue;
            }
            let inside = inside(program, procedure, Label::new(at));
            // In a block that is refused, others may be nested.
            let Some(problem) = problem(program, &inside) else { continue };
            let place = program.place(instruction.site);
            if !seen.insert(place.clone()) {
                continue;
            }
            let (message, help) = match (atomic.kind, problem) {
                (AtomicKind::Await, Problem::Several(names)) => (
                    format!("`await` reads {names} in one step, which no memory model has"),
                    "await one variable after the other".to_owned(),
                ),
                (AtomicKind::Scan, Problem::Several(names)) => (
                    format!("`await scan` waits for {names} together, which no memory model has"),
                    "await one variable after the other, or read them in a loop: `while !c { }`".to_owned(),
                ),
                (_, Problem::Several(names)) => (
                    format!("an atomic block accesses {names} in one step, which no memory model has"),
                    "protect them with a mutex, or keep them in one variable; without --memory, atomic blocks can be \
                     checked under sequential consistency"
                        .to_owned(),
                ),
                (_, Problem::Other(site)) => (
                    format!(
                        "`{}` in an atomic block has no meaning under a memory model",
                        program.sites[site.index()].text
                    ),
                    "move it out of the block".to_owned(),
                ),
            };
            found.push(Refusal { place, message, help });
        }
    }
    found
}

/// Returns what an operation is called that has no events.
fn unsupported(op: &Op) -> Option<&'static str> {
    match op {
        Op::Semaphore(Semaphore::Count { .. }) => Some("count"),
        Op::Message(Message::TrySend { .. }) => Some("try_send"),
        _ => None,
    }
}

enum Problem {
    /// It accesses several objects: their names.
    Several(String),
    /// It does something that is no access.
    Other(SiteId),
}

fn problem(program: &Program, inside: &[(&Op, SiteId)]) -> Option<Problem> {
    let mut objects: Vec<(GlobalId, Option<i32>)> = Vec::new();
    for (op, site) in inside {
        match op {
            Op::Variable(_) | Op::Container(_) | Op::Semaphore(_) => op.for_each_object(|object| {
                let constant = match object.index {
                    Operand::Constant(index) => Some(index),
                    Operand::Slot(_) => None,
                };
                if !objects.contains(&(object.global, constant)) {
                    objects.push((object.global, constant));
                }
            }),
            Op::Thread(_) | Op::Message(_) => return Some(Problem::Other(*site)),
            _ => {}
        }
    }
    // Elements of one array whose indices are not constant may be the same: that shows when it runs.
    let first = *objects.first()?;
    let differs = |other: &(GlobalId, Option<i32>)| {
        other.0 != first.0 || (other.1.is_some() && first.1.is_some() && other.1 != first.1)
    };
    objects.iter().any(differs).then(|| {
        let mut names: Vec<String> = Vec::new();
        for (global, index) in &objects {
            let global = &program.globals[global.index()];
            let name = match index {
                Some(index) if *index >= 0 => global.element_name(*index as usize),
                _ => global.name.clone(),
            };
            let name = format!("`{name}`");
            if !names.contains(&name) {
                names.push(name);
            }
        }
        match names.as_slice() {
            [first @ .., last] if !first.is_empty() => {
                Problem::Several(format!("{} and {last}", first.join(", ")))
            }
            _ => Problem::Several("several variables".to_owned()),
        }
    })
}

/// The operations of an atomic section, with those of what it calls.
fn inside<'p>(
    program: &'p Program,
    procedure: &'p Procedure,
    begin: Label,
) -> Vec<(&'p Op, SiteId)> {
    let own = procedure.rest_of_section(program, begin, begin);
    let own: Vec<_> = own.iter().map(|at| &procedure.code[at.index()]).collect();
    let called = own.iter().filter_map(|instruction| match &instruction.op {
        Op::Call { procedure, .. } => Some(*procedure),
        _ => None,
    });
    let called = program.called_from(called);
    let calls = called.iter().flat_map(|it| &program.procedures[it.index()].code);
    own.into_iter().chain(calls).map(|instruction| (&instruction.op, instruction.site)).collect()
}

/// All atomic sections, by where they begin in the code.
pub(super) fn sections(loaded: &Loaded) -> BTreeMap<u32, Section> {
    let program = &loaded.program;
    let mut sections = BTreeMap::new();
    for (procedure, entry) in program.procedures.iter().zip(&loaded.procedures) {
        for (at, instruction) in procedure.code.iter().enumerate() {
            if !matches!(instruction.op, Op::AtomicBegin { .. }) {
                continue;
            }
            let inside = inside(program, procedure, Label::new(at));
            let writes = inside.iter().any(|(op, _)| op.is_visible() && !op.only_reads());
            let written = inside.iter().find_map(|(op, _)| match op {
                Op::Variable(op) => op.written_order(true),
                _ => None,
            });
            let order = written.unwrap_or(Order::SeqCst);
            sections.insert(entry.pc + at as u32, Section { writes, order });
        }
    }
    sections
}

/// Per global, if it is a barrier, the threads of the beginning that use it.
pub(super) fn parties(program: &Program) -> Vec<Arc<[u32]>> {
    let used: Vec<BTreeSet<GlobalId>> = (0..program.procedures.len())
        .map(|it| {
            let called = program.called_from([ProcedureId::new(it)]);
            let code = called.iter().flat_map(|it| &program.procedures[it.index()].code);
            code.filter_map(|instruction| match &instruction.op {
                Op::Barrier(op) => Some(op.barrier().global),
                _ => None,
            })
            .collect()
        })
        .collect();
    (0..program.globals.len())
        .map(|global| {
            let uses = |it: &usize| {
                used[program.threads[*it].procedure.index()].contains(&GlobalId::new(global))
            };
            (0..program.threads.len()).filter(uses).map(|it| it as u32).collect()
        })
        .collect()
}

/// Per global, whether it is a lock that some thread tries to take.
pub(super) fn tried(program: &Program) -> Vec<bool> {
    let mut tried = vec![false; program.globals.len()];
    for instruction in program.procedures.iter().flat_map(|procedure| &procedure.code) {
        if let Op::Lock(Lock::Try { lock, .. }) = &instruction.op {
            tried[lock.global.index()] = true;
        }
    }
    tried
}
