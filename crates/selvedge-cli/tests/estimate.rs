//! `selvedge estimate`: within a factor of 4 of the truth on nine of ten programs, and never shown as more exact than it is.

use std::path::Path;

use crate::common::{Folder, LOST, SPIN};

/// Programs whose counts are known: with the fewest and with many threads, locks, choices, messages, deadlocks.
const PROGRAMS: &[(&str, &str)] = &[
    ("optimal-dpor/lastzero.sel", "--const N=7"),
    ("optimal-dpor/readers.sel", "--const N=6"),
    ("optimal-dpor/alternate.sel", "--const N=4"),
    ("optimal-dpor/indexer.sel", "--const N=13"),
    ("optimal-dpor/writers.sel", "--const N=5"),
    ("data-centric/sieve.sel", "--const N=5"),
    ("data-centric/key-rotation.sel", ""),
    ("quasi-optimal/mpat.sel", "--const K=3"),
    ("locks/philosophers.sel", ""),
    ("locks/condition-buffer.sel", ""),
    ("message-passing/server.sel", ""),
    ("features/choose.sel", ""),
    ("bank.sel", ""),
];

/// Random executions of each: what a release build runs in a fraction of 0.2 s.
const SAMPLES: u64 = 200;

#[test]
fn estimates_are_of_the_right_magnitude() {
    let folder = Folder::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let (mut near, mut within) = (0, 0);
    let mut all = String::new();
    for (name, options) in PROGRAMS {
        let file = name.replace('/', "-");
        folder.write(&file, &std::fs::read(source.join(name)).expect("a program can be read"));
        let check = format!("check {file} {options} -a parsimonious --keep-going --json");
        let counts = folder.run(&check).json()["executions"].clone();
        let count = |kind: &str| counts[kind].as_f64().expect("a number");
        let truth = count("complete") + count("deadlocked") + count("blocked");
        let estimate = format!("estimate {file} {options} --samples {SAMPLES} --json");
        let found = folder.run(&estimate).exits(0).json();
        assert_eq!(found["sampled"], SAMPLES);
        let number = |field: &str| found["estimate"][field].as_f64().expect("a number");
        let factor = number("total") / truth;
        near += usize::from((0.25..=4.0).contains(&factor));
        // As it is shown.
        let power = |exponent: f64| 10_f64.powf(exponent);
        let (low, high) = (number("low").log10().floor(), number("high").log10().ceil());
        within += usize::from((power(low)..=power(high)).contains(&truth));
        all.push_str(&format!("{name} {options}: {truth}, {}\n", number("total")));
    }
    assert!(near * 10 >= PROGRAMS.len() * 9, "{near} of {} are near:\n{all}", PROGRAMS.len());
    assert!(within * 10 >= PROGRAMS.len() * 9, "{within} are within their range:\n{all}");
}

#[test]
fn the_same_seed_gives_the_same_estimate() {
    let folder = Folder::with("lost.sel", LOST);
    let run =
        |options: &str| folder.run(&format!("estimate lost.sel --const N=4 {options}")).exits(0);
    let once = run("--samples 50 --json");
    assert_eq!(once.out, run("--samples 50 --json --seed 0").out);
    assert_ne!(once.out, run("--samples 50 --json --seed 1").out);
    run("--samples 200")
        .says("about ")
        .says(" executions, one per class")
        .says("200 random executions in");
    run("").says("random execution");
}

#[test]
fn what_cannot_be_estimated_is_said() {
    let folder = Folder::with("spin.sel", SPIN);
    folder
        .run("estimate spin.sel --max-steps 3 --samples 50")
        .exits(3)
        .says("no estimate: executions are too long");
    folder.write("x.c", b"int main(void) { return 0; }\n");
    folder.run("estimate x.c").exits(2).complains("does not apply to C programs");
    folder.run("estimate spin.sel --samples 0").exits(2);
    folder.run("estimate spin.sel --samples 5 --time 1s").exits(2).complains("cannot be used with");
}
