//! Promises on the command line: a violation is a prefix and a cycle, in text, JSON and on the page, and can be replayed.

use crate::common::Folder;

const STARVES: &str = "shared atomic locked = false;
shared wants = false;
shared has = false;
always wants leads_to has, \"b starves\";
thread a { loop { while exchange(locked, true) { } locked = false; } }
thread b { wants = true; while exchange(locked, true) { } has = true; locked = false; }
";

#[test]
fn a_lasso_is_shown_and_replayed() {
    let folder = Folder::with("starves.sel", STARVES);
    let run = folder.run("check starves.sel --save-trace it.trace --html page.html").exits(1);
    assert!(run.out.contains("`has` never becomes true afterwards: b starves"), "{}", run.out);
    assert!(run.out.contains("── steps 2 to 4 repeat forever ──"), "{}", run.out);
    assert!(run.out.contains("search     auto: states"), "{}", run.out);
    assert!(
        run.out.contains("replay: selvedge replay starves.sel --schedule 1/0.1.0"),
        "{}",
        run.out
    );
    assert!(folder.read("page.html").contains("\"cycle\":"), "the page has it");
    let json = folder.run("check starves.sel --json").exits(1).json();
    assert_eq!(json["violations"][0]["kind"], "leads-to");
    assert_eq!(json["violations"][0]["cycle"], 2);
    assert_eq!(json["decision"]["explorer"], "states");
    for how in ["--schedule 1/0.1.0 starves.sel", "--trace it.trace"] {
        let again = folder.run(&format!("replay {how}")).exits(1);
        assert!(again.out.contains("b starves"), "{}", again.out);
        assert!(again.out.contains("steps 2 to 4 repeat forever"), "{}", again.out);
    }
    let refused = folder.run("replay starves.sel --schedule 1/0").exits(2);
    assert!(refused.err.contains("do not lead back"), "{}", refused.err);
}

#[test]
fn pictures_mark_the_steps_that_repeat() {
    let folder = Folder::with("starves.sel", STARVES);
    let run = |form: &str| folder.run(&format!("check starves.sel --{form} -")).exits(1).out;
    let drawing = run("svg");
    assert_eq!(drawing.matches("↻ ").count(), 3, "{drawing}");
    assert!(drawing.contains("<title>steps 2 to 4 repeat forever</title>"), "{drawing}");
    let graph = run("dot");
    assert!(graph.contains("\"↻ 2. exchange") && graph.contains("\"1. wants"), "{graph}");
    assert!(graph.contains("s4 -> s2 [label=\"repeats forever\""), "{graph}");
    let diagram = run("mermaid");
    let line = |text: &str| diagram.lines().position(|line| line.trim().starts_with(text));
    let [before, begin, first, last, end] =
        ["Note over t1: 1.", "loop steps 2 to 4", "Note over t0: 2.", "Note over t0: 4.", "end"]
            .map(|text| line(text).unwrap_or_else(|| panic!("{text} in {diagram}")));
    assert!(before < begin && begin < first && first < last && last < end, "{diagram}");
}

#[test]
fn a_replay_can_ask_for_fairness() {
    let text = "shared x = 0; shared done = false; eventually done;
        thread a { loop { x = 1; x = 0; } } thread b { done = true; }";
    let folder = Folder::with("u.sel", text);
    folder.run("replay u.sel --schedule /0@2").exits(1);
    let unfair = folder.run("replay u.sel --schedule /0@2 --fairness weak").exits(0);
    unfair.says("no violation: steps 1 to 2 repeat forever").complains(
        "with --fairness weak this execution does not count for promises: b can run everywhere in the steps that \
         repeat, and never does",
    );
    let text = "mutex m; shared has = false; eventually has;
        thread a { loop { lock m; unlock m; } } thread b { lock m; has = true; unlock m; }";
    folder.write("m.sel", text.as_bytes());
    folder.run("replay m.sel --schedule /0@2 --fairness weak").exits(1);
    let unfair = folder.run("replay m.sel --schedule /0@2 --fairness strong").exits(0);
    unfair.complains("b can run somewhere in the steps that repeat, and never does");
}

#[test]
fn fairness_is_chosen() {
    let text = "mutex m; shared has = false; eventually has;
        thread a { loop { lock m; unlock m; } } thread b { lock m; has = true; unlock m; }";
    let folder = Folder::with("m.sel", text);
    folder.run("check m.sel").exits(1);
    let strong = folder.run("check m.sel --fairness strong").exits(0);
    assert!(strong.out.contains("1 of 1 kept, fairness: strong"), "{}", strong.out);
    let refused = folder.run("check m.sel --algorithm optimal --fairness strong").exits(2);
    assert!(refused.err.contains("--fairness only applies to `states`, `auto`"), "{}", refused.err);
    for other in [
        "--algorithm optimal --max-steps 100",
        "--symbolic",
        "--sample 10",
        "--races --max-steps 100",
    ] {
        let run = folder.run(&format!("check m.sel {other}")).exits(3);
        run.says("inconclusive: ").says("`eventually`");
    }
}
