//! Who communicates with whom.

use selvedge_core::{Access, Mode, ObjectId, ThreadId, ThreadSet};

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
    /// Notes that the thread touches the object. Returns whether it is the first time that it
    /// shares it with another.
    pub(super) fn note(&mut self, thread: ThreadId, access: Access) -> bool {
        let object = access.object.index();
        if self.sharers.len() <= object {
            self.sharers.resize_with(object + 1, Vec::new);
        }
        if self.sharers[object].contains(&thread) || is_private(access.mode) {
            return false;
        }
        for index in 0..self.sharers[object].len() {
            self.connect(self.sharers[object][index], thread);
        }
        self.sharers[object].push(thread);
        self.sharers[object].len() > 1
    }

    fn connect(&mut self, a: ThreadId, b: ThreadId) {
        let needed = a.index().max(b.index()) + 1;
        if self.neighbours.len() < needed {
            self.neighbours.resize_with(needed, ThreadSet::new);
        }
        self.edges += usize::from(self.neighbours[a.index()].insert(b));
        self.neighbours[b.index()].insert(a);
    }

    /// Returns whether there is no cycle.
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

    /// Returns the objects that the edges of an all-but-two cycle set are about: every cycle has at most two
    /// edges outside of the set. Two edges in every part of the graph that a cycle goes through are
    /// left out, those that most objects are about.
    pub(super) fn refined(&self) -> Vec<ObjectId> {
        let count = self.neighbours.len();
        let about = |a: usize, b: usize| {
            let (a, b) = (ThreadId::new(a), ThreadId::new(b));
            let objects = self.sharers.iter();
            objects.filter(|sharers| sharers.contains(&a) && sharers.contains(&b)).count()
        };
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for a in 0..count {
            let others = (a + 1)..count;
            edges.extend(
                others.filter(|&b| self.neighbours[a].contains(ThreadId::new(b))).map(|b| (a, b)),
            );
        }
        edges.sort_by_key(|&(a, b)| (std::cmp::Reverse(about(a, b)), a, b));
        let mut left_out: Vec<(usize, usize)> = Vec::new();
        let mut set: Vec<(usize, usize)> = Vec::new();
        for &edge in &edges {
            let together =
                left_out.iter().filter(|&&other| self.on_one_cycle(&edges, edge, other)).count();
            match together < 2 {
                true => left_out.push(edge),
                false => set.push(edge),
            }
        }
        let is_refined = |sharers: &Vec<ThreadId>| {
            set.iter().any(|&(a, b)| {
                sharers.contains(&ThreadId::new(a)) && sharers.contains(&ThreadId::new(b))
            })
        };
        let objects = self.sharers.iter().enumerate();
        objects
            .filter(|(_, sharers)| is_refined(sharers))
            .map(|(object, _)| ObjectId::new(object))
            .collect()
    }

    /// Returns whether a cycle goes through both edges: they are in one part of the graph that no single
    /// thread cuts in two.
    fn on_one_cycle(
        &self,
        edges: &[(usize, usize)],
        first: (usize, usize),
        second: (usize, usize),
    ) -> bool {
        let connected = |without: usize, from: usize, to: usize| {
            let mut reached = vec![false; self.neighbours.len()];
            reached[from] = true;
            let mut work = vec![from];
            while let Some(at) = work.pop() {
                for &(a, b) in edges {
                    for (a, b) in [(a, b), (b, a)] {
                        if a == at && b != without && !std::mem::replace(&mut reached[b], true) {
                            work.push(b);
                        }
                    }
                }
            }
            reached[to]
        };
        let ends = |(a, b): (usize, usize)| [a, b];
        // No thread separates an end of the one from an end of the other.
        (0..self.neighbours.len()).all(|thread| {
            let left = |edge| ends(edge).into_iter().filter(move |&end| end != thread);
            left(first).any(|a| left(second).any(|b| connected(thread, a, b)))
        })
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

    #[test]
    fn all_but_two_edges_of_every_cycle() {
        let objects = |shared: &[&[usize]]| -> Vec<usize> {
            of(shared).refined().into_iter().map(ObjectId::index).collect()
        };
        assert_eq!(objects(&[&[0, 1], &[1, 2]]), [0_usize; 0]);
        // A triangle: the edge with the fewest objects.
        assert_eq!(objects(&[&[0, 1], &[1, 2], &[2, 0], &[0, 1], &[1, 2]]), [2]);
        // Two triangles that share a thread, and a bridge.
        let two = objects(&[&[0, 1], &[1, 2], &[2, 0], &[2, 3], &[3, 4], &[4, 2], &[4, 5]]);
        assert_eq!(two.len(), 2);
        // A variable of three threads is always about an edge of the set.
        assert_eq!(objects(&[&[0, 1, 2], &[1, 2]]), [0]);
        // A square with a diagonal.
        assert_eq!(objects(&[&[0, 1], &[1, 2], &[2, 3], &[3, 0], &[0, 2]]).len(), 3);
    }
}
