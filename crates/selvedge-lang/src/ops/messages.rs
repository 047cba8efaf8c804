//! Messages and mailboxes.
//!
//! Every message is an object of its own, beside the mailbox of its receiver: the step that takes a message depends on the step that
//! made it, and two messages that are taken by different alternatives do not depend on each other.

use std::fmt::{self, Display, Formatter};

use selvedge_core::{
    Elsewhere, Flexibility, Footprint, Label, Location, Mode, Order, ViolationKind,
};

use super::{Code, Facts, Form, Operation, Parts, Reach, Stands, Then};
use crate::interpret::machine::{self, ContentUndo};
use crate::interpret::{At, Done, Failure, Loaded, Machine, Phase, Reads, fault, typed};
use crate::ir::{Checked, Checker, Names, Operand, ProcedureId, Type, list};

/// An operation on messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message<F: Form = Code> {
    /// Sends a message.
    Send {
        /// Handle of the receiver.
        to: F::Value,
        /// The message: 1 to 8 integers or booleans.
        values: Box<[F::Value]>,
    },
    /// `target` = whether the receiver has not ended or failed; only then the message is put into its mailbox.
    TrySend {
        /// The handle of the receiver.
        to: F::Value,
        /// What is sent.
        values: Box<[F::Value]>,
        /// Gets whether it was sent.
        target: F::Target,
    },
    /// Takes the oldest message in the thread's own mailbox that fits any alternative, by the
    /// first alternative that it fits, and goes to that alternative's label.
    Receive {
        /// At least one, unless there is an `after`.
        alternatives: Box<[Alternative<F>]>,
        /// Where to if no message fits; without it the step waits.
        after: Option<F::Label>,
    },
}

/// One way to take a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alternative<F: Form = Code> {
    /// One per value of the message; a message of another length does not fit.
    pub patterns: Box<[Pattern<F>]>,
    /// A further condition.
    pub guard: Option<F::Guard>,
    /// Where to if it is taken.
    pub to: F::Label,
}

/// What a value of a message must be, and where it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pattern<F: Form = Code> {
    /// Equal to this.
    Equal(F::Value),
    /// Anything; stored in the slot, an integer, when the message is taken.
    Bind(F::Local),
    /// Anything.
    Ignore,
}

/// A condition on a message: a procedure that returns a boolean and has only invisible
/// instructions but [`Op::Assume`](super::Op::Assume) and [`Compute::Own`](super::Compute::Own), also in what it
/// calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Guard {
    /// The code.
    pub procedure: ProcedureId,
    /// One per parameter.
    pub arguments: Box<[GuardArgument]>,
}

/// An argument of a [`Guard`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuardArgument {
    /// A value of the receiving frame, from before the message is taken.
    Local(Operand),
    /// The message's value with this index; an integer.
    Element(u32),
}

impl<F: Form> Message<F> {
    pub(super) fn map<G: Form>(&self, parts: &mut impl Parts<F, G>) -> Message<G> {
        match self {
            Message::Send { to, values } => {
                Message::Send { to: parts.value(to), values: parts.values(values) }
            }
            Message::TrySend { to, values, target } => Message::TrySend {
                to: parts.value(to),
                values: parts.values(values),
                target: parts.target(target),
            },
            Message::Receive { alternatives, after } => Message::Receive {
                alternatives: alternatives
                    .iter()
                    .map(|it| parts.in_scope(|parts| it.map(parts)))
                    .collect(),
                after: after.as_ref().map(|after| parts.label(after)),
            },
        }
    }
}

impl<F: Form> Alternative<F> {
    fn map<G: Form>(&self, parts: &mut impl Parts<F, G>) -> Alternative<G> {
        let pattern = |pattern: &Pattern<F>| match pattern {
            Pattern::Equal(value) => Pattern::Equal(parts.value(value)),
            Pattern::Bind(local) => Pattern::Bind(parts.local(local)),
            Pattern::Ignore => Pattern::Ignore,
        };
        Alternative {
            patterns: self.patterns.iter().map(pattern).collect(),
            guard: self.guard.as_ref().map(|guard| parts.guard(guard, &self.patterns)),
            to: parts.label(&self.to),
        }
    }
}

/// What a receiver finds.
enum Found {
    /// This message, by this alternative.
    Message { position: usize, alternative: usize },
    /// No message fits.
    Nothing,
    /// A guard faults on the oldest message that may fit.
    Fault(Failure),
}

impl Message {
    /// Returns whether it goes to a label.
    pub(super) fn jumps(&self) -> bool {
        matches!(self, Message::Receive { .. })
    }

    /// Returns whether a `receive` finds a message; a guard that faults finds one.
    pub(crate) fn finds(&self, machine: &Machine, at: At<'_>) -> bool {
        match self {
            Message::Send { .. } | Message::TrySend { .. } => true,
            Message::Receive { alternatives, .. } => {
                !matches!(Self::find(machine, at, alternatives), Found::Nothing)
            }
        }
    }

    /// Returns the thread whose mailbox it accesses.
    pub(crate) fn receiver(&self, machine: &Machine, at: At<'_>) -> u32 {
        match self {
            Message::Send { to, .. } | Message::TrySend { to, .. } => machine.value(at, *to) as u32,
            Message::Receive { .. } => at.me as u32,
        }
    }

    /// Returns the event that it is under a memory model, where the mailbox is one location.
    pub(crate) fn event(&self, mailbox: Location) -> Label {
        let (at, order) = (mailbox, Order::Acquire);
        match self {
            // The second is refused.
            Message::Send { .. } | Message::TrySend { .. } => {
                Label::Update { at, order: Order::Release }
            }
            Message::Receive { after: None, .. } => Label::Await { at, order, update: true },
            Message::Receive { after: Some(_), .. } => {
                Label::Try { at, success: order, failure: Order::Relaxed }
            }
        }
    }

    /// Returns the oldest message that fits any alternative.
    fn find(machine: &Machine, at: At<'_>, alternatives: &[Alternative]) -> Found {
        for (position, message) in machine.mailboxes[at.me].iter().enumerate() {
            for (alternative, offered) in alternatives.iter().enumerate() {
                match offered.fits(machine, at, message.values()) {
                    Ok(true) => return Found::Message { position, alternative },
                    Ok(false) => {}
                    Err(fault) => return Found::Fault(fault),
                }
            }
        }
        Found::Nothing
    }
}

impl Alternative {
    fn fits(&self, machine: &Machine, at: At<'_>, values: &[i32]) -> Result<bool, Failure> {
        let equal = |(pattern, &value): (&Pattern, &i32)| match pattern {
            Pattern::Equal(wanted) => machine.value(at, *wanted) == value,
            Pattern::Bind(_) | Pattern::Ignore => true,
        };
        let shape =
            self.patterns.len() == values.len() && self.patterns.iter().zip(values).all(equal);
        match &self.guard {
            Some(guard) if shape => {
                let arguments = guard.arguments.iter().map(|argument| match *argument {
                    GuardArgument::Local(operand) => machine.value(at, operand),
                    GuardArgument::Element(index) => values[index as usize],
                });
                machine.guard_holds(at, guard.procedure, arguments.collect())
            }
            _ => Ok(shape),
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        fits_a_message(self.patterns.len())?;
        let in_range = |argument: &GuardArgument| match argument {
            GuardArgument::Element(i) => (*i as usize) < self.patterns.len(),
            GuardArgument::Local(_) => true,
        };
        let guard = self.guard.iter().try_for_each(|guard| {
            let known = checker.program.procedures.get(guard.procedure.index());
            known.filter(|_| guard.arguments.iter().all(in_range)).map(drop)
        });
        guard.ok_or_else(|| "a guard that does not exist".to_owned())?;
        self.patterns.iter().try_for_each(|pattern| match *pattern {
            Pattern::Equal(value) => checker.number(value),
            Pattern::Bind(slot) => checker.slot(slot, Type::Int),
            Pattern::Ignore => Ok(()),
        })?;
        self.guard.iter().try_for_each(|guard| guard.check(checker))
    }
}

impl Guard {
    fn check(&self, checker: &Checker<'_>) -> Checked {
        let procedure = &checker.program.procedures[self.procedure.index()];
        if procedure.result != Some(Type::Bool)
            || procedure.parameters as usize != self.arguments.len()
        {
            return Err(format!("`{}` is no guard for these arguments", procedure.name));
        }
        for (argument, slot) in self.arguments.iter().zip(&procedure.slots) {
            match argument {
                GuardArgument::Local(value) => checker.operand(*value, slot.ty)?,
                GuardArgument::Element(_) if slot.ty == Type::Int => {}
                GuardArgument::Element(_) => {
                    return Err("a value of a message is an integer".to_owned());
                }
            }
        }
        Ok(())
    }
}

fn fits_a_message(length: usize) -> Checked {
    match length {
        1..=machine::Message::LONGEST => Ok(()),
        _ => Err("a message has 1 to 8 values".to_owned()),
    }
}

impl Operation for Message {
    fn facts(&self) -> Facts {
        let facts = Facts { may_fault: true, reach: Reach::Anything, ..Facts::STEP };
        match self {
            Message::Send { .. } => {
                Facts { stands: Stands::InSections, observes_ends: true, ..facts }
            }
            Message::TrySend { .. } => Facts {
                may_fault: false,
                stands: Stands::InSections,
                observes_ends: true,
                finds: true,
                ..facts
            },
            Message::Receive { .. } => facts,
        }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        match self {
            Message::Send { to, values } => {
                fits_a_message(values.len())?;
                checker.operand(*to, Type::Thread)?;
                values.iter().try_for_each(|&value| checker.number(value))
            }
            Message::TrySend { to, values, target } => {
                fits_a_message(values.len())?;
                checker.operand(*to, Type::Thread)?;
                checker.slot(*target, Type::Bool)?;
                values.iter().try_for_each(|&value| checker.number(value))
            }
            Message::Receive { alternatives, after } => {
                if alternatives.is_empty() && after.is_none() {
                    return Err("receives nothing".to_owned());
                }
                alternatives.iter().try_for_each(|alternative| alternative.check(checker))
            }
        }
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        match self {
            Message::Send { to, values } | Message::TrySend { to, values, .. } => {
                let tries = if matches!(self, Message::Send { .. }) { "" } else { "try_" };
                write!(f, "{tries}send {to} (")?;
                list(f, values)?;
                write!(f, ")")
            }
            Message::Receive { alternatives, after } => {
                write!(f, "receive")?;
                for alternative in alternatives {
                    write!(f, " | (")?;
                    list(f, &alternative.patterns)?;
                    write!(f, ")")?;
                    if let Some(guard) = &alternative.guard {
                        write!(f, " if {}(", names.procedure(guard.procedure))?;
                        list(f, &guard.arguments)?;
                        write!(f, ")")?;
                    }
                    write!(f, " {}", alternative.to)?;
                }
                after.iter().try_for_each(|after| write!(f, " | after {after}"))
            }
        }
    }

    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        match self {
            Message::Send { to, .. } | Message::TrySend { to, .. } => {
                let to = machine.value(at, *to) as usize;
                if !machine.has_stopped(to) {
                    footprint.add(machine.names.mailbox(to), Mode::Send);
                    footprint.add(machine.names.message(at.me, at.thread.sent), Mode::Post);
                }
                footprint.add(machine.names.life(to), Mode::Alive);
            }
            Message::Receive { alternatives, .. } => match Self::find(machine, at, alternatives) {
                Found::Message { position, .. } => {
                    footprint.add(machine.mailboxes[at.me][position].object, Mode::Take);
                }
                Found::Nothing | Found::Fault(_) => {
                    footprint.add(machine.names.mailbox(at.me), Mode::Timeout);
                }
            },
        }
    }

    fn can_run(&self, machine: &Machine, at: At<'_>) -> bool {
        match self {
            Message::Receive { alternatives, after: None } => {
                !matches!(Self::find(machine, at, alternatives), Found::Nothing)
            }
            Message::Send { .. } | Message::TrySend { .. } | Message::Receive { .. } => true,
        }
    }

    fn flexibility(&self, _: &Machine, _: At<'_>) -> Flexibility {
        match self {
            Message::Receive { after: None, .. } => Flexibility::Blocking,
            Message::Send { .. } | Message::TrySend { .. } | Message::Receive { .. } => {
                Flexibility::Conditional
            }
        }
    }

    fn elsewhere(&self, machine: &Machine, at: At<'_>) -> Elsewhere {
        match self {
            // Where less has happened, the receiver has not ended either.
            Message::Send { to, .. } | Message::TrySend { to, .. } => {
                match machine.has_stopped(machine.value(at, *to) as usize) {
                    true => Elsewhere::Anything,
                    false => Elsewhere::AtMostThis,
                }
            }
            Message::Receive { after: None, .. } => Elsewhere::AnotherMessage,
            Message::Receive { .. } => Elsewhere::Anything,
        }
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, _: u32) -> Result<Then, Failure> {
        let pc = at.thread.pc;
        let (alternatives, after) = match self {
            Message::Send { to, values } | Message::TrySend { to, values, .. } => {
                let to = machine.value(at, *to) as usize;
                let values = machine.values(at, values);
                let runs = !machine.has_stopped(to);
                machine.record.add(pc, to as u32, 0, Some(i32::from(runs)), &values);
                if let Message::TrySend { target, .. } = self {
                    machine.set_target(at, *target, i32::from(runs));
                    if !runs {
                        return Ok(Then::Next);
                    }
                }
                if !runs {
                    let name = machine.thread_name(at.loaded, to);
                    let ended = match machine.threads[to].phase {
                        Phase::Failed => "thread that has failed",
                        _ => "finished thread",
                    };
                    let message = format!("send to a {ended}, {name}");
                    return Err(fault::violation(at.loaded, pc, ViolationKind::Misuse, message));
                }
                let object = machine.names.message(at.me, at.thread.sent);
                machine.threads[at.me].sent += 1;
                let message = machine::Message::new(object, values.into_iter());
                machine.mailboxes[to].push_back(message);
                machine.content_log.push(ContentUndo::MessagePosted(to));
                return Ok(Then::Next);
            }
            Message::Receive { alternatives, after } => (alternatives, after),
        };
        let (position, alternative) = match Self::find(machine, at, alternatives) {
            Found::Message { position, alternative } => (position, &alternatives[alternative]),
            Found::Fault(fault) => {
                machine.record.add(pc, 0, 0, None, &[]);
                return Err(fault);
            }
            Found::Nothing => {
                machine.record.add(pc, 0, 0, Some(AFTER), &[]);
                // Without `after` the step is not enabled, and this is not called.
                if let Some(after) = after {
                    machine.threads[at.me].pc = after.0;
                }
                return Ok(Then::Placed);
            }
        };
        let Some(message) = machine.mailboxes[at.me].remove(position) else {
            return Ok(Then::Placed);
        };
        machine.record.add(pc, 0, 0, Some(0), message.values());
        let taken = ContentUndo::MessageTaken(at.me, position, Box::new(message));
        machine.content_log.push(taken);
        for (pattern, &value) in alternative.patterns.iter().zip(message.values()) {
            if let Pattern::Bind(slot) = pattern {
                machine.set_target(at, *slot, value);
            }
        }
        machine.threads[at.me].pc = alternative.to.0;
        Ok(Then::Placed)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        match self {
            // The receiver comes last.
            Message::Send { to, values } | Message::TrySend { to, values, .. } => {
                let mut all = machine.values(at, values);
                all.push(machine.value(at, *to));
                all
            }
            Message::Receive { .. } => Vec::new(),
        }
    }

    fn text(&self, machine: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        match self {
            Message::Send { .. } | Message::TrySend { .. } => {
                let (to, values) = match (done.result, done.values) {
                    (None, [values @ .., to]) => (*to as usize, values),
                    (_, values) => (done.element, values),
                };
                let values = typed(values, Type::Int);
                let to = machine.thread_name(loaded, to);
                match self {
                    Message::TrySend { .. } => {
                        done.with_result(format!("try_send({to}, {values})"), Type::Bool)
                    }
                    _ => format!("send {to}({values})"),
                }
            }
            Message::Receive { .. } if done.result == Some(AFTER) => "receive: after".to_owned(),
            Message::Receive { .. } if done.values.is_empty() => "receive".to_owned(),
            Message::Receive { .. } => format!("receive ({})", typed(done.values, Type::Int)),
        }
    }

    fn waits_for(&self, machine: &Machine, at: At<'_>) -> String {
        match machine.mailboxes[at.me].len() {
            0 => "waits for a message".to_owned(),
            unfit => format!(
                "waits for a message; {} in its mailbox fit{} no alternative",
                fault::count(unfit, "message"),
                if unfit == 1 { "s" } else { "" }
            ),
        }
    }

    fn decides(&self, reads: &mut Reads) {
        // To a thread that has ended.
        if let Message::Send { to, .. } | Message::TrySend { to, .. } = self {
            reads.may_fault_before = true;
            reads.receivers.add(*to);
        }
    }
}

/// The result of a `receive` that found no message: it goes on at its `after`.
const AFTER: i32 = 1;

impl Machine {
    /// Returns whether nothing can be sent to a thread any more.
    fn has_stopped(&self, thread: usize) -> bool {
        matches!(self.threads[thread].phase, Phase::Finished | Phase::Failed)
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Equal(value) => write!(f, "{value}"),
            Pattern::Bind(slot) => write!(f, "let {slot}"),
            Pattern::Ignore => write!(f, "_"),
        }
    }
}

impl Display for GuardArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GuardArgument::Local(value) => write!(f, "{value}"),
            GuardArgument::Element(index) => write!(f, "#{index}"),
        }
    }
}
