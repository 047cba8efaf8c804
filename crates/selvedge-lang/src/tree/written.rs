//! What the parser makes: what was written, with places, names not yet looked up.

use super::Stage;
use crate::ir::Type;
use crate::ops::{BinaryOp, Delivery, Form};
use crate::span::Span;

pub(crate) type Block = super::Block<Written>;
pub(crate) type Stmt = super::Stmt<Written>;
pub(crate) type StmtKind = super::StmtKind<Written>;
pub(crate) type Expr = super::Expr<Written>;
pub(crate) type ExprKind = super::ExprKind<Written>;

/// The stage of the parser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Written;

impl Form for Written {
    type Value = Expr;
    type Object = Place;
    type Target = ();
    type Local = Ident;
    type Label = Block;
    type Routine = Ident;
    type Guard = Expr;
}

impl Stage for Written {
    type Leaf = Leaf;
    /// How deep the tree below is. The parser keeps it small, so that walks can be recursive.
    type Known = u32;
    type Assignment = Assignment;
    type Section = Option<Ident>;
}

/// A value that no operation computes, or of which it is not yet known which operation does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Leaf {
    Int(i32),
    Bool(bool),
    Place(Place),
    /// `first.name`: a local of a named atomic block, in an independence constraint.
    Field {
        base: Ident,
        field: Ident,
    },
    /// Of a user's routine, or of an operation that is written like one.
    Call {
        name: Ident,
        args: Vec<Expr>,
    },
    /// `choose()`: a boolean.
    Choose,
    SelfHandle,
    /// `post account.deposit(5)`: its future.
    Post(Post),
    /// `await f`: what the task with this future returned.
    Await(Box<Expr>),
    /// The index of the actor whose code it is.
    ActorIndex,
    /// `monitor t(1, v);`: a message when a thread has ended.
    Monitor(Box<Monitor>),
    /// In parentheses: not the name of a constant when it stands in a pattern.
    Paren(Box<Expr>),
}

/// A thread that is watched for another one, and the message that this one gets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Monitor {
    pub(crate) thread: Expr,
    pub(crate) values: Vec<Expr>,
    /// The routine that watches it: one of [`File::watchers`].
    pub(crate) watcher: String,
}

/// A task that is given to an actor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Post {
    /// Which actor; `None` if it is the one whose code it is.
    pub(crate) actor: Option<Place>,
    /// With the name of the actor: `account.deposit`, where the task stands.
    pub(crate) task: Ident,
    pub(crate) args: Vec<Expr>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Assignment {
    Let {
        name: Ident,
        ty: Option<Type>,
        value: Expr,
    },
    /// `let a[3] = 0;`
    LetArray {
        name: Ident,
        size: Expr,
        ty: Option<Type>,
        initial: Initial,
    },
    /// `op`: of `+=` and the like.
    Assign {
        target: Place,
        op: Option<BinaryOp>,
        value: Expr,
    },
}

/// `x`, `a[i]`, `grid[i][j]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Of a field: `p.x`, where the field stands.
    pub(crate) name: Ident,
    /// The variable or actor that the field is of, if it is written.
    pub(crate) record: Option<Ident>,
    pub(crate) indices: Vec<Expr>,
    pub(crate) span: Span,
}

/// A whole program text.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) items: Vec<Item>,
    /// The names of enumerations in the order of the text: by the number of their type.
    pub(crate) enums: Vec<String>,
    /// The names of enumerations and records where they stand as types.
    pub(crate) types: Vec<Ident>,
    /// The variables that are records, and of which.
    pub(crate) of_records: Vec<(Ident, Ident)>,
    pub(crate) imports: Vec<Import>,
    /// What runs beside a thread that watches another one: a routine for each `monitor`.
    pub(crate) watchers: Vec<Routine>,
}

/// `import "locks.sel";`
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Import {
    /// As it is written.
    pub(crate) path: String,
    pub(crate) span: Span,
}

/// A name where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ident {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// A declaration at the outermost level.
#[derive(Debug)]
pub(crate) enum Item {
    Const(ConstDecl),
    Enum(EnumDecl),
    Table(TableDecl),
    Record(RecordDecl),
    /// Its fields and tasks are items of their own.
    Actor(ActorDecl),
    Object(ObjectDecl),
    Routine(Routine),
    Thread(ThreadDecl),
    Finally(Finally),
    Always(Always),
    Promise(Promise),
    Independent(Independent),
}

impl Item {
    /// Returns the place of an `always`.
    pub(crate) fn always_span(&self) -> Option<Span> {
        match self {
            Item::Always(always) => Some(always.body.span),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct ConstDecl {
    pub(crate) name: Ident,
    pub(crate) ty: Option<Type>,
    pub(crate) value: Expr,
}

/// `record Node { value = 0, next = -1 }`: a variable of it is one variable for each field.
#[derive(Debug)]
pub(crate) struct RecordDecl {
    pub(crate) name: Ident,
    pub(crate) fields: Vec<Field>,
}

/// `actor account { … }`, `actor worker(i in 0..N) { … }`
#[derive(Debug)]
pub(crate) struct ActorDecl {
    pub(crate) name: Ident,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) span: Span,
}

/// What belongs to an actor. Its name is that of the actor, a dot and its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) actor: String,
    /// The index of the actor, if there are several.
    pub(crate) index: Option<Ident>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: Ident,
    pub(crate) ty: Option<Type>,
    /// What the field of a variable holds at the start.
    pub(crate) value: Expr,
}

/// `const T[3] = [1, 2, 3];`
#[derive(Debug)]
pub(crate) struct TableDecl {
    pub(crate) name: Ident,
    pub(crate) ty: Option<Type>,
    pub(crate) size: Expr,
    pub(crate) initial: Initial,
}

/// `enum Name { First, Second }`
#[derive(Debug)]
pub(crate) struct EnumDecl {
    pub(crate) name: Ident,
    pub(crate) members: Vec<Ident>,
}

/// Something that threads share.
#[derive(Debug)]
pub(crate) struct ObjectDecl {
    pub(crate) kind: ObjectKind,
    pub(crate) name: Ident,
    /// The sizes of an array; none for a single object. Of a field of several actors, their number comes first.
    pub(crate) sizes: Vec<Expr>,
    pub(crate) initial: Option<Initial>,
    /// If it is a field of an actor.
    pub(crate) member: Option<Member>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ObjectKind {
    /// `atomic`: an access is synchronisation, never a data race.
    Shared {
        atomic: bool,
        ty: Option<Type>,
    },
    /// The program updates it, and only properties read it.
    Ghost {
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
    /// Its initial value is the capacity.
    Channel(Delivery),
}

impl ObjectKind {
    /// Returns the same kind of variable with another type.
    pub(crate) fn with_type(self, ty: Option<Type>) -> Self {
        match self {
            ObjectKind::Shared { atomic, .. } => ObjectKind::Shared { atomic, ty },
            other => other,
        }
    }

    /// Returns whether it is a variable whose accesses have memory orderings.
    pub(crate) fn is_atomic(self) -> bool {
        matches!(self, ObjectKind::Shared { atomic: true, .. })
    }

    /// Returns how messages call it, with an article.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            ObjectKind::Shared { .. } => "a shared variable",
            ObjectKind::Ghost { .. } => "a ghost variable",
            ObjectKind::Mutex => "a mutex",
            ObjectKind::Rwlock => "a reader-writer lock",
            ObjectKind::Cond => "a condition variable",
            ObjectKind::Semaphore => "a semaphore",
            ObjectKind::Barrier => "a barrier",
            ObjectKind::List => "a list",
            ObjectKind::Map => "a map",
            ObjectKind::Channel(_) => "a channel",
        }
    }
}

/// What an object holds at the start.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The whole body is one step; of a task, what stands between two places where it waits.
    pub(crate) atomic: bool,
    /// If it belongs to an actor.
    pub(crate) member: Option<Member>,
    /// It is not called but posted.
    pub(crate) task: bool,
    /// It is what a `monitor` starts.
    pub(crate) watches: bool,
    pub(crate) body: Block,
}

impl Routine {
    /// Returns the index of its actor, if there are several: a parameter before the others.
    pub(crate) fn actor_index(&self) -> Option<&Ident> {
        self.member.as_ref()?.index.as_ref()
    }

    /// Returns whether objects are passed to it: its code is made for each combination of them.
    pub(crate) fn takes_objects(&self) -> bool {
        self.params.iter().any(|param| param.object().is_some())
    }
}

#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) kind: ParamKind,
}

/// What is passed for a parameter.
#[derive(Debug)]
pub(crate) enum ParamKind {
    Value(Type),
    /// Something that threads share. The declaration has as many sizes as there are dimensions, and they mean nothing.
    Object(Box<ObjectDecl>),
}

impl Param {
    /// Returns the object that it is declared as, if it stands for one.
    pub(crate) fn object(&self) -> Option<&ObjectDecl> {
        match &self.kind {
            ParamKind::Value(_) => None,
            ParamKind::Object(decl) => Some(decl),
        }
    }
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

/// `always c;`: the body is one assertion.
#[derive(Debug)]
pub(crate) struct Always {
    pub(crate) keyword: Span,
    pub(crate) body: Block,
}

/// `eventually c;` or `always p leads_to c;`: each condition is a body with one assertion, that of `c` last.
#[derive(Debug)]
pub(crate) struct Promise {
    pub(crate) keyword: Span,
    pub(crate) span: Span,
    pub(crate) premise: Option<Block>,
    pub(crate) goal: Block,
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
    /// Of a task: `account.deposit`, where the task stands.
    pub(crate) name: Ident,
    /// Of a task.
    pub(crate) actor: Option<Ident>,
    /// `None` if there are no parentheses. Of a task of several actors, the index comes first.
    pub(crate) params: Option<Vec<Ident>>,
}
