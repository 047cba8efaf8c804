//! `selvedge bench`: what it counts is right. How long things take is no test.

use crate::common::Folder;
use serde_json::Value;

/// The counts of a quick run, by program and constant.
const EXPECTED: &[(&str, &str, i64, u64)] = &[
    ("readers", "N", 8, 256),
    ("readers", "N", 13, 8_192),
    ("lastzero", "N", 8, 704),
    ("lastzero", "N", 10, 3_328),
    ("filesystem", "N", 19, 64),
    ("writers", "N", 7, 5_040),
    ("counter", "T", 4, 2_520),
    ("philosophers", "N", 8, 255),
    ("alternate", "N", 4, 3_334),
    ("coupled-races", "N", 10, 20),
    ("dispatcher", "R", 3, 1_482),
    ("mpat", "K", 5, 3_840),
    ("mpc", "P", 2, 60),
    ("pi", "T", 7, 5_040),
    ("two-columns", "N", 8, 12_870),
];

/// One test, since one run is enough for all of it, and no other test waits for it.
#[test]
#[ignore = "a campaign, a whole run: scripts/campaigns"]
fn a_quick_run_counts_right() {
    let json = Folder::new().run("bench --quick --json --seconds 60").exits(0).json();
    rates_count_right(&json);
    growth_and_workers(&json);
    long_executions_and_goals(&json);
    every_field_is_documented(&json);
}

fn rates_count_right(json: &Value) {
    assert_eq!(json["command"], "bench");
    assert_eq!(json["quick"], true);
    assert_eq!(json["interrupted"], false);
    let rows = json["rate"].as_array().expect("an array");
    assert_eq!(rows.len(), EXPECTED.len());
    for (row, &(program, constant, value, classes)) in rows.iter().zip(EXPECTED) {
        assert_eq!(row["program"], program);
        assert_eq!(row["constants"][constant], value, "{row}");
        assert_eq!(row["classes"], classes, "{row}");
        for algorithm in ["source", "optimal", "quasi"] {
            assert_eq!(row[algorithm]["algorithm"], algorithm);
            assert_eq!(ended(&row[algorithm]), classes, "{row}");
            is_measured(&row[algorithm]);
        }
        assert_eq!(row["optimal"]["executions"]["redundant"], 0, "{row}");
        assert_eq!(row["quasi"]["executions"]["redundant"], 0, "{row}");
        for ratio in ["ratio", "quasi_ratio"] {
            assert!(row[ratio].as_f64().is_some_and(|ratio| ratio > 0.0), "{row}");
        }
    }
}

fn growth_and_workers(json: &Value) {
    let rows = json["scale"]["growth"].as_array().expect("an array");
    assert_eq!(rows.len(), 6);
    for row in rows {
        let measured = row["algorithms"].as_array().expect("an array");
        let names: Vec<&Value> = measured.iter().map(|it| &it["algorithm"]).collect();
        assert_eq!(names, ["parsimonious", "optimal", "quasi", "source"], "{row}");
        for it in measured {
            assert_eq!(ended(it), row["classes"], "{row}");
            is_measured(it);
        }
    }
    let rows = json["scale"]["workers"].as_array().expect("an array");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["classes"], 8_192);
    assert!(rows[0]["speed_up"].as_f64().is_some_and(|times| times > 0.0), "{rows:?}");
}

fn long_executions_and_goals(json: &Value) {
    let rows = json["growth"]["rows"].as_array().expect("an array");
    assert_eq!(rows.len(), 3);
    for (row, steps) in rows.iter().zip([10, 100, 1_000]) {
        assert_eq!(row["private_steps"], steps);
        assert_eq!(row["optimal"]["longest"], 2 * steps + 12);
        assert_eq!(ended(&row["optimal"]), 328);
        is_measured(&row["optimal"]);
    }
    let single = &json["growth"]["single"];
    assert_eq!(single["longest"], 100_000);
    assert_eq!(ended(single), 1);
    for row in json["symbolic"].as_array().expect("an array") {
        assert_ne!(row["verdict"], "inconclusive", "{row}");
    }
    let goals = json["goals"].as_array().expect("an array");
    let measured = goals.iter().filter(|goal| goal["met"].is_boolean());
    assert_eq!((goals.len(), measured.count()), (36, 16), "{goals:#?}");
}

fn every_field_is_documented(json: &Value) {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let mut json = json.clone();
    // The names of constants are those of the programs; the kinds of executions stand elsewhere.
    for table in ["rate", "observations", "tasks", "compiled"] {
        for row in json[table].as_array_mut().expect("an array") {
            row["constants"] = Value::Null;
        }
    }
    for field in crate::common::fields(&json) {
        let elsewhere = ["complete", "deadlocked", "blocked", "redundant", "cut"];
        let here = page.contains(&format!("`{field}`"));
        assert!(here || elsewhere.contains(&field.as_str()), "{field}");
    }
}

#[test]
#[ignore = "a campaign, a whole run: scripts/campaigns"]
fn tables() {
    let run = Folder::new().run("bench --quick").exits(0);
    let run = run.says("optimal/source").says("one execution of 100,000 steps: ");
    let run = run.says("not measured\n").says("\nlastzero N=10 ");
    let run = run.says("\nsymbolic checks\n").says("  scheme  ");
    assert!(!run.out.contains("\nlastzero N=15 "), "{}", run.out);
}

#[test]
fn what_takes_too_long_has_no_numbers() {
    let json = Folder::new().run("bench --quick --json --seconds 0.000001").exits(0).json();
    for row in json["rate"].as_array().expect("an array") {
        assert_eq!((&row["source"], &row["ratio"]), (&Value::Null, &Value::Null));
    }
    Folder::new().run("bench --seconds soon").exits(2).complains("500ms, 30s, 5m, 1h");
}

#[track_caller]
fn is_measured(measurement: &Value) {
    for field in ["seconds", "ns_per_execution", "peak_bytes", "longest"] {
        let number = measurement[field].as_f64();
        assert!(number.is_some_and(|number| number > 0.0), "{field} of {measurement}");
    }
    assert!(measurement["round_seconds"].as_array().is_some_and(|rounds| !rounds.is_empty()));
}

fn ended(measurement: &Value) -> u64 {
    let executions = &measurement["executions"];
    let kinds = ["complete", "deadlocked", "blocked"];
    kinds.iter().map(|kind| executions[kind].as_u64().expect("a number")).sum()
}

/// Two panels for each program, and a curve for each algorithm in each of them.
#[test]
fn growth_is_drawn() {
    let folder = Folder::new();
    folder.run("bench --quick --seconds 20ms --svg growth.svg").exits(0);
    let drawn = folder.read("growth.svg");
    for expected in ["readers: executions", "alternate: time", "data-centric", "GenMC 0.11, SC"] {
        assert!(drawn.contains(&format!(">{expected}</text>")), "no {expected} in\n{drawn}");
    }
    assert_eq!(drawn.matches("<polyline").count(), 4 * 2 * 7);
    assert!(!drawn.contains("NaN"));
    folder.run("bench --svg growth.svg --json").exits(2).complains("cannot be used with");
}

/// Each row of the papers' tables with the printed number and ours; the counts of the short ones are the papers'.
#[test]
fn rows_of_the_papers() {
    let json = Folder::new().run("bench --papers --quick --json --seconds 60").exits(0).json();
    let lines = json["lines"].as_array().expect("an array");
    let papers: std::collections::BTreeSet<&str> =
        lines.iter().filter_map(|line| line["paper"].as_str()).collect();
    assert_eq!(papers.len(), 5, "{papers:?}");
    let count = |benchmark: &str, here: &str| {
        let is_it = |line: &&Value| line["benchmark"] == benchmark && line["here"] == here;
        let line = lines.iter().find(is_it).unwrap_or_else(|| panic!("no {benchmark}, {here}"));
        line["measured"]["count"].as_str().unwrap_or("–").to_owned()
    };
    assert_eq!(count("readers(8)", "classic"), "256 + 3,025");
    assert_eq!(count("lastzero(5)", "optimal"), "64");
    assert_eq!(count("DISP(5,2)", "quasi"), "137");
    assert_eq!(count("MPC(2,5)", "quasi"), "60");
    assert_eq!(count("Alternate(4)", "data-centric"), "1,107");
    assert_eq!(count("Pi(7)", "constrained"), "1");
    assert_eq!(count("PS(4)", "constrained"), "1");
    assert_eq!(count("DBP(5)", "constrained"), "32");
    let run = Folder::new().run("bench --papers --quick --seconds 20ms").exits(0);
    run.says("printed as").says("Constrained DPOR: CAV 2018, Table 1");
    Folder::new().run("bench --long").exits(2).complains("--papers");
}
