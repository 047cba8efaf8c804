//! Ranges: the least and the greatest value that a word can have.
//!
//! The circuit remembers how words were computed. So the range of a word follows from those of the
//! words that it was computed from, without looking at gates.

use super::{Circuit, Word};
use crate::solver::Lit;

/// All values from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least.
    pub low: i64,
    /// The greatest.
    pub high: i64,
}

impl Range {
    /// Returns one value.
    pub fn of(value: i64) -> Self {
        Self { low: value, high: value }
    }

    /// Returns all values of words of so many bits.
    pub fn of_width(width: usize) -> Self {
        match width {
            0 => Self::of(0),
            1 => Self { low: 0, high: 1 },
            width => {
                let half = 1 << (width.min(63) - 1);
                Self { low: -half, high: half - 1 }
            }
        }
    }

    /// Returns the values of both.
    pub fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn contains(self, other: Self) -> bool {
        self.low <= other.low && other.high <= self.high
    }

    /// From the least to the greatest of some values.
    fn around(values: [i64; 4]) -> Self {
        let mut range = Self::of(values[0]);
        for value in values {
            range = range.join(Self::of(value));
        }
        range
    }

    fn largest(self) -> i64 {
        self.low.abs().max(self.high.abs())
    }

    /// Returns the first bit from which on all bits are copies of the sign.
    fn bits(self) -> usize {
        (1..64).find(|&bits| Self::of_width(bits + 1).contains(self)).unwrap_or(64)
    }

    /// Returns the sign, if all values have the same.
    fn sign(self) -> Option<Lit> {
        match (self.low >= 0, self.high < 0) {
            (true, _) => Some(Lit::FALSE),
            (_, true) => Some(Lit::TRUE),
            _ => None,
        }
    }
}

/// How a word was computed.
#[derive(Clone, Debug)]
pub(super) enum Term {
    /// The sum.
    Add(Word, Word),
    /// The difference.
    Subtract(Word, Word),
    /// The product.
    Multiply(Word, Word),
    /// The quotient, towards zero.
    Quotient(Word, Word),
    /// The remainder, with the sign of the first.
    Remainder(Word, Word),
    /// The value without its sign.
    Absolute(Word),
    /// One of the two.
    Either(Word, Word),
}

impl Term {
    fn inputs(&self) -> impl Iterator<Item = &Word> {
        let (first, second) = match self {
            Term::Add(a, b)
            | Term::Subtract(a, b)
            | Term::Multiply(a, b)
            | Term::Quotient(a, b)
            | Term::Remainder(a, b)
            | Term::Either(a, b) => (a, Some(b)),
            Term::Absolute(a) => (a, None),
        };
        std::iter::once(first).chain(second)
    }

    /// Returns what comes out, if nothing wraps around.
    fn range(&self, of: impl Fn(&Word) -> Range) -> Range {
        match self {
            Term::Add(a, b) => {
                let (a, b) = (of(a), of(b));
                Range { low: a.low + b.low, high: a.high + b.high }
            }
            Term::Subtract(a, b) => {
                let (a, b) = (of(a), of(b));
                Range { low: a.low - b.high, high: a.high - b.low }
            }
            Term::Multiply(a, b) => {
                let (a, b) = (of(a), of(b));
                Range::around([a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high])
            }
            // A quotient is no larger than what is divided; a remainder, than both.
            Term::Quotient(a, b) => {
                let most = of(a).largest();
                let least = if of(a).low >= 0 && of(b).low >= 0 { 0 } else { -most };
                Range { low: least, high: most }
            }
            Term::Remainder(a, b) => {
                let (a, most) = (of(a), of(b).largest());
                let low = if a.low >= 0 { 0 } else { -most };
                let high = if a.high <= 0 { 0 } else { most };
                Range { low, high }
            }
            Term::Absolute(a) => {
                let a = of(a);
                let low = if a.low <= 0 && a.high >= 0 { 0 } else { a.low.abs().min(a.high.abs()) };
                Range { low, high: a.largest() }
            }
            Term::Either(a, b) => of(a).join(of(b)),
        }
    }
}

/// A word's computation: numbers of terms, inputs before what is computed from them.
pub type Computation = Vec<u32>;

impl Circuit {
    pub(super) fn note(&mut self, word: &Word, term: Term) {
        if word.as_constant().is_none() && !self.term_of.contains_key(word) {
            let number = u32::try_from(self.terms.len()).expect("internal error: many words");
            self.terms.push((word.clone(), term));
            self.term_of.insert(word.clone(), number);
        }
    }

    /// Returns how a word is computed from words that satisfy `is_known`, and from others about which
    /// nothing is noted.
    pub fn computation(&self, word: &Word, is_known: impl Fn(&Word) -> bool) -> Computation {
        let mut found = Vec::new();
        let mut seen = rustc_hash::FxHashSet::default();
        let mut work = vec![word];
        while let Some(word) = work.pop() {
            if is_known(word) {
                continue;
            }
            if let Some(&number) = self.term_of.get(word)
                && seen.insert(number)
            {
                found.push(number);
                work.extend(self.terms[number as usize].1.inputs());
            }
        }
        found.sort_unstable();
        found
    }

    /// Returns all words that a computation reads.
    pub fn reads_of(&self, computation: &[u32]) -> impl Iterator<Item = &Word> {
        computation.iter().flat_map(|&number| self.terms[number as usize].1.inputs())
    }

    /// Returns the range of a word, by its computation and the ranges of known words.
    pub fn range(
        &self,
        word: &Word,
        computation: &[u32],
        known: impl Fn(&Word) -> Option<Range>,
    ) -> Range {
        let mut computed = rustc_hash::FxHashMap::default();
        for &number in computation {
            let (word, term) = &self.terms[number as usize];
            let all = Range::of_width(word.width());
            let range = term.range(|input| {
                let range = known(input).or_else(|| computed.get(input).copied());
                range.unwrap_or_else(|| input.range_of_bits())
            });
            // What wraps around can be anything.
            computed.insert(word, if all.contains(range) { range } else { all });
        }
        let range = known(word).or_else(|| computed.get(word).copied());
        range.unwrap_or_else(|| word.range_of_bits())
    }

    /// A word is within a range for sure.
    pub fn require_range(&mut self, word: &Word, range: Range) {
        if word.width() < 2 || range.contains(Range::of_width(word.width())) {
            return;
        }
        let sign = range.sign().unwrap_or(word.sign());
        for &bit in &word.bits()[range.bits().min(word.width())..] {
            self.require(&[!bit, sign]);
            self.require(&[bit, !sign]);
        }
        if let (Ok(low), Ok(high)) = (i32::try_from(range.low), i32::try_from(range.high)) {
            let (low, high) =
                (Word::constant(low, word.width()), Word::constant(high, word.width()));
            for within in [self.at_most(&low, word), self.at_most(word, &high)] {
                self.require(&[within]);
            }
        }
    }

    /// Returns a word about which nothing is known, but for bits that no value of a range needs.
    pub fn fresh_word_in(&mut self, range: Range, width: usize) -> Word {
        let low = self.fresh_word(range.bits().min(width));
        let sign = match range.sign() {
            Some(sign) => sign,
            None if low.width() < width => self.fresh(),
            None => low.sign(),
        };
        let copies = width - low.width();
        low.bits().iter().copied().chain(std::iter::repeat_n(sign, copies)).collect()
    }
}

impl Word {
    /// Returns what the constant bits say.
    fn range_of_bits(&self) -> Range {
        if let Some(value) = self.as_constant() {
            return Range::of(i64::from(value));
        }
        // Copies of the sign say nothing.
        let copies = self.bits().iter().rev().take_while(|&&bit| bit == self.sign()).count();
        let width = (self.width() + 1).saturating_sub(copies.max(1));
        match self.sign() {
            Lit::FALSE => Range { low: 0, high: (1 << width.saturating_sub(1)) - 1 },
            _ => Range::of_width(width),
        }
    }
}
