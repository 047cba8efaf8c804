//! Actors: a field is a shared variable that only the tasks of its actor use, and a task a procedure that is posted.
//!
//! What belongs to an actor becomes an item of its own, with the name of the actor before its own: `account.balance`.
//! In the code of the actor the short name stands for it.

use super::expressions::{leaf, tallest};
use super::{Parsed, Parser, Reported};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};
use crate::span::Span;
use crate::tree::written::{
    ActorDecl, Expr, ExprKind, Ident, Initial, Item, Leaf, Member, ObjectDecl, ObjectKind, Place,
    Post, Replicas, Routine,
};

/// What is known of an actor before it is parsed: its members may be used above their declarations.
pub(super) struct Actor {
    pub(super) name: String,
    members: Vec<String>,
}

/// The actor that is being parsed.
pub(super) struct Inside {
    actor: usize,
    name: String,
    replicas: Option<Replicas>,
}

/// Returns the actors of a text with the names of their members.
pub(super) fn actors(text: &str, tokens: &[Token]) -> Vec<Actor> {
    let word = |token: &Token| token.span.of(text);
    let mut actors: Vec<Actor> = Vec::new();
    let (mut depth, mut inside) = (0_u32, false);
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::LeftBrace => depth += 1,
            TokenKind::RightBrace => {
                depth = depth.saturating_sub(1);
                inside &= depth > 0;
            }
            _ => {}
        }
        let [first, second] = [at + 1, at + 2].map(|next| tokens.get(next));
        let Some(first) = first.filter(|it| matches!(it.kind, TokenKind::Name | TokenKind::Atomic))
        else {
            continue;
        };
        if depth == 0 && token.kind == TokenKind::Name && word(token) == "actor" {
            inside = true;
            actors.push(Actor { name: word(first).to_owned(), members: Vec::new() });
        } else if inside && depth == 1 && starts_member(token.kind, word(token)) {
            let name = if first.kind == TokenKind::Atomic { second } else { Some(first) };
            let members = actors.last_mut().map(|actor| &mut actor.members);
            members.into_iter().for_each(|it| it.extend(name.map(|name| word(name).to_owned())));
        }
    }
    actors
}

fn starts_member(kind: TokenKind, word: &str) -> bool {
    use TokenKind::{Fn, List, Map, Proc, Shared};
    matches!(kind, Shared | List | Map | Fn | Proc) || word == "task"
}

impl Parser<'_, '_> {
    /// `actor account { shared balance = 0; task deposit(v: int) { … } }`. A keyword only here, so that older programs may have
    /// it as a name.
    pub(super) fn actor_decl(&mut self) -> Parsed<ActorDecl> {
        let word = self.bump();
        let name = self.ident("the name of an actor")?;
        let replicas = match self.eat(TokenKind::LeftParen) {
            true => Some(self.replicas()?),
            false => None,
        };
        let open = self
            .expect(TokenKind::LeftBrace, " and its fields and tasks, as in `task run() { … }`")?;
        let actor = self.actors.iter().position(|it| it.name == name.text).unwrap_or_default();
        self.inside = Some(Inside { actor, name: name.text.clone(), replicas });
        let closed = self.nested(|parser| parser.members(open.span));
        let replicas = self.inside.take().and_then(|inside| inside.replicas);
        closed?;
        Ok(ActorDecl { name, replicas, span: word.span.to(self.previous()) })
    }

    /// All members, up to the brace that closes the actor.
    fn members(&mut self, open: Span) -> Parsed<()> {
        while self.peek() != TokenKind::RightBrace {
            let is_member = starts_member(self.peek(), self.token().span.of(self.text));
            if self.peek() == TokenKind::End || self.starts_line() && !is_member {
                return Err(self.unclosed(open));
            }
            let before = self.at;
            match self.member() {
                Ok(item) => self.inner_items.extend(item),
                Err(Reported) => self.skip_to_statement(before),
            }
        }
        self.bump();
        Ok(())
    }

    /// Returns what is declared; `None` if it cannot be declared here, which has been reported.
    fn member(&mut self) -> Parsed<Option<Item>> {
        match self.peek() {
            TokenKind::Shared => self.shared_decl().map(|decl| self.field_of_actor(decl)),
            TokenKind::List | TokenKind::Map => {
                let is_list = self.peek() == TokenKind::List;
                let kind = if is_list { ObjectKind::List } else { ObjectKind::Map };
                self.object_decl(kind).map(|decl| self.field_of_actor(decl))
            }
            TokenKind::Fn | TokenKind::Proc => {
                let routine = self.routine(false)?;
                Ok(Some(Item::Routine(self.routine_of_actor(routine))))
            }
            TokenKind::Name if self.is_word("task") => {
                let routine = self.task()?;
                Ok(Some(Item::Routine(self.routine_of_actor(routine))))
            }
            _ => {
                let span = self.token().span;
                let message = format!("expected a field or a task, found {}", self.found());
                let help = "an actor has `shared`, `list` and `map`, `task`s, and `fn` and `proc` that its tasks call";
                Err(self.report(Diagnostic::error(span, message).help(help)))
            }
        }
    }

    fn task(&mut self) -> Parsed<Routine> {
        self.bump();
        let name = self.ident("the name of a task")?;
        self.expect(TokenKind::LeftParen, " and the parameters")?;
        let params = self.comma_list(TokenKind::RightParen, Self::param)?;
        let result = match self.eat(TokenKind::Arrow) {
            true => Some(self.type_name()?),
            false => None,
        };
        let body = self.block(&format!("and the body of task `{}`", name.text))?;
        Ok(Routine {
            name,
            params,
            result,
            atomic: true,
            member: None,
            task: true,
            watches: false,
            body,
        })
    }

    /// What belongs to the actor that is being parsed.
    fn membership(&self) -> Option<Member> {
        let inside = self.inside.as_ref()?;
        let index = inside.replicas.as_ref().map(|replicas| replicas.index.clone());
        Some(Member { actor: inside.name.clone(), index })
    }

    fn full_name(&self, name: Ident) -> Ident {
        match &self.inside {
            Some(inside) => Ident { text: format!("{}.{}", inside.name, name.text), ..name },
            None => name,
        }
    }

    fn routine_of_actor(&self, routine: Routine) -> Routine {
        let name = self.full_name(routine.name);
        Routine { name, member: self.membership(), ..routine }
    }

    fn field_of_actor(&mut self, decl: ObjectDecl) -> Option<Item> {
        if self.of_records.last().is_some_and(|(variable, _)| variable.span == decl.name.span) {
            self.of_records.pop();
            let error = Diagnostic::error(decl.name.span, "a field of an actor is not a record");
            self.report(error.help("declare a field for each part of it"));
            return None;
        }
        let count =
            self.inside.as_ref().and_then(|it| it.replicas.as_ref()).map(|it| it.high.clone());
        let mut sizes = decl.sizes;
        if let Some(count) = count {
            let problem = match &decl.initial {
                _ if sizes.len() > 1 => Some((
                    "a field of several actors has at most one dimension",
                    "compute one index from two",
                )),
                None | Some(Initial::Value(_)) => None,
                Some(_) => Some((
                    "each of several actors begins with the same",
                    "give one value for all, or let a task fill it",
                )),
            };
            if let Some((message, help)) = problem {
                self.report(Diagnostic::error(decl.name.span, message).help(help));
                return None;
            }
            sizes.insert(0, count);
        }
        let name = self.full_name(decl.name);
        Some(Item::Object(ObjectDecl { name, sizes, member: self.membership(), ..decl }))
    }

    /// Returns the name of a member of the actor that is being parsed, with the name of the actor; `None` if it is none.
    fn own_member(&self, name: &Ident) -> Option<Ident> {
        let inside = self.inside.as_ref()?;
        let members = &self.actors.get(inside.actor)?.members;
        members.contains(&name.text).then(|| self.full_name(name.clone()))
    }

    /// Returns the name of a routine that is called: in an actor, perhaps of one of its own.
    pub(super) fn called(&self, name: Ident) -> Ident {
        self.own_member(&name).unwrap_or(name)
    }

    /// Returns the field of the actor that is being parsed, if it is one.
    pub(super) fn own_field(&self, place: Place) -> Place {
        let Some(name) = self.own_member(&place.name) else { return place };
        let mut indices = place.indices;
        if self.inside.as_ref().is_some_and(|it| it.replicas.is_some()) {
            indices.insert(0, leaf(Leaf::ActorIndex, place.span));
        }
        Place { name, indices, ..place }
    }

    /// `account.balance`, `worker[i].done[2]`, as properties write it.
    pub(super) fn field_from_outside(&mut self, actor: Place) -> Parsed<Place> {
        if self.peek() != TokenKind::Dot {
            return Ok(actor);
        }
        self.bump();
        let field = self.ident("the name of a field")?;
        let text = format!("{}.{}", actor.name.text, field.text);
        if self.peek() == TokenKind::LeftParen {
            let message = format!("`{text}` is not called from outside of the actor");
            let help = format!("post a task: `post {text}(…)`");
            return Err(self.report(Diagnostic::error(field.span, message).help(help)));
        }
        let rest = self.indexed(Ident { text, ..field })?;
        let mut indices = actor.indices;
        indices.extend(rest.indices);
        let span = actor.span.to(rest.span);
        Ok(Place { name: rest.name, record: Some(actor.name), indices, span })
    }

    pub(super) fn is_actor(&self, name: &str) -> bool {
        self.actors.iter().any(|actor| actor.name == name)
    }

    /// Returns whether `post` follows, and then the name of an actor or of a task. A keyword only there.
    pub(super) fn posts(&self) -> bool {
        self.is_word("post") && self.peek_second() == TokenKind::Name
    }

    /// `post account.deposit(5)`, `post worker[i].run()`; in an actor also `post run()`, to itself.
    pub(super) fn post(&mut self) -> Parsed<Expr> {
        let word = self.bump();
        let name = self.ident("the name of an actor")?;
        let is_own = self.peek() == TokenKind::LeftParen;
        let (actor, task) = if is_own && self.inside.is_some() {
            (None, self.full_name(name))
        } else {
            let place = self.indexed(name)?;
            if self.peek() != TokenKind::Dot {
                let span = self.token().span;
                let message = format!("expected `.` and a task, found {}", self.found());
                let help = "a task is posted to an actor: `post account.deposit(5)`";
                return Err(self.report(Diagnostic::error(span, message).help(help)));
            }
            self.bump();
            let task = self.ident("the name of a task")?;
            let text = format!("{}.{}", place.name.text, task.text);
            (Some(place), Ident { text, ..task })
        };
        self.expect(TokenKind::LeftParen, " and the arguments of the task")?;
        let args = self.args()?;
        let span = word.span.to(self.previous());
        let indices = actor.as_ref().map_or(0, |place| tallest(&place.indices));
        let known = 1 + tallest(&args).max(indices);
        let kind = ExprKind::Leaf(Leaf::Post(Post { actor, task, args }));
        self.limited(Expr { kind, known, span })
    }

    /// `await f` as a value.
    pub(super) fn awaited_value(&mut self) -> Parsed<Expr> {
        let word = self.bump();
        let future = self.nested(Self::unary)?;
        let (span, known) = (word.span.to(future.span), future.known + 1);
        self.limited(Expr { kind: ExprKind::Leaf(Leaf::Await(Box::new(future))), known, span })
    }
}
