//! What the checker makes: names looked up, types known, constants computed. Lowering it
//! cannot fail.

use std::rc::Rc;

use super::Stage;
use crate::ir::{Enum, GlobalId, GlobalKind, ProcedureId, Table, Type};
use crate::ops::{BinaryOp, Form, Op};
use crate::span::Span;

pub(crate) type Block = super::Block<Resolved>;
pub(crate) type Stmt = super::Stmt<Resolved>;
pub(crate) type StmtKind = super::StmtKind<Resolved>;
pub(crate) type Expr = super::Expr<Resolved>;
pub(crate) type ExprKind = super::ExprKind<Resolved>;

/// The stage of the checker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Resolved;

impl Form for Resolved {
    type Value = Expr;
    type Object = Element;
    type Target = ();
    type Local = LocalId;
    type Label = Rc<Block>;
    type Routine = ProcedureId;
    type Guard = Expr;
}

impl Stage for Resolved {
    type Leaf = Leaf;
    type Known = Type;
    type Assignment = Assignment;
    type Section = Option<(SectionId, SectionName)>;
}

/// A value that no operation computes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Leaf {
    Constant(i32),
    Local(LocalId),
    /// An element of a local array that is not known here.
    Element {
        array: Array,
        index: Box<Expr>,
    },
    /// One of the threads that start at the beginning; `group` is an index into the threads.
    Thread {
        group: usize,
        index: Option<Box<Expr>>,
    },
    /// What a task returned; in a task also a condition, which has no value.
    Await(Box<Await>),
}

/// A future, or in a task a condition, that is waited for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Await {
    pub(crate) what: Expr,
    /// How constraints refer to the part of a task that begins here.
    pub(crate) section: Option<(SectionId, SectionName)>,
}

/// `op`: of `+=` and the like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Assignment {
    /// Also the declaration of a local.
    Local {
        local: LocalId,
        value: Expr,
    },
    /// The declaration of a local array: one value for all elements, or one for each.
    Array {
        array: Array,
        values: Vec<Expr>,
    },
    /// An element of a local array that is not known here. `place` is where it stands.
    Element {
        array: Array,
        index: Expr,
        place: Span,
        op: Option<BinaryOp>,
        value: Expr,
    },
    Shared {
        target: Element,
        op: Option<BinaryOp>,
        value: Expr,
    },
    Ghost {
        target: Element,
        op: Option<BinaryOp>,
        value: Expr,
    },
    /// An element of a list or the value of a key.
    Entry {
        container: Element,
        is_map: bool,
        key: Expr,
        op: Option<BinaryOp>,
        value: Expr,
    },
}

/// One shared object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Element {
    pub(crate) object: GlobalId,
    /// As many as the object has dimensions.
    pub(crate) indices: Vec<Expr>,
    pub(crate) span: Span,
}

impl Expr {
    /// Returns the value of an operation.
    pub(crate) fn of(op: impl Into<Op<Resolved>>, ty: Type, span: Span) -> Self {
        Self { kind: ExprKind::Op(Box::new(op.into())), known: ty, span }
    }

    /// Returns a value that no operation computes.
    pub(crate) fn leaf(leaf: Leaf, ty: Type, span: Span) -> Self {
        Self { kind: ExprKind::Leaf(leaf), known: ty, span }
    }

    pub(crate) fn constant(value: i32, ty: Type, span: Span) -> Self {
        Self::leaf(Leaf::Constant(value), ty, span)
    }

    /// Returns its value, if it is a constant.
    pub(crate) fn as_constant(&self) -> Option<i32> {
        match self.kind {
            ExprKind::Leaf(Leaf::Constant(value)) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn ty(&self) -> Type {
        self.known
    }
}

/// `eventually` (without a premise) or `leads_to`.
#[derive(Debug)]
pub(crate) struct Promise {
    pub(crate) span: Span,
    pub(crate) premise: Option<Body>,
    pub(crate) goal: Body,
}

/// A program without errors.
#[derive(Debug)]
pub(crate) struct Program {
    /// By [`TableId`](crate::ir::TableId).
    pub(crate) tables: Vec<Table>,
    /// By [`EnumId`](crate::ir::EnumId).
    pub(crate) enums: Vec<Enum>,
    /// By [`GlobalId`].
    pub(crate) objects: Vec<Object>,
    /// By [`ProcedureId`].
    pub(crate) routines: Vec<Routine>,
    pub(crate) threads: Vec<ThreadGroup>,
    pub(crate) finally: Option<Body>,
    /// The conditions that hold in every state, each as an assertion.
    pub(crate) invariants: Vec<Body>,
    pub(crate) promises: Vec<Promise>,
    /// The first mark of progress, also where no thread can come to it.
    pub(crate) mark: Option<Span>,
    pub(crate) independence: Vec<Independence>,
}

#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) sizes: Vec<u32>,
    /// Of a field of an actor: how many of the dimensions are its own.
    pub(crate) own_dims: u32,
    pub(crate) kind: GlobalKind,
}

#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) name: String,
    /// Where the name stands.
    pub(crate) span: Span,
    pub(crate) params: usize,
    pub(crate) result: Option<Type>,
    /// Whether it is an `atomic proc` or a task.
    pub(crate) atomic: bool,
    /// Of an atomic one that constraints can refer to: one that takes no objects.
    pub(crate) section: Option<SectionId>,
    pub(crate) task: bool,
    /// It waits for the end of a thread, perhaps without end, to tell another one.
    pub(crate) watches: bool,
    /// Of several actors: the first parameter is the index of the actor.
    pub(crate) of_indexed_actor: bool,
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
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) locals: Vec<Local>,
    pub(crate) block: Block,
}

#[derive(Clone, Debug)]
pub(crate) struct Local {
    pub(crate) name: String,
    pub(crate) ty: Type,
}

/// A local variable of a [`Body`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LocalId(pub(crate) usize);

/// A local array: each element is a local variable, and they follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Array {
    pub(crate) first: LocalId,
    pub(crate) size: u32,
}

impl Array {
    /// Returns its elements.
    pub(crate) fn elements(self) -> impl ExactSizeIterator<Item = LocalId> {
        (0..self.size as usize).map(move |at| LocalId(self.first.0 + at))
    }

    /// Returns the element with this index, if there is one.
    pub(crate) fn element(self, index: i32) -> Option<LocalId> {
        self.elements().nth(usize::try_from(index).ok()?)
    }
}

/// An atomic procedure or an atomic block that independence constraints can refer to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SectionId(pub(crate) usize);

/// How independence constraints refer to an atomic block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SectionName {
    /// By its name.
    Written(String),
    /// As `atomic 2`: the second of the blocks without a name.
    Number(u32),
}

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
