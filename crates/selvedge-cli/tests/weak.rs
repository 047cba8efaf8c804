//! `--memory`: checks, replays, saved traces, what is refused.

use serde_json::{Value, json};

use crate::common::Folder;

const MESSAGE: &[u8] = b"shared atomic data = 0;
shared atomic flag = 0;
thread writer { store(data, 1, relaxed); store(flag, 1, relaxed); }
thread reader {
    let ready = load(flag, acquire);
    let seen = load(data, relaxed);
    assert ready == 0 || seen == 1;
}
";

fn folder() -> Folder {
    let folder = Folder::with("mp.sel", std::str::from_utf8(MESSAGE).expect("it is text"));
    folder
        .write("blocks.sel", b"shared x = 0; shared y = 0; thread t { atomic { x = 1; y = 1; } }");
    folder
}

#[test]
fn the_verdict_depends_on_the_model() {
    let folder = folder();
    for model in ["sc", "tso"] {
        let run = folder.run(&format!("check mp.sel --memory {model}")).exits(0);
        run.says(&format!("no violation in 3 executions under {model}"));
    }
    for model in ["rc11", "c++20"] {
        let run = folder.run(&format!("check mp.sel --memory {model}")).exits(1);
        run.says(&format!("under {model}"))
            .says("does not see data = 1 of step 1")
            .says("`flag` was written with Relaxed")
            .says("use Release");
    }
}

/// The leaves of the tree are the executions that were counted, by kind, and each can be replayed and ends as the tree says.
#[test]
fn the_tree_has_every_execution() {
    let folder = folder();
    let locks = "mutex m; mutex n; shared atomic x = 0;
thread a { lock m; lock n; x = 1; unlock n; unlock m; }
thread b { lock n; lock m; unlock m; unlock n; }
thread c { let v = load(x, relaxed); assume v == 0; store(x, 2, relaxed); }";
    folder.write("locks.sel", locks.as_bytes());
    let waits = "shared atomic x = 0; shared atomic y = 0;
thread a { await x == 1; store(y, 1, relaxed); }
thread b { store(x, 1, relaxed); store(x, 2, relaxed); }
thread c { let v = load(y, relaxed); let w = choose(0..2); assert v == 0 || w == 0; }";
    folder.write("waits.sel", waits.as_bytes());
    for program in ["mp.sel", "locks.sel", "waits.sel"] {
        for memory in ["sc", "tso", "rc11", "c++20"] {
            for more in ["--keep-going", "--keep-going --max-steps 4", "--max-executions 2", ""] {
                let command = format!("check {program} --memory {memory} --json --tree {more}");
                let json = folder.run(&command).json();
                let (tree, counts) = (&json["tree"], &json["executions"]);
                let leaves = leaves(tree);
                let ended = |kind: &str| leaves.iter().filter(|(_, how)| how == kind).count();
                for kind in ["redundant", "cut", "blocked"] {
                    assert_eq!(counts[kind], ended(kind), "{kind}: {command}");
                }
                let maximal =
                    ["complete", "deadlocked"].iter().filter_map(|kind| counts[kind].as_u64());
                let shown = ended("complete") + ended("deadlocked") + ended("violated");
                assert_eq!(maximal.sum::<u64>(), shown as u64, "{command}");
                let first = tree["first_violation"].as_u64();
                assert_eq!(first.is_some(), json["verdict"] == "violated", "{command}");
                if more != "--keep-going" {
                    continue;
                }
                for (schedule, how) in leaves.iter().filter(|(_, how)| how != "redundant") {
                    let replay =
                        format!("replay {program} --memory {memory} --schedule {schedule} --json");
                    let is_violated = folder.run(&replay).json()["violations"] != json!([]);
                    assert_eq!(is_violated, how == "violated", "{replay}: {how}");
                }
            }
        }
    }
}

/// The executions of a tree, each with its schedule and how it ended.
fn leaves(tree: &Value) -> Vec<(String, String)> {
    let list = |field: &str| tree[field].as_array().expect("a list").clone();
    let (parents, steps, endings) = (list("parent"), list("steps"), list("ending"));
    let mut found = Vec::new();
    for (leaf, how) in endings.iter().enumerate() {
        let Some(how) = how.as_str() else { continue };
        let mut path = Vec::new();
        let mut node = leaf;
        loop {
            path.extend(steps[node].as_str().filter(|steps| !steps.is_empty()));
            if node == 0 {
                break;
            }
            node = parents[node].as_u64().expect("a number") as usize;
        }
        path.reverse();
        found.push((path.join("."), how.to_owned()));
    }
    found
}

/// What is to be done about a limit is possible under a memory model.
#[test]
fn advice_applies_to_memory_models() {
    let long = "shared atomic x = 0; thread t(i in 0..9) { store(x, i, relaxed); x += 1; }";
    let folder = Folder::with("long.sel", long);
    for (limit, next) in
        [("--time 100ms", "--memory sc or tso"), ("--max-steps 3", "--max-steps 30")]
    {
        let run = folder.run(&format!("check long.sel --memory rc11 {limit}")).exits(3).says(next);
        for refused in ["--preemptions", "--sample", "--algorithm"] {
            assert!(!run.out.contains(refused), "{}", run.out);
        }
    }
}

/// An `await` that is false and reads nothing shared is never left.
#[test]
fn awaits_of_nothing_shared() {
    let blocked = "shared x = 0; thread t { await false; assert false; }";
    let at_the_end = "shared x = 0; thread t { await false; }";
    let after_a_read = "shared atomic x = 0; thread t { let v = x; await v == 1; assert false; }";
    let short = "shared atomic x = 0; thread t { let v = x; await v == 1 && x == 0; }";
    let block = "shared atomic x = 0; thread t { let v = x; atomic { await v == 1; x = 5; } assert x == 0; }";
    for text in [blocked, at_the_end, after_a_read, short, block] {
        let folder = Folder::with("await.sel", text);
        for options in ["", "--memory sc", "--memory tso", "--memory rc11"] {
            let run = folder.run(&format!("check await.sel {options}")).exits(1);
            run.says("deadlock: t is blocked");
        }
    }
    let fine = "shared atomic x = 0; thread t { let v = x; atomic { await v == 0; x = 5; } assert x == 5; }";
    let folder = Folder::with("fine.sel", fine);
    folder.run("check fine.sel --memory rc11").exits(0);
}

/// A thread that only other executions spawn has no number in this one.
#[test]
fn threads_that_are_not_spawned_in_every_execution() {
    let text = "shared atomic x = 0; proc w() { assume x == 0; } proc v() { skip; } \
                thread t0 { let h = spawn w(); join h; spawn v(); } \
                thread t1 { assert x == 0; } thread t2 { x = 2; }";
    let folder = Folder::with("spawned.sel", text);
    for model in ["sc", "tso", "rc11"] {
        let run = folder.run(&format!("check spawned.sel --memory {model}")).exits(1);
        run.says("assertion `x == 0` is false (x = 2)");
    }
}

#[test]
fn a_violation_can_be_replayed() {
    let folder = folder();
    folder.run("check mp.sel --memory rc11 --save-trace t.json -q").exits(1);
    folder.run("replay --trace t.json").exits(1).says("does not see data = 1 of step 1");
    folder.run("replay mp.sel --memory rc11 --schedule 0@2.1.1:1").exits(1).says("assertion");
    folder
        .run("replay mp.sel --memory rc11 --schedule 0@2.1@2")
        .exits(0)
        .says("every thread finished");
    let run = folder.run("replay mp.sel --memory sc --schedule 0@2.1.1:1").exits(2);
    run.complains("step 4 of the schedule is not possible under sc");
}

#[test]
fn json_names_the_model_and_all_executions() {
    let json = folder().run("check mp.sel --memory rc11 --keep-going --json").exits(1).json();
    assert_eq!(json["algorithm"], "graph");
    assert_eq!(json["executions"]["complete"], 4);
    assert!(json["facts"]["memory model"].as_str().is_some_and(|it| it.starts_with("rc11")));
    assert_eq!(json["violations"].as_array().map(Vec::len), Some(1));
    // The last step reads `data`, and not what the first one wrote.
    let trace = json["violations"][0]["trace"].as_array().expect("steps");
    let writes =
        |step: &Value| step["text"].as_str().is_some_and(|it| it.starts_with("store(data"));
    let write = trace.iter().position(writes).expect("it is there") + 1;
    let last = trace.last().expect("a step");
    assert_eq!((&last["missed"], &last["accesses"][0]["read"]), (&json!([write]), &json!("0")));
    assert!(trace.iter().rev().skip(1).all(|step| step["missed"].is_null()), "{trace:#?}");
}

/// Who holds a lock is known, and the steps that took what threads wait for.
#[test]
fn a_deadlock_names_the_steps_that_took_the_locks() {
    let text = "mutex a; mutex b; thread p { lock a { lock b { skip; } } } thread q { lock b { lock a { skip; } } }";
    let json =
        Folder::with("ab.sel", text).run("check ab.sel --memory rc11 --json").exits(1).json();
    let found = &json["violations"][0];
    let waiting = found["waiting"].as_array().expect("threads");
    assert_eq!(waiting.len(), 2);
    for thread in waiting {
        let holder = thread["holder"].as_u64().expect("a step") as usize;
        let taken = &found["trace"][holder - 1];
        assert_eq!(taken["accesses"][0]["object"], thread["object"]);
        assert_ne!(taken["thread"], thread["thread"]);
        let held = format!("held by {}", taken["name"].as_str().expect("a name"));
        assert_eq!(taken["accesses"][0]["wrote"], json!(held));
    }
}

#[test]
fn json_names_the_steps_of_a_data_race() {
    let folder = Folder::with("race.sel", "shared x = 0; thread a { x = 1; } thread b { x = 2; }");
    let json = folder.run("check race.sel --memory rc11 --json").exits(1).json();
    assert_eq!(json["violations"][0]["kind"], "data-race");
    assert_eq!(json["violations"][0]["race"], serde_json::json!([1, 2]));
}

#[test]
fn condition_variables() {
    let text = "shared atomic ready = 0; shared data = 0; mutex m; cond c;
        thread w { lock m; while load(ready, relaxed) == 0 { wait(c, m); } assert data == 1; unlock m; }
        thread s { lock m; data = 1; store(ready, 1, relaxed); signal(c); unlock m; }";
    let folder = Folder::with("right.sel", text);
    folder.write("wrong.sel", text.replace("data == 1;", "data == 2;").as_bytes());
    folder.write("never.sel", text.replace("signal(c); ", "").as_bytes());
    for model in ["sc", "tso", "rc11"] {
        let check = |file: &str| folder.run(&format!("check {file}.sel --memory {model}"));
        check("right").exits(0).says(&format!("no violation in 2 executions under {model}"));
        check("wrong").exits(1).says("assertion `data == 2` is false (data = 1)");
        check("never").exits(1).says("deadlock: w is blocked");
    }
}

#[test]
fn limits_make_it_inconclusive() {
    let folder = folder();
    folder
        .run("check mp.sel --memory sc --max-executions 1")
        .exits(3)
        .says("stopped after 1 execution");
    folder.run("check mp.sel --memory sc --max-steps 2").exits(3).says("cut");
}

#[test]
fn what_has_no_meaning_is_refused() {
    let folder = folder();
    let run = folder.run("check blocks.sel --memory rc11").exits(2);
    run.complains("an atomic block accesses `x` and `y` in one step").complains("blocks.sel:1:40");
    for (option, word) in [
        ("--algorithm source", "--algorithm"),
        ("--sample 3", "--sample"),
        ("--preemptions 1", "--preemptions"),
        ("--k 2", "--k"),
    ] {
        let run = folder.run(&format!("check mp.sel --memory rc11 {option}")).exits(2);
        run.complains(&format!("{word} does not apply to --memory"));
    }
    folder
        .run("check mp.sel --memory arm")
        .exits(2)
        .complains("a memory model is one of sc, tso, c++20, rc11");
}

#[test]
fn algorithms_are_compared_with_graphs() {
    let run = folder().run("compare mp.sel --algorithms optimal --memory sc,rc11").exits(1);
    run.says("graph --memory sc").says("graph --memory rc11").says("check mp.sel --memory rc11");
}
