//! Records: a variable of a record is one variable for each field, and `p.x` is the name of one.

use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};
use crate::span::Span;
use crate::tree::written::{Field, Ident, Initial, Item, ObjectDecl, Place, RecordDecl};

impl Parser<'_, '_> {
    /// `record Node { value = 0, next: int = -1 }`: `record` is a keyword only here.
    pub(super) fn record_decl(&mut self) -> Parsed<RecordDecl> {
        self.bump();
        let name = self.ident("the name of a record")?;
        self.expect(TokenKind::LeftBrace, " and the fields, as in `record Node { value = 0 }`")?;
        let fields = self.comma_list(TokenKind::RightBrace, |parser| {
            let name = parser.ident("the name of a field")?;
            let ty = parser.type_annotation()?;
            parser.expect(TokenKind::Assign, " and the initial value of the field")?;
            Ok(Field { name, ty, value: parser.expression()? })
        })?;
        if fields.is_empty() {
            let message = format!("record `{}` has no fields", name.text);
            let help = "name at least one: `record Node { value = 0, next = -1 }`";
            self.report(Diagnostic::error(name.span, message).help(help));
        }
        Ok(RecordDecl { name, fields })
    }

    /// Returns the record that a declaration is of, if one stands behind the colon.
    pub(super) fn of_record(&mut self) -> Option<Ident> {
        let token = *self.tokens.get(self.at + 1)?;
        let is_record = self.peek() == TokenKind::Colon
            && self.records.iter().any(|name| name == token.span.of(self.text));
        is_record.then(|| {
            self.bump();
            self.bump();
            let record = self.ident_of(token);
            self.types.push(record.clone());
            record
        })
    }

    /// `.field` behind the name of a record, or behind its indices.
    pub(super) fn field(&mut self, place: Place) -> Parsed<Place> {
        let is_record = self.variables.contains(&place.name.text);
        if !is_record || self.peek() != TokenKind::Dot {
            return Ok(place);
        }
        self.bump();
        let field = self.ident("the name of a field")?;
        let span = place.span.to(field.span);
        let text = format!("{}.{}", place.name.text, field.text);
        let name = Ident { text, span: field.span };
        Ok(Place { name, record: Some(place.name), indices: place.indices, span })
    }
}

/// Returns the names of the variables whose types are records, also of those that are declared below.
pub(super) fn variables(text: &str, tokens: &[Token]) -> Vec<String> {
    let records = super::declared_types(text, tokens, "record");
    if records.is_empty() {
        return Vec::new();
    }
    let mut names = Vec::new();
    let is_type = |token: &Token| records.iter().any(|name| name == token.span.of(text));
    for (at, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Shared {
            continue;
        }
        let rest = tokens[at + 1..].iter().take_while(|it| it.kind != TokenKind::Semicolon);
        let rest: Vec<&Token> = rest.collect();
        let name = rest.iter().find(|it| it.kind == TokenKind::Name);
        let is_record =
            rest.windows(2).any(|two| two[0].kind == TokenKind::Colon && is_type(two[1]));
        names.extend(name.filter(|_| is_record).map(|name| name.span.of(text).to_owned()));
    }
    names
}

/// Puts a variable for each field in the place of a variable that is a record.
pub(super) fn expand(items: Vec<Item>, of_records: &[(Ident, Ident)]) -> Vec<Item> {
    if of_records.is_empty() {
        return items;
    }
    let record = |declared: Span| {
        let (_, wanted) = of_records.iter().find(|(variable, _)| variable.span == declared)?;
        items.iter().find_map(|item| match item {
            Item::Record(record) if record.name.text == wanted.text => Some(record),
            _ => None,
        })
    };
    let mut fields: Vec<Vec<Item>> = Vec::new();
    for item in &items {
        let Item::Object(decl) = item else {
            fields.push(Vec::new());
            continue;
        };
        let found = record(decl.name.span).map_or(&[][..], |record| &record.fields);
        fields.push(found.iter().map(|field| Item::Object(of_field(decl, field))).collect());
    }
    let mut expanded = Vec::with_capacity(items.len());
    for (item, fields) in items.into_iter().zip(fields) {
        match fields.is_empty() {
            true => expanded.push(item),
            false => expanded.extend(fields),
        }
    }
    expanded
}

fn of_field(decl: &ObjectDecl, field: &Field) -> ObjectDecl {
    let text = format!("{}.{}", decl.name.text, field.name.text);
    ObjectDecl {
        kind: decl.kind.with_type(field.ty),
        name: Ident { text, span: decl.name.span },
        sizes: decl.sizes.clone(),
        initial: Some(Initial::Value(field.value.clone())),
        member: None,
    }
}
