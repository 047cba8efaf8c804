//! Encodings: which write each read observes, and in which order things happen.

pub mod goals;
pub mod order;
pub mod program_order;

use crate::unroll::{EventId, Unrolled};
use goals::Goals;
use order::OrderEncoding;

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

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Order => "order",
            Scheme::Token => "token",
            Scheme::Mat => "mat",
        }
    }
}

/// A read, and the write that it observes if the literal is true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observation {
    /// Whether it does.
    pub lit: crate::solver::Lit,
    /// Who reads.
    pub read: EventId,
    /// What.
    pub cell: crate::unroll::CellId,
    /// Who wrote; `None` is the initial value.
    pub write: Option<EventId>,
}

/// Interleavings, encoded.
pub enum Encoding {
    /// With [`Scheme::Order`].
    Order(OrderEncoding),
}

/// Encodes the interleavings of an unrolled program.
pub fn encode(
    unrolled: &mut Unrolled,
    goals: &Goals,
    scheme: Scheme,
    context_bound: Option<u32>,
) -> Encoding {
    let _ = (scheme, context_bound);
    Encoding::Order(order::encode(unrolled, goals.maximal))
}

impl Encoding {
    /// The executed events of the last model, in order.
    pub fn linearize(&self, unrolled: &Unrolled) -> Vec<EventId> {
        match self {
            Encoding::Order(order) => crate::witness::linearize(unrolled, &order.nodes),
        }
    }

    /// Ordered pairs of steps between which a token could pass.
    pub fn pairs(&self) -> usize {
        0
    }

    /// Those pairs that are encoded.
    pub fn kept_pairs(&self) -> usize {
        0
    }

    /// Mutually atomic transactions.
    pub fn transactions(&self) -> Option<usize> {
        None
    }
}
