//! The share that the line of a running check shows is near the one that is done, whatever comes first in the order of the search.

use selvedge_explore::{Algorithm, Memory};
use selvedge_testkit::shares::{Row, Searched, shares};

/// Programs with and without locks, in which the first subtrees of a search are the largest, the smallest, or as large as the others.
const PROGRAMS: [&str; 15] = [
    "actors/bounded-buffer.sel",
    "constrained/parallel-sort.sel",
    "data-centric/commits.sel",
    "data-centric/key-rotation.sel",
    "data-centric/pipeline.sel",
    "data-centric/three-cycle.sel",
    "data-centric/write-then-read.sel",
    "locks/philosophers.sel",
    "locks/racy-counter.sel",
    "optimal-dpor/alternate.sel",
    "quasi-optimal/mpat.sel",
    "textbook/multiprocessor/array-lock.sel",
    "textbook/semaphores/multiplex.sel",
    "textbook/semaphores/preloaded-barrier.sel",
    "textbook/semaphores/roller-coaster.sel",
];

/// Random executions of each: about as many as are run in passing.
const SAMPLES: u64 = 1_000;

fn check(searched: Searched, programs: usize, on_average: f64, at_most: f64) {
    let wanted = |name: &str, classes| PROGRAMS.contains(&name) && classes < 1_000;
    let rows = shares(searched, SAMPLES, wanted);
    assert!(rows.len() >= programs, "only {} programs", rows.len());
    let errors: Vec<f64> = rows.iter().flat_map(Row::errors).map(f64::abs).collect();
    let moments = rows.iter().map(|row| row.shown.len()).sum::<usize>();
    assert_eq!(errors.len(), moments, "a share is always shown: {rows:#?}");
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let most = errors.iter().copied().fold(0.0, f64::max);
    assert!(mean <= on_average, "{mean} on average: {rows:#?}");
    assert!(most <= at_most, "{most} at most: {rows:#?}");
}

#[test]
fn the_share_of_parsimonious_is_near() {
    check(Searched::Traces(Algorithm::Parsimonious), 15, 0.07, 0.5);
}

#[test]
fn the_share_of_optimal_is_near() {
    check(Searched::Traces(Algorithm::Optimal), 15, 0.07, 0.5);
}

/// Where most random graphs come to nothing, too few are left to say anything, and there is no row.
#[test]
fn the_share_of_graphs_is_near() {
    check(Searched::Graphs(Memory::Rc11), 7, 0.08, 0.4);
}
