//! Who called the code that panicked, without the frames of the machinery around it.

use std::backtrace::Backtrace;

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
const THREAD: [&str; 2] = ["selvedge::rt::fiber", "/src/rt/fiber.rs:"];

/// What it calls it with.
const CATCH: [&str; 7] = [
    "selvedge::rt::system",
    "/src/rt/system.rs:",
    "AssertUnwindSafe",
    "unwind_safe.rs:",
    "std/src/panicking.rs:",
    "std::panic",
    "__rust_try",
];
