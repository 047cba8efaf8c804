//! The tree of explored executions: which were run, where they part, and how each ended.

use selvedge_core::{Ended, Schedule, Step, ThreadId};
use serde::{Serialize, Serializer};

use crate::json::ending_name;
use crate::width::visible;

/// So many steps are kept in all, so that few very long executions do not fill the memory.
const MOST_STEPS: usize = 4_000_000;

/// So many groups of steps are named in a label, from the beginning and from the end.
const NAMED: (usize, usize) = (8, 4);

/// Executions as a tree: a node is a run of steps up to the next branching. Its leaves are the executions, in the
/// order in which they were explored.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The names of the threads, by the numbers that the search gave them.
    pub threads: Vec<String>,
    nodes: Vec<Node>,
    executions: usize,
    steps: usize,
    is_truncated: bool,
}

#[derive(Clone, Default, Debug)]
struct Node {
    steps: Vec<Step>,
    children: Vec<usize>,
    /// Of a leaf. Inner nodes have children instead.
    ending: Option<Ended>,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            threads: Vec::new(),
            nodes: vec![Node::default()],
            executions: 0,
            steps: 0,
            is_truncated: false,
        }
    }
}

impl Tree {
    /// So many executions are kept.
    pub const MOST_EXECUTIONS: usize = 20_000;

    /// Adds an execution, unless there are too many already.
    pub fn add(&mut self, path: &[Step], ending: Ended) {
        if self.executions >= Self::MOST_EXECUTIONS || self.steps + path.len() > MOST_STEPS {
            self.is_truncated = true;
            return;
        }
        self.executions += 1;
        let (mut node, mut rest) = (0, path);
        loop {
            let run = &self.nodes[node].steps;
            let common = run.iter().zip(rest).take_while(|(one, other)| one == other).count();
            if common < run.len() {
                self.split(node, common);
            }
            rest = &rest[common..];
            let next = rest.first().and_then(|step| {
                let starts = |&&child: &&usize| self.nodes[child].steps.first() == Some(step);
                self.nodes[node].children.iter().find(starts).copied()
            });
            match next {
                Some(child) => node = child,
                None => break,
            }
        }
        self.steps += rest.len();
        // An execution that ended where others go on is a leaf of its own, without steps.
        if let Some(earlier) = self.nodes[node].ending.take() {
            self.push_leaf(node, &[], earlier);
        }
        let is_only = self.executions == 1;
        match is_only {
            true => {
                self.nodes[node].steps = rest.to_vec();
                self.nodes[node].ending = Some(ending);
            }
            false => self.push_leaf(node, rest, ending),
        }
    }

    fn push_leaf(&mut self, parent: usize, steps: &[Step], ending: Ended) {
        let child = self.nodes.len();
        self.nodes.push(Node { steps: steps.to_vec(), children: Vec::new(), ending: Some(ending) });
        self.nodes[parent].children.push(child);
    }

    /// Makes the steps of `node` from `at` on a child of their own.
    fn split(&mut self, node: usize, at: usize) {
        let child = self.nodes.len();
        let whole = &mut self.nodes[node];
        let below = Node {
            steps: whole.steps.split_off(at),
            children: std::mem::take(&mut whole.children),
            ending: whole.ending.take(),
        };
        whole.children.push(child);
        self.nodes.push(below);
    }

    /// Returns whether an execution was left out: no more are needed.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Forgets everything: the search starts again.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    fn label(&self, steps: &[Step]) -> String {
        let mut groups: Vec<(Step, usize)> = Vec::new();
        for &step in steps {
            match groups.last_mut() {
                Some((last, count)) if *last == step => *count += 1,
                _ => groups.push((step, 1)),
            }
        }
        let text = |&(step, count): &(Step, usize)| {
            let mut text = self.name(step.thread);
            if step.choice > 0 {
                text.push_str(&format!(":{}", step.choice));
            }
            if count > 1 {
                text.push_str(&format!("×{count}"));
            }
            text
        };
        if groups.len() <= NAMED.0 + NAMED.1 + 1 {
            return groups.iter().map(text).collect::<Vec<_>>().join(" ");
        }
        let mut words: Vec<String> = groups[..NAMED.0].iter().map(text).collect();
        words.push("…".to_owned());
        words.extend(groups[groups.len() - NAMED.1..].iter().map(text));
        words.join(" ")
    }

    fn name(&self, thread: ThreadId) -> String {
        match self.threads.get(thread.index()) {
            Some(name) => visible(name),
            None => format!("thread {}", thread.number()),
        }
    }
}

/// The name of an ending in JSON.
fn name(ended: Ended) -> &'static str {
    match ended {
        Ended::Violated => "violated",
        Ended::Maximal(ending) => ending_name(ending),
        Ended::Redundant => "redundant",
        Ended::Cut => "cut",
    }
}

#[derive(Default, Serialize)]
struct TreeJson {
    threads: Vec<String>,
    parent: Vec<usize>,
    label: Vec<String>,
    steps: Vec<String>,
    ending: Vec<Option<&'static str>>,
    first_violation: Option<usize>,
    executions: usize,
    truncated: bool,
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut json = TreeJson {
            threads: self.threads.iter().map(|name| visible(name)).collect(),
            executions: self.executions,
            truncated: self.is_truncated,
            ..TreeJson::default()
        };
        // Parents come before their children.
        let mut todo = vec![(0, 0)];
        while let Some((node, parent)) = todo.pop() {
            let number = json.parent.len();
            let Node { steps, children, ending } = &self.nodes[node];
            json.parent.push(parent);
            json.label.push(self.label(steps));
            json.steps.push(Schedule::from(steps.clone()).to_string());
            json.ending.push(ending.map(name));
            if *ending == Some(Ended::Violated) {
                json.first_violation.get_or_insert(number);
            }
            todo.extend(children.iter().rev().map(|&child| (child, number)));
        }
        json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use selvedge_core::Ending;

    use super::*;

    fn path(threads: &[usize]) -> Vec<Step> {
        threads.iter().map(|&thread| Step::of(ThreadId::new(thread))).collect()
    }

    fn json(executions: &[(&[usize], Ended)]) -> serde_json::Value {
        let mut tree = Tree { threads: vec!["a".to_owned(), "b".to_owned()], ..Tree::default() };
        for (threads, ending) in executions {
            tree.add(&path(threads), *ending);
        }
        serde_json::to_value(&tree).expect("a tree is JSON")
    }

    #[test]
    fn executions_part_where_they_differ() {
        let tree = json(&[
            (&[0, 0, 1, 1], Ended::Maximal(Ending::Complete)),
            (&[0, 1, 0, 1], Ended::Violated),
            (&[0, 1, 1, 0], Ended::Maximal(Ending::Deadlocked)),
            (&[1], Ended::Redundant),
        ]);
        let expected = serde_json::json!({
            "threads": ["a", "b"],
            "parent": [0, 0, 1, 1, 3, 3, 0],
            "steps": ["", "0", "0.1@2", "1", "0.1", "1.0", "1"],
            "label": ["", "a", "a b×2", "b", "a b", "b a", "b"],
            "ending": [null, null, "complete", null, "violated", "deadlocked", "redundant"],
            "first_violation": 4,
            "executions": 4,
            "truncated": false,
        });
        assert_eq!(tree, expected);
    }

    /// An execution that was abandoned or cut where another continues.
    #[test]
    fn a_prefix_is_a_leaf_of_its_own() {
        let longer_first = json(&[(&[0, 1], Ended::Maximal(Ending::Complete)), (&[0], Ended::Cut)]);
        assert_eq!(longer_first["label"], serde_json::json!(["a", "b", ""]));
        assert_eq!(longer_first["ending"], serde_json::json!([null, "complete", "cut"]));
        let shorter_first =
            json(&[(&[0], Ended::Cut), (&[0, 1], Ended::Maximal(Ending::Complete))]);
        assert_eq!(shorter_first["ending"], serde_json::json!([null, "cut", "complete"]));
        let twice = json(&[
            (&[0], Ended::Maximal(Ending::Complete)),
            (&[0], Ended::Maximal(Ending::Complete)),
        ]);
        assert_eq!(twice["ending"], serde_json::json!([null, "complete", "complete"]));
    }

    #[test]
    fn one_execution_and_none() {
        let one = json(&[(&[0, 1, 1], Ended::Maximal(Ending::Complete))]);
        assert_eq!(one["label"], serde_json::json!(["a b×2"]));
        assert_eq!(one["ending"], serde_json::json!(["complete"]));
        let none = json(&[]);
        assert_eq!(none["executions"], 0);
    }

    #[test]
    fn it_stops_growing() {
        let mut tree = Tree::default();
        for execution in 0..Tree::MOST_EXECUTIONS + 5 {
            let bits = (0..15).map(|bit| execution >> bit & 1).collect::<Vec<_>>();
            tree.add(&path(&bits), Ended::Maximal(Ending::Complete));
        }
        let json = serde_json::to_value(&tree).expect("a tree is JSON");
        assert_eq!(
            (&json["executions"], &json["truncated"]),
            (&Tree::MOST_EXECUTIONS.into(), &true.into())
        );
        let leaves = json["ending"].as_array().expect("a list").iter().filter(|one| !one.is_null());
        assert_eq!(leaves.count(), Tree::MOST_EXECUTIONS);
    }
}
