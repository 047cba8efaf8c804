//! Expressions, by precedence climbing.

use super::{MAX_HEIGHT, Parsed, Parser, Reported};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};
use crate::ops::{BinaryOp, Choice, Compute, Op, Thread, UnaryOp};
use crate::span::Span;
use crate::tree::Written;
use crate::tree::written::{Expr, ExprKind, Ident, Leaf, Place};

/// How tightly operators bind, the loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Comparison,
    BitOr,
    BitXor,
    BitAnd,
    Shift,
    Sum,
    Product,
    /// Tighter than any operator with two sides.
    Operand,
}

impl Parser<'_, '_> {
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.binary(Level::Or))
    }

    /// Operators of `level` or tighter ones.
    fn binary(&mut self, level: Level) -> Parsed<Expr> {
        let mut left = self.unary()?;
        let mut compared = false;
        while let Some((op, op_level)) = binary_op(self.peek()) {
            if op_level < level {
                break;
            }
            if op_level == Level::Comparison && std::mem::replace(&mut compared, true) {
                return Err(self.chained_comparison(&left));
            }
            self.bump();
            let right = self.binary(tighter(op_level))?;
            let span = left.span.to(right.span);
            let known = left.known.max(right.known) + 1;
            let kind = match op {
                Infix::And => ExprKind::And(Box::new(left), Box::new(right)),
                Infix::Or => ExprKind::Or(Box::new(left), Box::new(right)),
                Infix::Op(op) => computed(Compute::Binary(op, left, right)),
            };
            left = self.limited(Expr { kind, known, span })?;
            compared &= op_level == Level::Comparison;
        }
        Ok(left)
    }

    fn chained_comparison(&mut self, left: &Expr) -> Reported {
        let span = self.token().span;
        let error = Diagnostic::error(span, "comparisons cannot be chained");
        let help = match compared(left) {
            Some(BinaryOp::BitAnd) => {
                "`&` binds tighter than a comparison: for a logical \"and\" write `&&`"
            }
            Some(BinaryOp::BitOr) => {
                "`|` binds tighter than a comparison: for a logical \"or\" write `||`"
            }
            _ => "write `a < b && b < c`",
        };
        self.report(error.help(help))
    }

    /// Passes `expression` on if its tree is not too deep.
    pub(super) fn limited(&mut self, expression: Expr) -> Parsed<Expr> {
        if expression.known <= MAX_HEIGHT {
            return Ok(expression);
        }
        let message = format!("an expression of more than {MAX_HEIGHT} operators in a row");
        let error = Diagnostic::error(expression.span, message);
        Err(self.give_up(error.help("split it with `let`, or use a loop")))
    }

    pub(super) fn unary(&mut self) -> Parsed<Expr> {
        let token = self.token();
        let op = match token.kind {
            TokenKind::Minus => UnaryOp::Negate,
            TokenKind::Not => UnaryOp::Not,
            TokenKind::BitNot => UnaryOp::Complement,
            _ => return self.primary(),
        };
        self.bump();
        if let (UnaryOp::Negate, TokenKind::Int(value)) = (op, self.peek()) {
            let span = token.span.to(self.bump().span);
            let value = i32::try_from(-i64::from(value));
            return Ok(leaf(Leaf::Int(value.unwrap_or(i32::MIN)), span));
        }
        let operand = self.nested(Self::unary)?;
        let (span, known) = (token.span.to(operand.span), operand.known + 1);
        self.limited(Expr { kind: computed(Compute::Unary(op, operand)), known, span })
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.token();
        match token.kind {
            TokenKind::Int(value) => self.int(token, value),
            TokenKind::True | TokenKind::False => {
                self.bump();
                Ok(leaf(Leaf::Bool(token.kind == TokenKind::True), token.span))
            }
            TokenKind::SelfHandle => {
                self.bump();
                Ok(leaf(Leaf::SelfHandle, token.span))
            }
            TokenKind::Name if self.posts() => self.post(),
            TokenKind::Await => self.awaited_value(),
            TokenKind::Name => self.name_expression(token),
            TokenKind::Receive if self.peek_second() == TokenKind::LeftParen => {
                self.name_expression(token)
            }
            TokenKind::LeftParen => self.parenthesised(),
            TokenKind::If => self.nested(Self::if_expression),
            TokenKind::Choose => self.choose(),
            TokenKind::Spawn => self.spawn(),
            _ => Err(self.no_expression()),
        }
    }

    fn no_expression(&mut self) -> Reported {
        let token = self.token();
        let message = format!("expected an expression, found {}", self.found());
        let error = Diagnostic::error(token.span, message);
        let help = match token.kind {
            TokenKind::Plus => Some("there is no `++`; write `x += 1`"),
            TokenKind::Assign => Some("compare with `==`, assign in a statement of its own"),
            TokenKind::Str => Some("a string can only be the message of an `assert`"),
            TokenKind::Lock | TokenKind::ReadLock | TokenKind::WriteLock => {
                Some("`lock m;` is a statement; `try_lock(m)` is an expression")
            }
            TokenKind::Receive => {
                Some("from a channel: `receive(c)`; from the mailbox: `receive (let v) { … }`")
            }
            _ => None,
        };
        self.report(error.maybe_help(help.map(str::to_owned)))
    }

    fn int(&mut self, token: Token, value: u32) -> Parsed<Expr> {
        self.bump();
        let value = i32::try_from(value).unwrap_or_else(|_| {
            let text = token.span.of(self.text);
            let error = Diagnostic::error(token.span, format!("`{text}` does not fit in 32 bits"));
            self.diagnostics.add(error.help("integers go from -2147483648 to 2147483647"));
            0
        });
        Ok(leaf(Leaf::Int(value), token.span))
    }

    fn name_expression(&mut self, token: Token) -> Parsed<Expr> {
        self.bump();
        let name = self.ident_of(token);
        match self.peek() {
            TokenKind::LeftParen => {
                self.bump();
                let args = self.args()?;
                let span = name.span.to(self.previous());
                let known = 1 + tallest(&args);
                let kind = ExprKind::Leaf(Leaf::Call { name: self.called(name), args });
                self.limited(Expr { kind, known, span })
            }
            TokenKind::Dot
                if !self.variables.contains(&name.text) && !self.is_actor(&name.text) =>
            {
                self.bump();
                let mut field = self.ident("the name of a variable of the block")?;
                let mut span = name.span.to(field.span);
                if self.eat(TokenKind::LeftBracket) {
                    let TokenKind::Int(index) = self.peek() else {
                        return Err(self.unexpected("a number: which element of the local array"));
                    };
                    self.bump();
                    field.text.push_str(&format!("[{index}]"));
                    span = span.to(self.expect(TokenKind::RightBracket, " after the index")?.span);
                }
                Ok(leaf(Leaf::Field { base: name, field }, span))
            }
            _ => {
                let place = self.place(name)?;
                let (span, known) = (place.span, 1 + tallest(&place.indices));
                self.limited(Expr { kind: ExprKind::Leaf(Leaf::Place(place)), known, span })
            }
        }
    }

    /// `name`, `name[i]`, `name[i][j]`
    pub(super) fn place(&mut self, name: Ident) -> Parsed<Place> {
        let place = self.indexed(name)?;
        if self.is_actor(&place.name.text) {
            return self.field_from_outside(place);
        }
        self.field(self.own_field(place))
    }

    /// A name and indices.
    pub(super) fn indexed(&mut self, name: Ident) -> Parsed<Place> {
        let mut span = name.span;
        let mut indices = Vec::new();
        while self.peek() == TokenKind::LeftBracket {
            let open = self.bump();
            indices.push(self.expression()?);
            let close = self.expect(TokenKind::RightBracket, " after the index")?;
            span = span.to(close.span);
            // Two for an element of an array, and one for what is in that list or map.
            if indices.len() > 3 {
                let here = open.span.to(close.span);
                return Err(self.report(Diagnostic::error(here, "too many indices")));
            }
        }
        Ok(Place { name, record: None, indices, span })
    }

    pub(super) fn args(&mut self) -> Parsed<Vec<Expr>> {
        self.comma_list(TokenKind::RightParen, Self::expression)
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        let open = self.bump();
        let inner = self.expression()?;
        let close = self.expect(TokenKind::RightParen, " to close the parenthesis")?;
        let (span, known) = (open.span.to(close.span), inner.known + 1);
        let kind = ExprKind::Leaf(Leaf::Paren(Box::new(inner)));
        self.limited(Expr { kind, known, span })
    }

    fn if_expression(&mut self) -> Parsed<Expr> {
        let word = self.bump();
        let condition = self.expression()?;
        let then = self.braced("after the condition")?;
        if self.peek() != TokenKind::Else {
            let span = word.span.to(self.previous());
            let error = Diagnostic::error(span, "`if` as an expression needs an `else`");
            return Err(self.report(error.help("write `if c { a } else { b }`")));
        }
        self.bump();
        let otherwise = match self.peek() {
            TokenKind::If => self.nested(Self::if_expression)?,
            _ => self.braced("after `else`")?,
        };
        let span = word.span.to(self.previous());
        let known = 1 + condition.known.max(then.known).max(otherwise.known);
        let kind = ExprKind::If {
            condition: Box::new(condition),
            then: Box::new(then),
            otherwise: Box::new(otherwise),
        };
        self.limited(Expr { kind, known, span })
    }

    /// `{ expression }`
    fn braced(&mut self, place: &str) -> Parsed<Expr> {
        self.expect(TokenKind::LeftBrace, &format!(" {place}"))?;
        let inner = self.expression()?;
        if self.peek() == TokenKind::Semicolon {
            let span = self.token().span;
            let error = Diagnostic::error(span, "unexpected `;` in an `if` expression");
            return Err(self.report(error.help("each branch is one expression, without `;`")));
        }
        self.expect(TokenKind::RightBrace, " after the expression")?;
        Ok(inner)
    }

    fn choose(&mut self) -> Parsed<Expr> {
        let word = self.bump();
        self.expect(TokenKind::LeftParen, " as in `choose(0..3)` or `choose()`")?;
        if self.eat(TokenKind::RightParen) {
            let span = word.span.to(self.previous());
            return Ok(leaf(Leaf::Choose, span));
        }
        let low = self.expression()?;
        self.expect(TokenKind::DotDot, " and the end of the range, as in `choose(0..3)`")?;
        let high = self.expression()?;
        let close = self.expect(TokenKind::RightParen, " after the range")?;
        let (span, known) = (word.span.to(close.span), 1 + low.known.max(high.known));
        let kind = operation(Choice::Choose { target: (), low, high });
        self.limited(Expr { kind, known, span })
    }

    fn spawn(&mut self) -> Parsed<Expr> {
        let word = self.bump();
        let name = self.ident("the name of a procedure after `spawn`")?;
        self.expect(TokenKind::LeftParen, " and the arguments, as in `spawn worker(1)`")?;
        let args = self.args()?;
        let (span, known) = (word.span.to(self.previous()), 1 + tallest(&args));
        let (procedure, target) = (name, Some(()));
        let kind = operation(Thread::Spawn { procedure, arguments: args.into(), target });
        self.limited(Expr { kind, known, span })
    }
}

pub(super) fn leaf(leaf: Leaf, span: Span) -> Expr {
    Expr { kind: ExprKind::Leaf(leaf), known: 1, span }
}

fn operation(op: impl Into<Op<Written>>) -> ExprKind {
    ExprKind::Op(Box::new(op.into()))
}

fn computed(value: Compute<Written>) -> ExprKind {
    operation(Op::Compute { target: (), value })
}

pub(super) fn tallest(expressions: &[Expr]) -> u32 {
    expressions.iter().map(|expression| expression.known).max().unwrap_or(0)
}

/// Returns the operator in the right side of a comparison, as in `a == b & c`.
fn compared(comparison: &Expr) -> Option<BinaryOp> {
    let right = |expression: &Expr| match &expression.kind {
        ExprKind::Op(op) => match &**op {
            Op::Compute { value: Compute::Binary(op, _, right), .. } => Some((*op, right.clone())),
            _ => None,
        },
        _ => None,
    };
    let (_, side) = right(comparison)?;
    Some(right(&side)?.0)
}

/// What stands between two operands.
enum Infix {
    And,
    Or,
    Op(BinaryOp),
}

fn binary_op(kind: TokenKind) -> Option<(Infix, Level)> {
    let (op, level) = match kind {
        TokenKind::Or => return Some((Infix::Or, Level::Or)),
        TokenKind::And => return Some((Infix::And, Level::And)),
        TokenKind::Equal => (BinaryOp::Equal, Level::Comparison),
        TokenKind::NotEqual => (BinaryOp::NotEqual, Level::Comparison),
        TokenKind::Less => (BinaryOp::Less, Level::Comparison),
        TokenKind::LessEqual => (BinaryOp::LessEqual, Level::Comparison),
        TokenKind::Greater => (BinaryOp::Greater, Level::Comparison),
        TokenKind::GreaterEqual => (BinaryOp::GreaterEqual, Level::Comparison),
        TokenKind::BitOr => (BinaryOp::BitOr, Level::BitOr),
        TokenKind::BitXor => (BinaryOp::BitXor, Level::BitXor),
        TokenKind::BitAnd => (BinaryOp::BitAnd, Level::BitAnd),
        TokenKind::ShiftLeft => (BinaryOp::ShiftLeft, Level::Shift),
        TokenKind::ShiftRight => (BinaryOp::ShiftRight, Level::Shift),
        TokenKind::Plus => (BinaryOp::Add, Level::Sum),
        TokenKind::Minus => (BinaryOp::Subtract, Level::Sum),
        TokenKind::Star => (BinaryOp::Multiply, Level::Product),
        TokenKind::Slash => (BinaryOp::Divide, Level::Product),
        TokenKind::Percent => (BinaryOp::Remainder, Level::Product),
        _ => return None,
    };
    Some((Infix::Op(op), level))
}

/// Returns the level of the right operand: operators of one level group to the left.
fn tighter(level: Level) -> Level {
    match level {
        Level::Or => Level::And,
        Level::And => Level::Comparison,
        Level::Comparison => Level::BitOr,
        Level::BitOr => Level::BitXor,
        Level::BitXor => Level::BitAnd,
        Level::BitAnd => Level::Shift,
        Level::Shift => Level::Sum,
        Level::Sum => Level::Product,
        Level::Product | Level::Operand => Level::Operand,
    }
}
