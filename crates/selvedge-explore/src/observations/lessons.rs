//! Finds out how each object must be treated.
//!
//! Of a variable that is read and written one access at a time only observations matter. That is
//! not enough for one that a step waits for, or that a step accesses together with something else:
//! of these, and of everything that is no variable, the order of accesses matters. Which objects
//! these are shows as the program runs. When one turns out to be treated too lightly, the search
//! restarts.

use selvedge_core::{Access, Flexibility, Mode, ObjectId};

use super::graph::{Discipline, Graph};

/// What was learned so far.
#[derive(Default)]
pub(super) struct Lessons {
    /// Threads, as objects, whose end was tested without waiting for it.
    asked_for: Vec<ObjectId>,
    /// Variables that were accessed by the last step of a thread, and the thread.
    last_steps: Vec<(ObjectId, ObjectId)>,
}

impl Lessons {
    /// Looks at the accesses of one step. Returns whether an object was treated too lightly.
    pub(super) fn learn(
        &mut self,
        graph: &mut Graph,
        accesses: &[Access],
        flexibility: Flexibility,
    ) -> bool {
        let mut learned = false;
        // Nothing can come between a thread's creation and its first step, nor between its last
        // step and those that wait for it.
        let counts = |access: &&Access| !matches!(access.mode, Mode::Begin | Mode::End);
        let alone =
            accesses.iter().filter(counts).count() == 1 && flexibility != Flexibility::Blocking;
        for access in accesses {
            if access.mode == Mode::Alive && !self.asked_for.contains(&access.object) {
                self.asked_for.push(access.object);
                for &(variable, thread) in &self.last_steps {
                    if thread == access.object {
                        learned |= graph.restrict(variable, Discipline::Ordered);
                    }
                }
            }
            let discipline = match alone && access.mode.is_memory() {
                true => self.discipline_of_variable(access.object, accesses),
                false => Discipline::Ordered,
            };
            learned |= graph.restrict(access.object, discipline);
        }
        learned
    }

    /// Returns how a variable is treated that a step accesses alone, perhaps as the last of its thread.
    fn discipline_of_variable(&mut self, object: ObjectId, accesses: &[Access]) -> Discipline {
        for end in accesses.iter().filter(|access| access.mode == Mode::End) {
            if self.asked_for.contains(&end.object) {
                return Discipline::Ordered;
            }
            if !self.last_steps.contains(&(object, end.object)) {
                self.last_steps.push((object, end.object));
            }
        }
        Discipline::Observed
    }
}
