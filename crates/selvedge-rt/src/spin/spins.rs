//! What an execution knows about spin loops.

use rustc_hash::FxHashMap;
use selvedge_core::{Mode, ObjectId};

use super::alone::{Alone, End};
use super::key::Key;
use super::loops::{Decided, Loops, TurnDoes};
use super::observed::Observed;
use super::turn::{HELD, Seen, Touched};
use crate::caps::Caps;
use crate::fresh::Fresh;
use crate::names::{Names, mix};
use crate::world::World;

/// What a thread does at the end of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pause {
    /// It continues.
    GoesOn,
    /// It stands still.
    Stands,
    /// The same, but only since it is taken to wait.
    Assumed,
    /// It made too many turns.
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

impl<W: World> Fresh for Spins<W> {
    fn fresh(last: Self) -> Self {
        let mut changed_at = last.changed_at;
        changed_at.clear();
        Self {
            caps: last.caps,
            touched: last.touched.into_iter().map(Touched::fresh).collect(),
            values: Vec::fresh(last.values),
            changed_at,
            alone: None,
        }
    }
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
            Observed::Takes(_) => {}
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
        self.touched(thread).choose(choice);
    }

    /// All that a thread came to know so far, as one number.
    pub(crate) fn history(&self, thread: usize) -> u64 {
        self.touched.get(thread).map_or(0, Touched::history)
    }

    /// Returns whether a thread touched something since it last spun.
    pub(crate) fn has_touched(&self, thread: usize) -> bool {
        self.touched.get(thread).is_some_and(|touched| !touched.recent.seen.is_empty())
    }

    /// A thread comes to the end of a turn at `spot` in this state, before [`Spins::pause`].
    pub(crate) fn passes(&mut self, thread: usize, spot: W::Spot, memory: Option<u128>) {
        let values = self.values.clone();
        let touched = self.touched(thread);
        touched.end_choices();
        let state = touched.at_end(memory);
        touched.passes(spot, state, values);
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

    /// A thread that stood still continues.
    pub(crate) fn go_on(&mut self, thread: usize) {
        let touched = self.touched(thread);
        (touched.stands, touched.undecided, touched.assumed) = (None, false, false);
        touched.start_turn();
    }

    /// Where a thread stands still.
    pub(crate) fn stands(&self, thread: usize) -> Option<Key<W>> {
        self.touched.get(thread)?.stands
    }

    /// Returns whether a thread stands in a loop that is only taken to wait.
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

    /// Returns whether something that the thread saw differs now.
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

    /// Returns how many steps were taken when all that a thread saw was last changed.
    pub(crate) fn changed_after(&self, thread: usize) -> Option<usize> {
        self.seen(thread).iter().filter_map(|seen| self.changed_at.get(&seen.object)).max().copied()
    }

    /// Returns whether a thread that stands still in a loop continues.
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

    /// A thread, which stands in a loop in this state, continues alone.
    pub(crate) fn leave_alone(
        &mut self,
        thread: usize,
        key: Key<W>,
        memory: Option<u128>,
        filled: W::Mark,
        turns: usize,
    ) -> &Alone<W> {
        let values = self.values.clone();
        let touched = self.touched(thread);
        let (before, operations) = touched.last_turn();
        let seen = touched.seen().iter().map(|seen| seen.object).collect();
        touched.forget_turns();
        let spot = key.spot;
        let path = vec![(key, touched.at_end(memory))];
        let (varies, repeats, end) = (false, touched.repeats(), None);
        self.alone.insert(Alone {
            thread,
            spot,
            seen,
            varies,
            values,
            before,
            operations,
            turns,
            filled,
            path,
            repeats,
            end,
        })
    }

    /// Enough is known.
    pub(crate) fn end_alone(&mut self, end: End) {
        if let Some(alone) = &mut self.alone {
            alone.end.get_or_insert(end);
        }
    }

    /// The thread that runs alone came to the end of a turn elsewhere in the loop.
    pub(crate) fn passes_alone(&mut self, thread: usize) {
        self.touched(thread).end_choices();
    }

    /// The thread that runs alone came to the end of a turn. Returns whether the turn changed nothing, and touched
    /// what those before it did.
    pub(crate) fn is_same_turn(&mut self) -> bool {
        let Some(mut alone) = self.alone.take() else { return false };
        let touched = self.touched(alone.thread);
        let now = touched.seen().iter().map(|seen| seen.object);
        let touched_same = now.eq(alone.seen.iter().copied());
        let is_same = touched_same || touched.varies;
        let acted = alone.values.iter().zip(&self.values).any(|(before, now)| before != now);
        alone.varies |= !touched_same;
        self.alone = Some(alone);
        is_same && !acted
    }

    /// The next turn of the thread that runs alone begins as the first did: nothing that is kept about it differs
    /// from turn to turn.
    pub(crate) fn begin_same_turn(&mut self, memory: Option<u128>) -> Option<End> {
        let mut alone = self.alone.take()?;
        let (first, last) = (alone.path[0].0, alone.path[alone.path.len() - 1].0);
        let touched = self.touched(alone.thread);
        touched.end_choices();
        let state = touched.at_end(memory);
        let history = touched.forget_turn(first.history, last.history);
        let was_there = state.is_some() && alone.path.iter().any(|(_, before)| *before == state);
        alone.path.push((Key { history, ..first }, state));
        let end = match was_there {
            true => Some(End::Returned),
            false => (alone.path.len() > alone.turns).then_some(End::Lasted),
        };
        self.alone = Some(alone);
        end
    }
}
