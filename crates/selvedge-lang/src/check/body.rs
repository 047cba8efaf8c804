//! The frame around the code of one body: its local variables, and where in it we are.

use std::collections::BTreeMap;

use selvedge_core::Order;

use super::effects::Effect;
use super::{Checker, Meaning};
use crate::diagnostic::Diagnostic;
use crate::ir::{ProcedureId, Type};
use crate::span::Span;
use crate::tree::resolved::{Body, Local, LocalId};
use crate::tree::written::{Block, Ident};

/// What kind of code is being checked: decides what may stand there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Region {
    /// Ordinary code.
    Thread,
    /// Inside `atomic`.
    Atomic,
    /// A task of an actor.
    Task,
    /// Inside `finally`.
    Look,
    /// The condition of `always`.
    Always,
    /// A condition of `eventually` or `leads_to`.
    Promise,
    /// The condition of `await`.
    Await,
    /// The index and the new value of a ghost variable.
    Ghost,
    /// The patterns and the guard of a `receive`.
    Guard,
    /// The condition of an independence constraint.
    Condition,
    /// A constant expression.
    Constant,
}

pub(super) struct BodyChecker<'b, 'c> {
    pub(super) checker: &'b mut Checker<'c>,
    /// The routine that the code belongs to.
    pub(super) owner: Option<ProcedureId>,
    /// What `return` must give.
    pub(super) result: Option<Type>,
    pub(super) region: Region,
    pub(super) locals: Vec<LocalInfo>,
    visible: BTreeMap<String, LocalId>,
    /// The names declared in each open block.
    scopes: Vec<Vec<String>>,
    /// For each open loop: whether a `break` leaves it.
    pub(super) loops: Vec<bool>,
    /// The orderings with which the condition of an `await` reads atomic variables.
    pub(super) awaited: Vec<Order>,
    /// Whether this is the condition of an `assert`.
    pub(super) asserting: bool,
    /// The ghost whose update this is.
    pub(super) updated: Option<usize>,
}

pub(super) struct LocalInfo {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) span: Span,
    pub(super) kind: LocalKind,
    /// The size, if it is an array. Its other elements are the locals that follow.
    pub(super) size: Option<u32>,
    pub(super) used: bool,
    /// Its value has an error: its type is not known, and nothing is said about its uses.
    pub(super) broken: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LocalKind {
    Variable,
    Param,
    /// Of a `for` loop.
    LoopIndex,
    /// Of a replicated thread.
    ThreadIndex,
    /// Of one of several actors.
    ActorIndex,
    /// Of an object that was passed.
    ObjectIndex,
    /// An element of an array, but for the first one, which has the name of the array.
    Element,
}

impl LocalKind {
    /// Returns what it is, if nothing can be assigned to it.
    pub(super) fn fixed(self) -> Option<&'static str> {
        match self {
            LocalKind::Variable | LocalKind::Param | LocalKind::Element => None,
            LocalKind::LoopIndex => Some("the index of a `for` loop"),
            LocalKind::ThreadIndex => Some("the index of a thread"),
            LocalKind::ActorIndex => Some("the index of an actor"),
            LocalKind::ObjectIndex => Some("the index of an object"),
        }
    }
}

impl<'b, 'c> BodyChecker<'b, 'c> {
    pub(super) fn new(checker: &'b mut Checker<'c>, region: Region) -> Self {
        Self {
            checker,
            owner: None,
            result: None,
            region,
            locals: Vec::new(),
            visible: BTreeMap::new(),
            scopes: vec![Vec::new()],
            loops: Vec::new(),
            awaited: Vec::new(),
            asserting: false,
            updated: None,
        }
    }

    /// Checks the whole body. A `function` with a result must return on every path.
    pub(super) fn finish(mut self, block: &Block, function: Option<&Ident>) -> Body {
        let (checked, goes_on) = self.block(block);
        if let (Some(name), Some(_), true) = (function, self.result, goes_on) {
            let message = format!("function `{}` does not return a value on every path", name.text);
            let end = Span { start: block.span.end.saturating_sub(1), end: block.span.end };
            self.report(
                Diagnostic::error(end, message)
                    .label("reached without a `return`")
                    .help("end it with `return …;`"),
            );
        }
        self.warn_unused();
        let has_name = |info: &&LocalInfo| info.kind != LocalKind::Element && !info.broken;
        let known = self.locals.iter().filter(has_name);
        self.checker.local_types.extend(known.map(|info| (info.span, info.ty, info.size)));
        let locals = self.locals.into_iter().map(|info| {
            let name = if info.size.is_some() { format!("{}[0]", info.name) } else { info.name };
            Local { name, ty: info.ty }
        });
        Body { locals: locals.collect(), block: checked }
    }

    fn warn_unused(&mut self) {
        let unused = |info: &&LocalInfo| {
            !info.used && info.kind == LocalKind::Variable && !info.name.starts_with('_')
        };
        let warnings = self.locals.iter().filter(unused).map(|info| {
            let message = format!("local variable `{}` is never read", info.name);
            let help = format!("remove it, or call it `_{}`", info.name);
            Diagnostic::warning(info.span, message).help(help)
        });
        warnings.collect::<Vec<_>>().into_iter().for_each(|warning| self.report(warning));
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.checker.report(diagnostic);
    }

    pub(super) fn in_scope<T>(&mut self, check: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Vec::new());
        let result = check(self);
        for name in self.scopes.pop().unwrap_or_default() {
            self.visible.remove(&name);
        }
        result
    }

    pub(super) fn in_region<T>(&mut self, region: Region, check: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.region, region);
        let result = check(self);
        self.region = outer;
        result
    }

    pub(super) fn declare_param(&mut self, name: &Ident, ty: Type) -> LocalId {
        self.declare_local(name, ty, LocalKind::Param)
    }

    /// Returns the index of a replicated thread.
    pub(super) fn declare_index(&mut self, name: &Ident) -> LocalId {
        self.declare_local(name, Type::Int, LocalKind::ThreadIndex)
    }

    pub(super) fn declare_local(&mut self, name: &Ident, ty: Type, kind: LocalKind) -> LocalId {
        self.check_shadowing(name);
        self.add_local(&name.text, name.span, ty, kind)
    }

    /// Without a look at other meanings of the name.
    pub(super) fn add_local(
        &mut self,
        name: &str,
        span: Span,
        ty: Type,
        kind: LocalKind,
    ) -> LocalId {
        let id = LocalId(self.locals.len());
        self.locals.push(LocalInfo {
            name: name.to_owned(),
            ty,
            span,
            kind,
            size: None,
            used: false,
            broken: false,
        });
        // A name declared twice was reported; then the scope that had it first keeps it.
        if self.visible.insert(name.to_owned(), id).is_none()
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.push(name.to_owned());
        }
        id
    }

    /// Adds an element of an array, which has no name of its own.
    pub(super) fn add_element(&mut self, name: &str, span: Span, ty: Type) {
        self.locals.push(LocalInfo {
            name: name.to_owned(),
            ty,
            span,
            kind: LocalKind::Element,
            size: None,
            used: true,
            broken: false,
        });
    }

    /// Returns the local variable with this name.
    pub(super) fn local(&self, name: &str) -> Option<LocalId> {
        self.visible.get(name).copied()
    }

    /// Returns the local variables that can be used here, by name.
    pub(super) fn visible_locals(&self) -> impl Iterator<Item = (&str, LocalId)> {
        self.visible.iter().map(|(name, id)| (name.as_str(), *id))
    }

    fn check_shadowing(&mut self, name: &Ident) {
        if let Some(id) = self.local(&name.text) {
            let first = self.locals[id.0].span;
            let here = self.scopes.last().is_some_and(|scope| scope.contains(&name.text));
            let message = match here {
                true => format!("local variable `{}` is declared twice", name.text),
                false => {
                    format!("`{}` would hide the variable of the same name outside", name.text)
                }
            };
            let help = format!("assign with `{} = …;`, or choose another name", name.text);
            let error = Diagnostic::error(name.span, message).other(first, "declared here");
            self.report(error.help(help));
        } else if let Some(entry) = self.checker.entry(&name.text)
            // Threads are named where they are sent to and joined, and there a local is meant by its name.
            && !matches!(entry.meaning, Meaning::Thread(_))
        {
            let what = self.checker.describe(entry.meaning);
            let message = format!("`{}` is already the name of {what}", name.text);
            let error = Diagnostic::error(name.span, message).other(entry.span, "declared here");
            self.report(error.help("choose another name"));
        } else if let Some(owner) = self.owner
            && let Some(member) = &self.checker.routines[owner.index()].decl.member
            && let Some(entry) = self.checker.names.get(&format!("{}.{}", member.actor, name.text))
        {
            let message =
                format!("`{}` is already a name of the actor `{}`", name.text, member.actor);
            let error = Diagnostic::error(name.span, message).other(entry.span, "declared here");
            self.report(error.help("choose another name"));
        }
    }

    /// Looks at other meanings of the name of a parameter that is an object.
    pub(super) fn check_param_name(&mut self, name: &Ident) {
        let first = self.checker.entry(&name.text).map(|entry| entry.span);
        let declared = self.checker.names.get(&name.text).copied();
        let (message, other) = match (first, declared) {
            (Some(first), _) if first != name.span => {
                (format!("parameter `{}` is declared twice", name.text), first)
            }
            (_, Some(entry)) if !matches!(entry.meaning, Meaning::Thread(_)) => {
                let what = self.checker.describe(entry.meaning);
                (format!("`{}` is already the name of {what}", name.text), entry.span)
            }
            _ => return,
        };
        let error = Diagnostic::error(name.span, message).other(other, "declared here");
        self.report(error.help("choose another name"));
    }

    /// Notes an effect, and reports it if it may not stand here.
    pub(super) fn effect(&mut self, effect: Effect, what: &str, span: Span) {
        if !self.region.allows(effect) {
            let (message, help) = self.region.refusal(what);
            let mut error = Diagnostic::error(span, message);
            if self.region == Region::Atomic {
                error = error.help(format!("move {what} out of the atomic block"));
            }
            self.report(error.help(help));
        }
        if let Some(owner) = self.owner {
            self.checker.effects.add(owner, effect, what, span);
        }
    }
}
