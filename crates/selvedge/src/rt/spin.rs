//! Spin loops: a thread that spins waits until something it read has changed.
//!
//! What a thread touched since it last spun is kept, each object with the value that it saw. It spins
//! if it comes to the same place again and touched the same objects as in the turn before: a single
//! `yield_now` or `sleep` is no loop. A turn that would find the same values everywhere would do the
//! same again, so the thread stands still until one of them differs. A loop that gives up after some
//! turns would then never get there: for those, [`Builder::spin_turns`](crate::Builder::spin_turns)
//! says how often a thread goes round first.

use selvedge_core::{Effect, Flexibility, Mode, ObjectId};

use super::engine::Engine;
use super::operation::{Operation, Spot};
use super::runtime::Runtime;

/// More objects than this in one turn are not kept in mind.
const MOST_OBJECTS: usize = 64;

/// So many turns at one place are a loop, whatever they touch.
const MOST_FREE_TURNS: u32 = 8;

/// What a thread touched since it last spun.
#[derive(Default)]
pub(crate) struct Touched {
    /// The object, how to look at it, and the value seen.
    seen: Vec<(ObjectId, Mode, u64)>,
    /// Where it last spun, and what it had touched before.
    last: Option<(Spot, Vec<ObjectId>)>,
    /// How often it went round at that place before it was known to be a loop.
    free: u32,
    /// How often in a row it spun with nothing changed.
    turns: u32,
}

impl Touched {
    /// Keeps what was seen first in this turn: if it changes within the turn, the next one differs.
    fn keep(&mut self, object: ObjectId, look: Mode, value: u64) {
        let known = self.seen.iter().any(|(other, ..)| *other == object);
        if !known && self.seen.len() < MOST_OBJECTS {
            self.seen.push((object, look, value));
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = Self { seen: std::mem::take(&mut self.seen), ..Self::default() };
        self.seen.clear();
    }

    /// Whether the turn that ends at `spot` is one of a loop.
    fn is_loop(&mut self, spot: Spot) -> bool {
        let objects: Vec<ObjectId> = self.seen.iter().map(|&(object, ..)| object).collect();
        let last = self.last.replace((spot, objects));
        let (_, objects) = self.last.as_ref().expect("it was just set");
        let at_same_place = last.as_ref().is_some_and(|(place, _)| std::ptr::eq(*place, spot));
        let touched_same = last.is_some_and(|(_, before)| before == *objects);
        self.free = if at_same_place { self.free + 1 } else { 0 };
        at_same_place && (touched_same || self.free > MOST_FREE_TURNS)
    }
}

impl Engine {
    /// The running thread found `found` in `object` and left `now` there. `look`: the mode in which
    /// it would look again.
    #[inline]
    pub(crate) fn saw(&self, object: ObjectId, look: Mode, found: u64, now: u64) {
        let rt = self.rt();
        if rt.shared.learned.spins.get() {
            rt.note_value(object, now);
            rt.threads[rt.current].touched.keep(object, look, found);
        }
    }

    /// The running thread changed `object` in a way that its value does not show. That it did so
    /// itself is no reason to look again.
    #[inline]
    pub(crate) fn changed(&self, object: ObjectId, look: Mode) {
        let rt = self.rt();
        if rt.shared.learned.spins.get() {
            let now = rt.value(object).wrapping_add(1);
            rt.note_value(object, now);
            let touched = &mut rt.threads[rt.current].touched;
            match touched.seen.iter_mut().find(|(other, ..)| *other == object) {
                Some((.., value)) => *value = value.wrapping_add(1),
                None => touched.keep(object, look, now),
            }
        }
    }

    /// The running thread looked at `object`.
    #[inline]
    pub(crate) fn looked(&self, object: ObjectId, look: Mode) {
        let rt = self.rt();
        if rt.shared.learned.spins.get() {
            let value = rt.value(object);
            rt.threads[rt.current].touched.keep(object, look, value);
        }
    }

    /// One turn of a spin loop.
    pub(crate) fn spin(&self, verb: &'static str, spot: Spot) {
        let rt = self.rt();
        if !rt.shared.learned.spins.replace(true) {
            // What was read so far is not known: again, from the start.
            rt.learn();
            return;
        }
        if rt.threads[rt.current].touched.seen.is_empty() {
            return;
        }
        let touched = &mut rt.threads[rt.current].touched;
        if !touched.is_loop(spot) || touched.turns < rt.shared.spin_turns {
            touched.turns += u32::from(touched.free > 0);
            touched.seen.clear();
            return;
        }
        rt.shared.spun.set(true);
        self.visible(&Spin { verb }, spot);
        let rt = self.rt();
        let touched = &mut rt.threads[rt.current].touched;
        touched.turns = 0;
        touched.seen.clear();
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

    /// Whether something that the thread saw differs now.
    fn has_changed(&self, thread: usize) -> bool {
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
        let hint = "if the loop gives up by itself: Builder::spin_turns";
        Some((format!("spins, and waits for a change of {what} ({hint})"), Vec::new()))
    }
}
