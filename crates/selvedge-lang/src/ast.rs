//! The tree that the parser makes: what was written, with places, names not yet looked up.

use crate::ir::Type;
use crate::span::Span;

/// A whole program text.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) items: Vec<Item>,
}

/// A name where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Ident {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A declaration at the outermost level.
#[derive(Debug)]
pub(crate) enum Item {
    Const(ConstDecl),
    Object(ObjectDecl),
    Routine(Routine),
    Thread(ThreadDecl),
    Finally(Finally),
    Independent(Independent),
}

#[derive(Debug)]
pub(crate) struct ConstDecl {
    pub(crate) name: Ident,
    pub(crate) ty: Option<Type>,
    pub(crate) value: Expr,
}

/// Something that threads share.
#[derive(Debug)]
pub(crate) struct ObjectDecl {
    pub(crate) kind: ObjectKind,
    pub(crate) name: Ident,
    /// The sizes of an array; none for a single object.
    pub(crate) sizes: Vec<Expr>,
    pub(crate) initial: Option<Initial>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectKind {
    /// `atomic`: an access is synchronisation, never a data race.
    Shared {
        atomic: bool,
        ty: Option<Type>,
    },
    Mutex,
    Rwlock,
    Cond,
    Semaphore,
    /// Its initial value is the number of parties.
    Barrier,
    List,
    Map,
}

impl ObjectKind {
    /// Returns how messages call it, with an article.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            ObjectKind::Shared { .. } => "a shared variable",
            ObjectKind::Mutex => "a mutex",
            ObjectKind::Rwlock => "a reader-writer lock",
            ObjectKind::Cond => "a condition variable",
            ObjectKind::Semaphore => "a semaphore",
            ObjectKind::Barrier => "a barrier",
            ObjectKind::List => "a list",
            ObjectKind::Map => "a map",
        }
    }
}

/// What an object holds at the start.
#[derive(Debug)]
pub(crate) enum Initial {
    /// One value: of every element, if it is an array.
    Value(Expr),
    /// `[a, b, …]`: the elements of an array or of a list.
    Elements { elements: Vec<Initial>, span: Span },
    /// `{k: v, …}`: the entries of a map.
    Entries { entries: Vec<(Expr, Expr)>, span: Span },
}

/// A function or a procedure.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) name: Ident,
    pub(crate) params: Vec<Param>,
    /// `None`: a procedure.
    pub(crate) result: Option<Type>,
    /// The whole body is one step.
    pub(crate) atomic: bool,
    pub(crate) body: Block,
}

#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
}

#[derive(Debug)]
pub(crate) struct ThreadDecl {
    pub(crate) name: Ident,
    /// `(i in lo..hi)`: one thread for each `i`.
    pub(crate) replicas: Option<Replicas>,
    pub(crate) daemon: bool,
    pub(crate) body: Block,
}

#[derive(Debug)]
pub(crate) struct Replicas {
    pub(crate) index: Ident,
    pub(crate) low: Expr,
    pub(crate) high: Expr,
}

#[derive(Debug)]
pub(crate) struct Finally {
    pub(crate) keyword: Span,
    pub(crate) body: Block,
}

/// `independent(a(x), b(y)) if condition;`
#[derive(Debug)]
pub(crate) struct Independent {
    pub(crate) span: Span,
    pub(crate) sides: [IndependentSide; 2],
    pub(crate) condition: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct IndependentSide {
    pub(crate) name: Ident,
    /// `None` if there are no parentheses.
    pub(crate) params: Option<Vec<Ident>>,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) statements: Vec<Stmt>,
    /// With the braces.
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) enum StmtKind {
    Let {
        name: Ident,
        ty: Option<Type>,
        value: Expr,
    },
    Assign {
        target: Place,
        op: AssignOp,
        value: Expr,
    },
    /// A call for what it does.
    Expr(Expr),
    If {
        branches: Vec<(Expr, Block)>,
        otherwise: Option<Block>,
    },
    While {
        condition: Expr,
        body: Block,
    },
    Loop {
        body: Block,
    },
    For {
        index: Ident,
        low: Expr,
        high: Expr,
        body: Block,
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
    /// `lock m;`, or with a body `lock m { … }`.
    Lock {
        op: LockOp,
        target: Place,
        body: Option<Block>,
    },
    Unlock {
        op: LockOp,
        target: Place,
    },
    Send {
        target: Expr,
        message: Vec<Expr>,
    },
    Receive {
        alternatives: Vec<Alternative>,
        after: Option<Block>,
    },
    Join(Expr),
    Atomic {
        name: Option<Ident>,
        body: Block,
    },
    Skip,
    Yield,
    Block(Block),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AssignOp {
    Set,
    Add,
    Subtract,
    Multiply,
}

/// Which way of locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LockOp {
    Mutex,
    Read,
    Write,
}

impl LockOp {
    pub(crate) fn lock_word(self) -> &'static str {
        match self {
            LockOp::Mutex => "lock",
            LockOp::Read => "read_lock",
            LockOp::Write => "write_lock",
        }
    }

    pub(crate) fn unlock_word(self) -> &'static str {
        match self {
            LockOp::Mutex => "unlock",
            LockOp::Read => "read_unlock",
            LockOp::Write => "write_unlock",
        }
    }
}

/// One `(pattern) if guard => { … }` of a `receive`.
#[derive(Debug)]
pub(crate) struct Alternative {
    pub(crate) pattern: Vec<Pattern>,
    pub(crate) guard: Option<Expr>,
    pub(crate) body: Block,
}

#[derive(Debug)]
pub(crate) enum Pattern {
    /// Must be equal to this value.
    Value(Expr),
    Bind(Ident),
    Any,
}

/// `x`, `a[i]`, `grid[i][j]`.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) name: Ident,
    pub(crate) indices: Vec<Expr>,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
    /// How deep the tree below is. The parser keeps it small, so that walks can be recursive.
    pub(crate) height: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Int(i32),
    Bool(bool),
    Place(Place),
    /// `first.name`: a local of a named atomic block, in an independence constraint.
    Field {
        base: Ident,
        field: Ident,
    },
    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// `if c { a } else { b }`
    If {
        condition: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Call {
        name: Ident,
        args: Vec<Expr>,
    },
    /// `choose(lo..hi)`, or `choose()` for a boolean.
    Choose {
        range: Option<Box<(Expr, Expr)>>,
    },
    Spawn {
        name: Ident,
        args: Vec<Expr>,
    },
    SelfHandle,
    /// In parentheses: not the name of a constant when it stands in a pattern.
    Paren(Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnaryOp {
    Negate,
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
}

impl BinaryOp {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Subtract => "-",
            BinaryOp::Multiply => "*",
            BinaryOp::Divide => "/",
            BinaryOp::Remainder => "%",
            BinaryOp::Equal => "==",
            BinaryOp::NotEqual => "!=",
            BinaryOp::Less => "<",
            BinaryOp::LessEqual => "<=",
            BinaryOp::Greater => ">",
            BinaryOp::GreaterEqual => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
        }
    }
}
