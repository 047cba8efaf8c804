//! Objects that are passed to routines.
//!
//! Which object a parameter stands for is known at each call, but for the indices in an array. So the code of a routine
//! that takes objects is made once for each combination of objects that it is called with: an *instance*. Its
//! parameters are the indices of the objects, beside those that are values. There are finitely many, also if routines
//! call each other.
//!
//! The routine as it is written is checked once, with objects that only have the kind and the type of the parameters:
//! what is wrong with it is said there, and what it does is known from there. Instances say nothing, unless
//! they have an error that the routine has not.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use super::body::{BodyChecker, LocalKind};
use super::places::Wanted;
use super::{Checker, Entry, Meaning, ObjectInfo, RoutineInfo};
use crate::diagnostic::Diagnostic;
use crate::ir::{ProcedureId, Type};
use crate::ops::{Compute, Op};
use crate::tree::resolved::{self as tree, Block, Body, Expr, ExprKind, Leaf, Stmt, StmtKind};
use crate::tree::written::{
    self as ast, Expr as AstExpr, ExprKind as Ast, Ident, Leaf as AstLeaf, ObjectDecl, ObjectKind,
    ParamKind, Place,
};

/// What the parameters of the routine that is being checked stand for, and which instances there are.
#[derive(Default)]
pub(super) struct Passed {
    /// By name: in a routine as it is written, objects that only have a kind and a type.
    named: BTreeMap<String, Entry>,
    /// By name: in an instance, the object and the parameters that are its indices.
    bound: BTreeMap<String, (String, Vec<String>)>,
    /// By the routine and its objects.
    instances: BTreeMap<(ProcedureId, Vec<usize>), ProcedureId>,
    /// Those that are not made yet.
    wanted: VecDeque<(ProcedureId, ProcedureId, Vec<usize>)>,
}

impl Passed {
    /// Returns whether an instance is being checked.
    pub(super) fn is_instance(&self) -> bool {
        !self.bound.is_empty()
    }

    /// Returns whether a routine that takes objects is being checked as it is written.
    pub(super) fn is_written(&self) -> bool {
        !self.named.is_empty()
    }
}

impl<'c> Checker<'c> {
    /// Returns what a global name, or a parameter that is an object, stands for.
    pub(super) fn entry(&self, name: &str) -> Option<Entry> {
        self.passed.named.get(name).or_else(|| self.names.get(name)).copied()
    }

    /// Returns the place with the object that a parameter stands for in its place.
    pub(super) fn actual<'p>(&self, place: &'p Place) -> Cow<'p, Place> {
        let Some((object, indices)) = self.passed.bound.get(&place.name.text) else {
            return Cow::Borrowed(place);
        };
        let span = place.name.span;
        let index = |text: &String| {
            let name = Ident { text: text.clone(), span };
            let place = Place { name, record: None, indices: Vec::new(), span };
            AstExpr { kind: Ast::Leaf(AstLeaf::Place(place)), known: 1, span }
        };
        let indices = indices.iter().map(index).chain(place.indices.iter().cloned()).collect();
        let name = Ident { text: object.clone(), span };
        Cow::Owned(Place { name, indices, ..place.clone() })
    }

    /// Checks a routine that takes objects as it is written. What it returns is there in case that nothing calls it.
    pub(super) fn routine_with_objects(
        &mut self,
        id: ProcedureId,
        decl: &'c ast::Routine,
    ) -> tree::Routine {
        let mut named = BTreeMap::new();
        for object in decl.params.iter().filter_map(ast::Param::object) {
            if decl.member.is_some() {
                let message = "the routines and tasks of an actor take values, and no objects";
                let help = "an actor uses its own fields; or declare the procedure outside of it";
                self.report(Diagnostic::error(object.name.span, message).help(help));
            }
            let ty = match object.kind {
                ObjectKind::Shared { ty, .. } => ty.unwrap_or(Type::Int),
                _ => Type::Int,
            };
            let entry =
                Entry { meaning: Meaning::Object(self.objects.len()), span: object.name.span };
            self.objects.push(ObjectInfo { decl: object, sizes: None, ty, used: true });
            // One of two with the same name is reported with the body.
            named.entry(object.name.text.clone()).or_insert(entry);
        }
        let written = self.in_passed(named, BTreeMap::new(), |it| it.routine_body(id, decl, &[]));
        let span = decl.body.span;
        let forever = StmtKind::While {
            condition: Expr::constant(1, Type::Bool, span),
            body: Block { statements: Vec::new(), span },
        };
        let statements = vec![Stmt { kind: forever, span }];
        let body = Body { locals: written.body.locals, block: Block { statements, span } };
        tree::Routine { atomic: false, body, ..written }
    }

    /// Makes the instances that calls need.
    pub(super) fn make_instances(&mut self, routines: &mut Vec<tree::Routine>) {
        while let Some((id, of, objects)) = self.passed.wanted.pop_front() {
            let decl = self.routines[of.index()].decl;
            let bound = self.bound(decl, &objects);
            let earlier = std::mem::take(self.diagnostics);
            let known = self.local_types.len();
            let made =
                self.in_passed(BTreeMap::new(), bound, |it| it.routine_body(of, decl, &objects));
            self.local_types.truncate(known);
            let said = std::mem::replace(self.diagnostics, earlier);
            if !self.diagnostics.has_errors() && said.has_errors() {
                said.into_sorted().into_iter().for_each(|error| self.report(error));
            }
            // Numbers are given in the order in which instances are wanted.
            match routines.get_mut(id.index()) {
                Some(routine) => *routine = made,
                None => routines.push(made),
            }
        }
    }

    /// Returns what the parameters of an instance stand for.
    fn bound(
        &self,
        decl: &ast::Routine,
        objects: &[usize],
    ) -> BTreeMap<String, (String, Vec<String>)> {
        let params = decl.params.iter().filter_map(ast::Param::object);
        let bound = params.zip(objects).map(|(param, &object)| {
            let name = self.objects[object].decl.name.text.clone();
            (param.name.text.clone(), (name, self.index_names(param, object)))
        });
        bound.collect()
    }

    /// Returns the parameters that are the indices of an object, by names that cannot be written.
    fn index_names(&self, param: &ObjectDecl, object: usize) -> Vec<String> {
        let given = self.objects[object].decl.sizes.len() - param.sizes.len();
        let words = ["index of", "second index of"].into_iter().take(given);
        words.map(|word| format!("{word} {}", param.name.text)).collect()
    }

    fn in_passed<T>(
        &mut self,
        named: BTreeMap<String, Entry>,
        bound: BTreeMap<String, (String, Vec<String>)>,
        check: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.passed.named = named;
        self.passed.bound = bound;
        let checked = check(self);
        self.passed.named.clear();
        self.passed.bound.clear();
        checked
    }

    /// Returns the instance of a routine for these objects. The first one has the number of the routine itself.
    fn instance(&mut self, routine: ProcedureId, objects: Vec<usize>) -> ProcedureId {
        let key = (routine, objects);
        if let Some(&known) = self.passed.instances.get(&key) {
            return known;
        }
        let is_first = self.passed.instances.range((routine, Vec::new())..).next();
        let id = match is_first.is_none_or(|((other, _), _)| *other != routine) {
            true => routine,
            false => {
                let decl = self.routines[routine.index()].decl;
                self.routines.push(RoutineInfo { decl, section: None, used: true });
                ProcedureId::new(self.routines.len() - 1)
            }
        };
        self.passed.wanted.push_back((id, routine, key.1.clone()));
        self.passed.instances.insert(key, id);
        id
    }
}

impl BodyChecker<'_, '_> {
    /// Declares the parameters of a routine, in an instance those that are the indices of `objects`.
    pub(super) fn declare_params(&mut self, decl: &ast::Routine, objects: &[usize]) {
        let mut objects = objects.iter();
        for param in &decl.params {
            match &param.kind {
                ParamKind::Value(ty) => {
                    self.declare_param(&param.name, *ty);
                }
                ParamKind::Object(object) => {
                    if self.checker.passed.is_written() {
                        self.check_param_name(&param.name);
                    }
                    let indices = objects.next().map(|&it| self.checker.index_names(object, it));
                    for index in indices.into_iter().flatten() {
                        self.add_local(&index, param.name.span, Type::Int, LocalKind::ObjectIndex);
                    }
                }
            }
        }
    }

    /// Returns the arguments of a call, and what is called: of a routine that takes objects, an instance.
    pub(super) fn passed(
        &mut self,
        routine: ProcedureId,
        args: &[AstExpr],
    ) -> Option<(ProcedureId, Vec<Expr>)> {
        let decl = self.checker.routines[routine.index()].decl;
        let mut whole = true;
        let mut objects = Vec::new();
        let mut values = Vec::new();
        // All of them are checked, even after one with an error.
        for (arg, param) in args.iter().zip(&decl.params) {
            let what = format!("argument `{}`", param.name.text);
            match &param.kind {
                ParamKind::Value(ty) => match self.typed(arg, *ty, &what) {
                    Some(value) => values.push(value),
                    None => whole = false,
                },
                ParamKind::Object(wanted) => match self.passed_object(arg, wanted, &what) {
                    Some((object, indices)) => {
                        objects.push(object);
                        values.extend(indices);
                    }
                    None => whole = false,
                },
            }
        }
        if !whole {
            return None;
        }
        let is_written = self.checker.passed.is_written();
        let called = match objects.is_empty() || is_written {
            true => routine,
            false => self.checker.instance(routine, objects),
        };
        Some((called, values))
    }

    /// Returns an object that is passed, and its indices.
    fn passed_object(
        &mut self,
        arg: &AstExpr,
        wanted: &ObjectDecl,
        what: &str,
    ) -> Option<(usize, Vec<Expr>)> {
        let place = match &arg.kind {
            Ast::Leaf(AstLeaf::Place(place)) => self.checker.actual(place).into_owned(),
            Ast::Leaf(AstLeaf::Paren(inner)) => return self.passed_object(inner, wanted, what),
            _ => {
                let needed = Wanted::One(wanted.kind).describe();
                let message = format!("{what} must be {needed}, and this is a value");
                self.report(Diagnostic::error(arg.span, message));
                return None;
            }
        };
        let object = self.object_named(&place, Wanted::One(wanted.kind), what, "must be")?;
        let indices = self.indices(&place);
        let info = &self.checker.objects[object];
        let (decl, ty, sizes) = (info.decl, info.ty, info.sizes.clone());
        let name = &place.name.text;
        let problem = match (wanted.kind, decl.kind) {
            _ if decl.member.is_some() => Some((
                format!("`{name}` is a field of an actor, which only its own tasks use"),
                "pass its value".to_owned(),
            )),
            (ObjectKind::Shared { ty: Some(needed), .. }, _) if needed != ty => {
                let [needed, ty] = [needed, ty].map(|ty| self.checker.type_name(ty));
                Some((
                    format!("{what} must be a variable of type {needed}, but `{name}` is {ty}"),
                    format!("declare the parameter as `shared {ty}`"),
                ))
            }
            (ObjectKind::Shared { atomic: true, .. }, ObjectKind::Shared { atomic: false, .. }) => {
                Some((
                    format!("{what} must be an atomic variable, and `{name}` is not atomic"),
                    format!("declare it as `shared atomic {name}`"),
                ))
            }
            _ => {
                let open = decl.sizes.len().checked_sub(place.indices.len());
                (open != Some(wanted.sizes.len())).then(|| {
                    let shape = |dimensions| match dimensions {
                        0 => "one object",
                        1 => "an array",
                        _ => "an array of two dimensions",
                    };
                    let needed = shape(wanted.sizes.len());
                    let given = open.map_or("an element of what is no array", shape);
                    let indices = ["", "[i]", "[i][j]"];
                    let write = decl.sizes.len().checked_sub(wanted.sizes.len());
                    let help = match write {
                        Some(missing) => format!("write `{name}{}`", indices[missing.min(2)]),
                        None => {
                            format!("declare the parameter without `[]`, or `{name}` as an array")
                        }
                    };
                    (format!("{what} must be {needed}, and this is {given}"), help)
                })
            }
        };
        if let Some((message, help)) = problem {
            let error = Diagnostic::error(place.span, message);
            self.report(error.other(wanted.name.span, "declared here").help(help));
            return None;
        }
        let indices = indices?.into_iter().enumerate().map(|(dimension, index)| {
            let size = sizes.as_ref().and_then(|sizes| sizes.get(dimension)).copied();
            self.within(index, size)
        });
        Some((object, indices.collect()))
    }

    /// Returns an index that is checked where it is passed.
    fn within(&self, index: Expr, size: Option<u32>) -> Expr {
        let is_checked = match index.kind {
            ExprKind::Leaf(Leaf::Local(local)) => {
                self.locals[local.0].kind == LocalKind::ObjectIndex
            }
            ExprKind::Leaf(Leaf::Constant(value)) => {
                size.is_some_and(|size| u32::try_from(value).is_ok_and(|value| value < size))
            }
            _ => false,
        };
        // Without sizes it is the routine as it is written, which does not run.
        let Some(size) = size.filter(|_| !is_checked) else { return index };
        let span = index.span;
        let op = Op::Compute { target: (), value: Compute::Within { index, size } };
        Expr::of(op, Type::Int, span)
    }
}
