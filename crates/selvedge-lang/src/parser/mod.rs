//! Tokens to tree: recursive descent that continues after an error.
//!
//! After an error inside a statement the parser skips to the next statement; inside an item, to
//! the next item. A second error at the same token is not reported. Nesting is limited, so that
//! neither the parser nor any later walk over the tree can exhaust the stack.

mod actors;
mod expressions;
mod items;
mod monitors;
mod params;
mod records;
mod statements;

use crate::bundle;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{Token, TokenKind, lex, lex_part};
use crate::span::Span;
use crate::tree::written::{Block, File, Ident, Import, Item, Routine};

/// How deep blocks and parentheses may nest: what follows the tree recurses. Beyond: an error.
pub(crate) const MAX_NESTING: u32 = 100;
/// How deep the tree of one expression may be; also the number of terms in one sum. Beyond: an error.
pub(crate) const MAX_HEIGHT: u32 = 250;

/// Returns the tree of `text`, as far as it can be made.
pub(crate) fn parse(text: &str, diagnostics: &mut Diagnostics) -> File {
    parse_beside(text, "", diagnostics)
}

/// Returns the same for a text that speaks of records and actors of another one.
pub(crate) fn parse_beside(text: &str, other: &str, diagnostics: &mut Diagnostics) -> File {
    let others = lex(other, &mut Diagnostics::default());
    let parts = bundle::parts(text).into_iter();
    let parts =
        parts.map(|part| lex_part(text, part.start..part.start + part.text.len(), diagnostics));
    let parts: Vec<Vec<Token>> = parts.collect();
    let tokens = parts.concat();
    let mut variables = records::variables(text, &tokens);
    variables.extend(records::variables(other, &others));
    let mut actors = actors::actors(text, &tokens);
    actors.extend(actors::actors(other, &others));
    let mut parser = Parser {
        text,
        tokens: &[],
        at: 0,
        nesting: 0,
        last_error: None,
        inner_items: Vec::new(),
        enums: declared_types(text, &tokens, "enum"),
        records: declared_types(text, &tokens, "record"),
        variables,
        actors,
        inside: None,
        of_records: Vec::new(),
        types: Vec::new(),
        imports: Vec::new(),
        watchers: Vec::new(),
        diagnostics,
    };
    parser.files(&parts)
}

/// The error has been reported.
struct Reported;

type Parsed<T> = Result<T, Reported>;

struct Parser<'t, 'd> {
    text: &'t str,
    tokens: &'t [Token],
    /// Index of the next token; never past the last one, which is `End`.
    at: usize,
    nesting: u32,
    /// The token at which the last error was reported.
    last_error: Option<usize>,
    /// Items that stand inside a block by mistake: kept, so that their names are known.
    inner_items: Vec<Item>,
    /// The names of enumerations, also of those below: they are types.
    enums: Vec<String>,
    /// The names of records.
    records: Vec<String>,
    /// The names of variables that are records.
    variables: Vec<String>,
    /// The actors.
    actors: Vec<actors::Actor>,
    /// The actor whose code it is.
    inside: Option<actors::Inside>,
    /// The variables that are records, and of which.
    of_records: Vec<(Ident, Ident)>,
    /// The names of enumerations and records where they stand as types.
    types: Vec<Ident>,
    imports: Vec<Import>,
    watchers: Vec<Routine>,
    diagnostics: &'d mut Diagnostics,
}

impl<'t> Parser<'t, '_> {
    /// A program: the tokens of each of its files.
    fn files(&mut self, parts: &'t [Vec<Token>]) -> File {
        let mut items = Vec::new();
        for tokens in parts {
            (self.tokens, self.at, self.last_error) = (tokens, 0, None);
            while self.peek() != TokenKind::End {
                let before = self.at;
                match self.item() {
                    Ok(Some(item)) => items.push(item),
                    Ok(None) => {}
                    Err(Reported) => self.skip_to_item(before),
                }
                items.append(&mut self.inner_items);
            }
        }
        let items = records::expand(items, &self.of_records);
        File {
            items,
            enums: std::mem::take(&mut self.enums),
            types: std::mem::take(&mut self.types),
            of_records: std::mem::take(&mut self.of_records),
            imports: std::mem::take(&mut self.imports),
            watchers: std::mem::take(&mut self.watchers),
        }
    }

    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn peek(&self) -> TokenKind {
        self.token().kind
    }

    /// Returns whether the next token is this name.
    fn is_word(&self, word: &str) -> bool {
        self.peek() == TokenKind::Name && self.token().span.of(self.text) == word
    }

    fn peek_second(&self) -> TokenKind {
        self.tokens.get(self.at + 1).map_or(TokenKind::End, |token| token.kind)
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != TokenKind::End {
            self.at += 1;
        }
        token
    }

    /// Takes the next token if it is this one.
    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == kind;
        if found {
            self.bump();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, place: &str) -> Parsed<Token> {
        if self.peek() == kind {
            return Ok(self.bump());
        }
        Err(self.unexpected(&format!("{}{place}", kind.describe())))
    }

    /// A missing semicolon is reported where it should stand, and then taken as given.
    fn expect_semicolon(&mut self, place: &str) {
        if self.eat(TokenKind::Semicolon) {
            return;
        }
        let span = self.previous().after();
        let found = self.found();
        self.report(
            Diagnostic::error(span, format!("expected `;`{place}, found {found}"))
                .label("add `;` here"),
        );
        // What follows on the same line belongs to the same mistake.
        if !self.first_on_line() && !starts_item(self.peek()) {
            self.skip_to_statement(self.at);
        }
    }

    fn ident(&mut self, what: &str) -> Parsed<Ident> {
        let token = self.token();
        if token.kind == TokenKind::Name {
            self.bump();
            return Ok(self.ident_of(token));
        }
        if token.kind.is_keyword() {
            let word = token.span.of(self.text);
            let message = format!("expected {what}, found the keyword `{word}`");
            let help = format!("choose another name, say `{word}_`");
            return Err(self.report(Diagnostic::error(token.span, message).help(help)));
        }
        Err(self.unexpected(what))
    }

    fn ident_of(&self, token: Token) -> Ident {
        Ident { text: token.span.of(self.text).to_owned(), span: token.span }
    }

    /// Returns the place of the token before the next one.
    fn previous(&self) -> Span {
        match self.at.checked_sub(1) {
            Some(before) => self.tokens[before].span,
            None => Span::default(),
        }
    }

    /// Returns the next token, as messages call it.
    fn found(&self) -> String {
        let token = self.token();
        match token.kind {
            TokenKind::Name | TokenKind::Int(_) => format!("`{}`", token.span.of(self.text)),
            kind => kind.describe().to_owned(),
        }
    }

    fn unexpected(&mut self, wanted: &str) -> Reported {
        let message = format!("expected {wanted}, found {}", self.found());
        let span = self.token().span;
        self.report(Diagnostic::error(span, message))
    }

    fn report(&mut self, diagnostic: Diagnostic) -> Reported {
        if self.last_error != Some(self.at) {
            self.diagnostics.add(diagnostic);
        }
        self.last_error = Some(self.at);
        Reported
    }

    /// Runs `parse` one level deeper, or gives up on the whole rest if that is too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting == MAX_NESTING {
            let span = self.token().span;
            return Err(self.give_up(
                Diagnostic::error(span, format!("nested more than {MAX_NESTING} levels deep"))
                    .help("move inner parts into a `fn` or a `proc`"),
            ));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// Reports, and skips everything that follows: nothing sensible can be said about it.
    fn give_up(&mut self, diagnostic: Diagnostic) -> Reported {
        self.report(diagnostic);
        self.at = self.tokens.len() - 1;
        self.last_error = Some(self.at);
        Reported
    }

    /// `{ statements }`
    fn block(&mut self, owner: &str) -> Parsed<Block> {
        let open = self.expect(TokenKind::LeftBrace, &format!(" {owner}"))?;
        self.nested(|parser| {
            let mut statements = Vec::new();
            while parser.peek() != TokenKind::RightBrace {
                if parser.peek() == TokenKind::End
                    || starts_item(parser.peek()) && parser.starts_line()
                {
                    // What there is of it is checked nevertheless.
                    parser.unclosed(open.span);
                    return Ok(Block { statements, span: open.span.to(parser.previous()) });
                }
                statements.extend(parser.statement_or_skip());
            }
            let close = parser.bump();
            Ok(Block { statements, span: open.span.to(close.span) })
        })
    }

    fn unclosed(&mut self, open: Span) -> Reported {
        let here = self.token().span;
        let found = self.found();
        self.report(
            Diagnostic::error(open, "this block is not closed")
                .other(here, format!("found {found} instead of `}}`"))
                .help("close it with `}`"),
        )
    }

    /// Returns whether the next token is the very first on its line, without indentation.
    fn starts_line(&self) -> bool {
        let start = self.token().span.start as usize;
        start == 0 || self.text.as_bytes()[start - 1] == b'\n'
    }

    /// Returns whether the next token is the first on its line.
    fn first_on_line(&self) -> bool {
        let between = Span { start: self.previous().end, end: self.token().span.start };
        between.of(self.text).contains('\n')
    }

    /// After an error in the statement that starts at token `start`: to the next one. Takes at
    /// least one token since `start`, unless the block ends here.
    fn skip_to_statement(&mut self, start: usize) {
        let mut depth = self.open_braces(start);
        loop {
            let moved = self.at > start;
            match self.peek() {
                TokenKind::End => return,
                TokenKind::RightBrace if depth == 0 => return,
                TokenKind::Semicolon if depth == 0 => {
                    self.bump();
                    return;
                }
                TokenKind::RightBrace => {
                    depth -= 1;
                    let goes_on =
                        matches!(self.peek_second(), TokenKind::Else | TokenKind::Semicolon);
                    if depth == 0 && !goes_on {
                        self.bump();
                        return;
                    }
                }
                TokenKind::LeftBrace => depth += 1,
                kind if starts_item(kind) && self.starts_line() => return,
                kind if depth == 0 && moved && starts_statement(kind) && self.first_on_line() => {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Returns whether the last token ends a statement or an item.
    fn ended(&self) -> bool {
        let last = self.at.checked_sub(1).map(|last| self.tokens[last].kind);
        matches!(last, Some(TokenKind::Semicolon | TokenKind::RightBrace))
    }

    /// Returns how many braces were opened since token `start` and not closed.
    fn open_braces(&self, start: usize) -> u32 {
        self.tokens[start..self.at].iter().fold(0_u32, |depth, token| match token.kind {
            TokenKind::LeftBrace => depth + 1,
            TokenKind::RightBrace => depth.saturating_sub(1),
            _ => depth,
        })
    }

    /// After an error in an item: to the next one. Takes at least one token since `start`.
    fn skip_to_item(&mut self, start: usize) {
        let mut depth = 0_u32;
        loop {
            let moved = self.at > start;
            match self.peek() {
                TokenKind::End => return,
                kind if moved && starts_item(kind) && (depth == 0 || self.starts_line()) => return,
                _ if moved && depth == 0 && self.ended() && self.first_on_line() => return,
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.bump();
        }
    }
}

/// Returns the names of the types of a text that are declared with this word.
fn declared_types(text: &str, tokens: &[Token], word: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for three in tokens.windows(3) {
        let kinds = [three[0].kind, three[1].kind, three[2].kind];
        let name = three[1].span.of(text);
        if kinds == [TokenKind::Name, TokenKind::Name, TokenKind::LeftBrace]
            && three[0].span.of(text) == word
            && !names.iter().any(|other| other == name)
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// Tokens that start an item. `atomic` is left out: it also starts a statement.
fn starts_item(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Const
            | Shared
            | Mutex
            | Rwlock
            | Cond
            | Semaphore
            | Barrier
            | List
            | Map
            | Fn
            | Proc
            | Thread
            | Daemon
            | Finally
            | Always
            | Independent
    )
}

/// Tokens that can only start a statement, and names.
fn starts_statement(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Name | Let
            | If
            | While
            | For
            | Loop
            | Break
            | Continue
            | Return
            | Assert
            | Assume
            | Await
            | Lock
            | Unlock
            | ReadLock
            | ReadUnlock
            | WriteLock
            | WriteUnlock
            | Send
            | Receive
            | Spawn
            | Join
            | Atomic
            | Skip
            | Yield
    )
}
