//! Compares the explorer of execution graphs with the axioms of each memory model on random litmus tests.
//!
//! `cargo run --release -p selvedge-campaigns --bin weak_campaign -- FIRST COUNT [ORIGIN]…`
//!
//! An origin is a kind of programs (`memory`, `cycle`, …); without one, all of them. Program number N of an origin is always the
//! same, so runs with other ranges add up. Prints how many programs and graphs were compared, and each difference with the
//! smallest program that shows it. The exit code is 1 if there is one, and 2 if the arguments are wrong.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::process::ExitCode;

use selvedge_explore::Memory;
use selvedge_testkit::axioms::{Compared, Effort, Refusal, agree_or_shrink};
use selvedge_testkit::litmus::Origin;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(first), Some(count)) = (number(0), number(1)) else {
        eprintln!("weak_campaign: FIRST COUNT [ORIGIN]… is expected");
        return ExitCode::from(2);
    };
    let names = &arguments[2..];
    if let Some(unknown) = names.iter().find(|name| Origin::all().all(|one| one.name() != **name)) {
        let known: Vec<&str> = Origin::all().map(Origin::name).collect();
        eprintln!("weak_campaign: no origin is called {unknown}; there are {}", known.join(", "));
        return ExitCode::from(2);
    }
    let is_wanted =
        |origin: &Origin| names.is_empty() || names.iter().any(|name| name == origin.name());
    let mut sum = Tally::default();
    for origin in Origin::all().filter(is_wanted) {
        let mut tally = Tally::default();
        for number in first..first + count {
            tally.compare(origin, number);
        }
        println!("{:>12}: {tally}", origin.name());
        sum.add(&tally);
    }
    println!("{:>12}: {sum}", "all");
    if sum.differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What came of programs.
#[derive(Default)]
struct Tally {
    compared: u64,
    too_large: u64,
    differ: u64,
    /// By model, as in [`Memory::ALL`].
    graphs: Vec<usize>,
    /// Programs with a data race, a deadlock and a failure under the weakest model.
    racy: u64,
    deadlocked: u64,
    failing: u64,
}

impl Tally {
    fn compare(&mut self, origin: Origin, number: u64) {
        let program = origin.program(number);
        match agree_or_shrink(&program, Memory::ALL, Effort::default()) {
            Ok(Compared::Same(facts)) => {
                self.compared += 1;
                self.add_graphs(facts.iter().map(|facts| facts.graphs.len()));
                if let Some(weakest) = facts.last() {
                    self.racy += u64::from(!weakest.races.is_empty());
                    self.deadlocked += u64::from(!weakest.deadlocks.is_empty());
                    self.failing += u64::from(!weakest.failures.is_empty());
                }
            }
            Ok(Compared::Not(Refusal::TooLarge)) => self.too_large += 1,
            Ok(Compared::Not(refusal)) => {
                self.differ += 1;
                println!("{} {number} is not a program: {refusal:?}", origin.name());
            }
            Err(difference) => {
                self.differ += 1;
                println!("{} {number}, made smaller: {difference}", origin.name());
            }
        }
    }

    fn add_graphs(&mut self, graphs: impl Iterator<Item = usize>) {
        self.graphs.resize(Memory::ALL.len(), 0);
        self.graphs.iter_mut().zip(graphs).for_each(|(sum, count)| *sum += count);
    }

    fn add(&mut self, other: &Tally) {
        self.compared += other.compared;
        self.too_large += other.too_large;
        self.differ += other.differ;
        self.add_graphs(other.graphs.iter().copied());
        self.racy += other.racy;
        self.deadlocked += other.deadlocked;
        self.failing += other.failing;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} compared, {} too large, {} differ;",
            self.compared, self.too_large, self.differ
        )?;
        for (memory, graphs) in Memory::ALL.iter().zip(&self.graphs) {
            write!(f, " {} {graphs}", memory.name())?;
        }
        write!(f, " graphs; {} with races, ", self.racy)?;
        write!(f, "{} with deadlocks, {} with failures", self.deadlocked, self.failing)
    }
}
