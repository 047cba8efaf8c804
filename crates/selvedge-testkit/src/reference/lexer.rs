//! The text of a program as tokens: the section "Text" of `docs/language.md`.

/// A token, and the line on which it starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) line: u32,
    /// Where it starts in the text, in bytes.
    pub(super) start: usize,
    /// Where it ends.
    pub(super) end: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A name or a keyword.
    Word(String),
    Number(i64),
    /// The value of a string is never needed.
    Text,
    /// Punctuation: one of [`SIGNS`].
    Sign(&'static str),
    End,
}

/// The longer ones first.
const SIGNS: [&str; 42] = [
    "<<=", ">>=", "..", "=>", "->", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "+=", "-=",
    "*=", "&=", "|=", "^=", "+", "-", "*", "/", "%", "<", ">", "!", "=", "(", ")", "[", "]", "{",
    "}", ",", ";", ":", "&", "|", "^", "~", ".",
];

/// Splits `text` into tokens; the last one is [`Kind::End`].
///
/// # Errors
/// Names the first line with something that is no token.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let (line, start) = (lexer.line, lexer.at);
        let kind = lexer.token()?;
        let last = kind == Kind::End;
        tokens.push(Token { kind, line, start, end: lexer.at });
        if last {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    /// Continues by so many bytes.
    fn advance(&mut self, bytes: usize) {
        self.line += self.rest()[..bytes].matches('\n').count() as u32;
        self.at += bytes;
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            if blanks > 0 {
                self.advance(blanks);
            } else if rest.starts_with("//") {
                self.advance(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("/*") {
                self.skip_comment();
            } else {
                return;
            }
        }
    }

    /// `/* … */` comments nest.
    fn skip_comment(&mut self) {
        let mut depth = 0;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.advance(2);
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.advance(2);
            } else {
                let Some(character) = rest.chars().next() else { return };
                self.advance(character.len_utf8());
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn token(&mut self) -> Result<Kind, String> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Kind::End) };
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if is_part(first) {
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let word = rest[..length].to_owned();
            self.advance(length);
            return if first.is_ascii_digit() { self.number(&word) } else { Ok(Kind::Word(word)) };
        }
        if first == '"' {
            return self.string();
        }
        for sign in SIGNS {
            if rest.starts_with(sign) {
                self.advance(sign.len());
                return Ok(Kind::Sign(sign));
            }
        }
        Err(format!("line {}: what is `{first}`?", self.line))
    }

    fn number(&self, word: &str) -> Result<Kind, String> {
        let digits = word.replace('_', "");
        let value = match digits.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => digits.parse(),
        };
        value.map(Kind::Number).map_err(|_| format!("line {}: `{word}` is no number", self.line))
    }

    fn string(&mut self) -> Result<Kind, String> {
        let mut escaped = false;
        for (index, character) in self.rest().char_indices().skip(1) {
            match character {
                '"' if !escaped => {
                    self.advance(index + 1);
                    return Ok(Kind::Text);
                }
                _ => escaped = character == '\\' && !escaped,
            }
        }
        Err(format!("line {}: a string does not end", self.line))
    }
}
