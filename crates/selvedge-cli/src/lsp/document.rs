//! An open text: its names, and places in it as the protocol counts them (lines and UTF-16 units, from 0).

use std::path::PathBuf;

use selvedge_lang::bundle::parts;
use selvedge_lang::{Index, Span};
use serde_json::{Value, json};

use super::files::{path_of, uri_of};
use crate::imports::with_imports;

/// A text that is open in the editor.
pub(super) struct Document {
    pub(super) text: String,
    pub(super) version: Value,
    /// Of the whole program: the names of this text, and of the files that it imports.
    pub(super) index: Index,
    /// Its file, if it is one: imports are read next to it.
    file: Option<PathBuf>,
    /// The text, and behind it the files that it imports.
    program: String,
    /// Where the lines start.
    starts: Vec<usize>,
    /// All characters are one byte and one unit: nothing has to be counted.
    is_ascii: bool,
}

impl Document {
    pub(super) fn new(uri: &str, text: String, version: Value) -> Self {
        let mut document = Self { version, file: path_of(uri), ..Self::without_names(text) };
        document.refresh();
        document
    }

    /// Returns a text with its lines only.
    fn without_names(text: String) -> Self {
        let (starts, is_ascii) = (line_starts(&text), text.is_ascii());
        let (index, program) = (Index::default(), String::new());
        Self { text, version: Value::Null, index, file: None, program, starts, is_ascii }
    }

    /// Applies a change: a range and its new text, or a whole new text.
    pub(super) fn change(&mut self, change: &Value) {
        let new = change["text"].as_str().unwrap_or_default();
        match self.byte_range(&change["range"]) {
            Some((start, end)) => self.text.replace_range(start..end, new),
            None => new.clone_into(&mut self.text),
        }
        self.starts = line_starts(&self.text);
        self.is_ascii = self.text.is_ascii();
    }

    /// Looks for its names again, after changes.
    pub(super) fn refresh(&mut self) {
        let text = self.text.clone();
        self.program = match &self.file {
            Some(file) => with_imports(file, text),
            None => text,
        };
        self.index = Index::new(&self.program);
    }

    /// Returns the text and the files that it imports, as the index has them.
    pub(super) fn whole(&self) -> &str {
        &self.program
    }

    /// Returns whether a span of the program is in a file that the text imports.
    pub(super) fn is_elsewhere(&self, span: Span) -> bool {
        span.start as usize > self.text.len()
    }

    /// Returns where a span of the program is: in the text, which has this address, or in a file that it imports.
    pub(super) fn location(&self, uri: &str, span: Span) -> Value {
        let here = || json!({ "uri": uri, "range": self.range(span) });
        let (true, Some(file)) = (self.is_elsewhere(span), &self.file) else { return here() };
        let parts = parts(&self.program);
        let Some(part) = parts.iter().rfind(|part| part.start <= span.start as usize) else {
            return here();
        };
        let (start, end) = (span.start as usize - part.start, span.end as usize - part.start);
        let range = Self::without_names(part.text.to_owned()).range(Span::new(start, end));
        json!({ "uri": uri_of(file, part.path), "range": range })
    }

    /// Returns the line of a span, in words.
    pub(super) fn place(&self, span: Span) -> String {
        let parts = parts(&self.program);
        match parts.iter().rfind(|part| part.start <= span.start as usize) {
            Some(part) if self.is_elsewhere(span) => {
                let before = &part.text[..(span.start as usize - part.start).min(part.text.len())];
                format!("line {} of {}", before.matches('\n').count() + 1, part.path)
            }
            _ => format!("line {}", self.line(span)),
        }
    }

    /// Returns the bytes of a range, in order, and both between characters.
    fn byte_range(&self, range: &Value) -> Option<(usize, usize)> {
        let start = self.byte(&range["start"])?;
        let end = self.byte(&range["end"])?;
        Some((start.min(end), end.max(start)))
    }

    /// Returns the byte at a position. One behind the end of its line is the end of the line.
    pub(super) fn byte(&self, position: &Value) -> Option<usize> {
        let line = usize::try_from(position["line"].as_u64()?).unwrap_or(usize::MAX);
        let units = position["character"].as_u64()?;
        let Some(&start) = self.starts.get(line) else { return Some(self.text.len()) };
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let content = self.text[start..end].trim_end_matches(['\r', '\n']);
        let mut seen = 0;
        for (at, c) in content.char_indices() {
            // A position in the middle of a pair of units is the start of the character.
            if seen + c.len_utf16() as u64 > units {
                return Some(start + at);
            }
            seen += c.len_utf16() as u64;
        }
        Some(start + content.len())
    }

    /// Returns the position of a byte.
    pub(super) fn position(&self, byte: usize) -> Value {
        let byte = byte.min(self.text.len());
        let line = self.starts.partition_point(|&start| start <= byte) - 1;
        let before = self.text.get(self.starts[line]..byte).unwrap_or("");
        let units = match self.is_ascii {
            true => before.len(),
            false => before.chars().map(char::len_utf16).sum::<usize>(),
        };
        json!({ "line": line, "character": units })
    }

    /// Returns the range of a span.
    pub(super) fn range(&self, span: Span) -> Value {
        let (start, end) = (span.start as usize, span.end as usize);
        json!({ "start": self.position(start), "end": self.position(end) })
    }

    /// Returns the line of a span as people count, from 1.
    pub(super) fn line(&self, span: Span) -> usize {
        self.starts.partition_point(|&start| start <= span.start as usize)
    }

    /// Returns the range of the whole text.
    pub(super) fn whole_range(&self) -> Value {
        json!({ "start": self.position(0), "end": self.position(self.text.len()) })
    }
}

/// As the protocol has it, a line ends with `\n`, `\r\n` or `\r`.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = (0..bytes.len()).filter(|&at| {
        bytes[at] == b'\n' || bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n')
    });
    std::iter::once(0).chain(ends.map(|at| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_utf_16() {
        let text = "// 𝒳é\r\nshared x = 0;\rthread t { }\n".to_owned();
        let document = Document::new("", text.clone(), Value::Null);
        for (at, _) in text.char_indices().filter(|(_, c)| *c != '\n') {
            assert_eq!(document.byte(&document.position(at)), Some(at), "{at}");
        }
        let e = text.find('é').expect("it is there");
        assert_eq!(document.position(e), json!({ "line": 0, "character": 5 }));
        let inside = json!({ "line": 0, "character": 4 });
        assert_eq!(document.byte(&inside), Some(3), "in the middle of a character");
        for (line, character, expected) in [(0, 99, 9), (99, 0, text.len()), (2, 6, 31)] {
            let position = json!({ "line": line, "character": character });
            assert_eq!(document.byte(&position), Some(expected));
        }
        assert_eq!(document.byte(&json!({ "line": -1, "character": 0 })), None);
    }

    #[test]
    fn changes_are_ranges_or_whole_texts() {
        let mut document = Document::new("", "ab\ncd".to_owned(), Value::Null);
        let position = |line, character| json!({ "line": line, "character": character });
        let range = json!({ "start": position(0, 1), "end": position(1, 1) });
        document.change(&json!({ "range": range, "text": "é\n\n" }));
        assert_eq!(document.text, "aé\n\nd");
        // Backwards, and behind the end.
        let range = json!({ "start": position(7, 7), "end": position(0, 2) });
        document.change(&json!({ "range": range, "text": "!" }));
        assert_eq!(document.text, "aé!");
        document.change(&json!({ "text": "new" }));
        assert_eq!(document.text, "new");
    }
}
