//! A program of several files as one text.
//!
//! The file that was named comes first; each file that is imported follows, after a line that starts with `MARK` and has its path, relative
//! to the folder of the first. So whatever keeps, sends or compares the text of a program has all of it, and no file is read again. A
//! range of bytes is unambiguous; before a place is shown, it is mapped back to its file.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::lexer::{TokenKind, lex, string_value};
use crate::span::Span;
use crate::tree::written::Import;

/// Starts the line before a file. A control character that separates files, and that no program contains.
const MARK: char = '\u{1c}';

/// A program has at most so many files. Beyond: an error.
const MOST_FILES: usize = 256;

/// A file of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part<'t> {
    /// Relative to the folder of the first file; empty for that one.
    pub path: &'t str,
    /// Its text.
    pub text: &'t str,
    /// Where its text starts.
    pub start: usize,
    /// How many lines are before it.
    pub after_line: u32,
    /// Why it could not be read.
    pub missing: Option<&'t str>,
}

impl Part<'_> {
    /// Returns its name, if `name` is that of the first file.
    pub fn name(&self, name: &str) -> String {
        match self.path {
            "" => name.to_owned(),
            path => resolve(name, path),
        }
    }

    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Returns the files of a program; the first one was named.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut path, mut missing, mut start, mut after_line) = ("", None, 0, 0);
    loop {
        let rest = &text[start..];
        let end = rest.find(&['\n', MARK].iter().collect::<String>()).map(|at| start + at);
        let own = &text[start..end.unwrap_or(text.len())];
        parts.push(Part { path, text: own, start, after_line, missing });
        let Some(end) = end else { return parts };
        let head = &text[end + 1 + MARK.len_utf8()..];
        let head = head.split('\n').next().unwrap_or(head);
        (path, missing) = match head.split_once(MARK) {
            Some((path, reason)) => (path, Some(reason)),
            None => (head, None),
        };
        // The line that ends here, and the one with the path.
        after_line += u32::try_from(own.matches('\n').count() + 2).unwrap_or(u32::MAX);
        start = (end + 1 + MARK.len_utf8() + head.len() + 1).min(text.len());
    }
}

/// Returns a program with all files that it imports.
///
/// `name` is the first file, and `read` returns the text of another, by its path relative to the folder of the first, or why it cannot.
/// Files that the text already has are not read.
pub fn bundle(
    name: &str,
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> String {
    let mut whole = text.to_owned();
    let main = file_name(name).to_owned();
    let mut known: Vec<String> = parts(text).iter().map(|part| part.path.to_owned()).collect();
    let mut next = 0;
    while next < known.len() {
        let wanted: Vec<String> = {
            let parts = parts(&whole);
            let Some(part) = parts.get(next) else { break };
            imports(part.text).iter().map(|written| resolve(part.path, written)).collect()
        };
        next += 1;
        for path in wanted {
            if path == main || known.contains(&path) || path.contains(['\n', MARK]) {
                continue;
            }
            let read = match known.len() < MOST_FILES {
                true => read(&path),
                false => Err(format!("a program has at most {MOST_FILES} files")),
            };
            whole.push('\n');
            whole.push(MARK);
            whole.push_str(&path);
            match read {
                Ok(text) => {
                    whole.push('\n');
                    // What it says is its own text, whatever is in it.
                    whole.push_str(&text.replace(MARK, "\u{fffd}"));
                }
                Err(reason) => {
                    whole.push(MARK);
                    whole.push_str(&reason.replace(['\n', MARK], " "));
                    whole.push('\n');
                }
            }
            known.push(path);
        }
    }
    whole
}

/// Returns the paths that a text imports, as they are written.
fn imports(text: &str) -> Vec<String> {
    let tokens = lex(text, &mut Diagnostics::default());
    let mut depth = 0_u32;
    let mut found = Vec::new();
    for two in tokens.windows(2) {
        match two[0].kind {
            TokenKind::LeftBrace => depth += 1,
            TokenKind::RightBrace => depth = depth.saturating_sub(1),
            TokenKind::Name
                if depth == 0
                    && two[0].span.of(text) == "import"
                    && two[1].kind == TokenKind::Str =>
            {
                found.push(string_value(two[1].span.of(text)));
            }
            _ => {}
        }
    }
    found
}

/// Returns the path of a file that another one imports.
fn resolve(importer: &str, written: &str) -> String {
    let mut path: Vec<&str> = importer.split('/').collect();
    path.pop();
    if written.starts_with('/') {
        path = vec![""];
    }
    for step in written.split('/') {
        match step {
            "" | "." => {}
            ".." if path.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                path.pop();
            }
            step => path.push(step),
        }
    }
    path.join("/")
}

fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns which of the files a byte is in.
pub(crate) fn part_at(parts: &[Part<'_>], byte: u32) -> usize {
    parts.partition_point(|part| part.start <= byte as usize).saturating_sub(1)
}

/// Says what is wrong with imports: files that are not there, and circles.
pub(crate) fn check(name: &str, text: &str, imports: &[Import], diagnostics: &mut Diagnostics) {
    let parts = parts(text);
    let mut edges: Vec<Vec<(usize, Span)>> = vec![Vec::new(); parts.len()];
    for import in imports {
        let from = part_at(&parts, import.span.start);
        let path = resolve(parts[from].path, &import.path);
        let found = match path == file_name(name) {
            true => Some(0),
            false => parts.iter().skip(1).position(|part| part.path == path).map(|at| at + 1),
        };
        let shown = &import.path;
        let problem = match found {
            _ if shown.is_empty() => Some("an import names a file".to_owned()),
            None => {
                Some(format!("`{shown}` cannot be imported here: it is not part of the program"))
            }
            Some(at) => parts[at].missing.map(|reason| format!("cannot read `{shown}`: {reason}")),
        };
        if let Some(problem) = problem {
            let help = "the path is relative to the file that imports it: `import \"locks.sel\";`";
            diagnostics.add(Diagnostic::error(import.span, problem).help(help));
        } else if let Some(to) = found {
            if edges[from].iter().any(|(other, _)| *other == to) {
                let message = format!("`{shown}` is imported twice");
                diagnostics.add(Diagnostic::warning(import.span, message).help("once is enough"));
            }
            edges[from].push((to, import.span));
        }
    }
    if let Some((circle, span)) = circle(&edges) {
        let names: Vec<String> = circle.iter().map(|&at| parts[at].name(name)).collect();
        let message = format!("files import each other in a circle: {}", names.join(" → "));
        let help = "move what both need to a file of its own, and import that";
        diagnostics.add(Diagnostic::error(span, message).help(help));
    }
}

/// Returns the first circle that is reached, and the import that closes it.
fn circle(edges: &[Vec<(usize, Span)>]) -> Option<(Vec<usize>, Span)> {
    let mut done = vec![false; edges.len()];
    let mut path = vec![(0, 0)];
    while let Some((at, next)) = path.last_mut() {
        let at = *at;
        let Some(&(to, span)) = edges[at].get(*next) else {
            done[at] = true;
            path.pop();
            continue;
        };
        *next += 1;
        if let Some(first) = path.iter().position(|(other, _)| *other == to) {
            let mut circle: Vec<usize> = path[first..].iter().map(|(at, _)| *at).collect();
            circle.push(to);
            return Some((circle, span));
        }
        if !done[to] {
            path.push((to, 0));
        }
    }
    None
}

/// Returns messages about a program as they are shown in its first file: one about an imported file is at the import that leads
/// to it, and names the file and the line.
pub fn in_first_file(diagnostics: Vec<Diagnostic>, name: &str, text: &str) -> Vec<Diagnostic> {
    let parts = parts(text);
    let first = parts[0];
    let place = |span: Span| {
        let part = &parts[part_at(&parts, span.start)];
        let before = &text[part.start..(span.start as usize).clamp(part.start, part.end())];
        format!("{}:{}", part.name(name), before.matches('\n').count() + 1)
    };
    let import = import_span(first.text);
    let shown = diagnostics.into_iter().map(|mut diagnostic| {
        let is_inside = |span: Span| (span.start as usize) <= first.end();
        for (other, label) in diagnostic.others.iter().filter(|(span, _)| !is_inside(*span)) {
            diagnostic.help.push(format!("{}: {label}", place(*other)));
        }
        diagnostic.others.retain(|(span, _)| is_inside(*span));
        if let Some(span) = diagnostic.span.filter(|span| !is_inside(*span)) {
            diagnostic.message = format!("{}: {}", place(span), diagnostic.message);
            diagnostic.span = import;
        }
        diagnostic
    });
    shown.collect()
}

/// Returns the first import of a text.
fn import_span(text: &str) -> Option<Span> {
    let tokens = lex(text, &mut Diagnostics::default());
    let mut pairs = tokens.windows(2);
    let found = pairs.find(|two| {
        two[0].kind == TokenKind::Name
            && two[0].span.of(text) == "import"
            && two[1].kind == TokenKind::Str
    });
    found.map(|two| two[0].span.to(two[1].span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<'f>(all: &'f [(&'f str, &'f str)]) -> impl FnMut(&str) -> Result<String, String> + 'f {
        |path| {
            let found = all.iter().find(|(name, _)| *name == path);
            found.map(|(_, text)| (*text).to_owned()).ok_or("there is no such file".to_owned())
        }
    }

    #[test]
    fn paths() {
        assert_eq!(resolve("a.sel", "b.sel"), "b.sel");
        assert_eq!(resolve("x/a.sel", "./b.sel"), "x/b.sel");
        assert_eq!(resolve("x/y/a.sel", "../b.sel"), "x/b.sel");
        assert_eq!(resolve("x/a.sel", "../../b.sel"), "../b.sel");
        assert_eq!(resolve("../a.sel", "../b.sel"), "../../b.sel");
        assert_eq!(resolve("x/a.sel", "/lib/b.sel"), "/lib/b.sel");
    }

    #[test]
    fn all_files_are_there_once() {
        let all =
            [("lib/b.sel", "import \"c.sel\";\nconst B = 1;\n"), ("lib/c.sel", "const C = 2;")];
        let text =
            "import \"lib/b.sel\";\nimport \"lib/c.sel\";\nthread t { assert B + C == 3; }\n";
        let whole = bundle("dir/a.sel", text, &mut files(&all));
        let found: Vec<_> = parts(&whole).iter().map(|it| (it.path, it.text)).collect();
        assert_eq!(found, [("", text), all[0], all[1]]);
        let names: Vec<_> = parts(&whole).iter().map(|it| it.name("dir/a.sel")).collect();
        assert_eq!(names, ["dir/a.sel", "dir/lib/b.sel", "dir/lib/c.sel"]);
        // Lines count from the start of each file.
        for part in parts(&whole) {
            let before = whole[..part.start].matches('\n').count() as u32;
            assert_eq!(part.after_line, before, "{}", part.path);
        }
        // What is there is not read again.
        assert_eq!(bundle("dir/a.sel", &whole, &mut |_| Err("read".to_owned())), whole);
    }
}
