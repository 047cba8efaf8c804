//! Condition variables and mailboxes, from the documentation of the language and the C++ standard.
//!
//! - *A condition variable* is the set of its waiters. `wait`, `signal` and `broadcast` are in one total order, consistent with
//!   happens-before (C++20, [thread.condition]): the modification order of the set. Who waits is in the set first, and then
//!   releases the mutex: a try to take it may fail in between. A signal wakes one of the waiters, whichever; who is woken takes note of that very signal. Nothing of
//!   this synchronises, not even with fences, which are about atomic objects: the mutex does.
//! - *A mailbox* is the sequence of its messages. To send is a release operation and puts one behind all others; to receive is an
//!   acquire operation and takes the oldest that matches. The order of these updates is a modification order. To find no message
//!   is a relaxed read; to find that the thread has ended is an update like any other send.
//! - *The end* of a thread closes its mailbox, in one step with its last operation. Under SC and TSO steps are in order. Under RC11
//!   only happens-before is: a relaxed read may see that operation and yet be followed by a send that finds the thread alive.

use selvedge_core::Order;

use crate::litmus::{Meeting, REGISTERS, outcomes_of, state};

use super::execution::{Event, Execution, Kind};
use super::relation::{Relation, Set};

/// What a read does with a value.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// The operation only reads.
    Reads(Kind, Order),
    /// It also writes this, in one step.
    Updates(i64, Order),
    /// The same, and it fails.
    Fails(i64, Order),
}

/// What an operation may do with what it finds, and what it answers.
pub(super) fn uses(
    meeting: Meeting,
    thread: usize,
    found: i64,
    registers: &[i64; REGISTERS],
) -> Vec<(Use, i64)> {
    let order = match meeting {
        Meeting::Send(..) => Order::Release,
        Meeting::Receive(..) | Meeting::Poll(..) => Order::Acquire,
        Meeting::Close => Order::Relaxed,
        _ => Order::Unseen,
    };
    let alone = Kind::FailedUpdate { spuriously: false };
    let all = outcomes_of(meeting, thread, found, registers).into_iter().map(|done| {
        let what = match done.writes {
            Some(new) if done.fails => Use::Fails(new, order),
            Some(new) => Use::Updates(new, order),
            None => Use::Reads(alone, Order::Relaxed),
        };
        (what, done.answer)
    });
    all.collect()
}

/// Whether a thread has a mailbox that is not closed.
pub(super) fn is_open(execution: &Execution, thread: usize) -> bool {
    let last = execution.threads[thread].last().map(|&event| &execution.events[event]);
    !execution.mailboxes.is_empty() && !last.is_some_and(|event| closes(execution, event))
}

fn closes(execution: &Execution, event: &Event) -> bool {
    let is_own =
        event.thread.is_some_and(|thread| event.at == Some(execution.mailboxes.start + thread));
    is_own && event.kind == Kind::UpdateWrite && event.value == state::CLOSED
}

/// The signal that woke a thread which waits: the first write behind the one with which it began to wait that has it no more.
pub(super) fn waker(execution: &Execution, thread: usize, at: usize) -> Option<usize> {
    let own = execution.threads[thread].iter().rev();
    let entered = own.copied().find(|&event| {
        let event = &execution.events[event];
        event.at == Some(at) && event.kind == Kind::UpdateWrite
    });
    let writes = &execution.writes[at];
    let behind = writes.iter().skip_while(|&&write| Some(write) != entered);
    let waits = |write: usize| execution.events[write].value >> thread & 1 == 1;
    behind.copied().find(|&write| !waits(write))
}

/// From each operation on a mailbox to the end of its thread, if it comes first.
pub(super) fn alive(execution: &Execution) -> Relation {
    let mut all = Relation::EMPTY;
    for writes in &execution.writes {
        let last = writes.iter().position(|&write| closes(execution, &execution.events[write]));
        if let Some(last) = last {
            writes[..last].iter().for_each(|&write| all.add(write, writes[last]));
        }
    }
    all
}

/// Operations that are one step although they are several events.
pub(super) fn steps(execution: &Execution) -> Vec<Set> {
    let mut all = Vec::new();
    let Execution { events, threads, .. } = execution;
    for thread in threads {
        for (place, &number) in thread.iter().enumerate() {
            let event = &events[number];
            if !closes(execution, event) {
                continue;
            }
            let last = place.checked_sub(2).map(|place| thread[place]);
            let first = place.checked_sub(3).map(|place| thread[place]);
            let is_update = last.is_some_and(|last| events[last].kind == Kind::UpdateWrite);
            let others = last.into_iter().chain(first.filter(|_| is_update));
            let mut step = Set::of(number) | Set::of(thread[place - 1]);
            others.for_each(|other| step.insert(other));
            all.push(step);
        }
    }
    all
}

/// The order between steps: what is before one of the events of a step is before all of it.
pub(super) fn between(steps: &[Set], order: Relation) -> Relation {
    let mut all = order;
    for &step in steps {
        let mut behind = Set::default();
        step.iter().for_each(|event| behind = behind | all.row(event));
        behind = Set(behind.0 & !step.0);
        all = all.map_rows(|event, row| {
            if step.has(event) {
                behind
            } else if (row & step).is_empty() {
                row
            } else {
                row | step
            }
        });
    }
    all
}
