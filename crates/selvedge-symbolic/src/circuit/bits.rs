//! Operations on the bits of words.

use super::{Circuit, Word};
use crate::solver::Lit;

impl Circuit {
    /// Combines two words of one width bit by bit.
    fn each_bit(&mut self, a: &Word, b: &Word, gate: fn(&mut Self, Lit, Lit) -> Lit) -> Word {
        a.bits().iter().zip(b.bits()).map(|(&a, &b)| gate(self, a, b)).collect()
    }

    /// `a & b`.
    pub fn bits_and(&mut self, a: &Word, b: &Word) -> Word {
        self.each_bit(a, b, Self::and)
    }

    /// `a | b`.
    pub fn bits_or(&mut self, a: &Word, b: &Word) -> Word {
        self.each_bit(a, b, Self::or)
    }

    /// `a ^ b`.
    pub fn bits_xor(&mut self, a: &Word, b: &Word) -> Word {
        self.each_bit(a, b, Self::xor)
    }

    /// `a << by`, and whether there is none because `by` is not a number of a bit.
    pub fn shift_left(&mut self, a: &Word, by: &Word) -> (Word, Lit) {
        self.shift(a, by, Lit::FALSE, |at, distance| at.checked_sub(distance))
    }

    /// `a >> by` with copies of the sign, and whether there is none because `by` is not a number of a bit.
    pub fn shift_right(&mut self, a: &Word, by: &Word) -> (Word, Lit) {
        self.shift(a, by, a.sign(), |at, distance| Some(at + distance))
    }

    /// Moves bits by 1, 2, 4, … as the bits of `by` say; `from` tells where a bit comes from, and `fill` comes in.
    fn shift(
        &mut self,
        a: &Word,
        by: &Word,
        fill: Lit,
        from: fn(usize, usize) -> Option<usize>,
    ) -> (Word, Lit) {
        let mut word = a.clone();
        for (stage, &moves) in by.bits().iter().enumerate() {
            let distance = 1 << stage;
            if distance >= a.width() {
                break;
            }
            let moved = (0..a.width()).map(|at| {
                from(at, distance).and_then(|from| word.bits().get(from)).copied().unwrap_or(fill)
            });
            let moved: Word = moved.collect();
            word = self.choose_bits(moves, &moved, &word);
        }
        let width = i32::try_from(a.width()).expect("internal error: a wide word");
        let inside = self.less_unsigned(by, &Word::constant(width, by.width()));
        (word, !inside)
    }
}
