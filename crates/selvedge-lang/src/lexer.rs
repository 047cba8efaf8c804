//! Text to tokens. Never fails: what is not a token is reported and left out.

use std::ops::Range;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::span::Span;

/// A token and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

macro_rules! define_tokens {
    ($($name:ident $text:literal),* $(,)?; $($keyword:ident $word:literal),* $(,)?) => {
        /// What a token is. Names, numbers and strings are read from the text under its place.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum TokenKind {
            Name,
            /// At most 2³¹: the parser looks for the minus sign that 2³¹ needs.
            Int(u32),
            Str,
            End,
            $($name,)*
            $($keyword,)*
        }

        impl TokenKind {
            /// Returns how messages call it.
            pub(crate) fn describe(self) -> &'static str {
                match self {
                    TokenKind::Name => "a name",
                    TokenKind::Int(_) => "a number",
                    TokenKind::Str => "a string",
                    TokenKind::End => "the end of the file",
                    $(TokenKind::$name => concat!("`", $text, "`"),)*
                    $(TokenKind::$keyword => concat!("`", $word, "`"),)*
                }
            }

            pub(crate) fn is_keyword(self) -> bool {
                matches!(self, $(TokenKind::$keyword)|*)
            }
        }

        fn keyword(word: &str) -> Option<TokenKind> {
            match word {
                $($word => Some(TokenKind::$keyword),)*
                _ => None,
            }
        }

        /// Every keyword, for hints.
        pub(crate) const KEYWORDS: &[&str] = &[$($word),*];
    };
}

define_tokens! {
    LeftParen "(", RightParen ")", LeftBrace "{", RightBrace "}", LeftBracket "[",
    RightBracket "]", Comma ",", Semicolon ";", Colon ":", Dot ".", DotDot "..", Arrow "->",
    FatArrow "=>", Assign "=", PlusAssign "+=", MinusAssign "-=", StarAssign "*=", AndAssign "&=", OrAssign "|=",
    XorAssign "^=", ShiftLeftAssign "<<=", ShiftRightAssign ">>=", Plus "+",
    Minus "-", Star "*", Slash "/", Percent "%", Equal "==", NotEqual "!=", Less "<",
    LessEqual "<=", Greater ">", GreaterEqual ">=", And "&&", Or "||", Not "!", Underscore "_",
    BitAnd "&", BitOr "|", BitXor "^", BitNot "~", ShiftLeft "<<", ShiftRight ">>";
    Const "const", Shared "shared", Atomic "atomic", Mutex "mutex", Rwlock "rwlock", Cond "cond",
    Semaphore "semaphore", Barrier "barrier", List "list", Map "map", Fn "fn", Proc "proc",
    Thread "thread", Daemon "daemon", Finally "finally", Always "always", Independent "independent", Let "let",
    If "if", Else "else", While "while", For "for", In "in", Loop "loop", Break "break",
    Continue "continue", Return "return", Assert "assert", Assume "assume", Await "await",
    Lock "lock", Unlock "unlock", ReadLock "read_lock", ReadUnlock "read_unlock",
    WriteLock "write_lock", WriteUnlock "write_unlock", Send "send", Receive "receive",
    Spawn "spawn", Join "join", SelfHandle "self", Skip "skip", Yield "yield",
    Choose "choose", True "true", False "false",
}

/// Returns the tokens of `text`; the last one is always [`TokenKind::End`].
pub(crate) fn lex(text: &str, diagnostics: &mut Diagnostics) -> Vec<Token> {
    lex_part(text, 0..text.len(), diagnostics)
}

/// Returns the tokens of a part of `text`, with places in all of it.
pub(crate) fn lex_part(
    text: &str,
    range: Range<usize>,
    diagnostics: &mut Diagnostics,
) -> Vec<Token> {
    let text = &text[..range.end];
    let mut lexer = Lexer { text, at: range.start, diagnostics };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next_token() {
        tokens.push(token);
    }
    tokens.push(Token { kind: TokenKind::End, span: Span::new(text.len(), text.len()) });
    tokens
}

/// Returns what a string literal stands for. Bad escapes have been reported by the lexer.
pub(crate) fn string_value(literal: &str) -> String {
    let inner = literal.strip_prefix('"').unwrap_or(literal);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    let mut value = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => value.extend(chars.next().map(|c| escape(c).unwrap_or(c))),
            c => value.push(c),
        }
    }
    value
}

fn escape(c: char) -> Option<char> {
    match c {
        'n' => Some('\n'),
        't' => Some('\t'),
        '"' | '\\' => Some(c),
        _ => None,
    }
}

struct Lexer<'t, 'd> {
    text: &'t str,
    at: usize,
    diagnostics: &'d mut Diagnostics,
}

impl<'t> Lexer<'t, '_> {
    fn next_token(&mut self) -> Option<Token> {
        loop {
            self.skip_blanks_and_comments();
            let start = self.at;
            let c = self.peek()?;
            let kind = match c {
                '0'..='9' => Some(self.number()),
                c if c.is_alphabetic() || c == '_' => Some(self.word()),
                '"' => Some(self.string()),
                _ => self.sign(c),
            };
            if let Some(kind) = kind {
                return Some(Token { kind, span: Span::new(start, self.at) });
            }
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn error_from(&mut self, start: usize, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Span::new(start, self.at), message)
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            self.take_while(|c| c.is_whitespace() || c == '\u{feff}');
            if self.rest().starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                self.block_comment();
            } else {
                return;
            }
        }
    }

    fn block_comment(&mut self) {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.at += 2;
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.at += 2;
            } else if let Some(c) = rest.chars().next() {
                self.at += c.len_utf8();
            } else {
                let opening = Span::new(start, start + 2);
                let error = Diagnostic::error(opening, "this comment does not end");
                self.diagnostics.add(error.help("close it with `*/`; comments nest"));
                return;
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        if !word.is_ascii() {
            let error = self.error_from(start, format!("`{word}` is not a name"));
            self.diagnostics.add(error.help("names are made of A-Z, a-z, 0-9 and `_`"));
            return TokenKind::Name;
        }
        match word {
            "_" => TokenKind::Underscore,
            word => keyword(word).unwrap_or(TokenKind::Name),
        }
    }

    fn number(&mut self) -> TokenKind {
        let start = self.at;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let hex = word.strip_prefix("0x").or(word.strip_prefix("0X"));
        let (digits, radix) = hex.map_or((word, 10), |digits| (digits, 16));
        let mut value = 0_u64;
        let mut count = 0;
        for digit in digits.chars().filter(|&c| c != '_') {
            let Some(digit) = digit.to_digit(radix) else {
                let error = self.error_from(start, format!("`{word}` is not a number"));
                let help =
                    "numbers are written `42`, `1_000` or `0x2a`; a name cannot start with a digit";
                self.diagnostics.add(error.help(help));
                return TokenKind::Int(0);
            };
            value = value.saturating_mul(radix.into()).saturating_add(digit.into());
            count += 1;
        }
        if count == 0 {
            let error = self.error_from(start, format!("`{word}` has no digits"));
            self.diagnostics.add(error.help("a hexadecimal number is written `0x2a`"));
            return TokenKind::Int(0);
        }
        match u32::try_from(value) {
            Ok(value) if value <= 1 << 31 => TokenKind::Int(value),
            _ => {
                let error = self.error_from(start, format!("`{word}` does not fit in 32 bits"));
                self.diagnostics.add(error.help("integers go from -2147483648 to 2147483647"));
                TokenKind::Int(0)
            }
        }
    }

    fn string(&mut self) -> TokenKind {
        let start = self.at;
        self.at += 1;
        loop {
            self.take_while(|c| !matches!(c, '"' | '\\' | '\n'));
            match self.peek() {
                Some('"') => {
                    self.at += 1;
                    return TokenKind::Str;
                }
                Some('\\') => self.string_escape(),
                _ => {
                    let error = self.error_from(start, "this string does not end on its line");
                    self.diagnostics.add(error.help("close it with `\"`"));
                    return TokenKind::Str;
                }
            }
        }
    }

    fn string_escape(&mut self) {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some('\n') | None => {}
            Some(c) => {
                self.at += c.len_utf8();
                if escape(c).is_none() {
                    let error = self.error_from(start, format!("unknown escape `\\{c}`"));
                    self.diagnostics.add(error.help("known are `\\n`, `\\t`, `\\\"` and `\\\\`"));
                }
            }
        }
    }

    /// Returns a sign, or `None` if there is no such sign: then it is reported and skipped.
    fn sign(&mut self, c: char) -> Option<TokenKind> {
        use TokenKind::*;
        const SIGNS: &[(&str, TokenKind)] = &[
            ("..", DotDot),
            ("<<=", ShiftLeftAssign),
            (">>=", ShiftRightAssign),
            ("<<", ShiftLeft),
            (">>", ShiftRight),
            ("->", Arrow),
            ("=>", FatArrow),
            ("==", Equal),
            ("!=", NotEqual),
            ("<=", LessEqual),
            (">=", GreaterEqual),
            ("&&", And),
            ("||", Or),
            ("+=", PlusAssign),
            ("-=", MinusAssign),
            ("*=", StarAssign),
            ("&=", AndAssign),
            ("|=", OrAssign),
            ("^=", XorAssign),
            ("(", LeftParen),
            (")", RightParen),
            ("{", LeftBrace),
            ("}", RightBrace),
            ("[", LeftBracket),
            ("]", RightBracket),
            (",", Comma),
            (";", Semicolon),
            (":", Colon),
            (".", Dot),
            ("=", Assign),
            ("+", Plus),
            ("-", Minus),
            ("*", Star),
            ("/", Slash),
            ("%", Percent),
            ("<", Less),
            (">", Greater),
            ("!", Not),
            ("&", BitAnd),
            ("|", BitOr),
            ("^", BitXor),
            ("~", BitNot),
        ];
        let rest = self.rest();
        if let Some((text, kind)) = SIGNS.iter().find(|(text, _)| rest.starts_with(text)) {
            self.at += text.len();
            return Some(*kind);
        }
        self.unknown_sign(c)
    }

    fn unknown_sign(&mut self, c: char) -> Option<TokenKind> {
        let start = self.at;
        let meant = meant_by(c);
        if meant.is_some() {
            self.at += c.len_utf8();
        } else {
            // One message for a whole run of them.
            self.take_while(|c| !c.is_ascii() || (c.is_control() && !c.is_whitespace()));
            if self.at == start {
                self.at += c.len_utf8();
            }
        }
        let run = Span::new(start, self.at).of(self.text).to_owned();
        let error = self.error_from(start, format!("unexpected character `{run}`"));
        let help = match meant {
            Some((_, text)) => format!("write `{text}`"),
            None if c == '\'' => "strings are written with `\"`".to_owned(),
            None => "the language has no such sign".to_owned(),
        };
        self.diagnostics.add(error.help(help));
        meant.map(|(kind, _)| kind)
    }
}

/// Signs of papers and of other languages.
fn meant_by(c: char) -> Option<(TokenKind, &'static str)> {
    match c {
        '∧' => Some((TokenKind::And, "&&")),
        '∨' => Some((TokenKind::Or, "||")),
        '¬' => Some((TokenKind::Not, "!")),
        '≤' => Some((TokenKind::LessEqual, "<=")),
        '≥' => Some((TokenKind::GreaterEqual, ">=")),
        '≠' => Some((TokenKind::NotEqual, "!=")),
        '×' | '·' => Some((TokenKind::Star, "*")),
        '−' | '–' => Some((TokenKind::Minus, "-")),
        '←' => Some((TokenKind::Assign, "=")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> (Vec<TokenKind>, usize) {
        let mut diagnostics = Diagnostics::default();
        let tokens = lex(text, &mut diagnostics);
        let errors = diagnostics.into_sorted().len();
        (tokens.into_iter().map(|token| token.kind).collect(), errors)
    }

    #[test]
    fn tokens() {
        use TokenKind::*;
        assert_eq!(kinds("x += 1_0;"), (vec![Name, PlusAssign, Int(10), Semicolon, End], 0));
        assert_eq!(kinds("0..0x1F"), (vec![Int(0), DotDot, Int(31), End], 0));
        assert_eq!(kinds("a /* b /* c */ d */ _ // e\n_f"), (vec![Name, Underscore, Name, End], 0));
        assert_eq!(kinds("2147483648"), (vec![Int(1 << 31), End], 0));
        assert_eq!(kinds("//# golden\nlock"), (vec![Lock, End], 0));
    }

    #[test]
    fn errors_do_not_stop_it() {
        use TokenKind::*;
        assert_eq!(kinds("2147483649 x"), (vec![Int(0), Name, End], 1));
        assert_eq!(kinds("a ∧ b"), (vec![Name, And, Name, End], 1));
        assert_eq!(kinds("a & b<<1"), (vec![Name, BitAnd, Name, ShiftLeft, Int(1), End], 0));
        assert_eq!(kinds("x ≤ y # z"), (vec![Name, LessEqual, Name, Name, End], 2));
        assert_eq!(kinds("\"open\n;"), (vec![Str, Semicolon, End], 1));
        assert_eq!(kinds("/* /* */ x"), (vec![End], 1));
        assert_eq!(kinds("12ab 0x"), (vec![Int(0), Int(0), End], 2));
    }

    #[test]
    fn strings() {
        assert_eq!(string_value(r#""a\"b\\c\n""#), "a\"b\\c\n");
        assert_eq!(string_value("\"open"), "open");
    }

    #[test]
    fn the_reference_page_lists_the_keywords() {
        let page = include_str!("../../../docs/language.md");
        let (_, list) = page.split_once("The keywords: `").expect("the list is gone");
        let listed: Vec<&str> = list.trim_end().trim_end_matches("`.").split_whitespace().collect();
        let mut keywords = KEYWORDS.to_vec();
        keywords.sort_unstable();
        assert_eq!(listed, keywords);
    }
}
