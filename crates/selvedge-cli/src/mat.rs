//! `selvedge mat`: the transactions of two threads, as a table and as a picture.

use selvedge_core::Budget;
use selvedge_report::{Align, Table, grouped};
use selvedge_symbolic::transactions::{Between, of_program};

use crate::args::MatArgs;
use crate::exit::{self, Exit, Failure};
use crate::screen::Screen;
use crate::source::Loaded;

/// Shows the run of GenMAT on a program of two threads.
pub(crate) fn run(args: &MatArgs, screen: &Screen) -> Result<Exit, Failure> {
    let loaded = Loaded::new(&args.program, screen)?;
    // Nothing that could be shown is found before the end: a signal ends it at once.
    let all =
        of_program(loaded.program(), args.unroll, &Budget::unlimited()).map_err(Failure::User)?;
    let mut out = String::new();
    for (i, between) in all.iter().enumerate() {
        if all.len() > 1 {
            out.push_str(&format!("ways {} of {}\n\n", i + 1, all.len()));
        }
        out.push_str(&text(between, screen));
        out.push('\n');
    }
    let printed = screen.print(&out);
    let mut drawn = Ok(());
    if let Some(path) = &args.svg {
        if all.len() > 1 {
            screen.warn("there are branches: the picture shows the first pair of ways");
        }
        let picture = all.first().map(Between::to_svg).unwrap_or_default();
        drawn = exit::write_file(path, "the picture", &picture);
    }
    exit::after(Exit::Good, [printed, drawn])
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
