//! Operations that may end spuriously: waits on condition variables, and weak compare-exchanges.

use selvedge_core::{Report, Verdict};
use selvedge_explore::Algorithm;
use selvedge_native::{Loaded, Spurious};

use crate::common::{Compiled, EXPLORERS, Nothing, compile_text, compile_with, search, toolchains};

/// Explores with another bound, all of it.
fn explore(loaded: &Loaded, algorithm: Algorithm) -> Report {
    let options =
        selvedge_explore::Options { keep_going: true, data_races: true, ..Default::default() };
    search(loaded, algorithm, &options, &mut Nothing)
}

fn with(compiled: &Compiled, most: u32, everywhere: bool) -> Loaded {
    let loaded = compiled.loaded.again(&[]);
    loaded.set_spurious(Spurious { most, everywhere });
    loaded
}

/// What looks again costs no execution, by any explorer.
#[track_caller]
fn costs_nothing(compiled: &Compiled) {
    for algorithm in EXPLORERS {
        let usual = explore(&with(compiled, 1, false), algorithm);
        let never = explore(&with(compiled, 0, false), algorithm);
        let name = algorithm.info().name;
        assert_eq!(usual.verdict(), Verdict::Verified, "{name}: {:?}", usual.violations);
        assert_eq!(usual.counts, never.counts, "{name}");
    }
    let loaded = with(compiled, 1, false);
    explore(&loaded, Algorithm::Optimal);
    assert!(loaded.is_spurious_left_out() && !loaded.is_spurious_bounded());
}

/// What does not look again is wrong, and right if nothing ends spuriously.
#[track_caller]
fn is_wrong(compiled: &Compiled, message: &str) {
    let violation = compiled.violation();
    assert_eq!(violation.message, message, "{violation:?}");
    for algorithm in EXPLORERS {
        let usual = explore(&with(compiled, 1, false), algorithm);
        assert_eq!(usual.verdict(), Verdict::Violated, "{}", algorithm.info().name);
        let never = explore(&with(compiled, 0, false), algorithm);
        assert_eq!(never.verdict(), Verdict::Verified, "{:?}", never.violations);
    }
}

fn waits(how: &str) -> String {
    format!(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int ready;\n\
         void *b(void *u) {{ pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return u; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, b, 0); pthread_mutex_lock(&m);\n\
         {how} assert(ready); pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }}\n"
    )
}

#[test]
fn a_wait_in_a_loop() {
    for toolchain in toolchains() {
        let text = waits("while (!ready) pthread_cond_wait(&c, &m);");
        costs_nothing(&compile_with(toolchain, &text, &[]));
        costs_nothing(&compile_with(toolchain, &text, &["-O2"]));
    }
}

#[test]
fn a_wait_in_a_condition() {
    for toolchain in toolchains() {
        let text = waits("if (!ready) pthread_cond_wait(&c, &m);");
        is_wrong(&compile_with(toolchain, &text, &[]), "assertion `ready` is false");
    }
}

#[test]
fn a_timed_wait() {
    let until = "struct timespec until = { 1, 0 }; int r = 0;";
    let proper = waits(&format!(
        "{until} while (!ready) {{ r = pthread_cond_timedwait(&c, &m, &until); \
         if (r == ETIMEDOUT) {{ pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }} }}"
    ));
    costs_nothing(&compile_with(crate::common::GCC, &proper, &[]));
    let wrong = waits(&format!(
        "{until} if (!ready) r = pthread_cond_timedwait(&c, &m, &until); if (r == 0) assert(ready); else ready = 1;"
    ));
    is_wrong(&compile_with(crate::common::GCC, &wrong, &[]), "assertion `ready` is false");
}

#[test]
fn a_wait_of_c11() {
    let text = |how: &str| {
        format!(
            "mtx_t m; cnd_t c; int ready;\n\
             int b(void *u) {{ mtx_lock(&m); ready = 1; cnd_signal(&c); mtx_unlock(&m); return 0; }}\n\
             int main(void) {{ thrd_t t; mtx_init(&m, mtx_plain); cnd_init(&c); thrd_create(&t, b, 0); mtx_lock(&m);\n\
             {how} (!ready) cnd_wait(&c, &m); assert(ready); mtx_unlock(&m); thrd_join(t, 0); return 0; }}\n"
        )
    };
    for toolchain in toolchains() {
        costs_nothing(&compile_with(toolchain, &text("while"), &[]));
        is_wrong(&compile_with(toolchain, &text("if"), &[]), "assertion `ready` is false");
    }
}

#[test]
fn a_wait_of_cxx() {
    let text = |condition: &str, how: &str| {
        format!(
            "#include <cassert>\n#include <condition_variable>\n#include <mutex>\n#include <thread>\n\
             std::mutex m; std::{condition} c; bool ready;\n\
             int main() {{ std::thread t([] {{ std::lock_guard<std::mutex> l(m); ready = true; c.notify_one(); }});\n\
             {{ std::unique_lock<std::mutex> l(m); {how} assert(ready); }}\n t.join(); }}\n"
        )
    };
    for toolchain in toolchains() {
        for (how, is_proper) in [
            ("c.wait(l, [] { return ready; });", true),
            ("while (!ready) c.wait(l);", true),
            ("if (!ready) c.wait(l);", false),
        ] {
            let compiled =
                compile_text(toolchain, "test.cpp", &text("condition_variable", how), &[]);
            match is_proper {
                true => costs_nothing(&compiled),
                false => is_wrong(&compiled, "assertion `ready` is false"),
            }
        }
        let any = text("condition_variable_any", "if (!ready) c.wait(l);");
        is_wrong(&compile_text(toolchain, "test.cpp", &any, &[]), "assertion `ready` is false");
        // What such a wait counts is a change that others could see: both ways are explored.
        let any = text("condition_variable_any", "while (!ready) c.wait(l);");
        let compiled = compile_text(toolchain, "test.cpp", &any, &[]);
        assert_eq!(compiled.explore(Algorithm::Optimal).verdict(), Verdict::Verified);
    }
}

fn adds(how: &str) -> String {
    format!(
        "atomic_int x; int done;\nvoid add(void) {{ {how} }}\nvoid *b(void *u) {{ add(); return u; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, b, 0); add(); pthread_join(t, 0); assert(x == 2); return 0; }}\n"
    )
}

#[test]
fn a_weak_compare_exchange_in_a_loop() {
    for how in [
        "int e = x; while (!atomic_compare_exchange_weak(&x, &e, e + 1)) { }",
        "int e; do { e = x; } while (!atomic_compare_exchange_weak(&x, &e, e + 1));",
        "int e = x; while (!__atomic_compare_exchange_n((int *)&x, &e, e + 1, 1, 5, 5)) { }",
    ] {
        for toolchain in toolchains() {
            costs_nothing(&compile_with(toolchain, &adds(how), &[]));
            let optimised = compile_with(toolchain, &adds(how), &["-O2"]);
            match toolchain == crate::common::GCC {
                true => costs_nothing(&optimised),
                // The first turn of a loop is a place of its own there: both ways are explored.
                false => {
                    assert_eq!(optimised.explore(Algorithm::Optimal).verdict(), Verdict::Verified)
                }
            }
        }
    }
}

#[test]
fn a_weak_compare_exchange_without_a_loop() {
    let weak = "int e = 0; if (!atomic_compare_exchange_weak(&x, &e, 1)) { e = 1; atomic_compare_exchange_strong(&x, &e, 2); }";
    let strong = weak.replace("weak", "strong");
    for toolchain in toolchains() {
        is_wrong(&compile_with(toolchain, &adds(weak), &[]), "assertion `x == 2` is false");
        let strong = compile_with(toolchain, &adds(&strong), &[]);
        assert_eq!(strong.explore(Algorithm::Optimal).verdict(), Verdict::Verified);
        assert!(!strong.loaded.is_spurious_left_out());
    }
}

/// Of any size, and with a value that is computed on the way: once, whether it fails or not.
#[test]
fn weak_compare_exchanges_of_many_types() {
    let text = "struct two { int a, b; }; _Atomic(struct two) two; _Atomic(char *) text; atomic_char c; int calls;\n\
                char *next(void) { calls++; return \"b\"; }\n\
                int main(void) { char *t = 0; char d = 0; struct two old = { 0, 0 }, new = { 1, 2 };\n\
                int a = atomic_compare_exchange_weak(&text, &t, next());\n\
                int b = atomic_compare_exchange_weak(&c, &d, 'x'), d2 = atomic_compare_exchange_weak(&two, &old, new);\n\
                assert(calls == 1 && (a || !t) && (b ? c == 'x' : c == 0) && (d2 || old.a == 0)); assert(a + b + d2 > 0);\n\
                return 0; }\n";
    for toolchain in toolchains() {
        let compiled = compile_with(toolchain, text, &[]);
        is_wrong(&compiled, "assertion `a + b + d2 > 0` is false");
        // One choice for each.
        let all = explore(&with(&compiled, 1, false), Algorithm::Optimal);
        assert_eq!(all.counts.maximal(), 8, "{toolchain:?}: {:?}", all.counts);
    }
}

#[test]
fn a_weak_compare_exchange_of_cxx() {
    let text = |weak: &str| {
        format!(
            "#include <atomic>\n#include <cassert>\nstd::atomic<int> x;\nstd::atomic<long *> p;\n\
             int main() {{ int e = 0; long *q = nullptr; {weak} assert(x == 1); }}\n"
        )
    };
    for toolchain in toolchains() {
        for flags in [&["-std=c++17"][..], &["-std=c++20"], &["-std=c++17", "-O2"]] {
            let proper = text(
                "while (!x.compare_exchange_weak(e, 1)) e = 0; p.compare_exchange_strong(q, nullptr);",
            );
            costs_nothing(&compile_text(toolchain, "test.cpp", &proper, flags));
            let wrong = text("x.compare_exchange_weak(e, 1);");
            let wrong = compile_text(toolchain, "test.cpp", &wrong, flags);
            is_wrong(&wrong, "assertion `x == 1` is false");
        }
    }
}

/// A loop that tries so often ends spuriously each time only if that is asked for.
#[test]
fn a_bound() {
    let text = "atomic_int x;\nint main(void) { int n = 0, e = 0;\n\
                while (n < 2 && !atomic_compare_exchange_weak(&x, &e, 1)) n++; assert(n < 2); return 0; }\n";
    let compiled = compile_with(crate::common::GCC, text, &[]);
    let once = with(&compiled, 1, false);
    let report = explore(&once, Algorithm::Optimal);
    assert_eq!((report.verdict(), report.counts.maximal()), (Verdict::Verified, 2));
    assert!(once.is_spurious_bounded());
    let twice = with(&compiled, 2, false);
    let report = explore(&twice, Algorithm::Optimal);
    assert_eq!((report.verdict(), report.counts.maximal()), (Verdict::Violated, 3));
    assert!(!twice.is_spurious_bounded());
}

/// A loop that looks again may see what others do before they signal.
#[test]
fn everywhere() {
    let text = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int ready, half;\n\
                void *b(void *u) { pthread_mutex_lock(&m); half = 1; pthread_mutex_unlock(&m);\n\
                pthread_mutex_lock(&m); half = 0; ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m); return u; }\n\
                int main(void) { pthread_t t; pthread_mutex_lock(&m); pthread_create(&t, 0, b, 0);\n\
                while (!ready) { pthread_cond_wait(&c, &m); assert(!half); }\n\
                pthread_mutex_unlock(&m); pthread_join(t, 0); return 0; }\n";
    let compiled = compile_with(crate::common::GCC, text, &[]);
    costs_nothing(&compiled);
    for algorithm in EXPLORERS {
        let everywhere = explore(&with(&compiled, 1, true), algorithm);
        assert_eq!(everywhere.verdict(), Verdict::Violated, "{}", algorithm.info().name);
    }
}

/// What others may see of a turn, and what the thread remembers of it, is explored.
#[test]
fn a_loop_that_changes_something() {
    let counts =
        waits("int n = 0; while (!ready) { pthread_cond_wait(&c, &m); n++; } assert(n < 2);");
    is_wrong(&compile_with(crate::common::GCC, &counts, &[]), "assertion `n < 2` is false");
    let writes =
        waits("static int n; while (!ready) { pthread_cond_wait(&c, &m); n++; } assert(n < 2);");
    is_wrong(&compile_with(crate::common::GCC, &writes, &[]), "assertion `n < 2` is false");
    // What it writes others may see.
    let tells = waits("while (!ready) { pthread_cond_wait(&c, &m); woke = 1; }");
    let tells = tells
        .replace("int ready;", "int ready, woke;")
        .replace("ready = 1;", "assert(!woke); ready = 1;");
    is_wrong(&compile_with(crate::common::GCC, &tells, &[]), "assertion `!woke` is false");
    let allocates = waits(
        "int n = 0; while (!ready) { pthread_cond_wait(&c, &m); free(malloc(8)); n = 1 - n; } ready = n + 1;",
    );
    let compiled = compile_with(crate::common::GCC, &allocates, &[]);
    assert!(explore(&with(&compiled, 1, false), Algorithm::Optimal).counts.maximal() > 2);
}

/// Whether it looks again may depend on what it knows.
#[test]
fn a_loop_that_looks_again_sometimes() {
    for (set, look) in [(1, "mode"), (0, "!mode")] {
        let text = waits(&format!(
            "int once = {look}; while (!ready) {{ pthread_cond_wait(&c, &m); if (once) break; }}"
        ));
        let text = text.replace("int ready;", &format!("int ready; atomic_int mode = 1 - {set};"));
        let text =
            text.replace("void *b(void *u) {", &format!("void *b(void *u) {{ mode = {set};"));
        is_wrong(&compile_with(crate::common::GCC, &text, &[]), "assertion `ready` is false");
    }
}

/// What a thread does if it wakes too early may be a crash, which is not one of the thread that waits properly.
#[test]
fn a_crash_after_an_early_wake_up() {
    let text =
        waits("int *p = 0; if (!ready) pthread_cond_wait(&c, &m); if (ready) p = &ready; *p = 2;");
    let violation = compile_with(crate::common::GCC, &text, &[]).violation();
    assert_eq!(violation.kind, selvedge_core::ViolationKind::Crash, "{violation:?}");
}
