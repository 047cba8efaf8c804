//! Draws functions and procedures, and calls of them.

use super::Node;
use super::artist::{Artist, Level, Local, Type};
use super::palette::Feature;

/// What a routine returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Return {
    Nothing,
    A(Type),
}

/// What is needed to call a routine.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) parameters: Vec<Type>,
    pub(super) returns: Return,
    /// What it does: a call is allowed where that is.
    pub(super) level: Level,
    /// How many operations a call is, about.
    pub(super) cost: i32,
    /// Its first argument decides how often it calls itself.
    pub(super) recursive: bool,
}

impl Artist {
    pub(super) fn draw_routines(&mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        let tasks = self.has(Feature::Tasks);
        let count = match self.has(Feature::Routines) {
            true => self.random.within(&(1..=3)),
            false if self.has(Feature::Passed) => 1 + usize::from(tasks),
            false => usize::from(tasks),
        };
        for number in 0..count {
            let is_task = tasks && number == 0;
            let node = self.routine(is_task);
            nodes.push(node);
        }
        nodes
    }

    fn routine(&mut self, is_task: bool) -> Node {
        let returns = match self.random.below(4) {
            _ if is_task => Return::Nothing,
            0 => Return::Nothing,
            1 => Return::A(Type::Bool),
            _ => Return::A(Type::Int),
        };
        let level = match (returns, self.random.below(4)) {
            (Return::Nothing, 0) => Level::Atomic,
            (Return::Nothing, _) => Level::Everything,
            (_, 0) => Level::Local,
            (_, 1) => Level::Read,
            (_, 2) => Level::Atomic,
            _ => Level::Everything,
        };
        let atomic = level == Level::Atomic && returns == Return::Nothing && self.random.one_in(2);
        let recursive = !atomic && self.random.one_in(4);
        let stem: &str = ["f", "r"][self.random.clone().below(2)];
        let name = self.name(stem);
        self.locals.clear();
        self.objects.clear();
        let mut parameters = Vec::new();
        let count = usize::from(recursive) + self.random.below(3);
        for number in 0..count {
            let kind = match self.random.below(6) {
                _ if recursive && number == 0 => Type::Int,
                0 if level == Level::Everything && self.has(Feature::Tasks) => Type::Handle,
                1 => Type::Bool,
                _ => Type::Int,
            };
            let name = self.name("k");
            self.locals.push(Local { name, kind, fixed: recursive && number == 0 });
            parameters.push(kind);
        }
        let mut list: Vec<String> = self
            .locals
            .iter()
            .map(|local| format!("{}: {}", local.name, type_name(local.kind)))
            .collect();
        if self.has(Feature::Passed) {
            for _ in 0..self.random.within(&(1..=2)) {
                let kind = self.passed_kind();
                let name = self.name("o");
                list.push(format!("{name}: {}", kind.written()));
                self.objects.push((name, kind));
                parameters.push(Type::Object(kind));
            }
        }
        self.level = level;
        self.fuel = self.random.below(4) as i32;
        self.returns = match returns {
            Return::Nothing => None,
            Return::A(kind) => Some(kind),
        };
        let spent = self.fuel;
        let signature = Signature {
            name: name.clone(),
            parameters,
            returns,
            level,
            cost: spent + 1,
            recursive,
        };
        let body = self.routine_body(&signature);
        let result = match returns {
            Return::Nothing => String::new(),
            Return::A(kind) => format!(" -> {}", type_name(kind)),
        };
        let head = match (returns, atomic) {
            (Return::Nothing, true) => "atomic proc",
            (Return::Nothing, false) => "proc",
            _ => "fn",
        };
        let head = format!("{head} {name}({}){result}", list.join(", "));
        self.routines.push(signature);
        Node::block(head, body)
    }

    fn routine_body(&mut self, signature: &Signature) -> Vec<Node> {
        let outer = self.locals.len();
        let mut body = self.body(0..=2);
        self.locals.truncate(outer);
        let mut end = match signature.returns {
            Return::Nothing => String::new(),
            Return::A(Type::Bool) => format!("return {};", self.bool(2)),
            Return::A(_) => format!("return {};", self.int(2)),
        };
        if signature.recursive {
            let counter = self.locals[0].name.clone();
            let base = if end.is_empty() { "return;".to_owned() } else { end.clone() };
            body.insert(0, Node::block(format!("if {counter} <= 0"), vec![Node::Line(base)]));
            let again = self.call_text(signature, Some(format!("{counter} - 1")));
            end = match signature.returns {
                Return::Nothing => format!("{again};"),
                Return::A(Type::Bool) => format!("return !{again};"),
                Return::A(_) => format!("return {again} + {};", self.int(1)),
            };
        }
        if !end.is_empty() {
            body.push(Node::Line(end));
        }
        body
    }

    /// A call with arguments; the first one may be given.
    fn call_text(&mut self, signature: &Signature, first: Option<String>) -> String {
        let mut arguments = Vec::new();
        for (number, kind) in signature.parameters.iter().enumerate() {
            arguments.push(match kind {
                _ if number == 0 && first.is_some() => first.clone().unwrap_or_default(),
                _ if number == 0 && signature.recursive => self.random.below(3).to_string(),
                Type::Int => self.int(1),
                Type::Bool => self.bool(1),
                Type::Handle => {
                    self.local(Type::Handle, false).expect("only called where there is a handle")
                }
                Type::Object(kind) => self.object_argument(*kind),
                Type::Ints | Type::Flags => unreachable!("an array is no value"),
            });
        }
        format!("{}({})", signature.name, arguments.join(", "))
    }

    /// A call of a routine that fits and is allowed here, and what it costs.
    pub(super) fn call_of(&mut self, fits: impl Fn(&Signature) -> bool) -> Option<(String, i32)> {
        // A thread has no other value that it could pass as a handle: `self` is only a target of `send`.
        let has_handle = self.local(Type::Handle, false).is_some();
        let allowed = |signature: &&Signature| {
            let fits = signature.level <= self.level && fits(signature);
            fits && (has_handle || !signature.parameters.contains(&Type::Handle))
        };
        let found: Vec<Signature> = self.routines.iter().filter(allowed).cloned().collect();
        if found.is_empty() {
            return None;
        }
        let signature = self.random.pick(&found).clone();
        Some((self.call_text(&signature, None), signature.cost))
    }

    /// A call that returns a value of this type.
    pub(super) fn call(&mut self, kind: Type) -> Option<String> {
        if self.fuel <= 0 && self.level > Level::Local {
            return None;
        }
        let (call, cost) = self.call_of(|signature| signature.returns == Return::A(kind))?;
        self.fuel -= cost;
        Some(call)
    }

    /// A call as a statement.
    pub(super) fn call_statement(&mut self, nodes: &mut Vec<Node>) {
        if self.fuel <= 0 {
            return self.line(nodes, "skip;".to_owned());
        }
        match self.call_of(|_| true) {
            Some((call, cost)) => {
                self.fuel -= cost;
                self.line(nodes, format!("{call};"));
            }
            None => self.line(nodes, "skip;".to_owned()),
        }
    }
}

fn type_name(kind: Type) -> &'static str {
    match kind {
        Type::Int => "int",
        Type::Bool => "bool",
        Type::Handle => "thread",
        Type::Ints | Type::Flags | Type::Object(_) => unreachable!("no local is one of these"),
    }
}
