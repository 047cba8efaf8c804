//! Channels: bounded queues of integers that any thread sends to and receives from. Their contents are lists.

use std::fmt::{self, Formatter};

use selvedge_core::{Elsewhere, Flexibility, Footprint, Mode};

use super::declare::operations;
use super::{Facts, Operation, Then};
use crate::interpret::machine::ContentUndo;
use crate::interpret::{At, Done, Failure, Loaded, Machine};
use crate::ir::{Checked, Checker, GlobalKind, Names, ObjectRef, Type};

operations! {
    /// An operation on a channel.
    pub enum Channel {
        /// Puts a value behind the others once there is room. On a lossy channel, alternative 1 loses it.
        Send { channel: F::Object, value: F::Value },
        /// Takes the oldest value once there is one; of a reordering channel, alternative `n` takes the one at place `n`.
        Receive { channel: F::Object, target: Option<F::Target> },
    }
}

/// How a channel treats what is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// A value may be lost when it is sent.
    pub lossy: bool,
    /// Any value may be received next.
    pub reordering: bool,
}

impl Channel {
    /// Returns the channel.
    pub fn channel(&self) -> ObjectRef {
        match self {
            Channel::Send { channel, .. } | Channel::Receive { channel, .. } => *channel,
        }
    }

    fn delivery(&self, at: At<'_>) -> Delivery {
        match at.loaded.program.globals[self.channel().global.index()].kind {
            GlobalKind::Channel { delivery, .. } => delivery,
            _ => unreachable!("internal error: verified to be a channel"),
        }
    }

    fn capacity(&self, machine: &Machine, at: At<'_>) -> usize {
        let element = machine.element(at, self.channel()) as usize;
        match &at.loaded.program.globals[self.channel().global.index()].kind {
            GlobalKind::Channel { capacity, .. } => capacity[element] as usize,
            _ => unreachable!("internal error: verified to be a channel"),
        }
    }

    fn length(&self, machine: &Machine, at: At<'_>) -> usize {
        machine.lists[machine.content(at, self.channel())].len()
    }
}

impl Operation for Channel {
    fn facts(&self) -> Facts {
        Facts { finds: matches!(self, Channel::Receive { .. }), ..Facts::STEP }
    }

    fn check(&self, checker: &Checker<'_>) -> Checked {
        match self {
            Channel::Send { value, .. } => checker.number(*value)?,
            Channel::Receive { target, .. } => {
                target.iter().try_for_each(|&target| checker.slot(target, Type::Int))?;
            }
        }
        checker.kind(self.channel(), |kind| matches!(kind, GlobalKind::Channel { .. }))
    }

    fn write(&self, f: &mut Formatter<'_>, names: &Names<'_>) -> fmt::Result {
        let channel = names.object(self.channel());
        match self {
            Channel::Send { value, .. } => write!(f, "send {channel} {value}"),
            Channel::Receive { .. } => write!(f, "receive {channel}"),
        }
    }

    /// Whether there is room, and what is received, depends on all that was done before: nothing commutes.
    fn footprint(&self, machine: &mut Machine, at: At<'_>, _: u32, footprint: &mut Footprint) {
        footprint.add(machine.object(at, self.channel()), Mode::Update);
    }

    fn can_run(&self, machine: &Machine, at: At<'_>) -> bool {
        let length = self.length(machine, at);
        match self {
            Channel::Send { .. } => length < self.capacity(machine, at),
            Channel::Receive { .. } => length > 0,
        }
    }

    fn choices(&self, machine: &Machine, at: At<'_>) -> u32 {
        let Delivery { lossy, reordering } = self.delivery(at);
        match self {
            Channel::Send { .. } => 1 + u32::from(lossy),
            Channel::Receive { .. } if reordering => self.length(machine, at).max(1) as u32,
            Channel::Receive { .. } => 1,
        }
    }

    fn flexibility(&self, _: &Machine, _: At<'_>) -> Flexibility {
        Flexibility::Blocking
    }

    fn elsewhere(&self, _: &Machine, _: At<'_>) -> Elsewhere {
        Elsewhere::AtMostThis
    }

    fn execute(&self, machine: &mut Machine, at: At<'_>, choice: u32) -> Result<Then, Failure> {
        let channel = self.channel();
        let element = machine.element(at, channel);
        let content = at.loaded.content(channel, element);
        match self {
            Channel::Send { value, .. } => {
                let value = machine.value(at, *value);
                let is_lost = choice == 1;
                let result = Some(i32::from(is_lost));
                machine.record.add(at.thread.pc, element, 0, result, &[value]);
                if !is_lost {
                    machine.lists[content].push_back(value);
                    machine.content_log.push(ContentUndo::ListPushed(content));
                }
            }
            Channel::Receive { target, .. } => {
                let place = choice as usize;
                let value = machine.lists[content].remove(place);
                let value = value.expect("internal error: it runs only if there is a value");
                machine.content_log.push(ContentUndo::ListTaken(content, place, value));
                machine.record.add(at.thread.pc, element, 0, Some(value), &[]);
                target.iter().for_each(|&target| machine.set_target(at, target, value));
            }
        }
        Ok(Then::Next)
    }

    fn arguments(&self, machine: &Machine, at: At<'_>) -> Vec<i32> {
        match self {
            Channel::Send { value, .. } => vec![machine.value(at, *value)],
            Channel::Receive { .. } => Vec::new(),
        }
    }

    fn text(&self, _: &Machine, loaded: &Loaded, done: &Done<'_>) -> String {
        let name = loaded.name(self.channel(), done.element);
        match self {
            Channel::Send { .. } => {
                let value = done.values.first().copied().unwrap_or(0);
                let lost = if done.result == Some(1) { ": lost" } else { "" };
                format!("send {name}({value}){lost}")
            }
            Channel::Receive { .. } => done.with_result(format!("receive({name})"), Type::Int),
        }
    }

    fn waits_for(&self, machine: &Machine, at: At<'_>) -> String {
        let name = machine.name(at, self.channel());
        match self {
            Channel::Send { .. } => format!("waits for room in {name}, which is full"),
            Channel::Receive { .. } => format!("waits for {name}, which is empty"),
        }
    }
}
