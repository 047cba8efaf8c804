//! Hashes that tell whether something is still what it was.

use std::fmt::{self, Display, Write};

/// FNV-1a, 64 bits: the same on every machine, and needs nothing.
struct Fnv1a(u64);

impl Write for Fnv1a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = text.bytes().fold(self.0, step);
        Ok(())
    }
}

/// Returns the hash of a text, with the name of the method.
pub(crate) fn hash(text: &dyn Display) -> String {
    let mut hash = Fnv1a(0xcbf2_9ce4_8422_2325);
    write!(hash, "{text}").expect("internal error: a hash takes every text");
    format!("fnv1a-64:{:016x}", hash.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        assert_eq!(hash(&""), "fnv1a-64:cbf29ce484222325");
        assert_eq!(hash(&"foobar"), "fnv1a-64:85944171f73967e8");
    }
}
