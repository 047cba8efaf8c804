//! The depth-first driver: one loop for every reduction that walks down executions and back.
//!
//! The driver goes down until an execution ends, judges and counts it, and has the reduction go back. Whether an execution is
//! maximal, cut at a limit or redundant is decided here, in the same way for all. A [`Reduction`] says what differs: what to
//! explore from a state, what follows from a step and from an execution that has ended, and where to go on.
//!
//! | part of the recursive listings | here |
//! |---|---|
//! | `explore(E, …)` is called | [`Reduction::choose`] in the state after `E` |
//! | a step `p` from `E` | [`Reduction::take`] |
//! | nothing is enabled, or all that is sleeps | [`Reduction::end`] |
//! | `explore` returns | [`Reduction::go_back`], over as many calls as have nothing left |

use selvedge_core::{Step, System, ThreadId};

use super::run::Run;

/// Why an execution goes no further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halt {
    /// No thread is enabled.
    Maximal,
    /// Every step that could be taken need not be: what it leads to is explored elsewhere.
    Redundant,
    /// The bound on switches allows no step that is awake.
    Switches,
    /// It is as long as the limit of steps allows.
    Steps,
}

/// What a depth-first search explores.
///
/// The driver calls `choose` in every state that the search comes to, then `take` with its answer, or `end` if there is none
/// or the execution may not grow. After `end` it calls `go_back`, and `choose` again in the state that `go_back` went to.
pub trait Reduction<S: System> {
    /// Returns the step to explore next from the state that the run is in.
    /// [`Run::first_awake`] finds one where the search is free to choose.
    ///
    /// # Errors
    /// Why there is none.
    fn choose(&mut self, run: &mut Run<'_, S>) -> Result<Step, Halt>;

    /// Takes the step that was chosen, with [`Run::step`] or the like, and does what follows from it.
    fn take(&mut self, run: &mut Run<'_, S>, step: Step);

    /// An execution has ended and was counted. If [`Halt::Steps`], the step that was chosen last is not taken.
    fn end(&mut self, run: &mut Run<'_, S>, halt: Halt);

    /// Goes back, with [`Run::backtrack`], to the last state from which there is something left to explore.
    /// Returns false if there is none.
    fn go_back(&mut self, run: &mut Run<'_, S>) -> bool;

    /// Returns the estimated share of the search that is done, from 0 to 1; see [`share_done`](super::share::share_done).
    fn fraction(&self) -> f64;
}

/// Explores until nothing is left, or a limit or a violation ends the exploration.
pub fn depth_first<S: System>(run: &mut Run<'_, S>, reduction: &mut impl Reduction<S>) {
    loop {
        to_the_end(run, reduction);
        if run.is_stopped() || !reduction.go_back(run) {
            return;
        }
    }
}

/// Explores one execution, to its end.
pub(crate) fn to_the_end<S: System>(run: &mut Run<'_, S>, reduction: &mut impl Reduction<S>) {
    descend(run, reduction);
    run.after_execution(&|| reduction.fraction());
}

/// Goes down to the end of an execution.
fn descend<S: System>(run: &mut Run<'_, S>, reduction: &mut impl Reduction<S>) {
    while !run.is_stopped() {
        let halt = match reduction.choose(run) {
            Ok(step) if !run.is_at_step_limit() => {
                let depth = run.execution.len();
                reduction.take(run, step);
                let taken = run.execution.len() - depth;
                run.after_steps(taken, &|| reduction.fraction());
                continue;
            }
            Ok(_) => Halt::Steps,
            Err(halt) => halt,
        };
        match halt {
            Halt::Maximal => run.finish(),
            Halt::Redundant => run.finish_redundant(),
            Halt::Switches => run.finish_preempted(false),
            Halt::Steps => run.finish_cut(),
        }
        return reduction.end(run, halt);
    }
}

impl<S: System> Run<'_, S> {
    /// Returns the first step that can be taken, is within the bounds on switches and does not sleep, with the number of
    /// alternatives of its thread. Threads come in the order of [`enabled_in_order`](Self::enabled_in_order).
    ///
    /// # Errors
    /// Why there is none.
    #[inline]
    pub fn first_awake(&self, is_asleep: impl Fn(Step) -> bool) -> Result<(Step, u32), Halt> {
        self.first_awake_of(self.enabled_in_order(), is_asleep)
    }

    /// Returns the same for threads, all that are enabled, in another order.
    pub fn first_awake_of(
        &self,
        threads: impl Iterator<Item = ThreadId>,
        is_asleep: impl Fn(Step) -> bool,
    ) -> Result<(Step, u32), Halt> {
        let mut halt = Halt::Maximal;
        for thread in threads {
            if !self.is_within_preemptions(thread) {
                halt = Halt::Switches;
                continue;
            }
            let choices = self.system.choices(thread);
            let mut all = (0..choices).map(|choice| Step { thread, choice });
            let is_awake = |&step: &Step| !is_asleep(step) && self.is_possible(step, choices);
            if let Some(step) = all.find(is_awake) {
                return Ok((step, choices));
            }
            if halt == Halt::Maximal {
                halt = Halt::Redundant;
            }
        }
        Err(halt)
    }
}
