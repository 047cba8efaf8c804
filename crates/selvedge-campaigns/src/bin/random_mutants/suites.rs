//! The tests that CI runs, as programs.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use crate::workshop::Workshop;
use crate::workshop::schemata::{CHOSEN, REACHED};
use crate::workshop::suites::{End, Suite, programs};

/// Builds the tests that CI runs: those of all packages, then the golden programs in a release build, and those of the
/// command `farm`, which is not built by default.
pub(crate) fn build(workshop: &Workshop) -> Vec<Suite> {
    let programs = |arguments: &[&str], how| {
        programs(workshop, &[&["test", "--no-run"], arguments].concat(), how)
    };
    let units = ["--lib", "--bins", "--example=ring", "--example=oneshot", "--example=cache"];
    let mut suites = programs(&[&["--workspace"], &units[..]].concat(), "");
    let tests = programs(&["--workspace", "--test=it"], "");
    let golden = programs(&["--release", "-p", "selvedge-testkit", "--test=it"], " (release)");
    let farm = ["-p", "selvedge-cli", "--features", "farm", "--test=it"];
    let farm = programs(&farm, " (farm)");
    let is_golden = |suite: &Suite| suite.name.ends_with(" golden");
    suites.extend(tests.iter().flat_map(Suite::by_file));
    suites.extend(golden.iter().flat_map(Suite::by_file).filter(is_golden));
    let is_farm = |suite: &Suite| suite.name.ends_with(" farm");
    suites.extend(farm.iter().flat_map(Suite::by_file).filter(is_farm));
    // This one is about the text of the sources.
    suites.retain(|suite| suite.name != "selvedge-testkit it tidy");
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    suites
}

impl Suite {
    /// A program of integration tests, a file at a time: a mistake that one of them does not come by need not be
    /// tried with it.
    fn by_file(&self) -> Vec<Self> {
        let output = Command::new(&self.program)
            .args(["--list", "--format=terse"])
            .current_dir(&self.folder)
            .output()
            .expect("a test program can list its tests");
        let text = String::from_utf8_lossy(&output.stdout);
        let files: BTreeSet<&str> =
            text.lines().filter_map(|line| Some(line.split_once("::")?.0)).collect();
        assert!(!files.is_empty(), "{} has no tests", self.name);
        let part = |file: &str| Self {
            name: format!("{} {file}", self.name),
            filter: Some(format!("{file}::")),
            ..self.clone()
        };
        files.into_iter().map(part).collect()
    }

    /// Tells one build of it from another.
    pub(crate) fn stamp(&self) -> String {
        let about = fs::metadata(&self.program).expect("a test program can be looked at");
        let built = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        format!("{} {:?}", about.len(), built.unwrap_or_default())
    }

    /// Runs it without a mistake: whether it passes, how long it takes, and what it comes by.
    pub(crate) fn survey(&self, workshop: &Workshop) -> (End, Duration, BTreeSet<usize>) {
        let folder = workshop.path("reached");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("the folder can be made");
        let (end, time) = self.run(&[], (REACHED, folder.as_os_str()), Duration::from_secs(1200));
        let mut reached = BTreeSet::new();
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            let text = fs::read_to_string(path).expect("the folder can be read");
            reached.extend(text.lines().filter_map(|line| line.parse::<usize>().ok()));
        }
        (end, time, reached)
    }

    /// Runs it with a mistake. It does not end if it takes much longer than without, twice: others may use the machine.
    pub(crate) fn try_mistake(&self, number: usize, without: Duration) -> End {
        let number = number.to_string();
        let run = |longest| self.run(&[], (CHOSEN, number.as_ref()), longest).0;
        let longest = without * 4 + Duration::from_secs(10);
        match run(longest) {
            End::TooLong => run(longest * 3),
            end => end,
        }
    }
}
