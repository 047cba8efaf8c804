//! Renaming, checked by doing it: the new text must have the same names in the same places, with the same meanings.

use super::{Index, SymbolId};
use crate::compile;
use crate::lexer::KEYWORDS;
use crate::span::Span;

/// What a symbol can be called instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renamed {
    /// Where the new name goes, in the order of the text.
    pub spans: Vec<Span>,
}

/// Why a symbol cannot be renamed: a sentence without a full stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(pub String);

impl Index {
    /// Returns where to write the new name of a symbol. `text` is the text that the index was made of.
    ///
    /// # Errors
    /// If the name is no name, or if something would mean something else under it.
    pub fn rename(&self, symbol: SymbolId, name: &str, text: &str) -> Result<Renamed, Refused> {
        check_name(name)?;
        if self.has_syntax_errors {
            let message =
                "the program has syntax errors, so not all uses are known: fix them first";
            return Err(Refused(message.to_owned()));
        }
        let old = &self.symbol(symbol).name;
        let spans: Vec<Span> = self.uses_of(symbol).map(|it| it.span).collect();
        let renamed = replaced(text, &spans, name);
        let other = Index::new(&renamed);
        let clash = other.symbols().find(|(id, it)| it.name == name && *id != symbol);
        let refuse = |why: &str| Refused(format!("`{old}` cannot be called `{name}`: {why}"));
        if !self.is_alike(&other) {
            return Err(match clash {
                Some((_, clash)) => refuse(&format!("{} has this name", clash.kind.describe())),
                None => refuse("a use of the name would mean something else"),
            });
        }
        // A local of another body may have the name; a declaration, or a local in the same scope, may not.
        let errors = |text: &str| compile("", text, &[]).err().unwrap_or_default();
        let (before, after) = (errors(text), errors(&renamed));
        if after.len() > before.len() {
            let is_new = |message: &&str| before.iter().all(|other| other.message != **message);
            let mut messages = after.iter().map(|error| error.message.as_str());
            return Err(refuse(
                messages.find(is_new).unwrap_or("the program would have more errors"),
            ));
        }
        Ok(Renamed { spans })
    }

    /// Returns whether the same names stand in the same order and have the same meanings.
    fn is_alike(&self, other: &Index) -> bool {
        let meanings = |index: &Index| -> Vec<_> {
            index.uses.iter().map(|it| (it.symbol, it.access, it.place)).collect()
        };
        let kinds = |index: &Index| -> Vec<_> { index.symbols.iter().map(|it| it.kind).collect() };
        kinds(self) == kinds(other) && meanings(self) == meanings(other)
    }
}

fn check_name(name: &str) -> Result<(), Refused> {
    let mut letters = name.chars();
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name = letters.next().is_some_and(is_start)
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name != "_";
    if !is_name {
        let shown: String = name.chars().take(40).collect();
        return Err(Refused(format!(
            "`{shown}` is not a name: names are made of A-Z, a-z, 0-9 and `_`"
        )));
    }
    if KEYWORDS.contains(&name) {
        return Err(Refused(format!("`{name}` is a keyword")));
    }
    Ok(())
}

pub(super) fn replaced(text: &str, spans: &[Span], name: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        out.push_str(&text[at..span.start as usize]);
        out.push_str(name);
        at = span.end as usize;
    }
    out.push_str(&text[at..]);
    out
}
