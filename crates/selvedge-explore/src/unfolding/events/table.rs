//! A hash table of numbers whose keys are stored elsewhere.

/// Numbers by the hash of their key. Open addressing; nothing is ever taken out alone.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// A power of two of them, at most half of them taken.
    slots: Vec<Option<Slot>>,
    len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    /// One more than the number, so that a free slot takes no more room.
    number: std::num::NonZeroU32,
}

const FEWEST_SLOTS: usize = 64;

impl Table {
    /// Returns the number with this hash that `is_it`.
    #[inline]
    pub(crate) fn find(&self, hash: u32, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some(slot) = self.slots[at] {
            let number = slot.number.get() as usize - 1;
            if slot.hash == hash && is_it(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
        None
    }

    /// Adds a number that is not in it.
    pub(crate) fn insert(&mut self, hash: u32, number: usize) {
        if (self.len + 1) * 2 > self.slots.len() {
            let larger = vec![None; (self.slots.len() * 2).max(FEWEST_SLOTS)];
            for slot in std::mem::replace(&mut self.slots, larger).into_iter().flatten() {
                self.put(slot);
            }
        }
        self.len += 1;
        let number = u32::try_from(number + 1).ok().and_then(std::num::NonZeroU32::new);
        let number = number.expect("internal error: more than 2^32 events");
        self.put(Slot { hash, number });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes everything out.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.slots.fill(None);
    }

    /// Takes everything out, and gives memory back if it is much.
    pub(crate) fn clear_and_shrink(&mut self) {
        if self.len > 0 {
            self.slots.truncate(FEWEST_SLOTS);
            self.clear();
        }
    }

    fn put(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.hash as usize & mask;
        while self.slots[at].is_some() {
            at = (at + 1) & mask;
        }
        self.slots[at] = Some(slot);
    }
}

/// Mixes numbers into a hash whose low bits are good.
#[inline]
pub(crate) fn hash(numbers: impl IntoIterator<Item = u32>) -> u32 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = numbers.into_iter().fold(0_u64, |mixed, number| {
        (mixed.rotate_left(5) ^ u64::from(number)).wrapping_mul(FACTOR)
    });
    (mixed >> 32) as u32 & BITS
}

/// Unit tests use few bits of a hash: many keys share one there, and must be told apart by their content.
const BITS: u32 = if cfg!(test) { 0b11 } else { u32::MAX };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found() {
        let mut table = Table::default();
        // Few different hashes, so that many numbers share one.
        let hash_of = |number: usize| hash([number as u32 % 17]);
        for number in 0..1000 {
            assert_eq!(table.find(hash_of(number), |other| other == number), None);
            table.insert(hash_of(number), number);
        }
        for number in 0..1000 {
            assert_eq!(table.find(hash_of(number), |other| other == number), Some(number));
        }
        assert_eq!(table.find(hash_of(3), |_| false), None);
        for clear in [Table::clear, Table::clear_and_shrink] {
            clear(&mut table);
            assert!(table.is_empty() && table.find(hash_of(3), |_| true).is_none());
            table.insert(hash_of(3), 3);
            assert_eq!(table.find(hash_of(3), |_| true), Some(3));
        }
    }
}
