//! Lists and maps.

use selvedge_core::ViolationKind;

use crate::ir::{Change, GlobalKind, ObjectRef, Op, Query};

use super::execute::content;
use super::fault::{self, Failure};
use super::load::Loaded;
use super::machine::{ContentUndo, Machine, Thread};

impl Machine {
    pub(super) fn read_container(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let Op::ReadContainer { target, container, query } = *loaded.op(thread.pc) else {
            return Ok(());
        };
        let element = self.element(me, thread, container);
        let at = content(loaded, container, element);
        let value = |operand| self.value(me, thread, operand);
        let (key, default) = match query {
            Query::Length => (0, 0),
            Query::GetOr(key, default) => (value(key), value(default)),
            Query::Element(key) | Query::Contains(key) | Query::Get(key) | Query::Has(key) => {
                (value(key), 0)
            }
        };
        let answer = match query {
            Query::Length if is_list(loaded, container) => Ok(length(self.lists[at].len())),
            Query::Length => Ok(length(self.maps[at].len())),
            Query::Contains(_) => Ok(i32::from(self.lists[at].contains(&key))),
            Query::Has(_) => Ok(i32::from(self.maps[at].contains_key(&key))),
            Query::GetOr(..) => Ok(self.maps[at].get(&key).copied().unwrap_or(default)),
            Query::Get(_) => self.maps[at]
                .get(&key)
                .copied()
                .ok_or_else(|| no_key(loaded, thread.pc, container, element, key)),
            Query::Element(_) => usize::try_from(key)
                .ok()
                .and_then(|index| self.lists[at].get(index).copied())
                .ok_or_else(|| self.outside(loaded, thread.pc, container, element, key)),
        };
        self.record.add(thread.pc, element, 0, answer.as_ref().ok().copied(), &[key, default]);
        self.set_local(me, thread.base + target.0, answer?);
        Ok(())
    }

    pub(super) fn change_container(
        &mut self,
        loaded: &Loaded,
        me: usize,
        thread: &Thread,
    ) -> Result<(), Failure> {
        let Op::ChangeContainer { container, change } = *loaded.op(thread.pc) else {
            return Ok(());
        };
        let element = self.element(me, thread, container);
        let at = content(loaded, container, element);
        let value = |operand| self.value(me, thread, operand);
        let (key, new) = match change {
            Change::Push(key) | Change::Remove(key) => (value(key), 0),
            Change::Set(key, new) | Change::Insert(key, new) => (value(key), value(new)),
            Change::Pop(_) | Change::PopFront(_) | Change::Clear => (0, 0),
        };
        let taken = self.apply(loaded, container, at, change, key, new);
        self.record.add(thread.pc, element, 0, taken, &[key, new]);
        match change {
            Change::Set(..) if taken.is_none() => {
                Err(self.outside(loaded, thread.pc, container, element, key))
            }
            Change::Pop(target) | Change::PopFront(target) => {
                let Some(taken) = taken else {
                    return Err(empty(loaded, thread.pc, container, element, change));
                };
                if let Some(target) = target {
                    self.set_local(me, thread.base + target.0, taken);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes a change; `None` if it cannot be made. A change that takes something out of a list
    /// gives it back.
    fn apply(
        &mut self,
        loaded: &Loaded,
        container: ObjectRef,
        at: usize,
        change: Change,
        key: i32,
        new: i32,
    ) -> Option<i32> {
        let (undo, result) = match change {
            Change::Push(_) => {
                self.lists[at].push_back(key);
                (ContentUndo::ListPushed(at), 0)
            }
            Change::Set(..) => {
                let index = usize::try_from(key).ok()?;
                let old = std::mem::replace(self.lists[at].get_mut(index)?, new);
                (ContentUndo::ListSet(at, index, old), 0)
            }
            Change::Pop(_) => {
                let taken = self.lists[at].pop_back()?;
                (ContentUndo::ListPopped(at, taken), taken)
            }
            Change::PopFront(_) => {
                let taken = self.lists[at].pop_front()?;
                (ContentUndo::ListPoppedFront(at, taken), taken)
            }
            Change::Insert(..) => {
                let old = self.maps[at].insert(key, new);
                (ContentUndo::MapChanged(at, key, old), 0)
            }
            Change::Remove(_) => {
                let old = self.maps[at].remove(&key);
                (ContentUndo::MapChanged(at, key, old), 0)
            }
            Change::Clear if is_list(loaded, container) => {
                (ContentUndo::ListCleared(at, std::mem::take(&mut self.lists[at])), 0)
            }
            Change::Clear => (ContentUndo::MapCleared(at, std::mem::take(&mut self.maps[at])), 0),
        };
        self.content_log.push(undo);
        Some(result)
    }

    #[cold]
    fn outside(
        &self,
        loaded: &Loaded,
        pc: u32,
        list: ObjectRef,
        element: u32,
        index: i32,
    ) -> Failure {
        let name = loaded.name(list, element as usize);
        let has = fault::count(self.lists[content(loaded, list, element)].len(), "element");
        let message = format!("index {index} is outside `{name}`, which has {has}");
        fault::violation(loaded, pc, ViolationKind::Bounds, message)
    }
}

fn is_list(loaded: &Loaded, container: ObjectRef) -> bool {
    matches!(loaded.program.globals[container.global.index()].kind, GlobalKind::List { .. })
}

fn length(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

#[cold]
fn no_key(loaded: &Loaded, pc: u32, map: ObjectRef, element: u32, key: i32) -> Failure {
    let message = format!("`{}` has no key {key}", loaded.name(map, element as usize));
    fault::violation(loaded, pc, ViolationKind::Bounds, message)
}

#[cold]
fn empty(loaded: &Loaded, pc: u32, list: ObjectRef, element: u32, change: Change) -> Failure {
    let what = if matches!(change, Change::PopFront(_)) { "pop_front" } else { "pop" };
    let message = format!("{what} of `{}`, which is empty", loaded.name(list, element as usize));
    fault::violation(loaded, pc, ViolationKind::Bounds, message)
}
