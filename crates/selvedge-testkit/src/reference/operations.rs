//! What visible operations do to one object.

use std::collections::BTreeSet;

use selvedge_core::ViolationKind;

use super::arithmetic;
use super::run::Attempt;
use super::state::{Object, ThreadId, Value};
use super::syntax::{LockOp, Operator};

/// Something shared whose indices are known.
pub(super) struct Shared {
    /// Where it is.
    pub(super) object: usize,
    /// The index of a list or the key of a map.
    pub(super) inner: Option<i32>,
}

const UNIT: Attempt = Attempt::Done(Value::Unit);

fn int(value: i32) -> Attempt {
    Attempt::Done(Value::Int(value))
}

fn bool(value: bool) -> Attempt {
    Attempt::Done(Value::Bool(value))
}

pub(super) fn read(object: &Object, inner: Option<i32>) -> Attempt {
    match (object, inner) {
        (Object::Variable(value), None) => Attempt::Done(value.clone()),
        (Object::List(items), Some(index)) => {
            let item = usize::try_from(index).ok().and_then(|index| items.get(index));
            item.map_or(Attempt::Wrong(ViolationKind::Bounds), |&item| int(item))
        }
        (Object::Map(entries), Some(key)) => {
            entries.get(&key).map_or(Attempt::Wrong(ViolationKind::Bounds), |&value| int(value))
        }
        _ => panic!("{object:?} cannot be read"),
    }
}

pub(super) fn write(object: &mut Object, inner: Option<i32>, new: Value) -> Attempt {
    match (object, inner) {
        (Object::Variable(value), None) => *value = new,
        (Object::List(items), Some(index)) => {
            let item = usize::try_from(index).ok().and_then(|index| items.get_mut(index));
            let Some(item) = item else { return Attempt::Wrong(ViolationKind::Bounds) };
            *item = new.int();
        }
        (Object::Map(entries), Some(key)) => {
            entries.insert(key, new.int());
        }
        (object, _) => panic!("{object:?} cannot be written"),
    }
    UNIT
}

pub(super) fn lock(op: LockOp, object: &mut Object, me: &ThreadId) -> Attempt {
    const MISUSE: Attempt = Attempt::Wrong(ViolationKind::Misuse);
    match (op, object) {
        (LockOp::Lock, Object::Mutex(holder)) => {
            if holder.as_ref() == Some(me) {
                return MISUSE;
            }
            if holder.is_some() {
                return Attempt::Blocked;
            }
            *holder = Some(me.clone());
        }
        (LockOp::Unlock, Object::Mutex(holder)) => {
            if holder.as_ref() != Some(me) {
                return MISUSE;
            }
            *holder = None;
        }
        (LockOp::ReadLock, Object::RwLock { writer, readers }) => {
            if writer.as_ref() == Some(me) || readers.contains(me) {
                return MISUSE;
            }
            if writer.is_some() {
                return Attempt::Blocked;
            }
            readers.insert(me.clone());
        }
        (LockOp::ReadUnlock, Object::RwLock { readers, .. }) => {
            if !readers.remove(me) {
                return MISUSE;
            }
        }
        (LockOp::WriteLock, Object::RwLock { writer, readers }) => {
            if writer.as_ref() == Some(me) || readers.contains(me) {
                return MISUSE;
            }
            if writer.is_some() || !readers.is_empty() {
                return Attempt::Blocked;
            }
            *writer = Some(me.clone());
        }
        (LockOp::WriteUnlock, Object::RwLock { writer, .. }) => {
            if writer.as_ref() != Some(me) {
                return MISUSE;
            }
            *writer = None;
        }
        (_, object) => panic!("{object:?} is no such lock"),
    }
    UNIT
}

pub(super) fn waiters(object: &mut Object) -> &mut BTreeSet<ThreadId> {
    match object {
        Object::Cond(waiters) => waiters,
        other => panic!("{other:?} is no condition variable"),
    }
}

/// Returns how often the barrier was open before.
pub(super) fn arrive(object: &mut Object) -> Attempt {
    let Object::Barrier { parties, arrived, opened } = object else {
        panic!("{object:?} is no barrier");
    };
    let before = *opened as i32;
    *arrived += 1;
    if arrived == parties {
        *arrived = 0;
        *opened += 1;
    }
    int(before)
}

/// Waits until the barrier was open once more.
pub(super) fn leave(object: &Object, before: &Value) -> Attempt {
    match object {
        Object::Barrier { opened, .. } if *opened as i32 == before.int() => Attempt::Blocked,
        _ => UNIT,
    }
}

/// The built-in routines that access one object once.
pub(super) fn built_in(
    name: &str,
    object: &mut Object,
    arguments: &[Value],
    me: &ThreadId,
) -> Attempt {
    const EMPTY: Attempt = Attempt::Wrong(ViolationKind::Bounds);
    match (name, object, arguments) {
        ("fetch_add", Object::Variable(value), [summand]) => {
            match arithmetic::binary(Operator::Add, value, summand) {
                Ok(sum) => Attempt::Done(std::mem::replace(value, sum)),
                Err(_) => Attempt::Wrong(ViolationKind::Arithmetic),
            }
        }
        ("exchange", Object::Variable(value), [new]) => {
            Attempt::Done(std::mem::replace(value, new.clone()))
        }
        ("compare_exchange", Object::Variable(value), [old, new]) => {
            let same = value == old;
            if same {
                *value = new.clone();
            }
            bool(same)
        }
        ("try_lock", Object::Mutex(holder), []) => {
            let free = holder.is_none();
            if free {
                *holder = Some(me.clone());
            }
            bool(free)
        }
        ("try_read_lock", Object::RwLock { writer, readers }, []) => {
            bool(writer.is_none() && readers.insert(me.clone()))
        }
        ("try_write_lock", Object::RwLock { writer, readers }, []) => {
            let free = writer.is_none() && readers.is_empty();
            if free {
                *writer = Some(me.clone());
            }
            bool(free)
        }
        ("broadcast", Object::Cond(waiters), []) => {
            waiters.clear();
            UNIT
        }
        ("up", Object::Semaphore(i32::MAX), []) => Attempt::Wrong(ViolationKind::Arithmetic),
        ("count", Object::Semaphore(count), []) => int(*count),
        ("up", Object::Semaphore(count), [by]) => {
            let sum = count.checked_add(by.int());
            *count = sum.unwrap_or(i32::MAX);
            if sum.is_some() { UNIT } else { Attempt::Wrong(ViolationKind::Arithmetic) }
        }
        ("up", Object::Semaphore(count), []) => {
            *count += 1;
            UNIT
        }
        ("down", Object::Semaphore(0), []) => Attempt::Blocked,
        ("down", Object::Semaphore(count), []) => {
            *count -= 1;
            UNIT
        }
        ("try_down", Object::Semaphore(count), []) => {
            let positive = *count > 0;
            *count -= i32::from(positive);
            bool(positive)
        }
        ("push", Object::List(items), [item]) => {
            items.push(item.int());
            UNIT
        }
        ("pop", Object::List(items), []) => items.pop().map_or(EMPTY, int),
        ("pop_front", Object::List(items), []) => {
            if items.is_empty() {
                EMPTY
            } else {
                int(items.remove(0))
            }
        }
        ("contains", Object::List(items), [item]) => bool(items.contains(&item.int())),
        ("clear", Object::List(items), []) => {
            items.clear();
            UNIT
        }
        ("clear", Object::Map(entries), []) => {
            entries.clear();
            UNIT
        }
        ("len", Object::List(items), []) => int(items.len() as i32),
        ("len", Object::Channel { values, .. }, []) => int(values.len() as i32),
        ("max", Object::List(items), []) => {
            items.iter().max().map_or(Attempt::Wrong(ViolationKind::Bounds), |&item| int(item))
        }
        ("min", Object::List(items), []) => {
            items.iter().min().map_or(Attempt::Wrong(ViolationKind::Bounds), |&item| int(item))
        }
        ("index_of", Object::List(items), [value]) => {
            let place = items.iter().position(|&item| item == value.int());
            int(place.map_or(-1, |place| place as i32))
        }
        ("len", Object::Map(entries), []) => int(entries.len() as i32),
        ("has", Object::Map(entries), [key]) => bool(entries.contains_key(&key.int())),
        ("get", Object::Map(entries), [key, otherwise]) => {
            int(entries.get(&key.int()).copied().unwrap_or(otherwise.int()))
        }
        ("remove", Object::Map(entries), [key]) => {
            entries.remove(&key.int());
            UNIT
        }
        (name, object, _) => panic!("{name} of {object:?}"),
    }
}
