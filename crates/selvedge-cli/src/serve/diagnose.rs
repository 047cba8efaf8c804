//! What is wrong with a program that is being typed, and its constants.

use selvedge_lang::bundle::in_first_file;
use selvedge_lang::ir::Type;
use selvedge_lang::{LineIndex, Severity, Span, compile, constants};
use serde_json::{Value, json};

use super::examples::with_imports;

/// Values of constants as the user gave them.
pub(super) type Given = Vec<(String, i64)>;

/// Returns the diagnostics of a text. Places are offsets in UTF-16 units, as browsers count.
pub(super) fn diagnose(text: &str, given: &Given) -> Value {
    let whole = with_imports(text);
    let (is_fine, found) = match compile("program", &whole, given) {
        Ok(compiled) => (true, compiled.warnings),
        Err(errors) => (false, in_first_file(errors, "program", &whole)),
    };
    let lines = LineIndex::new(text);
    let told = found.iter().map(|it| {
        let place = it.span.map(|span| {
            let (line, column, _) = lines.position(span, text);
            let [start, end] = units(span, text);
            json!({ "start": start, "end": end, "line": line, "column": column })
        });
        let others = it.others.iter().map(|(span, label)| {
            let (line, _, _) = lines.position(*span, text);
            format!("line {line}: {label}")
        });
        json!({
            "severity": if it.severity == Severity::Error { "error" } else { "warning" },
            "message": it.message,
            "label": it.label,
            "help": it.help,
            "others": others.collect::<Vec<_>>(),
            "place": place,
        })
    });
    let diagnostics: Vec<Value> = told.collect();
    json!({ "fine": is_fine, "diagnostics": diagnostics, "constants": constants_of(&whole) })
}

fn units(span: Span, text: &str) -> [usize; 2] {
    let count = |end: u32| -> usize {
        let before = text.get(..end as usize).unwrap_or(text);
        before.chars().map(char::len_utf16).sum()
    };
    [count(span.start), count(span.end)]
}

/// Returns the constants with the values that the text gives them.
fn constants_of(text: &str) -> Value {
    let told = constants(text, &[]).into_iter().map(|constant| {
        let value = match constant.ty {
            Type::Bool => json!(constant.value != 0),
            Type::Int | Type::Thread | Type::Enum(_) | Type::Future(_) => json!(constant.value),
        };
        json!({ "name": constant.name, "value": value })
    });
    told.collect()
}
