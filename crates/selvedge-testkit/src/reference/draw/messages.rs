//! Draws messages, and threads that are spawned.

use super::Node;
use super::artist::{Artist, Level, Local, Type};
use super::routines::Return;

impl Artist {
    /// A thread to send to, or to join.
    fn thread_name(&mut self) -> String {
        if self.random.one_in(3)
            && let Some(handle) = self.local(Type::Handle, false)
        {
            return handle;
        }
        let number = self.random.below(self.threads.len().max(1));
        let Some(thread) = self.threads.get(number) else { return "self".to_owned() };
        let (name, indices) = (thread.name.clone(), thread.indices);
        match indices {
            None => name,
            Some((low, high)) => match self.random.below(5) {
                0 => format!("{name}[{}]", self.int(1)),
                1 => format!("{name}[{}]", high - 1),
                _ => format!("{name}[{low}]"),
            },
        }
    }

    fn send(&mut self, nodes: &mut Vec<Node>) {
        let _ = self.burn();
        let to = if self.random.one_in(6) { "self".to_owned() } else { self.thread_name() };
        let tag = *self.random.pick(&["1", "TAG", "2", "true"]);
        let line = match self.random.below(5) {
            0 if to != "self" && self.random.one_in(2) => {
                let name = self.declare("w", Type::Bool, false);
                format!("let {name} = try_send({to}, {tag}, {});", self.int(1))
            }
            0 => format!("send {to}({});", self.int(1)),
            1 if to != "self" => format!("monitor {to}({tag}, {});", self.int(1)),
            1 => format!("send {to}({tag}, {}, {});", self.bool(1), self.int(1)),
            _ => format!("send {to}({tag}, {});", self.int(1)),
        };
        self.line(nodes, line);
    }

    pub(super) fn message(&mut self, nodes: &mut Vec<Node>) {
        if self.level < Level::Everything || self.depth > 3 || self.random.one_in(2) {
            return self.send(nodes);
        }
        let _ = self.burn();
        if self.random.one_in(4) {
            let (head, binds) = self.pattern();
            let body = self.with(binds, 0..=2);
            nodes.push(Node::block(format!("receive {head}"), body));
            return;
        }
        let mut arms = Vec::new();
        for _ in 0..self.random.within(&(1..=3)) {
            let (head, binds) = self.pattern();
            let body = self.with(binds, 0..=2);
            arms.push(Node::block(format!("{head} =>"), body));
        }
        if self.random.one_in(3) {
            let body = self.body(0..=2);
            arms.push(Node::block("after =>", body));
        }
        nodes.push(Node::block("receive", arms));
    }

    /// Patterns with a guard, perhaps, and what they bind.
    fn pattern(&mut self) -> (String, Vec<Local>) {
        let outer = std::mem::replace(&mut self.level, Level::Local);
        let mut binds = Vec::new();
        let mut parts = Vec::new();
        let length = *self.random.pick(&[1, 2, 2, 2, 3]);
        for _ in 0..length {
            parts.push(match self.random.below(6) {
                0 => "_".to_owned(),
                1 => (*self.random.pick(&["1", "TAG", "-1", "2"])).to_owned(),
                2 => format!("({})", self.int(1)),
                _ => {
                    let name = self.name("v");
                    binds.push(Local { name: name.clone(), kind: Type::Int, fixed: false });
                    format!("let {name}")
                }
            });
        }
        let mut head = format!("({})", parts.join(", "));
        if self.random.one_in(3) {
            let count = self.locals.len();
            self.locals.extend(binds.iter().cloned());
            head += &format!(" if {}", self.bool(2));
            self.locals.truncate(count);
        }
        self.level = outer;
        (head, binds)
    }

    /// A block in which these variables exist.
    fn with(&mut self, locals: Vec<Local>, range: std::ops::RangeInclusive<usize>) -> Vec<Node> {
        let outer = self.locals.len();
        self.locals.extend(locals);
        let body = self.body(range);
        self.locals.truncate(outer);
        body
    }

    pub(super) fn task(&mut self, nodes: &mut Vec<Node>) {
        let _ = self.burn();
        let joins = self.level == Level::Everything;
        if joins && self.random.one_in(4) {
            let name = self.thread_name();
            if name != "self" {
                return self.line(nodes, format!("join {name};"));
            }
        }
        let Some((call, cost)) = self.call_of(|signature| signature.returns == Return::Nothing)
        else {
            return self.assignment(nodes);
        };
        self.fuel -= cost;
        if self.depth < 4 && self.random.one_in(5) {
            let index = self.name("i");
            let mut body = vec![Node::Line(format!("spawn {call};"))];
            if joins && self.random.one_in(2) {
                let handle = self.name("h");
                body = vec![
                    Node::Line(format!("let {handle} = spawn {call};")),
                    Node::Line(format!("join {handle};")),
                ];
            }
            nodes.push(Node::block(format!("for {index} in 0..2"), body));
        } else if self.random.one_in(3) {
            self.line(nodes, format!("spawn {call};"));
        } else {
            let handle = self.declare("h", Type::Handle, false);
            self.line(nodes, format!("let {handle} = spawn {call};"));
        }
    }
}
