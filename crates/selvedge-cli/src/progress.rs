//! Progress of an exploration, on one line. `guard.rs` ends explorations.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Report};
use selvedge_explore::{Observer, Progress};
use selvedge_report::{grouped, rate};

use crate::exit::complain;
use crate::so_far;

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
    last_look: Instant,
    skip: u32,
    skipped: u32,
    label: String,
}

impl Watch {
    /// Starts the clock. The line is only shown on a terminal, and begins with `label`.
    pub(crate) fn start(show_line: bool, label: &str) -> Self {
        let start = Instant::now();
        let show_line = show_line && std::io::stderr().is_terminal();
        Self {
            start,
            next_line: show_line.then_some(start + 2 * REFRESH),
            is_line_shown: false,
            last_look: start,
            skip: 0,
            skipped: 0,
            label: label.to_owned(),
        }
    }

    /// Removes the line. Returns the elapsed time.
    pub(crate) fn finish(self) -> Duration {
        let time = self.start.elapsed();
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
            self.is_line_shown = true;
            let line = line(&self.label, &progress(), now - self.start);
            let width = terminal_size::terminal_size_of(std::io::stderr())
                .map_or(80, |(width, _)| usize::from(width.0));
            let line: String = line.chars().take(width.saturating_sub(1)).collect();
            complain(&format!("\r\u{1b}[2K{line}"));
        }
    }
}

impl Observer for Watch {
    fn found(&mut self, report: &Report) {
        so_far::publish(report);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
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

fn line(label: &str, progress: &Progress, elapsed: Duration) -> String {
    let (total, what) = match progress.states {
        Some(states) => (states, "states"),
        None => (progress.counts.total(), "executions"),
    };
    let rate = rate(total, elapsed).unwrap_or(0);
    let mut line = format!("{label}: {} {what}, {}/s", grouped(total), grouped(rate));
    let done = progress.fraction;
    if done.is_finite() && done > 0.0 && done <= 1.0 {
        line.push_str(&format!(", ~{} done", percent(done)));
        let left = elapsed.as_secs_f64() * (1.0 - done) / done;
        line.push_str(&format!(", {} left", roughly(left)));
    }
    // Unknown where others explore.
    if progress.depth > 0 {
        line.push_str(&format!(", depth {}", progress.depth));
    }
    line
}

/// Returns a time with one digit that matters: what is known of the future is no more exact.
fn roughly(seconds: f64) -> String {
    const MINUTE: f64 = 60.0;
    const HOUR: f64 = 60.0 * MINUTE;
    const DAY: f64 = 24.0 * HOUR;
    const YEAR: f64 = 365.0 * DAY;
    let one_digit = |number: f64| {
        let unit = 10_f64.powf(number.max(1.0).log10().floor());
        ((number / unit).ceil() * unit).max(1.0)
    };
    match seconds {
        few if few <= MINUTE => format!("about {} s", one_digit(few)),
        some if some <= HOUR => format!("about {} min", one_digit(some / MINUTE)),
        many if many <= 2.0 * DAY => format!("about {} h", one_digit(many / HOUR)),
        days if days <= YEAR => format!("about {} days", one_digit(days / DAY)),
        _ => "more than a year".to_owned(),
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
        assert_eq!(
            line("optimal", &progress, Duration::from_secs(2)),
            "optimal: 12,345 executions, 6,170/s, ~25 % done, about 6 s left, depth 31"
        );
        progress.fraction = 0.0;
        progress.states = Some(4_000);
        assert_eq!(
            line("states", &progress, Duration::from_secs(2)),
            "states: 4,000 states, 2,000/s, depth 31"
        );
        progress.states = None;
        assert!(line("optimal", &progress, Duration::ZERO).ends_with("executions, 0/s, depth 31"));
        progress.fraction = 1e-12;
        let line = line("", &progress, Duration::from_secs(1));
        assert!(line.contains("~0 % done, more than a year left"), "{line}");
    }

    #[test]
    fn the_time_left_is_not_more_exact_than_it_is() {
        for (seconds, text) in [
            (0.0, "about 1 s"),
            (3.2, "about 4 s"),
            (41.0, "about 50 s"),
            (95.0, "about 2 min"),
            (5_000.0, "about 2 h"),
            (260_000.0, "about 4 days"),
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
