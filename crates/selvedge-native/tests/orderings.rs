//! Memory orderings of C atomics: which make plain accesses ordered, and which do not.

use selvedge_core::Verdict;
use selvedge_explore::Algorithm;

use crate::common::{compile_with, levels, toolchains};

/// A message is passed through `flag`: how it is sent, how it is received, and whether that suffices.
const PASSING: &[(&str, &str, bool)] = &[
    ("atomic_store(&flag, 1);", "atomic_load(&flag)", true),
    ("S(release);", "L(acquire)", true),
    ("S(release);", "L(consume)", true),
    ("S(release);", "L(relaxed)", false),
    ("S(relaxed);", "L(acquire)", false),
    ("S(relaxed);", "L(relaxed)", false),
    ("F(release); S(relaxed);", "L(acquire)", true),
    ("F(acquire); S(relaxed);", "L(acquire)", false),
    ("F(seq_cst); S(relaxed);", "L(relaxed) && (F(seq_cst), 1)", true),
    ("S(release);", "L(relaxed) && (F(acquire), 1)", true),
    ("S(release);", "L(relaxed) && (F(release), 1)", false),
    ("A(release);", "L(acquire)", true),
    ("A(relaxed);", "L(acquire)", false),
    ("A(acq_rel);", "A0(acquire)", true),
    ("A(release);", "A0(relaxed)", false),
    ("int e = 0; C(&e, release, relaxed);", "L(acquire)", true),
    ("int e = 0; C(&e, relaxed, relaxed);", "L(acquire)", false),
    ("int e = 5; C(&e, release, relaxed); S(relaxed);", "L(acquire)", false),
    ("atomic_exchange_explicit(&flag, 1, memory_order_release);", "L(acquire)", true),
    // A later read-modify-write continues the release sequence, a later store does not.
    ("S(release); A(relaxed);", "L(acquire) == 2", true),
    (
        "S(release); atomic_store_explicit(&flag, 2, memory_order_relaxed);",
        "L(acquire) == 2",
        false,
    ),
    // A volatile access is no data race, and makes nothing else visible.
    ("v = 1;", "v", false),
    ("F(release); v = 1;", "v && (F(acquire), 1)", true),
];

#[test]
fn messages() {
    let head = "int data; atomic_int flag; volatile int v;\n\
                #define S(o) atomic_store_explicit(&flag, 1, memory_order_##o)\n\
                #define L(o) atomic_load_explicit(&flag, memory_order_##o)\n\
                #define A(o) atomic_fetch_add_explicit(&flag, 1, memory_order_##o)\n\
                #define A0(o) atomic_fetch_add_explicit(&flag, 0, memory_order_##o)\n\
                #define F(o) atomic_thread_fence(memory_order_##o)\n\
                #define C(e, o, f) atomic_compare_exchange_strong_explicit(&flag, e, 1, memory_order_##o, memory_order_##f)\n";
    let mut text = head.to_owned();
    let mut arms = String::new();
    for (number, (send, receive, _)) in PASSING.iter().enumerate() {
        text += &format!("void *send{number}(void *u) {{ data = 1; {send} return u; }}\n");
        text += &format!("void receive{number}(void) {{ if ({receive}) assert(data == 1); }}\n");
        arms += &format!(
            "case {number}: pthread_create(&t, 0, send{number}, 0); receive{number}(); break;\n"
        );
    }
    text += &format!(
        "int main(int argc, char **argv) {{ pthread_t t; switch (atoi(argv[argc - 1])) {{\n{arms}}} pthread_join(t, 0); return 0; }}\n"
    );
    for toolchain in toolchains() {
        for &level in levels() {
            let compiled = compile_with(toolchain, &text, &[level]);
            for (number, (send, receive, suffices)) in PASSING.iter().enumerate() {
                let loaded = compiled.loaded.again(&[number.to_string()]);
                for algorithm in [Algorithm::Optimal, Algorithm::Source] {
                    let options =
                        selvedge_explore::Options { data_races: true, ..Default::default() };
                    let report = crate::common::search(
                        &loaded,
                        algorithm,
                        &options,
                        &mut crate::common::Nothing,
                    );
                    let expected = if *suffices { Verdict::Verified } else { Verdict::Violated };
                    let at = format!("{toolchain:?} {level} {send} {receive}");
                    assert_eq!(report.verdict(), expected, "{at}: {:?}", report.violations);
                }
            }
        }
    }
}
