//! Litmus tests both ways: as data for the graph explorer, and as Rust code that reads the data and does what it says with the
//! types of this crate. The numbers of executions are equal, under every memory model.

use std::sync::Arc;

use selvedge::sync::atomic::{AtomicI64, Ordering, fence};
use selvedge::sync::{Mutex, MutexGuard};
use selvedge::{Builder, Memory, Verdict, thread};
use selvedge_core::Order;
use selvedge_testkit::Random;
use selvedge_testkit::litmus::{
    Flavour, Instruction, LitmusProgram, REGISTERS, random_litmus, tally,
};

fn ordering(order: Order) -> Ordering {
    match order {
        Order::NonAtomic | Order::Unseen => {
            unreachable!("programs with plain accesses are left out")
        }
        Order::Relaxed => Ordering::Relaxed,
        Order::Acquire => Ordering::Acquire,
        Order::Release => Ordering::Release,
        Order::AcqRel => Ordering::AcqRel,
        Order::SeqCst => Ordering::SeqCst,
    }
}

struct World {
    program: LitmusProgram,
    variables: Vec<AtomicI64>,
    mutexes: Vec<Mutex<()>>,
}

/// Does what the code of a thread says.
fn run(world: &World, number: usize) {
    let code = &world.program.threads[number];
    let mut registers = [0; REGISTERS];
    let mut held: Vec<Option<MutexGuard<'_, ()>>> = world.mutexes.iter().map(|_| None).collect();
    let mut at = 0;
    while let Some(&instruction) = code.get(at) {
        at += 1;
        match instruction {
            Instruction::Load(into, from, order) => {
                registers[into] = world.variables[from].load(ordering(order));
            }
            Instruction::Store(to, value, order) => {
                world.variables[to].store(value.of(&registers), ordering(order));
            }
            Instruction::Update(into, variable, change, order) => {
                let (variable, order) = (&world.variables[variable], ordering(order));
                registers[into] = match change {
                    selvedge_testkit::litmus::Change::Add(number) => {
                        variable.fetch_add(number, order)
                    }
                    selvedge_testkit::litmus::Change::Set(value) => {
                        variable.swap(value.of(&registers), order)
                    }
                };
            }
            Instruction::Compare { into, at, expected, new, success, failure, weak } => {
                let variable = &world.variables[at];
                let (expected, new) = (expected.of(&registers), new.of(&registers));
                let (success, failure) = (ordering(success), ordering(failure));
                let found = match weak {
                    true => variable.compare_exchange_weak(expected, new, success, failure),
                    false => variable.compare_exchange(expected, new, success, failure),
                };
                registers[into] = found.unwrap_or_else(|found| found);
            }
            Instruction::Fence(order) => fence(ordering(order)),
            Instruction::Lock(mutex) => {
                // Taking it twice is an error of its own here; there, the thread is blocked.
                let guard = world.mutexes[mutex].lock().unwrap();
                std::mem::forget(held[mutex].replace(guard));
            }
            Instruction::TryLock(into, mutex) => match world.mutexes[mutex].try_lock() {
                Ok(guard) => {
                    registers[into] = 0;
                    std::mem::forget(held[mutex].replace(guard));
                }
                Err(_) => registers[into] = 1,
            },
            Instruction::Unlock(mutex) => drop(held[mutex].take()),
            Instruction::SkipUnless(condition, count) => {
                if !condition.holds(&registers) {
                    at += count;
                }
            }
            other => unreachable!("programs with {other:?} are left out"),
        }
    }
    held.into_iter().for_each(std::mem::forget);
}

/// Whether Rust code can do it.
fn can_be_run(program: &LitmusProgram) -> bool {
    program.threads.iter().flatten().all(|instruction| match *instruction {
        Instruction::Load(_, _, order)
        | Instruction::Store(_, _, order)
        | Instruction::Update(_, _, _, order) => order != Order::NonAtomic,
        Instruction::Compare { .. }
        | Instruction::Fence(_)
        | Instruction::Lock(_)
        | Instruction::TryLock(..)
        | Instruction::Unlock(_)
        | Instruction::SkipUnless(..) => true,
        _ => false,
    })
}

/// How many executions the Rust code has.
fn executions(program: &LitmusProgram, memory: Memory) -> u64 {
    let program = program.clone();
    // Guards that are never dropped are leaks, and some programs have deadlocks: all executions count.
    let builder = Builder::new().memory(memory).keep_going(true).spurious(100);
    let outcome = builder.explore(move || {
        let values = program.memory();
        let mutexes = program.mutexes();
        let variables = values[..program.variables()].iter().map(|&it| AtomicI64::new(it));
        let world = Arc::new(World {
            variables: variables.collect(),
            mutexes: (0..mutexes).map(|_| Mutex::new(())).collect(),
            program: program.clone(),
        });
        let threads: Vec<_> = (0..world.program.threads.len())
            .map(|number| {
                let world = Arc::clone(&world);
                thread::spawn(move || run(&world, number))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_ne!(outcome.verdict(), Verdict::Inconclusive, "{}", outcome.text());
    outcome.executions()
}

/// Compares so many random programs of a flavour.
fn compare(flavour: Flavour, seed: u64, programs: usize) {
    let mut random = Random::new(seed);
    let mut compared = 0;
    while compared < programs {
        let program = random_litmus(&mut random, flavour);
        if !can_be_run(&program) {
            continue;
        }
        compared += 1;
        let memory = Memory::ALL[compared % Memory::ALL.len()];
        let expected = tally(&program, memory, &|_| false).report.counts.maximal();
        assert_eq!(executions(&program, memory), expected, "{}: {program:#?}", memory.name());
    }
}

#[test]
fn loads_and_stores() {
    compare(Flavour::Memory, 1, 150);
}

#[test]
fn updates() {
    compare(Flavour::Updates, 2, 150);
}

#[test]
fn locks() {
    compare(Flavour::Locks, 3, 100);
}

#[test]
fn locks_that_are_tried() {
    compare(Flavour::TryLocks, 4, 100);
}
