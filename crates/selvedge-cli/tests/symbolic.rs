//! `selvedge check --symbolic` and `selvedge mat`: verdicts, exit codes, texts, files.

use crate::common::{DEADLOCK, Folder, LOCKED, LOST, SPIN};

#[test]
fn every_scheme_gives_the_verdict() {
    let folder = Folder::with("lost.sel", LOST);
    folder.write("locked.sel", LOCKED.as_bytes());
    folder.write("deadlock.sel", DEADLOCK.as_bytes());
    for scheme in ["", " order", " token", " mat"] {
        let run = folder.run(&format!("check lost.sel --symbolic{scheme}")).exits(1);
        run.says("violated: assertion `x == N` is false (x = 1)").says("replay: selvedge replay");
        folder.run(&format!("check locked.sel --symbolic{scheme}")).exits(0).says("verified: ");
        let run = folder.run(&format!("check deadlock.sel --symbolic{scheme}")).exits(1);
        run.says("violated: deadlock");
    }
}

#[test]
fn a_loop_that_goes_on_is_no_proof() {
    let folder = Folder::with("spin.sel", SPIN);
    folder.run("check spin.sel --symbolic --unroll 2").exits(3).says("--unroll 4");
}

/// The first instruction of a procedure is the first one of its loop: three turns are two repetitions.
#[test]
fn a_procedure_that_begins_with_a_loop() {
    let text = "shared x = 0; proc p() { loop { x = x + 1; if x == 3 { return; } } }
                thread a { p(); assert x != 3; }";
    let folder = Folder::with("begins.sel", text);
    folder.run("check begins.sel --symbolic --unroll 1").exits(3).says("--unroll 2");
    folder.run("check begins.sel --symbolic --unroll 2").exits(1).says("`x != 3` is false");
}

/// The pairs that locks exclude are not part of the formula.
#[test]
fn locks_exclude_pairs() {
    let run = Folder::with("locked.sel", LOCKED).run("check locked.sel --symbolic mat --stats");
    run.exits(0).says("pairs (#P): 32   after analysis: 2 ");
}

#[test]
fn what_has_no_encoding_is_named() {
    let folder = Folder::with("list.sel", "list q = [1];\nthread t { push(q, 2); }\n");
    let run = folder.run("check list.sel --symbolic").exits(3);
    run.says("list.sel:2:12: lists and maps: there is no symbolic encoding");
}

#[test]
fn inputs_are_shown() {
    let text = "shared x = 0;\nthread t { x = choose(0..1000000); assert x != 777777; }\n";
    let folder = Folder::with("input.sel", text);
    let run = folder.run("check input.sel --symbolic").exits(1);
    run.says("inputs: t: choose(0..1000000) → 777777 (line 2)").says("--schedule 0:777777.0@2");
}

#[test]
fn a_choice_that_fails_is_shown() {
    let text = "shared x = 3;\nthread t { let v = x; x = choose(v..3); }\n";
    let folder = Folder::with("none.sel", text);
    let run = folder.run("check none.sel --symbolic").exits(1);
    run.says("`choose(3..3)` has nothing to choose from").says("--schedule 0@2");
}

#[test]
fn many_writes_of_one_variable() {
    let text = "shared x = 0;\n\
                thread a { for i in 0..15000 { x = i; } }\n\
                thread b { for i in 0..15000 { x = 0 - i; } }\n\
                finally { assert x * x == 14999 * 14999; }\n";
    Folder::with("many.sel", text).run("check many.sel --symbolic --time 100s").exits(0);
}

#[test]
fn statistics_have_the_columns_of_the_paper() {
    let folder = Folder::with("lost.sel", LOST);
    let run = folder.run("check lost.sel --symbolic mat --stats").exits(1);
    run.says("shared accesses (#SA): 2, 2")
        .says("pairs (#P): 8")
        .says("transactions (#MAT)")
        .says("witness length (D): 4");
}

#[test]
fn json_has_sizes_and_inputs() {
    let folder = Folder::with("lost.sel", LOST);
    let mut run = folder.run("check lost.sel --symbolic token --json").exits(1);
    for part in ["\"symbolic\": \"token\"", "\"pairs\": 8", "\"inputs\": []", "\"schedule\""] {
        run = run.says(part);
    }
}

#[test]
fn formulas_can_be_exported() {
    let folder = Folder::with("lost.sel", LOST);
    // Nothing is solved, so nothing is verified.
    let run = folder.run("check lost.sel --symbolic --export-formula f.smt2").exits(3);
    run.says("inconclusive: the formula was written to f.smt2, not solved").says("clauses");
    let text = std::fs::read_to_string(folder.path().join("f.smt2")).expect("it was written");
    assert!(text.starts_with("(set-logic QF_IDL)") && text.ends_with("(check-sat)\n"));
    for scheme in ["order", "token", "mat"] {
        folder.run(&format!("check lost.sel --symbolic {scheme} --export-formula f.cnf")).exits(3);
        let text = std::fs::read_to_string(folder.path().join("f.cnf")).expect("it was written");
        assert!(text.starts_with("p cnf "));
    }
    folder.run("check lost.sel --symbolic --json --export-formula f.cnf").exits(2);
    folder
        .run("check lost.sel --symbolic --export-formula no/f.cnf")
        .exits(2)
        .complains("no/f.cnf");
}

#[test]
fn wrong_usage_is_explained() {
    let folder = Folder::with("lost.sel", LOST);
    folder.run("check lost.sel --symbolic order --context-bound 2").exits(2);
    folder.run("check lost.sel --unroll 3").exits(2);
    folder.run("check --symbolic lost.sel").exits(2);
    let run = folder.run("check lost.sel --symbolic mat --races --context-bound 2").exits(2);
    run.complains("--races does not apply with a bound");
}

#[test]
fn few_context_switches_find_it_but_prove_nothing() {
    let folder = Folder::with("lost.sel", LOST);
    for scheme in ["token", "mat"] {
        let run = folder.run(&format!("check lost.sel --symbolic {scheme} --context-bound 1"));
        run.exits(3).says("at most 1 context switches");
        folder.run(&format!("check lost.sel --symbolic {scheme} --context-bound 3")).exits(1);
    }
}

#[test]
fn data_races() {
    let folder = Folder::with("lost.sel", LOST);
    folder.write("locked.sel", LOCKED.as_bytes());
    for scheme in ["order", "token", "mat"] {
        let run = folder.run(&format!("check locked.sel --symbolic {scheme} --races")).exits(0);
        run.says("covers     assertions, deadlocks, data races\n");
        folder.run(&format!("check locked.sel --symbolic {scheme}")).says("data races (--races)");
        let run = folder.run(&format!("check lost.sel --symbolic {scheme} --races --keep-going"));
        let run = run.exits(1).says("data race on `x`: inc[").says("nothing orders the two");
        // Each is shown as an execution that can be replayed.
        let replay = run.out.lines().find(|line| line.contains("--races --schedule")).unwrap();
        let arguments = replay.trim_start_matches("replay: selvedge ");
        folder.run(arguments).exits(1).says("data race on `x`");
    }
    folder.write(
        "weak.sel",
        b"shared x = 0;\nshared atomic f = 0;\n\
        thread a { x = 1; store(f, 1, relaxed); }\n\
        thread b { let v = load(f, relaxed); if v == 1 { x = 2; } }\n",
    );
    folder.run("check weak.sel --symbolic --races").exits(3).says("memory ordering is weaker");
}

#[test]
fn bounds_on_single_threads() {
    let folder = Folder::with("lost.sel", LOST);
    for scheme in ["token", "mat"] {
        let run =
            |bounds: &str| folder.run(&format!("check lost.sel --symbolic {scheme} {bounds}"));
        run("--thread-bound *=0").exits(3).says("at most 0 context switches to each thread");
        run("--thread-bound *=2").exits(1);
        let both = "--thread-bound inc[0]=1-1 --thread-bound inc[1]=3-";
        run(both)
            .exits(3)
            .says("1 to 1 context switches to `inc[0]`, at least 3 context switches to");
        run("--thread-bound inc=1 --json").says("\"thread_bounds\": [\n    \"inc=1\"\n  ]");
        run("--thread-bound nobody=1").exits(2).complains("there is no thread `nobody`");
        run("--thread-bound inc").exits(2).complains("THREAD=L-U");
    }
    let run = folder.run("check lost.sel --symbolic --thread-bound inc=1");
    run.exits(2).complains("--thread-bound only applies to `mat` and `token`");
}

#[test]
fn transactions_as_a_table_and_a_picture() {
    let text = "shared x = 0;\nthread a { x = 1; }\nthread b { let _v = x; }\n";
    let folder = Folder::with("two.sel", text);
    let run = folder.run("mat two.sel --svg two.svg").exits(0);
    run.says("(1a, 1b)").says("2 of 2 pairs are left: 1a→1b  1b→1a");
    let picture = std::fs::read_to_string(folder.path().join("two.svg")).expect("it was written");
    assert!(picture.starts_with("<svg") && picture.contains("R(x)"));
    folder.write("one.sel", b"shared x = 0;\nthread a { x = 1; }\n");
    folder.run("mat one.sel").exits(2);
}

#[test]
fn solvers() {
    let folder = Folder::with("lost.sel", LOST);
    folder.run("check lost.sel --symbolic --solver batsat").exits(1);
    folder.run("check lost.sel --symbolic --solver other").exits(2);
    let run = folder.run("check lost.sel --symbolic --solver cadical --json");
    if cfg!(feature = "cadical") {
        run.exits(1).says("\"solver\": \"cadical\"");
    } else {
        run.exits(2).complains("--features cadical");
    }
}

#[test]
fn options_of_other_searches_are_refused() {
    let folder = Folder::with("lost.sel", LOST);
    for option in
        ["--max-steps 9", "--context-switches 2", "--k 2", "--locks-only", "--cycles exact"]
    {
        folder.run(&format!("check lost.sel --symbolic {option}")).exits(2);
    }
}

#[test]
fn a_time_limit_ends_building_and_solving() {
    let text = "shared x = 0;\n\
                thread a { for i in 0..3000 { x = x + i; } }\n\
                thread b { for i in 0..3000 { let v = x; x = v - 1; assert v < 5000000; } }\n";
    let folder = Folder::with("long.sel", text);
    for scheme in ["order", "token", "mat"] {
        let start = std::time::Instant::now();
        let run = folder.run(&format!("check long.sel --symbolic {scheme} --time 100ms"));
        run.exits(3);
        // Generous: the machine may be busy, and this build checks its invariants.
        assert!(start.elapsed().as_secs() < 20, "{scheme}: {:?}", start.elapsed());
    }
}

#[test]
fn too_many_pairs_are_no_formula() {
    let text = "shared x = 0;\n\
                thread a { for i in 0..1600 { x = i; } }\n\
                thread b { for i in 0..1600 { let _v = x; } }\n";
    let folder = Folder::with("long.sel", text);
    folder.run("check long.sel --symbolic token").exits(3).says("--symbolic order has none");
    folder.run("check long.sel --symbolic mat --export-formula f.cnf").exits(2);
    folder.run("mat long.sel").exits(2).complains("--const N=2");
}
