//! Goes to the next child.

use selvedge_core::{Position, Step, System};
use smallvec::SmallVec;

use super::Search;
use super::branch::{Child, Goal, Key, Role};
use super::graph::{contains, join};

/// The events that a child is made of must do again what they did.
const UNLIKE: &str = "internal error: a realised schedule does something else";

/// What became of a child.
enum Outcome {
    /// It is new, and the execution has come to where it begins.
    Reached,
    /// There is no such class, or it is known.
    Nothing,
    /// The child begins with fewer events.
    Smaller(Child),
}

impl<S: System> Search<'_, S> {
    /// Goes to the next child of the last branch that has one. Returns whether there is any.
    pub(super) fn next_child(&mut self) -> bool {
        while let Some(index) = self.branches.len().checked_sub(1) {
            self.ask();
            let Some(mut child) = self.branches[index].queue.pop() else {
                self.leave_child();
                self.branches.pop();
                continue;
            };
            let before = self.before(&child.goal);
            loop {
                match self.visit(index, &child) {
                    Outcome::Reached => {
                        self.branches[index].explored += 1;
                        self.children += 1;
                        return true;
                    }
                    Outcome::Nothing => break,
                    Outcome::Smaller(smaller) => child = smaller,
                }
            }
            if let Some(before) = before
                && !self.run.is_stopped()
                && !self.learned
            {
                self.follow(&before);
            }
            if self.run.is_stopped() || self.learned {
                return true;
            }
        }
        false
    }

    /// Returns the current execution, if the child may turn out not to exist. Events of the branch may then have
    /// observed the wrong writes, and the current execution must be restored.
    fn before(&self, goal: &Goal) -> Option<Vec<Step>> {
        let doubtful =
            matches!(goal, Goal::Observes { only_reading: true, .. } | Goal::Swapped { .. });
        doubtful.then(|| self.run.execution.steps().to_vec())
    }

    /// Takes these steps from the start. Returns whether all of them could be taken.
    fn follow(&mut self, steps: &[Step]) -> bool {
        let shared = self.run.execution.steps().iter().zip(steps);
        let shared = shared.take_while(|(a, b)| a == b).count();
        self.graph.truncate(shared);
        self.run.backtrack(shared);
        for &step in &steps[shared..] {
            if !self.run.is_enabled(step.thread) {
                return false;
            }
            self.step(step);
            if self.run.is_stopped() || self.learned {
                return false;
            }
        }
        true
    }

    /// Follows the child's steps and looks at what comes out. The branch is the last one.
    fn visit(&mut self, index: usize, child: &Child) -> Outcome {
        self.leave_child();
        if !self.follow(&child.steps) {
            return Outcome::Nothing;
        }
        match &child.goal {
            &Goal::Observes { at, source, only_reading } => {
                let vertex = self.graph.vertex(Position::new(at));
                if only_reading && vertex.variable.is_some_and(|access| access.mode.writes()) {
                    return Outcome::Nothing;
                }
                debug_assert_eq!(
                    vertex.source.map(|source| self.graph.vertex(source).print),
                    source,
                    "internal error: a realised schedule observes something else"
                );
                debug_assert!(self.prints_without(at) == child.prints, "{UNLIKE}");
                self.queue_alternatives(index, &[at]);
                self.reach(index, &[at])
            }
            &Goal::Swapped { first, at } => {
                if self.graph.vertex(Position::new(at)).source != Some(Position::new(first)) {
                    return Outcome::Nothing;
                }
                self.queue_alternatives(index, &[first, at]);
                self.reach(index, &[first, at])
            }
            Goal::Alternative { new } => {
                let &at = new.last().expect("internal error: no alternative");
                debug_assert!(self.prints_without(at) == child.prints, "{UNLIKE}");
                self.reach(index, new)
            }
            Goal::Reversed { ahead, own } => {
                debug_assert!(self.prints_without(self.graph.len()) == child.prints, "{UNLIKE}");
                self.reverse_at_end(index, child, ahead, *own)
            }
            Goal::Minimal { ahead, absent } => {
                let find = |&id| self.graph.find(id).map(Position::index);
                let mut new: Vec<usize> = ahead.iter().filter_map(find).collect();
                if *absent {
                    return self.reach_disabled(index, &new);
                }
                new.push(self.graph.len() - 1);
                self.reach(index, &new)
            }
            Goal::Last => {
                debug_assert!(self.prints_without(self.graph.len()) == child.prints, "{UNLIKE}");
                Outcome::Reached
            }
        }
    }

    /// Begins the child, unless it is known. `new`: the events that were not there before; the
    /// last of them is the branch's.
    fn reach(&mut self, index: usize, new: &[usize]) -> Outcome {
        let (&at, ahead) = new.split_last().expect("internal error: nothing new");
        let vertex = self.graph.vertex(Position::new(at));
        let (id, print) = (vertex.id, vertex.print);
        debug_assert_eq!(self.branches[index].event(), Some(id));
        if !self.branches[index].is_new(Key::Found.of(print)) {
            return Outcome::Nothing;
        }
        if let Some(source) = vertex.source {
            let source = self.graph.vertex(source).print;
            self.branches[index].is_new(Key::source(Some(source)));
        }
        self.set_role(id, Some(Role::Own(index)));
        self.put_ahead(index, ahead);
        new.iter().for_each(|&at| self.discover(Position::new(at)));
        Outcome::Reached
    }

    /// The last of the `new` events takes the place of the branch's event, which now waits: starts
    /// the child, unless it is known.
    fn reach_disabled(&mut self, index: usize, new: &[usize]) -> Outcome {
        let print = self.graph.vertex(Position::new(self.graph.len() - 1)).print;
        let branch = &mut self.branches[index];
        if !branch.is_new(Key::Disabler.of(print)) {
            return Outcome::Nothing;
        }
        branch.disablers.push(print);
        branch.absent = true;
        self.put_ahead(index, new);
        new.iter().for_each(|&at| self.discover(Position::new(at)));
        Outcome::Reached
    }

    fn put_ahead(&mut self, index: usize, ahead: &[usize]) {
        let ids = ahead.iter().map(|&at| self.graph.vertex(Position::new(at)).id).collect();
        self.branches[index].ahead = ids;
        for &at in ahead {
            self.set_role(self.graph.vertex(Position::new(at)).id, Some(Role::Ahead(index)));
        }
    }

    /// Takes the steps `ahead`, and then the branch's with the alternative `own`, if it still can be taken.
    ///
    /// Which of the steps ahead the branch's event comes after can depend on its alternative: one that ends its thread
    /// comes after a send to it, and another does not. So each alternative is a child of its own, with a past of its own.
    fn reverse_at_end(&mut self, index: usize, child: &Child, ahead: &[Step], own: u32) -> Outcome {
        let event = self.branches[index].event().expect("internal error: no event to reverse");
        let base = &self.branches[index].base;
        let is_new = |at: &usize| !contains(base, self.graph.vertices()[*at].id);
        // What is already there may have to change places with later events too.
        let mut new: Vec<usize> = (0..self.graph.len()).filter(is_new).collect();
        let first = Position::new(self.graph.len());
        let mut enabled = true;
        for (i, &step) in ahead.iter().enumerate() {
            if !self.run.is_enabled(step.thread) {
                return Outcome::Nothing;
            }
            let choices = self.run.system.choices(step.thread);
            if step.choice >= choices {
                return Outcome::Nothing;
            }
            if step.choice == 0 && own == 0 {
                for choice in 1..choices {
                    let mut ahead: SmallVec<[Step; 2]> = SmallVec::from_slice(ahead);
                    ahead[i].choice = choice;
                    self.queue_again(index, child, Goal::Reversed { ahead, own });
                }
            }
            self.step(step);
            if self.run.is_stopped() || self.learned {
                return Outcome::Nothing;
            }
            new.push(self.graph.len() - 1);
            enabled = self.run.is_enabled(event.thread);
            if !enabled {
                break;
            }
        }
        if enabled {
            let choices = self.run.system.choices(event.thread);
            if own >= choices {
                return Outcome::Nothing;
            }
            if own == 0 {
                for own in 1..choices {
                    let ahead = SmallVec::from_slice(ahead);
                    self.queue_again(index, child, Goal::Reversed { ahead, own });
                }
            }
            self.step(Step { thread: event.thread, choice: own });
            if self.run.is_stopped() || self.learned {
                return Outcome::Nothing;
            }
            // A compare-exchange that does not write any more is not observed.
            if !self.graph.is_past(first, Position::new(self.graph.len() - 1)) {
                return Outcome::Nothing;
            }
        }
        self.make_minimal(index, new, !enabled)
    }

    /// Begins the child at what is in the past of its last event, no more.
    fn make_minimal(&mut self, index: usize, mut new: Vec<usize>, absent: bool) -> Outcome {
        let last = self.graph.len() - 1;
        let mut cut = self.branches[index].base.clone();
        join(&mut cut, self.graph.clock(Position::new(last)));
        let needed: u32 = cut.iter().sum();
        if (needed as usize) < self.graph.len() {
            let ids = new.iter().map(|&at| self.graph.vertex(Position::new(at)).id);
            let ahead = ids.filter(|&id| contains(&cut, id)).collect();
            let (steps, prints) = self.graph.steps_of(&cut);
            return Outcome::Smaller(Child {
                steps,
                goal: Goal::Minimal { ahead, absent },
                prints,
            });
        }
        if absent {
            return self.reach_disabled(index, &new);
        }
        new.push(last);
        self.reach(index, &new)
    }

    /// Queues a child that begins as this one does.
    fn queue_again(&mut self, index: usize, child: &Child, goal: Goal) {
        let (steps, prints) = (child.steps.clone(), child.prints);
        self.branches[index].queue.push(Child { steps, goal, prints });
    }
}
