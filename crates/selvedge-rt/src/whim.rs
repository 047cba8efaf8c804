//! Operations that may end without reason: a wait that is not notified, `park` without a token, a weak
//! compare-exchange that fails although it found what it expected. `std` allows all of these.
//!
//! Whether one does is a choice of its own, made so often for each thread and place as
//! [`Spurious::most`] says. But most code looks again, and comes back: then the choice is
//! left out, and costs nothing. To see whether it does, the thread is tried out when it comes to the operation: left
//! alone, the operation ends without reason, again and again. The choice is left out only if the thread
//!
//! - comes back to the same operation,
//! - on the way only reads, or takes and gives up locks, and leaves what they guard as it was, and
//! - is in a state (`state.rs`) that it was in after an earlier turn: then the loop never ends by itself.
//!
//! If that is unknown, because the way back is too long or each turn leads to a new state, there is a choice: that is the
//! safe answer, so that the limits below cost executions, but hide nothing.
//!
//! Whether there is a choice depends on what the thread came to know so far, and on nothing else: steps that commute
//! must not decide which steps others take. So the answer is kept with that. It is found out in the first state in
//! which the thread comes there with this knowledge; in another state, in which others did more, the answer might
//! differ, but only in what is left out anyway.
//!
//! What is left out is what a loop that looks again would see if it woke while others change what it looks at, before
//! they notify it; that others find its lock taken then; and what it remembers of its first turns only.
//! [`Spurious::everywhere`] leaves out nothing.

use std::cell::Cell;

use rustc_hash::FxHashMap;
use selvedge_core::{Effect, Mode, ObjectId, Step};

use crate::alone::Key;
use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::operation::{Operation, Running, Waits};
use crate::registers::Registers;
use crate::runtime::{Runtime, State, Way};
use crate::state;
use crate::switch::resume;
use crate::system::Program;
use crate::world::World;

/// What a check does about operations that may end without reason.
pub struct Spurious {
    /// How often one does, for each thread and place.
    pub most: u32,
    /// Whether it also does where the code looks again.
    pub everywhere: bool,
    pub patience: Patience,
    /// Whether one could have done so more often, and it might matter.
    is_bounded: Cell<bool>,
    /// Whether one was left out, since the code looks again.
    is_left_out: Cell<bool>,
}

impl Spurious {
    pub fn new(most: u32, everywhere: bool, patience: Patience) -> Self {
        let (is_bounded, is_left_out) = (Cell::new(false), Cell::new(false));
        Self { most, everywhere, patience, is_bounded, is_left_out }
    }

    /// Whether one could have ended without reason more often, and that might matter.
    pub fn is_bounded(&self) -> bool {
        self.is_bounded.get()
    }

    /// Whether one was left out, since the code looks again.
    pub fn is_left_out(&self) -> bool {
        self.is_left_out.get()
    }
}

/// How long a thread is tried out. One that takes longer does not come back, so that there is a choice.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Of the states that it comes back in.
    pub turns: usize,
    /// Of its visible operations in one turn.
    pub operations: u32,
}

impl Patience {
    /// A loop that does not count its turns is in the same state after two or three of them; one that waits longer
    /// in each of a few turns, after these.
    pub const DEFAULT: Self = Self { turns: 32, operations: 1_000 };
}

/// Whether it matters that an operation ends without reason.
pub type Whims<W> = FxHashMap<Key<W>, bool>;

/// A thread that is tried out.
pub(crate) struct Trial<W: World> {
    thread: usize,
    spot: W::Spot,
    /// Its visible operations in this turn, and before the first one. Each turn begins with the same, so that
    /// nothing differs from turn to turn but what the code itself does.
    operations: u32,
    before: u64,
    /// What it had allocated before a turn.
    filled: W::Mark,
    /// The states that it came back in.
    states: Vec<u128>,
    /// Locks that it took, with a number for all memory at that time.
    pub(crate) memory: Vec<(ObjectId, Option<u128>)>,
    /// Whether it changed what a lock guards.
    pub(crate) changed: bool,
    /// Whether it came back in a state that it was in before.
    returned: bool,
}

impl<W: Hooks> Engine<W> {
    /// The running thread comes to an operation that may end without reason. Returns whether it does.
    #[inline(always)]
    pub fn ends_without_reason(&self, verb: &'static str, spot: W::Spot) -> bool {
        match self.rt().now.way {
            Way::Trial => self.comes_back(verb, spot),
            Way::Announce => self.chooses_whim(verb, spot),
            _ => false,
        }
    }

    #[inline(never)]
    fn chooses_whim(&self, verb: &'static str, spot: W::Spot) -> bool {
        let rt = self.rt();
        let me = rt.now.current;
        let shared = std::rc::Rc::clone(&rt.shared);
        let spurious = &shared.settings.spurious;
        if spurious.most == 0 {
            return false;
        }
        let key = match spurious.everywhere {
            true => None,
            false if !self.watches() => {
                // What it came to know so far is not known: again, from the start.
                shared.learned.watches.set(true);
                rt.learn();
                return false;
            }
            false => {
                let key = rt.whim_key(me, spot);
                let matters = rt.whim_matters(key);
                if matters == Some(false) {
                    spurious.is_left_out.set(true);
                    return false;
                }
                matters.is_none().then_some(key)
            }
        };
        let thread = &rt.threads[me];
        let is_here = |taken: &&W::Spot| W::is_same(**taken, spot);
        if key.is_none() && thread.whims.iter().filter(is_here).count() as u32 >= spurious.most {
            spurious.is_bounded.set(true);
            return false;
        }
        // What a stack that is never taken down holds would stay.
        drop(shared);
        rt.now.has_whims |= key.is_some();
        rt.threads[me].whim = key;
        let ends = self.visible(&Whim { verb }, spot) == 1;
        let rt = self.rt();
        rt.threads[me].whim = None;
        if ends && rt.now.way == Way::Announce {
            rt.threads[me].whims.push(spot);
        }
        self.note(|_| match ends {
            true => format!("{verb}: ends without reason"),
            false => format!("{verb}: not without reason"),
        });
        ends
    }

    /// Whether the running thread is tried out, so that a write that changes nothing is none.
    pub fn is_tried(&self) -> bool {
        self.rt().now.way == Way::Trial
    }

    /// The thread that is tried out comes to an operation that may end without reason.
    #[inline(never)]
    fn comes_back(&self, verb: &'static str, spot: W::Spot) -> bool {
        // All that the code has is in these, or on the stack above.
        let registers = Registers::here();
        self.note_return(spot, registers);
        let ends = self.visible(&Whim { verb }, spot) == 1;
        state::clear_stack_below(self.rt().threads[self.me()].fiber.as_ref());
        ends
    }

    #[inline(never)]
    fn note_return(&self, spot: W::Spot, registers: Option<Registers>) {
        let rt = self.rt();
        let me = rt.now.current;
        let is_back = |trial: &&mut Trial<W>| trial.thread == me && W::is_same(trial.spot, spot);
        if rt.now.trial.as_mut().filter(is_back).is_none() {
            return;
        }
        let Some(mut trial) = rt.now.trial.take() else { return };
        let thread = &mut rt.threads[me];
        let home = &mut rt.known[me].home;
        if !W::take_back(home, trial.filled) {
            trial.filled = W::set_apart(home);
        }
        thread.operations = trial.before;
        (rt.now.drained, trial.operations) = (0, 0);
        if let Some(state) = rt.state_of(me, registers) {
            trial.returned = trial.states.contains(&state);
            trial.states.push(state);
        }
        rt.now.trial = Some(trial);
    }

    /// The thread that is tried out comes to an operation. Returns the alternative to take.
    #[cold]
    pub(crate) fn in_trial(&self, operation: &dyn Operation<Runtime<W>>, spot: W::Spot) -> u32 {
        let rt = self.rt();
        let me = rt.now.current;
        let choice = rt.choice_in_trial(operation, spot);
        if choice.is_none() {
            // Enough is known; it goes on when what is left of the execution is run to its end.
            self.suspend();
        }
        self.rt().threads[me].pending = Running::one();
        choice.unwrap_or(0)
    }
}

impl<W: Hooks> Runtime<W> {
    fn whim_key(&self, thread: usize, spot: W::Spot) -> Key<W> {
        let history = self.threads[thread].touched.history();
        Key { thread: self.names.stable_thread(thread), spot, history }
    }

    /// Whether it matters that an operation ends without reason, if that is known.
    fn whim_matters(&self, key: Key<W>) -> Option<bool> {
        self.shared.learned.whims.borrow().get(&key).copied()
    }

    /// The alternative to take; `None` if enough is known.
    #[inline(never)]
    fn choice_in_trial(
        &mut self,
        operation: &dyn Operation<Runtime<W>>,
        spot: W::Spot,
    ) -> Option<u32> {
        let me = self.now.current;
        let patience = self.shared.settings.spurious.patience;
        let trial = self.now.trial.as_mut().filter(|trial| trial.thread == me)?;
        trial.operations += 1;
        let is_over = trial.returned || trial.changed || trial.operations > patience.operations;
        let is_back = W::is_same(spot, trial.spot);
        if is_over || trial.states.len() >= patience.turns {
            return None;
        }
        match operation.choices(self, me) {
            // Another operation that may end without reason does not.
            _ if operation.is_whim() => Some(u32::from(is_back)),
            1 => (operation.is_enabled(self, me) && changes_nothing(self, me, operation))
                .then_some(0),
            _ => None,
        }
    }
}

/// Whether an operation only looks at something, or takes or gives up a lock.
fn changes_nothing<W: Hooks>(
    rt: &mut Runtime<W>,
    me: usize,
    operation: &dyn Operation<Runtime<W>>,
) -> bool {
    let mut effect = Effect::default();
    operation.effect(rt, me, 0, &mut effect);
    let is_neutral = |mode| {
        let looks = matches!(mode, Mode::Read | Mode::Probe | Mode::Alive | Mode::Join);
        let locks = matches!(mode, Mode::Acquire | Mode::Release);
        looks || locks || matches!(mode, Mode::ShareAcquire | Mode::ShareRelease)
    };
    effect.footprint.accesses().iter().all(|access| is_neutral(access.mode))
}

/// Chooses whether an operation ends without reason.
struct Whim {
    verb: &'static str,
}

impl<W: Hooks> Operation<Runtime<W>> for Whim {
    fn choices(&self, _rt: &Runtime<W>, _me: usize) -> u32 {
        2
    }

    fn left_alone(&self) -> Option<u32> {
        Some(0)
    }

    fn waits(&self) -> Waits {
        Waits::Never
    }

    fn is_whim(&self) -> bool {
        true
    }

    fn effect(&self, _rt: &mut Runtime<W>, _me: usize, _choice: u32, _effect: &mut Effect) {}

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        self.verb.to_owned()
    }
}

impl<W: Hooks> Program<W> {
    /// Tries out threads that stand at an operation of which it is not known whether it matters that it ends
    /// without reason. The state is then what it was, but that a thread for which it does not matter stands at
    /// the operation itself.
    #[inline]
    pub(crate) fn decide_whims(&mut self) {
        while self.rt().now.has_whims {
            match undecided(self.rt()) {
                Some((number, key)) => self.decide_whim(number, key),
                None => self.rt_mut().now.has_whims = false,
            }
        }
    }

    #[cold]
    fn decide_whim(&mut self, number: usize, key: Key<W>) {
        let kept: Vec<Step> = self.rt().log.iter().map(|logged| logged.step()).collect();
        let rt = self.rt_mut();
        let last = rt.now.last.take();
        let tracing = std::mem::replace(&mut rt.tracing, false);
        let filled = W::set_apart(&mut rt.known[number].home);
        let thread = &mut rt.threads[number];
        let trial = Trial {
            thread: number,
            spot: key.spot,
            operations: 0,
            before: thread.operations,
            filled,
            states: Vec::new(),
            memory: Vec::new(),
            changed: false,
            returned: false,
        };
        // It may be elsewhere when the same steps are taken again.
        if let Some(step) = thread.last_step {
            rt.log[step].next = None;
        }
        (rt.now.trial, rt.now.way, rt.now.choice) = (Some(trial), Way::Trial, 1);
        // SAFETY: no reference into the runtime is held.
        unsafe { resume(self.raw(), number) };
        let rt = self.rt_mut();
        let returned = rt.now.trial.take().is_some_and(|trial| trial.returned && !trial.changed);
        // What it would still do is no result of the code.
        W::abandon(&mut rt.threads[number].own);
        rt.shared.learned.whims.borrow_mut().insert(key, !returned);
        rt.tracing = tracing;
        self.replay(&kept);
        self.rt_mut().now.last = last;
    }
}

fn undecided<W: Hooks>(rt: &Runtime<W>) -> Option<(usize, Key<W>)> {
    if rt.shared.is_unsteady.get() {
        return None;
    }
    rt.threads.iter().enumerate().find_map(|(number, thread)| {
        let key = thread.whim.filter(|_| thread.state == State::Ready);
        key.filter(|&key| rt.whim_matters(key).is_none()).map(|key| (number, key))
    })
}
