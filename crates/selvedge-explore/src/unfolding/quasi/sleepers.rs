//! `D` along the path: the sleepers of each node, and what alternatives can be made of there.

use selvedge_core::{Execution, Position, Step};

use super::extensions::Extensions;
use crate::unfolding::events::{EventRef, Touched, Unfolding};

/// What was explored from the nodes on the path.
#[derive(Debug)]
pub(super) struct Sleepers {
    /// `D`.
    disabled: Vec<Disabled>,
    /// For each node, one after the other: the events of `D` that are not in conflict with `C`, as
    /// indices of `disabled`.
    asleep: Vec<u32>,
    /// For each node: the events kept with those asleep that are compatible with `C`, in the order of
    /// those asleep.
    usable: Vec<Usable>,
    nodes: Vec<Starts>,
}

/// Where what belongs to a node begins.
#[derive(Clone, Copy, Debug, Default)]
struct Starts {
    disabled: usize,
    asleep: usize,
    usable: usize,
    /// Whether less was usable here than at the node above when this one was made.
    lost: bool,
}

/// An event that was explored, with what is asked of it again and again.
#[derive(Clone, Copy, Debug)]
struct Disabled {
    event: EventRef,
    step: Step,
    touched: Touched,
}

/// An event that may be part of an alternative.
#[derive(Clone, Copy, Debug)]
struct Usable {
    event: EventRef,
    /// What it and those before it touch that were not in `C` when it came here.
    touched: Touched,
    /// The event of `D` that it is kept with.
    keeper: u32,
}

impl Sleepers {
    /// At the root, without sleepers.
    pub(super) fn new() -> Self {
        let (disabled, asleep, usable) = (Vec::new(), Vec::new(), Vec::new());
        Self { disabled, asleep, usable, nodes: vec![Starts::default()] }
    }

    fn last(&self) -> Starts {
        *self.nodes.last().expect("internal error: the root is never left")
    }

    /// Returns the event of this step that sleeps before the event at `at`.
    #[inline]
    pub(super) fn find(&self, at: Position, step: Step) -> Option<EventRef> {
        let start = self.nodes[at.index()].asleep;
        let end = self.nodes.get(at.index() + 1).map_or(self.asleep.len(), |next| next.asleep);
        let mut asleep = self.asleep[start..end].iter().map(|&index| self.disabled[index as usize]);
        asleep.find(|disabled| disabled.step == step).map(|disabled| disabled.event)
    }

    /// Returns those that sleep at the last node, the latest last.
    pub(super) fn asleep(&self) -> impl DoubleEndedIterator<Item = EventRef> + '_ {
        self.asleep[self.last().asleep..].iter().map(|&index| self.disabled[index as usize].event)
    }

    /// Returns what is usable at the last node.
    pub(super) fn usable(&self) -> impl Iterator<Item = EventRef> + '_ {
        self.usable[self.last().usable..].iter().map(|usable| usable.event)
    }

    /// Makes the node after the event at `position`: what commutes with it continues to sleep, and what is
    /// compatible with it stays usable if its keeper sleeps on.
    pub(super) fn descend(
        &mut self,
        extensions: &mut Extensions,
        execution: &Execution,
        position: Position,
    ) {
        let above = self.last();
        let mut new = Starts {
            disabled: self.disabled.len(),
            asleep: self.asleep.len(),
            usable: self.usable.len(),
            lost: false,
        };
        let (thread, accesses) = (execution.event(position).thread(), execution.accesses(position));
        let touched = Touched::by(thread, accesses);
        let mut usable = above.usable;
        for index in above.asleep..new.asleep {
            let keeper = self.asleep[index];
            let sleeper = self.disabled[keeper as usize];
            let sleeps_on = touched.is_disjoint(sleeper.touched)
                || !extensions.unfolding.depends_on(sleeper.event, thread, accesses);
            if sleeps_on {
                self.asleep.push(keeper);
            }
            while usable < new.usable && self.usable[usable].keeper == keeper {
                let kept = self.usable[usable];
                let is_compatible = |extensions: &mut Extensions| {
                    let event = extensions.executed(execution, position);
                    !extensions.unfolding.excludes(event, kept.event)
                };
                if sleeps_on && (touched.is_disjoint(kept.touched) || is_compatible(extensions)) {
                    self.usable.push(kept);
                }
                usable += 1;
            }
        }
        new.lost = self.usable.len() - new.usable < new.usable - above.usable;
        self.nodes.push(new);
    }

    /// Goes back to the node above. Returns whether less was usable at the last one.
    pub(super) fn ascend(&mut self) -> bool {
        let below = self.nodes.pop().expect("internal error: a node for each event");
        self.asleep.truncate(below.asleep);
        self.usable.truncate(below.usable);
        below.lost
    }

    /// Forgets all that belongs to the last node.
    pub(super) fn clear_last(&mut self) {
        let node = self.last();
        self.disabled.truncate(node.disabled);
        self.asleep.truncate(node.asleep);
        self.usable.truncate(node.usable);
    }

    /// Returns whether something usable at the last node is in conflict with `event`, which is enabled there.
    pub(super) fn is_anything_excluded(&self, unfolding: &mut Unfolding, event: EventRef) -> bool {
        let touched = unfolding.touched(event);
        self.usable[self.last().usable..].iter().any(|usable| {
            !touched.is_disjoint(usable.touched) && unfolding.excludes(event, usable.event)
        })
    }

    /// Puts an event that was explored to sleep at the last node, with what is kept with it. `taken` are
    /// the steps that each thread took before.
    pub(super) fn add(
        &mut self,
        unfolding: &Unfolding,
        event: EventRef,
        kept: impl Iterator<Item = EventRef>,
        taken: &[u32],
    ) {
        let keeper = self.disabled.len() as u32;
        let (step, touched) = (unfolding.step(event), unfolding.touched(event));
        self.disabled.push(Disabled { event, step, touched });
        self.asleep.push(keeper);
        let start = self.last().usable;
        let mut left = start;
        for index in start..self.usable.len() {
            let usable = self.usable[index];
            if !usable.touched.is_by(step.thread) || !unfolding.is_before(event, usable.event) {
                self.usable[left] = self.usable[index];
                left += 1;
            }
        }
        self.usable.truncate(left);
        self.usable.extend(kept.map(|event| {
            let touched = unfolding.touched_after(taken, event);
            Usable { event, touched, keeper }
        }));
    }

    /// Returns all events that are needed here.
    pub(super) fn events(&self) -> impl Iterator<Item = EventRef> + '_ {
        let disabled = self.disabled.iter().map(|disabled| disabled.event);
        disabled.chain(self.usable.iter().map(|usable| usable.event))
    }

    /// Renames the events.
    pub(super) fn rename(&mut self, rename: impl Fn(&mut EventRef)) {
        self.disabled.iter_mut().for_each(|disabled| rename(&mut disabled.event));
        self.usable.iter_mut().for_each(|usable| rename(&mut usable.event));
    }
}
