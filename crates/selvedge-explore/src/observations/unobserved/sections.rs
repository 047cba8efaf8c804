//! Critical sections of one lock exclude each other.

use selvedge_core::{EventId, Mode, ObjectId, ThreadId};

use super::super::graph::{Discipline, Graph, contains};
use super::super::realize::EitherEvents;

/// A critical section, as far as the current events go.
struct Section {
    first: EventId,
    /// Its release, or the last event so far of its thread.
    last: EventId,
}

/// Returns what the critical sections of the events of the cut, and of `next` if there is one, demand: of two,
/// one is before the other. One that is open will be closed some time, and everything known of its
/// thread comes before that.
pub(super) fn exclusive(graph: &Graph, cut: &[u32], next: Option<EventId>) -> Vec<EitherEvents> {
    let mut either = Vec::new();
    for lock in graph.objects_with(Discipline::Unobserved) {
        let sections = sections(graph, lock, cut, next);
        for (index, a) in sections.iter().enumerate() {
            for b in &sections[..index] {
                if a.first.thread != b.first.thread {
                    either.push([(a.last, b.first), (b.last, a.first)]);
                }
            }
        }
    }
    either
}

/// Returns how many locks each of so many threads holds after its events of the cut.
pub(super) fn held(graph: &Graph, cut: &[u32], threads: usize) -> Vec<u32> {
    let mut held = vec![0_u32; threads];
    for lock in graph.objects_with(Discipline::Unobserved) {
        for &(position, mode) in graph.history(lock) {
            let id = graph.vertex(position).id;
            if contains(cut, id) {
                let count = &mut held[id.thread.index()];
                *count = if mode == Mode::Acquire { *count + 1 } else { count.saturating_sub(1) };
            }
        }
    }
    held
}

fn sections(graph: &Graph, lock: ObjectId, cut: &[u32], next: Option<EventId>) -> Vec<Section> {
    let last_known = |thread: ThreadId| {
        let next = next.filter(|next| next.thread == thread);
        next.unwrap_or(EventId { thread, nth: cut[thread.index()] - 1 })
    };
    let mut sections: Vec<Section> = Vec::new();
    for &(position, mode) in graph.history(lock) {
        let id = graph.vertex(position).id;
        if !contains(cut, id) {
            continue;
        }
        match mode {
            Mode::Acquire => sections.push(Section { first: id, last: last_known(id.thread) }),
            _ => {
                let of_thread = |section: &&mut Section| section.first.thread == id.thread;
                if let Some(section) = sections.iter_mut().rev().find(of_thread) {
                    section.last = id;
                }
            }
        }
    }
    sections
}
