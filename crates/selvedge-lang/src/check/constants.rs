//! Constants and sizes of arrays, in the order of their dependence.
//!
//! A constant may use constants that stand below it, and `len(a)` of an array whose size in turn
//! uses constants. The order is found with an explicit stack: chains can be as long as the file.

use super::body::{BodyChecker, Region};
use super::{Checker, MAX_ELEMENTS, Meaning, Overrides};
use crate::diagnostic::{Diagnostic, nearest};
use crate::ir::{Table, Type};
use crate::ops::{Compute, Op};
use crate::span::Span;
use crate::tree::written::{Expr, ExprKind as Ast, Initial, Leaf, TableDecl};

/// A constant's type and value; booleans are 0 and 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Value {
    pub(crate) ty: Type,
    pub(crate) value: i32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// On the stack, and its needs are above it.
    Open,
    Done,
}

/// A constant or an object, whichever table it is in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Node {
    Constant(usize),
    Object(usize),
    Table(usize),
}

impl<'c> Checker<'c> {
    /// Computes all constants and all sizes.
    pub(super) fn evaluate_constants(&mut self, overrides: &Overrides) {
        self.check_overrides(overrides);
        let mut constants = vec![State::New; self.constants.len()];
        let mut objects = vec![State::New; self.objects.len()];
        let mut tables = vec![State::New; self.tables.len()];
        let roots = (0..constants.len()).map(Node::Constant);
        let roots = roots.chain((0..objects.len()).map(Node::Object));
        let roots = roots.chain((0..tables.len()).map(Node::Table));
        for root in roots.collect::<Vec<_>>() {
            let mut stack = vec![root];
            while let Some(&node) = stack.last() {
                let state = match node {
                    Node::Constant(i) => &mut constants[i],
                    Node::Object(i) => &mut objects[i],
                    Node::Table(i) => &mut tables[i],
                };
                match *state {
                    State::New => {
                        *state = State::Open;
                        for need in self.needs(node) {
                            let state = match need {
                                Node::Constant(i) => constants[i],
                                Node::Object(i) => objects[i],
                                Node::Table(i) => tables[i],
                            };
                            match state {
                                State::New => stack.push(need),
                                State::Open => self.report_cycle(need),
                                State::Done => {}
                            }
                        }
                    }
                    State::Open => {
                        *state = State::Done;
                        stack.pop();
                        self.evaluate(node, overrides);
                    }
                    State::Done => {
                        stack.pop();
                    }
                }
            }
        }
        self.limit_elements();
    }

    fn check_overrides(&mut self, overrides: &Overrides) {
        for (name, _) in overrides {
            if matches!(self.names.get(name).map(|entry| entry.meaning), Some(Meaning::Constant(_)))
            {
                continue;
            }
            let names = self.constants.iter().map(|constant| constant.decl.name.text.as_str());
            let help = match nearest(name, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.constants.is_empty() => "the program has no constants".to_owned(),
                None => {
                    let names: Vec<_> = names.take(8).map(|name| format!("`{name}`")).collect();
                    format!("the program has {}", names.join(", "))
                }
            };
            let message = match self.names.get(name) {
                Some(entry) => {
                    format!("`{name}` is {}, not a constant", self.describe(entry.meaning))
                }
                None => format!("the program has no constant `{name}`"),
            };
            self.report(Diagnostic::error_outside(message).help(help));
        }
    }

    /// Returns what must be known before `node` can be computed.
    fn needs(&self, node: Node) -> Vec<Node> {
        let mut needs = Vec::new();
        match node {
            Node::Constant(i) => self.collect_needs(&self.constants[i].decl.value, &mut needs),
            Node::Table(i) => {
                let decl = self.tables[i].decl;
                self.collect_needs(&decl.size, &mut needs);
                match &decl.initial {
                    Initial::Value(value) => self.collect_needs(value, &mut needs),
                    Initial::Elements { elements, .. } => {
                        for element in elements {
                            if let Initial::Value(value) = element {
                                self.collect_needs(value, &mut needs);
                            }
                        }
                    }
                    Initial::Entries { .. } => {}
                }
            }
            Node::Object(i) => {
                for size in &self.objects[i].decl.sizes {
                    self.collect_needs(size, &mut needs);
                }
            }
        }
        needs
    }

    fn collect_needs(&self, expr: &Expr, needs: &mut Vec<Node>) {
        match &expr.kind {
            Ast::Leaf(Leaf::Place(place)) => {
                let meaning = self.names.get(&place.name.text).map(|entry| entry.meaning);
                match meaning {
                    Some(Meaning::Constant(i)) => needs.push(Node::Constant(i)),
                    Some(Meaning::Object(i)) => needs.push(Node::Object(i)),
                    Some(Meaning::Table(i)) => needs.push(Node::Table(i)),
                    _ => {}
                }
                place.indices.iter().for_each(|index| self.collect_needs(index, needs));
            }
            Ast::Leaf(Leaf::Paren(inner)) => self.collect_needs(inner, needs),
            Ast::Leaf(Leaf::Call { args, .. }) => {
                args.iter().for_each(|arg| self.collect_needs(arg, needs));
            }
            Ast::And(left, right) | Ast::Or(left, right) => {
                self.collect_needs(left, needs);
                self.collect_needs(right, needs);
            }
            Ast::If { condition, then, otherwise } => {
                self.collect_needs(condition, needs);
                self.collect_needs(then, needs);
                self.collect_needs(otherwise, needs);
            }
            Ast::Op(op) => match &**op {
                Op::Compute { value: Compute::Unary(_, operand), .. } => {
                    self.collect_needs(operand, needs);
                }
                Op::Compute { value: Compute::Binary(_, left, right), .. } => {
                    self.collect_needs(left, needs);
                    self.collect_needs(right, needs);
                }
                // No other is constant: reported when it is evaluated.
                _ => {}
            },
            Ast::Leaf(
                Leaf::Int(_)
                | Leaf::Bool(_)
                | Leaf::Field { .. }
                | Leaf::Choose
                | Leaf::SelfHandle
                | Leaf::Post(_)
                | Leaf::Await(_)
                | Leaf::ActorIndex
                | Leaf::Monitor(_),
            ) => {}
        }
    }

    fn report_cycle(&mut self, node: Node) {
        let (name, what) = match node {
            Node::Constant(i) => (&self.constants[i].decl.name, "constant"),
            Node::Object(i) => (&self.objects[i].decl.name, "the size of"),
            Node::Table(i) => (&self.tables[i].decl.name, "constant array"),
        };
        let message = format!("{what} `{}` depends on itself", name.text);
        self.report(Diagnostic::error(name.span, message));
    }

    fn evaluate(&mut self, node: Node, overrides: &Overrides) {
        match node {
            Node::Constant(i) => {
                let decl = self.constants[i].decl;
                let value = self.constant(&decl.value, decl.ty, "the value of a constant");
                let given = overrides.iter().rev().find(|(name, _)| *name == decl.name.text);
                self.constants[i].value = match (value, given) {
                    (Some(value), Some((name, given))) => self.overridden(value, name, *given),
                    (value, _) => value,
                };
            }
            Node::Table(i) => self.tables[i].table = self.table(self.tables[i].decl),
            Node::Object(i) => {
                let decl = self.objects[i].decl;
                let sizes = decl.sizes.iter().map(|size| self.size(size)).collect();
                self.objects[i].sizes = sizes;
            }
        }
    }

    /// Returns the elements of a constant array.
    fn table(&mut self, decl: &TableDecl) -> Option<Table> {
        let size = self.size(&decl.size)? as usize;
        let mut ty = decl.ty;
        let name = &decl.name.text;
        if matches!(ty, Some(Type::Thread | Type::Future(_))) {
            let message = format!("constant array `{name}` cannot hold thread handles");
            self.report(Diagnostic::error(decl.name.span, message));
            return None;
        }
        let mut element = |checker: &mut Self, expr: &Expr| {
            let value = checker.constant(expr, ty, "an element of a constant array")?;
            ty = Some(value.ty);
            Some(value.value)
        };
        let values = match &decl.initial {
            Initial::Value(expr) => vec![element(self, expr)?; size],
            Initial::Elements { elements, span } => {
                if elements.len() != size {
                    let given = elements.len();
                    let message = format!("{given} values for a constant array of size {size}");
                    let help = format!("give {size} values, or one for all: `= 0`");
                    self.report(Diagnostic::error(*span, message).help(help));
                    return None;
                }
                let values: Vec<Option<i32>> = elements
                    .iter()
                    .map(|initial| match initial {
                        Initial::Value(expr) => element(self, expr),
                        Initial::Elements { span, .. } | Initial::Entries { span, .. } => {
                            let message = "an element of a constant array is one value";
                            self.report(Diagnostic::error(*span, message));
                            None
                        }
                    })
                    .collect();
                values.into_iter().collect::<Option<Vec<i32>>>()?
            }
            Initial::Entries { span, .. } => {
                let error = Diagnostic::error(*span, "a constant array is not a map");
                self.report(error.help("write `[1, 2, 3]`"));
                return None;
            }
        };
        Some(Table { name: name.clone(), ty: ty.unwrap_or(Type::Int), values })
    }

    fn overridden(&mut self, value: Value, name: &str, given: i64) -> Option<Value> {
        let range = match value.ty {
            Type::Bool => 0..=1,
            Type::Int | Type::Thread | Type::Future(_) => i64::from(i32::MIN)..=i64::from(i32::MAX),
            Type::Enum(id) => 0..=self.enums[id.index()].members.len() as i64 - 1,
        };
        match i32::try_from(given) {
            Ok(given) if range.contains(&i64::from(given)) => Some(Value { value: given, ..value }),
            _ => {
                let ty = self.type_name(value.ty);
                let message = format!("{given} is no value for constant `{name}` of type {ty}");
                let help = match value.ty {
                    Type::Bool => "it is `true` (1) or `false` (0)".to_owned(),
                    Type::Enum(id) => {
                        let members = self.enums[id.index()].members.iter().enumerate().take(8);
                        let members = members.map(|(i, member)| format!("{i} (`{member}`)"));
                        format!("it is {}", members.collect::<Vec<_>>().join(", "))
                    }
                    _ => "integers go from -2147483648 to 2147483647".to_owned(),
                };
                self.report(Diagnostic::error_outside(message).help(help));
                None
            }
        }
    }

    /// Returns the value of a constant expression, of type `wanted` if that is given.
    pub(super) fn constant(
        &mut self,
        expr: &Expr,
        wanted: Option<Type>,
        what: &str,
    ) -> Option<Value> {
        let mut body = BodyChecker::new(self, Region::Constant);
        let checked = match wanted {
            Some(ty) => body.typed(expr, ty, what),
            None => body.expr(expr),
        }?;
        // If it is not constant, its effect was reported.
        checked.as_constant().map(|value| Value { ty: checked.ty(), value })
    }

    pub(super) fn size(&mut self, expr: &Expr) -> Option<u32> {
        let value = self.constant(expr, Some(Type::Int), "the size of an array")?.value;
        match usize::try_from(value) {
            Ok(size) if size <= MAX_ELEMENTS => u32::try_from(size).ok(),
            Ok(_) => {
                self.too_many_elements(expr.span, &value.to_string());
                None
            }
            Err(_) => {
                let message = format!("the size of an array cannot be negative: it is {value}");
                self.report(Diagnostic::error(expr.span, message));
                None
            }
        }
    }

    fn too_many_elements(&mut self, span: Span, count: &str) {
        let message = format!("too many shared elements: {count}");
        let help = "a program has at most 1,000,000 of them, all arrays together";
        self.report(Diagnostic::error(span, message).help(help));
    }

    /// Forgets the sizes of arrays that are too many.
    fn limit_elements(&mut self) {
        let mut total = 0_usize;
        for i in 0..self.objects.len() {
            let Some(sizes) = &self.objects[i].sizes else { continue };
            let elements = sizes.iter().map(|&size| size as usize).product::<usize>();
            if total.saturating_add(elements) > MAX_ELEMENTS {
                let span = self.objects[i].decl.name.span;
                self.objects[i].sizes = None;
                self.too_many_elements(span, &(total.saturating_add(elements)).to_string());
            } else {
                total += elements;
            }
        }
    }
}
