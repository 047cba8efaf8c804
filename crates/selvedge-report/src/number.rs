//! Numbers for people.

use std::time::Duration;

pub use selvedge_core::grouped;

/// `1 step`, `1,200 steps`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// Returns a duration with three digits that matter: `0.42 ms`, `17.2 s`, `3 min 12 s`.
pub fn seconds(time: Duration) -> String {
    let s = time.as_secs_f64();
    // The thresholds are where rounding would show a fourth digit.
    if s < 0.0995 {
        format!("{} ms", three_digits(s * 1e3))
    } else if s < 99.95 {
        format!("{} s", three_digits(s))
    } else {
        let whole = s.round() as u64;
        let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
        match hours {
            0 => format!("{minutes} min {rest} s"),
            _ => format!("{hours} h {minutes} min"),
        }
    }
}

fn three_digits(number: f64) -> String {
    if number < 9.995 {
        format!("{number:.2}")
    } else if number < 99.95 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

/// Executions per second, rounded to what can be meant; `None` if the time is too short to divide by.
pub fn rate(executions: u64, time: Duration) -> Option<u64> {
    let s = time.as_secs_f64();
    if s < 1e-6 {
        return None;
    }
    let exact = executions as f64 / s;
    if exact < 1000.0 {
        return Some(exact.round() as u64);
    }
    let unit = 10_f64.powi(exact.log10() as i32 - 2);
    Some(((exact / unit).round() * unit) as u64)
}

/// `1536` as `1.5 KiB`.
pub fn bytes(number: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut size = number as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [0, 7, 999, 1000, 1234567].map(grouped),
            ["0", "7", "999", "1,000", "1,234,567"]
        );
        assert_eq!(plural(1, "step", "steps"), "1 step");
        assert_eq!(plural(0, "step", "steps"), "0 steps");
        let times = [0.00042, 0.0123, 0.0994, 0.1, 17.23, 192.0, 7260.0];
        assert_eq!(
            times.map(|s| seconds(Duration::from_secs_f64(s))),
            ["0.42 ms", "12.3 ms", "99.4 ms", "0.10 s", "17.2 s", "3 min 12 s", "2 h 1 min"]
        );
        assert_eq!(
            [0, 1023, 1536, 1 << 20, 5 << 30].map(bytes),
            ["0 B", "1023 B", "1.5 KiB", "1.0 MiB", "5.0 GiB"]
        );
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(rate(123_456, Duration::from_secs(1)), Some(123_000));
        assert_eq!(rate(42, Duration::from_secs(2)), Some(21));
        assert_eq!(rate(1, Duration::ZERO), None);
    }
}
