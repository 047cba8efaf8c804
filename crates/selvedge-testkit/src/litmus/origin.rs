//! Where random litmus tests come from, by name and number.

use crate::Random;

use super::{Flavour, LitmusProgram, Shape, random_litmus, random_shape};

/// A kind of random programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Random instructions.
    Flavour(Flavour),
    /// Programs with a shape.
    Shape(Shape),
}

impl Origin {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Origin> {
        let flavours = Flavour::ALL.iter().copied().map(Origin::Flavour);
        flavours.chain(Shape::ALL.iter().copied().map(Origin::Shape))
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Flavour(Flavour::Memory) => "memory",
            Origin::Flavour(Flavour::Updates) => "updates",
            Origin::Flavour(Flavour::Locks) => "locks",
            Origin::Flavour(Flavour::TryLocks) => "try-locks",
            Origin::Flavour(Flavour::Awaits) => "awaits",
            Origin::Flavour(Flavour::Everything) => "everything",
            Origin::Shape(shape) => shape.name(),
        }
    }

    /// Program number `number`, always the same.
    pub fn program(self, number: u64) -> LitmusProgram {
        let mut random = Random::new(number.wrapping_mul(31));
        match self {
            Origin::Flavour(flavour) => random_litmus(&mut random, flavour),
            Origin::Shape(shape) => random_shape(&mut random, shape),
        }
    }
}
