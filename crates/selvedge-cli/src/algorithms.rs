//! `selvedge algorithms`: the registry, for people.

use selvedge_explore::Covers;
use selvedge_report::Style;

use crate::exit::{Exit, Failure};
use crate::registry;
use crate::screen::Screen;
use crate::weak;

/// Lists the algorithms.
pub(crate) fn run(screen: &Screen) -> Result<Exit, Failure> {
    let mut out = String::new();
    for algorithm in registry::all() {
        let info = algorithm.info();
        out.push_str(&screen.paint.style(Style::Strong, info.name));
        if info.name == registry::DEFAULT {
            out.push_str("  (the default)");
        }
        out.push('\n');
        let optimal =
            if info.optimal { "yes: every class once, no redundant execution" } else { "no" };
        let rows = [
            ("", info.summary.to_owned()),
            ("classes", info.equivalence.name().to_owned()),
            ("optimal", optimal.to_owned()),
            ("covers", covers(info.covers)),
            ("choose it", info.advice.to_owned()),
            ("paper", info.paper.to_owned()),
        ];
        for (name, text) in rows {
            row(&mut out, name, &text, screen.width);
        }
        out.push('\n');
    }
    out.push_str(&screen.paint.style(Style::Strong, "graph"));
    out.push_str("  (with --memory)\n");
    let rows = [
        (
            "",
            "execution graphs under a memory model: sc, tso, rc11 or c++20; for models, C and C++",
        ),
        ("classes", weak::EQUIVALENCE),
        (
            "optimal",
            "yes, except for graphs in which a thread waits at a write that is not the last",
        ),
        ("covers", "assertions, deadlocks, data races (under sc with --races)"),
        ("choose it", "for memory orderings and weak memory: selvedge check FILE --memory rc11"),
        (
            "paper",
            "Kokologiannakis, Marmanis, Gladstein, Vafeiadis: Truly Stateless, Optimal Dynamic Partial Order Reduction, POPL 2022",
        ),
    ];
    for (name, text) in rows {
        row(&mut out, name, text, screen.width);
    }
    out.push('\n');
    out.push_str("use one: selvedge check FILE --algorithm NAME; all: selvedge compare FILE\n");
    screen.print(&out)?;
    Ok(Exit::Good)
}

fn covers(covers: Covers) -> String {
    let all = [
        (covers.assertions, "assertions"),
        (covers.deadlocks, "deadlocks"),
        (covers.data_races, "data races (with --races)"),
    ];
    let covered: Vec<&str> = all.iter().filter(|(yes, _)| *yes).map(|(_, name)| *name).collect();
    covered.join(", ")
}

/// A row with its text broken at blanks.
fn row(out: &mut String, name: &str, text: &str, width: usize) {
    const INDENT: usize = 2;
    const NAME: usize = 11;
    let room = width.saturating_sub(INDENT + NAME).max(20);
    let (indent, mut name) = (if name.is_empty() { INDENT } else { INDENT + NAME }, name);
    let room = if indent == INDENT { room + NAME } else { room };
    let mut line = String::new();
    let mut flush = |line: &mut String| {
        let head = format!("{:INDENT$}{name}", "");
        out.push_str(&format!("{head:indent$}{line}\n"));
        name = "";
        line.clear();
    };
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > room {
            flush(&mut line);
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    flush(&mut line);
}
