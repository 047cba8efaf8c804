//! Functions of libc: what they read and write, and those that are not known. What the compiler does not show.

use selvedge_core::Verdict;
use selvedge_explore::{Algorithm, Options};
use selvedge_native::Notes;

use crate::common::{Nothing, compile, compile_with, search, toolchains, verified, violated};

/// A thread does one thing and `main` another, on variables that they share.
fn both(one: &str, other: &str) -> String {
    format!(
        "#include <stdio.h>\n#include <time.h>\n#include <unistd.h>\n#include <sys/time.h>\n#include <wchar.h>\n\
         char s[16] = \"12 34\"; char d[16]; wchar_t w[4] = L\"ab\"; int n[4] = {{3, 1, 2, 0}}; int k; char *e; unsigned seed; \
         time_t seconds; struct timespec stamp; struct timeval value; atomic_int x; volatile long sink; int which;\n\
         int less(const void *a, const void *b) {{ return *(const int *)a - *(const int *)b; }}\n\
         void *t(void *u) {{ {one}; return u; }}\n\
         int main(int c, char **v) {{ pthread_t h; which = atoi(v[1]); pthread_create(&h, 0, t, 0); {other}; pthread_join(h, 0); return 0; }}"
    )
}

/// Whatever a function reads or writes is an access of the thread that calls it.
#[test]
fn what_functions_access() {
    let text = "s[0] = '9'";
    let reads = [
        "sink = atoi(s)",
        "sink = atol(s)",
        "sink = atoll(s)",
        "sink = (long)atof(s)",
        "sink = strtol(s, 0, 10)",
        "sink = strtoll(s, 0, 10)",
        "sink = strtoul(s, 0, 10)",
        "sink = (long)strtoull(s, 0, 10)",
        "sink = (long)strtod(s, 0)",
        "sink = (long)strtof(s, 0)",
        "sink = (long)strlen(s)",
        "sink = (long)strnlen(s, 3)",
        "sink = (long)strchr(s, '1')",
        "sink = (long)strrchr(s, '1')",
        "sink = (long)strstr(s, \"3\")",
        "sink = (long)strpbrk(s, \"3\")",
        "sink = (long)strspn(s, \"1\")",
        "sink = (long)strcspn(s, \"4\")",
        "sink = strcmp(s, d)",
        "sink = strncmp(s, d, 2)",
        "sink = (long)memchr(s, 7, 4)",
        "sink = memcmp(s, d, 4)",
        "strcpy(d, s)",
        "strncpy(d, s, 2)",
        "strcat(d, s)",
        "strncat(d, s, 2)",
        "memcpy(d, s, 4)",
        "memmove(d, s, 4)",
        "printf(\"%d %s\", 1, s)",
        "printf(\"%.1s\", s)",
        "fprintf(stderr, \"%*d %s\", 3, 1, s)",
        "puts(s)",
        "fputs(s, stdout)",
        "fwrite(s, 1, 3, stdout)",
        "write(1, s, 2)",
        "perror(s)",
        "printf(s)",
        "sprintf(d, \"%s\", s)",
        "snprintf(d, 9, \"%lu %f %s\", 1ul, 0.5, s)",
        "strtok(s, \" \")",
        "strtok_r(s, \" \", &e)",
        "free(strdup(s))",
    ];
    let others = [
        ("qsort(n, 4, sizeof *n, less)", "sink = n[3]", "n"),
        ("sink = strtol(s, &e, 10)", "e = 0", "e"),
        ("sink = (long)strtok(d, \" \")", "strtok(s, \" \")", "remembered"),
        ("sink = (long)wcslen(w)", "w[1] = 0", "w"),
        ("time(&seconds)", "sink = seconds", "seconds"),
        ("clock_gettime(CLOCK_REALTIME, &stamp)", "sink = stamp.tv_sec", "stamp"),
        ("gettimeofday(&value, 0)", "sink = value.tv_sec", "value"),
        ("sink = rand_r(&seed)", "seed = 1", "seed"),
        ("printf(\"%n\", &k)", "sink = k", "k"),
        ("sprintf(d, \"%d\", 77)", "sink = d[1]", "d"),
        ("atomic_compare_exchange_strong(&x, &k, 1)", "k = 0", "k"),
    ];
    // A format without the text, and a text that is not reached, are no accesses to it.
    let harmless = [
        "printf(\"%d %%s\", 1)",
        "printf(\"%.0s\", s)",
        "strncmp(s, d, 0)",
        "sink = (long)memchr(s + 1, '2', 4)",
    ];
    let racy = reads.iter().map(|&read| (read, text, Some("s")));
    let racy = racy.chain(others.map(|(one, other, variable)| (one, other, Some(variable))));
    let all: Vec<_> = racy.chain(harmless.map(|one| (one, text, None))).collect();
    let cases = |of: &dyn Fn(usize) -> &'static str| -> String {
        (0..all.len()).map(|case| format!("case {case}: {}; break; ", of(case))).collect()
    };
    let [one, other] = [cases(&|case| all[case].0), cases(&|case| all[case].1)];
    let compiled = compile(
        &both(&format!("switch (which) {{ {one} }}"), &format!("switch (which) {{ {other} }}")),
        &["-w"],
    );
    for (case, (one, _, variable)) in all.iter().enumerate() {
        let loaded = compiled.loaded.again(&[case.to_string()]);
        if let Some(variable) = variable {
            let message = compiled.violation_of(&loaded).message;
            assert!(message.starts_with(&format!("data race on `{variable}")), "{one}: {message}");
        } else {
            let options = Options { data_races: true, ..Options::default() };
            let report = search(&loaded, Algorithm::Optimal, &options, &mut Nothing);
            assert_eq!(report.verdict(), Verdict::Verified, "{one}: {:?}", report.violations);
        }
    }
}

#[test]
fn functions_that_are_not_known_end_the_check_where_they_are_called() {
    let text = |called: &str| {
        format!(
            "#include <stdio.h>\nint main(int c, char **v) {{ int n = 0; {called}; return n; }}"
        )
    };
    for (called, name) in [
        ("scanf(\"%d\", &n)", "__isoc99_scanf"),
        ("n = getc(stdin)", "getc"),
        ("n = lrand48()", "lrand48"),
    ] {
        let report = compile(&text(called), &["-w"]).explore(Algorithm::Optimal);
        let said = format!("{:?}", report.inconclusive);
        assert!(
            report.verdict() == Verdict::Inconclusive && said.contains(name),
            "{called}: {said}"
        );
    }
    // One that is not reached does not matter.
    verified(&text("if (c > 1) n = getc(stdin)"), 1);
    let mathematics = compile(
        "#include <math.h>\nint main(void) { volatile double x = 2; return cbrt(x) > 2 || sinf(x) > 2; }",
        &["-lm"],
    );
    assert_eq!(mathematics.explore(Algorithm::Optimal).verdict(), Verdict::Verified);
}

#[test]
fn structures_that_calls_copy() {
    let head = "struct S { long a, b, c; }; struct S g, *p = &g; long first(struct S s) { return s.a; }\n\
                struct S made(long v) { struct S s = {v, v, v}; return s; } void touch(struct S *s) { s->a = 1; }\n";
    let notes = |toolchain, body: &str| -> Notes {
        compile_with(toolchain, &format!("{head}int main(void) {{ {body}; return 0; }}"), &[])
            .notes
            .clone()
    };
    for toolchain in toolchains() {
        for body in ["first(g)", "return first(*p)"] {
            assert_eq!(notes(toolchain, body).by_value.len(), 1, "{body}");
        }
        for body in [
            "struct S s = g; touch(&s); first(s)",
            "struct S s = g; first(s)",
            "struct S s = made(1); g = s",
            "touch(&g)",
        ] {
            assert!(notes(toolchain, body).by_value.is_empty(), "{body}");
        }
    }
    // A function that returns a structure writes it, as clang shows.
    let [gcc, ..] = toolchains()[..] else { return };
    assert_eq!(notes(gcc, "g = made(1)").by_value.len(), 1);
    assert_eq!(notes(gcc, "struct S s; touch(&s); first(s)").local_by_value.len(), 1);
    // What no other thread can have the address of is not seen by others.
    for body in ["struct S s = g; first(s)", "struct S s = made(1); g.a = s.b"] {
        assert!(notes(gcc, body).local_by_value.is_empty(), "{body}");
    }
}

#[test]
fn the_serial_thread_of_a_barrier() {
    let text = |body: &str| {
        format!(
            "pthread_barrier_t b; void *t(void *u) {{ {body}; return u; }}\n\
         int main(void) {{ pthread_t h; pthread_barrier_init(&b, 0, 2); pthread_create(&h, 0, t, 0); pthread_barrier_wait(&b); \
         pthread_join(h, 0); return 0; }}"
        )
    };
    violated(
        &text("assert(pthread_barrier_wait(&b) == 0)"),
        "assertion `pthread_barrier_wait(&b) == 0` is false",
    );
    violated(
        &text("assert(pthread_barrier_wait(&b) != 0)"),
        "assertion `pthread_barrier_wait(&b) != 0` is false",
    );
    // If nothing looks at it, the order in which threads arrive does not matter.
    verified(&text("pthread_barrier_wait(&b)"), 1);
}

#[test]
fn misuse_of_mutexes_and_conditions() {
    let main = |body: &str| {
        format!(
            "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int main(void) {{ {body} return 0; }}"
        )
    };
    violated(
        &main("pthread_mutex_destroy(&m); pthread_mutex_lock(&m);"),
        "main locks m, which was destroyed",
    );
    violated(
        &main("pthread_mutex_destroy(&m); pthread_mutex_trylock(&m);"),
        "main locks m, which was destroyed",
    );
    let again = "pthread_mutex_destroy(&m); m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&m); pthread_mutex_unlock(&m);";
    verified(&main(again), 1);
    verified(
        &main(
            "for (int i = 0; i < 2; i++) { pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_lock(&l); \
                    pthread_mutex_unlock(&l); pthread_mutex_destroy(&l); }",
        ),
        1,
    );
    verified(
        &main(
            "pthread_spinlock_t s[8]; memset(s, 255, sizeof s); pthread_spin_init(s, 0); pthread_spin_destroy(s); \
                    pthread_spin_init(s, 0); pthread_spin_lock(s); pthread_spin_unlock(s);",
        ),
        1,
    );
    violated(
        "pthread_mutex_t m; pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
         int main(void) { pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);\n\
         pthread_mutex_init(&m, &a); pthread_mutex_lock(&m); pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); return 0; }",
        "main waits with m, which it holds 2 times, and only one of them is given up",
    );
    violated(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
         void *t(void *u) { pthread_mutex_lock(&n); pthread_cond_wait(&c, &n); return u; }\n\
         int main(void) { pthread_t h; pthread_mutex_lock(&m); pthread_create(&h, 0, t, 0); pthread_cond_wait(&c, &m); return 0; }",
        "t waits at c with n, while main waits there with m",
    );
    verified(
        "#include <limits.h>\nint main(void) { sem_t s; assert(sem_init(&s, 0, SEM_VALUE_MAX + 1u) == -1 && errno == EINVAL);\n\
              pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; struct timespec no = {1, 2000000000};\n\
              pthread_mutex_lock(&m); assert(pthread_cond_timedwait(&c, &m, &no) == EINVAL); pthread_mutex_unlock(&m); return 0; }",
        1,
    );
}

#[test]
fn kinds_of_locks_that_are_not_modelled() {
    for body in [
        "pthread_mutexattr_t a; pthread_mutexattr_init(&a); pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);",
        "pthread_rwlockattr_t a; pthread_rwlockattr_init(&a); pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);",
    ] {
        let text = format!("int main(void) {{ {body} return 0; }}");
        let report = compile(&text, &["-D_GNU_SOURCE"]).explore(Algorithm::Optimal);
        assert_eq!(report.verdict(), Verdict::Inconclusive, "{body}");
    }
}

#[test]
fn the_stack_of_a_thread_that_has_ended() {
    violated(
        "int *_Atomic q; void *t(void *u) { int local = 5; q = &local; return u; }\n\
         int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); return *q; }",
        "main uses the stack of t, which has ended",
    );
    // Nothing orders the use with the end.
    violated(
        "atomic_int *_Atomic q; void *t(void *u) { atomic_int local = 5; q = &local; return u; }\n\
         int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); atomic_int *seen = q; if (seen) atomic_load(seen); \
         pthread_join(h, 0); return 0; }",
        "main uses the stack of t, which has ended",
    );
    // Here it is ordered.
    verified(
        "atomic_int *_Atomic q; void *t(void *u) { atomic_int local = 5; q = &local; while (local) {} return u; }\n\
         int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); atomic_int *seen = q; \
         if (seen) { assert(*seen == 5); *seen = 0; } else exit(0); pthread_join(h, 0); return 0; }",
        4,
    );
}

#[test]
fn thread_local_variables_of_a_thread_that_has_ended() {
    let head =
        "_Thread_local int x; int *_Atomic q; void *t(void *u) { x = 1; q = &x; return u; }\n";
    let joined = "pthread_create(&h, 0, t, 0); pthread_join(h, 0); return *q - 1;";
    let unordered = "pthread_create(&h, 0, t, 0); if (q) *q = 2; pthread_join(h, 0); return 0;";
    for body in [joined, unordered] {
        violated(
            &format!("{head}int main(void) {{ pthread_t h; {body} }}"),
            "main uses a thread-local variable of t, which has ended",
        );
    }
}

#[test]
fn errors_of_each_thread() {
    verified(
        "void *t(void *u) { assert(errno == 0); errno = 7; return u; }\n\
         int main(void) { assert(errno == 0); errno = 5; pthread_t h; pthread_create(&h, 0, t, 0); pthread_join(h, 0); assert(errno == 5); return 0; }",
        1,
    );
}

#[test]
fn functions_that_run_at_the_end() {
    let compiled = |text: &str| compile(text, &[]).notes.has_destructors;
    assert!(compiled(
        "int d; __attribute__((destructor)) void e(void) { d = 1; } int main(void) { return 0; }"
    ));
    assert!(!compiled("int d; void e(void) { d = 1; } int main(void) { return atexit(e); }"));
}

#[test]
fn stacks_as_large_as_the_usual_ones() {
    verified(
        "int main(void) { volatile char a[7000000]; a[0] = 1; a[6999999] = 2; return a[0] - 1; }",
        1,
    );
}

#[test]
fn numbers_that_are_seeded() {
    verified(
        "int main(void) { srand(7); int a = rand(); srand(7); assert(a == rand()); unsigned s = 3, t = 3;\n\
              assert(rand_r(&s) == rand_r(&t) && s == t); return 0; }",
        1,
    );
}

/// What is local to a function that is called again lies where it lay before, and is new.
#[test]
fn objects_that_lie_where_others_were() {
    verified(
        "int n; void g(void) { n++; } void f(void) { once_flag o = ONCE_FLAG_INIT; call_once(&o, g); call_once(&o, g); }\n\
         int main(void) { f(); f(); assert(n == 2); return 0; }",
        1,
    );
    verified(
        "void f(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; assert(pthread_mutex_trylock(&m) == 0); }\n\
         int main(void) { f(); f(); return 0; }",
        1,
    );
}
