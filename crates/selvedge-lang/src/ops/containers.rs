//! Lists and maps of integers.

use std::fmt::{self, Display, Formatter};

use selvedge_core::{Footprint, Mode, Order, ViolationKind};

use super::declare::operations;
use super::{Code, Facts, Form, Operation, Parts, Reach, Stands, Then};
use crate::interpret::machine::ContentUndo;
use crate::interpret::{At, Done, Failure, Loaded, Machine, Reads, fault};
use crate::ir::{Checked, Checker, GlobalKind, Names, ObjectRef, Operand, Type};

/// An operation on a list or map.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Container<F: Form = Code> {
    /// `target` = answer to a question about a list or map.
    Ask {
        /// A list or map.
        container: F::Object,
        /// What is asked.
        query: Query<F>,
        /// Gets the result.
        target: F::Target,
    },
    /// Changes a list or map.
    Change {
        /// A list or map.
        container: F::Object,
        /// How.
        change: Change<F>,
    },
}

operations! {
    /// A question about a list or map.
    pub enum Query {
        /// The element of a list with this index; faults if there is none.
        Element(index: F::Value),
        /// Number of elements of a list or map.
        Length,
        /// Whether a list has this element; boolean.
        Contains(value: F::Value),
        /// The smallest element of a list; faults if there is none.
        Least,
        /// The largest element of a list; faults if there is none.
        Greatest,
        /// Where a list has this element first; -1 if it does not have it.
        IndexOf(value: F::Value),
        /// The value of a map for this key; faults if there is none.
        Get(key: F::Value),
        /// The value of a map for the first, or the second if there is none.
        GetOr(key: F::Value, default: F::Value),
        /// Whether a map has this key; boolean.
        Has(key: F::Value),
    }
}

operations! {
    /// A change of a list or map.
    pub enum Change {
        /// Appends to a list.
        Push(value: F::Value),
        /// Overwrites the element of a list with the index (first) by the value (second); faults if
        /// there is none.
        Set(index: F::Value, value: F::Value),
        /// Takes the last element of a list into the slot, if one is given; faults if there is none.
        Pop(target: Option<F::Target>),
        /// Takes the first element of a list into the slot, if one is given; faults if there is none.
        PopFront(target: Option<F::Target>),
        /// Maps the key (first) to the value (second).
        Insert(key: F::Value, value: F::Value),
        /// Takes a key out of a map; no effect if it has none.
        Remove(key: F::Value),
        /// Empties a list or map.
        Clear,
    }
}

impl<F: Form> Container<F> {
    pub(super) fn map<G: Form>(&self, parts: &mut impl Parts<F, G>) -> Container<G> {
        match self {
            Container::Ask { container, query, target } => Container::Ask {
                container: parts.object(container),
                query: query.map(parts),
                target: parts.target(target),
            },
            Container::Change { container, change } => {
                Container::Change { container: parts.object(container), change: change.map(parts) }
            }
        }
    }
}

/// What a query or a change works on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Works {
    Lists,
    Maps,
    Both,
}

impl Query {
    /// Returns what it works on, and the type of the answer.
    fn signature(&self) -> (Works, Type) {
        match self {
            Query::Length => (Works::Both, Type::Int),
            Query::Element(_) | Query::Least | Query::Greatest | Query::IndexOf(_) => {
                (Works::Lists, Type::Int)
            }
            Query::Contains(_) => (Works::Lists, Type::Bool),
            Query::Get(_) | Query::GetOr(..) => (Works::Maps, Type::Int),
            Query::Has(_) => (Works::Maps, Type::Bool),
        }
    }

    /// Returns the key and the default, as far as it has them.
    fn operands(&self) -> [Option<Operand>; 2] {
        match *self {
            Query::Length | Query::Least | Query::Greatest => [None, None],
            Query::Element(key)
            | Query::Contains(key)
            | Query::IndexOf(key)
            | Query::Get(key)
            | Query::Has(key) => [Some(key), None],
            Query::GetOr(key, default) => [Some(key), Some(default)],
        }
    }

    fn text(&self, name: &str, done: &Done<'_>) -> String {
        let &[key, default] = done.values else { return format!("read {name}") };
        let text = match self {
            Query::Element(_) | Query::Get(_) => format!("read {name}[{key}]"),
            Query::Length => format!("len({name})"),
            Query::Least => format!("min({name})"),
            Query::Greatest => format!("max({name})"),
            Query::IndexOf(_) => format!("index_of({name}, {key})"),
            Query::Contains(_) => format!("contains({name}, {key})"),
            Query::GetOr(..) => format!("get({name}, {key}, {default})"),
            Query::Has(_) => format!("has({name}, {key})"),
        };
        done.with_result(text, self.signature().1)
    }
}

impl Change {
    fn works(&self) -> Works {
        match self {
            Change::Clear => Works::Both,
            Change::Push(_) | Change::Set(..) | Change::Pop(_) | Change::PopFront(_) => {
                Works::Lists
            }
            Change::Insert(..) | Change::Remove(_) => Works::Maps,
        }
    }

    /// Returns the key and the value, as far as it has them.
    fn operands(&self) -> [Option<Operand>; 2] {
        match *self {
            Change::Push(key) | Change::Remove(key) => [Some(key), None],
            Change::Set(key, new) | Change::Insert(key, new) => [Some(key), Some(new)],
            Change::Pop(_) | Change::PopFront(_) | Change::Clear => [None, None],
        }
    }

    fn target(&self) -> Option<crate::ir::Slot> {
        match *self {
            Change::Pop(target) | Change::PopFront(target) => target,
            _ => None,
        }
    }

    fn text(&self, name: &str, done: &Done<'_>) -> String {
        let &[key, new] = done.values else { return format!("change {name}") };
        match self {
            Change::Push(_) => format!("push({name}, {key})"),
            Change::Set(..) | Change::Insert(..) => format!("{name}[{key}] = {new}"),
            Change::Pop(_) => done.with_result(format!("pop({name})"), Type::Int),
            Change::PopFront(_) => done.with_result(format!("pop_front({name})"), Type::Int),
            Change::Remove(_) => format!("remove({name}, {key})"),
            Change::Clear => format!("clear({name})"),
        }
    }
}

impl Container {
    fn container(&self) -> ObjectRef {
        match self {
            Container::Ask { container, .. } | Container::Change { container, .. } => *container,
        }
    }

    fn operands(&self) -> [Option<Operand>; 2] {
        match self {
            Container::Ask { query, .. } => query.operands(),
            Container::Change { change, .. } => change.operands(),
        }
    }

    /// Returns the key and the other argument; 0 if there is none.
    fn keys(&self, machine: &Machine, at: At<'_>) -> [i32; 2] {
        self.operands().map(|operand| operand.map_or(0, |operand| machine.value(at, operand)))
    }
}

impl Operation for Container {
    fn facts(&self) -> Facts {
        let stands = Stands::InLooks;
        match self {
            Container::Ask { query, .. } => {
                let may_fault = matches!(
                    query,
                    Query::Element(_) | Query::Get(_) | Query::Least | Query::Greatest
                );
                Facts { may_fault, stands, finds: true, reach: Reach::Reads, ..Facts::STEP }
            }
            Container::Change { change, .. } => {
                let may_fault =
                    matches!(change, Change::Set(..) | Change::Pop(_) | Change::PopFront(_));
                Facts { may_fault, stands, finds: true, ..Facts::STEP }
            }
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        let (works, target) = match self {
            Container::Ask { target, query, .. } => {
                let (works, ty) = query.signature();
                (works, Some((*target, ty)))
            }
            Container::Change { change, .. } => {
                (change.works(), change.target().map(|target| (target, Type::Int)))
            }
        };
        checker.kind(self.container(), |kind| match kind {
            GlobalKind::List { .. } => works != Works::Maps,
            GlobalKind::Map { .. } => works != Works::Lists,
            GlobalKind::Channel { .. } => {
                matches!(self, Container::Ask { query: Query::Length, .. })
            }
            _ => false,
        })?;
        target.iter().try_for_each(|&(target, ty)| checker.slot(target, ty))?;
        self.operands().into_iter().flatten().try_for_each(|key| checker.operand(key, Type::Int))
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        match self {
            Container::Ask { query, .. } => write!(f, "{query}")?,
            Container::Change { change, .. } => write!(f, "{change}")?,
        }
        write!(f, " of {}", names.object(self.container()))
    }

    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        let mode = match self {
            Container::Ask { .. } => Mode::Read,
            Container::Change { .. } => Mode::Update,
        };
        footprint.add(machine.object(at, self.container()), mode);
    }

    fn memory_order(&self, _: &Machine, at: At<'_>) -> Option<Order> {
        let kind = &at.loaded.program.globals[self.container().global.index()].kind;
        (!matches!(kind, GlobalKind::Channel { .. })).then_some(Order::NonAtomic)
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        let container = self.container();
        let element = machine.element(at, container);
        let [key, other] = self.keys(machine, at);
        let content = at.loaded.content(container, element);
        let result = match self {
            Container::Ask { query, .. } => {
                answer(machine, content, is_list(at, container), query, key, other)
            }
            Container::Change { change, .. } => {
                apply(machine, content, is_list(at, container), change, key, other)
            }
        };
        machine.record.add(at.thread.pc, element, 0, result, &[key, other]);
        let Some(result) = result else {
            return Err(self.impossible(machine, at, content, element, key));
        };
        match self {
            Container::Ask { target, .. } => machine.set_target(at, *target, result),
            Container::Change { change, .. } => {
                change.target().into_iter().for_each(|it| machine.set_target(at, it, result));
            }
        }
        Ok(Then::Next)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        self.keys(machine, at).to_vec()
    }

    fn text(&self, _: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let name = loaded.name(self.container(), done.element);
        match self {
            Container::Ask { query, .. } => query.text(&name, done),
            Container::Change { change, .. } => change.text(&name, done),
        }
    }

    fn decides(&self, reads: &mut Reads) {
        reads.places.push(self.container());
    }
}

impl Container {
    #[cold]
    fn impossible(
        &self,
        machine: &Machine,
        at: At<'_>,
        content: usize,
        element: u32,
        key: i32,
    ) -> Failure {
        let name = at.loaded.name(self.container(), element as usize);
        let message = match self {
            Container::Ask { query: Query::Get(_), .. } => format!("`{name}` has no key {key}"),
            Container::Ask { query: Query::Least, .. } => {
                format!("min of `{name}`, which is empty")
            }
            Container::Ask { query: Query::Greatest, .. } => {
                format!("max of `{name}`, which is empty")
            }
            Container::Change { change: Change::PopFront(_), .. } => {
                format!("pop_front of `{name}`, which is empty")
            }
            Container::Change { change: Change::Pop(_), .. } => {
                format!("pop of `{name}`, which is empty")
            }
            _ => {
                let has = fault::count(machine.lists[content].len(), "element");
                format!("index {key} is outside `{name}`, which has {has}")
            }
        };
        fault::violation(at.loaded, at.thread.pc, ViolationKind::Bounds, message)
    }
}

fn is_list(at: At<'_>, container: ObjectRef) -> bool {
    let kind = &at.loaded.program.globals[container.global.index()].kind;
    matches!(kind, GlobalKind::List { .. } | GlobalKind::Channel { .. })
}

/// Returns the answer to a query; `None` if there is none.
fn answer(
    machine: &Machine,
    at: usize,
    is_list: bool,
    query: &Query,
    key: i32,
    default: i32,
) -> Option<i32> {
    let length = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
    match query {
        Query::Length if is_list => Some(length(machine.lists[at].len())),
        Query::Length => Some(length(machine.maps[at].len())),
        Query::Contains(_) => Some(i32::from(machine.lists[at].contains(&key))),
        Query::Least => machine.lists[at].iter().min().copied(),
        Query::Greatest => machine.lists[at].iter().max().copied(),
        Query::IndexOf(_) => {
            let place = machine.lists[at].iter().position(|&element| element == key);
            Some(place.map_or(-1, length))
        }
        Query::Has(_) => Some(i32::from(machine.maps[at].contains_key(&key))),
        Query::GetOr(..) => Some(machine.maps[at].get(&key).copied().unwrap_or(default)),
        Query::Get(_) => machine.maps[at].get(&key).copied(),
        Query::Element(_) => machine.lists[at].get(usize::try_from(key).ok()?).copied(),
    }
}

/// Makes a change; `None` if it cannot be made. A change that takes something out of a list
/// returns it.
fn apply(
    machine: &mut Machine,
    at: usize,
    is_list: bool,
    change: &Change,
    key: i32,
    new: i32,
) -> Option<i32> {
    let (undo, result) = match change {
        Change::Push(_) => {
            machine.lists[at].push_back(key);
            (ContentUndo::ListPushed(at), 0)
        }
        Change::Set(..) => {
            let index = usize::try_from(key).ok()?;
            let old = std::mem::replace(machine.lists[at].get_mut(index)?, new);
            (ContentUndo::ListSet(at, index, old), 0)
        }
        Change::Pop(_) => {
            let taken = machine.lists[at].pop_back()?;
            (ContentUndo::ListPopped(at, taken), taken)
        }
        Change::PopFront(_) => {
            let taken = machine.lists[at].pop_front()?;
            (ContentUndo::ListPoppedFront(at, taken), taken)
        }
        Change::Insert(..) => {
            let old = machine.maps[at].insert(key, new);
            (ContentUndo::MapChanged(at, key, old), 0)
        }
        Change::Remove(_) => {
            let old = machine.maps[at].remove(&key);
            (ContentUndo::MapChanged(at, key, old), 0)
        }
        Change::Clear if is_list => {
            (ContentUndo::ListCleared(at, std::mem::take(&mut machine.lists[at])), 0)
        }
        Change::Clear => (ContentUndo::MapCleared(at, std::mem::take(&mut machine.maps[at])), 0),
    };
    machine.content_log.push(undo);
    Some(result)
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Query::Element(index) => write!(f, "element {index}"),
            Query::Length => write!(f, "length"),
            Query::Contains(value) => write!(f, "contains {value}"),
            Query::Least => write!(f, "least"),
            Query::Greatest => write!(f, "greatest"),
            Query::IndexOf(value) => write!(f, "index of {value}"),
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
