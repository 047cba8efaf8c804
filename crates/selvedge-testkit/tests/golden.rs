//! Every program of the corpus has the results that its header says, with every algorithm.
//!
//! `UPDATE_EXPECT=1 cargo test -p selvedge-testkit --test it golden` writes the numbers of the algorithms
//! into the headers; what was derived by hand is never changed. `cargo test` looks at settings in which all algorithms together
//! need few executions, as their headers say: four of five, with a tenth of all executions. The others run in campaigns and in release
//! builds, large ones (`slow`) in release builds and with `SELVEDGE_SLOW=1`.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use selvedge_testkit::golden::{self, Golden, Outcome, Setting};
use selvedge_testkit::{corpus, is_campaign, programs, text_of};

/// Of all algorithms, in a setting that is looked at every time.
const MOST_EXECUTIONS: u64 = 5_000;

#[test]
fn every_program_gives_what_its_header_says() {
    let is_quick = |setting: &Setting| setting.executions() <= MOST_EXECUTIONS;
    match cfg!(debug_assertions) && !is_campaign() && !updating() {
        true => check_all(|setting| !setting.slow && is_quick(setting)),
        false => check_all(|setting| !setting.slow),
    }
}

#[test]
fn large_settings_give_what_their_headers_say() {
    if cfg!(debug_assertions) && std::env::var_os("SELVEDGE_SLOW").is_none() {
        return;
    }
    check_all(|setting| setting.slow);
}

fn check_all(wanted: impl Fn(&Setting) -> bool + Sync) {
    let files = programs();
    assert!(files.len() >= 40, "only {} programs found", files.len());
    let next = AtomicUsize::new(0);
    let problems = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = check(file, &wanted);
                    problems.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mut problems = problems.into_inner().unwrap();
    problems.sort();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Runs the wanted settings of one file; returns what is wrong.
fn check(file: &Path, wanted: &impl Fn(&Setting) -> bool) -> Vec<String> {
    let name = file.strip_prefix(corpus()).unwrap().display().to_string();
    let text = text_of(file);
    let golden = match Golden::parse(&text) {
        Ok(golden) => golden,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut problems = Vec::new();
    let mut outcomes = Vec::new();
    for setting in &golden.settings {
        if !wanted(setting) {
            outcomes.push(None);
            continue;
        }
        match golden::run(&name, &text, &golden, setting) {
            Ok(outcome) => {
                let of = if setting.constants.is_empty() {
                    String::new()
                } else {
                    format!(" with {:?}", setting.constants)
                };
                problems.extend(outcome.wrong.iter().map(|wrong| format!("{name}{of}: {wrong}")));
                if !updating() {
                    let outdated = outcome.outdated.iter();
                    problems.extend(outdated.map(|line| format!("{name}{of}: {line}")));
                }
                outcomes.push(Some(outcome));
            }
            Err(diagnostics) => return vec![format!("{name}:\n{diagnostics}")],
        }
    }
    if updating() {
        update(file, &outcomes);
    }
    problems
}

fn updating() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some()
}

/// Both tests may want to change one file.
static UPDATE: Mutex<()> = Mutex::new(());

fn update(file: &Path, outcomes: &[Option<Outcome>]) {
    let _guard = UPDATE.lock().unwrap();
    let text = fs::read_to_string(file).unwrap();
    let golden = Golden::parse(&text).unwrap();
    // Numbers that came with a mistake are not worth keeping.
    let right = |outcome: &Outcome| outcome.wrong.is_empty().then(|| outcome.measured.clone());
    let measured: Vec<_> =
        outcomes.iter().map(|outcome| outcome.as_ref().and_then(right)).collect();
    let new = golden.rewrite(&text, &measured);
    if new != text {
        fs::write(file, new).unwrap();
    }
}
