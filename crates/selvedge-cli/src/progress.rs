//! Progress of an exploration, on one line. `guard.rs` ends explorations.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Ending, Execution, Report};
use selvedge_explore::{Observer, Progress, Range, Sampled, TraceHash, TraceHasher, expected};
use selvedge_report::{bytes, grouped, rate};

use crate::estimate::{Estimator, magnitude};
use crate::exit::complain;
use crate::memory;
use crate::so_far;

/// The environment variable that asks for a line of its own for each report of progress, also where there is no terminal.
pub(crate) const LINES: &str = "SELVEDGE_PROGRESS";
/// How such a line begins.
pub(crate) const PREFIX: &str = "progress: ";

/// How often the line is refreshed.
const REFRESH: Duration = Duration::from_millis(200);
/// The clock should be read about this often.
const PATIENCE: Duration = Duration::from_micros(500);
/// At most so many polls between two reads of the clock.
const MOST_SKIPPED: u32 = 256;

/// Shows the progress of an exploration.
pub(crate) struct Watch {
    start: Instant,
    /// When the line is written next; `None`: there is none.
    next_line: Option<Instant>,
    is_line_shown: bool,
    /// The line is not written over: each report is a line of its own.
    in_lines: bool,
    last_look: Instant,
    skip: u32,
    skipped: u32,
    label: String,
    prior: Prior,
    hasher: TraceHasher,
    /// How many executions were met since the search began.
    met: u64,
    /// What was spent on the estimate.
    aside: Duration,
}

/// What random executions say about the number of executions.
enum Prior {
    /// They are run when the line is shown for the first time: a check that is over by then does without. What it has met until then is
    /// kept.
    Ask(Estimator, Vec<TraceHash>),
    Told(Box<Sampled>),
    Unknown,
}

impl Watch {
    /// Starts the clock. The line is only shown on a terminal, unless [`LINES`] says otherwise, and begins with `label`.
    pub(crate) fn start(show_line: bool, label: &str) -> Self {
        let start = Instant::now();
        let in_lines = std::env::var_os(LINES).is_some_and(|value| value == "lines");
        let show_line = show_line && (in_lines || std::io::stderr().is_terminal());
        Self {
            start,
            next_line: show_line.then_some(start + 2 * REFRESH),
            is_line_shown: false,
            in_lines,
            last_look: start,
            skip: 0,
            skipped: 0,
            label: label.to_owned(),
            prior: Prior::Unknown,
            hasher: TraceHasher::default(),
            met: 0,
            aside: Duration::ZERO,
        }
    }

    /// Estimates the number of executions by what `ask` makes, if there is a line.
    pub(crate) fn expecting(mut self, ask: impl FnOnce() -> Option<Estimator>) -> Self {
        if self.next_line.is_some() {
            self.prior = ask().map_or(Prior::Unknown, |ask| Prior::Ask(ask, Vec::new()));
        }
        self
    }

    /// The search has come to the end of an execution. `hash` is only asked for where it is of use.
    #[inline]
    pub(crate) fn meet(&mut self, hash: impl FnOnce(&mut TraceHasher) -> TraceHash) {
        match &mut self.prior {
            Prior::Ask(_, met) => met.push(hash(&mut self.hasher)),
            Prior::Told(sampled) => sampled.meet(hash(&mut self.hasher)),
            Prior::Unknown => return,
        }
        self.met += 1;
    }

    /// Returns what random executions say. Running them is no part of the search's time.
    fn prior(&mut self) -> Option<&Sampled> {
        self.prior = match std::mem::replace(&mut self.prior, Prior::Unknown) {
            Prior::Ask(ask, met) => {
                let before = Instant::now();
                let sampled = ask();
                self.aside += before.elapsed();
                sampled.map_or(Prior::Unknown, |mut sampled| {
                    met.into_iter().for_each(|trace| sampled.meet(trace));
                    Prior::Told(Box::new(sampled))
                })
            }
            known => known,
        };
        match &self.prior {
            Prior::Told(sampled) => Some(sampled),
            Prior::Ask(..) | Prior::Unknown => None,
        }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed().saturating_sub(self.aside)
    }

    /// Removes the line. Returns the elapsed time.
    pub(crate) fn finish(self) -> Duration {
        let time = self.elapsed();
        if self.is_line_shown {
            complain("\r\u{1b}[2K");
        }
        time
    }

    fn look(&mut self, progress: &dyn Fn() -> Progress) {
        let now = Instant::now();
        self.skip = if now - self.last_look < PATIENCE {
            (2 * self.skip + 1).min(MOST_SKIPPED)
        } else {
            self.skip / 2
        };
        self.last_look = now;
        if self.next_line.is_some_and(|next| now >= next) {
            self.next_line = Some(now + REFRESH);
            let progress = progress();
            let (done, met) = (progress.counts.maximal(), self.met);
            let total = match self.prior() {
                // Workers meet executions that this one does not.
                Some(sampled) if met == done => sampled.expected(done),
                sampled => expected(done, progress.fraction, sampled.map(|it| it.range)),
            };
            let parts = match progress.states {
                Some(states) => of_states(&self.label, states, &progress, self.elapsed()),
                None => parts(&self.label, &progress, self.elapsed(), total),
            };
            if self.in_lines {
                complain(&format!("{PREFIX}{}\n", parts.join(", ")));
                return;
            }
            self.is_line_shown = true;
            let width = terminal_size::terminal_size_of(std::io::stderr())
                .map_or(80, |(width, _)| usize::from(width.0));
            let line = fitting(&parts, width.saturating_sub(1));
            complain(&format!("\r\u{1b}[2K{line}"));
        }
    }
}

impl Observer for Watch {
    fn begins(&mut self) {
        self.met = 0;
        match &mut self.prior {
            Prior::Ask(_, met) => met.clear(),
            Prior::Told(sampled) => sampled.begin(),
            Prior::Unknown => {}
        }
    }

    fn execution(&mut self, execution: &Execution, _: Ending) {
        self.meet(|hasher| hasher.hash(execution));
    }

    fn found(&mut self, report: &Report) {
        so_far::publish(report);
    }

    fn now(&self) -> Duration {
        self.elapsed()
    }

    fn poll(&mut self, progress: &dyn Fn() -> Progress) -> Option<Bound> {
        if self.next_line.is_some() && self.skipped < self.skip {
            self.skipped += 1;
        } else if self.next_line.is_some() {
            self.skipped = 0;
            self.look(progress);
        }
        None
    }
}

/// The parts of the line of a search of states, the most important first. How many states there are is not known before they are
/// seen, so there is no share: the number of those that are known and not expanded grows, and falls when the end is near.
fn of_states(label: &str, states: u64, progress: &Progress, elapsed: Duration) -> Vec<String> {
    let rate = rate(states, elapsed).unwrap_or(0);
    let left = states as f64 * (1.0 - progress.fraction.clamp(0.0, 1.0));
    vec![
        format!("{label}: {} states", grouped(states)),
        format!("{}/s", grouped(rate)),
        format!("{} to expand", grouped(left.round() as u64)),
        format!("depth {}", grouped(progress.depth as u64)),
        bytes(memory::in_use()),
    ]
}

/// The parts of the line of a search of executions, the most important first.
fn parts(label: &str, progress: &Progress, elapsed: Duration, total: Option<Range>) -> Vec<String> {
    let executions = progress.counts.total();
    let rate = rate(executions, elapsed).unwrap_or(0);
    let mut parts = vec![
        format!("{label}: {} executions", grouped(executions)),
        format!("{}/s", grouped(rate)),
    ];
    let done = progress.counts.maximal();
    if let Some(range) = total {
        let share = done as f64 / range.estimate;
        parts.push(format!(
            "~{} of {}",
            percent(share),
            magnitude(range).trim_start_matches("about ")
        ));
        if share > 0.0 {
            let left = elapsed.as_secs_f64() * (1.0 - share) / share;
            parts.push(format!("{} left", roughly(left)));
        }
    }
    // Unknown where others explore.
    if progress.depth > 0 {
        parts.push(format!("depth {}", progress.depth));
    }
    parts
}

/// Returns the first parts, as many as fit: half a number would be another one.
fn fitting(parts: &[String], width: usize) -> String {
    let lines = (1..=parts.len()).rev().map(|count| parts[..count].join(", "));
    let mut fits = lines.skip_while(|line| line.chars().count() > width);
    fits.next().unwrap_or_default()
}

/// Returns the order of magnitude of a time: what is known of the future is no more exact.
fn roughly(seconds: f64) -> &'static str {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    match seconds {
        few if few <= 10.0 => "seconds",
        some if some <= 2.0 * MINUTE => "about a minute",
        some if some <= 20.0 * MINUTE => "minutes",
        some if some <= 2.0 * HOUR => "about an hour",
        many if many <= 16.0 * HOUR => "hours",
        many if many <= 2.0 * DAY => "about a day",
        many if many <= 30.0 * DAY => "days",
        many if many <= 365.0 * DAY => "months",
        _ => "more than a year",
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        little if little < 0.1 => "0 %".to_owned(),
        some if some < 10.0 => format!("{some:.1} %"),
        much => format!("{much:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_core::Counts;

    #[test]
    fn the_line_says_how_far() {
        let counts = Counts { complete: 12_345, ..Counts::default() };
        let mut progress = Progress { counts, states: None, steps: 0, depth: 31, fraction: 0.25 };
        let line = |progress: &Progress, seconds, prior| {
            let total = expected(progress.counts.maximal(), progress.fraction, prior);
            parts("optimal", progress, Duration::from_secs(seconds), total).join(", ")
        };
        assert_eq!(
            line(&progress, 2, None),
            "optimal: 12,345 executions, 6,170/s, ~25 % of 10,000 to 100,000, seconds left, depth 31"
        );
        progress.fraction = 0.0;
        let unknown = line(&progress, 0, None);
        assert!(unknown.ends_with("executions, 0/s, depth 31"), "{unknown}");
        let prior = Range { estimate: 1e7, low: 3e6, high: 3e7 };
        let told = line(&progress, 1, Some(prior));
        assert!(told.contains("~0.1 % of 1,000,000 to 10^8, minutes left"), "{told}");
        progress.fraction = 1e-12;
        let long = line(&progress, 1, None);
        assert!(long.contains("~0 % of 10^15 to 10^18, more than a year left"), "{long}");
    }

    /// No share of states is said to be done, and no time to be left.
    #[test]
    fn the_line_of_states_says_how_many_are_to_be_expanded() {
        let counts = Counts::default();
        let progress =
            Progress { counts, states: Some(4_000), steps: 0, depth: 31, fraction: 0.75 };
        let parts = of_states("states", 4_000, &progress, Duration::from_secs(2));
        assert_eq!(
            parts[..4].join(", "),
            "states: 4,000 states, 2,000/s, 1,000 to expand, depth 31"
        );
        assert!(parts[4].ends_with('B'), "{parts:?}");
    }

    /// Random executions are run once, every line knows what they said, and what was met before counts.
    #[test]
    fn the_estimate_is_kept() {
        let range = Range { estimate: 1e4, low: 1e3, high: 1e5 };
        let mut watch = Watch::start(false, "");
        let ask = move || Some(Sampled::new(range, (0..9).map(|trace| (trace, 1.0)).collect()));
        watch.prior = Prior::Ask(Box::new(ask), Vec::new());
        watch.meet(|_| 7);
        let total = |watch: &mut Watch| {
            let met = watch.met;
            watch.prior().and_then(|it| it.expected(met)).map(|it| it.estimate)
        };
        for _ in 0..3 {
            assert_eq!(total(&mut watch), Some(10.0), "one of nine, and one that was not drawn");
        }
        watch.meet(|_| 8);
        assert_eq!(total(&mut watch), Some(10.0));
        watch.begins();
        assert_eq!((watch.met, total(&mut watch)), (0, Some(1e4)));
    }

    #[test]
    fn a_narrow_terminal_gets_whole_parts() {
        let parts = ["a: 1,000 executions".to_owned(), "~5 % of 10^6 to 10^7".to_owned()];
        assert_eq!(fitting(&parts, 80), "a: 1,000 executions, ~5 % of 10^6 to 10^7");
        assert_eq!(fitting(&parts, 40), "a: 1,000 executions");
        assert_eq!(fitting(&parts, 10), "");
    }

    #[test]
    fn the_time_left_is_not_more_exact_than_it_is() {
        for (seconds, text) in [
            (0.0, "seconds"),
            (41.0, "about a minute"),
            (300.0, "minutes"),
            (5_000.0, "about an hour"),
            (40_000.0, "hours"),
            (86_400.0, "about a day"),
            (260_000.0, "days"),
            (1e7, "months"),
            (1e9, "more than a year"),
        ] {
            assert_eq!(roughly(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn the_clock_is_not_asked_at_every_poll() {
        let mut watch = Watch::start(false, "");
        watch.next_line = Some(Instant::now() + Duration::from_secs(3600));
        let progress = || unreachable!("the line is not written yet");
        for _ in 0..10_000 {
            assert_eq!(watch.poll(&progress), None);
        }
        assert!(watch.skip > 0);
    }
}
