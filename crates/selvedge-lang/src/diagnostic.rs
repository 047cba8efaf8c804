//! Messages about a program text: values first, rendering as a separate function.

use std::fmt::Write as _;

use selvedge_core::Place;

use crate::bundle::{self, Part};
use crate::span::{LineIndex, Span};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// The program cannot be run.
    Error,
    /// The program can be run, but probably does not say what was meant.
    Warning,
}

/// One message: what is wrong, where, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong: a sentence without a full stop.
    pub message: String,
    /// Where. `None`: not in the text (say, in a constant given from outside).
    pub span: Option<Span>,
    /// A few words to stand under the place; may be empty.
    pub label: String,
    /// Other places that matter, each with a few words.
    pub others: Vec<(Span, String)>,
    /// What to do about it, one line each.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// Returns an error at `span`.
    pub fn error(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, Some(span), message.into())
    }

    /// Returns an error that has no place in the text.
    pub fn error_outside(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, None, message.into())
    }

    /// Returns a warning at `span`.
    pub fn warning(span: Span, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, Some(span), message.into())
    }

    fn new(severity: Severity, span: Option<Span>, message: String) -> Self {
        Self { severity, message, span, label: String::new(), others: Vec::new(), help: Vec::new() }
    }

    /// Puts a few words under the place.
    #[must_use]
    pub fn label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// Shows another place too.
    #[must_use]
    pub fn other(mut self, span: Span, text: impl Into<String>) -> Self {
        self.others.push((span, text.into()));
        self
    }

    /// Adds a hint.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    /// Adds a hint if there is one.
    #[must_use]
    pub fn maybe_help(mut self, text: Option<String>) -> Self {
        self.help.extend(text);
        self
    }
}

/// Collects messages, at most [`Diagnostics::MOST`] errors.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    errors: usize,
}

impl Diagnostics {
    /// How many errors are kept. More are counted: a program with one error is not run.
    pub(crate) const MOST: usize = 100;

    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        let is_error = diagnostic.severity == Severity::Error;
        if self.list.len() < 2 * Self::MOST && (!is_error || self.errors < Self::MOST) {
            self.list.push(diagnostic);
        }
        self.errors += usize::from(is_error);
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns all messages in the order of the text, those without a place first. If there are errors,
    /// only these: what seems unused may just be misspelt elsewhere.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        if self.has_errors() {
            self.list.retain(|diagnostic| diagnostic.severity == Severity::Error);
        }
        self.list.sort_by_key(|diagnostic| diagnostic.span);
        if self.errors > Self::MOST {
            let more = self.errors - Self::MOST;
            let last = format!("{more} more errors are not shown");
            self.list.push(Diagnostic::error_outside(last).help("fix the ones above first"));
        }
        self.list
    }
}

/// Writes messages as text, each with the line it is about.
///
/// `name` and `text` are those that were given to [`compile`](crate::compile).
pub fn render(diagnostics: &[Diagnostic], name: &str, text: &str, colour: bool) -> String {
    let (lines, parts) = (LineIndex::new(text), bundle::parts(text));
    let source = Source { name, text, lines, parts, paint: Paint { colour } };
    let mut out = String::new();
    for (i, diagnostic) in diagnostics.iter().enumerate() {
        if i > 0 {
            out.push('\n');
        }
        source.render(diagnostic, &mut out);
    }
    out
}

struct Source<'t> {
    name: &'t str,
    text: &'t str,
    lines: LineIndex,
    /// The files that the text consists of.
    parts: Vec<Part<'t>>,
    paint: Paint,
}

impl Source<'_> {
    fn render(&self, diagnostic: &Diagnostic, out: &mut String) {
        let paint = self.paint;
        let (word, style) = match diagnostic.severity {
            Severity::Error => ("error", Style::Error),
            Severity::Warning => ("warning", Style::Warning),
        };
        let head = format!(": {}", visible(&diagnostic.message));
        line(out, &[&paint.style(style, word), &paint.style(Style::Bold, &head)]);

        let others = diagnostic.others.iter().map(|(span, _)| *span);
        let numbers = diagnostic.span.into_iter().chain(others);
        let last = numbers.map(|span| self.place(span).line).max().unwrap_or(1);
        let width = last.to_string().len();
        let margin = " ".repeat(width);
        if let Some(span) = diagnostic.span {
            self.excerpt(span, &diagnostic.label, style, Arrow::First, width, out);
        }
        for (span, label) in &diagnostic.others {
            self.excerpt(*span, label, Style::Note, Arrow::Other, width, out);
        }
        for help in &diagnostic.help {
            let sign = paint.style(Style::Note, "=");
            line(out, &[&margin, " ", &sign, " help: ", &visible(help)]);
        }
    }

    /// Returns the place of `span` in its file.
    fn place(&self, span: Span) -> Place {
        let part = &self.parts[bundle::part_at(&self.parts, span.start)];
        let mut place = self.lines.place(span, &part.name(self.name), self.text);
        place.line -= part.after_line;
        place
    }

    fn excerpt(
        &self,
        span: Span,
        label: &str,
        style: Style,
        arrow: Arrow,
        width: usize,
        out: &mut String,
    ) {
        let paint = self.paint;
        let place = self.place(span);
        let margin = " ".repeat(width);
        let bar = paint.style(Style::Note, "|");
        let arrow = match arrow {
            Arrow::First => "-->",
            Arrow::Other => ":::",
        };
        line(out, &[&margin, &paint.style(Style::Note, arrow), " ", &visible(&place.to_string())]);
        line(out, &[&margin, " ", &bar]);

        let shown = Shown::new(self.lines.text(self.lines.line(span.start), self.text), &place);
        let number = format!("{:>width$}", place.line);
        line(out, &[&paint.style(Style::Note, &number), " ", &bar, " ", &shown.text]);
        let mut marks = "^".repeat(shown.marks);
        if !label.is_empty() {
            let _ = write!(marks, " {}", visible(label));
        }
        let marks = paint.style(style, &marks);
        line(out, &[&margin, " ", &bar, " ", &" ".repeat(shown.before), &marks]);
    }
}

enum Arrow {
    First,
    Other,
}

/// The part of a source line that is shown, and where the marks go.
struct Shown {
    text: String,
    before: usize,
    marks: usize,
}

impl Shown {
    /// Longer lines are cut around the marks.
    const WIDEST: usize = 160;
    const CONTEXT: usize = 60;

    fn new(source_line: &str, place: &selvedge_core::Place) -> Self {
        let first = place.column as usize - 1;
        let skip = if first > Self::WIDEST - Self::CONTEXT { first - Self::CONTEXT } else { 0 };
        let mut rest = source_line.chars().skip(skip);
        let mut text: String = rest.by_ref().take(Self::WIDEST).map(visible_char).collect();
        let marks = (place.length as usize).min(Self::WIDEST - (first - skip)).max(1);
        let mut before = first - skip;
        if skip > 0 {
            text.insert_str(0, "... ");
            before += 4;
        }
        if rest.next().is_some() {
            text.push_str(" ...");
        }
        Self { text, before, marks }
    }
}

/// Control characters would move the cursor, or worse.
fn visible(text: &str) -> String {
    text.chars().map(visible_char).collect()
}

fn visible_char(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// Appends a line, without blanks at its end.
fn line(out: &mut String, parts: &[&str]) {
    let text = parts.concat();
    out.push_str(text.trim_end());
    out.push('\n');
}

#[derive(Clone, Copy)]
enum Style {
    Error,
    Warning,
    Note,
    Bold,
}

#[derive(Clone, Copy)]
struct Paint {
    colour: bool,
}

impl Paint {
    fn style(self, style: Style, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match style {
            Style::Error => "1;31",
            Style::Warning => "1;33",
            Style::Note => "1;34",
            Style::Bold => "1",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Returns the candidate that `name` was probably meant to be.
pub(crate) fn nearest<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    let length = name.chars().count();
    let allowed = match length {
        0 => return None,
        1..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let near = candidates.into_iter().filter_map(|candidate| {
        let others = candidate.chars().count();
        // Short names are near everything: at least one character must stay.
        let close = others.abs_diff(length) <= allowed && others.max(length) <= 64;
        let distance = close.then(|| distance(name, candidate))?;
        (distance <= allowed && distance < length.max(others)).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Returns how many insertions, removals, replacements and swaps of neighbours make one name the other.
/// Upper and lower case count as equal.
fn distance(a: &str, b: &str) -> usize {
    let lower = |text: &str| text.chars().map(|c| c.to_ascii_lowercase()).collect::<Vec<_>>();
    let (a, b) = (lower(a), lower(b));
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture() {
        let text = "shared x = 0;\nthread p { y = 1; }\n";
        let at = text.find('y').unwrap_or_default();
        let diagnostic = Diagnostic::error(Span::new(at, at + 1), "unknown variable `y`")
            .other(Span::new(7, 8), "there is this one")
            .help("declare it: `shared y = 0;`");
        let expected = "\
error: unknown variable `y`
 --> flag.sel:2:12
  |
2 | thread p { y = 1; }
  |            ^
 ::: flag.sel:1:8
  |
1 | shared x = 0;
  |        ^ there is this one
  = help: declare it: `shared y = 0;`
";
        assert_eq!(render(std::slice::from_ref(&diagnostic), "flag.sel", text, false), expected);
        let coloured = render(&[diagnostic], "flag.sel", text, true);
        assert!(coloured.starts_with("\u{1b}[1;31merror\u{1b}[0m"));
    }

    #[test]
    fn odd_places_are_rendered() {
        let long = format!("{}\u{1b}[2J", "é".repeat(500));
        for text in ["", "\n", "a\tb\r\n", long.as_str()] {
            for start in (0..=text.len()).filter(|&at| text.is_char_boundary(at)) {
                let span = Span::new(start, text.len());
                let out = render(&[Diagnostic::error(span, "m").label("l")], "f", text, false);
                assert!(out.contains("^ l") || out.contains("^^ l"), "{out}");
                assert!(!out.contains('\u{1b}'));
                assert!(out.lines().all(|line| line.chars().count() < 200));
            }
        }
    }

    #[test]
    fn nearest_names() {
        let names = ["reader", "writer", "x", "lock_a"];
        assert_eq!(nearest("raeder", names), Some("reader"));
        assert_eq!(nearest("Writer", names), Some("writer"));
        assert_eq!(nearest("y", names), None);
        assert_eq!(nearest("turn", names), None);
    }

    #[test]
    fn distances() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("same", "SAME", 0),
            ("x", "y", 1),
            ("kitten", "sitting", 3),
            // A swap of neighbours is one mistake, wherever it is.
            ("ab", "ba", 1),
            ("reader", "raeder", 1),
            ("reader", "redaer", 1),
            ("reader", "readre", 1),
            ("abcd", "badc", 2),
            // But not of letters that are apart.
            ("abc", "cba", 2),
        ] {
            assert_eq!(distance(a, b), expected, "{a}, {b}");
            assert_eq!(distance(b, a), expected, "{b}, {a}");
        }
    }
}
