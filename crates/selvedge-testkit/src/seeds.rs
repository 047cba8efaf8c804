//! How many random programs a test looks at.

use std::time::{Duration, Instant};

/// The seeds of a test's random programs, always the same. A campaign has as many as `programs`, or `SELVEDGE_FUZZ_TIMES` as
/// many, also a part like `1/5`; without that variable, in `cargo test`, it is the first one in `SHARE` of them. With `SELVEDGE_FUZZ_SECONDS`
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
    let most = amount(programs, share);
    let end = number(SECONDS).map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let goes_on = move |seed: &u64| match end {
        Some(end) => Instant::now() < end,
        None => seed - first < most,
    };
    (first..).take_while(goes_on)
}

/// How many programs [`seeds`] has without a limit of time, for a test that draws them from one sequence or counts something else.
///
/// # Panics
/// As [`seeds`].
pub fn share_of(programs: u64) -> u64 {
    amount(programs, SHARE)
}

fn amount(programs: u64, share: u64) -> u64 {
    let Ok(times) = std::env::var(TIMES) else { return programs.div_ceil(share) };
    let (times, parts) = times.split_once('/').unwrap_or((&times, "1"));
    (programs * parsed(TIMES, times)).div_ceil(parsed(TIMES, parts))
}

/// The numbers of programs that are listed, not drawn: all of them in a campaign, in `cargo test` one in seven. That is odd, so that
/// programs whose number is a code in base two or four differ in all its digits.
pub fn listed(programs: usize) -> impl Iterator<Item = usize> {
    (0..programs).step_by(if is_campaign() { 1 } else { 7 })
}

/// How many of its programs must be of some kind for a test to be worth something: this many in a campaign, one in `cargo test`.
pub fn least<N: From<u8>>(in_campaign: N) -> N {
    if is_campaign() { in_campaign } else { N::from(1) }
}

/// Whether more programs than usual are asked for: the test then tells what it did.
pub fn is_campaign() -> bool {
    [TIMES, SECONDS].iter().any(|variable| std::env::var_os(variable).is_some())
}

/// A change waits for `cargo test`; `scripts/campaigns` looks at the others.
const SHARE: u64 = 10;
const FEW: u64 = 40;

const SEED: &str = "SELVEDGE_FUZZ_SEED";
const TIMES: &str = "SELVEDGE_FUZZ_TIMES";
const SECONDS: &str = "SELVEDGE_FUZZ_SECONDS";

fn number(variable: &str) -> Option<u64> {
    Some(parsed(variable, &std::env::var(variable).ok()?))
}

fn parsed(variable: &str, text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{variable} is not a number: {text}"))
}
