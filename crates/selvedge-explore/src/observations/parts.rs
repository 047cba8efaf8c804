//! The parts of an execution after which a step that waits could have run.
//!
//! Let `r` be an event that makes the step `e` wait, and suppose that some execution has the events `T`, then
//! `e`, then `r`. Below the child in which `r` comes directly after `T`, the step `e` waits until `r` is undone.
//! By then other events may have happened, perhaps of necessity: a reader `r` waits at a barrier for a second
//! reader, and no execution has `r` before the writer `e` without that reader too. So nothing that `e` comes after in
//! the current execution tells `T`, and `e` is tried after every part that it could come after.
//!
//! **Why that is complete.** The current execution has all events of `T` and `r`, since every class below the
//! child is found, and `e` is executed or pending in it. In its new place, `e` observes those events of
//! `T` that conflict with it. These, and what is always there (the events of the branch, the past of `r`, and what
//! `e` knows from its own thread), generate a part: a set that contains, with an event, its past. All sets of
//! conflicting events that do not come after `r` are tried, so this one is.
//!
//! **Sections of locks go as a whole.** A lock can be taken for writing after those parts only in which every
//! section that was begun is over. Such parts are closed under union and intersection: of each thread, the
//! longer or the shorter of two rows of whole sections is one again. So for each event there is a smallest
//! one that has it, and every other is a union of these: none is tried in vain. Elsewhere the smallest part
//! that has an event is its past.
//!
//! **The largest part is enough** if `e` takes a lock that `r` waits for. Then `e` takes the place of `r`,
//! the events of the part are [ahead](super::branch::Branch::ahead), and a part without the first of them
//! that is not in `T` is found when that one and `e` are seen together, again as the largest of those.

use std::collections::BTreeSet;

use selvedge_core::{Access, Flexibility, Mode, Position, System, commute};

use super::DataCentric;
use super::branch::Role;
use super::discover::Later;
use super::graph::{Cut, contains, join};

const TOO_MANY: &str = "`data-centric` cannot treat a step that could have run at so many points among \
                        what it waits for; use `optimal`";

impl<S: System> DataCentric<'_, S> {
    /// The parts after which the later step, which can wait, is to be tried instead of after the event at
    /// `earlier`: of each, the events that conflict with the step.
    pub(super) fn parts(
        &mut self,
        role: Role,
        earlier: Position,
        later: &Later,
        accesses: &[Access],
    ) -> BTreeSet<Vec<Position>> {
        let others = self.conflicting(earlier, later, accesses);
        let (Role::Own(branch) | Role::Ahead(branch)) = role;
        let always = self.cut_without(branch, earlier, later.previous.into_iter());
        let Some(smallest) = self.close(always, earlier, later, accesses) else {
            return BTreeSet::new();
        };
        let generators = others.iter().filter_map(|&other| {
            let mut cut = smallest.clone();
            join(&mut cut, self.graph.clock(other));
            self.close(cut, earlier, later, accesses)
        });
        let inside = |cut: &Cut| -> Vec<Position> {
            let is_inside = |&&other: &&Position| contains(cut, self.graph.vertex(other).id);
            others.iter().filter(is_inside).copied().collect()
        };
        if self.is_replaced(role, earlier, later, accesses) {
            let mut largest = smallest.clone();
            generators.for_each(|generator| join(&mut largest, &generator));
            return BTreeSet::from([inside(&largest)]);
        }
        let mut parts = BTreeSet::from([(inside(&smallest), smallest.clone())]);
        for generator in generators {
            let with = |(_, part): &(Vec<Position>, Cut)| {
                let mut part = part.clone();
                join(&mut part, &generator);
                (inside(&part), part)
            };
            let larger: Vec<_> = parts.iter().map(with).collect();
            parts.extend(larger);
            if parts.len() > self.run.options.caps.combinations {
                self.run.give_up(TOO_MANY.to_owned());
                return BTreeSet::new();
            }
        }
        parts.into_iter().map(|(events, _)| events).collect()
    }

    /// The events that the step conflicts with and that need not come after `earlier`.
    fn conflicting(&self, earlier: Position, later: &Later, accesses: &[Access]) -> Vec<Position> {
        let mut others = Vec::new();
        for access in accesses {
            let history = self.graph.history(access.object).iter();
            let conflicts = history.filter(|&&(_, mode)| !commute(mode, access.mode));
            others.extend(
                conflicts.map(|&(other, _)| other).filter(|&it| self.stays(it, earlier, later)),
            );
        }
        others.sort_unstable();
        others.dedup();
        others
    }

    /// Returns whether the event comes before the later step, and need not come after `earlier`.
    fn stays(&self, event: Position, earlier: Position, later: &Later) -> bool {
        event < later.position && !self.graph.is_past(earlier, event)
    }

    /// The smallest part that contains the cut and after which the locks that the step waits for are free.
    fn close(
        &self,
        mut cut: Cut,
        earlier: Position,
        later: &Later,
        accesses: &[Access],
    ) -> Option<Cut> {
        if !later.waits {
            return Some(cut);
        }
        let locks = accesses.iter().filter(|access| access.mode == Mode::Acquire);
        let held = |cut: &Cut| locks.clone().find_map(|lock| Some((lock, self.holder(lock, cut)?)));
        while let Some((lock, thread)) = held(&cut) {
            let mut history = self.graph.history(lock.object).iter();
            let (release, _) = history.find(|&&(other, mode)| {
                let id = self.graph.vertex(other).id;
                let releases = matches!(mode, Mode::Release | Mode::ShareRelease);
                releases && id.thread.index() == thread && !contains(&cut, id)
            })?;
            if !self.stays(*release, earlier, later) {
                return None;
            }
            join(&mut cut, self.graph.clock(*release));
        }
        Some(cut)
    }

    /// A thread that holds the lock after the events of the cut.
    fn holder(&self, lock: &Access, cut: &[u32]) -> Option<usize> {
        let mut holds: Vec<i32> = vec![0; cut.len()];
        for &(position, mode) in self.graph.history(lock.object) {
            let id = self.graph.vertex(position).id;
            if contains(cut, id) {
                holds[id.thread.index()] += match mode {
                    Mode::Acquire | Mode::ShareAcquire => 1,
                    Mode::Release | Mode::ShareRelease => -1,
                    _ => 0,
                };
            }
        }
        holds.into_iter().position(|count| count > 0)
    }

    /// Returns whether the step is sure to take the place of the branch's event: it takes a lock, no more, and the
    /// branch's event waits for that lock.
    fn is_replaced(
        &self,
        role: Role,
        earlier: Position,
        later: &Later,
        accesses: &[Access],
    ) -> bool {
        let mut own = accesses.iter().filter(|access| !access.mode.is_cause());
        let (Some(lock), None) = (own.next(), own.next()) else { return false };
        if !later.waits || lock.mode != Mode::Acquire {
            return false;
        }
        match role {
            Role::Own(_) => {
                let takes = |access: &Access| {
                    access.object == lock.object && access.mode == Mode::ShareAcquire
                };
                self.graph.vertex(earlier).flexibility == Flexibility::Blocking
                    && self.run.execution.accesses(earlier).iter().any(takes)
            }
            Role::Ahead(branch) => {
                let branch = &self.branches[branch];
                let vertex = self.graph.vertices().get(later.position.index());
                branch.absent
                    && vertex.is_some_and(|vertex| branch.ahead.last() == Some(&vertex.id))
            }
        }
    }
}
