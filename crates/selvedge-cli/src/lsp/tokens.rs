//! What the parts of a text are, as the protocol has it: *semantic tokens*, from which an editor colours a text without a grammar.

use selvedge_lang::Span;
use selvedge_lang::index::{Highlight, SymbolKind};
use serde_json::{Value, json};

use super::document::Document;

/// The types, all of which editors know.
const TYPES: [&str; 12] = [
    "comment",
    "string",
    "number",
    "keyword",
    "function",
    "variable",
    "parameter",
    "property",
    "enum",
    "enumMember",
    "struct",
    "class",
];

/// The modifiers, in the order of their bits.
const MODIFIERS: [&str; 3] = ["declaration", "readonly", "defaultLibrary"];
const DECLARATION: u32 = 1;
const READONLY: u32 = 2;
const DEFAULT_LIBRARY: u32 = 4;

pub(super) fn legend() -> Value {
    json!({ "tokenTypes": TYPES, "tokenModifiers": MODIFIERS })
}

pub(super) fn full(document: &Document) -> Value {
    encoded(document, Span::new(0, document.text.len()))
}

/// Only what begins in a range.
pub(super) fn range(document: &Document, range: &Value) -> Value {
    let byte = |end: &str| document.byte(&range[end]);
    let (Some(start), Some(end)) = (byte("start"), byte("end")) else { return Value::Null };
    encoded(document, Span::new(start, end.max(start)))
}

/// Five numbers for each: lines and units from the one before it, its length, type and modifiers. One that goes over
/// several lines is told line by line.
fn encoded(document: &Document, wanted: Span) -> Value {
    let mut data: Vec<u64> = Vec::new();
    let (mut line, mut unit) = (0, 0);
    for (span, highlight) in document.index.highlights(&document.text) {
        if span.end <= wanted.start || span.start >= wanted.end {
            continue;
        }
        let (kind, modifiers) = kind(highlight);
        let number = TYPES.iter().position(|it| *it == kind).unwrap_or_default() as u64;
        let text = &document.text[span.start as usize..span.end as usize];
        let mut at = span.start as usize;
        for part in text.split_inclusive('\n') {
            let shown = part.trim_end_matches(['\r', '\n']);
            let place = document.position(at);
            at += part.len();
            let (Some(its_line), Some(its_unit)) =
                (place["line"].as_u64(), place["character"].as_u64())
            else {
                continue;
            };
            let length: usize = shown.chars().map(char::len_utf16).sum();
            if length == 0 {
                continue;
            }
            let after = if its_line == line { its_unit - unit } else { its_unit };
            data.extend([its_line - line, after, length as u64, number, u64::from(modifiers)]);
            (line, unit) = (its_line, its_unit);
        }
    }
    json!({ "data": data })
}

/// Returns the type and the modifiers.
fn kind(highlight: Highlight) -> (&'static str, u32) {
    match highlight {
        Highlight::Comment => ("comment", 0),
        Highlight::Text => ("string", 0),
        Highlight::Number => ("number", 0),
        Highlight::Keyword => ("keyword", 0),
        Highlight::BuiltIn => ("function", DEFAULT_LIBRARY),
        Highlight::Name { kind, declared } => {
            let declaration = if declared { DECLARATION } else { 0 };
            let (name, modifiers) = of_name(kind);
            (name, modifiers | declaration)
        }
    }
}

fn of_name(kind: SymbolKind) -> (&'static str, u32) {
    match kind {
        SymbolKind::Constant => ("variable", READONLY),
        SymbolKind::Enum => ("enum", 0),
        SymbolKind::Record => ("struct", 0),
        SymbolKind::Field => ("property", 0),
        SymbolKind::Member => ("enumMember", READONLY),
        SymbolKind::Function
        | SymbolKind::Procedure { .. }
        | SymbolKind::Task
        | SymbolKind::Section => ("function", 0),
        SymbolKind::Thread { .. } | SymbolKind::Actor { .. } => ("class", 0),
        SymbolKind::Parameter => ("parameter", 0),
        SymbolKind::Loop => ("variable", READONLY),
        SymbolKind::Local
        | SymbolKind::Variable { .. }
        | SymbolKind::Ghost
        | SymbolKind::Mutex
        | SymbolKind::Rwlock
        | SymbolKind::Cond
        | SymbolKind::Semaphore
        | SymbolKind::Barrier
        | SymbolKind::List
        | SymbolKind::Map
        | SymbolKind::Channel => ("variable", 0),
    }
}
