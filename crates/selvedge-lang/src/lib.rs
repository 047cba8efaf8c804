//! The modelling language `.sel`: text to a program that can be run.
//!
//! [`compile`] goes from text to the intermediate representation in [`ir`]: lexer, parser, checker,
//! lowering. Each phase continues after errors, so that all of them are reported at once; each error
//! is a [`Diagnostic`], and [`render`] makes text of them. No input makes it panic, and its time
//! grows with the length of the text, not with the numbers in it.

mod additions;
pub mod bundle;
mod check;
mod diagnostic;
mod format;
pub mod index;
pub mod interpret;
pub mod ir;
mod lexer;
mod lower;
mod ops;
mod parser;
mod span;
mod tree;
mod weak;

use std::sync::Arc;

pub use additions::{Additions, Rejected};
pub use diagnostic::{Diagnostic, Severity, render};
pub use format::format;
pub use index::Index;
pub use interpret::{Caps, FindConstraints, Interpreter, ThreadNames};
pub use span::{LineIndex, Span};
pub use weak::{GraphInterpreter, Refusal};

use diagnostic::Diagnostics;

/// Longer texts are refused: places in them have 32 bits.
const MAX_TEXT: usize = 64 << 20;

/// A program without errors.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What can be run.
    pub program: Arc<ir::Program>,
    /// What should be looked at.
    pub warnings: Vec<Diagnostic>,
}

/// Makes a program of a text.
///
/// `name` is the file as the user named it. `overrides` gives constants other values than those in
/// the text: for booleans 0 or 1. If a name comes twice, the last one counts.
///
/// # Errors
/// All that is wrong with the text or the overrides, in the order of the text.
pub fn compile(
    name: &str,
    text: &str,
    overrides: &[(String, i64)],
) -> Result<Compiled, Vec<Diagnostic>> {
    compile_with(name, text, overrides, None).map_err(|rejected| rejected.program)
}

/// Returns the same, with independence constraints from another text.
///
/// They are checked like those of the program and follow them.
///
/// # Errors
/// All that is wrong with either text or the overrides.
pub fn compile_with(
    name: &str,
    text: &str,
    overrides: &[(String, i64)],
    additions: Option<Additions<'_>>,
) -> Result<Compiled, Rejected> {
    let too_long = |program| Rejected { program, additions: Vec::new() };
    check_length(text).map_err(too_long)?;
    let added_text = additions.map_or("", |additions| additions.text);
    check_length(added_text).map_err(|additions| Rejected { program: Vec::new(), additions })?;
    let mut diagnostics = Diagnostics::default();
    let mut file = parser::parse(text, &mut diagnostics);
    bundle::check(name, text, &file.imports, &mut diagnostics);
    let joined = additions.map(|additions| {
        additions::parse_into(&mut file, text, &additions, &mut diagnostics);
        additions::joined(text, &additions)
    });
    let whole = joined.as_deref().unwrap_or(text);
    let tree = check::check(&file, overrides, &mut diagnostics);
    let program = tree.map(|tree| lower::lower(&tree, name, whole, &mut diagnostics));
    match program {
        Some(mut program) if !diagnostics.has_errors() => {
            program.imports = imported(name, text);
            program.additions = additions.map(|additions| ir::Additions {
                name: additions.name.to_owned(),
                after_line: u32::try_from(text.matches('\n').count() + 1).unwrap_or(u32::MAX),
            });
            debug_assert_eq!(ir::verify(&program), Ok(()), "internal error: lowered wrongly");
            let program = Arc::new(program);
            if let Some((number, message)) = interpret::invariants::false_at_first(&program) {
                let spans = file.items.iter().filter_map(|item| item.always_span());
                let found = spans.skip(number).map(|span| {
                    Diagnostic::error(span, format!("{message} in the initial state")).help(
                        "an invariant holds from the beginning: change it, or the initial values",
                    )
                });
                return Err(Rejected { program: found.take(1).collect(), additions: Vec::new() });
            }
            let mut warnings = additions::split(diagnostics.into_sorted(), text).program;
            // What a program does not use of a file that it imports may be there for others.
            let first = bundle::parts(text)[0].text.len();
            warnings.retain(|it| it.span.is_none_or(|span| span.start as usize <= first));
            Ok(Compiled { program, warnings })
        }
        _ => Err(additions::split(diagnostics.into_sorted(), text)),
    }
}

/// Returns the files that a program imports.
fn imported(name: &str, text: &str) -> Vec<ir::Additions> {
    let parts = bundle::parts(text).into_iter().skip(1);
    let named = parts.map(|it| ir::Additions { name: it.name(name), after_line: it.after_line });
    named.collect()
}

/// A constant of a program, which can be given another value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// [`ir::Type::Int`] or [`ir::Type::Bool`].
    pub ty: ir::Type,
    /// Its value; booleans are 0 and 1.
    pub value: i32,
}

/// Returns the constants of a text with their values, in the order of their declaration.
///
/// Those whose values cannot be computed are left out; [`compile`] says what is wrong with them.
pub fn constants(text: &str, overrides: &[(String, i64)]) -> Vec<Constant> {
    if check_length(text).is_err() {
        return Vec::new();
    }
    let file = parser::parse(text, &mut Diagnostics::default());
    let values = check::constant_values(&file, overrides);
    let constants = values.into_iter();
    constants.map(|(name, value)| Constant { name, ty: value.ty, value: value.value }).collect()
}

fn check_length(text: &str) -> Result<(), Vec<Diagnostic>> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    let message = format!("the text has {} bytes; at most 64 MiB are allowed", text.len());
    Err(vec![Diagnostic::error_outside(message)])
}
