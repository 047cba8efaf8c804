//! A check that is killed at any time goes on when the test is run again, and ends with the report of one that was not.
//! Each victim runs in a process of its own.
//!
//! `SELVEDGE_KILLS=200 cargo test -p selvedge --test it checkpoints` kills more often.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use selvedge::sync::atomic::Ordering::{Relaxed, SeqCst};
use selvedge::sync::atomic::{AtomicBool, AtomicUsize};
use selvedge::sync::{Arc, Condvar, Mutex};
use selvedge::{Algorithm, Builder, hint, thread};
use selvedge_testkit::is_campaign;

/// Says where the report of a victim goes, and its checkpoint.
const REPORT: &str = "SELVEDGE_TEST_REPORT";

/// Says how much time a victim has, in milliseconds.
const TIME: &str = "SELVEDGE_TEST_TIME";

/// Threads that swap their numbers into one variable: special if they come in the order 1, 2, 4, 3, 0.
fn swaps(special: fn()) {
    const BEFORE: [usize; 5] = [3, 9, 1, 4, 2];
    let x = Arc::new(AtomicUsize::new(9));
    let y = Arc::new(AtomicUsize::new(0));
    let follow = |i: usize| {
        let (x, y) = (Arc::clone(&x), Arc::clone(&y));
        thread::spawn(move || {
            y.fetch_add(i % 2, Relaxed);
            x.swap(i, SeqCst) == BEFORE[i]
        })
    };
    let threads: Vec<_> = (0..BEFORE.len()).map(follow).collect();
    let follows: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    if follows.iter().all(|&follows| follows) {
        special();
    }
}

fn panics() {
    panic!("in this order");
}

/// Another loop, which is met late.
fn spins() {
    let ready = Arc::new(AtomicBool::new(false));
    let other = Arc::clone(&ready);
    let thread = thread::spawn(move || other.store(true, Relaxed));
    while !ready.load(Relaxed) {
        hint::spin_loop();
    }
    thread.join().unwrap();
}

fn waits() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let add = |_| {
        let pair = Arc::clone(&pair);
        thread::spawn(move || {
            *pair.0.lock().unwrap() += 1;
            pair.1.notify_one();
        })
    };
    let threads: Vec<_> = (0..2).map(add).collect();
    let mut count = pair.0.lock().unwrap();
    while *count < 2 {
        count = pair.1.wait(count).unwrap();
    }
    drop(count);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn victim(builder: Builder, f: fn()) {
    let Some(report) = std::env::var_os(REPORT) else { return };
    let builder = builder.sequentially_consistent(true).checkpoint_every(Duration::from_millis(1));
    let outcome = builder.algorithm(Algorithm::Parsimonious).explore(f);
    let text = outcome.text() + &format!("{} executions\n", outcome.executions());
    std::fs::write(report, text).unwrap();
}

#[test]
fn victim_swaps() {
    victim(Builder::new(), || swaps(|| ()));
}

#[test]
fn victim_panics() {
    victim(Builder::new(), || swaps(panics));
}

#[test]
fn victim_keeps_going() {
    victim(Builder::new().keep_going(true).max_executions(600), || swaps(panics));
}

#[test]
fn victim_spins() {
    victim(Builder::new(), || swaps(spins));
}

#[test]
fn victim_waits() {
    victim(Builder::new().spurious(2), waits);
}

#[test]
fn victim_samples() {
    victim(Builder::new().sample(500, 3), || swaps(panics));
}

/// Two checks at one place: each has a file of its own.
#[test]
fn victim_loops() {
    for add in [0, 1] {
        let f: fn() = if add == 0 { || swaps(|| ()) } else { || swaps(panics) };
        victim(Builder::new(), f);
    }
}

/// One with little time, unless it is told how much.
#[test]
fn victim_timed() {
    let time = std::env::var(TIME).ok().and_then(|text| text.parse().ok());
    victim(Builder::new().max_time(Duration::from_millis(time.unwrap_or(50))), || swaps(spins));
}

const VICTIMS: [&str; 7] = ["swaps", "panics", "keeps_going", "spins", "waits", "samples", "loops"];

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("selvedge-checkpoints-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Starts a victim that is kept here.
    fn start(&self, victim: &str, jobs: u32) -> Child {
        let mut command = self.command(victim);
        command.env("SELVEDGE_CHECKPOINT", &self.0).env("SELVEDGE_JOBS", jobs.to_string());
        command.spawn().unwrap()
    }

    fn command(&self, victim: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = format!("checkpoints::victim_{victim}");
        command.args([&name, "--exact"]).env(REPORT, self.0.join("report"));
        command.env_remove("SELVEDGE_CHECKPOINT").env_remove("RUST_BACKTRACE");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The report that was written last.
    fn report(&self) -> String {
        std::fs::read_to_string(self.0.join("report")).expect("there is a report")
    }

    /// The checkpoints, and when they were written.
    fn kept(&self) -> Vec<(PathBuf, SystemTime)> {
        let entries = std::fs::read_dir(&self.0).unwrap().flatten();
        let is_kept = |path: &Path| path.extension().is_some_and(|ending| ending == "ckpt");
        let files = entries.map(|entry| entry.path()).filter(|path| is_kept(path));
        files
            .filter_map(|path| Some((path.clone(), path.metadata().ok()?.modified().ok()?)))
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ends(child: Child) -> Output {
    child.wait_with_output().unwrap()
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

/// Runs a victim, kills it so often, and lets it come to its end. Returns how often it was killed.
fn killed(folder: &Folder, victim: &str, kills: u32, waits: &mut Waits) -> u32 {
    let mut child = folder.start(victim, 1);
    for nth in 0..kills {
        let before = folder.kept();
        while folder.kept() == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(waits.next(40));
        if child.try_wait().unwrap().is_some() {
            assert!(ends(child).status.success());
            return nth;
        }
        child.kill().unwrap();
        if ends(child).status.success() {
            return nth;
        }
        child = folder.start(victim, 1 + nth % 2);
    }
    let output = ends(child);
    assert!(output.status.success(), "{output:?}");
    kills
}

#[test]
fn a_test_goes_on() {
    let kills = std::env::var("SELVEDGE_KILLS").ok().and_then(|text| text.parse().ok());
    let kills = kills.unwrap_or(if is_campaign() { 16_u32 } else { 6 });
    let folder = Folder::new("goes-on");
    let whole = |victim: &&str| {
        let output = ends(folder.command(victim).spawn().unwrap());
        assert!(output.status.success(), "{output:?}");
        folder.report()
    };
    let wholes: Vec<String> = VICTIMS.iter().map(whole).collect();
    let mut waits = Waits(kills.into());
    let (mut times, mut nth) = (0, 0);
    // A search that comes to its end before it is killed counts for nothing, and there may be machines that quick.
    while times < kills && nth < 3 * VICTIMS.len() + kills as usize {
        let victim = VICTIMS[nth % VICTIMS.len()];
        times += killed(&folder, victim, 1 + nth as u32 % 3, &mut waits);
        assert_eq!(folder.report(), wholes[nth % VICTIMS.len()], "{victim}");
        assert_eq!(folder.kept(), [], "they are not needed any more");
        nth += 1;
    }
    assert!(times > 0, "it was killed");
}

/// What went wrong in a victim.
fn refusal(folder: &Folder, victim: &str) -> String {
    let output = ends(folder.start(victim, 1));
    assert!(!output.status.success(), "it is refused");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_does_not_belong_to_a_test_is_refused() {
    let folder = Folder::new("refused");
    assert!(ends(folder.start("timed", 1)).status.success());
    let report = folder.report();
    assert!(report.contains("the time limit was reached"), "{report}");
    let [(path, _)] = &folder.kept()[..] else { panic!("one is kept: {:?}", folder.kept()) };
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    assert!(name.starts_with("checkpoints--victim_timed-checkpoints.rs-"), "{name}");
    let text = std::fs::read_to_string(path).unwrap();
    let build = text.lines().find(|line| line.contains("\"build\"")).unwrap();
    let other = text.replace(build, "\"build\": \"1 bytes\",");
    for (text, why) in [
        (other, "was written by another build of this test"),
        (text.replace("victim_timed", "victim_other"), "belongs to another check"),
        (text.replace("spin_turns: 100", "spin_turns: 101"), "a check with other options"),
        (text.replace("\"before\": 0", "\"before\": 1"), "belongs to another check"),
        (text.replace("\"version\": \"", "\"version\": \"9"), "was written by version 9"),
        (text[..text.len() / 2].to_owned(), "is none"),
        (text.replacen("\"opening\": \"", "\"opening\": \" ", 1), "does not do what it did"),
    ] {
        std::fs::write(path, &text).unwrap();
        let said = refusal(&folder, "timed");
        assert!(said.contains(why), "{why}: {said}");
        assert_eq!(std::fs::read_to_string(path).unwrap(), text, "it stays");
    }
    // With time enough it comes to its end.
    std::fs::write(path, &text).unwrap();
    let mut command = folder.command("timed");
    command.env("SELVEDGE_CHECKPOINT", &folder.0).env(TIME, "100000");
    assert!(ends(command.spawn().unwrap()).status.success());
    assert_eq!(folder.kept(), [], "it is not needed any more");
    let resumed = folder.report();
    assert!(ends(folder.command("spins").spawn().unwrap()).status.success());
    assert_eq!(resumed, folder.report());
}
