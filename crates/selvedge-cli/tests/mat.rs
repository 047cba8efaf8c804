//! `selvedge mat`: the picture.

use crate::common::Folder;

/// Every row of the picture lies within it.
#[test]
fn the_picture_is_as_high_as_its_rows() {
    let text = "shared x = 0;\nthread a { x = 1; x = 2; x = 3; }\nthread b { let _v = x; }\n";
    let folder = Folder::with("two.sel", text);
    folder.run("mat two.sel --svg two.svg").exits(0);
    let picture = std::fs::read_to_string(folder.path().join("two.svg")).expect("it was written");
    // 70 above, 44 for each of three rows, 20 below.
    assert!(picture.contains("width=\"600\" height=\"222\""), "{picture}");
    let rows = picture.split(" y=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let lowest = rows.filter_map(|y| y.parse::<u32>().ok()).max();
    assert!(lowest.is_some_and(|y| (158..222).contains(&y)), "{lowest:?}\n{picture}");
}

/// What each step does, and all pairs of steps of threads that are not equally long.
#[test]
fn steps_that_create_and_wait_and_pairs_of_unequal_threads() {
    let text = "shared x = 0;\nthread main { let t = spawn work(); x = 1; join t; x = 3; }\nproc work() { x = 2; }\n";
    let run = Folder::with("two.sel", text).run("mat two.sel").exits(0);
    let run = run.says("\n1a    spawn  two.sel:2:23\n").says("\n2a    W(x)   two.sel:2:37\n");
    run.says("\n3a    join   two.sel:2:44\n").says("\n8 of 8 pairs are left: ");
}

/// What has no encoding is named.
#[test]
fn promises_have_no_encoding() {
    for promise in ["eventually x == 1;", "always x < 2;"] {
        let text = format!(
            "mutex m; shared x = 0; {promise} thread a {{ lock m; unlock m; }} thread b {{ lock m; x = 1; unlock m; }}"
        );
        let run = Folder::with("promise.sel", &text).run("mat promise.sel").exits(2);
        run.complains("there is no symbolic encoding for that");
    }
}
