//! Places in the source, as the program keeps them.

use rustc_hash::FxHashMap;
use std::borrow::Cow;

use crate::diagnostic::Diagnostics;
use crate::ir::{Shown, Site, SiteId};
use crate::lexer::lex;
use crate::span::{LineIndex, Span};

/// Longer texts are cut.
const LONGEST_TEXT: usize = 160;
/// A message shows at most so many values.
pub(super) const MOST_SHOWN: usize = 12;

pub(super) struct Sites<'t> {
    text: &'t str,
    lines: LineIndex,
    sites: Vec<Site>,
    /// Sites that show no values, to use them again.
    plain: FxHashMap<Span, SiteId>,
}

impl<'t> Sites<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let lines = LineIndex::new(text);
        Self { text, lines, sites: Vec::new(), plain: FxHashMap::default() }
    }

    pub(super) fn finish(self) -> Vec<Site> {
        self.sites
    }

    /// Returns the site of an expression or statement.
    pub(super) fn plain(&mut self, span: Span) -> SiteId {
        let span = self.trimmed(span);
        if let Some(&site) = self.plain.get(&span) {
            return site;
        }
        let site = self.add(span, self.one_line(span), Vec::new());
        self.plain.insert(span, site);
        site
    }

    /// Returns the site of what stands before the first brace: `lock m` of `lock m { … }`.
    pub(super) fn header(&mut self, span: Span) -> SiteId {
        let text = span.of(self.text);
        let length = text.find('{').map_or(text.len(), |brace| text[..brace].trim_end().len());
        self.plain(Span { start: span.start, end: span.start + len32(length) })
    }

    /// Returns a site whose message shows values.
    pub(super) fn showing(&mut self, span: Span, shown: Vec<Shown>) -> SiteId {
        if shown.is_empty() {
            return self.plain(span);
        }
        let span = self.trimmed(span);
        self.add(span, self.one_line(span), shown)
    }

    /// Returns a site of something that is not written there.
    pub(super) fn implied(&mut self, span: Span, text: String) -> SiteId {
        self.add(span, text, Vec::new())
    }

    fn add(&mut self, span: Span, text: String, shown: Vec<Shown>) -> SiteId {
        let (line, column, length) = self.lines.position(span, self.text);
        self.sites.push(Site { line, column, length, text, shown });
        SiteId::new(self.sites.len() - 1)
    }

    /// Without the semicolon.
    fn trimmed(&self, span: Span) -> Span {
        let text = span.of(self.text);
        let shorter = text.trim_end_matches(';').trim_end();
        if shorter.is_empty() {
            return span;
        }
        Span { start: span.start, end: span.start + len32(shorter.len()) }
    }

    /// Returns the text under `span`, with single blanks.
    pub(super) fn one_line(&self, span: Span) -> String {
        let mut line = String::new();
        for word in without_comments(span.of(self.text)).split_whitespace() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            if line.len() > LONGEST_TEXT {
                let cut = (0..=LONGEST_TEXT).rev().find(|&at| line.is_char_boundary(at));
                line.truncate(cut.unwrap_or(0));
                line.push('…');
                break;
            }
        }
        line
    }
}

/// Returns the text without its comments. A text without one, as most are, is not copied.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !text.contains("//") && !text.contains("/*") {
        return Cow::Borrowed(text);
    }
    let tokens = lex(text, &mut Diagnostics::default());
    let mut out = String::new();
    let mut end = 0;
    for token in tokens {
        // Whatever stands between two tokens is blanks and comments.
        if token.span.start > end && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(token.span.of(text));
        end = token.span.end;
    }
    Cow::Owned(out)
}

fn len32(length: usize) -> u32 {
    u32::try_from(length).expect("internal error: a source text of more than 4 GiB")
}
