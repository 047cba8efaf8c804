//! The share that the line of a running check shows beside the one that is done, at each tenth of the search, for every program of the corpus
//! with enough executions, as tables in Markdown: `cargo run --release -p selvedge-campaigns --bin shares -- 10000`, with the number of
//! random executions. The same number gives the same tables on every machine.

#![expect(clippy::print_stdout, reason = "tables for people")]

use selvedge_explore::{Algorithm, Memory};
use selvedge_testkit::shares::{Row, Searched, shares};

const SEARCHES: [(&str, Searched); 4] = [
    ("parsimonious", Searched::Traces(Algorithm::Parsimonious)),
    ("optimal", Searched::Traces(Algorithm::Optimal)),
    ("source", Searched::Traces(Algorithm::Source)),
    ("graph, rc11", Searched::Graphs(Memory::Rc11)),
];

fn main() {
    let samples = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    let mut sums = Vec::new();
    for (search, searched) in SEARCHES {
        println!(
            "| {search} | executions | 10 % | 20 % | 30 % | 40 % | 50 % | 60 % | 70 % | 80 % | 90 % |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|");
        let rows = shares(searched, samples, |_, _| true);
        for row in &rows {
            println!("{}", line(row));
        }
        println!();
        sums.push(sum(search, &rows));
    }
    println!(
        "{samples} random executions each; by how many percentage points the share that is shown is off:\n"
    );
    println!("| search | programs with constants | on average | at most | shown |");
    println!("|---|---|---|---|---|");
    sums.iter().for_each(|sum| println!("{sum}"));
}

fn line(row: &Row) -> String {
    let shown = row.shown.iter().map(|shown| match shown {
        Some(share) => format!("{:.0}", share * 100.0),
        None => "-".to_owned(),
    });
    format!("| {} | {} | {} |", row.name, row.total, shown.collect::<Vec<_>>().join(" | "))
}

fn sum(search: &str, rows: &[Row]) -> String {
    let errors: Vec<f64> = rows.iter().flat_map(Row::errors).map(f64::abs).collect();
    let mean = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let most = errors.iter().copied().fold(0.0, f64::max);
    let moments = rows.iter().map(|row| row.shown.len()).sum::<usize>();
    format!(
        "| {search} | {} | {:.1} | {:.0} | {} of {moments} |",
        rows.len(),
        mean * 100.0,
        most * 100.0,
        errors.len()
    )
}
