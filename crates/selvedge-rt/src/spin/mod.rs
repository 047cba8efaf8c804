//! Spin loops: a thread that spins waits until something it read has changed.
//!
//! **The rule.** A turn of a loop ends where the code says so: a hint to spin, a yield, a sleep, a wait whose time is
//! up. What a thread touched since it was last there is kept, each object with the value that it saw. A thread
//! *stands still* at the end of a turn if it touched the same objects as in the turn before, and its code is in a
//! state that it was in at the end of an earlier turn; it goes on when one of the values differs. A turn that would
//! find the same values everywhere, and begins in the same state, does the same again: so nothing is lost.
//!
//! **A loop may count its turns**, and end by itself. So before a thread stands still for the first time it is tried
//! out: it goes on alone, up to as many turns as [`Settings::spin_turns`](crate::Settings::spin_turns) says.
//!
//! - It leaves the loop, or changes something that others can see: it *gives up*. Its turns are steps like all others.
//! - It comes to a state that it was in before: it *waits*. It makes all the turns up to there, so that what happens
//!   if something changes in any of these states is explored; in the last one it stands still.
//! - Neither: it is taken to wait, which may be wrong. The verdict says so, and is never that nothing is wrong.
//!
//! In the same way a thread is tried that stands still and saw what a lock guards, when others had the lock: if a
//! turn changes nothing, not even its own state, it need not be made.
//!
//! **The state** of a thread's code is all that its next turn depends on: its stack, with the registers that it saved
//! there when it was switched away, and the memory of checked code. Two states are the same only if all of that is,
//! byte for byte, also what no code will read again. So that a loop which waits is taken to give up, or is not
//! recognised, is possible; that one which counts is taken to wait is not. What lies elsewhere (statics that the
//! front end does not set back) is not seen; such code would also not do the same in every execution.
//!
//! What no code will read again must not differ from turn to turn without need: then no loop would be recognised.
//! It does not, since a thread is tried out *aside* (`aside.rs`): what the engine does for it, and everything here, is
//! done on the stack of the scheduler. What lies on the stack of the thread follows from what its code did; it does
//! not matter what a compiler leaves there, since it leaves the same in every turn.
//!
//! **Answers** depend on the state of the thread and on the values that it saw, and on nothing else. They are kept
//! ([`Loops`]) with a number for all that the thread came to know so far, so that no state is tried twice.

mod alone;
mod loops;
mod memory;
mod turn;

use rustc_hash::FxHashMap;
use selvedge_core::{Mode, ObjectId};

pub(crate) use alone::{Alone, End};
use loops::{Decided, TurnDoes};
pub(crate) use loops::{Key, Loops};
pub(crate) use memory::Sum;
use turn::{HELD, Seen, Touched};

use crate::caps::Caps;
use crate::names::{Names, mix};
use crate::world::World;

/// The text of a step that is the end of a turn. There may be one more or less of them in another process,
/// where it is not known yet that a loop gives up; so neither reports nor schedules have them.
pub const SPIN_STEP: &str = "";

/// What the running thread came to know, or left, when it performed an operation on an object. Each says in which
/// mode the thread would look again, where that matters.
#[derive(Clone, Copy, Debug)]
pub enum Observed {
    /// It found a value, and left one.
    Value {
        /// How it would look again.
        look: Mode,
        /// The value before.
        found: u64,
        /// The value after.
        left: u64,
    },
    /// It looked at something that has no value, or none that is known.
    Looked(Mode),
    /// It changed something in a way that no value shows. That it did so itself is no reason to look again.
    Changed(Mode),
    /// It came to know what others left there, and this number; it does not look again.
    Heard(u64),
    /// A lock is held for writing or reading now, or not.
    Held {
        /// Whether for writing.
        written: bool,
        /// Whether for reading.
        read: bool,
    },
    /// It looked at what a lock guards, and changed nothing.
    Inside,
    /// It took a lock that guards what lies at an address.
    Took(Content),
    /// It gave up a lock, and may have changed what lies at an address.
    Gave(Content),
}

/// Memory that a lock guards.
#[derive(Clone, Copy, Debug)]
pub struct Content {
    /// Where it lies.
    pub address: usize,
    /// Its length in bytes.
    pub length: usize,
}

/// What a thread does at the end of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// It goes on.
    GoesOn,
    /// It stands still.
    Stands,
    /// The same, but only since it is taken to wait.
    Assumed,
    /// It went round too often.
    Endless,
}

/// A thread at the end of a turn.
pub(crate) struct Turning<W: World> {
    pub(crate) thread: usize,
    /// A number for it that is the same for all systems of a check.
    pub(crate) stable: u64,
    pub(crate) spot: W::Spot,
    /// Its visible operations so far.
    pub(crate) operations: u64,
}

/// What an execution knows about spin loops.
pub(crate) struct Spins<W: World> {
    caps: Caps,
    /// By threads.
    touched: Vec<Touched<W>>,
    /// Per object, its value or a number for all its changes.
    values: Vec<u64>,
    /// Per object, how many steps were taken when it was last changed so that its value does not show it.
    changed_at: FxHashMap<ObjectId, usize>,
    /// A thread that runs alone to see whether it gives up a spin loop.
    pub(crate) alone: Option<Alone<W>>,
}

impl<W: World> Spins<W> {
    pub(crate) fn new(caps: Caps) -> Self {
        let (touched, values) = (Vec::new(), Vec::new());
        Self { caps, touched, values, changed_at: FxHashMap::default(), alone: None }
    }

    fn touched(&mut self, thread: usize) -> &mut Touched<W> {
        if self.touched.len() <= thread {
            let caps = self.caps;
            self.touched.resize_with(thread + 1, || Touched::new(caps));
        }
        &mut self.touched[thread]
    }

    fn value(&self, object: ObjectId) -> u64 {
        self.values.get(object.index()).copied().unwrap_or(0)
    }

    fn set_value(&mut self, names: &Names<W>, object: ObjectId, value: u64) {
        if self.values.len() <= object.index() {
            self.values.resize(names.len().max(object.index() + 1), 0);
        }
        self.values[object.index()] = value;
    }

    /// A thread observed something in its step, which is an index of the log.
    pub(crate) fn note(
        &mut self,
        thread: usize,
        step: Option<usize>,
        names: &Names<W>,
        object: ObjectId,
        what: Observed,
    ) {
        match what {
            Observed::Value { look, found, left } => {
                self.see(thread, names, Seen { object, look, value: found, bits: !0 });
                self.set_value(names, object, left);
            }
            Observed::Looked(look) => {
                let value = self.value(object);
                self.see(thread, names, Seen { object, look, value, bits: !0 });
            }
            Observed::Took(_) => {}
            Observed::Inside => {
                let (look, value) = (Mode::Probe, self.value(object) & !HELD);
                self.see(thread, names, Seen { object, look, value, bits: !HELD });
            }
            Observed::Changed(look) => self.change(thread, step, names, object, look),
            Observed::Gave(_) => self.change(thread, step, names, object, Mode::Probe),
            Observed::Heard(more) => {
                let value = self.value(object) & !HELD;
                self.touched(thread).learn(value, more);
            }
            Observed::Held { written, read } => {
                let held = u64::from(written) | u64::from(read) << 1;
                self.set_value(names, object, (self.value(object) & !HELD) | held);
            }
        }
    }

    fn see(&mut self, thread: usize, names: &Names<W>, seen: Seen) {
        let touched = self.touched(thread);
        touched.keep(seen);
        touched.learn(names.stable(seen.object), seen.value);
    }

    /// The new value stands for the thread and all that it knew when it changed the object.
    fn change(
        &mut self,
        thread: usize,
        step: Option<usize>,
        names: &Names<W>,
        object: ObjectId,
        look: Mode,
    ) {
        let (before, me) = (self.value(object), names.stable_thread(thread));
        let touched = self.touched(thread);
        touched.learn(names.stable(object), before & !HELD);
        let now = (mix(mix(before & !HELD, me), touched.history()) & !HELD) | (before & HELD);
        touched.keep_change(object, look, before, now);
        self.set_value(names, object, now);
        if let Some(step) = step {
            self.changed_at.insert(object, step + 1);
        }
    }

    /// The step of a thread had alternatives, and this one was taken.
    pub(crate) fn chose(&mut self, thread: usize, choice: u32) {
        self.touched(thread).learn(u64::MAX, u64::from(choice));
    }

    /// All that a thread came to know so far, as one number.
    pub(crate) fn history(&self, thread: usize) -> u64 {
        self.touched.get(thread).map_or(0, Touched::history)
    }

    /// Whether a thread touched something since it last spun.
    pub(crate) fn has_touched(&self, thread: usize) -> bool {
        self.touched.get(thread).is_some_and(|touched| !touched.recent.seen.is_empty())
    }

    /// A thread comes to the end of a turn. `most`: how far loops are followed; with 0 all are taken to wait.
    /// `is_bounded`: whether going round without an end is an error.
    pub(crate) fn pause(
        &mut self,
        turning: Turning<W>,
        loops: &mut Loops<W>,
        most: u32,
        is_bounded: bool,
    ) -> Pause {
        if !self.has_touched(turning.thread) {
            return Pause::GoesOn;
        }
        let Turning { thread, stable, spot, operations } = turning;
        let most_turns = self.caps.turns;
        let touched = self.touched(thread);
        touched.turns += 1;
        let turns = touched.turns;
        if turns > most_turns && is_bounded {
            return Pause::Endless;
        }
        if !touched.ends_turn(spot, operations) {
            touched.start_turn();
            return Pause::GoesOn;
        }
        let key = Key { thread: stable, spot, history: touched.history() };
        let has_changed = self.has_changed(thread);
        let touched = self.touched(thread);
        match most {
            0 => {}
            // It is left to the limit of steps that was asked for.
            _ if turns > most_turns => {
                touched.start_turn();
                return Pause::GoesOn;
            }
            _ => match loops.decided(key, has_changed) {
                Some(Decided::GivesUp) => {
                    touched.start_turn();
                    return Pause::GoesOn;
                }
                Some(Decided::GoesOn(history)) => {
                    touched.goes_on(history);
                    return Pause::GoesOn;
                }
                Some(Decided::Waits) => {}
                Some(Decided::Assumed) => touched.assumed = true,
                None => touched.undecided = true,
            },
        }
        touched.stands = Some(key);
        if touched.assumed || most == 0 { Pause::Assumed } else { Pause::Stands }
    }

    /// A thread that stood still goes on.
    pub(crate) fn go_on(&mut self, thread: usize) {
        let touched = self.touched(thread);
        (touched.stands, touched.undecided, touched.assumed) = (None, false, false);
        touched.start_turn();
    }

    /// Where a thread stands still.
    pub(crate) fn stands(&self, thread: usize) -> Option<Key<W>> {
        self.touched.get(thread)?.stands
    }

    /// Whether a thread stands in a loop that is only taken to wait.
    pub(crate) fn is_assumed(&self, thread: usize) -> bool {
        self.touched.get(thread).is_some_and(|touched| touched.assumed)
    }

    fn seen(&self, thread: usize) -> &[Seen] {
        self.touched.get(thread).map_or(&[], Touched::seen)
    }

    /// What a thread looks at that stands still, and how.
    pub(crate) fn looks_at(&self, thread: usize) -> impl Iterator<Item = (ObjectId, Mode)> + '_ {
        self.seen(thread).iter().map(|seen| (seen.object, seen.look))
    }

    /// Whether something that the thread saw differs now.
    fn has_changed(&self, thread: usize) -> bool {
        self.seen(thread).iter().any(|seen| seen.differs_from(self.value(seen.object)))
    }

    /// If nothing differs but what locks guard, a number for that: others had the locks, but they may
    /// have changed nothing.
    fn changed_inside(&self, thread: usize) -> Option<u64> {
        let seen = self.seen(thread);
        let differs = |seen: &&Seen| seen.differs_from(self.value(seen.object));
        let only_inside = seen.iter().filter(differs).all(Seen::is_guarded);
        let number = |number, seen: &Seen| mix(number, self.value(seen.object) & seen.bits);
        (only_inside && self.has_changed(thread)).then(|| seen.iter().fold(0, number))
    }

    /// How many steps were taken when all that a thread saw was last changed.
    pub(crate) fn changed_after(&self, thread: usize) -> Option<usize> {
        self.seen(thread).iter().filter_map(|seen| self.changed_at.get(&seen.object)).max().copied()
    }

    /// Whether a thread that stands still in a loop goes on.
    pub(crate) fn is_woken(&self, thread: usize, loops: &Loops<W>) -> bool {
        let Some(key) = self.stands(thread) else { return true };
        let does_nothing = |inside| loops.turn(key, inside) == Some(TurnDoes::Nothing);
        self.has_changed(thread) && !self.changed_inside(thread).is_some_and(does_nothing)
    }

    /// What is to be found out about a thread that stands still: whether its loop gives up, or, with these values of
    /// what locks guard, whether its next turn does something.
    pub(crate) fn open(
        &self,
        thread: usize,
        loops: &mut Loops<W>,
    ) -> Option<(Key<W>, Option<u64>)> {
        let key = self.stands(thread)?;
        if let Some(inside) = self.changed_inside(thread) {
            return loops.turn(key, inside).is_none().then_some((key, Some(inside)));
        }
        let is_open = self.touched[thread].undecided && loops.decided(key, false).is_none();
        (is_open && !self.has_changed(thread)).then_some((key, None))
    }
}
