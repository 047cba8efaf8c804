//! A number for what lies in memory.

/// Takes in words, and makes a number of all of them.
pub(crate) struct Sum(u64, u64);

impl Sum {
    pub(crate) fn new() -> Self {
        Self(1, 2)
    }

    pub(crate) fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.1 = (self.1.rotate_left(11) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93);
    }

    pub(crate) fn number(&self) -> u128 {
        u128::from(self.0) << 64 | u128::from(self.1)
    }

    /// All words between two addresses.
    ///
    /// # Safety
    /// What lies there can be read.
    pub(crate) unsafe fn add_memory(&mut self, from: usize, to: usize) {
        self.add((to - from) as u64);
        let mut at = from & !7;
        while at < to {
            // SAFETY: the caller promises that it can be read; both ends lie in memory that is made of
            // whole pages. Volatile: there may be bytes that were never written.
            self.add(unsafe { std::ptr::read_volatile(at as *const u64) });
            at += 8;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Sum;

    /// A state whose number says less than the sums is more likely to be taken for another.
    #[test]
    fn all_bits_of_both_sums_count() {
        let one_bit = (0..64).flat_map(|bit| [Sum(1 << bit, 0), Sum(0, 1 << bit)]);
        let numbers: BTreeSet<u128> = one_bit.map(|sum| sum.number()).collect();
        assert_eq!(numbers.len(), 128);
        assert!(!numbers.contains(&Sum(0, 0).number()));
    }

    #[test]
    fn the_order_of_words_counts() {
        let number = |words: [u64; 3]| {
            let mut sum = Sum(1, 2);
            words.iter().for_each(|&word| sum.add(word));
            sum.number()
        };
        let all = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1], [0, 0, 6]];
        assert_eq!(all.map(number).into_iter().collect::<BTreeSet<_>>().len(), all.len());
    }
}
