//! The secret in the address.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::SystemTime;

/// Returns 32 digits that cannot be guessed: SipHash with keys from the system's source of randomness.
pub(super) fn new() -> String {
    let part = || {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        hasher.write_u128(now.map_or(0, |time| time.as_nanos()));
        hasher.finish()
    };
    format!("{:016x}{:016x}", part(), part())
}

/// Compares in a time that does not depend on where the two differ.
pub(super) fn is_same(a: &str, b: &str) -> bool {
    let differences = a.bytes().zip(b.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        let (a, b) = (new(), new());
        assert_eq!(a.len(), 32);
        assert_ne!(a, b);
        assert!(is_same(&a, &a.clone()));
        assert!(!is_same(&a, &b) && !is_same(&a, &a[1..]) && !is_same(&a, ""));
    }
}
