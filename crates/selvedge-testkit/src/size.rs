//! How many interleavings a sketch can have, at most: brute force must stay possible.

use crate::sketch::{Op, Sketch, Test, Value};

/// The longest run of one thread.
#[derive(Clone, Default)]
struct Length {
    /// Steps.
    steps: u32,
    /// By how much choices multiply the number of executions.
    choices: f64,
    /// Steps of the tasks that it spawns.
    spawned: Vec<u32>,
}

impl Sketch {
    /// An upper bound of the number of interleavings. Blocking makes the true number smaller, often
    /// by far.
    pub fn interleavings(&self) -> f64 {
        let mut choices = 1.0;
        let mut lengths = Vec::new();
        for thread in &self.threads {
            let length = self.length(&thread.body);
            choices *= length.choices;
            lengths.push(length.steps);
            lengths.extend(length.spawned);
        }
        choices * multinomial(&lengths)
    }

    fn length(&self, ops: &[Op]) -> Length {
        let mut sum = Length { steps: 0, choices: 1.0, spawned: Vec::new() };
        for op in ops {
            let one = self.length_of(op);
            sum.steps += one.steps;
            sum.choices *= one.choices;
            sum.spawned.extend(one.spawned);
        }
        sum
    }

    fn length_of(&self, op: &Op) -> Length {
        let mut longest = Length { steps: 0, choices: 1.0, spawned: Vec::new() };
        for body in op.bodies() {
            let length = self.length(body);
            longest.steps = longest.steps.max(length.steps);
            longest.choices = longest.choices.max(length.choices);
            if length.spawned.iter().sum::<u32>() > longest.spawned.iter().sum() {
                longest.spawned = length.spawned;
            }
        }
        match op {
            Op::Repeat(times, test, _) => {
                longest.steps = u32::from(*times) * (longest.steps + reads_of_test(test));
                longest.choices = longest.choices.powi(i32::from(*times));
                longest.spawned = longest.spawned.repeat(usize::from(*times));
            }
            Op::Atomic(_) => longest.steps = 1,
            Op::Second(inner) => return self.length_of(inner),
            Op::Else(inner, otherwise) => {
                let (mut one, other) = (self.length_of(inner), self.length(otherwise));
                one.steps += other.steps;
                one.choices *= other.choices;
                one.spawned.extend(other.spawned);
                return one;
            }
            Op::SpawnChain(depth) => {
                longest.steps = 1;
                longest.spawned = vec![1; usize::from(*depth) + 1];
            }
            Op::Monitor(_, _, value) => {
                longest.steps += 1 + reads(*value);
                // It waits, and it sends.
                longest.spawned.push(2);
            }
            Op::Choose(n) => (longest.steps, longest.choices) = (1, f64::from(*n)),
            Op::Spawn { task, value, mail, join, .. } => {
                let body = self.length(self.tasks.get(usize::from(*task)).map_or(&[], |t| t));
                longest.steps += 1 + reads(*value) + u32::from(*mail) + u32::from(*join);
                longest.choices *= body.choices;
                longest.spawned.push(body.steps);
                longest.spawned.extend(body.spawned);
            }
            _ => longest.steps += own_steps(op),
        }
        longest
    }
}

/// Steps of the operation itself, without its bodies.
fn own_steps(op: &Op) -> u32 {
    match op {
        Op::Read(_)
        | Op::AddTo(_)
        | Op::FetchAdd(..)
        | Op::CompareExchange(..)
        | Op::TestAndSet(_)
        | Op::CallFunction
        | Op::LockForGood(_)
        | Op::Unlock(_)
        | Op::Signal
        | Op::Broadcast
        | Op::UpToTop
        | Op::JoinThread(_)
        | Op::AwaitEach(_)
        | Op::AwaitCalls(_)
        | Op::Lookup(_)
        | Op::Up
        | Op::Down
        | Op::TryDown(_)
        | Op::Receive(..)
        | Op::ReceiveFrom(_)
        | Op::Yield
        | Op::Remove(_)
        | Op::Get(_)
        | Op::Has(..)
        | Op::Contains(..)
        | Op::Await(_)
        | Op::Choose(_)
        // The first of a thread.
        | Op::Ghost(_)
        | Op::Atomic(_) => 1,
        Op::Increment(_)
        | Op::Locked(..)
        | Op::TryLocked(..)
        | Op::Shared(..)
        | Op::TryShared(..)
        | Op::Arrive
        | Op::WaitOnly
        | Op::PopFront { .. } => 2,
        // Lock, wait, take the lock again, unlock.
        Op::Wait(test, _) => 4 + reads_of_test(test),
        Op::Scan(test) => 1 + reads_in(test),
        Op::Write(_, value)
        | Op::Exchange(_, value)
        | Op::Push(value)
        | Op::Insert(_, value)
        | Op::Send(_, _, value)
        | Op::SendTo(_, value)
        | Op::CallProcedure { value, .. } => 1 + reads(*value),
        Op::If(test, ..) | Op::ReturnIf(test) | Op::Assume(test) | Op::Assert(test) => {
            reads_in(test)
        }
        Op::Repeat(..)
        | Op::Keep { .. }
        | Op::Spawn { .. }
        | Op::SpawnChain(_)
        | Op::Monitor(..)
        | Op::Second(_)
        | Op::Else(..)
        | Op::Return => 0,
    }
}

fn reads(value: Value) -> u32 {
    u32::from(matches!(value, Value::Of(_)))
}

fn reads_of_test(test: &Option<Test>) -> u32 {
    test.as_ref().map_or(0, reads_in)
}

fn reads_in(test: &Test) -> u32 {
    match test {
        Test::Register(..) => 0,
        Test::Variable(..) | Test::Length(..) | Test::Entry(..) => 1,
        Test::Sum(..) => 2,
        Test::Both(a, b) | Test::Either(a, b) => reads_in(a) + reads_in(b),
    }
}

/// In how many ways sequences of these lengths can be merged.
fn multinomial(lengths: &[u32]) -> f64 {
    let mut ways = 1.0;
    let mut total = 0;
    for &length in lengths {
        for i in 1..=length {
            total += 1;
            ways *= f64::from(total) / f64::from(i);
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multinomials() {
        assert_eq!(multinomial(&[]), 1.0);
        assert_eq!(multinomial(&[5]), 1.0);
        assert_eq!(multinomial(&[2, 2]).round(), 6.0);
        assert_eq!(multinomial(&[1, 2, 2]).round(), 30.0);
    }
}
