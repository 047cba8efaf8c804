//! Sleep sets of sequences: what need not be explored, because the state after it is seen elsewhere.
//!
//! A sleeper that is one step is asleep. One that is a sequence goes down with its first step and
//! then is the rest of it; any step that does not commute with all of it ends it.

use std::rc::Rc;

use selvedge_core::{Access, Effect, Footprint, Status, Step, System};

use crate::trace::sequence::Move;

/// A sequence of steps that need not be taken.
#[derive(Clone)]
pub(super) enum Sleeper {
    /// One step, and whether it sleeps only because something commutes where it is.
    Step(Move, Reason),
    /// What is left of a sequence: at least two steps.
    Sequence(Rc<[Move]>, usize),
}

/// Why a step sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reason {
    /// It was explored, and everything since is independent of it.
    Explored,
    /// The state after it is known.
    Conditional,
}

/// How a sleeper sleeps on after a step that it depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SleepsOn {
    /// They commute wherever they meet: it is as if they did not depend on each other.
    AsBefore,
    /// They commute where they are.
    Conditionally,
}

impl Sleeper {
    /// Returns the rest of `moves` from `from` on.
    fn rest(moves: &Rc<[Move]>, from: usize) -> Option<Self> {
        match &moves[from..] {
            [] => None,
            [last] => Some(Sleeper::Step(last.clone(), Reason::Conditional)),
            _ => Some(Sleeper::Sequence(Rc::clone(moves), from)),
        }
    }

    fn moves(&self) -> &[Move] {
        match self {
            Sleeper::Step(step, _) => std::slice::from_ref(step),
            Sleeper::Sequence(moves, from) => &moves[*from..],
        }
    }

    /// Returns what sleeps after a step with these accesses.
    fn behind(&self, step: Step, accesses: &[Access]) -> Option<Sleeper> {
        if let Sleeper::Sequence(moves, from) = self
            && moves[*from].contains(step)
        {
            return Sleeper::rest(moves, from + 1);
        }
        let commutes =
            |other: &Move| other.step.thread != step.thread && !other.depends_on(accesses);
        self.moves().iter().all(commutes).then(|| self.clone())
    }
}

/// The sleep sets of all nodes on the current path.
pub(super) struct Sleepers {
    nodes: Vec<Vec<Sleeper>>,
}

impl Sleepers {
    /// Returns the empty set of the root.
    pub(super) fn new() -> Self {
        Self { nodes: vec![Vec::new()] }
    }

    /// Returns the set of the last node.
    pub(super) fn last(&self) -> &[Sleeper] {
        &self.nodes[self.nodes.len() - 1]
    }

    /// Returns whether `step` sleeps at the last node.
    pub(super) fn contains(&self, step: Step) -> bool {
        self.why(step).is_some()
    }

    /// Returns why `step` sleeps at the last node, if it does.
    pub(super) fn why(&self, step: Step) -> Option<Reason> {
        let mut why = None;
        for sleeper in self.last() {
            if let Sleeper::Step(asleep, reason) = sleeper
                && asleep.contains(step)
            {
                if *reason == Reason::Explored {
                    return Some(Reason::Explored);
                }
                why = Some(Reason::Conditional);
            }
        }
        why
    }

    /// Puts `step` to sleep at the last node.
    pub(super) fn add(&mut self, step: Step, choices: u32, accesses: &[Access]) {
        let Some(last) = self.nodes.last_mut() else { return };
        // Alternatives of one step come one after the other, and there can be very many.
        let extended = match last.last_mut() {
            Some(Sleeper::Step(asleep, Reason::Explored)) => asleep.extend(step, accesses),
            _ => false,
        };
        if !extended {
            let asleep = Move::new(step, choices, Footprint::of_event(accesses));
            last.push(Sleeper::Step(asleep, Reason::Explored));
        }
    }

    /// Puts a sequence to sleep at the node at `depth`.
    pub(super) fn add_sequence(&mut self, depth: usize, moves: Vec<Move>) {
        if let Some(sleeper) = Sleeper::rest(&Rc::from(moves), 0) {
            self.nodes[depth].push(sleeper);
        }
    }

    /// Goes down from the last node by `step`, which had these accesses and which `system` has
    /// taken. The sleepers with the numbers in `sleeping_on` sleep on although they depend on it.
    pub(super) fn descend<S: System>(
        &mut self,
        step: Step,
        accesses: &[Access],
        sleeping_on: &[(usize, SleepsOn)],
        system: &mut S,
    ) {
        let mut below = Vec::new();
        let mut effect = Effect::default();
        for (number, sleeper) in self.last().iter().enumerate() {
            let how = sleeping_on.iter().find(|(other, _)| *other == number).map(|&(_, how)| how);
            match (sleeper.behind(step, accesses), how, sleeper) {
                // [l.15-16]
                (Some(behind), ..) => below.push(behind),
                (None, Some(SleepsOn::AsBefore), Sleeper::Step(asleep, why)) => {
                    // Only this one of its alternatives was looked at.
                    let asleep = Move::new(asleep.step, asleep.choices(), asleep.footprint.clone());
                    below.push(Sleeper::Step(asleep, *why));
                }
                (None, Some(SleepsOn::Conditionally), Sleeper::Step(asleep, _))
                    if system.status(asleep.step.thread) == Status::Enabled =>
                {
                    // It may act differently now.
                    system.pending(asleep.step, &mut effect);
                    let asleep = Move::new(asleep.step, effect.choices, effect.footprint.clone());
                    below.push(Sleeper::Step(asleep, Reason::Conditional));
                }
                _ => {}
            }
        }
        self.nodes.push(below);
    }

    /// Goes back up to the node at `depth`.
    pub(super) fn ascend(&mut self, depth: usize) {
        self.nodes.truncate(depth + 1);
    }
}
