//! Draws locks, condition variables and semaphores.

use super::Node;
use super::artist::{Artist, Level};
use super::passed::Passed;

impl Artist {
    pub(super) fn any_mutex(&mut self) -> String {
        if let Some(passed) = self.object(Passed::Mutex) {
            return passed;
        }
        if self.random.one_in(3) { format!("ms[{}]", self.index(2)) } else { "m".to_owned() }
    }

    /// A block with a loop around it keeps `break` and `continue`: they release the lock.
    pub(super) fn mutex(&mut self, nodes: &mut Vec<Node>) {
        if self.level < Level::Everything {
            return self.assignment(nodes);
        }
        let _ = self.burn();
        let mutex = self.any_mutex();
        match self.random.below(8) {
            0 => self.line(nodes, format!("lock {mutex};")),
            1 => self.line(nodes, format!("unlock {mutex};")),
            2 | 3 => {
                let mut body = self.body(0..=2);
                body.push(Node::Line(format!("unlock {mutex};")));
                nodes.push(Node::block(format!("if try_lock({mutex})"), body));
            }
            _ => {
                let body = self.body(0..=3);
                nodes.push(Node::block(format!("lock {mutex}"), body));
            }
        }
    }

    pub(super) fn reader_writer(&mut self, nodes: &mut Vec<Node>) {
        if self.level < Level::Everything {
            return self.assignment(nodes);
        }
        let _ = self.burn();
        let lock =
            if self.random.one_in(3) { format!("rws[{}]", self.index(2)) } else { "rw".to_owned() };
        let side = *self.random.pick(&["read", "write"]);
        match self.random.below(8) {
            0 => self.line(nodes, format!("{side}_lock {lock};")),
            1 => self.line(nodes, format!("{side}_unlock {lock};")),
            2 | 3 => {
                let mut body = self.body(0..=2);
                body.push(Node::Line(format!("{side}_unlock {lock};")));
                nodes.push(Node::block(format!("if try_{side}_lock({lock})"), body));
            }
            _ => {
                let body = self.body(0..=2);
                nodes.push(Node::block(format!("{side}_lock {lock}"), body));
            }
        }
    }

    pub(super) fn condition(&mut self, nodes: &mut Vec<Node>) {
        if self.level < Level::Everything {
            return self.assignment(nodes);
        }
        let _ = self.burn();
        let (cond, mutex) = match self.random.below(4) {
            0 => (format!("cs[{}]", self.index(2)), "m".to_owned()),
            1 => ("c".to_owned(), "ms[0]".to_owned()),
            _ => ("c".to_owned(), "m".to_owned()),
        };
        match self.random.below(8) {
            0..=2 => {
                let head = *self.random.pick(&["if", "while"]);
                let condition = self.bool(1);
                let wait = vec![Node::Line(format!("wait({cond}, {mutex});"))];
                let mut body = vec![Node::block(format!("{head} {condition}"), wait)];
                body.extend(self.body(0..=2));
                nodes.push(Node::block(format!("lock {mutex}"), body));
            }
            3 => self.line(nodes, format!("wait({cond}, {mutex});")),
            4 => {
                let mut body = self.body(0..=1);
                body.push(Node::Line(format!("signal({cond});")));
                nodes.push(Node::block(format!("lock {mutex}"), body));
            }
            5 | 6 => self.line(nodes, format!("signal({cond});")),
            _ => self.line(nodes, format!("broadcast({cond});")),
        }
    }

    pub(super) fn semaphore(&mut self) -> String {
        if let Some(passed) = self.object(Passed::Semaphore) {
            return passed;
        }
        match self.random.below(6) {
            0 => format!("ss[{}]", self.index(2)),
            1 => "last".to_owned(),
            _ => "s".to_owned(),
        }
    }

    pub(super) fn semaphore_statement(&mut self, nodes: &mut Vec<Node>) {
        let _ = self.burn();
        let semaphore = self.semaphore();
        match self.random.below(5) {
            0 if self.random.one_in(2) => {
                let by = self.int(1);
                self.line(nodes, format!("up({semaphore}, {by});"));
            }
            0 | 1 => self.line(nodes, format!("up({semaphore});")),
            _ if self.level < Level::Everything => self.line(nodes, format!("up({semaphore});")),
            2 | 3 => self.line(nodes, format!("down({semaphore});")),
            _ => {
                let body = self.body(0..=2);
                nodes.push(Node::block(format!("if try_down({semaphore})"), body));
            }
        }
    }
}
