//! Pseudo-random numbers: small, seeded, the same on every machine.

use std::ops::RangeInclusive;

use selvedge_core::{Status, Step, System, ThreadId};

/// A generator of pseudo-random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The same seed yields the same numbers.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        // The bias of the remainder is far below what a test could notice.
        (self.number() % n as u64) as usize
    }

    /// A number in `range`.
    pub fn within(&mut self, range: &RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `items`.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// Returns a step that the system can take. `None`: no thread is enabled.
    pub fn step(&mut self, system: &impl System) -> Option<Step> {
        let threads = (0..system.thread_count()).map(ThreadId::new);
        let enabled: Vec<ThreadId> =
            threads.filter(|&thread| system.status(thread) == Status::Enabled).collect();
        if enabled.is_empty() {
            return None;
        }
        let thread = *self.pick(&enabled);
        Some(Step { thread, choice: self.below(system.choices(thread) as usize) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_all_of_a_range() {
        let (mut a, mut b) = (Random::new(7), Random::new(7));
        let mut seen = [false; 5];
        for _ in 0..100 {
            let number = a.within(&(3..=7));
            assert_eq!(number, b.within(&(3..=7)));
            seen[number - 3] = true;
        }
        assert_eq!(seen, [true; 5]);
        assert_ne!(Random::new(1).number(), Random::new(2).number());
    }
}
