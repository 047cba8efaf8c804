//! Makes small mistakes at random places of a copy of the sources, and runs the tests that CI runs.
//!
//! `cargo run --release -p selvedge-testkit --example random_mutants -- SEED COUNT [WORD]` tries COUNT of them,
//! in files whose path contains WORD. The same seed draws the same places of the same sources. Those that
//! no test notices are listed at the end: each needs a test, or an argument that it changes nothing.
//!
//! All are built into one copy, and one is chosen for each run of a test program; a program that does not come
//! by a mistake is not run for it. With `SELVEDGE_MUTANTS_FOLDER` that copy stays, and the next run builds only
//! what has changed; `SELVEDGE_MUTANTS_ONLY=3,14` then tries only those, by number.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it prints, copies files and runs cargo"
)]

mod schemata;
mod sites;
mod suites;
#[path = "../workshop/mod.rs"]
mod workshop;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use schemata::Schemata;
use selvedge_testkit::Random;
use sites::Site;
use suites::{End, Suite};
use workshop::{Workshop, original};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<u64>().ok());
    let (Some(seed), Some(count)) = (number(0), number(1)) else {
        println!("usage: random_mutants SEED COUNT [WORD]");
        return ExitCode::from(2);
    };
    let word = arguments.get(2).map_or("", String::as_str);
    let folder = std::env::var_os("SELVEDGE_MUTANTS_FOLDER").map(PathBuf::from);
    let sources = schemata::sources();
    let workshop =
        Workshop::new(folder, |file| !schemata::is_source(file) && !file.ends_with("Cargo.toml"));
    allow_unsafe(&workshop);
    let drawn = draw(&workshop, &sources, seed, count as usize, word);
    for (number, site) in &drawn {
        println!("{number:4}  {site}");
    }
    let suites = surveyed(&workshop);
    let only: Option<BTreeSet<usize>> = std::env::var("SELVEDGE_MUTANTS_ONLY")
        .ok()
        .map(|text| text.split(',').filter_map(|number| number.parse().ok()).collect());
    let mut survivors = Vec::new();
    let chosen =
        drawn.iter().filter(|(number, _)| only.as_ref().is_none_or(|o| o.contains(number)));
    let mut tried = 0;
    for (&number, site) in chosen {
        tried += 1;
        match noticed_by(number, site, &suites) {
            Some(how) => println!("noticed   {number:4}  {site}   {how}"),
            None => {
                let met = suites.iter().filter(|suite| suite.reached.contains(&number)).count();
                println!("SURVIVED  {number:4}  {site}   ({met} test programs come by)");
                survivors.push((number, site));
            }
        }
    }
    println!("\n{tried} mutants, {} noticed", tried - survivors.len());
    for (number, site) in &survivors {
        println!("  survived: {number:4}  {site}");
    }
    if survivors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Writes the manifests: the choice of a mistake needs what the product does without.
fn allow_unsafe(workshop: &Workshop) {
    let crates = fs::read_dir(original("crates")).expect("the sources can be read").flatten();
    let manifests =
        crates.map(|entry| Path::new("crates").join(entry.file_name()).join("Cargo.toml"));
    for file in manifests.chain([PathBuf::from("Cargo.toml")]) {
        let mut text = fs::read_to_string(original(&file)).expect("the sources can be read");
        for level in ["forbid", "deny"] {
            text = text.replace(&format!("unsafe_code = \"{level}\""), "unsafe_code = \"allow\"");
        }
        workshop.write(&file, text);
    }
}

/// Draws places until `count` of them compile, and writes the sources with them.
fn draw(
    workshop: &Workshop,
    sources: &BTreeMap<PathBuf, String>,
    seed: u64,
    count: usize,
    word: &str,
) -> BTreeMap<usize, Site> {
    let mut sites = sites::all(sources);
    sites.retain(|site| site.file.to_string_lossy().contains(word));
    println!("{} places", sites.len());
    let mut random = Random::new(seed);
    let mut drawn = BTreeMap::new();
    let mut next = 0;
    let mut draw = |drawn: &mut BTreeMap<usize, Site>, more: usize| {
        for _ in 0..more.min(sites.len()) {
            drawn.insert(next, sites.swap_remove(random.below(sites.len())));
            next += 1;
        }
        !sites.is_empty()
    };
    let mut schemata = Schemata::new(workshop, sources);
    // What an earlier run with the same sources has found to compile.
    let known = workshop.path(format!("drawn-{:016x}", fingerprint(sources, seed, count, word)));
    if let Ok(text) = fs::read_to_string(&known) {
        let numbers: BTreeSet<usize> = text.lines().filter_map(|line| line.parse().ok()).collect();
        draw(&mut drawn, numbers.last().map_or(0, |last| last + 1));
        drawn.retain(|number, _| numbers.contains(number));
        schemata.write(&drawn);
        return drawn;
    }
    loop {
        let missing = count.saturating_sub(drawn.len());
        // Some will not compile, and each attempt takes its time.
        let is_more = draw(&mut drawn, missing + missing / 3);
        leave_out_what_does_not_compile(workshop, &mut schemata, &mut drawn);
        if drawn.len() >= count || !is_more {
            break;
        }
    }
    while drawn.len() > count {
        drawn.pop_last();
    }
    schemata.write(&drawn);
    let numbers: String = drawn.keys().map(|number| format!("{number}\n")).collect();
    fs::write(known, numbers).expect("the copy can be written");
    drawn
}

fn fingerprint(sources: &BTreeMap<PathBuf, String>, seed: u64, count: usize, word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (sources, seed, count, word).hash(&mut hasher);
    hasher.finish()
}

fn leave_out_what_does_not_compile(
    workshop: &Workshop,
    schemata: &mut Schemata<'_>,
    drawn: &mut BTreeMap<usize, Site>,
) {
    loop {
        schemata.write(drawn);
        let complaints = suites::complaints(workshop);
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

/// The test programs, the quickest first, after a run without mistakes.
fn surveyed(workshop: &Workshop) -> Vec<Suite> {
    let mut suites = suites::build(workshop);
    println!("{} test programs", suites.len());
    suites.retain_mut(|suite| {
        let passed = matches!(suite.survey(workshop), End::Passed);
        let (name, time, reached) = (&suite.name, suite.time.as_secs_f64(), suite.reached.len());
        let how = if passed { "" } else { "   FAILS without a mistake: left out" };
        println!("{time:8.1} s  {name}: comes by {reached}{how}");
        passed
    });
    suites.sort_by_key(|suite| suite.time);
    suites
}

/// The test that fails, if one does: those of the same crate first.
fn noticed_by(number: usize, site: &Site, suites: &[Suite]) -> Option<String> {
    let home = site.home();
    let home = home.file_name().unwrap_or_default().to_string_lossy();
    let is_near = |suite: &&Suite| suite.name.split(' ').next() == Some(&home);
    let near = suites.iter().filter(is_near);
    let far = suites.iter().filter(|suite| !is_near(suite));
    for suite in near.chain(far).filter(|suite| suite.reached.contains(&number)) {
        match suite.try_mistake(number) {
            End::Passed => {}
            End::Failed(test) => return Some(format!("by {}: {test}", suite.name)),
            End::TooLong => return Some(format!("by {}: does not end", suite.name)),
        }
    }
    None
}
