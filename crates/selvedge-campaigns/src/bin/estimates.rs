//! How near `selvedge estimate` comes to the number of classes, for every program of the corpus, as a table in Markdown:
//! `cargo run --release -p selvedge-campaigns --bin estimates -- 1000`, with the number of random executions; with `slow` behind it also in
//! the settings that are too large for every day. The same number gives the same table on every machine.

#![expect(clippy::print_stdout, reason = "a table for people")]

use selvedge_testkit::estimates::{Row, estimates};
use selvedge_testkit::programs;

/// Sizes of programs, by their number of classes.
const SIZES: [(u64, u64); 4] = [(1, 9), (10, 99), (100, 999), (1_000, u64::MAX)];

fn main() {
    let samples = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let with_slow = std::env::args().nth(2).is_some_and(|text| text == "slow");
    let mut rows = estimates(&programs(), samples, with_slow);
    rows.sort_by(|one, other| one.ratio().unwrap_or(0.0).total_cmp(&other.ratio().unwrap_or(0.0)));
    println!("| program | constants | classes | estimate | low to high | ratio |");
    println!("|---|---|---|---|---|---|");
    for row in &rows {
        println!("{}", line(row));
    }
    println!("\n{samples} random executions each\n");
    println!(
        "| classes | programs with constants | within a factor 4 | in the range that is shown | no estimate |"
    );
    println!("|---|---|---|---|---|");
    for (least, most) in SIZES {
        let size = |row: &&Row| (least..=most).contains(&row.classes);
        let name = if most == u64::MAX {
            format!("{least} and more")
        } else {
            format!("{least} to {most}")
        };
        println!("{}", sum(&name, &rows.iter().filter(size).collect::<Vec<_>>()));
    }
    println!("{}", sum("all", &rows.iter().collect::<Vec<_>>()));
}

fn line(row: &Row) -> String {
    let Row { name, constants, classes, estimate } = row;
    let (estimate, range, ratio) = match estimate {
        None => ("none".to_owned(), String::new(), String::new()),
        Some(range) => (
            format!("{:.0}", range.estimate),
            format!("{:.0} to {:.0}", range.low, range.high),
            format!("{:.2}", range.estimate / *classes as f64),
        ),
    };
    format!("| {name} | {constants} | {classes} | {estimate} | {range} | {ratio} |")
}

fn sum(name: &str, rows: &[&Row]) -> String {
    let count = |is: fn(&Row) -> bool| rows.iter().filter(|row| is(row)).count();
    let (near, within) = (count(Row::is_near), count(Row::is_in_range));
    let none = count(|row| row.estimate.is_none());
    format!("| {name} | {} | {near} | {within} | {none} |", rows.len())
}
