//! Invariants 2, 4 and 6: what holds on every path, found by a forward analysis.

use super::Errors;
use crate::ir::{
    AtomicId, ConditionArgument, Instruction, Label, Op, Operand, Procedure, Program, Slot,
};

pub(super) fn check(program: &Program, errors: &mut Errors) {
    let flows: Vec<_> =
        program.procedures.iter().map(|procedure| analyse(program, procedure, errors)).collect();
    for (procedure, states) in program.procedures.iter().zip(&flows) {
        for (at, (instruction, state)) in procedure.code.iter().zip(states).enumerate() {
            let Some(state) = state else { continue };
            if let Some(wrong) = wrong(program, instruction, state) {
                errors.at(&procedure.name, Label::new(at), wrong);
            }
        }
    }
    for (i, rule) in program.independence.iter().enumerate() {
        for argument in rule.condition.iter().flat_map(|condition| &condition.arguments) {
            let (side, slot) = match *argument {
                ConditionArgument::First(slot) => (rule.first, slot),
                ConditionArgument::Second(slot) => (rule.second, slot),
            };
            let procedure = program.atomics[side.index()].procedure.index();
            let entered = Op::AtomicBegin { atomic: side };
            let code = &program.procedures[procedure].code;
            for (instruction, state) in code.iter().zip(&flows[procedure]) {
                let Some(state) = state else { continue };
                if instruction.op == entered && !state.assigned.contains(slot) {
                    errors.add(format!("independence {i}: {argument} has no value there"));
                }
            }
        }
    }
}

/// What is known before an instruction.
#[derive(Clone, PartialEq, Eq)]
struct State {
    assigned: SlotSet,
    open: Vec<AtomicId>,
}

#[derive(Clone, PartialEq, Eq)]
struct SlotSet {
    words: Vec<u64>,
}

impl SlotSet {
    fn new(slots: usize) -> Self {
        Self { words: vec![0; slots.div_ceil(64)] }
    }

    fn insert(&mut self, slot: Slot) {
        self.words[slot.index() / 64] |= 1 << (slot.index() % 64);
    }

    fn contains(&self, slot: Slot) -> bool {
        self.words[slot.index() / 64] >> (slot.index() % 64) & 1 == 1
    }

    /// Keeps what is in both. Returns whether something was dropped.
    fn intersect(&mut self, other: &SlotSet) -> bool {
        let mut changed = false;
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            changed |= *word & !other != 0;
            *word &= other;
        }
        changed
    }
}

/// Returns the state before each instruction; `None` if it cannot be reached.
fn analyse(program: &Program, procedure: &Procedure, errors: &mut Errors) -> Vec<Option<State>> {
    let mut states: Vec<Option<State>> = vec![None; procedure.code.len()];
    let mut assigned = SlotSet::new(procedure.slots.len());
    (0..procedure.parameters).for_each(|parameter| assigned.insert(Slot(parameter)));
    states[0] = Some(State { assigned, open: Vec::new() });
    let mut work = vec![Label(0)];
    let mut unbalanced = vec![false; procedure.code.len()];
    while let Some(at) = work.pop() {
        let op = &procedure.code[at.index()].op;
        let mut state = states[at.index()].clone().expect("internal error: work without a state");
        match op {
            Op::AtomicBegin { atomic } => state.open.push(program.ends_as(*atomic)),
            Op::AtomicEnd { .. } => drop(state.open.pop()),
            _ => {}
        }
        op.for_each_successor(at, |to, written| {
            let mut next = state.clone();
            written.iter().for_each(|&slot| next.assigned.insert(slot));
            let Some(known) = states.get_mut(to.index()) else {
                errors.at(&procedure.name, at, "falls off the end");
                return;
            };
            match known {
                None => {
                    *known = Some(next);
                    work.push(to);
                }
                Some(known) => {
                    if known.open != next.open && !unbalanced[to.index()] {
                        unbalanced[to.index()] = true;
                        errors.at(
                            &procedure.name,
                            to,
                            "reached with different open atomic sections",
                        );
                    }
                    if known.assigned.intersect(&next.assigned) {
                        work.push(to);
                    }
                }
            }
        });
    }
    states
}

fn wrong(program: &Program, instruction: &Instruction, state: &State) -> Option<String> {
    let mut unassigned = None;
    let mut used = |operand: Operand| {
        if let Operand::Slot(slot) = operand
            && !state.assigned.contains(slot)
        {
            unassigned = Some(format!("{slot} may have no value"));
        }
    };
    instruction.op.for_each_operand(&mut used);
    let shown = &program.sites[instruction.site.index()].shown;
    shown.iter().for_each(|shown| used(shown.value));
    let wrong = match instruction.op {
        Op::AtomicEnd { atomic } if state.open.last() != Some(&atomic) => {
            Some("leaves an atomic section that was not entered last".to_owned())
        }
        Op::Return { .. } if !state.open.is_empty() => {
            Some("returns from inside an atomic section".to_owned())
        }
        Op::Await { .. } if state.open.is_empty() => {
            Some("awaits outside of an atomic section".to_owned())
        }
        _ => None,
    };
    unassigned.or(wrong)
}

/// For each instruction, whether it is reached inside an atomic section.
pub(super) fn inside_atomic(program: &Program, procedure: &Procedure) -> Vec<bool> {
    let states = analyse(program, procedure, &mut Errors::default());
    states.iter().map(|state| state.as_ref().is_some_and(|state| !state.open.is_empty())).collect()
}
