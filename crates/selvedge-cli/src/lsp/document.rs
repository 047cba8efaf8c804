//! An open text: its names, and places in it as the protocol counts them (lines and UTF-16 units, from 0).

use selvedge_lang::{Index, Span};
use serde_json::{Value, json};

/// A text that is open in the editor.
pub(super) struct Document {
    pub(super) text: String,
    pub(super) version: Value,
    pub(super) index: Index,
    /// Where the lines start.
    starts: Vec<usize>,
    /// All characters are one byte and one unit: nothing has to be counted.
    is_ascii: bool,
}

impl Document {
    pub(super) fn new(text: String, version: Value) -> Self {
        let index = Index::new(&text);
        let (starts, is_ascii) = (line_starts(&text), text.is_ascii());
        Self { text, version, index, starts, is_ascii }
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
        self.index = Index::new(&self.text);
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
    pub(super) fn whole(&self) -> Value {
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
        let document = Document::new(text.clone(), Value::Null);
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
        let mut document = Document::new("ab\ncd".to_owned(), Value::Null);
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
