//! `selvedge constraints` and `selvedge check --constraints`: texts, files, errors, JSON.

use crate::common::Folder;

const FIGURE_1: &str = "const Z = -2;
shared z = Z;
shared x = -2;
thread first  { atomic p { x = x + 1; } }
thread second { atomic q { if z >= 0 { z = x; } } }
thread third  { atomic r { x = x + 1; z = z + 1; } }
";

#[test]
fn constraints_are_shown_with_their_time() {
    let folder = Folder::with("f.sel", FIGURE_1);
    let run = folder.run("constraints f.sel --const Z=3").exits(0);
    run.says("p, q: 1 constraint, ")
        .says(" ms\n  z <= -1\n")
        .says("p, p: always, ")
        .says("q, q: always, ")
        .says("q, r: 3 constraints, ")
        .says("\n  z >= 0\n  z <= -2\n  x == z\n")
        .says("6 pairs, 8 constraints, ");
    // `p` runs any number of times: nothing bounds `x`.
    let text = FIGURE_1
        .replace("{ atomic p { x = x + 1; } }", "{ while z > 0 { atomic p { x = x + 1; } } }");
    let folder = Folder::with("g.sel", &text);
    let run = folder.run("constraints g.sel --const Z=3").exits(0);
    run.says("\n  true  guard: x <= 2147483645\n").says("a guard excludes overflows");
}

/// Constraints speak of the elements of local arrays.
#[test]
fn elements_of_local_arrays() {
    let text = "shared x = 0; shared z[3] = 0;
thread t(i in 0..3) { let a[3] = [1, 2, 3]; a[i] += i; let k = choose(0..3); atomic bump { x += a[k]; z[0] = a[i]; } }
finally { assert x >= 3; }";
    let folder = Folder::with("a.sel", text);
    folder.run("constraints a.sel").exits(0).says("first.a[1] == second.a[1]");
    folder.run("check a.sel -a constrained --check-constraints").exits(0).says("verified");
}

/// Constraints speak of the fields of records, of one and of many, also those that are found during the search.
#[test]
fn fields_of_records() {
    let text = "record R { f = 0, g = 0 }
shared one: R;
shared many[2]: R;
shared x = 0;
thread t0 { atomic { let r = many[0].f; x = r + one.g; } }
thread t1 { atomic { many[0].f = 1; one.g = 2; } }
finally { assert x <= 3; }";
    let folder = Folder::with("r.sel", text);
    folder.run("constraints r.sel --write r.txt").exits(0).says("many[0].f");
    folder.run("check r.sel -a constrained").exits(0).says("verified");
    folder.run("check r.sel -a constrained --constraints r.txt").exits(0).says("verified");
}

/// The programs of the paper as anyone would write them, and what they count cannot overflow.
#[test]
fn programs_that_count_take_one_execution() {
    let folder = Folder::with(
        "counter.sel",
        "const N = 6; shared x = 0; thread t(i in 0..N) { atomic { x = x + 1; } } finally { assert x == N; }",
    );
    for n in [4, 60] {
        let run = folder.run(&format!("check counter.sel --const N={n} -a constrained")).exits(0);
        run.says("verified: no violation in 1 execution\n").says("0 redundant");
    }
    for (name, text, constants, executions) in [
        ("pi", include_str!("../../../programs/constrained/pi.sel"), "N=12", "1 execution\n"),
        (
            "parallel-sort",
            include_str!("../../../programs/constrained/parallel-sort.sel"),
            "N=6",
            "1 execution\n",
        ),
        (
            "database",
            include_str!("../../../programs/constrained/database.sel"),
            "N=4",
            "16 executions\n",
        ),
        (
            "visits",
            include_str!("../../../programs/constrained/visits.sel"),
            "N=3",
            "8 executions\n",
        ),
    ] {
        // Nothing is declared: everything is found.
        let lines = text.lines().filter(|line| !line.starts_with("independent("));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        assert!(!text.contains("min("), "{name} hides overflows");
        let folder = Folder::with("f.sel", &text);
        let run = folder.run(&format!("check f.sel --const {constants} -a constrained")).exits(0);
        run.says(&format!("verified: no violation in {executions}")).says("0 redundant");
    }
}

/// The lines under a verdict say which pairs were given up, and why a constraint that held was not used.
#[test]
fn why_constraints_were_not_used_is_said() {
    let text = "shared n = 30;
        shared s = 0;
        atomic proc f(k: int) {
            let i = 0;
            while i < n { if s > k { break; } s = s + k; i = i + 1; }
        }
        thread a(i in 0..3) { f(i); }
    ";
    let folder = Folder::with("f.sel", text);
    let run = folder.run("check f.sel -a constrained").exits(0);
    run.says(
        "  constraints not used    in 1 race: another thread may still write s, which they read\n",
    );
    folder.write("g.sel", text.replace("break", "return").as_bytes());
    let run = folder.run("check g.sel -a constrained").exits(0);
    run.says("  no constraints for      f(k), f(k2): a loop has more than one way out\n");
}

#[test]
fn a_file_of_constraints_is_read_again() {
    let folder = Folder::with("f.sel", FIGURE_1);
    folder.run("constraints f.sel --const Z=3 --write found").exits(0);
    let file = folder.read("found");
    assert!(
        file.starts_with("// Independence constraints of f.sel with Z = 3, found by"),
        "{file}"
    );
    assert!(file.contains("\n// program: fnv1a-64:"), "{file}");
    assert!(file.contains("\nindependent(q, r) if z >= 0;\n"), "{file}");
    for from in ["found", "synthesise", "declared"] {
        let check = "check f.sel --const Z=3 --algorithm constrained --constraints";
        let run = folder.run(&format!("{check} {from}"));
        run.exits(0).says("verified: ").says("constraints declared    0");
    }
}

/// With K = 0 the blocks commute, with K = 1 they do not, and one order fails.
const KONST: &str = "const K = 0;
shared x = 1;
thread a { atomic f { x = x + K * x; } }
thread b { atomic g { x = x - 3; } }
finally { assert x != -4; }
";

#[test]
fn constraints_of_another_program_are_refused() {
    let folder = Folder::with("konst.sel", KONST);
    folder.run("constraints konst.sel --const K=0 --write k").exits(0);
    let check = "-a constrained --constraints k";
    folder.run(&format!("check konst.sel {check}")).exits(0).says("verified");
    let anew = "write it again: selvedge constraints konst.sel --const K=1 --write k";
    for command in ["check", "compare"] {
        let constrained = match command {
            "compare" => "--algorithms constrained --constraints k",
            _ => check,
        };
        let run = folder.run(&format!("{command} konst.sel --const K=1 {constrained}")).exits(2);
        run.complains("k belongs to another program, or to other values of the constants")
            .complains(anew);
    }
    folder.run("constraints konst.sel --const K=1 --write k").exits(0);
    folder.run(&format!("check konst.sel --const K=1 {check}")).exits(1).says("violated");
    // The meaning counts, not the text.
    folder.write("konst.sel", KONST.replace("thread", "\n// as before\nthread").as_bytes());
    folder.run(&format!("check konst.sel --const K=1 {check}")).exits(1);
    folder.write("konst.sel", KONST.replace("x - 3", "x - 2").as_bytes());
    folder
        .run(&format!("check konst.sel --const K=1 {check}"))
        .exits(2)
        .complains("write it again");
}

#[test]
fn a_file_that_does_not_say_what_it_belongs_to_is_refused() {
    let folder = Folder::with("konst.sel", KONST);
    folder.write("k", b"independent(f, g);\n");
    let check = "check konst.sel --const K=1 -a constrained --constraints k";
    let run = folder.run(check).exits(2).complains("k does not say which program it belongs to");
    let line = run.err.lines().find_map(|line| line.split('`').nth(1)).expect("a line to add");
    // Who insists is believed, as with constraints in the program.
    folder.write("k", format!("{line}\nindependent(f, g) if x == 1;\n").as_bytes());
    folder.run(check).says("constraints read        1");
}

#[test]
fn errors_have_a_place_and_a_next_step() {
    let folder = Folder::with("f.sel", FIGURE_1);
    folder
        .run("check f.sel --algorithm constrained --constraints none")
        .exits(2)
        .complains("cannot read none: there is no such file");
    let cases = [
        ("independent(p, s);", "unknown atomic procedure or block `s`", "wrong:1:16"),
        ("// a comment\n\nindependent(p, q) if z;", "a condition", "wrong:3:22"),
        ("independent(p, q) if y > 0;", "unknown variable `y`", "wrong:1:22"),
        ("independent(p(v), q);", "is an atomic block and has no arguments", "wrong:1:13"),
        ("independent(p, q) if z >;", "expected", "wrong:1:25"),
        ("shared y = 0;", "can only contain independence constraints", "wrong:1:8"),
    ];
    for (text, message, place) in cases {
        folder.write("wrong", text.as_bytes());
        let run = folder.run("check f.sel --algorithm constrained --constraints wrong").exits(2);
        run.complains(message).complains(place);
    }
    // An error of the program is one of the program, also then.
    folder.write("bad.sel", b"thread t { y = 1; }");
    let run = folder.run("check bad.sel --algorithm constrained --constraints wrong").exits(2);
    run.complains("bad.sel:1:12");
    let run = folder.run("check f.sel --constraints declared").exits(2);
    run.complains("--constraints only applies to `constrained`\n  add --algorithm constrained");
}

#[test]
fn what_cannot_be_found_is_said() {
    let text = "shared x = 0;
        thread a { receive (let v) { x = v; } }
        thread b { atomic tell { send a(1); x = 1; } }
        thread c { atomic { x = 2; } }
    ";
    let folder = Folder::with("f.sel", text);
    let run = folder.run("constraints f.sel").exits(0);
    run.says("tell, tell: none: `tell` sends a message (line 3), ")
        .says("atomic 1, atomic 1: always, ")
        .says("\natomic 1 is the block on line 4\n");
    folder.write("none.sel", b"thread t { skip; }");
    let run = folder.run("constraints none.sel").exits(0);
    run.says("there are no atomic procedures and no atomic blocks");
    folder.write("slow.sel", FIGURE_1.as_bytes());
    let run = folder.run("constraints slow.sel --pair-work 1").exits(0);
    run.says("p, r: none: the limit on work was reached (--pair-work), ");
}

#[test]
fn json_has_everything() {
    let folder = Folder::with("f.sel", FIGURE_1);
    let json = folder.run("constraints f.sel --const Z=3 --json").exits(0).json();
    let pair = &json["pairs"][4];
    assert_eq!((pair["first"].as_str(), pair["second"].as_str()), (Some("q"), Some("r")));
    assert_eq!(pair["complete"], true);
    assert_eq!(pair["constraints"][0]["condition"], "z >= 0");
    assert_eq!(pair["constraints"][0]["guard"], serde_json::Value::Null);
    let declaration = "independent(q, r) if z >= 0;";
    assert_eq!(pair["constraints"][0]["declaration"], declaration);
    assert!(json["constants"]["Z"] == 3 && json["seconds"].is_number());
}

/// Who declares nothing gets what a solver finds; who declares something is believed.
#[test]
fn constraints_are_looked_for_if_none_are_declared() {
    let adders = "shared x = 0;
        atomic proc add(v: int) { if v >= 0 { x = min(x, 99) + 1; } }
        thread t(i in 0..4) { add(i); }
    ";
    let folder = Folder::with("f.sel", adders);
    let check = "check f.sel --algorithm constrained";
    let run = folder.run(check).exits(0);
    run.says("verified: no violation in 1 execution\n")
        .says("constraints declared    0\n")
        .says("time to find them  ");
    let run = folder.run(&format!("{check} --constraints declared")).exits(0);
    assert!(!run.out.contains("found") && !run.out.contains("in 1 execution"), "{}", run.out);
    let json = folder.run(&format!("{check} --json")).exits(0).json();
    assert!(json["facts"]["constraints found"].as_u64() > Some(0), "{json:#}");
    // `compare` has the same constraints.
    for (from, is_one) in [("", true), ("--constraints declared", false)] {
        let compare = format!("compare f.sel --algorithms constrained --json {from}");
        let json = folder.run(&compare).exits(0).json();
        let counted = json["algorithms"][0]["executions"].as_object().expect("an object");
        let sum: u64 = counted.values().filter_map(serde_json::Value::as_u64).sum();
        assert_eq!(sum == 1, is_one, "{json:#}");
    }
    let declared = format!("{adders} independent(add(v), add(w)) if v == w;");
    folder.write("g.sel", declared.as_bytes());
    let run = folder.run("check g.sel --algorithm constrained").exits(0);
    let run = run.says("constraints declared    1\n");
    assert!(!run.out.contains("time to find them"), "{}", run.out);
}
