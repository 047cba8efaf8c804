//! A channel with a bound. Sending or receiving a message accesses the whole channel: with a bound,
//! each decides whether others can.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, TrySendError};

use selvedge_core::{Effect, Flexibility, Mode, ObjectId, Order};

use super::refuse::refuse;
use super::senders::Senders;
use super::{meeting, words};
use crate::rt::knowers::Passed;
use crate::rt::{Engine, Header, Observed, Operation, Runtime, Spot, Touch};

pub(super) struct Bounded<T> {
    header: Header,
    bound: usize,
    queue: RefCell<VecDeque<T>>,
    /// How many messages were put in, and how many taken out.
    sent: Cell<u64>,
    taken: Cell<u64>,
    senders: Senders,
    receiver: Cell<bool>,
    /// Without room, whether the receiver is there to meet a sender.
    meets: Cell<bool>,
}

/// The objects of a channel.
#[derive(Clone, Copy)]
struct Objects {
    channel: ObjectId,
    /// How many senders there are: each that goes arrives here.
    senders: ObjectId,
}

impl<T> Bounded<T> {
    pub(super) fn new(bound: usize, created: Spot) -> Self {
        Self {
            header: Header::new(created),
            bound,
            queue: RefCell::new(VecDeque::new()),
            sent: Cell::new(0),
            taken: Cell::new(0),
            senders: Senders::one(),
            receiver: Cell::new(true),
            meets: Cell::new(false),
        }
    }

    fn objects(&self, engine: &Engine) -> Objects {
        let channel = self.header.object(engine, "sync_channel", refuse);
        Objects { channel, senders: self.header.part(engine, channel, "senders", 1) }
    }

    fn has_message(&self) -> bool {
        !self.queue.borrow().is_empty()
    }

    fn is_gone(&self) -> bool {
        self.senders.are_gone()
    }

    /// Waits for room; without any, waits until the message was taken.
    pub(super) fn send(&self, message: T, spot: Spot) -> Result<(), T> {
        let engine = Engine::enter();
        let channel = self.objects(&engine).channel;
        let room = || !self.receiver.get() || self.queue.borrow().len() < self.bound.max(1);
        let (puts, waits) = (|| self.receiver.get(), Some("to have room"));
        let put = Put { channel, ready: &room, writes: &puts, verb: "send", waits };
        let found = match engine.asks() {
            true if self.bound == 0 => {
                let (ready, next) = (meeting::has_room_or_end, meeting::sent);
                let word = engine.word(channel, 0);
                word.wait_and_update(Order::AcqRel, &ready, &next, &put, spot)
            }
            true => {
                let ready = |word| words::has_room_or_end(word, self.bound);
                let word = engine.word(channel, 0);
                word.wait_and_update(Order::AcqRel, &ready, &words::sent, &put, spot)
            }
            false => {
                engine.visible(&put, spot);
                None
            }
        };
        if !self.receiver.get() {
            self.refused(&engine, channel, "send", "the receiver is gone");
            return Err(message);
        }
        let ticket = self.put(&engine, channel, "send", message);
        if self.bound > 0 {
            return Ok(());
        }
        let over = || self.taken.get() > ticket || !self.receiver.get();
        let (takes_back, waits) = (|| self.taken.get() <= ticket, Some("to be received from"));
        let meet = Put { channel, ready: &over, writes: &takes_back, verb: "meet at", waits };
        let is_taken = match found.filter(|_| engine.asks()) {
            Some(found) => {
                let word = engine.word(channel, 0);
                let is_taken = |word| meeting::taken(word) != meeting::taken(found);
                let is_over = |word| is_taken(word) || meeting::is_left(word);
                word.wait(Order::Acquire, &is_over, &meet, spot).map(is_taken)
            }
            None => {
                engine.visible(&meet, spot);
                None
            }
        };
        if is_taken.unwrap_or_else(|| self.taken.get() > ticket) {
            engine.observed(channel, Observed::Looked(Mode::Read));
            return Ok(());
        }
        self.refused(&engine, channel, "meet at", "the receiver is gone");
        self.queue.borrow_mut().pop_back().map_or(Ok(()), Err)
    }

    pub(super) fn try_send(&self, message: T, spot: Spot) -> Result<(), TrySendError<T>> {
        let engine = Engine::enter();
        let channel = self.objects(&engine).channel;
        let has_room = || match self.bound {
            0 => self.meets.get() && !self.has_message(),
            bound => self.queue.borrow().len() < bound,
        };
        let puts = || self.receiver.get() && has_room();
        let (verb, always) = ("try_send", || true);
        let put = Put { channel, ready: &always, writes: &puts, verb, waits: None };
        if engine.asks() {
            let has_room =
                |word| !meeting::is_left(word) && words::length(word) < self.bound as u64;
            let word = engine.word(channel, 0);
            let found = match self.bound {
                0 => word.attempt(words::TAKES, &meeting::meets, &meeting::sent, &put, spot),
                _ => word.attempt(words::TAKES, &has_room, &words::sent, &put, spot),
            };
            if let Some(Err(word)) = found {
                engine.note(|rt| format!("{verb} {}: no room", rt.object_name(channel)));
                return Err(words::no_room(word, message));
            }
        } else {
            engine.visible(&put, spot);
        }
        if puts() {
            self.put(&engine, channel, verb, message);
            return Ok(());
        }
        let gone = !self.receiver.get();
        self.refused(&engine, channel, verb, if gone { "the receiver is gone" } else { "full" });
        Err(if gone { TrySendError::Disconnected(message) } else { TrySendError::Full(message) })
    }

    /// Puts a message in; returns its number.
    fn put(&self, engine: &Engine, channel: ObjectId, verb: &str, message: T) -> u64 {
        Passed::of(&message).leaves(engine.rt());
        self.queue.borrow_mut().push_back(message);
        engine.observed(channel, Observed::Changed(Mode::Read));
        engine.note(|rt| format!("{verb} {}", rt.object_name(channel)));
        self.sent.replace(self.sent.get() + 1)
    }

    fn refused(&self, engine: &Engine, channel: ObjectId, verb: &str, why: &str) {
        engine.observed(channel, Observed::Looked(Mode::Read));
        engine.note(|rt| format!("{verb} {}: {why}", rt.object_name(channel)));
    }

    pub(super) fn add_sender(&self, spot: Spot) {
        self.senders.add(|engine| self.objects(engine).channel, spot);
    }

    pub(super) fn drop_sender(&self, spot: Spot) {
        let objects = |engine: &Engine| {
            let objects = self.objects(engine);
            (objects.channel, objects.senders)
        };
        self.senders.drop_one(objects, spot);
    }

    pub(super) fn drop_receiver(&self, spot: Spot) {
        if let Some(engine) = Engine::try_enter() {
            let object = self.objects(&engine).channel;
            let (mode, verb) = (Mode::Update, "drop the receiver of");
            let touch = Touch { object, mode, verb, order: None };
            engine.update_word(object, Order::AcqRel, &words::without_receiver, &touch, spot);
            engine.observed(object, Observed::Changed(Mode::Read));
        }
        self.receiver.set(false);
        // Senders that wait for their message to be taken get it back.
        if self.bound > 0 {
            let rest = std::mem::take(&mut *self.queue.borrow_mut());
            drop(rest);
        }
    }

    /// The oldest message. With `timed`, the time may be up before one comes.
    pub(super) fn receive(&self, timed: bool, spot: Spot) -> Result<T, RecvTimeoutError> {
        let engine = Engine::enter();
        let objects = self.objects(&engine);
        let (has, gone) = (|| self.has_message(), || self.is_gone());
        let take = Take { objects, has: &has, gone: &gone, kind: Kind::Waits { timed } };
        if engine.asks() {
            return self.ask_receive(&engine, objects, &take, timed, spot);
        }
        if timed || self.bound == 0 {
            let kind = Kind::Begins { timed, meets: self.bound == 0 };
            if engine.visible(&Take { kind, ..take }, spot) == 1 {
                engine.observed(objects.channel, Observed::Looked(Mode::Read));
                engine.observed(objects.senders, Observed::Looked(Mode::Pass));
                engine.note(|rt| {
                    format!("recv_timeout {}: time is up", rt.object_name(objects.channel))
                });
                return Err(RecvTimeoutError::Timeout);
            }
        }
        if self.bound == 0 {
            if has() || gone() {
                return self.take(&engine, objects, "recv").ok_or(RecvTimeoutError::Disconnected);
            }
            self.meets.set(true);
            engine.observed(objects.channel, Observed::Changed(Mode::Read));
        }
        engine.visible(&take, spot);
        self.meets.set(false);
        self.take(&engine, objects, "recv").ok_or(RecvTimeoutError::Disconnected)
    }

    /// The same, under a memory model. A message that comes too late is one that is not seen.
    fn ask_receive(
        &self,
        engine: &Engine,
        objects: Objects,
        take: &Take<'_>,
        timed: bool,
        spot: Spot,
    ) -> Result<T, RecvTimeoutError> {
        let word = engine.word(objects.channel, 0);
        let time_is_up = || {
            engine
                .note(|rt| format!("recv_timeout {}: time is up", rt.object_name(objects.channel)));
            Err(RecvTimeoutError::Timeout)
        };
        if self.bound > 0 {
            let (ready, next) = (words::has_message_or_end, words::received);
            let is_there = match timed {
                true => word
                    .attempt(words::TAKES, &ready, &next, take, spot)
                    .is_none_or(|it| it.is_ok()),
                false => {
                    word.wait_and_update(Order::AcqRel, &ready, &next, take, spot);
                    true
                }
            };
            let nothing = RecvTimeoutError::Disconnected;
            return if is_there {
                self.take(engine, objects, "recv").ok_or(nothing)
            } else {
                time_is_up()
            };
        }
        let (ready, next) = (meeting::has_message_or_end, meeting::received);
        if timed {
            let found = word.attempt(words::TAKES, &ready, &next, take, spot);
            if found.is_some_and(|it| it.is_ok()) {
                return self.take(engine, objects, "recv").ok_or(RecvTimeoutError::Disconnected);
            }
            // In a loop, that the time is up again is what can be left out: `told_silently` takes the first choice.
            if engine.choose(2, take, spot) == 0 {
                return time_is_up();
            }
        }
        let found = word.update(Order::AcqRel, &meeting::received_or_meets, take, spot);
        if found.is_some_and(|word| !ready(word)) {
            self.meets.set(true);
            word.wait_and_update(Order::AcqRel, &ready, &next, take, spot);
            self.meets.set(false);
        }
        self.take(engine, objects, "recv").ok_or(RecvTimeoutError::Disconnected)
    }

    pub(super) fn try_receive(&self, spot: Spot) -> Result<T, TryRecvError> {
        let engine = Engine::enter();
        let objects = self.objects(&engine);
        let (has, gone) = (|| self.has_message(), || self.is_gone());
        let take = Take { objects, has: &has, gone: &gone, kind: Kind::Tries };
        if engine.asks() {
            let word = engine.word(objects.channel, 0);
            let has_message = |word| words::length(word) > 0;
            let found = match self.bound {
                0 => {
                    let (ready, next) = (meeting::has_message, meeting::received);
                    word.attempt(words::TAKES, &ready, &next, &take, spot)
                }
                _ => word.attempt(words::TAKES, &has_message, &words::received, &take, spot),
            };
            if let Some(Err(word)) = found {
                engine.note(|rt| format!("try_recv {} → nothing", rt.object_name(objects.channel)));
                return Err(words::nothing(word));
            }
        } else {
            engine.visible(&take, spot);
        }
        let empty = if gone() { TryRecvError::Disconnected } else { TryRecvError::Empty };
        self.take(&engine, objects, "try_recv").ok_or(empty)
    }

    fn take(&self, engine: &Engine, objects: Objects, verb: &str) -> Option<T> {
        let message = self.queue.borrow_mut().pop_front();
        match &message {
            Some(message) => {
                Passed::of(message).comes_to(engine.rt(), engine.me());
                self.taken.set(self.taken.get() + 1);
                engine.observed(objects.channel, Observed::Changed(Mode::Read));
            }
            None => {
                engine.observed(objects.channel, Observed::Looked(Mode::Read));
                engine.observed(objects.senders, Observed::Looked(Mode::Pass));
            }
        }
        engine.note(|rt| {
            let what = match (&message, self.is_gone()) {
                (Some(_), _) => "a message",
                (None, true) => "all senders are gone",
                (None, false) => "nothing",
            };
            format!("{verb} {} → {what}", rt.object_name(objects.channel))
        });
        message
    }
}

/// What a sender does. It changes the channel if `writes`, and else looks at it.
struct Put<'a> {
    channel: ObjectId,
    ready: &'a dyn Fn() -> bool,
    writes: &'a dyn Fn() -> bool,
    verb: &'static str,
    /// What it waits for, if it does.
    waits: Option<&'static str>,
}

impl Operation<Runtime> for Put<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        (self.ready)()
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let writes = (self.ready)() && (self.writes)();
        effect.footprint.add(self.channel, if writes { Mode::Update } else { Mode::Read });
        effect.flexibility = match self.waits {
            Some(_) => Flexibility::Blocking,
            None => Flexibility::Conditional,
        };
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("{} {}", self.verb, rt.object_name(self.channel))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        let name = rt.object_name(self.channel);
        Some((format!("waits for {name} {}", self.waits?), Vec::new()))
    }
}

/// What the receiver does. If there is no message, it looks whether senders are left.
struct Take<'a> {
    objects: Objects,
    has: &'a dyn Fn() -> bool,
    gone: &'a dyn Fn() -> bool,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tries,
    Waits {
        timed: bool,
    },
    /// Decides whether the time will be up first (if something is there, it cannot be), and without
    /// room takes what is there or is there to meet a sender.
    Begins {
        timed: bool,
        meets: bool,
    },
}

impl Operation<Runtime> for Take<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        !matches!(self.kind, Kind::Waits { .. }) || (self.has)() || (self.gone)()
    }

    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
        let may_be_up = matches!(self.kind, Kind::Begins { timed: true, .. });
        if may_be_up && !(self.has)() && !(self.gone)() { 2 } else { 1 }
    }

    fn left_alone(&self) -> Option<u32> {
        Some(1)
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        let has = (self.has)();
        let changes = match self.kind {
            Kind::Tries | Kind::Waits { .. } => has,
            Kind::Begins { meets, .. } => meets,
        };
        let mode = if changes { Mode::Update } else { Mode::Read };
        effect.footprint.add(self.objects.channel, mode);
        if !has {
            effect.footprint.add(self.objects.senders, Mode::Pass);
        }
        effect.flexibility = match self.kind {
            Kind::Waits { .. } => Flexibility::Blocking,
            Kind::Tries | Kind::Begins { .. } => Flexibility::Conditional,
        };
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        let verb = match self.kind {
            Kind::Tries => "try_recv",
            Kind::Waits { timed: false } | Kind::Begins { timed: false, .. } => "recv",
            Kind::Waits { timed: true } | Kind::Begins { timed: true, .. } => "recv_timeout",
        };
        format!("{verb} {}", rt.object_name(self.objects.channel))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        let name = rt.object_name(self.objects.channel);
        Some((format!("waits for a message in {name}; some sender still exists"), Vec::new()))
    }

    fn is_timed(&self) -> bool {
        self.kind == Kind::Waits { timed: true }
    }
}
