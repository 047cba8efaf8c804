//! Reads statements.

use super::lexer::Kind;
use super::parser::{Parsed, Parser};
use super::syntax::{
    Arm, Block, Expr, ExprKind, LockOp, Operator, Pattern, Place, Stmt, StmtKind, Target,
};

impl Parser {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.sign("{")?;
        let mut statements = Vec::new();
        while !self.has_sign("}") {
            statements.push(self.statement()?);
        }
        Ok(statements.into())
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let line = self.line();
        let kind = self.statement_kind()?;
        Ok(Stmt { line, kind })
    }

    fn statement_kind(&mut self) -> Parsed<StmtKind> {
        if self.is_sign("{") {
            return Ok(StmtKind::Block(self.block()?));
        }
        let Kind::Word(word) = self.peek().clone() else { return self.error("a statement") };
        let word = word.as_str();
        let lock_op = match word {
            "lock" => Some(LockOp::Lock),
            "unlock" => Some(LockOp::Unlock),
            "read_lock" => Some(LockOp::ReadLock),
            "read_unlock" => Some(LockOp::ReadUnlock),
            "write_lock" => Some(LockOp::WriteLock),
            "write_unlock" => Some(LockOp::WriteUnlock),
            _ => None,
        };
        if let Some(op) = lock_op {
            self.next();
            return self.lock(op);
        }
        match word {
            "if" => {
                self.next();
                self.if_statement()
            }
            "while" => {
                self.next();
                let condition = self.expr()?;
                Ok(StmtKind::While(condition, self.block()?))
            }
            "loop" => {
                let line = self.line();
                self.next();
                let always = Expr { line, kind: ExprKind::Bool(true) };
                Ok(StmtKind::While(always, self.block()?))
            }
            "for" => {
                self.next();
                let index = self.name()?;
                if index == "each" && !self.is_word("in") {
                    let element = self.name()?;
                    self.word("in")?;
                    let list = self.place()?;
                    return Ok(StmtKind::ForEach(element, list, self.block()?));
                }
                self.word("in")?;
                let low = self.expr()?;
                self.sign("..")?;
                let high = self.expr()?;
                Ok(StmtKind::For(index, low, high, self.block()?))
            }
            "atomic" => {
                self.next();
                if !self.is_sign("{") {
                    self.name()?;
                }
                Ok(StmtKind::Atomic(self.block()?))
            }
            "receive" => {
                self.next();
                self.receive()
            }
            _ => {
                let kind = self.simple_statement(word)?;
                self.sign(";")?;
                Ok(kind)
            }
        }
    }

    /// The condition of an assertion, and perhaps a message.
    pub(super) fn assertion(&mut self) -> Parsed<StmtKind> {
        let condition = self.expr()?;
        if self.has_sign(",") && self.next() != Kind::Text {
            return self.error("a message");
        }
        Ok(StmtKind::Assert(condition))
    }

    /// A statement that ends with a semicolon.
    fn simple_statement(&mut self, word: &str) -> Parsed<StmtKind> {
        let is_keyword = matches!(
            word,
            "let"
                | "skip"
                | "break"
                | "continue"
                | "return"
                | "assert"
                | "assume"
                | "await"
                | "join"
                | "send"
                | "yield"
        );
        // A name elsewhere.
        let is_mark =
            word == "progress" && matches!(self.peek_second(), Kind::Sign(sign) if *sign == ";");
        let is_monitor = word == "monitor" && matches!(self.peek_second(), Kind::Word(_));
        if !is_keyword && !is_mark && !is_monitor {
            return self.assignment_or_call();
        }
        self.next();
        match word {
            "skip" | "progress" => Ok(StmtKind::Skip),
            "break" => Ok(StmtKind::Break),
            "continue" => Ok(StmtKind::Continue),
            "yield" => Ok(StmtKind::Yield),
            "let" => {
                let name = self.name()?;
                let size = if self.has_sign("[") {
                    let size = self.expr()?;
                    self.sign("]")?;
                    Some(size)
                } else {
                    None
                };
                self.type_annotation()?;
                self.sign("=")?;
                match size {
                    Some(size) => Ok(StmtKind::LetArray(name, size, self.initial()?)),
                    None => Ok(StmtKind::Let(name, self.expr()?)),
                }
            }
            "return" if self.is_sign(";") => Ok(StmtKind::Return(None)),
            "return" => Ok(StmtKind::Return(Some(self.expr()?))),
            "assert" => self.assertion(),
            "assume" => Ok(StmtKind::Assume(self.expr()?)),
            "await" if self.has_word("scan") => Ok(StmtKind::Scan(self.expr()?)),
            "await" => Ok(StmtKind::Await(self.expr()?)),
            "join" => Ok(StmtKind::Join(self.target()?)),
            "monitor" => {
                let target = self.target()?;
                Ok(StmtKind::Monitor(target, self.arguments()?))
            }
            _ => {
                let target = self.target()?;
                Ok(StmtKind::Send(target, self.arguments()?))
            }
        }
    }

    fn assignment_or_call(&mut self) -> Parsed<StmtKind> {
        let value = self.expr()?;
        let operator = match self.peek() {
            Kind::Sign("=") => None,
            Kind::Sign("+=") => Some(Operator::Add),
            Kind::Sign("-=") => Some(Operator::Subtract),
            Kind::Sign("*=") => Some(Operator::Multiply),
            Kind::Sign("&=") => Some(Operator::BitAnd),
            Kind::Sign("|=") => Some(Operator::BitOr),
            Kind::Sign("^=") => Some(Operator::BitXor),
            Kind::Sign("<<=") => Some(Operator::ShiftLeft),
            Kind::Sign(">>=") => Some(Operator::ShiftRight),
            _ => return Ok(StmtKind::Expr(value)),
        };
        let ExprKind::Place(place) = value.kind else { return self.error("a variable") };
        self.next();
        Ok(StmtKind::Assign(place, operator, self.expr()?))
    }

    fn if_statement(&mut self) -> Parsed<StmtKind> {
        let condition = self.expr()?;
        let then = self.block()?;
        let mut otherwise: Block = Block::from([]);
        if self.has_word("else") {
            let line = self.line();
            otherwise = if self.has_word("if") {
                let kind = self.if_statement()?;
                Block::from([Stmt { line, kind }])
            } else {
                self.block()?
            };
        }
        Ok(StmtKind::If(condition, then, otherwise))
    }

    fn lock(&mut self, op: LockOp) -> Parsed<StmtKind> {
        let place = self.place()?;
        if self.has_sign(";") {
            return Ok(StmtKind::Lock(op, place));
        }
        let body = self.block()?;
        Ok(StmtKind::Locked(op, place, body, self.last_line()))
    }

    pub(super) fn place(&mut self) -> Parsed<Place> {
        let line = self.line();
        let mut name = self.name()?;
        let mut indices = self.indices()?;
        if self.has_sign(".") {
            name = format!("{name}.{}", self.name()?);
            // A field of an actor may be an array.
            indices.extend(self.indices()?);
        }
        Ok(Place { line, name, indices })
    }

    fn target(&mut self) -> Parsed<Target> {
        if self.has_word("self") {
            return Ok(Target::Me);
        }
        Ok(Target::Named(self.place()?))
    }

    fn receive(&mut self) -> Parsed<StmtKind> {
        if self.is_sign("(") {
            let (patterns, guard) = self.head()?;
            let body = self.block()?;
            return Ok(StmtKind::Receive([Arm { patterns, guard, body }].into(), None));
        }
        self.sign("{")?;
        let (mut arms, mut after) = (Vec::new(), None);
        while !self.has_sign("}") {
            if self.has_word("after") {
                self.sign("=>")?;
                after = Some(self.block()?);
                continue;
            }
            let (patterns, guard) = self.head()?;
            self.sign("=>")?;
            arms.push(Arm { patterns, guard, body: self.block()? });
        }
        Ok(StmtKind::Receive(arms.into(), after))
    }

    /// The patterns and the guard of a branch.
    fn head(&mut self) -> Parsed<(Vec<Pattern>, Option<Expr>)> {
        self.sign("(")?;
        let mut patterns = Vec::new();
        while !self.has_sign(")") {
            patterns.push(self.pattern()?);
            if !self.is_sign(")") {
                self.sign(",")?;
            }
        }
        let guard = if self.has_word("if") { Some(self.expr()?) } else { None };
        Ok((patterns, guard))
    }

    fn pattern(&mut self) -> Parsed<Pattern> {
        if self.has_word("_") {
            return Ok(Pattern::Any);
        }
        if self.has_word("let") {
            return Ok(Pattern::Bind(self.name()?));
        }
        Ok(Pattern::Equal(self.expr()?))
    }
}
