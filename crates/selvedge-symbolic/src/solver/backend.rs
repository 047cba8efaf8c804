//! The interface of solver backends, and the list of them.

use super::order::OrderTheory;
use super::{Answer, Lit};

/// A SAT solver that takes our theory of orders.
pub(super) trait Backend {
    /// Returns a fresh variable, as its positive literal. They count from 0.
    fn new_lit(&mut self) -> Lit;

    /// Adds a clause.
    fn add_clause(&mut self, clause: &[Lit]);

    /// The theory wants to know when the variable of this literal has a value.
    fn observe(&mut self, lit: Lit);

    /// Looks for a model. `stop` is asked several times a second.
    fn solve(
        &mut self,
        order: &mut OrderTheory,
        assumptions: &[Lit],
        stop: &mut dyn FnMut() -> bool,
    ) -> Answer;

    /// Draws the conclusions of unit clauses.
    fn propagate(&mut self);

    /// Returns the value of a literal that unit clauses decide, if the solver has noticed.
    fn fixed(&self, lit: Lit) -> Option<bool>;

    /// After [`Answer::Sat`]: the value of each variable.
    fn model(&mut self) -> Vec<bool>;

    /// After [`Answer::Unsat`]: assumptions that cannot be true together.
    fn core(&mut self) -> Vec<Lit>;

    /// Returns how many conflicts the search met so far.
    fn conflicts(&self) -> u64;
}

/// A solver backend.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Engine {
    /// `batsat`: in Rust, always there.
    #[default]
    Batsat,
    /// CaDiCaL: in C++, there if the crate was built with the feature `cadical`.
    Cadical,
}

impl Engine {
    /// All of them; the first is the default.
    pub const ALL: [Engine; 2] = [Engine::Batsat, Engine::Cadical];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Batsat => "batsat",
            Engine::Cadical => "cadical",
        }
    }

    /// Returns whether this build has it.
    pub fn is_built_in(self) -> bool {
        match self {
            Engine::Batsat => true,
            Engine::Cadical => cfg!(feature = "cadical"),
        }
    }

    /// Returns a solver of this kind.
    ///
    /// # Panics
    /// If this build does not have it; ask [`Engine::is_built_in`].
    pub(super) fn start(self) -> Box<dyn Backend> {
        match self {
            Engine::Batsat => Box::new(super::batsat::Batsat::new()),
            #[cfg(feature = "cadical")]
            Engine::Cadical => Box::new(super::cadical::Cadical::new()),
            #[cfg(not(feature = "cadical"))]
            Engine::Cadical => panic!("internal error: this build has no CaDiCaL"),
        }
    }
}
