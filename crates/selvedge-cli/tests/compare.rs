//! `selvedge compare`: all algorithms, one table.

use crate::common::{Folder, LARGE, LOCKED, LOST};
use selvedge_explore::Algorithm;

#[test]
fn every_algorithm_has_a_row() {
    let run = Folder::with("locked.sel", LOCKED).run("compare locked.sel").exits(0);
    for algorithm in Algorithm::ALL {
        let info = algorithm.info();
        let row = run.out.lines().find(|line| line.starts_with(&format!("{} ", info.name)));
        let row = row.unwrap_or_else(|| panic!("no row for {}:\n{}", info.name, run.out));
        assert!(row.contains("verified") && row.contains(info.equivalence.name()), "{row}");
    }
}

#[test]
fn a_violation_is_shown() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("compare lost.sel --const N=3 --algorithms source,optimal").exits(1);
    let run = run.says("lost.sel with N = 3\n").says("violated: assertion");
    let run = run.says("show it: selvedge check lost.sel --const N=3\n");
    assert!(!run.out.contains("\noracle"), "{}", run.out);
}

/// `constrained` relies on what is declared: if that is wrong, the tool is not.
#[test]
fn a_wrong_declaration_is_the_users() {
    let text = "shared x = 0; atomic proc p(v: int) { x = v; } independent(p(a), p(b)); \
                thread t(i in 0..2) { p(i + 1); } finally { assert x != 1; }";
    let folder = Folder::with("wrong.sel", text);
    let run = folder.run("compare wrong.sel").exits(2);
    let run = run.complains("says verified after 1 class,").complains("does not hold; to find it");
    assert!(!run.err.contains("internal error"), "{}", run.err);
    let checked = "check wrong.sel --algorithm constrained --check-constraints";
    folder.run(checked).exits(1).says("is wrong");
}

/// What only `states` decides is a doubt to all others, however they look at the program.
#[test]
fn promises_are_doubts_to_others() {
    let text = "shared x = 0; eventually x == 1; thread t { skip; }";
    let folder = Folder::with("never.sel", text);
    folder.run("check never.sel").exits(1);
    for options in ["--observers", "--algorithm quasi --locks-only", "--algorithm optimal"] {
        let run = folder.run(&format!("check never.sel {options}")).exits(3);
        run.says("--algorithm states");
    }
    folder.run("compare never.sel --observers").exits(1);
}

#[test]
fn numbers_that_are_lower_bounds_say_so() {
    let folder = Folder::with("large.sel", LARGE);
    let run = folder.run("compare large.sel --algorithms optimal --time 200ms").exits(3);
    run.says("optimal    ≥ ").says("inconclusive").says("--time 1s");
}

#[test]
fn quasi_runs_once_for_each_k() {
    let folder = Folder::with("locked.sel", LOCKED);
    let command = "compare locked.sel --algorithms source,quasi --k 1,2,optimal";
    let run = folder.run(command).exits(0);
    for name in ["source ", "quasi --k 1 ", "quasi --k 2 ", "quasi "] {
        let rows = run.out.lines().filter(|line| line.starts_with(name)).count();
        assert_eq!(rows, if name == "quasi " { 3 } else { 1 }, "{name}\n{}", run.out);
    }
    let json = folder.run(&format!("{command} --json")).exits(0).json();
    let ks = json["algorithms"].as_array().expect("an array").iter().map(|row| row["k"].as_u64());
    assert_eq!(ks.collect::<Vec<_>>(), [None, Some(1), Some(2), None]);
    let run = folder.run("compare locked.sel --algorithms source --k 1").exits(2);
    run.complains("--k only applies to `quasi`").complains("add it to --algorithms");
}

#[test]
fn json() {
    let folder = Folder::with("locked.sel", LOCKED);
    let json = folder.run("compare locked.sel --json").exits(0).json();
    assert_eq!(json["agree"], true);
    let rows = json["algorithms"].as_array().expect("an array");
    assert_eq!(rows.len(), Algorithm::ALL.len());
    for row in rows {
        assert_eq!(row["verdict"], "verified");
        assert_eq!(row["exhausted"], true);
        assert!(row["peak_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{row}");
    }
    let optimal = rows.iter().find(|row| row["algorithm"] == "optimal").expect("a row");
    assert_eq!(optimal["executions"]["complete"], 2);
    assert_eq!(optimal["executions"]["redundant"], 0);
}
