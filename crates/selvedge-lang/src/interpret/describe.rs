//! Steps in words.

use selvedge_core::{Description, ObjectId, Status};

use crate::ir::{AtomicKind, Change, GlobalKind, ObjectRef, Op, ProcedureId, Query, Type};

use super::fault::{self, value_text};
use super::load::Loaded;
use super::machine::{Machine, Phase, Thread};
use super::names::Named;
use super::record::Done;

impl Machine {
    pub(super) fn describe_last(&self, loaded: &Loaded) -> Description {
        let record = &self.record;
        let mut operations = record.operations();
        let text = match (record.phase, loaded.op(record.pc)) {
            (Phase::FaultsAtOnce, _) => "starts".to_owned(),
            (Phase::Ready, Op::AtomicBegin { .. }) => {
                let inside: Vec<_> =
                    operations.map(|done| self.text_inside(loaded, &done)).collect();
                let head = section_text(loaded, record.pc);
                if inside.is_empty() { head } else { format!("{head}: {}", inside.join(", ")) }
            }
            (phase, _) => match operations.next() {
                Some(done) => self.text(loaded, phase, &done),
                None => "nothing".to_owned(),
            },
        };
        Description { text, place: Some(loaded.program.place(loaded.site(record.pc))) }
    }

    pub(super) fn describe_pending(&mut self, loaded: &Loaded, me: usize) -> Description {
        let blocked_at = self.blocking_await(loaded, me);
        let thread = &self.threads[me];
        let text = match (thread.phase, loaded.op(thread.pc)) {
            (Phase::Absent, _) => "does not exist".to_owned(),
            (Phase::Finished, _) => "has finished".to_owned(),
            (Phase::Assumed, _) => {
                format!("is blocked by `assume {}`", fault::text(loaded, thread.pc))
            }
            (Phase::Failed, _) => "has failed".to_owned(),
            (Phase::FaultsAtOnce, _) => "starts".to_owned(),
            (Phase::Parked, _) => self.waits_for(loaded, me, None),
            (Phase::Ready, Op::AtomicBegin { .. }) => match blocked_at {
                Some(_) => {
                    let waits = self.waits_for(loaded, me, blocked_at);
                    format!("{}: {waits}", section_text(loaded, thread.pc))
                }
                None => section_text(loaded, thread.pc),
            },
            (phase, op) => self.operation_text(loaded, me, phase, op),
        };
        let site = loaded.site(blocked_at.unwrap_or(thread.pc));
        Description { text, place: Some(loaded.program.place(site)) }
    }

    /// Returns the pending operation of a thread, and what it waits for if it is blocked.
    fn operation_text(&self, loaded: &Loaded, me: usize, phase: Phase, op: &Op) -> String {
        let thread = &self.threads[me];
        let element = first_object(op).map_or(0, |object| self.element(me, thread, object));
        let done = Done {
            pc: thread.pc,
            element: element as usize,
            old: 0,
            result: None,
            values: &self.pending_values(loaded, me, thread),
        };
        let text = self.text(loaded, phase, &done);
        match self.quick_status(loaded, me) {
            Some(Status::Blocked) => format!("{text}: {}", self.waits_for(loaded, me, None)),
            _ => text,
        }
    }

    /// Returns the arguments of a pending operation, as a record of it would have them.
    fn pending_values(&self, loaded: &Loaded, me: usize, thread: &Thread) -> Vec<i32> {
        let value = |operand| self.value(me, thread, operand);
        match loaded.op(thread.pc) {
            Op::Write { value: new, .. } | Op::Exchange { new, .. } => vec![value(*new)],
            Op::FetchAdd { delta, .. } => vec![value(*delta)],
            Op::CompareExchange { expected, new, .. } => vec![value(*expected), value(*new)],
            Op::Wait { mutex, .. } => vec![value(mutex.index)],
            Op::ReadContainer { query, .. } => match *query {
                Query::Length => vec![0, 0],
                Query::GetOr(key, default) => vec![value(key), value(default)],
                Query::Element(key) | Query::Contains(key) | Query::Get(key) | Query::Has(key) => {
                    vec![value(key), 0]
                }
            },
            Op::ChangeContainer { change, .. } => match *change {
                Change::Push(key) | Change::Remove(key) => vec![value(key), 0],
                Change::Set(key, new) | Change::Insert(key, new) => vec![value(key), value(new)],
                Change::Pop(_) | Change::PopFront(_) | Change::Clear => vec![0, 0],
            },
            Op::Spawn { arguments, .. } => self.values(me, thread, arguments),
            Op::Join { thread: other } => vec![value(*other)],
            Op::Send { values, to } => {
                let mut all = self.values(me, thread, values);
                all.push(value(*to));
                all
            }
            Op::Choose { low, high, .. } => vec![value(*low), value(*high)],
            _ => Vec::new(),
        }
    }

    /// Returns the text of an operation inside an atomic section.
    fn text_inside(&self, loaded: &Loaded, done: &Done<'_>) -> String {
        match (loaded.op(done.pc), done.result) {
            (Op::Write { variable, .. }, Some(new)) => {
                let ty = variable_type(loaded, *variable);
                let name = loaded.name(*variable, done.element);
                format!("{name} {} → {}", value_text(done.old, ty), value_text(new, ty))
            }
            _ => self.text(loaded, Phase::Ready, done),
        }
    }

    /// Returns the text of an operation of a thread that was in `phase`; pending ones have no result.
    fn text(&self, loaded: &Loaded, phase: Phase, done: &Done<'_>) -> String {
        let name = |object: &ObjectRef| loaded.name(*object, done.element);
        let truth = |text: String| with_result(text, done.result, Type::Bool);
        match loaded.op(done.pc) {
            Op::Read { variable, .. } => {
                let text = format!("read {}", name(variable));
                with_result(text, done.result, variable_type(loaded, *variable))
            }
            Op::Write { variable, .. } => {
                let new = done.result.or(done.values.first().copied()).unwrap_or(0);
                format!(
                    "{} = {}",
                    name(variable),
                    value_text(new, variable_type(loaded, *variable))
                )
            }
            Op::CompareExchange { variable, .. } => {
                let arguments = typed(done.values, variable_type(loaded, *variable));
                truth(format!("compare_exchange({}, {arguments})", name(variable)))
            }
            Op::Exchange { variable, .. } => {
                let ty = variable_type(loaded, *variable);
                let text = format!("exchange({}, {})", name(variable), typed(done.values, ty));
                with_result(text, done.result, ty)
            }
            Op::FetchAdd { variable, .. } => {
                let delta = typed(done.values, Type::Int);
                let text = format!("fetch_add({}, {delta})", name(variable));
                with_result(text, done.result, Type::Int)
            }
            Op::Lock { mutex } => format!("lock {}", name(mutex)),
            Op::Unlock { mutex } => format!("unlock {}", name(mutex)),
            Op::TryLock { mutex, .. } => truth(format!("try_lock({})", name(mutex))),
            Op::ReadLock { rwlock } => format!("read_lock {}", name(rwlock)),
            Op::ReadUnlock { rwlock } => format!("read_unlock {}", name(rwlock)),
            Op::TryReadLock { rwlock, .. } => truth(format!("try_read_lock({})", name(rwlock))),
            Op::WriteLock { rwlock } => format!("write_lock {}", name(rwlock)),
            Op::WriteUnlock { rwlock } => format!("write_unlock {}", name(rwlock)),
            Op::TryWriteLock { rwlock, .. } => truth(format!("try_write_lock({})", name(rwlock))),
            Op::Up { semaphore } => format!("up({})", name(semaphore)),
            Op::Down { semaphore } => format!("down({})", name(semaphore)),
            Op::TryDown { semaphore, .. } => truth(format!("try_down({})", name(semaphore))),
            Op::Wait { cond, mutex } => {
                let mutex = loaded.name(*mutex, done.values.first().map_or(0, |&i| i as usize));
                if phase == Phase::Woken {
                    format!("lock {mutex} again after wait({}, {mutex})", name(cond))
                } else {
                    format!("wait({}, {mutex})", name(cond))
                }
            }
            Op::Signal { cond } => self.wake_text(loaded, "signal", name(cond), done),
            Op::Broadcast { cond } => self.wake_text(loaded, "broadcast", name(cond), done),
            Op::Arrive { barrier } if phase == Phase::Passing => {
                format!("pass barrier {}", name(barrier))
            }
            Op::Arrive { barrier } => match (done.result, done.values) {
                (Some(_), [parties]) => {
                    format!("arrive({}): {} of {parties}", name(barrier), done.old)
                }
                _ => format!("arrive({})", name(barrier)),
            },
            Op::ReadContainer { container, query, .. } => {
                query_text(*query, &name(container), done)
            }
            Op::ChangeContainer { container, change } => {
                change_text(*change, &name(container), done)
            }
            _ => self.text_of_threads(loaded, done),
        }
    }

    fn wake_text(&self, loaded: &Loaded, what: &str, cond: String, done: &Done<'_>) -> String {
        let woken: Vec<_> =
            done.values.iter().map(|&thread| self.thread_name(loaded, thread as usize)).collect();
        match (done.result, woken.is_empty()) {
            (None, _) => format!("{what}({cond})"),
            (Some(_), true) => format!("{what}({cond}): no waiter"),
            (Some(_), false) => format!("{what}({cond}): wakes {}", woken.join(", ")),
        }
    }

    fn text_of_threads(&self, loaded: &Loaded, done: &Done<'_>) -> String {
        match loaded.op(done.pc) {
            Op::Spawn { procedure, .. } => spawn_text(loaded, *procedure, done.values),
            Op::Join { .. } => {
                let other = done.values.first().map_or(0, |&other| other as usize);
                format!("join {}", self.thread_name(loaded, other))
            }
            Op::Send { .. } => {
                let (to, values) = match (done.result, done.values) {
                    // Of a pending one the receiver comes last.
                    (None, [values @ .., to]) => (*to as usize, values),
                    (_, values) => (done.element, values),
                };
                format!("send {}({})", self.thread_name(loaded, to), typed(values, Type::Int))
            }
            Op::Receive { .. } if done.values.is_empty() => "receive".to_owned(),
            Op::Receive { .. } => format!("receive ({})", typed(done.values, Type::Int)),
            Op::Choose { target, .. } => {
                let procedure = &loaded.program.procedures[loaded.procedure_at(done.pc).index()];
                let ty = procedure.slots[target.index()].ty;
                let text = match (ty, done.values) {
                    (Type::Int, [low, high]) => format!("choose({low}..{high})"),
                    _ => "choose()".to_owned(),
                };
                with_result(text, done.result, ty)
            }
            Op::Yield => "yield".to_owned(),
            _ => fault::text(loaded, done.pc).to_owned(),
        }
    }

    pub(super) fn object_name(&self, loaded: &Loaded, object: ObjectId) -> String {
        if let Some((global, element)) = loaded.program.global_of(object) {
            return loaded.program.globals[global.index()].element_name(element);
        }
        let thread = |thread: selvedge_core::ThreadId| self.thread_name(loaded, thread.index());
        match self.names.object(object) {
            Some(Named::Mailbox(id)) => format!("mailbox of {}", thread(id)),
            Some(Named::Life(id)) => format!("life of {}", thread(id)),
            Some(Named::Wake(id)) => format!("wake-up of {}", thread(id)),
            Some(Named::Message(id, nth)) => format!("message {} of {}", nth + 1, thread(id)),
            None => format!("object {}", object.number()),
        }
    }
}

fn section_text(loaded: &Loaded, pc: u32) -> String {
    let Op::AtomicBegin { atomic } = loaded.op(pc) else { return String::new() };
    let atomic = &loaded.program.atomics[atomic.index()];
    match (atomic.kind, &atomic.name) {
        (AtomicKind::Await, _) => fault::text(loaded, pc).to_owned(),
        (_, Some(name)) => format!("atomic {name}"),
        (_, None) => "atomic".to_owned(),
    }
}

fn first_object(op: &Op) -> Option<ObjectRef> {
    let mut first = None;
    op.for_each_object(|object| {
        first.get_or_insert(object);
    });
    first
}

fn variable_type(loaded: &Loaded, variable: ObjectRef) -> Type {
    match loaded.program.globals[variable.global.index()].kind {
        GlobalKind::Variable { ty, .. } => ty,
        _ => Type::Int,
    }
}

fn with_result(text: String, result: Option<i32>, ty: Type) -> String {
    match result {
        Some(result) => format!("{text} → {}", value_text(result, ty)),
        None => text,
    }
}

/// "1, 5".
fn typed(values: &[i32], ty: Type) -> String {
    values.iter().map(|&value| value_text(value, ty)).collect::<Vec<_>>().join(", ")
}

fn spawn_text(loaded: &Loaded, procedure: ProcedureId, values: &[i32]) -> String {
    let procedure = &loaded.program.procedures[procedure.index()];
    let arguments: Vec<_> = values
        .iter()
        .zip(&procedure.slots)
        .map(|(&value, slot)| value_text(value, slot.ty))
        .collect();
    format!("spawn {}({})", procedure.name, arguments.join(", "))
}

fn query_text(query: Query, name: &str, done: &Done<'_>) -> String {
    let &[key, default] = done.values else { return format!("read {name}") };
    let (text, ty) = match query {
        Query::Element(_) | Query::Get(_) => (format!("read {name}[{key}]"), Type::Int),
        Query::Length => (format!("len({name})"), Type::Int),
        Query::Contains(_) => (format!("contains({name}, {key})"), Type::Bool),
        Query::GetOr(..) => (format!("get({name}, {key}, {default})"), Type::Int),
        Query::Has(_) => (format!("has({name}, {key})"), Type::Bool),
    };
    with_result(text, done.result, ty)
}

fn change_text(change: Change, name: &str, done: &Done<'_>) -> String {
    let &[key, new] = done.values else { return format!("change {name}") };
    match change {
        Change::Push(_) => format!("push({name}, {key})"),
        Change::Set(..) | Change::Insert(..) => format!("{name}[{key}] = {new}"),
        Change::Pop(_) => with_result(format!("pop({name})"), done.result, Type::Int),
        Change::PopFront(_) => with_result(format!("pop_front({name})"), done.result, Type::Int),
        Change::Remove(_) => format!("remove({name}, {key})"),
        Change::Clear => format!("clear({name})"),
    }
}
