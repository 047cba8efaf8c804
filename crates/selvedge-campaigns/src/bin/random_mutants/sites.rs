//! Where a small mistake can be made, and which.
//!
//! Not in tests, macros, attributes, types, patterns and constants: there a mistake could not be
//! switched on while the program runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quote::quote;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Lit, Pat, RangeLimits, ReturnType, Stmt, Type, UnOp};

use crate::workshop::site::{Shape, Site};

/// All places in the given sources, by path from the root.
pub(crate) fn all(sources: &BTreeMap<PathBuf, String>) -> Vec<Site> {
    let mut sites = Vec::new();
    let mut left_out: Vec<PathBuf> = Vec::new();
    for (file, text) in sources {
        let tree = syn::parse_file(text).expect("the sources are Rust");
        let mut finder = Finder { file, text, sites: Vec::new(), optional: Vec::new() };
        finder.visit_file(&tree);
        let folder = match file.file_stem().and_then(|stem| stem.to_str()) {
            Some("lib" | "main" | "mod") => file.parent().expect("a file has a folder").to_owned(),
            _ => file.with_extension(""),
        };
        left_out.extend(finder.optional.iter().map(|module| folder.join(module)));
        sites.extend(finder.sites);
    }
    sites.retain(|site| {
        let of_module = |module: &PathBuf| {
            site.file == module.with_extension("rs") || site.file.starts_with(module)
        };
        !left_out.iter().any(of_module)
    });
    sites
}

struct Finder<'a> {
    file: &'a Path,
    text: &'a str,
    sites: Vec<Site>,
    /// Modules that are not always compiled.
    optional: Vec<String>,
}

impl Finder<'_> {
    fn add(&mut self, place: &impl Spanned, wrong: String, shape: Shape) {
        let span = place.span();
        let range = span.byte_range();
        let right = self.text[range.clone()].to_owned();
        let file = self.file.to_owned();
        self.sites.push(Site { file, line: span.start().line, range, wrong, right, shape });
    }

    fn replace(&mut self, right: &Expr, wrong: proc_macro2::TokenStream) {
        self.add(right, wrong.to_string(), Shape::Expression);
    }

    /// A condition that is taken for its opposite.
    fn negate(&mut self, condition: &Expr) {
        if !has_let(condition) {
            self.replace(condition, quote!(!(#condition)));
        }
    }

    /// A function that returns at once.
    fn return_early(&mut self, signature: &syn::Signature, body: &syn::Block) {
        if signature.asyncness.is_some() || body.stmts.is_empty() {
            return;
        }
        let start = body.brace_token.span.open();
        let name = &signature.ident;
        for value in defaults(&signature.output) {
            let range = start.byte_range().end..start.byte_range().end;
            self.sites.push(Site {
                file: self.file.to_owned(),
                line: start.start().line,
                range,
                wrong: format!("return {value};"),
                right: format!("`{name}` at once"),
                shape: Shape::Addition,
            });
        }
    }

    fn binary(&mut self, expr: &syn::ExprBinary) {
        let whole = Expr::Binary(expr.clone());
        let (a, b) = (&expr.left, &expr.right);
        if has_let(&whole) {
            return;
        }
        let wrong = match expr.op {
            BinOp::Eq(_) => quote!(#a != #b),
            BinOp::Ne(_) => quote!(#a == #b),
            BinOp::Lt(_) => quote!(#a <= #b),
            BinOp::Le(_) => quote!(#a < #b),
            BinOp::Gt(_) => quote!(#a >= #b),
            BinOp::Ge(_) => quote!(#a > #b),
            BinOp::And(_) => quote!((#a) || (#b)),
            BinOp::Or(_) => quote!((#a) && (#b)),
            BinOp::Add(_) => quote!((#a) - (#b)),
            BinOp::Sub(_) => quote!((#a) + (#b)),
            BinOp::Mul(_) => quote!((#a) + (#b)),
            BinOp::Div(_) => quote!((#a) * (#b)),
            BinOp::Rem(_) => quote!((#a) / (#b)),
            BinOp::BitAnd(_) => quote!((#a) | (#b)),
            BinOp::BitOr(_) => quote!((#a) & (#b)),
            BinOp::BitXor(_) => quote!((#a) & (#b)),
            BinOp::Shl(_) => quote!((#a) >> (#b)),
            BinOp::Shr(_) => quote!((#a) << (#b)),
            BinOp::AddAssign(_) => quote!(#a -= #b),
            BinOp::SubAssign(_) => quote!(#a += #b),
            BinOp::BitOrAssign(_) => quote!(#a &= #b),
            BinOp::BitAndAssign(_) => quote!(#a |= #b),
            _ => return,
        };
        self.replace(&whole, wrong);
    }

    fn literal(&mut self, expr: &syn::ExprLit) {
        let whole = Expr::Lit(expr.clone());
        match &expr.lit {
            Lit::Bool(literal) => {
                let other = !literal.value;
                self.replace(&whole, quote!(#other));
            }
            Lit::Int(literal) => {
                let Ok(value) = literal.base10_parse::<u128>() else { return };
                let suffix = literal.suffix();
                let near = [value.checked_add(1), value.checked_sub(1)];
                for other in near.into_iter().flatten() {
                    self.add(&whole, format!("{other}{suffix}"), Shape::Expression);
                }
            }
            _ => {}
        }
    }

    fn method(&mut self, call: &syn::ExprMethodCall) {
        let others = [
            ("any", "all"),
            ("min", "max"),
            ("first", "last"),
            ("is_some", "is_none"),
            ("is_some_and", "is_none_or"),
            ("front", "back"),
        ];
        let method = call.method.to_string();
        let other = others.iter().find_map(|&(a, b)| match () {
            () if method == a => Some(b),
            () if method == b => Some(a),
            () => None,
        });
        let whole = Expr::MethodCall(call.clone());
        if let Some(other) = other {
            let mut changed = call.clone();
            changed.method = syn::Ident::new(other, call.method.span());
            self.replace(&whole, quote!(#changed));
        }
        if matches!(method.as_str(), "is_empty" | "contains" | "contains_key" | "insert") {
            self.replace(&whole, quote!(!#whole));
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Binary(binary) => self.binary(binary),
            Expr::Lit(literal) => self.literal(literal),
            Expr::MethodCall(call) => self.method(call),
            Expr::If(branch) => self.negate(&branch.cond),
            Expr::While(turn) => self.negate(&turn.cond),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Not(_)) => {
                let inner = &unary.expr;
                self.replace(expr, quote!(#inner));
            }
            Expr::Range(range) => {
                if let Some(end) = &range.end {
                    let wrong = match range.limits {
                        RangeLimits::HalfOpen(_) => quote!((#end) + 1),
                        RangeLimits::Closed(_) => quote!((#end) - 1),
                    };
                    self.replace(end, wrong);
                }
            }
            _ => {}
        }
        visit::visit_expr(self, expr);
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        if let Stmt::Expr(
            Expr::MethodCall(_)
            | Expr::Call(_)
            | Expr::Assign(_)
            | Expr::Binary(_)
            | Expr::Try(_)
            | Expr::Return(_)
            | Expr::Continue(_)
            | Expr::Break(_),
            Some(_),
        ) = stmt
        {
            self.add(stmt, String::new(), Shape::Statement);
        }
        visit::visit_stmt(self, stmt);
    }

    fn visit_pat(&mut self, pat: &'ast Pat) {
        if let Pat::Guard(guard) = pat {
            self.negate(&guard.guard);
            self.visit_expr(&guard.guard);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if item.sig.constness.is_none() && !is_optional(&item.attrs) {
            self.return_early(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if item.sig.constness.is_none() && !is_optional(&item.attrs) {
            self.return_early(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if item.sig.constness.is_none() && !is_optional(&item.attrs) {
            visit::visit_trait_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if !is_optional(&item.attrs) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        match (is_optional(&item.attrs), &item.content) {
            (true, None) => self.optional.push(item.ident.to_string()),
            (true, Some(_)) => {}
            (false, _) => visit::visit_item_mod(self, item),
        }
    }

    fn visit_expr_repeat(&mut self, expr: &'ast syn::ExprRepeat) {
        self.visit_expr(&expr.expr);
    }

    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_item_enum(&mut self, _: &'ast syn::ItemEnum) {}
    fn visit_type(&mut self, _: &'ast Type) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_macro(&mut self, _: &'ast syn::Macro) {}
}

/// Whether an item is a test, or is there in some builds only.
fn is_optional(attributes: &[syn::Attribute]) -> bool {
    let names = ["cfg", "test"];
    attributes.iter().any(|attribute| names.iter().any(|name| attribute.path().is_ident(name)))
}

/// Whether a condition binds names, so that it must stand where it is.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// Values that a function could return without looking.
fn defaults(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, of) = output else { return &[""] };
    let Type::Path(path) = &**of else { return &[] };
    let Some(last) = path.path.segments.last() else { return &[] };
    match last.ident.to_string().as_str() {
        "bool" => &["true", "false"],
        "usize" | "u8" | "u16" | "u32" | "u64" | "i32" | "i64" => &["0"],
        "Option" => &["None"],
        "String" | "Vec" | "BTreeMap" | "BTreeSet" => &["Default::default()"],
        "Result" if quote!(#last).to_string().starts_with("Result < () ,") => &["Ok(())"],
        _ => &[],
    }
}
