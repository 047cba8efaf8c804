//! Canonical names of classes of executions, computed from the definitions.
//!
//! This is the yardstick for every explorer, so it is simple and slow on purpose and shares nothing
//! with [`Execution`]'s clocks.

use crate::dependence::dependent;
use crate::execution::Execution;
use crate::ids::Position;

/// The name of a Mazurkiewicz trace: equal exactly if two executions have the same events (thread,
/// number, alternative, accesses) and the same happens-before.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TraceKey(Vec<u32>);

impl TraceKey {
    /// The class of `execution`. Takes time cubic in its length at worst.
    pub fn of(execution: &Execution) -> Self {
        let before = happens_before(execution);
        let mut order: Vec<Position> = execution.positions().collect();
        order.sort_by_key(|&position| execution.event(position).id);
        let mut key = Vec::new();
        for &position in &order {
            let event = execution.event(position);
            key.extend([event.thread().number(), event.id.nth, event.choice]);
            let mut accesses = execution.accesses(position).to_vec();
            accesses.sort_unstable();
            key.push(accesses.len() as u32);
            for access in accesses {
                key.extend([access.object.number(), access.mode as u32]);
            }
            // How many events of each thread come before it: ids are dense, so counts name sets.
            let mut counts: Vec<(u32, u32)> = Vec::new();
            for &other in order.iter().filter(|other| before[position.index()][other.index()]) {
                let thread = execution.event(other).thread().number();
                match counts.last_mut() {
                    Some((last, count)) if *last == thread => *count += 1,
                    _ => counts.push((thread, 1)),
                }
            }
            key.push(counts.len() as u32);
            key.extend(counts.iter().flat_map(|&(thread, count)| [thread, count]));
        }
        Self(key)
    }
}

/// `happens_before(e)[b][a]`: the event at `a` happens before the one at `b`. From the definition.
pub(crate) fn happens_before(execution: &Execution) -> Vec<Vec<bool>> {
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
