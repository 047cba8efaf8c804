//! What is known about the tests, kept in the folder of the copy: so a run that was interrupted continues,
//! and after a change only the tests of programs that were built anew are run again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::steps::Test;
use crate::workshop::Workshop;
use crate::workshop::suites::End;

/// What is known, by the name of a test.
pub(crate) struct Records {
    /// A line for each run; it grows only.
    file: File,
    known: BTreeMap<String, Record>,
}

/// What is known about a test as it was built last.
#[derive(Clone)]
pub(crate) struct Record {
    stamp: String,
    /// Whether it passes without a mistake.
    pub(crate) passes: bool,
    /// How long it takes without a mistake.
    pub(crate) time: Duration,
    /// The mistakes that it comes by.
    pub(crate) reached: BTreeSet<usize>,
    /// How runs with a mistake ended.
    ends: BTreeMap<usize, End>,
}

impl Records {
    /// What earlier runs have found.
    pub(crate) fn new(workshop: &Workshop) -> Self {
        let path = workshop.path("records");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mut known = BTreeMap::new();
        for line in text.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            read(&line, &mut known);
        }
        let file = File::options().create(true).append(true).open(path);
        Self { file: file.expect("the copy can be written"), known }
    }

    /// What is known about a test as it is built now.
    pub(crate) fn of(&self, test: &Test) -> Option<&Record> {
        self.known.get(&test.name).filter(|known| known.stamp == test.stamp)
    }

    /// How a test ended with a mistake.
    pub(crate) fn end(&self, test: &Test, number: usize) -> Option<End> {
        self.of(test)?.ends.get(&number).copied()
    }

    /// Keeps how a test ends without a mistake.
    pub(crate) fn add_survey(
        &mut self,
        test: &Test,
        (end, time, reached): (End, Duration, BTreeSet<usize>),
    ) {
        self.add(&json!({
            "test": test.name,
            "stamp": test.stamp,
            "passes": end == End::Passed,
            "seconds": time.as_secs_f64(),
            "reached": reached,
        }));
    }

    /// Keeps how a test ends with a mistake.
    pub(crate) fn add_end(&mut self, test: &Test, number: usize, end: End) {
        let end = match end {
            End::Passed => "passed",
            End::Failed => "failed",
            End::TooLong => "too long",
        };
        self.add(&json!({ "test": test.name, "mistake": number, "end": end }));
    }

    fn add(&mut self, line: &Value) {
        read(line, &mut self.known);
        writeln!(self.file, "{line}").expect("the copy can be written");
    }
}

/// A line of the file.
fn read(line: &Value, known: &mut BTreeMap<String, Record>) {
    let Some(test) = line["test"].as_str() else { return };
    if let Some(number) = line["mistake"].as_u64() {
        let end = match line["end"].as_str() {
            Some("failed") => End::Failed,
            Some("too long") => End::TooLong,
            _ => End::Passed,
        };
        if let Some(record) = known.get_mut(test) {
            record.ends.insert(number as usize, end);
        }
    } else {
        let reached = line["reached"].as_array().into_iter().flatten();
        let record = Record {
            stamp: line["stamp"].as_str().unwrap_or_default().to_owned(),
            passes: line["passes"] == true,
            time: Duration::from_secs_f64(line["seconds"].as_f64().unwrap_or_default()),
            reached: reached.filter_map(Value::as_u64).map(|number| number as usize).collect(),
            ends: BTreeMap::new(),
        };
        known.insert(test.to_owned(), record);
    }
}
