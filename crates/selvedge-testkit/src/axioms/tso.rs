//! x86-TSO, as in *x86-TSO: A Rigorous and Usable Programmer's Model for x86 Multiprocessors*, in axioms:
//!
//! 1. `po|loc ∪ rf ∪ mo ∪ fr` is acyclic;
//! 2. read-modify-writes are atomic;
//! 3. `kept ∪ rfe ∪ mo ∪ fr ∪ asw` is acyclic.
//!
//! `kept` is program order between accesses, spawns and joins, without the pairs of a write and a later read that have nothing
//! at or between them which drains the store buffer: locked instructions (read-modify-writes, also failed ones, and
//! `SeqCst` stores, which are compiled to them), `SeqCst` fences, spawn and join. Other fences are no instructions.

use super::meetings::between;
use super::relations::Relations;

pub(super) fn is_consistent(x: &Relations) -> bool {
    let accesses = x.reads | x.writes;
    let nodes = accesses | x.starts_and_ends | x.woken;
    let drains = x.locked | (x.seqcst & (x.writes | x.fences)) | x.starts_and_ends;
    let delayed = x.po.starting_in(x.writes).ending_in(x.reads);
    let drained =
        x.po.or_same()
            .starting_in(x.writes)
            .ending_in(drains)
            .then(&x.po.or_same().ending_in(x.reads));
    let kept = (x.po.starting_in(nodes).ending_in(nodes) & !delayed) | (delayed & drained);
    let rfe = x.rf & !x.same_thread;
    let asw = x.asw.starting_in(nodes).ending_in(nodes);
    x.no_thin_air()
        && x.atomicity()
        && ((x.po & x.same_location) | x.rf | x.mo | x.fr).is_acyclic()
        && between(&x.steps, kept | rfe | x.mo | x.fr | asw).is_acyclic()
}
