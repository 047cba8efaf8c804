//! States up to the names of threads that run the same code.
//!
//! `roles.rs` says which threads can be renamed and what is renamed with them. Of the states that differ only in such
//! names, one is saved: the threads of a group are sorted by what they are doing and by what belongs to them. Two threads for which
//! that is the same keep their order, although another thread may know them apart: then a state may be saved under several names, and
//! nothing is lost but a part of the reduction.

mod classes;
mod roles;

use std::mem;

use selvedge_core::ThreadId;

use crate::ir::{GlobalId, GlobalKind};

use super::conditions::Live;
use super::invisible::frames;
use super::load::Loaded;
use super::machine::{FREE, Machine, Phase, held_by};
use roles::{Group, GroupId, Roles};

/// In the description of a thread: its own number, that of another thread of its group, one of another group.
const OWN: i32 = i32::MIN;
const OTHERS: i32 = i32::MIN + 1;
const FOREIGN: i32 = i32::MIN + 2;

/// What is renamed, and the names at hand.
pub(super) struct Symmetry {
    roles: Roles,
    /// Per group, the new place of each of its threads.
    places: Vec<Vec<usize>>,
    /// Per group, from the new places back.
    back: Vec<Vec<usize>>,
    /// Of the threads of one group.
    descriptions: Vec<Vec<i32>>,
    order: Vec<usize>,
}

impl Symmetry {
    /// Returns what can be renamed; `None` if all threads can be told apart.
    pub(super) fn of(loaded: &Loaded, live: &Live) -> Option<Self> {
        let roles = Roles::of(loaded, live)?;
        let none: Vec<Vec<usize>> = roles.groups.iter().map(|it| (0..it.count).collect()).collect();
        let most = roles.groups.iter().map(|it| it.count).max().unwrap_or(0);
        Some(Self {
            roles,
            places: none.clone(),
            back: none,
            descriptions: vec![Vec::new(); most],
            order: Vec::new(),
        })
    }

    /// Returns the threads that are renamed, as declared.
    pub(super) fn names(&self) -> Vec<String> {
        self.roles.groups.iter().map(|group| group.name.clone()).collect()
    }

    /// Chooses new names for the state at hand. Returns whether any differs from the present one.
    pub(super) fn choose(&mut self, machine: &Machine, loaded: &Loaded, live: &Live) -> bool {
        let mut renames = false;
        for (id, group) in self.roles.groups.iter().enumerate() {
            for (member, description) in self.descriptions[..group.count].iter_mut().enumerate() {
                description.clear();
                let mut describe = Describe {
                    machine,
                    loaded,
                    roles: &self.roles,
                    id,
                    group,
                    member,
                    to: description,
                };
                describe.thread(live);
                describe.objects();
            }
            let descriptions = &self.descriptions[..group.count];
            if descriptions.is_sorted() {
                (0..group.count).for_each(|member| {
                    self.places[id][member] = member;
                    self.back[id][member] = member;
                });
                continue;
            }
            renames = true;
            self.order.clear();
            self.order.extend(0..group.count);
            self.order.sort_by(|&a, &b| descriptions[a].cmp(&descriptions[b]));
            for (place, &member) in self.order.iter().enumerate() {
                self.places[id][member] = place;
                self.back[id][place] = member;
            }
        }
        renames
    }

    /// Returns the names that were chosen, for the threads of the beginning.
    pub(super) fn chosen(&self, threads: usize) -> Vec<ThreadId> {
        let mut names: Vec<ThreadId> = (0..threads).map(ThreadId::new).collect();
        for (group, places) in self.roles.groups.iter().zip(&self.places) {
            for (member, &place) in places.iter().enumerate() {
                names[group.first + member] = ThreadId::new(group.first + place);
            }
        }
        names
    }

    /// Chooses these names.
    pub(super) fn choose_these(&mut self, names: &[ThreadId]) {
        for (id, group) in self.roles.groups.iter().enumerate() {
            for member in 0..group.count {
                let place = names[group.first + member].index() - group.first;
                self.places[id][member] = place;
                self.back[id][place] = member;
            }
        }
    }

    /// Gives threads the names that were chosen.
    pub(super) fn rename(&self, machine: &mut Machine, loaded: &Loaded, live: &Live) {
        machine.rename(loaded, live, &self.roles, &self.places);
    }

    /// Gives threads their names back.
    pub(super) fn undo(&self, machine: &mut Machine, loaded: &Loaded, live: &Live) {
        machine.rename(loaded, live, &self.roles, &self.back);
    }
}

/// Describes what a thread is doing and what belongs to it, without the names of its group.
struct Describe<'a> {
    machine: &'a Machine,
    loaded: &'a Loaded,
    roles: &'a Roles,
    id: GroupId,
    group: &'a Group,
    /// Which thread of the group.
    member: usize,
    to: &'a mut Vec<i32>,
}

impl Describe<'_> {
    fn number(&self) -> i32 {
        self.group.lowest + self.member as i32
    }

    fn me(&self) -> usize {
        self.group.first + self.member
    }

    /// Returns a value of something with this role.
    fn value(&self, value: i32, role: Option<GroupId>) -> i32 {
        match role {
            None => value,
            Some(id) if id != self.id => FOREIGN,
            Some(_) if value == self.number() => OWN,
            Some(_) if self.group.position(value).is_some() => OTHERS,
            Some(_) => value,
        }
    }

    fn thread(&mut self, live: &Live) {
        let (machine, loaded, me) = (self.machine, self.loaded, self.me());
        let thread = &machine.threads[me];
        self.to.push(thread.phase as i32);
        match thread.phase {
            Phase::Absent | Phase::Finished => return,
            Phase::Assumed | Phase::Failed => {
                self.to.push(thread.pc as i32);
                return;
            }
            Phase::Passing => self.to.push(i32::from(machine.is_released(loaded, me))),
            Phase::Ready | Phase::FaultsAtOnce | Phase::Parked | Phase::Woken => {}
        }
        let stack = &machine.stacks[me];
        for frame in frames(thread, stack) {
            self.to.push(frame.pc as i32);
            let roles = &self.roles.slots[frame.pc as usize];
            for (&slot, &role) in live.at(frame.pc).iter().zip(roles) {
                if frame.target != Some(slot.0) {
                    let value = stack[(frame.base + slot.0) as usize];
                    self.to.push(self.value(value, role));
                }
            }
        }
    }

    /// What belongs to the thread, and where its name is.
    fn objects(&mut self) {
        for (number, global) in self.loaded.program.globals.iter().enumerate() {
            let address = self.loaded.globals[number];
            let (base, content) = (address.base as usize, address.content as usize);
            if self.roles.indices[number] == Some(self.id) {
                let element = self.number() as usize;
                self.element(number, base + element, content + element);
                continue;
            }
            // Elements that are renamed themselves are only counted.
            let is_counted = self.roles.indices[number].is_some();
            let mut count = 0;
            for element in 0..global.elements() {
                let has = self.has(number, base + element, content + element);
                match has {
                    None => break,
                    Some(has) if is_counted => count += has,
                    Some(has) => self.to.push(has),
                }
            }
            if is_counted {
                self.to.push(count);
            }
        }
    }

    /// An element that belongs to the thread.
    fn element(&mut self, number: usize, cell: usize, content: usize) {
        let machine = self.machine;
        let role = self.roles.values[number];
        match self.loaded.program.globals[number].kind {
            GlobalKind::Variable { .. } | GlobalKind::Ghost { .. } => {
                self.to.push(self.value(machine.cells[cell], role));
            }
            GlobalKind::Semaphore { .. } => self.to.push(machine.cells[cell]),
            GlobalKind::Mutex => self.to.push(self.owner(machine.cells[cell])),
            GlobalKind::RwLock => {
                self.to.push(self.owner(machine.cells[cell]));
                self.set(&machine.readers[content]);
            }
            GlobalKind::Cond => self.set(&machine.waiters[content]),
            GlobalKind::List { .. } | GlobalKind::Channel { .. } => {
                self.to.push(machine.lists[content].len() as i32);
                for &element in &machine.lists[content] {
                    self.to.push(self.value(element, role));
                }
            }
            GlobalKind::Map { .. } => {
                self.to.push(machine.maps[content].len() as i32);
                for (&key, &value) in &machine.maps[content] {
                    self.to.extend([key, value]);
                }
            }
            GlobalKind::Barrier { .. } | GlobalKind::Invariant => {}
        }
    }

    /// The owner of a lock.
    fn owner(&self, cell: i32) -> i32 {
        match cell {
            FREE => FREE,
            _ if cell == held_by(self.me()) => OWN,
            _ if self.group.member(cell as usize - 1).is_some() => OTHERS,
            _ => FOREIGN,
        }
    }

    fn set(&mut self, threads: &[usize]) {
        self.to.push(threads.len() as i32);
        self.to.push(i32::from(threads.contains(&self.me())));
    }

    /// Whether and how an element that belongs to no thread of the group has the name of this one; `None` if it is not of a kind that has
    /// names.
    fn has(&self, number: usize, cell: usize, content: usize) -> Option<i32> {
        let machine = self.machine;
        let holds_names = self.roles.values[number] == Some(self.id);
        match self.loaded.program.globals[number].kind {
            GlobalKind::Variable { .. } | GlobalKind::Ghost { .. } if holds_names => {
                Some(i32::from(machine.cells[cell] == self.number()))
            }
            GlobalKind::List { .. } if holds_names => {
                // As the digits of a number: which places are its own.
                let own = |&it: &i32| i32::from(it == self.number());
                let places = machine.lists[content].iter().map(own);
                Some(places.fold(0, |sum, own| sum.wrapping_mul(2).wrapping_add(own)))
            }
            GlobalKind::Mutex => Some(i32::from(machine.cells[cell] == held_by(self.me()))),
            GlobalKind::RwLock => {
                let writes = machine.cells[cell] == held_by(self.me());
                let reads = machine.readers[content].contains(&self.me());
                Some(i32::from(writes) * 2 + i32::from(reads))
            }
            GlobalKind::Cond => Some(i32::from(machine.waiters[content].contains(&self.me()))),
            _ => None,
        }
    }
}

impl Machine {
    /// Gives the threads of each group new names: the one at each place gets the name at the place that is given for it. The other
    /// places undo it.
    fn rename(&mut self, loaded: &Loaded, live: &Live, roles: &Roles, places: &[Vec<usize>]) {
        let renamed = Renamed { roles, places };
        for number in 0..loaded.program.globals.len() {
            self.rename_global(loaded, &renamed, GlobalId::new(number));
        }
        for (group, places) in roles.groups.iter().zip(places) {
            permute(&mut self.threads, group.first, places);
            permute(&mut self.stacks, group.first, places);
        }
        for (thread, stack) in self.threads.iter().zip(&mut self.stacks) {
            if let Phase::Absent | Phase::Finished | Phase::Assumed | Phase::Failed = thread.phase {
                continue;
            }
            let standing: Vec<_> = frames(thread, stack).map(|it| (it.pc, it.base)).collect();
            for (pc, base) in standing {
                for (&slot, &role) in live.at(pc).iter().zip(&roles.slots[pc as usize]) {
                    let value = &mut stack[(base + slot.0) as usize];
                    *value = renamed.number(*value, role);
                }
            }
        }
    }

    fn rename_global(&mut self, loaded: &Loaded, renamed: &Renamed<'_>, global: GlobalId) {
        let declared = &loaded.program.globals[global.index()];
        let address = loaded.globals[global.index()];
        let (base, content) = (address.base as usize, address.content as usize);
        let elements = declared.elements();
        let value = renamed.roles.values[global.index()];
        let index = renamed.roles.indices[global.index()];
        let by = |start: usize| {
            index.map(|id| (start + renamed.roles.groups[id].lowest as usize, &renamed.places[id]))
        };
        match declared.kind {
            GlobalKind::Variable { .. }
            | GlobalKind::Ghost { .. }
            | GlobalKind::Semaphore { .. } => {
                for cell in &mut self.cells[base..base + elements] {
                    *cell = renamed.number(*cell, value);
                }
            }
            GlobalKind::Mutex => renamed.owners(&mut self.cells[base..base + elements]),
            GlobalKind::RwLock => {
                renamed.owners(&mut self.cells[base..base + elements]);
                renamed.sets(&mut self.readers[content..content + elements]);
                by(content)
                    .into_iter()
                    .for_each(|(at, places)| permute(&mut self.readers, at, places));
            }
            GlobalKind::Cond => {
                renamed.sets(&mut self.waiters[content..content + elements]);
                by(content)
                    .into_iter()
                    .for_each(|(at, places)| permute(&mut self.waiters, at, places));
            }
            GlobalKind::List { .. } | GlobalKind::Channel { .. } => {
                let lists = self.lists[content..content + elements].iter_mut().flatten();
                lists.for_each(|element| *element = renamed.number(*element, value));
                by(content)
                    .into_iter()
                    .for_each(|(at, places)| permute(&mut self.lists, at, places));
            }
            GlobalKind::Map { .. } => {
                by(content)
                    .into_iter()
                    .for_each(|(at, places)| permute(&mut self.maps, at, places));
            }
            GlobalKind::Barrier { .. } | GlobalKind::Invariant => return,
        }
        by(base).into_iter().for_each(|(at, places)| permute(&mut self.cells, at, places));
    }
}

/// New names.
struct Renamed<'a> {
    roles: &'a Roles,
    places: &'a [Vec<usize>],
}

impl Renamed<'_> {
    /// Returns the new number of a thread, if the role is to hold one.
    fn number(&self, number: i32, role: Option<GroupId>) -> i32 {
        let Some(id) = role else { return number };
        let group = &self.roles.groups[id];
        group.position(number).map_or(number, |place| group.lowest + self.places[id][place] as i32)
    }

    fn thread(&self, thread: usize) -> usize {
        let groups = self.roles.groups.iter().zip(self.places);
        let mut renamed = groups.filter_map(|(group, places)| {
            group.member(thread).map(|member| group.first + places[member])
        });
        renamed.next().unwrap_or(thread)
    }

    fn owners(&self, cells: &mut [i32]) {
        for cell in cells.iter_mut().filter(|cell| **cell != FREE) {
            *cell = held_by(self.thread(*cell as usize - 1));
        }
    }

    fn sets(&self, sets: &mut [Vec<usize>]) {
        for set in sets {
            set.iter_mut().for_each(|thread| *thread = self.thread(*thread));
            set.sort_unstable();
        }
    }
}

/// Moves what is at `start + place` to `start + places[place]`.
fn permute<T: Default>(all: &mut [T], start: usize, places: &[usize]) {
    let moved: Vec<T> = all[start..start + places.len()].iter_mut().map(mem::take).collect();
    for (it, &place) in moved.into_iter().zip(places) {
        all[start + place] = it;
    }
}
