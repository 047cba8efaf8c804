//! What an operation touches, when it can run, and in how many ways. Nothing here changes the state.

use selvedge_core::{Effect, Flexibility, Mode, Order};

use crate::machine::{Machine, Mutex, Once, State};
use crate::marks;
use crate::objects::Object;
use crate::op::{Ends, Kind, Op};
use crate::spin::{Look, Looks, content};

impl Machine {
    pub(crate) fn mutex(&self, address: usize) -> Mutex {
        let mutex = self.synchronisation.mutexes.get(&address).copied().unwrap_or_default();
        match mutex.owner.is_some() && marks::read(address) == marks::NEW {
            true => Mutex::default(),
            false => mutex,
        }
    }

    /// Returns the mutexes in a list of the program.
    pub(crate) fn listed<'a>(list: usize, count: usize) -> &'a [usize] {
        // SAFETY: the list is on the stack of the thread that stands at it, and does not change until it continues.
        unsafe { std::slice::from_raw_parts(list as *const usize, count) }
    }

    /// Returns the threads that wait on a condition variable, or for a word.
    fn waiters(&self, on: usize) -> &[usize] {
        self.synchronisation.waiters.get(&on).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn count(&self, semaphore: usize) -> u64 {
        let known = self.synchronisation.semaphores.get(&semaphore).copied();
        known.unwrap_or_else(|| marks::early(semaphore).unwrap_or(0))
    }

    pub(crate) fn once(&self, address: usize, is_marked: bool) -> Once {
        match is_marked && marks::read(address) == marks::NEW {
            true => Once::New,
            false => self.synchronisation.onces.get(&address).copied().unwrap_or_default(),
        }
    }

    /// Returns whether a thread can take a reader-writer lock now.
    pub(crate) fn is_takeable(&self, lock: usize, write: bool) -> bool {
        let Some(lock) = self.synchronisation.rwlocks.get(&lock) else { return true };
        lock.writer.is_none() && (!write || lock.readers.is_empty())
    }

    /// Returns the threads that a signal wakes.
    pub(crate) fn woken(&self, cond: usize, all: bool, choice: u32) -> Vec<usize> {
        let waiters = self.waiters(cond);
        match all {
            true => waiters.to_vec(),
            false => waiters.get(choice as usize).copied().into_iter().collect(),
        }
    }

    /// Returns the threads that a wake-up of at most `most` of the waiters for a word wakes.
    pub(crate) fn woken_by_word(&self, address: usize, most: usize, choice: u32) -> Vec<usize> {
        let waiters = self.waiters(address);
        let chosen = subset(waiters.len(), most.min(waiters.len()), choice);
        chosen.into_iter().map(|at| waiters[at]).collect()
    }

    /// Returns whether something that a thread saw differs now.
    fn has_changed(&self, look: &Look) -> bool {
        self.value(look.what) != look.value
    }

    /// Returns what a look finds now.
    pub(crate) fn value(&self, what: Looks) -> u64 {
        match what {
            Looks::Memory { address, size, .. } => content(address, size),
            Looks::Mutex(address) => self.mutex(address).owner.map_or(0, |owner| owner as u64 + 1),
            // Whether others have the mutex makes no difference to what a turn does once it has it.
            Looks::Taken(_) | Looks::GivenUp(_) => 0,
        }
    }

    /// Returns whether a compare-exchange finds what it wants.
    pub(crate) fn finds(address: usize, size: usize, wanted: usize) -> bool {
        // SAFETY: the address was touched when it was announced, and `wanted` is on the stack of the thread.
        unsafe {
            let at = |address: usize| std::slice::from_raw_parts(address as *const u8, size);
            at(address) == at(wanted)
        }
    }

    /// Returns whether a thread that is ready can take its next step.
    #[inline]
    pub(crate) fn is_enabled(&self, me: usize) -> bool {
        let thread = &self.threads[me];
        match thread.op {
            Op::Join { target, .. } => self.threads[target].state == State::Finished,
            Op::Lock { address, kind, .. } => match self.mutex(address).owner {
                None => true,
                Some(owner) => owner == me && kind != Kind::Normal,
            },
            Op::LockAll { list, count } => {
                Self::listed(list, count).iter().all(|&mutex| self.mutex(mutex).owner.is_none())
            }
            Op::Reacquire { mutex, .. } => self.mutex(mutex).owner.is_none(),
            Op::RwLock { address, write, .. } => self.is_takeable(address, write),
            Op::Down { address, .. } => self.count(address) > 0,
            Op::Pass { address, round, .. } => {
                let barrier = self.synchronisation.barriers.get(&address);
                barrier.is_none_or(|barrier| barrier.round != round)
            }
            Op::Once { address, is_marked } => self.once(address, is_marked) != Once::Running,
            Op::Spin => thread.turn.iter().any(|look| self.has_changed(look)),
            _ => true,
        }
    }

    /// Returns in how many ways a thread that can run can do so.
    #[inline]
    pub(crate) fn choices(&self, me: usize) -> u32 {
        match self.threads[me].op {
            Op::Signal { cond, all: false } => self.waiters(cond).len().max(1) as u32,
            Op::Choose { most } => most,
            Op::Whim => 2,
            Op::FutexWake { address, most } => {
                let waiters = self.waiters(address).len();
                subsets(waiters, most.min(waiters))
            }
            _ => 1,
        }
    }

    /// Says what the pending step of a thread would do.
    pub(crate) fn effect(&self, me: usize, choice: u32, effect: &mut Effect) {
        effect.clear();
        let thread = &self.threads[me];
        let (mode, flexibility) = self.mode(me);
        if thread.op == Op::Spin {
            for (object, look) in thread.turn.iter().flat_map(|look| &look.objects) {
                effect.footprint.add(*object, *look);
            }
        } else if let Op::Wait { mutex, ends, .. } = thread.op {
            // The condition variable, and then the mutex.
            let [cond, lock] = thread.objects.as_slice() else {
                unreachable!("a wait has two objects")
            };
            match self.mutex(mutex).owner == Some(me) {
                true => {
                    if ends != Ends::WithoutReason {
                        effect.footprint.add(*cond, Mode::Wait);
                    }
                    effect.footprint.add(*lock, Mode::Release);
                }
                false => effect.footprint.add(*lock, Mode::Probe),
            }
        } else if let Some((&first, others)) = thread.objects.split_first() {
            effect.footprint.add(first, mode);
            // Memory is touched in one way; of another object there is one, unless something strange lies on it.
            let is_one = !mode.is_memory() && !matches!(thread.op, Op::LockAll { .. });
            let rest = if is_one { Mode::Update } else { mode };
            others.iter().for_each(|&object| effect.footprint.add(object, rest));
        }
        for &block in &thread.blocks {
            let is_whole = matches!(thread.op, Op::Free { .. } | Op::Allocate { .. });
            effect.footprint.add(block, if is_whole { Mode::Write } else { Mode::Read });
        }
        if let Some(owner) = thread.guest_of {
            // That orders nothing that is not ordered anyway: an access that the end may overtake is a violation.
            effect.footprint.add(self.known[owner].life, Mode::Alive);
        }
        match thread.op {
            Op::Access { how, .. } => effect.order = Some(how.order()),
            Op::Allocate { .. } => effect.order = Some(Order::NonAtomic),
            Op::Compare { address, size, wanted, orders } => {
                let finds = Self::finds(address, size, wanted);
                effect.order = Some(if finds { orders.success } else { orders.failure });
            }
            Op::Fence { order } => effect.order = Some(order),
            Op::FutexWait { address, size, wanted, expires, .. } => {
                // The word is compared like a relaxed load: what it holds makes nothing else visible.
                effect.order = Some(Order::Relaxed);
                if !expires && Self::finds(address, size, wanted) {
                    let queue = self.shared.objects.borrow_mut().other(Object::Queue(address));
                    effect.footprint.add(queue, Mode::Wait);
                }
            }
            Op::FutexWoken { .. } => effect.footprint.add(self.known[me].wake, Mode::Woken),
            Op::FutexWake { address, most } => {
                let queue = self.shared.objects.borrow_mut().other(Object::Queue(address));
                effect.footprint.add(queue, Mode::Signal);
                for woken in self.woken_by_word(address, most, choice) {
                    effect.footprint.add(self.known[woken].wake, Mode::Wake);
                }
            }
            Op::Spawn { child } => {
                effect.footprint.add(self.known[child].life, Mode::Spawn);
                effect.footprint.add(self.known[child].wake, Mode::Spawn);
            }
            Op::Join { target, .. } => effect.footprint.add(self.known[target].life, Mode::Join),
            Op::TryJoin { target, .. } => {
                effect.footprint.add(self.known[target].life, Mode::Alive);
            }
            Op::End => effect.footprint.add(self.known[me].life, Mode::End),
            Op::Reacquire { .. } => effect.footprint.add(self.known[me].wake, Mode::Woken),
            Op::Signal { cond, all } => {
                for woken in self.woken(cond, all, choice) {
                    effect.footprint.add(self.known[woken].wake, Mode::Wake);
                }
            }
            Op::Arrive { address } => {
                let barrier = self.synchronisation.barriers.get(&address);
                let round = barrier.map_or(0, |barrier| barrier.round);
                let is_crowded = barrier.is_none()
                    || self.shared.module.has_serial_thread
                    || self.shared.learned.is_crowded(address);
                let objects = &mut self.shared.objects.borrow_mut();
                let mut half = |half| objects.other(Object::Barrier { address, half });
                if is_crowded {
                    effect.footprint.add(half(false), Mode::Update);
                    effect.footprint.add(half(true), Mode::Update);
                } else {
                    effect.footprint.add(half(round % 2 == 1), Mode::Arrive);
                }
            }
            Op::Pass { address, round, .. } => {
                let object = Object::Barrier { address, half: round % 2 == 1 };
                let object = self.shared.objects.borrow_mut().other(object);
                effect.footprint.add(object, Mode::Pass);
            }
            _ => {}
        }
        effect.flexibility = flexibility;
        effect.choices = self.choices(me);
        if me != 0 && !thread.begun {
            effect.footprint.add(self.known[me].wake, Mode::Begin);
        }
    }

    /// Returns how an operation touches its object, and what may differ in another state.
    fn mode(&self, me: usize) -> (Mode, Flexibility) {
        match self.threads[me].op {
            Op::Access { how, .. } => (how.mode(), Flexibility::Fixed),
            Op::Compare { address, size, wanted, .. } => {
                let mode = match Self::finds(address, size, wanted) {
                    true => Mode::Update,
                    false => Mode::Read,
                };
                (mode, Flexibility::Conditional)
            }
            Op::Lock { address, kind, .. } => match self.mutex(address).owner == Some(me) {
                // That it holds the mutex depends on what the thread itself did.
                true if kind != Kind::Normal => (Mode::Probe, Flexibility::Fixed),
                _ => (Mode::Acquire, Flexibility::Lock),
            },
            Op::TryLock { address, kind, .. } => match self.mutex(address).owner {
                None => (Mode::Acquire, Flexibility::Conditional),
                Some(owner) if owner == me && kind == Kind::Recursive => {
                    (Mode::Probe, Flexibility::Fixed)
                }
                Some(_) => (Mode::Probe, Flexibility::Conditional),
            },
            Op::Unlock { address, .. } => match self.mutex(address) {
                Mutex { owner: Some(owner), depth: 1, .. } if owner == me => {
                    (Mode::Release, Flexibility::Fixed)
                }
                _ => (Mode::Probe, Flexibility::Fixed),
            },
            Op::LockAll { .. } => (Mode::Acquire, Flexibility::Blocking),
            Op::Reacquire { .. } => (Mode::Acquire, Flexibility::Lock),
            Op::Signal { .. } => (Mode::Signal, Flexibility::Conditional),
            Op::RwLock { write, .. } => (acquires(write), Flexibility::Blocking),
            Op::RwTry { address, write, .. } => match self.is_takeable(address, write) {
                true => (acquires(write), Flexibility::Conditional),
                false => (Mode::Probe, Flexibility::Conditional),
            },
            Op::RwUnlock { address } => {
                let lock = self.synchronisation.rwlocks.get(&address);
                let mode = match lock {
                    Some(lock) if lock.writer == Some(me) => Mode::Release,
                    Some(lock) if lock.readers.contains(&me) => Mode::ShareRelease,
                    _ => Mode::Probe,
                };
                (mode, Flexibility::Fixed)
            }
            Op::Down { .. } => (Mode::Down, Flexibility::Blocking),
            Op::TryDown { address, .. } => match self.count(address) {
                0 => (Mode::Probe, Flexibility::Conditional),
                _ => (Mode::Down, Flexibility::Conditional),
            },
            Op::Up { .. } => (Mode::Up, Flexibility::Fixed),
            Op::Value { .. } => (Mode::Probe, Flexibility::Fixed),
            Op::Once { address, is_marked } => match self.once(address, is_marked) {
                Once::Done => (Mode::Read, Flexibility::Blocking),
                Once::New | Once::Running => (Mode::Update, Flexibility::Blocking),
            },
            Op::Join { .. } | Op::Pass { .. } | Op::Spin => (Mode::Read, Flexibility::Blocking),
            Op::TryJoin { .. } => (Mode::Read, Flexibility::Conditional),
            Op::FutexWait { .. } => (Mode::Read, Flexibility::Conditional),
            Op::FutexWake { .. } => (Mode::Signal, Flexibility::Conditional),
            Op::FutexWoken { .. } => (Mode::Woken, Flexibility::Fixed),
            Op::OnceEnd { .. } | Op::Make { .. } => (Mode::Update, Flexibility::Fixed),
            Op::Wait { .. }
            | Op::Arrive { .. }
            | Op::Spawn { .. }
            | Op::End
            | Op::Choose { .. }
            | Op::Whim
            | Op::Fence { .. }
            | Op::Allocate { .. }
            | Op::Free { .. }
            | Op::Doomed => (Mode::Update, Flexibility::Fixed),
        }
    }
}

fn acquires(write: bool) -> Mode {
    if write { Mode::Acquire } else { Mode::ShareAcquire }
}

/// Returns how many subsets of `count` of `all` things there are.
pub(crate) fn subsets(all: usize, count: usize) -> u32 {
    let (mut result, count) = (1_u64, count.min(all - count));
    for at in 0..count {
        result = result * (all - at) as u64 / (at as u64 + 1);
    }
    // No search ends that has more alternatives than this.
    u32::try_from(result).unwrap_or(u32::MAX)
}

/// Returns the subset with this number, in lexicographic order.
pub(crate) fn subset(all: usize, count: usize, mut number: u32) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(count);
    for at in 0..all {
        let left = count - chosen.len();
        if left == 0 {
            break;
        }
        // Those that begin with this one.
        let with = subsets(all - at - 1, left - 1);
        if number < with {
            chosen.push(at);
        } else {
            number -= with;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_all_different_and_in_order() {
        for all in 0..7 {
            for count in 0..=all {
                let every: Vec<_> =
                    (0..subsets(all, count)).map(|number| subset(all, count, number)).collect();
                assert!(every.windows(2).all(|pair| pair[0] < pair[1]), "{every:?}");
                assert!(every.iter().all(|chosen| chosen.len() == count), "{every:?}");
            }
        }
        assert_eq!(subsets(6, 3), 20);
    }
}
