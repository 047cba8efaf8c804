//! What each part of a text is, for editors that colour it.

use super::{BUILT_IN, Index, PLACED, SymbolKind};
use crate::check_length;
use crate::diagnostic::Diagnostics;
use crate::lexer::{TokenKind, lex};
use crate::span::Span;

/// What a part of a text is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Highlight {
    /// A comment; it may go over several lines.
    Comment,
    /// A string.
    Text,
    /// A number.
    Number,
    /// A word of the language.
    Keyword,
    /// A function or procedure that comes with the language.
    BuiltIn,
    /// A name of the program.
    Name {
        /// What it stands for.
        kind: SymbolKind,
        /// Whether it is declared here.
        declared: bool,
    },
}

impl Index {
    /// Returns what the parts of `text` are, of which this is the index, in order. Operators, and names that stand for nothing,
    /// are none.
    pub fn highlights(&self, text: &str) -> Vec<(Span, Highlight)> {
        let mut found = Vec::new();
        if check_length(text).is_err() {
            return found;
        }
        let mut end = 0;
        for token in lex(text, &mut Diagnostics::default()) {
            let (from, to) = (token.span.start as usize, token.span.end as usize);
            comments(text, end, from, &mut found);
            end = to;
            let highlight = match token.kind {
                TokenKind::Int(_) => Some(Highlight::Number),
                TokenKind::Str => Some(Highlight::Text),
                TokenKind::Name => self.highlight_of(token.span, &text[from..to]),
                kind => kind.is_keyword().then_some(Highlight::Keyword),
            };
            found.extend(highlight.map(|highlight| (token.span, highlight)));
        }
        found
    }

    fn highlight_of(&self, span: Span, word: &str) -> Option<Highlight> {
        let known = self.use_at(span.start as usize).filter(|it| it.span == span);
        match known.map(|it| self.symbol(it.symbol)) {
            Some(symbol) => {
                Some(Highlight::Name { kind: symbol.kind, declared: symbol.span == span })
            }
            None if PLACED.contains(&word) => Some(Highlight::Keyword),
            None if BUILT_IN.contains(&word) => Some(Highlight::BuiltIn),
            None => None,
        }
    }
}

/// Adds the comments between two tokens.
fn comments(text: &str, mut at: usize, end: usize, found: &mut Vec<(Span, Highlight)>) {
    while at < end {
        let rest = &text[at..end];
        let Some(begin) = rest.find("//").into_iter().chain(rest.find("/*")).min() else { return };
        let comment = &rest[begin..];
        let length = match comment.starts_with("//") {
            true => comment.find('\n').unwrap_or(comment.len()),
            // The lexer decided where it ends: before the next token. Another one may follow.
            false => block(comment),
        };
        let start = at + begin;
        found.push((Span::new(start, start + length), Highlight::Comment));
        at = start + length;
    }
}

/// Returns the length of a comment in `/* */`, in which others may lie.
fn block(comment: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < comment.len() {
        let rest = &comment[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    comment.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(&str, Highlight)> {
        let all = Index::new(text).highlights(text);
        all.into_iter()
            .map(|(span, it)| (&text[span.start as usize..span.end as usize], it))
            .collect()
    }

    #[test]
    fn every_part_is_what_it_is() {
        use Highlight::{BuiltIn, Comment, Keyword, Number, Text};
        let name = |kind, declared| Highlight::Name { kind, declared };
        let x = |declared| name(SymbolKind::Variable { atomic: true }, declared);
        assert_eq!(
            told(
                "shared atomic x = 0; // é\nthread t { /* a\nb */ fetch_add(x, 2); assert x == 2, \"// no\"; }"
            ),
            [
                ("shared", Keyword),
                ("atomic", Keyword),
                ("x", x(true)),
                ("0", Number),
                ("// é", Comment),
                ("thread", Keyword),
                ("t", name(SymbolKind::Thread { replicated: false }, true)),
                ("/* a\nb */", Comment),
                ("fetch_add", BuiltIn),
                ("x", x(false)),
                ("2", Number),
                ("assert", Keyword),
                ("x", x(false)),
                ("2", Number),
                ("\"// no\"", Text),
            ]
        );
    }

    /// Words that mean something in some places are names in others; a text with errors has colours, too.
    #[test]
    fn words_in_their_places() {
        let text = "channel c(2); thread t { let each = 1; send c(each); oops";
        let told = told(text);
        assert_eq!(told[0], ("channel", Highlight::Keyword));
        let each: Vec<_> = told.iter().filter(|(word, _)| *word == "each").collect();
        assert_eq!(each.len(), 2);
        assert!(each.iter().all(|(_, it)| matches!(it, Highlight::Name { .. })), "{each:?}");
        assert!(!told.iter().any(|(word, _)| *word == "oops"));
    }
}
