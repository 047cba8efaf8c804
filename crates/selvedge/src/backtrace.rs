//! The callers of code that panicked, or that allocated or freed memory, without the frames of the runtime
//! around it.

use std::backtrace::Backtrace;
use std::path::Path;

use selvedge_core::Place;

/// The calls from the panic up to the beginning of its thread, one or two lines each.
pub(crate) fn calls(backtrace: &Backtrace) -> String {
    let text = backtrace.to_string();
    let mut frames: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        match frames.last_mut() {
            Some(last) if line.trim_start().starts_with("at ") => last.push(line),
            _ => frames.push(vec![line]),
        }
    }
    let mut lines = Vec::new();
    for (number, frame) in own(&frames).iter().enumerate() {
        let name = frame[0].split_once(": ").map_or(frame[0], |(_, name)| name);
        lines.push(format!("{number:>4}: {name}"));
        lines.extend(frame[1..].iter().map(|line| (*line).to_owned()));
    }
    lines.join("\n")
}

/// The frames of the code itself.
fn own<'f, 't>(frames: &'f [Vec<&'t str>]) -> &'f [Vec<&'t str>] {
    // Names may go without their paths, and places may be missing: one of the two is enough.
    let is = |frame: &[&str], marks: &[&str]| {
        marks.iter().any(|mark| frame.iter().any(|line| line.contains(mark)))
    };
    let thread = frames.iter().position(|frame| is(frame, &THREAD));
    let frames = &frames[..thread.unwrap_or(frames.len())];
    let panic = frames.iter().rposition(|frame| is(frame, &PANIC));
    let frames = &frames[panic.map_or(0, |last| last + 1)..];
    let last = frames.iter().rposition(|frame| !is(frame, &CATCH));
    &frames[..last.map_or(0, |last| last + 1)]
}

/// What a panic goes through on its way to the hook.
const PANIC: [&str; 9] = [
    "selvedge::rt::panics",
    "/rt/panics.rs:",
    "rust_begin_unwind",
    "core::panicking::",
    "core/src/panicking.rs:",
    "std::panicking::begin_panic",
    "std::panic::panic_any",
    "unwrap_failed",
    "expect_failed",
];

/// What runs the code of a thread.
const THREAD: [&str; 2] = ["selvedge::rt::body", "/src/rt/body.rs:"];

/// What it calls it with.
const CATCH: [&str; 7] = [
    "selvedge::rt::world",
    "/src/rt/world.rs:",
    "AssertUnwindSafe",
    "unwind_safe.rs:",
    "std/src/panicking.rs:",
    "std::panic",
    "__rust_try",
];

/// The innermost place in the calls up to the beginning of their thread that is neither in Rust's library nor in
/// this crate: named from `root`, as the compiler does. `None` without debug information.
pub(crate) fn place(backtrace: &Backtrace, root: Option<&Path>) -> Option<Place> {
    let text = backtrace.to_string();
    let here = std::env::current_dir().ok()?;
    let is_thread = |line: &&str| !THREAD.iter().any(|mark| line.contains(mark));
    let places = text.lines().take_while(is_thread);
    let mut places = places.filter_map(|line| line.trim_start().strip_prefix("at "));
    places.find_map(|place| {
        let mut parts = place.rsplitn(3, ':');
        let (column, line, file) = (parts.next()?, parts.next()?, parts.next()?);
        let file = here.join(file.strip_prefix("./").unwrap_or(file));
        // The C library may have debug information where checked code has none.
        let is_rust = file.extension().is_some_and(|form| form == "rs");
        let is_library =
            !is_rust || LIBRARY.iter().any(|mark| file.to_string_lossy().contains(mark));
        let own = [
            concat!(env!("CARGO_MANIFEST_DIR"), "/src"),
            concat!(env!("CARGO_MANIFEST_DIR"), "-rt/src"),
        ];
        if is_library || own.iter().any(|own| file.starts_with(own)) {
            return None;
        }
        let named = root.and_then(|root| file.strip_prefix(root).ok()).unwrap_or(&file);
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        Some(Place { file: named.to_string_lossy().into_owned(), line, column, length: 1 })
    })
}

/// Where Rust's library lies: as it was built, and as it is installed.
const LIBRARY: [&str; 2] = ["/rustc/", "/rustlib/src/rust/library/"];
