//! Draws statements: local code, variables, control flow, containers.

use super::Node;
use super::artist::{Artist, Level, Local, Type};
use super::palette::Feature;

impl Artist {
    pub(super) fn line(&mut self, nodes: &mut Vec<Node>, line: String) {
        nodes.push(Node::Line(line));
    }

    /// Adds a statement; some come with others that they need.
    pub(super) fn statement(&mut self, nodes: &mut Vec<Node>) {
        let feature = *self.random.pick(&self.palette);
        let nested = self.depth < 4;
        match feature {
            _ if self.random.one_in(5) => self.local_statement(nodes),
            Feature::Branches if nested => self.branch(nodes),
            Feature::Loops if nested => self.repeat(nodes),
            Feature::Routines => self.call_statement(nodes),
            Feature::Assert => {
                let condition = self.bool(2);
                let message = if self.random.one_in(3) { ", \"a \\\"message\\\"\"" } else { "" };
                self.line(nodes, format!("assert {condition}{message};"));
            }
            _ if self.level < Level::Atomic || self.fuel <= 0 => self.local_statement(nodes),
            Feature::Assume => {
                let condition = self.bool(1);
                self.line(nodes, format!("assume {condition};"));
            }
            Feature::Await => self.wait_for(nodes),
            Feature::Atomic if nested => {
                let outer = std::mem::replace(&mut self.level, Level::Atomic);
                let mut body = self.body(0..=3);
                if self.random.one_in(4) {
                    self.wait_for(&mut body);
                }
                self.level = outer;
                let head = if self.random.one_in(4) {
                    format!("atomic {}", self.name("block"))
                } else {
                    "atomic".to_owned()
                };
                nodes.push(Node::block(head, body));
            }
            Feature::ReadModifyWrite => {
                let _ = self.burn();
                let (place, value) = (self.variable(), self.int(1));
                let line = match self.random.below(6) {
                    0 if self.level == Level::Everything => format!("store(z, {value}, release);"),
                    1 if self.level == Level::Everything => "fence(seq_cst);".to_owned(),
                    _ => format!("fetch_add({place}, {value});"),
                };
                self.line(nodes, line);
            }
            Feature::Lists => self.list_statement(nodes),
            Feature::Channels if self.level == Level::Everything => {
                let _ = self.burn();
                let (channel, value) = (self.channel(), self.int(1));
                self.line(nodes, format!("send {channel}({value});"));
            }
            Feature::Ghosts => self.ghost_statement(nodes),
            Feature::Enums => {
                let _ = self.burn();
                let (place, value) = (self.coloured(), self.colour());
                self.line(nodes, format!("{place} = {value};"));
            }
            Feature::Maps => self.map_statement(nodes),
            Feature::Choose if self.level == Level::Everything => {
                let value = self.choose();
                let name = self.declare("v", Type::Int, false);
                self.line(nodes, format!("let {name} = {value};"));
            }
            Feature::Choose if self.random.one_in(3) && self.level == Level::Everything => {
                self.line(nodes, "yield;".to_owned());
            }
            Feature::Mutexes if nested => self.mutex(nodes),
            Feature::ReaderWriterLocks if nested => self.reader_writer(nodes),
            Feature::Conditions if nested => self.condition(nodes),
            Feature::Semaphores => self.semaphore_statement(nodes),
            Feature::Barriers if self.level == Level::Everything => {
                let _ = self.burn();
                self.line(nodes, "arrive(meet);".to_owned());
            }
            Feature::Messages => self.message(nodes),
            Feature::Tasks => self.task(nodes),
            _ => self.assignment(nodes),
        }
    }

    fn local_statement(&mut self, nodes: &mut Vec<Node>) {
        if self.has(Feature::Arrays) && self.random.one_in(3) {
            return self.array_statement(nodes);
        }
        match self.random.below(8) {
            0 | 1 => {
                let value = self.int(2);
                let name = self.declare("v", Type::Int, false);
                let annotation = if self.random.one_in(4) { ": int" } else { "" };
                self.line(nodes, format!("let {name}{annotation} = {value};"));
            }
            2 => {
                let value = self.bool(2);
                let name = self.declare("w", Type::Bool, false);
                self.line(nodes, format!("let {name} = {value};"));
            }
            3..=5 => {
                let Some(name) = self.local(Type::Int, true) else { return self.skip(nodes) };
                let operator = *self.random.pick(&["=", "+=", "-=", "*=", "&=", "|=", "^="]);
                let value = self.int(2);
                self.line(nodes, format!("{name} {operator} {value};"));
            }
            6 => {
                let Some(name) = self.local(Type::Bool, true) else { return self.skip(nodes) };
                let value = self.bool(2);
                self.line(nodes, format!("{name} = {value};"));
            }
            _ => {
                let condition = self.bool(1);
                let exit = self.exit();
                nodes.push(Node::block(format!("if {condition}"), vec![Node::Line(exit)]));
            }
        }
    }

    /// Declares a local array, or assigns to an element of one.
    fn array_statement(&mut self, nodes: &mut Vec<Node>) {
        let line = match self.random.below(6) {
            0 => {
                let value = self.int(1);
                format!("let {}[3] = {value};", self.declare("ints", Type::Ints, false))
            }
            1 => {
                let values = [self.int(1), self.int(0), self.int(1)].join(", ");
                format!(
                    "let {}[len(a)]: int = [{values}];",
                    self.declare("ints", Type::Ints, false)
                )
            }
            2 => {
                let values = [self.bool(1), self.bool(0)].join(", ");
                format!("let {}[N] = [{values}];", self.declare("flags", Type::Flags, false))
            }
            3 => {
                let Some(name) = self.local(Type::Flags, true) else { return self.skip(nodes) };
                format!("{name}[{}] = {};", self.index(2), self.bool(1))
            }
            _ => {
                let Some(name) = self.local(Type::Ints, true) else { return self.skip(nodes) };
                let operator = *self.random.pick(&["=", "=", "+=", "-=", "^="]);
                format!("{name}[{}] {operator} {};", self.index(3), self.int(1))
            }
        };
        self.line(nodes, line);
    }

    fn skip(&mut self, nodes: &mut Vec<Node>) {
        self.line(nodes, "skip;".to_owned());
    }

    /// Leaves a loop or a routine.
    fn exit(&mut self) -> String {
        if self.in_loop && !self.random.one_in(4) {
            return (*self.random.pick(&["break;", "continue;"])).to_owned();
        }
        match self.returns {
            Some(Type::Bool) => format!("return {};", self.bool(1)),
            Some(_) => format!("return {};", self.int(1)),
            // `finally` ends at its end.
            None if self.level == Level::Read => "skip;".to_owned(),
            None => "return;".to_owned(),
        }
    }

    pub(super) fn assignment(&mut self, nodes: &mut Vec<Node>) {
        let _ = self.burn();
        match self.random.below(6) {
            0 => {
                let place = if self.random.one_in(3) {
                    format!("f[{}]", self.index(2))
                } else {
                    "b".to_owned()
                };
                let value = self.bool(2);
                self.line(nodes, format!("{place} = {value};"));
            }
            1 => {
                let place = self.variable();
                let operator = *self.random.pick(&["+=", "-=", "*="]);
                let value = self.int(1);
                self.line(nodes, format!("{place} {operator} {value};"));
            }
            _ => {
                let place = self.variable();
                let value = self.int(2);
                self.line(nodes, format!("{place} = {value};"));
            }
        }
    }

    fn branch(&mut self, nodes: &mut Vec<Node>) {
        let condition = self.bool(2);
        let mut blocks = vec![(format!("if {condition}"), self.body(0..=2))];
        if self.random.one_in(4) {
            let condition = self.bool(1);
            blocks.push((format!("else if {condition}"), self.body(0..=2)));
        }
        if self.random.one_in(2) {
            blocks.push(("else".to_owned(), self.body(0..=2)));
        }
        nodes.push(Node::Blocks(blocks));
    }

    fn repeat(&mut self, nodes: &mut Vec<Node>) {
        let outer = std::mem::replace(&mut self.in_loop, true);
        let mark = self.locals.len();
        match self.random.below(3) {
            0 => {
                let low = self.random.below(4) as i32 - 2;
                let (low, high) = match self.random.below(4) {
                    0 => (self.int(1), format!("{}", low + 1)),
                    _ => (low.to_string(), (low + 2).to_string()),
                };
                let index = self.declare("i", Type::Int, true);
                let body = self.body(1..=3);
                nodes.push(Node::block(format!("for {index} in {low}..{high}"), body));
            }
            1 => {
                // The counter goes up at once, so that `continue` does not matter.
                let counter = self.declare("n", Type::Int, true);
                let condition = self.bool(1);
                let mut body = vec![Node::Line(format!("{counter} += 1;"))];
                body.extend(self.body(1..=2));
                self.line(nodes, format!("let {counter} = 0;"));
                nodes.push(Node::block(format!("while {counter} < 2 && ({condition})"), body));
                self.in_loop = outer;
                return;
            }
            _ => {
                let counter = self.declare("n", Type::Int, true);
                let leave = format!("if {counter} > 2");
                let mut body = vec![
                    Node::Line(format!("{counter} += 1;")),
                    Node::block(leave, vec![Node::Line("break;".to_owned())]),
                ];
                body.extend(self.body(1..=2));
                self.line(nodes, format!("let {counter} = 0;"));
                nodes.push(Node::block("loop", body));
                self.in_loop = outer;
                return;
            }
        }
        self.in_loop = outer;
        self.locals.truncate(mark);
    }

    fn wait_for(&mut self, nodes: &mut Vec<Node>) {
        let outer = std::mem::replace(&mut self.level, Level::Read);
        let condition = self.bool(2);
        self.level = outer;
        let scan = if outer == Level::Everything && self.random.one_in(3) { "scan " } else { "" };
        self.line(nodes, format!("await {scan}{condition};"));
    }

    fn list_statement(&mut self, nodes: &mut Vec<Node>) {
        let _ = self.burn();
        let list = self.list();
        if self.depth < 3 && self.random.one_in(4) {
            let outer = std::mem::replace(&mut self.in_loop, true);
            let name = self.name("each");
            self.locals.push(Local { name: name.clone(), kind: Type::Int, fixed: true });
            // A body that appends to the list would go on without end.
            let palette = self.palette.clone();
            self.palette.retain(|feature| *feature != Feature::Lists);
            let body = self.body(0..=2);
            self.palette = palette;
            self.locals.pop();
            self.in_loop = outer;
            nodes.push(Node::block(format!("for each {name} in {list}"), body));
            return;
        }
        let line = match self.random.below(8) {
            0..=2 => format!("push({list}, {});", self.int(1)),
            3 => format!("{list}[{}] = {};", self.index(2), self.int(1)),
            4 => format!("{list}[{}] += {};", self.index(2), self.int(1)),
            5 => format!("clear({list});"),
            6 => format!("pop({list});"),
            _ => format!("pop_front({list});"),
        };
        self.line(nodes, line);
    }

    fn map_statement(&mut self, nodes: &mut Vec<Node>) {
        let _ = self.burn();
        let (map, key) = (self.map(), self.key());
        let line = match self.random.below(6) {
            0..=2 => format!("{map}[{key}] = {};", self.int(1)),
            3 => format!("{map}[{key}] -= {};", self.int(1)),
            4 => format!("clear({map});"),
            _ => format!("remove({map}, {key});"),
        };
        self.line(nodes, line);
    }
}
