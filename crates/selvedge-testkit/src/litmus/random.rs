//! Random litmus tests.

use selvedge_core::Order;

use crate::Random;

use super::{
    Change, Condition, Instruction, LitmusProgram, REGISTERS, Until, Value, add, await_update, cas,
    cas_weak, choose, fence, join, load, lock, plus, skip_unless, spawn, store, swap, try_lock,
    unlock,
};

/// What random programs are made of, beside loads, stores, fences and branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// Nothing else.
    Memory,
    /// Read-modify-writes.
    Updates,
    /// Mutexes, nested and not given up, too.
    Locks,
    /// Mutexes and try-locks.
    TryLocks,
    /// Threads that wait for values.
    Awaits,
    /// All of these, choices, spawn and join.
    Everything,
}

impl Flavour {
    /// Every flavour.
    pub const ALL: &[Flavour] = &[
        Flavour::Memory,
        Flavour::Updates,
        Flavour::Locks,
        Flavour::TryLocks,
        Flavour::Awaits,
        Flavour::Everything,
    ];

    fn has(self, other: Flavour) -> bool {
        self == other || self == Flavour::Everything
    }
}

/// How strong the orderings of a program are.
#[derive(Clone, Copy)]
enum Strength {
    Any,
    AnyAndPlain,
    Relaxed,
    Acquire,
    SeqCst,
}

struct Author<'a> {
    random: &'a mut Random,
    flavour: Flavour,
    strength: Strength,
    variables: usize,
    code: Vec<Instruction>,
    /// The register that is written next.
    register: usize,
    held: Vec<usize>,
}

/// A random program: two to four threads with a few instructions each.
pub fn random_litmus(random: &mut Random, flavour: Flavour) -> LitmusProgram {
    let (threads, most) = *random.pick(&[(2, 4), (2, 4), (2, 5), (3, 3), (3, 3), (4, 2)]);
    let variables = *random.pick(&[1, 2, 2, 3]);
    let strength = *random.pick(&[
        Strength::Any,
        Strength::Any,
        Strength::AnyAndPlain,
        Strength::Relaxed,
        Strength::Acquire,
        Strength::SeqCst,
    ]);
    let mut code: Vec<Vec<Instruction>> = (0..threads)
        .map(|_| {
            let (code, held) = (Vec::new(), Vec::new());
            let mut author =
                Author { random, flavour, strength, variables, code, register: 0, held };
            author.write(most);
            author.code
        })
        .collect();
    if flavour == Flavour::Everything && threads > 2 && !random.one_in(3) {
        let place = random.below(code[0].len() + 1);
        // Not within a branch, or what is skipped changes.
        let is_free = !code[0].iter().any(|one| matches!(one, Instruction::SkipUnless(..)));
        if is_free {
            code[0].insert(place, spawn(threads - 1));
            if !random.one_in(3) {
                code[0].push(join(threads - 1));
            }
        }
    }
    LitmusProgram::new(code)
}

impl Author<'_> {
    fn read_order(&mut self) -> Order {
        use Order::{Acquire, NonAtomic, Relaxed, SeqCst};
        match self.strength {
            Strength::Any => *self.random.pick(&[Relaxed, Acquire, SeqCst]),
            Strength::AnyAndPlain => *self.random.pick(&[Relaxed, Acquire, SeqCst, NonAtomic]),
            Strength::Relaxed => Relaxed,
            Strength::Acquire => Acquire,
            Strength::SeqCst => SeqCst,
        }
    }

    fn write_order(&mut self) -> Order {
        match self.read_order() {
            Order::Acquire => Order::Release,
            order => order,
        }
    }

    fn update_order(&mut self) -> Order {
        use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        match self.strength {
            Strength::Any | Strength::AnyAndPlain => {
                *self.random.pick(&[Relaxed, Acquire, Release, AcqRel, SeqCst])
            }
            Strength::Relaxed => Relaxed,
            Strength::Acquire => AcqRel,
            Strength::SeqCst => SeqCst,
        }
    }

    fn failure_order(&mut self) -> Order {
        match self.read_order() {
            Order::NonAtomic => Order::Relaxed,
            order => order,
        }
    }

    fn next_register(&mut self) -> usize {
        let register = self.register % REGISTERS;
        self.register += 1;
        register
    }

    fn write(&mut self, most: usize) {
        let count = 1 + self.random.below(most);
        for _ in 0..count {
            let is_plain = matches!(self.code.last(), Some(Instruction::SkipUnless(..)));
            let percent = self.random.below(100);
            if is_plain {
                self.plain();
            } else if self.flavour.has(Flavour::TryLocks) && percent < 15 && self.held.is_empty() {
                self.try_lock();
            } else if (self.flavour.has(Flavour::Locks) || self.flavour == Flavour::TryLocks)
                && percent < 40
            {
                self.mutex();
            } else if self.flavour.has(Flavour::Awaits) && self.random.one_in(3) {
                self.wait();
            } else if (self.flavour.has(Flavour::Updates) || self.random.one_in(8))
                && self.random.below(100) < 50
            {
                self.update();
            } else if self.flavour == Flavour::Everything && self.random.one_in(10) {
                let register = self.next_register();
                self.code.push(choose(register, 2));
            } else {
                self.plain();
            }
            self.branch();
        }
        while let Some(mutex) = self.held.pop() {
            if !self.random.one_in(6) {
                self.code.push(unlock(mutex));
            }
        }
    }

    fn last_register_is(&mut self) -> Condition {
        let register = (self.register - 1) % REGISTERS;
        let value = self.random.below(2) as i64;
        Condition::Is(plus(register, 0), value.into())
    }

    fn branch(&mut self) {
        let is_after_a_branch = self.code.len() > 1
            && matches!(self.code[self.code.len() - 2], Instruction::SkipUnless(..));
        if self.register == 0 || is_after_a_branch {
            return;
        }
        let condition = match self.random.below(25) {
            0..5 => {
                let condition = self.last_register_is();
                return self.code.push(skip_unless(condition, 1));
            }
            5 => Instruction::Assume(self.last_register_is()),
            6 => Instruction::Assert(self.last_register_is()),
            _ => return,
        };
        // A mutex that is held would stay so, which is a program like any other.
        self.code.push(condition);
    }

    fn plain(&mut self) {
        let at = self.random.below(self.variables);
        match self.random.below(100) {
            0..42 => {
                let (register, order) = (self.next_register(), self.read_order());
                self.code.push(load(register, at, order));
            }
            42..88 => {
                let value = if self.register > 0 && self.random.one_in(3) {
                    let register = self.random.below(self.register.min(REGISTERS));
                    Value::Plus(register, 1)
                } else {
                    Value::Constant(1 + self.random.below(2) as i64)
                };
                let order = self.write_order();
                self.code.push(store(at, value, order));
            }
            _ => {
                use Order::{AcqRel, Acquire, Release, SeqCst};
                let order = *self.random.pick(&[Acquire, Release, AcqRel, SeqCst, SeqCst]);
                self.code.push(fence(order));
            }
        }
    }

    fn update(&mut self) {
        let (register, at) = (self.next_register(), self.random.below(self.variables));
        let order = self.update_order();
        let values = (self.random.below(2) as i64, 1 + self.random.below(2) as i64);
        let orders = (order, self.failure_order());
        self.code.push(match self.random.below(100) {
            0..30 => add(register, at, 1, order),
            30..50 => swap(register, at, values.1, order),
            50..85 => cas(register, at, values, orders),
            _ => cas_weak(register, at, values, orders),
        });
    }

    fn wait(&mut self) {
        let (register, at) = (self.next_register(), self.random.below(self.variables));
        let until = Until::OneOf(*self.random.pick(&[0b10, 0b100, 0b110, 0b101, 0b1]));
        if self.random.one_in(3) {
            let change = *self.random.pick(&[
                Change::Set(Value::Constant(0)),
                Change::Set(Value::Constant(1)),
                Change::Set(Value::Constant(3)),
                Change::Add(1),
            ]);
            let order = self.update_order();
            self.code.push(await_update(register, at, until, change, order));
        } else {
            let order = self.failure_order();
            self.code.push(Instruction::Await(register, at, until, order));
        }
    }

    fn mutex(&mut self) {
        if !self.held.is_empty() && !self.random.one_in(3) {
            let mutex = self.held.remove(self.random.below(self.held.len()));
            self.code.push(unlock(mutex));
        } else if let Some(&mutex) = [0, 1].iter().find(|mutex| !self.held.contains(mutex)) {
            let other = 1 - mutex;
            let is_swapped = self.random.one_in(2) && !self.held.contains(&other);
            let mutex = if is_swapped { other } else { mutex };
            self.code.push(lock(mutex));
            self.held.push(mutex);
        } else {
            self.plain();
        }
    }

    fn try_lock(&mut self) {
        let (register, mutex) = (self.next_register(), self.random.below(2));
        let at = self.random.below(self.variables);
        let body = match self.random.below(3) {
            0 => {
                let order = self.write_order();
                Some(store(at, 1, order))
            }
            1 => {
                let (register, order) = (self.next_register(), self.read_order());
                Some(load(register, at, order))
            }
            _ => None,
        };
        let count = 1 + usize::from(body.is_some());
        self.code.push(try_lock(register, mutex));
        self.code.push(skip_unless(Condition::Is(plus(register, 0), 0.into()), count));
        self.code.extend(body);
        self.code.push(unlock(mutex));
    }
}
