//! What is shown about a name or a word under the cursor: what it is, what the step does, and what that depends on.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use selvedge_lang::index::{Place, Section, Symbol, SymbolId, SymbolKind, Use};
use selvedge_lang::ir::Type;
use serde_json::{Value, json};

use super::document::Document;
use super::words;

/// More are counted.
const MOST_LISTED: usize = 12;

/// Returns what is to be said about a position.
pub(super) fn hover(document: &Document, position: &Value) -> Value {
    let Some(byte) = document.byte(position) else { return Value::Null };
    let told = match document.index.use_at(byte) {
        Some(found) => Some((found.span, about_use(document, found))),
        None => word_at(&document.text, byte).and_then(|span| {
            let word = span.of(&document.text);
            let section = document.index.section_at(byte).filter(|it| it.keyword == word);
            let step = section.map_or(String::new(), |section| about_section(document, section));
            let meaning = words::meaning(word)?;
            Some((span, format!("`{word}`: {meaning}\n{step}")))
        }),
    };
    match told {
        Some((span, text)) => json!({
            "contents": { "kind": "markdown", "value": text },
            "range": document.range(span),
        }),
        None => Value::Null,
    }
}

/// Returns the word around a byte.
fn word_at(text: &str, byte: usize) -> Option<selvedge_lang::Span> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let start = text.get(..byte)?.trim_end_matches(is_part).len();
    let rest = &text[start..];
    let end = start + rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    (start < end).then(|| selvedge_lang::Span::new(start, end))
}

fn about_use(document: &Document, found: &Use) -> String {
    let symbol = document.index.symbol(found.symbol);
    let mut out = format!("```sel\n{}\n```\n", signature(document, found.symbol));
    let _ = writeln!(out, "{}{}", capitalised(symbol.kind.describe()), extent(symbol));
    if symbol.kind.is_shared() {
        match found.access.mode {
            Some(_) => about_step(document, found, &mut out),
            None => about_all_uses(document, found.symbol, &mut out),
        }
    }
    if matches!(symbol.kind, SymbolKind::Procedure { .. } | SymbolKind::Function) {
        let runners = document.index.runners(Place::Body(found.symbol));
        let names: Vec<String> =
            runners.iter().map(|&id| format!("`{}`", document.index.symbol(id).name)).collect();
        let by = if names.is_empty() { "no thread".to_owned() } else { names.join(", ") };
        let _ = writeln!(out, "\nRun by {by}.");
    }
    out
}

/// Returns a declaration in one line, from what is known of it.
fn signature(document: &Document, id: SymbolId) -> String {
    let index = &document.index;
    let symbol = index.symbol(id);
    let name = &symbol.name;
    let ty = symbol.ty.map_or(String::new(), |ty| format!(": {}", index.type_name(ty)));
    let sizes: String = symbol.sizes.iter().map(|size| format!("[{size}]")).collect();
    let parameters = || {
        let own = index.symbols().filter(|(_, it)| it.owner == Some(id));
        let own = own.filter(|(_, it)| it.kind == SymbolKind::Parameter);
        let told = own.map(|(inner, _)| signature(document, inner));
        told.collect::<Vec<_>>().join(", ")
    };
    match symbol.kind {
        SymbolKind::Constant => match (symbol.value, symbol.ty) {
            (Some(value), Some(Type::Bool)) => format!("const {name}{ty} = {}", value != 0),
            (Some(value), _) => format!("const {name}{ty} = {value}"),
            (None, _) => format!("const {name}"),
        },
        SymbolKind::Enum => format!("enum {name}"),
        SymbolKind::Record => format!("record {name}"),
        SymbolKind::Member | SymbolKind::Field => format!("{name}{ty}"),
        SymbolKind::Variable { atomic: false } => format!("shared {name}{sizes}{ty}"),
        SymbolKind::Ghost => format!("ghost {name}{sizes}{ty}"),
        SymbolKind::Variable { atomic: true } => format!("shared atomic {name}{sizes}{ty}"),
        SymbolKind::Mutex => format!("mutex {name}{sizes}"),
        SymbolKind::Rwlock => format!("rwlock {name}{sizes}"),
        SymbolKind::Cond => format!("cond {name}{sizes}"),
        SymbolKind::Semaphore => format!("semaphore {name}{sizes}"),
        SymbolKind::Barrier => format!("barrier {name}{sizes}"),
        SymbolKind::List => format!("list {name}{sizes}"),
        SymbolKind::Map => format!("map {name}{sizes}"),
        SymbolKind::Channel => format!("channel {name}{sizes}"),
        SymbolKind::Function => {
            format!("fn {name}({}) ->{}", parameters(), ty.trim_start_matches(':'))
        }
        SymbolKind::Procedure { atomic: false } => format!("proc {name}({})", parameters()),
        SymbolKind::Procedure { atomic: true } => format!("atomic proc {name}({})", parameters()),
        SymbolKind::Task if ty.is_empty() => format!("task {name}({})", parameters()),
        SymbolKind::Task => {
            format!("task {name}({}) ->{}", parameters(), ty.trim_start_matches(':'))
        }
        SymbolKind::Actor { .. } => format!("actor {name}"),
        SymbolKind::Thread { .. } => format!("thread {name}"),
        SymbolKind::Section => format!("atomic {name}"),
        SymbolKind::Local => format!("let {name}{ty}"),
        SymbolKind::Parameter | SymbolKind::Loop => match symbol.object {
            Some((kind, dimensions)) => {
                let ty = ty.trim_start_matches(':');
                format!("{name}: {kind}{ty}{}", "[]".repeat(dimensions))
            }
            None => format!("{name}{ty}"),
        },
    }
}

/// Returns how many there are of it, and a full stop.
fn extent(symbol: &Symbol) -> String {
    match (symbol.kind, symbol.threads, symbol.sizes.as_slice()) {
        (SymbolKind::Thread { replicated: true }, Some(threads), _) => {
            format!(": {threads} of them.")
        }
        (_, _, []) => ".".to_owned(),
        (_, _, sizes) => {
            let elements = sizes.iter().map(|&size| u64::from(size)).product::<u64>();
            format!(", an array of {elements}; each element is an object of its own.")
        }
    }
}

/// Says what the step does, and what it depends on.
fn about_step(document: &Document, found: &Use, out: &mut String) {
    let index = &document.index;
    let name = &index.symbol(found.symbol).name;
    let _ = write!(out, "\nHere: {} `{name}`", found.access.verb);
    let _ = match (found.place, found.section) {
        (Place::Body(_), None) => writeln!(out, ", a step of its own."),
        (Place::Body(_), Some(section)) => {
            let line = document.place(section);
            writeln!(out, ", part of the step that {line} begins.")
        }
        (Place::Finally, _) => writeln!(out, " in the final state, when every thread has ended."),
        (Place::Always, _) => writeln!(out, " after every step that changed something it reads."),
        (Place::Promise, _) => writeln!(out, " in every state: what is promised depends on it."),
        (Place::Declaration, _) => writeln!(out, "."),
    };
    let Place::Body(_) = found.place else { return };
    let Some(dependence) = index.dependence(found) else { return };
    if dependence.others.is_empty() {
        let _ = writeln!(out, "\nNo other thread accesses `{name}` in a way that it depends on.");
    } else {
        let _ = writeln!(out, "\nDepends on what other threads do:");
        list(document, &dependence.others, out);
        if !index.symbol(found.symbol).sizes.is_empty() {
            let _ = writeln!(out, "\nif the elements are the same.");
        }
    }
    if dependence.is_invariant {
        let _ =
            writeln!(out, "\nAn `always` reads it: depends on every change of what that reads.");
    }
}

fn list(document: &Document, uses: &[&Use], out: &mut String) {
    for it in uses.iter().take(MOST_LISTED) {
        let name = &document.index.symbol(it.symbol).name;
        let who = match it.place {
            Place::Body(id) => format!("`{}`", document.index.symbol(id).name),
            Place::Finally => "`finally`".to_owned(),
            Place::Always => "`always`".to_owned(),
            Place::Promise => "a promise".to_owned(),
            Place::Declaration => "a declaration".to_owned(),
        };
        let _ = writeln!(out, "- {}: {who} {} `{name}`", document.place(it.span), it.access.verb);
    }
    if uses.len() > MOST_LISTED {
        let _ = writeln!(out, "- and {} more", uses.len() - MOST_LISTED);
    }
}

/// Lists the uses of something shared.
fn about_all_uses(document: &Document, id: SymbolId, out: &mut String) {
    let uses: Vec<&Use> =
        document.index.uses_of(id).filter(|it| it.access.mode.is_some()).collect();
    if uses.is_empty() {
        let _ = writeln!(out, "\nNothing accesses it.");
    } else {
        let _ = writeln!(out, "\nAccessed by:");
        list(document, &uses, out);
    }
}

/// Says what the step that a statement is as a whole accesses.
fn about_section(document: &Document, section: Section) -> String {
    let mut verbs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for it in document.index.accesses_in(section.span) {
        let names = verbs.entry(it.access.verb).or_default();
        let name = format!("`{}`", document.index.symbol(it.symbol).name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut out = String::from("\nThis step:\n");
    for (verb, names) in &verbs {
        let _ = writeln!(out, "- {verb} {}", names.join(", "));
    }
    if verbs.is_empty() {
        out.push_str("- accesses nothing by itself; what it calls may\n");
    }
    out
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
