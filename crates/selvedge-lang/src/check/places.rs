//! Names and elements: what `x`, `a[i]` and `worker[2]` stand for.

use selvedge_core::Order;

use super::Meaning;
use super::body::{BodyChecker, Region};
use super::effects::Effect;
use super::names::MOST_HINTS;
use crate::diagnostic::{Diagnostic, nearest};
use crate::ir::{GlobalId, TableId, Type};
use crate::lexer::KEYWORDS;
use crate::ops::{Compute, Container, LockMode, Op, Query, Variable};
use crate::span::Span;
use crate::tree::resolved::{Element, Expr, Leaf};
use crate::tree::written::{
    Expr as AstExpr, ExprKind as Ast, Ident, Leaf as AstLeaf, ObjectKind, Place,
};

/// What kind of object an operation needs.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// One of this kind; a variable of any type.
    One(ObjectKind),
    ListOrMap,
    /// What has a length that changes.
    Sized,
}

impl Wanted {
    pub(super) const VARIABLE: Wanted = Wanted::One(ObjectKind::Shared { atomic: false, ty: None });

    /// Returns what is locked in this way.
    pub(super) fn lock(mode: LockMode) -> Self {
        Wanted::One(match mode {
            LockMode::Mutex => ObjectKind::Mutex,
            LockMode::Read | LockMode::Write => ObjectKind::Rwlock,
        })
    }

    fn accepts(self, kind: ObjectKind) -> bool {
        match self {
            Wanted::One(wanted) => std::mem::discriminant(&wanted) == std::mem::discriminant(&kind),
            Wanted::ListOrMap => matches!(kind, ObjectKind::List | ObjectKind::Map),
            Wanted::Sized => {
                matches!(kind, ObjectKind::List | ObjectKind::Map | ObjectKind::Channel(_))
            }
        }
    }

    pub(super) fn describe(self) -> &'static str {
        match self {
            Wanted::One(kind) => kind.describe(),
            Wanted::ListOrMap => "a list or a map",
            Wanted::Sized => "a list, a map or a channel",
        }
    }

    fn declaration(self, name: &str) -> String {
        let Wanted::One(kind) = self else { return format!("list {name};") };
        match kind {
            ObjectKind::Shared { .. } => format!("shared {name} = 0;"),
            ObjectKind::Ghost { .. } => format!("ghost {name} = 0;"),
            ObjectKind::Mutex => format!("mutex {name};"),
            ObjectKind::Rwlock => format!("rwlock {name};"),
            ObjectKind::Cond => format!("cond {name};"),
            ObjectKind::Semaphore => format!("semaphore {name} = 0;"),
            ObjectKind::Barrier => format!("barrier {name}(2);"),
            ObjectKind::List => format!("list {name};"),
            ObjectKind::Map => format!("map {name};"),
            ObjectKind::Channel(_) => format!("channel {name}(1);"),
        }
    }
}

impl BodyChecker<'_, '_> {
    /// Returns the value of `x`, `a[i]`, `q[i]`, `N`, or a thread.
    pub(super) fn place_value(&mut self, place: &Place) -> Option<Expr> {
        let place = &*self.checker.actual(place);
        if let Some(local) = self.local(&place.name.text) {
            let indices = self.indices(place);
            let info = &mut self.locals[local.0];
            info.used = true;
            let (ty, broken) = (info.ty, info.broken);
            if broken {
                return None;
            }
            if let Some(array) = self.array(local) {
                return self.local_element(array, place, indices?);
            }
            if !place.indices.is_empty() {
                self.report_not_array(place, "a local variable");
                return None;
            }
            indices?;
            return Some(Expr::leaf(Leaf::Local(local), ty, place.span));
        }
        let Some(entry) = self.checker.entry(&place.name.text) else {
            self.indices(place);
            self.report_unknown(&place.name);
            return None;
        };
        match entry.meaning {
            Meaning::Constant(i) => {
                if !place.indices.is_empty() {
                    self.indices(place);
                    self.report_not_array(place, "a constant");
                    return None;
                }
                let value = self.checker.constants[i].value?;
                Some(Expr::constant(value.value, value.ty, place.span))
            }
            Meaning::Table(i) => self.table_value(i, place),
            Meaning::Member(value) => {
                if !place.indices.is_empty() {
                    self.indices(place);
                    self.report_not_array(place, "a value of an enumeration");
                    return None;
                }
                Some(Expr::constant(value.value, value.ty, place.span))
            }
            Meaning::Object(i) => self.object_value(i, place),
            Meaning::Thread(i) => self.thread_handle(i, place),
            Meaning::Enum
            | Meaning::Record
            | Meaning::Actor(_)
            | Meaning::Routine(_)
            | Meaning::Section(_) => {
                let what = self.checker.describe(entry.meaning);
                let name = &place.name.text;
                let error =
                    Diagnostic::error(place.span, format!("`{name}` is {what}, not a value"));
                let help = match entry.meaning {
                    Meaning::Routine(_) => Some(format!("call it: `{name}(…)`")),
                    Meaning::Actor(_) => Some(format!("post a task: `post {name}.run()`")),
                    _ => None,
                };
                self.report(error.maybe_help(help));
                None
            }
        }
    }

    /// Returns an element of a constant array.
    fn table_value(&mut self, i: usize, place: &Place) -> Option<Expr> {
        let indices = self.indices(place);
        let name = &place.name.text;
        if place.indices.len() != 1 {
            let message =
                format!("`{name}` is a constant array, and this does not say which element");
            let error = Diagnostic::error(place.span, message).help(format!("write `{name}[i]`"));
            self.report(error);
            return None;
        }
        let index = indices?.pop()?;
        let table = self.checker.tables[i].table.as_ref()?;
        let ty = table.ty;
        if let Some(constant) = index.as_constant() {
            let element = usize::try_from(constant).ok().and_then(|at| table.values.get(at));
            if let Some(&value) = element {
                return Some(Expr::constant(value, ty, place.span));
            }
            let size = table.values.len();
            let message =
                format!("index {constant} is outside `{name}`, which has {size} elements");
            if self.region == Region::Constant {
                self.report(Diagnostic::error(index.span, message).help("indices count from 0"));
                return None;
            }
            let warning = Diagnostic::warning(index.span, message);
            self.report(warning.help("the program fails if it gets here; indices count from 0"));
        }
        // Those with errors are left out of the program, and then there is no program.
        let value = Compute::Lookup { table: TableId::new(i), index };
        Some(Expr::of(Op::Compute { target: (), value }, ty, place.span))
    }

    fn object_value(&mut self, i: usize, place: &Place) -> Option<Expr> {
        self.checker.objects[i].used = true;
        let decl = self.checker.objects[i].decl;
        let dimensions = decl.sizes.len();
        match decl.kind {
            ObjectKind::Shared { .. } => {
                let element = self.element_of(i, place, dimensions)?;
                let what = format!("a read of `{}`", place.name.text);
                self.effect(Effect::Read, &what, place.span);
                let ty = self.checker.objects[i].ty;
                if decl.kind.is_atomic() {
                    self.note_awaited(Order::SeqCst);
                }
                let read = Variable::Read { target: (), variable: element, order: None };
                Some(Expr::of(read, ty, place.span))
            }
            ObjectKind::Ghost { .. } => self.ghost_value(i, place),
            ObjectKind::List | ObjectKind::Map if place.indices.len() == dimensions + 1 => {
                let (container, key) = self.entry_of(i, place)?;
                let what = format!("a read of `{}`", place.name.text);
                self.effect(Effect::Read, &what, place.span);
                let query = match decl.kind {
                    ObjectKind::List => Query::Element(key),
                    _ => Query::Get(key),
                };
                let ask = Container::Ask { target: (), container, query };
                Some(Expr::of(ask, Type::Int, place.span))
            }
            kind => {
                self.indices(place);
                let name = &place.name.text;
                let message = format!("`{name}` is {}, not a value", kind.describe());
                let help = match kind {
                    ObjectKind::List => Some(format!("`{name}[i]` and `len({name})` are values")),
                    ObjectKind::Map => Some(format!("`{name}[k]` and `has({name}, k)` are values")),
                    ObjectKind::Mutex => Some(format!("`try_lock({name})` is a value")),
                    ObjectKind::Semaphore => Some(format!("`try_down({name})` is a value")),
                    ObjectKind::Channel(_) => {
                        Some(format!("`receive({name})` and `len({name})` are values"))
                    }
                    _ => None,
                };
                self.report(Diagnostic::error(place.span, message).maybe_help(help));
                None
            }
        }
    }

    /// `q[i]`, `table[k]`: the container and the index or key.
    pub(super) fn entry_of(&mut self, i: usize, place: &Place) -> Option<(Element, Expr)> {
        let dimensions = self.checker.objects[i].decl.sizes.len();
        let element = self.element_of(i, place, dimensions);
        let key = place.indices.get(dimensions)?;
        let key = self.typed(key, Type::Int, "an index");
        element.zip(key)
    }

    fn thread_handle(&mut self, i: usize, place: &Place) -> Option<Expr> {
        let indices = self.indices(place);
        let name = &place.name.text;
        let info = &self.checker.threads[i];
        let problem = match (&info.decl.replicas, place.indices.len()) {
            (Some(_), 1) if matches!(info.replicas, Some((_, 0))) => Some((
                format!("there is no thread `{name}`: its range is empty"),
                "let the range have at least one element".to_owned(),
            )),
            (None, 0) | (Some(_), 1) => None,
            (None, _) => Some((format!("`{name}` is one thread"), format!("write `{name}`"))),
            (Some(_), _) => {
                Some((format!("`{name}` is several threads"), format!("write `{name}[i]`")))
            }
        };
        if let Some((message, help)) = problem {
            self.report(Diagnostic::error(place.span, message).help(help));
            return None;
        }
        if self.region == Region::Constant {
            self.report(Diagnostic::error(place.span, "a thread is not constant"));
            return None;
        }
        let index = indices?.pop().map(Box::new);
        Some(Expr::leaf(Leaf::Thread { group: i, index }, Type::Thread, place.span))
    }

    /// Returns an argument that names an object, such as `m` in `try_lock(m)`. `user` is what needs it.
    pub(super) fn object_argument(
        &mut self,
        expr: &AstExpr,
        wanted: Wanted,
        user: &str,
    ) -> Option<(usize, Element)> {
        match &expr.kind {
            Ast::Leaf(AstLeaf::Place(place)) => self.object(place, wanted, user),
            Ast::Leaf(AstLeaf::Paren(inner)) => self.object_argument(inner, wanted, user),
            _ => {
                let message = format!("{user} needs {}, and this is a value", wanted.describe());
                self.report(Diagnostic::error(expr.span, message));
                None
            }
        }
    }

    /// Returns the object that `user` works on: its number in the table, and which element.
    pub(super) fn object(
        &mut self,
        place: &Place,
        wanted: Wanted,
        user: &str,
    ) -> Option<(usize, Element)> {
        let place = &*self.checker.actual(place);
        let i = self.object_named(place, wanted, user, "needs")?;
        let dimensions = self.checker.objects[i].decl.sizes.len();
        if place.indices.len() > dimensions {
            self.indices(place);
            self.report_dimensions(i, place);
            return None;
        }
        Some((i, self.element_of(i, place, dimensions)?))
    }

    /// Returns the number of an object in the table. If it is not what is wanted, `user` and `verb` begin what is said.
    pub(super) fn object_named(
        &mut self,
        place: &Place,
        wanted: Wanted,
        user: &str,
        verb: &str,
    ) -> Option<usize> {
        let name = &place.name.text;
        let entry = self.checker.entry(name);
        let meaning = match (self.local(name), entry) {
            (Some(local), _) if self.array(local).is_some() => Err("a local array"),
            (Some(_), _) => Err("a local variable"),
            (None, Some(entry)) => match entry.meaning {
                Meaning::Object(i) if wanted.accepts(self.checker.objects[i].decl.kind) => Ok(i),
                meaning => Err(self.checker.describe(meaning)),
            },
            (None, None) => {
                self.indices(place);
                self.report_unknown_object(&place.name, wanted);
                return None;
            }
        };
        match meaning {
            Ok(i) => {
                self.checker.objects[i].used = true;
                Some(i)
            }
            Err(what) => {
                self.indices(place);
                let needed = wanted.describe();
                let message = format!("{user} {verb} {needed}, but `{name}` is {what}");
                let error = Diagnostic::error(place.span, message);
                let array = self.local(name).and_then(|local| self.array(local));
                let help = match array {
                    Some(_) => Some(format!(
                        "`{name}[i]` and `len({name})` are values: write `for i in 0..len({name}) {{ … }}`"
                    )),
                    None if verb == "must be" => None,
                    None => entry.and_then(|entry| self.lock_help(entry.meaning, wanted, name)),
                };
                self.report(error.maybe_help(help));
                None
            }
        }
    }

    fn lock_help(&self, meaning: Meaning, wanted: Wanted, name: &str) -> Option<String> {
        let Meaning::Object(i) = meaning else { return None };
        match (self.checker.objects[i].decl.kind, wanted) {
            (ObjectKind::Rwlock, Wanted::One(ObjectKind::Mutex)) => {
                Some(format!("write `read_lock {name}` or `write_lock {name}`"))
            }
            (ObjectKind::Mutex, Wanted::One(ObjectKind::Rwlock)) => {
                Some(format!("write `lock {name}`"))
            }
            _ => None,
        }
    }

    /// Returns which element of object `i`: the first `dimensions` indices of `place`.
    pub(super) fn element_of(
        &mut self,
        i: usize,
        place: &Place,
        dimensions: usize,
    ) -> Option<Element> {
        self.check_owner(i, place);
        let container =
            matches!(self.checker.objects[i].decl.kind, ObjectKind::List | ObjectKind::Map);
        let too_many = place.indices.len() > dimensions && !container;
        if place.indices.len() < dimensions || too_many {
            self.indices(place);
            self.report_dimensions(i, place);
            return None;
        }
        let indices: Option<Vec<Expr>> =
            place.indices[..dimensions].iter().map(|index| self.index(index)).collect();
        let indices = indices?;
        self.warn_outside(i, &indices);
        Some(Element { object: GlobalId::new(i), indices, span: place.span })
    }

    fn index(&mut self, index: &AstExpr) -> Option<Expr> {
        self.typed(index, Type::Int, "an index")
    }

    /// Checks the indices of something that does not have them, or not so many.
    pub(super) fn indices(&mut self, place: &Place) -> Option<Vec<Expr>> {
        let indices: Vec<_> = place.indices.iter().map(|index| self.index(index)).collect();
        indices.into_iter().collect()
    }

    fn warn_outside(&mut self, i: usize, indices: &[Expr]) {
        let Some(sizes) = self.checker.objects[i].sizes.clone() else { return };
        let name = &self.checker.objects[i].decl.name.text;
        for (index, size) in indices.iter().zip(sizes) {
            if let Some(value) = index.as_constant()
                && u32::try_from(value).map_or(true, |value| value >= size)
            {
                let message =
                    format!("index {value} is outside `{name}`, which has {size} elements");
                let warning = Diagnostic::warning(index.span, message);
                self.report(
                    warning.help("the program fails if it gets here; indices count from 0"),
                );
                return;
            }
        }
    }

    fn report_dimensions(&mut self, i: usize, place: &Place) {
        let decl = self.checker.objects[i].decl;
        let name = &decl.name.text;
        let error = match decl.sizes.len() {
            0 => {
                self.report_not_array(place, decl.kind.describe());
                return;
            }
            1 if place.indices.is_empty() => {
                let message = format!("`{name}` is an array, and this does not say which element");
                Diagnostic::error(place.span, message).help(format!("write `{name}[i]`"))
            }
            dimensions => {
                let given = place.indices.len();
                let message = format!("`{name}` needs {dimensions} indices, not {given}");
                let help = if dimensions == 1 { "[i]" } else { "[i][j]" };
                Diagnostic::error(place.span, message).help(format!("write `{name}{help}`"))
            }
        };
        self.report(error.other(decl.name.span, "declared here"));
    }

    pub(super) fn report_not_array(&mut self, place: &Place, what: &str) {
        let name = &place.name.text;
        let message = format!("`{name}` is {what}, not an array");
        self.report(Diagnostic::error(place.span, message).help(format!("write `{name}`")));
    }

    fn report_unknown(&mut self, name: &Ident) {
        let prefix = format!("{}.", name.text);
        let fields = self.checker.names.range(prefix.clone()..);
        let fields = fields.take_while(|(other, _)| other.starts_with(&prefix)).take(6);
        let fields: Vec<String> = fields.map(|(other, _)| format!("`{other}`")).collect();
        if !fields.is_empty() {
            let message = format!("`{}` is a record, and this does not say which field", name.text);
            let help = format!("it has {}", fields.join(", "));
            self.report(Diagnostic::error(name.span, message).help(help));
            return;
        }
        let values = |meaning| !matches!(meaning, Meaning::Routine(_) | Meaning::Section(_));
        let global = self.checker.near_global(&name.text, values).map(str::to_owned);
        let few = self.checker.reported.len() < MOST_HINTS;
        let locals = self.visible_locals().map(|(name, _)| name).filter(|_| few);
        let near = nearest(&name.text, locals.chain(global.as_deref()));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if self.region == Region::Constant => {
                format!("declare it: `const {} = 0;`", name.text)
            }
            None => format!("declare it: `shared {} = 0;`", name.text),
        };
        let what = if self.region == Region::Constant { "constant" } else { "variable" };
        self.report_unknown_as(name, what, help);
    }

    fn report_unknown_object(&mut self, name: &Ident, wanted: Wanted) {
        let objects = &self.checker.objects;
        let fits =
            |meaning| matches!(meaning, Meaning::Object(i) if wanted.accepts(objects[i].decl.kind));
        let help = match self.checker.near_global(&name.text, fits) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it: `{}`", wanted.declaration(&name.text)),
        };
        let what = wanted.describe();
        let what = what.strip_prefix("a ").unwrap_or(what);
        self.report_unknown_as(name, what, help);
    }

    /// Reports an unknown name, once in the file.
    pub(super) fn report_unknown_as(&mut self, name: &Ident, what: &str, help: String) {
        if self.checker.reported.insert(name.text.clone()) {
            let message = format!("unknown {what} `{}`", name.text);
            self.report(Diagnostic::error(name.span, message).help(help));
        }
    }

    pub(super) fn report_type(&mut self, span: Span, message: &str, found: Type) {
        let message = format!("{message}, not {}", self.checker.type_name(found));
        self.report(Diagnostic::error(span, message));
    }
}

/// Returns a keyword that a name was probably meant to be.
pub(super) fn near_keyword(name: &str) -> Option<&'static str> {
    // Short names are near to some keyword by chance.
    nearest(name, KEYWORDS.iter().copied().filter(|_| name.len() > 3))
}
