//! What is asked of the solver.

use super::racing::{Race, races};
use crate::solver::Lit;
use crate::unroll::{CutReason, FaultSite, Unrolled};

/// Something that can be wrong.
#[derive(Clone, Copy, Debug)]
pub enum Wrong {
    /// At an instruction.
    Fault(FaultSite),
    /// Threads are blocked, and no thread can unblock them.
    Deadlock,
    /// Two threads stand before accesses to one variable.
    Race(Race),
}

/// Literals that stand for questions.
#[derive(Clone, Debug)]
pub struct Goals {
    /// No thread can go on, none failed, and none was dropped or cut.
    pub maximal: Lit,
    /// All that can be wrong, each with its literal.
    pub wrong: Vec<(Lit, Wrong)>,
    /// Any of them.
    pub violated: Lit,
    /// Something without an encoding is reached.
    pub unsupported: Lit,
}

impl Goals {
    /// Returns the questions about an unrolled program.
    pub fn new(unrolled: &mut Unrolled) -> Self {
        let circuit = &mut unrolled.circuit;
        let maximal = circuit.fresh();
        for stop in &unrolled.stops {
            circuit.imply(&[maximal, stop.lit], &[stop.blocked]);
        }
        let ended = unrolled.faults.iter().map(|fault| fault.lit);
        let ended = ended.chain(unrolled.assumed.iter().copied());
        for lit in ended.chain(unrolled.cuts.iter().map(|cut| cut.lit)) {
            // Cuts in `finally` come after the end.
            if lit != unrolled.finally_runs && !circuit.implies(lit, unrolled.finally_runs) {
                circuit.require(&[!maximal, !lit]);
            }
        }
        let waiting: Vec<Lit> = unrolled
            .stops
            .iter()
            .filter(|stop| {
                let thread = unrolled.events[stop.event.index()].thread;
                !unrolled.threads[thread].daemon
            })
            .map(|stop| stop.lit)
            .collect();
        let waits = circuit.any(&waiting);
        circuit.imply(&[unrolled.finally_runs], &[maximal]);
        circuit.imply(&[unrolled.finally_runs], &[!waits]);

        let mut wrong: Vec<(Lit, Wrong)> = Vec::new();
        for &fault in unrolled.faults.iter().chain(&unrolled.finally_faults) {
            wrong.push((fault.lit, Wrong::Fault(fault)));
        }
        let deadlock = circuit.and(maximal, waits);
        if deadlock != Lit::FALSE {
            wrong.push((deadlock, Wrong::Deadlock));
        }
        wrong.extend(races(unrolled));
        let circuit = &mut unrolled.circuit;
        let lits: Vec<Lit> = wrong.iter().map(|&(lit, _)| lit).collect();
        let violated = circuit.any(&lits);
        let unsupported: Vec<Lit> = unrolled
            .cuts
            .iter()
            .filter(|cut| matches!(cut.reason, CutReason::Unsupported(_)))
            .map(|cut| cut.lit)
            .collect();
        let unsupported = circuit.any(&unsupported);
        Self { maximal, wrong, violated, unsupported }
    }
}
