//! The transactions of a program, pair of threads by pair of threads, for people to look at.

use std::sync::Arc;

use selvedge_core::Place;
use selvedge_lang::ir::Program;

use crate::caps::Caps;
use crate::circuit::Circuit;
use crate::encode::passes::{Keep, Passes, may_depend};
use crate::encode::steps::{Steps, Which};
use crate::encode::transactions::{Round, StepOfTwo, generate, passes};
use crate::encode::{NoFormula, Scheme};
use crate::unroll::{CutReason, Depth, EventId, Unrolled, unroll};
use selvedge_core::{Budget, Spent};

/// The transactions of a program.
pub struct All {
    /// How many threads touch something shared.
    pub threads: usize,
    /// Those of each pair of threads, and of each pair of ways through them.
    pub between: Vec<Between>,
    /// What a check keeps of all ordered pairs of steps of different threads. With three and more threads these are not the
    /// passes of the pairs taken together.
    pub kept: usize,
    /// How many of these pairs there are.
    pub pairs: usize,
}

/// The run of GenMAT on one way through each of two threads.
pub struct Between {
    /// The names of the threads.
    pub threads: [String; 2],
    /// A letter for each of them, or more if there are many threads.
    pub letters: [String; 2],
    /// Which of the pairs of ways through these threads it is, from 1, and how many there are.
    pub way: (usize, usize),
    /// Their steps.
    pub steps: [Vec<StepText>; 2],
    /// The pairs of steps that may be dependent.
    pub conflicts: Vec<(usize, usize)>,
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

/// Returns the transactions of all pairs of threads of a program.
///
/// # Errors
/// If it has fewer than two threads, or too many ways, or if the budget is spent; with what to do.
pub fn of_program(
    program: &Arc<Program>,
    repetitions: u32,
    budget: &Budget,
) -> Result<All, String> {
    let depth = Depth { repetitions, stops_anywhere: false, stops_at_races: false };
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
    let threads = steps.threads();
    if threads.len() < 2 {
        let few = if threads.is_empty() { "none touches" } else { "only one touches" };
        return Err(format!("transactions are between threads, and {few} something shared"));
    }
    if steps.pairs() > MOST_PAIRS {
        return Err(format!(
            "the threads have {} pairs of steps: too many to look at\n  \
             make the program smaller, for instance with --const N=2",
            steps.pairs()
        ));
    }
    let mut ways = Vec::new();
    for &thread in &threads {
        let paths = steps.paths(thread, MOST_WAYS).ok_or_else(|| {
            format!(
                "thread {} has more than {MOST_WAYS} ways through its branches\n  \
                 the passes are used all the same: selvedge check FILE --symbolic mat --stats",
                unrolled.threads[thread].name
            )
        })?;
        ways.push(paths);
    }
    let mut between = Vec::new();
    for first in 0..threads.len() {
        for second in first + 1..threads.len() {
            let of = ways[first].len() * ways[second].len();
            let both = ways[first].iter().flat_map(|a| ways[second].iter().map(move |b| (a, b)));
            for (way, (a, b)) in both.enumerate() {
                let threads = [first, second].map(|it| unrolled.threads[threads[it]].name.clone());
                let named = (threads, [first, second].map(letters));
                between.push(of_two(&unrolled, [a, b], named, (way + 1, of)));
            }
        }
    }
    let passes = Passes::new(&mut unrolled, &steps, Scheme::Mat, Keep::AnySchedule, budget);
    let passes = passes.map_err(|why: NoFormula| why.to_string())?;
    Ok(All { threads: threads.len(), between, kept: passes.kept.len(), pairs: passes.pairs })
}

fn of_two(
    unrolled: &Unrolled,
    [a, b]: [&Vec<EventId>; 2],
    (threads, letters): ([String; 2], [String; 2]),
    way: (usize, usize),
) -> Between {
    let sizes = (a.len(), b.len());
    let conflict = |i: usize, j: usize| may_depend(unrolled, a[i], b[j]);
    let rounds = generate(sizes, &conflict);
    let text = |way: &[EventId]| -> Vec<StepText> {
        way.iter().map(|&event| describe(unrolled, event)).collect()
    };
    let pairs = (0..sizes.0).flat_map(|i| (0..sizes.1).map(move |j| (i, j)));
    Between {
        threads,
        letters,
        way,
        steps: [text(a), text(b)],
        conflicts: pairs.filter(|&(i, j)| conflict(i, j)).collect(),
        passes: passes(sizes, &rounds),
        rounds,
    }
}

/// Returns the letters of a thread: a, b, … z, aa, ab, …
fn letters(mut thread: usize) -> String {
    const LETTERS: usize = 26;
    let mut letters = Vec::new();
    loop {
        letters.insert(0, (b'a' + (thread % LETTERS) as u8) as char);
        match thread / LETTERS {
            0 => return letters.into_iter().collect(),
            more => thread = more - 1,
        }
    }
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
        let letter = &self.letters[thread];
        match self.steps[thread].get(index) {
            Some(_) => format!("{}{letter}", index + 1),
            None => format!("⊣{letter}"),
        }
    }

    /// Returns how many ordered pairs of steps there are.
    pub fn pairs(&self) -> usize {
        2 * self.steps[0].len() * self.steps[1].len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> All {
        let program = selvedge_lang::compile("test.sel", text, &[]).expect("it compiles").program;
        of_program(&program, 1, &Budget::unlimited()).expect("transactions")
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!(
            [0, 1, 25, 26, 27, 52, 701, 702].map(letters),
            ["a", "b", "z", "aa", "ab", "ba", "zz", "aaa"]
        );
    }

    /// Each pair of threads has the transactions that it has alone, whatever others do.
    #[test]
    fn three_threads_are_three_pairs() {
        const SHARED: &str = "shared x = 0; shared y = 0; ";
        const THREADS: [&str; 3] = [
            "thread p { x = 1; y = 1; }",
            "thread q { let v = y; x = v; }",
            "thread r { y = 2; let w = x; }",
        ];
        let all = of(&format!("{SHARED}{}", THREADS.concat()));
        assert_eq!((all.threads, all.between.len()), (3, 3));
        for (found, (first, second)) in all.between.iter().zip([(0, 1), (0, 2), (1, 2)]) {
            let alone = of(&format!("{SHARED}{}{}", THREADS[first], THREADS[second]));
            let [alone] = alone.between.as_slice() else { panic!("two threads are one pair") };
            assert_eq!((&found.threads, &found.rounds), (&alone.threads, &alone.rounds));
            assert_eq!((&found.passes, &found.conflicts), (&alone.passes, &alone.conflicts));
            assert_eq!(found.letters, [first, second].map(letters));
        }
        assert!(all.kept <= all.pairs && all.pairs == 24, "{} of {}", all.kept, all.pairs);
    }
}
