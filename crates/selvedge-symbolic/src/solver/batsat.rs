//! `batsat` as a backend.

use std::cell::Cell;
use std::rc::Rc;

use batsat::theory::{Theory, TheoryArg};
use batsat::{Callbacks, SolverInterface as _, lbool};

use super::backend::Backend;
use super::order::OrderTheory;
use super::{Answer, Lit};

/// The caller is asked whether to stop after so many assignments: a small part of a second.
const PATIENCE: usize = 50_000;

/// The solver itself.
pub(super) struct Batsat {
    solver: batsat::Solver<StopFlag>,
    flag: StopFlag,
}

/// Set by the theory, which knows the caller; looked at by the solver before each decision.
#[derive(Clone, Default)]
struct StopFlag(Rc<Cell<bool>>);

impl Callbacks for StopFlag {
    fn stop(&self) -> bool {
        self.0.get()
    }
}

impl Batsat {
    pub(super) fn new() -> Self {
        let flag = StopFlag::default();
        let solver = batsat::Solver::new(batsat::SolverOpts::default(), flag.clone());
        Self { solver, flag }
    }
}

impl Backend for Batsat {
    fn new_lit(&mut self) -> Lit {
        // False first: an order atom that nothing asks for should not add an edge.
        let variable = self.solver.new_var(lbool::UNDEF, true);
        Lit::new(variable.idx() as usize, true)
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        let mut clause: Vec<batsat::Lit> = clause.iter().map(|&lit| theirs(lit)).collect();
        self.solver.add_clause_reuse(&mut clause);
    }

    fn observe(&mut self, _: Lit) {
        // The theory sees the whole trail.
    }

    fn solve(
        &mut self,
        order: &mut OrderTheory,
        assumptions: &[Lit],
        stop: &mut dyn FnMut() -> bool,
    ) -> Answer {
        self.flag.0.set(false);
        let assumptions: Vec<batsat::Lit> = assumptions.iter().map(|&lit| theirs(lit)).collect();
        let mut theory = Watched { order, stop, flag: &self.flag.0, work: 0 };
        match self.solver.solve_limited_th(&mut theory, &assumptions) {
            answer if answer == lbool::TRUE => Answer::Sat,
            answer if answer == lbool::FALSE => Answer::Unsat,
            _ => Answer::Stopped,
        }
    }

    fn propagate(&mut self) {
        // Whenever a clause is added.
    }

    fn fixed(&self, lit: Lit) -> Option<bool> {
        let value = self.solver.value_lvl_0(theirs(lit));
        (value != lbool::UNDEF).then_some(value == lbool::TRUE)
    }

    fn model(&mut self) -> Vec<bool> {
        self.solver.get_model().iter().map(|&value| value == lbool::TRUE).collect()
    }

    fn core(&mut self) -> Vec<Lit> {
        // It is a clause over negated assumptions.
        self.solver.unsat_core().iter().map(|&lit| !ours(lit)).collect()
    }

    fn conflicts(&self) -> u64 {
        self.solver.num_conflicts()
    }
}

fn theirs(lit: Lit) -> batsat::Lit {
    batsat::Lit::new(batsat::Var::unsafe_from_idx(lit.variable() as u32), lit.is_positive())
}

fn ours(lit: batsat::Lit) -> Lit {
    Lit::new(lit.var().idx() as usize, lit.sign())
}

/// The theory during one query, and the budget that may stop it.
struct Watched<'a> {
    order: &'a mut OrderTheory,
    stop: &'a mut dyn FnMut() -> bool,
    flag: &'a Cell<bool>,
    /// Assignments since the caller was asked, and a few for each look at them.
    work: usize,
}

impl Watched<'_> {
    fn check(&mut self, acts: &mut TheoryArg) {
        self.work += 64 + acts.model().len().saturating_sub(self.order.seen);
        if self.work > PATIENCE {
            self.work = 0;
            self.flag.set((self.stop)());
        }
        while let Some(&lit) = acts.model().get(self.order.seen) {
            self.order.seen += 1;
            if let Err(cycle) = self.order.assert(ours(lit)) {
                let clause: Vec<batsat::Lit> = cycle.iter().map(|&lit| theirs(!lit)).collect();
                acts.raise_conflict(&clause, false);
                return;
            }
        }
    }
}

impl Theory for Watched<'_> {
    fn final_check(&mut self, acts: &mut TheoryArg) {
        self.check(acts);
    }

    fn partial_check(&mut self, acts: &mut TheoryArg) {
        self.check(acts);
    }

    fn create_level(&mut self) {
        self.order.push_level();
    }

    fn pop_levels(&mut self, count: usize) {
        self.order.pop_levels(count);
    }

    fn n_levels(&self) -> usize {
        self.order.levels()
    }

    fn explain_propagation(&mut self, _: batsat::Lit) -> &[batsat::Lit] {
        unreachable!("internal error: the order propagates nothing")
    }
}
