//! An allocation is a write of the block by its thread: a thread that uses the block has to come after it.

use selvedge_core::Verdict;
use selvedge_explore::{Algorithm, Finding, Memory, Options};

use crate::common::{compile_with, levels, toolchains};
use crate::weak::explore;

/// One thread makes a block and publishes it, another one uses it.
fn publish(make: &str, order: &str, use_it: &str) -> String {
    format!(
        "_Atomic(int *) p;\n\
         void *a(void *u) {{ int *q = {make}; atomic_store_explicit(&p, q, memory_order_{}); return u; }}\n\
         void *b(void *u) {{ int *q = atomic_load_explicit(&p, memory_order_{}); if (q) {{ {use_it} }} return u; }}\n\
         int main(void) {{ pthread_t t, s; pthread_create(&t, 0, a, 0); pthread_create(&s, 0, b, 0);\n\
         pthread_join(t, 0); pthread_join(s, 0); return 0; }}\n",
        if order == "relaxed" { "relaxed" } else { "release" },
        if order == "relaxed" { "relaxed" } else { "acquire" },
    )
}

const MAKES: [&str; 3] = ["malloc(4)", "calloc(1, 4)", "realloc(malloc(4), 8)"];
const USES: [&str; 3] =
    ["*q = 1;", "(void)*(volatile char *)q;", "atomic_fetch_add((atomic_int *)q, 1);"];

#[test]
fn a_block_that_is_published_without_an_order_is_a_race() {
    for make in MAKES {
        for use_it in USES {
            let text = publish(make, "relaxed", use_it);
            for toolchain in toolchains() {
                for &level in levels() {
                    let compiled = compile_with(toolchain, &text, &[level]);
                    let message = compiled.violation().message;
                    let is_race = message.starts_with("data race on")
                        && message.contains("allocated at test.c:2");
                    assert!(is_race, "{make} {use_it} {toolchain:?} {level}: {message}");
                    if !use_it.contains("volatile") {
                        let options = Options { data_races: true, ..Options::default() };
                        let report = explore(&compiled.loaded, Memory::Rc11, &options);
                        let is_race =
                            |(found, _): &(Finding, _)| matches!(found, Finding::DataRace(..));
                        assert!(report.findings.iter().any(is_race), "{make} {use_it}: {report:?}");
                    }
                }
            }
        }
    }
}

/// What orders the block with its use is no race, and an allocation orders nothing: there are as many executions as values.
#[test]
fn a_block_that_is_published_in_order_is_no_race() {
    let lock = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int *p;\n\
                void *a(void *u) { int *q = malloc(4); pthread_mutex_lock(&m); p = q; pthread_mutex_unlock(&m); return u; }\n\
                void *b(void *u) { pthread_mutex_lock(&m); int *q = p; pthread_mutex_unlock(&m); if (q) *q = 1; return u; }\n\
                int main(void) { pthread_t t, s; pthread_create(&t, 0, a, 0); pthread_create(&s, 0, b, 0);\n\
                pthread_join(t, 0); pthread_join(s, 0); return 0; }\n";
    let create = "void *a(void *u) { *(int *)u = 1; int *q = calloc(1, 4); return q; }\n\
                  int main(void) { pthread_t t; void *q; int *p = malloc(4); pthread_create(&t, 0, a, p);\n\
                  pthread_join(t, &q); *(int *)q = *p; free(p); free(q); return 0; }\n";
    let alone = "void *a(void *u) { int *q = calloc(2, 4); q[1] = 1; q = realloc(q, 16); free(q); return u; }\n\
                 int main(void) { pthread_t t, s; pthread_create(&t, 0, a, 0); pthread_create(&s, 0, a, 0);\n\
                 pthread_join(t, 0); pthread_join(s, 0); return 0; }\n";
    for (text, executions) in [
        (publish("malloc(4)", "release", "*q = 1;"), 2),
        (publish("calloc(1, 4)", "release", "atomic_fetch_add((atomic_int *)q, 1);"), 2),
        (lock.to_owned(), 2),
        (create.to_owned(), 1),
        (alone.to_owned(), 1),
    ] {
        for toolchain in toolchains() {
            let compiled = compile_with(toolchain, &text, &[]);
            let report = compiled.explore(Algorithm::Optimal);
            let counts = (report.verdict(), report.counts.maximal());
            assert_eq!(counts, (Verdict::Verified, executions), "{text} {report:?}");
            let options = Options { keep_going: true, data_races: true, ..Options::default() };
            let report = explore(&compiled.loaded, Memory::Rc11, &options);
            let counts = (report.verdict(), report.counts.maximal());
            assert_eq!(counts, (Verdict::Verified, executions), "{text} {report:?}");
        }
    }
}
