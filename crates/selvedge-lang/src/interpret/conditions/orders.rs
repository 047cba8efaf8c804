//! Runs two steps in both orders and compares what comes out.
//!
//! Only what the steps changed is looked at, so that a comparison costs what the steps cost, however
//! large the state is.

use std::collections::{BTreeMap, VecDeque};

use selvedge_core::{Commutation, Effect, Fault, Place, Status, Step, ThreadId, ViolationKind};

use super::super::load::Loaded;
use super::super::machine::{ContentUndo, Machine};
use super::Analysis;

/// What two steps, one after the other, changed.
#[derive(Default)]
struct After {
    cells: BTreeMap<u32, i32>,
    lists: BTreeMap<usize, VecDeque<i32>>,
    maps: BTreeMap<usize, BTreeMap<i32, i32>>,
    /// What the two threads will do, by ascending numbers.
    threads: Vec<(usize, Vec<i32>)>,
    /// The threads that were spawned: by the first step alone, and by both.
    spawned_first: BTreeMap<usize, Vec<i32>>,
    spawned: BTreeMap<usize, Vec<i32>>,
    /// How the steps failed, by thread.
    faults: BTreeMap<usize, Told>,
}

/// What tells faults apart.
type Told = (Option<ViolationKind>, String, Vec<Place>);

impl Machine {
    pub(super) fn try_both_orders(
        &mut self,
        loaded: &Loaded,
        analysis: &Analysis,
        first: Step,
        second: Step,
    ) -> Commutation {
        let forth = self.run_both(loaded, analysis, [first, second]);
        let back = self.run_both(loaded, analysis, [second, first]);
        let (Some(forth), Some(back)) = (forth, back) else { return Commutation::default() };
        let same = self.is_same(analysis, &forth, &back);
        let caused = forth
            .spawned
            .iter()
            .filter(|(child, _)| !forth.spawned_first.contains_key(child))
            .filter(|(child, state)| back.spawned_first.get(child) != Some(state))
            .map(|(&child, _)| ThreadId::new(child))
            .collect();
        Commutation { same, caused }
    }

    /// Runs the steps and takes them back. `None` if one cannot run, or does what is not compared here:
    /// waking, locking, sending.
    fn run_both(
        &mut self,
        loaded: &Loaded,
        analysis: &Analysis,
        order: [Step; 2],
    ) -> Option<After> {
        let steps = self.steps();
        let logs = self.log_lengths();
        let after = self.run_in_order(loaded, analysis, order, logs);
        while self.steps() > steps {
            self.undo_step();
        }
        self.record.on = true;
        after
    }

    fn run_in_order(
        &mut self,
        loaded: &Loaded,
        analysis: &Analysis,
        order: [Step; 2],
        (cells, contents): (usize, usize),
    ) -> Option<After> {
        let mut after = After::default();
        for (index, step) in order.into_iter().enumerate() {
            if !self.is_enabled(loaded, step) || !self.run_quietly(loaded, step, &mut after) {
                return None;
            }
            if index == 0 {
                after.spawned_first = self.spawned_since(loaded, analysis, contents);
            }
        }
        for index in self.cells_changed_since(cells) {
            after.cells.insert(index, self.cells[index as usize]);
        }
        self.add_contents(loaded, analysis, contents, &mut after)?;
        let mut threads = order.map(|step| step.thread.index());
        threads.sort_unstable();
        let state = |thread| (thread, self.thread_state(loaded, &analysis.live, thread));
        after.threads = threads.into_iter().map(state).collect();
        Some(after)
    }

    fn is_enabled(&mut self, loaded: &Loaded, step: Step) -> bool {
        let me = step.thread.index();
        let status = match self.quick_status(loaded, me) {
            Some(status) => status,
            None => self.tried_status(loaded, me),
        };
        status == Status::Enabled && step.choice < self.choices(self.at(loaded, me))
    }

    /// Takes a step, to be undone, and notes its fault.
    fn run_quietly(&mut self, loaded: &Loaded, step: Step, after: &mut After) -> bool {
        let (me, mut effect) = (step.thread.index(), Effect::default());
        self.record.on = false;
        self.begin_step(me);
        let taken = self.perform(loaded, me, step.choice, &mut effect);
        if let Some(fault) = effect.fault.take() {
            let told = match fault {
                Fault::Violation(it) => (Some(it.kind), it.message, it.places),
                Fault::GaveUp(reason) => (None, reason, Vec::new()),
            };
            after.faults.insert(me, told);
        }
        taken
    }

    fn spawned_since(
        &self,
        loaded: &Loaded,
        analysis: &Analysis,
        from: usize,
    ) -> BTreeMap<usize, Vec<i32>> {
        let mut spawned = BTreeMap::new();
        for undo in &self.content_log[from..] {
            if let ContentUndo::Thread(thread, _) = undo {
                spawned.insert(*thread, self.thread_state(loaded, &analysis.live, *thread));
            }
        }
        spawned
    }

    /// Adds what is not one number. `None` if something else changed than lists, maps and new threads.
    fn add_contents(
        &self,
        loaded: &Loaded,
        analysis: &Analysis,
        from: usize,
        after: &mut After,
    ) -> Option<()> {
        for undo in &self.content_log[from..] {
            match *undo {
                ContentUndo::ListPushed(list)
                | ContentUndo::ListPopped(list, _)
                | ContentUndo::ListPoppedFront(list, _)
                | ContentUndo::ListTaken(list, ..)
                | ContentUndo::ListSet(list, ..)
                | ContentUndo::ListCleared(list, _) => {
                    after.lists.insert(list, self.lists[list].clone());
                }
                ContentUndo::MapChanged(map, ..) | ContentUndo::MapCleared(map, _) => {
                    after.maps.insert(map, self.maps[map].clone());
                }
                ContentUndo::Thread(..) => {}
                _ => return None,
            }
        }
        after.spawned = self.spawned_since(loaded, analysis, from);
        Some(())
    }

    /// Returns whether both changes lead from this state to the same one.
    fn is_same(&self, analysis: &Analysis, a: &After, b: &After) -> bool {
        let cell = |after: &After, index: u32| {
            after.cells.get(&index).copied().unwrap_or(self.cells[index as usize])
        };
        let list =
            |after: &After, at: usize| after.lists.get(&at).unwrap_or(&self.lists[at]).clone();
        let map = |after: &After, at: usize| after.maps.get(&at).unwrap_or(&self.maps[at]).clone();
        let same_threads = if analysis.names_matter {
            a.spawned == b.spawned
        } else {
            multiset(&a.spawned) == multiset(&b.spawned)
        };
        same_threads
            && a.threads == b.threads
            && a.faults == b.faults
            && a.cells.keys().chain(b.cells.keys()).all(|&at| cell(a, at) == cell(b, at))
            && a.lists.keys().chain(b.lists.keys()).all(|&at| list(a, at) == list(b, at))
            && a.maps.keys().chain(b.maps.keys()).all(|&at| map(a, at) == map(b, at))
    }

    /// For a message: the state, and what comes of both orders.
    pub(super) fn both_outcomes(
        &mut self,
        loaded: &Loaded,
        analysis: &Analysis,
        first: usize,
        second: usize,
    ) -> Vec<String> {
        let orders = [[first, second], [second, first]];
        let outcomes = orders.map(|order| {
            let steps = order.map(|thread| Step::of(ThreadId::new(thread)));
            self.run_both(loaded, analysis, steps)
        });
        let mut touched: Vec<u32> = Vec::new();
        for after in outcomes.iter().flatten() {
            touched.extend(after.cells.keys().filter(|&&cell| cell < loaded.global_objects));
        }
        touched.sort_unstable();
        touched.dedup();
        let show = |cell: &dyn Fn(u32) -> i32| {
            let shown = touched.iter().filter_map(|&index| {
                let object = selvedge_core::ObjectId::new(index as usize);
                let (global, element) = loaded.program.global_of(object)?;
                let name = loaded.program.globals[global.index()].element_name(element);
                Some(format!("{name} = {}", cell(index)))
            });
            shown.take(MOST_SHOWN).collect::<Vec<_>>().join(", ")
        };
        let mut notes = vec![format!("before: {}", show(&|index| self.cells[index as usize]))];
        for (order, after) in orders.iter().zip(&outcomes) {
            let names = order.map(|thread| self.thread_name(loaded, thread));
            let outcome = match after {
                None => "one of them cannot run".to_owned(),
                Some(after) => {
                    let now = |index: u32| {
                        after.cells.get(&index).copied().unwrap_or(self.cells[index as usize])
                    };
                    let mut text = show(&now);
                    let spawned = after.spawned.len();
                    if spawned > 0 {
                        text += &format!("; {spawned} spawned");
                    }
                    for (thread, (_, message, _)) in &after.faults {
                        text += &format!("; {}: {message}", self.thread_name(loaded, *thread));
                    }
                    text
                }
            };
            notes.push(format!("{}, then {}: {outcome}", names[0], names[1]));
        }
        notes
    }
}

/// A message does not list more variables than this.
const MOST_SHOWN: usize = 20;

fn multiset(spawned: &BTreeMap<usize, Vec<i32>>) -> Vec<&Vec<i32>> {
    let mut states: Vec<_> = spawned.values().collect();
    states.sort_unstable();
    states
}
