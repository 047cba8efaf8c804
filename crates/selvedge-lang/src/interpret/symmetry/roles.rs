//! Which threads can be renamed, and what changes its name with them.
//!
//! The threads of one declaration, `thread p(i in 0..3)`, run the same code, and each has a number. They can be renamed if
//! the code does nothing with a number but to keep it, to compare it with another number of theirs for equality, and to
//! use it as an index (the *scalarsets* of C. N. Ip and D. L. Dill: *Better Verification Through Symmetry*, 1996). Then each step
//! of a state is a step of the state with other names, and leads to its successor with these names.
//!
//! What holds such numbers is found by putting into one class all slots, variables, elements of lists and indices of arrays between which
//! values are copied or compared. The numbers of threads cannot be renamed if their class has something that is computed with, a
//! constant that is one of the numbers, or the numbers of other threads. Initial values may be such constants: which steps there are does not depend on them.

use crate::ir::{GlobalId, Program};

use super::super::conditions::Live;
use super::super::load::Loaded;
use super::classes::{Classes, Node};

/// Threads that can be renamed.
#[derive(Clone)]
pub(in crate::interpret) struct Group {
    /// As declared.
    pub(in crate::interpret) name: String,
    /// The first of them.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The number of the first; those of the others follow.
    pub(super) lowest: i32,
}

impl Group {
    /// Returns which of its numbers this is.
    pub(super) fn position(&self, number: i32) -> Option<usize> {
        let position = usize::try_from(i64::from(number) - i64::from(self.lowest)).ok()?;
        (position < self.count).then_some(position)
    }

    /// Returns which of its threads this is.
    pub(super) fn member(&self, thread: usize) -> Option<usize> {
        let member = thread.checked_sub(self.first)?;
        (member < self.count).then_some(member)
    }
}

/// Which group, by its place in [`Roles::groups`].
pub(super) type GroupId = usize;

/// What is renamed.
pub(super) struct Roles {
    pub(super) groups: Vec<Group>,
    /// Per global: whose numbers are its indices.
    pub(super) indices: Vec<Option<GroupId>>,
    /// Per global: whose numbers its elements are.
    pub(super) values: Vec<Option<GroupId>>,
    /// Per instruction, for each slot that is live before it: whose number is there.
    pub(super) slots: Vec<Vec<Option<GroupId>>>,
}

impl Roles {
    /// Returns what can be renamed; `None` if nothing can.
    pub(super) fn of(loaded: &Loaded, live: &Live) -> Option<Roles> {
        let program = &loaded.program;
        let candidates = groups(program);
        if candidates.is_empty() {
            return None;
        }
        let classes = Classes::of(loaded, live)?;
        let number_of = |group: &Group| {
            let procedure = program.threads[group.first].procedure;
            classes.parameter(loaded, procedure, 0)
        };
        // Without a class: the number is not used.
        let numbers: Vec<Option<usize>> = candidates.iter().map(number_of).collect();
        let is_fit = |group: &Group, number: Option<usize>| {
            number.is_none_or(|class| {
                numbers.iter().filter(|&&it| it == Some(class)).count() == 1
                    && !classes.is_number(class)
                    && !classes.constants(class).any(|it| group.position(it).is_some())
                    && classes.arrays(class).all(|array| has_all(program, array, group))
            })
        };
        let fit: Vec<(Group, Option<usize>)> = candidates
            .into_iter()
            .zip(numbers.iter().copied())
            .filter(|(group, number)| is_fit(group, *number))
            .collect();
        let role = |class: usize| fit.iter().position(|(_, number)| *number == Some(class));
        let globals = (0..program.globals.len()).map(GlobalId::new);
        let indices = globals.clone().map(|it| role(classes.of_node(Node::Index(it)))).collect();
        let values = globals.map(|it| role(classes.of_node(Node::Value(it)))).collect();
        let at = |pc: u32| (0..live.at(pc).len()).map(move |place| Node::Slot(pc, place));
        let slots = (0..loaded.code.len() as u32)
            .map(|pc| at(pc).map(|node| role(classes.of_node(node))).collect())
            .collect();
        let groups: Vec<Group> = fit.iter().map(|(group, _)| group.clone()).collect();
        (!groups.is_empty()).then_some(Roles { groups, indices, values, slots })
    }
}

/// Returns whether each number of the group is an index of the array, so that none of its threads fails where the
/// others do not.
fn has_all(program: &Program, array: GlobalId, group: &Group) -> bool {
    let highest = i64::from(group.lowest) + group.count as i64;
    let dims = &program.globals[array.index()].dims[..];
    matches!(dims, &[size] if group.lowest >= 0 && highest <= i64::from(size))
}

/// Returns the threads of each declaration with more than one.
fn groups(program: &Program) -> Vec<Group> {
    let threads = &program.threads;
    let mut groups = Vec::new();
    let mut first = 0;
    while first < threads.len() {
        let start = &threads[first];
        let is_same = |place: usize| {
            let (it, before) = (&threads[place], &threads[place - 1]);
            it.procedure == start.procedure
                && it.daemon == start.daemon
                && it.arguments.len() == start.arguments.len()
                && it
                    .index
                    .zip(before.index)
                    .is_some_and(|(it, before)| Some(it) == before.checked_add(1))
        };
        let mut end = first + 1;
        while end < threads.len() && is_same(end) {
            end += 1;
        }
        let of_procedure = threads.iter().filter(|it| it.procedure == start.procedure).count();
        let is_number = |place: usize| match threads[place].arguments[..] {
            [] => true,
            [argument] => Some(argument) == threads[place].index,
            _ => false,
        };
        if let Some(lowest) = start.index
            && end - first > 1
            && of_procedure == end - first
            && (first..end).all(is_number)
        {
            groups.push(Group { name: start.name.clone(), first, count: end - first, lowest });
        }
        first = end;
    }
    groups
}
