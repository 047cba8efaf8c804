//! `selvedge estimate`: how many executions a check will have.

use std::time::{Duration, Instant};

use selvedge_core::{GraphSystem, System};
use selvedge_explore::{Estimate, Memory, Options, Range, Sampled};
use selvedge_report::{grouped, plural, seconds};
use serde::Serialize;

use crate::args::EstimateArgs;
use crate::exit::{Exit, Failure};
use crate::screen::Screen;
use crate::source::Loaded;

/// How long a check that runs on a terminal is interrupted for an estimate.
const IN_PASSING: Duration = Duration::from_millis(200);

/// Estimates how many executions an optimal search has, when it is called.
pub(crate) type Estimator = Box<dyn FnOnce() -> Option<Sampled>>;

/// Estimates while a search is running.
pub(crate) fn in_passing<S: System>(make: &dyn Fn() -> S, options: &Options) -> Option<Sampled> {
    let end = Instant::now() + IN_PASSING;
    let mut go_on = |sampled: u64| sampled == 0 || Instant::now() < end;
    let found = selvedge_explore::estimate(make, options, 0, &mut go_on);
    Some(Sampled::new(found.traces?, found.drawn))
}

/// The same, of executions under a memory model.
pub(crate) fn graphs_in_passing<S: GraphSystem>(
    system: &mut S,
    memory: Memory,
    options: &Options,
) -> Option<Sampled> {
    let end = Instant::now() + IN_PASSING;
    let mut go_on = |sampled: u64| sampled == 0 || Instant::now() < end;
    let found = selvedge_explore::estimate_graphs(system, memory, options, 0, &mut go_on);
    found.filter(Sampled::is_telling)
}

#[derive(Serialize)]
struct EstimateJson<'a> {
    version: &'a str,
    command: &'a str,
    file: &'a str,
    sampled: u64,
    seed: u64,
    steps: f64,
    estimate: Option<RangeJson>,
}

#[derive(Serialize)]
struct RangeJson {
    total: f64,
    low: f64,
    high: f64,
    from: &'static str,
}

/// Estimates, and shows the result.
pub(crate) fn run(args: &EstimateArgs, screen: &Screen) -> Result<Exit, Failure> {
    let loaded = Loaded::new(&args.program, screen)?;
    let guard = args.guard();
    let limits = args.limits();
    let options = Options { budget: guard.budget().clone(), limits, ..Options::default() };
    let started = Instant::now();
    let end = started + args.time;
    let mut go_on = |sampled: u64| match args.samples {
        Some(samples) => sampled < samples,
        // One at least, also on a machine that is busy.
        None => sampled == 0 || Instant::now() < end,
    };
    let make = || loaded.system();
    let found = selvedge_explore::estimate(&make, &options, args.seed, &mut go_on);
    let time = started.elapsed();
    let exit = if found.traces.is_some() { Exit::Good } else { Exit::Inconclusive };
    if args.json {
        let json = EstimateJson {
            version: env!("CARGO_PKG_VERSION"),
            command: "estimate",
            file: &loaded.file,
            sampled: found.sampled,
            seed: args.seed,
            steps: found.steps,
            estimate: found.traces.map(|Range { estimate, low, high }| RangeJson {
                total: estimate,
                low,
                high,
                from: "random runs",
            }),
        };
        screen.print(&selvedge_report::to_text(&json))?;
        return Ok(exit);
    }
    screen.print(&format!(
        "{}\n  sample     {} in {}, --seed {}\n",
        sentence(&found),
        plural(found.sampled, "random execution", "random executions"),
        seconds(time),
        args.seed,
    ))?;
    Ok(exit)
}

fn sentence(found: &Estimate) -> String {
    match found.traces {
        Some(range) => format!("{} executions, one per class", magnitude(range)),
        None => "no estimate: executions are too long, or too many are equivalent to one of them to count them\n  \
                 watch the share in the progress line of `selvedge check`"
            .to_owned(),
    }
}

/// Returns an order of magnitude with its range: `about 1,000 to 10,000`, `about 10^7`, `fewer than 10`.
pub(crate) fn magnitude(range: Range) -> String {
    let (low, high) = (range.low.log10().floor() as i32, range.high.log10().ceil() as i32);
    match (low, high) {
        (_, ..=1) => "fewer than 10".to_owned(),
        _ if low == high => format!("about {}", power(low)),
        _ => format!("about {} to {}", power(low), power(high)),
    }
}

fn power(exponent: i32) -> String {
    match exponent {
        0..=6 => grouped(10_u64.pow(exponent as u32)),
        _ => format!("10^{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_an_order_of_magnitude() {
        let text = |low, high| magnitude(Range { estimate: low, low, high });
        assert_eq!(text(1.0, 1.0), "fewer than 10");
        assert_eq!(text(1.0, 9.0), "fewer than 10");
        assert_eq!(text(900.0, 1_100.0), "about 100 to 10,000");
        assert_eq!(text(1_500.0, 3_000.0), "about 1,000 to 10,000");
        assert_eq!(text(3e8, 2e11), "about 10^8 to 10^12");
        assert_eq!(text(1e9, 1e9), "about 10^9");
    }
}
