//! Operations that may end without reason: a wait that is not notified, `park` without a token, a weak
//! compare-exchange that fails although it found what it expected. `std` allows all of these.
//!
//! Where such an operation stands in a loop that tries again, it shows nothing new to end it without reason: the
//! thread comes back to it, and nothing has changed. So before a thread first comes to one, it is tried out: left
//! alone, its operation ends without reason, again and again. If it always comes back without having written
//! anything, the operation is left as it is, and costs nothing. If not, a step of its own chooses, so often
//! for each thread and place as [`Builder::spurious`](crate::Builder::spurious) says.

use rustc_hash::FxHashMap;
use selvedge_core::{Effect, Mode, Step};

use super::engine::Engine;
use super::fiber::resume;
use super::lock_order::Waits;
use super::operation::{Operation, Running, Spot};
use super::runtime::{Runtime, State, Way};
use super::system::Program;

/// A thread that takes more operations than this on its way back does not come back.
const MOST_OPERATIONS: u32 = 10_000;

/// A loop that comes back so often does so for ever.
const MOST_TURNS: u32 = 100;

/// A thread at an operation that may end without reason.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    thread: u64,
    spot: Spot,
    /// Its visible operations so far, and how much of its stack is in use: who called.
    operations: u64,
    depth: usize,
}

/// Whether it matters that an operation ends without reason.
pub(crate) type Whims = FxHashMap<Key, bool>;

/// A thread that is tried out.
pub(crate) struct Trial {
    thread: usize,
    spot: Spot,
    turns: u32,
    operations: u32,
    /// Whether it came back every time.
    returned: bool,
}

impl Engine {
    /// The running thread comes to an operation that may end without reason. Returns whether it does.
    #[inline(never)]
    pub(crate) fn ends_without_reason(&self, verb: &'static str, spot: Spot) -> bool {
        let rt = self.rt();
        let me = rt.current;
        let most = rt.shared.spurious;
        if most == 0 {
            return false;
        }
        if let Way::Trial = rt.way {
            return self.visible(&Whim { verb, key: None }, spot) == 1;
        }
        if rt.way != Way::Announce {
            return false;
        }
        let thread = &rt.threads[me];
        let depth = thread.fiber.as_ref().map_or(0, |it| it.base - (&raw const rt as usize));
        let (operations, number) = (thread.operations, rt.names.stable_thread(me));
        let key = Key { thread: number, spot, operations, depth };
        let known = rt.shared.learned.whims.borrow().get(&key).copied();
        if known == Some(false) {
            return false;
        }
        let is_here = |taken: &&Spot| std::ptr::eq(**taken, spot);
        if thread.whims.iter().filter(is_here).count() as u32 >= most {
            rt.shared.whims_bounded.set(true);
            return false;
        }
        rt.has_whims |= known.is_none();
        let ends = self.visible(&Whim { verb, key: Some(key) }, spot) == 1;
        let rt = self.rt();
        if ends && rt.way == Way::Announce {
            rt.threads[me].whims.push(spot);
        }
        self.note(|_| match ends {
            true => format!("{verb}: ends without reason"),
            false => format!("{verb}: not without reason"),
        });
        ends
    }

    /// The same for an operation that may be part of a turn of a spin loop: there it is left out, and the report
    /// says so.
    pub(crate) fn fails_without_reason(&self, verb: &'static str, spot: Spot) -> bool {
        let rt = self.rt();
        let is_left_out = self.watches() && rt.shared.spurious > 0;
        rt.shared.whims_left_out.set(rt.shared.whims_left_out.get() || is_left_out);
        !is_left_out && self.ends_without_reason(verb, spot)
    }

    /// Whether the running thread is tried out, so that a write that changes nothing is none.
    pub(crate) fn is_tried(&self) -> bool {
        self.rt().way == Way::Trial
    }

    /// The thread that is tried out comes to an operation. Returns the alternative to take.
    #[cold]
    pub(super) fn in_trial(&self, operation: &dyn Operation, spot: Spot) -> u32 {
        let rt = self.rt();
        let me = rt.current;
        let Some(mut trial) = rt.trial.take() else { return 0 };
        let mut choice = None;
        if me == trial.thread && trial.operations < MOST_OPERATIONS {
            trial.operations += 1;
            let is_back = operation.is_whim() && std::ptr::eq(spot, trial.spot);
            choice = match operation.choices(rt, me) {
                _ if is_back => {
                    trial.turns += 1;
                    trial.returned = trial.turns >= MOST_TURNS;
                    (!trial.returned).then_some(1)
                }
                // Another operation that may end without reason does not.
                _ if operation.is_whim() => Some(0),
                1 => (operation.is_enabled(rt, me) && changes_nothing(rt, me, operation))
                    .then_some(0),
                _ => None,
            };
        }
        rt.trial = Some(trial);
        if choice.is_none() {
            // Enough is known; it goes on when what is left of the execution is run to its end.
            self.suspend();
        }
        self.rt().threads[me].pending = Running::ONE;
        choice.unwrap_or(0)
    }
}

/// Whether an operation only looks at something, or takes or gives up a lock.
fn changes_nothing(rt: &mut Runtime, me: usize, operation: &dyn Operation) -> bool {
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
    /// `None` while the thread is tried out.
    key: Option<Key>,
}

impl Operation for Whim {
    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
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

    fn undecided_whim(&self, rt: &Runtime) -> Option<Key> {
        self.key.filter(|key| !rt.shared.learned.whims.borrow().contains_key(key))
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, _effect: &mut Effect) {}

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        self.verb.to_owned()
    }
}

impl Program {
    /// Tries out threads that stand at an operation of which nobody knows whether it matters that it ends
    /// without reason. The state is then what it was, but that a thread for which it does not matter stands at
    /// the operation itself.
    #[inline]
    pub(super) fn decide_whims(&mut self) {
        while self.rt().has_whims {
            match undecided(self.rt()) {
                Some((number, key)) => self.decide_whim(number, key),
                None => self.rt_mut().has_whims = false,
            }
        }
    }

    #[cold]
    fn decide_whim(&mut self, number: usize, key: Key) {
        let kept: Vec<Step> = self.rt().log.iter().map(|logged| logged.step()).collect();
        let rt = self.rt_mut();
        let last = rt.last.take();
        let tracing = std::mem::replace(&mut rt.tracing, false);
        let trial =
            Trial { thread: number, spot: key.spot, turns: 0, operations: 0, returned: false };
        (rt.trial, rt.way, rt.choice) = (Some(trial), Way::Trial, 1);
        // It may be elsewhere when the same steps are taken again.
        if let Some(step) = rt.threads[number].last_step {
            rt.log[step].next = None;
        }
        // SAFETY: no reference into the runtime is held.
        unsafe { resume(self.raw(), number) };
        let rt = self.rt_mut();
        let returned = rt.trial.take().is_some_and(|trial| trial.returned);
        // What it would still do is no result of the code.
        rt.threads[number].aborting = true;
        rt.shared.learned.whims.borrow_mut().insert(key, !returned);
        rt.tracing = tracing;
        self.replay(&kept);
        self.rt_mut().last = last;
    }
}

fn undecided(rt: &Runtime) -> Option<(usize, Key)> {
    if rt.shared.is_unsteady.get() {
        return None;
    }
    rt.threads.iter().enumerate().find_map(|(number, thread)| {
        // SAFETY: a thread that is ready stands at its operation, which is on its stack.
        let key = (thread.state == State::Ready).then(|| unsafe { &*thread.pending });
        key.and_then(|operation| operation.undecided_whim(rt)).map(|key| (number, key))
    })
}
