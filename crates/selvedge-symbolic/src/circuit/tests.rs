//! Circuits against the arithmetic of the machine.

use selvedge_core::Budget;

use selvedge_testkit::Random;

use super::{Circuit, Range, Word};
use crate::solver::{Answer, Lit};

const INTERESTING: [i32; 12] =
    [0, 1, -1, 2, 3, -7, 10, 46_341, -46_341, i32::MAX, i32::MIN, i32::MIN + 1];

/// An operation of the circuit, and what it should give; `None` is a fault.
struct Operation {
    name: &'static str,
    circuit: fn(&mut Circuit, &Word, &Word) -> (Word, Lit),
    machine: fn(i32, i32) -> Option<i32>,
}

const OPERATIONS: [Operation; 15] = [
    Operation { name: "+", circuit: |c, a, b| c.add(a, b), machine: i32::checked_add },
    Operation { name: "-", circuit: |c, a, b| c.subtract(a, b), machine: i32::checked_sub },
    Operation { name: "*", circuit: |c, a, b| c.multiply(a, b), machine: i32::checked_mul },
    Operation {
        name: "/",
        circuit: |c, a, b| {
            let zero = c.is(b, 0);
            let (quotient, _, overflow) = c.divide(a, b);
            (quotient, c.or(zero, overflow))
        },
        machine: i32::checked_div,
    },
    Operation {
        name: "%",
        circuit: |c, a, b| {
            let zero = c.is(b, 0);
            let (_, remainder, overflow) = c.divide(a, b);
            (remainder, c.or(zero, overflow))
        },
        machine: i32::checked_rem,
    },
    Operation { name: "neg", circuit: |c, a, _| c.negate(a), machine: |a, _| a.checked_neg() },
    Operation { name: "abs", circuit: |c, a, _| c.absolute(a), machine: |a, _| a.checked_abs() },
    Operation {
        name: "&",
        circuit: |c, a, b| (c.bits_and(a, b), Lit::FALSE),
        machine: |a, b| Some(a & b),
    },
    Operation {
        name: "|",
        circuit: |c, a, b| (c.bits_or(a, b), Lit::FALSE),
        machine: |a, b| Some(a | b),
    },
    Operation {
        name: "^",
        circuit: |c, a, b| (c.bits_xor(a, b), Lit::FALSE),
        machine: |a, b| Some(a ^ b),
    },
    Operation {
        name: "~",
        circuit: |_, a, _| (a.complement(), Lit::FALSE),
        machine: |a, _| Some(!a),
    },
    Operation {
        name: "<<",
        circuit: |c, a, b| c.shift_left(a, b),
        machine: |a, b| (0..32).contains(&b).then(|| a << b),
    },
    Operation {
        name: ">>",
        circuit: |c, a, b| c.shift_right(a, b),
        machine: |a, b| (0..32).contains(&b).then(|| a >> b),
    },
    Operation {
        name: "<",
        circuit: |c, a, b| (Word::boolean(c.less(a, b)), Lit::FALSE),
        machine: |a, b| Some(i32::from(a < b)),
    },
    Operation {
        name: "==",
        circuit: |c, a, b| (Word::boolean(c.equal_words(a, b)), Lit::FALSE),
        machine: |a, b| Some(i32::from(a == b)),
    },
];

#[test]
fn constants_are_folded_rightly() {
    for operation in &OPERATIONS {
        for a in INTERESTING {
            for b in INTERESTING {
                let mut circuit = Circuit::default();
                let before = circuit.solver.size();
                let (word, fault) =
                    (operation.circuit)(&mut circuit, &Word::integer(a), &Word::integer(b));
                assert_eq!(circuit.solver.size(), before, "constants cost nothing");
                let fault = fault.as_constant().unwrap();
                let found = (!fault).then(|| word.as_constant().unwrap());
                assert_eq!(found, (operation.machine)(a, b), "{a} {} {b}", operation.name);
            }
        }
    }
}

#[test]
fn unknown_words_compute_the_same() {
    let mut dice = Random::new(11);
    for operation in &OPERATIONS {
        let mut circuit = Circuit::default();
        let (a, b) = (circuit.fresh_word(32), circuit.fresh_word(32));
        let (word, fault) = (operation.circuit)(&mut circuit, &a, &b);
        for round in 0..40 {
            let mut pick = || match round % 2 {
                0 => INTERESTING[dice.below(INTERESTING.len())],
                _ => dice.number() as i32 >> dice.below(30),
            };
            let (x, y) = (pick(), pick());
            let bits = a
                .bits()
                .iter()
                .zip(Word::integer(x).bits().to_vec())
                .chain(b.bits().iter().zip(Word::integer(y).bits().to_vec()));
            let assumptions: Vec<Lit> =
                bits.map(|(&bit, value)| if value == Lit::TRUE { bit } else { !bit }).collect();
            assert_eq!(circuit.solver.solve(&assumptions, &Budget::unlimited()), Answer::Sat);
            let found = (!circuit.solver.value(fault)).then(|| word.value(&circuit));
            assert_eq!(found, (operation.machine)(x, y), "{x} {} {y}", operation.name);
        }
    }
}

#[test]
fn equations_are_solved() {
    let mut circuit = Circuit::default();
    let (a, b) = (circuit.fresh_word(32), circuit.fresh_word(32));
    let (product, overflow) = circuit.multiply(&a, &b);
    let goal = [circuit.is(&product, 35), !overflow, circuit.is(&a, 5)];
    assert_eq!(circuit.solver.solve(&goal, &Budget::unlimited()), Answer::Sat);
    assert_eq!(b.value(&circuit), 7);
}

#[test]
fn what_branches_have_in_common() {
    let mut circuit = Circuit::default();
    let [g, c, d] = [(); 3].map(|()| circuit.fresh());
    let (then, otherwise) = (circuit.and(g, c), circuit.and(g, !c));
    assert_eq!(circuit.or(then, otherwise), g);
    let deeper = circuit.and(then, d);
    assert!(circuit.implies(deeper, g) && circuit.implies(deeper, d));
    assert!(!circuit.implies(g, deeper));
}

#[test]
fn at_most_one_of_many() {
    for count in 0..6 {
        let mut circuit = Circuit::default();
        let lits: Vec<Lit> = (0..count).map(|_| circuit.fresh()).collect();
        circuit.at_most_one(&lits);
        let mut models = 0;
        while circuit.solver.solve(&[], &Budget::unlimited()) == Answer::Sat {
            models += 1;
            let block: Vec<Lit> = lits
                .iter()
                .map(|&lit| if circuit.solver.value(lit) { !lit } else { lit })
                .collect();
            circuit.require(&block);
        }
        assert_eq!(models, count + 1);
    }
}

#[test]
fn exactly_the_values_of_a_range_are_left() {
    for (low, high) in
        [(1, 1), (0, 0), (-1, -1), (0, 1), (-1, 0), (-3, 5), (3, 6), (-6, -3), (-8, 7)]
    {
        let mut circuit = Circuit::default();
        let word = circuit.fresh_word(4);
        circuit.require_range(&word, Range { low, high });
        let values = (-8..8).filter(|&value| {
            let is = circuit.is(&word, value);
            circuit.solver.solve(&[is], &Budget::unlimited()) == Answer::Sat
        });
        assert_eq!(values.map(i64::from).collect::<Vec<_>>(), (low..=high).collect::<Vec<_>>());
    }
}

#[test]
fn ranges_contain_what_is_computed() {
    let mut dice = Random::new(5);
    for _ in 0..60 {
        let mut circuit = Circuit::default();
        let inputs = [(); 3].map(|()| circuit.fresh_word(32));
        let limits = [(); 3].map(|()| {
            let (a, b) =
                (dice.number() as i32 >> dice.below(32), dice.number() as i32 >> dice.below(32));
            (a.min(b), a.max(b))
        });
        // Words with what a machine computes for the inputs; `None` is a fault.
        let values = limits.map(|(low, high)| {
            let span = i64::from(high) - i64::from(low) + 1;
            (i64::from(low) + (dice.number() >> 1) as i64 % span) as i32
        });
        let mut words: Vec<(Word, Option<i32>)> =
            inputs.iter().cloned().zip(values.map(Some)).collect();
        for _ in 0..8 {
            let (a, b) =
                (words[dice.below(words.len())].clone(), words[dice.below(words.len())].clone());
            let next = if dice.below(4) == 0 {
                let first = dice.below(2) == 0;
                let condition = circuit.fresh();
                let word = circuit.choose_word(condition, &a.0, &b.0);
                (word, if first { a.1 } else { b.1 })
            } else {
                let operation = &OPERATIONS[dice.below(7)];
                let word = (operation.circuit)(&mut circuit, &a.0, &b.0).0;
                (word, a.1.zip(b.1).and_then(|(a, b)| (operation.machine)(a, b)))
            };
            words.push(next);
        }
        let known = |word: &Word| {
            let at = inputs.iter().position(|input| input == word)?;
            Some(Range { low: limits[at].0.into(), high: limits[at].1.into() })
        };
        for (word, value) in words {
            let computation = circuit.computation(&word, |word| inputs.contains(word));
            let range = circuit.range(&word, &computation, known);
            if let Some(value) = value.map(i64::from) {
                assert!(range.low <= value && value <= range.high, "{value} is not in {range:?}");
            }
        }
    }
}
