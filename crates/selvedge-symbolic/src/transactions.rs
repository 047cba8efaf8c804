//! The transactions of a program with two threads, for people to look at.

use std::sync::Arc;

use selvedge_core::Place;
use selvedge_lang::ir::Program;

use crate::caps::Caps;
use crate::circuit::Circuit;
use crate::encode::passes::may_depend;
use crate::encode::steps::{Steps, Which};
use crate::encode::transactions::{Round, StepOfTwo, generate, passes};
use crate::unroll::{CutReason, Depth, EventId, Unrolled, unroll};
use selvedge_core::{Budget, Spent};

/// The run of GenMAT on one way through each of two threads.
pub struct Between {
    /// The names of the threads.
    pub threads: [String; 2],
    /// Their steps.
    pub steps: [Vec<StepText>; 2],
    /// What the algorithm did.
    pub rounds: Vec<Round>,
    /// Where a token may pass.
    pub passes: Vec<(StepOfTwo, StepOfTwo)>,
}

/// A step in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepText {
    /// What it reads and writes: `R(x)`, `W(y)`.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// Ways through a thread that are shown; more are too many to look at.
const MOST_WAYS: usize = 8;

/// The largest number of pairs of steps; a larger table is not readable.
const MOST_PAIRS: usize = 1_000_000;

/// Returns all pairs of ways through the two threads of a program.
///
/// # Errors
/// If it has not two threads, or too many ways, or if the budget is spent; with what to do.
pub fn of_program(
    program: &Arc<Program>,
    repetitions: u32,
    budget: &Budget,
) -> Result<Vec<Between>, String> {
    let depth = Depth { repetitions, stops_anywhere: false };
    let stopped = |spent: Spent| format!("{spent}, and the threads were not yet unrolled");
    let mut unrolled =
        unroll(program, depth, Caps::default(), Circuit::default(), budget).map_err(stopped)?;
    let unsupported = unrolled.cuts.iter().find_map(|cut| match &cut.reason {
        CutReason::Unsupported(what) => Some(format!("{}: {what}", cut.place)),
        _ => None,
    });
    if let Some(what) = unsupported {
        return Err(format!(
            "{what}: there is no symbolic encoding for that, so transactions are not known\n  leave it out, or \
             check the program without --symbolic"
        ));
    }
    let steps = Steps::new(&mut unrolled, Which::Noticed);
    let threads: Vec<usize> =
        (0..steps.of_thread.len()).filter(|&i| !steps.of_thread[i].is_empty()).collect();
    let &[first, second] = threads.as_slice() else {
        return Err(format!(
            "transactions are between two threads, and {} touch something shared\n  \
             for any number of threads: selvedge check FILE --symbolic mat --stats",
            threads.len()
        ));
    };
    let of_first = ways(&unrolled, &steps, first)?;
    let of_second = ways(&unrolled, &steps, second)?;
    let longest = |ways: &[Vec<EventId>]| ways.iter().map(Vec::len).max().unwrap_or(0);
    let (a, b) = (longest(&of_first), longest(&of_second));
    if a * b > MOST_PAIRS {
        return Err(format!(
            "the threads have {a} and {b} steps: too many to look at\n  \
             make the program smaller, for instance with --const N=2"
        ));
    }
    let mut all = Vec::new();
    for a in &of_first {
        for b in &of_second {
            let sizes = (a.len(), b.len());
            let rounds = generate(sizes, &|i, j| may_depend(&unrolled, a[i], b[j]));
            let text = |way: &[EventId]| -> Vec<StepText> {
                way.iter().map(|&event| describe(&unrolled, event)).collect()
            };
            all.push(Between {
                threads: [first, second].map(|thread| unrolled.threads[thread].name.clone()),
                steps: [text(a), text(b)],
                passes: passes(sizes, &rounds),
                rounds,
            });
        }
    }
    Ok(all)
}

/// Returns the ways through a thread, from its start to where nothing follows.
fn ways(unrolled: &Unrolled, steps: &Steps, thread: usize) -> Result<Vec<Vec<EventId>>, String> {
    let mut open: Vec<Vec<EventId>> = steps.of_thread[thread]
        .iter()
        .filter(|event| steps.previous[event.index()].iter().any(|(_, before)| before.is_none()))
        .map(|&event| vec![event])
        .collect();
    let mut ways = Vec::new();
    while let Some(way) = open.pop() {
        let next = way.last().map(|last| steps.next[last.index()].as_slice()).unwrap_or_default();
        if next.is_empty() {
            ways.push(way.clone());
        }
        open.extend(next.iter().map(|&(_, next)| {
            let longer: Vec<EventId> = way.iter().copied().chain([next]).collect();
            longer
        }));
        if ways.len() + open.len() > MOST_WAYS {
            return Err(format!(
                "thread {} has more than {MOST_WAYS} ways through its branches\n  \
                 the passes are used all the same: selvedge check FILE --symbolic mat --stats",
                unrolled.threads[thread].name
            ));
        }
    }
    ways.sort();
    Ok(ways)
}

fn describe(unrolled: &Unrolled, event: EventId) -> StepText {
    let place = unrolled.program.place(unrolled.events[event.index()].site);
    let event = &unrolled.events[event.index()];
    let name = |cell: &crate::unroll::CellId| unrolled.cells[cell.index()].name.clone();
    let mut parts: Vec<String> = Vec::new();
    parts.extend(event.reads.keys().map(|cell| format!("R({})", name(cell))));
    parts.extend(event.writes.keys().map(|cell| format!("W({})", name(cell))));
    if !event.spawns.is_empty() {
        parts.push("spawn".to_owned());
    }
    if !event.joins.is_empty() {
        parts.push("join".to_owned());
    }
    StepText { text: parts.join(" "), place }
}

impl Between {
    /// Returns the name of a step as in the paper: `1a`, `2b`; of the end of a thread: `⊣a`.
    pub fn name(&self, (thread, index): StepOfTwo) -> String {
        let letter = ["a", "b"][thread];
        match self.steps[thread].get(index) {
            Some(_) => format!("{}{letter}", index + 1),
            None => format!("⊣{letter}"),
        }
    }

    /// Returns how many ordered pairs of steps there are.
    pub fn pairs(&self) -> usize {
        2 * self.steps[0].len() * self.steps[1].len()
    }

    /// Both threads with their steps, and an arrow for each pass.
    pub fn to_svg(&self) -> String {
        const ROW: usize = 44;
        const TOP: usize = 70;
        const LEFT: usize = 150;
        const RIGHT: usize = 450;
        let rows = self.steps[0].len().max(self.steps[1].len());
        let height = TOP + ROW * rows + 20;
        let x = |thread: usize| [LEFT, RIGHT][thread];
        let y = |index: usize| TOP + ROW * index;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"600\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"14\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" \
             markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#36c\"/></marker>\
             </defs>\n<rect width=\"600\" height=\"{height}\" fill=\"white\"/>\n"
        );
        for thread in 0..2 {
            out.push_str(&format!(
                "<text x=\"{}\" y=\"30\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\n",
                x(thread),
                escape(&self.threads[thread])
            ));
            for (index, step) in self.steps[thread].iter().enumerate() {
                let (anchor, at) = [("end", LEFT - 24), ("start", RIGHT + 24)][thread];
                out.push_str(&format!(
                    "<circle cx=\"{0}\" cy=\"{1}\" r=\"16\" fill=\"#eee\" stroke=\"#555\"/>\
                     <text x=\"{0}\" y=\"{2}\" text-anchor=\"middle\">{3}</text>\
                     <text x=\"{at}\" y=\"{2}\" text-anchor=\"{anchor}\">{4}</text>\n",
                    x(thread),
                    y(index),
                    y(index) + 5,
                    self.name((thread, index)),
                    escape(&step.text),
                ));
            }
        }
        for &(from, to) in &self.passes {
            let (start, end) =
                if from.0 == 0 { (LEFT + 17, RIGHT - 19) } else { (RIGHT - 17, LEFT + 19) };
            out.push_str(&format!(
                "<line x1=\"{start}\" y1=\"{}\" x2=\"{end}\" y2=\"{}\" stroke=\"#36c\" \
                 stroke-width=\"1.5\" marker-end=\"url(#tip)\"/>\n",
                y(from.1) + 4,
                y(to.1) - 4,
            ));
        }
        out.push_str("</svg>\n");
        out
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
