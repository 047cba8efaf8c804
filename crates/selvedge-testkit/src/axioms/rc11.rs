//! RC11: *Repairing Sequential Consistency in C/C++11* (Lahav, Vafeiadis, Kang, Hur, Dreyer; PLDI 2017), section 3, with the
//! release sequences of C++20.
//!
//! - coherence: `hb ; eco?` is irreflexive;
//! - atomicity: `rmw ∩ (fr ; mo)` is empty;
//! - SC: `psc` is acyclic;
//! - no thin air: `po ∪ rf` is acyclic.
//!
//! And, where threads have mailboxes, each ends in its last step: happens-before, with what finds a thread alive before its end, is
//! acyclic between steps.
//!
//! ```text
//! scb      = po ∪ po|≠loc ; hb ; po|≠loc ∪ hb|loc ∪ mo ∪ fr
//! psc_base = ([SC] ∪ [F SC] ; hb?) ; scb ; ([SC] ∪ hb? ; [F SC])
//! psc_F    = [F SC] ; (hb ∪ hb ; eco ; hb) ; [F SC]
//! psc      = psc_base ∪ psc_F
//! ```

use super::happens_before::happens_before;
use super::meetings::between;
use super::relation::Relation;
use super::relations::Relations;

pub(super) fn is_consistent(x: &Relations) -> bool {
    let hb = happens_before(x);
    let elsewhere = x.po & !x.same_location;
    let scb = x.po | elsewhere.then(&hb).then(&elsewhere) | (hb & x.same_location) | x.mo | x.fr;
    all_but_sc(x, &hb) && psc(x, &hb, &scb).is_acyclic()
}

/// The axioms other than SC.
pub(super) fn all_but_sc(x: &Relations, hb: &Relation) -> bool {
    let ends = between(&x.steps, *hb | x.alive).is_acyclic();
    x.no_thin_air() && x.atomicity() && ends && hb.then(&x.eco.or_same()).is_irreflexive()
}

/// The order that `SeqCst` accesses and fences must have, with this `scb`.
pub(super) fn psc(x: &Relations, hb: &Relation, scb: &Relation) -> Relation {
    let fences = x.seqcst & x.fences;
    let seqcst = Relation::identity(x.seqcst);
    let before = seqcst | hb.or_same().starting_in(fences);
    let behind = seqcst | hb.or_same().ending_in(fences);
    let psc_base = before.then(scb).then(&behind);
    let psc_f = (*hb | hb.then(&x.eco).then(hb)).starting_in(fences).ending_in(fences);
    psc_base | psc_f
}
