//! Hashes that tell whether something is still what it was.

use std::fmt::{self, Display, Write};

/// FNV-1a, 64 bits: the same on every machine, and needs nothing.
struct Fnv1a(u64);

impl Write for Fnv1a {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl Fnv1a {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, bytes: &[u8]) {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        self.0 = bytes.iter().fold(self.0, step);
    }

    /// Returns the hash, with the name of the method.
    fn named(&self) -> String {
        format!("fnv1a-64:{:016x}", self.0)
    }
}

/// Returns the hash of some bytes.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "compiled programs and builds are told apart")
)]
pub(crate) fn hash_of_bytes(bytes: &[u8]) -> String {
    let mut hash = Fnv1a::EMPTY;
    hash.add(bytes);
    hash.named()
}

/// Returns the hash of a text, with the name of the method.
pub(crate) fn hash(text: &dyn Display) -> String {
    let mut hash = Fnv1a::EMPTY;
    write!(hash, "{text}").expect("internal error: a hash takes every text");
    hash.named()
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
