//! How long a step takes: `cargo run --release -p selvedge-lang --example step_rate`.
//!
//! Two threads read one variable and write another in turn, a few local instructions in between.

#![allow(clippy::print_stdout, reason = "it is a program, and this is its output")]

use std::time::Instant;

use selvedge_core::{Effect, Status, Step, System, ThreadId};
use selvedge_lang::interpret::Interpreter;

const PROGRAM: &str = "
    shared x = 0;
    shared y = 0;
    thread ping { for i in 0..1000 { y = x + 1; } }
    thread pong { for i in 0..1000 { x = y + 1; } }
";

/// Steps of each thread before they are taken back; a step reads or writes.
const LENGTH: u32 = 500;
const EXECUTIONS: u32 = 4_000;
const QUESTIONS: u32 = 4_000_000;

fn main() {
    let compiled = selvedge_lang::compile("step_rate.sel", PROGRAM, &[]);
    let program = compiled.expect("internal error: the program is right").program;
    let mut system = Interpreter::new(program);
    let threads = [ThreadId::new(0), ThreadId::new(1)];
    let mut effect = Effect::default();
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..EXECUTIONS {
            for _ in 0..LENGTH {
                for thread in threads {
                    system.step(Step::of(thread), &mut effect);
                }
            }
            system.rewind(&[]);
        }
        let step = nanoseconds(start, 2 * EXECUTIONS * LENGTH);

        let start = Instant::now();
        let mut enabled = 0;
        for _ in 0..QUESTIONS {
            for thread in threads {
                enabled += u32::from(system.status(thread) == Status::Enabled);
            }
        }
        assert_eq!(enabled, 2 * QUESTIONS);
        let status = nanoseconds(start, 2 * QUESTIONS);

        let start = Instant::now();
        for _ in 0..QUESTIONS {
            for thread in threads {
                system.pending(Step::of(thread), &mut effect);
            }
        }
        let pending = nanoseconds(start, 2 * QUESTIONS);
        println!(
            "{step:5.1} ns a step and its undoing, {status:4.1} a status, {pending:4.1} a pending effect"
        );
    }
}

fn nanoseconds(start: Instant, times: u32) -> f64 {
    start.elapsed().as_secs_f64() * 1e9 / f64::from(times)
}
