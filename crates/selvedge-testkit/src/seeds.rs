//! How many random programs a test looks at.

use std::time::{Duration, Instant};

/// The seeds of a test's random programs: always the same, as many as `programs`. With
/// `SELVEDGE_FUZZ_SECONDS` it continues for that long; `SELVEDGE_FUZZ_SEED` says where to begin.
///
/// # Panics
/// If one of these variables is not a number.
pub fn seeds(programs: u64) -> impl Iterator<Item = u64> {
    let first = number("SELVEDGE_FUZZ_SEED").unwrap_or(0);
    let seconds = number("SELVEDGE_FUZZ_SECONDS").map(Duration::from_secs);
    let end = seconds.map(|seconds| Instant::now() + seconds);
    let goes_on = move |seed: &u64| match end {
        Some(end) => Instant::now() < end,
        None => seed - first < programs,
    };
    (first..).take_while(goes_on)
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}
