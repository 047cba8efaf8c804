//! Replicated threads that are alike: one order of them stands for all.
//!
//! Threads that run the same code with arguments that make no difference can change places in an execution: what comes out is
//! another execution, with the same violations at the same places. So only the executions are encoded in which they take one
//! chosen step, their *mark*, in the order of their numbers, and those that never take it are the last ones. Any execution
//! becomes such a one if its threads change places.
//!
//! A mark is a step without which its thread takes no later one. So the marks can be ordered whether they are taken or
//! not: in an execution, the marks that are not taken come after everything else, with all that would follow them. Where
//! threads lock, the mark is the first lock: then the order of the critical sections, of which *n* threads have *n*!, is
//! decided to a large part.
//!
//! **Tests:** `tests/symmetry.rs`: what is found in random programs of replicated threads is what the explorers find.

use selvedge_lang::ir::{Op, ProcedureId, Program, Slot, Thread};

use crate::solver::Lit;
use crate::unroll::{EventId, Unrolled};

/// Returns the marks of threads that are alike, group by group, in the order of the threads.
pub(super) fn marks(unrolled: &Unrolled) -> Vec<Vec<EventId>> {
    // The two threads of a data race are told apart.
    if !unrolled.racing.is_empty() {
        return Vec::new();
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for thread in 0..unrolled.program.threads.len() {
        let group = groups.iter_mut().find(|group| are_alike(&unrolled.program, group[0], thread));
        match group {
            Some(group) => group.push(thread),
            None => groups.push(vec![thread]),
        }
    }
    let several = groups.iter().filter(|group| group.len() > 1);
    several.filter_map(|group| marks_of(unrolled, group)).collect()
}

/// Returns whether two threads run the same code with arguments that make no difference.
fn are_alike(program: &Program, a: usize, b: usize) -> bool {
    let (a, b) = (&program.threads[a], &program.threads[b]);
    if (a.procedure, a.daemon) != (b.procedure, b.daemon) {
        return false;
    }
    let live = program.procedures[a.procedure.index()].live_slots(program);
    let is_live = |index: usize| live.first().is_none_or(|live| live.contains(&Slot::new(index)));
    let mut arguments = a.arguments.iter().zip(&b.arguments).enumerate();
    a.arguments.len() == b.arguments.len()
        && arguments.all(|(index, (a, b))| a == b || !is_live(index))
        && names_no_thread(program, a.procedure)
}

/// Returns whether the code creates no threads, and no thread sends messages: threads have names there.
fn names_no_thread(program: &Program, procedure: ProcedureId) -> bool {
    let own = program.called_from([procedure]);
    let mut own = own.iter().flat_map(|id| &program.procedures[id.index()].code);
    let mut all = program.procedures.iter().flat_map(|procedure| &procedure.code);
    !own.any(|code| matches!(code.op, Op::Thread(Thread::Spawn { .. })))
        && !all.any(|code| matches!(code.op, Op::Message(_)))
}

fn marks_of(unrolled: &Unrolled, group: &[usize]) -> Option<Vec<EventId>> {
    let events = |thread: usize| unrolled.threads[thread].events.as_slice();
    let sites = |thread: usize| events(thread).iter().map(|id| unrolled.events[id.index()].site);
    if !group.iter().all(|&thread| sites(thread).eq(sites(group[0]))) {
        return None;
    }
    let can_be_mark = |index: usize| group.iter().all(|&thread| is_needed(unrolled, thread, index));
    let first = events(group[0]);
    let takes = |index: usize| unrolled.events[first[index].index()].takes.is_some();
    let writes = |index: usize| !unrolled.events[first[index].index()].writes.is_empty();
    let mut indices = (0..first.len()).filter(|&index| can_be_mark(index));
    let possible: Vec<usize> = indices.by_ref().collect();
    let find = |wanted: &dyn Fn(usize) -> bool| possible.iter().copied().find(|&at| wanted(at));
    let mark = find(&takes).or_else(|| find(&writes)).or_else(|| find(&|_| true))?;
    Some(group.iter().map(|&thread| events(thread)[mark]).collect())
}

/// Returns whether a thread takes no step after this one without it.
fn is_needed(unrolled: &Unrolled, thread: usize, index: usize) -> bool {
    let events = &unrolled.threads[thread].events;
    let guard = |id: &EventId| unrolled.events[id.index()].guard;
    let mark = guard(&events[index]);
    events[index + 1..].iter().all(|later| {
        let later = guard(later);
        later == Lit::FALSE || unrolled.circuit.implies(later, mark)
    })
}
