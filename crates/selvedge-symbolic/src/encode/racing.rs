//! Data races: two threads stand before accesses to one variable.
//!
//! The explorers look for two accesses in an execution that happens-before does not order (`selvedge-explore`,
//! `outcome/data_race.rs`). If there are any, take those of which the second comes first in the execution. What happens
//! before either of them is an execution of its own: nothing else races there, so each read still observes the write that it
//! observed, which happens before it. After it both threads stand before their accesses. So there is a data race if and
//! only if two threads can stand before accesses that conflict, at least one of them plain. The argument needs that a read
//! of an atomic variable happens after the write that it observes; with weaker memory orderings
//! ([`has_weak_orders`](crate::unroll::has_weak_orders)) the verdict is inconclusive.
//!
//! **Differs from the explorers:** a data race that needs another one before it is not found. The other one is.
//! **Tests:** `tests/races.rs`: the same verdicts as `optimal` with `--races`, and no race that it does not find.

use std::collections::BTreeMap;

use super::goals::Wrong;
use crate::circuit::Circuit;
use crate::solver::Lit;
use crate::unroll::{CellId, Kind, Racing, Unrolled};

/// Two threads and a variable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Race {
    /// What both access.
    pub cell: CellId,
    /// Who.
    pub threads: [usize; 2],
    /// Whether the two accesses conflict in any case. If not, a replay decides.
    pub is_certain: bool,
}

/// Returns the data races of an unrolled program, one per variable and pair of threads, those that are certain first.
pub(super) fn races(unrolled: &mut Unrolled) -> Vec<(Lit, Wrong)> {
    let mut accesses: BTreeMap<(CellId, usize), BTreeMap<Kind, Vec<Lit>>> = BTreeMap::new();
    for &Racing { lit, cell, kind, thread } in &unrolled.racing {
        accesses.entry((cell, thread)).or_default().entry(kind).or_default().push(lit);
    }
    let circuit = &mut unrolled.circuit;
    let all: Vec<(CellId, usize, BTreeMap<Kind, Lit>)> = accesses
        .into_iter()
        .map(|((cell, thread), kinds)| {
            let kinds = kinds.into_iter().map(|(kind, lits)| (kind, circuit.any(&lits)));
            (cell, thread, kinds.collect())
        })
        .collect();
    let mut found = Vec::new();
    for is_certain in [true, false] {
        for (index, (cell, first, mine)) in all.iter().enumerate() {
            let others = all[index + 1..].iter().take_while(|(other, ..)| other == cell);
            for (_, second, theirs) in others {
                let lit = conflict(circuit, mine, theirs, is_certain);
                if lit != Lit::FALSE {
                    let race = Race { cell: *cell, threads: [*first, *second], is_certain };
                    found.push((lit, Wrong::Race(race)));
                }
            }
        }
    }
    found
}

fn conflict(
    circuit: &mut Circuit,
    mine: &BTreeMap<Kind, Lit>,
    theirs: &BTreeMap<Kind, Lit>,
    is_certain: bool,
) -> Lit {
    let mut lits = Vec::new();
    for (&a, &first) in mine {
        for (&b, &second) in theirs {
            if kinds_conflict(a, b) == Some(is_certain) {
                lits.push(circuit.and(first, second));
            }
        }
    }
    circuit.any(&lits)
}

/// Returns whether accesses of these kinds race: in any case, or depending on what an atomic one does; `None` if never.
fn kinds_conflict(a: Kind, b: Kind) -> Option<bool> {
    match (a.min(b), a.max(b)) {
        (Kind::Read, Kind::Read) => None,
        (Kind::Read | Kind::Write, Kind::Block) | (Kind::Read, Kind::Exchange) => Some(false),
        (Kind::Read | Kind::Write, _) => Some(true),
        _ => None,
    }
}
