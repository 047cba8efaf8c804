//! Parameters: values, and objects that threads share.

use super::expressions::leaf;
use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::ir::Type;
use crate::lexer::TokenKind;
use crate::ops::Delivery;
use crate::tree::written::{Leaf, ObjectDecl, ObjectKind, Param, ParamKind};

/// An object has at most so many dimensions.
const MOST_DIMENSIONS: usize = 2;

impl Parser<'_, '_> {
    /// `v: int`, `m: mutex`, `forks: mutex[]`, `x: shared atomic int`.
    pub(super) fn param(&mut self) -> Parsed<Param> {
        if let Some((word, kind)) = self.type_first() {
            let span = self.bump().span;
            let name = self.ident("the name of a parameter")?;
            let message = "the name of a parameter stands before its type";
            let help = format!("write `{}: {word}`", name.text);
            self.report(Diagnostic::error(span.to(name.span), message).help(help));
            return Ok(object(Param { name, kind: ParamKind::Value(Type::Int) }, kind, Vec::new()));
        }
        let name = self.ident("the name of a parameter")?;
        let value = |ty| Param { name: name.clone(), kind: ParamKind::Value(ty) };
        if !self.eat(TokenKind::Colon) {
            let message = format!("parameter `{}` has no type", name.text);
            let help = format!("write `{}: int` or `{}: bool`", name.text, name.text);
            self.report(Diagnostic::error(name.span, message).help(help));
            return Ok(value(Type::Int));
        }
        let Some(kind) = self.object_type()? else { return self.type_name().map(value) };
        let mut sizes = Vec::new();
        while self.peek() == TokenKind::LeftBracket {
            let open = self.bump().span;
            if self.peek() != TokenKind::RightBracket {
                let span = self.token().span;
                let message = "the size of an array that is a parameter is that of the argument";
                let help = format!("write `[]`; `len({})` is the size", name.text);
                return Err(self.report(Diagnostic::error(span, message).help(help)));
            }
            let span = open.to(self.bump().span);
            // Only how many there are is looked at.
            sizes.push(leaf(Leaf::Int(0), span));
            if sizes.len() > MOST_DIMENSIONS {
                let message = "an array has one or two dimensions";
                return Err(self.report(Diagnostic::error(span, message)));
            }
        }
        Ok(object(value(Type::Int), kind, sizes))
    }

    /// Returns the type, if it stands where a name should, as in other languages.
    fn type_first(&self) -> Option<(&'static str, ObjectKind)> {
        let word = self.token().span.of(self.text);
        let word = if self.peek() == TokenKind::Lock { "mutex" } else { word };
        let known = KINDS.iter().find(|(name, _)| *name == word);
        known.copied().filter(|_| self.peek_second() == TokenKind::Name)
    }

    /// Returns the kind of object that a parameter stands for; `None` if the type is one of values.
    fn object_type(&mut self) -> Parsed<Option<ObjectKind>> {
        if self.eat(TokenKind::Shared) {
            let atomic = self.eat(TokenKind::Atomic);
            let ty = Some(self.type_name()?);
            return Ok(Some(ObjectKind::Shared { atomic, ty }));
        }
        let word = self.token().span.of(self.text);
        if self.enums.iter().any(|name| name == word) {
            return Ok(None);
        }
        let kind = KINDS.iter().find(|(name, _)| *name == word).map(|&(_, kind)| kind);
        if kind.is_some() {
            self.bump();
        }
        Ok(kind)
    }
}

/// How parameters are declared that are objects, but for variables.
const KINDS: [(&str, ObjectKind); 8] = [
    ("mutex", ObjectKind::Mutex),
    ("rwlock", ObjectKind::Rwlock),
    ("cond", ObjectKind::Cond),
    ("semaphore", ObjectKind::Semaphore),
    ("barrier", ObjectKind::Barrier),
    ("list", ObjectKind::List),
    ("map", ObjectKind::Map),
    // Of any kind.
    ("channel", ObjectKind::Channel(Delivery { lossy: false, reordering: false })),
];

fn object(param: Param, kind: ObjectKind, sizes: Vec<crate::tree::written::Expr>) -> Param {
    let name = param.name.clone();
    let decl = ObjectDecl { kind, name, sizes, initial: None, member: None };
    Param { kind: ParamKind::Object(Box::new(decl)), ..param }
}
