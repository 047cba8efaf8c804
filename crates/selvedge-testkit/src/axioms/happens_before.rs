//! Happens-before, and data races.

use super::relation::{Relation, Set};
use super::relations::Relations;

/// `hb = (po ∪ sw ∪ asw)⁺`, with the release sequences of C++20:
///
/// ```text
/// rs = [W ⊒ rlx] ; (rf ; rmw)*
/// sw = [⊒ rel] ; ([F] ; po)? ; rs ; rf ; [R ⊒ rlx] ; (po ; [F])? ; [⊒ acq]
/// ```
pub(super) fn happens_before(x: &Relations) -> Relation {
    (x.po | synchronises_with(x) | x.asw).closure()
}

pub(super) fn synchronises_with(x: &Relations) -> Relation {
    let is_atomic = |set: Set| Set(set.0 & !x.plain.0 & !x.conditions.0);
    let updates = x.rf.then(&x.rmw).closure().or_same();
    let rs = updates.starting_in(is_atomic(x.writes));
    let released = x.po.starting_in(x.fences).or_same().starting_in(x.release);
    let acquired = x.po.ending_in(x.fences).or_same().ending_in(x.acquire);
    released.then(&rs).then(&x.rf.ending_in(is_atomic(x.reads))).then(&acquired)
}

/// Pairs of accesses at one location by different threads, not both reads, at least one not atomic, and neither
/// happens before the other. The first of each pair has the smaller number.
pub(super) fn data_races(x: &Relations) -> impl Iterator<Item = (usize, usize)> {
    let hb = happens_before(x);
    let unordered = !(hb | hb.inverse());
    let writes = x.same_location.starting_in(x.writes) | x.same_location.ending_in(x.writes);
    let plain = x.same_location.starting_in(x.plain) | x.same_location.ending_in(x.plain);
    let races = unordered & writes & plain & !x.same_thread;
    let pairs = move |a: usize| races.row(a).iter().filter(move |&b| a < b).map(move |b| (a, b));
    (0..super::MOST_EVENTS).flat_map(pairs)
}
