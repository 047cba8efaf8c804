//! Spin loops under memory models: what programs can compute is what interleavings of them compute.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use selvedge_explore::{Algorithm, Finding, Limits, Memory, Options};

use selvedge_native::Loaded;

use super::{MODELS, all, explore};
use crate::common::{Nothing, compile_with, search, toolchains};

/// Two threads with atomics that are all `seq_cst`, so that every memory model has the results of interleavings. Each
/// thread returns a number below 8.
const PROGRAMS: &[(&str, &str)] = &[
    ("x = 1; y = 1; x = 2; return 0;", "while (!(x && y)) { } return x;"),
    ("x = 1; y = 1; return 0;", "while (!x && !y) { } return 2 * x + y;"),
    // The first read finds the old value, and the second the new one.
    (
        "x = 1; x = 0; x = 1; return 0;",
        "int p, q, n = 0; do { p = x; q = x; n = 2 * p + q; } while (n != 1); return n;",
    ),
    (
        "x = 1; y = 1; x = 2; y = 2; return 0;",
        "int p, q; do { p = x; q = y; } while (p == q); return 2 * p + q;",
    ),
    ("x = 1; return y;", "y = 1; while (x == 0) { } return 1;"),
    (
        "while (atomic_exchange(&l, 1)) { } z++; int n = z; l = 0; return n;",
        "while (atomic_exchange(&l, 1)) { } z++; int n = z; l = 0; return n;",
    ),
    (
        "int e = 0; while (!atomic_compare_exchange_strong(&l, &e, 1)) e = 0; int n = ++z; l = 0; return n;",
        "int e = 0; while (!atomic_compare_exchange_weak(&l, &e, 2)) e = 0; int n = ++z; l = 0; return n;",
    ),
    // Gives up if the other one has finished.
    (
        "l = 1; x = 1; l = 0; return 0;",
        "int e = 0; while (!x && !atomic_compare_exchange_strong(&l, &e, 1)) e = 0; return 2 * x + l;",
    ),
    ("y = 1; x = 1; return 0;", "while (x == 0) { while (y == 0 && x == 0) { } } return y;"),
    ("x = 1; y = 1; return 0;", "int n = 0; while (!x && n < 3) n++; return 2 * n + y;"),
    ("x = 1; return 0;", "while (!*q) { } return *q;"),
    // The same, after a few turns: what is remembered of them does not grow forever.
    (
        "x = 1; return 0;",
        "int p, q, n = 0; do { p = x; q = x; if (n < 2) n++; } while (!(p == 0 && q == 1)); return n;",
    ),
    (
        "x = 1; y = 1; return 0;",
        "int p, q, n = 0; do { p = x; q = y; if (n < 2) n++; } while (!(p == 0 && q == 1)); return n;",
    ),
    // A turn of the outer loop that has seen the new value leaves it; those before wait.
    ("y = 1; x = 1; return 0;", "int a; do { a = x; while (!y) { } } while (!a); return a + y;"),
    ("x = 1; y = 1; return 0;", "int a; do { a = x; while (!y) { } } while (!a); return a + y;"),
    ("x = 1; return 0;", "int a = 0, b; do { b = a; a = x; } while (!b); return a;"),
    // Loops that end otherwise than by what they read.
    (
        "x = 1; y = 1; return 0;",
        "int n = 0; while (!x && n < 3) n++; if (n == 2) __VERIFIER_assume(y); return 2 * n + y;",
    ),
    (
        "x = 1; return 0;",
        "int n = 0; while (!x && n < 3) n++; __VERIFIER_assume(n == 2); return n;",
    ),
    (
        "x = 1; y = 1; return 0;",
        "while (!x) { atomic_thread_fence(memory_order_seq_cst); } return y;",
    ),
    (
        "x = 1; return 0;",
        "long until = clock() + 2; int n = 0; while (!x && clock() < until) n = 1; return n + 2 * x;",
    ),
    // Condition variables: signalled under the lock, without it, and too early; and what is done once.
    (
        "pthread_mutex_lock(&m); z = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return 0;",
        "pthread_mutex_lock(&m); while (!z) pthread_cond_wait(&c, &m); int n = z; pthread_mutex_unlock(&m); return n;",
    ),
    (
        "x = 1; pthread_cond_broadcast(&c); return 0;",
        "pthread_mutex_lock(&m); while (!x) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); return 1;",
    ),
    (
        "pthread_mutex_lock(&m); z++; if (z < 2) pthread_cond_wait(&c, &m); int n = z; pthread_mutex_unlock(&m); return n;",
        "pthread_mutex_lock(&m); z++; pthread_cond_signal(&c); int n = z; pthread_mutex_unlock(&m); return n;",
    ),
    ("pthread_once(&o, once); return z;", "pthread_once(&o, once); return z + x;"),
    // Waits for good, unless the other one does.
    ("while (x == 0) { } y = 1; return 1;", "if (z == 0) x = 1; while (y == 0) { } return 2;"),
    ("while (x == 0) { } return 1;", "y = 1; return 2;"),
    ("x = 1; while (y == 0 || l == 1) { } return l;", "l = 1; y = 1; l = 2; return x;"),
];

/// Programs as one in C, whose argument says which. What two threads return is the message of an assertion.
pub(super) fn in_c(programs: &[(&str, &str)], head: &str) -> String {
    let mut text = "atomic_int x, y, l; int z, a, b; atomic_int *q = &x; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                    pthread_cond_t c = PTHREAD_COND_INITIALIZER; pthread_once_t o = PTHREAD_ONCE_INIT;\n\
                    void once(void) { z++; x = 1; } void __VERIFIER_assume(int); long clock(void);\n".to_owned();
    text += head;
    let mut cases = String::new();
    for (number, (one, other)) in programs.iter().enumerate() {
        let _ =
            writeln!(text, "int f{number}(void) {{ {one} }}\nint g{number}(void) {{ {other} }}");
        let _ = writeln!(cases, "case {number}: first = f{number}; second = g{number}; break;");
    }
    let results: String =
        (0..64).map(|n| format!("case {n}: assert(!\"{n}\"); break;\n")).collect();
    format!(
        "{text}int (*first)(void), (*second)(void);\n\
         void *run_a(void *u) {{ a = first(); return u; }}\nvoid *run_b(void *u) {{ b = second(); return u; }}\n\
         int main(int argc, char **argv) {{ pthread_t t, s; switch (atoi(argv[argc - 1])) {{\n{cases}}}\n\
         pthread_create(&t, 0, run_a, 0); pthread_create(&s, 0, run_b, 0); pthread_join(t, 0); pthread_join(s, 0);\n\
         switch (8 * a + b) {{\n{results}}} return 0; }}\n"
    )
}

/// Under every memory model, a program computes what interleavings of it compute. Returns how many executions are complete
/// in interleavings, and under sequential consistency as graphs.
pub(super) fn computes_the_same(loaded: &Loaded, models: &[Memory], at: &str) -> (u64, u64) {
    let options = all();
    // Loops that try a lock of readers and writers only end by this limit in interleavings. Too low a limit is noticed
    // below: 200 miss a result.
    let limits = Limits { steps: 1_000, ..Limits::default() };
    let cut = Options { limits, ..all() };
    let report = search(loaded, Algorithm::Optimal, &cut, &mut Nothing);
    let expected: BTreeSet<String> =
        report.violations.iter().map(|(violation, _)| violation.message.clone()).collect();
    assert!(!expected.is_empty(), "{at}");
    let mut graphs = 0;
    for &memory in models {
        let found = explore(loaded, memory, &options);
        let message = |(finding, _): &(Finding, _)| match finding {
            Finding::Fault(_, selvedge_core::Fault::Violation(violation))
            | Finding::Judged(violation) => violation.message.clone(),
            other => format!("{other:?}"),
        };
        let messages: BTreeSet<String> = found.findings.iter().map(message).collect();
        assert_eq!(messages, expected, "{at} {}", memory.name());
        assert_eq!(found.inconclusive, Vec::new(), "{at} {}", memory.name());
        if memory == Memory::Sc {
            graphs = found.counts.complete;
        }
    }
    (report.counts.complete, graphs)
}

#[test]
fn loops_compute_what_they_compute_in_interleavings() {
    for toolchain in toolchains() {
        let compiled = compile_with(toolchain, &in_c(PROGRAMS, ""), &[]);
        for (number, program) in PROGRAMS.iter().enumerate() {
            let loaded = compiled.loaded.again(&[number.to_string()]);
            computes_the_same(&loaded, &MODELS, &format!("{} {program:?}", toolchain.c));
        }
    }
}

/// A loop that waits for one value costs an execution for each way to go on, and no more.
#[test]
fn a_loop_that_waits_for_a_flag() {
    let text = "int data; atomic_int flag;\n\
                void *a(void *u) { data = 42; atomic_store_explicit(&flag, 1, memory_order_release); return u; }\n\
                void *b(void *u) { while (!atomic_load_explicit(&flag, memory_order_acquire)) { } assert(data == 42); return u; }\n\
                int main(void) { pthread_t t, s; pthread_create(&t, 0, a, 0); pthread_create(&s, 0, b, 0);\n\
                pthread_join(t, 0); pthread_join(s, 0); return 0; }\n";
    for toolchain in toolchains() {
        for flags in [&[][..], &["-O1"], &["-O2"]] {
            let compiled = compile_with(toolchain, text, flags);
            for memory in MODELS {
                let report = explore(&compiled.loaded, memory, &all());
                // It finds the flag at once, or waits.
                let found = (report.verdict(), report.counts.complete, report.counts.maximal());
                assert_eq!(
                    found,
                    (selvedge_core::Verdict::Verified, 2, 2),
                    "{} {flags:?}",
                    memory.name()
                );
            }
        }
    }
    let relaxed = text.replace("memory_order_release", "memory_order_relaxed");
    let compiled = compile_with(crate::common::GCC, &relaxed, &[]);
    let report = explore(&compiled.loaded, Memory::Rc11, &all());
    assert!(super::has_race(&report));
}
