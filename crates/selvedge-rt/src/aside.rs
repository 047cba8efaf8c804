//! Threads that are tried out run *aside*: what the engine does for them is done on the stack of the scheduler.
//!
//! Then a thread's stack has on it its own code, and stubs of the engine that are deterministic: they say what
//! they want ([`Call`]) and switch away; the scheduler answers, and the thread continues. Numbers that differ from
//! turn to turn of a loop never get there, neither into live variables nor into what is left of dead ones. So the
//! state of a thread can be compared as a whole: see `spin/mod.rs`.
//!
//! That costs a switch for each call, so it is done only where states are compared: in an execution that runs again
//! up to where a thread stands, and in the turns that the thread then makes alone.

use selvedge_core::{Fault, ObjectId};

use crate::hooks::Hooks;
use crate::operation::{Operation, Running};
use crate::runtime::{Call, Runtime, StandsAside, State, Way};
use crate::spin::{Content, End, Observed, Pause, Turning};
use crate::world::Advice;

/// Whether a thread continues at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    GoOn,
    /// It stands where it is.
    Stand,
}

/// What is done with a thread that runs aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// It comes to where it was before.
    Replay,
    /// It goes round in a loop alone.
    Alone,
    /// Its operations end spuriously.
    Trial,
}

impl<W: Hooks> Runtime<W> {
    fn phase(&self) -> Phase {
        match (&self.now.spins.alone, &self.now.trial) {
            (Some(_), _) => Phase::Alone,
            (None, Some(_)) => Phase::Trial,
            (None, None) => Phase::Replay,
        }
    }

    /// Returns whether operations of a thread are steps that were, or will be, chosen.
    pub fn takes_steps(&self) -> bool {
        match self.now.way {
            Way::Announce => true,
            Way::Aside => self.phase() == Phase::Replay,
            Way::Drain | Way::Close => false,
        }
    }

    /// Answers a call of the running thread.
    pub(crate) fn answer(&mut self, call: Call<W>) -> Answer {
        if let Call::Turn(spot) = call {
            let me = self.now.current;
            self.threads[me].asked.ends = self.end_turn(spot);
            return Answer::GoOn;
        }
        let at = match call {
            Call::Whim(_) => StandsAside::AtWhim,
            Call::Turn(_) | Call::Operation | Call::Observed(..) | Call::Pause(_) => {
                StandsAside::AtOperation
            }
        };
        let answer = match call {
            Call::Observed(object, what) => {
                self.note_observed(object, what);
                Answer::GoOn
            }
            Call::Turn(_) | Call::Operation => self.operation_aside(),
            Call::Pause(spot) => self.pause_aside(spot),
            Call::Whim(spot) => self.whim_aside(spot),
        };
        let me = self.now.current;
        self.threads[me].stands_aside = (answer == Answer::Stand).then_some(at);
        answer
    }

    /// A thread that stood aside continues.
    pub(crate) fn go_on_aside(&mut self, thread: usize) {
        let Some(stood) = self.threads[thread].stands_aside.take() else { return };
        let choice = self.now.choice;
        if choice > 0 {
            self.now.spins.chose(thread, choice);
        }
        if self.now.spins.stands(thread).is_some() {
            self.now.spins.go_on(thread);
        }
        let it = &mut self.threads[thread];
        it.whim = None;
        if choice == 1 && stood == StandsAside::AtWhim {
            it.whims.push(it.spot);
        }
    }

    fn operation_aside(&mut self) -> Answer {
        let me = self.now.current;
        self.threads[me].operations += 1;
        self.shared.beat();
        let (operation, spot) = (self.threads[me].pending, self.threads[me].spot);
        // SAFETY: the thread stands at its operation, which is on its stack.
        let operation = unsafe { &*operation };
        let choice = match self.phase() {
            Phase::Replay => {
                self.note_next(me, spot);
                return Answer::Stand;
            }
            Phase::Alone => self.choice_alone(operation),
            Phase::Trial => self.choice_in_trial(operation, spot),
        };
        match choice {
            Some(choice) => self.takes(choice),
            None => Answer::Stand,
        }
    }

    /// The running thread takes this alternative of its operation.
    fn takes(&mut self, choice: u32) -> Answer {
        let me = self.now.current;
        self.threads[me].pending = Running::one();
        self.now.choice = choice;
        if choice > 0 {
            self.now.spins.chose(me, choice);
        }
        Answer::GoOn
    }

    /// The alternative that a thread which runs alone takes; `None` if that is not part of a turn.
    fn choice_alone(&mut self, operation: &dyn Operation<Self>) -> Option<u32> {
        let me = self.now.current;
        let choice = match operation.choices(self, me) {
            1 => Some(0),
            _ => operation.left_alone(),
        };
        let operations = self.threads[me].operations;
        let is_turn = self.now.spins.alone.as_ref().is_some_and(|alone| {
            alone.thread == me && alone.end.is_none() && operations <= alone.operations
        });
        let choice = choice.filter(|_| is_turn && operation.is_enabled(self, me));
        if choice.is_none() {
            self.now.spins.end_alone(End::Left);
        }
        choice
    }

    fn pause_aside(&mut self, spot: W::Spot) -> Answer {
        let me = self.now.current;
        match self.phase() {
            Phase::Trial => self.takes(0),
            Phase::Alone => self.pause_alone(spot),
            Phase::Replay => match self.pause_in_replay(spot) {
                Pause::GoesOn => self.takes(0),
                Pause::Stands | Pause::Assumed => self.operation_aside(),
                Pause::Endless => {
                    let fault = Fault::GaveUp(self.endless(spot));
                    let thread = &mut self.threads[me];
                    (thread.fault, thread.state) = (Some(fault), State::Failed);
                    Answer::Stand
                }
            },
        }
    }

    /// The running thread comes to the end of a turn, in a state that can be compared with that at the end of the last.
    fn pause_in_replay(&mut self, spot: W::Spot) -> Pause {
        let me = self.now.current;
        let state = self.state_of(me);
        self.now.spins.passes(me, spot, state);
        self.pause(spot)
    }

    /// The thread that runs alone comes to the end of a turn.
    fn pause_alone(&mut self, spot: W::Spot) -> Answer {
        let me = self.now.current;
        let Some(alone) = self.now.spins.alone.as_ref() else { return Answer::Stand };
        let (before, filled) = (alone.before, alone.filled);
        if !self.now.spins.has_touched(me) || !W::is_same(alone.spot, spot) {
            // Another place in the same loop: the turn continues, or becomes longer than it was.
            self.now.spins.passes_alone(me);
            return self.takes(0);
        }
        if !self.now.spins.is_same_turn() {
            self.now.spins.end_alone(End::Left);
            return Answer::Stand;
        }
        if !W::take_back(self, me, filled) {
            let filled = W::set_apart(self, me);
            self.now.spins.alone.iter_mut().for_each(|alone| alone.filled = filled);
        }
        self.threads[me].operations = before;
        let state = self.state_of(me);
        match self.now.spins.begin_same_turn(state) {
            Some(end) => {
                self.now.spins.end_alone(end);
                Answer::Stand
            }
            None => self.takes(0),
        }
    }

    fn whim_aside(&mut self, spot: W::Spot) -> Answer {
        match self.phase() {
            Phase::Alone => self.takes(0),
            Phase::Trial => {
                self.note_return(spot);
                self.operation_aside()
            }
            Phase::Replay => match self.whim(spot) {
                None => self.takes(0),
                Some(key) => {
                    let me = self.now.current;
                    self.threads[me].whim = key;
                    self.operation_aside()
                }
            },
        }
    }

    /// The running thread comes to the end of a turn.
    pub(crate) fn pause(&mut self, spot: W::Spot) -> Pause {
        let thread = self.now.current;
        let operations = self.threads[thread].operations;
        let stable = self.names.stable_thread(thread);
        let turning = Turning { thread, stable, spot, operations };
        let shared = std::rc::Rc::clone(&self.shared);
        let (settings, loops) = (&shared.settings, &mut shared.learned.loops.borrow_mut());
        let pause = self.now.spins.pause(turning, loops, settings.spin_turns, settings.ends_loops);
        if pause == Pause::Assumed {
            shared.assumed.set(Some(spot));
        }
        pause
    }

    pub(crate) fn endless(&self, spot: W::Spot) -> String {
        let (thread, advice) = (self.thread_name(self.now.current), W::advice(Advice::EndlessLoop));
        let turns = self.shared.settings.caps.turns;
        format!(
            "{thread} made {turns} turns of spin loops, now at {spot}, and changed something, or came to \
             a new state, each time; {advice}"
        )
    }

    /// The running thread observed something.
    pub(crate) fn note_observed(&mut self, object: ObjectId, what: Observed) {
        let me = self.now.current;
        let what = match what {
            Observed::Value { look, found, left } => {
                let (found, left) = (W::steady(self, found), W::steady(self, left));
                Observed::Value { look, found, left }
            }
            Observed::Takes(content) => return self.keep_memory(object, content),
            Observed::Gave(content) if !self.has_changed_memory(object, content) => {
                Observed::Inside
            }
            other => other,
        };
        let step = self.threads[me].last_step;
        self.now.spins.note(me, step, &self.names, object, what);
    }

    /// The running thread took a lock. If it is tried out, it is kept what lies in memory then.
    fn keep_memory(&mut self, lock: ObjectId, content: Content) {
        if self.phase() != Phase::Replay {
            let memory = self.memory(content);
            self.now.taken.push((lock, memory));
        }
    }

    /// Returns whether the running thread may have changed what a lock guards since it took it. That is known only if it is
    /// tried out, and took it since.
    fn has_changed_memory(&mut self, lock: ObjectId, content: Content) -> bool {
        if self.phase() == Phase::Replay {
            return true;
        }
        let now = self.memory(content);
        let taken = self.now.taken.iter().rposition(|(other, _)| *other == lock);
        let before = taken.map(|position| self.now.taken.swap_remove(position).1);
        match self.phase() {
            Phase::Trial => {
                // What it changed before does not count: it would give up the lock in any case.
                let changes = before.is_some_and(|before| before.is_none() || before != now);
                self.now.trial.iter_mut().for_each(|trial| trial.changed |= changes);
                changes
            }
            Phase::Replay | Phase::Alone => {
                before.flatten().is_none_or(|before| Some(before) != now)
            }
        }
    }
}
