//! Modules do not depend on each other in circles: a reader of one can begin with what it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Modules by their paths (`["spin", "turn"]`), each with those that it names.
type Uses = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// Reads the modules below `folder`, which is that of `path`.
fn read_modules(folder: &Path, path: &[String], texts: &mut BTreeMap<Vec<String>, String>) {
    for entry in fs::read_dir(folder).expect("a folder of the project can be read") {
        let file = entry.expect("an entry can be read").path();
        let name = file.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let below = [path, std::slice::from_ref(&name)].concat();
        if file.is_dir() {
            read_modules(&file, &below, texts);
            continue;
        }
        let text = fs::read_to_string(&file).expect("a source can be read");
        match name.as_str() {
            "lib" => {}
            "mod" => _ = texts.insert(path.to_vec(), text),
            _ => _ = texts.insert(below, text),
        }
    }
}

/// The code of a source, without comments and unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or(text);
    text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The paths that a tree of imports stands for: `a::{b, c::d}` is `a::b` and `a::c::d`. Returns what comes behind it.
fn expand<'t>(mut text: &'t str, before: &[String], found: &mut Vec<Vec<String>>) -> &'t str {
    let mut path = before.to_vec();
    loop {
        text = text.trim_start();
        if let Some(mut inner) = text.strip_prefix('{') {
            loop {
                inner = expand(inner, &path, found).trim_start();
                match inner.strip_prefix(',') {
                    Some(next) if !next.trim_start().starts_with('}') => inner = next,
                    Some(next) => return next.trim_start().trim_start_matches('}'),
                    None => return inner.trim_start_matches('}'),
                }
            }
        }
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        path.push(text[..end].to_owned());
        text = &text[end..];
        match text.strip_prefix("::") {
            Some(next) => text = next,
            None => {
                found.push(path);
                return text;
            }
        }
    }
}

/// All paths that begin with `crate`, `super` or `self`, as paths from the root of the crate.
fn named(code: &str, module: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let mut paths = Vec::new();
            expand(&code[at..], &[], &mut paths);
            found.extend(paths.into_iter().map(|path| resolve(&path, module)));
        }
    }
    found
}

fn resolve(path: &[String], module: &[String]) -> Vec<String> {
    let mut from = module.to_vec();
    let mut rest = path;
    while let [first, more @ ..] = rest {
        match first.as_str() {
            "crate" => from.clear(),
            "super" => _ = from.pop(),
            "self" => {}
            _ => break,
        }
        rest = more;
    }
    [&from, rest].concat()
}

fn uses(folder: &Path) -> Uses {
    let mut texts = BTreeMap::new();
    read_modules(folder, &[], &mut texts);
    let module_of = |path: &Vec<String>| {
        (1..=path.len())
            .rev()
            .map(|length| path[..length].to_vec())
            .find(|it| texts.contains_key(it))
    };
    let of = |(module, text): (&Vec<String>, &String)| {
        let mut used: BTreeSet<_> =
            named(&code(text), module).iter().filter_map(module_of).collect();
        used.remove(module);
        (module.clone(), used)
    };
    texts.iter().map(of).collect()
}

/// Modules that use each other, the first one again at the end.
fn circle(uses: &Uses) -> Option<Vec<String>> {
    // A module that uses none that is left is in no circle.
    let mut left = uses.clone();
    while let Some(done) = left.iter().find(|(_, used)| used.is_empty()).map(|(it, _)| it.clone()) {
        left.remove(&done);
        left.values_mut().for_each(|used| _ = used.remove(&done));
    }
    let mut way = vec![left.keys().next()?.clone()];
    loop {
        let next = left[way.last()?].first()?.clone();
        if let Some(start) = way.iter().position(|it| *it == next) {
            way.push(next);
            return Some(way[start..].iter().map(|module| module.join("::")).collect());
        }
        way.push(next);
    }
}

#[test]
fn modules_of_the_runtime_form_no_circle() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../selvedge-rt/src");
    let uses = uses(&folder);
    assert!(uses.len() > 30, "the modules were found: {}", uses.len());
    assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 100, "what they use was found");
    assert_eq!(circle(&uses), None);
}

#[test]
fn circles_are_found() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    let source =
        "use crate::b::{C, d::{E, f}, g};\nuse super::h; // crate::i\nfn x() { self::j::k() }";
    let found = named(&code(source), &path("a::z"));
    let all = ["b::C", "b::d::E", "b::d::f", "b::g", "a::h", "a::z::j::k"];
    assert_eq!(found, all.map(path));
    let uses = |all: &[(&str, &[&str])]| -> Uses {
        all.iter().map(|(it, used)| (path(it), used.iter().map(|it| path(it)).collect())).collect()
    };
    assert_eq!(circle(&uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
    let circular = uses(&[("a", &["b"]), ("b", &["c::d"]), ("c::d", &["b", "e"]), ("e", &[])]);
    assert_eq!(circle(&circular), Some(["b", "c::d", "b"].map(str::to_owned).to_vec()));
}
