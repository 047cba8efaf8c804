//! An execution as a drawing: a lane per thread, a row per step, as the page has it, but without anything to click.

use std::fmt::Write as _;

use super::routes::{path, routes};
use super::{
    cycle, edges, headline, is_deadlock, is_wrong, lanes, marked, stuck, text_of, waits_for,
};
use crate::colours::{THREADS, colour};
use crate::view::TraceView;
use crate::width::{shorten, shorten_inside, width};

const ROW: usize = 26;
const TOP: usize = 66;
const LEFT: usize = 56;
const GAP: usize = 14;
/// The room for the mark of steps that repeat.
const REPEATS: usize = 16;
/// The widest text of a lane, in characters.
const MOST_CHARACTERS: usize = 44;
/// The width of a character in a font of 12.5 pixels, a little generous, in hundredths of a pixel.
const CHARACTER: usize = 770;

/// Returns the execution as an SVG file, in light colours, or in dark ones where the reader prefers them.
pub fn svg(trace: &TraceView) -> String {
    let lanes = lanes(trace);
    let lane_of = |thread| lanes.iter().position(|lane| lane.thread == thread).unwrap_or_default();
    let mut rows: Vec<Row> = Vec::new();
    for (step, number) in trace.steps.iter().zip(1..) {
        rows.push(Row {
            lane: lane_of(step.thread),
            number: marked(trace, number),
            // What it misses is drawn.
            text: text_of(step, &step.text),
            is_wrong: is_wrong(trace, number, step),
        });
    }
    for waiting in stuck(trace) {
        let lane = lane_of(waiting.thread);
        let text = waits_for(waiting);
        let is_wrong = is_deadlock(trace);
        rows.push(Row { lane, number: "end".to_owned(), text, is_wrong });
    }

    let mut places = Vec::new();
    let left = if cycle(trace).is_some() { LEFT + REPEATS } else { LEFT };
    let mut x = left;
    for (index, lane) in lanes.iter().enumerate() {
        let texts = rows.iter().filter(|row| row.lane == index).map(|row| width(&row.text));
        let widest = texts.chain([width(lane.name)]).max().unwrap_or_default();
        places.push(x + 8);
        x += 28 + widest.min(MOST_CHARACTERS) * CHARACTER / 100 + GAP;
    }
    let head = shorten(headline(trace), 120);
    let total = x.max(2 * LEFT + width(&head) * CHARACTER / 100);
    let height = TOP + rows.len() * ROW + 12;
    let y = |row: usize| TOP + row * ROW + ROW / 2;
    let dot = |row: usize| (places[rows[row].lane], y(row));

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {height}\" width=\"{total}\" \
         height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>\n{}</style>\n",
        escaped(headline(trace)),
        style(),
    );
    out.push_str(MARKERS);
    let _ = writeln!(out, "<rect class=\"ground\" width=\"{total}\" height=\"{height}\"/>");
    let _ = writeln!(out, "<text class=\"head\" x=\"12\" y=\"24\">{}</text>", escaped(&head));
    for (lane, &x) in lanes.iter().zip(&places) {
        let _ = writeln!(
            out,
            "<line class=\"lane\" x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{}\"/>",
            TOP,
            height - 8
        );
        let _ = writeln!(
            out,
            "<text class=\"name c{}\" x=\"{}\" y=\"52\">{}</text>",
            lane.thread.index() % THREADS,
            x - 4,
            escaped(&shorten(lane.name, MOST_CHARACTERS)),
        );
    }
    let edges = all_edges(trace);
    let ends: Vec<(usize, usize)> = edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let lane_of_row: Vec<usize> = rows.iter().map(|row| row.lane).collect();
    for (edge, route) in edges.iter().zip(routes(&ends, &lane_of_row)) {
        let d = path(dot(edge.from), dot(edge.to), route);
        let (class, head) = match edge.kind {
            Kind::Order => ("edge", " marker-end=\"url(#to)\""),
            Kind::Missed => ("missed", ""),
            Kind::Race => ("race", ""),
            Kind::Waits => ("waits", " marker-end=\"url(#taken)\""),
        };
        let title = escaped(&edge.title);
        let _ =
            writeln!(out, "<path class=\"{class}\"{head} d=\"{d}\"><title>{title}</title></path>");
        if edge.kind == Kind::Race {
            let _ = writeln!(out, "<path class=\"gap\" d=\"{d}\"/>");
        }
    }
    if let Some((first, last)) = cycle(trace) {
        let _ = writeln!(
            out,
            "<path class=\"cycle\" marker-end=\"url(#again)\" d=\"M9 {} H4 V{} H11\"><title>{}</title></path>",
            y(last - 1),
            y(first - 1),
            escaped(&format!("steps {first} to {last} repeat forever")),
        );
    }
    let before_numbers = if cycle(trace).is_some() { 14 } else { 12 };
    for (index, row) in rows.iter().enumerate() {
        let (x, y) = (places[row.lane], y(index));
        let colour = match row.is_wrong {
            true => "bad".to_owned(),
            false => format!("c{}", lanes[row.lane].thread.index() % THREADS),
        };
        let _ = writeln!(
            out,
            "<text class=\"number\" x=\"{before_numbers}\" y=\"{}\">{}</text>\
             <circle class=\"{colour}\" cx=\"{x}\" cy=\"{y}\" r=\"5\"/>\
             <text{} x=\"{}\" y=\"{}\">{}</text>",
            y + 4,
            row.number,
            if row.is_wrong { " class=\"bad\"" } else { "" },
            x + 12,
            y + 4,
            escaped(&shorten_inside(&row.text, MOST_CHARACTERS)),
        );
    }
    out.push_str("</svg>\n");
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Happens-before.
    Order,
    /// From a write to a read that does not see it.
    Missed,
    /// Between the accesses of a data race.
    Race,
    /// From a thread that waits to the step that took what it waits for.
    Waits,
}

/// An edge between two rows.
struct Edge {
    kind: Kind,
    from: usize,
    to: usize,
    title: String,
}

fn all_edges(trace: &TraceView) -> Vec<Edge> {
    let mut all = Vec::new();
    for number in 1..=trace.steps.len() {
        all.extend(edges(trace, number).into_iter().map(|(earlier, reason)| Edge {
            kind: Kind::Order,
            from: earlier - 1,
            to: number - 1,
            title: format!("step {number}, after step {earlier}: {reason}"),
        }));
    }
    for (step, number) in trace.steps.iter().zip(1..) {
        all.extend(step.missed.iter().map(|newer| Edge {
            kind: Kind::Missed,
            from: newer - 1,
            to: number - 1,
            title: format!("step {number} does not see what step {newer} wrote"),
        }));
    }
    let races = trace.violations.iter().filter_map(|found| found.race);
    all.extend(races.map(|[first, second]| Edge {
        kind: Kind::Race,
        from: first - 1,
        to: second - 1,
        title: "a data race: nothing orders these two accesses".to_owned(),
    }));
    for (waiting, row) in stuck(trace).zip(trace.steps.len()..) {
        all.extend(waiting.holder.map(|holder| Edge {
            kind: Kind::Waits,
            from: row,
            to: holder - 1,
            title: format!("{} {}, taken in step {holder}", waiting.name, waits_for(waiting)),
        }));
    }
    all
}

struct Row {
    lane: usize,
    number: String,
    text: String,
    is_wrong: bool,
}

const MARKERS: &str = "<defs>\
<marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
<path class=\"arrow\" d=\"M0 0L8 4L0 8z\"/></marker>\
<marker id=\"taken\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
<path class=\"bad\" d=\"M0 0L8 4L0 8z\"/></marker>\
<marker id=\"again\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">\
<path class=\"again\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";

/// The colours are those of the page.
fn style() -> String {
    let theme = |dark: bool| {
        let pick = |name: &str| colour(name, dark);
        let mut css = format!(
            ".ground {{ fill: {0}; }} text {{ fill: {1}; stroke: {0}; }} .number {{ fill: {2}; }} \
             .lane {{ stroke: {3}; }} .edge {{ stroke: {2}; }} .arrow {{ fill: {2}; }} .gap {{ stroke: {0}; }} \
             .bad {{ fill: {4}; }} .waits, .race {{ stroke: {4}; }} \
             .cycle {{ stroke: {5}; }} .again {{ fill: {5}; }} .missed {{ stroke: {6}; }}",
            pick("bg"),
            pick("fg"),
            pick("dim"),
            pick("line"),
            pick("bad"),
            pick("edge"),
            pick("unsure"),
        );
        for number in 0..THREADS {
            let _ = write!(css, " .c{number} {{ fill: {}; }}", pick(&format!("t{number}")));
        }
        css
    };
    format!(
        "text {{ font: 12.5px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; paint-order: stroke; \
         stroke-width: 4px; stroke-linejoin: round; }}\n\
         .head, .name {{ font: bold 14px system-ui, 'DejaVu Sans', sans-serif; }} .number {{ font-size: 11px; }}\n\
         .lane {{ stroke-width: 2; }} .edge {{ fill: none; stroke-width: 1.3; }}\n\
         .cycle {{ fill: none; stroke-width: 1.6; }} .waits {{ fill: none; stroke-width: 1.6; stroke-dasharray: 5 3; }}\n\
         .missed {{ fill: none; stroke-width: 1.8; stroke-dasharray: 2 4; }} .race {{ fill: none; stroke-width: 5; }} .gap {{ fill: none; stroke-width: 2; }}\n\
         {}\n@media (prefers-color-scheme: dark) {{ {} }}\n",
        theme(false),
        theme(true),
    )
}

/// Returns text for XML. Two characters are not allowed there at all.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
