//! Literals.

use std::fmt;
use std::ops::Not;

/// A Boolean variable or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    /// Always true.
    pub const TRUE: Lit = Lit(0);
    /// Always false.
    pub const FALSE: Lit = Lit(1);

    /// Returns the literal of the variable with this number.
    pub(super) fn new(variable: usize, positive: bool) -> Self {
        let variable = u32::try_from(variable).expect("internal error: more than 2^31 variables");
        Self(variable << 1 | u32::from(!positive))
    }

    /// Returns the number of its variable.
    pub fn variable(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Returns whether it is the variable itself.
    pub fn is_positive(self) -> bool {
        self.0 & 1 == 0
    }

    /// Returns its number, for tables.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns a constant.
    pub fn constant(value: bool) -> Self {
        if value { Self::TRUE } else { Self::FALSE }
    }

    /// Returns its value, if it is a constant.
    pub fn as_constant(self) -> Option<bool> {
        (self.variable() == 0).then_some(self.is_positive())
    }

    /// As in DIMACS files: variables count from 1, negation is a minus.
    pub fn dimacs(self) -> i64 {
        let number = self.variable() as i64 + 1;
        if self.is_positive() { number } else { -number }
    }
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

impl fmt::Debug for Lit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_constant() {
            Some(value) => write!(f, "{value}"),
            None => write!(f, "{}", self.dimacs()),
        }
    }
}
