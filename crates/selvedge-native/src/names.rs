//! What reports say: names of threads and objects, texts of steps, why threads wait.

use std::fmt::Write as _;

use selvedge_core::{Description, Mode, ObjectId, Place, Violation, ViolationKind};

use crate::layout::{self, Region};
use crate::machine::{Machine, Once, State};
use crate::objects::Object;
use crate::op::{Ends, Op, What};
use crate::spin::content;

impl Machine {
    /// Returns the place of a call that returns to `pc`.
    pub(crate) fn place(&self, pc: usize) -> Option<Place> {
        let module = &self.shared.module;
        if !module.contains(pc) {
            return None;
        }
        module.lines.place(pc - module.base)
    }

    /// Returns the name of a thread: that of its function, numbered if there are several.
    pub(crate) fn thread_name(&self, number: usize) -> String {
        let thread = &self.threads[number];
        if let Some(name) = &thread.name {
            return name.clone();
        }
        if number == 0 {
            return "main".to_owned();
        }
        let function = |start: usize| {
            self.shared.module.body_name(start).unwrap_or_else(|| "thread".to_owned())
        };
        let name = function(thread.start);
        let earlier = self.threads[1..number].iter().filter(|other| {
            other.state != State::Absent && other.name.is_none() && function(other.start) == name
        });
        match earlier.count() {
            0 => name,
            count => format!("{name}#{}", count + 1),
        }
    }

    /// Returns the name of an object.
    pub(crate) fn object_name(&self, object: ObjectId) -> String {
        let object = self.shared.objects.borrow().get(object);
        match object {
            Object::Cell { start, size } => self.cell_name(start, size),
            Object::Life(thread) => self.thread_name(thread),
            Object::Wake(thread) => format!("wake-up of {}", self.thread_name(thread)),
            Object::Block(start) => self.block_name(start),
            Object::Queue(address) => format!("waiters of {}", self.address_name(address)),
            Object::Barrier { address, .. } => self.address_name(address),
            Object::Arrival { address, thread, .. } => {
                format!("arrival of {} at {}", self.thread_name(thread), self.address_name(address))
            }
        }
    }

    /// Returns the name of a block of the heap.
    pub(crate) fn block_name(&self, start: usize) -> String {
        let block = layout::region(start).and_then(|(thread, _)| self.heap.before(thread, start));
        let Some(block) = block else { return "a block of the heap".to_owned() };
        let bytes = if block.size == 1 { "byte" } else { "bytes" };
        let place = self.place(block.made);
        let place =
            place.map_or(String::new(), |at| format!(" allocated at {}:{}", at.file, at.line));
        format!("a block of {} {bytes}{place}", block.size)
    }

    /// Returns the name of what lies at an address.
    pub(crate) fn address_name(&self, address: usize) -> String {
        self.cell_name(address, 0)
    }

    fn cell_name(&self, address: usize, size: usize) -> String {
        match layout::region(address) {
            Some((thread, Region::Heap)) => {
                let Some(block) = self.heap.before(thread, address) else {
                    return "the heap".to_owned();
                };
                let (name, offset) = (self.block_name(block.start), address - block.start);
                if offset == 0 { name } else { format!("{name} + {offset}") }
            }
            Some((thread, Region::Stack)) => {
                format!("a local variable of {}", self.thread_name(thread))
            }
            Some((thread, Region::Tls)) => {
                format!("a thread-local variable of {}", self.thread_name(thread))
            }
            None => match self.shared.module.variable(address) {
                Some((name, ..)) if name == "atomic_section" => "the atomic section".to_owned(),
                Some((name, ..)) if name == "atexit_list" => "the list of atexit".to_owned(),
                Some((name, ..)) if name == "early" => {
                    "memory that was allocated before main".to_owned()
                }
                Some((name, 0, all)) if size == 0 || size == all => name,
                Some((name, offset, all)) if size > 0 && all % size == 0 && offset % size == 0 => {
                    format!("{name}[{}]", offset / size)
                }
                Some((name, 0, _)) => name,
                Some((name, offset, _)) => format!("{name}+{offset}"),
                None => "memory outside of the program".to_owned(),
            },
        }
    }

    /// Returns a value in memory as a person would write it.
    fn value_text(&self, address: usize, size: usize) -> Option<String> {
        matches!(size, 1 | 2 | 4 | 8)
            .then(|| content(address, size))
            .and_then(|value| self.bits_text(value, size))
    }

    /// Returns the value of an object: who holds a lock, the count of a semaphore, what lies in memory.
    pub(crate) fn object_value(&self, object: ObjectId) -> Option<String> {
        let Object::Cell { start, size } = self.shared.objects.borrow().get(object) else {
            return None;
        };
        let known = &self.synchronisation;
        let names = |threads: &[usize]| {
            let names: Vec<String> = threads.iter().map(|&it| self.thread_name(it)).collect();
            names.join(", ")
        };
        if known.mutexes.contains_key(&start) {
            return Some(match self.mutex(start).owner {
                Some(owner) => format!("held by {}", self.thread_name(owner)),
                None => "free".to_owned(),
            });
        }
        if let Some(lock) = known.rwlocks.get(&start) {
            return Some(match (lock.writer, lock.readers.as_slice()) {
                (Some(writer), _) => format!("held by {}", self.thread_name(writer)),
                (None, []) => "free".to_owned(),
                (None, readers) => format!("read by {}", names(readers)),
            });
        }
        if known.semaphores.contains_key(&start) {
            return Some(self.count(start).to_string());
        }
        let is_mapped = layout::region(start).is_some() || self.shared.module.contains(start);
        is_mapped.then(|| self.value_text(start, size)).flatten()
    }

    /// Returns a value of so many bytes as a person would write it.
    pub(crate) fn bits_text(&self, value: u64, size: usize) -> Option<String> {
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        let signed = match size {
            1 => i64::from(value as u8 as i8),
            2 => i64::from(value as u16 as i16),
            4 => i64::from(value as u32 as i32),
            _ => value as i64,
        };
        let pointed = value as usize;
        let is_pointer = size == 8
            && (layout::region(pointed).is_some() || self.shared.module.contains(pointed));
        Some(match is_pointer {
            true => match self.shared.module.function(pointed) {
                Some(function) => format!("&{function}"),
                None => format!("&({})", self.address_name(pointed)),
            },
            false => signed.to_string(),
        })
    }

    /// Returns what a thread would do, or does, without values.
    pub(crate) fn op_text(&self, me: usize) -> String {
        let thread = &self.threads[me];
        let name = |address: usize| self.address_name(address);
        let object = || match thread.objects.first() {
            Some(&object) => self.object_name(object),
            None => "memory".to_owned(),
        };
        match thread.op {
            Op::Access { how, size, address } => {
                let verb = match how.mode() {
                    Mode::Read => "read",
                    Mode::Write => "write",
                    _ => "update",
                };
                match thread.objects.len() {
                    1 => format!("{verb} {}", object()),
                    _ => format!("{verb} {size} bytes at {}", name(address)),
                }
            }
            Op::Compare { .. } => format!("compare-exchange {}", object()),
            Op::Spawn { child } => format!("create {}", self.thread_name(child)),
            Op::Join { target, .. } => format!("join {}", self.thread_name(target)),
            Op::TryJoin { target, .. } => format!("try to join {}", self.thread_name(target)),
            Op::End => "end".to_owned(),
            Op::Make { address, what } => {
                let (kind, is_destroyed) = what.name();
                let verb = if is_destroyed { "destroy" } else { "initialise" };
                match what {
                    What::Semaphore(count) => format!("{verb} {kind} {} to {count}", name(address)),
                    _ => format!("{verb} {kind} {}", name(address)),
                }
            }
            Op::Lock { address, .. } => format!("lock {}", name(address)),
            Op::LockAll { list, count } => {
                let names = Self::listed(list, count).iter().map(|&mutex| name(mutex));
                format!("lock {}", names.collect::<Vec<_>>().join(" and "))
            }
            Op::TryLock { address, .. } => format!("try to lock {}", name(address)),
            Op::Unlock { address, .. } => format!("unlock {}", name(address)),
            Op::Wait { cond, mutex, ends, .. } => match ends {
                Ends::Signalled => format!("wait on {} and unlock {}", name(cond), name(mutex)),
                Ends::TimedOut => format!("wait on {} until the time is up", name(cond)),
                Ends::WithoutReason => {
                    format!("wait on {}, without a signal, and unlock {}", name(cond), name(mutex))
                }
            },
            Op::Reacquire { mutex, .. } => format!("lock {} again after the wait", name(mutex)),
            Op::Signal { cond, all: false } => format!("signal {}", name(cond)),
            Op::Signal { cond, all: true } => format!("broadcast {}", name(cond)),
            Op::RwLock { address, write: false, .. } => format!("read-lock {}", name(address)),
            Op::RwLock { address, write: true, .. } => format!("write-lock {}", name(address)),
            Op::RwTry { address, write: false, .. } => {
                format!("try to read-lock {}", name(address))
            }
            Op::RwTry { address, write: true, .. } => {
                format!("try to write-lock {}", name(address))
            }
            Op::RwUnlock { address } => format!("unlock {}", name(address)),
            Op::Down { address, .. } => format!("sem_wait {}", name(address)),
            Op::TryDown { address, .. } => format!("sem_trywait {}", name(address)),
            Op::Up { address } => format!("sem_post {}", name(address)),
            Op::Value { address } => format!("sem_getvalue {}", name(address)),
            Op::Arrive { address } => format!("arrive at barrier {}", name(address)),
            Op::Pass { address, .. } => format!("pass barrier {}", name(address)),
            Op::Once { address, .. } => format!("once {}", name(address)),
            Op::OnceEnd { address, is_done: true, .. } => format!("end of once {}", name(address)),
            Op::OnceEnd { address, is_done: false, .. } => {
                format!("once {} failed: it can be tried again", name(address))
            }
            Op::Fence { order } => format!("fence ({order})"),
            Op::FutexWait { address, expires, .. } => match expires {
                false => format!("wait for a change of {}", name(address)),
                true => format!("wait for a change of {} until the time is up", name(address)),
            },
            Op::FutexWoken { address } => format!("continue after the wait for {}", name(address)),
            Op::FutexWake { address, most: 1 } => format!("notify one of {}", name(address)),
            Op::FutexWake { address, .. } => format!("notify all of {}", name(address)),
            Op::Choose { .. } => "choose".to_owned(),
            Op::Whim => "choose whether it ends spuriously".to_owned(),
            Op::Allocate { block } => format!("allocate {}", self.block_name(block)),
            Op::Free { block, .. } => format!("free {}", name(block)),
            Op::Doomed => "start".to_owned(),
            Op::Spin => {
                let mut names: Vec<String> = Vec::new();
                for (object, _) in thread.turn.iter().flat_map(|look| &look.objects) {
                    let name = self.object_name(*object);
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                format!("loop until {} changes", names.join(" or "))
            }
        }
    }

    /// Returns what a step finds before it runs: the end of its text.
    pub(crate) fn found_text(&self, me: usize, choice: u32) -> String {
        let thread = &self.threads[me];
        match thread.op {
            Op::Access { address, size, how } if how.mode().reads() => {
                let value = self.value_text(address, size);
                value.map_or(String::new(), |value| format!(" → {value}"))
            }
            Op::Compare { address, size, wanted, .. } => {
                let finds = Self::finds(address, size, wanted);
                let found = self.value_text(address, size).unwrap_or_default();
                let result = if finds { "succeeds" } else { "fails" };
                format!(": finds {found}, {result}")
            }
            Op::TryLock { address, .. } => match self.mutex(address).owner {
                Some(owner) if owner != me => format!(": held by {}", self.thread_name(owner)),
                _ => String::new(),
            },
            Op::RwTry { address, write, .. } if !self.is_takeable(address, write) => {
                ": not possible now".to_owned()
            }
            Op::TryDown { address, .. } if self.count(address) == 0 => ": it is 0".to_owned(),
            Op::Signal { cond, all } => {
                let woken = self.woken(cond, all, choice);
                let names: Vec<String> = woken.iter().map(|&it| self.thread_name(it)).collect();
                match names.is_empty() {
                    true => ": no waiter".to_owned(),
                    false => format!(": wakes {}", names.join(", ")),
                }
            }
            Op::FutexWait { address, size, wanted, .. } => {
                match Self::finds(address, size, wanted) {
                    true => ": it is as expected".to_owned(),
                    false => ": it has changed".to_owned(),
                }
            }
            Op::FutexWake { address, most } => {
                let woken = self.woken_by_word(address, most, choice);
                let names: Vec<String> = woken.iter().map(|&it| self.thread_name(it)).collect();
                match names.is_empty() {
                    true => ": no waiter".to_owned(),
                    false => format!(": wakes {}", names.join(", ")),
                }
            }
            Op::Choose { .. } => format!(": {choice}"),
            Op::Whim => if choice == 1 { ": yes" } else { ": no" }.to_owned(),
            Op::Once { address, is_marked } if self.once(address, is_marked) == Once::Done => {
                ": done before".to_owned()
            }
            _ => String::new(),
        }
    }

    /// Returns what a step left: the end of its text.
    pub(crate) fn left_text(&self, op: Op) -> String {
        match op {
            Op::Access { address, size, how } if how.mode().writes() => {
                let value = self.value_text(address, size);
                value.map_or(String::new(), |value| format!(" ← {value}"))
            }
            _ => String::new(),
        }
    }

    /// Returns what a thread that is not finished would do, or waits for.
    pub(crate) fn describe_pending(&self, me: usize) -> Description {
        let thread = &self.threads[me];
        let text = match thread.state {
            State::Ready if !self.is_enabled(me) => {
                format!("{}: {}", self.op_text(me), self.waits_for(me))
            }
            State::Parked => self.waits_for(me),
            State::Ready if thread.waits_on.is_some() => self.waits_for(me),
            State::Ready => self.op_text(me),
            State::Failed => "failed".to_owned(),
            State::Assumed => "assume".to_owned(),
            State::Absent | State::Finished | State::Exited => String::new(),
        };
        Description { text, place: self.place(thread.pc) }
    }

    /// Returns why a thread is blocked.
    fn waits_for(&self, me: usize) -> String {
        let name = |address: usize| self.address_name(address);
        let thread = &self.threads[me];
        if let (Some((word, _)), Op::FutexWoken { .. }, false) =
            (thread.waits_on, thread.op, self.locations.is_some())
        {
            return format!("waits for a notification of {}", name(word));
        }
        if let Some((cond, _)) = thread.waits_on {
            return format!("waits for a signal on {}", name(cond));
        }
        match thread.op {
            Op::Access { address, .. } | Op::Compare { address, .. } => {
                format!("would loop until {} changes, and no thread changes it", name(address))
            }
            Op::Lock { address, .. } | Op::Reacquire { mutex: address, .. } => {
                let mutex = self.mutex(address);
                let owner = match mutex.owner {
                    Some(owner) if owner == me => "itself".to_owned(),
                    Some(owner) if self.threads[owner].state == State::Finished => {
                        format!("{}, which has ended", self.thread_name(owner))
                    }
                    Some(owner) => self.thread_name(owner),
                    None => return "can go on".to_owned(),
                };
                let taken = self.place(mutex.taken);
                let taken = taken.map_or(String::new(), |at| format!(" since line {}", at.line));
                format!("waits for {}, held by {owner}{taken}", name(address))
            }
            Op::LockAll { list, count } => {
                let held = Self::listed(list, count).iter().filter_map(|&mutex| {
                    let owner = self.mutex(mutex).owner?;
                    let owner =
                        if owner == me { "itself".to_owned() } else { self.thread_name(owner) };
                    Some(format!("{}, held by {owner}", name(mutex)))
                });
                format!("waits for {}", held.collect::<Vec<_>>().join(" and for "))
            }
            Op::RwLock { address, .. } => {
                let mut text = format!("waits for {}", name(address));
                if let Some(lock) = self.synchronisation.rwlocks.get(&address) {
                    let mut holders: Vec<usize> = lock.readers.clone();
                    holders.extend(lock.writer);
                    holders.dedup();
                    let names: Vec<String> =
                        holders.iter().map(|&holder| self.thread_name(holder)).collect();
                    let _ = write!(text, ", held by {}", names.join(", "));
                }
                text
            }
            Op::Join { target, .. } => format!("waits for the end of {}", self.thread_name(target)),
            Op::Down { address, .. } => format!("waits for {}, which is 0", name(address)),
            Op::Pass { address, .. } => {
                let barrier = self.synchronisation.barriers.get(&address);
                let (arrived, parties) =
                    barrier.map_or((0, 0), |barrier| (barrier.arrived.len(), barrier.parties));
                format!("waits at {}: {arrived} of {parties} arrived", name(address))
            }
            Op::Once { address, .. } => {
                format!("waits for the end of what {} does once", name(address))
            }
            Op::Spin => {
                let text = self.op_text(me);
                format!("would {text}, and no thread changes it")
            }
            _ => "cannot continue".to_owned(),
        }
    }

    /// Says which threads are blocked in a deadlock.
    pub(crate) fn deadlock(&self) -> Violation {
        let waits =
            |number: &usize| matches!(self.threads[*number].state, State::Ready | State::Parked);
        let waiting: Vec<usize> = (0..self.threads.len()).filter(waits).collect();
        let names: Vec<String> = waiting.iter().map(|&number| self.thread_name(number)).collect();
        let message = match names.as_slice() {
            [one] => format!("deadlock: {one} is blocked"),
            [first @ .., last] => {
                format!("deadlock: {} and {last} are blocked", first.join(", "))
            }
            [] => "deadlock".to_owned(),
        };
        let why =
            |&number: &usize| format!("{} {}", self.thread_name(number), self.waits_for(number));
        Violation {
            kind: ViolationKind::Deadlock,
            message,
            places: waiting.iter().filter_map(|&it| self.place(self.threads[it].pc)).collect(),
            notes: waiting.iter().map(why).collect(),
            thread: None,
        }
    }
}
