//! Limits hold in every phase: time, memory, signals; and what was found is shown.
//!
//! Waits are generous, so that a busy machine changes nothing. Without the limit each command here would
//! take minutes or hours; after a minute it is killed, and the test fails.

#![cfg(unix)]

use std::process::{Child, Command};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::common::{Folder, LARGE, Run, finish, some};

/// What holds its limit ends long before.
const MOST: Duration = Duration::from_secs(60);
/// An answer may take so long after the limit: a fraction of a second, on a machine that does a lot else.
const ANSWER: Duration = Duration::from_secs(8);

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
thread t(i in 0..N) { lock m; let v = x; x = v + i; unlock m; }
finally { assert x == N * (N - 1) / 2; }
";

/// So many events that the formula takes long to build.
const UNROLL: &str = "\
const N = 400;
shared x = 0;
thread t(i in 0..8) { for j in 0..N { x = x + 1; } }
";

/// A step that waits for a sum can be enabled by any of 2^24 parts of what comes before.
const AWAIT: &str = "\
const N = 24;
shared x[N] = 0;
thread one(i in 0..N) { x[i] = 1; }
thread waiter {
    await x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7] + x[8] + x[9] + x[10] + x[11]
        + x[12] + x[13] + x[14] + x[15] + x[16] + x[17] + x[18] + x[19] + x[20] + x[21] + x[22]
        + x[23] != 12;
}
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

/// A block that takes no work.
const EASY: &str = "\
shared e = 0;
atomic proc easy() { e = 1; }
thread u(i in 0..2) { easy(); }
";

/// A pair that takes some work.
const REGISTER: &str = "\
const N = 3;
shared places[N] = 2;
shared registered[2 * N] = false;
atomic proc register(who: int, course: int) {
    if places[course] > 0 { places[course] -= 1; registered[who] = true; }
}
thread student(i in 0..2 * N) { register(i, i / 2); }
";

fn signal(name: &str, process: u32) {
    let status = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status();
    assert!(status.expect("kill can be run").success());
}

/// What a command gives; if it does not end, it is killed and has no exit code.
fn finish_in_time(child: Child) -> Run {
    let process = child.id();
    let (done, is_done) = mpsc::channel();
    let killer = std::thread::spawn(move || {
        if is_done.recv_timeout(MOST).is_err() {
            signal("KILL", process);
        }
    });
    let run = finish(child);
    let _ = done.send(());
    killer.join().expect("the killer does not panic");
    run
}

fn run(folder: &Folder, arguments: &str) -> Run {
    finish_in_time(folder.spawn(arguments))
}

/// Waits until the process handles a signal, where the system can tell; then a while longer, until it is
/// in the phase that takes long.
fn wait_for_handler(process: u32) {
    const TERM: u32 = 15;
    let handles = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
        Some(mask >> (TERM - 1) & 1 == 1)
    };
    let started = Instant::now();
    while handles() == Some(false) && started.elapsed() < MOST {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
}

/// Runs a command, sends a signal after a while, and returns what came out.
fn interrupted(folder: &Folder, arguments: &str, name: &str) -> Run {
    let child = folder.spawn(arguments);
    wait_for_handler(child.id());
    signal(name, child.id());
    let started = Instant::now();
    let run = finish_in_time(child);
    assert!(started.elapsed() < ANSWER, "{arguments}: {run:?}");
    assert!(!run.err.contains("did not stop in time"), "{arguments}: {run:?}");
    run
}

fn programs() -> Folder {
    let folder = Folder::with("large.sel", LARGE);
    for (name, text) in [
        ("alternate.sel", ALTERNATE),
        ("await.sel", AWAIT),
        ("solve.sel", SOLVE),
        ("unroll.sel", UNROLL),
        ("synthesise.sel", SYNTHESISE),
    ] {
        folder.write(name, text.as_bytes());
    }
    folder
}

#[test]
fn every_phase_answers_signals() {
    let folder = programs();
    for (arguments, name) in some(&[
        ("check large.sel -a oracle", "INT"),
        ("check large.sel -a quasi", "HUP"),
        ("check await.sel", "TERM"),
        ("check await.sel -a quasi", "INT"),
        ("check alternate.sel -a data-centric", "TERM"),
        ("check alternate.sel -a data-centric --unobserved-locks", "INT"),
        ("check solve.sel --symbolic", "TERM"),
        ("check unroll.sel --symbolic --unroll 400", "INT"),
        ("check unroll.sel --const N=40 --symbolic mat --unroll 40", "TERM"),
    ]) {
        interrupted(&folder, arguments, name).exits(3).says("inconclusive: interrupted");
    }
}

#[test]
fn every_command_answers_signals() {
    let folder = programs();
    let run = interrupted(&folder, "compare large.sel --time 100s", "TERM").exits(3);
    run.says("interrupted: ").says("algorithms did not run");
    let run = interrupted(&folder, "constraints synthesise.sel --pair-work 100000000", "TERM");
    run.exits(3).says("none: interrupted");
    let run = interrupted(&folder, "bench --seconds 100", "INT").exits(3);
    run.says("interrupted: what is missing was not measured");
}

#[test]
fn the_time_limit_holds_in_every_phase() {
    let folder = programs();
    for arguments in some(&[
        "check await.sel",
        "check await.sel -a quasi",
        "check alternate.sel -a data-centric",
        "check alternate.sel -a data-centric --unobserved-locks",
        "check solve.sel --symbolic",
        "check unroll.sel --symbolic --unroll 400",
        "check synthesise.sel -a constrained",
    ]) {
        let started = Instant::now();
        let run = run(&folder, &format!("{arguments} --time 300ms")).exits(3);
        run.says("inconclusive: the time limit was reached");
        assert!(started.elapsed() < ANSWER, "{arguments}: {:?}", started.elapsed());
    }
}

/// Whether a sum of even numbers is ever odd: each explorer has to try the 2^N parts of the writes, and no one can do
/// much better for every sum, unless P = NP (`docs/papers.md`). What is not tried is not claimed.
#[test]
fn a_sum_that_is_never_reached() {
    let sum = |variables: usize| {
        let writers: String =
            (0..variables).map(|i| format!("thread w{i} {{ x[{i}] = 2; }}\n")).collect();
        let summands: Vec<String> = (0..variables).map(|i| format!("x[{i}]")).collect();
        let sum = summands.join(" + ");
        format!(
            "shared x[{variables}] = 0;\n{writers}daemon thread waiter {{ await {sum} == 7; }}\n"
        )
    };
    let folder = Folder::with("small.sel", &sum(8));
    folder.write("large.sel", sum(30).as_bytes());
    let explorers =
        ["optimal", "parsimonious", "quasi", "source", "classic", "sleep", "data-centric"];
    for explorer in some(&explorers) {
        run(&folder, &format!("check small.sel -a {explorer}")).exits(0).says("verified: ");
        let started = Instant::now();
        let run = run(&folder, &format!("check large.sel -a {explorer} --time 300ms")).exits(3);
        run.says("inconclusive: ");
        assert!(started.elapsed() < ANSWER, "{explorer}: {:?}", started.elapsed());
    }
}

/// The verdict is known at once; to replay all that was found takes long (N=64), and so does even to note it
/// (N=400).
#[test]
fn a_violation_is_shown_when_the_time_is_up() {
    let folder = Folder::with("races.sel", RACES);
    for races in some(&[64, 400]) {
        let started = Instant::now();
        let run = run(&folder, &format!("check races.sel --const N={races} --races --time 1s"));
        assert!(started.elapsed() < ANSWER, "N={races}: {:?}", started.elapsed());
        run.exits(1)
            .says("violated: ")
            .says("replay: selvedge replay ")
            .says("violations not replayed ")
            .says("context switches        may not be minimal: the time limit was reached");
    }
}

#[test]
fn the_memory_limit_ends_a_search_with_what_was_found() {
    let folder = Folder::with("lastzero.sel", LASTZERO);
    let limited = run(&folder, "check lastzero.sel -a optimal --max-memory 20M").exits(3);
    limited
        .says("inconclusive: the memory limit was reached")
        .says("raise the limit (--max-memory)")
        .says(" complete, ");
    let json =
        run(&folder, "check lastzero.sel -a optimal --max-memory 20M --json").exits(3).json();
    assert_eq!(json["inconclusive"][0]["reason"], "memory");
    folder.write("unroll.sel", UNROLL.as_bytes());
    let limited =
        run(&folder, "check unroll.sel --symbolic --unroll 400 --max-memory 30M").exits(3);
    limited.says("inconclusive: the memory limit was reached").says("--unroll 2");
    for wrong in ["1", "x", "-1G"] {
        run(&folder, &format!("check lastzero.sel --max-memory={wrong}")).exits(2);
    }
}

/// Endless executions, and states that do not fit: how many there were is said, and what grows.
#[test]
#[ignore = "a campaign, memory is filled: scripts/campaigns"]
fn states_that_do_not_fit_end_a_search_that_cannot_prove_anything() {
    let grows = "shared n = 0;\nshared flag = false;\n\
        thread t(i in 0..2) { loop { n += 1; flag = !flag; } }\n";
    let folder = Folder::with("grows.sel", grows);
    let limited = run(&folder, "check grows.sel --max-memory 60M").exits(3);
    limited
        .says("inconclusive: the states do not fit either: ")
        .says(" were reached, and there are more")
        .says("also: executions were cut after 10000 steps")
        .says("most values             n: ");
    let limited = run(&folder, "check grows.sel -a states --max-memory 30M").exits(3);
    limited.says("inconclusive: the memory limit was reached").says("most values             n: ");
}

/// A shell that gives a process so much address space.
#[cfg(target_os = "linux")]
fn run_with_address_space(folder: &Folder, kilobytes: u64, arguments: &str) -> Run {
    let command = format!("ulimit -v {kilobytes}; exec \"$0\" {arguments}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &command, env!("CARGO_BIN_EXE_selvedge")]);
    finish_in_time(folder.start(shell))
}

/// The system has no more memory, and the code that allocates cannot go on.
#[cfg(target_os = "linux")]
#[test]
fn what_was_found_is_shown_when_there_is_no_memory_at_all() {
    let folder = Folder::with("small.sel", "shared x = 0;\nthread t { x = 1; }\n");
    let enough = (1..40).map(|n| 25_000 * n).find(|&kilobytes| {
        run_with_address_space(&folder, kilobytes, "check small.sel").code == Some(0)
    });
    let space = enough.expect("a small program needs little memory") + 25_000;
    folder.write("lastzero.sel", LASTZERO.as_bytes());
    // The limit itself is not reached.
    let limit = "--max-memory 100G";
    let run = |arguments: &str| {
        run_with_address_space(&folder, space, &format!("check {arguments} {limit}"))
    };
    let found = run("lastzero.sel").exits(3);
    found.says("inconclusive: the memory limit was reached").says(" complete, ");
    let executions = |json: &serde_json::Value| json["executions"]["complete"].as_u64();
    let json = run("lastzero.sel --json").exits(3).json();
    assert_eq!(json["inconclusive"][0]["reason"], "memory");
    assert!(executions(&json) > Some(100), "{json}");
    // A violation was found before: it is replayed and shown.
    let fails = format!("{LASTZERO}thread early {{ assert array[0] == 1; }}\n");
    folder.write("fails.sel", fails.as_bytes());
    let found = run("fails.sel --keep-going --save-trace trace.json").exits(1);
    found
        .says("violated: assertion `array[0] == 1` is false")
        .says("replay: selvedge replay ")
        .says("there may be more violations: the memory limit was reached");
    assert!(folder.read("trace.json").contains("schedule"));
    folder.write("unroll.sel", UNROLL.as_bytes());
    let found = run("unroll.sel --symbolic --unroll 400").exits(3);
    found.says("inconclusive: the memory limit was reached");
    let compare = format!("compare lastzero.sel --algorithms optimal,source --time 50s {limit}");
    let rows = run_with_address_space(&folder, space, &compare).exits(3);
    assert!(rows.err.contains("the memory limit was reached"), "{rows:?}");
    rows.says("lastzero.sel").says("algorithm");
}

/// The same for the commands that have no verdict: what was solved or measured before is shown.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "a campaign, memory is filled: scripts/campaigns"]
fn results_so_far_are_shown_when_there_is_no_memory_at_all() {
    let folder = Folder::with("blocks.sel", &format!("{EASY}{SYNTHESISE}"));
    let little = "constraints blocks.sel --pair-work 10";
    let enough = (1..200)
        .map(|n| 5_000 * n)
        .find(|&kilobytes| run_with_address_space(&folder, kilobytes, little).code == Some(0));
    let space = enough.expect("a little work needs little memory");
    // The limit itself is not reached.
    let run = |arguments: &str| {
        run_with_address_space(&folder, space, &format!("{arguments} --max-memory 100G")).exits(3)
    };
    let pairs = run("constraints blocks.sel --pair-work 100000000");
    assert!(pairs.err.contains("the memory limit was reached"), "{pairs:?}");
    pairs.says("easy, easy: ");
    let tables = run("bench --quick");
    tables.says("the memory limit was reached: what is missing was not measured");
}

/// An array that is larger than the memory is no reason to abort.
#[test]
fn a_huge_array_is_a_message() {
    let folder =
        Folder::with("huge.sel", "const N = 10;\nshared a[N] = 0;\nthread t { a[0] = 1; }\n");
    let run = run(&folder, "check huge.sel --const N=2000000000");
    assert!(matches!(run.code, Some(2 | 3)), "{run:?}");
    assert!(!run.err.is_empty() && !run.err.contains("internal error"), "{run:?}");
}

/// The same constraints, whatever else the machine does: what depends on the work depends on nothing else.
#[test]
fn synthesis_is_limited_by_work() {
    let folder = Folder::with("synthesise.sel", SYNTHESISE);
    folder.write("register.sel", REGISTER.as_bytes());
    let pairs = |file: &str, work: u32| {
        let run = run(&folder, &format!("constraints {file} --pair-work {work} --json"));
        run.exits(0).json()["pairs"].as_array().expect("a list").clone()
    };
    let gave_up =
        |pair: &serde_json::Value| pair["gave_up"] == "the limit on work was reached (--pair-work)";
    assert!(pairs("synthesise.sel", 500).iter().all(gave_up));
    let (little, enough) = (pairs("register.sel", 20), pairs("register.sel", 10_000));
    assert!(little.iter().all(gave_up) && !enough.iter().any(gave_up), "{little:?} {enough:?}");
    let (mut low, mut high) = (20, 10_000);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if pairs("register.sel", middle).iter().any(gave_up) { low = middle } else { high = middle }
    }
    // At the edge, with as many busy threads beside it as would make a clock say something else.
    let busy = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while busy.load(std::sync::atomic::Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let (below, above) = (pairs("register.sel", low), pairs("register.sel", high));
        busy.store(false, std::sync::atomic::Ordering::Relaxed);
        assert!(below.iter().any(gave_up) && !above.iter().any(gave_up));
    });
}
