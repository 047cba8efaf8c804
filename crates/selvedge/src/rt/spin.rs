//! Spin loops: a thread that spins waits until something it read has changed.
//!
//! What a thread touched since it last spun is kept, each object with the value that it saw. It spins
//! if it comes to the same place again and touched the same objects as in the turn before: a single
//! `yield_now` or `sleep` is no loop. A turn that would find the same values everywhere would do the
//! same again, so the thread stands still until one of them differs: see [`Spin`].
//!
//! But a loop may count its turns, and give up. So before a thread stands still for the first time, it
//! is tried out (`alone.rs`): left alone, does it leave the loop? If so, it does not stand still
//! here: its turns are steps like all others.

use selvedge_core::{Effect, Flexibility, Mode, ObjectId};

use super::alone::{Decided, Key};
use super::engine::Engine;
use super::operation::{Operation, Spot};
use super::runtime::{Runtime, Way};

/// A thread that touches more objects than this in one turn does not stand still.
const MOST_OBJECTS: usize = 64;

/// So many turns at one place are a loop, whatever they touch.
const MOST_FREE_TURNS: u32 = 8;

/// After so many turns in a row nobody asks any more whether a loop gives up.
const MOST_TRIED_TURNS: u32 = 1_000;

/// A thread that does nothing but read, so often at one place, is in a loop that does not say so.
const MOST_READS: u32 = 2_000;

/// What a thread touched since it last spun.
#[derive(Default)]
pub(crate) struct Touched {
    /// The object, how to look at it, and the value seen.
    pub(super) seen: Vec<(ObjectId, Mode, u64)>,
    /// Whether there was more than can be kept in mind.
    too_many: bool,
    /// Where it last spun, and what it had touched before.
    last: Option<(Spot, Vec<ObjectId>)>,
    /// How often it went round at that place before it was known to be a loop.
    free: u32,
    /// Whether it touched something else than in the turn before.
    pub(super) varies: bool,
    /// Its visible operations up to the last turn, and how many there were in that turn.
    operations: u64,
    pub(super) turn: u64,
    /// All that it came to know so far, as one number: with the same it is in the same state.
    history: u64,
    /// Where it last read something, after how many visible operations, and how often in a row.
    read: Option<(Spot, u64)>,
    reads: u32,
    /// Where it stands in a loop of which nobody knows whether it gives up.
    pub(super) undecided: Option<Key>,
}

impl Touched {
    /// Keeps what was seen first in this turn: if it changes within the turn, the next one differs.
    fn keep(&mut self, object: ObjectId, look: Mode, value: u64) {
        let known = self.seen.iter().any(|(other, ..)| *other == object);
        if known {
            return;
        }
        match self.seen.len() < MOST_OBJECTS {
            true => self.seen.push((object, look, value)),
            false => self.too_many = true,
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self { seen: std::mem::take(&mut self.seen), ..Self::default() };
        self.seen.clear();
    }

    pub(super) fn start_turn(&mut self) {
        self.seen.clear();
        self.too_many = false;
    }

    fn learn(&mut self, what: u64, value: u64) {
        self.history = mix(mix(self.history, what), value);
    }

    /// Whether the turn that ends at `spot` is one of a loop.
    fn is_loop(&mut self, spot: Spot) -> bool {
        let objects: Vec<ObjectId> = self.seen.iter().map(|&(object, ..)| object).collect();
        let last = self.last.replace((spot, objects));
        let (_, objects) = self.last.as_ref().expect("it was just set");
        let at_same_place = last.as_ref().is_some_and(|(place, _)| std::ptr::eq(*place, spot));
        let touched_same = last.is_some_and(|(_, before)| before == *objects);
        self.free = if at_same_place { self.free + 1 } else { 0 };
        self.varies = !touched_same;
        at_same_place && !self.too_many && (touched_same || self.free > MOST_FREE_TURNS)
    }
}

/// One number for two, such that others give others.
fn mix(a: u64, b: u64) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (a.rotate_left(23) ^ b).wrapping_mul(ODD);
    mixed ^ (mixed >> 29)
}

impl Engine {
    /// The running thread found `found` in `object` and left `now` there. `look`: the mode in which
    /// it would look again.
    #[inline]
    pub(crate) fn saw(&self, object: ObjectId, look: Mode, found: u64, now: u64) {
        let rt = self.rt();
        if rt.shared.learned.spins.get() {
            rt.note_value(object, now);
            let touched = &mut rt.threads[rt.current].touched;
            touched.keep(object, look, found);
            touched.learn(object.index() as u64, found);
        }
    }

    /// The running thread changed `object` in a way that its value does not show. That it did so
    /// itself is no reason to look again.
    #[inline]
    pub(crate) fn changed(&self, object: ObjectId, look: Mode) {
        let rt = self.rt();
        if rt.shared.learned.spins.get() {
            rt.note_change(object, look);
        }
    }

    /// The running thread looked at `object`.
    #[inline]
    pub(crate) fn looked(&self, object: ObjectId, look: Mode) {
        let rt = self.rt();
        if rt.shared.learned.spins.get() {
            let value = rt.value(object);
            let touched = &mut rt.threads[rt.current].touched;
            touched.keep(object, look, value);
            touched.learn(object.index() as u64, value);
        }
    }

    /// The running thread came to know something that it does not look at again in a loop: what
    /// others left in `object`, and `more`.
    #[inline]
    pub(crate) fn heard(&self, object: ObjectId, more: u64) {
        let rt = self.rt();
        if rt.shared.learned.spins.get() {
            let value = rt.value(object);
            rt.threads[rt.current].touched.learn(value, more);
        }
    }

    /// The running thread read something at `spot`. If it does so again and again, with nothing visible in
    /// between, the number of executions has no end: it is better to say so soon.
    #[inline]
    pub(crate) fn read_at(&self, object: ObjectId, spot: Spot) {
        let rt = self.rt();
        let thread = &mut rt.threads[rt.current];
        let operations = thread.operations;
        let touched = &mut thread.touched;
        let again = touched
            .read
            .replace((spot, operations))
            .is_some_and(|(place, before)| std::ptr::eq(place, spot) && before + 1 == operations);
        touched.reads = if again { touched.reads + 1 } else { 0 };
        if touched.reads >= MOST_READS && rt.shared.ends_loops && rt.way == Way::Announce {
            let (name, object) = (rt.thread_name(rt.current), rt.object_name(object));
            self.give_up(format!(
                "{name} read {object} {MOST_READS} times in a row at {spot}; a loop that waits for \
                 another thread needs `hint::spin_loop()` or `thread::yield_now()` in it, and one \
                 that ends by itself `Builder::max_steps`"
            ));
        }
    }

    /// The running thread's step had alternatives, and this one was taken.
    #[cold]
    pub(crate) fn chose(&self, choice: u32) {
        let rt = self.rt();
        rt.threads[rt.current].touched.learn(u64::MAX, u64::from(choice));
    }

    /// One turn of a spin loop.
    pub(crate) fn spin(&self, verb: &'static str, spot: Spot) {
        let rt = self.rt();
        let me = rt.current;
        if !rt.shared.learned.spins.replace(true) {
            // What was read so far is not known: again, from the start.
            rt.learn();
            return;
        }
        if rt.threads[me].touched.seen.is_empty() {
            return;
        }
        if rt.way == Way::Alone {
            return self.turn_alone(spot);
        }
        let operations = rt.threads[me].operations;
        let touched = &mut rt.threads[me].touched;
        touched.turn = operations - touched.operations;
        touched.operations = operations;
        if !touched.is_loop(spot) {
            return touched.start_turn();
        }
        let key = Key { thread: me as u32, spot, history: touched.history };
        let decided = match rt.shared.spin_turns {
            0 => Some(Decided::Waits),
            // It does something else in each turn: it is left to the limit of steps.
            _ if touched.free > MOST_TRIED_TURNS => Some(Decided::GivesUp),
            _ => rt.shared.learned.loops.borrow_mut().decided(key, rt.has_changed(me)),
        };
        match decided {
            Some(Decided::GivesUp) => return rt.threads[me].touched.start_turn(),
            Some(Decided::Waits) => rt.shared.spun.set(true),
            None => rt.threads[me].touched.undecided = Some(key),
        }
        self.visible(&Spin { verb }, spot);
        let touched = &mut self.rt().threads[me].touched;
        touched.undecided = None;
        touched.start_turn();
    }
}

impl Runtime {
    fn value(&self, object: ObjectId) -> u64 {
        self.values.get(object.index()).copied().unwrap_or(0)
    }

    fn note_value(&mut self, object: ObjectId, value: u64) {
        if self.values.len() <= object.index() {
            self.values.resize(self.names.len().max(object.index() + 1), 0);
        }
        self.values[object.index()] = value;
    }

    /// The new value stands for all that the running thread knew when it changed the object.
    fn note_change(&mut self, object: ObjectId, look: Mode) {
        let before = self.value(object);
        let touched = &mut self.threads[self.current].touched;
        touched.learn(object.index() as u64, before);
        let now = mix(before, touched.history);
        match touched.seen.iter_mut().find(|(other, ..)| *other == object) {
            Some((.., value)) if *value == before => *value = now,
            Some(_) => {}
            None => touched.keep(object, look, now),
        }
        self.note_value(object, now);
    }

    /// Whether something that the thread saw differs now.
    pub(super) fn has_changed(&self, thread: usize) -> bool {
        let seen = &self.threads[thread].touched.seen;
        seen.iter().any(|&(object, _, value)| self.value(object) != value)
    }
}

/// Waits until something that the thread read has changed.
struct Spin {
    verb: &'static str,
}

impl Operation for Spin {
    fn is_enabled(&self, rt: &Runtime, me: usize) -> bool {
        rt.has_changed(me)
    }

    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        for &(object, look, _) in &rt.threads[me].touched.seen {
            effect.footprint.add(object, look);
        }
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, _rt: &Runtime, _me: usize) -> String {
        self.verb.to_owned()
    }

    fn waits_for(&self, rt: &Runtime, me: usize) -> Option<(String, Vec<usize>)> {
        let seen = &rt.threads[me].touched.seen;
        let names: Vec<_> = seen.iter().map(|&(object, ..)| rt.object_name(object)).collect();
        let what = names.join(", ");
        let turns = rt.shared.spin_turns;
        let hint =
            format!("if the loop gives up after more than {turns} turns: Builder::spin_turns");
        Some((format!("spins, and waits for a change of {what} ({hint})"), Vec::new()))
    }
}
