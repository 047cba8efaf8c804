//! What a thread may still touch: `W(b)` of the paper on constrained reduction, and what it may read.
//!
//! The rest of a thread's code is run with what is known: its slots are, shared values are not. Where
//! a branch depends on something unknown, it goes both ways; an element with an unknown index stands
//! for the whole array (`follow.rs`). A thread that is spawned on the way is a node of its own, known by its procedure
//! and what is known of its arguments; nodes are kept, and what a thread may touch is all that can be
//! reached from its node. If that takes too long, everything that its procedures name is taken instead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use selvedge_core::MayAccess;

use crate::ir::{Op, Operand, Thread};

use super::super::invisible::frames;
use super::super::load::Loaded;
use super::super::machine::{Machine, Phase};
use super::Live;
use super::follow::{Follow, Standing, note, standing};

/// How far the rest of a thread's code is followed to find what it may still touch.
///
/// Nothing is lost beyond: the thread may then touch everything that its procedures name, and all that they call and
/// spawn; and a step is not taken to be steady. Both answers only make explorers prune less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// So many instructions for one node. At least 1.
    pub instructions: u32,
    /// Calls so deep.
    pub calls: usize,
    /// So many nodes for one thread.
    pub nodes: usize,
    /// When so many nodes are kept, all are forgotten, and found again when they are asked for.
    pub kept: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { instructions: 20_000, calls: 64, nodes: 10_000, kept: 50_000 }
    }
}

impl Caps {
    /// As small as they can be, for tests.
    pub fn tiny() -> Self {
        Self { instructions: 3, calls: 1, nodes: 1, kept: 1 }
    }
}

/// What is known of all that can happen from where a thread stands.
struct Node {
    own: MayAccess,
    spawns: Vec<usize>,
    /// What it may touch with all that it spawns, computed on demand.
    all: Option<Arc<MayAccess>>,
}

pub(super) struct May {
    caps: Caps,
    nodes: Vec<Node>,
    known: BTreeMap<Standing, usize>,
    /// Per procedure, all that it and what it calls and spawns names.
    named: Vec<MayAccess>,
    nothing: Arc<MayAccess>,
    /// The answers, by where a thread stands in numbers: the same as a look at the nodes, and quicker.
    answers: FxHashMap<Box<[i32]>, Arc<MayAccess>>,
    /// A key of `answers`, as a buffer.
    key: Vec<i32>,
}

impl May {
    pub(super) fn new(loaded: &Loaded, caps: Caps) -> Self {
        let named = named(loaded);
        Self {
            caps,
            nodes: Vec::new(),
            known: BTreeMap::new(),
            named,
            nothing: Arc::default(),
            answers: FxHashMap::default(),
            key: Vec::new(),
        }
    }

    pub(super) fn of_thread(
        &mut self,
        loaded: &Loaded,
        machine: &Machine,
        live: &Live,
        thread: usize,
    ) -> Arc<MayAccess> {
        let state = &machine.threads[thread];
        match state.phase {
            Phase::Absent | Phase::Finished | Phase::Assumed | Phase::Failed => {
                return Arc::clone(&self.nothing);
            }
            Phase::Ready | Phase::FaultsAtOnce | Phase::Parked | Phase::Woken | Phase::Passing => {}
        }
        self.key.clear();
        let stack = &machine.stacks[thread];
        for frame in frames(state, stack) {
            self.key.extend([frame.pc as i32, frame.target.map_or(-1, |target| target as i32)]);
            let slots = live.at(frame.pc).iter();
            self.key.extend(slots.map(|&slot| stack[(frame.base + slot.0) as usize]));
        }
        if let Some(answer) = self.answers.get(&self.key[..]) {
            return Arc::clone(answer);
        }
        if self.nodes.len() > self.caps.kept || self.answers.len() > self.caps.kept {
            self.nodes.clear();
            self.known.clear();
            self.answers.clear();
        }
        let node = self.node(loaded, live, standing(loaded, machine, live, thread));
        let answer = self.all(node);
        self.answers.insert(self.key.as_slice().into(), Arc::clone(&answer));
        answer
    }

    /// Returns the node of a standing, and those of all that can be spawned from it.
    fn node(&mut self, loaded: &Loaded, live: &Live, standing: Standing) -> usize {
        if let Some(&node) = self.known.get(&standing) {
            return node;
        }
        let first = self.add(standing.clone());
        let mut work = vec![(first, standing)];
        while let Some((node, standing)) = work.pop() {
            let mut follow = Follow::new(loaded, live);
            // Tasks that spawn tasks with ever new arguments never end.
            let is_too_much = self.nodes.len() - first > self.caps.nodes;
            if !is_too_much && follow.run(standing.clone(), self.caps) {
                for child in follow.spawned {
                    let number = match self.known.get(&child) {
                        Some(&number) => number,
                        None => {
                            let number = self.add(child.clone());
                            work.push((number, child));
                            number
                        }
                    };
                    self.nodes[node].spawns.push(number);
                }
                self.nodes[node].own = follow.found;
            } else {
                for frame in &standing {
                    let procedure = loaded.procedure_at(frame.pc);
                    self.nodes[node].own.extend(&self.named[procedure.index()]);
                }
            }
        }
        first
    }

    fn add(&mut self, standing: Standing) -> usize {
        self.nodes.push(Node { own: MayAccess::default(), spawns: Vec::new(), all: None });
        self.known.insert(standing, self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    /// Returns all that can be touched from a node.
    fn all(&mut self, node: usize) -> Arc<MayAccess> {
        if let Some(all) = &self.nodes[node].all {
            return Arc::clone(all);
        }
        let mut all = MayAccess::default();
        let mut seen = BTreeSet::from([node]);
        let mut work = vec![node];
        while let Some(next) = work.pop() {
            if let Some(known) = &self.nodes[next].all {
                all.extend(known);
                continue;
            }
            all.extend(&self.nodes[next].own);
            work.extend(self.nodes[next].spawns.iter().copied().filter(|&it| seen.insert(it)));
        }
        let all = Arc::new(all);
        self.nodes[node].all = Some(Arc::clone(&all));
        all
    }
}

/// Per procedure, all that it names, with what it calls and spawns.
pub(in crate::interpret) fn named(loaded: &Loaded) -> Vec<MayAccess> {
    let procedures = &loaded.program.procedures;
    let mut named = vec![MayAccess::default(); procedures.len()];
    loop {
        let before = named.clone();
        for (index, procedure) in procedures.iter().enumerate() {
            for instruction in &procedure.code {
                let mut all = std::mem::take(&mut named[index]);
                match &instruction.op {
                    Op::Call { procedure, .. } | Op::Thread(Thread::Spawn { procedure, .. }) => {
                        if procedure.index() != index {
                            all.extend(&named[procedure.index()]);
                        }
                    }
                    op => note(loaded, op, &mut all, |index| match index {
                        Operand::Constant(index) => Some(index),
                        Operand::Slot(_) => None,
                    }),
                }
                named[index] = all;
            }
        }
        if named == before {
            return named;
        }
    }
}
