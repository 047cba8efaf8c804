//! Independence constraints between atomic blocks, found by the solver.
//!
//! Paper: E. Albert, M. Gómez-Zamalloa, M. Isabel, A. Rubio, "Constrained dynamic partial order reduction" (CAV
//! 2018), section 4.
//!
//! | paper | here |
//! |---|---|
//! | transition system of a block, `C -> (A, S)` | `path.rs`, made by `run.rs`, `arithmetic.rs`, `memory.rs`, `loops.rs` |
//! | which guards are satisfiable | `words.rs`, `witness.rs` |
//! | `F`, definitions 5 and 6 | `formula.rs` |
//! | loops, definition 7 | `loops.rs` |
//! | AllSAT, simplification | `search.rs`, `atom.rs` |
//! | `I` | [`Synthesis`] |
//!
//! **What a constraint says.** See [`Independence`](selvedge_lang::ir::Independence): the text that is given
//! out, guard included, is right for integers of 32 bits that fail when they overflow.
//!
//! **Differs from the paper.** The solver works on bits, not on integers without bound. Tasks are compared
//! by value, in every order, and not by their text. Lists and maps are looked into: positions and keys are
//! terms like others. Local variables that are used after a block belong to the state. A constraint is
//! dropped for others only if these read no more shared variables, so that none is lost that lasts longer.
//!
//! **Exact.** Every constraint was checked as it is written, by one last question to the solver: does it
//! entail that both orders agree? Nothing before that question can make a constraint wrong.
//!
//! **Cost.** Exponential in the comparisons of the two blocks, in theory; milliseconds in practice.
//!
//! **Tests.** `tests/constraints.rs` of this crate: exact sets. `tests/random_constraints.rs`: random pairs of blocks against the
//! interpreter on states with small values and with values at the ends of the range.

mod arithmetic;
mod atom;
mod blocks;
mod formula;
mod loops;
mod memory;
mod path;
mod run;
mod search;
mod store;
mod term;
mod text;
mod witness;
mod words;

use selvedge_core::{Budget, Spent};
use selvedge_lang::ir::{AtomicId, Program};

use blocks::{Block, Touched};
use run::Runner;
use search::Search;
use text::Names;
use words::Words;

use crate::caps::Caps;
use crate::values::Values;

/// What was found about two blocks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Synthesis {
    /// The blocks, as a constraint names them: `res(n, v)` and `res(n2, v2)`.
    pub heads: [String; 2],
    /// The constraints, or why there are none.
    pub found: Result<Found, GiveUp>,
}

/// Constraints; each of them suffices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// In the order in which the blocks compare things. None: the blocks never commute, as far as is
    /// known.
    pub constraints: Vec<Constraint>,
    /// Whether, overflows aside, the blocks commute in no other state.
    pub complete: bool,
}

/// One constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// When the blocks commute if nothing overflows; empty is always.
    pub condition: Vec<String>,
    /// What has to hold besides, so that no overflow depends on the order.
    pub guard: Vec<String>,
}

/// Why there are no constraints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GiveUp {
    /// The budget is spent.
    Stopped(Spent),
    /// A block does something that has no encoding.
    Unsupported {
        /// Which block.
        block: String,
        /// What it does.
        what: &'static str,
        /// The line where it does.
        line: u32,
    },
    /// The blocks are too large, or too involved.
    TooLarge(&'static str),
    /// No constraint can refer to one of the blocks: it is never entered, an `await` on its own, or has too many local
    /// variables.
    NoName,
}

impl Constraint {
    /// Returns the whole condition as text of the language; `None` is always.
    pub fn text(&self) -> Option<String> {
        let parts: Vec<&str> =
            self.condition.iter().chain(&self.guard).map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join(" && "))
    }
}

impl Synthesis {
    /// Returns the constraints as declarations of the language, one per line.
    pub fn declarations(&self) -> String {
        let [first, second] = &self.heads;
        let constraints = self.found.iter().flat_map(|found| &found.constraints);
        let line = |constraint: &Constraint| {
            let condition = constraint.text().map(|text| format!(" if {text}"));
            format!("independent({first}, {second}){};\n", condition.unwrap_or_default())
        };
        constraints.map(line).collect()
    }
}

/// Returns all pairs of blocks that constraints can refer to: atomic procedures and atomic blocks.
pub fn pairs(program: &Program) -> Vec<(AtomicId, AtomicId)> {
    let named = |&atomic: &AtomicId| {
        program.atomics[atomic.index()].reference().is_some()
            && Block::new(program, atomic).is_some()
    };
    let blocks: Vec<AtomicId> =
        (0..program.atomics.len()).map(AtomicId::new).filter(named).collect();
    let pairs = blocks.iter().enumerate();
    pairs.flat_map(|(i, &a)| blocks[i..].iter().map(move |&b| (a, b))).collect()
}

/// Finds constraints for a pair. They hold in every state in which variables have the given values. Work is counted in questions to the solver and in its steps, so that a limit
/// on it gives the same result on every machine.
pub fn synthesise(
    program: &Program,
    (first, second): (AtomicId, AtomicId),
    values: &Values,
    caps: &Caps,
    budget: &Budget,
) -> Synthesis {
    let blocks = [first, second].map(|atomic| Block::new(program, atomic));
    let named = |block: &Block| program.atomics[block.atomic.index()].reference().is_some();
    let [Some(first), Some(second)] = blocks.map(|block| block.filter(named)) else {
        let heads = [String::new(), String::new()];
        return Synthesis { heads, found: Err(GiveUp::NoName) };
    };
    let blocks = [first, second];
    let names = Names::new(program, blocks);
    let found = find(program, blocks, &names, values, caps, budget);
    Synthesis { heads: names.heads, found }
}

fn find(
    program: &Program,
    blocks: [Block; 2],
    names: &Names<'_>,
    values: &Values,
    caps: &Caps,
    budget: &Budget,
) -> Result<Found, GiveUp> {
    let touched = blocks.map(|block| Touched::by_block(program, values, &block));
    for (block, touched) in blocks.iter().zip(&touched) {
        if let Some((site, what)) = touched.strange {
            let block = program.atomics[block.atomic.index()].reference().unwrap_or_default();
            let line = program.sites[site.index()].line;
            return Err(GiveUp::Unsupported { block, what, line });
        }
    }
    if touched[0].is_apart_from(&touched[1]) {
        let always = Constraint { condition: Vec::new(), guard: Vec::new() };
        return Ok(Found { constraints: vec![always], complete: true });
    }
    let words = Words::new(values, blocks.map(|block| block.atomic), budget);
    let mut runner = Runner::new(program, blocks, &touched, *caps, words);
    let formula = runner.formula()?;
    let abstracted = runner.abstracted;
    let mut words = runner.words;
    let search = Search::new(program, *caps, &mut words, names, &formula);
    let (cubes, complete) = search.run()?;
    let terms = &words.terms;
    let texts = |literals: &[atom::Literal]| {
        literals.iter().filter_map(|literal| names.literal(terms, literal)).collect()
    };
    let constraints = cubes
        .iter()
        .map(|cube| Constraint { condition: texts(&cube.literals), guard: texts(&cube.guard) });
    Ok(Found { constraints: constraints.collect(), complete: complete && !abstracted })
}
