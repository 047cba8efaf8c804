//! Reads declarations; statements and expressions are read in files of their own.

use std::rc::Rc;

use super::ghosts::unread;
use super::lexer::{Kind, Token, tokens};
use super::syntax::{
    Expr, Finally, Initial, ObjectDecl, ObjectKind, Routine, Source, Stmt, ThreadDecl,
};

/// Reads a program.
///
/// It accepts every program of the language, and more: what the checker rejects never gets here.
///
/// # Errors
/// The first line that is not understood.
pub(super) fn parse(text: &str) -> Result<Source, String> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let mut source = Source { unread: unread(&parser.tokens), ..Source::default() };
    while *parser.peek() != Kind::End {
        parser.declaration(&mut source)?;
    }
    Ok(source)
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
}

/// What a part of the text is, or the line that is not understood.
pub(super) type Parsed<T> = Result<T, String>;

impl Parser {
    pub(super) fn peek(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    /// The token after the next one.
    pub(super) fn peek_second(&self) -> &Kind {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].kind
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens[self.at].line
    }

    /// The line of what was read last.
    pub(super) fn last_line(&self) -> u32 {
        self.tokens[self.at.saturating_sub(1)].line
    }

    pub(super) fn next(&mut self) -> Kind {
        let kind = self.peek().clone();
        if kind != Kind::End {
            self.at += 1;
        }
        kind
    }

    pub(super) fn error<T>(&self, wanted: &str) -> Parsed<T> {
        Err(format!("line {}: {wanted} is missing before {:?}", self.line(), self.peek()))
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Kind::Sign(found) if *found == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Kind::Word(found) if found == word)
    }

    /// Takes the sign if it is next.
    pub(super) fn has_sign(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(sign);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes the word if it is next.
    pub(super) fn has_word(&mut self, word: &str) -> bool {
        let is_next = self.is_word(word);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn sign(&mut self, sign: &str) -> Parsed<()> {
        if self.has_sign(sign) { Ok(()) } else { self.error(&format!("`{sign}`")) }
    }

    pub(super) fn word(&mut self, word: &str) -> Parsed<()> {
        if self.has_word(word) { Ok(()) } else { self.error(&format!("`{word}`")) }
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Kind::Word(_) => match self.next() {
                Kind::Word(word) => Ok(word),
                _ => self.error("a name"),
            },
            _ => self.error("a name"),
        }
    }

    fn declaration(&mut self, source: &mut Source) -> Parsed<()> {
        let start = self.tokens[self.at].start;
        let word = self.name()?;
        match word.as_str() {
            "const" => {
                let name = self.name()?;
                if let Some(size) = self.indices()?.pop() {
                    self.type_annotation()?;
                    self.sign("=")?;
                    source.tables.push((name, size, self.initial()?));
                    return self.sign(";");
                }
                self.type_annotation()?;
                self.sign("=")?;
                source.constants.push((name, self.expr()?));
                self.sign(";")
            }
            "record" => {
                let name = self.name()?;
                self.sign("{")?;
                let mut fields = Vec::new();
                while !self.has_sign("}") {
                    let field = self.name()?;
                    self.type_annotation()?;
                    self.sign("=")?;
                    fields.push((field, self.expr()?));
                    if !self.is_sign("}") {
                        self.sign(",")?;
                    }
                }
                source.records.push((name, fields));
                Ok(())
            }
            "enum" => {
                self.name()?;
                self.sign("{")?;
                let mut number = 0;
                while !self.has_sign("}") {
                    source.members.push((self.name()?, number));
                    number += 1;
                    if !self.is_sign("}") {
                        self.sign(",")?;
                    }
                }
                Ok(())
            }
            "shared" => {
                self.has_word("atomic");
                self.object(source, ObjectKind::Variable)
            }
            "ghost" => self.object(source, ObjectKind::Ghost),
            "mutex" => self.object(source, ObjectKind::Mutex),
            "rwlock" => self.object(source, ObjectKind::RwLock),
            "cond" => self.object(source, ObjectKind::Cond),
            "semaphore" => self.object(source, ObjectKind::Semaphore),
            "list" => self.object(source, ObjectKind::List),
            "map" => self.object(source, ObjectKind::Map),
            "barrier" => self.sized(source, ObjectKind::Barrier),
            "channel" | "lossy" | "reordering" => {
                let (mut lossy, mut reordering) = (word == "lossy", word == "reordering");
                let mut last = word;
                while last != "channel" {
                    last = self.name()?;
                    lossy |= last == "lossy";
                    reordering |= last == "reordering";
                }
                self.sized(source, ObjectKind::Channel { lossy, reordering })
            }
            "daemon" => {
                self.word("thread")?;
                self.thread(source, true)
            }
            "thread" => self.thread(source, false),
            "actor" => self.actor(source),
            "atomic" => {
                self.word("proc")?;
                self.routine(source, true)
            }
            "proc" | "fn" => self.routine(source, false),
            "finally" => {
                let body = self.block()?;
                let end = self.tokens[self.at - 1].end;
                source.finally = Some(Finally { body, start, end });
                Ok(())
            }
            "always" => {
                let line = self.tokens[self.at].line;
                let kind = self.assertion()?;
                // Promises are about executions without end: others decide them.
                if self.is_word("leads_to") {
                    return self.leave_out_declaration();
                }
                source.invariants.push(Rc::new([Stmt { line, kind }]));
                self.sign(";")
            }
            "independent" | "eventually" => self.leave_out_declaration(),
            _ => Err(format!("line {}: no declaration starts with `{word}`", self.line())),
        }
    }

    /// Leaves out a declaration that decides nothing here.
    fn leave_out_declaration(&mut self) -> Parsed<()> {
        while !self.has_sign(";") {
            if self.next() == Kind::End {
                return self.error("`;`");
            }
        }
        Ok(())
    }

    /// `: int`, perhaps.
    pub(super) fn type_annotation(&mut self) -> Parsed<()> {
        if self.has_sign(":") {
            self.type_name()?;
        }
        Ok(())
    }

    /// `int`, `future`, `future int`.
    fn type_name(&mut self) -> Parsed<()> {
        if self.name()? == "future" && matches!(self.peek(), Kind::Word(_)) {
            self.name()?;
        }
        Ok(())
    }

    fn object(&mut self, source: &mut Source, kind: ObjectKind) -> Parsed<()> {
        let name = self.name()?;
        let dimensions = self.indices()?;
        if self.has_sign(":") {
            let ty = self.name()?;
            // A record has no value of its own.
            if self.has_sign(";") {
                source.of_records.push((name, dimensions, ty));
                return Ok(());
            }
        }
        let initial = if self.has_sign("=") { self.initial()? } else { Initial::None };
        source.objects.push(ObjectDecl { kind, name, dimensions, initial, own: 0 });
        self.sign(";")
    }

    /// A barrier or a channel: with a number in parentheses.
    fn sized(&mut self, source: &mut Source, kind: ObjectKind) -> Parsed<()> {
        let name = self.name()?;
        let dimensions = self.indices()?;
        self.sign("(")?;
        let initial = Initial::All(self.expr()?);
        self.sign(")")?;
        source.objects.push(ObjectDecl { kind, name, dimensions, initial, own: 0 });
        self.sign(";")
    }

    /// `[i][j]`
    pub(super) fn indices(&mut self) -> Parsed<Vec<Expr>> {
        let mut indices = Vec::new();
        while self.has_sign("[") {
            indices.push(self.expr()?);
            self.sign("]")?;
        }
        Ok(indices)
    }

    pub(super) fn initial(&mut self) -> Parsed<Initial> {
        if self.has_sign("[") {
            let mut items = Vec::new();
            while !self.has_sign("]") {
                items.push(self.initial()?);
                if !self.is_sign("]") {
                    self.sign(",")?;
                }
            }
            return Ok(Initial::List(items));
        }
        if self.has_sign("{") {
            let mut entries = Vec::new();
            while !self.has_sign("}") {
                let key = self.expr()?;
                self.sign(":")?;
                entries.push((key, self.expr()?));
                if !self.is_sign("}") {
                    self.sign(",")?;
                }
            }
            return Ok(Initial::Map(entries));
        }
        Ok(Initial::All(self.expr()?))
    }

    /// `actor a(i in 0..N) { … }`: its members are declarations with longer names.
    fn actor(&mut self, source: &mut Source) -> Parsed<()> {
        let actor = self.name()?;
        let range = self.range()?;
        let (index, count) = range.map(|(index, _, high)| (index, high)).unzip();
        self.sign("{")?;
        let (objects, routines) = (source.objects.len(), source.routines.len());
        while !self.has_sign("}") {
            let is_task = self.is_word("task");
            if is_task {
                self.next();
                self.routine(source, true)?;
            } else {
                self.declaration(source)?;
            }
            if let Some(routine) = source.routines.last_mut().filter(|_| is_task) {
                routine.task = true;
            }
        }
        for object in &mut source.objects[objects..] {
            object.name = format!("{actor}.{}", object.name);
            object.own = object.dimensions.len();
            object.dimensions.splice(0..0, count.clone());
        }
        for routine in &mut source.routines[routines..] {
            routine.name = format!("{actor}.{}", routine.name);
            routine.parameters.splice(0..0, index.clone());
        }
        source.actors.push((actor, count));
        Ok(())
    }

    /// `(i in 0..N)`, perhaps.
    fn range(&mut self) -> Parsed<Option<(String, Expr, Expr)>> {
        if !self.has_sign("(") {
            return Ok(None);
        }
        let index = self.name()?;
        self.word("in")?;
        let low = self.expr()?;
        self.sign("..")?;
        let high = self.expr()?;
        self.sign(")")?;
        Ok(Some((index, low, high)))
    }

    fn thread(&mut self, source: &mut Source, daemon: bool) -> Parsed<()> {
        let name = self.name()?;
        let range = self.range()?;
        let body = self.block()?;
        source.threads.push(ThreadDecl { name, daemon, range, body });
        Ok(())
    }

    /// The type of a parameter: whether it is one of objects.
    fn object_type(&mut self) -> Parsed<bool> {
        const KINDS: [&str; 8] =
            ["mutex", "rwlock", "cond", "semaphore", "barrier", "list", "map", "channel"];
        let is_object = match self.has_word("shared") {
            true => {
                self.has_word("atomic");
                self.type_name()?;
                true
            }
            false => KINDS.iter().any(|kind| self.has_word(kind)),
        };
        if !is_object {
            self.type_name()?;
        }
        while self.has_sign("[") {
            self.sign("]")?;
        }
        Ok(is_object)
    }

    fn routine(&mut self, source: &mut Source, atomic: bool) -> Parsed<()> {
        let name = self.name()?;
        self.sign("(")?;
        let (mut parameters, mut objects) = (Vec::new(), Vec::new());
        while !self.has_sign(")") {
            parameters.push(self.name()?);
            self.sign(":")?;
            objects.push(self.object_type()?);
            if !self.is_sign(")") {
                self.sign(",")?;
            }
        }
        if self.has_sign("->") {
            self.type_name()?;
        }
        let body = self.block()?;
        source.routines.push(Routine { name, parameters, objects, atomic, task: false, body });
        Ok(())
    }
}
