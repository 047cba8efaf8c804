//! A channel without a bound. A message has an object of its own, so that taking it is ordered with
//! sending it and with nothing else.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};

use selvedge_core::{Effect, Flexibility, Label, Mode, ObjectId, Order};

use super::refuse::refuse;
use super::senders::Senders;
use super::words;
use crate::rt::knowers::Passed;
use crate::rt::{Ask, Engine, Header, Observed, Operation, Runtime, Spot, Touch};

pub(super) struct Unbounded<T> {
    header: Header,
    queue: RefCell<VecDeque<(ObjectId, T)>>,
    senders: Senders,
    receiver: Cell<bool>,
    /// Its objects, and the execution in which they were looked up.
    objects: Cell<Option<(u64, Objects)>>,
}

/// The objects of a channel.
#[derive(Clone, Copy)]
struct Objects {
    mailbox: ObjectId,
    /// How many senders there are: each that goes arrives here.
    senders: ObjectId,
    /// Whether there is a receiver.
    receiver: ObjectId,
}

impl<T> Unbounded<T> {
    pub(super) fn new(created: Spot) -> Self {
        Self {
            header: Header::new(created),
            queue: RefCell::new(VecDeque::new()),
            senders: Senders::one(),
            receiver: Cell::new(true),
            objects: Cell::new(None),
        }
    }

    fn objects(&self, engine: &Engine) -> Objects {
        let epoch = engine.rt().now.epoch;
        if let Some((when, known)) = self.objects.get()
            && when == epoch
        {
            return known;
        }
        let mailbox = self.header.object(engine, "channel", refuse);
        let objects = Objects {
            mailbox,
            senders: self.header.part(engine, mailbox, "senders", 1),
            receiver: self.header.part(engine, mailbox, "receiver", 2),
        };
        self.objects.set(Some((epoch, objects)));
        objects
    }

    pub(super) fn send(&self, message: T, spot: Spot) -> Result<(), T> {
        let engine = Engine::enter();
        let objects = self.objects(&engine);
        engine.update_word(objects.mailbox, Order::Release, &words::sent, &Send { objects }, spot);
        let rt = engine.rt();
        let me = rt.now.current;
        let object = rt.names.message(me, rt.threads[me].own.sent);
        rt.threads[me].own.sent += 1;
        engine.observed(objects.receiver, Observed::Looked(Mode::Alive));
        if !self.receiver.get() {
            if engine.asks() {
                // In `std` a sender that finds the receiver gone sees what that did; one that succeeds sees nothing of others.
                let fence = Ask::plain(Label::Fence(Order::Acquire));
                engine.ask(&fence, &Send { objects }, spot);
            }
            engine.note(|rt| {
                format!("send {}: the receiver is gone", rt.object_name(objects.mailbox))
            });
            return Err(message);
        }
        Passed::of(&message).leaves(engine.rt());
        self.queue.borrow_mut().push_back((object, message));
        engine.observed(objects.mailbox, Observed::Changed(Mode::Timeout));
        engine.note(|rt| format!("send {}", rt.object_name(objects.mailbox)));
        Ok(())
    }

    pub(super) fn add_sender(&self, spot: Spot) {
        self.senders.add(|engine| self.objects(engine).mailbox, spot);
    }

    pub(super) fn drop_sender(&self, spot: Spot) {
        let objects = |engine: &Engine| {
            let objects = self.objects(engine);
            (objects.mailbox, objects.senders)
        };
        self.senders.drop_one(objects, spot);
    }

    pub(super) fn drop_receiver(&self, spot: Spot) {
        if let Some(engine) = Engine::try_enter() {
            let Objects { mailbox, receiver: object, .. } = self.objects(&engine);
            let verb = "drop";
            let touch = Touch { object, mode: Mode::End, verb, order: None };
            engine.update_word(mailbox, Order::AcqRel, &words::without_receiver, &touch, spot);
            engine.observed(object, Observed::Changed(Mode::Alive));
            engine.note(|rt| format!("drop the receiver of {}", rt.object_name(mailbox)));
        }
        self.receiver.set(false);
        let rest = std::mem::take(&mut *self.queue.borrow_mut());
        drop(rest);
    }

    /// The oldest message, or nothing if all senders are gone.
    pub(super) fn receive(&self, spot: Spot) -> Option<T> {
        self.receive_at(false, spot)
    }

    fn receive_at(&self, timed: bool, spot: Spot) -> Option<T> {
        let engine = Engine::enter();
        let objects = self.objects(&engine);
        let (front, gone) = (|| self.front(), || self.senders.are_gone());
        let receive = Receive { objects, front: &front, gone: &gone, waits: true, timed };
        match engine.asks() {
            true => {
                let word = engine.word(objects.mailbox, 0);
                let (ready, next) = (words::has_message_or_end, words::received);
                word.wait_and_update(Order::Acquire, &ready, &next, &receive, spot);
            }
            false => _ = engine.visible(&receive, spot),
        }
        self.take(&engine, objects, "recv")
    }

    fn take(&self, engine: &Engine, objects: Objects, verb: &str) -> Option<T> {
        let message = self.queue.borrow_mut().pop_front();
        if let Some((sent, message)) = &message {
            Passed::of(message).comes_to(engine.rt(), engine.me());
            engine.observed(objects.mailbox, Observed::Heard(engine.rt().names.stable(*sent)));
        }
        engine.note(|rt| {
            let name = rt.object_name(objects.mailbox);
            let what = match (&message, self.senders.are_gone()) {
                (Some(_), _) => "a message",
                (None, true) => "all senders are gone",
                (None, _) => "nothing",
            };
            format!("{verb} {name} → {what}")
        });
        message.map(|(_, message)| message)
    }

    fn front(&self) -> Option<ObjectId> {
        self.queue.borrow().front().map(|&(object, _)| object)
    }

    pub(super) fn try_receive(&self, spot: Spot) -> Result<T, TryRecvError> {
        let engine = Engine::enter();
        let objects = self.objects(&engine);
        let (front, gone) = (|| self.front(), || self.senders.are_gone());
        let receive = Receive { objects, front: &front, gone: &gone, waits: false, timed: false };
        if engine.asks() {
            let word = engine.word(objects.mailbox, 0);
            let (ready, next) = (|word| words::length(word) > 0, words::received);
            let found = word.attempt(words::HEARS, &ready, &next, &receive, spot);
            if let Some(Err(word)) = found {
                engine.note(|rt| format!("try_recv {} → nothing", rt.object_name(objects.mailbox)));
                return Err(words::nothing(word));
            }
        } else {
            engine.visible(&receive, spot);
        }
        match self.take(&engine, objects, "try_recv") {
            Some(message) => Ok(message),
            None if self.senders.are_gone() => Err(TryRecvError::Disconnected),
            None => {
                engine.observed(objects.mailbox, Observed::Looked(Mode::Timeout));
                engine.observed(objects.senders, Observed::Looked(Mode::Pass));
                Err(TryRecvError::Empty)
            }
        }
    }

    pub(super) fn receive_timed(&self, spot: Spot) -> Result<T, RecvTimeoutError> {
        let engine = Engine::enter();
        let objects = self.objects(&engine);
        let (front, gone) = (|| self.front(), || self.senders.are_gone());
        let begin = BeginTimed { objects, front: &front, gone: &gone };
        if engine.asks() {
            // A message that comes too late is one that is not seen.
            let word = engine.word(objects.mailbox, 0);
            let (ready, next) = (words::has_message_or_end, words::received);
            let found = word.attempt(words::HEARS, &ready, &next, &begin, spot);
            if found.is_some_and(|it| it.is_err()) {
                engine.note(|rt| {
                    format!("recv_timeout {}: time is up", rt.object_name(objects.mailbox))
                });
                return Err(RecvTimeoutError::Timeout);
            }
            return self.take(&engine, objects, "recv").ok_or(RecvTimeoutError::Disconnected);
        }
        if engine.visible(&begin, spot) == 1 {
            engine.observed(objects.mailbox, Observed::Looked(Mode::Timeout));
            engine.observed(objects.senders, Observed::Looked(Mode::Pass));
            engine
                .note(|rt| format!("recv_timeout {}: time is up", rt.object_name(objects.mailbox)));
            return Err(RecvTimeoutError::Timeout);
        }
        drop(engine);
        self.receive_at(true, spot).ok_or(RecvTimeoutError::Disconnected)
    }
}

/// Sends a message. It touches the same whether the receiver is there or not, so that a race need not
/// be decided anew.
struct Send {
    objects: Objects,
}

impl Operation<Runtime> for Send {
    fn effect(&self, rt: &mut Runtime, me: usize, _choice: u32, effect: &mut Effect) {
        let message = rt.names.message(me, rt.threads[me].own.sent);
        effect.footprint.add(self.objects.mailbox, Mode::Send);
        effect.footprint.add(message, Mode::Post);
        effect.footprint.add(self.objects.receiver, Mode::Alive);
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("send {}", rt.object_name(self.objects.mailbox))
    }
}

struct Receive<'a> {
    objects: Objects,
    front: &'a dyn Fn() -> Option<ObjectId>,
    gone: &'a dyn Fn() -> bool,
    waits: bool,
    timed: bool,
}

impl Operation<Runtime> for Receive<'_> {
    fn is_enabled(&self, _rt: &Runtime, _me: usize) -> bool {
        !self.waits || (self.front)().is_some() || (self.gone)()
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        match (self.front)() {
            Some(message) => effect.footprint.add(message, Mode::Take),
            None => {
                effect.footprint.add(self.objects.mailbox, Mode::Timeout);
                effect.footprint.add(self.objects.senders, Mode::Pass);
            }
        }
        effect.flexibility =
            if self.waits { Flexibility::Blocking } else { Flexibility::Conditional };
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        let verb = if self.waits { "recv" } else { "try_recv" };
        format!("{verb} {}", rt.object_name(self.objects.mailbox))
    }

    fn waits_for(&self, rt: &Runtime, _me: usize) -> Option<(String, Vec<usize>)> {
        let name = rt.object_name(self.objects.mailbox);
        Some((format!("waits for a message in {name}; some sender still exists"), Vec::new()))
    }

    fn is_timed(&self) -> bool {
        self.timed
    }
}

/// Decides whether the time will be up first. If something is there, it cannot be.
struct BeginTimed<'a> {
    objects: Objects,
    front: &'a dyn Fn() -> Option<ObjectId>,
    gone: &'a dyn Fn() -> bool,
}

impl Operation<Runtime> for BeginTimed<'_> {
    fn choices(&self, _rt: &Runtime, _me: usize) -> u32 {
        if (self.front)().is_some() || (self.gone)() { 1 } else { 2 }
    }

    fn left_alone(&self) -> Option<u32> {
        Some(1)
    }

    fn effect(&self, _rt: &mut Runtime, _me: usize, _choice: u32, effect: &mut Effect) {
        effect.footprint.add(self.objects.mailbox, Mode::Timeout);
        effect.footprint.add(self.objects.senders, Mode::Pass);
        effect.flexibility = Flexibility::Conditional;
    }

    fn text(&self, rt: &Runtime, _me: usize) -> String {
        format!("recv_timeout {}", rt.object_name(self.objects.mailbox))
    }
}
