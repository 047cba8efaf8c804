//! Local arrays. Each element is a local variable of its own.

use super::body::{BodyChecker, LocalKind};
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::span::Span;
use crate::tree::resolved::{Array, Assignment as Set, Expr, Leaf, LocalId, StmtKind};
use crate::tree::written::{Expr as AstExpr, Ident, Initial, Place};

/// A local array has at most so many elements. Beyond: an error.
const MAX_SIZE: u32 = 256;

impl BodyChecker<'_, '_> {
    /// Returns the array that a local is.
    pub(super) fn array(&self, local: LocalId) -> Option<Array> {
        self.locals[local.0].size.map(|size| Array { first: local, size })
    }

    /// `let a[N] = 0;`
    pub(super) fn let_array(
        &mut self,
        name: &Ident,
        size: &AstExpr,
        ty: Option<Type>,
        initial: &Initial,
    ) -> Option<StmtKind> {
        let checked = self.array_size_of(name, size);
        let values = self.initial_values(name, checked, ty, initial);
        // Declared in any case, so that its uses are not unknown.
        let known = ty.or_else(|| values.as_ref()?.first().map(Expr::ty));
        let first = self.declare_local(name, known.unwrap_or(Type::Int), LocalKind::Variable);
        self.locals[first.0].broken = known.is_none() || checked.is_none();
        let (size, ty) = (checked?, known?);
        self.locals[first.0].size = Some(size);
        let array = Array { first, size };
        for (at, _) in array.elements().enumerate().skip(1) {
            self.add_element(&format!("{}[{at}]", name.text), name.span, ty);
        }
        Some(StmtKind::Set(Set::Array { array, values: values? }))
    }

    fn array_size_of(&mut self, name: &Ident, size: &AstExpr) -> Option<u32> {
        let checked = self.checker.size(size)?;
        if (1..=MAX_SIZE).contains(&checked) {
            return Some(checked);
        }
        let message = format!("local array `{}` has {checked} elements", name.text);
        let help = format!("it can have 1 to {MAX_SIZE}; a shared array can have more");
        self.report(Diagnostic::error(size.span, message).help(help));
        None
    }

    /// Returns one value for all elements, or one for each.
    fn initial_values(
        &mut self,
        name: &Ident,
        size: Option<u32>,
        ty: Option<Type>,
        initial: &Initial,
    ) -> Option<Vec<Expr>> {
        let what = format!("an element of `{}`", name.text);
        let (elements, span) = match initial {
            Initial::Value(value) => {
                let value = match ty {
                    Some(ty) => self.typed(value, ty, &what),
                    None => self.expr(value),
                };
                return value.map(|value| vec![value]);
            }
            Initial::Elements { elements, span } => (elements, *span),
            Initial::Entries { span, .. } => {
                let error = Diagnostic::error(*span, "a local array is not a map");
                self.report(error.help("write `[1, 2, 3]`, or one value for all: `= 0`"));
                return None;
            }
        };
        let mut ty = ty;
        let mut values = Vec::new();
        for element in elements {
            let value = match (element, ty) {
                (Initial::Value(value), Some(ty)) => self.typed(value, ty, &what),
                (Initial::Value(value), None) => self.expr(value),
                (Initial::Elements { span, .. } | Initial::Entries { span, .. }, _) => {
                    let message = "an element of a local array is one value";
                    self.report(Diagnostic::error(*span, message));
                    None
                }
            };
            ty = ty.or(value.as_ref().map(Expr::ty));
            values.extend(value);
        }
        if let Some(size) = size
            && elements.len() != size as usize
        {
            let message = format!("{} values for a local array of size {size}", elements.len());
            let help = format!("write {size} values, or one for all: `= 0`");
            self.report(Diagnostic::error(span, message).help(help));
            return None;
        }
        (values.len() == elements.len()).then_some(values)
    }

    /// `a[i]`, for reading it and for assigning to it.
    pub(super) fn local_element(
        &mut self,
        array: Array,
        place: &Place,
        mut indices: Vec<Expr>,
    ) -> Option<Expr> {
        let name = &place.name.text;
        let ty = self.locals[array.first.0].ty;
        if place.indices.len() != 1 {
            let declared = self.locals[array.first.0].span;
            let message = match place.indices.len() {
                0 => format!("`{name}` is a local array, and this does not say which element"),
                given => format!("`{name}` needs 1 index, not {given}"),
            };
            let help = match place.indices.len() {
                0 => format!("write `{name}[i]`; an array as a whole is not a value"),
                _ => format!("write `{name}[i]`"),
            };
            let error = Diagnostic::error(place.span, message).other(declared, "declared here");
            self.report(error.help(help));
            return None;
        }
        let index = indices.pop()?;
        if let Some(constant) = index.as_constant() {
            if let Some(local) = array.element(constant) {
                return Some(Expr::leaf(Leaf::Local(local), ty, place.span));
            }
            self.warn_outside_local(constant, array, name, index.span);
        }
        let index = Box::new(index);
        Some(Expr::leaf(Leaf::Element { array, index }, ty, place.span))
    }

    fn warn_outside_local(&mut self, index: i32, array: Array, name: &str, span: Span) {
        let size = array.size;
        let message = format!("index {index} is outside `{name}`, which has {size} elements");
        let warning = Diagnostic::warning(span, message);
        self.report(warning.help("the program fails if it gets here; indices count from 0"));
    }
}
