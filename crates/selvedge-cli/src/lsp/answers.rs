//! Answers about an open text: diagnostics, definition, references, rename, symbols, formatting.

use std::collections::BTreeMap;
use std::path::PathBuf;

use selvedge_lang::bundle::in_first_file;
use selvedge_lang::index::{Access, SymbolId, SymbolKind};
use selvedge_lang::{Diagnostic, Severity, compile};
use serde_json::{Value, json};

use super::document::Document;
use crate::imports::with_imports;

/// Returns what is wrong with the text.
pub(super) fn diagnostics(document: &Document, uri: &str) -> Vec<Value> {
    let (name, text) = program(document, uri);
    let found = match compile(&name, &text, &[]) {
        Ok(compiled) => compiled.warnings,
        Err(errors) => in_first_file(errors, &name, &text),
    };
    found.iter().map(|it| diagnostic(document, uri, it)).collect()
}

/// Returns the name of a text and all of its program: with the files that it imports, which are read next to it.
pub(super) fn program(document: &Document, uri: &str) -> (String, String) {
    match path_of(uri) {
        Some(path) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, with_imports(&path, document.text.clone()))
        }
        None => (String::new(), document.text.clone()),
    }
}

/// Returns the file of an address, if it is one: bytes may be written as `%20`.
fn path_of(uri: &str) -> Option<PathBuf> {
    let written = uri.strip_prefix("file://")?.as_bytes();
    let mut bytes = Vec::new();
    let mut at = 0;
    while let Some(&byte) = written.get(at) {
        let digits = written.get(at + 1..at + 3).and_then(|it| std::str::from_utf8(it).ok());
        let coded = digits.filter(|_| byte == b'%').map(|it| u8::from_str_radix(it, 16));
        match coded {
            Some(Ok(coded)) => {
                bytes.push(coded);
                at += 3;
            }
            _ => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

fn diagnostic(document: &Document, uri: &str, found: &Diagnostic) -> Value {
    let severity = match found.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    };
    let mut message = found.message.clone();
    if !found.label.is_empty() {
        message.push_str(&format!(": {}", found.label));
    }
    for help in &found.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    let related = found.others.iter().map(|(span, label)| {
        json!({ "location": { "uri": uri, "range": document.range(*span) }, "message": label })
    });
    json!({
        "range": document.range(found.span.unwrap_or_default()),
        "severity": severity,
        "source": "selvedge",
        "message": message,
        "relatedInformation": related.collect::<Vec<_>>(),
    })
}

/// Returns the symbol whose name stands at a position.
fn symbol_at(document: &Document, position: &Value) -> Option<SymbolId> {
    let byte = document.byte(position)?;
    document.index.use_at(byte).map(|it| it.symbol)
}

pub(super) fn definition(document: &Document, uri: &str, position: &Value) -> Value {
    match symbol_at(document, position) {
        Some(id) => json!({ "uri": uri, "range": document.range(document.index.symbol(id).span) }),
        None => Value::Null,
    }
}

pub(super) fn references(
    document: &Document,
    uri: &str,
    position: &Value,
    with_declaration: bool,
) -> Value {
    let Some(id) = symbol_at(document, position) else { return Value::Null };
    let declared = document.index.symbol(id).span;
    let uses = document.index.uses_of(id).filter(|it| with_declaration || it.span != declared);
    uses.map(|it| json!({ "uri": uri, "range": document.range(it.span) })).collect()
}

/// Returns all places of a name, and whether each reads or changes what it names.
pub(super) fn highlights(document: &Document, position: &Value) -> Value {
    let Some(id) = symbol_at(document, position) else { return Value::Null };
    let kind = |access: Access| if access.verb.contains("write") { 3 } else { 2 };
    let uses = document.index.uses_of(id);
    uses.map(|it| json!({ "range": document.range(it.span), "kind": kind(it.access) })).collect()
}

/// Returns what would be renamed, if there is a name.
pub(super) fn prepare_rename(document: &Document, position: &Value) -> Value {
    let found = document.byte(position).and_then(|byte| document.index.use_at(byte));
    match found {
        Some(it) => json!({
            "range": document.range(it.span),
            "placeholder": document.index.symbol(it.symbol).name,
        }),
        None => Value::Null,
    }
}

/// Returns the changes that rename something.
///
/// # Errors
/// Why it cannot be renamed.
pub(super) fn rename(
    document: &Document,
    uri: &str,
    position: &Value,
    name: &str,
) -> Result<Value, String> {
    let id = symbol_at(document, position).ok_or("there is no name here")?;
    let renamed = document.index.rename(id, name, &document.text).map_err(|refused| refused.0)?;
    let edits = renamed.spans.iter();
    let edits: Vec<Value> =
        edits.map(|&span| json!({ "range": document.range(span), "newText": name })).collect();
    Ok(json!({ "changes": { uri: edits } }))
}

/// Returns the declarations, each with what is declared inside.
pub(super) fn symbols(document: &Document) -> Value {
    let mut inner: BTreeMap<SymbolId, Vec<Value>> = BTreeMap::new();
    let mut outer = Vec::new();
    for (id, it) in document.index.symbols() {
        match it.owner {
            Some(owner) => inner.entry(owner).or_default().push(symbol(document, id)),
            // Of an independence constraint.
            None if it.kind == SymbolKind::Parameter => {}
            None => outer.push((id, symbol(document, id))),
        }
    }
    let told = outer.into_iter().map(|(id, mut told)| {
        told["children"] = inner.remove(&id).unwrap_or_default().into();
        told
    });
    told.collect()
}

fn symbol(document: &Document, id: SymbolId) -> Value {
    let symbol = document.index.symbol(id);
    json!({
        "name": symbol.name,
        "detail": symbol.kind.describe(),
        "kind": kind(symbol.kind),
        "range": document.range(symbol.whole),
        "selectionRange": document.range(symbol.span),
    })
}

/// Returns the protocol's number for a kind of symbol.
fn kind(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Constant => 14,
        SymbolKind::Enum => 10,
        SymbolKind::Record => 23,
        SymbolKind::Field => 8,
        SymbolKind::Member => 22,
        SymbolKind::Variable { .. } | SymbolKind::Ghost => 8,
        SymbolKind::Mutex
        | SymbolKind::Rwlock
        | SymbolKind::Cond
        | SymbolKind::Semaphore
        | SymbolKind::Barrier => 19,
        SymbolKind::List | SymbolKind::Map | SymbolKind::Channel => 18,
        SymbolKind::Function => 12,
        SymbolKind::Procedure { .. } => 6,
        SymbolKind::Thread { .. } => 5,
        SymbolKind::Section => 3,
        SymbolKind::Local | SymbolKind::Parameter | SymbolKind::Loop => 13,
    }
}

/// Returns the changes that format the text; none if it is formatted, or has syntax errors.
pub(super) fn formatting(document: &Document) -> Value {
    match selvedge_lang::format(&document.text) {
        Ok(formatted) if formatted != document.text => {
            json!([{ "range": document.whole(), "newText": formatted }])
        }
        Ok(_) => json!([]),
        // The diagnostics say what is wrong.
        Err(_) => Value::Null,
    }
}
