//! Units of work: a graph, and one task in it.
//!
//! The planned tasks of a search share nothing, so any of them can be performed elsewhere: by another thread, in another
//! process, or later. Units are disjoint, and together with what is kept they are the whole.

use selvedge_core::GraphSystem;

use super::execution::{Added, Graph};
use super::revisit::Prefix;
use super::search::Search;
use super::task::{Level, Planned, Task};

/// A part of a search.
#[derive(Debug)]
pub struct Unit {
    pub(super) graph: Graph,
    pub(super) task: Task,
}

impl Graph {
    /// Returns how many events of each thread it had, and how many threads were held back, after the first `mark` of what was
    /// added since it was made.
    fn lengths_at(&self, mark: usize) -> (Prefix, usize) {
        let mut lengths: Prefix =
            self.threads().map(|thread| self.events(thread).len() as u32).collect();
        let mut held = self.held.len();
        for added in self.added_since(mark) {
            match added {
                Added::Event(thread) => lengths[thread.index()] -= 1,
                Added::Held => held -= 1,
            }
        }
        (lengths, held)
    }
}

impl<S: GraphSystem> Search<'_, '_, S> {
    /// Takes out the task that was planned first, which is likely to be the largest part.
    pub(super) fn give_away(&mut self) -> Option<Unit> {
        let level = self.levels.iter_mut().find(|level| !level.tasks.is_empty())?;
        let Planned { mark, task, .. } = level.tasks.remove(0);
        let mut graph = Graph::default();
        let (lengths, held) = level.graph.lengths_at(mark);
        graph.become_part(&level.graph, &lengths, held, |_| true);
        Some(Unit { graph, task })
    }

    /// Begins with a unit in place of the empty graph.
    pub(super) fn begin_with(&mut self, unit: Unit) {
        let Unit { mut graph, task } = unit;
        // Ids of events are valid only in the search that made them.
        for thread in &mut graph.threads {
            for event in &mut thread.events {
                self.life += 1;
                event.life = self.life;
            }
        }
        self.levels = vec![Level { graph, tasks: vec![Planned::first(task)] }];
    }
}
