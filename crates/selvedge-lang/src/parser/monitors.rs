//! `monitor t(1, v);`: a message when a thread has ended.
//!
//! A thread of its own waits for the end, and then sends the message. It runs a routine that is made here, for each statement one,
//! so that its steps are on the line of the statement. No name in it can be written.

use super::expressions::{leaf, tallest};
use super::{Parsed, Parser};
use crate::ir::Type;
use crate::lexer::TokenKind;
use crate::ops::{Message, Thread};
use crate::span::Span;
use crate::tree::written::{
    Block, Expr, ExprKind, Ident, Leaf, Monitor, Param, ParamKind, Place, Routine, Stmt, StmtKind,
};

impl Parser<'_, '_> {
    pub(super) fn monitor_statement(&mut self) -> Parsed<StmtKind> {
        let word = self.bump();
        let name = self.ident("the thread whose end is told")?;
        let place = self.place(name)?;
        let (at, known) = (place.span, 1 + tallest(&place.indices));
        let thread = Expr { kind: ExprKind::Leaf(Leaf::Place(place)), known, span: at };
        self.expect(TokenKind::LeftParen, " and the message, as in `monitor worker(DOWN, 1);`")?;
        let values = self.comma_list(TokenKind::RightParen, Self::expression)?;
        let span = word.span.to(self.previous());
        self.check_message_length(values.len(), span);
        self.expect_semicolon(" after `monitor`");
        let known = 1 + tallest(&values).max(thread.known);
        let watcher = format!("monitor {}", self.watchers.len() + 1);
        self.watchers.push(routine(&watcher, values.len(), span));
        let kind = ExprKind::Leaf(Leaf::Monitor(Box::new(Monitor { thread, values, watcher })));
        self.limited(Expr { kind, known, span }).map(StmtKind::Expr)
    }
}

/// Returns the routine that watches a thread for another one, and sends this one so many values.
fn routine(name: &str, values: usize, span: Span) -> Routine {
    let ident = |text: &str| Ident { text: text.to_owned(), span };
    let value = |name: &str| {
        let place = Place { name: ident(name), record: None, indices: Vec::new(), span };
        leaf(Leaf::Place(place), span)
    };
    let message: Vec<String> = (1..=values).map(|nth| format!("value {nth}")).collect();
    let of = |name: &str, ty| Param { name: ident(name), kind: ParamKind::Value(ty) };
    let handles = [of("the thread", Type::Thread), of("who watches", Type::Thread)];
    let params = message.iter().map(|name| of(name, Type::Int));
    let join = Thread::Join { thread: value("the thread") };
    let send = Message::TrySend {
        to: value("who watches"),
        values: message.iter().map(|name| value(name)).collect(),
        target: (),
    };
    let send = Expr { kind: ExprKind::Op(Box::new(send.into())), known: 2, span };
    let statements = [StmtKind::Op(join.into()), StmtKind::Expr(send)];
    let statements = statements.map(|kind| Stmt { kind, span }).into();
    Routine {
        name: ident(name),
        params: handles.into_iter().chain(params).collect(),
        result: None,
        atomic: false,
        member: None,
        task: false,
        watches: true,
        body: Block { statements, span },
    }
}
