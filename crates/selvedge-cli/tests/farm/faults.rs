//! Workers that are killed while they hold units, submitters that are killed, a server that is restarted.

use std::path::Path;
use std::time::{Duration, Instant};

use super::nats::{self, Nats, PATIENCE, Worker};
use super::result;
use crate::common::{Folder, LARGE, LOST, Run, finish, late};

/// Ten programs with constants, large enough that faults come in the middle. Two of them end with a violation.
const PROGRAMS: &[(&str, &str)] = &[
    ("optimal-dpor/lastzero.sel", "--const N=12"),
    ("optimal-dpor/readers.sel", "--const N=14"),
    ("optimal-dpor/indexer.sel", "--const N=14"),
    ("optimal-dpor/alternate.sel", "--const N=5"),
    ("optimal-dpor/writers.sel", "--const N=7"),
    ("optimal-dpor/filesystem.sel", "--const N=18"),
    ("locks/philosophers.sel", "--const N=4 --keep-going"),
    ("quasi-optimal/mpat.sel", "--const K=4"),
    ("data-centric/sieve.sel", "--const N=6"),
    ("locks/reader-writer.sel", "--const R=4 --keep-going"),
];

#[test]
fn no_fault_shows_in_the_result() {
    let Some(mut nats) = Nats::start("") else { return };
    let folder = Folder::with("late.sel", late::IN_SEL);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let mut checks = vec!["late.sel".to_owned(), "late.sel --keep-going".to_owned()];
    for (name, options) in PROGRAMS {
        let file = name.replace('/', "-");
        let text = std::fs::read(source.join(name)).expect("a program can be read");
        folder.write(&file, &text);
        checks.push(format!("{file} {options}"));
    }
    let url = nats.url();
    let farm =
        |nth: usize| format!("farm check {} --nats {url} --lease 1s --job job-{nth}", checks[nth]);
    let start = |nth: usize| folder.spawn(&farm(nth));
    // One that does not end, so that there is always something to do.
    folder.write("large.sel", LARGE.as_bytes());
    let endless =
        folder.spawn(&format!("farm check large.sel --nats {} --lease 1s --job large", nats.url()));
    let endless = Worker::of(endless);
    let mut running: Vec<_> = (0..checks.len()).map(|nth| Some(start(nth))).collect();
    // Every other submitter is killed while nothing is done yet: none of them can have ended.
    wait_for(&nats, &folder, "jobs", checks.len() as u64 + 1, |jobs| jobs.len() as u64);
    for (nth, child) in running.iter_mut().enumerate().skip(1).step_by(2) {
        if let Some(child) = child {
            child.kill().expect("it can be killed");
        }
        let killed = child.replace(start(nth)).map(finish).and_then(|run| run.code);
        assert_eq!(killed, None, "a submitter ended without workers");
    }
    let worker = |nats: &Nats| Worker::start(nats, &folder, "--jobs 1");
    let mut workers: Vec<Worker> = (0..4).map(|_| worker(&nats)).collect();

    // Every worker is killed once, while all of them hold something.
    for nth in 0..workers.len() {
        wait_for(&nats, &folder, "batches at work", workers.len() as u64, |jobs| {
            jobs.iter().filter_map(|job| job["batches_at_work"].as_u64()).sum()
        });
        workers[nth].signal("-KILL");
        workers[nth] = worker(&nats);
        std::thread::sleep(Duration::from_millis(100 + 70 * nth as u64));
    }
    // Every submitter that still runs is killed: how many there are depends on the machine.
    for child in running.iter_mut().flatten() {
        if child.try_wait().expect("it can be asked").is_none() {
            child.kill().expect("it can be killed");
        }
    }
    let first: Vec<Run> =
        running.iter_mut().map(|child| finish(child.take().expect("it runs"))).collect();
    let mut again: Vec<_> =
        first.iter().enumerate().map(|(nth, run)| run.code.is_none().then(|| start(nth))).collect();
    std::thread::sleep(Duration::from_secs(1));
    nats.restart(Duration::from_millis(500));

    for (nth, (check, first)) in checks.iter().zip(first).enumerate() {
        let mut farmed = again[nth].take().map_or(first, finish);
        // On a busy machine a submitter may not have been connected when the server went: then it says so, and is started again.
        if farmed.err.contains("cannot be reached") {
            farmed = finish(start(nth));
        }
        let alone = folder.run(&format!("check {check} -a parsimonious"));
        assert_eq!(result(&farmed), result(&alone), "{check}: {}", farmed.err);
    }
    drop(endless);
}

/// Waits until the server has so many of something, counted over all jobs.
fn wait_for(
    nats: &Nats,
    folder: &Folder,
    what: &str,
    wanted: u64,
    count: impl Fn(&[serde_json::Value]) -> u64,
) {
    let began = Instant::now();
    loop {
        let status = folder.run(&format!("farm status --json --nats {}", nats.url())).exits(0);
        let json = status.json();
        let jobs = json["jobs"].as_array().cloned().unwrap_or_default();
        let all = count(&jobs);
        if all >= wanted {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "only {all} of {wanted} {what}: {json}");
    }
}

/// That the connection is gone is said after a few seconds, and not when an answer is overdue.
#[test]
fn a_server_that_goes_away_is_missed_soon() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("large.sel", LARGE);
    let check = folder.spawn(&format!("farm check large.sel --nats {} --job left", nats.url()));
    nats.wait_for(&folder, |job| job["batches_waiting"].as_u64() > Some(0));
    drop(nats);
    std::thread::sleep(Duration::from_secs(8));
    nats::signal(&check, "-INT");
    let began = Instant::now();
    finish(check).exits(3).complains("does not answer (no connection); trying again");
    assert!(began.elapsed() < Duration::from_secs(8), "what is asked to end does not wait");
}

/// A submitter that is killed while it removes its job leaves a part of it: the same command begins again.
#[test]
fn a_removal_that_was_interrupted() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("lost.sel", LOST);
    let farm =
        format!("farm check lost.sel --const N=4 --keep-going --nats {} --job half", nats.url());
    folder.run(&format!("{farm} --time 300ms")).exits(3);
    nats.remove_stream("selvedge-half-units");
    let worker = Worker::start(&nats, &folder, "--jobs 1");
    let alone = folder.run("check lost.sel --const N=4 --keep-going -a parsimonious");
    let farmed = folder.run(&farm);
    assert_eq!(result(&farmed), result(&alone), "{}", farmed.err);
    drop(worker);
}
