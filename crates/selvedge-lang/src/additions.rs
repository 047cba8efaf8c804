//! Independence constraints from another text, such as a file that the tool wrote.
//!
//! The other text is treated as if it followed the program's own, so that a range of bytes
//! is unambiguous; before a place is shown, it is mapped back.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::parser;
use crate::span::Span;
use crate::tree::written::{File, Item};

/// A text of independence constraints that belong to a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Additions<'t> {
    /// The file as the user named it, or where else it comes from.
    pub name: &'t str,
    /// Its text.
    pub text: &'t str,
}

/// What is wrong, by the text in which it is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rejected {
    /// In the program.
    pub program: Vec<Diagnostic>,
    /// In the constraints.
    pub additions: Vec<Diagnostic>,
}

/// Both texts, one after the other.
pub(crate) fn joined(text: &str, additions: &Additions<'_>) -> String {
    format!("{text}\n{}", additions.text)
}

/// Returns where the second text starts.
fn start(text: &str) -> usize {
    text.len() + 1
}

/// Adds the constraints to a file that was parsed.
pub(crate) fn parse_into(
    file: &mut File,
    text: &str,
    additions: &Additions<'_>,
    diagnostics: &mut Diagnostics,
) {
    // Blanks instead of the program give every token its place after it.
    let padded = format!("{}{}", " ".repeat(start(text)), additions.text);
    let added = parser::parse_beside(&padded, text, diagnostics);
    for item in added.items {
        let place = match &item {
            Item::Independent(_) => {
                file.items.push(item);
                continue;
            }
            Item::Const(constant) => constant.name.span,
            Item::Enum(it) => it.name.span,
            Item::Table(table) => table.name.span,
            Item::Record(record) => record.name.span,
            Item::Actor(actor) => actor.name.span,
            Item::Object(object) => object.name.span,
            Item::Routine(routine) => routine.name.span,
            Item::Thread(thread) => thread.name.span,
            Item::Finally(finally) => finally.keyword,
            Item::Always(always) => always.keyword,
            Item::Promise(promise) => promise.keyword,
        };
        let message = "a file of constraints can only contain independence constraints";
        let help = "move it to the program; a line here is like `independent(p, q) if x > 0;`";
        diagnostics.add(Diagnostic::error(place, message).help(help));
    }
}

/// Sorts messages by text, each with places in its own.
pub(crate) fn split(diagnostics: Vec<Diagnostic>, text: &str) -> Rejected {
    let start = Span::new(start(text), start(text)).start;
    let mut rejected = Rejected::default();
    for mut diagnostic in diagnostics {
        match &mut diagnostic.span {
            Some(span) if span.start >= start => {
                *span = back(*span, start);
                // Places in the other text cannot be shown beside it.
                diagnostic.others.retain(|(span, _)| span.start >= start);
                diagnostic.others.iter_mut().for_each(|(span, _)| *span = back(*span, start));
                rejected.additions.push(diagnostic);
            }
            _ => {
                diagnostic.others.retain(|(span, _)| span.start < start);
                rejected.program.push(diagnostic);
            }
        }
    }
    rejected
}

fn back(span: Span, by: u32) -> Span {
    Span { start: span.start - by, end: span.end.saturating_sub(by) }
}
