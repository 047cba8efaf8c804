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
fn fairness_is_chosen() {
    let text = "mutex m; shared has = false; eventually has;
        thread a { loop { lock m; unlock m; } } thread b { lock m; has = true; unlock m; }";
    let folder = Folder::with("m.sel", text);
    folder.run("check m.sel").exits(1);
    let strong = folder.run("check m.sel --fairness strong").exits(0);
    assert!(strong.out.contains("1 of 1 kept, fairness: strong"), "{}", strong.out);
    let refused = folder.run("check m.sel --algorithm optimal --fairness strong").exits(2);
    assert!(refused.err.contains("--fairness only applies to `states`, `auto`"), "{}", refused.err);
    for other in ["--algorithm optimal", "--symbolic", "--sample 10", "--races"] {
        folder.run(&format!("check m.sel {other}")).exits(3);
    }
}
