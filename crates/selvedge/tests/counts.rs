//! One execution per class: exact counts of programs that other tools were measured on.

use crate::common::{
    buffer, executions, fetch_add, lastzero, mutex_counter, outcomes_with, producers, readers,
    ring, rounds, stores, treiber,
};
use selvedge::{Algorithm, Builder, Verdict};

#[test]
fn stores_come_in_every_order() {
    assert_eq!(executions(|| stores(3)), 6);
    assert_eq!(executions(|| stores(4)), 24);
    assert_eq!(executions(|| stores(5)), 120);
    assert_eq!(executions(|| stores(8)), 40_320);
}

#[test]
fn readers_do_not_wait_for_each_other() {
    for n in [1, 2, 3, 4, 8, 10] {
        assert_eq!(executions(move || readers(n)), 1 << n);
    }
}

#[test]
fn lastzero_counts() {
    assert_eq!(executions(|| lastzero(3)), 12);
    assert_eq!(executions(|| lastzero(4)), 28);
    assert_eq!(executions(|| lastzero(8)), 704);
    assert_eq!(executions(|| lastzero(10)), 3_328);
}

#[test]
fn a_mutex_is_taken_in_every_order() {
    assert_eq!(executions(|| mutex_counter(3)), 6);
    assert_eq!(executions(|| mutex_counter(4)), 24);
    assert_eq!(executions(|| mutex_counter(5)), 120);
}

#[test]
fn rounds_of_writing_and_reading() {
    assert_eq!(executions(|| rounds(5)), 34_904);
    // By what each read observes there are fewer.
    let builder = Builder::new().algorithm(Algorithm::DataCentric).data_races(false);
    assert_eq!(outcomes_with(&builder, || rounds(5)).1, 8_953);
    // It proves nothing about data races, and so must not be asked to.
    let asked = Builder::new().algorithm(Algorithm::DataCentric).explore(|| rounds(1));
    assert_eq!(asked.verdict(), Verdict::Inconclusive);
}

#[test]
fn additions_come_in_every_order() {
    assert_eq!(executions(|| fetch_add(4)), 24);
    assert_eq!(executions(|| fetch_add(8)), 40_320);
}

#[test]
fn messages_of_two_producers_interleave() {
    assert_eq!(executions(|| producers(2)), 6);
    assert_eq!(executions(|| producers(4)), 70);
    assert_eq!(executions(|| producers(6)), 924);
    assert_eq!(executions(|| producers(8)), 12_870);
}

/// A tool that takes a compare-exchange that fails for a write sees 62 for two threads. Here it is a
/// read, and two reads commute: 40. `models.rs` counts them with brute force.
#[test]
fn a_stack_of_two_and_three_threads() {
    assert_eq!(executions(|| treiber(2)), 40);
    assert_eq!(executions(|| treiber(3)), 25_680);
}

#[test]
fn a_ring_of_two_threads() {
    assert_eq!(executions(|| ring(2)), 9);
    assert_eq!(executions(|| ring(3)), 44);
    assert_eq!(executions(|| ring(4)), 225);
    assert_eq!(executions(|| ring(5)), 1_182);
}

#[test]
fn a_buffer_with_a_condition() {
    assert_eq!(executions(|| buffer(1)), 2);
    assert_eq!(executions(|| buffer(2)), 12);
    assert_eq!(executions(|| buffer(3)), 88);
    assert_eq!(executions(|| buffer(4)), 692);
}
