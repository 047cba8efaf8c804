//! Mutually atomic transactions as a drawing. For each pair of threads: both with their steps and the passes of the token, and beside it the
//! plane of all pairs of their steps, with a rectangle for each transaction and a dot where two steps are dependent.

use std::fmt::Write as _;

use super::svg::escaped;
use crate::colours::{THREADS, colour};
use crate::width::{shorten, width};

/// Two threads, and the transactions between them.
#[derive(Clone, Debug)]
pub struct PairOfThreads {
    /// Their names.
    pub threads: [String; 2],
    /// Their numbers among all threads: a thread has the same colour in each of its pairs.
    pub numbers: [usize; 2],
    /// Their steps: a short name and what it does.
    pub steps: [Vec<(String, String)>; 2],
    /// The pairs of steps that are dependent.
    pub conflicts: Vec<(usize, usize)>,
    /// The first and the last step of each transaction in both threads; the index after the last step is the end of a thread.
    pub transactions: Vec<[(usize, usize); 2]>,
    /// From which step to which a token may pass: thread and index.
    pub passes: Vec<((usize, usize), (usize, usize))>,
}

const ROW: usize = 44;
const TOP: usize = 84;
/// Between the two threads.
const BETWEEN: usize = 260;
/// A square of the plane.
const CELL: usize = 34;
const GAP: usize = 56;
const MARGIN: usize = 24;
/// The width of a character, in hundredths of a pixel.
const CHARACTER: usize = 770;
const MOST_CHARACTERS: usize = 28;

/// Returns the drawing, one row for each pair, and a line below them all.
pub fn transactions(pairs: &[PairOfThreads], caption: &str) -> String {
    let panels: Vec<Panel<'_>> = pairs.iter().map(Panel::new).collect();
    // Planes begin below each other.
    let plane = panels.iter().map(|panel| panel.ladder).max().unwrap_or_default() + GAP;
    let widest = panels.iter().map(|panel| plane + panel.plane.0).max().unwrap_or_default();
    let total = widest.max(2 * MARGIN + width(caption) * CHARACTER / 100) + MARGIN;
    let height = panels.iter().map(|panel| panel.height).sum::<usize>() + 2 * MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total} {height}\" width=\"{total}\" \
         height=\"{height}\" role=\"img\">\n<title>mutually atomic transactions</title>\n<style>\n{}</style>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path class=\"tip\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect class=\"ground\" width=\"{total}\" height=\"{height}\"/>\n",
        style(),
    );
    let mut top = 0;
    for panel in &panels {
        panel.draw_ladder(top, &mut out);
        panel.draw_plane(plane, top, &mut out);
        top += panel.height;
    }
    let _ = writeln!(
        out,
        "<text class=\"quiet\" x=\"{MARGIN}\" y=\"{}\">{}</text>\n</svg>",
        top + MARGIN,
        escaped(caption)
    );
    out
}

/// One pair, and its sizes.
struct Panel<'a> {
    pair: &'a PairOfThreads,
    /// Where the lines of the two threads are.
    lines: [usize; 2],
    /// How wide the part with the two threads is.
    ladder: usize,
    /// How wide and high the plane is.
    plane: (usize, usize),
    height: usize,
}

impl<'a> Panel<'a> {
    fn new(pair: &'a PairOfThreads) -> Self {
        let room = |thread: usize| {
            let texts = pair.steps[thread].iter().map(|(_, text)| width(text));
            texts.max().unwrap_or(0).min(MOST_CHARACTERS) * CHARACTER / 100 + 28
        };
        let first = MARGIN + room(0).max(width(&pair.threads[0]).min(MOST_CHARACTERS) * 5);
        let second = first + BETWEEN;
        let [a, b] = [0, 1].map(|thread| pair.steps[thread].len());
        // A row and a column for the names, and one for the ends.
        let plane = (CELL * (a + 2), CELL * (b + 2));
        let rows = a.max(b);
        Self {
            pair,
            lines: [first, second],
            ladder: second + room(1),
            plane,
            height: (TOP + ROW * rows).max(TOP + plane.1) + MARGIN,
        }
    }

    /// The class of a thread, for its colour.
    fn class(&self, thread: usize) -> String {
        format!("c{}", self.pair.numbers[thread] % THREADS)
    }

    fn draw_ladder(&self, top: usize, out: &mut String) {
        let y = |index: usize| top + TOP + ROW * index;
        for thread in 0..2 {
            let (x, class) = (self.lines[thread], self.class(thread));
            let _ = writeln!(
                out,
                "<text class=\"name {class}\" x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                top + 44,
                escaped(&shorten(&self.pair.threads[thread], MOST_CHARACTERS)),
            );
            if let Some(last) = self.pair.steps[thread].len().checked_sub(1) {
                let _ = writeln!(
                    out,
                    "<line class=\"lane\" x1=\"{x}\" x2=\"{x}\" y1=\"{}\" y2=\"{}\"/>",
                    y(0),
                    y(last)
                );
            }
        }
        for &((thread, from), (_, to)) in &self.pair.passes {
            let (start, end) = match thread {
                0 => (self.lines[0] + 18, self.lines[1] - 20),
                _ => (self.lines[1] - 18, self.lines[0] + 20),
            };
            let (from, to, class) = (y(from) + 4, y(to) - 4, self.class(thread));
            let _ = writeln!(
                out,
                "<line class=\"pass {class}\" x1=\"{start}\" y1=\"{from}\" x2=\"{end}\" y2=\"{to}\" \
                 marker-end=\"url(#tip)\"/>"
            );
        }
        for thread in 0..2 {
            let (x, class) = (self.lines[thread], self.class(thread));
            let (anchor, at) = if thread == 0 { ("end", x - 24) } else { ("start", x + 24) };
            for (index, (name, text)) in self.pair.steps[thread].iter().enumerate() {
                let _ = writeln!(
                    out,
                    "<circle class=\"step {class}\" cx=\"{x}\" cy=\"{}\" r=\"16\"/>\
                     <text x=\"{x}\" y=\"{1}\" text-anchor=\"middle\">{2}</text>\
                     <text x=\"{at}\" y=\"{1}\" text-anchor=\"{anchor}\">{3}</text>",
                    y(index),
                    y(index) + 4,
                    escaped(name),
                    escaped(&shorten(text, MOST_CHARACTERS)),
                );
            }
        }
    }

    /// The first thread goes to the right, the second one down.
    fn draw_plane(&self, left: usize, top: usize, out: &mut String) {
        let [a, b] = [0, 1].map(|thread| self.pair.steps[thread].len());
        let (left, top) = (left + CELL, top + TOP - CELL / 2 + CELL);
        let corner = |i: usize, j: usize| (left + CELL * i, top + CELL * j);
        let ends = [0, 1].map(|thread| match self.pair.steps[thread].first() {
            Some((name, _)) => format!("⊣{}", name.trim_start_matches(char::is_numeric)),
            None => "⊣".to_owned(),
        });
        let name = |thread: usize, index: usize| {
            let known = self.pair.steps[thread].get(index);
            known.map_or(&ends[thread], |(name, _)| name)
        };
        let mut label = |thread: usize, (x, y): (usize, usize), text: &str| {
            let class = self.class(thread);
            let _ = writeln!(
                out,
                "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{}</text>",
                escaped(text)
            );
        };
        for i in 0..=a {
            label(0, (left + CELL * i + CELL / 2, top - 8), name(0, i));
        }
        for j in 0..=b {
            label(1, (left - CELL / 2, top + CELL * j + CELL / 2 + 4), name(1, j));
        }
        let mut grid = String::new();
        for i in 0..=a + 1 {
            let _ = write!(grid, "M{} {top}v{}", left + CELL * i, CELL * (b + 1));
        }
        for j in 0..=b + 1 {
            let _ = write!(grid, "M{left} {}h{}", top + CELL * j, CELL * (a + 1));
        }
        let _ = writeln!(out, "<path class=\"grid\" d=\"{grid}\"/>");
        // Above all transactions, which overlap.
        let mut rounds = String::new();
        for (number, &[(f1, l1), (f2, l2)]) in self.pair.transactions.iter().enumerate() {
            let ((x, y), inset) = (corner(f1, f2), 3);
            let (wide, high) = (CELL * (l1 - f1 + 1), CELL * (l2 - f2 + 1));
            let _ = writeln!(
                out,
                "<rect class=\"transaction\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"5\">\
                 <title>{}</title></rect>",
                x + inset,
                y + inset,
                wide - 2 * inset,
                high - 2 * inset,
                escaped(&format!(
                    "round {}: {} to {}, {} to {}",
                    number + 1,
                    name(0, f1),
                    name(0, l1),
                    name(1, f2),
                    name(1, l2)
                )),
            );
            let (x, y) = (x + 6, y + 14);
            let _ =
                writeln!(rounds, "<text class=\"round\" x=\"{x}\" y=\"{y}\">{}</text>", number + 1);
        }
        out.push_str(&rounds);
        for &(i, j) in &self.pair.conflicts {
            let (x, y) = corner(i, j);
            let (x, y) = (x + CELL / 2 + 3, y + CELL / 2 + 3);
            let _ = writeln!(
                out,
                "<circle class=\"conflict\" cx=\"{x}\" cy=\"{y}\" r=\"4.5\"><title>{}</title></circle>",
                escaped(&format!("{} and {} are dependent", name(0, i), name(1, j)))
            );
        }
    }
}

/// The colours are those of the page.
fn style() -> String {
    let theme = |dark: bool| {
        let pick = |name: &str| colour(name, dark);
        let threads = (0..THREADS).map(|thread| {
            let own = pick(&format!("t{thread}"));
            format!(
                " text.c{thread} {{ fill: {own}; }} .step.c{thread}, .pass.c{thread} {{ stroke: {own}; }}"
            )
        });
        let rest = format!(
            ".ground {{ fill: {0}; }} text {{ fill: {1}; stroke: {0}; }} .quiet {{ fill: {2}; }} \
             .lane, .grid {{ stroke: {3}; }} .step {{ fill: {4}; }} .conflict {{ fill: {5}; }} \
             .transaction {{ stroke: {6}; fill: {6}; }} .round {{ fill: {1}; }} .tip {{ fill: {2}; }}",
            pick("bg"),
            pick("fg"),
            pick("dim"),
            pick("line"),
            pick("card"),
            pick("bad"),
            pick("edge"),
        );
        rest + &threads.collect::<String>()
    };
    format!(
        "text {{ font: 12.5px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; paint-order: stroke; \
         stroke-width: 3px; stroke-linejoin: round; }}\n\
         .name {{ font: bold 14px system-ui, 'DejaVu Sans', sans-serif; }} .round {{ font-size: 9.5px; stroke: none; }}\n\
         .lane {{ stroke-width: 2; }} .grid {{ fill: none; }} .pass {{ fill: none; stroke-width: 1.4; }}\n\
         .step {{ stroke-width: 1.5; }} .transaction {{ fill-opacity: .1; stroke-width: 1.3; }}\n\
         {}\n@media (prefers-color-scheme: dark) {{ {} }}\n",
        theme(false),
        theme(true),
    )
}
