//! From a model to an execution that everybody can replay.

use selvedge_core::{
    Access, Effect, Fault, Order, Schedule, Status, Step, System, ThreadId, Violation,
    ViolationKind, commute,
};
use selvedge_lang::Interpreter;

use crate::encode::goals::Wrong;
use crate::encode::racing::Race;
use crate::solver::Node;
use crate::unroll::{Event, EventId, Unrolled};

/// An execution that shows what is wrong.
#[derive(Clone, Debug)]
pub struct Witness {
    /// What the interpreter says about it.
    pub violation: Violation,
    /// The steps that lead to it on a fresh system, with the values from outside.
    pub schedule: Schedule,
}

/// Returns the executed events of the last model in an order that agrees with all its edges, with few
/// changes of the thread. `nodes` are those of the events, in their order.
pub fn linearize(unrolled: &Unrolled, nodes: &[Node]) -> Vec<EventId> {
    let edges = unrolled.circuit.solver.edges_in_model();
    let mut incoming = vec![0_usize; nodes.len()];
    let mut after = vec![Vec::new(); nodes.len()];
    for (from, to) in edges {
        incoming[to.index()] += 1;
        after[from.index()].push(to.index());
    }
    let thread_of = |node: usize| unrolled.events.get(node).map(|event| event.thread);
    let mut free: Vec<usize> = (0..nodes.len()).filter(|&node| incoming[node] == 0).collect();
    let mut order = Vec::new();
    let mut current = None;
    while !free.is_empty() {
        let same = free.iter().position(|&node| thread_of(node) == current);
        let node = free.swap_remove(same.unwrap_or(0));
        if let Some(event) = unrolled.events.get(node) {
            current = Some(event.thread);
            if unrolled.circuit.solver.value(event.guard) {
                order.push(EventId::new(node));
            }
        }
        for &next in &after[node] {
            incoming[next] -= 1;
            if incoming[next] == 0 {
                free.push(next);
            }
        }
    }
    order
}

/// Follows the events of the last model on the interpreter.
///
/// # Errors
/// If it cannot, or if what is wrong in the model does not show there: a mistake of the encoding.
pub fn replay(unrolled: &Unrolled, order: &[EventId], wrong: &Wrong) -> Result<Witness, String> {
    let mut run = Run::new(unrolled);
    for &event in order {
        if let Some(violation) = run.step(event)?
            && run.is_it(&violation, wrong)
        {
            return Ok(run.witness(violation));
        }
    }
    if matches!(wrong, Wrong::Fault(fault) if fault.thread.is_some()) {
        return Err("no step failed there".to_owned());
    }
    match run.system.end().1 {
        Some(violation) if run.is_it(&violation, wrong) => Ok(run.witness(violation)),
        _ => Err("the end of the execution showed nothing wrong".to_owned()),
    }
}

/// Follows the events of the last model, and lets the two threads of a data race make their accesses. Returns `None` if these do
/// not conflict, which can only be if they need not. Who shows it to a user puts it into words.
///
/// # Errors
/// If it cannot, or if accesses do not conflict that should: a mistake of the encoding.
pub fn replay_race(
    unrolled: &Unrolled,
    order: &[EventId],
    race: Race,
) -> Result<Option<Witness>, String> {
    let mut run = Run::new(unrolled);
    for &event in order {
        run.step(event)?;
    }
    let [first, second] = race.threads;
    let (Some(first), Some(second)) = (run.ids[first], run.ids[second]) else {
        return Err("a thread of a data race does not exist".to_owned());
    };
    let before = run.steps.clone();
    for (first, second) in [(first, second), (second, first)] {
        if run.conflict(first, second) {
            let violation = Violation {
                kind: ViolationKind::DataRace,
                message: format!("{} {:?}", unrolled.cells[race.cell.index()].name, race.threads),
                places: Vec::new(),
                notes: Vec::new(),
                thread: Some(second),
            };
            return Ok(Some(run.witness(violation)));
        }
        run.steps.clone_from(&before);
        run.system.rewind(&before);
    }
    match race.is_certain {
        true => Err("the accesses of a data race do not conflict".to_owned()),
        false => Ok(None),
    }
}

/// Follows the events of the last model. Returns the steps.
///
/// # Errors
/// If it cannot: a mistake of the encoding.
pub fn follow(unrolled: &Unrolled, order: &[EventId]) -> Result<Schedule, String> {
    let mut run = Run::new(unrolled);
    for &event in order {
        run.step(event)?;
    }
    Ok(run.steps.into())
}

struct Run<'a> {
    unrolled: &'a Unrolled,
    system: Interpreter,
    /// The thread of each instance, once it exists.
    ids: Vec<Option<ThreadId>>,
    steps: Vec<Step>,
    effect: Effect,
}

impl<'a> Run<'a> {
    fn new(unrolled: &'a Unrolled) -> Self {
        let count = unrolled.program.threads.len();
        let ids = (0..unrolled.threads.len()).map(|i| (i < count).then(|| ThreadId::new(i)));
        Self {
            unrolled,
            system: Interpreter::new(unrolled.program.clone()),
            ids: ids.collect(),
            steps: Vec::new(),
            effect: Effect::default(),
        }
    }

    fn step(&mut self, event: EventId) -> Result<Option<Violation>, String> {
        let event = &self.unrolled.events[event.index()];
        let place = self.unrolled.program.place(event.site);
        let id = self.ids[event.thread].ok_or_else(|| format!("{place}: no such thread yet"))?;
        if self.system.status(id) != Status::Enabled {
            return Err(format!("{place}: thread {} cannot run", id.number()));
        }
        let circuit = &self.unrolled.circuit;
        let mut choice = 0;
        let alternatives = self.system.choices(id);
        if let Some((value, low)) = &event.input {
            let (value, low) = (value.value(circuit), low.value(circuit));
            // Where there is nothing to choose from, or too much, the step fails whatever it takes.
            let wanted = u32::try_from(i64::from(value) - i64::from(low)).ok();
            choice = wanted.filter(|&choice| choice < alternatives).unwrap_or(0);
        } else if alternatives > 1 {
            choice = self.waking_choice(id, event);
        }
        let spawned = event.spawns.iter().filter(|(lit, _)| circuit.solver.value(*lit));
        let spawned: Vec<usize> = spawned.map(|&(_, instance)| instance).collect();
        let absent = if spawned.is_empty() { Vec::new() } else { self.absent() };
        let violation = self.take(Step { thread: id, choice });
        // Asking for the status of a thread may have given those that it would create a number.
        let is_new = |id: &ThreadId| {
            absent.get(id.index()).copied().unwrap_or(true)
                && self.system.status(*id) != Status::Absent
        };
        if !spawned.is_empty() {
            let ids = (0..self.system.thread_count()).map(ThreadId::new).filter(is_new);
            for (instance, id) in spawned.into_iter().zip(ids.collect::<Vec<_>>()) {
                self.ids[instance] = Some(id);
            }
        }
        Ok(violation)
    }

    /// Per thread with a number: whether it does not exist.
    fn absent(&self) -> Vec<bool> {
        let ids = (0..self.system.thread_count()).map(ThreadId::new);
        ids.map(|id| self.system.status(id) == Status::Absent).collect()
    }

    /// Returns the alternative of a signal that wakes whom it wakes in the model.
    fn waking_choice(&mut self, id: ThreadId, event: &Event) -> u32 {
        let woken = event.wakes.iter().find(|(lit, _)| self.unrolled.circuit.solver.value(*lit));
        let Some(woken) = woken.and_then(|&(_, instance)| self.ids[instance]) else { return 0 };
        for choice in 0..self.system.choices(id) {
            self.system.step(Step { thread: id, choice }, &mut self.effect);
            let is_it = self.system.status(woken) != Status::Parked;
            self.system.rewind(&self.steps);
            if is_it {
                return choice;
            }
        }
        0
    }

    /// Lets both threads make a step. Returns whether both can, and access one variable in ways that conflict, at least one of
    /// them plain.
    fn conflict(&mut self, first: ThreadId, second: ThreadId) -> bool {
        let mut accesses = Vec::new();
        for thread in [first, second] {
            if self.system.status(thread) != Status::Enabled {
                return false;
            }
            self.take(Step::of(thread));
            let Effect { footprint, order, .. } = &self.effect;
            accesses.push((footprint.accesses().to_vec(), *order == Some(Order::NonAtomic)));
        }
        let [(first, first_plain), (second, second_plain)] = accesses.as_slice() else {
            return false;
        };
        let any = |is_memory: bool| {
            let meet = |a: &Access, b: &Access| {
                a.object == b.object && a.mode.is_memory() == is_memory && !commute(a.mode, b.mode)
            };
            first.iter().any(|a| second.iter().any(|b| meet(a, b)))
        };
        // What they access besides may order them: the end of a thread and a message to it.
        (*first_plain || *second_plain) && any(true) && !any(false)
    }

    fn take(&mut self, step: Step) -> Option<Violation> {
        self.system.step(step, &mut self.effect);
        self.steps.push(step);
        match self.effect.fault.take() {
            Some(Fault::Violation(violation)) => Some(violation),
            _ => None,
        }
    }

    fn is_it(&self, violation: &Violation, wrong: &Wrong) -> bool {
        match wrong {
            Wrong::Race(_) => false,
            Wrong::Deadlock => violation.kind == ViolationKind::Deadlock,
            Wrong::Fault(fault) => {
                let kind = match (fault.thread, fault.kind) {
                    (None, ViolationKind::Assertion) => ViolationKind::Finally,
                    (_, kind) => kind,
                };
                violation.kind == kind
                    && violation.places.first() == Some(&self.unrolled.program.place(fault.site))
            }
        }
    }

    /// Trying out steps may have given threads numbers that a fresh system does not give them.
    fn witness(mut self, violation: Violation) -> Witness {
        let schedule = Schedule::fresh(&mut self.system, &self.steps);
        Witness { violation, schedule }
    }
}
