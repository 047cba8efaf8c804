//! The hash of a state.
//!
//! Sixteen bytes at a time are multiplied to 128 bits, whose halves are added without carry (as in Wang Yi's wyhash): each bit of
//! the state changes about half of the bits of the hash. It is the same on every machine and in every run.

/// 64 bits that depend on all bytes of a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Hash(u64);

/// Odd numbers with as many ones as zeros.
const A: u64 = 0xA076_1D64_78BD_642F;
const B: u64 = 0xE703_7ED1_A0B4_28DB;
const C: u64 = 0x8EBC_6AF0_9C88_C6E3;

impl Hash {
    /// Returns the hash of some bytes. Fewer bits than 64 are for tests.
    #[inline]
    pub(super) fn of(bytes: &[u8], bits: u32) -> Hash {
        let mut state = C;
        let (pairs, rest) = bytes.as_chunks::<16>();
        for pair in pairs {
            state = mix(state, pair);
        }
        // The last bytes, some of which may have been there before; the length tells how many.
        state = match bytes.last_chunk::<16>() {
            Some(_) if rest.is_empty() => state,
            Some(last) => mix(state, last),
            None => {
                let mut last = [0; 16];
                last[..rest.len()].copy_from_slice(rest);
                mix(state, &last)
            }
        };
        state = fold(state ^ A, bytes.len() as u64 ^ B);
        Hash(state & !u64::MAX.checked_shr(bits).unwrap_or(0))
    }

    /// Returns its lower half.
    #[inline]
    pub(super) fn lower(self) -> u32 {
        self.0 as u32
    }

    /// Returns its upper half.
    #[inline]
    pub(super) fn upper(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Takes in sixteen bytes.
#[inline]
fn mix(state: u64, bytes: &[u8; 16]) -> u64 {
    let both = u128::from_le_bytes(*bytes);
    fold(both as u64 ^ A, (both >> 64) as u64 ^ state)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each bit of the input, and the length, changes a fair share of the bits.
    #[test]
    fn all_bits_count() {
        for length in 0..40 {
            let bytes = vec![0x5A; length];
            let hash = Hash::of(&bytes, u64::BITS);
            let longer = Hash::of(&[&bytes[..], &[0]].concat(), u64::BITS);
            assert!((12..=52).contains(&(hash.0 ^ longer.0).count_ones()), "{length}");
            for bit in 0..8 * length {
                let mut other = bytes.clone();
                other[bit / 8] ^= 1 << (bit % 8);
                let differing = (hash.0 ^ Hash::of(&other, u64::BITS).0).count_ones();
                assert!((12..=52).contains(&differing), "bit {bit} of {length} bytes: {differing}");
            }
        }
    }

    /// Hashes of short states that differ in little are spread as random numbers would be.
    #[test]
    fn no_two_of_many_are_the_same() {
        let mut hashes: Vec<Hash> = Vec::new();
        for number in 0_u32..300_000 {
            let bytes: Vec<u8> = (0..20).map(|at| (number >> at) as u8 & 1).collect();
            hashes.push(Hash::of(&bytes, u64::BITS));
        }
        let mut upper: Vec<u32> = hashes.iter().map(|hash| hash.upper()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 300_000);
        upper.sort_unstable();
        upper.dedup();
        // 300,000^2 / 2^33: about ten pairs.
        assert!((299_960..=300_000).contains(&upper.len()), "{}", upper.len());
        assert_eq!(Hash::of(b"few bits", 8).0 & (u64::MAX >> 8), 0);
    }
}
