//! `batsat` behind the seam.

use std::cell::Cell;

use batsat::theory::{Theory, TheoryArg};
use batsat::{Callbacks, SolverInterface as _, lbool};

use super::Lit;
use super::order::OrderTheory;

/// The solver gives up control after so many decisions at first, and then after twice as many each
/// time: whenever it starts again, it forgets how many learnt clauses it may keep.
const FIRST_SLICE: u32 = 50_000;
/// But never later than this, divided by the number of clauses: somebody may be waiting, and a
/// decision in a large formula takes long.
const LONGEST_SLICE: u64 = 20_000_000_000;

/// The solver itself.
pub(super) struct Backend {
    solver: batsat::Solver<Slices>,
}

/// Makes the search come back now and then, so that the caller can look at the clock.
struct Slices {
    length: u32,
    left: Cell<u32>,
}

impl Callbacks for Slices {
    fn on_start(&mut self) {
        self.left.set(self.length);
    }

    fn stop(&self) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        self.left.get() == 0
    }
}

impl Backend {
    pub(super) fn new() -> Self {
        let slices = Slices { length: FIRST_SLICE, left: Cell::new(FIRST_SLICE) };
        Self { solver: batsat::Solver::new(batsat::SolverOpts::default(), slices) }
    }

    pub(super) fn new_lit(&mut self) -> Lit {
        // False first: an order atom that nothing asks for should not add an edge.
        let variable = self.solver.new_var(lbool::UNDEF, true);
        Lit::new(variable.idx() as usize, true)
    }

    pub(super) fn add_clause(&mut self, clause: &[Lit]) {
        let mut clause: Vec<batsat::Lit> = clause.iter().map(|&lit| theirs(lit)).collect();
        self.solver.add_clause_reuse(&mut clause);
    }

    /// `None`: it came back without an answer, to be asked again.
    pub(super) fn solve(&mut self, order: &mut OrderTheory, assumptions: &[Lit]) -> Option<bool> {
        let longest = (LONGEST_SLICE / self.solver.num_clauses().max(1)).clamp(1_000, 1_600_000);
        let slices = self.solver.cb_mut();
        slices.length = slices.length.min(longest as u32);
        let assumptions: Vec<batsat::Lit> = assumptions.iter().map(|&lit| theirs(lit)).collect();
        let answer = self.solver.solve_limited_th(order, &assumptions);
        let slices = self.solver.cb_mut();
        slices.length = match answer == lbool::UNDEF {
            true => 2 * slices.length,
            false => FIRST_SLICE,
        };
        (answer != lbool::UNDEF).then_some(answer == lbool::TRUE)
    }

    pub(super) fn fixed(&self, lit: Lit) -> Option<bool> {
        let value = self.solver.value_lvl_0(theirs(lit));
        (value != lbool::UNDEF).then_some(value == lbool::TRUE)
    }

    pub(super) fn model(&self) -> Vec<bool> {
        self.solver.get_model().iter().map(|&value| value == lbool::TRUE).collect()
    }

    pub(super) fn core(&self) -> Vec<Lit> {
        // It is a clause over negated assumptions.
        self.solver.unsat_core().iter().map(|&lit| !ours(lit)).collect()
    }

    pub(super) fn conflicts(&self) -> u64 {
        self.solver.num_conflicts()
    }
}

fn theirs(lit: Lit) -> batsat::Lit {
    batsat::Lit::new(batsat::Var::unsafe_from_idx(lit.variable() as u32), lit.is_positive())
}

fn ours(lit: batsat::Lit) -> Lit {
    Lit::new(lit.var().idx() as usize, lit.sign())
}

impl OrderTheory {
    fn check(&mut self, acts: &mut TheoryArg) {
        while let Some(&lit) = acts.model().get(self.seen) {
            self.seen += 1;
            if let Err(cycle) = self.assert(ours(lit)) {
                let clause: Vec<batsat::Lit> = cycle.iter().map(|&lit| theirs(!lit)).collect();
                acts.raise_conflict(&clause, false);
                return;
            }
        }
    }
}

impl Theory for OrderTheory {
    fn final_check(&mut self, acts: &mut TheoryArg) {
        self.check(acts);
    }

    fn partial_check(&mut self, acts: &mut TheoryArg) {
        self.check(acts);
    }

    fn create_level(&mut self) {
        self.push_level();
    }

    fn pop_levels(&mut self, count: usize) {
        OrderTheory::pop_levels(self, count);
    }

    fn n_levels(&self) -> usize {
        self.levels()
    }

    fn explain_propagation(&mut self, _: batsat::Lit) -> &[batsat::Lit] {
        unreachable!("internal error: the order propagates nothing")
    }
}
