//! Frees: memory that one thread gives up while another may still use it.
//!
//! A free is no event, but it happens in the code after one, and so has that event's place in
//! happens-before. An access that does not happen before the free can also come after it: the events
//! before both, then those that lead to the free, then the access are an execution, too. Nothing
//! more is needed to find all uses of freed memory. For take an execution in which an access comes after
//! a free. Some maximal execution that is explored has these events in the same order, up to swaps of
//! independent ones; there the free happens before the access, and the system sees it, or the two are
//! not ordered, and it is seen here. So frees cost no executions: one per class is enough, as for data
//! races, and an access that is found here is not taken for wrong before the other order was run.
//!
//! References whose count is no object ([`Freed::after`]) keep the memory alive: the last of them to be
//! given up frees it, whichever that is. The free comes after all of them, in any order they come in. An
//! access that happens before one of them happens before the free.

use selvedge_core::{Execution, Freed, Position, Step};

/// Accesses that can come after the free of what they access, of one execution.
#[derive(Default)]
pub(crate) struct Suspects {
    /// Per object, 1 more than the index of its free; 0 if there is none.
    free_of: Vec<u32>,
    /// Index of the free, and the access.
    found: Vec<(usize, Position)>,
}

impl Suspects {
    /// Returns whether there are any.
    pub(crate) fn find(&mut self, execution: &Execution, freed: &[Freed]) -> bool {
        self.found.clear();
        if freed.iter().all(|free| is_last(execution, free)) {
            return false;
        }
        for (index, free) in freed.iter().enumerate() {
            for object in &free.objects {
                if self.free_of.len() <= object.index() {
                    self.free_of.resize(object.index() + 1, 0);
                }
                self.free_of[object.index()] = index as u32 + 1;
            }
        }
        for position in execution.positions() {
            for access in execution.accesses(position) {
                let of = self.free_of.get(access.object.index()).copied().unwrap_or(0) as usize;
                if of > 0 && is_suspect(execution, &freed[of - 1], position) {
                    self.found.push((of - 1, position));
                }
            }
        }
        for object in freed.iter().flat_map(|free| &free.objects) {
            self.free_of[object.index()] = 0;
        }
        self.found.dedup();
        !self.found.is_empty()
    }

    /// Steps in which the free comes right before the access: per free and thread that has accesses, the last
    /// access first.
    pub(crate) fn orders(&self, execution: &Execution, freed: &[Freed]) -> Vec<Vec<Vec<Step>>> {
        let thread = |position: Position| execution.event(position).thread();
        let mut found = self.found.clone();
        found.sort_by_key(|&(free, access)| (free, thread(access), std::cmp::Reverse(access)));
        found
            .chunk_by(|a, b| (a.0, thread(a.1)) == (b.0, thread(b.1)))
            .map(|same| same.iter().map(|&(i, at)| free_first(execution, &freed[i], at)).collect())
            .collect()
    }
}

/// Returns whether all that comes before a free happens before it, as where all other threads were joined: mostly so,
/// and known without a look at the accesses.
fn is_last(execution: &Execution, free: &Freed) -> bool {
    let by = Position::new(free.by);
    let history: u32 = execution.clock(by).iter().sum();
    history as usize == by.index() + 1
}

/// Returns whether an access is made before a free, but need not be.
fn is_suspect(execution: &Execution, free: &Freed, access: Position) -> bool {
    access.index() < free.by && !causes(free).any(|cause| execution.happens_before(access, cause))
}

/// The steps without which the free would not be.
fn causes(free: &Freed) -> impl Iterator<Item = Position> + '_ {
    free.after.iter().copied().chain([free.by]).map(Position::new)
}

/// What happens before the access, then all that the free needs, then the access.
fn free_first(execution: &Execution, free: &Freed, access: Position) -> Vec<Step> {
    let steps = execution.steps();
    let leads_to_access = |&at: &Position| at != access && execution.happens_before(at, access);
    let leads_to_free =
        |&at: &Position| causes(free).any(|cause| execution.happens_before(at, cause));
    let first = execution.positions().filter(leads_to_access);
    let then = execution.positions().filter(|at| !leads_to_access(at) && leads_to_free(at));
    first.chain(then).chain([access]).map(|at| steps[at.index()]).collect()
}

#[cfg(test)]
mod tests {
    use selvedge_core::{Effect, Mode, ObjectId, ThreadId};

    use super::*;

    /// Steps of these threads, each of which touches an object.
    fn execution(steps: &[(usize, usize)]) -> Execution {
        let mut execution = Execution::new();
        for &(thread, object) in steps {
            let mut effect = Effect { choices: 1, ..Effect::default() };
            effect.footprint.add(ObjectId::new(object), Mode::Update);
            execution.push(Step::of(ThreadId::new(thread)), &effect);
        }
        execution
    }

    fn threads(execution: &Execution, free: &Freed) -> Vec<Vec<usize>> {
        let (mut suspects, freed) = (Suspects::default(), [free.clone()]);
        suspects.find(execution, &freed);
        let orders = suspects.orders(execution, &freed).into_iter().flatten();
        orders.map(|steps| steps.iter().map(|step| step.thread.index()).collect()).collect()
    }

    #[test]
    fn an_access_that_nothing_orders() {
        // Thread 0 uses object 5, thread 1 frees it: nothing orders the two, or object 7 does.
        let free = Freed { objects: vec![ObjectId::new(5)], by: 1, after: Vec::new() };
        assert_eq!(threads(&execution(&[(0, 5), (1, 6)]), &free), [[1, 0]]);
        let free = Freed { by: 2, ..free };
        assert!(threads(&execution(&[(0, 5), (0, 7), (1, 7)]), &free).is_empty());
    }

    #[test]
    fn a_free_after_everything() {
        let free = |by| Freed { objects: vec![ObjectId::new(5)], by, after: Vec::new() };
        let steps = execution(&[(0, 5), (0, 7), (1, 7), (2, 6), (1, 6)]);
        let last: Vec<bool> = (0..5).map(|by| is_last(&steps, &free(by))).collect();
        assert_eq!(last, [true, true, true, false, true]);
    }

    #[test]
    fn the_free_comes_right_before_each_access() {
        let free = Freed { objects: vec![ObjectId::new(5)], by: 2, after: Vec::new() };
        let orders = threads(&execution(&[(0, 5), (0, 5), (1, 6)]), &free);
        assert_eq!(orders, [vec![0, 1, 0], vec![1, 0]]);
    }

    #[test]
    fn a_reference_that_is_given_up_later_keeps_it() {
        // Thread 2 gives up a reference in the code after its step, thread 1 the last one.
        let steps = execution(&[(0, 5), (2, 6), (1, 7)]);
        let free = Freed { objects: vec![ObjectId::new(5)], by: 2, after: vec![1] };
        assert_eq!(threads(&steps, &free), [[2, 1, 0]]);
        let steps = execution(&[(0, 5), (0, 6), (2, 6), (1, 7)]);
        let free = Freed { by: 3, after: vec![2], ..free };
        assert!(threads(&steps, &free).is_empty());
    }
}
