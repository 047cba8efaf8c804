//! What is examined in the end: `finally` observes the last writes.

use selvedge_core::{Footprint, ObjectId, Position, System};

use super::branch::{Branch, Child, Goal, Key, Subject};
use super::graph::Discipline;
use super::realize::Wanted;
use super::{DataCentric, END_NOT_TOLD};

impl<S: System> DataCentric<'_, S> {
    /// Makes a branch of every variable that is examined in the end and could have another value.
    pub(super) fn branch_on_last_writes(&mut self) {
        let mut footprint = Footprint::new();
        match self.run.system.judging() {
            Some(system) => system.judged(&mut footprint),
            None => self.run.give_up(END_NOT_TOLD.to_owned()),
        }
        let first = match self.branches.last().map(|branch| branch.subject) {
            Some(Subject::Last { level }) => level + 1,
            _ => 0,
        };
        let objects: Vec<ObjectId> =
            footprint.accesses().iter().map(|access| access.object).collect();
        for level in first..objects.len() {
            if self.graph.discipline(objects[level]) == Discipline::Observed {
                self.branch_on_last_write(&objects, level);
            }
        }
    }

    fn branch_on_last_write(&mut self, objects: &[ObjectId], level: usize) {
        let object = objects[level];
        let Some(current) = self.graph.last_write(object) else { return };
        let cut = self.graph.cut();
        // What was examined before stays as it is.
        let mut last: Vec<_> = objects[..level]
            .iter()
            .filter(|&&object| self.graph.discipline(object) == Discipline::Observed)
            .map(|&object| (object, self.graph.last_write(object).map(|w| self.graph.vertex(w).id)))
            .collect();
        let mut branch = Branch::new(Subject::Last { level }, cut);
        let prints = self.prints_without(self.graph.len());
        let writes: Vec<Position> = self
            .graph
            .history(object)
            .iter()
            .filter(|&&(write, mode)| mode.writes() && write != current)
            .map(|&(write, _)| write)
            .collect();
        for write in writes {
            let vertex = self.graph.vertex(write);
            branch.is_new(Key::source(Some(vertex.print)));
            last.push((object, Some(vertex.id)));
            let wanted = Wanted { cut: &branch.base, extras: &[], last: &last, either: &[] };
            if let Some(order) = self.realizer.realize(&self.graph, &wanted) {
                let step_of = |id| {
                    let position = self.graph.find(id).expect("internal error: event is gone");
                    self.graph.vertex(position).step()
                };
                let steps = order.into_iter().map(step_of).collect();
                branch.queue.push(Child { steps, goal: Goal::Last, prints });
            }
            last.pop();
        }
        self.push_branch(branch);
    }
}
