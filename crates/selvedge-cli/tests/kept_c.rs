//! A check of a C program that is killed at any time goes on where it was, and ends with the report of one that was not.
//!
//! `SELVEDGE_KILLS=200 cargo test -p selvedge-cli --test it kept_c` kills more often.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, SystemTime};

use selvedge_testkit::is_campaign;

use crate::common::{Folder, Run, finish, late, normalised};

/// 720 executions, one of which is special.
const LATE: [usize; 6] = [1, 2, 5, 4, 3, 0];

/// Threads that wait in a loop, and others that change what they wait for: what a loop does is learned.
const SPINS: &str = "\
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

atomic_int turn, x;

void *take(void *number) {
    int i = *(int *)number;
    while (atomic_load_explicit(&turn, memory_order_relaxed) < i) sched_yield();
    atomic_fetch_add(&x, i);
    atomic_fetch_add(&turn, 1);
    return 0;
}

int main(void) {
    pthread_t threads[3];
    int numbers[3] = { 0, 0, 1 };
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, take, &numbers[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
";

const CHECKS: [&str; 7] = [
    "late.c -- -DWHAT=0",
    "late.c -- -DWHAT=1",
    "late.c --keep-going -- -DWHAT=1",
    "late.c --max-executions 500 -- -DWHAT=0",
    "late.c -- -DWHAT=3",
    "spins.c --no-races",
    "late.c --sample 600 --seed 5 -- -DWHAT=1",
];

/// Options come before flags.
fn with(check: &str, options: &str) -> String {
    match check.split_once(" -- ") {
        Some((check, flags)) => format!("check {check} {options} -- {flags}"),
        None => format!("check {check} {options}"),
    }
}

/// Without random executions, which would find at once what the search is killed on its way to.
fn exhaustive(check: &str) -> &'static str {
    if check.contains("--sample") { "" } else { "--no-random" }
}

fn result(run: &Run) -> (Option<i32>, String) {
    (run.code, normalised(&run.out))
}

/// Numbers that are the same in every run.
struct Waits(u64);

impl Waits {
    /// Returns a time of up to so many milliseconds.
    fn next(&mut self, most: u64) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_micros((self.0 >> 33) % (most * 1000))
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|about| about.modified()).ok()
}

/// Waits until the file is another one, or the process has ended.
fn wait_for_change(child: &mut Child, path: &Path) {
    let before = written(path);
    while written(path) == before && child.try_wait().expect("it can be asked").is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Checks, is killed so often, and comes to its end. Returns how often it was killed.
fn killed(folder: &Folder, check: &str, kills: u32, waits: &mut Waits) -> (Run, u32) {
    let path = folder.path().join("a.ckpt");
    let every = "--checkpoint-every 1ms";
    let options = exhaustive(check);
    let from_the_start = with(check, &format!("{options} --checkpoint a.ckpt {every}"));
    let mut child = folder.spawn(&from_the_start);
    for nth in 0..kills {
        wait_for_change(&mut child, &path);
        std::thread::sleep(waits.next(60));
        if child.try_wait().expect("it can be asked").is_none() {
            let process = child.id().to_string();
            let _ = Command::new("kill").args(["-KILL", &process]).status();
        }
        let run = finish(child);
        if run.code.is_some() {
            return (run, nth);
        }
        let jobs = 1 + nth % 2;
        // Without the file it was killed after it had shown its result, and had not exited yet.
        child = match path.exists() {
            true => folder.spawn(&format!("resume a.ckpt {every} --jobs {jobs}")),
            false => folder.spawn(&from_the_start),
        };
    }
    (finish(child), kills)
}

#[test]
fn a_c_program_goes_on() {
    let kills = std::env::var("SELVEDGE_KILLS").ok().and_then(|text| text.parse().ok());
    let kills = kills.unwrap_or(if is_campaign() { 14_u32 } else { 5 });
    let folder = Folder::new();
    folder.write("late.c", late::in_c(&LATE).as_bytes());
    folder.write("spins.c", SPINS.as_bytes());
    let mut waits = Waits(kills.into());
    let wholes = CHECKS.map(|check| folder.run(&with(check, exhaustive(check))));
    let mut times = 0;
    let mut nth = 0;
    // A search that comes to its end before it is killed counts for nothing, and there may be machines that quick.
    while times < kills && nth < 3 * CHECKS.len() + kills as usize {
        let (check, whole) = (CHECKS[nth % CHECKS.len()], &wholes[nth % CHECKS.len()]);
        let (run, killed) = killed(&folder, check, 1 + nth as u32 % 3, &mut waits);
        assert_eq!(result(&run), result(whole), "{check}: {run:#?}");
        assert!(!folder.path().join("a.ckpt").exists(), "it is not needed any more");
        times += killed;
        nth += 1;
    }
    assert!(times > 0, "it was killed");
}

#[test]
fn a_c_program_that_ends_its_process_goes_on_to_its_end() {
    let folder = Folder::new();
    folder.write("late.c", late::in_c(&LATE).as_bytes());
    let check = "late.c -- -DWHAT=2";
    let whole = folder.run(&with(check, exhaustive(check))).exits(1);
    let (run, _) = killed(&folder, check, 1, &mut Waits(7));
    assert_eq!(result(&run), result(&whole));
    assert!(!folder.path().join("a.ckpt").exists(), "it is not needed any more");
}

#[test]
fn limits_end_a_c_program_and_it_goes_on() {
    let folder = Folder::new();
    folder.write("late.c", late::in_c(&[1, 2, 5, 4, 6, 3, 0]).as_bytes());
    let whole = folder.run("check late.c --no-random -- -DWHAT=0").exits(0);
    let timed = "check late.c --no-random --checkpoint a.ckpt --time 100ms -- -DWHAT=0";
    let run = folder.run(timed).exits(3);
    run.says("the time limit was reached").says("selvedge resume a.ckpt");
    let kept = folder.read("a.ckpt");
    // Time enough for nothing: what was kept is still there.
    folder.run("resume a.ckpt --time 1ms").exits(3).says("selvedge resume a.ckpt");
    // Nothing is overwritten, and another program is refused.
    folder.run(timed).exits(2).complains("a.ckpt exists");
    folder.run("check late.c --checkpoint late.c").exits(2).complains("late.c exists");
    let text = folder.read("late.c");
    folder.write("late.c", text.replace("special = x == 9", "special = x != 9").as_bytes());
    folder.run("resume a.ckpt").exits(2).complains("late.c has changed");
    folder.write("late.c", text.as_bytes());
    folder.write("flag.ckpt", kept.replace("-DWHAT=0", "-DWHAT=1").as_bytes());
    folder.run("resume flag.ckpt").exits(2).complains("late.c has changed");
    let (half, damaged) = (kept.len() / 2, kept.replacen("\"opening\": \"", "\"opening\": \" ", 1));
    folder.write("half.ckpt", &kept.as_bytes()[..half]);
    folder.run("resume half.ckpt").exits(2).complains("half.ckpt is not a checkpoint");
    assert_ne!(damaged, kept);
    folder.write("damaged.ckpt", damaged.as_bytes());
    let run = folder.run("resume damaged.ckpt").exits(2);
    run.complains("the program does not do what it did when the search was interrupted");
    assert_eq!(folder.read("damaged.ckpt"), damaged, "it stays");
    let why = "`optimal` is sequential";
    folder.run("check late.c -a optimal --checkpoint b.ckpt").exits(2).complains(why);
    folder.run("check late.c --memory rc11 --checkpoint b.ckpt").exits(2).complains("--checkpoint");
    let run = folder.run("resume a.ckpt --jobs 2").exits(0);
    assert_eq!(result(&run), result(&whole));
    assert!(!folder.path().join("a.ckpt").exists(), "it is not needed any more");
}
