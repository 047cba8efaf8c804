//! Declarations.

use super::{Parsed, Parser, Reported};
use crate::diagnostic::{Diagnostic, nearest};
use crate::ir::{EnumId, Type, Yield};
use crate::lexer::{TokenKind, string_value};
use crate::ops::{Delivery, Op};
use crate::span::Span;
use crate::tree::written::{
    Always, Block, ConstDecl, EnumDecl, Expr, Finally, Ident, Import, Independent, IndependentSide,
    Initial, Item, ObjectDecl, ObjectKind, Promise, Replicas, Routine, Stmt, StmtKind, TableDecl,
    ThreadDecl,
};

impl Parser<'_, '_> {
    /// Returns a declaration; `None` for an import.
    pub(super) fn item(&mut self) -> Parsed<Option<Item>> {
        if self.is_word("import") && self.peek_second() == TokenKind::Str {
            return self.import().map(|()| None);
        }
        self.declaration().map(Some)
    }

    /// `import "locks.sel";`. A keyword only before a string, so that older programs may have it as a name.
    fn import(&mut self) -> Parsed<()> {
        let word = self.bump();
        let path = self.bump().span;
        let span = word.span.to(path);
        self.imports.push(Import { path: string_value(path.of(self.text)), span });
        self.expect_semicolon(" after the import");
        Ok(())
    }

    pub(super) fn declaration(&mut self) -> Parsed<Item> {
        match self.peek() {
            TokenKind::Const => self.const_decl(),
            TokenKind::Shared => self.shared_decl().map(Item::Object),
            TokenKind::Mutex => self.object_decl(ObjectKind::Mutex).map(Item::Object),
            TokenKind::Rwlock => self.object_decl(ObjectKind::Rwlock).map(Item::Object),
            TokenKind::Cond => self.object_decl(ObjectKind::Cond).map(Item::Object),
            TokenKind::Semaphore => self.object_decl(ObjectKind::Semaphore).map(Item::Object),
            TokenKind::List => self.object_decl(ObjectKind::List).map(Item::Object),
            TokenKind::Map => self.object_decl(ObjectKind::Map).map(Item::Object),
            TokenKind::Barrier => self.barrier_decl().map(Item::Object),
            TokenKind::Fn | TokenKind::Proc => self.routine(false).map(Item::Routine),
            TokenKind::Atomic if self.peek_second() == TokenKind::Proc => {
                self.bump();
                self.routine(true).map(Item::Routine)
            }
            TokenKind::Thread | TokenKind::Daemon => self.thread_decl().map(Item::Thread),
            TokenKind::Finally => self.finally().map(Item::Finally),
            TokenKind::Always => self.always(),
            TokenKind::Name if self.is_word("ghost") => self.ghost_decl().map(Item::Object),
            TokenKind::Name if self.is_word("eventually") => self.eventually().map(Item::Promise),
            TokenKind::Name if self.starts_channel() => self.channel_decl().map(Item::Object),
            TokenKind::Name if self.is_word("record") => self.record_decl().map(Item::Record),
            TokenKind::Name if self.is_word("actor") => self.actor_decl().map(Item::Actor),
            TokenKind::Name if self.is_word("enum") => self.enum_decl().map(Item::Enum),
            TokenKind::Independent => self.independent().map(Item::Independent),
            _ => Err(self.no_item()),
        }
    }

    fn no_item(&mut self) -> Reported {
        let token = self.token();
        if token.kind == TokenKind::RightBrace {
            let message = "this `}` closes nothing";
            return self.report(Diagnostic::error(token.span, message).help("remove it"));
        }
        const WORDS: [&str; 28] = [
            "import",
            "actor",
            "ghost",
            "record",
            "channel",
            "lossy",
            "reordering",
            "const",
            "enum",
            "shared",
            "mutex",
            "rwlock",
            "cond",
            "semaphore",
            "barrier",
            "list",
            "map",
            "fn",
            "proc",
            "atomic",
            "thread",
            "daemon",
            "finally",
            "always",
            "eventually",
            "independent",
            "int",
            "var",
        ];
        let word = token.span.of(self.text);
        let near = nearest(word, WORDS).filter(|_| foreign_declaration(word).is_none());
        let help = match near {
            Some("int" | "var") => {
                "declare a variable with `shared x = 0;`, a constant with `const N = 3;`".to_owned()
            }
            Some(near) if token.kind == TokenKind::Name => format!("did you mean `{near}`?"),
            _ if token.kind == TokenKind::Atomic => {
                "write `atomic proc …` or `shared atomic …`; an `atomic` block belongs inside a thread"
                    .to_owned()
            }
            _ => foreign_declaration(word)
                .unwrap_or("a statement belongs inside a thread: `thread t { … }`")
                .to_owned(),
        };
        let message = format!("expected a declaration, found {}", self.found());
        self.report(Diagnostic::error(token.span, message).help(help))
    }

    fn const_decl(&mut self) -> Parsed<Item> {
        self.bump();
        let name = self.ident("the name of a constant")?;
        if self.peek() == TokenKind::LeftBracket {
            return self.table_decl(name).map(Item::Table);
        }
        let ty = self.type_annotation()?;
        self.expect(TokenKind::Assign, " and the value of the constant")?;
        let value = self.expression()?;
        self.expect_semicolon(" after the constant");
        Ok(Item::Const(ConstDecl { name, ty, value }))
    }

    /// `const T[3] = [1, 2, 3];`
    fn table_decl(&mut self, name: Ident) -> Parsed<TableDecl> {
        let mut sizes = self.sizes()?;
        let ty = self.type_annotation()?;
        self.expect(TokenKind::Assign, " and the values of the constant array")?;
        let initial = self.initial_value()?;
        self.expect_semicolon(" after the constant array");
        let size = sizes.pop().expect("internal error: a bracket was seen");
        if !sizes.is_empty() {
            let error = Diagnostic::error(name.span, "a constant array has one dimension");
            return Err(self.report(error.help("compute one index from two: `T[2 * i + j]`")));
        }
        Ok(TableDecl { name, ty, size, initial })
    }

    /// `enum` is a keyword only here, so that older programs may have it as a name.
    fn enum_decl(&mut self) -> Parsed<EnumDecl> {
        self.bump();
        let name = self.ident("the name of an enumeration")?;
        self.expect(TokenKind::LeftBrace, " and the values, as in `enum State { Idle, Busy }`")?;
        let members =
            self.comma_list(TokenKind::RightBrace, |parser| parser.ident("the name of a value"))?;
        if members.is_empty() {
            let message = format!("enumeration `{}` has no values", name.text);
            let help = "name at least one: `enum State { Idle, Busy }`";
            self.report(Diagnostic::error(name.span, message).help(help));
        }
        Ok(EnumDecl { name, members })
    }

    pub(super) fn shared_decl(&mut self) -> Parsed<ObjectDecl> {
        self.bump();
        let atomic = self.eat(TokenKind::Atomic);
        let name = self.ident("the name of a shared variable")?;
        let mut record = self.of_record();
        let mut ty = self.type_annotation()?;
        let sizes = self.sizes()?;
        record = record.or_else(|| self.of_record());
        if let Some(record) = record {
            return self.shared_record(atomic, name, sizes, record);
        }
        if ty.is_none() {
            ty = self.type_annotation()?;
        }
        let initial = self.initial()?;
        self.expect_semicolon(" after the declaration");
        Ok(ObjectDecl {
            kind: ObjectKind::Shared { atomic, ty },
            name,
            sizes,
            initial,
            member: None,
        })
    }

    /// `ghost g = 0;`. A keyword only here, so that older programs may have it as a name.
    fn ghost_decl(&mut self) -> Parsed<ObjectDecl> {
        self.bump();
        let name = self.ident("the name of a ghost variable")?;
        let mut ty = self.type_annotation()?;
        let sizes = self.sizes()?;
        if ty.is_none() {
            ty = self.type_annotation()?;
        }
        let initial = self.initial()?;
        self.expect_semicolon(" after the declaration");
        Ok(ObjectDecl { kind: ObjectKind::Ghost { ty }, name, sizes, initial, member: None })
    }

    /// `shared p: Point;`: its fields say what they hold at the start.
    fn shared_record(
        &mut self,
        atomic: bool,
        name: Ident,
        sizes: Vec<Expr>,
        record: Ident,
    ) -> Parsed<ObjectDecl> {
        if self.peek() == TokenKind::Assign {
            let error =
                Diagnostic::error(self.token().span, "a record has no initial value of its own");
            let help = "its fields have: `record Point { x = 0, y = 0 }`";
            return Err(self.report(error.help(help)));
        }
        self.expect_semicolon(" after the declaration");
        self.of_records.push((name.clone(), record));
        let kind = ObjectKind::Shared { atomic, ty: None };
        Ok(ObjectDecl { kind, name, sizes, initial: None, member: None })
    }

    pub(super) fn object_decl(&mut self, kind: ObjectKind) -> Parsed<ObjectDecl> {
        self.bump();
        let name = self.ident(&format!("the name of {}", kind.describe()))?;
        let sizes = self.sizes()?;
        let initial = self.initial()?;
        self.expect_semicolon(" after the declaration");
        Ok(ObjectDecl { kind, name, sizes, initial, member: None })
    }

    fn barrier_decl(&mut self) -> Parsed<ObjectDecl> {
        self.bump();
        let name = self.ident("the name of a barrier")?;
        let sizes = self.sizes()?;
        self.expect(TokenKind::LeftParen, " and the number of parties, as in `barrier b(3);`")?;
        let parties = self.expression()?;
        self.expect(TokenKind::RightParen, " after the number of parties")?;
        self.expect_semicolon(" after the declaration");
        let initial = Some(Initial::Value(parties));
        Ok(ObjectDecl { kind: ObjectKind::Barrier, name, sizes, initial, member: None })
    }

    /// `channel`, `lossy` and `reordering` are keywords only here, so that older programs may have them as names.
    fn starts_channel(&self) -> bool {
        ["channel", "lossy", "reordering"].iter().any(|word| self.is_word(word))
    }

    /// `lossy reordering channel c(4);`
    fn channel_decl(&mut self) -> Parsed<ObjectDecl> {
        let mut delivery = Delivery { lossy: false, reordering: false };
        loop {
            match self.token().span.of(self.text) {
                "lossy" => delivery.lossy = true,
                "reordering" => delivery.reordering = true,
                "channel" => break,
                _ => {
                    let message = format!("expected `channel`, found {}", self.found());
                    let error = Diagnostic::error(self.token().span, message);
                    return Err(self.report(error.help("write `lossy channel c(2);`")));
                }
            }
            self.bump();
        }
        self.bump();
        let name = self.ident("the name of a channel")?;
        let sizes = self.sizes()?;
        self.expect(TokenKind::LeftParen, " and how many values fit, as in `channel c(2);`")?;
        let capacity = self.expression()?;
        self.expect(TokenKind::RightParen, " after the capacity")?;
        self.expect_semicolon(" after the declaration");
        let initial = Some(Initial::Value(capacity));
        Ok(ObjectDecl { kind: ObjectKind::Channel(delivery), name, sizes, initial, member: None })
    }

    /// `[n]`, `[n][m]`
    pub(super) fn sizes(&mut self) -> Parsed<Vec<crate::tree::written::Expr>> {
        let mut sizes = Vec::new();
        while self.peek() == TokenKind::LeftBracket {
            let open = self.bump();
            sizes.push(self.expression()?);
            let close = self.expect(TokenKind::RightBracket, " after the size")?;
            if sizes.len() > 2 {
                let span = open.span.to(close.span);
                let error = Diagnostic::error(span, "an array has at most two dimensions");
                return Err(self.report(error.help("compute one index from two")));
            }
        }
        Ok(sizes)
    }

    fn initial(&mut self) -> Parsed<Option<Initial>> {
        if !self.eat(TokenKind::Assign) {
            return Ok(None);
        }
        self.initial_value().map(Some)
    }

    pub(super) fn initial_value(&mut self) -> Parsed<Initial> {
        match self.peek() {
            TokenKind::LeftBracket => self.nested(|parser| {
                let open = parser.bump().span;
                let elements = parser.comma_list(TokenKind::RightBracket, Self::initial_value)?;
                Ok(Initial::Elements { elements, span: open.to(parser.previous()) })
            }),
            TokenKind::LeftBrace => {
                let open = self.bump().span;
                let entries = self.comma_list(TokenKind::RightBrace, |parser| {
                    let key = parser.expression()?;
                    parser.expect(TokenKind::Colon, " between key and value")?;
                    Ok((key, parser.expression()?))
                })?;
                Ok(Initial::Entries { entries, span: open.to(self.previous()) })
            }
            _ => self.expression().map(Initial::Value),
        }
    }

    /// Elements up to `close`, which is taken too. A comma may follow the last one.
    pub(super) fn comma_list<T>(
        &mut self,
        close: TokenKind,
        mut element: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut elements = Vec::new();
        while self.peek() != close {
            elements.push(element(self)?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        if self.peek() != close {
            return Err(self.unexpected(&format!("`,` or {}", close.describe())));
        }
        self.bump();
        Ok(elements)
    }

    /// `: int`, if there is one.
    pub(super) fn type_annotation(&mut self) -> Parsed<Option<Type>> {
        if !self.eat(TokenKind::Colon) {
            return Ok(None);
        }
        self.type_name().map(Some)
    }

    pub(super) fn type_name(&mut self) -> Parsed<Type> {
        let token = self.token();
        let ty = match token.span.of(self.text) {
            "int" => Type::Int,
            "bool" => Type::Bool,
            "thread" => Type::Thread,
            "future" => return self.future_type(),
            word if self.enums.iter().any(|name| name == word) => {
                let id = self.enums.iter().position(|name| name == word);
                self.types.push(self.ident_of(token));
                Type::Enum(EnumId::new(id.expect("internal error: it was found")))
            }
            "mutex" | "rwlock" | "cond" | "semaphore" | "barrier" | "list" | "map" | "channel" => {
                let word = token.span.of(self.text);
                let message =
                    format!("a {word} is shared, and not a value that a variable can have");
                let help = format!("only a parameter stands for one: `proc p(c: {word}) {{ … }}`");
                // It would start a declaration.
                self.bump();
                return Err(self.report(Diagnostic::error(token.span, message).help(help)));
            }
            word => {
                let enums = self.enums.iter().map(String::as_str);
                let near =
                    nearest(word, ["int", "bool", "thread", "future"].into_iter().chain(enums));
                let help = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => {
                        "types are `int`, `bool`, `thread`, `future`, and enumerations: `enum State { Idle, Busy }`"
                            .to_owned()
                    }
                };
                let message = format!("expected a type, found {}", self.found());
                return Err(self.report(Diagnostic::error(token.span, message).help(help)));
            }
        };
        self.bump();
        Ok(ty)
    }

    pub(super) fn routine(&mut self, atomic: bool) -> Parsed<Routine> {
        let is_fn = self.bump().kind == TokenKind::Fn;
        let kind = if is_fn { "a function" } else { "a procedure" };
        let name = self.ident(&format!("the name of {kind}"))?;
        self.expect(TokenKind::LeftParen, " and the parameters")?;
        let params = self.comma_list(TokenKind::RightParen, Self::param)?;
        let result = self.routine_result(is_fn, &name)?;
        let body = self.block(&format!("and the body of `{}`", name.text))?;
        Ok(Routine {
            name,
            params,
            result,
            atomic,
            member: None,
            task: false,
            watches: false,
            body,
        })
    }

    fn routine_result(&mut self, is_fn: bool, name: &Ident) -> Parsed<Option<Type>> {
        if self.eat(TokenKind::Arrow) {
            let span = self.token().span;
            let ty = self.type_name()?;
            if is_fn {
                return Ok(Some(ty));
            }
            let message = format!("procedure `{}` cannot return a value", name.text);
            self.report(Diagnostic::error(span, message).help("write `fn` in place of `proc`"));
            return Ok(None);
        }
        if is_fn {
            let message = format!("function `{}` has no result type", name.text);
            let help = "write `-> int` or `-> bool` before the body, or `proc` in place of `fn`";
            self.report(Diagnostic::error(name.span, message).help(help));
            return Err(Reported);
        }
        Ok(None)
    }

    fn thread_decl(&mut self) -> Parsed<ThreadDecl> {
        let daemon = self.eat(TokenKind::Daemon);
        self.expect(TokenKind::Thread, " after `daemon`")?;
        let name = self.ident("the name of a thread")?;
        let replicas = match self.eat(TokenKind::LeftParen) {
            true => Some(self.replicas()?),
            false => None,
        };
        let body = self.block(&format!("and the body of thread `{}`", name.text))?;
        Ok(ThreadDecl { name, replicas, daemon, body })
    }

    pub(super) fn replicas(&mut self) -> Parsed<Replicas> {
        let index = self.ident("the name of the index, as in `(i in 0..N)`")?;
        self.expect(TokenKind::In, " and a range, as in `(i in 0..N)`")?;
        let low = self.expression()?;
        self.expect(TokenKind::DotDot, " and the end of the range")?;
        let high = self.expression()?;
        self.expect(TokenKind::RightParen, " after the range")?;
        Ok(Replicas { index, low, high })
    }

    fn finally(&mut self) -> Parsed<Finally> {
        let keyword = self.bump().span;
        let body = self.block("after `finally`")?;
        Ok(Finally { keyword, body })
    }

    /// `always c;` is written as an assertion is, and checked like one; so are the conditions of `always p leads_to c;`.
    fn always(&mut self) -> Parsed<Item> {
        let keyword = self.bump().span;
        let condition = self.expression()?;
        if !self.is_word("leads_to") {
            let body = self.asserted(condition, keyword, "always")?;
            return Ok(Item::Always(Always { keyword, body }));
        }
        self.bump();
        let premise = asserts(condition, None, keyword.to(self.previous()));
        let condition = self.expression()?;
        let goal = self.asserted(condition, keyword, "leads_to")?;
        Ok(Item::Promise(Promise { keyword, span: goal.span, premise: Some(premise), goal }))
    }

    /// `eventually` is a keyword only here, so that older programs may have it as a name.
    fn eventually(&mut self) -> Parsed<Promise> {
        let keyword = self.bump().span;
        let condition = self.expression()?;
        let goal = self.asserted(condition, keyword, "eventually")?;
        Ok(Promise { keyword, span: goal.span, premise: None, goal })
    }

    /// The end of an item that asserts something: a message, and the semicolon.
    fn asserted(&mut self, condition: Expr, keyword: Span, word: &str) -> Parsed<Block> {
        let message = self.assertion_message(word)?;
        Ok(asserts(condition, message, keyword.to(self.previous())))
    }

    fn independent(&mut self) -> Parsed<Independent> {
        let keyword = self.bump().span;
        self.expect(TokenKind::LeftParen, " and two names, as in `independent(p, q)`")?;
        let first = self.independent_side()?;
        self.expect(TokenKind::Comma, " and a second name")?;
        let second = self.independent_side()?;
        self.expect(TokenKind::RightParen, " after the second name")?;
        let condition = match self.eat(TokenKind::If) {
            true => Some(self.expression()?),
            false => None,
        };
        let span = keyword.to(self.previous());
        self.expect_semicolon(" after the constraint");
        Ok(Independent { span, sides: [first, second], condition })
    }

    /// `future`, or `future int`: what the task returns.
    fn future_type(&mut self) -> Parsed<Type> {
        self.bump();
        let is_type = match self.token().span.of(self.text) {
            "int" | "bool" => true,
            word => self.enums.iter().any(|name| name == word),
        };
        let result = if is_type { Some(self.type_name()?) } else { None };
        Ok(Type::Future(Yield::of(result).unwrap_or(Yield::Nothing)))
    }

    /// The name of a section, or `atomic 2`: the second block without one.
    fn section_name(&mut self) -> Parsed<Ident> {
        let keyword = self.token();
        if keyword.kind != TokenKind::Atomic {
            return self.ident("the name of an atomic procedure or block, or of an actor");
        }
        self.bump();
        let TokenKind::Int(number) = self.token().kind else {
            return Err(self.unexpected("the number of an atomic block without a name"));
        };
        let span = keyword.span.to(self.bump().span);
        Ok(Ident { text: format!("atomic {number}"), span })
    }

    fn independent_side(&mut self) -> Parsed<IndependentSide> {
        let mut name = self.section_name()?;
        let mut actor = None;
        let mut params = None;
        if self.is_actor(&name.text) {
            if self.eat(TokenKind::LeftBracket) {
                params = Some(vec![self.ident("a name for the index of the actor")?]);
                self.expect(TokenKind::RightBracket, " after the index of the actor")?;
            }
            self.expect(TokenKind::Dot, " and a task of the actor")?;
            let task = self.ident("the name of a task")?;
            let text = format!("{}.{}", name.text, task.text);
            actor = Some(std::mem::replace(&mut name, Ident { text, ..task }));
        }
        if self.eat(TokenKind::LeftParen) {
            params.get_or_insert_default().extend(
                self.comma_list(TokenKind::RightParen, |it| it.ident("a name for the parameter"))?,
            );
        }
        Ok(IndependentSide { name, actor, params })
    }
}

/// Returns a body with one assertion.
fn asserts(condition: Expr, message: Option<Box<str>>, span: Span) -> Block {
    let kind = StmtKind::Op(Op::Assert { condition, message });
    Block { statements: vec![Stmt { kind, span }], span }
}

/// Returns what to write for a declaration that other languages have.
fn foreign_declaration(word: &str) -> Option<&'static str> {
    Some(match word {
        "object" | "agent" | "class" => {
            "objects with tasks are actors: `actor account { shared balance = 0; task deposit(v: int) { … } }`"
        }
        "struct" | "union" | "type" | "typedef" => {
            "declare a record, `record Point { x = 0, y = 0 }`, and variables of it: `shared p: Point;`"
        }
        "let" | "static" | "volatile" | "global" => {
            "what threads share is declared with `shared x = 0;`, a local variable inside a thread"
        }
        "def" | "func" | "function" | "void" => {
            "declare a function with `fn f(a: int) -> int { … }`, a procedure with `proc p(a: int) { … }`"
        }
        "process" | "proctype" | "active" | "main" => "declare a thread with `thread t { … }`",
        "chan" | "queue" => {
            "a bounded queue is a `channel c(4);`, a growable one a `list q;`; each thread has a mailbox"
        }
        "import" | "include" | "use" | "module" => "a program is one file",
        _ => return None,
    })
}
