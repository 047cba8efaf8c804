//! What a thread touched in a turn of a loop.

use selvedge_core::{Mode, ObjectId};

use super::key::Key;
use crate::caps::Caps;
use crate::fresh::Fresh;
use crate::names::mix;
use crate::world::World;

/// The bits of a lock's value that say who has it. The others stand for what it guards.
pub(super) const HELD: u64 = 0b11;

/// Something that a thread saw.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) object: ObjectId,
    /// How to look at it.
    pub(super) look: Mode,
    pub(super) value: u64,
    /// The bits of the value that matter.
    pub(super) bits: u64,
}

impl Seen {
    pub(super) fn differs_from(&self, now: u64) -> bool {
        (self.value ^ now) & self.bits != 0
    }

    /// Returns whether this is what a lock guards: it may be the same as before although another thread held the lock.
    pub(super) fn is_guarded(&self) -> bool {
        self.bits == !HELD
    }
}

/// What a thread touched since some point.
#[derive(Default)]
pub(super) struct Turn {
    pub(super) seen: Vec<Seen>,
    /// Whether there was more than can be kept in mind.
    too_many: bool,
}

impl Turn {
    /// Keeps what was seen first in this turn: if it changes within the turn, the next one differs.
    pub(super) fn keep(&mut self, new: Seen, most: usize) {
        match self.seen.iter_mut().find(|seen| seen.object == new.object) {
            Some(known) => {
                // It may have seen what a lock guards, and then that another has it.
                let more = new.bits & !known.bits;
                known.value = (known.value & !more) | (new.value & more);
                known.bits |= more;
            }
            None => {
                self.too_many |= self.seen.len() >= most;
                if !self.too_many {
                    self.seen.push(new);
                }
            }
        }
    }

    /// Keeps that the thread itself changed something, which is no reason to look again.
    pub(super) fn keep_change(
        &mut self,
        object: ObjectId,
        look: Mode,
        before: u64,
        now: u64,
        most: usize,
    ) {
        match self.seen.iter_mut().find(|seen| seen.object == object) {
            Some(seen) if !seen.differs_from(before) => seen.value = now,
            Some(_) => {}
            None => self.keep(Seen { object, look, value: now, bits: !HELD }, most),
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

/// The state of a thread's code at the end of a turn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct TurnEnd {
    /// A number for its stack and the memory of checked code.
    memory: u128,
    /// A number for the alternatives that it took since the end of a turn before: what it left in its frames depends on them,
    /// or does not, as the compiler lays out frames.
    choices: u64,
}

/// The end of a turn, when states are compared.
struct Passed<W: World> {
    spot: W::Spot,
    state: Option<TurnEnd>,
    /// Values of all objects.
    values: Vec<u64>,
    /// Whether it came there from elsewhere: then its frames may have what code before the loop left in them.
    is_first: bool,
    /// Whether the turn ended as it began: an operation may have alternatives, and alone it takes one of them.
    repeats: bool,
}

/// What a thread touched since it last spun.
pub(super) struct Touched<W: World> {
    caps: Caps,
    /// Since it last spun anywhere.
    pub(super) recent: Turn,
    /// Where it spun, the place of the last time at the end.
    places: Vec<Spinning<W>>,
    /// How many turns it made anywhere.
    pub(super) turns: u32,
    /// Whether it touched something else than in the turn before.
    pub(super) varies: bool,
    /// All that it came to know so far, as one number: with the same it is in the same state.
    history: u64,
    /// While it is tried out: what it learned in this turn.
    learned: Option<Vec<(u64, u64)>>,
    /// A number for the alternatives that it took since the end of a turn, and up to that.
    choices: u64,
    choices_before: u64,
    /// The end of its last turn.
    passed: Option<Passed<W>>,
    /// Where it stands in a loop.
    pub(super) stands: Option<Key<W>>,
    /// Whether it is unknown if that loop gives up.
    pub(super) undecided: bool,
    /// Whether it stands in a loop that is only taken to wait.
    pub(super) assumed: bool,
}

impl<W: World> Fresh for Touched<W> {
    fn fresh(last: Self) -> Self {
        let recent = Turn { seen: Vec::fresh(last.recent.seen), too_many: false };
        Self { recent, places: Vec::fresh(last.places), ..Self::new(last.caps) }
    }
}

impl<W: World> Touched<W> {
    pub(super) fn new(caps: Caps) -> Self {
        Self {
            caps,
            recent: Turn::default(),
            places: Vec::new(),
            turns: 0,
            varies: false,
            history: 0,
            learned: None,
            choices: 0,
            choices_before: 0,
            passed: None,
            stands: None,
            undecided: false,
            assumed: false,
        }
    }

    /// It took this alternative of an operation.
    pub(super) fn choose(&mut self, choice: u32) {
        self.learn(u64::MAX, u64::from(choice));
        // With what it saw before, that says at which operation.
        self.choices = mix(mix(self.choices, self.recent.seen.len() as u64), u64::from(choice));
    }

    /// It comes to the end of a turn: from now on other choices count.
    pub(super) fn end_choices(&mut self) {
        self.choices_before = std::mem::take(&mut self.choices);
    }

    /// Its state, if it came to the end of a turn and memory is like this.
    pub(super) fn at_end(&self, memory: Option<u128>) -> Option<TurnEnd> {
        memory.map(|memory| TurnEnd { memory, choices: self.choices_before })
    }

    /// It comes to the end of a turn.
    pub(super) fn passes(&mut self, spot: W::Spot, state: Option<TurnEnd>, values: Vec<u64>) {
        let before = self.passed.take().filter(|before| W::is_same(before.spot, spot));
        let repeats = before.as_ref().is_some_and(|before| {
            !before.is_first && state.is_some() && before.state == state && before.values == values
        });
        self.passed = Some(Passed { spot, state, values, is_first: before.is_none(), repeats });
    }

    /// Returns whether its last turn ended as it began.
    pub(super) fn repeats(&self) -> bool {
        self.passed.as_ref().is_some_and(|passed| passed.repeats)
    }

    pub(super) fn keep(&mut self, new: Seen) {
        let most = self.caps.objects;
        self.recent.keep(new, most);
        self.places.iter_mut().for_each(|place| place.turn.keep(new, most));
    }

    pub(super) fn keep_change(&mut self, object: ObjectId, look: Mode, before: u64, now: u64) {
        let most = self.caps.objects;
        self.recent.keep_change(object, look, before, now, most);
        for place in &mut self.places {
            place.turn.keep_change(object, look, before, now, most);
        }
    }

    /// What it touched since it was last where it spins now.
    pub(super) fn seen(&self) -> &[Seen] {
        self.places.last().map_or(&[], |place| &place.turn.seen)
    }

    pub(super) fn history(&self) -> u64 {
        self.history
    }

    /// The next turn counts with this one; it ends with this history, if nothing changes.
    pub(super) fn goes_on(&mut self, history: u64) {
        if let Some(place) = self.places.last_mut() {
            place.expected = Some(history);
        }
    }

    pub(super) fn start_turn(&mut self) {
        self.recent.clear();
        if let Some(place) = self.places.last_mut() {
            place.turn.clear();
        }
    }

    /// The thread's visible operations before and after its last turn.
    pub(super) fn last_turn(&self) -> (u64, u64) {
        let place = self.places.last();
        place.map_or((0, 0), |place| (place.operations - place.in_turn, place.operations))
    }

    pub(super) fn learn(&mut self, what: u64, value: u64) {
        self.history = mix(mix(self.history, what), value);
        if let Some(turn) = &mut self.learned {
            turn.push((what, value));
        }
    }

    /// From now on keeps in mind what is learned in a turn, and forgets it at its end: then nothing in the
    /// engine differs from turn to turn.
    pub(super) fn forget_turns(&mut self) {
        self.learned = Some(Vec::new());
    }

    /// Forgets what was learned in a turn that began with `before`. Returns the history that would begin
    /// the next one after `so_far`.
    pub(super) fn forget_turn(&mut self, before: u64, so_far: u64) -> u64 {
        self.start_turn();
        self.history = before;
        let turn = self.learned.iter_mut().flat_map(|turn| turn.drain(..));
        turn.fold(so_far, |history, (what, value)| mix(mix(history, what), value))
    }

    /// Returns whether the thread, which spins at `spot`, is at the end of a turn of a loop.
    pub(super) fn ends_turn(&mut self, spot: W::Spot, operations: u64) -> bool {
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
        !place.turn.too_many && (touched_same || place.free > self.caps.free_turns)
    }

    /// The thread spins at a place where it was not yet, or not for long.
    fn add_place(&mut self, spot: W::Spot, operations: u64) {
        if self.places.len() >= self.caps.places {
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
