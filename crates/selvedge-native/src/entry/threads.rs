//! Threads: created, joined, detached, named.

use super::{At, access, text};
use crate::layout;
use crate::machine::State;
use crate::op::{EBUSY, ESRCH, ETIMEDOUT, How, Op};

/// How a thread waits for the end of another.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    Waits,
    Tries,
    Timed,
}

impl At {
    pub(super) fn create(
        self,
        start: usize,
        argument: u64,
        thread: usize,
        is_detached: bool,
    ) -> u64 {
        let child = self.with(|machine| {
            let child = machine.next_child(self.me)?;
            // Its name is that of the function.
            machine.threads[child].start = machine.body_of(start, argument as usize);
            Some(child)
        });
        let Some(child) = child else {
            return self.give_up(format!("an execution can have {} threads", layout::THREADS));
        };
        // SAFETY: the machine lives while its code runs. The program passes a place for the number; if it does not,
        // this crashes as it would itself.
        unsafe {
            access(thread, 8, How::WRITE.0, self.pc, self.frame);
            (thread as *mut u64).write_unaligned(child as u64 + 1);
        }
        self.announce(Op::Spawn { child }, &[]);
        self.with(|machine| {
            machine.threads[self.me].created += 1;
            machine.threads[child].is_detached = is_detached;
            let starter = machine.shared.module.starter;
            machine.start(child, move |machine| {
                let result = starter.start(start, argument);
                // Its last step has the place of the function.
                let at = At { machine, me: child, pc: start + 1, frame: 0 };
                at.end(result);
            });
        });
        0
    }

    pub(super) fn join(self, thread: u64, result: usize, size: usize, joins: Joins) -> u64 {
        let target = (thread as usize).wrapping_sub(1);
        let exists = self.with(|machine| {
            machine.threads.get(target).is_some_and(|thread| thread.state != State::Absent)
        });
        if !exists {
            return ESRCH;
        }
        if target == self.me {
            return self.misuse("joins itself".to_owned());
        }
        let returned = match joins {
            Joins::Waits => self.announce(Op::Join { target, timed: false }, &[]),
            Joins::Tries => self.announce(Op::TryJoin { target, otherwise: EBUSY }, &[]),
            Joins::Timed => match self.expires() {
                true => self.announce(Op::TryJoin { target, otherwise: ETIMEDOUT }, &[]),
                false => self.announce(Op::Join { target, timed: true }, &[]),
            },
        };
        if returned == 0 && result != 0 {
            // SAFETY: the caller lives while its code runs.
            unsafe { access(result, size, How::WRITE.0, self.pc, self.frame) };
            let value = self.with(|machine| machine.threads[target].returned);
            // SAFETY: the program passes a place for it; if it does not, this crashes as it would itself.
            unsafe {
                match size {
                    4 => (result as *mut u32).write_unaligned(value as u32),
                    _ => (result as *mut u64).write_unaligned(value),
                }
            }
        }
        returned
    }

    pub(super) fn detach(self, thread: u64) -> u64 {
        let target = (thread as usize).wrapping_sub(1);
        let again = self.with(|machine| match machine.threads.get_mut(target) {
            Some(thread) if thread.state != State::Absent => {
                let was = std::mem::replace(&mut thread.is_detached, true);
                Some(was || thread.is_joined)
            }
            _ => None,
        });
        match again {
            None => ESRCH,
            Some(false) => 0,
            Some(true) => {
                let other = self.with(|machine| machine.thread_name(target));
                self.misuse(format!("detaches {other}, which was joined or detached before"))
            }
        }
    }

    pub(super) fn name(self, thread: u64, name: usize) -> u64 {
        // SAFETY: the program passes a text; if it does not, this crashes as it would itself.
        let name = unsafe { text(name) };
        self.with(|machine| {
            if let Some(thread) = machine.threads.get_mut((thread as usize).wrapping_sub(1)) {
                thread.name = Some(name);
            }
        });
        0
    }
}
