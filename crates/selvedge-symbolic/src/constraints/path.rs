//! One way through two blocks, one after the other: a guarded command.

use std::collections::BTreeSet;
use std::rc::Rc;

use selvedge_lang::ir::{Label, ProcedureId, SiteId, Slot};

use super::store::Store;
use super::term::{CallId, Index, Poly};
use super::witness::Witness;
use crate::solver::Lit;

/// What a slot holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Number(Poly),
    /// What an index instruction made.
    Index(Index),
}

impl Value {
    pub(super) fn into_number(self) -> Poly {
        match self {
            Value::Number(number) => number,
            // Only object references use these.
            Value::Index(index) => index.into_iter().next().unwrap_or_default(),
        }
    }
}

/// A frame of a block that runs.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) procedure: ProcedureId,
    pub(super) pc: Label,
    pub(super) slots: Vec<Option<Value>>,
    /// Where the caller wants the result.
    pub(super) target: Option<Slot>,
}

/// A spawned task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Task {
    /// One, and its handle if that is kept.
    One { procedure: ProcedureId, arguments: Vec<Poly>, handle: Option<Poly> },
    /// Those of a loop.
    Loop(CallId),
}

/// How a block was left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Exit {
    /// Its procedure returns nothing and ends with it.
    Returned,
    /// Its thread continues there, with these local variables.
    At(Label, Vec<(Slot, Value)>),
    /// An `assume` stopped its thread.
    Assumed(SiteId),
    /// It failed there, with these values in the message, which stops its thread; what it did before
    /// stays.
    Failed(SiteId, Vec<Value>),
    /// It failed in a loop that was not looked into.
    FailedInLoop(CallId),
    /// It has to wait: nothing is done.
    Waits,
}

/// A loop that is being run round by round.
#[derive(Clone, Debug)]
pub(super) struct Unrolling {
    pub(super) depth: usize,
    pub(super) head: Label,
    pub(super) end: Label,
    pub(super) rounds: u32,
    /// How often the path forked in it.
    pub(super) forks: u32,
    /// As it was in front of the loop.
    pub(super) before: Rc<Path>,
}

/// The state of one path.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// What has been decided on the way; all of it together is the guard.
    pub(super) conditions: Vec<Lit>,
    /// States in which the guard holds.
    pub(super) witnesses: Vec<Rc<Witness>>,
    /// What follows from the guard, so as not to ask twice.
    pub(super) known: BTreeSet<Lit>,
    /// What the running block decided so far.
    pub(super) own: Vec<Lit>,
    /// Whether it has looked at nothing but its local variables so far.
    pub(super) is_local: bool,
    /// Whether it has changed or spawned something.
    pub(super) has_effects: bool,
    /// Whether an overflow was met.
    pub(super) overflows: bool,
    pub(super) store: Store,
    pub(super) tasks: Vec<Task>,
    pub(super) spawned: [u32; 2],
    pub(super) frames: Vec<Frame>,
    /// Atomic sections that are open.
    pub(super) open: u32,
    pub(super) unrolling: Vec<Unrolling>,
    /// The loop at which it stands is not to be looked into.
    pub(super) summarise: bool,
    pub(super) exits: [Option<Exit>; 2],
}

impl Path {
    /// Before both blocks, where `conditions` hold, as they do in `witnesses`.
    pub(super) fn new(conditions: Vec<Lit>, witnesses: Vec<Rc<Witness>>) -> Self {
        Self {
            known: conditions.iter().copied().collect(),
            conditions,
            witnesses,
            own: Vec::new(),
            is_local: true,
            has_effects: false,
            overflows: false,
            store: Store::default(),
            tasks: Vec::new(),
            spawned: [0, 0],
            frames: Vec::new(),
            open: 0,
            unrolling: Vec::new(),
            summarise: false,
            exits: [None, None],
        }
    }

    pub(super) fn take(&mut self, condition: Lit, witnesses: Vec<Rc<Witness>>) {
        self.conditions.push(condition);
        self.known.insert(condition);
        self.witnesses = witnesses;
    }

    pub(super) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("internal error: a block runs without a frame")
    }
}
