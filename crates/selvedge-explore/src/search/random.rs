//! Pseudo-random numbers: small, seeded, the same everywhere.

/// A generator of pseudo-random numbers (SplitMix64, Steele, Lea and Flood 2014).
pub(crate) struct Random {
    state: u64,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns a generator for one of many things: what it gives depends on the seed and on that number alone.
    pub(crate) fn nth(seed: u64, number: u64) -> Self {
        let base = Self::new(seed).next();
        Self::new(Self::new(base ^ number).next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}
