//! A machine that runs litmus tests by the book: all states, with or without store buffers.

use std::collections::{BTreeSet, HashSet, VecDeque};

use selvedge_core::Order;

use super::{Instruction, LitmusProgram, Next, State};

/// Whether stores go through a buffer of their thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffers {
    /// They are in memory at once: sequential consistency.
    None,
    /// They are, as on x86.
    Fifo,
}

/// How an execution ended: where the threads are, and what memory holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outcome {
    /// Where each thread is.
    pub threads: Vec<State>,
    /// What the variables, and then the mutexes, hold.
    pub memory: Vec<i64>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Configuration {
    threads: Vec<State>,
    there: Vec<bool>,
    memory: Vec<i64>,
    buffers: Vec<VecDeque<(usize, i64)>>,
}

/// All outcomes of a program on the machine. `None` if it has more than `most` states.
pub fn outcomes(
    program: &LitmusProgram,
    buffers: Buffers,
    most: usize,
) -> Option<BTreeSet<Outcome>> {
    let mut threads = vec![State::default(); program.threads.len()];
    for (state, code) in threads.iter_mut().zip(&program.threads) {
        state.settle(code);
    }
    let start = Configuration {
        there: (0..threads.len()).map(|thread| !program.is_spawned(thread)).collect(),
        buffers: vec![VecDeque::new(); threads.len()],
        threads,
        memory: program.memory(),
    };
    let mut seen = HashSet::from([start.clone()]);
    let mut todo = vec![start];
    let mut found = BTreeSet::new();
    while let Some(configuration) = todo.pop() {
        if seen.len() > most {
            return None;
        }
        let next = configuration.successors(program, buffers);
        if next.is_empty() {
            let Configuration { threads, memory, .. } = configuration;
            found.insert(Outcome { threads, memory });
            continue;
        }
        for next in next {
            if seen.insert(next.clone()) {
                todo.push(next);
            }
        }
    }
    Some(found)
}

impl Configuration {
    fn successors(&self, program: &LitmusProgram, buffers: Buffers) -> Vec<Self> {
        let mut all = Vec::new();
        for thread in 0..self.threads.len() {
            if let Some(&(at, value)) = self.buffers[thread].front() {
                let mut next = self.clone();
                next.buffers[thread].pop_front();
                next.memory[at] = value;
                all.push(next);
            }
            let code = &program.threads[thread];
            if let (true, Next::Does(instruction)) =
                (self.there[thread], self.threads[thread].does(code))
            {
                self.run(program, buffers, thread, instruction, &mut all);
            }
        }
        all
    }

    /// The value that the thread sees.
    fn sees(&self, thread: usize, at: usize) -> i64 {
        let own = self.buffers[thread].iter().rev().find(|store| store.0 == at);
        own.map_or(self.memory[at], |store| store.1)
    }

    fn run(
        &self,
        program: &LitmusProgram,
        buffers: Buffers,
        thread: usize,
        instruction: Instruction,
        all: &mut Vec<Self>,
    ) {
        let registers = &self.threads[thread].registers;
        let is_drained = self.buffers[thread].is_empty();
        let mutex = |mutex: usize| program.variables() + mutex;
        // Continues with this value in its register, and memory changed at once or through the buffer.
        let mut go = |value: i64, stores: Option<(usize, i64)>, at_once: bool| {
            let mut next = self.clone();
            match stores {
                Some((at, value)) if at_once || buffers == Buffers::None => next.memory[at] = value,
                Some(store) => next.buffers[thread].push_back(store),
                None => {}
            }
            match instruction {
                Instruction::Spawn(child) => next.there[child] = true,
                _ => {
                    if let Some(register) = instruction.register() {
                        next.threads[thread].registers[register] = value;
                    }
                }
            }
            next.threads[thread].next += 1;
            next.threads[thread].settle(&program.threads[thread]);
            all.push(next);
        };
        match instruction {
            Instruction::Load(_, at, _) => go(self.sees(thread, at), None, false),
            Instruction::Store(at, value, order) => {
                let is_locked = order == Order::SeqCst;
                if is_drained || !is_locked {
                    go(0, Some((at, value.of(registers))), is_locked);
                }
            }
            Instruction::Unlock(m) => go(0, Some((mutex(m), 0)), false),
            Instruction::Fence(order) => {
                if is_drained || order != Order::SeqCst {
                    go(0, None, false);
                }
            }
            Instruction::Await(_, at, until, _) => {
                let value = self.sees(thread, at);
                if until.holds(value, registers) {
                    go(value, None, false);
                }
            }
            Instruction::Choose(_, below) => {
                for value in 0..below {
                    go(value.into(), None, false);
                }
            }
            // The rest waits until the buffer is empty.
            _ if !is_drained => {}
            Instruction::Update(_, at, change, _) => {
                let old = self.memory[at];
                go(old, Some((at, change.of(old, registers))), true);
            }
            Instruction::AwaitUpdate(_, at, until, change, _) => {
                let old = self.memory[at];
                if until.holds(old, registers) {
                    go(old, Some((at, change.of(old, registers))), true);
                }
            }
            Instruction::Compare { at, expected, new, weak, .. } => {
                let old = self.memory[at];
                let is_expected = old == expected.of(registers);
                if is_expected {
                    go(old, Some((at, new.of(registers))), true);
                }
                if !is_expected || weak {
                    go(old, None, false);
                }
            }
            Instruction::Lock(m) => {
                if self.memory[mutex(m)] == 0 {
                    go(0, Some((mutex(m), 1)), true);
                }
            }
            Instruction::TryLock(_, m) => match self.memory[mutex(m)] {
                0 => go(0, Some((mutex(m), 1)), true),
                taken => go(taken, None, false),
            },
            Instruction::Share(m) => {
                if self.memory[mutex(m)] <= 0 {
                    go(0, Some((mutex(m), self.memory[mutex(m)] - 1)), true);
                }
            }
            Instruction::Unshare(m) => {
                go(0, Some((mutex(m), self.memory[mutex(m)] + 1)), true);
            }
            Instruction::Spawn(_) => go(0, None, false),
            Instruction::Join(child) => {
                let has_ended = self.threads[child].does(&program.threads[child]) == Next::Ends;
                if self.there[child] && has_ended && self.buffers[child].is_empty() {
                    go(0, None, false);
                }
            }
            Instruction::Meet(_) => unreachable!("it runs as a model"),
            Instruction::SkipUnless(..) | Instruction::Assume(_) | Instruction::Assert(_) => {
                unreachable!("the thread has settled")
            }
        }
    }
}
