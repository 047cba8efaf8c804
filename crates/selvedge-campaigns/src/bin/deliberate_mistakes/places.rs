//! Where the mistakes of the list are, as places at which code is there twice: right and wrong.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::list::Mistake;
use crate::workshop::site::{Shape, Site};

/// A mistake, and what is around it.
pub(crate) struct Place<'a> {
    mistake: &'a Mistake,
    file: PathBuf,
    text: &'a str,
    /// What is wrong there, without blanks around it.
    at: Range<usize>,
    /// Expressions and bodies that hold the mistake, the smallest last.
    around: Vec<(Range<usize>, Shape)>,
}

impl<'a> Place<'a> {
    /// Finds a mistake.
    ///
    /// # Panics
    /// If its place is not unique, or not inside of a function.
    pub(crate) fn of(mistake: &'a Mistake, sources: &'a BTreeMap<PathBuf, String>) -> Self {
        let file = Path::new(mistake.home().0).join(mistake.file);
        let text = sources.get(&file).map(String::as_str).unwrap_or_default();
        assert_eq!(
            text.matches(mistake.right).count(),
            1,
            "the place of the mistake “{}” is not unique in {}",
            mistake.name,
            mistake.file
        );
        let start = text.find(mistake.right).expect("it was just found");
        let blanks = mistake.right.len() - mistake.right.trim_start().len();
        let at = start + blanks..start + mistake.right.trim_end().len();
        let mut finder = Finder { at: at.clone(), around: Vec::new() };
        finder.visit_file(&syn::parse_file(text).expect("the sources are Rust"));
        let mut around = finder.around;
        around.sort_by_key(|(range, _)| std::cmp::Reverse(range.len()));
        Self { mistake, file, text, at, around }
    }

    /// Takes more of the code around it.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn widen(&mut self, message: &str) {
        self.around.pop();
        let name = self.mistake.name;
        assert!(!self.around.is_empty(), "the mistake “{name}” does not compile: {message}");
    }

    /// The mistake, with the smallest part around it.
    pub(crate) fn site(&self) -> Site {
        let Mistake { name, wrong, .. } = self.mistake;
        let (range, shape) = self.around.last().cloned().unwrap_or_else(|| {
            panic!("the mistake “{name}” is not inside of a function");
        });
        let before = &self.text[range.start..self.at.start];
        let after = &self.text[self.at.end..range.end];
        // As one line, without comments.
        let wrong: proc_macro2::TokenStream = format!("{before}{}{after}", wrong.trim())
            .parse()
            .unwrap_or_else(|error| panic!("the mistake “{name}” is no code: {error}"));
        let line = self.text[..range.start].matches('\n').count() + 1;
        let (file, right) = (self.file.clone(), (*name).to_owned());
        Site { file, line, range, wrong: wrong.to_string(), right, shape }
    }
}

/// Finds the expressions and bodies around a place.
struct Finder {
    at: Range<usize>,
    around: Vec<(Range<usize>, Shape)>,
}

impl Finder {
    fn look_at(&mut self, range: Range<usize>, shape: Shape) {
        let is_around = range.start <= self.at.start && self.at.end <= range.end;
        if is_around && self.around.iter().all(|(other, _)| *other != range) {
            self.around.push((range, shape));
        }
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_block(&mut self, block: &'ast syn::Block) {
        let (open, close) = (block.brace_token.span.open(), block.brace_token.span.close());
        self.look_at(open.byte_range().end..close.byte_range().start, Shape::Expression);
        visit::visit_block(self, block);
    }

    fn visit_stmt(&mut self, stmt: &'ast syn::Stmt) {
        if let syn::Stmt::Expr(expr, None) = stmt {
            // It has no semicolon, so nothing but a statement can follow it.
            self.look_at(expr.span().byte_range(), Shape::Statement);
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        if !matches!(expr, syn::Expr::Let(_)) {
            self.look_at(expr.span().byte_range(), Shape::Expression);
        }
        visit::visit_expr(self, expr);
    }
}
