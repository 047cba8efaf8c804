//! Which of the events that keep a step waiting to leave out.

use selvedge_core::{Execution, Position};

/// More combinations than this are not tried one by one.
const MOST_SUBSETS: usize = 256;

/// All ways to leave out some of `events`, which are in the order of the execution, so that what is
/// left is closed under happens-before: each as the first events to leave out, one per thread at
/// most. `None` if there are too many.
pub(super) fn parts_to_leave_out(
    execution: &Execution,
    events: &[Position],
) -> Option<Vec<Vec<Position>>> {
    let mut threads: Vec<Vec<Position>> = Vec::new();
    for &event in events {
        let thread = execution.event(event).thread();
        match threads.iter_mut().find(|list| execution.event(list[0]).thread() == thread) {
            Some(list) => list.push(event),
            None => threads.push(vec![event]),
        }
    }
    let mut parts: Vec<Vec<Position>> = vec![Vec::new()];
    for list in &threads {
        let shorter = parts.len();
        for &first_gone in list {
            for index in 0..shorter {
                let mut part = parts[index].clone();
                part.push(first_gone);
                parts.push(part);
            }
            if parts.len() > MOST_SUBSETS {
                return None;
            }
        }
    }
    Some(parts)
}
