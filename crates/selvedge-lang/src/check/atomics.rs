//! Atomic operations with memory orderings, and fences.
//!
//! An ordering is the last argument of an operation, a word that means something only there: `load(x, acquire)`. Without
//! one it is `seq_cst`, as for `x` and `x = v`.

use selvedge_core::Order;

use super::body::{BodyChecker, Region};
use super::builtins::statement;
use super::effects::Effect;
use super::expressions::arguments;
use super::places::Wanted;
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::ops::{Choice, Variable, order_word};
use crate::span::Span;
use crate::tree::resolved::{Element, Expr, StmtKind};
use crate::tree::written::{Expr as AstExpr, ExprKind as Ast, Leaf};

/// What an operation does with memory: decides which orderings it can have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Load,
    Store,
    ReadModifyWrite,
    /// A compare-exchange that fails.
    Fail,
    Fence,
}

impl Does {
    /// Returns the orderings that it can have.
    fn orders(self) -> &'static [Order] {
        match self {
            Does::Load | Does::Fail => &[Order::Relaxed, Order::Acquire, Order::SeqCst],
            Does::Store => &[Order::Relaxed, Order::Release, Order::SeqCst],
            Does::ReadModifyWrite => {
                &[Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst]
            }
            Does::Fence => &[Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst],
        }
    }

    /// Returns why it cannot have another one.
    fn why(self) -> &'static str {
        match self {
            Does::Load => "a load writes nothing that it could release",
            Does::Fail => "a compare-exchange that fails only loads",
            Does::Store => "a store reads nothing that it could acquire",
            Does::ReadModifyWrite => "it loads and stores",
            Does::Fence => "such a fence orders nothing",
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Does::Load => "`load`",
            Does::Store => "`store`",
            Does::ReadModifyWrite => "a read-modify-write",
            Does::Fail => "the failure of `compare_exchange`",
            Does::Fence => "`fence`",
        }
    }
}

/// How other languages and libraries write the orderings.
fn named(word: &str) -> Option<(Order, bool)> {
    Some(match word {
        "relaxed" => (Order::Relaxed, true),
        "acquire" => (Order::Acquire, true),
        "release" => (Order::Release, true),
        "acq_rel" => (Order::AcqRel, true),
        "seq_cst" => (Order::SeqCst, true),
        "Relaxed" | "memory_order_relaxed" | "rlx" => (Order::Relaxed, false),
        "Acquire" | "memory_order_acquire" | "acq" | "consume" => (Order::Acquire, false),
        "Release" | "memory_order_release" | "rel" => (Order::Release, false),
        "AcqRel" | "memory_order_acq_rel" | "acqrel" => (Order::AcqRel, false),
        "SeqCst" | "memory_order_seq_cst" | "seqcst" | "sc" => (Order::SeqCst, false),
        _ => return None,
    })
}

fn listed(orders: &[Order]) -> String {
    let words: Vec<_> = orders.iter().map(|&order| format!("`{}`", order_word(order))).collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

impl BodyChecker<'_, '_> {
    /// The ordering that an argument names.
    fn ordering(&mut self, arg: &AstExpr, does: Does) -> Option<Order> {
        let allowed = does.orders();
        let word = match &arg.kind {
            Ast::Leaf(Leaf::Place(place)) if place.indices.is_empty() => Some(&place.name.text),
            _ => None,
        };
        let Some((order, is_ours)) = word.and_then(|word| named(word)) else {
            let message = format!("{} needs a memory ordering here", does.describe());
            self.report(
                Diagnostic::error(arg.span, message)
                    .help(format!("one of {}; without it: `seq_cst`", listed(allowed))),
            );
            return None;
        };
        if !is_ours {
            let message = "memory orderings have other names here".to_owned();
            let help = format!("write `{}`", order_word(order));
            self.report(Diagnostic::error(arg.span, message).help(help));
            return None;
        }
        if !allowed.contains(&order) {
            let message = format!("{} cannot be `{}`", does.describe(), order_word(order));
            let help = format!("{}: it can be {}", does.why(), listed(allowed));
            self.report(Diagnostic::error(arg.span, message).help(help));
            return None;
        }
        let place = match self.region {
            // Where a fence may not stand was said already.
            _ if does == Does::Fence => return Some(order),
            Region::Thread | Region::Await | Region::Guard | Region::Constant => {
                return Some(order);
            }
            Region::Ghost => "in the update of a ghost",
            Region::Atomic => "inside `atomic`",
            Region::Task => "in a task",
            Region::Look => "in `finally`",
            Region::Always => "in `always`",
            Region::Promise => "in `eventually` and `leads_to`",
            Region::Condition => "in an independence constraint",
        };
        let message = format!("a memory ordering has no meaning {place}");
        let help = "everything there is one step, which no other thread sees half-way: leave the ordering out";
        self.report(Diagnostic::error(arg.span, message).help(help));
        None
    }

    /// An ordering as the last argument, if there is one. The outer `None` is an error.
    fn last_ordering(&mut self, arg: Option<&AstExpr>, does: Does) -> Option<Option<Order>> {
        match arg {
            None => Some(None),
            Some(arg) => self.ordering(arg, does).map(Some),
        }
    }

    /// Between `N` and `most` arguments.
    fn between<'a, const N: usize>(
        &mut self,
        most: usize,
        usage: &str,
        args: &'a [AstExpr],
        span: Span,
    ) -> Option<(&'a [AstExpr; N], &'a [AstExpr])> {
        match args.split_first_chunk() {
            Some(split) if args.len() <= most => Some(split),
            _ => {
                let name = usage.split('(').next().unwrap_or(usage);
                let needs = format!("{} to {}", N, arguments(most));
                let message = format!("`{name}` needs {needs}, not {}", args.len());
                self.report(Diagnostic::error(span, message).help(format!("write `{usage}`")));
                None
            }
        }
    }

    /// The variable that an operation works on. One with an ordering must be atomic.
    fn atomic_argument(
        &mut self,
        arg: &AstExpr,
        user: &str,
        needs_atomic: bool,
    ) -> Option<(usize, Element)> {
        let (i, element) = self.object_argument(arg, Wanted::VARIABLE, user)?;
        let decl = self.checker.objects[i].decl;
        if needs_atomic && !decl.kind.is_atomic() {
            let name = &decl.name.text;
            let message = format!("`{name}` is not atomic, so an access to it has no ordering");
            let error = Diagnostic::error(arg.span, message).other(decl.name.span, "declared here");
            self.report(error.help(format!("declare it `shared atomic {name}`")));
            return None;
        }
        Some((i, element))
    }

    fn type_of(&self, variable: &Option<(usize, Element)>) -> Type {
        variable.as_ref().map_or(Type::Int, |(i, _)| self.checker.objects[*i].ty)
    }

    pub(super) fn load(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let ([x], order) = self.between(2, "load(x, acquire)", args, span)?;
        let variable = self.atomic_argument(x, "`load`", true);
        self.effect(Effect::Read, "`load`", span);
        let order = self.last_ordering(order.first(), Does::Load)?;
        let ty = self.type_of(&variable);
        let order = order.unwrap_or(Order::SeqCst);
        self.note_awaited(order);
        let (_, variable) = variable?;
        Some(Expr::of(Variable::Read { variable, order: Some(order), target: () }, ty, span))
    }

    pub(super) fn store(&mut self, args: &[AstExpr], span: Span) -> Option<StmtKind> {
        let ([x, value], order) = self.between(3, "store(x, v, release)", args, span)?;
        let variable = self.atomic_argument(x, "`store`", true);
        self.effect(Effect::Write, "`store`", span);
        let ty = self.type_of(&variable);
        let value = self.typed(value, ty, "the new value");
        let order = self.last_ordering(order.first(), Does::Store)?;
        let order = order.or(Some(Order::SeqCst));
        Some(statement(Variable::Write { variable: variable?.1, value: value?, order }))
    }

    pub(super) fn fence(&mut self, args: &[AstExpr], span: Span) -> Option<StmtKind> {
        let [order] = self.exactly("fence(seq_cst)", args, span)?;
        self.effect(Effect::Wait, "`fence`", span);
        let order = self.ordering(order, Does::Fence)?;
        Some(statement(Choice::Fence { order }))
    }

    pub(super) fn compare_exchange(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let usage = "compare_exchange(x, old, new)";
        let ([x, old, new], orders) = self.between(5, usage, args, span)?;
        let variable = self.atomic_argument(x, "`compare_exchange`", !orders.is_empty());
        self.effect(Effect::Write, "`compare_exchange`", span);
        let ty = self.type_of(&variable);
        let expected = self.typed(old, ty, "the expected value");
        let new = self.typed(new, ty, "the new value");
        let success = self.last_ordering(orders.first(), Does::ReadModifyWrite)?;
        let failure = self.last_ordering(orders.get(1), Does::Fail)?;
        let order = success.map(|success| [success, failure.unwrap_or(success.of_failure())]);
        let (_, variable) = variable?;
        let (expected, new) = (expected?, new?);
        let op = Variable::CompareExchange { variable, expected, new, order, target: () };
        Some(Expr::of(op, Type::Bool, span))
    }

    pub(super) fn exchange(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let ([x, new], order) = self.between(3, "exchange(x, new)", args, span)?;
        let variable = self.atomic_argument(x, "`exchange`", !order.is_empty());
        self.effect(Effect::Write, "`exchange`", span);
        let ty = self.type_of(&variable);
        let new = self.typed(new, ty, "the new value");
        let order = self.last_ordering(order.first(), Does::ReadModifyWrite)?;
        let (_, variable) = variable?;
        Some(Expr::of(Variable::Exchange { variable, new: new?, order, target: () }, ty, span))
    }

    pub(super) fn fetch_add(&mut self, args: &[AstExpr], span: Span) -> Option<Expr> {
        let ([x, delta], order) = self.between(3, "fetch_add(x, d)", args, span)?;
        let variable = self.atomic_argument(x, "`fetch_add`", !order.is_empty());
        self.effect(Effect::Write, "`fetch_add`", span);
        let delta = self.typed(delta, Type::Int, "what is added");
        let order = self.last_ordering(order.first(), Does::ReadModifyWrite)?;
        let (i, variable) = variable?;
        if self.checker.objects[i].ty != Type::Int {
            let ty = self.checker.objects[i].ty;
            self.report_type(x.span, "`fetch_add` works on int", ty);
            return None;
        }
        let op = Variable::FetchAdd { variable, delta: delta?, order, target: () };
        Some(Expr::of(op, Type::Int, span))
    }

    /// Notes that the condition of an `await` reads with this ordering.
    pub(super) fn note_awaited(&mut self, order: Order) {
        if self.region == Region::Await && !self.awaited.contains(&order) {
            self.awaited.push(order);
        }
    }

    /// The condition of an `await` is evaluated in one step, so it has one ordering.
    pub(super) fn check_awaited(&mut self, span: Span) {
        let awaited = std::mem::take(&mut self.awaited);
        if awaited.len() > 1 {
            let message = "the condition of `await` reads with different memory orderings";
            let help = "it is one step, and has one ordering: give every `load` the same one";
            self.report(Diagnostic::error(span, message).help(help));
        }
    }
}
