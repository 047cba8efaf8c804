//! Places in a source text.

use selvedge_core::Place;

/// A range of bytes in a source text. Both ends lie between characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// From `start` up to, but not including, `end`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: offset(start), end: offset(end) }
    }

    /// From the start of `self` to the end of `last`.
    pub fn to(self, last: Span) -> Self {
        Self { start: self.start, end: last.end.max(self.start) }
    }

    /// Returns the empty range after `self`.
    pub fn after(self) -> Self {
        Self { start: self.end, end: self.end }
    }

    /// Returns the text that it covers; empty if `text` is not the one that it was made for.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start as usize..self.end as usize).unwrap_or("")
    }
}

fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("internal error: a source text of more than 4 GiB")
}

/// Where the lines of a text start: turns byte offsets into lines and columns, fast even if all of
/// the text is one line.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<usize>,
    /// How many characters start before each block of [`LineIndex::BLOCK`] bytes.
    characters: Vec<u32>,
}

impl LineIndex {
    const BLOCK: usize = 256;

    /// Looks for the lines of `text`.
    pub fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect();
        let mut characters = vec![0];
        for block in text.as_bytes().chunks(Self::BLOCK) {
            characters.push(characters[characters.len() - 1] + count_characters(block));
        }
        Self { starts, characters }
    }

    /// Returns the line with this byte, counted from 0.
    pub fn line(&self, byte: u32) -> usize {
        self.starts.partition_point(|&start| start <= byte as usize) - 1
    }

    /// Returns the line without its line break.
    pub fn text<'t>(&self, line: usize, text: &'t str) -> &'t str {
        let end = self.starts.get(line + 1).map_or(text.len(), |next| next - 1);
        text.get(self.starts[line]..end).unwrap_or("").trim_end_matches('\r')
    }

    /// Returns the place of `span`, in lines and columns that count from 1.
    pub fn place(&self, span: Span, file: &str, text: &str) -> Place {
        let (line, column, length) = self.position(span, text);
        Place { file: file.to_owned(), line, column, length }
    }

    /// Line, column and length of `span`. Lines and columns count from 1; the length is what
    /// stands on the first line, in characters, and at least 1.
    pub fn position(&self, span: Span, text: &str) -> (u32, u32, u32) {
        let line = self.line(span.start);
        let line_start = self.starts[line];
        let line_end = line_start + self.text(line, text).len();
        let from = (span.start as usize).min(line_end);
        let to = (span.end as usize).clamp(from, line_end);
        let column = self.characters_before(from, text) - self.characters_before(line_start, text);
        let length = self.characters_before(to, text) - self.characters_before(from, text);
        (u32::try_from(line + 1).unwrap_or(u32::MAX), column + 1, length.max(1))
    }

    fn characters_before(&self, byte: usize, text: &str) -> u32 {
        let block = (byte / Self::BLOCK).min(self.characters.len() - 1);
        let rest = text.as_bytes().get(block * Self::BLOCK..byte).unwrap_or(&[]);
        self.characters[block] + count_characters(rest)
    }
}

/// Returns how many characters start in a piece of UTF-8.
fn count_characters(bytes: &[u8]) -> u32 {
    let starts = bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    u32::try_from(starts).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters() {
        let text = "a\nbé cd\r\ne";
        let lines = LineIndex::new(text);
        let place = |start, end| lines.place(Span::new(start, end), "f", text);
        assert_eq!((place(0, 1).line, place(0, 1).column), (1, 1));
        let cd = text.find("cd").unwrap_or_default();
        assert_eq!((place(cd, cd + 2).line, place(cd, cd + 2).column), (2, 4));
        assert_eq!(place(cd, cd + 2).length, 2);
        // A range over several lines counts only what stands on the first.
        assert_eq!(place(cd, text.len()).length, 2);
        // The end of the text is a place too.
        assert_eq!(
            (place(text.len(), text.len()).line, place(text.len(), text.len()).length),
            (3, 1)
        );
    }
}
