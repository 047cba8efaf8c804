//! The invariants of [`Execution`], recomputed from the definitions on random sequences of events.

use super::*;
use crate::dependence::dependent;
use crate::equivalence::TraceKey;
use crate::op::{Footprint, Mode};

/// A small generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

const MODES: [Mode; 9] = [
    Mode::Read,
    Mode::Write,
    Mode::Update,
    Mode::Up,
    Mode::Down,
    Mode::ShareAcquire,
    Mode::ShareRelease,
    Mode::Acquire,
    Mode::Probe,
];

fn random_effect(random: &mut Random) -> Effect {
    let mut footprint = Footprint::new();
    for _ in 0..random.below(4) {
        footprint.add(ObjectId::new(random.below(3)), MODES[random.below(MODES.len())]);
    }
    Effect { footprint, choices: 1, ..Effect::default() }
}

/// `happens_before(e)[b][a]`: the event at `a` happens before the one at `b`. From the definition.
fn happens_before(execution: &Execution) -> Vec<Vec<bool>> {
    let mut before = vec![vec![false; execution.len()]; execution.len()];
    for b in execution.positions() {
        for a in execution.positions().take(b.index()).rev() {
            let direct = execution.event(a).thread() == execution.event(b).thread()
                || dependent(execution.accesses(a), execution.accesses(b));
            if direct && !before[b.index()][a.index()] {
                let (lower, upper) = before.split_at_mut(b.index());
                for (mine, theirs) in upper[0].iter_mut().zip(&lower[a.index()]) {
                    *mine |= theirs;
                }
                upper[0][a.index()] = true;
            }
        }
    }
    before
}

fn check(execution: &Execution) {
    let before = happens_before(execution);
    for b in execution.positions() {
        for a in execution.positions() {
            let expected = a == b || before[b.index()][a.index()];
            assert_eq!(execution.happens_before(a, b), expected, "{a:?} before {b:?}");
        }
        let mut expected: Vec<Position> = execution
            .positions()
            .filter(|&a| {
                a < b
                    && execution.event(a).thread() != execution.event(b).thread()
                    && dependent(execution.accesses(a), execution.accesses(b))
                    && !execution
                        .positions()
                        .any(|c| before[b.index()][c.index()] && before[c.index()][a.index()])
            })
            .collect();
        expected.reverse();
        assert_eq!(execution.predecessors(b), expected, "predecessors of {b:?}");
        for (nth, &access) in execution.accesses(b).iter().enumerate() {
            let all = execution.history(access.object, b);
            let expected: Vec<_> = all.filter(|&(_, other)| access.dependent(other)).collect();
            assert_eq!(execution.dependences(b, nth).collect::<Vec<_>>(), expected);
        }
    }
    for object in (0..3).map(ObjectId::new) {
        let expected: Vec<_> = execution
            .positions()
            .rev()
            .flat_map(|p| execution.accesses(p).iter().map(move |&access| (p, access)))
            .filter(|(_, access)| access.object == object)
            .collect();
        let end = Position::new(execution.len());
        assert_eq!(execution.history(object, end).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn clocks_and_predecessors_agree_with_the_definitions() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..300 {
        let mut execution = Execution::new();
        for _ in 0..30 {
            if random.below(5) == 0 {
                execution.truncate(random.below(execution.len() + 1));
            } else {
                // Few threads at first, then ids that force the clocks to grow.
                let threads = if execution.len() < 6 { 3 } else { 7 };
                let step = Step::of(ThreadId::new(random.below(threads)));
                execution.push(step, &random_effect(&mut random));
            }
        }
        check(&execution);
    }
}

/// Two executions of the same events, in orders that may or may not be equivalent.
fn shuffled(events: &[(Step, Effect)], random: &mut Random) -> Execution {
    let mut rest: Vec<Vec<&(Step, Effect)>> = vec![Vec::new(); 4];
    events.iter().rev().for_each(|event| rest[event.0.thread.index()].push(event));
    let mut execution = Execution::new();
    while execution.len() < events.len() {
        if let Some((step, effect)) = rest[random.below(4)].pop() {
            execution.push(*step, effect);
        }
    }
    execution
}

#[test]
fn traces_are_named_by_happens_before() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    // Which events happen before which, by their ids.
    let order = |execution: &Execution| {
        let before = happens_before(execution);
        let id = |position: Position| execution.event(position).id;
        let mut pairs = Vec::new();
        for b in execution.positions() {
            let earlier = execution.positions().filter(|a| before[b.index()][a.index()]);
            pairs.extend(earlier.map(|a| (id(a), id(b))));
        }
        pairs.sort_unstable();
        pairs
    };
    let mut equal = 0;
    for _ in 0..5_000 {
        let length = 2 + random.below(4);
        let events: Vec<_> = (0..length)
            .map(|_| (Step::of(ThreadId::new(random.below(4))), random_effect(&mut random)))
            .collect();
        let (a, b) = (shuffled(&events, &mut random), shuffled(&events, &mut random));
        let same = order(&a) == order(&b);
        assert_eq!(TraceKey::of(&a) == TraceKey::of(&b), same, "{:?} {:?}", a.steps(), b.steps());
        equal += u32::from(same);
    }
    assert!((1_000..4_000).contains(&equal), "{equal} pairs are equivalent");
}
