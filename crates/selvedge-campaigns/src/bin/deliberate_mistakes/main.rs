//! Makes mistakes in a copy of the sources, one at a time, and expects a test to fail for each.
//!
//! `cargo run --release -p selvedge-campaigns --bin deliberate_mistakes [-- WORD…]` tries those whose
//! name contains one of the WORDs, or all. A test suite that stays green here would not notice the mistake.
//!
//! All are built into one copy, and one is chosen for each run of its test. With `SELVEDGE_MUTANTS_FOLDER` that
//! copy stays, and the next run builds only what has changed.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it prints, copies files and runs cargo"
)]

mod list;
mod places;
#[path = "../../workshop/mod.rs"]
mod workshop;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use list::Mistake;
use places::Place;
use workshop::Workshop;
use workshop::schemata::{self, CHOSEN, Schemata};
use workshop::suites::{self, End, Suite};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |mistake: &&Mistake| {
        words.is_empty() || words.iter().any(|word| mistake.name.contains(word))
    };
    let mistakes: Vec<&Mistake> = list::all().filter(is_wanted).collect();
    let workshop = Workshop::new(std::env::var_os("SELVEDGE_MUTANTS_FOLDER").map(PathBuf::from));
    make(&workshop, &mistakes);
    let mut programs: BTreeMap<(&str, bool), Suite> = BTreeMap::new();
    let mut missed = 0;
    for (number, mistake) in mistakes.iter().enumerate() {
        let (package, suite) = (mistake.home().1, mistake.suite);
        let is_unit = suite == "lib";
        let program = programs.entry((package, is_unit)).or_insert_with(|| {
            build(&workshop, package, if is_unit { "--lib" } else { "--test=it" })
        });
        let (name, test) = (mistake.name, mistake.test);
        let path = if is_unit { test.to_owned() } else { format!("{suite}::{test}") };
        let noticed = is_noticed(program, &path, number);
        missed += usize::from(!noticed);
        println!("{}  {name}", if noticed { "noticed" } else { "MISSED " });
        println!("         by {test} in the tests `{suite}`");
    }
    println!("\n{} mistakes, {} noticed", mistakes.len(), mistakes.len() - missed);
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the sources with all mistakes. Where one cannot be chosen while the program runs, more of the code
/// around it is there twice.
fn make(workshop: &Workshop, mistakes: &[&Mistake]) {
    let sources = schemata::sources();
    let mut places: Vec<Place> =
        mistakes.iter().map(|mistake| Place::of(mistake, &sources)).collect();
    let mut schemata = Schemata::new(workshop, &sources);
    loop {
        schemata.write(&places.iter().map(Place::site).enumerate().collect());
        let complaints = suites::complaints(workshop);
        if complaints.is_empty() {
            return;
        }
        for complaint in complaints {
            let places_named = complaint.places.iter();
            let numbers: Vec<usize> =
                places_named.flat_map(|(file, range)| schemata.at(file, range)).collect();
            assert!(!numbers.is_empty(), "the copy does not compile: {}", complaint.message);
            for number in numbers {
                places[number].widen(&complaint.message);
            }
        }
    }
}

fn build(workshop: &Workshop, package: &str, target: &str) -> Suite {
    let programs = suites::programs(workshop, &["-p", package, target]);
    programs.into_iter().next().expect("cargo builds one program")
}

/// Runs a test without a mistake and with it. One that takes much longer with it does not end.
fn is_noticed(program: &Suite, test: &str, number: usize) -> bool {
    const LONGEST: Duration = Duration::from_secs(900);
    // As in `scripts/campaigns`, not the share of programs that `cargo test` looks at.
    let all_programs = ("SELVEDGE_FUZZ_TIMES", "1".as_ref());
    let (end, time) = program.run(test, &[all_programs], LONGEST);
    assert!(end != End::Failed, "{}: {test} fails without a mistake", program.name);
    let longest = (time * 10 + Duration::from_secs(60)).min(LONGEST);
    let chosen = number.to_string();
    program.run(test, &[all_programs, (CHOSEN, chosen.as_ref())], longest).0 != End::Passed
}
