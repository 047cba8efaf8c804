//! The same verdicts as the explorers, on all programs of `programs/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_core::{Bound, Verdict};
use selvedge_symbolic::{Options, Scheme, check};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

fn programs() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![corpus()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sel") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn order_agrees_with_the_explorers() {
    agrees(Scheme::Order);
}

#[test]
fn token_agrees_with_the_explorers() {
    agrees(Scheme::Token);
}

#[test]
fn mat_agrees_with_the_explorers() {
    agrees(Scheme::Mat);
}

/// What the symbolic checks do not look at or cannot encode.
const UNSUPPORTED: [&str; 4] = ["send ", "receive", "list ", "map "];

fn agrees(scheme: Scheme) {
    let mut problems = Vec::new();
    for file in programs() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.strip_prefix(corpus()).unwrap().display().to_string();
        let compiled = selvedge_lang::compile(&name, &text, &[]).unwrap();
        let start = Instant::now();
        let mut stop =
            || (start.elapsed() > Duration::from_secs(20)).then_some(Bound::Time);
        let options = Options { scheme, keep_going: true, ..Options::default() };
        let outcome = check(&Arc::clone(&compiled.program), &options, &mut stop, &|| start.elapsed());
        let expected = text.lines().find_map(|line| line.strip_prefix("//# verdict: ")).unwrap();
        let mut kinds: Vec<&str> =
            outcome.report.violations.iter().map(|(violation, _)| violation.kind.name()).collect();
        kinds.sort();
        kinds.dedup();
        let verdict = outcome.report.verdict();
        let found = match verdict {
            Verdict::Violated => format!("violated {}", kinds.join(", ")),
            verdict => verdict.to_string(),
        };
        let reasons: Vec<String> = outcome.report.inconclusive.iter().map(|r| r.to_string()).collect();
        if expected == "violated data-race" || UNSUPPORTED.iter().any(|word| text.contains(word)) && found == "inconclusive" {
            continue;
        }
        if found != expected || !outcome.mistakes.is_empty() || start.elapsed() > Duration::from_secs(1) {
            problems.push(format!("{name}: {found}, not {expected} ({:.1?}) {:?} {reasons:?}", start.elapsed(), outcome.mistakes));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
