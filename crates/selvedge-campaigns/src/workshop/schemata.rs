//! Sources that hold all drawn mistakes at once; which of them is made is chosen when the program
//! starts. So one build serves all.
//!
//! Lines stay where they are: reports name them.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::site::{Shape, Site};
use super::{Workshop, original};

/// The variable that chooses a mistake by its number.
pub(crate) const CHOSEN: &str = "SELVEDGE_MUTANT";
/// The variable with a file that has a byte for each mistake: 1 once a process came by.
pub(crate) const REACHED: &str = "SELVEDGE_MUTANTS_REACHED";

/// Whether a file is one of those in which mistakes can be made.
pub(crate) fn is_source(file: &Path) -> bool {
    let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    match parts.as_slice() {
        ["crates", krate, "src", .., name] => {
            !matches!(*krate, "selvedge-testkit" | "selvedge-campaigns")
                && name.ends_with(".rs")
                && !parts.iter().any(|part| matches!(*part, "tests" | "tests.rs"))
        }
        _ => false,
    }
}

/// The files in which mistakes can be made, with their texts.
pub(crate) fn sources() -> BTreeMap<PathBuf, String> {
    let mut sources = BTreeMap::new();
    let mut todo = vec![PathBuf::from("crates")];
    while let Some(path) = todo.pop() {
        let original = original(&path);
        if original.is_dir() {
            for entry in fs::read_dir(&original).expect("the sources can be read") {
                todo.push(path.join(entry.expect("the sources can be read").file_name()));
            }
        } else if is_source(&path) {
            sources.insert(path, fs::read_to_string(original).expect("the sources can be read"));
        }
    }
    sources
}

/// Mistakes by number, in the sources of a workshop.
pub(crate) struct Schemata<'a> {
    workshop: &'a Workshop,
    originals: &'a BTreeMap<PathBuf, String>,
    /// Per file: where each mistake is in the text that was written.
    written: BTreeMap<PathBuf, Vec<(usize, Range<usize>)>>,
}

impl<'a> Schemata<'a> {
    /// Nothing is written yet.
    pub(crate) fn new(workshop: &'a Workshop, originals: &'a BTreeMap<PathBuf, String>) -> Self {
        Self { workshop, originals, written: BTreeMap::new() }
    }

    /// Writes the sources with these mistakes.
    pub(crate) fn write(&mut self, sites: &BTreeMap<usize, Site>) {
        let mut by_file: BTreeMap<&Path, Vec<usize>> = BTreeMap::new();
        for (&number, site) in sites {
            by_file.entry(&site.file).or_default().push(number);
        }
        let most = sites.keys().last().map_or(0, |last| last + 1);
        self.written.clear();
        for (file, original) in self.originals {
            let numbers = by_file.remove(file.as_path()).unwrap_or_default();
            let mut text = String::new();
            let mut places = Vec::new();
            render(original, 0..original.len(), &numbers, sites, &mut text, &mut places);
            if is_root(file) {
                text.push_str(&selection(most));
            }
            self.workshop.write(file, &text);
            self.written.insert(file.clone(), places);
        }
    }

    /// The mistakes at a place of a text that was written.
    pub(crate) fn at(&self, file: &Path, place: &Range<usize>) -> Vec<usize> {
        let places = self.written.get(file).into_iter().flatten();
        let touching =
            places.filter(|(_, range)| range.start < place.end && place.start < range.end);
        // The innermost ones: what is around them may be right.
        let least = touching.clone().map(|(_, range)| range.len()).min();
        touching
            .filter(|(_, range)| Some(range.len()) == least)
            .map(|&(number, _)| number)
            .collect()
    }
}

/// Returns whether a file is the root of a crate.
fn is_root(file: &Path) -> bool {
    let is_main = file.ends_with("lib.rs") || file.ends_with("main.rs");
    let is_bin = file.parent().is_some_and(|folder| folder.ends_with("src/bin"));
    is_bin || is_main && file.iter().count() == 4
}

/// Writes a part of a text with the mistakes within.
fn render(
    original: &str,
    part: Range<usize>,
    numbers: &[usize],
    sites: &BTreeMap<usize, Site>,
    text: &mut String,
    places: &mut Vec<(usize, Range<usize>)>,
) {
    let key = |number: &usize| {
        let range = &sites[number].range;
        (range.start, std::cmp::Reverse(range.end), *number)
    };
    let mut todo = numbers.to_vec();
    todo.sort_by_key(key);
    let mut at = part.start;
    while !todo.is_empty() {
        let number = todo.remove(0);
        let site = &sites[&number];
        // What is around it comes first, so the others are within or after it.
        let (within, after): (Vec<usize>, Vec<usize>) =
            todo.into_iter().partition(|other| sites[other].range.start < site.range.end);
        todo = after;
        text.push_str(&original[at..site.range.start]);
        let start = text.len();
        let is_chosen = format!("crate::chosen_mutant::is({number})");
        let wrong = &site.wrong;
        match site.shape {
            Shape::Expression => text.push_str(&format!("(if {is_chosen} {{ {wrong} }} else {{ ")),
            Shape::Statement => text.push_str(&format!("if {is_chosen} {{ {wrong} }} else {{ ")),
            Shape::Addition => text.push_str(&format!(" if {is_chosen} {{ {wrong} }} ")),
        }
        render(original, site.range.clone(), &within, sites, text, places);
        match site.shape {
            Shape::Expression => text.push_str(" })"),
            Shape::Statement => text.push_str(" }"),
            Shape::Addition => {}
        }
        places.push((number, start..text.len()));
        at = site.range.end;
    }
    text.push_str(&original[at..part.end]);
}

/// The module of a crate that knows which mistake is chosen. It looks before the program starts:
/// later, what it does could be seen by checked code.
///
/// What is reached is noted in a file that all processes of a test map: so it is known too if they crash, or are killed.
fn selection(most: usize) -> String {
    format!(
        r#"
#[doc(hidden)]
#[allow(unsafe_code, missing_docs, unreachable_pub, clippy::all, reason = "only in this copy")]
pub(crate) mod chosen_mutant {{
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{{AtomicPtr, AtomicU8, AtomicUsize, Ordering::Relaxed}};
    static CHOSEN: AtomicUsize = AtomicUsize::new(usize::MAX);
    static NOT_KEPT: [AtomicU8; {most}] = [const {{ AtomicU8::new(0) }}; {most}];
    static REACHED: AtomicPtr<AtomicU8> = AtomicPtr::new((&raw const NOT_KEPT) as *mut AtomicU8);
    unsafe extern "C" {{
        fn mmap(at: *mut u8, length: usize, access: i32, how: i32, file: i32, from: i64) -> *mut u8;
    }}
    #[inline]
    pub(crate) fn is(number: usize) -> bool {{
        unsafe {{ (*REACHED.load(Relaxed).add(number)).store(1, Relaxed) }};
        CHOSEN.load(Relaxed) == number
    }}
    #[used]
    #[unsafe(link_section = ".init_array")]
    static START: extern "C" fn() = start;
    extern "C" fn start() {{
        if let Some(number) = std::env::var("{CHOSEN}").ok().and_then(|text| text.parse().ok()) {{
            CHOSEN.store(number, Relaxed);
        }}
        let Some(path) = std::env::var_os("{REACHED}") else {{ return }};
        let Ok(file) = std::fs::File::options().read(true).write(true).open(path) else {{ return }};
        // Readable and writable, shared.
        let at = unsafe {{ mmap(std::ptr::null_mut(), {most}, 3, 1, file.as_raw_fd(), 0) }};
        if at.addr() != usize::MAX {{
            REACHED.store(at.cast(), Relaxed);
        }}
    }}
}}
"#
    )
}
