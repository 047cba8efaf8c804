//! What the compiler says about wrong programs.
//!
//! The files in `tests/diagnostics` hold many small programs, each behind a line `//# name`. A
//! comment `//~ error: text` (or `warning`) says that the compiler reports something on that line
//! whose rendering contains `text`; several can stand on one line. Everything that is reported
//! must be expected, and everything expected must be reported.

use selvedge_lang::{Diagnostic, LineIndex, Severity, compile, constants, render};

fn check_file(file: &str, text: &str) {
    let mut cases = 0;
    let mut failures = String::new();
    for case in text.split("//# ").skip(1) {
        let (name, program) = case.split_once('\n').unwrap_or((case, ""));
        cases += 1;
        if let Err(problem) = check_case(program) {
            failures.push_str(&format!("==== {file}, {name}: {problem}\n"));
        }
    }
    assert!(cases > 0, "{file} has no cases");
    assert!(failures.is_empty(), "{failures}");
}

fn check_case(program: &str) -> Result<(), String> {
    let reported = match compile("case.sel", program, &[]) {
        Ok(compiled) => compiled.warnings,
        Err(diagnostics) => diagnostics,
    };
    let lines = LineIndex::new(program);
    let mut expected: Vec<(usize, String)> = Vec::new();
    for (number, line) in program.lines().enumerate() {
        let comments = line.split("//~ ").skip(1);
        expected.extend(comments.map(|comment| (number, comment.trim().to_owned())));
    }
    let mut problems = Vec::new();
    for diagnostic in &reported {
        let line = diagnostic.span.map(|span| lines.line(span.start));
        let text = summary(diagnostic);
        let fits = |(at, wanted): &(usize, String)| line == Some(*at) && text_fits(&text, wanted);
        match expected.iter().position(fits) {
            Some(i) => drop(expected.remove(i)),
            None => problems.push(format!("not expected: {text}")),
        }
    }
    for (line, wanted) in expected {
        problems.push(format!("not reported in line {}: {wanted}", line + 1));
    }
    if problems.is_empty() {
        return Ok(());
    }
    let shown = render(&reported, "case.sel", program, false);
    Err(format!("\n{}\nall that was reported:\n{shown}", problems.join("\n")))
}

/// Kind, message, label and help, on one line.
fn summary(diagnostic: &Diagnostic) -> String {
    let kind = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let help = diagnostic.help.join(" / ");
    format!("{kind}: {} [{}] = {help}", diagnostic.message, diagnostic.label)
}

/// `error: message` and, behind ` = `, a part of the help.
fn text_fits(text: &str, wanted: &str) -> bool {
    let (message, help) = wanted.split_once(" = ").unwrap_or((wanted, ""));
    let (kind, message) = message.split_once(": ").unwrap_or(("", message));
    let (head, rest) = text.split_once(" = ").unwrap_or((text, ""));
    head.starts_with(&format!("{kind}: ")) && head.contains(message) && rest.contains(help)
}

#[test]
fn actors() {
    check_file("actors.sel", include_str!("diagnostics/actors.sel"));
}

#[test]
fn passed() {
    check_file("passed.sel", include_str!("diagnostics/passed.sel"));
}

#[test]
fn arrays() {
    check_file("arrays.sel", include_str!("diagnostics/arrays.sel"));
}

#[test]
fn ghosts() {
    check_file("ghosts.sel", include_str!("diagnostics/ghosts.sel"));
}

#[test]
fn lexical() {
    check_file("lexical.sel", include_str!("diagnostics/lexical.sel"));
}

#[test]
fn syntax() {
    check_file("syntax.sel", include_str!("diagnostics/syntax.sel"));
}

#[test]
fn names() {
    check_file("names.sel", include_str!("diagnostics/names.sel"));
}

#[test]
fn types() {
    check_file("types.sel", include_str!("diagnostics/types.sel"));
}

#[test]
fn declarations() {
    check_file("declarations.sel", include_str!("diagnostics/declarations.sel"));
}

#[test]
fn regions() {
    check_file("regions.sel", include_str!("diagnostics/regions.sel"));
}

#[test]
fn messages() {
    check_file("messages.sel", include_str!("diagnostics/messages.sel"));
}

#[test]
fn independence() {
    check_file("independence.sel", include_str!("diagnostics/independence.sel"));
}

#[test]
fn orderings() {
    check_file("orderings.sel", include_str!("diagnostics/orderings.sel"));
}

#[test]
fn warnings() {
    check_file("warnings.sel", include_str!("diagnostics/warnings.sel"));
}

fn errors(text: &str, overrides: &[(&str, i64)]) -> String {
    let overrides: Vec<_> = overrides.iter().map(|(name, v)| ((*name).to_owned(), *v)).collect();
    match compile("case.sel", text, &overrides) {
        Ok(_) => String::new(),
        Err(diagnostics) => render(&diagnostics, "case.sel", text, false),
    }
}

#[test]
fn constants_from_outside() {
    let text =
        "const COUNT = 3;\nconst TWICE = 2 * COUNT;\nconst DEBUG = false;\nshared x = TWICE;\n";
    let values = |overrides: &[(String, i64)]| {
        constants(text, overrides).iter().map(|constant| constant.value).collect::<Vec<_>>()
    };
    assert_eq!(values(&[]), [3, 6, 0]);
    assert_eq!(values(&[("COUNT".to_owned(), 5), ("DEBUG".to_owned(), 1)]), [5, 10, 1]);
    assert_eq!(errors(text, &[("COUNT", 1), ("DEBUG", 1)]), "");
    assert_eq!(
        errors(text, &[("CUONT", 1), ("x", 2), ("DEBUG", 2), ("COUNT", 1 << 40)]),
        "\
error: the program has no constant `CUONT`
  = help: did you mean `COUNT`?

error: `x` is a shared variable, not a constant
  = help: the program has `COUNT`, `TWICE`, `DEBUG`

error: 1099511627776 is no value for constant `COUNT` of type int
  = help: integers go from -2147483648 to 2147483647

error: 2 is no value for constant `DEBUG` of type bool
  = help: it is `true` (1) or `false` (0)
"
    );
    assert!(errors("thread t {}", &[("N", 1)]).contains("the program has no constants"));
    // An override reaches the sizes of arrays, and their limits.
    let array = "const N = 3;\nshared a[N] = 0;\nthread t { a[0] = 1; }";
    assert_eq!(errors(array, &[("N", 7)]), "");
    assert!(errors(array, &[("N", 1_000_001)]).contains("at most 1,000,000 of them"));
    assert!(errors(array, &[("N", -1)]).contains("cannot be negative: it is -1"));
}

#[test]
fn the_number_of_errors_is_limited() {
    let text = "thread t { 1; }\n".repeat(5_000);
    let shown = errors(&text, &[]);
    assert!(shown.matches("error: ").count() <= 102);
    assert!(shown.contains("more errors are not shown"));
}

#[test]
fn a_rendered_error() {
    let text = "shared reader_count = 0;\nthread t {\n    raeder_count += 1;\n}\n";
    assert_eq!(
        errors(text, &[]),
        "\
error: unknown variable `raeder_count`
 --> case.sel:3:5
  |
3 |     raeder_count += 1;
  |     ^^^^^^^^^^^^
  = help: did you mean `reader_count`?
"
    );
}
