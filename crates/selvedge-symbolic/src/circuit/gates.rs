//! Gates over literals.

use rustc_hash::FxHashMap;

use super::Word;
use super::range::Term;
use crate::solver::{Lit, Solver};

/// A solver with gates.
#[derive(Default)]
pub struct Circuit {
    /// What the gates become.
    pub solver: Solver,
    made: FxHashMap<(Gate, Lit, Lit, Lit), Lit>,
    /// For the output of an "and": its inputs.
    inputs: FxHashMap<Lit, (Lit, Lit)>,
    /// Words and how they were computed, inputs first; see `range.rs`.
    pub(super) terms: Vec<(Word, Term)>,
    pub(super) term_of: FxHashMap<Word, u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Gate {
    And,
    Xor,
    If,
    Majority,
    Odd,
}

impl Circuit {
    /// Gates for a solver.
    pub fn new(solver: Solver) -> Self {
        Self { solver, ..Self::default() }
    }

    /// Returns a fresh literal.
    pub fn fresh(&mut self) -> Lit {
        self.solver.new_lit()
    }

    /// At least one of these is true.
    pub fn require(&mut self, clause: &[Lit]) {
        self.solver.add_clause(clause);
    }

    /// If all of `premises` are true, so is one of `conclusions`.
    pub fn imply(&mut self, premises: &[Lit], conclusions: &[Lit]) {
        let negated = premises.iter().map(|&lit| !lit);
        let clause: Vec<Lit> = negated.chain(conclusions.iter().copied()).collect();
        self.solver.add_clause(&clause);
    }

    /// Both.
    pub fn and(&mut self, a: Lit, b: Lit) -> Lit {
        match (a.min(b), a.max(b)) {
            (Lit::TRUE, other) => return other,
            (Lit::FALSE, _) => return Lit::FALSE,
            (a, b) if a == b => return a,
            (a, b) if a == !b => return Lit::FALSE,
            _ => {}
        }
        if self.is_part_of(a, b) {
            return b;
        }
        if self.is_part_of(b, a) {
            return a;
        }
        let (a, b) = (a.min(b), a.max(b));
        let solver = &mut self.solver;
        let made = *self.made.entry((Gate::And, a, b, Lit::TRUE)).or_insert_with(|| {
            let out = solver.new_lit();
            solver.add_clause(&[!out, a]);
            solver.add_clause(&[!out, b]);
            solver.add_clause(&[out, !a, !b]);
            out
        });
        self.inputs.insert(made, (a, b));
        made
    }

    /// Returns whether `part` is an input of the "and" `whole`.
    fn is_part_of(&self, part: Lit, whole: Lit) -> bool {
        self.inputs.get(&whole).is_some_and(|&(a, b)| a == part || b == part)
    }

    /// Returns one of the two, or both.
    pub fn or(&mut self, a: Lit, b: Lit) -> Lit {
        // `g && c || g && !c` is `g`: what two branches have in common.
        if let (Some(&(a1, a2)), Some(&(b1, b2))) = (self.inputs.get(&a), self.inputs.get(&b)) {
            for (common, x, y) in [(a1, a2, b2), (a2, a1, b2), (a1, a2, b1), (a2, a1, b1)] {
                if x == !y && (common == b1 || common == b2) {
                    return common;
                }
            }
        }
        !self.and(!a, !b)
    }

    /// Exactly one of the two.
    pub fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        // Only positive literals inside: signs come out.
        let flip = a.is_positive() != b.is_positive();
        let positive = |lit: Lit| if lit.is_positive() { lit } else { !lit };
        let (a, b) = (positive(a), positive(b));
        let (a, b) = (a.min(b), a.max(b));
        let out = if a == b {
            Lit::FALSE
        } else if a == Lit::TRUE {
            !b
        } else {
            let solver = &mut self.solver;
            *self.made.entry((Gate::Xor, a, b, Lit::TRUE)).or_insert_with(|| {
                let out = solver.new_lit();
                solver.add_clause(&[!out, a, b]);
                solver.add_clause(&[!out, !a, !b]);
                solver.add_clause(&[out, !a, b]);
                solver.add_clause(&[out, a, !b]);
                out
            })
        };
        if flip { !out } else { out }
    }

    /// Both or none.
    pub fn equal(&mut self, a: Lit, b: Lit) -> Lit {
        !self.xor(a, b)
    }

    /// `then` if `condition`, else `otherwise`.
    pub fn choose(&mut self, condition: Lit, then: Lit, otherwise: Lit) -> Lit {
        if !condition.is_positive() {
            return self.choose(!condition, otherwise, then);
        }
        if condition == Lit::TRUE || then == otherwise {
            return then;
        }
        match (then, otherwise) {
            (Lit::TRUE, _) => return self.or(condition, otherwise),
            (Lit::FALSE, _) => return self.and(!condition, otherwise),
            (_, Lit::TRUE) => return self.or(!condition, then),
            (_, Lit::FALSE) => return self.and(condition, then),
            _ if then == !otherwise => return self.equal(condition, then),
            _ => {}
        }
        let solver = &mut self.solver;
        *self.made.entry((Gate::If, condition, then, otherwise)).or_insert_with(|| {
            let out = solver.new_lit();
            solver.add_clause(&[!condition, !then, out]);
            solver.add_clause(&[!condition, then, !out]);
            solver.add_clause(&[condition, !otherwise, out]);
            solver.add_clause(&[condition, otherwise, !out]);
            solver.add_clause(&[!then, !otherwise, out]);
            solver.add_clause(&[then, otherwise, !out]);
            out
        })
    }

    /// At least two of the three: the carry of an adder.
    pub fn majority(&mut self, a: Lit, b: Lit, c: Lit) -> Lit {
        let mut sorted = [a, b, c];
        sorted.sort_unstable();
        let [a, b, c] = sorted;
        match (a, b, c) {
            (Lit::TRUE, ..) => return self.or(b, c),
            (Lit::FALSE, ..) => return self.and(b, c),
            _ if a == b || a == c => return a,
            _ if b == c => return b,
            _ if a == !b => return c,
            _ if b == !c => return a,
            _ => {}
        }
        let solver = &mut self.solver;
        *self.made.entry((Gate::Majority, a, b, c)).or_insert_with(|| {
            let out = solver.new_lit();
            for (x, y) in [(a, b), (a, c), (b, c)] {
                solver.add_clause(&[!x, !y, out]);
                solver.add_clause(&[x, y, !out]);
            }
            out
        })
    }

    /// Returns one of the three, or all: the sum of an adder.
    pub fn odd(&mut self, a: Lit, b: Lit, c: Lit) -> Lit {
        let positive = |lit: Lit| if lit.is_positive() { lit } else { !lit };
        let flip = [a, b, c].iter().filter(|lit| !lit.is_positive()).count() % 2 == 1;
        let mut sorted = [a, b, c].map(positive);
        sorted.sort_unstable();
        let [a, b, c] = sorted;
        let out = if a == Lit::TRUE || a == b {
            let half = self.xor(a, b);
            self.xor(half, c)
        } else if b == c {
            a
        } else {
            let solver = &mut self.solver;
            *self.made.entry((Gate::Odd, a, b, c)).or_insert_with(|| {
                let out = solver.new_lit();
                for signs in 0..8 {
                    let sign = |lit: Lit, bit: u32| if signs >> bit & 1 == 1 { lit } else { !lit };
                    let inputs_odd = (3 - u32::count_ones(signs)) % 2 == 1;
                    let result = if inputs_odd { out } else { !out };
                    solver.add_clause(&[sign(a, 0), sign(b, 1), sign(c, 2), result]);
                }
                out
            })
        };
        if flip { !out } else { out }
    }

    /// Returns all of them.
    pub fn all(&mut self, lits: &[Lit]) -> Lit {
        let mut rest: Vec<Lit> = lits.iter().copied().filter(|&lit| lit != Lit::TRUE).collect();
        rest.sort_unstable();
        rest.dedup();
        match rest.as_slice() {
            [] => Lit::TRUE,
            [one] => *one,
            [a, b] => self.and(*a, *b),
            many => {
                if many.contains(&Lit::FALSE) {
                    return Lit::FALSE;
                }
                let out = self.fresh();
                for &lit in many {
                    self.solver.add_clause(&[!out, lit]);
                }
                let clause: Vec<Lit> = many.iter().map(|&lit| !lit).chain([out]).collect();
                self.solver.add_clause(&clause);
                out
            }
        }
    }

    /// At least one of them.
    pub fn any(&mut self, lits: &[Lit]) -> Lit {
        let negated: Vec<Lit> = lits.iter().map(|&lit| !lit).collect();
        !self.all(&negated)
    }

    /// At most one of them is true.
    pub fn at_most_one(&mut self, lits: &[Lit]) {
        // A chain of "one of those so far": linear in their number.
        let mut so_far = match lits.first() {
            Some(&first) => first,
            None => return,
        };
        for &lit in &lits[1..] {
            self.require(&[!so_far, !lit]);
            let next = self.fresh();
            self.require(&[!so_far, next]);
            self.require(&[!lit, next]);
            so_far = next;
        }
    }

    /// Returns whether `a` being true is known to make `b` true: `b` is one of the conditions that `a` is
    /// made of. May say no although it is so.
    pub fn implies(&self, a: Lit, b: Lit) -> bool {
        // Beyond, the answer is no, which is always allowed.
        const FAR_ENOUGH: usize = 256;
        if b == Lit::TRUE || a == Lit::FALSE {
            return true;
        }
        let mut work = vec![a];
        let mut steps = 0;
        while let Some(lit) = work.pop() {
            steps += 1;
            if lit == b {
                return true;
            }
            if let Some(&(x, y)) = self.inputs.get(&lit)
                && steps < FAR_ENOUGH
            {
                work.extend([x, y]);
            }
        }
        false
    }
}
