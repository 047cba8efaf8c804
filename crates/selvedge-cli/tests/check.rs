//! `selvedge check`: verdicts, exit codes, JSON.

use serde_json::json;

use crate::common::{ASSUME, DEADLOCK, Folder, LARGE, LOCKED, LOST, SPIN, finish, normalised};
use crate::pages::data_of;

#[test]
fn a_violation_with_its_execution() {
    let run = Folder::with("lost.sel", LOST).run("check lost.sel").exits(1);
    let expected = "\
violated: assertion `x == N` is false (x = 1)
 --> lost.sel:7:18
  |
7 | finally { assert x == N; }
  |                  ^^^^^^

the execution: 4 steps, 2 context switches

step  line    inc[0]        inc[1]
   1     4                  read x → 0
   2     4  ▸ read x → 0  │
   3     5    x = 1       │
   4     5                ▸ x = 1

replay: selvedge replay lost.sel --schedule 1.0@2.1

  checked    assertions, deadlocks; not checked: data races (--races)
";
    assert_eq!(run.out.split("  executions").next(), Some(expected), "{}", run.out);
    assert_eq!(run.err, "");
}

#[test]
fn a_proof_says_what_it_covers() {
    let run = Folder::with("locked.sel", LOCKED).run("check locked.sel").exits(0);
    let expected = "\
verified: no violation in 2 executions
  covers     assertions, deadlocks; not covered: data races (--races)
  executions 2 complete, 0 deadlocked, 0 blocked by assume, 0 redundant
  steps      16 in all, 8 in the longest execution; 2 threads
  search     auto: parsimonious
  time       ";
    assert!(run.out.starts_with(expected), "{}", run.out);
    let time = run.out.lines().last().expect("there is a last line");
    assert_eq!(normalised(time), "time #\n");
    assert_eq!(run.err, "");
}

#[test]
fn warnings_are_shown_beside_the_verdict() {
    let folder = Folder::with("w.sel", "shared x = 0; shared y = 0; thread t { x = 1; }");
    let run = folder.run("check w.sel").exits(0);
    assert!(run.err.starts_with("warning: `y` is never used\n --> w.sel:1:22\n"), "{}", run.err);
    assert!(run.out.starts_with("verified: "), "{}", run.out);
}

/// Not those that only restore the state from which a search continues.
#[test]
fn steps_are_those_of_executions() {
    let text = "shared x = 0; shared y = 0; thread a { x = 1; y = 1; } thread b { x = 2; y = 2; } thread c { x = y; }";
    let folder = Folder::with("three.sel", text);
    for algorithm in ["optimal", "source", "parsimonious", "quasi"] {
        let run = folder.run(&format!("check three.sel --algorithm {algorithm} --json"));
        let json = run.exits(0).json();
        let number = |value: &serde_json::Value| value.as_u64().expect("it is a number");
        let executions =
            number(&json["executions"]["complete"]) + number(&json["executions"]["redundant"]);
        let (steps, longest) = (number(&json["steps"]), number(&json["longest"]));
        assert!(longest == 6 && steps <= executions * longest, "{algorithm}: {steps} steps");
    }
}

#[test]
fn every_algorithm_agrees() {
    let folder = Folder::with("lost.sel", LOST);
    folder.write("locked.sel", LOCKED.as_bytes());
    for algorithm in selvedge_explore::Algorithm::ALL {
        let name = algorithm.info().name;
        folder.run(&format!("check lost.sel --algorithm {name}")).exits(1).says("violated: ");
        folder.run(&format!("check locked.sel --algorithm {name}")).exits(0).says("verified: ");
    }
}

/// Steps that wait and steps with alternatives are no exception.
#[test]
fn parsimonious_proves_what_waits_and_what_chooses() {
    let waits = "shared x = 0;\nthread a { x = 1; }\nthread b { await x == 1; }\n";
    let folder = Folder::with("waits.sel", waits);
    folder.run("check waits.sel --algorithm parsimonious").exits(0).says("verified: ");
    folder.write("chooses.sel", b"shared x = 0;\nthread a { x = choose(0..2); }\n");
    folder.run("check chooses.sel --algorithm parsimonious").exits(0).says("verified: ");
}

#[test]
fn a_wrong_constraint_is_a_violation() {
    let wrong = "shared x = 0;\nindependent(p, q) if x == 0;\n\
                 thread a { atomic p { x = 1; } }\nthread b { atomic q { x = 2; } }\n";
    let folder = Folder::with("wrong.sel", wrong);
    folder.run("check wrong.sel --algorithm constrained").exits(0);
    let run = folder.run("check wrong.sel --algorithm constrained --check-constraints").exits(1);
    let run = run.says("is wrong: `p` and `q` do not commute here").says("wrong.sel:2:1");
    run.says("before: x = 0").says("a, then b: x = 2").says("b, then a: x = 1");
    folder.run("check wrong.sel --check-constraints").exits(2);
}

#[test]
fn a_deadlock_names_everyone() {
    let run = Folder::with("d.sel", DEADLOCK).run("check d.sel").exits(1);
    let run = run.says("violated: deadlock: 2 threads are blocked\n");
    let run =
        run.says("first waits for b, held by second").says("second waits for a, held by first");
    let run = run.says("cycle: ").says("first waits here").says("second waits here");
    run.says(" end     3").says(" 1 deadlocked");
}

#[test]
fn constants_from_outside() {
    let folder = Folder::with("locked.sel", LOCKED);
    folder.run("check locked.sel --const N=3").exits(0).says("no violation in 6 executions");
    folder.run("check locked.sel --const N=true").exits(2).complains("`N` is an integer");
    folder.run("check locked.sel --const M=3").exits(2).complains("no constant `M`");
    folder.run("check locked.sel --const N=99999999999").exits(2).complains("99999999999");
    folder.run("check locked.sel --const N").exits(2).complains("--const N=5");
    folder.run("check locked.sel --const N=1 --const N=2").exits(2).complains("given twice");
    folder.write("lost.sel", LOST.as_bytes());
    let run = folder.run("check lost.sel --const N=3").exits(1);
    run.says("replay: selvedge replay lost.sel --const N=3 --schedule ");
}

#[test]
fn all_violations() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("check lost.sel --const N=3 --keep-going").exits(1);
    let run = run.says("violated: 2 different violations\n").says("\n1 of 2: assertion");
    run.says("(x = 1)").says("(x = 2)");
}

#[test]
fn limits_never_look_like_success() {
    let folder = Folder::with("spin.sel", SPIN);
    let run = folder.run("check spin.sel --max-steps 50").exits(3);
    let run = run.says("inconclusive: executions were cut after 50 steps\n");
    run.says("in a model write `await …`").says("--max-steps 500\n").says(" cut\n");

    folder.write("locked.sel", LOCKED.as_bytes());
    let run = folder.run("check locked.sel --max-executions 1").exits(3);
    run.says("inconclusive: stopped after 1 execution\n").says("--max-executions 10\n");

    folder.write("lost.sel", LOST.as_bytes());
    let run = folder.run("check lost.sel --preemptions 0").exits(3);
    run.says("0 preemptions").says("raise the bound: --preemptions 1");
    folder.run("check lost.sel --preemptions 1").exits(1);
    // A bound that an algorithm does not have is wrong usage, as data races are.
    for option in ["--preemptions 1", "--context-switches 1", "--races"] {
        let run = folder.run(&format!("check lost.sel -a data-centric {option}")).exits(2);
        run.complains("selvedge algorithms");
    }

    folder.write("large.sel", LARGE.as_bytes());
    let run = folder.run("check large.sel --time 200ms").exits(3);
    run.says("inconclusive: the time limit was reached\n").says("--time").says("--sample");
}

#[test]
fn quasi_has_options_of_its_own() {
    let folder = Folder::with("locked.sel", LOCKED);
    let run = folder.run("check locked.sel --algorithm quasi --k 2 --locks-only --stats").exits(0);
    let run = run.says("verified: ").says("search     quasi, --k 2, --locks-only\n");
    let run = run.says("\nstatistics\n").says("adding events").says("searching combs");
    // One event in each of two threads, both of which touch the lock.
    let count = |name: &str, number: u32| format!("\n  {name:45}{number}\n");
    let run = run.says(&count("thread trees", 2)).says(&count("object trees", 1));
    assert_eq!(run.out.matches(&count("their mean depth", 1)).count(), 2, "{}", run.out);
    let run = run.says(&count("events at most at one time", 2));
    run.says("distances of queries in thread trees: ");
    folder.run("check locked.sel --algorithm quasi --k optimal --skip-step 2").exits(0);
    let run = folder.run("check locked.sel --algorithm quasi --k 0").exits(2);
    run.complains("K is 1, 2, 3, … or `optimal`");
    let run = folder.run("check locked.sel --k 2").exits(2);
    run.complains("--k only applies to `quasi`").complains("add --algorithm quasi");

    folder.write("lost.sel", LOST.as_bytes());
    let run = folder.run("check lost.sel --algorithm quasi --locks-only").exits(3);
    let run = run.says("inconclusive: data race on `x`").says("(1) ").says("(2) ");
    run.says("leave it out, or show the race with --races");
    let run = folder.run("check lost.sel --algorithm quasi --locks-only --races").exits(1);
    run.says("violated: data race on `x`");
}

/// What an `await` or an atomic block does may depend on writes that do not count with `--locks-only`.
#[test]
fn locks_only_orders_blocks_with_all_accesses_or_refuses() {
    let never = "shared x = 0; thread a { x = 1; } daemon thread b { await x == 0; assert false; }";
    let later = "shared x = 0; semaphore s = 0; thread a { await x == 1; up(s); } \
                 thread b { if try_down(s) { skip; } x = 1; }";
    let block = "shared x = 0; thread a { x = 1; } thread b { atomic { assert x == 1; } }";
    for text in [never, later, block] {
        let folder = Folder::with("await.sel", text);
        let run = folder.run("check await.sel --algorithm quasi --locks-only").exits(3);
        run.says("an atomic block or an `await` accesses a variable that is not atomic");
        let atomic = text.replace("shared x", "shared atomic x");
        let folder = Folder::with("atomic.sel", &atomic);
        let code = if text == later { 0 } else { 1 };
        folder.run("check atomic.sel --algorithm quasi --locks-only").exits(code);
    }
    let invariant = "shared x = 0; always x == 0; thread a { x = 0; x = 2; } \
                     thread b { if x == 2 { x = 0; } x = x; }";
    let folder = Folder::with("always.sel", invariant);
    folder.run("check always.sel --algorithm quasi --locks-only --keep-going").exits(1);
}

#[test]
fn context_switches_are_bounded() {
    let folder = Folder::with("lost.sel", LOST);
    for algorithm in ["quasi", "optimal", "oracle"] {
        let command = format!("check lost.sel --algorithm {algorithm} --context-switches");
        let run = folder.run(&format!("{command} 1")).exits(3);
        run.says("1 context switches").says("raise the bound: --context-switches 2");
    }
    folder.run("check lost.sel --algorithm oracle --context-switches 3").exits(1);
}

#[test]
fn samples_prove_nothing_but_find_something() {
    let folder = Folder::with("lost.sel", LOST);
    folder.write("locked.sel", LOCKED.as_bytes());
    let run = folder.run("check locked.sel --sample 20").exits(3);
    run.says("inconclusive: 20 executions were sampled").says("uniform sample, --seed 0");
    let run = folder.run("check lost.sel --sample 1000 --pct 2 --seed 7").exits(1);
    run.says("violated: ").says("--pct 2 --seed 7");
    let twice: Vec<String> = (0..2)
        .map(|_| normalised(&folder.run("check lost.sel --sample 100 --seed 3 --keep-going").out))
        .collect();
    assert_eq!(twice[0], twice[1]);
    folder.run("check lost.sel --pct 2").exits(2).complains("--sample");
    folder.run("check lost.sel --sample 5 --algorithm sleep").exits(2).complains("cannot be used");
    folder.run("check lost.sel --sample 0").exits(2);
}

#[test]
fn nothing_was_checked_to_its_end() {
    let run = Folder::with("a.sel", ASSUME).run("check a.sel").exits(0);
    run.says(" 1 blocked by assume").says("note: no execution is complete");
}

#[test]
fn data_races_have_two_sides() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("check lost.sel --races").exits(1);
    let run = run.says("violated: ").says("data race").says("^ (1)").says("^ (2)");
    let replay = run.out.lines().find_map(|line| line.strip_prefix("replay: selvedge "));
    let replay = replay.expect("there is a command");
    assert!(replay.contains(" --races "), "{replay}");
    folder.run(replay).exits(1).says("data race").says("^ (1)").says("^ (2)");
    folder.write("locked.sel", LOCKED.as_bytes());
    folder
        .run("check locked.sel --races")
        .exits(0)
        .says("covers     assertions, deadlocks, data races\n");
}

#[test]
fn quiet_is_one_line() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("check lost.sel --quiet").exits(1);
    assert_eq!(run.out, "violated: assertion `x == N` is false (x = 1)\n");
}

#[test]
fn json_of_a_violation() {
    let folder = Folder::with("lost.sel", LOST);
    let json = folder.run("check lost.sel --json --const N=2").exits(1).json();
    assert_eq!(json["verdict"], "violated");
    assert_eq!(json["file"], "lost.sel");
    assert_eq!(json["algorithm"], "auto");
    assert_eq!(json["decision"]["explorer"], "parsimonious");
    assert_eq!(json["constants"]["N"], 2);
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    let covers = serde_json::json!({"assertions": true, "deadlocks": true, "data_races": false});
    assert_eq!(json["covers"], covers);
    assert!(json["seconds"].is_f64());
    for kind in ["complete", "deadlocked", "blocked", "redundant", "cut"] {
        assert!(json["executions"][kind].is_u64(), "{kind}");
    }
    let violation = &json["violations"][0];
    assert_eq!(violation["kind"], "finally");
    assert_eq!(violation["message"], "assertion `x == N` is false (x = 1)");
    let place = serde_json::json!({"file": "lost.sel", "line": 7, "column": 18, "length": 6});
    assert_eq!(violation["place"], place);
    assert_eq!(violation["places"], serde_json::json!([place]));
    let schedule = violation["schedule"].as_str().expect("a string");
    assert_eq!(schedule.parse::<selvedge_core::Schedule>().map(|parsed| parsed.steps.len()), Ok(4));
    let command = format!("selvedge replay lost.sel --const N=2 --schedule {schedule}");
    assert_eq!(violation["replay"], command);
    assert_eq!(violation["trace"].as_array().map(Vec::len), Some(4));
    assert_eq!(violation["trace"][0]["text"], "read x → 0");
    assert_eq!(violation["trace"][0]["place"]["line"], 4);
    assert_ne!(violation["trace"][0]["name"], violation["trace"][1]["name"]);
    assert_eq!(json["inconclusive"], serde_json::json!([]));
}

#[test]
fn json_of_a_limit() {
    let folder = Folder::with("locked.sel", LOCKED);
    let json = folder.run("check locked.sel --json --max-executions 1").exits(3).json();
    assert_eq!(json["verdict"], "inconclusive");
    assert_eq!(json["inconclusive"][0]["reason"], "executions");
}

#[test]
fn standard_input() {
    let folder = Folder::new();
    let run = folder.run_with("check -", LOST.as_bytes()).exits(1);
    run.says("--> <stdin>:7:18").says("replay: selvedge replay - --schedule ");
    folder.run_with("replay - --schedule 0.1@2.0", LOST.as_bytes()).exits(1).says("(x = 1)");
}

#[test]
fn colours_only_if_asked() {
    let folder = Folder::with("lost.sel", LOST);
    assert!(!folder.run("check lost.sel").out.contains('\u{1b}'));
    assert!(folder.run("check lost.sel --color always").out.contains('\u{1b}'));
    assert!(!folder.run("check lost.sel --color never").out.contains('\u{1b}'));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with("lost.sel", LOST);
    let mut child = folder.spawn("check lost.sel");
    drop(child.stdout.take());
    let run = finish(child).exits(1);
    assert_eq!(run.err, "");
}

#[cfg(unix)]
#[test]
fn ctrl_c_shows_what_was_found_so_far() {
    let folder = Folder::with("large.sel", LARGE);
    let child = folder.spawn("check large.sel");
    interrupt_soon(&child);
    let run = finish(child).exits(3);
    let run = run.says("inconclusive: interrupted\n").says(" complete, ");
    assert!(!run.out.contains("executions 0 complete"), "{}", run.out);

    let child = folder.spawn("check large.sel --json");
    interrupt_soon(&child);
    let json = finish(child).exits(3).json();
    assert_eq!(json["inconclusive"][0]["reason"], "interrupted");

    let child = folder.spawn("compare large.sel --time 1h");
    interrupt_soon(&child);
    finish(child).exits(3).says("interrupted: ");
}

#[cfg(unix)]
fn interrupt_soon(child: &std::process::Child) {
    std::thread::sleep(std::time::Duration::from_millis(500));
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill").args(["-INT", &id]).status();
    assert!(sent.is_ok_and(|status| status.success()));
}

#[test]
fn locks_can_be_left_unobserved() {
    let text = "mutex m;\nshared x = 0;\nthread t(i in 0..4) { lock m; x = i; unlock m; }\n";
    let folder = Folder::with("p.sel", text);
    let run = folder.run("check p.sel -a data-centric --unobserved-locks");
    assert!(run.out.starts_with("verified: no violation in 1 execution\n"), "{}", run.out);
    assert!(run.out.contains("assertions; not covered: deadlocks, data races"), "{}", run.out);
    assert!(run.out.contains("unobserved locks, exact"), "{}", run.out);
    let json = folder.run("check p.sel -a data-centric --unobserved-locks --json").json();
    assert_eq!(json["covers"]["deadlocks"], false);

    let run = folder.run("check p.sel --unobserved-locks");
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(run.err.contains("add --algorithm data-centric"), "{}", run.err);
    let run = folder.run("check p.sel -a data-centric --unobserved-locks --cycles refine");
    assert!(run.err.contains("leave out one of them"), "{}", run.err);
}

#[test]
fn what_cannot_be_treated_with_unobserved_locks_is_refused() {
    let folder = Folder::with(
        "p.sel",
        "semaphore s = 1;\nthread a { down(s); up(s); }\nthread b { down(s); up(s); }\n",
    );
    let run = folder.run("check p.sel -a data-centric --unobserved-locks");
    assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
    assert!(
        run.out.contains("does not support steps that wait for more than a lock"),
        "{}",
        run.out
    );
}

/// What a page draws: accesses with values, the order between threads and its reasons, alternatives.
#[test]
fn json_of_steps() {
    let folder = Folder::with("lost.sel", LOST);
    let json = folder.run("check lost.sel --json --races").exits(1).json();
    let violation = &json["violations"][0];
    let (trace, race) = (&violation["trace"], &violation["race"]);
    let access = |step: usize| trace[step]["accesses"][0].clone();
    assert_eq!(access(0), json!({"object": "x", "mode": "read", "read": "0"}));
    assert_eq!(access(1), json!({"object": "x", "mode": "write", "wrote": "1"}));
    assert_eq!(trace[0]["after"], json!([]));
    assert_eq!(violation["initial"], json!([{"object": "x", "value": "0"}]));
    let last = trace.as_array().expect("a list").len();
    assert_eq!(race[1], last, "the last step completes the race: {race}");
    let others = json!([{"thread": 1, "name": "inc[1]", "text": "read x"}]);
    assert_eq!(trace[0]["others"], others);
    assert_eq!(json["source"][0]["first"], 1);
    assert_eq!(json["source"][0]["lines"][1], "shared x = 0;");

    let replay = folder.run("replay lost.sel --schedule 0@2.1@2 --json").exits(0).json();
    let why = "reads what it wrote";
    assert_eq!(replay["steps"][2]["after"], json!([{"step": 2, "object": "x", "why": why}]));
    assert_eq!(replay["steps"][3]["others"], json!([]));
    assert_eq!(replay["steps"][3]["accesses"][0]["wrote"], "2");
}

#[test]
fn json_of_a_deadlock_says_who_holds_what() {
    let folder = Folder::with("deadlock.sel", DEADLOCK);
    let json = folder.run("check deadlock.sel --json").exits(1).json();
    let violation = &json["violations"][0];
    let takes = |object: &str| {
        let steps = violation["trace"].as_array().expect("a list").iter();
        let mut found =
            steps.enumerate().filter(|(_, step)| step["text"] == format!("lock {object}"));
        found.next().map(|(index, _)| index + 1).expect("it was taken")
    };
    for (waiting, object) in [(0, "b"), (1, "a")] {
        assert_eq!(violation["waiting"][waiting]["object"], object);
        assert_eq!(violation["waiting"][waiting]["holder"], takes(object));
    }
    assert_eq!(violation["race"], serde_json::Value::Null);
    let step = &violation["trace"][0]["accesses"][0];
    assert_eq!((&step["mode"], &step["wrote"]), (&json!("acquire"), &json!("held by first")));
}

/// The leaves are the executions that were counted, by kind.
#[test]
fn the_tree_has_every_execution() {
    let folder = Folder::with("lost.sel", LOST);
    folder.write("deadlock.sel", DEADLOCK.as_bytes());
    folder.write("assume.sel", ASSUME.as_bytes());
    for program in ["lost.sel --const N=3", "deadlock.sel", "assume.sel"] {
        for algorithm in selvedge_explore::Algorithm::ALL {
            for more in ["--keep-going", "--keep-going --max-steps 3", "--max-executions 2", ""] {
                let name = algorithm.info().name;
                if name == "states" && more.contains("--max-steps") {
                    continue;
                }
                let command = format!("check {program} --algorithm {name} --json --tree {more}");
                let json = folder.run(&command).json();
                let counts = &json["executions"];
                let endings = json["tree"]["ending"].as_array().expect("a list");
                let ended = |kinds: &[&str]| {
                    let is_one = |kind: &str| kinds.contains(&kind);
                    endings
                        .iter()
                        .filter_map(|kind| kind.as_str())
                        .filter(|kind| is_one(kind))
                        .count()
                };
                for kind in ["redundant", "cut", "blocked"] {
                    assert_eq!(counts[kind], ended(&[kind]), "{kind}: {command}");
                }
                let maximal =
                    ["complete", "deadlocked"].iter().filter_map(|kind| counts[kind].as_u64());
                let shown = ended(&["complete", "deadlocked", "violated"]);
                assert_eq!(maximal.sum::<u64>(), shown as u64, "{command}");
                let is_violated = json["verdict"] == "violated";
                let first = json["tree"]["first_violation"].as_u64();
                assert_eq!(first.is_some(), is_violated, "{command}");
                assert_eq!(json["tree"]["truncated"], false, "{command}");
            }
        }
    }
}

#[test]
fn a_saved_trace_has_the_execution() {
    let folder = Folder::with("lost.sel", LOST);
    folder.run("check lost.sel --save-trace t.json").exits(1);
    let saved: serde_json::Value =
        serde_json::from_str(&folder.read("t.json")).expect("a trace is JSON");
    let replayed = folder.run("replay --trace t.json --json").exits(1).json();
    for field in ["steps", "waiting", "initial", "threads", "schedule"] {
        assert_eq!(saved["execution"][field], replayed[field], "{field}");
    }
    assert_eq!(saved["source"], replayed["source"]);
}

/// The data of a page is the JSON of the same command.
#[test]
fn a_page_to_look_at() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("check lost.sel --tree --html page.html --json").exits(1);
    let (page, mut json) = (folder.read("page.html"), run.json());
    let mut data = data_of(&page);
    // The same run, so also the same time.
    assert_eq!(data["seconds"].take(), json["seconds"].take());
    assert_eq!(data, json);

    let printed = folder.run("check lost.sel --html -").exits(1);
    assert!(printed.out.starts_with("<!doctype html>"), "{}", printed.out);
    folder.run("check lost.sel --html - --json").exits(2).complains("name a file: --html FILE");
    folder
        .run("check lost.sel --tree")
        .exits(2)
        .complains("--tree only applies to --json and --html");
    folder.run("check lost.sel --html no/such/folder.html").exits(1).says("violated");

    let replay = folder.run("replay lost.sel --schedule 0@2.1@2 --html replay.html").exits(0);
    replay.says("the execution: 4 steps");
    assert_eq!(data_of(&folder.read("replay.html"))["steps"][0]["text"], "read x → 0");
    folder.run("check lost.sel --symbolic --html symbolic.html").exits(1);
    assert_eq!(data_of(&folder.read("symbolic.html"))["symbolic"], "order");
}

/// Everything from a program is text, whatever it looks like.
#[test]
fn a_hostile_program_has_a_harmless_page() {
    const HOSTILE: &str =
        "// </script><script>alert(1)</script><!-- <script> \u{2028} \" ' ` \u{202e}";
    let folder = Folder::with("lost.sel", &format!("{LOST}{HOSTILE}\n"));
    folder.run("check lost.sel --html page.html").exits(1);
    let page = folder.read("page.html");
    assert_eq!((page.matches("<script").count(), page.matches("<!--").count()), (2, 0));
    assert!(!page.contains("alert(1)</"), "it is not escaped");
    let lines = data_of(&page)["source"][0]["lines"].clone();
    let last = lines.as_array().and_then(|lines| lines.last()).and_then(|line| line.as_str());
    assert_eq!(last, Some(HOSTILE.replace('\u{202e}', "\u{fffd}").as_str()));
}
