//! How many executions the explorer of execution graphs runs per second, of programs as data and as models; of Rust code:
//! `cargo run --release -p selvedge --example graph_rate`.
//!
//! `cargo run --release -p selvedge-campaigns --bin graph_rate`: a table. `… -- flat`: how much memory is resident after
//! 10^5, 10^6 and 10^7 executions of one program.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a command")]

use std::process::ExitCode;
use std::sync::Arc;

use selvedge_core::Order;
use selvedge_explore::{Limits, Memory, Options, Silent, explore_graphs};
use selvedge_lang::{GraphInterpreter, compile};
use selvedge_testkit::litmus::{Litmus, LitmusProgram, add, model_of, published};
use selvedge_testkit::rate::{mean, rate};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [] => rates(),
        [word] if word == "flat" => flat(),
        _ => Err("nothing or `flat` is expected".to_owned()),
    };
    if let Err(message) = result {
        eprintln!("graph_rate: {message}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn limited(executions: Option<u64>) -> Options {
    let limits = Limits { executions, ..Limits::default() };
    Options { keep_going: true, limits, ..Options::default() }
}

fn rates() -> Result<(), String> {
    println!("| program | model | executions | events | given up | executions/s | of the model |");
    println!("|---|---|---|---|---|---|---|");
    let options = limited(None);
    let (mut of_data, mut of_models) = (Vec::new(), Vec::new());
    for (name, program) in published() {
        // A compare-exchange of the language does not tell what it found: such programs are no models.
        let compiled = model_of(&program).map(|text| compile(name, &text, &[]));
        let compiled = compiled.transpose().map_err(|_| format!("{name} does not compile"))?;
        for memory in [Memory::Sc, Memory::Tso, Memory::Rc11] {
            let mut system = Litmus::new(program.clone());
            let report = explore_graphs(&mut system, memory, &options, &mut Silent);
            let executions = report.counts.total();
            of_data.push(rate(|| {
                let mut system = Litmus::new(program.clone());
                explore_graphs(&mut system, memory, &options, &mut Silent).counts.total()
            })?);
            let of_model = compiled.as_ref().map(|compiled| {
                rate(|| {
                    let program = Arc::clone(&compiled.program);
                    let mut system = GraphInterpreter::new(program).expect("it has a meaning");
                    let report = explore_graphs(&mut system, memory, &options, &mut Silent);
                    assert_eq!(report.counts.total(), executions, "{name} as a model");
                    executions
                })
            });
            let of_model = of_model.transpose()?;
            of_models.extend(of_model);
            println!(
                "| {name} | {} | {executions} | {} | {} | {:.0} | {} |",
                memory.name(),
                report.longest,
                report.inconsistent,
                of_data[of_data.len() - 1],
                of_model.map_or("–".to_owned(), |rate| format!("{rate:.0}")),
            );
        }
    }
    println!("| geometric mean | | | | | {:.0} | {:.0} |", mean(&of_data), mean(&of_models));
    Ok(())
}

/// Returns how much memory was resident at most, in kilobytes.
fn resident() -> Result<u64, String> {
    let path = "/proc/self/status";
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
    number.ok_or_else(|| format!("{path} does not say how much memory is resident"))
}

/// Eleven threads that increment a counter have 39,916,800 executions.
fn flat() -> Result<(), String> {
    let program = LitmusProgram::new(vec![vec![add(0, 0, 1, Order::Relaxed)]; 11]);
    println!("| executions | kilobytes |");
    println!("|---|---|");
    for executions in [100_000, 1_000_000, 10_000_000] {
        let mut system = Litmus::new(program.clone());
        let options = limited(Some(executions));
        let report = explore_graphs(&mut system, Memory::Rc11, &options, &mut Silent);
        println!("| {} | {} |", report.counts.total(), resident()?);
    }
    Ok(())
}
