//! The invariants of [`Execution`], recomputed from the definitions on random sequences of events.

use super::*;
use crate::dependence::dependent;
use crate::equivalence::happens_before;
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
