//! The text form: for tests and for people who look into the lowering.

use std::fmt::{self, Display, Formatter};

use super::{
    Alternative, AtomicKind, BinaryOp, Change, ConditionArgument, Global, GlobalKind,
    GuardArgument, ObjectRef, Op, Operand, Pattern, Procedure, Program, Query, Type, UnaryOp,
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

fn list<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
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
            GlobalKind::Mutex => "mutex",
            GlobalKind::RwLock => "rwlock",
            GlobalKind::Cond => "cond",
            GlobalKind::Semaphore { .. } => "semaphore",
            GlobalKind::Barrier { .. } => "barrier",
            GlobalKind::List { .. } => "list",
            GlobalKind::Map { .. } => "map",
        };
        write!(f, "{what} {}", self.name)?;
        for size in &self.dims {
            write!(f, "[{size}]")?;
        }
        match &self.kind {
            GlobalKind::Variable { ty, initial, .. } => write!(f, ": {ty} = {initial:?}")?,
            GlobalKind::Semaphore { initial } => write!(f, " = {initial:?}")?,
            GlobalKind::Barrier { parties } => write!(f, " of {parties:?}")?,
            GlobalKind::List { initial } => write!(f, " = {initial:?}")?,
            GlobalKind::Map { initial } => write!(f, " = {initial:?}")?,
            GlobalKind::Mutex | GlobalKind::RwLock | GlobalKind::Cond => {}
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
        OpText { program, op: &instruction.op }.fmt(f)?;
        match program.sites.get(instruction.site.index()) {
            Some(site) => writeln!(f, "  // {}:{} {}", site.line, site.column, site.text)?,
            None => writeln!(f)?,
        }
    }
    Ok(())
}

/// An instruction with the names of what it refers to.
struct OpText<'a> {
    program: &'a Program,
    op: &'a Op,
}

impl OpText<'_> {
    fn global(&self, id: super::GlobalId) -> String {
        let known = self.program.globals.get(id.index());
        known.map_or_else(|| id.to_string(), |global| global.name.clone())
    }

    fn object(&self, object: ObjectRef) -> String {
        let name = self.global(object.global);
        let global = self.program.globals.get(object.global.index());
        match object.index {
            Operand::Constant(0) if global.is_some_and(|global| global.dims.is_empty()) => name,
            index => format!("{name}[{index}]"),
        }
    }

    fn procedure(&self, id: super::ProcedureId) -> String {
        let known = self.program.procedures.get(id.index());
        known.map_or_else(|| id.to_string(), |procedure| procedure.name.clone())
    }

    fn atomic(&self, id: super::AtomicId) -> String {
        let Some(atomic) = self.program.atomics.get(id.index()) else { return id.to_string() };
        let kind = match atomic.kind {
            AtomicKind::Await => " await",
            AtomicKind::Block | AtomicKind::Procedure => "",
        };
        format!("{id}{kind} {}", atomic.name.as_deref().unwrap_or("_"))
    }

    fn local(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.op {
            Op::Copy { value, .. } => write!(f, "{value}"),
            Op::Unary { op, value, .. } => write!(f, "{op} {value}"),
            Op::Binary { op, left, right, .. } => write!(f, "{left} {op} {right}"),
            Op::Index { global, first, second, .. } => {
                write!(f, "index {} {first}", self.global(*global))?;
                second.iter().try_for_each(|second| write!(f, " {second}"))
            }
            Op::ThreadIndex { first, count, index, .. } => {
                write!(f, "thread {first}..{} [{index}]", first + count)
            }
            Op::Own { .. } => write!(f, "self"),
            Op::Jump { to } => write!(f, "jump {to}"),
            Op::Branch { condition, then, otherwise } => {
                write!(f, "if {condition} {then} else {otherwise}")
            }
            Op::Call { procedure, arguments, .. } => {
                write!(f, "call {}(", self.procedure(*procedure))?;
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
            Op::Await { condition } => write!(f, "await {condition}"),
            Op::AtomicBegin { atomic } => write!(f, "begin {}", self.atomic(*atomic)),
            Op::AtomicEnd { atomic } => write!(f, "end {}", self.atomic(*atomic)),
            _ => self.visible(f),
        }
    }

    fn visible(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let object = |object: &ObjectRef| self.object(*object);
        match self.op {
            Op::Read { variable, .. } => write!(f, "read {}", object(variable)),
            Op::Write { variable, value } => write!(f, "write {} {value}", object(variable)),
            Op::CompareExchange { variable, expected, new, .. } => {
                write!(f, "compare_exchange {} {expected} {new}", object(variable))
            }
            Op::Exchange { variable, new, .. } => write!(f, "exchange {} {new}", object(variable)),
            Op::FetchAdd { variable, delta, .. } => {
                write!(f, "fetch_add {} {delta}", object(variable))
            }
            Op::Lock { mutex } => write!(f, "lock {}", object(mutex)),
            Op::Unlock { mutex } => write!(f, "unlock {}", object(mutex)),
            Op::TryLock { mutex, .. } => write!(f, "try_lock {}", object(mutex)),
            Op::ReadLock { rwlock } => write!(f, "read_lock {}", object(rwlock)),
            Op::ReadUnlock { rwlock } => write!(f, "read_unlock {}", object(rwlock)),
            Op::TryReadLock { rwlock, .. } => write!(f, "try_read_lock {}", object(rwlock)),
            Op::WriteLock { rwlock } => write!(f, "write_lock {}", object(rwlock)),
            Op::WriteUnlock { rwlock } => write!(f, "write_unlock {}", object(rwlock)),
            Op::TryWriteLock { rwlock, .. } => write!(f, "try_write_lock {}", object(rwlock)),
            Op::Up { semaphore } => write!(f, "up {}", object(semaphore)),
            Op::Down { semaphore } => write!(f, "down {}", object(semaphore)),
            Op::TryDown { semaphore, .. } => write!(f, "try_down {}", object(semaphore)),
            Op::Wait { cond, mutex } => write!(f, "wait {} {}", object(cond), object(mutex)),
            Op::Signal { cond } => write!(f, "signal {}", object(cond)),
            Op::Broadcast { cond } => write!(f, "broadcast {}", object(cond)),
            Op::Arrive { barrier } => write!(f, "arrive {}", object(barrier)),
            Op::ReadContainer { container, query, .. } => {
                write!(f, "{query} of {}", object(container))
            }
            Op::ChangeContainer { container, change } => {
                write!(f, "{change} of {}", object(container))
            }
            _ => self.concurrent(f),
        }
    }

    fn concurrent(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.op {
            Op::Spawn { procedure, arguments, .. } => {
                write!(f, "spawn {}(", self.procedure(*procedure))?;
                list(f, arguments)?;
                write!(f, ")")
            }
            Op::Join { thread } => write!(f, "join {thread}"),
            Op::Send { to, values } => {
                write!(f, "send {to} (")?;
                list(f, values)?;
                write!(f, ")")
            }
            Op::Receive { alternatives, after } => {
                write!(f, "receive")?;
                for alternative in alternatives {
                    write!(f, " | ")?;
                    self.alternative(f, alternative)?;
                }
                after.iter().try_for_each(|after| write!(f, " | after {after}"))
            }
            Op::Choose { low, high, .. } => write!(f, "choose {low}..{high}"),
            Op::Yield => write!(f, "yield"),
            _ => Ok(()),
        }
    }

    fn alternative(&self, f: &mut Formatter<'_>, alternative: &Alternative) -> fmt::Result {
        write!(f, "(")?;
        list(f, &alternative.patterns)?;
        write!(f, ")")?;
        if let Some(guard) = &alternative.guard {
            write!(f, " if {}(", self.procedure(guard.procedure))?;
            list(f, &guard.arguments)?;
            write!(f, ")")?;
        }
        write!(f, " {}", alternative.to)
    }
}

impl Display for OpText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(target) = self.op.target() {
            write!(f, "{target} = ")?;
        }
        self.local(f)
    }
}

impl From<super::GlobalId> for ObjectRef {
    /// Returns the only object of a declaration without dimensions.
    fn from(global: super::GlobalId) -> Self {
        Self { global, index: Operand::Constant(0) }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Thread => "thread",
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

impl Display for UnaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnaryOp::Negate => "neg",
            UnaryOp::Not => "not",
            UnaryOp::Abs => "abs",
        })
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
        })
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Query::Element(index) => write!(f, "element {index}"),
            Query::Length => write!(f, "length"),
            Query::Contains(value) => write!(f, "contains {value}"),
            Query::Get(key) => write!(f, "get {key}"),
            Query::GetOr(key, default) => write!(f, "get {key} or {default}"),
            Query::Has(key) => write!(f, "has {key}"),
        }
    }
}

impl Display for Change {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Change::Push(value) => write!(f, "push {value}"),
            Change::Set(index, value) => write!(f, "set {index} {value}"),
            Change::Pop(_) => write!(f, "pop"),
            Change::PopFront(_) => write!(f, "pop_front"),
            Change::Insert(key, value) => write!(f, "insert {key} {value}"),
            Change::Remove(key) => write!(f, "remove {key}"),
            Change::Clear => write!(f, "clear"),
        }
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Equal(value) => write!(f, "{value}"),
            Pattern::Bind(slot) => write!(f, "let {slot}"),
            Pattern::Ignore => write!(f, "_"),
        }
    }
}

impl Display for GuardArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GuardArgument::Local(value) => write!(f, "{value}"),
            GuardArgument::Element(index) => write!(f, "#{index}"),
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
