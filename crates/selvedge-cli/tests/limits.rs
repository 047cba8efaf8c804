//! Limits hold in every phase: time, memory, signals; and what was found is shown.
//!
//! Waits are generous, so that a busy machine changes nothing: what does not stop takes minutes.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use common::{Folder, LARGE, Run, finish};

/// A program whose search ends soon, with very many data races to replay.
const RACES: &str = "\
const N = 64;
shared x = 0;
shared y[N] = 0;
thread writer { x = 1; }
thread reader(i in 0..N) { let _mine = y[i]; x = 1; let _seen = x; }
";

/// Two threads that take turns: one realizability question takes minutes.
const ALTERNATE: &str = "\
const N = 80;
shared x = 0;
thread a { for i in 0..N { x = 1; let _v = x; } }
thread b { for i in 0..N { x = 2; let _v = x; } }
";

/// One lock and very many orders: hard for the solver.
const SOLVE: &str = "\
const N = 12;
shared x = 0;
mutex m;
thread t(i in 0..N) { lock m; let v = x; x = v + 1; unlock m; }
finally { assert x == N; }
";

/// So many events that the formula takes long to build.
const UNROLL: &str = "\
shared x = 0;
thread t(i in 0..8) { for j in 0..400 { x = x + 1; } }
";

/// Optimal keeps more and more: the last zero of an array.
const LASTZERO: &str = "\
const N = 25;
shared array[N + 1] = 0;
thread reader { let i = N; while array[i] != 0 { i = i - 1; } }
thread writer(j in 1..N + 1) { array[j] = array[j - 1] + 1; }
";

/// Blocks with multiplications: hard to synthesise constraints for.
const SYNTHESISE: &str = "\
shared x = 1; shared y = 1; shared z = 1;
atomic proc f(a: int) { x = x * y + a * z; y = y * z + x * a; z = x * z + y; }
atomic proc g(a: int) { y = y * y + a * x; z = z * x + y * a; x = x * z + a; }
thread t(i in 0..3) { f(i); g(i); }
";

#[cfg(unix)]
fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(status.expect("kill can be run").success());
}

/// Runs a command, sends a signal after a while, and gives what came out. Fails if it never ends.
#[cfg(unix)]
fn interrupted(folder: &Folder, arguments: &str, name: &str) -> Run {
    let child = folder.spawn(arguments);
    std::thread::sleep(Duration::from_millis(700));
    signal(name, child.id());
    let started = Instant::now();
    let run = finish(child);
    assert!(started.elapsed() < Duration::from_secs(8), "{arguments}: {run:?}");
    assert!(!run.err.contains("did not stop"), "{arguments}: {run:?}");
    run
}

#[cfg(unix)]
#[test]
#[ignore = "not yet seen to pass: run with --ignored"]
fn every_phase_answers_signals() {
    let folder = Folder::with("large.sel", LARGE);
    for (name, text) in [("alternate.sel", ALTERNATE), ("solve.sel", SOLVE), ("unroll.sel", UNROLL)]
    {
        folder.write(name, text.as_bytes());
    }
    folder.write("synthesise.sel", SYNTHESISE.as_bytes());
    for (arguments, name) in [
        ("check large.sel -a oracle", "INT"),
        ("check large.sel -a quasi", "HUP"),
        ("check alternate.sel -a data-centric", "TERM"),
        ("check solve.sel --symbolic", "TERM"),
        ("check unroll.sel --symbolic --unroll 400", "INT"),
        ("check unroll.sel --symbolic mat --unroll 400", "TERM"),
    ] {
        let run = interrupted(&folder, arguments, name).exits(3);
        run.says("inconclusive: interrupted");
    }
    let run = interrupted(&folder, "compare large.sel --time 100s", "TERM").exits(3);
    run.says("interrupted: ").says("algorithms did not run");
    let run = interrupted(&folder, "constraints synthesise.sel --pair-work 100000000", "TERM");
    run.exits(3).says("none: interrupted");
    let run = interrupted(&folder, "bench --seconds 100", "INT").exits(3);
    run.says("interrupted: what is missing was not measured");
}

#[test]
#[ignore = "not yet seen to pass: run with --ignored"]
fn the_time_limit_holds_in_every_phase() {
    let folder = Folder::with("alternate.sel", ALTERNATE);
    folder.write("solve.sel", SOLVE.as_bytes());
    folder.write("unroll.sel", UNROLL.as_bytes());
    folder.write("synthesise.sel", SYNTHESISE.as_bytes());
    for arguments in [
        "check alternate.sel -a data-centric",
        "check alternate.sel -a data-centric --unobserved-locks",
        "check solve.sel --symbolic",
        "check unroll.sel --symbolic --unroll 400",
        "check synthesise.sel -a constrained",
    ] {
        let started = Instant::now();
        let run = folder.run(&format!("{arguments} --time 300ms")).exits(3);
        run.says("inconclusive: the time limit was reached");
        assert!(started.elapsed() < Duration::from_secs(8), "{arguments}");
    }
}

/// The verdict is known at once; replaying all that was found would take long.
#[test]
#[ignore = "not yet seen to pass: run with --ignored"]
fn a_violation_is_shown_when_the_time_is_up() {
    let folder = Folder::with("races.sel", RACES);
    let started = Instant::now();
    let run = folder.run("check races.sel --races --time 100ms").exits(1);
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    run.says("violated: ")
        .says("replay: selvedge replay ")
        .says("violations not replayed ")
        .says("context switches        perhaps not the fewest: the time limit was reached");
}

#[test]
#[ignore = "not yet seen to pass: run with --ignored"]
fn the_memory_limit_ends_a_search_with_what_was_found() {
    let folder = Folder::with("lastzero.sel", LASTZERO);
    let run = folder.run("check lastzero.sel --max-memory 20M").exits(3);
    run.says("inconclusive: the memory limit was reached")
        .says("raise the limit (--max-memory)")
        .says(" complete, ");
    let json = folder.run("check lastzero.sel --max-memory 20M --json").exits(3).json();
    assert_eq!(json["inconclusive"][0]["reason"], "memory");
    folder.write("unroll.sel", UNROLL.as_bytes());
    let run = folder.run("check unroll.sel --symbolic --unroll 400 --max-memory 30M").exits(3);
    run.says("inconclusive: the memory limit was reached").says("--unroll 2");
    for wrong in ["1", "x", "-1G"] {
        folder.run(&format!("check lastzero.sel --max-memory={wrong}")).exits(2);
    }
}

/// An array that is larger than the memory is no reason to abort.
#[test]
fn a_huge_array_is_a_message() {
    let folder =
        Folder::with("huge.sel", "const N = 10;\nshared a[N] = 0;\nthread t { a[0] = 1; }\n");
    let run = folder.run("check huge.sel --const N=2000000000");
    assert!(matches!(run.code, Some(2 | 3)), "{run:?}");
    assert!(!run.err.is_empty() && !run.err.contains("internal error"), "{run:?}");
}

/// The same constraints, whatever else the machine does.
#[test]
#[ignore = "not yet seen to pass: run with --ignored"]
fn synthesis_is_limited_by_work() {
    let folder = Folder::with("synthesise.sel", SYNTHESISE);
    let found = |work: u32| {
        let run = folder.run(&format!("constraints synthesise.sel --pair-work {work} --json"));
        let json = run.exits(0).json();
        json["pairs"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|pair| pair["gave_up"].clone())
            .collect::<Vec<_>>()
    };
    let little = found(2);
    assert!(little.iter().all(|why| why == "it takes too much work (--pair-work)"), "{little:?}");
    assert_eq!(found(20), found(20));
}
