//! What a check was made of: the columns of the paper's Table 1.

use std::time::Duration;

use crate::check::Encoded;
use crate::solver::Size;

/// Numbers about a check.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Shared accesses per thread (#SA).
    pub accesses: Vec<usize>,
    /// Shared variables, locks included (#SV).
    pub variables: usize,
    /// Instructions of the unrolled threads (#T).
    pub transitions: u64,
    /// Ordered pairs of steps between which a token could pass (#P), and those that are left
    /// (#P_M); only with a token.
    pub pairs: Option<(usize, usize)>,
    /// Mutually atomic transactions (#MAT), if they were computed.
    pub transactions: Option<usize>,
    /// One entry per depth.
    pub depths: Vec<DepthStats>,
}

/// Numbers about one depth.
#[derive(Clone, Copy, Debug)]
pub struct DepthStats {
    /// How often loops may be repeated.
    pub depth: u32,
    /// How long it took, from unrolling to the last answer.
    pub time: Duration,
    /// Conflicts of the search so far.
    pub conflicts: u64,
    /// How large the formula is.
    pub formula: Size,
}

impl Stats {
    /// Takes down what is known before the first query.
    pub(crate) fn describe(&mut self, encoded: &Encoded) {
        let unrolled = &encoded.unrolled;
        let shared = |thread: &crate::unroll::ThreadInstance| {
            let events = thread.events.iter();
            events.filter(|event| unrolled.events[event.index()].is_shared()).count()
        };
        self.accesses = unrolled.threads.iter().map(shared).collect();
        self.variables = unrolled.cells.len();
        self.transitions = unrolled.transitions;
        if let Some(passes) = encoded.encoding.passes() {
            self.pairs = Some((passes.pairs, passes.kept.len()));
            self.transactions = passes.transactions;
        }
    }
}
