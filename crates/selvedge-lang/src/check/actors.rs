//! Actors: who may use their fields, tasks that are posted, and futures that are awaited.

use super::body::{BodyChecker, Region};
use super::effects::Effect;
use super::{Checker, Meaning};
use crate::diagnostic::Diagnostic;
use crate::ir::{ProcedureId, Type, Yield};
use crate::ops::{Compute, Op, Thread};
use crate::span::Span;
use crate::tree::resolved::{Await, Expr, Leaf, LocalId};
use crate::tree::written::{ActorDecl, Expr as AstExpr, Ident, Place, Post};

pub(super) struct ActorInfo<'c> {
    decl: &'c ActorDecl,
    /// How many there are, if they have indices; `None` if that cannot be computed, which has been reported.
    count: Option<u32>,
}

impl<'c> Checker<'c> {
    pub(super) fn declare_actor(&mut self, decl: &'c ActorDecl) {
        self.actors.push(ActorInfo { decl, count: None });
        self.declare(&decl.name, Meaning::Actor(self.actors.len() - 1));
    }

    /// Computes how many actors each declaration stands for.
    pub(super) fn count_actors(&mut self) {
        for i in 0..self.actors.len() {
            let Some(range) = &self.actors[i].decl.replicas else { continue };
            let low = self.constant(&range.low, Some(Type::Int), "the first index of an actor");
            if low.is_some_and(|low| low.value != 0) {
                let error = Diagnostic::error(range.low.span, "the indices of actors begin with 0");
                self.report(error.help("as those of an array do: write `(i in 0..N)`"));
            }
            self.actors[i].count = self.size(&range.high);
        }
    }

    /// Checks what a task is declared to return.
    pub(super) fn check_results(&mut self) {
        for i in 0..self.routines.len() {
            let decl = self.routines[i].decl;
            if decl.task && Yield::of(decl.result).is_none() {
                let message = format!("task `{}` cannot return a handle", decl.name.text);
                let help = "a task returns int, bool or a value of an enumeration";
                self.report(Diagnostic::error(decl.name.span, message).help(help));
            }
        }
    }
}

impl BodyChecker<'_, '_> {
    /// Reports a field of an actor that is used by other code than the tasks of the actor and properties.
    pub(super) fn check_owner(&mut self, object: usize, place: &Place) {
        let decl = self.checker.objects[object].decl;
        let (Some(member), Some(_)) = (&decl.member, &place.record) else { return };
        if matches!(
            self.region,
            Region::Look | Region::Always | Region::Promise | Region::Condition
        ) {
            return;
        }
        let name = &place.name.text;
        let message = format!("`{name}` is a field of the actor `{}`", member.actor);
        let field = name.split_once('.').map_or(name.as_str(), |(_, field)| field);
        let help = match self
            .owner
            .and_then(|it| self.checker.routines[it.index()].decl.member.as_ref())
        {
            Some(own) if own.actor == member.actor && member.index.is_none() => {
                format!("in its own tasks write `{field}`")
            }
            _ => "only its own tasks use it: post a task that does".to_owned(),
        };
        let error = Diagnostic::error(place.span, message).other(decl.name.span, "declared here");
        self.report(error.help(help));
    }

    /// The index of the actor whose code it is: a parameter before the others.
    pub(super) fn actor_index(&mut self, span: Span) -> Option<Expr> {
        let index = LocalId(0);
        self.locals.get_mut(index.0)?.used = true;
        Some(Expr::leaf(Leaf::Local(index), Type::Int, span))
    }

    /// `post account.deposit(5)`
    pub(super) fn post(&mut self, post: &Post, span: Span) -> Option<Expr> {
        self.effect(Effect::Send, "`post`", span);
        let index = match &post.actor {
            Some(actor) => self.actor(actor, &post.task),
            None => Some(self.own_index(span)),
        };
        let Some(index) = index else {
            post.args.iter().for_each(|arg| self.check_loosely(arg));
            return None;
        };
        let routine = self.task_named(&post.task);
        let Some(routine) = routine else {
            post.args.iter().for_each(|arg| self.check_loosely(arg));
            return None;
        };
        let (_, args) = self.args_without_index(routine, &post.args, span)?;
        let arguments = index.into_iter().chain(args).collect();
        let result = self.checker.routines[routine.index()].decl.result;
        let op = Thread::Spawn { procedure: routine, arguments, target: Some(()) };
        Some(Expr::of(op, Type::Future(Yield::of(result)?), span))
    }

    /// The index that goes before the arguments of a routine of the own actor.
    pub(super) fn own_index(&mut self, span: Span) -> Option<Expr> {
        let owner = self.owner?;
        self.checker.routines[owner.index()].decl.actor_index()?;
        self.actor_index(span)
    }

    /// Returns the index of the actor that a task is posted to, if it has one; the outer `None` is an error.
    fn actor(&mut self, place: &Place, task: &Ident) -> Option<Option<Expr>> {
        let name = &place.name.text;
        let meaning = self.checker.names.get(name).map(|entry| entry.meaning);
        let Some(Meaning::Actor(i)) = meaning else {
            let what = meaning.map(|meaning| self.checker.describe(meaning));
            let message = match what {
                Some(what) => format!("`{name}` is {what}, not an actor"),
                None => format!("unknown actor `{name}`"),
            };
            let actors = |meaning| matches!(meaning, Meaning::Actor(_));
            let near = self.checker.near_global(name, actors).map(str::to_owned);
            let task = task.text.rsplit('.').next().unwrap_or_default();
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("declare it: `actor {name} {{ task {task}() {{ … }} }}`"),
            };
            self.report(Diagnostic::error(place.span, message).help(help));
            return None;
        };
        let info = &self.checker.actors[i];
        let (is_indexed, count) = (info.decl.replicas.is_some(), info.count);
        match (is_indexed, &place.indices[..]) {
            (false, []) => Some(None),
            (true, [index]) => {
                let index = self.typed(index, Type::Int, "the index of an actor")?;
                let size = count?;
                let in_range = |it: i32| u32::try_from(it).is_ok_and(|it| it < size);
                if index.as_constant().is_some_and(in_range) {
                    return Some(Some(index));
                }
                let value = Compute::Within { index, size };
                let op = Op::Compute { target: (), value };
                Some(Some(Expr::of(op, Type::Int, place.span)))
            }
            _ => {
                let (what, help) = match is_indexed {
                    true => ("several actors", format!("write `{name}[i]`")),
                    false => ("one actor", format!("write `{name}`")),
                };
                let message = format!("`{name}` is {what}");
                self.report(Diagnostic::error(place.span, message).help(help));
                None
            }
        }
    }

    /// Returns the task with this name, which has that of the actor.
    fn task_named(&mut self, task: &Ident) -> Option<ProcedureId> {
        let name = &task.text;
        let (actor, short) = name.split_once('.').unwrap_or(("", name));
        match self.checker.names.get(name).map(|entry| entry.meaning) {
            Some(Meaning::Routine(i)) if self.checker.routines[i].decl.task => {
                self.checker.routines[i].used = true;
                Some(ProcedureId::new(i))
            }
            Some(meaning) => {
                let what = self.checker.describe(meaning);
                let message = format!("`{short}` is {what} of `{actor}`, not a task");
                let help = "what is posted is declared with `task`";
                self.report(Diagnostic::error(task.span, message).help(help));
                None
            }
            None => {
                let routines = &self.checker.routines;
                let prefix = format!("{actor}.");
                let tasks = routines.iter().map(|info| info.decl).filter(|decl| decl.task);
                let tasks = tasks.filter_map(|decl| decl.name.text.strip_prefix(&prefix));
                let tasks: Vec<String> = tasks.map(|task| format!("`{task}`")).collect();
                let help = match tasks.len() {
                    0 => format!("declare it in the actor: `task {short}() {{ … }}`"),
                    _ => format!("it has {}", tasks.join(", ")),
                };
                let message = format!("the actor `{actor}` has no task `{short}`");
                self.report(Diagnostic::error(task.span, message).help(help));
                None
            }
        }
    }

    /// `await f` as a value.
    pub(super) fn awaited_value(&mut self, future: &AstExpr, span: Span) -> Option<Expr> {
        let checked = self.expr(future)?;
        let Type::Future(result) = checked.ty() else {
            let ty = self.checker.type_name(checked.ty());
            let message = format!("`await` needs a future here, but this is {ty}");
            let help = "`await` has the value of a future: `let f = post account.deposit(5); let v = await f;`";
            self.report(Diagnostic::error(future.span, message).help(help));
            return None;
        };
        let Some(ty) = result.ty() else {
            let error = Diagnostic::error(span, "this task returns no value");
            self.report(error.help("write `await f;` to wait for its end"));
            return None;
        };
        self.future(checked, ty, span)
    }

    /// Waits for a future. In a task another part of it begins there.
    pub(super) fn future(&mut self, what: Expr, ty: Type, span: Span) -> Option<Expr> {
        let section = match self.region {
            Region::Task => self.number_section(),
            _ => {
                self.effect(Effect::Wait, "`await` of a future", span);
                None
            }
        };
        let leaf = Leaf::Await(Box::new(Await { what, section }));
        Some(Expr::leaf(leaf, ty, span))
    }
}
