//! What is known about the test programs, kept in the folder of the copy: so a run that was interrupted continues,
//! and after a change only the programs that were built anew are run again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::workshop::Workshop;
use crate::workshop::suites::{End, Suite};

/// What is known, by the name of a test program.
pub(crate) struct Records<'a> {
    workshop: &'a Workshop,
    file: PathBuf,
    known: BTreeMap<String, Record>,
}

/// What is known about a test program as it was built last.
#[derive(Default)]
struct Record {
    /// Tells one build from another.
    stamp: String,
    /// Whether it passes without a mistake; `None`: it was not run yet.
    passes: Option<bool>,
    /// How long it takes without a mistake; that of an earlier build until it has run.
    time: Duration,
    /// The mistakes that it comes by.
    reached: BTreeSet<usize>,
    /// How runs with a mistake ended.
    ends: BTreeMap<usize, End>,
}

impl<'a> Records<'a> {
    /// What earlier runs have found.
    pub(crate) fn new(workshop: &'a Workshop) -> Self {
        let file = workshop.path("records.json");
        let text = fs::read_to_string(&file).unwrap_or_default();
        let known = serde_json::from_str(&text).unwrap_or(Value::Null);
        let known = known.as_object().into_iter().flatten();
        let known = known.map(|(name, value)| (name.clone(), Record::from_json(value))).collect();
        Self { workshop, file, known }
    }

    /// How long a program takes, as far as is known.
    pub(crate) fn time(&self, suite: &Suite) -> Duration {
        self.known.get(&suite.name).map_or(Duration::ZERO, |record| record.time)
    }

    /// Whether a program that passes without a mistake comes by one.
    pub(crate) fn comes_by(&self, suite: &Suite, number: usize) -> bool {
        self.known
            .get(&suite.name)
            .is_some_and(|known| known.passes == Some(true) && known.reached.contains(&number))
    }

    /// Runs a program without a mistake, unless that is known.
    pub(crate) fn survey(&mut self, suite: &Suite) {
        let stamp = suite.stamp();
        let record = self.known.entry(suite.name.clone()).or_default();
        if record.stamp == stamp && record.passes.is_some() {
            return;
        }
        let (end, time, reached) = suite.survey(self.workshop);
        let passes = matches!(end, End::Passed);
        *record = Record { stamp, passes: Some(passes), time, reached, ends: BTreeMap::new() };
        let (name, seconds, reached) = (&suite.name, time.as_secs_f64(), record.reached.len());
        let how = match end {
            End::Passed => String::new(),
            End::Failed(test) => format!("   FAILS without a mistake ({test}): left out"),
            End::TooLong => "   does not end without a mistake: left out".to_owned(),
        };
        println!("{seconds:8.1} s  {name}: comes by {reached}{how}");
        self.save();
    }

    /// Runs a program with a mistake, unless that is known.
    pub(crate) fn try_mistake(&mut self, suite: &Suite, number: usize) -> End {
        let record = self.known.entry(suite.name.clone()).or_default();
        if let Some(end) = record.ends.get(&number) {
            return end.clone();
        }
        let end = suite.try_mistake(number, record.time);
        record.ends.insert(number, end.clone());
        self.save();
        end
    }

    fn save(&self) {
        let all: serde_json::Map<String, Value> =
            self.known.iter().map(|(name, record)| (name.clone(), record.to_json())).collect();
        let draft = self.file.with_extension("draft");
        fs::write(&draft, Value::Object(all).to_string()).expect("the copy can be written");
        fs::rename(draft, &self.file).expect("the copy can be written");
    }
}

impl Record {
    fn to_json(&self) -> Value {
        let ends: serde_json::Map<String, Value> =
            self.ends.iter().map(|(number, end)| (number.to_string(), end.to_json())).collect();
        json!({
            "stamp": self.stamp,
            "passes": self.passes,
            "seconds": self.time.as_secs_f64(),
            "reached": self.reached,
            "ends": ends,
        })
    }

    fn from_json(value: &Value) -> Self {
        let reached = value["reached"].as_array().into_iter().flatten();
        let ends = value["ends"].as_object().into_iter().flatten();
        Self {
            stamp: value["stamp"].as_str().unwrap_or_default().to_owned(),
            passes: value["passes"].as_bool(),
            time: Duration::from_secs_f64(value["seconds"].as_f64().unwrap_or_default()),
            reached: reached.filter_map(Value::as_u64).map(|number| number as usize).collect(),
            ends: ends
                .filter_map(|(number, end)| Some((number.parse().ok()?, End::from_json(end))))
                .collect(),
        }
    }
}

impl End {
    fn to_json(&self) -> Value {
        match self {
            Self::Passed => json!("passed"),
            Self::TooLong => json!("too long"),
            Self::Failed(test) => json!({ "failed": test }),
        }
    }

    fn from_json(value: &Value) -> Self {
        match (value.as_str(), value["failed"].as_str()) {
            (Some("passed"), _) => Self::Passed,
            (_, Some(test)) => Self::Failed(test.to_owned()),
            _ => Self::TooLong,
        }
    }
}
