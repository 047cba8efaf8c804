//! The pass against the definition, on random executions.

use std::collections::BTreeSet;

use selvedge_core::{Effect, Footprint, Order, Step, ThreadId};

use super::*;
use crate::search::random::Random;

const ORDERS: [Option<Order>; 7] = [
    None,
    Some(Order::NonAtomic),
    Some(Order::Relaxed),
    Some(Order::Acquire),
    Some(Order::Release),
    Some(Order::AcqRel),
    Some(Order::SeqCst),
];

/// What executions are drawn from.
#[derive(Clone, Copy)]
struct Drawn {
    /// From which of [`ORDERS`] on.
    orders: usize,
    fences: bool,
}

fn random_execution(random: &mut Random, drawn: Drawn) -> Execution {
    const MODES: [Mode; 7] =
        [Mode::Read, Mode::Write, Mode::Update, Mode::Acquire, Mode::Release, Mode::Up, Mode::Down];
    let mut execution = Execution::new();
    for _ in 0..10 {
        let mut footprint = Footprint::new();
        let is_fence = drawn.fences && random.below(5) == 0;
        let any = ORDERS[drawn.orders + random.below(ORDERS.len() - drawn.orders)];
        let mut order = if random.below(5) == 0 { Some(Order::NonAtomic) } else { any };
        if is_fence {
            order = ORDERS[3 + random.below(4)];
        }
        for _ in 0..if is_fence { 0 } else { 1 + random.below(2) } {
            // Variables are 0, 1 and 2, the other one is a lock.
            match random.below(5) {
                0 => footprint.add(ObjectId::new(3), MODES[3 + random.below(4)]),
                _ => footprint.add(ObjectId::new(random.below(3)), MODES[random.below(3)]),
            }
        }
        let effect = Effect { footprint, choices: 1, order, ..Effect::default() };
        execution.push(Step::of(ThreadId::new(random.below(3))), &effect);
    }
    execution
}

/// Relations of an execution, as the standard defines them.
struct Axioms<'a> {
    execution: &'a Execution,
    all: Vec<Position>,
}

impl Axioms<'_> {
    fn order(&self, e: Position) -> Option<Order> {
        self.execution.event(e).order
    }

    fn is_fence(&self, e: Position) -> bool {
        self.execution.accesses(e).is_empty()
    }

    fn po(&self, a: Position, b: Position) -> bool {
        a < b && self.execution.event(a).thread() == self.execution.event(b).thread()
    }

    fn mode(&self, e: Position, object: ObjectId) -> Option<Mode> {
        let accesses = self.execution.accesses(e).iter();
        accesses.copied().find(|access| access.object == object).map(|access| access.mode)
    }

    /// The atomic ordering of an access; one without an ordering is as strong as can be.
    fn atomic(&self, e: Position) -> Option<Order> {
        self.order(e)
            .map_or(Some(Order::SeqCst), |order| (order != Order::NonAtomic).then_some(order))
    }

    fn writes(&self, e: Position, object: ObjectId) -> bool {
        self.mode(e, object).is_some_and(Mode::writes)
    }

    /// The write that a read of `object` at `r` reads from: under sequential consistency, the last one.
    fn rf(&self, w: Position, r: Position, object: ObjectId) -> bool {
        let last = self.all.iter().rev().find(|&&e| e < r && self.writes(e, object));
        self.mode(r, object).is_some_and(Mode::reads) && last == Some(&w)
    }

    /// `w` or a read-modify-write at the end of a chain of them that begins with `w`.
    fn rs(&self, w: Position, e: Position, object: ObjectId) -> bool {
        let is_rmw = self.mode(e, object) == Some(Mode::Update) && self.atomic(e).is_some();
        w == e || is_rmw && self.all.iter().any(|&c| self.rf(c, e, object) && self.rs(w, c, object))
    }

    fn sw_at(&self, a: Position, b: Position, object: ObjectId) -> bool {
        let releases = |w: Position| {
            self.writes(w, object)
                && self.atomic(w).is_some_and(|order| {
                    a == w && order.releases()
                        || self.is_fence(a)
                            && self.order(a).is_some_and(Order::releases)
                            && self.po(a, w)
                })
        };
        let acquires = |r: Position| {
            self.atomic(r).is_some_and(|order| {
                b == r && order.acquires()
                    || self.is_fence(b)
                        && self.order(b).is_some_and(Order::acquires)
                        && self.po(r, b)
            })
        };
        self.all.iter().filter(|w| releases(**w)).any(|&w| {
            self.all
                .iter()
                .filter(|e| self.rs(w, **e, object))
                .any(|&e| self.all.iter().any(|&r| self.rf(e, r, object) && acquires(r)))
        })
    }

    /// Both are ordered with whatever depends on them.
    fn is_ordered(&self, a: Position, b: Position) -> bool {
        let ordered = |e: Position| {
            let accesses = self.execution.accesses(e);
            // A look at something that is no memory, and that says itself that it orders nothing.
            let only_looks = self.order(e) == Some(Order::Relaxed)
                && !accesses.iter().any(|access| access.mode.is_memory());
            let accesses = accesses.iter().filter(move |_| !only_looks);
            accesses.filter(move |access| self.order(e).is_none() || !access.mode.is_memory())
        };
        a < b && ordered(a).any(|x| ordered(b).any(|y| x.dependent(*y)))
    }
}

/// Pairs of events and objects that race, from the definition.
fn literal(execution: &Execution) -> BTreeSet<(Position, Position, ObjectId)> {
    let axioms = Axioms { execution, all: execution.positions().collect() };
    let all = &axioms.all;
    let plain = |e| axioms.order(e) == Some(Order::NonAtomic);
    let directly = |a: Position, b: Position| {
        axioms.po(a, b)
            || axioms.is_ordered(a, b)
            || (0..3).any(|object| axioms.sw_at(a, b, ObjectId::new(object)))
    };
    let mut before = BTreeSet::new();
    for &b in all {
        for &a in all[..b.index()].iter().rev() {
            let through = |c: &Position| before.contains(&(a, *c)) && before.contains(&(*c, b));
            if directly(a, b) || all[..b.index()].iter().any(through) {
                before.insert((a, b));
            }
        }
    }
    let mut races = BTreeSet::new();
    for &b in all {
        for &a in &all[..b.index()] {
            for x in execution.accesses(a) {
                let conflict =
                    |y: &&Access| x.mode.is_memory() && y.mode.is_memory() && x.dependent(**y);
                if execution.accesses(b).iter().any(|y| conflict(&y))
                    && (plain(a) || plain(b))
                    && !before.contains(&(a, b))
                {
                    races.insert((a, b, x.object));
                }
            }
        }
    }
    races
}

/// The share of executions with a data race, after comparing all of them.
fn compare(seed: u64, drawn: Drawn) -> usize {
    let mut random = Random::new(seed);
    let mut racy = 0;
    for _ in 0..1_000 {
        let execution = random_execution(&mut random, drawn);
        let expected = literal(&execution);
        let found = find(&execution);
        // Each found one is real, and every pair of threads and object that races is found.
        let pair = |a: Position, b: Position| {
            let mut pair = [a, b].map(|e| execution.event(e).thread());
            pair.sort_unstable();
            pair
        };
        for race in &found {
            assert!(expected.contains(&(race.first, race.second, race.object)));
        }
        let found: BTreeSet<_> =
            found.iter().map(|race| (pair(race.first, race.second), race.object)).collect();
        let expected: BTreeSet<_> =
            expected.iter().map(|&(a, b, object)| (pair(a, b), object)).collect();
        assert_eq!(found, expected, "{:?}", execution.events());
        racy += usize::from(!expected.is_empty());
    }
    racy
}

#[test]
fn the_pass_finds_what_the_definition_says() {
    for (seed, drawn) in [
        (1, Drawn { orders: 0, fences: false }),
        (2, Drawn { orders: 0, fences: true }),
        (3, Drawn { orders: 2, fences: false }),
        (4, Drawn { orders: 2, fences: true }),
    ] {
        let racy = compare(seed, drawn);
        assert!((100..950).contains(&racy), "{racy} of 1,000 executions have a data race");
    }
}
