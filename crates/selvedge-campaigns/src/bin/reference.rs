//! Compares the reference semantics with the tool on random programs, and says how many were compared.
//!
//! `cargo run --release -p selvedge-campaigns --bin reference -- FIRST COUNT [ORIGIN]…`
//!
//! An origin is a profile, or `drawn`; without one, all of them. Program number N of an origin is always the same, so runs
//! with other ranges add up. `reference FILE…` compares on files, and prints what both find if they differ.
//! The exit code is 1 if they differ, and 2 if the arguments are wrong.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::process::ExitCode;

use selvedge_explore::Algorithm;
use selvedge_testkit::reference::{Compared, Effort, Origin, Program, agree, explore, tool};

/// Calls of the program under test are calls of the reference: 1,000 can be nested.
const STACK: usize = 1 << 28;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let run = std::thread::Builder::new().stack_size(STACK).spawn(move || run(&arguments));
    run.expect("a thread can be started").join().unwrap_or(ExitCode::FAILURE)
}

fn run(arguments: &[String]) -> ExitCode {
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    match (number(0), number(1)) {
        (Some(first), Some(count)) => campaign(first, count, &arguments[2..]),
        (None, _) if !arguments.is_empty() => files(arguments),
        _ => {
            eprintln!("reference: FIRST COUNT [ORIGIN]… or FILE… is expected");
            ExitCode::from(2)
        }
    }
}

/// What came of the programs of one origin.
#[derive(Default)]
struct Tally {
    compared: u64,
    counted: u64,
    ends: u64,
    violations: usize,
    deadlocks: usize,
    states: usize,
    too_large: u64,
    differ: u64,
}

fn campaign(first: u64, count: u64, names: &[String]) -> ExitCode {
    let mut origins = Origin::all();
    if !names.is_empty() {
        origins.retain(|origin| names.iter().any(|name| name == origin.name()));
    }
    if origins.is_empty() {
        eprintln!("reference: no origin is called {}", names.join(" or "));
        return ExitCode::from(2);
    }
    let mut all_agree = true;
    for origin in origins {
        let mut tally = Tally::default();
        for number in first..first + count {
            match origin.compare(number, Effort::default()) {
                Ok(Compared::Same(facts, ends)) => {
                    tally.compared += 1;
                    tally.counted += u64::from(facts.executions.is_some());
                    tally.ends += u64::from(ends);
                    tally.violations += facts.violations.len();
                    tally.deadlocks += facts.deadlocks.len();
                    tally.states += facts.finals.len();
                }
                Ok(Compared::TooLarge) => tally.too_large += 1,
                Err(difference) => {
                    tally.differ += 1;
                    println!("{difference}");
                }
            }
        }
        all_agree &= tally.differ == 0;
        println!(
            "{:>16}: {} compared ({} with the number of interleavings, {} with final values), {} too large, {} differ; \
             {} violations, {} deadlocks, {} final states",
            origin.name(),
            tally.compared,
            tally.counted,
            tally.ends,
            tally.too_large,
            tally.differ,
            tally.violations,
            tally.deadlocks,
            tally.states
        );
    }
    if all_agree { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn files(names: &[String]) -> ExitCode {
    let mut all_agree = true;
    for name in names {
        let text = match std::fs::read_to_string(name) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("reference: {name}: {error}");
                return ExitCode::from(2);
            }
        };
        match agree(&text, &[], Effort::default()) {
            Ok(Compared::Same(..)) => println!("{name}: same"),
            Ok(Compared::TooLarge) => println!("{name}: too large"),
            Err(difference) => {
                all_agree = false;
                println!("{name}: {difference}");
                if let Ok(program) = Program::new(&text, &[]) {
                    let effort = Effort::default();
                    if let Some(facts) = explore(&program, effort.states) {
                        println!("the reference:\n{facts}");
                    }
                    let most = effort.interleavings;
                    if let Ok(Some(facts)) =
                        tool::facts(&text, &program, &[], Algorithm::Oracle, most)
                    {
                        println!("the tool:\n{facts}");
                    }
                }
            }
        }
    }
    if all_agree { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
