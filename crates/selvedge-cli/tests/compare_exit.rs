//! `selvedge compare` when the algorithms do not all come to the same end.

use crate::common::Folder;

/// Two threads that have nothing in common: one trace, but 20 interleavings.
const APART: &str = "\
shared p = 0;
shared q = 0;
thread a { p = 1; p = 2; p = 3; }
thread b { q = 1; q = 2; q = 3; }
";

/// One algorithm that finds a violation is enough, whatever the others were kept from.
#[test]
fn a_violation_that_not_all_find() {
    let first = "shared z = 0; thread w { z = 1; } thread r { assert z == 1; }";
    let folder = Folder::with("late.sel", &format!("{first}\n{APART}"));
    let run = folder.run("compare late.sel --algorithms oracle,optimal --max-executions 10");
    run.exits(1).says("violated").says("inconclusive");
}

/// One that ends is enough to say "verified", if none finds a violation.
#[test]
fn not_all_come_to_an_end() {
    let folder = Folder::with("apart.sel", APART);
    let run = folder.run("compare apart.sel --algorithms oracle,optimal --max-executions 10");
    run.exits(0).says("verified").says("inconclusive");
}
