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

use std::ops::Range;

use selvedge_core::{Effect, MayTouch, Mode, Status, Step, System, ThreadId, Touched};

/// Finds persistent sets; its buffers are kept.
#[derive(Default)]
pub(super) struct Persistent {
    live: Vec<Live>,
    /// By positions in `live`.
    depending: Vec<Depending>,
    /// Positions in `live`.
    others: Vec<usize>,
    /// By positions in `live`: the set that is built, and the best so far.
    set: Set,
    best: Set,
    effect: Effect,
    touched: Touched,
}

/// A thread that may still take steps.
struct Live {
    thread: ThreadId,
    status: Status,
    may: MayTouch,
}

/// Which threads may do something that depends on the pending step of a thread.
enum Depending {
    NotAsked,
    /// No persistent set has the thread.
    Unfit,
    /// A part of `Persistent::others`.
    These(Range<usize>),
}

/// A set of positions, each in the order in which it came.
#[derive(Default)]
struct Set {
    members: Vec<usize>,
    has: Vec<bool>,
}

impl Set {
    /// Becomes a set with one of `count` positions.
    fn begin(&mut self, count: usize, seed: usize) {
        self.members.clear();
        self.has.clear();
        self.has.resize(count, false);
        self.add(seed);
    }

    fn add(&mut self, position: usize) {
        if !std::mem::replace(&mut self.has[position], true) {
            self.members.push(position);
        }
    }
}

impl Persistent {
    /// Puts the steps of a persistent set first, if there is one with fewer steps than all, and returns how many they
    /// are. `steps` are all that can be taken now, by ascending threads, and `statuses` what each thread can do.
    pub(super) fn first<S: System>(
        &mut self,
        system: &mut S,
        steps: &mut [Step],
        statuses: &[Status],
    ) -> usize {
        let is_alone = |steps: &[Step]| steps.iter().all(|step| step.thread == steps[0].thread);
        if is_alone(steps) || !self.look(system, statuses) {
            return steps.len();
        }
        let mut fewest = steps.len();
        self.best.members.clear();
        for seed in 0..self.live.len() {
            if self.live[seed].status != Status::Enabled || !self.close(system, seed) {
                continue;
            }
            let count = self.count(steps);
            if count < fewest {
                fewest = count;
                std::mem::swap(&mut self.best, &mut self.set);
            }
            if fewest == 1 {
                break;
            }
        }
        if !self.best.members.is_empty() {
            let (best, live) = (&self.best.members, &self.live);
            steps.sort_by_key(|step| !best.iter().any(|&it| live[it].thread == step.thread));
        }
        fewest
    }

    /// Returns how many steps the threads in the set have. Both are by ascending threads.
    fn count(&self, steps: &[Step]) -> usize {
        let mut count = 0;
        let mut position = 0;
        for step in steps {
            while self.live[position].thread != step.thread {
                position += 1;
            }
            count += usize::from(self.set.has[position]);
        }
        count
    }

    /// Looks at all threads. Returns false if the system does not know what they may do.
    fn look<S: System>(&mut self, system: &mut S, statuses: &[Status]) -> bool {
        self.live.clear();
        self.depending.clear();
        self.others.clear();
        let Some(conditions) = system.conditions() else { return false };
        for (thread, &status) in statuses.iter().enumerate() {
            if let Status::Enabled | Status::Blocked | Status::Parked = status {
                let thread = ThreadId::new(thread);
                self.live.push(Live { thread, status, may: conditions.may_touch(thread) });
                self.depending.push(Depending::NotAsked);
            }
        }
        true
    }

    /// Builds the smallest persistent set with the thread at `seed`. Returns false if there is none, or none that is
    /// smaller than with an enabled thread before it: the set of that thread would be a part of this one.
    fn close<S: System>(&mut self, system: &mut S, seed: usize) -> bool {
        self.set.begin(self.live.len(), seed);
        let mut next = 0;
        while let Some(&position) = self.set.members.get(next) {
            next += 1;
            if position < seed && self.live[position].status == Status::Enabled {
                return false;
            }
            if matches!(self.depending[position], Depending::NotAsked) {
                self.depending[position] = self.ask(system, position);
            }
            match &self.depending[position] {
                Depending::These(others) => {
                    self.others[others.clone()].iter().for_each(|&other| self.set.add(other));
                }
                Depending::NotAsked | Depending::Unfit => return false,
            }
        }
        true
    }

    fn ask<S: System>(&mut self, system: &mut S, position: usize) -> Depending {
        let Live { thread, status, .. } = self.live[position];
        if status == Status::Parked {
            return Depending::Unfit;
        }
        system.pending(Step::of(thread), &mut self.effect);
        self.touched.clear();
        // What comes after a choice may depend on it: all alternatives count.
        let choices = if status == Status::Enabled { self.effect.choices } else { 1 };
        for choice in 0..choices {
            if choice > 0 {
                system.pending(Step { thread, choice }, &mut self.effect);
            }
            for &access in self.effect.footprint.accesses() {
                let observes_an_end = match access.mode {
                    Mode::Alive => true,
                    // A thread that has ended stays so.
                    Mode::Join => status == Status::Blocked,
                    _ => false,
                };
                if observes_an_end {
                    return Depending::Unfit;
                }
                self.touched.add(access);
            }
        }
        let (live, touched) = (&self.live, &self.touched);
        let depends = |other: &usize| *other != position && live[*other].may.may_depend_on(touched);
        let start = self.others.len();
        self.others.extend((0..live.len()).filter(depends));
        Depending::These(start..self.others.len())
    }
}
