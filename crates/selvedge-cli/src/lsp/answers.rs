//! Answers about an open text: diagnostics, definition, references, rename, symbols, formatting.

use std::collections::BTreeMap;

use selvedge_lang::bundle::in_first_file;
use selvedge_lang::index::{Access, SymbolId, SymbolKind};
use selvedge_lang::{Diagnostic, Severity, compile};
use serde_json::{Value, json};

use super::document::Document;
use super::files::path_of;
use crate::imports::with_imports;

/// What is wrong with a program.
pub(super) struct Wrong {
    /// In the text itself. An error in an imported file is marked at its import, too.
    pub(super) here: Vec<Value>,
    /// In the files that it imports, by their addresses.
    pub(super) elsewhere: BTreeMap<String, Vec<Value>>,
}

/// Returns what is wrong with a program.
pub(super) fn diagnostics(document: &Document, uri: &str) -> Wrong {
    let (name, text) = program(document, uri);
    let is_here = |it: &Diagnostic| it.span.is_none_or(|span| !document.is_elsewhere(span));
    let (all, here) = match compile(&name, &text, &[]) {
        Ok(compiled) => {
            let here = compiled.warnings.iter().filter(|it| is_here(it)).cloned().collect();
            (compiled.warnings, here)
        }
        Err(errors) => (errors.clone(), in_first_file(errors, &name, &text)),
    };
    let mut elsewhere: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for found in all.iter().filter(|it| !is_here(it)) {
        let mut told = diagnostic(document, uri, found);
        let at = document.location(uri, found.span.unwrap_or_default());
        told["range"] = at["range"].clone();
        elsewhere.entry(at["uri"].as_str().unwrap_or(uri).to_owned()).or_default().push(told);
    }
    Wrong { here: here.iter().map(|it| diagnostic(document, uri, it)).collect(), elsewhere }
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
    let related = found.others.iter().map(
        |(span, label)| json!({ "location": document.location(uri, *span), "message": label }),
    );
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
        Some(id) => document.location(uri, document.index.symbol(id).span),
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
    uses.map(|it| document.location(uri, it.span)).collect()
}

/// Returns all places of a name, and whether each reads or changes what it names.
pub(super) fn highlights(document: &Document, position: &Value) -> Value {
    let Some(id) = symbol_at(document, position) else { return Value::Null };
    let kind = |access: Access| if access.verb.contains("write") { 3 } else { 2 };
    let uses = document.index.uses_of(id).filter(|it| !document.is_elsewhere(it.span));
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
    let renamed = document.index.rename(id, name, document.whole()).map_err(|refused| refused.0)?;
    let mut changes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for &span in &renamed.spans {
        let at = document.location(uri, span);
        let edits = changes.entry(at["uri"].as_str().unwrap_or(uri).to_owned()).or_default();
        edits.push(json!({ "range": at["range"], "newText": name }));
    }
    Ok(json!({ "changes": changes }))
}

/// Returns the declarations, each with what is declared inside.
pub(super) fn symbols(document: &Document) -> Value {
    let mut inner: BTreeMap<SymbolId, Vec<Value>> = BTreeMap::new();
    let mut outer = Vec::new();
    let own = document.index.symbols().filter(|(_, it)| !document.is_elsewhere(it.span));
    for (id, it) in own {
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
        SymbolKind::Task => 6,
        SymbolKind::Thread { .. } | SymbolKind::Actor { .. } => 5,
        SymbolKind::Section => 3,
        SymbolKind::Local | SymbolKind::Parameter | SymbolKind::Loop => 13,
    }
}

/// Returns the changes that format the text; none if it is formatted, or has syntax errors.
pub(super) fn formatting(document: &Document) -> Value {
    match selvedge_lang::format(&document.text) {
        Ok(formatted) if formatted != document.text => {
            json!([{ "range": document.whole_range(), "newText": formatted }])
        }
        Ok(_) => json!([]),
        // The diagnostics say what is wrong.
        Err(_) => Value::Null,
    }
}
