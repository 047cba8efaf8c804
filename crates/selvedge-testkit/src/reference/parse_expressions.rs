//! Reads expressions: from tight to loose, unary, `* / %`, `+ -`, `<< >>`, `&`, `^`, `|`, comparisons, `&&`, `||`.

use super::lexer::Kind;
use super::parser::{Parsed, Parser};
use super::syntax::{Expr, ExprKind, Operator, Place};

/// Reads what binds tighter.
type Tighter = fn(&mut Parser) -> Parsed<Expr>;

impl Parser {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let mut left = self.conjunction()?;
        while self.has_sign("||") {
            let right = self.conjunction()?;
            left = Expr { line, kind: ExprKind::Or(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let mut left = self.comparison()?;
        while self.has_sign("&&") {
            let right = self.comparison()?;
            left = Expr { line, kind: ExprKind::And(Box::new(left), Box::new(right)) };
        }
        Ok(left)
    }

    /// Comparisons cannot be chained.
    fn comparison(&mut self) -> Parsed<Expr> {
        let line = self.line();
        let left = self.either_bit()?;
        let operator = match self.peek() {
            Kind::Sign("==") => Operator::Equal,
            Kind::Sign("!=") => Operator::NotEqual,
            Kind::Sign("<") => Operator::Less,
            Kind::Sign("<=") => Operator::AtMost,
            Kind::Sign(">") => Operator::Greater,
            Kind::Sign(">=") => Operator::AtLeast,
            _ => return Ok(left),
        };
        self.next();
        let right = self.either_bit()?;
        Ok(binary(line, operator, left, right))
    }

    /// Operators of one level, which group to the left.
    fn level(&mut self, operators: &[(&'static str, Operator)], tighter: Tighter) -> Parsed<Expr> {
        let line = self.line();
        let mut left = tighter(self)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.has_sign(sign)) {
            left = binary(line, *operator, left, tighter(self)?);
        }
        Ok(left)
    }

    fn either_bit(&mut self) -> Parsed<Expr> {
        self.level(&[("|", Operator::BitOr)], Self::other_bit)
    }

    fn other_bit(&mut self) -> Parsed<Expr> {
        self.level(&[("^", Operator::BitXor)], Self::both_bits)
    }

    fn both_bits(&mut self) -> Parsed<Expr> {
        self.level(&[("&", Operator::BitAnd)], Self::shift)
    }

    fn shift(&mut self) -> Parsed<Expr> {
        let shifts = [("<<", Operator::ShiftLeft), (">>", Operator::ShiftRight)];
        self.level(&shifts, Self::sum)
    }

    fn sum(&mut self) -> Parsed<Expr> {
        self.level(&[("+", Operator::Add), ("-", Operator::Subtract)], Self::product)
    }

    fn product(&mut self) -> Parsed<Expr> {
        let products =
            [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)];
        self.level(&products, Self::unary)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let line = self.line();
        if self.has_sign("!") {
            return Ok(Expr { line, kind: ExprKind::Not(Box::new(self.unary()?)) });
        }
        if self.has_sign("~") {
            return Ok(Expr { line, kind: ExprKind::Complement(Box::new(self.unary()?)) });
        }
        if self.has_sign("-") {
            // The smallest integer can be written.
            if let Kind::Number(value) = *self.peek() {
                self.next();
                return self.literal(line, -value);
            }
            return Ok(Expr { line, kind: ExprKind::Minus(Box::new(self.unary()?)) });
        }
        self.primary()
    }

    fn literal(&self, line: u32, value: i64) -> Parsed<Expr> {
        match i32::try_from(value) {
            Ok(value) => Ok(Expr { line, kind: ExprKind::Int(value) }),
            Err(_) => Err(format!("line {line}: {value} is too large")),
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let line = self.line();
        if self.has_sign("(") {
            let inner = self.expr()?;
            self.sign(")")?;
            return Ok(inner);
        }
        if let Kind::Number(value) = *self.peek() {
            self.next();
            return self.literal(line, value);
        }
        let Kind::Word(word) = self.peek().clone() else { return self.error("an expression") };
        let kind = match word.as_str() {
            "true" | "false" => {
                self.next();
                ExprKind::Bool(word == "true")
            }
            "self" => {
                self.next();
                ExprKind::Me
            }
            "if" => {
                self.next();
                let condition = self.expr()?;
                let then = self.branch()?;
                self.word("else")?;
                // `else if` is another one of the same kind.
                let otherwise = if self.is_word("if") { self.primary()? } else { self.branch()? };
                ExprKind::If(Box::new(condition), Box::new(then), Box::new(otherwise))
            }
            "choose" => {
                self.next();
                self.choice()?
            }
            "await" => {
                self.next();
                ExprKind::Await(Box::new(self.unary()?))
            }
            // A name elsewhere.
            "post" if matches!(self.peek_second(), Kind::Word(_)) => {
                self.next();
                self.post()?
            }
            "spawn" => {
                self.next();
                let name = self.name()?;
                ExprKind::Spawn(name, self.arguments()?)
            }
            _ if *self.peek_second() == Kind::Sign("(") => {
                self.next();
                ExprKind::Call(word, self.arguments()?)
            }
            _ => ExprKind::Place(self.place()?),
        };
        Ok(Expr { line, kind })
    }

    /// What follows `post`: `account.deposit(5)`, `worker[i].run()`, or `run()` of the own actor.
    fn post(&mut self) -> Parsed<ExprKind> {
        let line = self.line();
        let name = self.name()?;
        if self.is_sign("(") {
            return Ok(ExprKind::Post(None, name, self.arguments()?));
        }
        let indices = self.indices()?;
        self.sign(".")?;
        let task = self.name()?;
        let actor = Place { line, name, indices };
        Ok(ExprKind::Post(Some(actor), task, self.arguments()?))
    }

    /// `{ a }`
    fn branch(&mut self) -> Parsed<Expr> {
        self.sign("{")?;
        let value = self.expr()?;
        self.sign("}")?;
        Ok(value)
    }

    fn choice(&mut self) -> Parsed<ExprKind> {
        self.sign("(")?;
        if self.has_sign(")") {
            return Ok(ExprKind::Choose(None));
        }
        let low = self.expr()?;
        self.sign("..")?;
        let high = self.expr()?;
        self.sign(")")?;
        Ok(ExprKind::Choose(Some((Box::new(low), Box::new(high)))))
    }

    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.sign("(")?;
        let mut arguments = Vec::new();
        while !self.has_sign(")") {
            arguments.push(self.expr()?);
            if !self.is_sign(")") {
                self.sign(",")?;
            }
        }
        Ok(arguments)
    }
}

fn binary(line: u32, operator: Operator, left: Expr, right: Expr) -> Expr {
    Expr { line, kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)) }
}
