//! The text form: for tests and for people who look into the lowering.

use std::fmt::{self, Display, Formatter};

use super::{
    AtomicKind, ConditionArgument, Global, GlobalKind, ObjectRef, Op, Operand, Procedure, Program,
    Type,
};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for global in &self.globals {
            writeln!(f, "{global}")?;
        }
        for thread in &self.threads {
            let kind = if thread.daemon { "daemon thread" } else { "thread" };
            let name = &self.procedures[thread.procedure.index()].name;
            write!(f, "{kind} {} = {name}(", thread.full_name())?;
            list(f, &thread.arguments)?;
            writeln!(f, ")")?;
        }
        for promise in &self.promises {
            writeln!(f, "promise {}", promise.message)?;
        }
        for invariant in &self.invariants {
            writeln!(f, "always {}", self.globals[invariant.object.index()].name)?;
        }
        if let Some(finally) = self.finally {
            writeln!(f, "finally = {}", self.procedures[finally.index()].name)?;
        }
        for rule in &self.independence {
            write!(f, "independent({}, {})", rule.first, rule.second)?;
            if let Some(condition) = &rule.condition {
                let name = &self.procedures[condition.procedure.index()].name;
                write!(f, " if {name}(")?;
                list(f, &condition.arguments)?;
                write!(f, ")")?;
            }
            writeln!(f)?;
        }
        for procedure in &self.procedures {
            writeln!(f)?;
            write_procedure(f, self, procedure)?;
        }
        Ok(())
    }
}

pub(crate) fn list<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Display for Global {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let what = match &self.kind {
            GlobalKind::Variable { atomic: true, .. } => "shared atomic",
            GlobalKind::Variable { atomic: false, .. } => "shared",
            GlobalKind::Ghost { .. } => "ghost",
            GlobalKind::Mutex => "mutex",
            GlobalKind::RwLock => "rwlock",
            GlobalKind::Cond => "cond",
            GlobalKind::Semaphore { .. } => "semaphore",
            GlobalKind::Barrier { .. } => "barrier",
            GlobalKind::List { .. } => "list",
            GlobalKind::Channel { .. } => "channel",
            GlobalKind::Map { .. } => "map",
            GlobalKind::Invariant => "invariant",
        };
        write!(f, "{what} {}", self.name)?;
        for size in &self.dims {
            write!(f, "[{size}]")?;
        }
        match &self.kind {
            GlobalKind::Variable { ty, initial, .. } | GlobalKind::Ghost { ty, initial, .. } => {
                write!(f, ": {ty} = {initial:?}")?;
            }
            GlobalKind::Semaphore { initial } => write!(f, " = {initial:?}")?,
            GlobalKind::Barrier { parties } => write!(f, " of {parties:?}")?,
            GlobalKind::List { initial } => write!(f, " = {initial:?}")?,
            GlobalKind::Channel { capacity, delivery } => {
                write!(f, " of {capacity:?}, {delivery:?}")?;
            }
            GlobalKind::Map { initial } => write!(f, " = {initial:?}")?,
            GlobalKind::Mutex | GlobalKind::RwLock | GlobalKind::Cond | GlobalKind::Invariant => {}
        }
        write!(f, "  // object {}", self.base)
    }
}

fn write_procedure(f: &mut Formatter<'_>, program: &Program, procedure: &Procedure) -> fmt::Result {
    write!(f, "proc {}(", procedure.name)?;
    for (i, slot) in procedure.slots.iter().take(procedure.parameters as usize).enumerate() {
        let name = slot.name.as_deref().unwrap_or("_");
        write!(f, "{}%{i} {name}: {}", if i == 0 { "" } else { ", " }, slot.ty)?;
    }
    write!(f, ")")?;
    if let Some(result) = procedure.result {
        write!(f, " -> {result}")?;
    }
    writeln!(f, "  // {} slots", procedure.slots.len())?;
    for (at, instruction) in procedure.code.iter().enumerate() {
        write!(f, "{at:>5}  ")?;
        instruction.op.write(f, &Names { program })?;
        match program.sites.get(instruction.site.index()) {
            Some(site) => writeln!(f, "  // {}:{} {}", site.line, site.column, site.text)?,
            None => writeln!(f)?,
        }
    }
    Ok(())
}

/// The names of what instructions refer to.
pub(crate) struct Names<'a> {
    program: &'a Program,
}

impl Names<'_> {
    pub(crate) fn global(&self, id: super::GlobalId) -> String {
        let known = self.program.globals.get(id.index());
        known.map_or_else(|| id.to_string(), |global| global.name.clone())
    }

    pub(crate) fn object(&self, object: ObjectRef) -> String {
        let name = self.global(object.global);
        let global = self.program.globals.get(object.global.index());
        match object.index {
            Operand::Constant(0) if global.is_some_and(|global| global.dims.is_empty()) => name,
            index => format!("{name}[{index}]"),
        }
    }

    pub(crate) fn procedure(&self, id: super::ProcedureId) -> String {
        let known = self.program.procedures.get(id.index());
        known.map_or_else(|| id.to_string(), |procedure| procedure.name.clone())
    }

    fn atomic(&self, id: super::AtomicId) -> String {
        let Some(atomic) = self.program.atomics.get(id.index()) else { return id.to_string() };
        let kind = match atomic.kind {
            AtomicKind::Await => " await",
            AtomicKind::Scan => " scan",
            AtomicKind::Each => " each",
            AtomicKind::Task => " task",
            AtomicKind::Block | AtomicKind::Procedure => "",
        };
        format!("{id}{kind} {}", atomic.name.as_deref().unwrap_or("_"))
    }
}

impl Op {
    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        if let Some(target) = self.target() {
            write!(f, "{target} = ")?;
        }
        match self {
            Op::Compute { value, .. } => value.write(f, names),
            Op::Jump { to } => write!(f, "jump {to}"),
            Op::Branch { condition, then, otherwise } => {
                write!(f, "if {condition} {then} else {otherwise}")
            }
            Op::Call { procedure, arguments, .. } => {
                write!(f, "call {}(", names.procedure(*procedure))?;
                list(f, arguments)?;
                write!(f, ")")
            }
            Op::Return { value: Some(value) } => write!(f, "return {value}"),
            Op::Return { value: None } => write!(f, "return"),
            Op::Assert { condition, message } => {
                write!(f, "assert {condition}")?;
                message.iter().try_for_each(|message| write!(f, ", {message:?}"))
            }
            Op::Assume { condition } => write!(f, "assume {condition}"),
            Op::Progress => write!(f, "progress"),
            Op::Await { condition } => write!(f, "await {condition}"),
            Op::AtomicBegin { atomic } => write!(f, "begin {}", names.atomic(*atomic)),
            Op::AtomicEnd { atomic } => write!(f, "end {}", names.atomic(*atomic)),
            op => op.operation().map_or(Ok(()), |op| op.write(f, names)),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Thread => "thread",
            Type::Future(_) => "future",
            Type::Enum(id) => return write!(f, "{id}"),
        })
    }
}

impl Display for Operand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Slot(slot) => write!(f, "{slot}"),
            Operand::Constant(value) => write!(f, "{value}"),
        }
    }
}

impl Display for ConditionArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ConditionArgument::First(slot) => write!(f, "first.{slot}"),
            ConditionArgument::Second(slot) => write!(f, "second.{slot}"),
        }
    }
}
