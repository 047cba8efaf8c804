//! Local variables that only their thread has: what a call copies from them or to them cannot be seen by others.
//!
//! A variable whose address is nowhere taken is one of these. The instrumentation itself takes addresses, and so do operators of
//! iterators of the standard library, which keep none.

/// Returns whether other threads may have the address of a local variable, given the statements of its function.
pub(super) fn escapes(name: &str, statements: &[String]) -> bool {
    // The iterators of a loop over a range have no name in the program.
    !name.starts_with("__for_")
        && statements.iter().any(|text| has_address_of(text, name) && !is_harmless(text))
}

/// Returns whether what a call returns is written by the code that is called, which shows it: an object with a destructor is made where it
/// stays, by its constructor.
pub(super) fn is_made_in_place(name: &str, result: &str, statements: &[String]) -> bool {
    let ends = format!(" (&{name});");
    let is_destroyed = |text: &String| text.contains("::~") && text.ends_with(&ends);
    result.ends_with(IN_PLACE) && statements.iter().any(is_destroyed)
}

/// What gcc writes behind a call that writes its result where it stays.
const IN_PLACE: &str = "[return slot optimization]";

/// Returns whether what a call returns is what the function itself returns, in the place that its caller has for it. Then it is an object that is
/// not copied, and the code that is called shows what it writes.
pub(super) fn is_passed_on(operand: &str, head: &str, result: &str, statements: &[String]) -> bool {
    let name = operand.strip_suffix("(D))").and_then(|rest| rest.rsplit_once('('));
    let Some((_, name)) = name.filter(|_| operand.starts_with("__MEM <struct ")) else {
        return false;
    };
    // What is returned, and no parameter.
    let plain = name.rsplit_once('_').map_or(name, |(plain, _)| plain);
    let is_parameter = !plain.is_empty()
        && head.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == plain);
    let returned = format!("return {name}(D);");
    let is_returned = statements.iter().any(|text| *text == returned);
    result.ends_with(IN_PLACE) && is_returned && !is_parameter
}

fn has_address_of(text: &str, name: &str) -> bool {
    text.match_indices('&').any(|(at, _)| {
        let rest = text[at + 1..].strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Returns whether a statement keeps no address that it gets.
fn is_harmless(text: &str) -> bool {
    if text.starts_with("__builtin___tsan_") {
        return true;
    }
    let (result, callee) = match text.split_once(" = ") {
        Some((result, callee)) => (Some(result), callee),
        None => (None, text),
    };
    let callee = callee.rsplit_once(" (").map_or("", |(callee, _)| callee);
    if callee.contains("::~") {
        return result.is_none();
    }
    let is_standard = callee.starts_with("std::") || callee.starts_with("__gnu_cxx::");
    let Some((_, operator)) = callee.rsplit_once("::operator").filter(|_| is_standard) else {
        return false;
    };
    // These return the variable itself.
    if ["++", "--", "+=", "-=", "="]
        .iter()
        .any(|it| operator == *it || operator.starts_with(&format!("{it}<")))
    {
        return result.is_none();
    }
    ["*", "->", "==", "!=", "<", ">", "+", "-", "[", " bool"]
        .iter()
        .any(|it| operator.starts_with(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn addresses_that_are_kept_and_not() {
        for (line, expected) in [
            ("_1 = first (l);", false),
            ("__builtin___tsan_read4 (&l.b);", false),
            ("_1 = std::_Rb_tree_const_iterator<std::pair<int, S> >::operator-> (&l);", false),
            ("_1 = std::operator== (&l, &D_1);", false),
            ("__gnu_cxx::__normal_iterator<int*, std::vector<int> >::operator++ (&l);", false),
            ("_1 = __gnu_cxx::__normal_iterator<int*, std::vector<int> >::operator++ (&l);", true),
            ("S::~S (&l);", false),
            ("_1 = mine::operator* (&l);", true),
            ("D_2.__l = &l;", true),
            ("touch (&l);", true),
            ("_1 = std::ref<S> (&l);", true),
            ("_1 = &l.b;", true),
            ("touch (&long);", false),
            ("touch (&l_1);", false),
        ] {
            assert_eq!(escapes("l", &all(&[line])), expected, "{line}");
        }
        assert!(!escapes("__for_begin", &all(&["touch (&__for_begin);"])));
    }

    #[test]
    fn what_is_passed_on() {
        let made = "__MEM <struct future> (result_14(D)) = make (_2); [return slot optimization]";
        let is = |head, end| {
            let operand = "__MEM <struct future> (result_14(D))";
            is_passed_on(operand, head, made, &all(&[made, end]))
        };
        assert!(is("Pool::submit (struct Pool * const this)", "return result_14(D);"));
        assert!(!is("fill (struct future & result)", "return result_14(D);"));
        assert!(!is("fill ()", "return _5;"));
    }

    #[test]
    fn what_is_made_in_place() {
        let made = "l = make (); [return slot optimization]";
        assert!(is_made_in_place("l", made, &all(&["S::~S (&l);"])));
        assert!(!is_made_in_place("l", made, &all(&["S::~S (&k);"])));
        assert!(!is_made_in_place("l", "l = make ();", &all(&["S::~S (&l);"])));
    }
}
