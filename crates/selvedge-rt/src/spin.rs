//! Spin loops: a thread that spins waits until something it read has changed.
//!
//! What a thread touched since it last spun is kept, each object with the value that it saw. It spins
//! if it comes to the same place again and touched the same objects as in the turn before: a single
//! `yield_now` or `sleep` is no loop. A turn that would find the same values everywhere would do the
//! same again, so the thread stands still until one of them differs: see [`Spin`].
//!
//! But a loop may count its turns, and give up. So before a thread stands still for the first time, it
//! is tried out (`alone.rs`): left alone, does it leave the loop? If so, it does not stand still
//! here: its turns are steps like all others. They are also as long as it comes to new states.

use rustc_hash::FxHashMap;
use selvedge_core::{Effect, Flexibility, Mode, ObjectId};

use crate::alone::{Alone, Decided, Key, TurnDoes};
use crate::engine::Engine;
use crate::hooks::Hooks;
use crate::names::mix;
use crate::operation::Operation;
use crate::registers::Registers;
use crate::runtime::{Runtime, Way};
use crate::unhinted::Looks;
use crate::world::{Advice, World};

/// A thread that touches more objects than this in one turn does not stand still.
const MOST_OBJECTS: usize = 64;

/// A thread that spins at more places than this, by turns, does not stand still.
const MOST_PLACES: usize = 8;

/// So many turns at one place are a loop, whatever they touch.
const MOST_FREE_TURNS: u32 = 8;

/// A thread that goes round so often, and changes something or comes to a new state each time, has no end
/// that anybody knows of.
const MOST_TURNS: u32 = 1_000;

/// The text of a step that is the end of a turn. There may be one more or less of them in another process,
/// where it is not known yet that a loop gives up; so neither reports nor schedules have them.
pub const SPIN_STEP: &str = "";

/// The bits of a lock's value that say who has it. The others stand for what it guards.
const HELD: u64 = 0b11;

/// Something that a thread saw.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) object: ObjectId,
    /// How to look at it.
    look: Mode,
    value: u64,
    /// The bits of the value that matter.
    bits: u64,
}

impl Seen {
    fn differs_from(&self, now: u64) -> bool {
        (self.value ^ now) & self.bits != 0
    }

    /// Whether this is what a lock guards: it may be the same as before although somebody had the lock.
    fn is_guarded(&self) -> bool {
        self.bits == !HELD
    }
}

/// What a thread touched since some point.
#[derive(Default)]
struct Turn {
    seen: Vec<Seen>,
    /// Whether there was more than can be kept in mind.
    too_many: bool,
}

impl Turn {
    /// Keeps what was seen first in this turn: if it changes within the turn, the next one differs.
    fn keep(&mut self, new: Seen) {
        match self.seen.iter_mut().find(|seen| seen.object == new.object) {
            Some(known) => {
                // It may have seen what a lock guards, and then that another has it.
                let more = new.bits & !known.bits;
                known.value = (known.value & !more) | (new.value & more);
                known.bits |= more;
            }
            None => {
                self.too_many |= self.seen.len() >= MOST_OBJECTS;
                if !self.too_many {
                    self.seen.push(new);
                }
            }
        }
    }

    /// Keeps that the thread itself changed something, which is no reason to look again.
    fn keep_change(&mut self, object: ObjectId, look: Mode, before: u64, now: u64) {
        match self.seen.iter_mut().find(|seen| seen.object == object) {
            Some(seen) if !seen.differs_from(before) => seen.value = now,
            Some(_) => {}
            None => self.keep(Seen { object, look, value: now, bits: !HELD }),
        }
    }

    fn objects(&self) -> Vec<ObjectId> {
        self.seen.iter().map(|seen| seen.object).collect()
    }

    fn clear(&mut self) {
        self.seen.clear();
        self.too_many = false;
    }
}

/// A place where a thread spins. A loop may have several, and others inside it.
struct Spinning<W: World> {
    spot: W::Spot,
    /// What it touched since it was last there, and what it had touched before.
    turn: Turn,
    last: Vec<ObjectId>,
    /// How often it was there before it was known to be a loop.
    free: u32,
    /// Its visible operations up to then, and how many there were in that turn.
    operations: u64,
    in_turn: u64,
    /// The history at the end of this turn if it goes round. Then what it touched before counts, too.
    expected: Option<u64>,
}

/// What a thread touched since it last spun.
pub struct Touched<W: World> {
    /// Since it last spun anywhere.
    recent: Turn,
    /// Where it spun, the place of the last time at the end.
    places: Vec<Spinning<W>>,
    /// How often it went round anywhere.
    turns: u32,
    /// Whether it touched something else than in the turn before.
    pub(crate) varies: bool,
    /// All that it came to know so far, as one number: with the same it is in the same state.
    history: u64,
    /// While it runs alone: what it learned in this turn.
    learned: Option<Vec<(u64, u64)>>,
    /// What it looked at without changing anything.
    pub(crate) looks: Looks<W>,
    /// Where it stands in a loop.
    pub(crate) stands: Option<(Key<W>, Option<Registers>)>,
    /// Whether nobody knows if that loop gives up.
    pub(crate) undecided: bool,
    /// Whether it stands in a loop that is only taken to wait.
    pub(crate) assumed: bool,
}

impl<W: World> Default for Touched<W> {
    fn default() -> Self {
        Self {
            recent: Turn::default(),
            places: Vec::new(),
            turns: 0,
            varies: false,
            history: 0,
            learned: None,
            looks: Looks::default(),
            stands: None,
            undecided: false,
            assumed: false,
        }
    }
}

/// What an execution knows about spin loops.
pub(crate) struct Spins<W: World> {
    /// Per object, its value or how often it was changed.
    pub(crate) values: Vec<u64>,
    /// Per object, how many steps were taken when it was last changed so that its value does not show it.
    changed_at: FxHashMap<ObjectId, usize>,
    /// A thread that runs alone to see whether it gives up a spin loop.
    pub(crate) alone: Option<Alone<W>>,
}

impl<W: World> Default for Spins<W> {
    fn default() -> Self {
        Self { values: Vec::new(), changed_at: FxHashMap::default(), alone: None }
    }
}

impl<W: World> Touched<W> {
    fn keep(&mut self, new: Seen) {
        self.recent.keep(new);
        self.places.iter_mut().for_each(|place| place.turn.keep(new));
    }

    fn keep_change(&mut self, object: ObjectId, look: Mode, before: u64, now: u64) {
        self.recent.keep_change(object, look, before, now);
        for place in &mut self.places {
            place.turn.keep_change(object, look, before, now);
        }
    }

    /// What it touched since it was last where it spins now.
    pub(crate) fn seen(&self) -> &[Seen] {
        self.places.last().map_or(&[], |place| &place.turn.seen)
    }

    pub(crate) fn history(&self) -> u64 {
        self.history
    }

    /// The next turn counts with this one; it ends with this history, if nothing changes.
    fn goes_on(&mut self, history: u64) {
        if let Some(place) = self.places.last_mut() {
            place.expected = Some(history);
        }
    }

    fn start_turn(&mut self) {
        self.recent.clear();
        if let Some(place) = self.places.last_mut() {
            place.turn.clear();
        }
    }

    /// The thread's visible operations before and after its last turn.
    pub(crate) fn last_turn(&self) -> (u64, u64) {
        let place = self.places.last();
        place.map_or((0, 0), |place| (place.operations - place.in_turn, place.operations))
    }

    fn learn(&mut self, what: u64, value: u64) {
        self.history = mix(mix(self.history, what), value);
        if let Some(turn) = &mut self.learned {
            turn.push((what, value));
        }
    }

    /// From now on keeps in mind what is learned in a turn, and forgets it at its end: then nothing in the
    /// engine differs from turn to turn.
    pub(crate) fn forget_turns(&mut self) {
        self.learned = Some(Vec::new());
    }

    /// Forgets what was learned in a turn that began with `before`. Gives the history that would begin
    /// the next one after `so_far`.
    pub(crate) fn forget_turn(&mut self, before: u64, so_far: u64) -> u64 {
        self.start_turn();
        self.history = before;
        let turn = self.learned.iter_mut().flat_map(|turn| turn.drain(..));
        turn.fold(so_far, |history, (what, value)| mix(mix(history, what), value))
    }

    /// Whether the thread, which spins at `spot`, is at the end of a turn of a loop.
    fn ends_turn(&mut self, spot: W::Spot, operations: u64) -> bool {
        let known = self.places.iter().position(|place| W::is_same(place.spot, spot));
        let Some(known) = known else {
            self.add_place(spot, operations);
            return false;
        };
        self.places[known..].rotate_left(1);
        self.recent.clear();
        let place = self.places.last_mut().expect("it was just found");
        place.in_turn = operations - place.operations;
        place.operations = operations;
        if let Some(history) = place.expected.take() {
            return history == self.history && !place.turn.too_many;
        }
        let objects = place.turn.objects();
        let touched_same = place.last == objects;
        place.last = objects;
        place.free += 1;
        self.varies = !touched_same;
        !place.turn.too_many && (touched_same || place.free > MOST_FREE_TURNS)
    }

    /// The thread spins at a place where it was not yet, or not for long.
    fn add_place(&mut self, spot: W::Spot, operations: u64) {
        if self.places.len() >= MOST_PLACES {
            self.places.remove(0);
        }
        self.varies = true;
        self.places.push(Spinning {
            spot,
            turn: Turn::default(),
            last: self.recent.objects(),
            free: 0,
            operations,
            in_turn: 0,
            expected: None,
        });
    }
}

fn endless<W: World>(thread: &str, spot: W::Spot) -> String {
    let advice = W::advice(Advice::EndlessLoop);
    format!(
        "{thread} went round {MOST_TURNS} times in spin loops, now at {spot}, and changed something, or came to \
         a new state, each time; {advice}"
    )
}

impl<W: Hooks> Engine<W> {
    /// Whether it matters what threads touch: there are spin loops, or operations that may end without reason.
    #[inline]
    pub fn watches(&self) -> bool {
        self.rt().shared.learned.watches.get()
    }

    /// The running thread found `found` in `object` and left `now` there. `look`: the mode in which
    /// it would look again.
    #[inline]
    pub fn saw(&self, object: ObjectId, look: Mode, found: u64, now: u64) {
        if self.watches() {
            self.rt().note_found(object, look, found, now);
        }
    }

    /// Somebody has a lock now, or nobody.
    #[inline]
    pub fn is_held(&self, object: ObjectId, written: bool, read: bool) {
        if self.watches() {
            let rt = self.rt();
            let held = u64::from(written) | u64::from(read) << 1;
            rt.note_value(object, (rt.value(object) & !HELD) | held);
        }
    }

    /// The running thread looked at what a lock guards.
    #[inline]
    pub fn looked_inside(&self, object: ObjectId) {
        if self.watches() {
            let rt = self.rt();
            rt.note_look(object, Mode::Probe, !HELD);
        }
    }

    /// The running thread changed `object` in a way that its value does not show. That it did so
    /// itself is no reason to look again.
    #[inline]
    pub fn changed(&self, object: ObjectId, look: Mode) {
        if self.watches() {
            let rt = self.rt();
            rt.note_change(object, look);
        }
    }

    /// The running thread looked at `object`.
    #[inline]
    pub fn looked(&self, object: ObjectId, look: Mode) {
        if self.watches() {
            let rt = self.rt();
            rt.note_look(object, look, !0);
        }
    }

    /// The running thread came to know something that it does not look at again in a loop: what
    /// others left in `object`, and `more`.
    #[inline]
    pub fn heard(&self, object: ObjectId, more: u64) {
        if self.watches() {
            let rt = self.rt();
            rt.note_heard(object, more);
        }
    }

    /// The running thread's step had alternatives, and this one was taken.
    #[cold]
    pub fn chose(&self, choice: u32) {
        let rt = self.rt();
        rt.threads[rt.now.current].touched.learn(u64::MAX, u64::from(choice));
    }

    /// One turn of a spin loop. Part of the function with the loop, as are those that call it: the frame
    /// of a function that is called anew in each turn has in it what others left there.
    #[inline(always)]
    pub fn spin(&self, verb: &'static str, spot: W::Spot) {
        // Not further down, where the engine has something else on the stack each time.
        let registers = Registers::here();
        self.turn(verb, spot, registers);
    }

    #[inline(never)]
    fn turn(&self, verb: &'static str, spot: W::Spot, registers: Option<Registers>) {
        let rt = self.rt();
        let me = rt.now.current;
        if rt.now.way == Way::Trial {
            return;
        }
        if !rt.shared.learned.spins.get() {
            // What was read so far is not known: again, from the start. What is left of an execution that is
            // over teaches nothing.
            if rt.now.way == Way::Announce {
                rt.shared.learned.spins.set(true);
                rt.shared.learned.watches.set(true);
                rt.learn();
            }
            return;
        }
        let operations = rt.threads[me].operations;
        let touched = &mut rt.threads[me].touched;
        touched.looks.clear();
        if touched.recent.seen.is_empty() {
            return;
        }
        if rt.now.way == Way::Alone {
            return self.turn_alone(spot, registers);
        }
        touched.turns += 1;
        if touched.turns > MOST_TURNS && rt.shared.settings.ends_loops {
            self.give_up(endless::<W>(&rt.thread_name(me), spot));
        }
        if !touched.ends_turn(spot, operations) {
            return touched.start_turn();
        }
        let thread = rt.names.stable_thread(me);
        let key = Key { thread, spot, history: touched.history };
        let decided = match rt.shared.settings.spin_turns {
            0 => Some(Decided::Waits),
            // It is left to the limit of steps that was asked for.
            _ if touched.turns > MOST_TURNS => Some(Decided::GivesUp),
            _ => rt.shared.learned.loops.borrow_mut().decided(key, rt.has_changed(me)),
        };
        let touched = &mut rt.threads[me].touched;
        match decided {
            Some(Decided::GivesUp) => return touched.start_turn(),
            Some(Decided::GoesOn(history)) => return touched.goes_on(history),
            Some(Decided::Waits) => {}
            Some(Decided::Assumed) => touched.assumed = true,
            None => touched.undecided = true,
        }
        touched.stands = Some((key, registers));
        if touched.assumed || rt.shared.settings.spin_turns == 0 {
            rt.shared.assumed.set(Some(spot));
        }
        self.visible(&Spin { verb }, spot);
        self.note_spin();
        let touched = &mut self.rt().threads[me].touched;
        (touched.stands, touched.undecided, touched.assumed) = (None, false, false);
        touched.start_turn();
    }
}

impl<W: Hooks> Engine<W> {
    /// The running step is the end of a turn, and nothing else.
    fn note_spin(&self) {
        let rt = self.rt();
        let last = rt.threads[rt.now.current].last_step.filter(|_| rt.now.way == Way::Announce);
        if let Some(step) = last.and_then(|last| rt.log.get_mut(last)) {
            step.spins = true;
        }
        self.note(|_| SPIN_STEP.to_owned());
    }
}

// Not part of the functions that call them: there, numbers that differ from turn to turn would be left
// in registers and on the stack, and the code would seem to come to a new state each time.
impl<W: Hooks> Runtime<W> {
    #[inline(never)]
    fn note_found(&mut self, object: ObjectId, look: Mode, found: u64, now: u64) {
        self.note_seen(object, look, W::steady(self, found), !0);
        self.note_value(object, W::steady(self, now));
    }

    #[inline(never)]
    fn note_seen(&mut self, object: ObjectId, look: Mode, value: u64, bits: u64) {
        let touched = &mut self.threads[self.now.current].touched;
        touched.keep(Seen { object, look, value, bits });
        touched.learn(self.names.stable(object), value);
    }

    #[inline(never)]
    fn note_look(&mut self, object: ObjectId, look: Mode, bits: u64) {
        self.note_seen(object, look, self.value(object) & bits, bits);
    }

    #[inline(never)]
    fn note_heard(&mut self, object: ObjectId, more: u64) {
        let value = self.value(object) & !HELD;
        self.threads[self.now.current].touched.learn(value, more);
    }

    fn value(&self, object: ObjectId) -> u64 {
        self.now.spins.values.get(object.index()).copied().unwrap_or(0)
    }

    #[inline(never)]
    fn note_value(&mut self, object: ObjectId, value: u64) {
        if self.now.spins.values.len() <= object.index() {
            self.now.spins.values.resize(self.names.len().max(object.index() + 1), 0);
        }
        self.now.spins.values[object.index()] = value;
    }

    /// The new value stands for the running thread and all that it knew when it changed the object.
    #[inline(never)]
    fn note_change(&mut self, object: ObjectId, look: Mode) {
        let before = self.value(object);
        let me = self.names.stable_thread(self.now.current);
        let touched = &mut self.threads[self.now.current].touched;
        touched.learn(self.names.stable(object), before & !HELD);
        let now = (mix(mix(before & !HELD, me), touched.history) & !HELD) | (before & HELD);
        touched.keep_change(object, look, before, now);
        self.note_value(object, now);
        if let Some(step) = self.threads[self.now.current].last_step {
            self.now.spins.changed_at.insert(object, step + 1);
        }
    }

    /// Whether something that the thread saw differs now.
    pub(crate) fn has_changed(&self, thread: usize) -> bool {
        let seen = self.threads[thread].touched.seen();
        seen.iter().any(|seen| seen.differs_from(self.value(seen.object)))
    }

    /// If nothing differs but what locks guard, a number for that: others had the locks, but they may
    /// have changed nothing.
    pub(crate) fn changed_inside(&self, thread: usize) -> Option<u64> {
        let seen = self.threads[thread].touched.seen();
        let differs = |seen: &&Seen| seen.differs_from(self.value(seen.object));
        let only_inside = seen.iter().filter(differs).all(Seen::is_guarded);
        let number = |number, seen: &Seen| mix(number, self.value(seen.object) & seen.bits);
        (only_inside && self.has_changed(thread)).then(|| seen.iter().fold(0, number))
    }

    /// How many steps were taken when a thread had come to stand still and all that it saw was last changed.
    pub(crate) fn changed_after(&self, thread: usize) -> usize {
        let thread = &self.threads[thread];
        let changed = thread
            .touched
            .seen()
            .iter()
            .filter_map(|seen| self.now.spins.changed_at.get(&seen.object));
        let stood = thread.last_step.map_or(0, |step| step + 1);
        changed.copied().fold(stood, usize::max)
    }

    /// Whether a thread that stands still in a loop goes on.
    fn is_woken(&self, thread: usize) -> bool {
        let Some((key, _)) = self.threads[thread].touched.stands else { return true };
        self.has_changed(thread)
            && !self.changed_inside(thread).is_some_and(|inside| {
                let loops = self.shared.learned.loops.borrow();
                loops.turn(key, inside) == Some(TurnDoes::Nothing)
            })
    }
}

/// Waits until something that the thread read has changed.
struct Spin {
    verb: &'static str,
}

impl<W: Hooks> Operation<Runtime<W>> for Spin {
    fn is_enabled(&self, rt: &Runtime<W>, me: usize) -> bool {
        rt.is_woken(me)
    }

    fn effect(&self, rt: &mut Runtime<W>, me: usize, _choice: u32, effect: &mut Effect) {
        for seen in rt.threads[me].touched.seen() {
            effect.footprint.add(seen.object, seen.look);
        }
        effect.flexibility = Flexibility::Blocking;
    }

    fn text(&self, _rt: &Runtime<W>, _me: usize) -> String {
        self.verb.to_owned()
    }

    fn waits_for(&self, rt: &Runtime<W>, me: usize) -> Option<(String, Vec<usize>)> {
        let seen = rt.threads[me].touched.seen();
        let names: Vec<_> = seen.iter().map(|seen| rt.object_name(seen.object)).collect();
        Some((format!("spins, and waits for a change of {}", names.join(", ")), Vec::new()))
    }
}
