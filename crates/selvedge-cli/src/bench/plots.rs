//! `selvedge bench --svg`: how executions and time grow with the size of a program, one curve per algorithm.

use std::path::Path;
use std::time::Duration;

use selvedge_explore::Algorithm;
use selvedge_report::{Curve, Panel, Plot, Unit};

use super::measure::{Effort, median, run_once};
use super::programs::{Family, PLOTTED};
use crate::args::BenchArgs;
use crate::exit::{self, Exit, Failure};
use crate::guard;
use crate::screen::Screen;

/// From the fewest reductions to the most. Where curves lie on each other the first is drawn the widest.
const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::Sleep,
    Algorithm::Classic,
    Algorithm::Source,
    Algorithm::Optimal,
    Algorithm::Parsimonious,
    Algorithm::Quasi,
    Algorithm::DataCentric,
];
/// A short search is repeated, up to this time and so often.
const ENOUGH: Duration = Duration::from_millis(60);
const MOST_RUNS: usize = 9;
/// Of a search, in a quick run.
const QUICK: Duration = Duration::from_millis(500);

/// Measures, and writes the plot to a file; `-` is standard output.
pub(super) fn run(file: &Path, args: &BenchArgs, screen: &Screen) -> Result<Exit, Failure> {
    let limit = if args.quick { args.seconds.min(QUICK) } else { args.seconds };
    let effort = Effort::new(args.quick, limit);
    let mut panels = Vec::new();
    for family in PLOTTED {
        panels.extend(measure(family, &effort, screen)?);
    }
    let interrupted = guard::is_interrupted();
    let seconds = limit.as_secs_f64();
    let version = env!("CARGO_PKG_VERSION");
    let notes = vec![
        format!("selvedge {version}. A curve ends where a search takes more than {seconds} s."),
        "Nidhugg and GenMC: the same programs in C, start-up included; measured in another run, November 2026."
            .to_owned(),
    ];
    let size = "N".to_owned();
    let title = "Growth over N: executions of all kinds, and time".to_owned();
    let drawn = selvedge_report::plot(&Plot { title, notes, size, panels });
    match file == Path::new("-") {
        true => screen.print(&drawn)?,
        false => exit::write_file(file, "the plot", &drawn)?,
    }
    if interrupted {
        screen.warn("interrupted: the curves end early");
        return Ok(Exit::Inconclusive);
    }
    Ok(Exit::Good)
}

/// Returns two panels: executions and time.
fn measure(family: &Family, effort: &Effort, screen: &Screen) -> Result<[Panel; 2], Failure> {
    let curve = |algorithm: &Algorithm| Curve {
        name: algorithm.info().name.to_owned(),
        values: Vec::new(),
    };
    let empty: Vec<Curve> = ALGORITHMS.iter().map(curve).collect();
    let (mut executions, mut times) = (empty.clone(), empty);
    let mut is_over = [false; ALGORITHMS.len()];
    for &size in family.sizes {
        let loaded = family.load(size, screen)?;
        for (index, &algorithm) in ALGORITHMS.iter().enumerate() {
            let mut runs = Vec::new();
            let mut spent = Duration::ZERO;
            while !is_over[index]
                && runs.len() < MOST_RUNS
                && (runs.is_empty() || spent < ENOUGH.min(effort.limit))
            {
                let label = format!("{} N={size}, {}", family.program, algorithm.info().name);
                match run_once(&loaded, algorithm, effort, &label) {
                    Some((report, time)) if report.counts.cut == 0 => {
                        spent += time;
                        if runs.is_empty() {
                            executions[index].values.push((size, report.counts.total() as f64));
                        }
                        runs.push(time.as_secs_f64());
                    }
                    // Larger sizes take longer.
                    _ => is_over[index] = true,
                }
            }
            if !runs.is_empty() {
                times[index].values.push((size, median(runs)));
            }
        }
    }
    let peers = family
        .peers
        .iter()
        .map(|peer| Curve { name: peer.name.to_owned(), values: peer.seconds.to_vec() });
    let title = |what: &str| format!("{}: {what}", family.program);
    let panel = |what, unit, curves, points| Panel { title: title(what), unit, curves, points };
    Ok([
        panel("executions", Unit::Count, executions, Vec::new()),
        panel("time", Unit::Seconds, times, peers.collect()),
    ])
}
