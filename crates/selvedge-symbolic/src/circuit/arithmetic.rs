//! Arithmetic on words. What can overflow tells whether it does.

use super::range::Term;
use super::{Circuit, Word};
use crate::solver::Lit;

impl Circuit {
    /// `a + b + carry` without the last carry, and the carries into and out of the last bit.
    fn add_carry(&mut self, a: &Word, b: &Word, carry: Lit) -> (Word, Lit, Lit) {
        let (mut into, mut out) = (carry, carry);
        let mut sum = Vec::with_capacity(a.width());
        for (&a, &b) in a.bits().iter().zip(b.bits()) {
            into = out;
            sum.push(self.odd(a, b, into));
            out = self.majority(a, b, into);
        }
        (sum.into_iter().collect(), into, out)
    }

    /// `a + b`, and whether it overflows.
    pub fn add(&mut self, a: &Word, b: &Word) -> (Word, Lit) {
        let (sum, into, out) = self.add_carry(a, b, Lit::FALSE);
        self.note(&sum, Term::Add(a.clone(), b.clone()));
        (sum, self.xor(into, out))
    }

    /// `a - b`, and whether it overflows.
    pub fn subtract(&mut self, a: &Word, b: &Word) -> (Word, Lit) {
        let (difference, overflow) = self.subtract_bits(a, b);
        self.note(&difference, Term::Subtract(a.clone(), b.clone()));
        (difference, overflow)
    }

    fn subtract_bits(&mut self, a: &Word, b: &Word) -> (Word, Lit) {
        let negated: Word = b.bits().iter().map(|&bit| !bit).collect();
        let (difference, into, out) = self.add_carry(a, &negated, Lit::TRUE);
        (difference, self.xor(into, out))
    }

    /// `-a`, and whether it overflows.
    pub fn negate(&mut self, a: &Word) -> (Word, Lit) {
        self.subtract(&Word::constant(0, a.width()), a)
    }

    /// `abs(a)`, and whether it overflows. As an unsigned number it never does.
    pub fn absolute(&mut self, a: &Word) -> (Word, Lit) {
        let (result, overflow) = self.absolute_bits(a);
        self.note(&result, Term::Absolute(a.clone()));
        (result, overflow)
    }

    fn absolute_bits(&mut self, a: &Word) -> (Word, Lit) {
        let (negated, overflow) = self.subtract_bits(&Word::constant(0, a.width()), a);
        let result = self.choose_bits(a.sign(), &negated, a);
        (result, self.and(a.sign(), overflow))
    }

    /// `a` or `-a`.
    fn negate_if(&mut self, condition: Lit, a: &Word) -> Word {
        let (negated, _) = self.subtract_bits(&Word::constant(0, a.width()), a);
        self.choose_bits(condition, &negated, a)
    }

    /// `a * b`, and whether it overflows.
    pub fn multiply(&mut self, a: &Word, b: &Word) -> (Word, Lit) {
        let width = a.width();
        let (left, right) = (self.absolute_bits(a).0, self.absolute_bits(b).0);
        // The one with more known zeros says which rows there are.
        let zeros = |word: &Word| word.bits().iter().filter(|&&bit| bit == Lit::FALSE).count();
        let (rows, addend) =
            if zeros(&left) >= zeros(&right) { (&left, &right) } else { (&right, &left) };
        let mut product = vec![Lit::FALSE; 2 * width];
        for (row, &bit) in rows.bits().iter().enumerate() {
            if bit == Lit::FALSE {
                continue;
            }
            let mut carry = Lit::FALSE;
            for (column, &other) in addend.bits().iter().enumerate() {
                let at = row + column;
                let term = self.and(bit, other);
                let sum = self.odd(product[at], term, carry);
                carry = self.majority(product[at], term, carry);
                product[at] = sum;
            }
            product[row + width] = carry;
        }
        let negative = self.xor(a.sign(), b.sign());
        let magnitude: Word = product[..width].iter().copied().collect();
        let result = self.negate_if(negative, &magnitude);
        self.note(&result, Term::Multiply(a.clone(), b.clone()));
        // Too large: a high bit is set, or the sign bit, unless it is the smallest number.
        let high = self.any(&product[width..]);
        let low_bits = self.any(&product[..width - 1]);
        let is_smallest = self.and(negative, !low_bits);
        let sign_is_wrong = self.and(product[width - 1], !is_smallest);
        (result, self.or(high, sign_is_wrong))
    }

    /// Quotient and remainder of unsigned numbers; anything if `b` is 0.
    fn divide_unsigned(&mut self, a: &Word, b: &Word) -> (Word, Word) {
        let width = a.width();
        let divisor: Word = b.bits().iter().copied().chain([Lit::FALSE]).collect();
        let mut rest = vec![Lit::FALSE; width + 1];
        let mut quotient = vec![Lit::FALSE; width];
        for bit in (0..width).rev() {
            rest.pop();
            rest.insert(0, a.bits()[bit]);
            let so_far: Word = rest.iter().copied().collect();
            let fits = !self.less_unsigned(&so_far, &divisor);
            let (less, _) = self.subtract_bits(&so_far, &divisor);
            rest = self.choose_bits(fits, &less, &so_far).bits().to_vec();
            quotient[bit] = fits;
        }
        rest.truncate(width);
        (quotient.into_iter().collect(), rest.into_iter().collect())
    }

    /// Quotient towards zero, the remainder with the sign of `a`, and whether the quotient
    /// overflows. Anything if `b` is 0.
    pub fn divide(&mut self, a: &Word, b: &Word) -> (Word, Word, Lit) {
        let (left, right) = (self.absolute_bits(a).0, self.absolute_bits(b).0);
        let (quotient, remainder) = self.divide_unsigned(&left, &right);
        let negative = self.xor(a.sign(), b.sign());
        let quotient = self.negate_if(negative, &quotient);
        let remainder = self.negate_if(a.sign(), &remainder);
        self.note(&quotient, Term::Quotient(a.clone(), b.clone()));
        self.note(&remainder, Term::Remainder(a.clone(), b.clone()));
        let smallest = self.is(a, i32::MIN >> (32 - a.width().min(32)));
        let minus_one = self.is(b, -1);
        (quotient, remainder, self.and(smallest, minus_one))
    }
}
