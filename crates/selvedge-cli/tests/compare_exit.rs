//! `selvedge compare` when the algorithms do not all come to the same end.

mod common;

use common::{Folder, LARGE};

/// One algorithm that finds a violation is enough, whatever the others were kept from.
#[test]
fn a_violation_that_not_all_find() {
    let text = "\
shared x = 0;
thread a { x = 1; }
thread b { x = 2; }
thread c { assert x != 2; }
";
    let folder = Folder::with("late.sel", text);
    let run = folder.run("compare late.sel --algorithms oracle,classic,source --max-executions 3");
    let run = run.says("violated").says("inconclusive");
    run.exits(1);
}

/// One that ends is enough to say "verified", if none finds a violation.
#[test]
fn not_all_come_to_an_end() {
    let folder = Folder::with("large.sel", LARGE);
    let command = "compare large.sel --const N=2 --algorithms oracle,optimal --max-executions 100";
    folder.run(command).says("verified").says("inconclusive").exits(0);
}
