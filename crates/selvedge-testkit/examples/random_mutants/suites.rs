//! The tests that CI runs, as programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::workshop::schemata::{CHOSEN, REACHED};
use crate::workshop::suites::{End, Suite, programs};
use crate::workshop::{Workshop, original};

/// Builds the tests that CI runs: those of all packages, then the golden programs in a release build.
/// In parts: others may want to use the machine in between.
pub(crate) fn build(workshop: &Workshop) -> Vec<Suite> {
    let all = ["test", "--workspace", "--no-run"];
    let units = ["--lib", "--bins", "--example=ring", "--example=oneshot", "--example=cache"];
    let mut suites = programs(workshop, &[&all[..], &units].concat(), "");
    for krate in names(&original("crates")) {
        let tests = original("crates").join(krate).join("tests");
        let tests: Vec<String> =
            names(&tests).iter().map(|name| format!("--test={name}")).collect();
        if !tests.is_empty() {
            let tests = tests.iter().map(String::as_str);
            let arguments: Vec<&str> = all.into_iter().chain(tests).collect();
            suites.extend(programs(workshop, &arguments, ""));
        }
    }
    let golden = ["test", "--no-run", "--release", "-p", "selvedge-testkit", "--test=golden"];
    suites.extend(programs(workshop, &golden, " (release)"));
    // This one is about the text of the sources.
    suites.retain(|suite| suite.name != "selvedge-testkit tidy");
    suites.sort_by(|a, b| a.name.cmp(&b.name));
    suites.dedup_by(|a, b| a.name == b.name);
    suites
}

/// What is in a folder: Rust files without their ending, and folders of a test.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension().is_some_and(|end| end == "rs")
                || path.join("main.rs").exists()
                || path.join("src").exists()
        })
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

impl Suite {
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

    /// Runs it with a mistake. It does not end if it takes much longer than without.
    pub(crate) fn try_mistake(&self, number: usize, without: Duration) -> End {
        let longest = without * 4 + Duration::from_secs(10);
        self.run(&[], (CHOSEN, number.to_string().as_ref()), longest).0
    }
}
