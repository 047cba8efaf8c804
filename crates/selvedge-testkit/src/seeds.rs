//! How many random programs a test looks at.

use std::time::{Duration, Instant};

/// The seeds of a test's random programs, always the same. A campaign has as many as `programs`, or `SELVEDGE_FUZZ_TIMES` as
/// many; without that variable, in `cargo test`, it is the first one in `SHARE` of them. With `SELVEDGE_FUZZ_SECONDS`
/// it continues for that long; `SELVEDGE_FUZZ_SEED` says where to begin.
///
/// # Panics
/// If one of these variables is not a number.
pub fn seeds(programs: u64) -> impl Iterator<Item = u64> {
    of_share(programs, SHARE)
}

/// As [`seeds`], for what takes long on each program: `cargo test` looks at one in `FEW` of them, and `scripts/campaigns` at all.
///
/// # Panics
/// As [`seeds`].
pub fn few_seeds(programs: u64) -> impl Iterator<Item = u64> {
    of_share(programs, FEW)
}

fn of_share(programs: u64, share: u64) -> impl Iterator<Item = u64> {
    let first = number(SEED).unwrap_or(0);
    let most = number(TIMES).map_or(programs.div_ceil(share), |times| programs * times);
    let end = number(SECONDS).map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let goes_on = move |seed: &u64| match end {
        Some(end) => Instant::now() < end,
        None => seed - first < most,
    };
    (first..).take_while(goes_on)
}

/// The numbers of programs that are listed, not drawn: all of them in a campaign, in `cargo test` one in seven. That is odd, so that
/// programs whose number is a code in base two or four differ in all its digits.
pub fn listed(programs: usize) -> impl Iterator<Item = usize> {
    (0..programs).step_by(if is_campaign() { 1 } else { 7 })
}

/// Whether more programs than usual are asked for: the test then tells what it did.
pub fn is_campaign() -> bool {
    [TIMES, SECONDS].iter().any(|variable| std::env::var_os(variable).is_some())
}

/// A change waits for `cargo test`; the others are looked at by `scripts/campaigns`, in release builds.
const SHARE: u64 = 5;
const FEW: u64 = 20;

const SEED: &str = "SELVEDGE_FUZZ_SEED";
const TIMES: &str = "SELVEDGE_FUZZ_TIMES";
const SECONDS: &str = "SELVEDGE_FUZZ_SECONDS";

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}")))
}
