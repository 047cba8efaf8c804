//! Random litmus tests with a shape: what programs of random instructions rarely are.

mod meetings;
mod readers;

use selvedge_core::Order;

use crate::Random;

use super::classics::random_classic;
use super::{
    Change, Condition, Instruction, LitmusProgram, Until, Value, add, assert_that, assume,
    await_is, await_swap, await_update, cas, cas_weak, choose, fence, join, load, lock, plus,
    skip_unless, spawn, store, sum, swap, try_lock, unlock,
};

use Order::{AcqRel, Acquire, NonAtomic, Relaxed, Release, SeqCst};

type Code = Vec<Instruction>;

/// A shape of random programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Five or six threads with one or two accesses each.
    Wide,
    /// All threads access one location.
    OneLocation,
    /// Read-modify-writes of several threads behind a release store, and what an acquire load sees behind them.
    Chain,
    /// A cycle of locations: each thread accesses two neighbours, with a fence between them; one may leave a part to a
    /// thread that it spawns.
    Cycle,
    /// A test of the literature, with some of it changed.
    Classic,
    /// What a thread reads decides what it does, and what it writes.
    Control,
    /// Spin locks, semaphores, reader-writer locks, barriers and parked threads, made of awaits.
    Primitives,
    /// Mutexes in nested and crossed orders, with plain data.
    Mutexes,
    /// Readers and writers of a lock, with data inside and outside of their sections.
    Readers,
    /// Threads that start threads, and several that join the same one.
    Family,
    /// Waits at condition variables and signals, with data inside and outside of the mutex.
    Conditions,
    /// Messages between threads, some of which end early.
    Messages,
}

impl Shape {
    /// Every shape.
    pub const ALL: &[Shape] = &[
        Shape::Wide,
        Shape::OneLocation,
        Shape::Chain,
        Shape::Cycle,
        Shape::Classic,
        Shape::Control,
        Shape::Primitives,
        Shape::Mutexes,
        Shape::Readers,
        Shape::Family,
        Shape::Conditions,
        Shape::Messages,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Wide => "wide",
            Shape::OneLocation => "one-location",
            Shape::Chain => "chain",
            Shape::Cycle => "cycle",
            Shape::Classic => "classic",
            Shape::Control => "control",
            Shape::Primitives => "primitives",
            Shape::Mutexes => "mutexes",
            Shape::Readers => "readers",
            Shape::Family => "family",
            Shape::Conditions => "conditions",
            Shape::Messages => "messages",
        }
    }
}

/// A random program of this shape.
pub fn random_shape(random: &mut Random, shape: Shape) -> LitmusProgram {
    let mut author = Author { random, plain: false };
    author.plain = author.random.one_in(6);
    let threads = match shape {
        Shape::Wide => author.wide(),
        Shape::OneLocation => author.one_location(),
        Shape::Chain => author.chain(),
        Shape::Cycle => author.cycle(),
        Shape::Classic => return random_classic(author.random),
        Shape::Control => author.control(),
        Shape::Primitives => author.primitives(),
        Shape::Mutexes => author.mutexes(),
        Shape::Readers => author.readers(),
        Shape::Family => author.family(),
        Shape::Conditions => author.conditions(),
        Shape::Messages => author.messages(),
    };
    let mut program = LitmusProgram::new(threads);
    if shape != Shape::Primitives && program.variables() > 0 && author.random.one_in(8) {
        let variable = author.random.below(program.variables());
        program.initial = vec![(variable, 1 + author.random.below(2) as i64)];
    }
    program
}

struct Author<'a> {
    random: &'a mut Random,
    /// Whether some accesses are not atomic.
    plain: bool,
}

impl Author<'_> {
    fn value(&mut self) -> i64 {
        1 + self.random.below(3) as i64
    }

    fn read_order(&mut self) -> Order {
        if self.plain && self.random.one_in(4) {
            return NonAtomic;
        }
        *self.random.pick(&[Relaxed, Acquire, SeqCst])
    }

    fn write_order(&mut self) -> Order {
        if self.plain && self.random.one_in(4) {
            return NonAtomic;
        }
        *self.random.pick(&[Relaxed, Release, SeqCst])
    }

    fn update_order(&mut self) -> Order {
        *self.random.pick(&[Relaxed, Acquire, Release, AcqRel, SeqCst])
    }

    fn any_fence(&mut self) -> Instruction {
        fence(*self.random.pick(&[Acquire, Release, AcqRel, SeqCst, SeqCst]))
    }

    fn a_load(&mut self, into: usize, at: usize) -> Instruction {
        load(into, at, self.read_order())
    }

    fn a_store(&mut self, at: usize) -> Instruction {
        let value = self.value();
        store(at, value, self.write_order())
    }

    fn an_update(&mut self, into: usize, at: usize) -> Instruction {
        let order = self.update_order();
        let failure = *self.random.pick(&[Relaxed, Acquire, SeqCst]);
        let (expected, new) = (self.random.below(3) as i64, self.value());
        match self.random.below(6) {
            0 | 1 => add(into, at, 1, order),
            2 => swap(into, at, new, order),
            3 | 4 => cas(into, at, (expected, new), (order, failure)),
            _ => cas_weak(into, at, (expected, new), (order, failure)),
        }
    }

    fn an_await(&mut self, into: usize, at: usize) -> Instruction {
        let until = match self.random.below(3) {
            0 => Until::Is(Value::Constant(self.value())),
            1 => Until::OneOf(self.random.below(7) as u64 + 1),
            _ => Until::AtLeast(self.value()),
        };
        if self.random.one_in(3) {
            let change = if self.random.one_in(2) {
                Change::Add(1)
            } else {
                Change::Set(Value::Constant(self.random.below(3) as i64))
            };
            return await_update(into, at, until, change, self.update_order());
        }
        Instruction::Await(into, at, until, *self.random.pick(&[Relaxed, Acquire, SeqCst]))
    }

    /// A load, a store or an update, and now and then an await.
    fn access(&mut self, into: usize, at: usize) -> Instruction {
        match self.random.below(20) {
            0..8 => self.a_load(into, at),
            8..15 => self.a_store(at),
            15..19 => self.an_update(into, at),
            _ => self.an_await(into, at),
        }
    }

    fn wide(&mut self) -> Vec<Code> {
        let threads = 5 + self.random.below(2);
        let variables = 1 + self.random.below(3);
        let mut more = 2;
        (0..threads)
            .map(|_| {
                let at = self.random.below(variables);
                let mut code = vec![self.access(0, at)];
                if more > 0 && self.random.one_in(2) {
                    more -= 1;
                    if self.random.one_in(4) {
                        code.push(self.any_fence());
                    }
                    let at = self.random.below(variables);
                    code.push(self.access(1, at));
                }
                code
            })
            .collect()
    }

    fn one_location(&mut self) -> Vec<Code> {
        let (threads, most) = *self.random.pick(&[(2, 4), (3, 2), (3, 3), (4, 2)]);
        (0..threads)
            .map(|_| {
                let count = 1 + self.random.below(most);
                let mut code: Code = (0..count).map(|into| self.access(into, 0)).collect();
                if self.random.one_in(4) {
                    let place = self.random.below(code.len() + 1);
                    code.insert(place, self.any_fence());
                }
                code
            })
            .collect()
    }

    fn chain(&mut self) -> Vec<Code> {
        let (data, flag) = (0, 1);
        let data_order = if self.random.one_in(2) { NonAtomic } else { Relaxed };
        let mut writer = vec![store(data, 1, data_order)];
        if self.random.one_in(3) {
            writer.push(self.any_fence());
        }
        let order = *self.random.pick(&[Release, Release, Relaxed, SeqCst]);
        writer.push(if self.random.one_in(4) {
            add(0, flag, 1, self.update_order())
        } else {
            store(flag, 1, order)
        });
        if self.random.one_in(3) {
            writer.push(if self.random.one_in(2) {
                self.a_store(flag)
            } else {
                self.an_update(1, flag)
            });
        }
        let mut threads = vec![writer];
        for _ in 0..1 + self.random.below(2) {
            let mut code = vec![self.an_update(0, flag)];
            if self.random.one_in(4) {
                code.insert(self.random.below(2), self.any_fence());
            }
            threads.push(code);
        }
        let mut reader = vec![match self.random.below(4) {
            0 => self.an_await(0, flag),
            1 => self.an_update(0, flag),
            _ => load(0, flag, *self.random.pick(&[Relaxed, Acquire, SeqCst])),
        }];
        if self.random.one_in(2) {
            reader.push(self.any_fence());
        }
        if self.random.one_in(2) {
            let seen = Value::Constant(1 + self.random.below(2) as i64);
            reader.push(skip_unless(Condition::Is(plus(0, 0), seen), 1));
        }
        reader.push(if self.random.one_in(5) {
            store(data, 2, data_order)
        } else {
            load(1, data, data_order)
        });
        threads.push(reader);
        threads
    }

    fn cycle(&mut self) -> Vec<Code> {
        let threads = 2 + self.random.below(3);
        let variables = if self.random.one_in(3) { 2 } else { threads.min(3) };
        let mut all: Vec<Code> = (0..threads)
            .map(|thread| {
                let (here, there) = (thread % variables, (thread + 1) % variables);
                // Accesses of a cycle alternate: mostly a write, then a read, or two of a kind.
                let mut code = vec![self.step_of_cycle(0, here)];
                if threads < 4 && self.random.one_in(6) {
                    code.push(self.a_load(4, here));
                }
                match self.random.below(5) {
                    0..2 => code.push(self.any_fence()),
                    2 if threads < 4 => {
                        code.push(self.any_fence());
                        let at = self.random.below(variables);
                        code.push(self.step_of_cycle(2, at));
                    }
                    _ => {}
                }
                code.push(self.step_of_cycle(1, there));
                if threads == 2 && self.random.one_in(2) {
                    code.push(self.any_fence());
                    let at = self.random.below(variables);
                    code.push(self.step_of_cycle(3, at));
                }
                code
            })
            .collect();
        if self.random.one_in(5) {
            self.hand_over(&mut all);
        }
        all
    }

    /// Lets one thread do the first or the second part of what another one did.
    fn hand_over(&mut self, all: &mut Vec<Code>) {
        let (parent, child) = (self.random.below(all.len()), all.len());
        let place = 1 + self.random.below(all[parent].len() - 1);
        let rest = all[parent].split_off(place);
        if self.random.one_in(2) {
            all[parent].push(spawn(child));
            if self.random.one_in(2) {
                all[parent].push(join(child));
            }
            all.push(rest);
        } else {
            let first = std::mem::take(&mut all[parent]);
            all[parent] = [vec![spawn(child), join(child)], rest].concat();
            all.push(first);
        }
    }

    fn step_of_cycle(&mut self, into: usize, at: usize) -> Instruction {
        match self.random.below(10) {
            0..5 => self.a_load(into, at),
            5..9 => self.a_store(at),
            _ => self.an_update(into, at),
        }
    }

    fn control(&mut self) -> Vec<Code> {
        let (threads, most) = *self.random.pick(&[(2, 4), (2, 3), (3, 2), (3, 3)]);
        let variables = 1 + self.random.below(2);
        (0..threads)
            .map(|_| {
                let mut code = Vec::new();
                let mut known = 0;
                for _ in 0..1 + self.random.below(most) {
                    let at = self.random.below(variables);
                    if known > 0 && self.random.one_in(2) {
                        let condition = self.condition(known);
                        match self.random.below(8) {
                            0 => code.push(assume(condition)),
                            1 => code.push(assert_that(condition)),
                            _ => code.push(skip_unless(condition, 1 + self.random.below(2))),
                        }
                    }
                    match self.random.below(10) {
                        0..4 => code.push(self.a_load(known, at)),
                        4..6 => code.push(self.an_update(known, at)),
                        6 => code.push(choose(known, 2 + self.random.below(2) as u32)),
                        _ => {
                            let value = match self.random.below(3) {
                                0 if known > 1 => sum(known - 1, self.random.below(known - 1)),
                                1 if known > 0 => plus(self.random.below(known), 1),
                                _ => Value::Constant(self.value()),
                            };
                            code.push(store(at, value, self.write_order()));
                            continue;
                        }
                    }
                    known += 1;
                }
                code
            })
            .collect()
    }

    fn condition(&mut self, known: usize) -> Condition {
        let register = plus(self.random.below(known), 0);
        let value = Value::Constant(self.random.below(3) as i64);
        match self.random.below(3) {
            0 => Condition::Is(register, value),
            1 => Condition::IsNot(register, value),
            _ => Condition::Less(register, value),
        }
    }

    /// The body of a critical section.
    fn body(&mut self, at: usize) -> Code {
        let order = if self.random.one_in(2) { NonAtomic } else { Relaxed };
        match self.random.below(4) {
            0 => vec![load(1, at, order)],
            1 => vec![store(at, 1, order)],
            2 => vec![load(1, at, order), store(at, plus(1, 1), order)],
            _ => Vec::new(),
        }
    }

    fn primitives(&mut self) -> Vec<Code> {
        let (object, data) = (0, 1);
        let taking = *self.random.pick(&[Acquire, Acquire, Relaxed, SeqCst]);
        let giving = *self.random.pick(&[Release, Release, Relaxed, SeqCst]);
        let threads = 2 + self.random.below(2);
        let around = |before: Code, body: Code, after: Code| [before, body, after].concat();
        match self.random.below(6) {
            // A spin lock.
            0 => (0..threads)
                .map(|_| {
                    let before = vec![await_swap(0, object, (0, 1), taking)];
                    around(before, self.body(data), vec![store(object, 0, giving)])
                })
                .collect(),
            // A semaphore, which starts at 0: some threads give before they take.
            1 => (0..threads)
                .map(|_| {
                    let take =
                        vec![await_update(0, object, Until::AtLeast(1), Change::Add(-1), taking)];
                    let give = vec![add(0, object, 1, giving)];
                    if self.random.one_in(2) {
                        around(give, self.body(data), take)
                    } else {
                        around(take, self.body(data), give)
                    }
                })
                .collect(),
            // A reader-writer lock: -1 is a writer.
            2 => (0..threads)
                .map(|_| {
                    let (until, change, back) = if self.random.one_in(2) {
                        (Until::AtLeast(0), Change::Add(1), add(0, object, -1, giving))
                    } else {
                        let free = Until::Is(Value::Constant(0));
                        (free, Change::Set(Value::Constant(-1)), store(object, 0, giving))
                    };
                    let before = vec![await_update(0, object, until, change, taking)];
                    around(before, self.body(data), vec![back])
                })
                .collect(),
            // A barrier: the last one opens it.
            3 => (0..threads)
                .map(|_| {
                    let order = self.update_order();
                    let all = Value::Constant(threads as i64 - 1);
                    let wait = vec![
                        add(0, object, 1, order),
                        skip_unless(Condition::Is(plus(0, 0), all), 1),
                        store(2, 1, giving),
                        skip_unless(Condition::IsNot(plus(0, 0), all), 1),
                        await_is(2, 2, 1, taking),
                    ];
                    around(self.body(data), wait, self.body(data))
                })
                .collect(),
            // Threads that are parked until another one unparks them.
            4 => {
                let tokens = 2;
                let mut all = Vec::new();
                for thread in 0..2 {
                    let park = vec![await_swap(0, tokens + thread, (1, 0), taking)];
                    let unpark = vec![swap(1, tokens + (1 - thread), 1, giving)];
                    let body = self.body(data);
                    all.push(match self.random.below(3) {
                        0 => around(park, body, unpark),
                        1 => around(body, unpark, park),
                        _ => around(unpark, body, park),
                    });
                }
                all
            }
            // Tickets.
            _ => (0..2)
                .map(|_| {
                    let order = self.update_order();
                    let before = vec![add(0, object, 1, order), await_is(1, 2, plus(0, 0), taking)];
                    around(before, self.body(data), vec![store(2, plus(0, 1), giving)])
                })
                .collect(),
        }
    }

    fn mutexes(&mut self) -> Vec<Code> {
        let threads = 2 + self.random.below(2);
        (0..threads)
            .map(|_| {
                let first = self.random.below(2);
                let mut code = Vec::new();
                if self.random.one_in(5) {
                    let at = self.random.below(2);
                    code.push(self.access(3, at));
                }
                if self.random.one_in(4) {
                    let body = self.body(0);
                    code.push(try_lock(2, first));
                    let taken = Condition::Is(plus(2, 0), Value::Constant(0));
                    code.push(skip_unless(taken, body.len() + 1));
                    code.extend(body);
                    code.push(unlock(first));
                    return code;
                }
                code.push(lock(first));
                code.extend(self.body(0));
                let is_nested = threads == 2 && self.random.one_in(2);
                if is_nested {
                    code.push(lock(1 - first));
                    code.extend(self.body(1));
                    code.push(unlock(1 - first));
                }
                if !self.random.one_in(8) {
                    code.push(unlock(first));
                    if !is_nested && self.random.one_in(3) {
                        code.extend([lock(first), unlock(first)]);
                    }
                }
                code
            })
            .collect()
    }

    fn family(&mut self) -> Vec<Code> {
        let variables = 1 + self.random.below(2);
        let threads = 3 + self.random.below(2);
        let mut all: Vec<Code> = (0..threads)
            .map(|_| {
                let count = self.random.below(if threads == 3 { 3 } else { 2 });
                (0..count)
                    .map(|into| {
                        let at = self.random.below(variables);
                        self.access(into, at)
                    })
                    .collect()
            })
            .collect();
        // Each thread but the first has at most one parent, which is an earlier or a later one.
        for child in 1..threads {
            if self.random.one_in(4) {
                continue;
            }
            let parent = self.random.below(child);
            let (parent, child) =
                if self.random.one_in(6) && child == 1 { (child, parent) } else { (parent, child) };
            let mut place = self.random.below(all[parent].len() + 1);
            all[parent].insert(place, spawn(child));
            if place > 0 && self.random.one_in(2) {
                // Whether there is a child depends on what was read.
                let condition = self.condition(1);
                all[parent].insert(place, skip_unless(condition, 1));
                place += 1;
            }
            if !self.random.one_in(3) {
                let place = place + 1 + self.random.below(all[parent].len() - place);
                all[parent].insert(place, join(child));
                if self.random.one_in(3) {
                    let other = self.random.below(threads);
                    if other != child {
                        all[other].push(join(child));
                    }
                }
                if self.random.one_in(2) {
                    let at = self.random.below(variables);
                    let access = self.a_load(4, at);
                    all[parent].push(access);
                }
            }
        }
        all
    }
}
