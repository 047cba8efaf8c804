//! An execution as a graph for Graphviz: a column of nodes per thread, happens-before as edges with their reasons.

use std::fmt::Write as _;

use super::{cycle, edges, headline, is_deadlock, is_wrong, lanes, marked, stuck, text_of};
use crate::view::TraceView;

/// Returns the execution in the language of Graphviz. Edges between threads are the immediate ones of happens-before;
/// dashed ones lead from threads that wait to the steps that took what they wait for, and a bold one from the last step of an
/// execution that never ends back to the first that repeats.
pub fn dot(trace: &TraceView) -> String {
    let mut out = String::from(
        "digraph execution {\n  graph [rankdir=TB, ranksep=0.2, labelloc=t, fontname=\"sans-serif\", ",
    );
    let _ = writeln!(out, "label={}];", quoted(headline(trace)));
    out.push_str("  node [shape=box, style=rounded, fontname=\"monospace\", fontsize=10];\n");
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=9];\n");
    let lanes = lanes(trace);
    for lane in &lanes {
        let thread = lane.thread.number();
        let _ = writeln!(
            out,
            "  t{thread} [label={}, shape=plaintext, group=t{thread}];",
            quoted(lane.name)
        );
        let mut before = format!("t{thread}");
        let steps = trace.steps.iter().zip(1..).filter(|(step, _)| step.thread == lane.thread);
        for (step, number) in steps {
            let colour =
                if is_wrong(trace, number, step) { ", color=red, fontcolor=red" } else { "" };
            let label =
                quoted(&format!("{}. {}", marked(trace, number), text_of(step, &trace.told(step))));
            let _ = writeln!(out, "  s{number} [label={label}, group=t{thread}{colour}];");
            let _ =
                writeln!(out, "  {before} -> s{number} [weight=8, arrowhead=none, penwidth=2];");
            before = format!("s{number}");
        }
        for waiting in stuck(trace).filter(|waiting| waiting.thread == lane.thread) {
            let label = quoted(&waiting.text);
            let colour = if is_deadlock(trace) { ", color=red, fontcolor=red" } else { "" };
            let _ = writeln!(out, "  w{thread} [label={label}, group=t{thread}{colour}];");
            let _ =
                writeln!(out, "  {before} -> w{thread} [weight=8, arrowhead=none, penwidth=2];");
        }
    }
    // Threads from left to right, and steps one below the other.
    let names: Vec<String> =
        lanes.iter().map(|lane| format!("t{}", lane.thread.number())).collect();
    in_order(&names, "rank=same; ", &mut out);
    let steps = (1..=trace.steps.len()).map(|number| format!("s{number}"));
    let ends = stuck(trace).map(|waiting| format!("w{}", waiting.thread.number()));
    in_order(&steps.chain(ends).collect::<Vec<_>>(), "", &mut out);
    for number in 1..=trace.steps.len() {
        for (earlier, reason) in edges(trace, number) {
            let _ = writeln!(
                out,
                "  s{earlier} -> s{number} [label={}, color=gray40];",
                quoted(&reason)
            );
        }
    }
    for waiting in stuck(trace) {
        if let Some(holder) = waiting.holder {
            let label = quoted(&format!("waits for {}", waiting.object.as_deref().unwrap_or("it")));
            let _ = writeln!(
                out,
                "  w{} -> s{holder} [label={label}, style=dashed, color=red, constraint=false];",
                waiting.thread.number()
            );
        }
    }
    for [first, second] in trace.violations.iter().filter_map(|found| found.race) {
        let _ = writeln!(
            out,
            "  s{first} -> s{second} [label=\"data race\", dir=none, color=\"red:red\", constraint=false];"
        );
    }
    if let Some((first, last)) = cycle(trace) {
        let _ = writeln!(
            out,
            "  s{last} -> s{first} [label=\"repeats forever\", style=bold, color=goldenrod, constraint=false];"
        );
    }
    out.push_str("}\n");
    out
}

/// Keeps nodes in this order by edges that are not drawn.
fn in_order(nodes: &[String], rank: &str, out: &mut String) {
    if nodes.len() > 1 {
        let _ = writeln!(out, "  {{ {rank}edge [style=invis]; {}; }}", nodes.join(" -> "));
    }
}

/// Returns a quoted string. A backslash would begin an escape of Graphviz.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn quotes_and_backslashes_stay_text() {
        assert_eq!(quoted(r#"a"]; \N"#), r#""a\"]; \\N""#);
    }
}
