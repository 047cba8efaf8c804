//! Sequential consistency: `po ∪ rf ∪ mo ∪ fr ∪ asw` is acyclic, and read-modify-writes are atomic.

use super::relations::Relations;

pub(super) fn is_consistent(x: &Relations) -> bool {
    x.no_thin_air() && x.atomicity() && (x.po | x.rf | x.mo | x.fr | x.asw).is_acyclic()
}
