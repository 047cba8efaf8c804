//! Encodings: which write each read observes, and in which order things happen.

pub mod goals;
pub mod locksets;
pub mod order;
pub mod passes;
pub mod program_order;
pub mod racing;
pub mod steps;
mod symmetry;
pub mod token;
pub mod transactions;
mod turns;

use std::fmt;

use crate::bounds::Bounds;
use crate::solver::Lit;
use crate::unroll::{EventId, Unrolled};
use goals::Goals;
use order::OrderEncoding;
use passes::{Keep, Passes};
use selvedge_core::{Budget, Spent};
use steps::{Steps, Which};
use token::TokenEncoding;

/// How interleavings are encoded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scheme {
    /// A choice of the write for each read, and an order of events without cycles.
    Order,
    /// A token that can pass between any two steps of different threads.
    Token,
    /// A token that passes only between mutually atomic transactions.
    Mat,
}

impl Scheme {
    /// All of them; the first is the default.
    pub const ALL: [Scheme; 3] = [Scheme::Order, Scheme::Token, Scheme::Mat];

    /// Returns its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Order => "order",
            Scheme::Token => "token",
            Scheme::Mat => "mat",
        }
    }
}

/// Interleavings, encoded.
pub enum Encoding {
    /// With [`Scheme::Order`].
    Order(OrderEncoding),
    /// With [`Scheme::Token`] or [`Scheme::Mat`].
    Token(TokenEncoding),
}

/// Why there is no formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoFormula {
    /// The budget is spent.
    Stopped(Spent),
    /// There are so many pairs of steps between which a token could pass.
    TooManyPairs(usize),
    /// It would have more clauses than this.
    TooLarge(u64),
}

/// What to say and to do about it.
impl fmt::Display for NoFormula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoFormula::Stopped(spent) => write!(f, "{spent} before the formula was complete"),
            NoFormula::TooManyPairs(pairs) => write!(
                f,
                "there are {pairs} pairs of steps between which a token could pass, too many for a \
                 formula; --symbolic order has none"
            ),
            NoFormula::TooLarge(clauses) => write!(
                f,
                "the formula would have more than {} million clauses; make the program smaller \
                 (smaller constants: --const), repeat loops less often (--unroll 2), or leave out --symbolic",
                clauses / 1_000_000
            ),
        }
    }
}

/// Polls the budget while a formula grows.
fn go_on(unrolled: &Unrolled, budget: &Budget) -> Result<(), NoFormula> {
    budget.check()?;
    match unrolled.circuit.solver.size().clauses {
        many if many > unrolled.caps.clauses => Err(NoFormula::TooLarge(unrolled.caps.clauses)),
        _ => Ok(()),
    }
}

impl From<Spent> for NoFormula {
    fn from(spent: Spent) -> Self {
        NoFormula::Stopped(spent)
    }
}

/// Encodes the interleavings of an unrolled program. What is asked for may become less: violations within the bounds.
///
/// # Errors
/// If the caller asks to stop, or if it would be too large.
pub fn encode(
    unrolled: &mut Unrolled,
    goals: &mut Goals,
    scheme: Scheme,
    bounds: Bounds<'_>,
    budget: &Budget,
) -> Result<Encoding, NoFormula> {
    if scheme == Scheme::Order {
        return Ok(Encoding::Order(order::encode(unrolled, goals.maximal, budget)?));
    }
    let (which, keep) = match bounds.count() {
        false => (Which::Noticed, Keep::AnySchedule),
        true => (Which::All, Keep::FewestSwitches),
    };
    // Of a class, only a schedule with many switches may have enough of them.
    let scheme = if bounds.have_least() { Scheme::Token } else { scheme };
    let steps = Steps::new(unrolled, which);
    let passes = Passes::new(unrolled, &steps, scheme, keep, budget)?;
    let token = token::encode(unrolled, steps, passes, bounds, goals, budget)?;
    Ok(Encoding::Token(token))
}

impl Encoding {
    /// Returns the executed events of the last model, in order.
    pub fn linearize(&self, unrolled: &Unrolled) -> Vec<EventId> {
        match self {
            Encoding::Order(order) => crate::witness::linearize(unrolled, &order.nodes),
            Encoding::Token(token) => token.linearize(unrolled),
        }
    }

    /// Returns the pairs of steps between which a token can pass, if there is one.
    pub fn passes(&self) -> Option<&Passes> {
        match self {
            Encoding::Order(_) => None,
            Encoding::Token(token) => Some(&token.passes),
        }
    }

    /// Returns the literals that tell classes of executions apart: which write each read observes, or how
    /// the token goes.
    pub fn choices(&self) -> Vec<Lit> {
        match self {
            Encoding::Order(order) => order.observations.clone(),
            Encoding::Token(token) => {
                let passes = token.happens.iter().map(|&(lit, _)| lit);
                passes.chain(token.starts.iter().map(|&(lit, _)| lit)).collect()
            }
        }
    }
}
