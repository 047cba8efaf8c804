//! A cache under a reader-writer lock: look, and compute what is missing.
//!
//! `cargo run --example cache` shows the report for a version that computes a value twice.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use std::collections::BTreeMap;

use selvedge::sync::atomic::AtomicUsize;
use selvedge::sync::atomic::Ordering::SeqCst;
use selvedge::sync::{Arc, RwLock};
use selvedge::{Builder, Outcome, thread};

#[derive(Default)]
struct Cache {
    values: RwLock<BTreeMap<u32, u32>>,
    /// How often a value was computed.
    computed: AtomicUsize,
}

impl Cache {
    /// `again`: whether to look again once the lock is held for writing. Another thread may have
    /// been there in between.
    fn get(&self, key: u32, again: bool) -> u32 {
        if let Some(&value) = self.values.read().unwrap().get(&key) {
            return value;
        }
        let mut values = self.values.write().unwrap();
        if again && let Some(&value) = values.get(&key) {
            return value;
        }
        self.computed.fetch_add(1, SeqCst);
        values.insert(key, key * key);
        key * key
    }
}

#[track_caller]
fn explore(again: bool) -> Outcome {
    Builder::new().explore(move || {
        let cache = Arc::new(Cache::default());
        let other = {
            let cache = Arc::clone(&cache);
            thread::spawn(move || cache.get(3, again))
        };
        assert_eq!(cache.get(3, again), 9);
        assert_eq!(other.join().unwrap(), 9);
        assert_eq!(cache.computed.load(SeqCst), 1, "a value is computed once");
    })
}

fn main() {
    println!("{}", explore(false).text());
    println!("mended:\n{}", explore(true).text());
}

#[test]
fn the_second_computation_is_found_and_the_remedy_holds() {
    let broken = explore(false);
    assert!(broken.text().contains("computed once"), "{}", broken.text());
    assert_eq!(explore(true).verdict(), selvedge::Verdict::Verified);
}
