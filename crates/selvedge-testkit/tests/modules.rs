//! Modules do not depend on each other in circles: a reader of one can begin with what it uses.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Modules by their paths (`["spin", "turn"]`), each with those that it names.
type Uses = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// The texts of modules, by their paths; that of the crate itself has an empty one.
type Texts = BTreeMap<Vec<String>, String>;

/// Reads the modules below `folder`, which is that of `path`.
fn read_modules(folder: &Path, path: &[String], texts: &mut Texts) {
    for entry in fs::read_dir(folder).expect("a folder of the project can be read") {
        let file = entry.expect("an entry can be read").path();
        let name = file.file_stem().expect("it has a name").to_string_lossy().into_owned();
        let below = [path, std::slice::from_ref(&name)].concat();
        if file.is_dir() {
            read_modules(&file, &below, texts);
            continue;
        }
        let text = code(&fs::read_to_string(&file).expect("a source can be read"));
        match name.as_str() {
            "lib" | "mod" => texts.insert(path.to_vec(), text),
            _ => texts.insert(below, text),
        };
    }
}

/// The code of a source, without comments and unit tests, which come last.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    text.lines().map(|line| line.split("//").next().unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// The paths that a tree of imports stands for: `a::{b, c::d}` is `a::b` and `a::c::d`. Returns the text after it.
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

/// All paths that begin with `crate`, `super`, `self` or the name of a module below this one, as paths from the root of
/// the crate.
fn named(code: &str, module: &[String], below: &BTreeSet<String>) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let roots = ["crate", "super", "self"].into_iter().chain(below.iter().map(String::as_str));
    for root in roots {
        for (at, _) in code.match_indices(&format!("{root}::")) {
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

/// The modules directly below one.
fn below(texts: &Texts, module: &[String]) -> BTreeSet<String> {
    let is_below = |it: &&Vec<String>| it.len() == module.len() + 1 && it.starts_with(module);
    texts.keys().filter(is_below).filter_map(|it| it.last().cloned()).collect()
}

/// Takes what a module only hands on (`pub use a::B;`) out of its code. Returns the paths.
fn take_handed_on(code: &mut String) -> String {
    let mut handed_on = String::new();
    for visibility in ["pub ", "pub(crate) ", "pub(super) "] {
        while let Some(start) = code.find(&format!("{visibility}use ")) {
            let end = code[start..].find(';').map_or(code.len(), |length| start + length + 1);
            handed_on.push_str(&code[start..end]);
            code.replace_range(start..end, "");
        }
    }
    handed_on
}

fn uses(folder: &Path) -> Uses {
    let mut texts = BTreeMap::new();
    read_modules(folder, &[], &mut texts);
    uses_of(texts)
}

/// What is handed on by a module is used where it is defined: `crate::a::B`, if `a` has `pub use c::B`, is of `a::c`.
fn uses_of(mut texts: Texts) -> Uses {
    let below: BTreeMap<_, _> = texts.keys().map(|it| (it.clone(), below(&texts, it))).collect();
    let handed_on: BTreeMap<_, _> = texts
        .iter_mut()
        .map(|(module, code)| {
            (module.clone(), named(&take_handed_on(code), module, &below[module]))
        })
        .collect();
    let module_of = |path: &Vec<String>| {
        let mut path = path.clone();
        loop {
            let length =
                (0..=path.len()).rev().find(|&length| texts.contains_key(&path[..length]))?;
            let item = path.get(length);
            let elsewhere = handed_on[&path[..length]].iter().find(|it| it.last() == item);
            match elsewhere {
                Some(elsewhere) if item.is_some() => {
                    path = [elsewhere, &path[length + 1..]].concat();
                }
                _ => return Some(path[..length].to_vec()),
            }
        }
    };
    let of = |(module, code): (&Vec<String>, &String)| {
        let mut used: BTreeSet<_> =
            named(code, module, &below[module]).iter().filter_map(module_of).collect();
        used.remove(module);
        (module.clone(), used)
    };
    texts.iter().map(of).collect()
}

/// What the folders and files of a crate's root use of each other.
fn families(uses: &Uses) -> Uses {
    let family = |module: &Vec<String>| module[..module.len().min(1)].to_vec();
    let mut families = Uses::new();
    for (module, used) in uses {
        let all = families.entry(family(module)).or_default();
        all.extend(used.iter().map(family).filter(|it| *it != family(module)));
    }
    families
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

fn no_circle(folder: &str, modules: usize, used: usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let uses = uses(&folder);
    assert!(uses.len() >= modules, "the modules were found: {}", uses.len());
    let all = uses.values().map(BTreeSet::len).sum::<usize>();
    assert!(all >= used, "what they use was found: {all}");
    assert_eq!(circle(&uses), None);
    assert_eq!(circle(&families(&uses)), None);
}

#[test]
fn modules_of_the_runtime_form_no_circle() {
    no_circle("../selvedge-rt/src", 30, 100);
}

#[test]
fn modules_of_the_library_form_no_circle() {
    no_circle("../selvedge/src", 80, 250);
}

#[test]
fn circles_are_found() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    let source = "use crate::b::{C, d::{E, f}, g};\nuse super::h; // crate::i\nfn x() { self::j::k(); l::m() }";
    let below = BTreeSet::from(["l".to_owned()]);
    let found = named(&code(source), &path("a::z"), &below);
    let all = ["b::C", "b::d::E", "b::d::f", "b::g", "a::h", "a::z::j::k", "a::z::l::m"];
    assert_eq!(found, all.map(path));
    let uses = |all: &[(&str, &[&str])]| -> Uses {
        all.iter().map(|(it, used)| (path(it), used.iter().map(|it| path(it)).collect())).collect()
    };
    assert_eq!(circle(&uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
    let circular = uses(&[("a", &["b"]), ("b", &["c::d"]), ("c::d", &["b", "e"]), ("e", &[])]);
    assert_eq!(circle(&circular), Some(["b", "c::d", "b"].map(str::to_owned).to_vec()));
}

#[test]
fn what_is_handed_on_is_used_where_it_is_defined() {
    let path = |text: &str| match text {
        "" => Vec::new(),
        _ => text.split("::").map(str::to_owned).collect::<Vec<_>>(),
    };
    let all = [
        ("", "mod a;\nmod b;\npub use a::C;"),
        ("a", "mod c;\nmod d;\npub(crate) use c::C;\nfn f() -> d::D { d::D }"),
        ("a::c", "pub struct C;"),
        ("a::d", "use super::C;\npub struct D;"),
        ("b", "use crate::C;\nuse crate::a::f;"),
    ];
    let texts = all.iter().map(|(module, text)| (path(module), code(text))).collect();
    let uses = uses_of(texts);
    let used = |module: &str| uses[&path(module)].clone();
    assert_eq!(used("a"), BTreeSet::from([path("a::d")]));
    assert_eq!(used("a::d"), BTreeSet::from([path("a::c")]));
    assert_eq!(used("b"), BTreeSet::from([path("a"), path("a::c")]));
}
