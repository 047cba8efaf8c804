//! Names of jobs, streams and subjects.

use std::fmt;
use std::str::FromStr;

/// The name of a job: a word that can be part of the name of a stream and of a subject.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct JobName(String);

/// The longest name.
const LONGEST: usize = 64;
const PREFIX: &str = "selvedge-";
const UNITS: &str = "-units";

impl FromStr for JobName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if let Some(bad) = text.chars().find(|&c| !is_good(c)) {
            let why = match bad {
                '.' | '*' | '>' => ", which has a meaning in NATS",
                _ => "",
            };
            return Err(format!(
                "the name of a job has letters, digits, `-` and `_` only; `{text}` has `{bad}`{why}"
            ));
        }
        if text.is_empty() || text.len() > LONGEST {
            return Err(format!("the name of a job has 1 to {LONGEST} characters"));
        }
        if text.ends_with(UNITS) || text.ends_with("-results") {
            return Err(format!(
                "the name of a job does not end in `-units` or `-results`, as its streams do; `{text}` does"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for JobName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl JobName {
    /// Returns the job whose work queue has this name.
    pub(crate) fn of_units(stream: &str) -> Option<Self> {
        stream.strip_prefix(PREFIX)?.strip_suffix(UNITS)?.parse().ok()
    }

    /// The stream with the job, its submitter, and snapshots.
    pub(crate) fn state_stream(&self) -> String {
        format!("{PREFIX}{self}")
    }

    /// The work queue.
    pub(crate) fn units_stream(&self) -> String {
        format!("{PREFIX}{self}{UNITS}")
    }

    /// The stream of what came of units.
    pub(crate) fn results_stream(&self) -> String {
        format!("{PREFIX}{self}-results")
    }

    /// The subject of all batches of units.
    pub(crate) fn units(&self) -> String {
        format!("selvedge.{self}.unit")
    }

    /// The subject of all results.
    pub(crate) fn results(&self) -> String {
        format!("selvedge.{self}.result")
    }

    /// A subject of the state.
    pub(crate) fn state(&self, what: &str) -> String {
        format!("selvedge.{self}.state.{what}")
    }
}

/// The subjects of all work queues.
pub(crate) const ALL_UNITS: &str = "selvedge.*.unit";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words() {
        assert!("queue-3_b".parse::<JobName>().is_ok());
        for (bad, why) in [
            ("a.b", "`a.b` has `.`, which has a meaning in NATS"),
            ("a b", "`a b` has ` `"),
            ("a*", "`a*` has `*`, which"),
            ("", "1 to 64 characters"),
            ("x-units", "does not end in"),
        ] {
            let message = bad.parse::<JobName>().expect_err("it is refused");
            assert!(message.contains(why), "{message}");
        }
        assert!("x".repeat(65).parse::<JobName>().is_err());
    }

    #[test]
    fn a_job_is_found_by_its_queue() {
        let job: JobName = "a-b".parse().expect("a name");
        assert_eq!(JobName::of_units(&job.units_stream()), Some(job));
        assert_eq!(JobName::of_units("selvedge-a-results"), None);
        assert_eq!(JobName::of_units("orders"), None);
    }
}
