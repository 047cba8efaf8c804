//! Words: numbers in two's complement, one literal per bit.

use std::rc::Rc;

use super::Circuit;
use super::range::Term;
use crate::solver::Lit;

/// A number, lowest bit first. A boolean is a word of one bit.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Word(pub(super) Rc<[Lit]>);

/// Integers of the language.
const INTEGER: usize = 32;

impl Word {
    /// Returns a constant of so many bits.
    pub fn constant(value: i32, width: usize) -> Self {
        (0..width).map(|bit| Lit::constant(value >> bit.min(31) & 1 == 1)).collect()
    }

    /// Returns a constant integer.
    pub fn integer(value: i32) -> Self {
        Self::constant(value, INTEGER)
    }

    /// Returns a boolean.
    pub fn boolean(lit: Lit) -> Self {
        Self(Rc::new([lit]))
    }

    /// Returns the bits, lowest first.
    pub fn bits(&self) -> &[Lit] {
        &self.0
    }

    /// Returns how many bits it has.
    pub fn width(&self) -> usize {
        self.0.len()
    }

    /// Returns the sign.
    pub fn sign(&self) -> Lit {
        self.0.last().copied().unwrap_or(Lit::FALSE)
    }

    /// As a condition: a word of one bit.
    pub fn truth(&self) -> Lit {
        self.0.first().copied().unwrap_or(Lit::FALSE)
    }

    /// Returns every bit negated.
    pub fn complement(&self) -> Self {
        self.0.iter().map(|&bit| !bit).collect()
    }

    /// Returns its value, if all bits are constants. One bit is 0 or 1.
    pub fn as_constant(&self) -> Option<i32> {
        let mut value = 0_i64;
        for (i, bit) in self.0.iter().enumerate() {
            value |= i64::from(bit.as_constant()?) << i;
        }
        let width = self.width();
        if width > 1 && value >> (width - 1) & 1 == 1 {
            value -= 1 << width;
        }
        i32::try_from(value).ok()
    }

    /// Returns its value in the last model.
    pub fn value(&self, circuit: &Circuit) -> i32 {
        let known = self.0.iter().map(|&bit| Lit::constant(circuit.solver.value(bit)));
        known.collect::<Word>().as_constant().unwrap_or(0)
    }

    /// With so many bits: the sign, or of one bit the value, is kept.
    pub fn resized(&self, width: usize) -> Self {
        let fill = if self.width() > 1 { self.sign() } else { Lit::FALSE };
        (0..width).map(|bit| self.0.get(bit).copied().unwrap_or(fill)).collect()
    }
}

impl FromIterator<Lit> for Word {
    fn from_iter<I: IntoIterator<Item = Lit>>(bits: I) -> Self {
        Self(bits.into_iter().collect())
    }
}

impl Circuit {
    /// Returns a word about which nothing is known.
    pub fn fresh_word(&mut self, width: usize) -> Word {
        (0..width).map(|_| self.fresh()).collect()
    }

    /// `then` if `condition`, else `otherwise`; of one width.
    pub fn choose_word(&mut self, condition: Lit, then: &Word, otherwise: &Word) -> Word {
        if condition == Lit::TRUE || then == otherwise {
            return then.clone();
        }
        if condition == Lit::FALSE {
            return otherwise.clone();
        }
        let word = self.choose_bits(condition, then, otherwise);
        self.note(&word, Term::Either(then.clone(), otherwise.clone()));
        word
    }

    pub(super) fn choose_bits(&mut self, condition: Lit, then: &Word, otherwise: &Word) -> Word {
        let bits = then.0.iter().zip(otherwise.0.iter());
        let bits: Vec<(Lit, Lit)> = bits.map(|(&a, &b)| (a, b)).collect();
        bits.into_iter().map(|(a, b)| self.choose(condition, a, b)).collect()
    }

    /// Returns whether two words of one width are the same.
    pub fn equal_words(&mut self, a: &Word, b: &Word) -> Lit {
        let mut same = Vec::with_capacity(a.width());
        for (&a, &b) in a.0.iter().zip(b.0.iter()) {
            same.push(self.equal(a, b));
        }
        self.all(&same)
    }

    /// If all of `premises` are true, both words are the same.
    pub fn imply_equal(&mut self, premises: &[Lit], a: &Word, b: &Word) {
        let mut last = None;
        for (&a, &b) in a.0.iter().zip(b.0.iter()) {
            // Copies of the sign are said once.
            if a != b && last.replace((a, b)) != Some((a, b)) {
                let negated = premises.iter().map(|&lit| !lit);
                let mut clause: Vec<Lit> = negated.chain([!a, b]).collect();
                self.require(&clause);
                let end = clause.len();
                clause[end - 2] = a;
                clause[end - 1] = !b;
                self.require(&clause);
            }
        }
    }

    /// Returns whether `a < b` as unsigned numbers of one width.
    pub fn less_unsigned(&mut self, a: &Word, b: &Word) -> Lit {
        let mut less = Lit::FALSE;
        for (&a, &b) in a.0.iter().zip(b.0.iter()) {
            // The higher bit decides; where it is equal, what was so far.
            less = self.majority(!a, b, less);
        }
        less
    }

    /// Returns whether `a < b`.
    pub fn less(&mut self, a: &Word, b: &Word) -> Lit {
        let flipped = |word: &Word| -> Word {
            let last = word.width().saturating_sub(1);
            let bits = word.0.iter().enumerate();
            bits.map(|(i, &bit)| if i == last { !bit } else { bit }).collect()
        };
        let (a, b) = (flipped(a), flipped(b));
        self.less_unsigned(&a, &b)
    }

    /// Returns whether `a <= b`.
    pub fn at_most(&mut self, a: &Word, b: &Word) -> Lit {
        !self.less(b, a)
    }

    /// Returns whether it is the constant.
    pub fn is(&mut self, word: &Word, value: i32) -> Lit {
        self.equal_words(word, &Word::constant(value, word.width()))
    }
}
