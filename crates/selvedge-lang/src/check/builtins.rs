//! Built-in functions and procedures. A user's own routine of the same name goes first.

use super::Meaning;
use super::body::{BodyChecker, Region};
use super::effects::Effect;
use super::expressions::arguments;
use super::places::Wanted;
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::ops::{
    Barrier, BinaryOp, Change, Cond, Container, Lock, LockMode, Op, Query, Semaphore, UnaryOp,
};
use crate::span::Span;
use crate::tree::Resolved;
use crate::tree::resolved::{self as tree, Element, Expr, LocalId, StmtKind};
use crate::tree::written::{Expr as AstExpr, ExprKind as Ast, Ident, Leaf, ObjectKind};

/// All of them, for hints.
pub(crate) const NAMES: &[&str] = &[
    "min",
    "max",
    "abs",
    "int",
    "compare_exchange",
    "exchange",
    "fetch_add",
    "load",
    "store",
    "fence",
    "try_lock",
    "try_read_lock",
    "try_write_lock",
    "try_down",
    "count",
    "try_send",
    "len",
    "pop",
    "pop_front",
    "contains",
    "index_of",
    "has",
    "get",
    "wait",
    "signal",
    "broadcast",
    "up",
    "down",
    "arrive",
    "push",
    "remove",
    "clear",
];

/// How other languages, libraries and papers call what is built in.
const OTHER_NAMES: &[(&[&str], &str)] = &[
    (
        &[
            "compare_and_swap",
            "compare_and_set",
            "compare_exchange_weak",
            "compare_exchange_strong",
            "cas",
            "CAS",
        ],
        "compare_exchange(x, old, new)",
    ),
    (&["swap", "test_and_set", "atomic_exchange", "xchg"], "exchange(x, new)"),
    (&["fetch_and_add", "atomic_add", "fetch_sub", "faa", "FAA"], "fetch_add(x, d)"),
    (&["atomic_load", "load_explicit", "atomic_load_explicit"], "load(x, acquire)"),
    (&["atomic_store", "store_explicit", "atomic_store_explicit"], "store(x, v, release)"),
    (&["atomic_thread_fence", "mfence", "memory_barrier", "smp_mb"], "fence(seq_cst)"),
    (&["mutex_lock", "pthread_mutex_lock", "acquire", "enter"], "lock m;"),
    (&["mutex_unlock", "pthread_mutex_unlock", "release", "leave"], "unlock m;"),
    (&["notify", "notify_one", "pthread_cond_signal"], "signal(c)"),
    (&["notify_all", "signal_all", "pthread_cond_broadcast"], "broadcast(c)"),
    (&["cond_wait", "pthread_cond_wait"], "wait(c, m)"),
    (&["sem_wait", "P", "dec"], "down(s)"),
    (&["sem_post", "V", "inc"], "up(s)"),
    (&["barrier_wait", "pthread_barrier_wait"], "arrive(b)"),
    (&["append", "push_back", "enqueue", "add", "insert"], "push(q, v)"),
    (&["dequeue", "pop_first", "shift"], "pop_front(q)"),
    (&["size", "length"], "len(q)"),
    (&["nondet", "random", "rand", "__VERIFIER_nondet_int"], "choose(0..n)"),
];

/// Returns how to write what has another name elsewhere.
pub(super) fn written(other: &str) -> Option<&'static str> {
    OTHER_NAMES.iter().find(|(names, _)| names.contains(&other)).map(|&(_, usage)| usage)
}

impl BodyChecker<'_, '_> {
    /// Returns a built-in function, or `None` if there is none of this name.
    pub(super) fn builtin_value(
        &mut self,
        name: &Ident,
        args: &[AstExpr],
        span: Span,
    ) -> Option<Option<Expr>> {
        Some(match name.text.as_str() {
            "min" => self.min_max(BinaryOp::Min, "min(a, b)", args, span),
            "max" => self.min_max(BinaryOp::Max, "max(a, b)", args, span),
            "abs" => self.abs(args, span),
            "int" => self.number_of(args, span),
            "receive" => self.receive_value(args, span),
            "compare_exchange" => self.compare_exchange(args, span),
            "exchange" => self.exchange(args, span),
            "fetch_add" => self.fetch_add(args, span),
            "load" => self.load(args, span),
            "try_lock" => self.try_lock(LockMode::Mutex, "try_lock(m)", args, span),
            "try_read_lock" => self.try_lock(LockMode::Read, "try_read_lock(rw)", args, span),
            "try_write_lock" => self.try_lock(LockMode::Write, "try_write_lock(rw)", args, span),
            "try_down" => self.try_down(args, span),
            "count" => self.semaphore_count(args, span),
            "try_send" => self.try_send(args, span),
            "len" => self.len(args, span),
            "pop" => self.pop(false, "pop(q)", args, span),
            "pop_front" => self.pop(true, "pop_front(q)", args, span),
            "contains" => self.contains(args, span),
            "index_of" => self.index_of(args, span),
            "has" => self.has(args, span),
            "get" => self.get(args, span),
            other if NAMES.contains(&other) => {
                let error = Diagnostic::error(span, format!("`{other}` returns no value"));
                self.report(error.help("write it as a statement of its own"));
                args.iter().for_each(|arg| self.check_loosely(arg));
                None
            }
            _ => return None,
        })
    }

    /// Returns a built-in procedure, or `None` if there is none of this name.
    pub(super) fn builtin_statement(
        &mut self,
        name: &Ident,
        args: &[AstExpr],
        span: Span,
    ) -> Option<Option<StmtKind>> {
        Some(match name.text.as_str() {
            "wait" => self.wait(args, span),
            "signal" => self
                .on_object(Wanted::One(ObjectKind::Cond), Effect::Wait, "signal(c)", args, span)
                .map(|cond| statement(Cond::Signal { cond })),
            "broadcast" => self
                .on_object(Wanted::One(ObjectKind::Cond), Effect::Wait, "broadcast(c)", args, span)
                .map(|cond| statement(Cond::Broadcast { cond })),
            "up" if args.len() == 2 => self.up_by(args, span),
            "up" => self
                .on_object(Wanted::One(ObjectKind::Semaphore), Effect::Send, "up(s)", args, span)
                .map(|semaphore| statement(Semaphore::Up { semaphore })),
            "down" => self
                .on_object(Wanted::One(ObjectKind::Semaphore), Effect::Wait, "down(s)", args, span)
                .map(|semaphore| statement(Semaphore::Down { semaphore })),
            "arrive" => self
                .on_object(Wanted::One(ObjectKind::Barrier), Effect::Wait, "arrive(b)", args, span)
                .map(|barrier| statement(Barrier::Arrive { barrier })),
            "clear" => self
                .on_object(Wanted::ListOrMap, Effect::Write, "clear(q)", args, span)
                .map(|container| statement(Container::Change { container, change: Change::Clear })),
            "store" => self.store(args, span),
            "fence" => self.fence(args, span),
            "push" => self.push(args, span),
            "remove" => self.remove(args, span),
            _ => return None,
        })
    }

    /// Exactly `N` arguments; `usage` shows how the built-in is called.
    pub(super) fn exactly<'a, const N: usize>(
        &mut self,
        usage: &str,
        args: &'a [AstExpr],
        span: Span,
    ) -> Option<&'a [AstExpr; N]> {
        if let Ok(args) = args.try_into() {
            return Some(args);
        }
        let name = usage.split('(').next().unwrap_or(usage);
        let message = format!("`{name}` needs {}, not {}", arguments(N), args.len());
        self.report(Diagnostic::error(span, message).help(format!("write `{usage}`")));
        None
    }

    /// Checks an argument that may name an object, of a routine that is not known.
    pub(super) fn check_loosely(&mut self, arg: &AstExpr) {
        if !matches!(arg.kind, Ast::Leaf(Leaf::Place(_))) {
            self.expr(arg);
        }
    }

    fn min_max(&mut self, op: BinaryOp, usage: &str, args: &[AstExpr], span: Span) -> Option<Expr> {
        if let [list] = args
            && self.names_list(list)
        {
            let (user, query) = match op {
                BinaryOp::Min => ("`min`", Query::Least),
                _ => ("`max`", Query::Greatest),
            };
            return self.query(user, list, Wanted::One(ObjectKind::List), span, |_| {
                Some((query, Type::Int))
            });
        }
        let [a, b] = self.exactly(usage, args, span)?;
        let a = self.typed(a, Type::Int, "an argument");
        let b = self.typed(b, Type::Int, "an argument");
        self.binary_value(op, a?, b?, span)
    }

    fn names_list(&self, arg: &AstExpr) -> bool {
        let Ast::Leaf(Leaf::Place(place)) = &arg.kind else { return false };
        let place = &*self.checker.actual(place);
        let entry = self.checker.entry(&place.name.text);
        let Some(Meaning::Object(i)) = entry.map(|entry| entry.meaning) else { return false };
        let decl = self.checker.objects[i].decl;
        self.local(&place.name.text).is_none()
            && decl.kind == ObjectKind::List
            && place.indices.len() == decl.sizes.len()
    }

    fn index_of(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [list, value] = self.exactly("index_of(q, v)", args, span)?;
        self.query("`index_of`", list, Wanted::One(ObjectKind::List), span, |body| {
            let value = body.typed(value, Type::Int, "a value in a list")?;
            Some((Query::IndexOf(value), Type::Int))
        })
    }

    fn abs(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [a] = self.exactly("abs(a)", args, span)?;
        let a = self.typed(a, Type::Int, "an argument")?;
        self.unary_value(UnaryOp::Abs, a, span)
    }

    /// The number of a value of an enumeration.
    fn number_of(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [value] = self.exactly("int(v)", args, span)?;
        let checked = self.expr(value)?;
        match checked.ty() {
            Type::Enum(_) => Some(Expr { known: Type::Int, span, ..checked }),
            other => {
                self.report_type(value.span, "`int` needs a value of an enumeration", other);
                None
            }
        }
    }

    fn try_lock(
        &mut self,
        mode: LockMode,
        usage: &str,
        args: &[AstExpr],
        span: Span,
    ) -> Option<Expr> {
        let [lock] = self.exactly(usage, args, span)?;
        let word = format!("`try_{}`", mode.lock_word());
        self.effect(Effect::Wait, &word, span);
        let (_, lock) = self.object_argument(lock, Wanted::lock(mode), &word)?;
        Some(Expr::of(Lock::Try { mode, target: (), lock }, Type::Bool, span))
    }

    fn try_down(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [semaphore] = self.exactly("try_down(s)", args, span)?;
        self.effect(Effect::Wait, "`try_down`", span);
        let (_, semaphore) =
            self.object_argument(semaphore, Wanted::One(ObjectKind::Semaphore), "`try_down`")?;
        Some(Expr::of(Semaphore::TryDown { target: (), semaphore }, Type::Bool, span))
    }

    fn len(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [arg] = self.exactly("len(q)", args, span)?;
        if let Some(size) = self.array_size(arg) {
            if size.is_none() && self.checker.passed.is_written() && self.region != Region::Constant
            {
                // It differs from call to call. In an instance it is constant.
                return Some(Expr::leaf(tree::Leaf::Local(LocalId(0)), Type::Int, span));
            }
            let size = size?;
            let size = i32::try_from(size).unwrap_or(i32::MAX);
            return Some(Expr::constant(size, Type::Int, span));
        }
        self.query("`len`", arg, Wanted::Sized, span, |_| Some((Query::Length, Type::Int)))
    }

    /// Returns the size of an array, if the argument names one; inside is `None` if it is not known.
    fn array_size(&mut self, arg: &AstExpr) -> Option<Option<u32>> {
        let Ast::Leaf(Leaf::Place(place)) = &arg.kind else { return None };
        if let Some(local) = self.local(&place.name.text) {
            let array = self.array(local).filter(|_| place.indices.is_empty())?;
            self.locals[local.0].used = true;
            return Some(Some(array.size));
        }
        let place = &*self.checker.actual(place);
        let meaning = self.checker.entry(&place.name.text).map(|entry| entry.meaning);
        if let (Some(Meaning::Table(i)), true) = (meaning, place.indices.is_empty()) {
            let table = self.checker.tables[i].table.as_ref();
            return Some(table.map(|table| table.values.len() as u32));
        }
        let Some(Meaning::Object(i)) = meaning else { return None };
        let info = &mut self.checker.objects[i];
        let is_array = place.indices.len() < info.decl.sizes.len();
        let is_container =
            matches!(info.decl.kind, ObjectKind::List | ObjectKind::Map | ObjectKind::Channel(_));
        if !is_array || (is_container && !place.indices.is_empty()) {
            return None;
        }
        info.used = true;
        Some(info.sizes.as_ref().and_then(|sizes| sizes.get(place.indices.len()).copied()))
    }

    /// Checks a query of a list or map; `ask` checks the other arguments.
    fn query(
        &mut self,
        user: &str,
        arg: &AstExpr,
        wanted: Wanted,
        span: Span,
        ask: impl FnOnce(&mut Self) -> Option<(Query<Resolved>, Type)>,
    ) -> Option<Expr> {
        let container = self.object_argument(arg, wanted, user);
        self.effect(Effect::Read, user, span);
        let asked = ask(self);
        let (_, container) = container?;
        let (query, ty) = asked?;
        Some(Expr::of(Container::Ask { target: (), container, query }, ty, span))
    }

    fn contains(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [list, value] = self.exactly("contains(q, v)", args, span)?;
        self.query("`contains`", list, Wanted::One(ObjectKind::List), span, |body| {
            let value = body.typed(value, Type::Int, "a value in a list")?;
            Some((Query::Contains(value), Type::Bool))
        })
    }

    fn has(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [map, key] = self.exactly("has(table, k)", args, span)?;
        self.query("`has`", map, Wanted::One(ObjectKind::Map), span, |body| {
            let key = body.typed(key, Type::Int, "a key")?;
            Some((Query::Has(key), Type::Bool))
        })
    }

    fn get(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [map, key, default] = self.exactly("get(table, k, default)", args, span)?;
        self.query("`get`", map, Wanted::One(ObjectKind::Map), span, |body| {
            let key = body.typed(key, Type::Int, "a key");
            let default = body.typed(default, Type::Int, "the default value");
            Some((Query::GetOr(key?, default?), Type::Int))
        })
    }

    fn pop(&mut self, front: bool, usage: &str, args: &[AstExpr], span: Span) -> Option<Expr> {
        let [list] = self.exactly(usage, args, span)?;
        let word = if front { "`pop_front`" } else { "`pop`" };
        self.effect(Effect::Write, word, span);
        let (_, list) = self.object_argument(list, Wanted::One(ObjectKind::List), word)?;
        let change = if front { Change::PopFront(Some(())) } else { Change::Pop(Some(())) };
        Some(Expr::of(Container::Change { container: list, change }, Type::Int, span))
    }

    fn wait(&mut self, args: &[AstExpr], span: Span) -> Option<StmtKind> {
        let [cond, mutex] = self.exactly("wait(c, m)", args, span)?;
        self.effect(Effect::Wait, "`wait`", span);
        let cond = self.object_argument(cond, Wanted::One(ObjectKind::Cond), "`wait`");
        let mutex = self.object_argument(mutex, Wanted::One(ObjectKind::Mutex), "`wait`");
        Some(statement(Cond::Wait { cond: cond?.1, mutex: mutex?.1 }))
    }

    fn on_object(
        &mut self,
        wanted: Wanted,
        effect: Effect,
        usage: &str,
        args: &[AstExpr],
        span: Span,
    ) -> Option<Element> {
        let [object] = self.exactly(usage, args, span)?;
        let word = format!("`{}`", usage.split('(').next().unwrap_or(usage));
        self.effect(effect, &word, span);
        self.object_argument(object, wanted, &word).map(|(_, element)| element)
    }

    fn push(&mut self, args: &[AstExpr], span: Span) -> Option<StmtKind> {
        let [list, value] = self.exactly("push(q, v)", args, span)?;
        self.effect(Effect::Write, "`push`", span);
        let list = self.object_argument(list, Wanted::One(ObjectKind::List), "`push`");
        let value = self.typed(value, Type::Int, "a value in a list");
        let change = Change::Push(value?);
        Some(statement(Container::Change { container: list?.1, change }))
    }

    fn remove(&mut self, args: &[AstExpr], span: Span) -> Option<StmtKind> {
        let [map, key] = self.exactly("remove(table, k)", args, span)?;
        self.effect(Effect::Write, "`remove`", span);
        let map = self.object_argument(map, Wanted::One(ObjectKind::Map), "`remove`");
        let key = self.typed(key, Type::Int, "a key");
        let change = Change::Remove(key?);
        Some(statement(Container::Change { container: map?.1, change }))
    }
}

pub(super) fn statement(op: impl Into<Op<Resolved>>) -> StmtKind {
    StmtKind::Op(op.into())
}
