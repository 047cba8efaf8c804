//! What a thread does with the answers to its events.

use std::sync::Arc;

use selvedge_core::{Answer, Bits, Label};

use super::locations::{What, bits, number};
use super::protocols::Stage;
use super::{Inner, Last};
use crate::interpret::machine::Thread as Machine;
use crate::interpret::{FREE, Phase, held_by};
use crate::ir::{Barrier, Cond, Lock, LockMode, Message, Op, Thread};

/// A lock that is neither free nor held by the current thread.
const TAKEN: i32 = i32::MAX;

impl Inner {
    /// Does what an answer says. Returns what is written, if the answer was to something that writes what it computes.
    pub(super) fn take(&mut self, me: usize, answer: Answer) -> Option<Bits> {
        let thread = self.machine.threads[me];
        match thread.phase {
            Phase::Finished | Phase::Failed => {
                self.threads[me].now.stage = Stage::Over;
                self.last = Last::Part { pc: thread.pc, text: "ends".to_owned() };
                return Some(self.contents.number(&[1]));
            }
            Phase::Parked => {
                self.machine.threads[me].phase = Phase::Woken;
                self.last = Last::Part { pc: thread.pc, text: "is woken".to_owned() };
                return Some(0);
            }
            _ => {}
        }
        match self.loaded.op(thread.pc).clone() {
            Op::Lock(op) => self.take_lock(me, &op, answer),
            Op::Cond(op) => self.take_condition(me, &op, answer),
            Op::Barrier(op) => self.take_barrier(me, &op, answer),
            Op::Thread(Thread::Spawn { .. }) => {
                self.take_spawn(me);
                None
            }
            Op::Choice(_) => {
                let choice = if let Answer::Chosen(choice) = answer { choice } else { 0 };
                self.perform(me, choice, |_| {}, |_, _| None)
            }
            Op::Message(Message::Send { .. }) => self.take_send(me, answer),
            _ => self.take_value(me, answer),
        }
    }

    /// An operation on one object: runs with the value that was read.
    fn take_value(&mut self, me: usize, answer: Answer) -> Option<Bits> {
        let what = self.touched(me);
        let value = match answer {
            Answer::Value(value) | Answer::Failed(value) => Some(value),
            Answer::Chosen(_) | Answer::Done => None,
        };
        let is_section =
            matches!(self.loaded.op(self.machine.threads[me].pc), Op::AtomicBegin { .. });
        let load = |all: &mut Self| {
            if let (Some(what), Some(value)) = (what, value) {
                all.put(what, value);
            }
        };
        let (wrote, strays) = self.perform(me, 0, load, |all, effect| {
            let objects = all.loaded.global_objects as usize;
            let mut accesses = effect.footprint.accesses().iter();
            let strays = accesses.any(|access| {
                let index = access.object.index();
                index < objects && what.is_some_and(|what| what != What::Object(index as u32))
            });
            (what.map(|what| all.get(what)), is_section && strays)
        });
        if strays {
            self.give_up(
                me,
                "reads several elements of an array in one step, which has no meaning under a memory model; \
                 use one element per `await` or atomic block"
                    .to_owned(),
            );
        }
        wrote
    }

    fn take_lock(&mut self, me: usize, op: &Lock, answer: Answer) -> Option<Bits> {
        let (mode, lock) = match op {
            Lock::Acquire { mode, lock }
            | Lock::Release { mode, lock }
            | Lock::Try { mode, lock, .. } => (*mode, *lock),
        };
        let cell = self.cell(me, lock);
        let at = self.machine.at(&self.loaded, me);
        let content = match mode {
            LockMode::Mutex => None,
            LockMode::Read | LockMode::Write => Some(self.machine.content(at, lock)),
        };
        let held = self.held(me, cell);
        let failed = matches!(answer, Answer::Failed(_));
        self.perform(
            me,
            0,
            |all| match (held, content) {
                (Some(LockMode::Read), Some(content)) => all.machine.add_reader(content, me),
                (Some(_), _) => all.machine.set_cell(cell, held_by(me)),
                (None, _) if failed => all.machine.set_cell(cell, TAKEN),
                (None, _) => all.machine.set_cell(cell, FREE),
            },
            |_, _| (),
        );
        let is_misuse = self.machine.threads[me].phase == Phase::Failed
            && match op {
                Lock::Acquire { .. } => held.is_some(),
                Lock::Release { .. } => held != Some(mode),
                Lock::Try { .. } => false,
            };
        if is_misuse {
            return None;
        }
        let Answer::Value(old) = answer else {
            // A mutex, or a lock that was not taken.
            if matches!(answer, Answer::Done) {
                self.hold(me, cell, mode, matches!(op, Lock::Acquire { .. }));
            }
            return None;
        };
        let takes = !matches!(op, Lock::Release { .. });
        self.hold(me, cell, mode, takes);
        Some(bits(match (mode, takes) {
            (LockMode::Read, true) => number(old).wrapping_add(1),
            (LockMode::Read, false) => number(old).wrapping_sub(1),
            (LockMode::Write, true) => -1,
            (LockMode::Write, false) | (LockMode::Mutex, _) => 0,
        }))
    }

    fn hold(&mut self, me: usize, lock: u32, mode: LockMode, takes: bool) {
        let now = &mut self.threads[me].now;
        let mut holds = now.holds.to_vec();
        match takes {
            true => holds.push((lock, mode)),
            false => holds.retain(|(held, _)| *held != lock),
        }
        now.holds = holds.into();
    }

    fn take_condition(&mut self, me: usize, op: &Cond, answer: Answer) -> Option<Bits> {
        let pc = self.machine.threads[me].pc;
        if let Cond::Wait { mutex, cond } = op {
            let (lock, cond) = (self.cell(me, *mutex), self.cell(me, *cond));
            let is_woken = self.machine.threads[me].phase == Phase::Woken;
            if let Answer::Value(value) = answer {
                let mut threads: Vec<u32> = self.enlisted(value);
                threads.push(me as u32);
                threads.sort_unstable();
                self.threads[me].now.stage = Stage::Enlisted;
                let name = self.object_name(cond);
                self.last = Last::Part { pc, text: format!("wait({name}): among the waiters") };
                return Some(self.waiters(false, &threads));
            }
            let is_held = self.held(me, lock).is_some();
            self.perform(
                me,
                0,
                |all| all.machine.set_cell(lock, if is_held { held_by(me) } else { FREE }),
                |_, _| (),
            );
            self.threads[me].now.stage = Stage::Operation;
            if is_woken || is_held {
                self.hold(me, lock, LockMode::Mutex, is_woken);
            }
            return None;
        }
        let wakes_all = matches!(op, Cond::Broadcast { .. });
        match (self.threads[me].now.stage.clone(), answer) {
            (Stage::Operation, Answer::Value(value)) => {
                let waiting: Arc<[u32]> = self.enlisted(value).into();
                if !wakes_all && waiting.len() > 1 {
                    self.threads[me].now.stage = Stage::Choosing(Arc::clone(&waiting));
                    self.last = self.part(me, "reads the list of waiters");
                    return Some(self.waiters(true, &waiting));
                }
                self.wake(me, waiting, 0);
                Some(self.waiters(false, &[]))
            }
            (Stage::Choosing(among), Answer::Chosen(choice)) => {
                let woken = among[choice as usize];
                let left = among.iter().copied().filter(|&it| it != woken).collect();
                self.threads[me].now.stage = Stage::Chosen { woken, left };
                self.last = self.part(me, "chooses");
                None
            }
            (Stage::Chosen { woken, .. }, _) => {
                self.wake(me, Arc::new([woken]), 0);
                None
            }
            (Stage::Waking { woken, next }, _) => {
                self.wake(me, woken, next + 1);
                Some(1)
            }
            _ => None,
        }
    }

    fn enlisted(&self, value: Bits) -> Vec<u32> {
        let content = self.contents.content(value);
        content.iter().skip(1).map(|&thread| thread as u32).collect()
    }

    /// Goes on to wake these threads from `next` on, or is done.
    fn wake(&mut self, me: usize, woken: Arc<[u32]>, next: usize) {
        if next < woken.len() {
            self.threads[me].now.stage = Stage::Waking { woken, next };
            self.last = self.part(me, "takes waiters off the list");
            return;
        }
        self.threads[me].now.stage = Stage::Operation;
        let thread = self.machine.threads[me];
        let cond = match self.loaded.op(thread.pc) {
            Op::Cond(Cond::Signal { cond } | Cond::Broadcast { cond }) => *cond,
            _ => return,
        };
        let content = self.machine.content(self.machine.at(&self.loaded, me), cond);
        self.perform(
            me,
            0,
            |all| woken.iter().for_each(|&it| all.machine.add_waiter(content, it as usize)),
            |_, _| (),
        );
    }

    fn take_barrier(&mut self, me: usize, op: &Barrier, answer: Answer) -> Option<Bits> {
        let barrier = self.barrier(me, op.barrier());
        let global = op.barrier().global;
        let element = (barrier - self.loaded.globals[global.index()].base) as usize / 2;
        let needed = self.loaded.parties(global, element);
        if self.machine.threads[me].phase == Phase::Ready {
            self.perform(me, 0, |_| {}, |_, _| ());
            let Answer::Value(count) = answer else {
                self.gather(me, barrier, global.index(), needed, 0);
                return None;
            };
            let (arrived, round) = (count as u32 + 1, (count >> 32) as u32);
            let is_last = arrived as i32 == needed;
            let stage = if is_last { Stage::Opening { round } } else { Stage::Closed { round } };
            self.threads[me].now.stage = stage;
            let (arrived, round) = if is_last { (0, round + 1) } else { (arrived, round) };
            return Some(Bits::from(round) << 32 | Bits::from(arrived));
        }
        match self.threads[me].now.stage {
            Stage::Gathering { next } => {
                self.gather(me, barrier, global.index(), needed, next + 1);
            }
            _ => self.pass(me, barrier),
        }
        None
    }

    /// Awaits the others at a barrier, from the given one on.
    fn gather(&mut self, me: usize, barrier: u32, global: usize, needed: i32, from: usize) {
        let parties = &self.parties[global];
        let next = (from..parties.len()).find(|&it| parties[it] != me as u32);
        match next {
            None if parties.len() as i32 >= needed => self.pass(me, barrier),
            _ => {
                let next = next.unwrap_or(parties.len());
                self.threads[me].now.stage = Stage::Gathering { next };
                if from > 0 {
                    self.last = self.part(me, "sees that another one has arrived");
                }
            }
        }
    }

    fn pass(&mut self, me: usize, barrier: u32) {
        self.threads[me].now.stage = Stage::Operation;
        let mut passed = self.threads[me].now.passed.to_vec();
        match passed.iter_mut().find(|(it, _)| *it == barrier) {
            Some((_, rounds)) => *rounds += 1,
            None => passed.push((barrier, 1)),
        }
        self.threads[me].now.passed = passed.into();
        self.perform(me, 0, |_| {}, |_, _| ());
    }

    fn take_spawn(&mut self, me: usize) {
        let Label::Spawn(child) = self.threads[me].now.label else { return };
        let child = child.index();
        // What the step does to other threads is taken back, but not that it started one.
        let started = self.perform(me, 0, |_| {}, |all, _| all.machine.threads.get(child).copied());
        if let Some(started) = started {
            self.machine.threads[child] = started;
            self.begin(child);
        }
        self.last = Last::Operation;
    }

    /// Whether a thread was over as soon as it was there. Who can name it knows that it was spawned.
    fn has_no_step(&self, thread: usize) -> bool {
        let own = &self.threads[thread];
        own.past.is_empty() && own.now.stage == Stage::Over
    }

    fn take_send(&mut self, me: usize, answer: Answer) -> Option<Bits> {
        let (Some(what @ What::Mailbox(to)), Answer::Value(value)) = (self.touched(me), answer)
        else {
            return None;
        };
        let to = to as usize;
        let is_closed = self.has_no_step(to) || self.contents.content(value).first() == Some(&1);
        let load = |all: &mut Self| {
            all.put(what, value);
            let phase = if is_closed { Phase::Finished } else { Phase::Ready };
            if to != me {
                let seen = all.machine.threads[to];
                all.machine.set_other(to, Machine { phase, ..seen });
            }
        };
        let wrote = self.perform(me, 0, load, |all, _| all.get(what));
        Some(if is_closed { value } else { wrote })
    }
}
