//! Persistent sets: threads whose pending steps nothing that the others may ever do can interfere with.
//!
//! A set `T` of threads is *persistent* in a state if no thread outside of it, and no thread that such a thread may
//! create, has a step now or later that depends on the pending step of a thread in `T`, as long as none of `T` runs. Then
//! the first step of a thread in `T` in any execution from here can come first, and it is enough to take the steps of `T`:
//! the same final states, deadlocks and failing steps are reached. (A failing step is one of its thread alone.)
//!
//! Dependence is asked of [`MayAccess`], which is about declared objects. Of those that are not, only the end of a
//! thread can interfere: what observes an end may do everything, so the thread that ends has nothing to fear; the one
//! that observes it is not put into a set. A thread in `T` that is blocked waits for what its footprint names, which only
//! threads in `T` may change; a thread that waits for a signal has no pending step, and is not put into a set either.

use std::sync::Arc;

use selvedge_core::{Effect, MayAccess, Mode, Status, Step, System, ThreadId};

/// Finds persistent sets; its buffers are kept.
#[derive(Default)]
pub(super) struct Persistent {
    live: Vec<Live>,
    /// By positions in `live`: the set that is built, and the best so far.
    set: Vec<usize>,
    best: Vec<usize>,
    effect: Effect,
}

/// A thread that may still take steps.
struct Live {
    thread: ThreadId,
    status: Status,
    may: Arc<MayAccess>,
}

impl Persistent {
    /// Puts the steps of a persistent set first, if there is one with fewer steps than all, and returns how many they
    /// are. `steps` are all that can be taken now, by ascending threads.
    pub(super) fn first<S: System>(&mut self, system: &mut S, steps: &mut [Step]) -> usize {
        let is_alone = |steps: &[Step]| steps.iter().all(|step| step.thread == steps[0].thread);
        if is_alone(steps) || !self.look(system) {
            return steps.len();
        }
        let mut fewest = steps.len();
        self.best.clear();
        for seed in 0..self.live.len() {
            if self.live[seed].status != Status::Enabled || !self.close(system, seed) {
                continue;
            }
            let count = steps.iter().filter(|step| self.is_in(&self.set, step.thread)).count();
            if count < fewest {
                fewest = count;
                std::mem::swap(&mut self.best, &mut self.set);
            }
            if fewest == 1 {
                break;
            }
        }
        if !self.best.is_empty() {
            steps.sort_by_key(|step| !self.is_in(&self.best, step.thread));
        }
        fewest
    }

    fn is_in(&self, set: &[usize], thread: ThreadId) -> bool {
        set.iter().any(|&position| self.live[position].thread == thread)
    }

    /// Looks at all threads. Returns false if the system does not know what they may do.
    fn look<S: System>(&mut self, system: &mut S) -> bool {
        self.live.clear();
        for thread in (0..system.thread_count()).map(ThreadId::new) {
            let status = system.status(thread);
            if let Status::Enabled | Status::Blocked | Status::Parked = status {
                let Some(conditions) = system.conditions() else { return false };
                self.live.push(Live { thread, status, may: conditions.may_access(thread) });
            }
        }
        true
    }

    /// Builds the smallest persistent set with the thread at `seed`. Returns false if there is none.
    fn close<S: System>(&mut self, system: &mut S, seed: usize) -> bool {
        self.set.clear();
        self.set.push(seed);
        let mut next = 0;
        while let Some(&position) = self.set.get(next) {
            next += 1;
            let Live { thread, status, .. } = self.live[position];
            if status == Status::Parked {
                return false;
            }
            system.pending(Step::of(thread), &mut self.effect);
            let accesses = self.effect.footprint.accesses();
            let observes_an_end = accesses.iter().any(|access| match access.mode {
                Mode::Alive => true,
                // A thread that has ended stays so.
                Mode::Join => status == Status::Blocked,
                _ => false,
            });
            if observes_an_end {
                return false;
            }
            for (other, live) in self.live.iter().enumerate() {
                if !self.set.contains(&other) && live.may.may_depend_on(accesses) {
                    self.set.push(other);
                }
            }
        }
        true
    }
}
