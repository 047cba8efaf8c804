//! Makes small mistakes at random places of a copy of the sources, and runs the tests that CI runs.
//!
//! `cargo run --release -p selvedge-testkit --example random_mutants -- SEED COUNT [WORD]` tries COUNT of them,
//! in files whose path contains WORD. The same seed draws the same places of the same sources. Those that
//! no test notices are listed at the end: each needs a test, or an argument that it changes nothing.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it prints, copies files and runs cargo"
)]

mod sites;
#[path = "../workshop/mod.rs"]
mod workshop;

use std::fs;
use std::process::ExitCode;

use selvedge_testkit::Random;
use sites::Site;
use workshop::Workshop;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| arguments.get(index).and_then(|text| text.parse::<u64>().ok());
    let (Some(seed), Some(count)) = (number(0), number(1)) else {
        println!("usage: random_mutants SEED COUNT [WORD]");
        return ExitCode::from(2);
    };
    let word = arguments.get(2).map_or("", String::as_str);
    let workshop = Workshop::new();
    let mut sites = sites::all(&workshop.path("crates"), word);
    println!("{} places", sites.len());
    let mut random = Random::new(seed);
    let (mut tried, mut survivors) = (0, Vec::new());
    while tried < count && !sites.is_empty() {
        let site = sites.swap_remove(random.below(sites.len()));
        let text = fs::read_to_string(workshop.path(&site.file)).expect("the sources can be read");
        let mutated = site.mutated(&text);
        let verdict = workshop.with_text(&site.file, &mutated, |workshop| judge(workshop, &site));
        match verdict {
            Verdict::DoesNotCompile => continue,
            Verdict::NoticedBy(tests) => println!("noticed   {site}   by {tests}"),
            Verdict::Survived => {
                println!("SURVIVED  {site}");
                survivors.push(site);
            }
        }
        tried += 1;
    }
    println!(
        "\n{tried} mutants, {} noticed, {} survived",
        tried - survivors.len() as u64,
        survivors.len()
    );
    for site in &survivors {
        println!("  {site}");
    }
    if survivors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

enum Verdict {
    DoesNotCompile,
    NoticedBy(String),
    Survived,
}

fn judge(workshop: &Workshop, site: &Site) -> Verdict {
    if !workshop.cargo(&["build", "--quiet", "--profile", "test", "-p", site.package()]) {
        return Verdict::DoesNotCompile;
    }
    for tests in ladder(site.package()) {
        let arguments: Vec<&str> =
            ["test", "--quiet"].into_iter().chain(tests.split(' ')).collect();
        if !workshop.cargo(&arguments) {
            return Verdict::NoticedBy(format!("`cargo test {tests}`"));
        }
    }
    Verdict::Survived
}

/// The tests that can notice a mistake in a package, those that most likely do first.
fn ladder(package: &str) -> &'static [&'static str] {
    match package {
        "selvedge-core" => &[
            "-p selvedge-core",
            "-p selvedge-testkit --test small_programs",
            "-p selvedge-testkit --test golden",
            "-p selvedge-explore",
            "-p selvedge-lang",
            "-p selvedge-testkit",
            "-p selvedge-report",
            "-p selvedge-cli",
            "-p selvedge",
            "-p selvedge-symbolic",
        ],
        "selvedge-explore" => &[
            "-p selvedge-explore",
            "-p selvedge-testkit --test golden",
            "-p selvedge-testkit --test small_programs",
            "-p selvedge-testkit",
            "-p selvedge-cli",
            "-p selvedge",
            "-p selvedge-symbolic",
        ],
        "selvedge-lang" => &[
            "-p selvedge-lang",
            "-p selvedge-testkit --test golden",
            "-p selvedge-testkit",
            "-p selvedge-cli",
            "-p selvedge-symbolic",
        ],
        "selvedge-symbolic" => &["-p selvedge-symbolic", "-p selvedge-cli"],
        "selvedge-report" => &["-p selvedge-report", "-p selvedge-cli", "-p selvedge"],
        "selvedge-cli" => &["-p selvedge-cli"],
        "selvedge" => &["-p selvedge", "-p loom"],
        _ => &["-p loom"],
    }
}
