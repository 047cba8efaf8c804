//! The embedded solver: clauses, order atoms, assumptions.
//!
//! The seam is narrow on purpose: what stands above it (circuits, encodings, synthesis) knows
//! [`Lit`], [`Solver::add_clause`], [`Solver::add_edge`] and [`Solver::solve`], and nothing of the
//! solver that does the work. That one is `batsat`, a conflict-driven solver in Rust, or CaDiCaL, if the
//! crate was built with that feature. Both have a theory of ours: a literal can stand for an edge of
//! a directed graph, and the edges whose literals are true never form a cycle (see `order.rs`).

mod backend;
mod batsat;
#[cfg(feature = "cadical")]
mod cadical;
mod export;
mod lit;
mod order;
#[cfg(test)]
mod tests;

pub use backend::Engine;
pub use lit::Lit;
pub use order::Node;

use selvedge_core::Budget;

use backend::Backend;
use order::OrderTheory;

/// How many easy questions the solver could answer, in about the time between two of its looks at the
/// budget: units of work.
pub const LOOK: u64 = 50;

/// The answer to a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// There is a model; ask [`Solver::value`].
    Sat,
    /// There is none under the assumptions; ask [`Solver::core`].
    Unsat,
    /// The caller asked to stop.
    Stopped,
}

/// How large a formula is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Size {
    /// Boolean variables.
    pub variables: u64,
    /// Clauses, as they were added.
    pub clauses: u64,
    /// Literals in all clauses.
    pub literals: u64,
    /// Literals that stand for edges of the order.
    pub order_atoms: u64,
}

/// An incremental SAT solver with a theory of strict orders.
///
/// Between queries variables, clauses, nodes and edges can be added; what was learnt stays.
///
/// ```
/// use selvedge_symbolic::solver::{Answer, Solver};
///
/// let mut solver = Solver::new();
/// let (a, b) = (solver.new_node(), solver.new_node());
/// let (ab, ba) = (solver.new_lit(), solver.new_lit());
/// solver.add_edge(ab, a, b);
/// solver.add_edge(ba, b, a);
/// solver.add_clause(&[ab, ba]);
/// let budget = selvedge_core::Budget::unlimited();
/// assert_eq!(solver.solve(&[], &budget), Answer::Sat);
/// assert_eq!(solver.solve(&[ab, ba], &budget), Answer::Unsat);
/// ```
pub struct Solver {
    backend: Box<dyn Backend>,
    order: OrderTheory,
    size: Size,
    /// Whether the order follows from the clauses.
    order_is_implied: bool,
    /// The clauses, if they are to be exported.
    recorded: Option<Vec<Vec<Lit>>>,
    model: Vec<bool>,
    core: Vec<Lit>,
}

impl Default for Solver {
    fn default() -> Self {
        Self::new()
    }
}

impl Solver {
    /// Without clauses. [`Lit::TRUE`] is true.
    pub fn new() -> Self {
        Self::of(Engine::default())
    }

    /// Returns the same, with the given solver.
    ///
    /// # Panics
    /// If this build does not have it; ask [`Engine::is_built_in`].
    pub fn of(engine: Engine) -> Self {
        let mut solver = Self {
            backend: engine.start(),
            order: OrderTheory::default(),
            size: Size::default(),
            order_is_implied: false,
            recorded: None,
            model: Vec::new(),
            core: Vec::new(),
        };
        let constant = solver.new_lit();
        debug_assert_eq!(constant, Lit::TRUE, "the first variable is the constant");
        solver.backend.add_clause(&[Lit::TRUE]);
        solver
    }

    /// Returns the default solver, which records its clauses, so that they can be exported.
    pub fn recording() -> Self {
        Self::new().that_records()
    }

    /// Remembers the clauses that are added from now on, so that they can be exported.
    pub fn that_records(mut self) -> Self {
        self.recorded.get_or_insert_default();
        self
    }

    /// Returns a fresh variable, as its positive literal.
    pub fn new_lit(&mut self) -> Lit {
        self.size.variables += 1;
        self.backend.new_lit()
    }

    /// Adds a clause.
    pub fn add_clause(&mut self, clause: &[Lit]) {
        if clause.contains(&Lit::TRUE) {
            return;
        }
        let clause: Vec<Lit> = clause.iter().copied().filter(|&lit| lit != Lit::FALSE).collect();
        self.size.clauses += 1;
        self.size.literals += clause.len() as u64;
        self.backend.add_clause(&clause);
        if let Some(recorded) = &mut self.recorded {
            recorded.push(clause);
        }
    }

    /// Returns a fresh node of the order.
    pub fn new_node(&mut self) -> Node {
        self.order.new_node()
    }

    /// Whenever `lit` is true, `from` comes before `to`. One literal can stand for many edges.
    ///
    /// # Panics
    /// If edges that are always there form a cycle: a mistake of the caller.
    pub fn add_edge(&mut self, lit: Lit, from: Node, to: Node) {
        if lit == Lit::TRUE {
            assert!(self.order.add_fixed(from, to), "internal error: fixed edges form a cycle");
        } else if lit != Lit::FALSE {
            self.size.order_atoms += 1;
            self.backend.observe(lit);
            self.order.add_atom(lit, from, to);
        }
    }

    /// Says that the edges follow from the clauses: they help the search, and need not be exported.
    pub fn imply_order(&mut self) {
        self.order_is_implied = true;
    }

    /// Looks for a model in which all `assumptions` are true. The question is a unit of work; each of
    /// the solver's looks at the budget, which come after a fixed number of its steps, is [`LOOK`] of
    /// them. If nothing is left, the answer is [`Answer::Stopped`].
    pub fn solve(&mut self, assumptions: &[Lit], budget: &Budget) -> Answer {
        let mut stop = || budget.work(LOOK).is_err();
        if budget.work(1).is_err() {
            return Answer::Stopped;
        }
        let answer = self.backend.solve(&mut self.order, assumptions, &mut stop);
        match answer {
            Answer::Sat => {
                self.model = self.backend.model();
                debug_assert!(self.is_model(), "the model breaks a clause or the order");
            }
            Answer::Unsat => self.core = self.backend.core(),
            Answer::Stopped => {}
        }
        answer
    }

    /// Draws the conclusions of unit clauses, for [`Solver::fixed`].
    pub fn propagate(&mut self) {
        self.backend.propagate();
    }

    /// Returns the value of a literal, if unit clauses alone decide it, and the solver has noticed that.
    pub fn fixed(&self, lit: Lit) -> Option<bool> {
        self.backend.fixed(lit)
    }

    /// Returns the value of a literal in the last model. What the model leaves open is false.
    pub fn value(&self, lit: Lit) -> bool {
        self.model.get(lit.variable()).copied().unwrap_or(false) == lit.is_positive()
    }

    /// After [`Answer::Unsat`]: assumptions that cannot be true together.
    pub fn core(&self) -> &[Lit] {
        &self.core
    }

    /// Returns the edges that are there in the last model.
    pub fn edges_in_model(&self) -> Vec<(Node, Node)> {
        self.order.edges_where(|lit| self.value(lit))
    }

    /// Returns how large the formula is.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Returns how many conflicts the search met so far.
    pub fn conflicts(&self) -> u64 {
        self.backend.conflicts()
    }

    fn is_model(&self) -> bool {
        let clauses = self.recorded.iter().flatten();
        let mut satisfied = clauses.map(|clause| clause.iter().any(|&lit| self.value(lit)));
        satisfied.all(|yes| yes) && order::is_acyclic(self.order.nodes(), &self.edges_in_model())
    }
}
