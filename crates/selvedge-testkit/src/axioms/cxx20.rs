//! RC11, without what only the wording of C++20 forbids ([atomics.order]).
//!
//! There the order `S` of `SeqCst` operations also contains reads-from between them (it is part of
//! *coherence-ordered before*), and *strongly happens before* is `po ; hb ; po` with a read-modify-write as one operation. So in
//! the `scb` of RC11, `mo ∪ fr` becomes `eco`, and `po|≠loc` becomes `po \ rmw`.

use super::happens_before::{happens_before, synchronises_with};
use super::rc11::{all_but_sc, psc};
use super::relation::Relation;
use super::relations::Relations;

pub(super) fn is_consistent(x: &Relations) -> bool {
    let hb = happens_before(x);
    let po = x.po & !x.rmw;
    let scb = x.po | po.then(&hb).then(&po) | (hb & x.same_location) | x.eco;
    all_but_sc(x, &hb) && psc(x, &hb, &scb).is_acyclic()
}

/// Whether there is an order `S` as [atomics.order] p3 and p4 describe it, word for word and with a read-modify-write as one
/// operation. What is consistent here has one; RC11 forbids more than the wording does.
pub(super) fn has_an_order(x: &Relations) -> bool {
    let hb = happens_before(x);
    let one_operation = (x.rmw | x.rmw.inverse()).or_same();
    let lifted = |relation: Relation| one_operation.then(&relation).then(&one_operation);
    let coherence_ordered = (lifted(x.rf | x.mo | x.fr) & !one_operation).closure();
    let po = x.po & !x.rmw;
    let sw = synchronises_with(x).starting_in(x.seqcst).ending_in(x.seqcst);
    let strongly_before = (po | sw | po.then(&hb).then(&po)).closure();
    let fences = x.seqcst & x.fences;
    let before = Relation::identity(x.seqcst) | hb.starting_in(fences);
    let behind = Relation::identity(x.seqcst) | hb.ending_in(fences);
    let order = before.then(&coherence_ordered).then(&behind)
        | strongly_before.starting_in(x.seqcst).ending_in(x.seqcst);
    lifted(order).is_acyclic()
}
