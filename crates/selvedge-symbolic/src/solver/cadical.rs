//! CaDiCaL as a backend. It is written in C++; its Rust wrapper is safe to call.
//!
//! The wrapper owns what the solver calls back, for as long as the solver lives. So the theory is
//! lent to it for each query, in a cell that both know.

use std::cell::RefCell;
use std::rc::Rc;

use cadical_sys::{CaDiCal, ExternalPropagator, Status, Terminator};
use rustc_hash::FxHashMap;

use super::backend::Backend;
use super::order::OrderTheory;
use super::{Answer, Lit};

/// The solver gives up control after so much work of its own (it counts cache lines),
const TICKS: i32 = 2_000_000;
/// or after so much that it tells us or asks us: each a small part of a second.
const CALLS: u64 = 200_000;

/// With fewer conflicts than that, it was interrupted too early.
const LEAST_LEARNT: u64 = 100;

/// The solver itself.
pub(super) struct Cadical {
    solver: CaDiCal,
    shared: Rc<RefCell<Shared>>,
    variables: usize,
    /// Variables with smaller numbers took part in a query.
    used: usize,
    assumed: Vec<Lit>,
}

/// What the solver and we both know.
#[derive(Default)]
struct Shared {
    order: OrderTheory,
    /// The literal of ours for each variable that the solver tells us about, and back.
    observed: FxHashMap<i32, Lit>,
    observed_as: FxHashMap<usize, i32>,
    /// What became true, in order, and where each level starts.
    trail: Vec<Lit>,
    levels: Vec<usize>,
    /// A clause that the solver has still to take, last literal first.
    clause: Option<Vec<i32>>,
    /// How much the solver may still tell and ask.
    calls_left: u64,
}

impl Cadical {
    pub(super) fn new() -> Self {
        let mut solver = CaDiCal::new();
        // Levels come and go like a stack; and variables are ours to name.
        for (option, value) in [("chrono", 0), ("ilb", 0), ("factor", 0), ("quiet", 1)] {
            solver.set(option, value);
        }
        // As with the other solver: false first.
        solver.set("phase", 0);
        let shared = Rc::new(RefCell::new(Shared::default()));
        solver.connect_external_propagator(Propagator(Rc::clone(&shared)));
        solver.connect_terminator(Patience(Rc::clone(&shared)));
        Self { solver, shared, variables: 0, used: 0, assumed: Vec::new() }
    }
}

impl Backend for Cadical {
    fn new_lit(&mut self) -> Lit {
        self.variables += 1;
        Lit::new(self.variables - 1, true)
    }

    fn add_clause(&mut self, clause: &[Lit]) {
        for &lit in clause {
            self.solver.add(theirs(lit));
        }
        self.solver.add(0);
    }

    fn observe(&mut self, lit: Lit) {
        let positive = if lit.is_positive() { lit } else { !lit };
        if self.shared.borrow().observed_as.contains_key(&positive.variable()) {
            return;
        }
        // A variable that took part in a query may be eliminated. Then another stands for it.
        let seen = if positive.variable() < self.used {
            let other = self.new_lit();
            self.add_clause(&[!other, positive]);
            self.add_clause(&[other, !positive]);
            other
        } else {
            positive
        };
        self.shared.borrow_mut().observed.insert(theirs(seen), positive);
        self.shared.borrow_mut().observed_as.insert(positive.variable(), theirs(seen));
        self.solver.add_observed_var(theirs(seen));
    }

    fn solve(
        &mut self,
        order: &mut OrderTheory,
        assumptions: &[Lit],
        stop: &mut dyn FnMut() -> bool,
    ) -> Answer {
        self.used = self.variables;
        self.assumed = assumptions.to_vec();
        self.shared.borrow_mut().order = std::mem::take(order);
        let mut patience = 1;
        let answer = loop {
            let conflicts = self.conflicts();
            for &lit in assumptions {
                self.solver.assume(theirs(lit));
            }
            self.solver.limit("ticks", TICKS.saturating_mul(patience));
            self.shared.borrow_mut().calls_left = CALLS * u64::from(patience.unsigned_abs());
            match self.solver.solve() {
                Status::SATISFIABLE => break Answer::Sat,
                Status::UNSATISFIABLE => break Answer::Unsat,
                Status::UNKNOWN if stop() => break Answer::Stopped,
                // It restarts with everything it learnt. It must have learnt something.
                Status::UNKNOWN if self.conflicts() < conflicts + LEAST_LEARNT => {
                    patience = patience.saturating_mul(2);
                }
                Status::UNKNOWN => {}
            }
        };
        let mut shared = self.shared.borrow_mut();
        shared.backtrack(0);
        *order = std::mem::take(&mut shared.order);
        answer
    }

    fn propagate(&mut self) {
        self.shared.borrow_mut().calls_left = u64::MAX;
        self.solver.propagate();
        self.shared.borrow_mut().backtrack(0);
    }

    fn fixed(&self, lit: Lit) -> Option<bool> {
        match self.solver.fixed(theirs(lit)) {
            0 => None,
            sign => Some(sign > 0),
        }
    }

    fn model(&mut self) -> Vec<bool> {
        let numbers = 0..self.variables;
        numbers.map(|number| self.solver.val(theirs(Lit::new(number, true))) > 0).collect()
    }

    fn core(&mut self) -> Vec<Lit> {
        let assumed = std::mem::take(&mut self.assumed);
        assumed.into_iter().filter(|&lit| self.solver.failed(theirs(lit))).collect()
    }

    fn conflicts(&self) -> u64 {
        u64::try_from(self.solver.get_statistic_value("conflicts")).unwrap_or(0)
    }
}

fn theirs(lit: Lit) -> i32 {
    i32::try_from(lit.dimacs()).expect("internal error: more than 2^31 variables")
}

impl Shared {
    fn called(&mut self, times: usize) {
        self.calls_left = self.calls_left.saturating_sub(times as u64);
    }

    /// Informs the theory of what became true since the last call.
    fn check(&mut self) {
        while self.clause.is_none()
            && let Some(&lit) = self.trail.get(self.order.seen)
        {
            self.order.seen += 1;
            if let Err(cycle) = self.order.assert(lit) {
                let name = |lit: &Lit| {
                    let variable = self.observed_as[&lit.variable()];
                    if lit.is_positive() { -variable } else { variable }
                };
                self.clause = Some(cycle.iter().map(name).collect());
            }
        }
    }

    fn backtrack(&mut self, level: usize) {
        if let Some(&start) = self.levels.get(level) {
            self.order.pop_levels(self.levels.len() - level);
            self.levels.truncate(level);
            self.trail.truncate(start);
        }
    }
}

/// Asked whether to give up control.
struct Patience(Rc<RefCell<Shared>>);

impl Terminator for Patience {
    fn terminated(&mut self) -> bool {
        let mut shared = self.0.borrow_mut();
        shared.called(1);
        shared.calls_left == 0
    }
}

/// What CaDiCaL calls.
struct Propagator(Rc<RefCell<Shared>>);

impl ExternalPropagator for Propagator {
    fn notify_assignment(&mut self, lits: &[i32]) {
        let mut shared = self.0.borrow_mut();
        shared.called(lits.len());
        for &lit in lits {
            // Fixed variables that are not observed may be reported as well.
            if let Some(&positive) = shared.observed.get(&lit.abs()) {
                shared.trail.push(if lit > 0 { positive } else { !positive });
            }
        }
    }

    fn notify_new_decision_level(&mut self) {
        let mut shared = self.0.borrow_mut();
        shared.called(1);
        let start = shared.trail.len();
        shared.levels.push(start);
        shared.order.push_level();
    }

    fn notify_backtrack(&mut self, new_level: usize) {
        self.0.borrow_mut().backtrack(new_level);
    }

    fn cb_propagate(&mut self) -> i32 {
        self.0.borrow_mut().check();
        0
    }

    fn cb_check_found_model(&mut self, _: &[i32]) -> bool {
        let mut shared = self.0.borrow_mut();
        shared.check();
        shared.clause.is_none()
    }

    fn cb_has_external_clause(&mut self, is_forgettable: &mut bool) -> bool {
        *is_forgettable = true;
        self.0.borrow().clause.is_some()
    }

    fn cb_add_external_clause_lit(&mut self) -> i32 {
        let mut shared = self.0.borrow_mut();
        let next = shared.clause.as_mut().and_then(Vec::pop);
        if next.is_none() {
            shared.clause = None;
        }
        next.unwrap_or(0)
    }
}
