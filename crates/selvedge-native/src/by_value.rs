//! Structures that are arguments or results of calls: the compiler's instrumentation does not show that they are read and
//! written there, so such calls are looked for.
//!
//! gcc writes each function as it is after the instrumentation: there, an argument that is neither a constant, an address
//! nor the name of a value is memory that the call copies, and so is a variable that a call assigns. clang marks
//! arguments that are copied; results are written by the function that is called, which shows it.

mod escapes;

use std::collections::{BTreeMap, BTreeSet};

/// Calls that copy structures.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct ByValue {
    /// Places where the structure is a global variable, or behind a pointer.
    pub(crate) shared: Vec<String>,
    /// Places where it is a local variable, which only matters if other threads have its address.
    pub(crate) local: Vec<String>,
}

/// What memory a call copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Copied {
    Shared,
    Local,
}

impl ByValue {
    fn add(&mut self, copied: Copied, place: &str) {
        let places = match copied {
            Copied::Shared => &mut self.shared,
            Copied::Local => &mut self.local,
        };
        if !places.iter().any(|known| known == place) {
            places.push(place.to_owned());
        }
    }
}

/// Finds them in what gcc writes with `-fdump-tree-tsan-gimple-lineno`. Places in files that are not the program's are left out.
pub(crate) fn in_gimple(text: &str, is_own: &dyn Fn(&str) -> bool) -> ByValue {
    let mut found = ByValue::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut begin = 0;
    while let Some(open) = lines[begin..].iter().position(|&line| line == "{") {
        let open = begin + open;
        let end = lines[open..].iter().position(|&line| line == "}");
        let end = end.map_or(lines.len(), |end| open + end);
        let head = open.checked_sub(1).map_or("", |head| lines[head]);
        in_function(head, &lines[open + 1..end], is_own, &mut found);
        begin = end.min(lines.len());
    }
    found
}

fn in_function(head: &str, lines: &[&str], is_own: &dyn Fn(&str) -> bool, found: &mut ByValue) {
    let locals = locals(head, lines);
    let (places, statements): (Vec<_>, Vec<String>) =
        lines.iter().map(|line| without_places(line)).unzip();
    for (place, statement) in places.into_iter().zip(&statements) {
        let place = place.unwrap_or_default();
        let (file, _) = place.rsplit_once(':').unwrap_or((&place, ""));
        let Some((result, arguments)) = call(statement).filter(|_| is_own(file)) else { continue };
        // What only this thread has is not copied for others to see.
        let is_own = |operand: &str| {
            let name = variable(operand);
            let is_made =
                result == Some(operand) && escapes::is_made_in_place(name, statement, &statements);
            is_made || !escapes::escapes(name, &statements)
        };
        for operand in arguments.into_iter().chain(result) {
            match copied(operand, &locals) {
                Some(Copied::Local) if is_own(operand) => {}
                Some(Copied::Shared)
                    if escapes::is_passed_on(operand, head, statement, &statements) => {}
                Some(copied) => found.add(copied, &place),
                None => {}
            }
        }
    }
}

/// Returns the variable with whose name an operand begins.
fn variable(operand: &str) -> &str {
    let end = operand.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    &operand[..end.unwrap_or(operand.len())]
}

/// Returns the names of parameters and of variables that are not static.
fn locals(head: &str, lines: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut add = |declaration: &str| {
        let declaration = declaration.trim().trim_end_matches(';');
        let name = declaration.rsplit([' ', '*', '&']).next().unwrap_or_default();
        names.insert(name.split('[').next().unwrap_or(name).to_owned());
    };
    if let Some((_, parameters)) = last_group(head) {
        split(parameters).into_iter().for_each(&mut add);
    }
    let declarations = lines.iter().take_while(|line| !line.trim_start().starts_with("__BB("));
    declarations
        .filter(|line| !line.trim_start().starts_with("static "))
        .for_each(|line| add(line));
    names
}

/// Removes the places from a statement. Returns the first, as a file and a line, and the statement.
fn without_places(line: &str) -> (Option<String>, String) {
    let (mut place, mut text) = (None, String::new());
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => quoted(rest),
            '[' => match rest
                .split_once("] ")
                .and_then(|(inner, _)| Some((inner, file_and_line(&inner[1..])?)))
            {
                Some((inner, known)) => {
                    place.get_or_insert(known);
                    rest = &rest[inner.len() + 2..];
                    continue;
                }
                None => 1,
            },
            _ => first.len_utf8(),
        };
        text.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    (place, text)
}

/// Returns how long the quoted text is with which a text begins.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Returns the file and the line of `file:line:column`.
fn file_and_line(text: &str) -> Option<String> {
    let text = text.split(" discrim").next().unwrap_or(text);
    let (place, column) = text.rsplit_once(':')?;
    let (_, line) = place.rsplit_once(':')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(column) && is_number(line)).then(|| place.to_owned())
}

/// Returns what a call assigns, if it does, and its arguments. `None` if the statement is no call of the program.
fn call(statement: &str) -> Option<(Option<&str>, Vec<&str>)> {
    let (statement, _) = statement.rsplit_once(';')?;
    if statement.starts_with("__asm__") {
        return None;
    }
    let (head, arguments) = last_group(statement)?;
    let head = head.strip_suffix(' ')?;
    let (result, callee) = match head.split_once(" = ") {
        Some((result, callee)) => (Some(result), callee),
        None => (None, head),
    };
    // What looks like a call and is none.
    const OPERATORS: [&str; 6] =
        ["__MEM", "__PHI", "__BIT_INSERT", "__VEC_PERM", "__VIEW_CONVERT", ".DEFERRED_INIT"];
    let name = callee.split(' ').next().unwrap_or(callee);
    let is_call = !OPERATORS.contains(&name) && !name.starts_with("__builtin___tsan");
    (is_call && !callee.is_empty()).then(|| (result, split(arguments)))
}

/// Splits a text that ends with a group in parentheses: what is before it, and what is in it.
fn last_group(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut start, mut rest) = (0_usize, None, 0);
    while let Some(letter) = text[rest..].chars().next() {
        let length = match letter {
            '"' => quoted(&text[rest..]),
            _ => letter.len_utf8(),
        };
        match letter {
            '(' | '[' | '{' => {
                if depth == 0 && letter == '(' {
                    start = Some(rest);
                }
                depth += 1;
            }
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        rest += length;
    }
    let start = start.filter(|_| text.ends_with(')'))?;
    Some((&text[..start], &text[start + 1..text.len() - 1]))
}

/// Splits at the commas that are in no parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut begin, mut rest) = (Vec::new(), 0_usize, 0, 0);
    while let Some(letter) = text[rest..].chars().next() {
        match letter {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[begin..rest].trim());
                begin = rest + 1;
            }
            _ => {}
        }
        rest += if letter == '"' { quoted(&text[rest..]) } else { letter.len_utf8() };
    }
    parts.push(text[begin..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns what memory an operand of a call is, if it is memory that may be shared.
fn copied(operand: &str, locals: &BTreeSet<String>) -> Option<Copied> {
    let first = operand.chars().next()?;
    let is_constant = first.is_ascii_digit() || "&\"-'<{".contains(first);
    if is_constant || operand.starts_with("_Literal") || operand.starts_with("L\"") {
        return None;
    }
    if operand.starts_with("__MEM") || first == '*' || operand.contains("->") {
        return Some(Copied::Shared);
    }
    let whole = operand.trim_end_matches("(D)").trim_end_matches("(ab)");
    // The name of a value: that of a variable, and a number.
    if let Some((name, number)) = whole.rsplit_once('_')
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && (name.is_empty() || name == "D" || locals.contains(name))
    {
        return None;
    }
    Some(if locals.contains(variable(operand)) { Copied::Local } else { Copied::Shared })
}

/// Finds arguments that are copied in what clang writes with `-emit-llvm`. As above; `file` is what is compiled.
pub(crate) fn in_llvm(text: &str, file: &str, is_own: &dyn Fn(&str) -> bool) -> ByValue {
    let numbered = text.lines().filter(|line| line.starts_with('!'));
    let nodes: BTreeMap<&str, &str> = numbered.filter_map(|line| line.split_once(" = ")).collect();
    let mut found = ByValue::default();
    let mut locals = BTreeSet::new();
    for line in text.lines() {
        if line.starts_with("define ") {
            locals.clear();
        }
        let line = line.trim();
        if let Some((name, _)) = line.split_once(" = alloca ") {
            locals.insert(name);
        }
        let is_call = line.contains("call ") || line.contains("invoke ");
        for copied in line.split(" byval(").skip(1).filter(|_| is_call) {
            let place = place_of(line, &nodes).unwrap_or_else(|| file.to_owned());
            let (of, _) = place.rsplit_once(':').unwrap_or((&place, ""));
            let operand = copied.find(['%', '@']).and_then(|_| {
                let behind = copied.split_once(") ")?.1;
                let at = behind.find(['%', '@'])?;
                let operand = &behind[at..];
                let end = operand.find([',', ')', ' ']).unwrap_or(operand.len());
                Some(&operand[..end])
            });
            if is_own(of) {
                let is_local = operand.is_some_and(|operand| locals.contains(operand));
                found.add(if is_local { Copied::Local } else { Copied::Shared }, &place);
            }
        }
    }
    found
}

/// Returns the place of an instruction.
fn place_of(line: &str, nodes: &BTreeMap<&str, &str>) -> Option<String> {
    let field = |text: &'_ str, name: &str| {
        let rest = text.split_once(name)?.1;
        Some(rest[..rest.find([',', ')']).unwrap_or(rest.len())].trim().to_owned())
    };
    let location = nodes.get(line.rsplit_once("!dbg ")?.1.trim_end_matches([',', ' ']).trim())?;
    let (number, scope) = (field(location, "line: ")?, field(location, "scope: ")?);
    let file = field(nodes.get(scope.as_str())?, "file: ")?;
    let name = field(nodes.get(file.as_str())?, "filename: ")?;
    Some(format!("{}:{number}", name.trim_matches('"')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> (usize, usize) {
        let text = format!(
            "void __GIMPLE (ssa)\nf (struct S s, int i)\n{{\n  struct S l;\n  static struct S kept;\n  struct S a[3];\n\n  __BB(2):\n  touch (&l, &s, &a);\n  {line}\n}}\n"
        );
        let found = in_gimple(&text, &|file| !file.starts_with("/usr/"));
        (found.shared.len(), found.local.len())
    }

    #[test]
    fn structures_in_calls_of_gcc() {
        for (line, expected) in [
            ("[s.c:7:76] _1 = first (l);", (0, 1)),
            ("[s.c:7:76] _1 = first (s);", (0, 1)),
            ("[s.c:7:76] _1 = first (a[i_3(D)]);", (0, 1)),
            ("[s.c:7:76] _1 = first (kept);", (1, 0)),
            ("[s.c:7:76] _1 = first (g);", (1, 0)),
            ("[s.c:7:76] _1 = first (g_1);", (1, 0)),
            ("[s.c:7:94] _5 = first ([s.c:7:94] __MEM <struct S> (_4));", (1, 0)),
            ("[s.c:7:118] _9 = first (1, [s.c:7:118] tt.s);", (1, 0)),
            ("[s.c:8:18] g = mk (1);", (1, 0)),
            ("[s.c:8:18] l = mk (1); [return slot optimization]", (0, 1)),
            ("[s.c:8:18] D_2466 = mk (3l); [return slot optimization]", (0, 0)),
            ("[s.c:8:76] f (1, 3.5e+0, [s.c:8:86] \"a b, c(g); (g)\");", (0, 0)),
            ("[s.c:8:76] main()::<lambda()>::operator() (&g, i_3(D), _5);", (0, 0)),
            ("[s.c:8:76] pthread_create ([s.c:1:1] &h, _Literal (void *) 0, &t, -1);", (0, 0)),
            ("[s.c:8:76] __builtin___tsan_read8 (&g);", (0, 0)),
            ("[/usr/include/c++/12/thread:1:1] _2 = operator== (g, g);", (0, 0)),
            ("_1 = __PHI (__BB3: _10, __BB4: _7);", (0, 0)),
            ("l.a = g;", (0, 0)),
            ("[s.c:8:76] _5 = __MEM <int> ((int *)p_3(D));", (0, 0)),
            ("[s.c:8:76] __MEM <int> (p_3(D)) = _5;", (0, 0)),
        ] {
            assert_eq!(found(line), expected, "{line}");
        }
    }

    #[test]
    fn structures_in_calls_of_clang() {
        let text = "define i64 @f() {\n  %3 = alloca %struct.S\n  \
            %8 = call i64 @first(%struct.S* noundef byval(%struct.S) align 8 %3), !dbg !7\n  \
            %9 = call i64 @first(i32 1, ptr byval(%struct.S) align 8 @g), !dbg !7\n}\n\
            !3 = !DIFile(filename: \"s.c\", directory: \"/d\")\n\
            !6 = distinct !DISubprogram(name: \"f\", scope: !3, file: !3, line: 4)\n\
            !7 = !DILocation(line: 12, column: 3, scope: !6)\n";
        let found = in_llvm(text, "s.c", &|_| true);
        assert_eq!(found.shared, ["s.c:12"]);
        assert_eq!(found.local, ["s.c:12"]);
        assert_eq!(in_llvm(text, "s.c", &|_| false), ByValue::default());
    }
}
