//! Makes mistakes in a copy of the sources, one at a time, and expects a test to fail for each.
//!
//! `cargo run --release -p selvedge-testkit --example deliberate_mistakes [-- WORD]` tries those whose
//! name contains WORD, or all. A test suite that stays green here would not notice the mistake.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for developers: it prints, copies files and runs cargo"
)]

mod list;
mod running;
#[path = "../workshop/mod.rs"]
mod workshop;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use list::Mistake;
use workshop::Workshop;

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    let workshop = Workshop::new(None, |_| true);
    let mut missed = 0;
    for mistake in list::all().filter(|mistake| mistake.name.contains(&word)) {
        let noticed = is_noticed(&workshop, mistake);
        missed += usize::from(!noticed);
        println!("{}  {}", if noticed { "noticed" } else { "MISSED " }, mistake.name);
        println!("         by {} in the tests `{}`", mistake.test, mistake.suite);
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes the mistake, runs the test, and takes the mistake back.
fn is_noticed(workshop: &Workshop, mistake: &Mistake) -> bool {
    let (folder, package) = mistake.home();
    let file = Path::new(folder).join(mistake.file);
    let text = fs::read_to_string(workshop.path(&file)).expect("the sources can be read");
    assert_eq!(
        text.matches(mistake.right).count(),
        1,
        "the place of the mistake “{}” is not unique in {}",
        mistake.name,
        mistake.file
    );
    let wrong = text.replace(mistake.right, mistake.wrong);
    running::with_text(workshop, &file, &wrong, || {
        let test = match mistake.suite {
            "lib" => vec!["test", "--quiet", "-p", package, "--lib"],
            suite => vec!["test", "--quiet", "-p", package, "--test", suite],
        };
        let built = running::cargo(workshop, &[&test[..], &["--no-run"]].concat());
        assert!(built, "the mistake “{}” does not compile", mistake.name);
        !running::cargo(workshop, &[&test[..], &["--", "--exact", mistake.test]].concat())
    })
}
