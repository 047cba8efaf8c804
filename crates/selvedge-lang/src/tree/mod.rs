//! The tree of a program: statements and expressions around operations.
//!
//! It exists at two stages. The parser makes what is [written](Written), with names that are not looked up yet. The
//! checker makes what is [resolved](Resolved): names looked up, types known, constants computed; lowering that cannot
//! fail. Both are this tree: they differ in the leaves, and in the operands of operations (see [`Form`]). Only
//! declarations have types of their own at each stage: `written.rs`, `resolved.rs`.

pub(crate) mod resolved;
pub(crate) mod written;

use std::fmt::Debug;

use crate::ops::{Form, LockMode, Op};
use crate::span::Span;
pub(crate) use resolved::Resolved;
pub(crate) use written::Written;

/// What stands in the tree at one stage, besides the parts of operations.
pub(crate) trait Stage: Form {
    /// A value that no operation computes.
    type Leaf: Clone + Eq + Debug;
    /// What is known of every expression.
    type Known: Clone + Eq + Debug;
    /// What gets a new value, and which.
    type Assignment: Clone + Eq + Debug;
    /// Which atomic section a block is.
    type Section: Clone + Eq + Debug;
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Block<S: Stage> {
    pub(crate) statements: Vec<Stmt<S>>,
    /// With the braces.
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stmt<S: Stage> {
    pub(crate) kind: StmtKind<S>,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StmtKind<S: Stage> {
    Set(S::Assignment),
    /// For what it does: its value is thrown away.
    Expr(S::Value),
    If {
        branches: Vec<(S::Value, Block<S>)>,
        otherwise: Option<Block<S>>,
    },
    /// Also `loop`.
    While {
        condition: S::Value,
        body: Block<S>,
    },
    For {
        index: S::Local,
        low: S::Value,
        high: S::Value,
        body: Block<S>,
    },
    /// `for each x in q { … }`
    ForEach {
        element: S::Local,
        list: S::Object,
        body: Block<S>,
    },
    Break,
    Continue,
    /// `lock m;`, or with a body `lock m { … }`.
    Lock {
        mode: LockMode,
        target: S::Object,
        body: Option<Block<S>>,
    },
    Atomic {
        section: S::Section,
        body: Block<S>,
    },
    /// `await scan c;`: the condition is read piece by piece.
    Scan(S::Value),
    Skip,
    Block(Block<S>),
    Op(Op<S>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Expr<S: Stage> {
    pub(crate) kind: ExprKind<S>,
    pub(crate) known: S::Known,
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ExprKind<S: Stage> {
    Leaf(S::Leaf),
    And(Box<Expr<S>>, Box<Expr<S>>),
    Or(Box<Expr<S>>, Box<Expr<S>>),
    /// `if c { a } else { b }`
    If {
        condition: Box<Expr<S>>,
        then: Box<Expr<S>>,
        otherwise: Box<Expr<S>>,
    },
    Op(Box<Op<S>>),
}
