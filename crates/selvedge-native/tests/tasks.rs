//! Verification tasks: functions that have a meaning by their names.

use selvedge_core::Verdict;
use selvedge_explore::Algorithm;
use selvedge_native::{Sources, Unbuilt};

use crate::common::{cache, compile_text, compile_with, levels, toolchains};

/// The call is the error, whatever the task defines the function to do.
#[test]
fn the_call_of_an_error_function_is_the_error() {
    for (definition, call, message) in [
        ("void reach_error() {}", "reach_error();", "a reached reach_error()"),
        ("void reach_error(void) { assert(0); }", "reach_error();", "a reached reach_error()"),
        (
            "void __VERIFIER_error(void) { exit(0); }",
            "__VERIFIER_error();",
            "a reached __VERIFIER_error()",
        ),
        ("int reach_error(int n) { return n + 1; }", "reach_error(1);", "a reached reach_error()"),
    ] {
        let text = format!(
            "{definition}\nvoid *a(void *u) {{ {call} return u; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); pthread_join(t, 0); return 0; }}"
        );
        for toolchain in toolchains() {
            for &level in levels() {
                let compiled = compile_with(toolchain, &text, &[level]);
                let violation = compiled.violation();
                assert_eq!(violation.message, message, "{definition} {toolchain:?} {level}");
                let place = violation.places.first().expect("the call has a place");
                assert_eq!(place.line, 2, "{place:?}");
            }
        }
    }
}

/// Files of tasks are often preprocessed.
#[test]
fn tasks_that_are_preprocessed() {
    let text =
        "# 7 \"task.c\"\nvoid reach_error() {}\nint main(void) { reach_error(); return 0; }\n";
    for toolchain in toolchains() {
        for &level in levels() {
            let violation = compile_text(toolchain, "task.i", text, &[level]).violation();
            assert_eq!(violation.message, "main reached reach_error()");
        }
    }
}

/// A program in which nothing calls it has no error.
#[test]
fn an_error_function_that_is_not_called() {
    let text =
        "void reach_error() {}\nint main(int n, char **u) { if (n > 5) reach_error(); return 0; }";
    for toolchain in toolchains() {
        let report = compile_with(toolchain, text, &[]).explore(Algorithm::Optimal);
        assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    }
}

/// The compiler may leave out a call of a function that no other file sees.
#[test]
fn a_static_error_function_is_refused() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("static-error");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let file = folder.join("task.c");
    let text = "static void reach_error(void) {}\nint main(void) { reach_error(); return 0; }\n";
    std::fs::write(&file, text).expect("the file can be written");
    for toolchain in toolchains() {
        let sources = Sources {
            c: toolchain.c.to_owned(),
            cxx: toolchain.cxx.to_owned(),
            files: vec![file.clone()],
            flags: Vec::new(),
            folder: folder.clone(),
            cache: Some(cache()),
        };
        let Err(Unbuilt::Refused(why)) = sources.build() else { panic!("it was built") };
        assert!(why.ends_with("leave out `static`"), "{why}");
    }
}

/// An abort in a function that assumes something ends the execution, and is no error.
#[test]
fn assumptions_that_abort() {
    let text = "void assume_abort_if_not(int c) { if (!c) abort(); }\natomic_int x;\n\
                void *a(void *u) { x = 1; return u; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, a, 0); assume_abort_if_not(x == 1); pthread_join(t, 0); return 0; }";
    for toolchain in toolchains() {
        for &level in levels() {
            let report = compile_with(toolchain, text, &[level]).explore(Algorithm::Optimal);
            assert_eq!((report.counts.complete, report.counts.blocked), (1, 1), "{report:?}");
        }
    }
    let other = text.replace("assume_abort_if_not", "check");
    let violation = compile_with(toolchains()[0], &other, &[]).violation();
    assert_eq!(violation.message, "main aborts the process");
}
