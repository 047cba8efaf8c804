//! `--algorithm states` on the command line: several threads, hashes instead of states, and limits that do not apply.

use crate::common::{Folder, normalised};

/// Two of three threads can be inside at a time.
const ROOM: &str = "shared atomic inside = 0;
shared atomic free = true;
always inside <= 1, \"two threads are inside\";
thread p(i in 0..3) {
    loop {
        while !free { }
        free = false;
        fetch_add(inside, 1);
        fetch_add(inside, -1);
        free = true;
    }
}
";

/// A lock that is right, and a promise that is not kept under weak fairness.
const LOCK: &str = "mutex m;
shared atomic inside = 0;
shared atomic served = false;
always inside <= 1;
eventually served;
thread p(i in 0..3) {
    loop {
        lock m;
        fetch_add(inside, 1);
        if i == 2 { served = true; }
        fetch_add(inside, -1);
        unlock m;
    }
}
";

/// The output without times.
fn timeless(text: &str) -> String {
    let is_time = |line: &&str| line.trim_start().starts_with("\"seconds\":");
    normalised(text).lines().filter(|line| !is_time(line)).collect::<Vec<_>>().join("\n")
}

/// Text and JSON are the same for every number of threads, but for the time.
#[test]
fn the_report_does_not_depend_on_the_number_of_threads() {
    let folder = Folder::with("room.sel", ROOM);
    folder.write("lock.sel", LOCK.as_bytes());
    for (check, code) in [
        ("check room.sel --algorithm states", 1),
        ("check room.sel --algorithm states --keep-going --unreduced --json", 1),
        ("check lock.sel --algorithm states --fairness strong", 0),
        ("check lock.sel --algorithm states --json", 1),
        ("check lock.sel --algorithm states --hash-compact --fairness strong", 3),
    ] {
        let alone = timeless(&folder.run(check).exits(code).out);
        for jobs in [2, 3, 8] {
            let run = folder.run(&format!("{check} --jobs {jobs}")).exits(code);
            assert_eq!(timeless(&run.out), alone, "{check} --jobs {jobs}");
            assert_eq!(run.err, "", "{check} --jobs {jobs}");
        }
    }
    // What is promised is decided by states, with all threads.
    folder.run("check lock.sel --jobs 2").exits(1).says("search     auto: states");
}

#[test]
fn threads_that_are_spawned_are_explored_by_one() {
    let text = "shared x = 0; proc add(by: int) { fetch_add(x, by); }
        thread a { spawn add(1); spawn add(2); }";
    let folder = Folder::with("spawns.sel", text);
    let run = folder.run("check spawns.sel --algorithm states --jobs 2").exits(0);
    assert!(run.err.contains("runs in one thread, and not in 2"), "{}", run.err);
    assert_eq!(folder.run("check spawns.sel --algorithm states").exits(0).err, "");
}

#[test]
fn hashes_prove_nothing() {
    let folder = Folder::with("lock.sel", &LOCK.replace("eventually served;", ""));
    let run = folder.run("check lock.sel --algorithm states --hash-compact").exits(3);
    let run = run.says("inconclusive: --hash-compact keeps 64 bits of each state");
    run.says("is about ");
    folder.write("room.sel", ROOM.as_bytes());
    let run = folder.run("check room.sel --algorithm states --hash-compact").exits(1);
    run.says("two threads are inside").says("may not be the shortest");
    let refused = folder.run("check room.sel --hash-compact").exits(2);
    assert!(refused.err.contains("--hash-compact only applies to `states`"), "{}", refused.err);
    folder.run("check room.sel --memory tso --hash-compact").exits(2);
}

#[test]
fn steps_are_not_limited() {
    let folder = Folder::with("room.sel", ROOM);
    let refused = folder.run("check room.sel --algorithm states --max-steps 100").exits(2);
    assert!(refused.err.contains("--max-steps does not apply to `states`"), "{}", refused.err);
}

/// What was not decided is not counted as kept, and a lasso is not said to be the shortest.
#[test]
fn promises_of_an_incomplete_search() {
    let folder = Folder::with("lock.sel", LOCK);
    let run = folder.run("check lock.sel --algorithm states --fairness strong --hash-compact");
    run.exits(3).says("0 of 1 broken, fairness: strong; whether others are kept is not known");
    let run = folder.run("check lock.sel --algorithm states").exits(1);
    run.says("neither the steps before the cycle nor the cycle");
}
