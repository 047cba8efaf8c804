//! A program that uses orderings weaker than `seq_cst` is explored twice: loads see the last store first, and if nothing is
//! wrong then, all values that the memory model of C11 and C++ allows.
//!
//! The first search is the faster one, and supports every operation. The verdict is about both: where the second one ends early, it
//! is inconclusive. `--sequentially-consistent` leaves the second one out, and `--memory` the first.

use std::time::Duration;

use selvedge_core::{Report, Verdict};
use selvedge_explore::{Memory, Options};
use selvedge_report::{Tree, plural};

use super::program::{Compiled, ORDERINGS};
use super::weak::Weak;
use crate::check::Search;
use crate::exit::{Exit, Failure};
use crate::method::Method;
use crate::progress::Watch;
use crate::screen::Screen;
use crate::so_far;
use crate::weak::Found;

/// Searches, and once more under a memory model if that can matter; shows the result. `before`: how long the first search took
/// before it was interrupted.
pub(super) fn run(
    search: &Search<'_, Compiled>,
    options: &Options,
    before: Duration,
    screen: &Screen,
    first: impl FnOnce(&mut Watch) -> Result<(Report, Option<Tree>), Failure>,
) -> Result<Exit, Failure> {
    let mut watch = search.watch(options);
    let searched = first(&mut watch);
    let time = before + watch.finish();
    let (mut report, tree) = searched?;
    so_far::publish(&report);
    if !is_open_to_more(search, options, &report) {
        return search.conclude(report, tree, time, screen);
    }
    let weak = Weak { loaded: search.loaded, memory: Memory::Rc11 };
    let options = of_second(options);
    let mut watch = weak.watch(search.args, &options);
    let found = weak.explore(&options, search.args.wants_tree(), &mut watch);
    let time = time + watch.finish();
    let second = found?;
    if second.report.verdict() == Verdict::Violated {
        return show_violation(&weak, search, second, &report, time, screen);
    }
    let also = add_second(&mut report, second.report);
    search.conclude_with(report, tree, time, &also, screen)
}

/// Whether nothing is wrong so far, and loads of older values may show something.
fn is_open_to_more(search: &Search<'_, Compiled>, options: &Options, first: &Report) -> bool {
    let limits = &options.limits;
    search.races
        && !search.args.sequentially_consistent
        && matches!(search.method, Method::Explore(..))
        && limits.preemptions.is_none()
        && limits.context_switches.is_none()
        && search.loaded.program.is_weak()
        && first.verdict() == Verdict::Verified
}

fn of_second(options: &Options) -> Options {
    Options {
        budget: options.budget.clone(),
        keep_going: options.keep_going,
        data_races: true,
        limits: options.limits.clone(),
        ..Options::default()
    }
}

/// Adds what came of the second search, which found nothing wrong. Returns what a proof says about it.
fn add_second(report: &mut Report, second: Report) -> String {
    report.facts.retain(|fact| fact.name != ORDERINGS);
    let executions = plural(second.counts.maximal(), "execution", "executions");
    let text = match second.verdict() {
        Verdict::Inconclusive => format!(
            "loads see the last store; under rc11, where they may see older ones, {executions} were explored, and not all"
        ),
        _ => "loads see the last store first, and then all values that rc11 allows".to_owned(),
    };
    report.fact(ORDERINGS, text);
    for doubt in second.inconclusive {
        report.note(doubt);
    }
    format!(", and in {executions} under rc11")
}

/// Shows what only the second search found.
fn show_violation(
    weak: &Weak<'_>,
    search: &Search<'_, Compiled>,
    mut second: Found,
    first: &Report,
    time: Duration,
    screen: &Screen,
) -> Result<Exit, Failure> {
    let executions = plural(first.counts.maximal(), "execution", "executions");
    let text = format!("no violation in {executions} in which loads see the last store");
    second.report.fact(ORDERINGS, text);
    so_far::publish(&second.report);
    weak.show(second, search.args, time, screen)
}
