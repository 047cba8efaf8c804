//! Faults and their messages. Made only when something is wrong, so they may allocate.

use selvedge_core::{Fault, Violation, ViolationKind, grouped};

use crate::ir::{Indexed, Op, Program, Range, Type};

use super::load::{Loaded, value};
use super::machine::{Machine, Thread};

/// Boxed: results of instructions stay small.
pub(crate) type Failure = Box<Fault>;

/// Returns a violation at an instruction. The thread is filled in where the step ends.
pub(crate) fn violation(loaded: &Loaded, pc: u32, kind: ViolationKind, message: String) -> Failure {
    Box::new(Fault::Violation(Violation {
        kind,
        message,
        places: vec![loaded.program.place(loaded.site(pc))],
        notes: Vec::new(),
        thread: None,
    }))
}

#[cold]
pub(crate) fn assertion(loaded: &Loaded, thread: &Thread, stack: &[i32]) -> Failure {
    let mut message = format!("assertion `{}` is false", text(loaded, thread.pc));
    if let Op::Assert { message: Some(more), .. } = loaded.op(thread.pc) {
        message.push_str(": ");
        message.push_str(more);
    }
    message.push_str(&shown(loaded, thread, stack));
    violation(loaded, thread.pc, ViolationKind::Assertion, message)
}

#[cold]
pub(crate) fn overflow(loaded: &Loaded, thread: &Thread, stack: &[i32]) -> Failure {
    let shown = shown(loaded, thread, stack);
    let message = format!("`{}` overflows 32 bits{shown}", text(loaded, thread.pc));
    violation(loaded, thread.pc, ViolationKind::Arithmetic, message)
}

#[cold]
pub(crate) fn division_by_zero(loaded: &Loaded, thread: &Thread, stack: &[i32]) -> Failure {
    let shown = shown(loaded, thread, stack);
    let message = format!("division by zero in `{}`{shown}", text(loaded, thread.pc));
    violation(loaded, thread.pc, ViolationKind::Arithmetic, message)
}

#[cold]
pub(crate) fn shift(loaded: &Loaded, pc: u32, by: i32) -> Failure {
    let message = format!("`{}` shifts by {by}: possible are 0 to 31", text(loaded, pc));
    violation(loaded, pc, ViolationKind::Arithmetic, message)
}

#[cold]
pub(crate) fn index_outside(loaded: &Loaded, pc: u32, index: i32, range: Range) -> Failure {
    let (name, unit) = match range.of {
        Indexed::Threads(first) => (loaded.program.threads[first as usize].name.as_str(), "thread"),
        Indexed::Table(table) => (loaded.program.tables[table.index()].name.as_str(), "element"),
        // The site is `a[i]`.
        Indexed::Local => (text(loaded, pc).split('[').next().unwrap_or_default(), "element"),
        Indexed::Objects(global, dimension) => {
            let global = &loaded.program.globals[global.index()];
            let unit = match (global.dims.len(), dimension) {
                (2, 0) => "row",
                (2, _) => "column",
                _ => "element",
            };
            (global.name.as_str(), unit)
        }
    };
    let has = count(range.size as usize, unit);
    let message = format!("index {index} is outside `{name}`, which has {has}");
    violation(loaded, pc, ViolationKind::Bounds, message)
}

#[cold]
pub(crate) fn too_deep(loaded: &Loaded, pc: u32, limit: u32) -> Failure {
    let message = format!("calls are nested more than {} deep", grouped(u64::from(limit)));
    violation(loaded, pc, ViolationKind::Resources, message)
}

#[cold]
pub(crate) fn endless(budget: u64) -> Failure {
    Box::new(Fault::GaveUp(format!(
        "ran {} instructions without a visible step; a loop that never ends?",
        grouped(budget)
    )))
}

impl Machine {
    /// Completes a fault of a step: whose it is.
    pub(crate) fn attribute(&self, loaded: &Loaded, thread: usize, fault: Fault) -> Fault {
        match fault {
            Fault::Violation(mut violation) => {
                violation.thread = Some(selvedge_core::ThreadId::new(thread));
                Fault::Violation(violation)
            }
            Fault::GaveUp(reason) => {
                Fault::GaveUp(format!("thread {} {reason}", self.thread_name(loaded, thread)))
            }
        }
    }
}

pub(crate) fn text(loaded: &Loaded, pc: u32) -> &str {
    &loaded.program.sites[loaded.site(pc).index()].text
}

/// " (x = 1, done = true)", or nothing if there is nothing to show.
fn shown(loaded: &Loaded, thread: &Thread, stack: &[i32]) -> String {
    let site = &loaded.program.sites[loaded.site(thread.pc).index()];
    let values = site.shown.iter().map(|shown| {
        let value = value(shown.value, stack, thread.base);
        format!("{} = {}", shown.name, value_text(&loaded.program, value, shown.ty))
    });
    // A variable that was read twice, with the same value both times, is shown once.
    let mut distinct: Vec<String> = Vec::new();
    values.for_each(|value| {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    });
    let values = distinct;
    if values.is_empty() { String::new() } else { format!(" ({})", values.join(", ")) }
}

/// Returns a value as it is written.
pub(crate) fn value_text(program: &Program, value: i32, ty: Type) -> String {
    match ty {
        Type::Enum(id) => {
            let member = usize::try_from(value).ok();
            let members = &program.enums[id.index()].members;
            member.and_then(|member| members.get(member)).cloned().unwrap_or(value.to_string())
        }
        ty => plain_text(value, ty),
    }
}

/// Returns a value whose type has no names of its own.
pub(crate) fn plain_text(value: i32, ty: Type) -> String {
    match ty {
        Type::Enum(_) => value.to_string(),
        Type::Int => value.to_string(),
        Type::Bool => (value != 0).to_string(),
        Type::Thread | Type::Future(_) => format!("thread {value}"),
    }
}

/// "1 element", "3 elements".
pub(crate) fn count(number: usize, unit: &str) -> String {
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}
