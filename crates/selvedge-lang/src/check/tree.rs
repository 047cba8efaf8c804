//! The tree that the checker makes: names looked up, types known, constants computed. Lowering it
//! cannot fail.

use crate::ast::LockOp;
use crate::ir::{BinaryOp, GlobalId, GlobalKind, ProcedureId, Type, UnaryOp};
use crate::span::Span;

/// A program without errors.
#[derive(Debug)]
pub(crate) struct Program {
    /// By [`GlobalId`].
    pub(crate) objects: Vec<Object>,
    /// By [`ProcedureId`].
    pub(crate) routines: Vec<Routine>,
    pub(crate) threads: Vec<ThreadGroup>,
    pub(crate) finally: Option<Body>,
    pub(crate) independence: Vec<Independence>,
}

#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) sizes: Vec<u32>,
    pub(crate) kind: GlobalKind,
}

#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) name: String,
    /// Where the name stands.
    pub(crate) span: Span,
    pub(crate) params: usize,
    pub(crate) result: Option<Type>,
    /// For an `atomic proc`.
    pub(crate) section: Option<SectionId>,
    pub(crate) body: Body,
}

/// The threads of one declaration.
#[derive(Debug)]
pub(crate) struct ThreadGroup {
    pub(crate) name: String,
    pub(crate) daemon: bool,
    /// First index and number of threads, if it is replicated. Then local 0 is the index.
    pub(crate) replicas: Option<(i32, u32)>,
    pub(crate) body: Body,
}

/// Code with its local variables. Parameters are the first ones.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) locals: Vec<Local>,
    pub(crate) statements: Vec<Stmt>,
    /// Of the whole body, with braces.
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

/// A local variable of a [`Body`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LocalId(pub(crate) usize);

/// An atomic procedure or a named atomic block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SectionId(pub(crate) usize);

#[derive(Debug)]
pub(crate) struct Independence {
    pub(crate) span: Span,
    pub(crate) first: SectionId,
    pub(crate) second: SectionId,
    pub(crate) condition: Option<Condition>,
}

/// The locals of the condition stand for locals of the two sections.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) locals: Vec<(Local, SectionLocal)>,
    pub(crate) value: Expr,
}

/// A local variable of the body in which one of the two sections stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SectionLocal {
    First(LocalId),
    Second(LocalId),
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    /// Also the declaration of a local.
    SetLocal {
        local: LocalId,
        value: Expr,
    },
    /// `op`: of `+=` and the like.
    SetShared {
        target: Element,
        op: Option<BinaryOp>,
        value: Expr,
    },
    /// An element of a list or the value of a key.
    SetEntry {
        container: Element,
        is_map: bool,
        key: Expr,
        op: Option<BinaryOp>,
        value: Expr,
    },
    /// The value is thrown away.
    Expr(Expr),
    /// A call of a procedure.
    Call {
        routine: ProcedureId,
        args: Vec<Expr>,
    },
    If {
        branches: Vec<(Expr, Vec<Stmt>)>,
        otherwise: Vec<Stmt>,
    },
    While {
        condition: Expr,
        body: Vec<Stmt>,
    },
    For {
        index: LocalId,
        low: Expr,
        high: Expr,
        body: Vec<Stmt>,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    Assert {
        condition: Expr,
        message: Option<String>,
    },
    Assume(Expr),
    Await(Expr),
    Lock {
        op: LockOp,
        target: Element,
        body: Option<Vec<Stmt>>,
    },
    Unlock {
        op: LockOp,
        target: Element,
    },
    Wait {
        cond: Element,
        mutex: Element,
    },
    Signal(Element),
    Broadcast(Element),
    Up(Element),
    Down(Element),
    Arrive(Element),
    Push {
        list: Element,
        value: Expr,
    },
    Remove {
        map: Element,
        key: Expr,
    },
    Clear(Element),
    Send {
        target: Expr,
        message: Vec<Expr>,
    },
    Receive {
        alternatives: Vec<Alternative>,
        after: Option<Vec<Stmt>>,
    },
    Join(Expr),
    Atomic {
        section: Option<(SectionId, String)>,
        body: Vec<Stmt>,
    },
    Skip,
    Yield,
    Block(Vec<Stmt>),
}

#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) pattern: Vec<Pattern>,
    pub(crate) guard: Option<Expr>,
    pub(crate) body: Vec<Stmt>,
}

#[derive(Debug)]
pub(crate) enum Pattern {
    Value(Expr),
    Bind(LocalId),
    Any,
}

/// One shared object.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    pub(crate) object: GlobalId,
    /// As many as the object has dimensions.
    pub(crate) indices: Vec<Expr>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) ty: Type,
    /// Without parentheses around it.
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Constant(i32),
    Local(LocalId),
    Read(Element),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    If {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Call {
        routine: ProcedureId,
        args: Vec<Expr>,
    },
    CompareExchange {
        variable: Element,
        expected: Box<Expr>,
        new: Box<Expr>,
    },
    Exchange {
        variable: Element,
        new: Box<Expr>,
    },
    FetchAdd {
        variable: Element,
        delta: Box<Expr>,
    },
    TryLock {
        op: LockOp,
        target: Element,
    },
    TryDown(Element),
    /// `None`: a boolean.
    Choose(Option<Box<(Expr, Expr)>>),
    Query {
        container: Element,
        query: Query,
    },
    Pop {
        list: Element,
        front: bool,
    },
    Spawn {
        routine: ProcedureId,
        args: Vec<Expr>,
    },
    /// One of the threads that start at the beginning; `group` is an index into the threads.
    Thread {
        group: usize,
        index: Option<Box<Expr>>,
    },
    Own,
}

/// A question about a list or map.
#[derive(Clone, Debug)]
pub(crate) enum Query {
    Element(Box<Expr>),
    Length,
    Contains(Box<Expr>),
    Get(Box<Expr>),
    GetOr(Box<Expr>, Box<Expr>),
    Has(Box<Expr>),
}
