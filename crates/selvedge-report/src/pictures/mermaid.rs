//! An execution as a sequence diagram for Mermaid, which many sites show in Markdown.

use std::fmt::Write as _;

use super::{cycle, edges, is_deadlock, lanes, stuck, text_of};
use crate::view::TraceView;

/// Longer executions are unreadable as a sequence diagram: so many steps from the end are drawn.
const MOST_STEPS: usize = 40;

/// Returns the execution in the language of Mermaid. Each step is a note over its thread; an arrow from another thread says why
/// the step comes after one of that thread's.
pub fn mermaid(trace: &TraceView) -> String {
    let mut out = String::from("sequenceDiagram\n");
    for lane in lanes(trace) {
        let _ =
            writeln!(out, "    participant t{} as {}", lane.thread.number(), escaped(lane.name));
    }
    let left_out = trace.steps.len().saturating_sub(MOST_STEPS);
    if left_out > 0 {
        let first = trace.steps[0].thread.number();
        let _ = writeln!(out, "    Note over t{first}: {left_out} earlier steps are left out");
    }
    for (step, number) in trace.steps.iter().zip(1..).skip(left_out) {
        let thread = step.thread.number();
        if let Some((first, last)) = cycle(trace)
            && number == first.max(left_out + 1)
        {
            let _ = writeln!(out, "    loop steps {first} to {last} repeat forever");
        }
        for (earlier, reason) in
            edges(trace, number).iter().filter(|(earlier, _)| *earlier > left_out)
        {
            let from = trace.steps[earlier - 1].thread.number();
            let text = escaped(&format!("{earlier} before {number}: {reason}"));
            let _ = writeln!(out, "    t{from}-->>t{thread}: {text}");
        }
        let text = escaped(&format!("{number}. {}", text_of(step, &trace.told(step))));
        let _ = writeln!(out, "    Note over t{thread}: {text}");
    }
    if cycle(trace).is_some() {
        out.push_str("    end\n");
    }
    for waiting in stuck(trace) {
        let (thread, text) = (waiting.thread.number(), escaped(&waiting.text));
        let mark = if is_deadlock(trace) { "✗ " } else { "" };
        let _ = writeln!(out, "    Note over t{thread}: {mark}{text}");
        if let (Some(holder), Some(object)) = (waiting.holder, &waiting.object) {
            let holder = trace.steps[holder - 1].thread.number();
            let _ = writeln!(out, "    t{thread}--xt{holder}: waits for {}", escaped(object));
        }
    }
    let is_said =
        |message: &String| trace.steps.iter().any(|step| step.stopped.as_ref() == Some(message));
    for violation in trace.violations.iter().filter(|violation| !is_said(&violation.message)) {
        let thread = violation.thread.or_else(|| trace.steps.last().map(|step| step.thread));
        if let Some(thread) = thread {
            let message = escaped(&violation.message);
            let _ = writeln!(out, "    Note over t{}: ✗ {message}", thread.number());
        }
    }
    out
}

/// Returns the text with everything that means something to Mermaid as a numbered entity.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if c.is_alphanumeric() || " .,:=+-*/→×…✗()[]_'!?".contains(c) => out.push(c),
            '\n' => out.push_str("#32;"),
            c => {
                let _ = write!(out, "#{};", u32::from(c));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn what_means_something_becomes_an_entity() {
        assert_eq!(escaped("x[1] → 2"), "x[1] → 2");
        assert_eq!(escaped("a;b#c<d>%%\n"), "a#59;b#35;c#60;d#62;#37;#37;#32;");
    }
}
