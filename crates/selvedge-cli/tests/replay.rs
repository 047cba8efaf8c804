//! `selvedge replay`: round trips, saved traces, step by step.

use crate::common::{DEADLOCK, Folder, LOCKED, LOST};

#[test]
fn the_printed_command_shows_the_same() {
    for text in [LOST, DEADLOCK] {
        let folder = Folder::with("p.sel", text);
        let check = folder.run("check p.sel").exits(1);
        let command = check.out.lines().find_map(|line| line.strip_prefix("replay: selvedge "));
        let replay = folder.run(command.expect("there is a command")).exits(1);
        let verdict = check.out.lines().next().expect("there is a verdict");
        let replay = replay.says(verdict);
        let execution = |out: &str| {
            let rows = out.lines().skip_while(|line| !line.starts_with("the execution: "));
            rows.take_while(|line| !line.starts_with("replay") && !line.starts_with("violated"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(execution(&check.out), execution(&replay.out));
    }
}

#[test]
fn executions_without_a_violation() {
    let folder = Folder::with("lost.sel", LOST);
    folder.run("replay lost.sel --schedule 0@2.1@2").exits(0).says("no violation: every thread");
    let run = folder.run("replay lost.sel --schedule 0").exits(0);
    run.says("no violation so far").says("2 threads can continue").says("next: ");
    let folder = Folder::with("locked.sel", LOCKED);
    folder.run("replay locked.sel --schedule 0@3.0.1@4").exits(0).says("every thread finished");
}

#[test]
fn schedules_that_cannot_be_followed() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("replay lost.sel --schedule 0@3.1").exits(2);
    let run = run.complains("step 3 of the schedule").complains("(inc[0]) has finished");
    run.complains("selvedge check lost.sel");
    folder.run("replay lost.sel --schedule 9").exits(2).complains("step 1 of the schedule");
    folder.run("replay lost.sel --schedule 0:1").exits(2).complains("no alternative 1");
    folder.run("replay lost.sel --schedule 0.x").exits(2).complains("`x` is not a step");
    folder.run("replay lost.sel").exits(2).complains("--schedule");
    folder.run("replay --schedule 0").exits(2).complains("<FILE>");
    let folder = Folder::with("locked.sel", LOCKED);
    folder.run("replay locked.sel --schedule 0.1").exits(2).complains("held by inc[0]");
}

#[test]
fn saved_traces() {
    let folder = Folder::with("lost.sel", LOST);
    folder.run("check lost.sel --const N=3 --save-trace t.json").exits(1);
    let run = folder.run("replay --trace t.json").exits(1).says("violated: ");
    assert_eq!(run.err, "");
    folder.run("replay lost.sel --trace t.json --json").exits(1);

    folder.write("lost.sel", format!("{LOST}// changed\n").as_bytes());
    folder.run("replay --trace t.json").exits(1).complains("has changed since the trace was saved");

    folder.run("check lost.sel --races --save-trace race.json").exits(1).says("data race");
    folder.run("replay --trace race.json").exits(1).says("violated: data race");

    folder.write("locked.sel", LOCKED.as_bytes());
    let run = folder.run("check locked.sel --save-trace none.json").exits(0);
    run.complains("no trace is saved");
    folder.run("replay --trace none.json").exits(2).complains("no such file");
    folder.run("replay --trace lost.sel").exits(2).complains("not a saved trace");
    let other = folder.read("t.json").replace("selvedge-trace-1", "selvedge-trace-9");
    folder.write("other.json", other.as_bytes());
    folder.run("replay --trace other.json").exits(2).complains("selvedge-trace-9");
    folder.run("check lost.sel --save-trace no/such/folder.json").exits(1).complains("the trace");
    folder.run("replay --trace t.json --schedule 0").exits(2).complains("cannot be used");
}

#[test]
fn one_step_at_a_time() {
    let folder = Folder::with("lost.sel", LOST);
    let command = "replay lost.sel --schedule 0.1@2.0 --step";
    let run = folder.run_with(command, b"\n\nq\n").exits(1);
    let run = run.says("step 1 of 4: inc[0], line 4: read x → 0\n").says("step 2 of 4: inc[1]");
    assert!(!run.out.contains("step 3"), "{}", run.out);
    for input in ["", "\nc\n", "\n\n\n\n", "\n\n\n\n\n\n\n\n"] {
        let run = folder.run_with(command, input.as_bytes()).exits(1);
        let run = run.says("step 4 of 4: inc[0], line 5: x = 1\n").says("violated: assertion");
        assert!(run.out.contains("  inc[0]  finished\n  inc[1]  finished\n"), "{}", run.out);
    }
}

#[test]
fn json() {
    let folder = Folder::with("lost.sel", LOST);
    let json = folder.run("replay lost.sel --schedule 0.1@2.0 --json").exits(1).json();
    assert_eq!(json["ending"], "complete");
    assert_eq!(json["threads"], serde_json::json!(["inc[0]", "inc[1]"]));
    assert_eq!(json["steps"].as_array().map(Vec::len), Some(4));
    assert_eq!(json["violations"][0]["kind"], "finally");
    assert_eq!(json["context_switches"], 2);
    let json = folder.run("replay lost.sel --schedule 0 --json").exits(0).json();
    assert_eq!(json["ending"], serde_json::Value::Null);
    assert_eq!(json["waiting"][1]["status"], "enabled");
    assert_eq!(json["violations"], serde_json::json!([]));
}
