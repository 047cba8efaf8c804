//! Checks that no receive can tell the order of sends that is left open.
//!
//! A receive `r` took the message of the send `s`. If another send `t` to the same mailbox could have come before `s`, `r` would
//! perhaps have taken that message: then the order of sends to this mailbox counts. To find out, `t` is run before `s`, with what
//! each needs, and then `r` is asked what it takes.

use selvedge_core::{Access, Effect, Footprint, Mode, ObjectId, Position, Step, System};

use super::line::Line;
use super::system::Observed;

/// A send: to which mailbox, which message.
struct Send {
    at: Position,
    mailbox: ObjectId,
    message: ObjectId,
}

/// A receive, and the message that it took.
struct Receive {
    at: Position,
    message: ObjectId,
    /// Whether its step does nothing else.
    is_alone: bool,
}

impl<S: System> Observed<S> {
    /// Learns which mailboxes have an order that a receive of the execution, or of one that only differs in it, can tell.
    pub(super) fn observe_receives(&mut self) {
        let (sends, receives) = messages(&self.line.borrow());
        for mailbox in failed(&self.line.borrow()) {
            self.learn(mailbox);
        }
        for receive in &receives {
            let Some(send) = sends.iter().find(|send| send.message == receive.message) else {
                continue;
            };
            if !receive.is_alone {
                self.learn(send.mailbox);
                continue;
            }
            let rivals: Vec<Position> = sends
                .iter()
                .filter(|other| other.mailbox == send.mailbox && other.at != send.at)
                .filter(|other| self.is_rival(other, send, receive, &receives))
                .map(|other| other.at)
                .collect();
            for rival in rivals {
                if self.is_open(send.mailbox) && !self.takes_the_same(receive, rival) {
                    self.learn(send.mailbox);
                    break;
                }
            }
        }
    }

    /// Returns whether `other` came after `send`, could have come before it, and its message was there for the receive.
    fn is_rival(&self, other: &Send, send: &Send, receive: &Receive, all: &[Receive]) -> bool {
        let line = self.line.borrow();
        let place = |at: Position| line.order().iter().position(|&position| position == at);
        let thread = line.event(receive.at).id.thread;
        let was_taken = all.iter().any(|earlier| {
            earlier.message == other.message
                && line.event(earlier.at).id.thread == thread
                && line.event(earlier.at).id.nth < line.event(receive.at).id.nth
        });
        self.is_open(other.mailbox)
            && !was_taken
            && place(other.at) > place(send.at)
            && !line.after(send.at)[other.at.index()]
            && !line.after(receive.at)[other.at.index()]
    }

    /// Returns whether the receive takes the same message if the send at `rival` comes as early as it can.
    fn takes_the_same(&mut self, receive: &Receive, rival: Position) -> bool {
        let line = self.line.borrow();
        let first = line.past(&[rival]);
        let needed = line.past(&[receive.at]);
        let rest = |position: &&Position| {
            needed[position.index()] && !first[position.index()] && **position != receive.at
        };
        let mut order: Vec<Position> =
            line.order().iter().copied().filter(|position| first[position.index()]).collect();
        order.extend(line.order().iter().filter(rest));
        let (from, to) = (line.steps(), line.steps_of(&order));
        let step = Step::of(line.event(receive.at).id.thread);
        let then = line.event(receive.at).effect.footprint.clone();
        drop(line);
        self.follow(&from, &to);
        let mut effect = Effect::default();
        self.system.pending(step, &mut effect);
        self.follow(&to, &from);
        let taken = |footprint: &Footprint| {
            let mut accesses = footprint.accesses().iter();
            accesses.find(|access| access.mode == Mode::Take).map(|access| access.object)
        };
        taken(&effect.footprint) == taken(&then)
    }
}

/// Returns the mailboxes of receives that failed: at a message that another order would have put behind one that fits.
fn failed(line: &Line) -> Vec<ObjectId> {
    let events = line.order().iter().map(|&at| &line.event(at).effect);
    let accesses = events
        .filter(|effect| effect.fault.is_some())
        .flat_map(|effect| effect.footprint.accesses());
    accesses.filter(|access| access.mode == Mode::Timeout).map(|access| access.object).collect()
}

/// Returns the sends and the receives of the execution.
fn messages(line: &Line) -> (Vec<Send>, Vec<Receive>) {
    let (mut sends, mut receives) = (Vec::new(), Vec::new());
    for &at in line.order() {
        let accesses = line.event(at).effect.footprint.accesses();
        let object =
            |mode| accesses.iter().find(|access| access.mode == mode).map(|access| access.object);
        if let (Some(mailbox), Some(message)) = (object(Mode::Send), object(Mode::Post)) {
            sends.push(Send { at, mailbox, message });
        }
        let own = |access: &&Access| !matches!(access.mode, Mode::Begin | Mode::End);
        let is_alone = accesses.iter().filter(own).count() == 1;
        for access in accesses.iter().filter(|access| access.mode == Mode::Take) {
            receives.push(Receive { at, message: access.object, is_alone });
        }
    }
    (sends, receives)
}
