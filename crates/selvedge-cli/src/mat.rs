//! `selvedge mat`: the transactions of each pair of threads, as a table and as a picture.

use selvedge_core::Budget;
use selvedge_report::{Align, PairOfThreads, Table, grouped, transactions};
use selvedge_symbolic::transactions::{All, Between, of_program};

use crate::args::MatArgs;
use crate::exit::{self, Exit, Failure};
use crate::screen::Screen;
use crate::source::Loaded;

/// Shows the run of GenMAT on each pair of threads of a program.
pub(crate) fn run(args: &MatArgs, screen: &Screen) -> Result<Exit, Failure> {
    let loaded = Loaded::new(&args.program, screen)?;
    // Nothing that could be shown is found before the end: a signal ends it at once.
    let all =
        of_program(loaded.program(), args.unroll, &Budget::unlimited()).map_err(Failure::User)?;
    let mut out = String::new();
    for between in &all.between {
        if let (number, of @ 2..) = between.way {
            out.push_str(&format!("ways {number} of {of}\n\n"));
        }
        out.push_str(&text(between, screen));
        out.push('\n');
    }
    if all.threads > 2 {
        out.push_str(&format!("{}\n", together(&all)));
    }
    let printed = screen.print(&out);
    let mut drawn = Ok(());
    if let Some(path) = &args.svg {
        if all.between.iter().any(|between| between.way.1 > 1) {
            screen.warn(
                "there are branches: the picture shows the first ways of each pair of threads",
            );
        }
        let first = all.between.iter().filter(|between| between.way.0 == 1);
        // Each thread has letters of its own.
        let mut threads: Vec<&str> = Vec::new();
        for letters in all.between.iter().flat_map(|between| &between.letters) {
            if !threads.contains(&letters.as_str()) {
                threads.push(letters);
            }
        }
        let pairs: Vec<PairOfThreads> = first.map(|between| panel(between, &threads)).collect();
        drawn = exit::write_file(path, "the picture", &transactions(&pairs, &together(&all)));
    }
    exit::after(Exit::Good, [printed, drawn])
}

/// What a check makes of it.
fn together(all: &All) -> String {
    let (kept, pairs) = (grouped(all.kept as u64), grouped(all.pairs as u64));
    let threads = all.threads;
    match threads {
        2 => format!("the token passes between {kept} of {pairs} pairs of steps"),
        _ => format!(
            "all {threads} threads together: check --symbolic mat passes the token between {kept} of {pairs} pairs of steps"
        ),
    }
}

/// A pair of threads, among all of them by their letters.
fn panel(between: &Between, threads: &[&str]) -> PairOfThreads {
    let steps = [0, 1].map(|thread| {
        let steps = between.steps[thread].iter().enumerate();
        steps.map(|(index, step)| (between.name((thread, index)), step.text.clone())).collect()
    });
    PairOfThreads {
        threads: between.threads.clone(),
        numbers: [0, 1].map(|one| {
            let is_it = |letters: &&str| *letters == between.letters[one];
            threads.iter().position(is_it).expect("internal error: a thread without letters")
        }),
        steps,
        conflicts: between.conflicts.clone(),
        transactions: between
            .rounds
            .iter()
            .map(|round| [round.chosen.first, round.chosen.second])
            .collect(),
        passes: between.passes.clone(),
    }
}

fn text(between: &Between, screen: &Screen) -> String {
    let mut steps =
        Table::new(&[("step", Align::Left), ("does", Align::Left), ("at", Align::Left)]);
    for thread in 0..2 {
        for (index, step) in between.steps[thread].iter().enumerate() {
            let name = between.name((thread, index));
            steps.row(vec![name, step.text.clone(), step.place.to_string()]);
        }
    }
    let columns = ["round", "from", "transactions", "new pairs"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    for (number, round) in between.rounds.iter().enumerate() {
        let pair = |(a, b): (usize, usize)| {
            format!("({}, {})", between.name((0, a)), between.name((1, b)))
        };
        let range = |thread: usize, (first, last): (usize, usize)| {
            let (first, last) = (between.name((thread, first)), between.name((thread, last)));
            if first == last { first } else { format!("{first}…{last}") }
        };
        let added: Vec<String> = round.added.iter().map(|&added| pair(added)).collect();
        table.row(vec![
            (number + 1).to_string(),
            pair(round.pair),
            format!("{}, {}", range(0, round.chosen.first), range(1, round.chosen.second)),
            added.join(" "),
        ]);
    }
    let passes: Vec<String> = between
        .passes
        .iter()
        .map(|&(from, to)| format!("{}→{}", between.name(from), between.name(to)))
        .collect();
    format!(
        "threads {} and {}\n\n{}\n{}\n{} of {} pairs are left: {}\n",
        between.threads[0],
        between.threads[1],
        steps.render(screen.width, screen.paint),
        table.render(screen.width, screen.paint),
        grouped(between.passes.len() as u64),
        grouped(between.pairs() as u64),
        passes.join("  "),
    )
}
