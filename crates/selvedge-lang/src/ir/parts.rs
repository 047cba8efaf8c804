//! The parts of an instruction: what it uses, what it writes, where it goes.

use super::{Change, GuardArgument, Label, ObjectRef, Op, Operand, Pattern, Query, Slot};

impl Op {
    /// Calls `visit` with every operand, those in object references included.
    pub fn for_each_operand(&self, mut visit: impl FnMut(Operand)) {
        self.for_each_value(&mut visit);
        self.for_each_object(|object| visit(object.index));
    }

    /// Calls `visit` with every operand that is not an index of an object reference.
    fn for_each_value(&self, visit: &mut impl FnMut(Operand)) {
        match self {
            Op::Copy { value, .. } | Op::Unary { value, .. } | Op::Write { value, .. } => {
                visit(*value);
            }
            Op::Binary { left, right, .. } => [*left, *right].into_iter().for_each(visit),
            Op::Index { first, second, .. } => {
                visit(*first);
                second.iter().copied().for_each(visit);
            }
            Op::ThreadIndex { index, .. } => visit(*index),
            Op::Branch { condition, .. }
            | Op::Assert { condition, .. }
            | Op::Assume { condition }
            | Op::Await { condition } => visit(*condition),
            Op::Call { arguments, .. } | Op::Spawn { arguments, .. } => {
                arguments.iter().copied().for_each(visit);
            }
            Op::Return { value } => value.iter().copied().for_each(visit),
            Op::CompareExchange { expected, new, .. } => {
                [*expected, *new].into_iter().for_each(visit);
            }
            Op::Exchange { new, .. } => visit(*new),
            Op::FetchAdd { delta, .. } => visit(*delta),
            Op::ReadContainer { query, .. } => match *query {
                Query::Length => {}
                Query::Element(key) | Query::Contains(key) | Query::Get(key) | Query::Has(key) => {
                    visit(key)
                }
                Query::GetOr(key, default) => [key, default].into_iter().for_each(visit),
            },
            Op::ChangeContainer { change, .. } => match *change {
                Change::Pop(_) | Change::PopFront(_) | Change::Clear => {}
                Change::Push(value) | Change::Remove(value) => visit(value),
                Change::Set(key, value) | Change::Insert(key, value) => {
                    [key, value].into_iter().for_each(visit);
                }
            },
            Op::Join { thread } => visit(*thread),
            Op::Send { to, values } => {
                visit(*to);
                values.iter().copied().for_each(visit);
            }
            Op::Receive { alternatives, .. } => {
                for alternative in alternatives {
                    for pattern in &alternative.patterns {
                        if let Pattern::Equal(value) = pattern {
                            visit(*value);
                        }
                    }
                    for argument in alternative.guard.iter().flat_map(|guard| &guard.arguments) {
                        if let GuardArgument::Local(value) = argument {
                            visit(*value);
                        }
                    }
                }
            }
            Op::Choose { low, high, .. } => [*low, *high].into_iter().for_each(visit),
            Op::Own { .. }
            | Op::Jump { .. }
            | Op::AtomicBegin { .. }
            | Op::AtomicEnd { .. }
            | Op::Read { .. }
            | Op::Lock { .. }
            | Op::Unlock { .. }
            | Op::TryLock { .. }
            | Op::ReadLock { .. }
            | Op::ReadUnlock { .. }
            | Op::TryReadLock { .. }
            | Op::WriteLock { .. }
            | Op::WriteUnlock { .. }
            | Op::TryWriteLock { .. }
            | Op::Up { .. }
            | Op::Down { .. }
            | Op::TryDown { .. }
            | Op::Wait { .. }
            | Op::Signal { .. }
            | Op::Broadcast { .. }
            | Op::Arrive { .. }
            | Op::Yield => {}
        }
    }

    /// Calls `visit` with every shared object it names.
    pub fn for_each_object(&self, mut visit: impl FnMut(ObjectRef)) {
        match self {
            Op::Read { variable: object, .. }
            | Op::Write { variable: object, .. }
            | Op::CompareExchange { variable: object, .. }
            | Op::Exchange { variable: object, .. }
            | Op::FetchAdd { variable: object, .. }
            | Op::Lock { mutex: object }
            | Op::Unlock { mutex: object }
            | Op::TryLock { mutex: object, .. }
            | Op::ReadLock { rwlock: object }
            | Op::ReadUnlock { rwlock: object }
            | Op::TryReadLock { rwlock: object, .. }
            | Op::WriteLock { rwlock: object }
            | Op::WriteUnlock { rwlock: object }
            | Op::TryWriteLock { rwlock: object, .. }
            | Op::Up { semaphore: object }
            | Op::Down { semaphore: object }
            | Op::TryDown { semaphore: object, .. }
            | Op::Signal { cond: object }
            | Op::Broadcast { cond: object }
            | Op::Arrive { barrier: object }
            | Op::ReadContainer { container: object, .. }
            | Op::ChangeContainer { container: object, .. } => visit(*object),
            Op::Wait { cond, mutex } => {
                visit(*cond);
                visit(*mutex);
            }
            _ => {}
        }
    }

    /// Returns the slot that gets its result, if it has one. What `Receive` binds is not meant here.
    pub fn target(&self) -> Option<Slot> {
        match *self {
            Op::Copy { target, .. }
            | Op::Unary { target, .. }
            | Op::Binary { target, .. }
            | Op::Index { target, .. }
            | Op::ThreadIndex { target, .. }
            | Op::Own { target }
            | Op::Read { target, .. }
            | Op::CompareExchange { target, .. }
            | Op::Exchange { target, .. }
            | Op::FetchAdd { target, .. }
            | Op::TryLock { target, .. }
            | Op::TryReadLock { target, .. }
            | Op::TryWriteLock { target, .. }
            | Op::TryDown { target, .. }
            | Op::ReadContainer { target, .. }
            | Op::Choose { target, .. } => Some(target),
            Op::Call { target, .. } | Op::Spawn { target, .. } => target,
            Op::ChangeContainer {
                change: Change::Pop(target) | Change::PopFront(target), ..
            } => target,
            _ => None,
        }
    }

    /// Calls `visit` for each instruction that may run next in the same frame when it stands at
    /// `at`, with the slots that it writes on that way.
    pub fn for_each_successor(&self, at: Label, mut visit: impl FnMut(Label, &[Slot])) {
        let target = self.target();
        match self {
            Op::Jump { to } => visit(*to, &[]),
            Op::Branch { then, otherwise, .. } => {
                visit(*then, &[]);
                visit(*otherwise, &[]);
            }
            Op::Return { .. } => {}
            Op::Receive { alternatives, after } => {
                for alternative in alternatives {
                    visit(alternative.to, &alternative.bound());
                }
                if let Some(after) = after {
                    visit(*after, &[]);
                }
            }
            _ => visit(Label(at.0 + 1), target.as_slice()),
        }
    }
}

impl super::Alternative {
    /// Returns the slots that taking it writes.
    pub fn bound(&self) -> Vec<Slot> {
        let bind = |pattern: &Pattern| match pattern {
            Pattern::Bind(slot) => Some(*slot),
            Pattern::Equal(_) | Pattern::Ignore => None,
        };
        self.patterns.iter().filter_map(bind).collect()
    }
}
