//! Statements.

use super::expressions::{leaf, tallest};
use super::{Parsed, Parser, Reported, starts_item};
use crate::diagnostic::Diagnostic;
use crate::lexer::{TokenKind, string_value};
use crate::ops::{Alternative, BinaryOp, Choice, Lock, LockMode, Message, Op, Pattern, Thread};
use crate::span::Span;
use crate::tree::Written;
use crate::tree::written::{Assignment, Block, Expr, ExprKind, Ident, Leaf, Place, Stmt, StmtKind};

impl Parser<'_, '_> {
    /// Returns the next statement; on an error, `None`, and the parser stands at the one after it.
    pub(super) fn statement_or_skip(&mut self) -> Option<Stmt> {
        let before = self.at;
        match self.statement() {
            Ok(statement) => Some(statement),
            Err(Reported) => {
                self.skip_to_statement(before);
                None
            }
        }
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let start = self.token().span;
        let kind = self.statement_kind()?;
        Ok(Stmt { kind, span: start.to(self.previous()) })
    }

    fn statement_kind(&mut self) -> Parsed<StmtKind> {
        use TokenKind as T;
        match self.peek() {
            T::Let => self.let_statement(),
            T::If => self.if_statement(),
            T::While => self.while_statement(),
            T::Loop => {
                let condition = leaf(Leaf::Bool(true), self.bump().span);
                Ok(StmtKind::While { condition, body: self.block("after `loop`")? })
            }
            T::For if self.is_each() => self.for_each_statement(),
            T::For => self.for_statement(),
            T::Return => self.return_statement(),
            T::Assert => self.assert_statement(),
            T::Break => self.keyword_alone(StmtKind::Break),
            T::Continue => self.keyword_alone(StmtKind::Continue),
            T::Skip => self.keyword_alone(StmtKind::Skip),
            T::Yield => self.keyword_alone(StmtKind::Op(Choice::Yield.into())),
            T::Assume => self.keyword_and_expression(|condition| Op::Assume { condition }),
            T::Await if self.scans() => self.scan_statement(),
            T::Await => self.keyword_and_expression(|condition| Op::Await { condition }),
            T::Join => self.keyword_and_expression(|thread| Thread::Join { thread }.into()),
            T::Lock => self.lock_statement(LockMode::Mutex),
            T::ReadLock => self.lock_statement(LockMode::Read),
            T::WriteLock => self.lock_statement(LockMode::Write),
            T::Unlock => self.unlock_statement(LockMode::Mutex),
            T::ReadUnlock => self.unlock_statement(LockMode::Read),
            T::WriteUnlock => self.unlock_statement(LockMode::Write),
            T::Send => self.send_statement(),
            T::Receive if self.receives_as_value() => self.expression_statement(),
            T::Receive => self.receive_statement(),
            T::Atomic => self.atomic_statement(),
            T::LeftBrace => Ok(StmtKind::Block(self.block("")?)),
            T::Semicolon => {
                self.bump();
                Ok(StmtKind::Skip)
            }
            T::Else => Err(self.stray_else()),
            kind if starts_item(kind) => Err(self.item_inside()),
            // Words that are keywords only here, so that older programs may have them as names.
            T::Name if self.is_word("progress") && self.peek_second() == T::Semicolon => {
                self.keyword_alone(StmtKind::Op(Op::Progress))
            }
            T::Name if self.is_word("monitor") && self.peek_second() == T::Name => {
                self.monitor_statement()
            }
            T::Name if self.is_word("eventually") && self.peek_second() == T::Name => {
                Err(self.item_inside())
            }
            _ => self.expression_statement(),
        }
    }

    fn stray_else(&mut self) -> Reported {
        let span = self.token().span;
        let error = Diagnostic::error(span, "`else` without an `if` before it");
        self.report(error.help("write `if c { … } else { … }`, without `;` in between"))
    }

    /// Parses a declaration inside a block: it is reported, but kept, so that its name is known.
    fn item_inside(&mut self) -> Reported {
        let token = self.token();
        let word = token.span.of(self.text);
        let error =
            Diagnostic::error(token.span, format!("`{word}` is not allowed inside a block"));
        let help = match token.kind {
            TokenKind::Shared => "move it out of the block; for a local variable write `let`",
            TokenKind::Const => "move it out of the block, or write `let`",
            TokenKind::Thread => "move it out of the block; to start a thread here write `spawn`",
            _ => "move it out of the block",
        };
        self.report(error.help(help));
        if let Ok(item) = self.nested(Self::declaration) {
            self.inner_items.push(item);
            // Nothing to skip: stand before the next statement, as after a semicolon.
            self.at -= 1;
        }
        Reported
    }

    fn keyword_alone(&mut self, kind: StmtKind) -> Parsed<StmtKind> {
        let word = self.bump().span.of(self.text);
        self.expect_semicolon(&format!(" after `{word}`"));
        Ok(kind)
    }

    fn keyword_and_expression(&mut self, make: fn(Expr) -> Op<Written>) -> Parsed<StmtKind> {
        let word = self.bump().span.of(self.text);
        let expression = self.expression()?;
        self.expect_semicolon(&format!(" after `{word}`"));
        Ok(StmtKind::Op(make(expression)))
    }

    /// Returns whether `scan` follows `await`, and then a condition. It is a keyword only there, so that older programs may
    /// have it as a name: what can also follow a name decides only where it is none.
    fn scans(&self) -> bool {
        use TokenKind::{BitNot, False, If, Int, LeftParen, Minus, Name, Not, True};
        let token = |ahead: usize| self.tokens.get(self.at + ahead);
        let is_scan = token(1).is_some_and(|it| it.span.of(self.text) == "scan");
        is_scan
            && match token(2).map(|it| it.kind) {
                Some(Name | Int(_) | True | False | Not | BitNot | If) => true,
                Some(LeftParen | Minus) => !self.declares("scan"),
                _ => false,
            }
    }

    /// Returns whether the text declares this name.
    fn declares(&self, name: &str) -> bool {
        use TokenKind::{Atomic, Colon, Const, Fn, For, In, Let, List, Map, Shared};
        self.tokens.windows(3).any(|three| {
            three[1].span.of(self.text) == name
                && (matches!(three[0].kind, Atomic | Const | Fn | For | Let | List | Map | Shared)
                    || matches!(three[2].kind, Colon | In))
        })
    }

    fn scan_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        self.bump();
        let condition = self.expression()?;
        self.expect_semicolon(" after `await scan`");
        Ok(StmtKind::Scan(condition))
    }

    fn let_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let name = self.ident("the name of a local variable")?;
        if self.peek() == TokenKind::LeftBracket {
            return self.let_array(name).map(StmtKind::Set);
        }
        let ty = self.type_annotation()?;
        if self.peek() == TokenKind::Semicolon {
            let message = format!("local variable `{}` has no value", name.text);
            let help = format!("write `let {} = 0;`", name.text);
            return Err(self.report(Diagnostic::error(name.span, message).help(help)));
        }
        self.expect(TokenKind::Assign, " and the value of the variable")?;
        let value = self.expression()?;
        self.expect_semicolon(" after `let`");
        Ok(StmtKind::Set(Assignment::Let { name, ty, value }))
    }

    /// `let a[3] = [1, 2, 3];`
    fn let_array(&mut self, name: Ident) -> Parsed<Assignment> {
        let mut sizes = self.sizes()?;
        let ty = self.type_annotation()?;
        self.expect(TokenKind::Assign, " and the values of the local array")?;
        let initial = self.initial_value()?;
        self.expect_semicolon(" after `let`");
        let size = sizes.pop().expect("internal error: a bracket was seen");
        if !sizes.is_empty() {
            let error = Diagnostic::error(name.span, "a local array has one dimension");
            return Err(self.report(error.help("compute one index from two: `a[2 * i + j]`")));
        }
        Ok(Assignment::LetArray { name, size, ty, initial })
    }

    fn if_statement(&mut self) -> Parsed<StmtKind> {
        let mut branches = Vec::new();
        let mut otherwise = None;
        loop {
            self.bump();
            let condition = self.expression()?;
            branches.push((condition, self.block("after the condition")?));
            if !self.eat(TokenKind::Else) {
                break;
            }
            if self.peek() != TokenKind::If {
                otherwise = Some(self.block("or `if` after `else`")?);
                break;
            }
        }
        Ok(StmtKind::If { branches, otherwise })
    }

    fn while_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let condition = self.expression()?;
        let body = self.block("after the condition")?;
        Ok(StmtKind::While { condition, body })
    }

    fn is_each(&self) -> bool {
        let token = |ahead: usize| self.tokens.get(self.at + ahead);
        token(1).is_some_and(|it| it.span.of(self.text) == "each")
            && token(2).is_some_and(|it| it.kind != TokenKind::In)
    }

    /// `for each x in q { … }`: `each` is a keyword only here.
    fn for_each_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        self.bump();
        let element = self.ident("a name for the elements")?;
        self.expect(TokenKind::In, " and a list, as in `for each x in q`")?;
        let name = self.ident("the name of a list")?;
        let list = self.place(name)?;
        let body = self.block("after the list")?;
        Ok(StmtKind::ForEach { element, list, body })
    }

    fn for_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let index = self.ident("the name of the index, as in `for i in 0..N`")?;
        self.expect(TokenKind::In, " and a range, as in `for i in 0..N`")?;
        let low = self.expression()?;
        self.expect(TokenKind::DotDot, " and the end of the range")?;
        let high = self.expression()?;
        let body = self.block("after the range")?;
        Ok(StmtKind::For { index, low, high, body })
    }

    fn return_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let value = match self.peek() {
            TokenKind::Semicolon | TokenKind::RightBrace => None,
            _ => Some(self.expression()?),
        };
        self.expect_semicolon(" after `return`");
        Ok(StmtKind::Op(Op::Return { value }))
    }

    fn assert_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let condition = self.expression()?;
        let message = self.assertion_message("assert")?;
        Ok(StmtKind::Op(Op::Assert { condition, message }))
    }

    /// The end of an assertion: perhaps a message, and the semicolon.
    pub(super) fn assertion_message(&mut self, keyword: &str) -> Parsed<Option<Box<str>>> {
        let message = match self.eat(TokenKind::Comma) {
            true => {
                let literal = self.expect(TokenKind::Str, " with the message of the assertion")?;
                Some(string_value(literal.span.of(self.text)).into())
            }
            false => None,
        };
        self.expect_semicolon(&format!(" after `{keyword}`"));
        Ok(message)
    }

    fn lock_statement(&mut self, mode: LockMode) -> Parsed<StmtKind> {
        self.bump();
        let target = self.lock_target(mode.lock_word())?;
        let body = match self.peek() {
            TokenKind::LeftBrace => Some(self.block("")?),
            _ => {
                self.expect_semicolon(&format!(" or a block after `{}`", mode.lock_word()));
                None
            }
        };
        Ok(StmtKind::Lock { mode, target, body })
    }

    fn unlock_statement(&mut self, mode: LockMode) -> Parsed<StmtKind> {
        self.bump();
        let lock = self.lock_target(mode.unlock_word())?;
        self.expect_semicolon(&format!(" after `{}`", mode.unlock_word()));
        Ok(StmtKind::Op(Lock::Release { mode, lock }.into()))
    }

    /// `m`, `fork[i]`; also in parentheses, as other languages have it.
    fn lock_target(&mut self, word: &str) -> Parsed<Place> {
        let parens = self.eat(TokenKind::LeftParen);
        let name = self.ident(&format!("the name of a lock after `{word}`"))?;
        let place = self.place(name)?;
        if parens {
            self.expect(TokenKind::RightParen, " after the name of the lock")?;
        }
        Ok(place)
    }

    fn send_statement(&mut self) -> Parsed<StmtKind> {
        let word = self.bump();
        let start = self.token();
        let to = if self.eat(TokenKind::SelfHandle) {
            leaf(Leaf::SelfHandle, start.span)
        } else {
            let name = self.ident("the thread that shall get the message")?;
            let place = self.place(name)?;
            let (span, known) = (place.span, 1 + tallest(&place.indices));
            Expr { kind: ExprKind::Leaf(Leaf::Place(place)), known, span }
        };
        self.expect(TokenKind::LeftParen, " and the message, as in `send server(1, x);`")?;
        let values = self.comma_list(TokenKind::RightParen, Self::expression)?;
        self.check_message_length(values.len(), word.span.to(self.previous()));
        self.expect_semicolon(" after `send`");
        Ok(StmtKind::Op(Message::Send { to, values: values.into() }.into()))
    }

    pub(super) fn check_message_length(&mut self, length: usize, span: Span) {
        if !(1..=8).contains(&length) {
            let message = format!("a message has 1 to 8 values, not {length}");
            let help = match length {
                0 => "send a number that says what is meant, say `(0)`",
                _ => "put some of the values into shared variables",
            };
            self.report(Diagnostic::error(span, message).help(help));
        }
    }

    /// Returns whether `receive(c);` is next, and not `receive (pattern) { … }`.
    fn receives_as_value(&self) -> bool {
        if self.peek_second() != TokenKind::LeftParen {
            return false;
        }
        let mut open = 0_u32;
        for token in &self.tokens[self.at + 1..] {
            match token.kind {
                TokenKind::LeftParen => open += 1,
                TokenKind::RightParen => open = open.saturating_sub(1),
                kind if open == 0 => return kind == TokenKind::Semicolon,
                TokenKind::Let | TokenKind::LeftBrace | TokenKind::Semicolon | TokenKind::End => {
                    return false;
                }
                _ => {}
            }
        }
        false
    }

    fn receive_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        if self.peek() == TokenKind::LeftParen {
            let alternative = self.alternative(false)?;
            return Ok(received(vec![alternative], None));
        }
        let open = self.expect(TokenKind::LeftBrace, " or a pattern after `receive`")?;
        self.nested(|parser| parser.alternatives(open.span))
    }

    fn alternatives(&mut self, open: Span) -> Parsed<StmtKind> {
        let mut alternatives = Vec::new();
        let mut after = None;
        while self.peek() != TokenKind::RightBrace {
            if self.peek() == TokenKind::LeftParen {
                let alternative = self.alternative(true)?;
                alternatives.push(alternative);
            } else if self.token().span.of(self.text) == "after" {
                let word = self.bump();
                self.expect(TokenKind::FatArrow, " after `after`")?;
                let body = self.block("after `=>`")?;
                if after.is_some() {
                    let message = "`receive` has a second `after` branch";
                    self.report(Diagnostic::error(word.span, message).help("remove it"));
                }
                after = Some(body);
            } else if self.peek() == TokenKind::End {
                return Err(self.unclosed(open));
            } else {
                return Err(self.unexpected("a pattern such as `(1, let v)`, `after` or `}`"));
            }
            self.eat(TokenKind::Comma);
        }
        let close = self.bump();
        if alternatives.is_empty() && after.is_none() {
            let span = open.to(close.span);
            let error = Diagnostic::error(span, "`receive` without alternatives never returns");
            self.report(error.help("add one: `(let v) => { … }`"));
        }
        Ok(received(alternatives, after))
    }

    fn alternative(&mut self, arrow: bool) -> Parsed<Alternative<Written>> {
        let open = self.bump().span;
        let patterns = self.comma_list(TokenKind::RightParen, Self::pattern)?;
        let span = open.to(self.previous());
        self.check_message_length(patterns.len(), span);
        let guard = match self.eat(TokenKind::If) {
            true => Some(self.expression()?),
            false => None,
        };
        if arrow {
            self.expect(TokenKind::FatArrow, " after the pattern")?;
        }
        let to = self.block("after the pattern")?;
        Ok(Alternative { patterns: patterns.into(), guard, to })
    }

    fn pattern(&mut self) -> Parsed<Pattern<Written>> {
        match self.peek() {
            TokenKind::Underscore => {
                self.bump();
                Ok(Pattern::Ignore)
            }
            TokenKind::Let => {
                self.bump();
                self.ident("a name for the value").map(Pattern::Bind)
            }
            _ => self.expression().map(Pattern::Equal),
        }
    }

    fn atomic_statement(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let section = match self.peek() {
            TokenKind::LeftBrace => None,
            TokenKind::Proc => {
                let span = self.token().span;
                let error = Diagnostic::error(span, "`proc` is not allowed inside a block");
                return Err(self.report(error.help("move `atomic proc` out of the block")));
            }
            _ => Some(self.ident("`{` or a name for the block after `atomic`")?),
        };
        let body: Block = self.block("after `atomic`")?;
        Ok(StmtKind::Atomic { section, body })
    }

    /// Returns an assignment, or a call.
    fn expression_statement(&mut self) -> Parsed<StmtKind> {
        let expression = self.expression()?;
        let op = match self.peek() {
            TokenKind::Assign => None,
            TokenKind::PlusAssign => Some(BinaryOp::Add),
            TokenKind::MinusAssign => Some(BinaryOp::Subtract),
            TokenKind::StarAssign => Some(BinaryOp::Multiply),
            TokenKind::AndAssign => Some(BinaryOp::BitAnd),
            TokenKind::OrAssign => Some(BinaryOp::BitOr),
            TokenKind::XorAssign => Some(BinaryOp::BitXor),
            TokenKind::ShiftLeftAssign => Some(BinaryOp::ShiftLeft),
            TokenKind::ShiftRightAssign => Some(BinaryOp::ShiftRight),
            TokenKind::Colon => return Err(self.colon_in_assignment()),
            _ => {
                self.expect_semicolon(" after the statement");
                return Ok(StmtKind::Expr(expression));
            }
        };
        let ExprKind::Leaf(Leaf::Place(target)) = expression.kind else {
            let error = Diagnostic::error(expression.span, "nothing can be assigned to this");
            let help = "the left side is a variable `x` or an element `a[i]`";
            return Err(self.report(error.help(help)));
        };
        self.bump();
        let value = self.expression()?;
        self.expect_semicolon(" after the assignment");
        Ok(StmtKind::Set(Assignment::Assign { target, op, value }))
    }

    fn colon_in_assignment(&mut self) -> Reported {
        let span = self.token().span;
        let error = Diagnostic::error(span, "unexpected `:` in a statement");
        self.report(error.help("assign with `x = 1;`, declare with `let x: int = 1;`"))
    }
}

fn received(alternatives: Vec<Alternative<Written>>, after: Option<Block>) -> StmtKind {
    StmtKind::Op(Message::Receive { alternatives: alternatives.into(), after }.into())
}
