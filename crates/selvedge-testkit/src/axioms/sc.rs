//! Sequential consistency: `po ∪ rf ∪ mo ∪ fr ∪ asw` is acyclic, and read-modify-writes are atomic.

use super::meetings::between;
use super::relations::Relations;

pub(super) fn is_consistent(x: &Relations) -> bool {
    let order = between(&x.steps, x.po | x.rf | x.mo | x.fr | x.asw);
    x.no_thin_air() && x.atomicity() && order.is_acyclic()
}
