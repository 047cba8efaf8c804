//! Which promises an execution does not keep, and whether it is fair, found by following it: shares nothing with the search.

use selvedge_core::{
    Effect, Numbering, Schedule, Status, System, ThreadId, Violation, ViolationKind,
};

use crate::options::Fairness;

/// Returns what an execution does not keep of what the program promises: one that ends, or one whose last steps repeat
/// forever. Of an execution that goes on in another way nothing is known.
///
/// # Errors
/// If steps that are said to repeat do not lead back to where they begin, or a step cannot be taken.
pub fn broken_promises<S: System>(
    system: &mut S,
    schedule: &Schedule,
) -> Result<Vec<Violation>, String> {
    system.restart();
    let mut walk = Walk::default();
    let mut numbering = Numbering::default();
    let mut effect = Effect::default();
    let mut cycle = None;
    for (at, &step) in schedule.steps.iter().enumerate() {
        if schedule.cycle == Some(at) {
            cycle = Some(saved(system));
        }
        walk.look(system)?;
        let step = numbering.step(system, step);
        if step.thread.index() >= system.thread_count()
            || system.status(step.thread) != Status::Enabled
            || step.choice >= system.choices(step.thread)
        {
            return Err(format!("step {} of the schedule cannot be taken", at + 1));
        }
        system.step(step, &mut effect);
        walk.note_mark(system, step.thread);
    }
    walk.look(system)?;
    let statuses: Vec<Status> =
        (0..system.thread_count()).map(|thread| system.status(ThreadId::new(thread))).collect();
    if cycle.as_ref().is_some_and(|before| *before != saved(system)) {
        return Err(
            "the steps after `/` do not lead back to the state in which they begin".to_owned()
        );
    }
    let is_void = |status: &Status| matches!(status, Status::Assumed | Status::Failed);
    let is_going_on = cycle.is_none() && statuses.contains(&Status::Enabled);
    if is_going_on || statuses.iter().any(is_void) {
        return Ok(Vec::new());
    }
    Ok(walk.broken(system, cycle.and(schedule.cycle)))
}

/// Returns why the steps of `schedule` that repeat forever are not fair: the first thread that takes none of them although it
/// could (weak fairness: before each of them; strong fairness: before one of them). `None` if they are, or if none repeat.
pub fn unfair_to<S: System>(
    system: &mut S,
    schedule: &Schedule,
    fairness: Fairness,
) -> Option<ThreadId> {
    if fairness == Fairness::None {
        return None;
    }
    let before = schedule.cycle?;
    system.restart();
    let mut numbering = Numbering::default();
    let mut effect = Effect::default();
    let mut states: Vec<Vec<Status>> = Vec::new();
    let mut taken: Vec<ThreadId> = Vec::new();
    for (at, &step) in schedule.steps.iter().enumerate() {
        let step = numbering.step(system, step);
        if at >= before {
            let threads = (0..system.thread_count()).map(ThreadId::new);
            states.push(threads.map(|thread| system.status(thread)).collect());
            taken.push(step.thread);
        }
        system.step(step, &mut effect);
    }
    let could_run = |thread: &ThreadId| {
        let mut enabled =
            states.iter().map(|state| state.get(thread.index()) == Some(&Status::Enabled));
        match fairness {
            Fairness::Weak => enabled.all(|is_enabled| is_enabled),
            Fairness::Strong | Fairness::None => enabled.any(|is_enabled| is_enabled),
        }
    };
    let threads = (0..system.thread_count()).map(ThreadId::new);
    threads.filter(|thread| !taken.contains(thread)).find(could_run)
}

fn saved<S: System>(system: &mut S) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(states) = system.states() {
        states.save(&mut bytes);
    }
    bytes
}

/// What was seen on the way.
#[derive(Default)]
struct Walk {
    /// For each state, by promise: whether it asks for it, and whether it keeps it.
    seen: Vec<Vec<(bool, bool)>>,
    /// For each step.
    marked: Vec<bool>,
}

impl Walk {
    fn look<S: System>(&mut self, system: &mut S) -> Result<(), String> {
        let mut all = Vec::new();
        if let Some(promises) = system.promises() {
            for promise in 0..promises.count() {
                all.push((promises.is_asked(promise)?, promises.is_kept(promise)?));
            }
        }
        self.seen.push(all);
        Ok(())
    }

    fn note_mark<S: System>(&mut self, system: &mut S, thread: ThreadId) {
        let promises = system.promises();
        self.marked.push(promises.is_some_and(|promises| promises.has_passed_mark(thread)));
    }

    /// Returns the promises that are not kept; `cycle`: how many steps come before those that repeat.
    fn broken<S: System>(&self, system: &mut S, cycle: Option<usize>) -> Vec<Violation> {
        let Some(promises) = system.promises() else { return Vec::new() };
        let mut broken = Vec::new();
        for promise in 0..promises.count() {
            let violation = promises.broken(promise);
            let last_kept = self.seen.iter().rposition(|state| state[promise].1);
            let is_kept = match violation.kind {
                ViolationKind::Eventually => last_kept.is_some(),
                ViolationKind::LeadsTo => {
                    // What a cycle keeps, it keeps again and again.
                    let is_kept_again = cycle.is_some() && last_kept >= cycle;
                    let last_asked = self.seen.iter().rposition(|state| state[promise].0);
                    is_kept_again || last_asked.is_none() || last_kept >= last_asked
                }
                _ => cycle.is_none_or(|before| self.marked[before..].contains(&true)),
            };
            if !is_kept {
                broken.push(violation);
            }
        }
        broken
    }
}
