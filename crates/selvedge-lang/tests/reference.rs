//! The reference page is true: every example on it compiles and runs, or fails to compile.

use selvedge_core::{Effect, Ending, Fault, Status, Step, System, ThreadId};
use selvedge_lang::{Interpreter, compile, render};

const PAGE: &str = include_str!("../../../docs/language.md");

struct Example {
    line: usize,
    must_fail: bool,
    text: String,
}

fn examples() -> Vec<Example> {
    let mut examples = Vec::new();
    let mut open: Option<Example> = None;
    for (number, line) in PAGE.lines().enumerate() {
        match (&mut open, line) {
            (None, "```sel" | "```sel,error") => {
                let must_fail = line == "```sel,error";
                open = Some(Example { line: number + 1, must_fail, text: String::new() });
            }
            (Some(_), "```") => examples.extend(open.take()),
            (Some(example), line) => {
                example.text.push_str(line);
                example.text.push('\n');
            }
            (None, _) => {}
        }
    }
    assert!(open.is_none(), "an example is not closed");
    examples
}

#[test]
fn examples_compile_and_run() {
    let examples = examples();
    assert!(examples.len() > 25, "only {} examples were found", examples.len());
    for example in examples {
        let place = format!("docs/language.md:{}", example.line);
        match compile("example.sel", &example.text, &[]) {
            Err(errors) => {
                let shown = render(&errors, "example.sel", &example.text, false);
                assert!(example.must_fail, "{place} does not compile:\n{shown}");
            }
            Ok(_) if example.must_fail => panic!("{place} compiles, but should not"),
            Ok(compiled) => {
                let shown = render(&compiled.warnings, "example.sel", &example.text, false);
                assert!(compiled.warnings.is_empty(), "{place}:\n{shown}");
                run(&mut Interpreter::new(compiled.program), &place);
            }
        }
    }
}

/// Runs the threads in turn, each for one step, to the end.
fn run(system: &mut Interpreter, place: &str) {
    system.restart();
    let mut effect = Effect::default();
    let mut next = 0;
    for _ in 0..10_000 {
        let count = system.thread_count();
        let mut turns = (0..count).map(|i| ThreadId::new((next + i) % count));
        let enabled = turns.find(|&thread| system.status(thread) == Status::Enabled);
        let Some(thread) = enabled else {
            let (ending, violation) = system.end();
            assert!(violation.is_none(), "{place}: {violation:?}");
            assert_ne!(ending, Ending::Deadlocked, "{place}");
            return;
        };
        system.step(Step::of(thread), &mut effect);
        match &effect.fault {
            None => {}
            Some(Fault::Violation(violation)) => panic!("{place}: {}", violation.message),
            Some(Fault::GaveUp(reason)) => panic!("{place}: {reason}"),
        }
        next = thread.index() + 1;
    }
    panic!("{place} does not end");
}
