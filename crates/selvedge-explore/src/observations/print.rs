//! Fingerprints: 128 bits that name an event together with its causal past.

/// The name of an event: equal for two events exactly if they have the same causal past, up to
/// collisions of 128-bit numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(super) struct Print(u128);

impl Print {
    /// Returns a first print that tells `kind` apart from others.
    pub(super) fn start(kind: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834).with(kind)
    }

    /// Returns the print of what came before, followed by `number`.
    #[inline]
    pub(super) fn with(self, number: u64) -> Self {
        let (low, high) = (self.0 as u64, (self.0 >> 64) as u64);
        let low = scramble(low ^ number.wrapping_mul(0xa076_1d64_78bd_642f));
        let high = scramble(high.rotate_left(23) ^ number).wrapping_add(low);
        Self(u128::from(high) << 64 | u128::from(low.wrapping_add(high.rotate_left(41))))
    }

    /// Returns the print of what came before, followed by another one.
    #[inline]
    pub(super) fn then(self, other: Print) -> Self {
        self.with(other.0 as u64).with((other.0 >> 64) as u64)
    }

    /// Puts a member into a set: the order in which members come does not matter.
    #[inline]
    pub(super) fn and(self, other: Print) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

/// Returns the finaliser of splitmix64: every bit of the input changes half of the output.
#[inline]
fn scramble(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_counts_in_sequences_and_not_in_sets() {
        let (a, b) = (Print::start(1), Print::start(2));
        assert_ne!(a.then(b), b.then(a));
        assert_eq!(a.and(b), b.and(a));
        assert_ne!(a.with(0), a);
        assert_ne!(a.with(0).with(1), a.with(1).with(0));
    }

    #[test]
    fn no_collisions_among_many() {
        let mut prints: Vec<Print> =
            (0..1000).flat_map(|i| (0..100).map(move |j| Print::start(i).with(j))).collect();
        prints.sort_unstable();
        prints.dedup();
        assert_eq!(prints.len(), 100_000);
    }
}
