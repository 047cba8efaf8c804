//! Values of options.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use selvedge_core::Schedule;
use selvedge_report::ConstantJson;

use crate::constraints::Origin;
use crate::registry;

/// A constant of the program, with the value that it should have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Constant {
    pub(crate) name: String,
    pub(crate) value: ConstantJson,
}

/// `N=5`, `DEBUG=true`.
pub(crate) fn parse_constant(text: &str) -> Result<Constant, String> {
    let example = "write for example --const N=5 or --const DEBUG=true";
    let (name, value) = text.split_once('=').ok_or_else(|| format!("no `=` in it; {example}"))?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_name {
        return Err(format!("`{name}` is not a name; {example}"));
    }
    let value = match value {
        "true" => ConstantJson::Bool(true),
        "false" => ConstantJson::Bool(false),
        number => match integer(number) {
            Some(number) => ConstantJson::Int(number),
            None => return Err(format!("`{number}` is no number, true or false; {example}")),
        },
    };
    Ok(Constant { name: name.to_owned(), value })
}

/// Returns a number as the language writes it: decimal or `0x…`, with `_` between digits, perhaps after a `-`.
fn integer(text: &str) -> Option<i64> {
    let digits = text.replace('_', "");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, digits.as_str()),
    };
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) if digits.starts_with(['+', '-']) => None,
        Some(digits) => i64::from_str_radix(digits, 16).ok().map(|number| sign * number),
        None if digits.starts_with(['+', '-']) => None,
        None => digits.parse::<i64>().ok().map(|number| sign * number),
    }
}

/// `500ms`, `30s`, `5m`, `1h`, or seconds without a unit.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is a number with a unit: 500ms, 30s, 5m, 1h".to_owned();
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit.trim() {
        "ms" => number / 1e3,
        "" | "s" | "sec" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return Err(wrong()),
    };
    const LONGEST: f64 = 1e9;
    if seconds <= 0.0 || seconds > LONGEST {
        return Err("a time limit is more than 0 and at most 30 years".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// More threads than any machine has cores for is a typing error.
const MOST_JOBS: usize = 512;

/// A number of threads.
pub(crate) fn parse_jobs(text: &str) -> Result<NonZeroUsize, String> {
    let number = text.trim().parse::<usize>().ok().filter(|&number| number <= MOST_JOBS);
    let wrong = || format!("a number of workers is between 1 and {MOST_JOBS}");
    number.and_then(NonZeroUsize::new).ok_or_else(wrong)
}

/// `500M`, `2GiB`, `0.5G`, or bytes without a unit.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || "a size is a number with a unit: 500K, 64M, 2G, 512MiB".to_owned();
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = unit.trim().to_ascii_lowercase();
    let (power, binary) = match unit.as_str() {
        "" | "b" => (0, false),
        "k" | "kb" => (1, false),
        "m" | "mb" => (2, false),
        "g" | "gb" => (3, false),
        "t" | "tb" => (4, false),
        "kib" => (1, true),
        "mib" => (2, true),
        "gib" => (3, true),
        "tib" => (4, true),
        _ => return Err(wrong()),
    };
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    let bytes = number * base.powi(power);
    const LEAST: f64 = 1e6;
    const MOST: f64 = 1e18;
    if !(LEAST..=MOST).contains(&bytes) {
        return Err(
            "a limit on memory is at least 1M, and at most what a machine can have".to_owned()
        );
    }
    Ok(bytes as u64)
}

/// `declared`, `synthesise`, or a file.
pub(crate) fn parse_constraints(text: &str) -> Result<Origin, String> {
    match text {
        "" => Err("write `synthesise`, `declared` or the name of a file".to_owned()),
        "declared" => Ok(Origin::Declared),
        "synthesise" | "synthesize" => Ok(Origin::Synthesised),
        file => Ok(Origin::File(file.into())),
    }
}

/// How many at most; `None`: all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AtMost(pub(crate) Option<NonZeroU32>);

/// `2`, `optimal`.
pub(crate) fn parse_k(text: &str) -> Result<AtMost, String> {
    match text.trim() {
        "optimal" => Ok(AtMost(None)),
        number => match number.parse() {
            Ok(k) => Ok(AtMost(Some(k))),
            Err(_) => Err("K is 1, 2, 3, … or `optimal`".to_owned()),
        },
    }
}

/// At least 2.
pub(crate) fn parse_skip_step(text: &str) -> Result<NonZeroU32, String> {
    let step = text.trim().parse().ok().filter(|step: &NonZeroU32| step.get() >= 2);
    step.ok_or_else(|| "the step is a number from 2 on".to_owned())
}

/// `0.1@2.0:1`.
pub(crate) fn parse_schedule(text: &str) -> Result<Schedule, String> {
    text.parse().map_err(|error: selvedge_core::ParseScheduleError| error.to_string())
}

/// What people call algorithms, and what they are called here.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("odpor", "optimal"),
    ("optimal-dpor", "optimal"),
    ("sdpor", "source"),
    ("source-dpor", "source"),
    ("dpor", "classic"),
    ("fg", "classic"),
    ("classic-dpor", "classic"),
    ("sleep-sets", "sleep"),
    ("godefroid", "sleep"),
    ("all", "oracle"),
    ("brute-force", "oracle"),
    ("dfs", "oracle"),
    ("exhaustive", "oracle"),
    ("naive", "oracle"),
    ("none", "oracle"),
    ("dc-dpor", "data-centric"),
    ("rf", "data-centric"),
    ("udpor", "quasi"),
    ("unfolding", "quasi"),
    ("qpor", "quasi"),
    ("quasi-optimal", "quasi"),
    ("dpu", "quasi"),
    ("cdpor", "constrained"),
    ("constraints", "constrained"),
    ("csdpor", "context-sensitive"),
];

/// Returns the algorithm that was probably meant.
pub(crate) fn nearest_algorithm(name: &str) -> Option<&'static str> {
    let name = name.trim().to_lowercase().replace('_', "-");
    let other = OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|&(_, known)| known);
    if let Some(algorithm) = other.and_then(registry::named) {
        return Some(algorithm.info().name);
    }
    let near = registry::all().filter_map(|algorithm| {
        let known = algorithm.info().name;
        let begins = name.len() >= 3 && known.starts_with(&name);
        let distance = if begins { 0 } else { distance(&name, known) };
        (distance <= known.len() / 3).then_some((distance, known))
    });
    near.min().map(|(_, known)| known)
}

/// Returns how many characters must be added, removed or replaced.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.chars().take(64).enumerate() {
        let mut row = vec![i + 1];
        for (j, &d) in b.iter().enumerate() {
            row.push((last[j] + usize::from(c != d)).min(last[j + 1] + 1).min(row[j] + 1));
        }
        last = row;
    }
    last[b.len()]
}

/// `order`, `token` or `mat`.
pub(super) fn parse_scheme(text: &str) -> Result<selvedge_symbolic::Scheme, String> {
    let known = selvedge_symbolic::Scheme::ALL.into_iter().find(|scheme| scheme.name() == text);
    known.ok_or_else(|| {
        "the encodings are order, token and mat; a file comes before --symbolic, or after --symbolic order"
            .to_owned()
    })
}

/// Returns the name of a solver that this build has.
pub(super) fn parse_engine(text: &str) -> Result<selvedge_symbolic::Engine, String> {
    let known = selvedge_symbolic::Engine::ALL.into_iter().find(|engine| engine.name() == text);
    match known {
        Some(engine) if engine.is_built_in() => Ok(engine),
        Some(engine) => {
            let name = engine.name();
            Err(format!(
                "this build of selvedge does not have the solver {name}; a C++ compiler makes one that has, in a \
                 checkout of its repository: cargo install --path crates/selvedge-cli --features {name}"
            ))
        }
        None => Err("the solvers are batsat and cadical".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants() {
        let int = |n| Ok(ConstantJson::Int(n));
        let value = |text| parse_constant(text).map(|constant| constant.value);
        assert_eq!(value("N=5"), int(5));
        assert_eq!(value("N = -1_000"), int(-1000));
        assert_eq!(value("DEBUG=true"), Ok(ConstantJson::Bool(true)));
        for wrong in ["N", "=5", "N=", "N=x", "1N=1", "N=1.5", "N=99999999999999999999"] {
            assert!(parse_constant(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        let ms = |text| parse_duration(text).map(|time| time.as_millis());
        assert_eq!(
            ["250ms", "30s", "1.5s", "5m", "2", "1h"].map(ms),
            [250, 30_000, 1500, 300_000, 2000, 3_600_000].map(Ok)
        );
        for wrong in ["", "s", "0s", "-1s", "5 parsecs", "1e9h", "nan", "inf", "1..2s"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        let given = ["50M", "1GiB", "0.5g", "2000000", "1500 KB", "64MiB"].map(parse_size);
        let bytes = [50_000_000, 1 << 30, 500_000_000, 2_000_000, 1_500_000, 64 << 20];
        assert_eq!(given, bytes.map(Ok));
        for wrong in ["", "M", "1K", "0", "-1G", "5 parsecs", "1e9G", "99999999999T", "nan"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn how_far_quasi_looks_ahead() {
        assert_eq!(parse_k("optimal"), Ok(AtMost(None)));
        assert_eq!(parse_k("2"), Ok(AtMost(NonZeroU32::new(2))));
        for wrong in ["", "0", "-1", "all", "99999999999"] {
            assert!(parse_k(wrong).is_err(), "{wrong}");
        }
        assert!(parse_skip_step("2").is_ok() && parse_skip_step("1").is_err());
    }

    #[test]
    fn algorithms_have_other_names() {
        assert_eq!(nearest_algorithm("UDPOR"), Some("quasi"));
        assert_eq!(nearest_algorithm("odpor"), Some("optimal"));
        assert_eq!(nearest_algorithm("optimall"), Some("optimal"));
        assert_eq!(nearest_algorithm("Opt"), Some("optimal"));
        assert_eq!(nearest_algorithm("brute_force"), Some("oracle"));
        assert_eq!(nearest_algorithm("quicksort"), None);
        assert_eq!(nearest_algorithm(""), None);
    }
}
