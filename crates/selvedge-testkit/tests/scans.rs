//! `await scan c;` can do what `while !c { }` can do, no more and no less: on random programs, with the loop explored by
//! `states`, which decides endless executions. And bugs that `await c;` hides are found by every algorithm.

use std::collections::BTreeSet;
use std::fmt::Write;

use selvedge_core::{Verdict, ViolationKind};
use selvedge_explore::{Algorithm, Options, Silent};
use selvedge_testkit::{Profile, Random, Sketch, Subject, generate, least, seeds, shrink};

/// Larger programs are left out.
const MOST_STATES: usize = 20_000;

/// The program without conditions of its own, and a `finally` block that fails on a line for each pair of final values.
fn text(sketch: &Sketch) -> String {
    let mut text = Sketch { finally: None, always: None, ..sketch.clone() }.to_string();
    text.push_str("\nfinally {\n");
    // Only what is used is declared.
    let is_declared = |name: &&str| text.contains(&format!("shared {name} ="));
    let names: Vec<&str> = ["x0", "x1"].into_iter().filter(is_declared).collect();
    for values in (-2..4).flat_map(|x| (-2..4).map(move |y| [x, y])) {
        let parts = names.iter().zip(values).map(|(name, value)| format!("{name} == {value}"));
        let parts: Vec<String> = parts.chain(["true".to_owned()]).collect();
        writeln!(text, "    if {} {{ assert false; }}", parts.join(" && ")).expect("a string");
    }
    text.push_str("    assert false;\n}\n");
    text
}

/// With a loop in place of each scan, on the same line.
fn spinning(text: &str) -> String {
    let line = |line: &str| match line.split_once("await scan ") {
        Some((before, rest)) => {
            let condition = rest.strip_suffix(';').expect("a statement ends");
            format!("{before}while !({condition}) {{ }}")
        }
        None => line.to_owned(),
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

/// What can go wrong and on which line, and so with which values it can end. That a thread waits forever is a deadlock of
/// one and an endless execution of the other.
fn found(text: &str) -> Option<BTreeSet<(ViolationKind, u32)>> {
    let subject = Subject::new("random.sel", text, &[]);
    let subject = subject.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    subject.search_states(MOST_STATES)?;
    let options = Options { keep_going: true, ..Options::default() };
    let report = subject.explore(Algorithm::States, &options, &mut Silent);
    let report = report.unwrap_or_else(|message| panic!("{message}"));
    assert!(report.inconclusive.is_empty(), "{:?}", report.inconclusive);
    let violations = report.violations.iter().map(|(violation, _)| violation);
    let violations = violations.filter(|violation| violation.kind != ViolationKind::Deadlock);
    Some(violations.map(|violation| (violation.kind, violation.places[0].line)).collect())
}

fn check(sketch: &Sketch) -> Result<bool, String> {
    let text = text(sketch);
    if !text.contains("await scan") {
        return Ok(false);
    }
    let (Some(scans), Some(spins)) = (found(&text), found(&spinning(&text))) else {
        return Ok(false);
    };
    match scans == spins {
        true => Ok(true),
        false => Err(format!("scans {scans:?}\nspins {spins:?}")),
    }
}

#[test]
fn a_scan_does_what_a_loop_does() {
    let profile = Profile::scans();
    let mut compared = 0;
    for seed in seeds(1_000) {
        let sketch = generate(&profile, seed);
        match check(&sketch) {
            Ok(is_compared) => compared += u32::from(is_compared),
            Err(_) => {
                let small = shrink(sketch, &mut |sketch| check(sketch).is_err());
                let error = check(&small).expect_err("it still fails");
                panic!("seed {seed}: {error}\n{small}");
            }
        }
    }
    assert!(compared >= least(120), "only {compared} programs were compared");
}

/// A writer and a reader of two variables, where what was read first changes before the second is read.
#[test]
fn a_writer_and_a_reader() {
    let mut random = Random::new(5);
    for _ in 0..300 {
        let mut writes = String::new();
        for _ in 0..random.within(&(2..=5)) {
            let [v, w] = [(); 2].map(|()| random.below(2));
            writes.push_str(&match random.below(3) {
                0 => format!("x = {v}; "),
                1 => format!("y = {v}; "),
                _ => format!("atomic {{ x = {v}; y = {w}; }} "),
            });
        }
        let [a, b] = [(); 2].map(|()| random.below(2));
        let mut text = format!(
            "shared x = 0; shared y = 0; shared seen = -1;\nthread t {{ {writes}}}\nthread u {{\n    \
             await scan x == {a} && y == {b};\n    atomic {{ seen = 2 * x + y; }}\n}}\nfinally {{\n"
        );
        for seen in 0..4 {
            writeln!(text, "    if seen == {seen} {{ assert false; }}").expect("a string");
        }
        text.push_str("}\n");
        let (scans, spins) = (found(&text), found(&spinning(&text)));
        assert!(scans.is_some() && scans == spins, "scans {scans:?}\nspins {spins:?}\n{text}");
    }
}

/// A thread reads two variables while another one exchanges them.
#[test]
fn what_await_hides() {
    let text = "shared x = 1; shared y = 0; shared torn = false;
        thread t { atomic { x = 0; y = 1; torn = true; } atomic { x = 1; torn = false; } }
        thread u { await scan x == 1 && y == 1; assert !torn; }";
    let verdicts = |text: &str| {
        let subject = Subject::new("torn.sel", text, &[]).expect("it compiles");
        let verdict = |&algorithm: &Algorithm| {
            let report = subject.explore(algorithm, &Options::default(), &mut Silent);
            report.expect("it does not panic").verdict()
        };
        Algorithm::ALL.iter().map(verdict).collect::<Vec<_>>()
    };
    assert!(verdicts(text).iter().all(|&verdict| verdict == Verdict::Violated));
    let at_once = text.replace("scan ", "");
    assert!(verdicts(&at_once).iter().all(|&verdict| verdict == Verdict::Verified));
}
