//! How many executions of Rust code the explorer of execution graphs runs per second: the programs of
//! `cargo run --release -p selvedge-campaigns --bin graph_rate`, over atomics of the library.
//!
//! `cargo run --release -p selvedge --example graph_rate`

#![expect(clippy::print_stdout, reason = "it is a command")]

use selvedge::sync::atomic::{AtomicI64, Ordering, fence};
use selvedge::sync::{Arc, Mutex};
use selvedge::{Builder, Memory, Verdict, thread};
use selvedge_core::Order;
use selvedge_testkit::litmus::{Change, Instruction, LitmusProgram, REGISTERS, published};
use selvedge_testkit::rate::{mean, rate};

struct World {
    variables: Vec<AtomicI64>,
    mutexes: Vec<Mutex<()>>,
    program: LitmusProgram,
}

fn main() -> Result<(), String> {
    println!("| program | model | executions | executions/s |");
    println!("|---|---|---|---|");
    let mut rates = Vec::new();
    for (name, program) in published() {
        for memory in [Memory::Sc, Memory::Tso, Memory::Rc11] {
            let mut count = 0;
            let one = rate(|| {
                count = executions(&program, memory);
                count
            })?;
            rates.push(one);
            println!("| {name} | {} | {count} | {one:.0} |", memory.name());
        }
    }
    println!("| geometric mean | | | {:.0} |", mean(&rates));
    Ok(())
}

/// How many executions the program has as Rust code.
fn executions(program: &LitmusProgram, memory: Memory) -> u64 {
    let program = program.clone();
    let builder = Builder::new().memory(memory).keep_going(true);
    let outcome = builder.explore(move || {
        let variables = program.memory()[..program.variables()].to_vec();
        let world = Arc::new(World {
            variables: variables.into_iter().map(AtomicI64::new).collect(),
            mutexes: (0..program.mutexes()).map(|_| Mutex::new(())).collect(),
            program: program.clone(),
        });
        let threads: Vec<_> = (0..world.program.threads.len())
            .map(|number| {
                let world = Arc::clone(&world);
                thread::spawn(move || run(&world, number))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    });
    assert_eq!(outcome.verdict(), Verdict::Verified, "{}", outcome.text());
    outcome.executions()
}

fn run(world: &World, number: usize) {
    let mut registers = [0; REGISTERS];
    let mut held = [const { None }; 2];
    for &instruction in &world.program.threads[number] {
        match instruction {
            Instruction::Load(into, at, order) => {
                registers[into] = world.variables[at].load(ordering(order));
            }
            Instruction::Store(at, value, order) => {
                world.variables[at].store(value.of(&registers), ordering(order));
            }
            Instruction::Update(into, at, Change::Add(number), order) => {
                registers[into] = world.variables[at].fetch_add(number, ordering(order));
            }
            Instruction::Compare { into, at, expected, new, success, failure, .. } => {
                let (expected, new) = (expected.of(&registers), new.of(&registers));
                let (success, failure) = (ordering(success), ordering(failure));
                let found = world.variables[at].compare_exchange(expected, new, success, failure);
                registers[into] = found.unwrap_or_else(|found| found);
            }
            Instruction::Fence(order) => fence(ordering(order)),
            Instruction::Lock(mutex) => {
                held[mutex] = Some(world.mutexes[mutex].lock().expect("no thread panics"));
            }
            Instruction::Unlock(mutex) => held[mutex] = None,
            other => unreachable!("no program here has {other:?}"),
        }
    }
}

fn ordering(order: Order) -> Ordering {
    match order {
        Order::NonAtomic | Order::Unseen | Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}
