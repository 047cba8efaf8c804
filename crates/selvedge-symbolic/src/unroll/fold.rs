//! Puts constants where unit clauses have decided: encodings then say less.

use super::Unrolled;
use crate::circuit::{Circuit, Word};
use crate::solver::Lit;

impl Unrolled {
    /// Replaces all literals whose value is known.
    pub(super) fn fold_known(&mut self) {
        self.circuit.solver.propagate();
        let circuit = &self.circuit;
        for event in &mut self.events {
            fold(circuit, &mut event.guard);
            for read in event.reads.values_mut() {
                fold(circuit, &mut read.guard);
                fold_word(circuit, &mut read.value);
            }
            for write in event.writes.values_mut() {
                fold(circuit, &mut write.guard);
                fold_word(circuit, &mut write.value);
            }
            let conditional = [&mut event.spawns, &mut event.joins, &mut event.wakes];
            for (lit, _) in conditional.into_iter().flatten() {
                fold(circuit, lit);
            }
            for (lit, _) in &mut event.previous {
                fold(circuit, lit);
            }
            event.previous.retain(|&(lit, _)| lit != Lit::FALSE);
        }
        for word in self.finals.values_mut() {
            fold_word(circuit, word);
        }
        for fault in self.faults.iter_mut().chain(&mut self.finally_faults) {
            fold(circuit, &mut fault.lit);
        }
        for stop in &mut self.stops {
            fold(circuit, &mut stop.lit);
            fold(circuit, &mut stop.blocked);
        }
        for racing in &mut self.racing {
            fold(circuit, &mut racing.lit);
        }
        for lit in &mut self.assumed {
            fold(circuit, lit);
        }
        for cut in &mut self.cuts {
            fold(circuit, &mut cut.lit);
        }
        for (_, lit) in &mut self.repetitions {
            fold(circuit, lit);
        }
    }
}

fn fold(circuit: &Circuit, lit: &mut Lit) {
    if let Some(value) = circuit.solver.fixed(*lit) {
        *lit = Lit::constant(value);
    }
}

fn fold_word(circuit: &Circuit, word: &mut Word) {
    if word.bits().iter().any(|&bit| circuit.solver.fixed(bit).is_some()) {
        let mut bits = word.bits().to_vec();
        bits.iter_mut().for_each(|bit| fold(circuit, bit));
        *word = bits.into_iter().collect();
    }
}
