//! Finds out with which values of its variables a program can end, according to the tool.
//!
//! No interface of the tool returns these values. But a program can compare them itself: its `finally` block is
//! replaced by one that fails on another line for each of the expected states, and on the last line in any other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::facts::Values;
use super::program::Program;
use super::state::Object;

/// A program that fails on lines that tell how it ends.
pub(super) struct Probe {
    /// It compiles if the program does.
    pub(super) text: String,
    /// The line on which it fails, for each of the expected states.
    pub(super) lines: BTreeMap<u32, Values>,
}

/// Built-in routines that are used below.
const NEEDED: [&str; 2] = ["len", "has"];

/// Makes a probe of `program`, whose text is `text`; `None` if it has other routines with the names of those needed.
pub(super) fn probe(text: &str, program: &Program, expected: &BTreeSet<Values>) -> Option<Probe> {
    if NEEDED.iter().any(|name| program.routines.contains_key(*name)) {
        return None;
    }
    let names = program.values();
    let mut text = text.to_owned();
    if let Some(finally) = &program.finally {
        // Other lines stay where they are.
        let block: String =
            text[finally.start..finally.end].chars().filter(|&c| c == '\n').collect();
        text.replace_range(finally.start..finally.end, &block);
    }
    text.push_str("\nfinally {\n");
    // A value that is the same in all expected states is compared once.
    let Some(first) = expected.first() else {
        text.push_str("assert false;\n}\n");
        return Some(Probe { text, lines: BTreeMap::new() });
    };
    let steady = |at: usize| expected.iter().all(|values| values[at] == first[at]);
    let (same, other): (Vec<usize>, Vec<usize>) = (0..names.len()).partition(|&at| steady(at));
    for at in same {
        for part in comparisons(&names[at].0, &program.objects[names[at].1], &first[at]) {
            writeln!(text, "assert {part};").expect("a string can be written");
        }
    }
    let mut lines = BTreeMap::new();
    for values in expected {
        let parts = other
            .iter()
            .flat_map(|&at| comparisons(&names[at].0, &program.objects[names[at].1], &values[at]));
        let mut parts: Vec<String> = parts.collect();
        if parts.is_empty() {
            parts.push("true".to_owned());
        }
        lines.insert(1 + text.matches('\n').count() as u32, values.clone());
        writeln!(text, "if {} {{ assert false; }}", parts.join(" && ")).expect("as above");
    }
    text.push_str("assert false;\n}\n");
    Some(Probe { text, lines })
}

/// Conditions that hold together exactly if the object has these contents: see `content` in `explore.rs`.
fn comparisons(name: &str, object: &Object, content: &str) -> Vec<String> {
    let items = |content: &str| -> Vec<String> {
        let inner = &content[1..content.len() - 1];
        inner.split(", ").filter(|item| !item.is_empty()).map(str::to_owned).collect()
    };
    let mut parts = Vec::new();
    match object {
        Object::List(_) => {
            let items = items(content);
            parts.push(format!("len({name}) == {}", items.len()));
            for (index, item) in items.iter().enumerate() {
                parts.push(format!("{name}[{index}] == {item}"));
            }
        }
        Object::Map(_) => {
            let entries = items(content);
            parts.push(format!("len({name}) == {}", entries.len()));
            for entry in &entries {
                let (key, value) = entry.split_once(": ").expect("an entry has a key");
                parts.push(format!("has({name}, {key})"));
                parts.push(format!("{name}[{key}] == {value}"));
            }
        }
        _ => parts.push(format!("{name} == {content}")),
    }
    parts
}
