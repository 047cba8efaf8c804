//! Taking and releasing locks: the operations of mutexes and reader-writer locks.

use std::cell::Cell;
use std::num::NonZero;

use selvedge_core::{Effect, Flexibility, Mode, ObjectId, ValueChange, ViolationKind};

use crate::rt::{
    Content, Engine, Found, Observed, Operation, Runtime, Spot, Subject, Touch, Waits, Wants,
    is_unwinding,
};

/// The state of a lock. It lives in the lock itself.
pub(crate) struct Lock {
    /// The thread that holds it for writing.
    owner: Cell<Option<Holder>>,
    /// How often it is held for reading.
    reading: Cell<u32>,
    poisoned: Cell<bool>,
    /// How many writers said that they wait; see `waiting_writers.rs`.
    pub(super) waiting: Cell<u32>,
}

/// A thread that holds a lock, by its number counted from 1.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Holder(NonZero<u32>);

impl Holder {
    fn new(thread: usize) -> Self {
        Self(NonZero::<u32>::MIN.saturating_add(thread as u32))
    }

    fn thread(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// How a lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hold {
    /// A mutex.
    Alone,
    /// A reader-writer lock, for writing.
    Write,
    /// A reader-writer lock, for reading.
    Read,
}

impl Hold {
    fn verb(self) -> &'static str {
        match self {
            Hold::Alone => "lock",
            Hold::Write => "write",
            Hold::Read => "read",
        }
    }

    fn mode(self) -> Mode {
        match self {
            Hold::Alone | Hold::Write => Mode::Acquire,
            Hold::Read => Mode::ShareAcquire,
        }
    }
}

impl Lock {
    pub(crate) const fn new() -> Self {
        Self {
            owner: Cell::new(None),
            reading: Cell::new(0),
            poisoned: Cell::new(false),
            waiting: Cell::new(0),
        }
    }

    /// As it was made: for static locks.
    pub(crate) fn reset(&self) {
        self.owner.set(None);
        self.reading.set(0);
        self.poisoned.set(false);
        self.waiting.set(0);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.get()
    }

    /// Returns whether it is free.
    pub(crate) fn is_unused(&self) -> bool {
        self.is_free(Hold::Write)
    }

    pub(super) fn poison(&self) {
        self.poisoned.set(true);
    }

    pub(crate) fn clear_poison(&self) {
        self.poisoned.set(false);
    }

    #[inline]
    pub(super) fn is_free(&self, hold: Hold) -> bool {
        self.owner.get().is_none() && (hold != Hold::Write || self.reading.get() == 0)
    }

    /// Returns whether taking it would wait for the thread itself.
    #[inline]
    pub(super) fn is_own(&self, rt: &Runtime, object: ObjectId, hold: Hold, me: usize) -> bool {
        self.owner.get() == Some(Holder::new(me))
            || (hold == Hold::Write && self.is_read() && rt.now.leaks.is_held_by(object, me))
    }

    /// Returns whether a thread holds it for reading.
    pub(super) fn is_read(&self) -> bool {
        self.reading.get() > 0
    }

    pub(super) fn holders(&self, rt: &Runtime, object: ObjectId) -> Vec<usize> {
        match self.owner.get() {
            Some(owner) => vec![owner.thread()],
            None => rt.now.leaks.holders(object),
        }
    }

    #[inline]
    fn take(&self, hold: Hold, me: usize) {
        match hold {
            Hold::Alone | Hold::Write => self.owner.set(Some(Holder::new(me))),
            Hold::Read => self.reading.set(self.reading.get() + 1),
        }
    }

    /// Takes it in the running step. Whether what it guards is changed is seen by comparing memory before it is taken with
    /// memory after it is given up: the lock itself lies in that memory, and must be the same both times.
    #[inline]
    fn take_noted(&self, engine: &Engine, object: ObjectId, hold: Hold, content: Content) {
        if hold != Hold::Read {
            engine.observed(object, Observed::Takes(content));
        }
        self.take(hold, engine.me());
    }

    #[inline]
    fn give_up(&self, hold: Hold) {
        match hold {
            Hold::Alone | Hold::Write => self.owner.set(None),
            Hold::Read => self.reading.set(self.reading.get().saturating_sub(1)),
        }
    }

    /// What an operation that wants this finds.
    #[inline]
    fn found(&self, wants: Wants) -> Found {
        let (written, read) = (self.owner.get().is_some(), self.reading.get() > 0);
        Found::Lock { written, read, wants }
    }

    /// Takes it, when that is possible. `content`: what it guards.
    #[inline]
    pub(crate) fn acquire(
        &self,
        engine: &Engine,
        object: ObjectId,
        hold: Hold,
        content: Content,
        spot: Spot,
    ) {
        if engine.asks() {
            if self.is_own(engine.rt(), object, hold, engine.me()) && !is_unwinding() {
                self.refuse(engine, object, hold, spot);
            }
            self.ask_acquire(engine, &Acquire { object, lock: self, hold }, spot);
            self.acquired(engine, object, hold, content, spot);
            engine.note(|rt| format!("{} {}", hold.verb(), rt.object_name(object)));
            return;
        }
        if hold != Hold::Alone {
            engine.rt().uses_rwlock();
        }
        if hold == Hold::Read && engine.rt().may_queue(object) {
            self.queue(engine, object, spot);
        }
        let announces = hold == Hold::Write && engine.rt().is_announced(object);
        if !announces || !self.take_or_announce(engine, object, spot) {
            engine.visible(&Acquire { object, lock: self, hold }, spot);
            if announces {
                self.waiting.set(self.waiting.get().saturating_sub(1));
            }
        }
        self.acquired(engine, object, hold, content, spot);
        engine.note(|rt| format!("{} {}", hold.verb(), rt.object_name(object)));
    }

    /// The lock was waited for and is free.
    #[inline]
    pub(crate) fn acquired(
        &self,
        engine: &Engine,
        object: ObjectId,
        hold: Hold,
        content: Content,
        spot: Spot,
    ) {
        let me = engine.me();
        if self.is_own(engine.rt(), object, hold, me) && !is_unwinding() {
            self.refuse(engine, object, hold, spot);
        }
        // One that says that it waits would do so elsewhere.
        if hold != Hold::Write || !engine.rt().is_announced(object) {
            engine.found(object, self.found(Wants::Lock(hold.mode())));
        }
        let before = self.told(engine, object, content);
        self.take_noted(engine, object, hold, content);
        engine.rt().now.leaks.hold(object, me, spot);
        self.note_state(engine, object);
        self.note_values(engine, object, content, before);
        engine.observed(object, Observed::Inside);
        if self.is_poisoned() {
            engine.observed(object, Observed::Heard(1));
        }
    }

    #[cold]
    fn refuse(&self, engine: &Engine, object: ObjectId, hold: Hold, spot: Spot) -> ! {
        let rt = engine.rt();
        let (me, name) = (rt.thread_name(rt.now.current), rt.object_name(object));
        let held = rt.now.leaks.held_at(object, rt.now.current);
        let message = format!(
            "{me} takes {name} again ({}), which it holds already: it would wait for itself",
            hold.verb()
        );
        let mut spots = vec![spot];
        spots.extend(held);
        engine.fail(ViolationKind::Misuse, message, &spots)
    }

    /// Takes it if that is possible now.
    pub(crate) fn try_acquire(
        &self,
        engine: &Engine,
        object: ObjectId,
        hold: Hold,
        content: Content,
        spot: Spot,
    ) -> bool {
        if hold == Hold::Read && !engine.asks() {
            engine.rt().uses_rwlock();
            engine.rt().tries_to_read(object);
        }
        let try_acquire = TryAcquire { object, lock: self, hold };
        let (free, choice) = match engine.asks() {
            true => (self.ask_try(engine, &try_acquire, spot), 0),
            false => {
                let choice = engine.visible(&try_acquire, spot);
                // Writers that wait are in the way.
                (self.is_free(hold) && choice == 0, choice)
            }
        };
        if hold != Hold::Read || !engine.rt().is_announced(object) {
            engine.found(object, self.found(Wants::Try(hold.mode())));
        }
        let me = engine.me();
        let before = self.told(engine, object, content);
        if free {
            self.take_noted(engine, object, hold, content);
            self.note_state(engine, object);
            engine.rt().now.leaks.hold(object, me, spot);
        }
        self.note_values(engine, object, content, before);
        match free || self.is_own(engine.rt(), object, hold, me) {
            true => engine.observed(object, Observed::Inside),
            false => engine.observed(object, Observed::Looked(Mode::Probe)),
        }
        if !free {
            engine.only_looked(object, spot);
        }
        engine
            .observed(object, Observed::Heard(u64::from(free) + 2 * u64::from(self.is_poisoned())));
        engine.note(|rt| {
            let result = match free {
                true => "taken",
                false if choice == 1 => "would wait: a writer waits",
                false => "would wait",
            };
            format!("try_{} {} → {result}", hold.verb(), rt.object_name(object))
        });
        free
    }

    /// Releases it. `left`: what it guards, and what became of it.
    #[inline]
    pub(crate) fn release(
        &self,
        engine: &Engine,
        object: ObjectId,
        hold: Hold,
        left: (Content, Observed),
        spot: Spot,
    ) {
        let (mode, verb) = match hold {
            Hold::Alone | Hold::Write => (Mode::Release, "unlock"),
            Hold::Read => (Mode::ShareRelease, "unlock (read)"),
        };
        let touch = Touch { object, mode, verb, order: None };
        match engine.asks() {
            true => self.ask_release(engine, &touch, hold, spot),
            false => _ = engine.visible(&touch, spot),
        }
        self.released(engine, object, hold, left);
    }

    /// Goes on with it for reading, in one step.
    pub(crate) fn downgrade(
        &self,
        engine: &Engine,
        object: ObjectId,
        content: Content,
        spot: Spot,
    ) {
        let (mode, verb) = (Mode::Update, "downgrade");
        let touch = Touch { object, mode, verb, order: None };
        match engine.asks() {
            true => self.ask_downgrade(engine, &touch, spot),
            false => _ = engine.visible(&touch, spot),
        }
        self.released(engine, object, Hold::Write, (content, Observed::Gave(content)));
        self.take(Hold::Read, engine.me());
        self.note_state(engine, object);
        engine.rt().now.leaks.hold(object, engine.me(), spot);
        self.note_values(engine, object, content, None);
    }

    #[inline]
    pub(crate) fn released(
        &self,
        engine: &Engine,
        object: ObjectId,
        hold: Hold,
        (content, left): (Content, Observed),
    ) {
        let me = engine.me();
        let before = self.told(engine, object, content);
        engine.found(object, self.found(Wants::Nothing));
        self.give_up(hold);
        engine.rt().now.leaks.let_go(object, me);
        self.note_state(engine, object);
        self.note_values(engine, object, content, before);
        engine.observed(object, left);
    }

    /// In replays: who has it, and what it guards.
    #[inline]
    fn told(&self, engine: &Engine, object: ObjectId, content: Content) -> Option<String> {
        engine.is_told().then(|| self.in_words(engine.rt(), object, content))
    }

    #[cold]
    fn in_words(&self, rt: &Runtime, object: ObjectId, content: Content) -> String {
        let names: Vec<String> =
            self.holders(rt, object).into_iter().map(|thread| rt.thread_name(thread)).collect();
        let held = match (names.is_empty(), self.is_read()) {
            (true, _) => "free".to_owned(),
            (false, true) => format!("read by {}", names.join(", ")),
            (false, false) => format!("held by {}", names.join(", ")),
        };
        match (content.shown)(content.address) {
            Some(value) => format!("{value} ({held})"),
            None => held,
        }
    }

    #[inline]
    fn note_values(
        &self,
        engine: &Engine,
        object: ObjectId,
        content: Content,
        before: Option<String>,
    ) {
        let after = self.told(engine, object, content);
        engine.note_values(object, |_| ValueChange { before, after });
    }

    /// For threads that try to take it in a loop.
    fn note_state(&self, engine: &Engine, object: ObjectId) {
        engine.observed(
            object,
            Observed::Held { written: self.owner.get().is_some(), read: self.reading.get() > 0 },
        );
    }
}

/// Waits for a lock and takes it.
pub(crate) struct Acquire<'a> {
    pub(crate) object: ObjectId,
    pub(crate) lock: &'a Lock,
    pub(crate) hold: Hold,
}

impl Operation<Runtime> for Acquire<'_> {
    #[inline]
    fn is_subject_to(&self) -> Subject {
        Subject::Waiting
    }

    #[inline]
    fn is_enabled(&self, rt: &Runtime, me: usize) -> bool {
        // Taking it twice shows at once.
        self.lock.is_free(self.hold) || self.lock.is_own(rt, self.object, self.hold, me)
    }

    #[inline]
    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        if self.lock.is_own(rt, self.object, self.hold, me) {
            effect.footprint.add(self.object, Mode::Probe);
            return;
        }
        effect.footprint.add(self.object, self.hold.mode());
        effect.flexibility = match self.hold {
            Hold::Alone => Flexibility::Lock,
            Hold::Write | Hold::Read => Flexibility::Blocking,
        };
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("{} {}", self.hold.verb(), rt.object_name(self.object))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        Some((
            format!("waits for {}", rt.object_name(self.object)),
            self.lock.holders(rt, self.object),
        ))
    }

    fn waits(&self) -> Waits {
        Waits::Lock { object: self.object, reads: self.hold == Hold::Read }
    }
}

pub(super) struct TryAcquire<'a> {
    pub(super) object: ObjectId,
    lock: &'a Lock,
    pub(super) hold: Hold,
}

impl TryAcquire<'_> {
    /// Returns whether it may fail although no writer holds the lock.
    fn is_open(&self) -> bool {
        self.hold == Hold::Read && self.lock.waiting.get() > 0 && self.lock.is_free(Hold::Read)
    }
}

impl Operation<Runtime> for TryAcquire<'_> {
    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
        if self.is_open() { 2 } else { 1 }
    }

    /// As long as a writer waits, it may fail.
    fn left_alone(&self) -> Option<u32> {
        Some(1)
    }

    fn waits(&self) -> Waits {
        Waits::Never
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let mode = match self.lock.is_free(self.hold) {
            // Both alternatives touch the same.
            _ if self.is_open() => Mode::Update,
            true => self.hold.mode(),
            false => Mode::Probe,
        };
        effect.footprint.add(self.object, mode);
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("try_{} {}", self.hold.verb(), rt.object_name(self.object))
    }
}

/// A step on the poison of a lock.
pub(super) struct TouchPoison {
    pub(super) lock: ObjectId,
    pub(super) poison: ObjectId,
    pub(super) what: Poison,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Poison {
    /// Looks whether there is any.
    Look,
    /// Leaves some; called only by the exclusive holder of the lock.
    Leave,
    /// Takes it away.
    Clear,
}

impl Operation<Runtime> for TouchPoison {
    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let mode = if self.what == Poison::Look { Mode::Read } else { Mode::Write };
        effect.footprint.add(self.poison, mode);
        // Who takes the lock finds poison or not: only then it looks again.
        if self.what == Poison::Clear {
            effect.footprint.add(self.lock, Mode::Probe);
        }
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        let verb = match self.what {
            Poison::Look => "is_poisoned",
            Poison::Leave => "poison",
            Poison::Clear => "clear_poison",
        };
        format!("{verb} {}", rt.object_name(self.lock))
    }
}
