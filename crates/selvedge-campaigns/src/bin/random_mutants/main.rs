//! Makes small mistakes at random places of a copy of the sources, and runs the tests that CI runs.
//!
//! `cargo run --release -p selvedge-campaigns --bin random_mutants -- SEED COUNT [WORD]` tries COUNT of them,
//! in files whose path contains WORD. The same seed draws the same places of the same sources.
//! `… -- again LISTING` tries those that an earlier run printed, though the sources have changed since. Those
//! that no test notices are listed at the end: each needs a test, or an argument that it changes nothing.
//!
//! All are built into one copy, and one is chosen for each run of a test; a test that does not come by a mistake is
//! not run for it. With `SELVEDGE_MUTANTS_FOLDER` that copy stays, and what was found out about a
//! test program that has not changed since: an interrupted run continues where it was.
//! `SELVEDGE_MUTANTS_ONLY=3,14` tries only those, by number; `SELVEDGE_MUTANTS_TESTS=WORD` runs only tests with the
//! WORD in their name; `SELVEDGE_MUTANTS_JOBS=4` runs so many at a time.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it prints, copies files and runs cargo"
)]

mod judge;
mod listing;
mod records;
mod sites;
mod steps;
#[path = "../../workshop/mod.rs"]
mod workshop;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

use judge::Judge;
use records::Records;
use selvedge_testkit::Random;
use workshop::Workshop;
use workshop::schemata::{self, Schemata};
use workshop::site::Site;
use workshop::suites::complaints;

/// Which mistakes are tried.
#[derive(Hash)]
enum Sample {
    /// So many, drawn with a seed from the files whose path contains a word.
    Drawn { seed: u64, count: usize, word: String },
    /// Those that an earlier run printed.
    Again(Vec<listing::Line>),
}

impl Sample {
    fn from_arguments(arguments: &[String]) -> Option<Self> {
        match arguments {
            [again, file] if again == "again" => {
                let text = fs::read_to_string(file).expect("the listing can be read");
                Some(Self::Again(listing::parse(&text)))
            }
            [seed, count, rest @ ..] if rest.len() < 2 => Some(Self::Drawn {
                seed: seed.parse().ok()?,
                count: count.parse().ok()?,
                word: rest.first().cloned().unwrap_or_default(),
            }),
            _ => None,
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(sample) = Sample::from_arguments(&arguments) else {
        println!("usage: random_mutants SEED COUNT [WORD] | again LISTING");
        return ExitCode::from(2);
    };
    let folder = std::env::var_os("SELVEDGE_MUTANTS_FOLDER").map(PathBuf::from);
    let sources = schemata::sources();
    let workshop = Workshop::new(folder);
    let drawn = written(&workshop, &sources, &sample);
    for (number, site) in &drawn {
        println!("{number:4}  {site}");
    }
    let only = list("SELVEDGE_MUTANTS_ONLY");
    let is_chosen = |number: &usize| only.is_empty() || only.contains(&number.to_string());
    let mut open: BTreeMap<usize, &Site> = drawn
        .iter()
        .filter(|(number, _)| is_chosen(number))
        .map(|(&number, site)| (number, site))
        .collect();
    let tried = open.len();
    let words = list("SELVEDGE_MUTANTS_TESTS");
    let records = Mutex::new(Records::new(&workshop));
    let most = drawn.keys().last().map_or(0, |last| last + 1);
    for step in steps::STEPS {
        if open.is_empty() {
            break;
        }
        println!("\n== {}", step.name);
        let mut tests = step.build(&workshop);
        tests.retain(|test| words.is_empty() || words.iter().any(|w| test.name.contains(w)));
        let judge = Judge { workshop: &workshop, tests, records: &records, most };
        judge.survey();
        let noticed = judge.try_all(&open);
        let endless = noticed.values().filter(|by| !by.ends).count();
        println!("{} noticed, {endless} of them as a test does not end", noticed.len());
        open.retain(|number, _| !noticed.contains_key(number));
    }
    println!("\n{tried} mutants, {} noticed", tried - open.len());
    for (number, site) in &open {
        println!("  survived: {number:4}  {site}");
    }
    if open.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The words of a variable, between commas.
fn list(variable: &str) -> Vec<String> {
    let text = std::env::var(variable).unwrap_or_default();
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The mistakes of a sample that compile, by number, after writing the sources with them.
fn written(
    workshop: &Workshop,
    sources: &BTreeMap<PathBuf, String>,
    sample: &Sample,
) -> BTreeMap<usize, Site> {
    let sites = sites::all(sources);
    println!("{} places", sites.len());
    let mut schemata = Schemata::new(workshop, sources);
    // What an earlier run with the same sources has found to compile.
    let known = workshop.path(format!("drawn-{:016x}", fingerprint(sources, sample)));
    let known_numbers: Option<BTreeSet<usize>> = fs::read_to_string(&known)
        .ok()
        .map(|text| text.lines().filter_map(|line| line.parse().ok()).collect());
    let drawn = match (sample, known_numbers) {
        (Sample::Drawn { seed, word, .. }, Some(numbers)) => {
            let mut draw = Draw::new(sites, *seed, word);
            let mut drawn = BTreeMap::new();
            draw.some(&mut drawn, numbers.last().map_or(0, |last| last + 1));
            drawn.retain(|number, _| numbers.contains(number));
            drawn
        }
        (Sample::Drawn { seed, count, word }, None) => {
            let draw = Draw::new(sites, *seed, word);
            draw_until_enough(draw, *count, workshop, &mut schemata)
        }
        (Sample::Again(lines), known_numbers) => {
            let mut drawn = listing::find(lines, sites);
            match known_numbers {
                Some(numbers) => drawn.retain(|number, _| numbers.contains(number)),
                None => leave_out_what_does_not_compile(workshop, &mut schemata, &mut drawn),
            }
            drawn
        }
    };
    schemata.write(&drawn);
    let numbers: String = drawn.keys().map(|number| format!("{number}\n")).collect();
    fs::write(known, numbers).expect("the copy can be written");
    drawn
}

/// Places that are drawn one after the other.
struct Draw {
    sites: Vec<Site>,
    random: Random,
    next: usize,
}

impl Draw {
    fn new(mut sites: Vec<Site>, seed: u64, word: &str) -> Self {
        sites.retain(|site| site.file.to_string_lossy().contains(word));
        Self { sites, random: Random::new(seed), next: 0 }
    }

    fn some(&mut self, drawn: &mut BTreeMap<usize, Site>, more: usize) {
        for _ in 0..more.min(self.sites.len()) {
            let site = self.sites.swap_remove(self.random.below(self.sites.len()));
            drawn.insert(self.next, site);
            self.next += 1;
        }
    }
}

fn draw_until_enough(
    mut draw: Draw,
    count: usize,
    workshop: &Workshop,
    schemata: &mut Schemata<'_>,
) -> BTreeMap<usize, Site> {
    let mut drawn = BTreeMap::new();
    while drawn.len() < count && !draw.sites.is_empty() {
        let missing = count - drawn.len();
        // Some will not compile, and each attempt takes its time.
        draw.some(&mut drawn, missing + missing / 3);
        leave_out_what_does_not_compile(workshop, schemata, &mut drawn);
    }
    while drawn.len() > count {
        drawn.pop_last();
    }
    drawn
}

fn fingerprint(sources: &BTreeMap<PathBuf, String>, sample: &Sample) -> u64 {
    let mut hasher = DefaultHasher::new();
    (sources, sample).hash(&mut hasher);
    hasher.finish()
}

fn leave_out_what_does_not_compile(
    workshop: &Workshop,
    schemata: &mut Schemata<'_>,
    drawn: &mut BTreeMap<usize, Site>,
) {
    loop {
        schemata.write(drawn);
        let complaints = complaints(workshop);
        if complaints.is_empty() {
            return;
        }
        let before = drawn.len();
        for complaint in &complaints {
            for (file, place) in &complaint.places {
                for number in schemata.at(file, place) {
                    drawn.remove(&number);
                }
            }
        }
        let messages: Vec<&str> =
            complaints.iter().map(|complaint| complaint.message.as_str()).collect();
        println!("{} do not compile", before - drawn.len());
        assert!(drawn.len() < before, "the copy does not compile: {}", messages.join("; "));
    }
}
