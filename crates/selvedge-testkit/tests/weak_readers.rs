//! Reader-writer locks under memory models: readers are not ordered with each other.

use std::sync::Arc;

use selvedge_core::Inconclusive;
use selvedge_explore::{
    Caps, Finding, GraphReport, Limits, Memory, Options, Silent, explore_graphs,
};
use selvedge_lang::{GraphInterpreter, compile};

fn explored(text: &str, memory: Memory) -> GraphReport {
    let compiled = compile("readers", text, &[]).expect("it compiles");
    let mut system =
        GraphInterpreter::new(Arc::clone(&compiled.program)).expect("it has a meaning");
    let limits = Limits { executions: None, ..Limits::default() };
    let options = Options { keep_going: true, limits, data_races: true, ..Options::default() };
    let report = explore_graphs(&mut system, memory, &options, &mut Silent);
    assert!(report.inconclusive.is_empty(), "{:?}", report.inconclusive);
    report
}

/// Each reader comes before the writer or after it, and sees what that means: 2^n, and nothing is a data race.
#[test]
fn readers_of_one_writer() {
    for readers in 1..=8 {
        let text = format!(
            "rwlock rw; shared x = 0;
             thread writer {{ write_lock rw {{ x = 1; }} }}
             thread reader(i in 0..{readers}) {{ read_lock rw {{ let seen = x; }} }}"
        );
        for &memory in Memory::ALL {
            let report = explored(&text, memory);
            assert_eq!(report.counts.complete, 1 << readers, "{memory:?}, {readers}");
            assert_eq!(report.counts.deadlocked + report.counts.blocked, 0);
            assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
    }
}

/// The writer may also come first in the order of threads, or last.
#[test]
fn readers_before_the_writer() {
    for readers in 1..=6 {
        let text = format!(
            "rwlock rw; shared x = 0;
             thread reader(i in 0..{readers}) {{ read_lock rw {{ let seen = x; }} }}
             thread writer {{ write_lock rw {{ x = 1; }} }}"
        );
        assert_eq!(explored(&text, Memory::Sc).counts.complete, 1 << readers, "{readers}");
    }
}

/// Two writers are in order, and each reader is before, between or after them: 2 · 3^n.
#[test]
fn readers_of_two_writers() {
    for readers in 1..=4 {
        let text = format!(
            "rwlock rw; shared x = 0;
             thread writer(j in 0..2) {{ write_lock rw {{ x = j; }} }}
             thread reader(i in 0..{readers}) {{ read_lock rw {{ let seen = x; }} }}"
        );
        for &memory in Memory::ALL {
            let report = explored(&text, memory);
            assert_eq!(report.counts.complete, 2 * 3u64.pow(readers), "{memory:?}, {readers}");
            assert!(report.findings.is_empty(), "{:?}", report.findings);
        }
    }
}

/// A writer that waits for a reader which waits for the writer.
#[test]
fn a_reader_that_does_not_give_up() {
    let text = "rwlock rw; semaphore s = 0;
                thread reader { read_lock rw { down(s); } }
                thread writer { write_lock rw { up(s); } }";
    for &memory in Memory::ALL {
        let counts = explored(text, memory).counts;
        assert_eq!((counts.complete, counts.deadlocked), (1, 1), "{memory:?}");
    }
}

/// What one reader gives up is not what another one takes: it orders nothing between them.
#[test]
fn readers_race_with_each_other() {
    let text = "rwlock rw; shared x = 0;
                thread first { read_lock rw { x = 1; } }
                thread second { read_lock rw { let seen = x; } }";
    for &memory in Memory::ALL {
        let is_race = |(finding, _): &(Finding, _)| matches!(finding, Finding::DataRace(..));
        assert!(explored(text, memory).findings.iter().any(is_race), "{memory:?}");
    }
}

/// More readers at a time than fit in a set: the explorer gives up, and says so.
#[test]
fn too_many_readers_at_a_time() {
    let text = "rwlock rw; shared x = 0; thread writer { write_lock rw { x = 1; } }
         thread reader(i in 0..3) { read_lock rw { let seen = x; } }";
    let compiled = compile("readers", text, &[]).expect("it compiles");
    for (sharers, is_enough) in [(1, false), (2, false), (3, true)] {
        let caps = Caps { sharers, ..Caps::default() };
        let options = Options { caps, ..Options::default() };
        let mut system =
            GraphInterpreter::new(Arc::clone(&compiled.program)).expect("it has a meaning");
        let report = explore_graphs(&mut system, Memory::Rc11, &options, &mut Silent);
        let reason = format!("more than {sharers} threads share a lock at a time");
        let expected = if is_enough { vec![] } else { vec![Inconclusive::GaveUp(reason)] };
        assert_eq!(report.inconclusive.into_iter().collect::<Vec<_>>(), expected);
    }
}

/// A read of a reader's section is shown a write of another one: the reader in between is taken out and comes again, later than
/// one of a higher thread. It is still the only time that this graph is met.
#[test]
fn readers_that_come_again() {
    let text = "rwlock rw; shared atomic x = 0;
                thread writer { write_lock rw; }
                thread first { read_lock rw; let seen = load(x, relaxed); }
                thread second { read_lock rw; }
                thread third { read_lock rw; store(x, 1, relaxed); }";
    for &memory in Memory::ALL {
        let counts = explored(text, memory).counts;
        assert_eq!((counts.complete, counts.deadlocked), (0, 3), "{memory:?}");
    }
}
