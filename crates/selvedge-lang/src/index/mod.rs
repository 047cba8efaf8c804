//! The names of a text: where each is declared, where it is used, and what the use does. For editors.
//!
//! It is made from what is written, not from what compiles: a text with errors has an index too, as far as the parser could
//! follow it. The checker adds types and values where it knows them.

mod access;
mod depends;
mod highlight;
mod rename;
mod walk;

use std::collections::BTreeMap;

use crate::check::{self, Known};
use crate::diagnostic::Diagnostics;
use crate::ir::Type;
use crate::lexer::{KEYWORDS, Token, TokenKind, lex};
use crate::span::Span;
use crate::{check_length, parser};

pub use access::Access;
pub use depends::Dependence;
pub use highlight::Highlight;
pub use rename::{Refused, Renamed};

/// The keywords of the language.
pub const WORDS: &[&str] = KEYWORDS;

/// Words that mean something in some places, and are names in all others.
pub const PLACED: &[&str] = &[
    "actor",
    "after",
    "channel",
    "each",
    "enum",
    "eventually",
    "future",
    "ghost",
    "import",
    "leads_to",
    "lossy",
    "monitor",
    "post",
    "progress",
    "record",
    "reordering",
    "scan",
    "task",
];

/// The functions and procedures that come with the language.
pub const BUILT_IN: &[&str] = check::BUILT_IN;

/// A symbol of an [`Index`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolId(usize);

/// Something that has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// As declared.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// Where its name is declared.
    pub span: Span,
    /// The whole declaration, with its body.
    pub whole: Span,
    /// The thread or routine whose local it is, or in which the block stands.
    pub owner: Option<SymbolId>,
    /// Of a variable, constant, local or result, if it is known.
    pub ty: Option<Type>,
    /// Of a constant; booleans are 0 and 1.
    pub value: Option<i32>,
    /// Of an array, if they are known.
    pub sizes: Vec<u32>,
    /// Of a parameter that stands for an object: its kind, and how many dimensions it has.
    pub object: Option<(&'static str, usize)>,
    /// How many threads a thread's declaration starts, if that is known.
    pub threads: Option<u32>,
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// `const`
    Constant,
    /// `enum`
    Enum,
    /// `record`
    Record,
    /// A field of a record.
    Field,
    /// `actor`
    Actor {
        /// `(i in 0..N)`
        replicated: bool,
    },
    /// `task`
    Task,
    /// A value of an enumeration.
    Member,
    /// `shared`, perhaps `atomic`
    Variable {
        /// Whether its accesses are synchronisation.
        atomic: bool,
    },
    /// `ghost`
    Ghost,
    /// `mutex`
    Mutex,
    /// `rwlock`
    Rwlock,
    /// `cond`
    Cond,
    /// `semaphore`
    Semaphore,
    /// `barrier`
    Barrier,
    /// `list`
    List,
    /// `map`
    Map,
    /// `channel`
    Channel,
    /// `fn`
    Function,
    /// `proc`
    Procedure {
        /// Whether its body is one step.
        atomic: bool,
    },
    /// `thread`
    Thread {
        /// `(i in 0..N)`
        replicated: bool,
    },
    /// `atomic name { … }`
    Section,
    /// `let`, also in a pattern of `receive`
    Local,
    /// Of a routine or an independence constraint
    Parameter,
    /// Of a `for` loop or a replicated thread
    Loop,
}

impl SymbolKind {
    /// Returns what it is, with an article.
    pub fn describe(self) -> &'static str {
        match self {
            SymbolKind::Constant => "a constant",
            SymbolKind::Enum => "an enumeration",
            SymbolKind::Record => "a record",
            SymbolKind::Field => "a field",
            SymbolKind::Actor { replicated: false } => "an actor",
            SymbolKind::Actor { replicated: true } => "actors",
            SymbolKind::Task => "a task",
            SymbolKind::Member => "a value of an enumeration",
            SymbolKind::Variable { atomic: false } => "a shared variable",
            SymbolKind::Variable { atomic: true } => "an atomic shared variable",
            SymbolKind::Ghost => "a ghost variable",
            SymbolKind::Mutex => "a mutex",
            SymbolKind::Rwlock => "a reader-writer lock",
            SymbolKind::Cond => "a condition variable",
            SymbolKind::Semaphore => "a semaphore",
            SymbolKind::Barrier => "a barrier",
            SymbolKind::List => "a list",
            SymbolKind::Map => "a map",
            SymbolKind::Channel => "a channel",
            SymbolKind::Function => "a function",
            SymbolKind::Procedure { atomic: false } => "a procedure",
            SymbolKind::Procedure { atomic: true } => "an atomic procedure",
            SymbolKind::Thread { replicated: false } => "a thread",
            SymbolKind::Thread { replicated: true } => "threads",
            SymbolKind::Section => "an atomic block",
            SymbolKind::Local => "a local variable",
            SymbolKind::Parameter => "a parameter",
            SymbolKind::Loop => "an index",
        }
    }

    /// Returns whether threads share it, so that accesses to it can depend on each other.
    pub fn is_shared(self) -> bool {
        use SymbolKind::*;
        matches!(
            self,
            Variable { .. }
                | Ghost
                | Mutex
                | Rwlock
                | Cond
                | Semaphore
                | Barrier
                | List
                | Map
                | Channel
        )
    }
}

/// A name where it stands, the declaration included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Use {
    /// Where.
    pub span: Span,
    /// Whose name it is.
    pub symbol: SymbolId,
    /// What is done to it.
    pub access: Access,
    /// The code in which it stands.
    pub place: Place,
    /// The statement that is one step as a whole, if it stands in one.
    pub section: Option<Span>,
}

/// The code in which a name stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// That of a thread or routine.
    Body(SymbolId),
    /// `finally`
    Finally,
    /// `always`
    Always,
    /// `eventually` or `leads_to`
    Promise,
    /// No code: a declaration, a constant, an independence constraint.
    Declaration,
}

/// A statement or procedure that is one step as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// `atomic`, `await` or `task`.
    pub keyword: &'static str,
    /// All of it.
    pub span: Span,
}

/// The names of a text. Uses are in the order of the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Index {
    symbols: Vec<Symbol>,
    uses: Vec<Use>,
    sections: Vec<Section>,
    /// The names of enumerations, by the numbers of their types.
    enums: Vec<String>,
    has_syntax_errors: bool,
}

impl Index {
    /// Makes the index of a text. One that is too long has no names.
    pub fn new(text: &str) -> Self {
        if check_length(text).is_err() {
            return Self::default();
        }
        let mut diagnostics = Diagnostics::default();
        let file = parser::parse(text, &mut diagnostics);
        let has_syntax_errors = diagnostics.has_errors();
        let known = check::known(&file);
        let mut index = walk::walk(&file);
        index.has_syntax_errors = has_syntax_errors;
        index.enums.clone_from(&file.enums);
        index.uses.sort_by_key(|it| it.span);
        index.add_known(&known);
        index.find_wholes(&lex(text, &mut Diagnostics::default()));
        index
    }

    /// Returns all symbols, in the order in which they were found.
    pub fn symbols(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.symbols.iter().enumerate().map(|(i, symbol)| (SymbolId(i), symbol))
    }

    /// Returns the name of a type.
    pub fn type_name(&self, ty: Type) -> &str {
        match ty {
            Type::Int => "int",
            Type::Bool => "bool",
            Type::Thread => "thread",
            Type::Future(result) => result.future(),
            Type::Enum(id) => self.enums.get(id.index()).map_or("enum", String::as_str),
        }
    }

    /// Returns a symbol.
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0]
    }

    /// Returns all uses of a symbol, its declaration included, in the order of the text.
    pub fn uses_of(&self, id: SymbolId) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |it| it.symbol == id)
    }

    /// Returns the name at a byte of the text, also right behind it.
    pub fn use_at(&self, byte: usize) -> Option<&Use> {
        let after = self.uses.partition_point(|it| it.span.start as usize <= byte);
        let found = self.uses[..after].last()?;
        (byte <= found.span.end as usize).then_some(found)
    }

    /// Returns the innermost statement at a byte that is one step as a whole.
    pub fn section_at(&self, byte: usize) -> Option<Section> {
        let around = |section: &&Section| {
            (section.span.start as usize..section.span.end as usize).contains(&byte)
        };
        self.sections.iter().filter(around).max_by_key(|section| section.span.start).copied()
    }

    /// Returns the uses of shared objects inside a span.
    pub fn accesses_in(&self, span: Span) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |it| {
            it.span.start >= span.start && it.span.end <= span.end && it.access.mode.is_some()
        })
    }

    /// Returns whether parts of the text could not be followed.
    pub fn has_syntax_errors(&self) -> bool {
        self.has_syntax_errors
    }

    fn add_known(&mut self, known: &[Known]) {
        let by_span: BTreeMap<Span, &Known> = known.iter().map(|it| (it.span, it)).collect();
        for symbol in &mut self.symbols {
            if let Some(known) = by_span.get(&symbol.span) {
                symbol.ty = known.ty;
                symbol.value = known.value;
                symbol.sizes.clone_from(&known.sizes);
                symbol.threads = known.threads;
            }
        }
    }

    /// Extends declarations to their keywords and to their ends.
    fn find_wholes(&mut self, tokens: &[Token]) {
        for symbol in &mut self.symbols {
            let at = tokens.partition_point(|token| token.span.start < symbol.span.start);
            let before = tokens[..at].iter().rev();
            let first = before.take_while(|token| token.kind.is_keyword()).last();
            let start = first.map_or(symbol.whole, |token| token.span);
            let has_body = symbol.whole != symbol.span;
            let end = match symbol.kind {
                _ if has_body => symbol.whole,
                SymbolKind::Parameter | SymbolKind::Loop => symbol.span,
                _ => {
                    let ends = |token: &&Token| {
                        matches!(token.kind, TokenKind::Semicolon | TokenKind::RightBrace)
                    };
                    tokens[at..].iter().find(ends).map_or(symbol.span, |token| token.span)
                }
            };
            symbol.whole = start.to(end);
        }
    }
}

#[cfg(test)]
mod tests;
