//! Executions as pictures for documents, and marks for services that run tests.

use crate::common::{DEADLOCK, Folder, LOCKED, LOST};

#[test]
fn a_drawing_has_a_lane_per_thread_and_a_row_per_step() {
    let folder = Folder::with("lost.sel", LOST);
    let drawing = folder.run("check lost.sel --svg -").exits(1).out;
    assert!(drawing.starts_with("<svg ") && drawing.ends_with("</svg>\n"), "{drawing}");
    let count = |part: &str| drawing.matches(part).count();
    assert_eq!((count("class=\"lane\""), count("<circle")), (2, 4), "{drawing}");
    assert!(drawing.contains("step 3, after step 1: overwrites what it read (x)"), "{drawing}");
    folder.write("deadlock.sel", DEADLOCK.as_bytes());
    let deadlock = folder.run("check deadlock.sel --svg -").exits(1).out;
    assert_eq!(deadlock.matches("class=\"waits\"").count(), 2, "{deadlock}");
}

#[test]
fn the_two_accesses_of_a_race_are_joined_and_not_ordered() {
    let folder = Folder::with("race.sel", "shared x = 0; thread a { x = 1; } thread b { x = 2; }");
    let drawing = folder.run("check race.sel --races --svg -").exits(1).out;
    assert_eq!(drawing.matches("class=\"race\"").count(), 1, "{drawing}");
    assert_eq!(drawing.matches("class=\"edge\"").count(), 0, "{drawing}");
    let graph = folder.run("check race.sel --races --dot -").exits(1).out;
    assert!(graph.contains("s1 -> s2 [label=\"data race\", dir=none"), "{graph}");
    assert!(!graph.contains("color=gray40"), "{graph}");
}

#[test]
fn a_long_diagram_has_the_last_steps() {
    let long = "shared x = 0; thread t { for i in 0..50 { x = i; } assert x == 0; }";
    let folder = Folder::with("long.sel", long);
    let diagram = folder.run("check long.sel --mermaid -").exits(1).out;
    assert!(diagram.contains("11 earlier steps are left out"), "{diagram}");
    assert_eq!(diagram.matches("Note over").count(), 41, "{diagram}");
}

/// Whatever a message contains, it stays in its place.
#[test]
fn hostile_messages_stay_texts() {
    const HOSTILE: &str = "]]> </svg><script>alert(1)</script> %% ; # \\\\N";
    let program = format!("shared x = 0; thread t {{ x = 1; assert x == 0, \"{HOSTILE}\"; }}");
    let folder = Folder::with("h.sel", &program);
    let run = |form: &str| folder.run(&format!("check h.sel --{form} -")).exits(1).out;
    assert!(!run("svg").contains("<script"));
    assert!(run("svg").contains("&lt;script&gt;alert(1)"));
    assert!(!run("mermaid").contains(['<', '>', '%']));
    assert!(run("mermaid").contains("#60;script#62;"));
    let graph = run("dot");
    let odd = graph
        .lines()
        .filter(|line| line.replace("\\\\", "").replace("\\\"", "").matches('"').count() % 2 == 1);
    assert_eq!(odd.count(), 0, "{graph}");
}

#[test]
fn without_an_execution_there_is_nothing_to_draw() {
    let folder = Folder::with("locked.sel", LOCKED);
    let run = folder.run("check locked.sel --svg locked.svg").exits(0);
    run.says("verified").complains("there is no execution to draw");
    assert!(!folder.path().join("locked.svg").exists());
    folder.write("lost.sel", LOST.as_bytes());
    let both = folder.run("check lost.sel --svg - --dot -").exits(2);
    both.complains("--svg - and --dot - both write to standard output")
        .complains("name a file: --dot FILE");
    folder
        .run("replay lost.sel --schedule 0@2.1@2 --svg r.svg --dot r.dot --mermaid r.mmd")
        .exits(0)
        .says("4 steps");
    assert!(folder.read("r.svg").contains("no violation"));
    assert!(
        folder.read("r.dot").starts_with("digraph")
            && folder.read("r.mmd").starts_with("sequenceDiagram")
    );
}

#[test]
fn annotations_mark_the_place() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("check lost.sel --quiet --annotations github").exits(1);
    let run = run.complains("::error file=lost.sel,line=7,col=18,endColumn=24,title=selvedge%3A violated::assertion `x == N` is false (x = 1)%0A");
    assert_eq!(run.err.lines().filter(|line| line.starts_with("::")).count(), 1, "{}", run.err);
    let limit =
        folder.run("check lost.sel --quiet --max-executions 1 --annotations github").exits(3);
    limit.complains("::warning file=lost.sel,title=selvedge%3A inconclusive::");
    folder.write("locked.sel", LOCKED.as_bytes());
    assert_eq!(folder.run("check locked.sel --quiet --annotations github").exits(0).err, "");
}
