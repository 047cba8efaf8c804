//! The steps between which a token passes, and how they follow each other in their threads.

use crate::circuit::Circuit;
use crate::solver::Lit;
use crate::unroll::{EventId, Unrolled};

/// A previous or next step, with the condition under which it is.
pub type Neighbour<T> = (Lit, T);

/// Which events are steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// Those that others can notice: those that touch something shared, and those that create or
    /// wait for threads. A choice or a `yield` is not one: it can run right before the next one.
    Noticed,
    /// All. Where context switches are counted, a thread needs its turn for any of them.
    All,
}

/// The steps between which a token passes.
pub struct Steps {
    /// Per thread, in program order.
    pub of_thread: Vec<Vec<EventId>>,
    /// Per event: the steps before it; `None` is the start of the thread. Empty if it is no step.
    pub previous: Vec<Vec<Neighbour<Option<EventId>>>>,
    /// Per event: the steps after it. The condition includes that the next one is executed.
    pub next: Vec<Vec<Neighbour<EventId>>>,
    /// Per event: whether it is executed and is the last step of its thread.
    pub is_last: Vec<Lit>,
}

impl Steps {
    /// Returns those of an unrolled program.
    pub fn new(unrolled: &mut Unrolled, which: Which) -> Self {
        let count = unrolled.events.len();
        let is_step: Vec<bool> = unrolled
            .events
            .iter()
            .map(|event| {
                let threads = !event.spawns.is_empty() || !event.joins.is_empty();
                event.guard != Lit::FALSE && (which == Which::All || event.is_shared() || threads)
            })
            .collect();
        let mut previous: Vec<Vec<Neighbour<Option<EventId>>>> = Vec::with_capacity(count);
        for index in 0..count {
            // What is no step is looked through: those before it are known already.
            let mut found = Vec::new();
            for &(condition, before) in &unrolled.events[index].previous.clone() {
                match before {
                    Some(event) if !is_step[event.index()] => {
                        for &(inner, before) in &previous[event.index()].clone() {
                            let both = unrolled.circuit.and(condition, inner);
                            add(&mut found, both, before, &mut unrolled.circuit);
                        }
                    }
                    before => add(&mut found, condition, before, &mut unrolled.circuit),
                }
            }
            previous.push(found);
        }
        let mut next: Vec<Vec<Neighbour<EventId>>> = vec![Vec::new(); count];
        for index in (0..count).filter(|&index| is_step[index]) {
            let guard = unrolled.events[index].guard;
            for &(condition, before) in &previous[index] {
                if let Some(before) = before {
                    let both = unrolled.circuit.and(guard, condition);
                    next[before.index()].push((both, EventId::new(index)));
                }
            }
        }
        let mut is_last = vec![Lit::FALSE; count];
        for index in (0..count).filter(|&index| is_step[index]) {
            let event = &unrolled.events[index];
            // `guard && !c` for one next step whose guard is that of this one is never true.
            let mut lits = vec![event.guard];
            lits.extend(next[index].iter().map(|&(condition, _)| !condition));
            let never = next[index]
                .iter()
                .any(|&(condition, _)| unrolled.circuit.implies(event.guard, condition));
            is_last[index] = if never { Lit::FALSE } else { unrolled.circuit.all(&lits) };
        }
        let of_thread = unrolled
            .threads
            .iter()
            .map(|thread| {
                thread.events.iter().copied().filter(|event| is_step[event.index()]).collect()
            })
            .collect();
        Self { of_thread, previous, next, is_last }
    }

    /// Returns the threads that have any.
    pub fn threads(&self) -> Vec<usize> {
        (0..self.of_thread.len()).filter(|&thread| !self.of_thread[thread].is_empty()).collect()
    }

    /// Returns the ways through a thread, from its start to where nothing follows; `None` if there are more than `most`.
    pub fn paths(&self, thread: usize, most: usize) -> Option<Vec<Vec<EventId>>> {
        let mut open: Vec<Vec<EventId>> = self.of_thread[thread]
            .iter()
            .filter(|event| self.previous[event.index()].iter().any(|(_, before)| before.is_none()))
            .map(|&event| vec![event])
            .collect();
        let mut paths = Vec::new();
        while let Some(path) = open.pop() {
            let next = path.last().map(|last| self.next[last.index()].as_slice());
            let next = next.unwrap_or_default();
            open.extend(next.iter().map(|&(_, next)| -> Vec<EventId> {
                path.iter().copied().chain([next]).collect()
            }));
            if next.is_empty() {
                paths.push(path);
            }
            if paths.len() + open.len() > most {
                return None;
            }
        }
        paths.sort();
        Some(paths)
    }

    /// Returns all steps.
    pub fn all(&self) -> impl Iterator<Item = EventId> {
        self.of_thread.iter().flatten().copied()
    }

    /// Returns how many ordered pairs of steps of different threads there are.
    pub fn pairs(&self) -> usize {
        let total: usize = self.of_thread.iter().map(Vec::len).sum();
        self.of_thread.iter().map(|steps| steps.len() * (total - steps.len())).sum()
    }
}

fn add(
    found: &mut Vec<Neighbour<Option<EventId>>>,
    condition: Lit,
    before: Option<EventId>,
    circuit: &mut Circuit,
) {
    match found.iter_mut().find(|(_, known)| *known == before) {
        Some((known, _)) => *known = circuit.or(*known, condition),
        None => found.push((condition, before)),
    }
}
