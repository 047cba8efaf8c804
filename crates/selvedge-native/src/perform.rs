//! What an operation does to the state when it runs.

use selvedge_core::{Fault, Mode, ViolationKind};

use crate::heap::Wrong;
use crate::layout::{self, Region};
use crate::machine::{Barrier, Machine, Mutex, Once, RwLock, State};
use crate::marks;
use crate::op::{
    By, EAGAIN, EDEADLK, EINVAL, EPERM, ETIMEDOUT, Ends, Kind, Op, SERIAL_THREAD, What,
};

/// What becomes of a thread after its operation.
pub(crate) enum Then {
    /// It continues, with this result.
    GoesOn(u64),
    /// It stands where it is: it waits, or its operation has a second half.
    Stands,
}

impl Machine {
    /// Performs the pending operation of a thread, which can run.
    pub(crate) fn perform(&mut self, me: usize, choice: u32) -> Result<Then, Fault> {
        let (op, pc) = (self.threads[me].op, self.threads[me].pc);
        self.threads[me].begun = true;
        let result = match op {
            Op::Access { address, size, .. } | Op::Compare { address, size, .. } => {
                self.check_memory(me, address, size)?;
                0
            }
            Op::Spawn { .. }
            | Op::End
            | Op::Spin
            | Op::Fence { .. }
            | Op::FutexWoken { .. }
            | Op::Allocate { .. } => 0,
            Op::Join { target, .. } => self.join(me, target)?,
            Op::TryJoin { target, otherwise } => match self.threads[target].state {
                State::Finished => self.join(me, target)?,
                _ => otherwise,
            },
            Op::Make { address, what } => self.make(me, address, what)?,
            Op::Lock { address, kind, .. } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "locks", address)?;
                self.lock(me, address, kind, pc)
            }
            Op::LockAll { list, count } => {
                for &mutex in Self::listed(list, count) {
                    self.check_memory(me, mutex, 1)?;
                    self.check_usable(me, "locks", mutex)?;
                    self.lock(me, mutex, Kind::Normal, pc);
                }
                0
            }
            Op::TryLock { address, kind, otherwise } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "locks", address)?;
                match self.mutex(address).owner {
                    None => self.lock(me, address, kind, pc),
                    Some(owner) if owner == me && kind == Kind::Recursive => {
                        self.lock(me, address, kind, pc)
                    }
                    Some(_) => otherwise,
                }
            }
            Op::Unlock { address, kind } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "unlocks", address)?;
                self.unlock(me, address, kind)?
            }
            Op::Wait { cond, mutex, timed, ends } => {
                return self.wait(me, cond, mutex, (timed, ends));
            }
            Op::Reacquire { mutex, depth, result } => {
                let taken = Mutex { owner: Some(me), depth, taken: pc, is_destroyed: false };
                self.set_mutex(mutex, taken);
                result
            }
            Op::Signal { cond, all } => {
                self.check_memory(me, cond, 1)?;
                self.check_usable(me, "signals", cond)?;
                self.signal(cond, all, choice);
                0
            }
            Op::RwLock { address, write, .. } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "locks", address)?;
                self.take_rwlock(me, address, write)
            }
            Op::RwTry { address, write, otherwise } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "locks", address)?;
                match self.is_takeable(address, write) {
                    true => self.take_rwlock(me, address, write),
                    false => otherwise,
                }
            }
            Op::RwUnlock { address } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "unlocks", address)?;
                self.release_rwlock(me, address)?
            }
            Op::Down { address, .. } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "lowers", address)?;
                self.synchronisation.semaphores.insert(address, self.count(address) - 1);
                0
            }
            Op::TryDown { address, otherwise } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "lowers", address)?;
                match self.count(address) {
                    0 => otherwise,
                    count => {
                        self.synchronisation.semaphores.insert(address, count - 1);
                        0
                    }
                }
            }
            Op::Up { address } => {
                self.check_memory(me, address, 1)?;
                self.check_usable(me, "raises", address)?;
                self.synchronisation.semaphores.insert(address, self.count(address) + 1);
                0
            }
            Op::Value { address } => self.count(address),
            Op::Arrive { address } => return self.arrive(me, address),
            Op::Pass { result, .. } => result,
            Op::Once { address, is_marked } => match self.once(address, is_marked) {
                Once::Done => 0,
                Once::New | Once::Running => {
                    self.synchronisation.onces.insert(address, Once::Running);
                    if is_marked {
                        marks::write(address, marks::BEGUN);
                    }
                    1
                }
            },
            Op::OnceEnd { address, is_marked, is_done } => {
                let (state, mark) =
                    if is_done { (Once::Done, marks::DONE) } else { (Once::New, marks::NEW) };
                self.synchronisation.onces.insert(address, state);
                if is_marked {
                    marks::write(address, mark);
                }
                0
            }
            Op::FutexWait { address, size, wanted, timed, expires } => {
                self.check_memory(me, address, size)?;
                match (Self::finds(address, size, wanted), expires) {
                    (false, _) => EAGAIN,
                    (true, true) => ETIMEDOUT,
                    (true, false) => return Ok(self.wait_for_word(me, address, timed)),
                }
            }
            Op::FutexWake { address, most } => {
                let woken = self.woken_by_word(address, most, choice);
                self.wake(address, &woken);
                woken.len() as u64
            }
            Op::Choose { .. } | Op::Whim => u64::from(choice),
            Op::Free { block, by } => self.free(me, block, by, pc)?,
            Op::Doomed => {
                let fault = self.threads[me].fault.take();
                return Err(fault.unwrap_or_else(|| Fault::GaveUp("a thread failed".to_owned())));
            }
        };
        Ok(Then::GoesOn(result))
    }

    /// Returns what is wrong with an access to the heap.
    pub(crate) fn check_memory(&self, me: usize, address: usize, size: usize) -> Result<(), Fault> {
        match layout::region(address) {
            Some((thread, Region::Heap)) => match self.heap.check(thread, address, size) {
                None => Ok(()),
                Some(wrong) => Err(self.wrong_access(me, thread, address, size, wrong)),
            },
            Some((thread, region @ (Region::Stack | Region::Tls)))
                if thread != me && self.threads[thread].state == State::Finished =>
            {
                let (name, other) = (self.thread_name(me), self.thread_name(thread));
                let what =
                    if region == Region::Tls { "a thread-local variable" } else { "the stack" };
                let message = format!("{name} uses {what} of {other}, which has ended");
                let pc = self.threads[me].pc;
                Err(self.violation(me, ViolationKind::UseAfterFree, message, &[pc], Vec::new()))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn wrong_access(
        &self,
        me: usize,
        owner: usize,
        address: usize,
        size: usize,
        wrong: Wrong,
    ) -> Fault {
        let (name, pc) = (self.thread_name(me), self.threads[me].pc);
        let verb = match self.threads[me].op {
            Op::Access { how, .. } => match how.mode() {
                Mode::Read => "reads",
                Mode::Write => "writes",
                _ => "updates",
            },
            _ => "uses",
        };
        let Some(block) = self.heap.before(owner, address) else {
            let message = format!("{name} {verb} memory of the heap that was never allocated");
            return self.violation(me, ViolationKind::Bounds, message, &[pc], Vec::new());
        };
        let blocks = self.block_name(block.start);
        match (wrong, block.freed) {
            (Wrong::Freed, Some((by, at))) => {
                let message = format!("{name} {verb} memory after it was freed: {blocks}");
                let note = match by == me {
                    true => "the second place is where the thread itself freed it".to_owned(),
                    false => format!("the second place is where {} freed it", self.thread_name(by)),
                };
                self.violation(me, ViolationKind::UseAfterFree, message, &[pc, at], vec![note])
            }
            _ => {
                let offset = address - block.start;
                let bytes = if size == 1 { "1 byte".to_owned() } else { format!("{size} bytes") };
                let message = format!(
                    "{name} {verb} {bytes} at offset {offset} of {blocks}, which ends at {}",
                    block.size
                );
                let note = "the second place is where the block was allocated".to_owned();
                let places = [pc, block.made];
                self.violation(me, ViolationKind::Bounds, message, &places, vec![note])
            }
        }
    }

    fn join(&mut self, me: usize, target: usize) -> Result<u64, Fault> {
        let thread = &mut self.threads[target];
        if thread.is_joined || thread.is_detached {
            let why = if thread.is_joined { "joined before" } else { "detached" };
            let (name, other) = (self.thread_name(me), self.thread_name(target));
            let message = format!("{name} joins {other}, which was {why}");
            let pc = self.threads[me].pc;
            return Err(self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new()));
        }
        thread.is_joined = true;
        Ok(0)
    }

    fn make(&mut self, me: usize, address: usize, what: What) -> Result<u64, Fault> {
        self.check_memory(me, address, 1)?;
        let is_held = self.mutex(address).owner.is_some();
        let state = &mut self.synchronisation;
        let in_use = match what {
            What::NoMutex | What::NoSpinLock | What::Mutex => {
                let is_destroyed = what == What::NoMutex;
                let now = Mutex { is_destroyed, ..Mutex::default() };
                state.mutexes.insert(address, now);
                is_held
            }
            What::NoCond | What::Cond => {
                state.waiters.remove(&address).is_some_and(|waiters| !waiters.is_empty())
            }
            What::NoRwLock | What::RwLock => state
                .rwlocks
                .remove(&address)
                .is_some_and(|lock| lock.writer.is_some() || !lock.readers.is_empty()),
            What::NoSemaphore => {
                state.semaphores.remove(&address);
                false
            }
            What::Semaphore(count) => {
                state.semaphores.insert(address, count);
                false
            }
            What::Barrier(0) => return Ok(EINVAL),
            What::Barrier(parties) => {
                let made = state.made_barriers.entry(address).or_default();
                let round = *made << 32;
                *made += 1;
                state.barriers.insert(address, Barrier { parties, round, ..Barrier::default() });
                false
            }
            What::NoBarrier => {
                state.barriers.remove(&address).is_some_and(|barrier| !barrier.arrived.is_empty())
            }
        };
        if let What::NoSemaphore | What::Semaphore(_) | What::Barrier(_) | What::NoBarrier = what {
            marks::forget_early(address);
        }
        let (name, is_destroyed) = what.name();
        if !matches!(what, What::Mutex | What::NoMutex | What::NoSpinLock) {
            marks::write(address, if is_destroyed { marks::DESTROYED } else { marks::NEW });
        }
        if in_use {
            let verb = if is_destroyed { "destroys" } else { "initialises" };
            let message = format!(
                "{} {verb} the {name} {} while it is in use",
                self.thread_name(me),
                self.address_name(address)
            );
            let pc = self.threads[me].pc;
            return Err(self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new()));
        }
        Ok(0)
    }

    fn set_mutex(&mut self, address: usize, mutex: Mutex) {
        marks::write(address, if mutex.owner.is_some() { marks::HELD } else { marks::NEW });
        self.synchronisation.mutexes.insert(address, mutex);
    }

    fn lock(&mut self, me: usize, address: usize, kind: Kind, pc: usize) -> u64 {
        let mutex = self.mutex(address);
        if mutex.owner == Some(me) {
            if kind == Kind::Checked {
                return EDEADLK;
            }
            self.set_mutex(address, Mutex { depth: mutex.depth + 1, ..mutex });
            return 0;
        }
        let taken = Mutex { owner: Some(me), depth: 1, taken: pc, is_destroyed: false };
        self.set_mutex(address, taken);
        0
    }

    fn unlock(&mut self, me: usize, address: usize, kind: Kind) -> Result<u64, Fault> {
        let mutex = self.mutex(address);
        if mutex.owner != Some(me) {
            if kind != Kind::Normal {
                return Ok(EPERM);
            }
            return Err(self.not_held(me, "unlocks", address));
        }
        let depth = mutex.depth - 1;
        let owner = mutex.owner.filter(|_| depth > 0);
        self.set_mutex(address, Mutex { owner, depth, ..mutex });
        Ok(0)
    }

    /// Returns what is wrong with the use of something that was destroyed, or never initialised. A program may initialise it again
    /// by an assignment: then the mark that libc and the shim leave in it is gone.
    fn check_usable(&self, me: usize, verb: &str, address: usize) -> Result<(), Fault> {
        let region = layout::region(address);
        if region.is_none() && !self.shared.module.has_variable(address) {
            return Ok(());
        }
        let is_heap = matches!(region, Some((_, Region::Heap)));
        let is_stack = matches!(region, Some((_, Region::Stack)));
        let why = match marks::read(address) {
            marks::DESTROYED => "was destroyed",
            _ if self.mutex(address).is_destroyed && marks::is_destroyed_mutex(address) => {
                "was destroyed"
            }
            marks::FRESH if is_heap => "is not initialised",
            marks::FILLED if is_stack => "is not initialised",
            _ => return Ok(()),
        };
        let (name, object) = (self.thread_name(me), self.address_name(address));
        let message = format!("{name} {verb} {object}, which {why}");
        let pc = self.threads[me].pc;
        Err(self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new()))
    }

    #[cold]
    fn not_held(&self, me: usize, verb: &str, address: usize) -> Fault {
        let name = self.thread_name(me);
        let holder = match self.mutex(address).owner {
            Some(owner) => format!("held by {}", self.thread_name(owner)),
            None => "it is free".to_owned(),
        };
        let lock = self.address_name(address);
        let message = format!("{name} {verb} {lock}, which it does not hold ({holder})");
        let pc = self.threads[me].pc;
        self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new())
    }

    fn wait(
        &mut self,
        me: usize,
        cond: usize,
        mutex: usize,
        (timed, ends): (bool, Ends),
    ) -> Result<Then, Fault> {
        self.check_memory(me, cond, 1)?;
        self.check_usable(me, "waits on", cond)?;
        let Mutex { owner, depth, .. } = self.mutex(mutex);
        if owner != Some(me) {
            return Err(self.not_held(me, "waits with", mutex));
        }
        if depth > 1 {
            let (name, lock) = (self.thread_name(me), self.address_name(mutex));
            let message = format!(
                "{name} waits with {lock}, which it holds {depth} times, and only one of them is given up"
            );
            let pc = self.threads[me].pc;
            return Err(self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new()));
        }
        let waiters = self.synchronisation.waiters.get(&cond).map_or(&[][..], Vec::as_slice);
        let with_another = waiters.iter().find_map(|&waiter| match self.threads[waiter].op {
            Op::Reacquire { mutex: other, .. } if other != mutex => Some((waiter, other)),
            _ => None,
        });
        if let Some((waiter, other)) = with_another {
            let (name, waiter) = (self.thread_name(me), self.thread_name(waiter));
            let [cond, lock, other] = [cond, mutex, other].map(|it| self.address_name(it));
            let message = format!(
                "{name} waits at {cond} with {lock}, while {waiter} waits there with {other}"
            );
            let pc = self.threads[me].pc;
            return Err(self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new()));
        }
        self.set_mutex(mutex, Mutex::default());
        let lock = self.threads[me].objects[1];
        let thread = &mut self.threads[me];
        let result = if ends == Ends::TimedOut { ETIMEDOUT } else { 0 };
        thread.op = Op::Reacquire { mutex, depth, result };
        thread.objects = smallvec::smallvec![lock];
        if ends != Ends::Signalled {
            // No other thread wakes it: its own step does.
            return Ok(Then::Stands);
        }
        self.park(me, cond, timed);
        Ok(Then::Stands)
    }

    /// A thread waits until it is woken.
    fn park(&mut self, me: usize, on: usize, timed: bool) {
        let thread = &mut self.threads[me];
        (thread.state, thread.waits_on) = (State::Parked, Some((on, timed)));
        let waiters = self.synchronisation.waiters.entry(on).or_default();
        // By thread numbers, since the order in which they came is not one of steps that depend on each other.
        let at = waiters.partition_point(|&waiter| waiter < me);
        waiters.insert(at, me);
    }

    fn wake(&mut self, on: usize, woken: &[usize]) {
        if let Some(waiters) = self.synchronisation.waiters.get_mut(&on) {
            waiters.retain(|waiter| !woken.contains(waiter));
        }
        for &number in woken {
            let thread = &mut self.threads[number];
            (thread.state, thread.waits_on) = (State::Ready, None);
        }
    }

    fn signal(&mut self, cond: usize, all: bool, choice: u32) {
        let woken = self.woken(cond, all, choice);
        self.wake(cond, &woken);
    }

    fn wait_for_word(&mut self, me: usize, address: usize, timed: bool) -> Then {
        let thread = &mut self.threads[me];
        thread.op = Op::FutexWoken { address };
        thread.objects.clear();
        thread.blocks.clear();
        thread.guest_of = None;
        self.park(me, address, timed);
        Then::Stands
    }

    fn take_rwlock(&mut self, me: usize, address: usize, write: bool) -> u64 {
        let lock = self.synchronisation.rwlocks.entry(address).or_default();
        match write {
            true => lock.writer = Some(me),
            false => {
                let at = lock.readers.partition_point(|&reader| reader < me);
                lock.readers.insert(at, me);
            }
        }
        0
    }

    fn release_rwlock(&mut self, me: usize, address: usize) -> Result<u64, Fault> {
        match self.synchronisation.rwlocks.get_mut(&address) {
            Some(RwLock { writer, .. }) if *writer == Some(me) => *writer = None,
            Some(RwLock { readers, .. }) if readers.contains(&me) => {
                let at = readers.iter().position(|&reader| reader == me);
                at.map(|at| readers.remove(at));
            }
            _ => {
                let (name, lock) = (self.thread_name(me), self.address_name(address));
                let message = format!("{name} unlocks {lock}, which it does not hold");
                let pc = self.threads[me].pc;
                return Err(self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new()));
            }
        }
        Ok(0)
    }

    /// A thread comes to a barrier, which may have been initialised before the check.
    pub(crate) fn find_barrier(&mut self, address: usize) {
        let barriers = &mut self.synchronisation.barriers;
        if !barriers.contains_key(&address)
            && let Some(parties) = marks::early(address)
        {
            barriers.insert(address, Barrier { parties, ..Barrier::default() });
            self.synchronisation.made_barriers.insert(address, 1);
        }
    }

    fn arrive(&mut self, me: usize, address: usize) -> Result<Then, Fault> {
        self.check_memory(me, address, 1)?;
        let Some(barrier) = self.synchronisation.barriers.get_mut(&address) else {
            let (name, barrier) = (self.thread_name(me), self.address_name(address));
            let message = format!("{name} waits at {barrier}, which is not initialised");
            let pc = self.threads[me].pc;
            return Err(self.violation(me, ViolationKind::Misuse, message, &[pc], Vec::new()));
        };
        self.shared.learned.arrives(address, me, barrier.parties);
        barrier.arrived.push(me);
        let (round, arrived) = (barrier.round, barrier.arrived.clone());
        self.threads[me].op = Op::Pass { address, round, result: 0 };
        if arrived.len() as u64 >= barrier.parties {
            barrier.arrived.clear();
            barrier.round += 1;
            // Which thread is the serial one is left open. Each can be the last to arrive, since one that has arrived keeps no
            // other from it. If the program does not look, arrivals commute.
            let serial = match self.shared.module.has_serial_thread {
                true => me,
                false => arrived.iter().copied().min().unwrap_or(me),
            };
            self.threads[serial].op = Op::Pass { address, round, result: SERIAL_THREAD };
        }
        Ok(Then::Stands)
    }

    fn free(&mut self, me: usize, block: usize, by: By, pc: usize) -> Result<u64, Fault> {
        let (name, verb) = (self.thread_name(me), by.verb());
        let Some(found) = self.heap.at(block) else {
            let what = self.address_name(block);
            let message = format!("{name} {verb} {what}, which is not the start of a block");
            return Err(self.violation(me, ViolationKind::InvalidFree, message, &[pc], Vec::new()));
        };
        if let Some((freed_by, at)) = found.freed {
            let message =
                format!("{name} {verb} memory that was freed: {}", self.block_name(block));
            let note = format!("the second place is where {} freed it", self.thread_name(freed_by));
            let fault =
                self.violation(me, ViolationKind::DoubleFree, message, &[pc, at], vec![note]);
            return Err(fault);
        }
        if !found.by.fits(by) {
            let ((maker, right), (_, wrong), made) = (found.by.names(), by.names(), found.made);
            let blocks = self.block_name(block);
            let message = format!("{name} frees with {wrong} what {maker} allocated: {blocks}");
            let note = format!("the second place is where it was allocated; use {right}");
            let places = [pc, made];
            return Err(self.violation(
                me,
                ViolationKind::InvalidFree,
                message,
                &places,
                vec![note],
            ));
        }
        found.freed = Some((me, pc));
        Ok(0)
    }
}
