//! The tests that CI runs, step by step. A later step is built only for mistakes that no test of an earlier one notices.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use crate::workshop::Workshop;
use crate::workshop::schemata::{CHOSEN, REACHED};
use crate::workshop::suites::{End, Suite, programs};

/// A command of `.ci/run` or `scripts/campaigns`.
pub(crate) struct Step {
    /// For people.
    pub(crate) name: &'static str,
    /// What `cargo test` is called with.
    arguments: &'static [&'static str],
    /// Only tests whose path contains one of these; none: all.
    filters: &'static [&'static str],
    /// A variable that is set.
    variable: Option<(&'static str, &'static str)>,
}

const TESTKIT: &[&str] = &["--release", "-p", "selvedge-testkit", "--test=it"];

/// What CI runs. `scripts/campaigns` has a program besides, which is no test: it is left out, and so are the examples in
/// the documentation of items.
pub(crate) const STEPS: [Step; 10] = [
    Step {
        name: "cargo test",
        arguments: &["--workspace", "--exclude", "selvedge-campaigns"],
        filters: &[],
        variable: None,
    },
    Step {
        name: "farm",
        arguments: &["-p", "selvedge-cli", "--features", "farm", "--test=it"],
        filters: &["farm"],
        variable: None,
    },
    Step { name: "golden", arguments: TESTKIT, filters: &["golden"], variable: None },
    Step {
        name: "campaigns: explorers",
        arguments: TESTKIT,
        filters: &[
            "random_programs::",
            "constrained::",
            "observations",
            "contract",
            "locks_only",
            "reference",
            "weak_campaign",
            "weak_models",
        ],
        variable: Some(("SELVEDGE_FUZZ_TIMES", "2")),
    },
    Step {
        name: "campaigns: the others",
        arguments: TESTKIT,
        filters: &["small_programs", "weak_axioms", "observers::"],
        variable: Some(("SELVEDGE_FUZZ_TIMES", "1")),
    },
    Step {
        name: "campaigns: the corpus",
        arguments: &["-p", "selvedge-testkit", "--test=it"],
        filters: &[
            "golden",
            "auto::",
            "estimates",
            "reference::programs_of_the_corpus",
            "observations::programs_with_locks",
            "shared_states",
            "states::",
            "symmetry",
            "promises",
            "actors",
            "scans",
            "elsewhere",
            "weak_waste",
        ],
        variable: Some(("SELVEDGE_FUZZ_TIMES", "1/5")),
    },
    Step {
        name: "campaigns: symbolic",
        arguments: &["-p", "selvedge-symbolic", "--test=it"],
        filters: &[],
        variable: Some(("SELVEDGE_FUZZ_TIMES", "1")),
    },
    Step {
        name: "campaigns: the library",
        arguments: &["-p", "selvedge", "--lib", "--test=it"],
        filters: &[
            "random_",
            "a_test_goes_on",
            "time_limits",
            "code_that_computes",
            "a_long_check",
            "a_block_that_is_too_large",
            "hazard_pointers",
        ],
        variable: Some(("SELVEDGE_FUZZ_TIMES", "1")),
    },
    Step {
        name: "campaigns: C and C++",
        arguments: &["-p", "selvedge-native", "--test=it"],
        filters: &[],
        variable: Some(("SELVEDGE_FUZZ_TIMES", "1")),
    },
    Step {
        name: "campaigns: the command line",
        arguments: &["-p", "selvedge-cli", "--test=it"],
        filters: &["bench::", "limits::", "work::", "kept_c::", "browser::", "serve::page"],
        variable: Some(("SELVEDGE_FUZZ_TIMES", "1")),
    },
];

/// One test of a step.
pub(crate) struct Test {
    suite: Arc<Suite>,
    /// Its path in the program.
    path: String,
    variable: Option<(&'static str, &'static str)>,
    /// Tells one build of its program from another.
    pub(crate) stamp: String,
    /// The step, the program and the path.
    pub(crate) name: String,
}

impl Step {
    /// Builds its test programs, and returns their tests.
    pub(crate) fn build(&self, workshop: &Workshop) -> Vec<Test> {
        let suites = programs(workshop, self.arguments).into_iter().map(Arc::new);
        suites.flat_map(|suite| self.tests(&suite)).collect()
    }

    fn tests(&self, suite: &Arc<Suite>) -> Vec<Test> {
        let output = Command::new(&suite.program)
            .args(["--list", "--format=terse"])
            .current_dir(&suite.folder)
            .output()
            .expect("a test program can list its tests");
        let text = String::from_utf8_lossy(&output.stdout);
        let paths = text.lines().filter_map(|line| line.strip_suffix(": test"));
        let is_named = |path: &&str| {
            self.filters.is_empty() || self.filters.iter().any(|filter| path.contains(filter))
        };
        // Those are about the text of the sources.
        let is_of_the_text =
            |path: &str| suite.name == "selvedge-testkit it" && path.starts_with("tidy::");
        let stamp = stamp(suite);
        let test = |path: &str| Test {
            suite: Arc::clone(suite),
            path: path.to_owned(),
            variable: self.variable,
            stamp: stamp.clone(),
            name: format!("{}: {} {path}", self.name, suite.name),
        };
        paths.filter(is_named).filter(|path| !is_of_the_text(path)).map(test).collect()
    }
}

/// Tells one build of a program from another.
fn stamp(suite: &Suite) -> String {
    let about = fs::metadata(&suite.program).expect("a test program can be looked at");
    let built = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    format!("{} {:?}", about.len(), built.unwrap_or_default())
}

impl Test {
    /// The package that it is in.
    pub(crate) fn package(&self) -> &str {
        self.suite.name.split(' ').next().unwrap_or_default()
    }

    fn run(&self, with: (&str, &OsStr), longest: Duration) -> (End, Duration) {
        let always = self.variable.map(|(name, value)| (name, OsStr::new(value)));
        let variables: Vec<(&str, &OsStr)> = always.into_iter().chain([with]).collect();
        self.suite.run(&self.path, &variables, longest)
    }

    /// Runs it without a mistake: how it ends, how long it takes, and which of so many mistakes it comes by.
    pub(crate) fn survey(
        &self,
        workshop: &Workshop,
        worker: usize,
        most: usize,
    ) -> (End, Duration, BTreeSet<usize>) {
        let file = workshop.path(format!("reached-{worker}"));
        // Not the file that a process of an earlier test may still have mapped.
        let _ = fs::remove_file(&file);
        fs::write(&file, vec![0; most]).expect("the copy can be written");
        let (end, time) = self.run((REACHED, file.as_os_str()), Duration::from_secs(600));
        let bytes = fs::read(&file).expect("the copy can be read");
        (end, time, (0..most).filter(|&number| bytes[number] != 0).collect())
    }

    /// Runs it with a mistake. It does not end if it takes much longer than without, and again when it has three times as long,
    /// though without the mistake it still passes: others may use the machine.
    pub(crate) fn try_mistake(&self, number: usize, without: Duration) -> End {
        let number = number.to_string();
        let longest = without * 4 + Duration::from_secs(10);
        let run = |longest| self.run((CHOSEN, number.as_ref()), longest).0;
        match run(longest) {
            End::TooLong => match run(longest * 3) {
                End::TooLong if self.run((CHOSEN, "".as_ref()), longest).0 == End::Passed => {
                    End::TooLong
                }
                End::TooLong => End::Passed,
                end => end,
            },
            end => end,
        }
    }
}
