//! A channel with a bound: a queue behind a mutex, with two conditions.

use std::collections::VecDeque;

use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Duration;

use super::condvar::Condvar;
use super::mutex::{Mutex, MutexGuard};

pub(super) struct Bounded<T> {
    bound: usize,
    state: Mutex<State<T>>,
    /// A message came, or the last sender went.
    filled: Condvar,
    /// A message was taken, or the receiver went.
    emptied: Condvar,
}

struct State<T> {
    queue: VecDeque<T>,
    /// How many were put in, and how many taken out.
    sent: u64,
    taken: u64,
    senders: usize,
    receiver: bool,
    /// How many receivers wait for a message.
    waiting: usize,
}

/// Why a message was not sent.
pub(super) enum Full<T> {
    Full(T),
    Gone(T),
}

impl<T> Bounded<T> {
    #[track_caller]
    pub(super) fn new(bound: usize) -> Self {
        let state = State {
            queue: VecDeque::new(),
            sent: 0,
            taken: 0,
            senders: 1,
            receiver: true,
            waiting: 0,
        };
        Self { bound, state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() }
    }

    #[track_caller]
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[track_caller]
    fn wait<'a>(condition: &Condvar, guard: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        condition.wait(guard).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    #[track_caller]
    pub(super) fn send(&self, message: T) -> Result<(), T> {
        let mut state = self.lock();
        while state.receiver && state.queue.len() >= self.bound.max(1) {
            state = Self::wait(&self.emptied, state);
        }
        if !state.receiver {
            return Err(message);
        }
        let ticket = state.sent;
        state.sent += 1;
        state.queue.push_back(message);
        self.filled.notify_one();
        // Without room to leave it in, the message is handed over.
        while self.bound == 0 && state.receiver && state.taken <= ticket {
            state = Self::wait(&self.emptied, state);
        }
        if self.bound == 0 && state.taken <= ticket {
            return state.queue.pop_back().map_or(Ok(()), Err);
        }
        Ok(())
    }

    #[track_caller]
    pub(super) fn try_send(&self, message: T) -> Result<(), Full<T>> {
        let mut state = self.lock();
        if !state.receiver {
            return Err(Full::Gone(message));
        }
        let room = match self.bound {
            0 => state.waiting > state.queue.len(),
            bound => state.queue.len() < bound,
        };
        if !room {
            return Err(Full::Full(message));
        }
        state.sent += 1;
        state.queue.push_back(message);
        self.filled.notify_one();
        Ok(())
    }

    #[track_caller]
    pub(super) fn add_sender(&self) {
        self.lock().senders += 1;
    }

    #[track_caller]
    pub(super) fn drop_sender(&self) {
        if crate::rt::Engine::try_enter().is_none() {
            return;
        }
        let mut state = self.lock();
        state.senders -= 1;
        if state.senders == 0 {
            self.filled.notify_all();
        }
    }

    #[track_caller]
    pub(super) fn drop_receiver(&self) {
        if crate::rt::Engine::try_enter().is_none() {
            return;
        }
        let mut state = self.lock();
        state.receiver = false;
        let rest = match self.bound {
            // Those who wait for their message to be taken get it back.
            0 => VecDeque::new(),
            _ => std::mem::take(&mut state.queue),
        };
        self.emptied.notify_all();
        drop(state);
        drop(rest);
    }

    fn pop(&self, state: &mut State<T>) -> Option<T> {
        let message = state.queue.pop_front()?;
        state.taken += 1;
        match self.bound {
            0 => self.emptied.notify_all(),
            _ => self.emptied.notify_one(),
        }
        Some(message)
    }

    #[track_caller]
    pub(super) fn receive(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(message) = self.pop(&mut state) {
                return Some(message);
            }
            if state.senders == 0 {
                return None;
            }
            state.waiting += 1;
            state = Self::wait(&self.filled, state);
            state.waiting -= 1;
        }
    }

    #[track_caller]
    pub(super) fn try_receive(&self) -> Result<T, TryRecvError> {
        let mut state = self.lock();
        match self.pop(&mut state) {
            Some(message) => Ok(message),
            None if state.senders > 0 => Err(TryRecvError::Empty),
            None => Err(TryRecvError::Disconnected),
        }
    }

    #[track_caller]
    pub(super) fn receive_timed(&self) -> Result<T, RecvTimeoutError> {
        let mut state = self.lock();
        loop {
            if let Some(message) = self.pop(&mut state) {
                return Ok(message);
            }
            if state.senders == 0 {
                return Err(RecvTimeoutError::Disconnected);
            }
            state.waiting += 1;
            let waited = self.filled.wait_timeout(state, Duration::ZERO);
            let (guard, result) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
            state = guard;
            state.waiting -= 1;
            if result.timed_out() {
                return self.pop(&mut state).ok_or(RecvTimeoutError::Timeout);
            }
        }
    }
}
