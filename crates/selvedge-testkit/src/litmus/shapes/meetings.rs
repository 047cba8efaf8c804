//! Random programs with condition variables and mailboxes.
//!
//! They run as models, so they have only what can be said there: a variable is plain or atomic everywhere, an `await` is for
//! one value, and nothing is sent that does not fit into a digit.

use selvedge_core::Order;

use crate::litmus::{
    Condition, Instruction, Meeting, add, await_is, fence, load, lock, plus, skip_unless, store,
    swap, try_lock, unlock, wait,
};

use super::{Author, Code};

/// The plain variable; the others are atomic.
const PLAIN: usize = 0;
/// Registers: what a meeting answers, and what an access reads.
const ANSWER: usize = 0;
const SEEN: usize = 1;

impl Author<'_> {
    /// An access to one of three variables, or a fence.
    fn a_word(&mut self) -> Instruction {
        let at = 1 + self.random.below(2);
        // Constants, so that a value sent on is a small number.
        let value = self.value();
        match self.random.below(16) {
            0..3 => load(SEEN, PLAIN, Order::NonAtomic),
            3..6 => store(PLAIN, value, Order::NonAtomic),
            6..9 => {
                load(SEEN, at, *self.random.pick(&[Order::Relaxed, Order::Acquire, Order::SeqCst]))
            }
            9..12 => store(
                at,
                value,
                *self.random.pick(&[Order::Relaxed, Order::Release, Order::SeqCst]),
            ),
            12 => add(SEEN, at, 1, self.update_order()),
            13 => swap(SEEN, at, value, self.update_order()),
            14 => await_is(SEEN, at, value, *self.random.pick(&[Order::Relaxed, Order::Acquire])),
            _ => self.any_fence(),
        }
    }

    fn words(&mut self, most: usize) -> Code {
        (0..self.random.below(most + 1)).map(|_| self.a_word()).collect()
    }

    /// One or two mutexes, one or two condition variables; who signals holds a mutex or not.
    pub(super) fn conditions(&mut self) -> Vec<Code> {
        let threads = 2 + self.random.below(2);
        let mutexes = 1 + usize::from(self.random.one_in(3));
        let conditions = 1 + usize::from(self.random.one_in(5));
        let most = if threads == 2 { 2 } else { 1 };
        let mut waiters = 0;
        // Plain data is passed on without the mutex, with fences: they are about atomic objects.
        let is_fenced = self.random.one_in(8);
        (0..threads)
            .map(|thread| {
                let is_waiter = thread == 0 || (waiters < 2 && self.random.one_in(2));
                waiters += usize::from(is_waiter);
                let mut code = if is_fenced { Code::new() } else { self.words(most) };
                match (is_waiter, is_fenced) {
                    (true, false) => code.extend(self.a_waiter(mutexes, conditions, threads)),
                    (true, true) => {
                        code.push(lock(0));
                        code.extend(wait(0, 0));
                        code.extend([fence(Order::Acquire), load(SEEN, PLAIN, Order::NonAtomic)]);
                    }
                    (false, false) => code.extend(self.a_signaller(mutexes, conditions, threads)),
                    (false, true) => code.extend([
                        store(PLAIN, 1, Order::NonAtomic),
                        fence(Order::Release),
                        Instruction::Meet(Meeting::Signal(0)),
                    ]),
                }
                if self.random.one_in(3) {
                    code.push(self.a_word());
                }
                code
            })
            .collect()
    }

    fn a_waiter(&mut self, mutexes: usize, conditions: usize, threads: usize) -> Code {
        let mutex = self.random.below(mutexes);
        let mut code = vec![lock(mutex)];
        code.extend(self.words(1));
        let waits = wait(self.random.below(conditions), mutex);
        // Only if something was not seen yet, as code does that is right.
        if matches!(code.last(), Some(Instruction::Load(..))) && self.random.one_in(2) {
            code.push(skip_unless(Condition::Is(plus(SEEN, 0), 0.into()), waits.len()));
        }
        code.extend(waits);
        if threads == 2 && self.random.one_in(3) {
            code.extend(wait(self.random.below(conditions), mutex));
        }
        code.extend(self.words(1));
        if !self.random.one_in(6) {
            code.push(unlock(mutex));
        }
        code
    }

    fn a_signaller(&mut self, mutexes: usize, conditions: usize, threads: usize) -> Code {
        let mutex = self.random.below(mutexes);
        let mut code = Code::new();
        let holds = self.random.one_in(2);
        if holds {
            code.push(lock(mutex));
            code.extend(self.words(1));
        }
        let most = if threads == 2 { 3 } else { 2 };
        for _ in 0..1 + self.random.below(most) {
            let condition = self.random.below(conditions);
            code.push(Instruction::Meet(if self.random.one_in(4) {
                Meeting::Broadcast(condition)
            } else {
                Meeting::Signal(condition)
            }));
            if !holds && self.random.one_in(4) {
                code.push(try_lock(ANSWER, mutex));
                code.push(skip_unless(Condition::Is(plus(ANSWER, 0), 0.into()), 1));
                code.push(unlock(mutex));
            }
        }
        if holds && !self.random.one_in(8) {
            code.push(unlock(mutex));
        }
        code
    }

    /// Each thread receives and sends a little.
    pub(super) fn messages(&mut self) -> Vec<Code> {
        let threads = 2 + self.random.below(2);
        let most = if threads == 2 { 3 } else { 2 };
        let mut words = 2;
        (0..threads)
            .map(|thread| {
                let mut code = Code::new();
                // A thread without a step has ended before everything.
                if words > 0 && self.random.one_in(2) {
                    words -= 1;
                    code.push(self.a_word());
                }
                for _ in 0..1 + self.random.below(most) {
                    let (meeting, is_sent) = self.a_message(thread, threads);
                    code.push(Instruction::Meet(meeting));
                    match self.random.below(4) {
                        0 if !is_sent => {
                            let at = 1 + self.random.below(2);
                            code.push(store(at, plus(ANSWER, 1), Order::Relaxed));
                        }
                        0 | 1 if words > 0 => {
                            words -= 1;
                            code.push(self.a_word());
                        }
                        _ => {}
                    }
                }
                code
            })
            .collect()
    }

    fn a_message(&mut self, thread: usize, threads: usize) -> (Meeting, bool) {
        let other = (thread + 1 + self.random.below(threads - 1)) % threads;
        let to = if self.random.one_in(8) { thread } else { other };
        let value = 1 + self.random.below(2) as i64;
        let wanted = self.random.one_in(3).then_some(value);
        match self.random.below(10) {
            0..5 => (Meeting::Send(to, value.into()), true),
            5..9 => (Meeting::Receive(ANSWER, wanted), false),
            _ => (Meeting::Poll(ANSWER, wanted), false),
        }
    }
}
