//! The one way to write a program: indentation, blanks and blank lines. Lines stay as the author broke them.
//!
//! What stands between two tokens is blanks, line breaks and comments. Comments stay as they are, where they are; one
//! behind code and more than one blank stays in its column if it can, so that those of several lines stay aligned. Formatting twice
//! changes nothing more.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Token, TokenKind, lex};
use crate::{check_length, parser};

/// Blanks per level of indentation.
const INDENT: usize = 4;

/// Returns the text as it should be written.
///
/// # Errors
/// What is wrong with its syntax: such a text is not touched. Whether its names and types are right does not matter.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    check_length(text)?;
    let mut diagnostics = Diagnostics::default();
    parser::parse(text, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics.into_sorted());
    }
    let mut writer = Writer::default();
    let mut end = 0;
    for token in lex(text, &mut Diagnostics::default()) {
        let start = token.span.start as usize;
        writer.gap(text, end, start);
        if token.kind != TokenKind::End {
            end = token.span.end as usize;
            writer.token(token, &text[start..end]);
        }
    }
    Ok(writer.finish())
}

/// What was written last.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Nothing,
    Token(TokenKind),
    Comment,
}

#[derive(Default)]
struct Writer {
    out: String,
    last: Last,
    /// The last token, also if a comment came after it.
    last_token: Option<TokenKind>,
    /// Whether the last token is a minus sign or a `!` that belongs to what follows.
    is_prefix: bool,
    /// Whether the last token begins a value, if it is `receive`.
    is_value: bool,
    /// Whether the last token is the `scan` of `await scan`.
    is_scan: bool,
    /// Line breaks since the last token or comment.
    breaks: usize,
    /// The brackets that are open, and the line in which each was opened. Those of one line indent once.
    open: Vec<(TokenKind, usize)>,
    line: usize,
}

impl Writer {
    /// What stands between two tokens of `text`.
    fn gap(&mut self, text: &str, start: usize, end: usize) {
        let mut at = start;
        while at < end {
            let rest = &text[at..end];
            let length = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                block_comment(rest)
            } else {
                let c = rest.chars().next().expect("the rest is not empty");
                self.breaks += usize::from(c == '\n');
                at += c.len_utf8();
                continue;
            };
            let line_start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let before = &text[line_start..at];
            // A single blank is not there to align comments.
            let is_aligned = before.ends_with("  ") || before.ends_with('\t');
            let column = if is_aligned { before.chars().count() } else { 0 };
            self.comment(rest[..length].trim_end(), column);
            at += length;
        }
    }

    /// Writes a comment; behind code, in this column or as soon as it can.
    fn comment(&mut self, comment: &str, column: usize) {
        if self.breaks > 0 || self.last == Last::Nothing {
            self.start_line(false);
        } else {
            let line = self.out.rfind('\n').map_or(0, |newline| newline + 1);
            let written = self.out[line..].chars().count();
            let blanks = if comment.starts_with("//") { column.saturating_sub(written) } else { 1 };
            self.out.extend(std::iter::repeat_n(' ', blanks.max(1)));
        }
        self.out.push_str(comment);
        self.line += comment.matches('\n').count();
        (self.last, self.breaks) = (Last::Comment, 0);
    }

    fn token(&mut self, token: Token, text: &str) {
        let kind = token.kind;
        let is_closing =
            matches!(kind, TokenKind::RightBrace | TokenKind::RightBracket | TokenKind::RightParen);
        if is_closing {
            self.open.pop();
        }
        if self.breaks > 0 || self.last == Last::Nothing {
            self.start_line(
                !is_closing && kind != TokenKind::LeftBrace && self.is_within_statement(),
            );
        } else if self.is_apart(kind) {
            self.out.push(' ');
        }
        self.is_prefix = match kind {
            TokenKind::Not | TokenKind::BitNot => true,
            TokenKind::Minus => !self.ends_operand(),
            _ => false,
        };
        self.is_value = !matches!(
            self.last_token,
            None | Some(TokenKind::Semicolon | TokenKind::LeftBrace | TokenKind::RightBrace)
        );
        self.is_scan = self.last_token == Some(TokenKind::Await) && text == "scan";
        self.out.push_str(text);
        if matches!(kind, TokenKind::LeftBrace | TokenKind::LeftBracket | TokenKind::LeftParen) {
            self.open.push((kind, self.line));
        }
        (self.last, self.last_token, self.breaks) = (Last::Token(kind), Some(kind), 0);
    }

    /// Begins a line: at most one blank one before it, none at the beginning of the file or of a block.
    fn start_line(&mut self, is_continued: bool) {
        if self.last != Last::Nothing {
            let is_first = self.last == Last::Token(TokenKind::LeftBrace);
            let newlines = if is_first { 1 } else { self.breaks.min(2) };
            self.out.extend(std::iter::repeat_n('\n', newlines));
            self.line += newlines;
        }
        let mut lines: Vec<usize> = self.open.iter().map(|&(_, line)| line).collect();
        lines.dedup();
        let levels = lines.len() + usize::from(is_continued);
        self.out.extend(std::iter::repeat_n(' ', INDENT * levels));
    }

    /// Returns whether a line that begins now continues with a statement. A list in brackets is indented by them.
    fn is_within_statement(&self) -> bool {
        use TokenKind::{Comma, LeftBrace, LeftBracket, LeftParen, RightBrace, Semicolon};
        let is_in_list = matches!(self.open.last(), Some((LeftParen | LeftBracket, _)));
        match self.last_token {
            None | Some(Semicolon | LeftBrace | RightBrace | LeftParen | LeftBracket) => false,
            Some(Comma) => !is_in_list,
            Some(_) => true,
        }
    }

    /// Returns whether the last token can be the end of an operand, so that a minus sign after it is an operation.
    fn ends_operand(&self) -> bool {
        use TokenKind::{
            False, Int, Name, RightBrace, RightBracket, RightParen, SelfHandle, Str, True,
        };
        matches!(
            self.last_token,
            Some(
                Name | Int(_)
                    | Str
                    | RightParen
                    | RightBracket
                    | RightBrace
                    | True
                    | False
                    | SelfHandle
            )
        )
    }

    /// Returns whether there is a blank between the last token or comment and this token.
    fn is_apart(&self, next: TokenKind) -> bool {
        use TokenKind::{
            Barrier, Choose, Colon, Comma, Cond, Dot, DotDot, Independent, LeftBrace, LeftBracket,
            LeftParen, List, Map, Mutex, Name, Receive, RightBracket, RightParen, Rwlock,
            Semaphore, Semicolon,
        };
        let Last::Token(last) = self.last else { return true };
        if self.is_prefix {
            return false;
        }
        match (last, next) {
            (_, Semicolon | Comma | Colon | Dot | DotDot | RightParen | RightBracket) => false,
            (LeftParen | LeftBracket | Dot | DotDot, _) => false,
            (Name, LeftParen) if self.is_scan => true,
            // `receive(c)` is a value, `receive (let v) { … }` a statement.
            (Receive, LeftParen) => !self.is_value,
            (Name | RightParen | RightBracket | Choose | Independent, LeftParen) => false,
            (Name | RightParen | RightBracket, LeftBracket) => false,
            // `forks: mutex[]`
            (Mutex | Rwlock | Cond | Semaphore | Barrier | List | Map, LeftBracket) => false,
            (_, LeftBrace) => true,
            _ => true,
        }
    }

    /// Ends the text: one line break, unless it is empty.
    fn finish(mut self) -> String {
        let length = self.out.trim_end().len();
        self.out.truncate(length);
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.out
    }
}

/// Returns the length of the block comment at the beginning of `text`. They nest, and this one ends.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    loop {
        let rest = &text[at..];
        match rest.get(..2) {
            Some("/*") => (depth, at) = (depth + 1, at + 2),
            Some("*/") => (depth, at) = (depth - 1, at + 2),
            _ => match rest.chars().next() {
                Some(c) => at += c.len_utf8(),
                None => return at,
            },
        }
        if depth == 0 {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_written(text: &str, expected: &str) {
        assert_eq!(format(text).expect("it has no errors"), expected);
        assert_eq!(format(expected).expect("it has no errors"), expected, "formatting twice");
    }

    #[test]
    fn blanks_and_indentation() {
        is_written(
            "shared x=0 ;\n\n\n\nthread  t( i in 0 .. 2 ){\n\n  let v=x ;\n      if v==-1&&! (v<2) { x = v - - 1; }\n\n}",
            "shared x = 0;\n\nthread t(i in 0..2) {\n    let v = x;\n    if v == -1 && !(v < 2) { x = v - -1; }\n\n}\n",
        );
    }

    #[test]
    fn bits_and_scans() {
        is_written(
            "thread t{x=~ y&1<<2|z;x<<=1;await scan(x==1)&&y==2;}\n",
            "thread t { x = ~y & 1 << 2 | z; x <<= 1; await scan (x == 1) && y == 2; }\n",
        );
    }

    #[test]
    fn objects_as_parameters_and_monitors() {
        is_written(
            "proc p(m:mutex [],x :shared  int[ ] [],o:channel){lock m[0] {skip;}}\nthread t{monitor  t (1,x);}\n",
            "proc p(m: mutex[], x: shared int[][], o: channel) { lock m[0] { skip; } }\nthread t { monitor t(1, x); }\n",
        );
    }

    #[test]
    fn comments_stay() {
        is_written(
            "// first\nshared x = 0;    // aligned\nshared yy = 0;   // with this\n  /* a /* nested */ one */ thread t { // opens\n// inside\nx = /* one */ 1; }\n// last\n/* then */\n\n\n   /* this */",
            "// first\nshared x = 0;    // aligned\nshared yy = 0;   // with this\n/* a /* nested */ one */ thread t { // opens\n    // inside\n    x = /* one */ 1; }\n// last\n/* then */\n\n/* this */\n",
        );
    }

    #[test]
    fn lines_that_go_on() {
        is_written(
            "shared x = 0;\nthread t {\nlet v = x +\n1;\nassert v ==\n2,\n\"text\";\n}\n",
            "shared x = 0;\nthread t {\n    let v = x +\n        1;\n    assert v ==\n        2,\n        \"text\";\n}\n",
        );
    }

    #[test]
    fn a_text_with_errors_is_not_touched() {
        assert!(format("thread t { x = ; }").is_err());
        // Names and types do not matter.
        assert_eq!(
            format("thread t{x=true+1;}").expect("its syntax is right"),
            "thread t { x = true + 1; }\n"
        );
    }
}
