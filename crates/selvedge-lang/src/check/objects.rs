//! Shared objects and their initial values; how many threads there are.

use super::{Checker, MAX_THREADS};
use crate::diagnostic::Diagnostic;
use crate::ir::{GlobalKind, Type};
use crate::span::Span;
use crate::tree::resolved::Object;
use crate::tree::written::{Expr, Initial, ObjectDecl, ObjectKind};

impl<'c> Checker<'c> {
    /// Returns all shared objects. What cannot be computed was reported, and stands there as something.
    pub(super) fn objects(&mut self) -> Vec<Object> {
        (0..self.objects.len()).map(|i| self.object(i)).collect()
    }

    fn object(&mut self, i: usize) -> Object {
        let decl = self.objects[i].decl;
        // With unknown sizes the initial value is still checked, against one element.
        let known = self.objects[i].sizes.is_some();
        let sizes = self.objects[i].sizes.clone().unwrap_or_default();
        let filler = Filler { decl, sizes: known.then_some(&sizes) };
        let kind = match decl.kind {
            ObjectKind::Shared { atomic, ty } => {
                let (ty, initial) = self.variable(&filler, ty);
                self.objects[i].ty = ty;
                GlobalKind::Variable { ty, atomic, initial }
            }
            ObjectKind::Ghost { ty } => {
                let (ty, initial) = self.variable(&filler, ty);
                self.objects[i].ty = ty;
                GlobalKind::Ghost { ty, initial, kept: false }
            }
            ObjectKind::Mutex => self.without_initial(decl, GlobalKind::Mutex),
            ObjectKind::Rwlock => self.without_initial(decl, GlobalKind::RwLock),
            ObjectKind::Cond => self.without_initial(decl, GlobalKind::Cond),
            ObjectKind::Semaphore => GlobalKind::Semaphore { initial: self.semaphore(&filler) },
            ObjectKind::Barrier => GlobalKind::Barrier { parties: self.barrier(&filler) },
            ObjectKind::List => GlobalKind::List { initial: self.list(&filler) },
            ObjectKind::Map => GlobalKind::Map { initial: self.map(&filler) },
            ObjectKind::Channel(delivery) => {
                GlobalKind::Channel { capacity: self.capacity(&filler), delivery }
            }
        };
        let own_dims = match &decl.member {
            Some(member) => decl.sizes.len() - usize::from(member.index.is_some()),
            None => 0,
        };
        let own_dims = u32::try_from(own_dims).unwrap_or(0);
        Object { name: decl.name.text.clone(), sizes, own_dims, kind }
    }

    fn without_initial(&mut self, decl: &ObjectDecl, kind: GlobalKind) -> GlobalKind {
        if let Some(initial) = &decl.initial {
            let message = format!("{} has no initial value", decl.kind.describe());
            let error = Diagnostic::error(initial_span(initial), message);
            self.report(error.help("remove it, with the `=`"));
        }
        kind
    }

    fn variable(&mut self, filler: &Filler<'_>, annotated: Option<Type>) -> (Type, Vec<i32>) {
        let name = &filler.decl.name;
        let word = match filler.decl.kind {
            ObjectKind::Ghost { .. } => "ghost",
            _ => "shared",
        };
        if matches!(annotated, Some(Type::Thread | Type::Future(_))) {
            let message = format!("{word} variable `{}` cannot hold a thread handle", name.text);
            let help = "handles are kept in local variables: `let t = spawn p();`";
            self.report(Diagnostic::error(name.span, message).help(help));
            return (Type::Int, Vec::new());
        }
        let Some(initial) = &filler.decl.initial else {
            let value = if annotated == Some(Type::Bool) { "false" } else { "0" };
            let message = format!("{word} variable `{}` has no initial value", name.text);
            let help = format!("write `{word} {} = {value};`", name.text);
            self.report(Diagnostic::error(name.span.after(), message).help(help));
            return (annotated.unwrap_or(Type::Int), Vec::new());
        };
        let mut ty = annotated;
        let values = self.elements(filler, initial, &mut ty);
        (ty.unwrap_or(Type::Int), values)
    }

    /// Returns the values of all elements, row by row. `ty` is what they must be, or becomes what the
    /// first of them is.
    fn elements(
        &mut self,
        filler: &Filler<'_>,
        initial: &Initial,
        ty: &mut Option<Type>,
    ) -> Vec<i32> {
        match initial {
            Initial::Value(expr) => {
                let value = self.initial_value(expr, ty).unwrap_or(0);
                vec![value; filler.count()]
            }
            Initial::Elements { elements, span } => self.rows(filler, 0, elements, *span, ty),
            Initial::Entries { span, .. } => {
                let message = format!("{} cannot start as a map", filler.decl.kind.describe());
                let error = Diagnostic::error(*span, message);
                self.report(error.help("write `[1, 2, 3]`; for a map declare `map m = {1: 2};`"));
                Vec::new()
            }
        }
    }

    fn rows(
        &mut self,
        filler: &Filler<'_>,
        dimension: usize,
        elements: &[Initial],
        span: Span,
        ty: &mut Option<Type>,
    ) -> Vec<i32> {
        let Some(sizes) = filler.sizes else { return Vec::new() };
        let Some(&size) = sizes.get(dimension) else {
            let message = match sizes.len() {
                0 => format!("`{}` is not an array", filler.decl.name.text),
                _ => "an element is one value, not a list".to_owned(),
            };
            let help = format!("declare it as `{}[{}]`", filler.decl.name.text, elements.len());
            let help = sizes.is_empty().then_some(help);
            self.report(Diagnostic::error(span, message).maybe_help(help));
            return Vec::new();
        };
        if elements.len() != size as usize {
            let given = elements.len();
            let message = format!("{given} initial values for an array of size {size}");
            let help = format!("give {size} values, or one for all: `= 0`");
            self.report(Diagnostic::error(span, message).help(help));
        }
        let last = dimension + 1 == sizes.len();
        let mut values = Vec::new();
        for element in elements {
            match element {
                Initial::Value(expr) if last => {
                    values.push(self.initial_value(expr, ty).unwrap_or(0));
                }
                Initial::Elements { elements, span } => {
                    values.extend(self.rows(filler, dimension + 1, elements, *span, ty));
                }
                other => {
                    let error = Diagnostic::error(initial_span(other), "expected a row of values");
                    self.report(error.help("write `[[1, 2], [3, 4]]`"));
                }
            }
        }
        values
    }

    fn initial_value(&mut self, expr: &Expr, ty: &mut Option<Type>) -> Option<i32> {
        let value = self.constant(expr, *ty, "an initial value")?;
        *ty = Some(value.ty);
        Some(value.value)
    }

    fn semaphore(&mut self, filler: &Filler<'_>) -> Vec<i32> {
        let name = &filler.decl.name;
        let Some(initial) = &filler.decl.initial else {
            let message = format!("semaphore `{}` has no initial value", name.text);
            let help = format!("write `semaphore {} = 0;`", name.text);
            self.report(Diagnostic::error(name.span.after(), message).help(help));
            return Vec::new();
        };
        let values = self.elements(filler, initial, &mut Some(Type::Int));
        if values.iter().any(|&value| value < 0) {
            let message = format!("semaphore `{}` cannot start below 0", name.text);
            self.report(Diagnostic::error(initial_span(initial), message));
        }
        values
    }

    fn barrier(&mut self, filler: &Filler<'_>) -> Vec<u32> {
        let Some(Initial::Value(expr)) = &filler.decl.initial else { return Vec::new() };
        let what = "the number of parties";
        let Some(parties) = self.constant(expr, Some(Type::Int), what) else { return Vec::new() };
        match u32::try_from(parties.value) {
            Ok(parties) if parties >= 1 => vec![parties; filler.count()],
            _ => {
                let message = format!("a barrier needs at least 1 party, not {}", parties.value);
                self.report(Diagnostic::error(expr.span, message));
                Vec::new()
            }
        }
    }

    fn capacity(&mut self, filler: &Filler<'_>) -> Vec<u32> {
        let Some(Initial::Value(expr)) = &filler.decl.initial else { return Vec::new() };
        let what = "the capacity of a channel";
        let Some(capacity) = self.constant(expr, Some(Type::Int), what) else { return Vec::new() };
        match u32::try_from(capacity.value) {
            Ok(capacity) if capacity >= 1 => vec![capacity; filler.count()],
            _ => {
                let message = format!("a channel holds at least 1 value, not {}", capacity.value);
                let help = "a sender that waits for its receiver: a channel of 1, and another one for the answer";
                self.report(Diagnostic::error(expr.span, message).help(help));
                Vec::new()
            }
        }
    }

    fn list(&mut self, filler: &Filler<'_>) -> Vec<Vec<i32>> {
        let mut contents = Vec::new();
        match &filler.decl.initial {
            None => {}
            Some(Initial::Elements { elements, .. }) => {
                for element in elements {
                    match element {
                        Initial::Value(expr) => {
                            contents.extend(self.initial_value(expr, &mut Some(Type::Int)));
                        }
                        other => {
                            let message = "an element of a list is one number";
                            self.report(Diagnostic::error(initial_span(other), message));
                        }
                    }
                }
            }
            Some(other) => {
                let message = "a list starts as `[1, 2]`, or empty";
                self.report(Diagnostic::error(initial_span(other), message));
            }
        }
        self.copies(filler, contents)
    }

    fn map(&mut self, filler: &Filler<'_>) -> Vec<Vec<(i32, i32)>> {
        let mut contents = Vec::new();
        match &filler.decl.initial {
            None => {}
            Some(Initial::Entries { entries, .. }) => {
                for (key, value) in entries {
                    let key = self.initial_value(key, &mut Some(Type::Int));
                    let value = self.initial_value(value, &mut Some(Type::Int));
                    contents.extend(key.zip(value));
                }
            }
            Some(other) => {
                let message = "a map starts as `{1: 2}`, or empty";
                self.report(Diagnostic::error(initial_span(other), message));
            }
        }
        self.copies(filler, contents)
    }

    /// Returns the same contents for every element, within the limit on elements.
    fn copies<T: Clone>(&mut self, filler: &Filler<'_>, contents: Vec<T>) -> Vec<Vec<T>> {
        let count = filler.count();
        if contents.len().saturating_mul(count) > super::MAX_ELEMENTS {
            let message = "the initial contents have more than 1,000,000 elements";
            self.report(Diagnostic::error(filler.decl.name.span, message));
            return Vec::new();
        }
        vec![contents; count]
    }

    /// Computes the ranges of replicated threads.
    pub(super) fn thread_groups(&mut self) {
        let mut total = 0_usize;
        for i in 0..self.threads.len() {
            let decl = self.threads[i].decl;
            let (count, span) = match &decl.replicas {
                None => (1, decl.name.span),
                Some(range) => {
                    let what = "the range of a replicated thread";
                    let low = self.constant(&range.low, Some(Type::Int), what);
                    let high = self.constant(&range.high, Some(Type::Int), what);
                    let Some((low, high)) = low.zip(high) else { continue };
                    let count = (i64::from(high.value) - i64::from(low.value)).max(0);
                    let count = u32::try_from(count).unwrap_or(u32::MAX);
                    self.threads[i].replicas = Some((low.value, count));
                    (count as usize, range.low.span.to(range.high.span))
                }
            };
            total = total.saturating_add(count);
            if total > MAX_THREADS {
                let message = format!("too many threads: {total}");
                let help = "at most 4,096 threads can start at the beginning";
                self.report(Diagnostic::error(span, message).help(help));
                return;
            }
        }
    }
}

/// A declaration, and the sizes of its dimensions if they are known.
struct Filler<'f> {
    decl: &'f ObjectDecl,
    sizes: Option<&'f Vec<u32>>,
}

impl Filler<'_> {
    fn count(&self) -> usize {
        self.sizes.map_or(0, |sizes| sizes.iter().map(|&size| size as usize).product())
    }
}

fn initial_span(initial: &Initial) -> Span {
    match initial {
        Initial::Value(expr) => expr.span,
        Initial::Elements { span, .. } | Initial::Entries { span, .. } => *span,
    }
}

/// Returns what to say about a value of the wrong type.
impl Checker<'_> {
    /// Returns what to say about a value of another type than the wanted one.
    pub(super) fn mismatch(&self, span: Span, wanted: Type, found: Type, what: &str) -> Diagnostic {
        let [expected, given] = [wanted, found].map(|ty| self.type_name(ty));
        let message = format!("{what} must be {expected}, but this is {given}");
        let help = match (wanted, found) {
            (Type::Bool, Type::Int) => Some("compare it, say with `!= 0`".to_owned()),
            (Type::Int, Type::Bool) => Some("write `if b { 1 } else { 0 }`".to_owned()),
            (Type::Int, Type::Enum(_)) => Some("`int(v)` is its number, from 0 on".to_owned()),
            (Type::Enum(id), _) => {
                let members = self.enums[id.index()].members.iter().take(8);
                let members: Vec<_> = members.map(|member| format!("`{member}`")).collect();
                Some(format!("its values are {}", members.join(", ")))
            }
            (Type::Thread, _) => Some("`spawn p()` gives a thread handle".to_owned()),
            (Type::Future(_), _) => Some("`post account.deposit(5)` is a future".to_owned()),
            _ => None,
        };
        Diagnostic::error(span, message).maybe_help(help)
    }
}
