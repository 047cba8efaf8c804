//! A check with several threads, and one that is interrupted and resumed, shows what one thread shows that runs from the
//! beginning to the end.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use selvedge_testkit::{least, listed};
use serde_json::Value;

use crate::common::{DEADLOCK, Folder, LARGE, LOST, Run, finish, late, normalised, some};

/// Ten programs with constants: locks, choices, spawned threads, messages, atomic blocks, violations.
const PROGRAMS: &[(&str, &str)] = &[
    ("optimal-dpor/lastzero.sel", "--const N=9"),
    ("optimal-dpor/readers.sel", "--const N=9"),
    ("optimal-dpor/indexer.sel", "--const N=13"),
    ("optimal-dpor/alternate.sel", "--const N=4"),
    ("locks/philosophers.sel", ""),
    ("locks/reader-writer.sel", ""),
    ("locks/condition-buffer.sel", ""),
    ("features/choose.sel", ""),
    ("features/fork-join.sel", ""),
    ("message-passing/server.sel", ""),
    ("features/atomic-blocks.sel", ""),
    ("bank.sel", "--keep-going"),
    ("bugs/two-kinds.sel", "--keep-going"),
    ("regressions/signal-to-tasks.sel", "--keep-going"),
];

/// Far too many executions, and more memory than a megabyte.
const BIG: &str = "\
const N = 9;
shared a[300000] = 0;
thread inc(i in 0..N) { a[0] += 1; a[0] += 1; a[0] += 1; }
";

fn programs() -> Folder {
    let folder = Folder::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    for (name, _) in PROGRAMS {
        let text = std::fs::read(source.join(name)).expect("a program can be read");
        folder.write(&file(name), &text);
    }
    folder.write("late.sel", late::IN_SEL.as_bytes());
    folder
}

/// The name of a program without its folder.
fn file(name: &str) -> String {
    name.replace('/', "-")
}

/// The result, without what depends on the time.
fn result(run: &Run) -> (Option<i32>, String) {
    (run.code, normalised(&run.out))
}

/// Compiled code is run by copies of a process, and it does not show either: not what they find, not what they learn, not how
/// the code ends them.
#[test]
fn the_number_of_processes_does_not_show() {
    let folder = Folder::new();
    // 5,040 executions.
    folder.write("late.c", late::in_c(&[1, 2, 5, 4, 6, 3, 0]).as_bytes());
    let ends = [
        ("0", "", 0),
        ("1", "", 1),
        ("1", "--keep-going", 1),
        ("1", "--max-executions 3000", 3),
        ("2", "", 1),
        ("3", "", 1),
    ];
    for (what, options, code) in some(&ends) {
        let check =
            |jobs| format!("check late.c -a parsimonious {options} --jobs {jobs} -- -DWHAT={what}");
        let alone = folder.run(&check(1)).exits(code);
        for jobs in some(&[2, 3]) {
            let several = folder.run(&check(jobs)).exits(code);
            assert_eq!(result(&several), result(&alone), "{what} {options} {jobs}");
        }
    }
    let why = "`optimal` is sequential";
    folder.run("check late.c -a optimal --jobs 2 -- -DWHAT=1").exits(1).complains(why);
    folder.run("check late.c --tree --json --jobs 2 -- -DWHAT=1").exits(2).complains("--tree");
}

/// The tree is that of one worker, byte for byte, and has the executions that were counted.
#[test]
fn the_tree_does_not_depend_on_the_number_of_threads() {
    let folder = programs();
    let late = [("late.sel", ""), ("late.sel", "--keep-going"), ("late.sel", "--max-executions 9")];
    let mut trees = 0;
    let all = [PROGRAMS, &late].concat();
    for (name, options) in some(&all) {
        let check = format!("check {} {options} -a parsimonious --json --tree", file(name));
        let expected = folder.run(&check).json()["tree"].to_string();
        trees += 1;
        let kept = format!("--jobs 2 --checkpoint kept-{trees}.json");
        for more in ["--jobs 2", "--jobs 3", &kept] {
            let found = folder.run(&format!("{check} {more}")).json();
            assert_eq!(found["tree"].to_string(), expected, "{name} {options}: {more}");
            let counts = found["executions"].as_object().expect("an object").values();
            let counted: u64 = counts.filter_map(Value::as_u64).sum();
            assert_eq!(found["tree"]["executions"], counted, "{name} {options}: {more}");
        }
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let folder = programs();
    let late = [("late.sel", ""), ("late.sel", "--keep-going")];
    for (name, options) in PROGRAMS.iter().chain(&late) {
        let check = format!("check {} {options} -a parsimonious", file(name));
        let alone = folder.run(&check);
        assert_eq!(alone.err, "", "{name}");
        assert!(
            *name != "late.sel"
                || alone.out.contains("704 complete")
                || alone.out.contains("720 complete")
        );
        for jobs in [1, 2, 3, 8] {
            let several = folder.run(&format!("{check} --jobs {jobs}"));
            assert_eq!(result(&several), result(&alone), "{name}: {jobs}");
        }
    }
}

/// What a race asks for in a state that another worker has is granted in the order of one worker, so even what is redundant is the
/// same.
#[test]
fn the_number_of_threads_does_not_show_with_source_sets() {
    let folder = programs();
    let others = [
        ("late.sel", ""),
        ("late.sel", "--keep-going --max-executions 700"),
        ("locks/philosophers.sel", "--max-steps 9 --keep-going"),
        ("locks/philosophers.sel", "--preemptions 1 --keep-going"),
    ];
    let mut redundant = 0;
    for (name, options) in PROGRAMS.iter().chain(&others) {
        let check = format!("check {} {options} -a source", file(name));
        let alone = folder.run(&check);
        redundant += usize::from(!alone.out.contains(" 0 redundant"));
        for jobs in [1, 2, 3, 7] {
            let several = folder.run(&format!("{check} --jobs {jobs}"));
            assert_eq!(several.err, "", "{check}: {jobs}");
            assert_eq!(result(&several), result(&alone), "{check}: {jobs}");
        }
        let kept = folder.run(&format!("{check} --jobs 2 --checkpoint source.ckpt"));
        assert_eq!(result(&kept), result(&alone), "{check}");
    }
    assert!(redundant > 0, "some have redundant executions");
    let tree = "check optimal-dpor-lastzero.sel --const N=6 -a source --json --tree";
    let expected = folder.run(tree).json()["tree"].to_string();
    let found = folder.run(&format!("{tree} --jobs 2")).json()["tree"].to_string();
    assert_eq!(found, expected);
}

/// Without an algorithm: traces and states alternate at the same places for every number of threads, on every program; in `cargo test`,
/// on one in seven.
#[test]
fn the_number_of_threads_does_not_show_by_default() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let (mut paths, mut programs) = (vec![root], Vec::new());
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder can be read");
            paths.extend(entries.map(|entry| entry.expect("it is there").path()));
        } else if path.extension().is_some_and(|it| it == "sel") {
            programs.push(path);
        }
    }
    programs.sort();
    let mut by_states = 0;
    let folder = Folder::new();
    for path in listed(programs.len()).map(|number| &programs[number]) {
        let check = format!("check {} --keep-going", path.display());
        let alone = folder.run(&check);
        for jobs in [2, 3] {
            let several = folder.run(&format!("{check} --jobs {jobs}"));
            assert_eq!(result(&several), result(&alone), "{}: {jobs}", path.display());
            assert_eq!(several.err, alone.err, "{}: {jobs}", path.display());
        }
        by_states += usize::from(alone.out.contains("auto: states"));
    }
    assert!(by_states >= least(10), "{by_states}");
    // What random executions find before the search.
    folder.write("early.sel", late::EARLY.as_bytes());
    for options in ["", "-a parsimonious"] {
        let alone = folder.run(&format!("check early.sel {options}"));
        let alone = alone.exits(1).says("before the search");
        let several = folder.run(&format!("check early.sel {options} --jobs 2"));
        assert_eq!(result(&several), result(&alone));
        let kept = folder.run(&format!("check early.sel {options} --checkpoint early.ckpt"));
        assert_eq!(result(&kept), result(&alone));
        assert!(!folder.path().join("early.ckpt").exists());
    }
}

/// A search of traces and states that was interrupted continues to the same report.
#[test]
fn the_default_is_resumed() {
    let folder = programs();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/states");
    for (name, options) in
        [("barrier-in-rounds.sel", "--const N=3"), ("test-and-test-and-set.sel", "")]
    {
        let text = std::fs::read(source.join(name)).expect("a program can be read");
        folder.write(name, &text);
        let alone = folder.run(&format!("check {name} {options}")).says("auto: states");
        for time in ["1ms", "30ms", "120ms"] {
            let check = format!("check {name} {options} --checkpoint states.ckpt --time {time}");
            folder.run(&check);
            if folder.path().join("states.ckpt").exists() {
                let resumed = folder.run("resume states.ckpt --jobs 2");
                assert_eq!(result(&resumed), result(&alone), "{name}: {time}");
            }
        }
    }
}

#[test]
fn the_number_of_threads_does_not_show_with_sleep_sets() {
    let folder = programs();
    for check in [
        "check bank.sel -a sleep",
        "check locks-philosophers.sel -a sleep --keep-going",
        "check locks-philosophers.sel -a sleep --max-steps 9 --keep-going",
        "check locks-philosophers.sel -a sleep --preemptions 1 --keep-going",
        "check late.sel -a sleep",
        "check late.sel -a sleep --keep-going --max-executions 700",
    ] {
        let alone = folder.run(check);
        for jobs in [2, 5] {
            let several = folder.run(&format!("{check} --jobs {jobs}"));
            assert_eq!(result(&several), result(&alone), "{check}: {jobs}");
        }
    }
    // A bound is remembered while the search rests.
    let check = "check late.sel -a sleep --preemptions 2 --keep-going";
    let alone = folder.run(check);
    folder.run(&format!("{check} --checkpoint late.ckpt --time 1ms"));
    if folder.path().join("late.ckpt").exists() {
        let resumed = folder.run("resume late.ckpt --jobs 2");
        assert_eq!(result(&resumed), result(&alone));
    }
}

#[test]
fn the_number_of_threads_does_not_show_at_a_limit() {
    let folder = programs();
    for most in [1, 7, 100, 719, 720, 721] {
        let check = format!("check late.sel -a parsimonious --keep-going --max-executions {most}");
        let alone = folder.run(&check);
        for jobs in [2, 8] {
            let several = folder.run(&format!("{check} --jobs {jobs}"));
            assert_eq!(result(&several), result(&alone), "{most}: {jobs}");
        }
    }
    for check in
        ["check late.sel --sample 200", "check bank.sel --sample 500 --seed 3 --keep-going"]
    {
        let alone = folder.run(check);
        for jobs in [2, 8] {
            let several = folder.run(&format!("{check} --jobs {jobs}"));
            assert_eq!(result(&several), result(&alone), "{check}: {jobs}");
        }
    }
    let cut = "check locks-philosophers.sel -a parsimonious --max-steps 9 --keep-going";
    let alone = folder.run(cut).exits(1);
    assert_eq!(result(&folder.run(&format!("{cut} --jobs 3"))), result(&alone));
}

#[test]
fn limits_end_several_threads() {
    let folder = Folder::with("large.sel", LARGE);
    let timed = folder.run("check large.sel -a parsimonious --jobs 3 --time 500ms").exits(3);
    timed.says("inconclusive: the time limit was reached").says(" complete");
    folder.write("big.sel", BIG.as_bytes());
    let small = folder.run("check big.sel -a parsimonious --jobs 3 --max-memory 1M").exits(3);
    small.says("inconclusive: the memory limit was reached");
}

#[test]
fn wrong_numbers_of_threads_are_refused() {
    let folder = Folder::with("lost.sel", LOST);
    for wrong in ["0", "10000", "-1", "x", "1.5"] {
        let run = folder.run(&format!("check lost.sel -a parsimonious --jobs={wrong}")).exits(2);
        run.complains("a number of workers is between 1 and 512");
    }
    let run = |jobs: &str, arguments: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(arguments.split_whitespace()).env("SELVEDGE_JOBS", jobs);
        finish(folder.start(command))
    };
    run("0", "check lost.sel -a parsimonious").exits(2).complains("SELVEDGE_JOBS is `0`");
    let alone = folder.run("check lost.sel -a parsimonious").exits(1);
    let several = run("2", "check lost.sel -a parsimonious");
    assert_eq!(result(&several), result(&alone));
    // An option is more than the environment.
    run("0", "check lost.sel -a parsimonious --jobs 2").exits(1);
}

#[test]
fn a_sequential_algorithm_says_so() {
    let folder = Folder::with("lost.sel", LOST);
    let alone = folder.run("check lost.sel -a optimal").exits(1);
    let several = folder.run("check lost.sel -a optimal --jobs 2").exits(1);
    assert_eq!(result(&several), result(&alone));
    several.complains("`optimal` is sequential").complains("--algorithm parsimonious");
    folder.run("check lost.sel --sample 10 --pct 2 --jobs 2").complains("--pct is sequential");
    let run = folder.run("check lost.sel -a classic --checkpoint lost.ckpt").exits(2);
    run.complains("--checkpoint does not apply here: `classic` is sequential");
    folder.run("check lost.sel --symbolic --jobs 2").exits(2);
}

fn kill(process: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &process.id().to_string()]).status();
    assert!(status.expect("kill can be run").success());
}

/// Checks, is killed after a while, goes on, is killed again, and comes to its end.
fn killed_and_resumed(folder: &Folder, check: &str, mut wait: u64) -> Run {
    let name = "search.ckpt";
    let mut child =
        folder.spawn(&format!("{check} --checkpoint {name} --checkpoint-every 20ms --jobs 2"));
    let mut kills = 0;
    loop {
        std::thread::sleep(Duration::from_millis(wait));
        if child.try_wait().expect("it can be asked").is_none() {
            kill(&child, "-KILL");
            kills += 1;
        }
        let run = finish(child);
        if run.code.is_some() {
            return run;
        }
        // Killed before it had anything to lose: from the beginning.
        let exists = folder.path().join(name).exists();
        let jobs = 1 + kills % 3;
        child = folder.spawn(&match exists {
            true => format!("resume {name} --checkpoint-every 20ms --jobs {jobs}"),
            false => format!("{check} --checkpoint {name} --checkpoint-every 20ms"),
        });
        wait = wait * 5 / 4 + 3;
    }
}

#[cfg(unix)]
#[test]
fn a_check_that_is_killed_goes_on() {
    let folder = programs();
    let large = [
        ("optimal-dpor/lastzero.sel", "--const N=11"),
        ("late.sel", ""),
        ("late.sel", "--keep-going"),
    ];
    let with = |algorithm| move |&(name, options): &(_, _)| (name, options, algorithm);
    let checks = PROGRAMS.iter().chain(&large).map(with("parsimonious"));
    let all: Vec<_> = checks.chain(large.iter().map(with("source"))).collect();
    for (nth, (name, options, algorithm)) in some(&all).enumerate() {
        let check = format!("check {} {options} -a {algorithm}", file(name));
        let alone = folder.run(&check);
        for wait in [10, 35 + 7 * nth as u64] {
            let resumed = killed_and_resumed(&folder, &check, wait);
            assert_eq!(result(&resumed), result(&alone), "{name} {options}");
            assert!(!folder.path().join("search.ckpt").exists(), "it is not needed any more");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_check_that_is_interrupted_goes_on() {
    let folder = programs();
    let check = "check optimal-dpor-lastzero.sel --const N=13 -a parsimonious";
    let alone = folder.run(check).exits(0);
    let mut child = folder.spawn(&format!("{check} --jobs 2 --checkpoint a.ckpt"));
    let is_there = || folder.path().join("a.ckpt").exists();
    while !is_there() && child.try_wait().expect("it can be asked").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    if child.try_wait().expect("it can be asked").is_none() {
        kill(&child, "-INT");
    }
    let run = finish(child);
    // On a fast machine it may have come to its end.
    if run.code != Some(0) {
        run.exits(3).says("inconclusive: interrupted").says("selvedge resume a.ckpt");
        let again = folder.run("resume a.ckpt --time 1ms").exits(3);
        again.says("inconclusive: the time limit was reached").says("selvedge resume a.ckpt");
        assert_eq!(result(&folder.run("resume a.ckpt --jobs 2").exits(0)), result(&alone));
    }
    folder.write("large.sel", LARGE.as_bytes());
    folder.write("big.sel", BIG.as_bytes());
    let timed = folder.run("check large.sel -a parsimonious --checkpoint b.ckpt --time 300ms");
    timed.exits(3).says("the time limit was reached").says("selvedge resume b.ckpt");
    let small = folder.run("check big.sel -a parsimonious --checkpoint c.ckpt --max-memory 1M");
    small.exits(3).says("the memory limit was reached").says("selvedge resume c.ckpt");
}

/// The search may have taken hours: what it found is shown, even if the last checkpoint cannot be written.
#[cfg(unix)]
#[test]
fn a_checkpoint_that_cannot_be_written_does_not_hide_the_report() {
    let folder = Folder::with("large.sel", LARGE);
    let kept = folder.path().join("kept");
    std::fs::create_dir(&kept).expect("a folder can be made");
    let check = "check large.sel -a parsimonious --checkpoint kept/a.ckpt --checkpoint-every 1h";
    let child = folder.spawn(check);
    while !kept.join("a.ckpt").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_dir_all(&kept).expect("the folder can be removed");
    kill(&child, "-INT");
    let run = finish(child).exits(3).says("inconclusive: interrupted");
    run.complains("the checkpoint cannot be written").complains("is done again");
}

/// A step that can be made to wait is looked at and then left for later. What it would have shown does not count: whether it is
/// looked at depends on what its worker ran before.
#[test]
fn a_step_that_is_only_looked_at_shows_nothing() {
    let text = "\
shared x = 0;
thread waiter { atomic { await x > 0; assert x != 2; } }
thread writer { x = 2; x = 3; }
";
    let folder = Folder::with("looked.sel", text);
    let run = folder.run("check looked.sel -a parsimonious --no-random").exits(1);
    run.says("assertion `x != 2` is false").says("executions 2 complete");
}

#[test]
fn what_is_no_checkpoint_is_refused() {
    let folder = Folder::with("large.sel", LARGE);
    folder.write("lost.sel", LOST.as_bytes());
    folder.write("deadlock.sel", DEADLOCK.as_bytes());
    let check = "check large.sel -a parsimonious --checkpoint a.ckpt --time 300ms";
    folder.run(check).exits(3);
    let kept = folder.read("a.ckpt");
    // Nothing is overwritten.
    folder.run(check).exits(2).complains("a.ckpt exists").complains("selvedge resume a.ckpt");
    folder.run("check large.sel -a parsimonious --checkpoint lost.sel").exits(2);
    assert_eq!((folder.read("a.ckpt"), folder.read("lost.sel")), (kept.clone(), LOST.to_owned()));
    folder.run("resume none.ckpt").exits(2).complains("none.ckpt");
    folder.run("resume lost.sel").exits(2).complains("is not a checkpoint");
    let half = kept.len() / 2;
    folder.write("half.ckpt", &kept.as_bytes()[..half]);
    folder.run("resume half.ckpt").exits(2).complains("half.ckpt is not a checkpoint");
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(kept.contains(&version));
    folder.write("old.ckpt", kept.replace(&version, "\"version\": \"0.0.1\"").as_bytes());
    folder.run("resume old.ckpt").exits(2).complains("was written by version 0.0.1");
    let other = kept.replacen("\"unit\": \"0", "\"unit\": \"77", 1);
    assert_ne!(other, kept, "a unit begins with thread 0");
    folder.write("unit.ckpt", other.as_bytes());
    folder.run("resume unit.ckpt").exits(2);
    // Another program, other constants.
    folder.write("large.sel", LARGE.replace("N = 9", "N = 8").as_bytes());
    folder.run("resume a.ckpt").exits(2).complains("large.sel has changed");
    // Also a comment: what was found has a line and a column.
    folder.write("large.sel", format!("// A comment.\n{LARGE}").as_bytes());
    folder.run("resume a.ckpt").exits(2).complains("large.sel has changed");
    std::fs::remove_file(folder.path().join("large.sel")).expect("it can be removed");
    folder.run("resume a.ckpt").exits(2).complains("large.sel is not here");
    assert_eq!(folder.read("a.ckpt"), kept, "nothing is overwritten");
    let piped = folder.run_with("check - -a parsimonious --checkpoint b.ckpt", LOST.as_bytes());
    piped.exits(2).complains("--checkpoint needs a program in a file");
}

/// What is explored without saying how can be divided too.
#[test]
fn the_default_is_divided() {
    let folder = programs();
    let several = folder.run("check late.sel --jobs 2 --keep-going").exits(1);
    assert_eq!(several.err, "");
    assert!(several.out.contains("search     auto: parsimonious"), "{}", several.out);
    folder.run("check late.sel --checkpoint a.ckpt").exits(1);
    // What is promised is decided by states.
    folder.write("promise.sel", b"shared x = 0; eventually x == 1; thread t { x = 1; }");
    let promised =
        folder.run("check promise.sel --jobs 2").exits(0).says("search     auto: states");
    assert_eq!(promised.err, "");
}

/// A search of more than a few executions begins with some random ones; what they find, every run finds.
#[test]
fn random_executions_come_before_a_long_search() {
    let folder = programs();
    let found = "found       by random execution ";
    let early = folder.run("check late.sel").exits(1);
    let again = folder.run("check late.sel").exits(1);
    assert_eq!(result(&early), result(&again));
    let exhaustive = folder.run("check late.sel --no-random").exits(1);
    assert!(!exhaustive.out.contains(found), "{}", exhaustive.out);
    // With all violations the counts are those of the search.
    let all = folder.run("check late.sel --keep-going").exits(1);
    assert!(all.out.contains("executions  720 complete") || all.out.contains("720 complete"));
}
