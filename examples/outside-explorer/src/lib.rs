//! Delay-bounded search: an explorer that `selvedge-explore` does not know.
//!
//! M. Emmi, S. Qadeer, Z. Rakamarić: *Delay-Bounded Scheduling*, POPL 2011.
//!
//! A deterministic scheduler lets a thread run as long as it can, then the next one, round robin. Everything that can go wrong
//! under this scheduler needs no *delay*; a delay skips the thread whose turn it is. The search runs every execution with at most
//! so many delays. Few are enough for most bugs, and the number of executions is polynomial in the length of the program: of
//! degree `delays`, whatever the number of threads.
//!
//! | paper | here |
//! |---|---|
//! | the deterministic scheduler | `in_turn` |
//! | the delays spent so far | `Node::spent` |
//!
//! **Equivalence:** none; each interleaving is counted.
//! **Guarantee:** every execution with at most so many delays, each once. If the bound leaves out others, the verdict is
//! inconclusive.
//! **Differs from the paper:** 1. A step can have several alternatives; choosing one costs nothing.
//! **Cost:** with `n` steps and `d` delays, at most on the order of `n^d` executions.
//! **Tests:** `tests/delays.rs`: against all interleavings with their delays counted one by one.

use selvedge_core::{Report, Step, System, ThreadId};
use selvedge_explore::search::{Halt, Reduction, Run, depth_first, share_done};
use selvedge_explore::{Covers, Equivalence, Explorer, Info, Observer, Options, Setting};

/// Explores every execution with at most so many delays.
#[derive(Clone, Copy, Debug)]
pub struct DelayBounded {
    /// Its name on the command line.
    pub name: &'static str,
    /// At most so many delays in one execution.
    pub delays: usize,
}

impl Explorer for DelayBounded {
    fn info(&self) -> Info {
        Info {
            name: self.name,
            summary: "every execution of a round-robin scheduler that is delayed a few times",
            advice: "To look for bugs in programs that are too large to exhaust: most need few delays.",
            paper: "Emmi, Qadeer, Rakamarić, POPL 2011",
            equivalence: Equivalence::Interleaving,
            covers: Covers::EVERYTHING,
            optimal: false,
            chooses_from: &[],
            settings: &[Setting::SwitchBounds],
        }
    }

    fn explore<S: System>(
        &self,
        make: &dyn Fn() -> S,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Report {
        let mut run = Run::new(make, options, observer);
        let mut search = Search { most: self.delays, nodes: Vec::new(), cut: false };
        depth_first(&mut run, &mut search);
        if search.cut {
            run.give_up(format!(
                "`{}` leaves out executions with more delays than its bound, {}; use a larger bound, or another \
                 algorithm",
                self.name, self.delays
            ));
        }
        run.into_report()
    }
}

/// A search under way.
struct Search {
    /// At most so many delays.
    most: usize,
    /// One per prefix of the execution: `nodes[i]` is the state before the event at `i`.
    nodes: Vec<Node>,
    /// Whether the bound left out something.
    cut: bool,
}

/// A state on the current path.
struct Node {
    /// The steps to take there, with the delays that each costs.
    steps: Vec<(Step, usize)>,
    /// How many of them were taken.
    taken: usize,
    /// How many delays led to it.
    spent: usize,
}

impl<S: System> Reduction<S> for Search {
    fn choose(&mut self, run: &mut Run<'_, S>) -> Result<Step, Halt> {
        if self.nodes.len() == run.execution().len() {
            let node = self.node(run)?;
            self.nodes.push(node);
        }
        let node = &self.nodes[run.execution().len()];
        Ok(node.steps[node.taken].0)
    }

    fn take(&mut self, run: &mut Run<'_, S>, step: Step) {
        self.nodes[run.execution().len()].taken += 1;
        run.step(step);
    }

    fn end(&mut self, run: &mut Run<'_, S>, _: Halt) {
        // From a state at the limit of steps nothing is explored.
        self.nodes.truncate(run.execution().len());
    }

    fn go_back(&mut self, run: &mut Run<'_, S>) -> bool {
        while self.nodes.last().is_some_and(|node| node.taken == node.steps.len()) {
            self.nodes.pop();
        }
        let Some(depth) = self.nodes.len().checked_sub(1) else { return false };
        run.backtrack(depth);
        true
    }

    fn fraction(&self) -> f64 {
        share_done(self.nodes.iter().map(|node| (node.taken, node.steps.len())))
    }
}

impl Search {
    /// Returns the state that the run has come to, with all that can be done there.
    fn node<S: System>(&mut self, run: &mut Run<'_, S>) -> Result<Node, Halt> {
        let spent = self.nodes.last().map_or(0, |parent| parent.spent + parent.cost());
        let mut node = Node { steps: Vec::new(), taken: 0, spent };
        let mut halt = Halt::Maximal;
        for (cost, thread) in in_turn(run).into_iter().enumerate() {
            if spent + cost > self.most {
                self.cut = true;
                break;
            }
            if !run.is_within_preemptions(thread) {
                run.note_preemption_cut(false);
                halt = Halt::Switches;
                continue;
            }
            let choices = run.system().choices(thread);
            node.steps.extend((0..choices).map(|choice| (Step { thread, choice }, cost)));
        }
        if node.steps.is_empty() { Err(halt) } else { Ok(node) }
    }
}

impl Node {
    /// Returns the delays that the step taken last cost.
    fn cost(&self) -> usize {
        self.taken.checked_sub(1).map_or(0, |last| self.steps[last].1)
    }
}

/// Returns the enabled threads in the order in which the scheduler would let them run: the one that ran last, then those after it,
/// round robin.
fn in_turn<S: System>(run: &Run<'_, S>) -> Vec<ThreadId> {
    let last = run.execution().steps().last().map_or(0, |step| step.thread.index());
    let (before, after): (Vec<ThreadId>, Vec<ThreadId>) =
        run.threads().filter(|&thread| run.is_enabled(thread)).partition(|it| it.index() < last);
    [after, before].concat()
}
