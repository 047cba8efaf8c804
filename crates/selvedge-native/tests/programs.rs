//! The programs in `programs/c`: verdicts and counts of their headers, which are those of the models that they name.

use std::path::{Path, PathBuf};

use selvedge_core::Verdict;
use selvedge_explore::{Algorithm, Memory, Options};
use selvedge_lang::Interpreter;
use selvedge_native::Language;
use selvedge_testkit::{explore, is_campaign};

use crate::common::{Compiled, Nothing, compile_files};
use crate::weak::explore as explore_weak;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

/// The expectations of a program.
struct Header {
    verdict: String,
    same: Option<String>,
    /// Its verdict under rc11, if that is another one.
    rc11: Option<String>,
    /// Constants, and how many classes there are.
    counts: Vec<(Vec<(String, i64)>, u64)>,
}

fn header(text: &str) -> Header {
    let mut header = Header { verdict: String::new(), same: None, rc11: None, counts: Vec::new() };
    for line in text.lines().filter_map(|line| line.strip_prefix("//# ")) {
        let (name, value) = line.split_once(": ").expect("a name and a value");
        match name {
            "verdict" => header.verdict = value.to_owned(),
            "same" => header.same = Some(value.to_owned()),
            "rc11" => header.rc11 = Some(value.to_owned()),
            _ => {
                let constants = name.split(", ").filter(|part| *part != "default").map(|part| {
                    let (name, value) = part.split_once('=').expect("a constant and its value");
                    (name.to_owned(), value.parse().expect("a number"))
                });
                let classes = value.strip_prefix("classes=").expect("how many classes");
                header.counts.push((constants.collect(), classes.parse().expect("a number")));
            }
        }
    }
    header
}

/// Returns how many executions `algorithm` has of a model.
fn of_model(file: &str, constants: &[(String, i64)], algorithm: Algorithm) -> u64 {
    let text = std::fs::read_to_string(folder().join(file)).expect("the model exists");
    let compiled = selvedge_lang::compile(file, &text, constants).expect("it is a model");
    let make = || Interpreter::new(compiled.program.clone());
    explore(algorithm, &make, &Options::default(), &mut Nothing).counts.maximal()
}

/// The verdict under rc11 is that of the header, or it is not known.
fn under_rc11(file: &Path, compiled: &Compiled, header: &Header) {
    let options = Options { data_races: true, ..Options::default() };
    let report = explore_weak(&compiled.loaded, Memory::Rc11, &options);
    let expected = match header.rc11.as_ref().unwrap_or(&header.verdict).as_str() {
        "violated" => Verdict::Violated,
        _ => Verdict::Verified,
    };
    let at = format!("{}: {:?} {:?}", file.display(), report.findings, report.inconclusive);
    match report.verdict() {
        Verdict::Inconclusive => {
            let why = report.inconclusive[0].to_string();
            assert!(why.contains("under a memory model yet"), "{at}");
        }
        verdict => assert_eq!(verdict, expected, "{at}"),
    }
}

#[test]
fn have_the_verdicts_and_counts_of_their_headers() {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join("c"))
        .expect("the folder exists")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| Language::of(path).is_some())
        .collect();
    files.sort();
    assert!(files.len() >= 26, "{files:?}");
    for file in files {
        let header = header(&std::fs::read_to_string(&file).expect("it is a text"));
        let counts = match header.counts.is_empty() {
            true => &vec![(Vec::new(), 0)],
            false => &header.counts,
        };
        assert!(counts.iter().any(|(constants, _)| constants.is_empty()), "{}", file.display());
        // In a campaign with all constants.
        let is_wanted = |constants: &[_]| constants.is_empty() || is_campaign();
        for (constants, classes) in counts.iter().filter(|(constants, _)| is_wanted(constants)) {
            let flags: Vec<String> =
                constants.iter().map(|(name, value)| format!("-D{name}={value}")).collect();
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let compiled = compile_files(std::slice::from_ref(&file), &flags);
            if constants.is_empty() {
                under_rc11(&file, &compiled, &header);
            }
            let at = format!("{} {flags:?}", file.display());
            for algorithm in [Algorithm::Optimal, Algorithm::Parsimonious, Algorithm::DataCentric] {
                let report = compiled.explore(algorithm);
                let name = algorithm.info().name;
                let why = format!("{at} {name}: {:?} {:?}", report.violations, report.inconclusive);
                let verdict = match header.verdict == "violated" {
                    true => Verdict::Violated,
                    false => Verdict::Verified,
                };
                assert_eq!(report.verdict(), verdict, "{why}");
                // Of a program without a model, the number of traces is known.
                let is_counted = header.same.is_some() || algorithm != Algorithm::DataCentric;
                if *classes == 0 || !is_counted {
                    continue;
                }
                let expected = match &header.same {
                    Some(model) => of_model(model, constants, algorithm),
                    None => *classes,
                };
                assert_eq!(report.counts.maximal(), expected, "{at} {name}: the model has as many");
                if algorithm == Algorithm::Optimal {
                    assert_eq!(expected, *classes, "{at}");
                }
            }
        }
    }
}
