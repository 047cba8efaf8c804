//! `selvedge farm` with a real NATS server: the result is that of one machine, whatever happens to workers, submitter and
//! server. Skipped without the program `nats-server`; `SELVEDGE_NEED_NATS=1` makes that an error.

mod faults;
mod nats;
mod refusals;

use std::time::{Duration, Instant};

use self::nats::{Nats, Worker};
use crate::common::{DEADLOCK, Folder, LARGE, LOST, Run, normalised};

/// The result, without what depends on the time.
fn result(run: &Run) -> (Option<i32>, String) {
    let is_time = |line: &&str| line.trim_start().starts_with("\"seconds\"");
    let text: Vec<&str> = run.out.lines().filter(|line| !is_time(line)).collect();
    (run.code, normalised(&text.join("\n")))
}

#[test]
fn a_farm_shows_what_one_machine_shows() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("lost.sel", LOST);
    folder.write("deadlock.sel", DEADLOCK.as_bytes());
    let mut worker = Worker::start(&nats, &folder, "--jobs 2");
    for check in [
        "lost.sel",
        "lost.sel --keep-going",
        "lost.sel --const N=4 --keep-going --json",
        "lost.sel --const N=4 --races --keep-going",
        "lost.sel --const N=5 --keep-going --max-executions 300",
        "lost.sel --const N=3 --max-steps 4 --keep-going",
        "deadlock.sel",
        "lost.sel --quiet",
    ] {
        let alone = folder.run(&format!("check {check} -a parsimonious"));
        let farmed = folder.run(&format!("farm check {check} --nats {}", nats.url()));
        assert_eq!(result(&farmed), result(&alone), "{check}: {}", farmed.err);
        assert_eq!(farmed.err, alone.err, "{check}");
    }
    // What is finished is removed.
    folder.run(&format!("farm status --nats {}", nats.url())).exits(0).says("no jobs on");
    worker.signal("-TERM");
    worker.finish().exits(0).complains("worked on");
}

/// A program of several files travels as one: the folder in which a worker runs has none of them.
#[test]
fn imported_files_travel_with_the_job() {
    let Some(nats) = Nats::start("") else { return };
    let folder =
        Folder::with("main.sel", "import \"lib/tasks.sel\";\nthread t(i in 0..N) { task(i); }\n");
    std::fs::create_dir(folder.path().join("lib")).expect("a folder can be made");
    let tasks = b"import \"sizes.sel\";\nshared x = 0;\nproc task(i: int) { x = i; assert x != WRONG, \"wrong\"; }\n";
    folder.write("lib/tasks.sel", tasks);
    folder.write("lib/sizes.sel", b"const N = 3;\nconst WRONG = 0 - 1;\n");
    let elsewhere = Folder::new();
    let worker = Worker::start(&nats, &elsewhere, "--jobs 2");
    for constants in ["", "--const N=5", "--const WRONG=1 --const N=4 --keep-going --json"] {
        let alone = folder.run(&format!("check main.sel {constants} -a parsimonious --no-random"));
        let farmed = folder.run(&format!("farm check main.sel {constants} --nats {}", nats.url()));
        assert_eq!(result(&farmed), result(&alone), "{constants}: {}", farmed.err);
        assert_eq!(farmed.err, alone.err, "{constants}");
    }
    drop(worker);
}

#[test]
fn a_job_without_workers_waits_and_can_go_on() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("lost.sel", LOST);
    let farm = format!("farm check lost.sel --const N=4 --keep-going --nats {}", nats.url());
    let waiting = folder.spawn(&format!("{farm} --job waits"));
    nats.wait_for(&folder, |job| job["batches_waiting"].as_u64() == Some(1));
    nats::signal(&waiting, "-INT");
    let stopped = crate::common::finish(waiting).exits(3);
    stopped.says("inconclusive: interrupted").says("--keep-going").says("--job waits");
    let status = folder.run(&format!("farm status --nats {}", nats.url())).exits(0);
    status.says("waits\n").says("lost.sel").says("1 waiting, 0 at work").says("the last one was");
    let json = folder.run(&format!("farm status --json --nats {}", nats.url())).exits(0).json();
    assert_eq!(json["jobs"][0]["job"], "waits", "{json}");
    let alone = folder.run("check lost.sel --const N=4 --keep-going -a parsimonious");
    let worker = Worker::start(&nats, &folder, "--jobs 1 --job waits");
    let farmed = folder.run(&format!("{farm} --job waits"));
    assert_eq!(result(&farmed), result(&alone), "{}", farmed.err);
    drop(worker);
}

#[test]
fn a_worker_that_is_ended_hands_back_what_it_has() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("large.sel", LARGE);
    // The lease is longer than the test: what is not handed back does not come again in time.
    let farm = format!("farm check large.sel --nats {} --job ended --lease 10m", nats.url());
    let check = folder.spawn(&farm);
    for nth in 0..4_u64 {
        let mut worker = Worker::start(&nats, &folder, "--jobs 1");
        nats.wait_for(&folder, |job| job["batches_at_work"].as_u64() > Some(0));
        std::thread::sleep(Duration::from_millis(30 * nth));
        worker.signal("-TERM");
        worker.finish().exits(0);
        // The server counts a batch that was handed back until the next worker takes it: at most the last one. Those
        // that were not would add up.
        nats.wait_for(&folder, |job| job["batches_at_work"].as_u64() <= Some(1));
    }
    nats::signal(&check, "-INT");
    crate::common::finish(check).exits(3).says("inconclusive: interrupted");
}

#[test]
fn jobs_are_listed_and_removed() {
    let Some(nats) = Nats::start("") else { return };
    let folder = Folder::with("lost.sel", LOST);
    let url = nats.url();
    for job in ["one", "two"] {
        let farm = format!("farm check lost.sel --nats {url} --job {job} --time 300ms");
        folder.run(&farm).exits(3);
    }
    let status = folder.run(&format!("farm status --nats {url}")).exits(0);
    status.says("one\n").says("two\n");
    folder.run(&format!("farm clean one --nats {url}")).exits(0).says("removed the job one");
    let gone = folder.run(&format!("farm clean one --nats {url}")).exits(2);
    gone.complains("there is no job one on");
    folder.run(&format!("farm clean --all --nats {url}")).exits(0).says("removed the job two");
    folder.run(&format!("farm status --nats {url}")).exits(0).says("no jobs on");
    // A job that is at work.
    let check = folder.spawn(&format!("farm check lost.sel --nats {url} --job busy"));
    nats.wait_for(&folder, |job| job["submitter"].is_string());
    folder
        .run(&format!("farm clean busy --nats {url}"))
        .exits(2)
        .complains("the job busy has a submitter");
    let began = Instant::now();
    folder.run(&format!("farm clean busy --force --nats {url}")).exits(0);
    crate::common::finish(check).exits(2).complains("the job busy was removed from");
    assert!(began.elapsed() < Duration::from_secs(60), "the submitter ends soon");
}
