//! Who communicates with whom.

use selvedge_core::{Access, Mode, ThreadId, ThreadSet};

/// The communication graph: threads, and an edge between two that share a variable, a lock or
/// the like. Starts and ends of threads and their wake-ups do not count.
#[derive(Default)]
pub(super) struct Architecture {
    /// Of each object: the threads that touch it, in the order in which they came.
    sharers: Vec<Vec<ThreadId>>,
    /// Of each thread: those it shares something with.
    neighbours: Vec<ThreadSet>,
    edges: usize,
}

impl Architecture {
    /// Notes that the thread touches the object.
    pub(super) fn note(&mut self, thread: ThreadId, access: Access) {
        let object = access.object.index();
        if self.sharers.len() <= object {
            self.sharers.resize_with(object + 1, Vec::new);
        }
        if self.sharers[object].contains(&thread) || is_private(access.mode) {
            return;
        }
        for index in 0..self.sharers[object].len() {
            self.connect(self.sharers[object][index], thread);
        }
        self.sharers[object].push(thread);
    }

    fn connect(&mut self, a: ThreadId, b: ThreadId) {
        let needed = a.index().max(b.index()) + 1;
        if self.neighbours.len() < needed {
            self.neighbours.resize_with(needed, ThreadSet::new);
        }
        self.edges += usize::from(self.neighbours[a.index()].insert(b));
        self.neighbours[b.index()].insert(a);
    }

    /// Whether there is no cycle.
    pub(super) fn is_acyclic(&self) -> bool {
        // A graph is a forest exactly if it has as many edges as nodes less components.
        let mut reached = ThreadSet::new();
        let mut components = 0;
        for start in (0..self.neighbours.len()).map(ThreadId::new) {
            if !reached.insert(start) {
                continue;
            }
            components += 1;
            let mut work = vec![start];
            while let Some(thread) = work.pop() {
                for other in (0..self.neighbours.len()).map(ThreadId::new) {
                    if self.neighbours[thread.index()].contains(other) && reached.insert(other) {
                        work.push(other);
                    }
                }
            }
        }
        self.edges == self.neighbours.len() - components
    }

    /// In words.
    pub(super) fn describe(&self) -> String {
        let shape = match (self.edges, self.is_acyclic()) {
            (0, _) => "nothing is shared",
            (_, true) => "acyclic",
            (_, false) => "cyclic",
        };
        match self.edges {
            0 => shape.to_owned(),
            1 => format!("{shape}, 1 edge"),
            edges => format!("{shape}, {edges} edges"),
        }
    }
}

fn is_private(mode: Mode) -> bool {
    matches!(
        mode,
        Mode::Spawn
            | Mode::Begin
            | Mode::End
            | Mode::Join
            | Mode::Alive
            | Mode::Wake
            | Mode::Woken
            | Mode::Post
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use selvedge_core::ObjectId;

    fn of(shared: &[&[usize]]) -> Architecture {
        let mut architecture = Architecture::default();
        for (object, threads) in shared.iter().enumerate() {
            for &thread in *threads {
                let access = Access { object: ObjectId::new(object), mode: Mode::Write };
                architecture.note(ThreadId::new(thread), access);
            }
        }
        architecture
    }

    #[test]
    fn shapes() {
        assert!(of(&[]).is_acyclic());
        assert!(of(&[&[0, 1], &[0, 1]]).is_acyclic());
        assert!(of(&[&[0, 1], &[1, 2], &[2, 3], &[5, 6]]).is_acyclic());
        assert!(!of(&[&[0, 1, 2]]).is_acyclic());
        assert!(!of(&[&[0, 1], &[1, 2], &[3, 2], &[3, 0]]).is_acyclic());
        assert_eq!(of(&[&[0, 1], &[1, 2]]).describe(), "acyclic, 2 edges");
        assert_eq!(of(&[&[0], &[1]]).describe(), "nothing is shared");
    }
}
