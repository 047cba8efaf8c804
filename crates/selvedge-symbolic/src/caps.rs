//! What bounds the size of a formula and the work on constraints.

/// Bounds, each with the reason why nothing is lost beyond it. Tests make them tiny ([`Caps::tiny`]), so that what lies beyond
/// is tested as well as the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// More clauses are not added to a formula, since each takes up to a hundred bytes: no formula, inconclusive.
    pub clauses: u64,
    /// More pairs of steps between which a token could pass are not considered: no formula, inconclusive.
    pub pairs: usize,
    /// More passes do not become part of a formula, since each takes some kilobytes: inconclusive.
    pub passes: usize,
    /// With more pairs of ways through two threads `mat` uses the lexicographic passes, which suffice for any program.
    pub ways: usize,
    /// More threads are not unrolled: the spawn is a cut, and the verdict inconclusive if it is reached.
    pub threads: usize,
    /// An index that is not constant is one access per element; an array with more elements is a cut there.
    pub elements: usize,
    /// A thread with more unrolled instructions is cut there.
    pub places: u64,
    /// Ranges of values are computed in so many rounds without regard to order; beyond, by combinations of places.
    pub range_rounds: usize,
    /// More ranges are not computed for combinations of places. Then values are not bounded; bounds only make the solver
    /// faster.
    pub range_work: usize,
    /// Ranges of values are looked for in so many rounds; what still grows then can be anything.
    pub value_rounds: usize,
    /// So many instructions are followed in each round; beyond, what could be written can be anything.
    pub followed: u32,
    /// After so many rounds of a loop, slots that still change can hold anything.
    pub followed_rounds: u32,
    /// Constraints are searched in so many models of the formula. Each constraint is proved by itself; with fewer of them
    /// less is pruned.
    pub models: usize,
    /// The search for constraints ends after so many models in a row that lead to none. As for `models`.
    pub models_in_vain: usize,
    /// At most so many constraints per pair of blocks. As for `models`.
    pub constraints: usize,
    /// Pairs of literals are tried as constraints only among so many. As for `models`.
    pub paired: usize,
    /// Tasks that two blocks start are compared in every order if there are at most so many; beyond, in the order of the
    /// text, which is stronger than necessary.
    pub permuted: usize,
    /// A loop in a block is run so many rounds; beyond, it becomes an uninterpreted function.
    pub rounds: u32,
    /// And only while it forks at most so often.
    pub forks: u32,
    /// With more paths through both blocks the pair has no constraint: less is pruned.
    pub paths: usize,
    /// More states are not kept for one path: the solver is asked instead.
    pub witnesses: usize,
    /// Deeper calls are not followed: the pair of blocks has no constraint.
    pub calls: usize,
    /// A product with more parts is not multiplied out: the pair of blocks has no constraint.
    pub parts: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            clauses: 20_000_000,
            pairs: 4_000_000,
            passes: 1_000_000,
            ways: 256,
            threads: 256,
            elements: 256,
            places: 100_000,
            range_rounds: 4,
            range_work: 4_000_000,
            value_rounds: 6,
            followed: 100_000,
            followed_rounds: 1_000,
            models: 400,
            models_in_vain: 25,
            constraints: 40,
            paired: 30,
            permuted: 4,
            rounds: 8,
            forks: 3,
            paths: 400,
            witnesses: 16,
            calls: 16,
            parts: 64,
        }
    }
}

impl Caps {
    /// As small as they can be without refusing every program, for tests.
    pub fn tiny() -> Self {
        Self {
            clauses: 3_000,
            pairs: 60,
            passes: 30,
            ways: 1,
            threads: 3,
            elements: 1,
            places: 24,
            range_rounds: 1,
            range_work: 1,
            value_rounds: 1,
            followed: 30,
            followed_rounds: 2,
            models: 2,
            models_in_vain: 0,
            constraints: 1,
            paired: 1,
            permuted: 1,
            rounds: 1,
            forks: 1,
            paths: 6,
            witnesses: 1,
            calls: 2,
            parts: 1,
        }
    }
}
