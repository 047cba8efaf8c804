//! Programs as trees, as they are written.

use std::collections::BTreeSet;
use std::rc::Rc;

/// An expression, and the line on which it starts.
#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) line: u32,
    pub(super) kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Int(i32),
    Bool(bool),
    /// `self`: the handle of the thread that runs.
    Me,
    /// `x`, `a[i]`, `grid[i][j]`: a constant, a local variable, or something shared.
    Place(Place),
    Not(Box<Expr>),
    Minus(Box<Expr>),
    Complement(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A routine of the program, or a built-in one.
    Call(String, Vec<Expr>),
    /// `choose(lo..hi)`; without bounds: of a boolean.
    Choose(Option<(Box<Expr>, Box<Expr>)>),
    Spawn(String, Vec<Expr>),
    /// To which actor, or to the own one; the task; its arguments.
    Post(Option<Place>, String, Vec<Expr>),
    /// `await f` as a value.
    Await(Box<Expr>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// A name with its indices.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) line: u32,
    pub(super) name: String,
    pub(super) indices: Vec<Expr>,
}

pub(super) type Block = Rc<[Stmt]>;

/// A statement, and the line on which it starts.
#[derive(Clone, Debug)]
pub(super) struct Stmt {
    pub(super) line: u32,
    pub(super) kind: StmtKind,
}

#[derive(Clone, Debug)]
pub(super) enum StmtKind {
    Skip,
    Let(String, Expr),
    /// `let a[3] = 0;`
    LetArray(String, Expr, Initial),
    /// With an operator: `x += e;`.
    Assign(Place, Option<Operator>, Expr),
    If(Expr, Block, Block),
    While(Expr, Block),
    For(String, Expr, Expr, Block),
    /// `for each x in q { … }`
    ForEach(String, Place, Block),
    Break,
    Continue,
    Return(Option<Expr>),
    Assert(Expr),
    Assume(Expr),
    Await(Expr),
    /// `await scan c;`
    Scan(Expr),
    Atomic(Block),
    /// `lock m;` and the other five.
    Lock(LockOp, Place),
    /// `lock m { … }`, `read_lock rw { … }`, `write_lock rw { … }`, and the line of the last brace.
    Locked(LockOp, Place, Block, u32),
    Join(Target),
    Send(Target, Vec<Expr>),
    Monitor(Target, Vec<Expr>),
    Receive(Rc<[Arm]>, Option<Block>),
    Yield,
    /// A call whose value, if it has one, is not used.
    Expr(Expr),
    /// `{ … }`
    Block(Block),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LockOp {
    Lock,
    Unlock,
    ReadLock,
    ReadUnlock,
    WriteLock,
    WriteUnlock,
}

impl LockOp {
    /// What releases the lock.
    pub(super) fn release(self) -> Self {
        match self {
            LockOp::Lock | LockOp::Unlock => LockOp::Unlock,
            LockOp::ReadLock | LockOp::ReadUnlock => LockOp::ReadUnlock,
            LockOp::WriteLock | LockOp::WriteUnlock => LockOp::WriteUnlock,
        }
    }
}

/// The thread that is joined, or to which a message is sent: a name of a thread, a handle, or `self`.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Me,
    Named(Place),
}

/// A branch of `receive`.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub(super) patterns: Vec<Pattern>,
    pub(super) guard: Option<Expr>,
    pub(super) body: Block,
}

#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// `_`
    Any,
    /// `let v`
    Bind(String),
    /// A literal, the name of a constant, or an expression in parentheses.
    Equal(Expr),
}

/// A function or a procedure.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub(super) name: String,
    /// Of a routine of an actor with an index: that comes first.
    pub(super) parameters: Vec<String>,
    /// Which of the parameters that are written are objects.
    pub(super) objects: Vec<bool>,
    pub(super) atomic: bool,
    /// A task of an actor: its first step is atomic, and so is each that an `await` begins.
    pub(super) task: bool,
    pub(super) body: Block,
}

/// An initial value: for all elements, or a list, or a list of lists; of maps, the entries.
#[derive(Clone, Debug)]
pub(super) enum Initial {
    None,
    All(Expr),
    List(Vec<Initial>),
    Map(Vec<(Expr, Expr)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ObjectKind {
    Variable,
    Ghost,
    Mutex,
    RwLock,
    Cond,
    Semaphore,
    Barrier,
    List,
    Map,
    /// Its initial value is its capacity.
    Channel {
        lossy: bool,
        reordering: bool,
    },
}

/// Something shared. A barrier's initial value is the number of its threads.
#[derive(Clone, Debug)]
pub(super) struct ObjectDecl {
    pub(super) kind: ObjectKind,
    pub(super) name: String,
    pub(super) dimensions: Vec<Expr>,
    pub(super) initial: Initial,
    /// Of a field of an actor: how many of the dimensions are its own.
    pub(super) own: usize,
}

/// `thread`, replicated if it has a range.
#[derive(Clone, Debug)]
pub(super) struct ThreadDecl {
    pub(super) name: String,
    pub(super) daemon: bool,
    pub(super) range: Option<(String, Expr, Expr)>,
    pub(super) body: Block,
}

/// A whole program. `independent` has no effect on what a program does, and is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    pub(super) constants: Vec<(String, Expr)>,
    /// Records: their fields, with what they hold at the start.
    pub(super) records: Vec<(String, Vec<(String, Expr)>)>,
    /// Variables that are records: name, dimensions, and the record.
    pub(super) of_records: Vec<(String, Vec<Expr>, String)>,
    /// Constant arrays: their sizes and elements.
    pub(super) tables: Vec<(String, Expr, Initial)>,
    /// The values of enumerations, each with its number.
    pub(super) members: Vec<(String, i32)>,
    pub(super) objects: Vec<ObjectDecl>,
    pub(super) threads: Vec<ThreadDecl>,
    pub(super) routines: Vec<Routine>,
    /// Actors, and how many there are if they have indices. What belongs to one has its name and a dot before the own name.
    pub(super) actors: Vec<(String, Option<Expr>)>,
    pub(super) finally: Option<Finally>,
    /// What holds after every step, each as an assertion.
    pub(super) invariants: Vec<Block>,
    /// The ghosts that no property reads.
    pub(super) unread: BTreeSet<String>,
}

/// The `finally` block, and where it is in the text, in bytes.
#[derive(Clone, Debug)]
pub(super) struct Finally {
    pub(super) body: Block,
    pub(super) start: usize,
    pub(super) end: usize,
}
