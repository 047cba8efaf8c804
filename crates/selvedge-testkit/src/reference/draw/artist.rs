//! Draws a program from a palette.

use super::palette::Feature;
use super::passed::Passed;
use super::routines::Signature;
use super::{Drawn, Node};
use crate::random::Random;

/// What a variable or an expression is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Int,
    Bool,
    Handle,
    /// A local array of three integers.
    Ints,
    /// A local array of two booleans.
    Flags,
    /// A parameter that is no value.
    Object(Passed),
}

/// What the code that is drawn may do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    /// Local code only: the guards of `receive`.
    Local,
    /// It may read what is shared: `await`, `finally`.
    Read,
    /// What an atomic block may do.
    Atomic,
    Everything,
}

/// A thread that starts at the beginning.
pub(super) struct ThreadName {
    pub(super) name: String,
    /// The indices of a replicated thread.
    pub(super) indices: Option<(i32, i32)>,
}

/// A local variable.
#[derive(Clone)]
pub(super) struct Local {
    pub(super) name: String,
    pub(super) kind: Type,
    /// The index of a thread or of a loop is never assigned.
    pub(super) fixed: bool,
}

pub(super) struct Artist {
    pub(super) random: Random,
    pub(super) palette: Vec<Feature>,
    pub(super) threads: Vec<ThreadName>,
    /// What can be called, the callee before the caller.
    pub(super) routines: Vec<Signature>,
    pub(super) locals: Vec<Local>,
    /// The parameters of the routine that are objects.
    pub(super) objects: Vec<(String, Passed)>,
    pub(super) level: Level,
    /// How many operations on shared objects the thread or routine can still get.
    pub(super) fuel: i32,
    /// How many blocks are around.
    pub(super) depth: usize,
    /// Whether a loop is around.
    pub(super) in_loop: bool,
    /// What the routine returns, if it is a function.
    pub(super) returns: Option<Type>,
    names: usize,
}

impl Artist {
    pub(super) fn new(number: u64) -> Self {
        let mut random = Random::new(number);
        let mut palette = vec![Feature::Variables];
        for _ in 0..random.within(&(1..=4)) {
            palette.push(*random.pick(&Feature::ALL));
        }
        Self {
            random,
            palette,
            threads: Vec::new(),
            routines: Vec::new(),
            locals: Vec::new(),
            objects: Vec::new(),
            level: Level::Everything,
            fuel: 0,
            depth: 0,
            in_loop: false,
            returns: None,
            names: 0,
        }
    }

    pub(super) fn has(&self, feature: Feature) -> bool {
        self.palette.contains(&feature)
    }

    /// A name that is used once.
    pub(super) fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Uses up fuel; tells whether there is any left.
    pub(super) fn burn(&mut self) -> bool {
        self.fuel -= 1;
        self.fuel >= 0
    }

    pub(super) fn program(mut self) -> Drawn {
        let mut nodes = self.draw_routines();
        let count = self.random.within(&(1..=3));
        for number in 0..count {
            let replicated = self.random.one_in(4);
            let low = self.random.below(3) as i32 - 1;
            let indices = replicated.then_some((low, low + 2));
            self.threads.push(ThreadName { name: format!("p{number}"), indices });
        }
        for number in 0..count {
            let node = self.thread(number);
            nodes.push(node);
        }
        if self.random.one_in(2) || self.has(Feature::Ghosts) {
            let finally = self.finally();
            nodes.push(finally);
        }
        Drawn { nodes }
    }

    fn thread(&mut self, number: usize) -> Node {
        let replicas: usize =
            self.threads.iter().map(|thread| 1 + usize::from(thread.indices.is_some())).sum();
        let ThreadName { name, indices } = &self.threads[number];
        let daemon = if self.random.one_in(8) { "daemon " } else { "" };
        let (head, index) = match indices {
            None => (format!("{daemon}thread {name}"), None),
            Some((low, high)) => {
                let index = format!("ix{number}");
                let head = format!("{daemon}thread {name}({index} in {low}..{high})");
                (head, Some(index))
            }
        };
        self.locals.clear();
        self.objects.clear();
        if let Some(name) = index {
            self.locals.push(Local { name, kind: Type::Int, fixed: true });
        }
        self.returns = None;
        self.level = Level::Everything;
        // The more threads, the shorter they are.
        self.fuel = self.random.within(&(2..=10 - 2 * replicas.min(4))) as i32;
        let body = self.body(1..=4);
        Node::block(head, body)
    }

    fn finally(&mut self) -> Node {
        self.locals.clear();
        self.objects.clear();
        self.level = Level::Read;
        self.fuel = 6;
        let mut body = self.body(0..=2);
        if self.has(Feature::Ghosts) {
            body.push(self.all_ghosts());
        }
        let condition = self.bool(2);
        body.push(Node::Line(format!("assert {condition};")));
        Node::block("finally", body)
    }

    /// The statements of a block, with a scope of their own.
    pub(super) fn body(&mut self, range: std::ops::RangeInclusive<usize>) -> Vec<Node> {
        let outer = self.locals.len();
        self.depth += 1;
        let mut nodes = Vec::new();
        for _ in 0..self.random.within(&range) {
            self.statement(&mut nodes);
        }
        self.depth -= 1;
        self.locals.truncate(outer);
        nodes
    }

    /// A local variable of this type.
    pub(super) fn local(&mut self, kind: Type, assigned: bool) -> Option<String> {
        let fits = |local: &&Local| local.kind == kind && !(assigned && local.fixed);
        let names: Vec<String> =
            self.locals.iter().filter(fits).map(|local| local.name.clone()).collect();
        (!names.is_empty()).then(|| self.random.pick(&names).clone())
    }

    /// Declares a local variable; its value was drawn before.
    pub(super) fn declare(&mut self, prefix: &str, kind: Type, fixed: bool) -> String {
        let name = self.name(prefix);
        self.locals.push(Local { name: name.clone(), kind, fixed });
        name
    }
}
