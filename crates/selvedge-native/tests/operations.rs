//! One small program for each operation: its verdict, and how many classes of executions it has.

use selvedge_core::Verdict;
use selvedge_explore::Algorithm;

use crate::common::{EXPLORERS, compile, compile_with, levels, toolchains, verified, violated};

/// Two threads `a` and `b`, and what `main` does in the end.
fn two(globals: &str, a: &str, b: &str, end: &str) -> String {
    format!(
        "{globals}\nvoid *a(void *u) {{ {a} return u; }}\nvoid *b(void *u) {{ {b} return u; }}\n\
         int main(void) {{ pthread_t t1, t2; START; pthread_create(&t1, 0, a, 0); pthread_create(&t2, 0, b, 0);\n\
         pthread_join(t1, 0); pthread_join(t2, 0); {end} return 0; }}\n"
    )
    .replace("START;", if globals.contains("void start(") { "start();" } else { "" })
}

#[test]
fn plain_accesses_race() {
    let text = two("int x;", "x = 1;", "x = 2;", "");
    let violation = compile(&text, &[]).violation();
    assert_eq!(violation.kind.name(), "data-race");
    assert_eq!(violation.places.len(), 2, "{violation:?}");
}

#[test]
fn atomic_accesses() {
    verified(&two("atomic_int x;", "x = 1;", "x = 2;", ""), 2);
    verified(&two("atomic_int x;", "x++;", "x++;", "assert(x == 2);"), 2);
    verified(&two("atomic_int x, y;", "x = 1;", "y = 1;", ""), 1);
    verified(&two("volatile int x;", "x = 1;", "x = 2;", ""), 2);
    let both = "int e = 0; atomic_compare_exchange_strong(&x, &e, 1);";
    verified(&two("atomic_int x;", both, both, "assert(x == 1);"), 2);
    verified(&two("atomic_llong x;", "atomic_exchange(&x, 5);", "(void)atomic_load(&x);", ""), 2);
    verified(
        &two(
            "atomic_uchar x;",
            "atomic_fetch_or(&x, 1);",
            "atomic_fetch_or(&x, 2);",
            "assert(x == 3);",
        ),
        2,
    );
}

#[test]
fn neighbours_in_memory_are_different_objects() {
    verified(&two("atomic_int x[2];", "x[0] = 1;", "x[1] = 1;", ""), 1);
    verified(
        &two("struct { char a, b; } s;", "s.a = 1;", "s.b = 1;", "assert(s.a + s.b == 2);"),
        1,
    );
    // A copy of the whole touches both.
    let text = two(
        "struct { int a, b; } s, r; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;",
        "pthread_mutex_lock(&m); s.b = 1; pthread_mutex_unlock(&m);",
        "pthread_mutex_lock(&m); memcpy(&r, &s, sizeof s); pthread_mutex_unlock(&m);",
        "assert(r.b == 0 || r.b == 1);",
    );
    verified(&text, 2);
}

#[test]
fn mutexes() {
    let globals = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x;";
    let add = "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);";
    verified(&two(globals, add, add, "assert(x == 2);"), 2);
    let tries = "if (pthread_mutex_trylock(&m) == 0) { x++; pthread_mutex_unlock(&m); }";
    verified(&two(globals, add, tries, "assert(x >= 1);"), 3);
    let timed = "struct timespec s = {0, 0}; if (pthread_mutex_timedlock(&m, &s) == 0) { x++; pthread_mutex_unlock(&m); }";
    let report =
        compile(&two(globals, add, timed, "assert(x >= 1);"), &[]).explore(Algorithm::Optimal);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
}

#[test]
fn kinds_of_mutexes() {
    let start = |kind: &str| {
        format!(
            "pthread_mutex_t m; void start(void) {{ pthread_mutexattr_t a; pthread_mutexattr_init(&a); \
                 pthread_mutexattr_settype(&a, {kind}); pthread_mutex_init(&m, &a); }}"
        )
    };
    let twice = "pthread_mutex_lock(&m); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_unlock(&m);";
    verified(&two(&start("PTHREAD_MUTEX_RECURSIVE"), twice, twice, ""), 2);
    let checked = "assert(pthread_mutex_unlock(&m) == EPERM); pthread_mutex_lock(&m); \
                   assert(pthread_mutex_lock(&m) == EDEADLK); pthread_mutex_unlock(&m);";
    let report = compile(&two(&start("PTHREAD_MUTEX_ERRORCHECK"), checked, "", ""), &[])
        .explore(Algorithm::Optimal);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    violated(
        &two(&start("PTHREAD_MUTEX_NORMAL"), twice, "", ""),
        "deadlock: main and a are blocked",
    );
}

#[test]
fn misuse_of_mutexes() {
    let globals = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;";
    violated(
        &two(globals, "pthread_mutex_unlock(&m);", "", ""),
        "a unlocks m, which it does not hold (it is free)",
    );
    violated(
        &two(globals, "pthread_mutex_lock(&m); pthread_mutex_destroy(&m);", "", ""),
        "a destroys the mutex m while it is in use",
    );
}

#[test]
fn lock_order() {
    let globals = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;";
    let (mn, nm) = (
        "pthread_mutex_lock(&m); pthread_mutex_lock(&n); pthread_mutex_unlock(&n); pthread_mutex_unlock(&m);",
        "pthread_mutex_lock(&n); pthread_mutex_lock(&m); pthread_mutex_unlock(&m); pthread_mutex_unlock(&n);",
    );
    let violation = compile(&two(globals, mn, nm, ""), &[]).violation();
    assert_eq!(violation.message, "deadlock: main, a and b are blocked");
    assert_eq!(violation.notes[1], "a waits for n, held by b since line 3");
    assert_eq!(violation.notes[2], "b waits for m, held by a since line 2");
}

#[test]
fn condition_variables() {
    let globals = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int x;";
    let wait =
        "pthread_mutex_lock(&m); while (!x) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);";
    let set = "pthread_mutex_lock(&m); x = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);";
    verified(&two(globals, wait, set, ""), 2);
    verified(&two(globals, wait, &set.replace("signal", "broadcast"), ""), 2);
    let lost = "pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);";
    violated(&two(globals, lost, set, ""), "deadlock: main and a are blocked");
    let timed = "pthread_mutex_lock(&m); struct timespec s = {0, 0}; int r = pthread_cond_timedwait(&c, &m, &s); \
                 assert(r == 0 || r == ETIMEDOUT); pthread_mutex_unlock(&m);";
    let report = compile(&two(globals, timed, set, ""), &[]).explore(Algorithm::Optimal);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    violated(
        &two(globals, "pthread_cond_wait(&c, &m);", "", ""),
        "a waits with m, which it does not hold (it is free)",
    );
}

#[test]
fn reader_writer_locks() {
    let globals = "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; int x;";
    let read = "pthread_rwlock_rdlock(&l); (void)x; pthread_rwlock_unlock(&l);";
    let write = "pthread_rwlock_wrlock(&l); x = 1; pthread_rwlock_unlock(&l);";
    verified(&two(globals, read, read, ""), 1);
    verified(&two(globals, read, write, ""), 2);
    verified(&two(globals, write, write, ""), 2);
    let tries = "if (!pthread_rwlock_trywrlock(&l)) { x = 2; pthread_rwlock_unlock(&l); }";
    verified(&two(globals, write, tries, ""), 3);
}

#[test]
fn semaphores() {
    let globals = "sem_t s; int x; void start(void) { sem_init(&s, 0, 0); }";
    verified(&two(globals, "x = 1; sem_post(&s);", "sem_wait(&s); assert(x == 1);", ""), 1);
    violated(&two(globals, "", "sem_wait(&s);", ""), "deadlock: main and b are blocked");
    verified(
        &two(globals, "sem_post(&s);", "if (sem_trywait(&s)) assert(errno == EAGAIN);", ""),
        2,
    );
}

#[test]
fn barriers() {
    let globals =
        "pthread_barrier_t b_; int x, y; void start(void) { pthread_barrier_init(&b_, 0, 2); }";
    let text = two(
        globals,
        "x = 1; pthread_barrier_wait(&b_); assert(y == 1);",
        "y = 1; pthread_barrier_wait(&b_); assert(x == 1);",
        "",
    );
    verified(&text, 1);
}

#[test]
fn once() {
    let globals = "pthread_once_t o = PTHREAD_ONCE_INIT; int x; void init(void) { x++; }";
    let call = "pthread_once(&o, init); assert(x == 1);";
    verified(&two(globals, call, call, "assert(x == 1);"), 2);
}

#[test]
fn keys_and_thread_local_variables() {
    let globals = "pthread_key_t k; atomic_int freed; void gone(void *v) { freed += (int)(intptr_t)v; }\n\
                   void start(void) { pthread_key_create(&k, gone); } _Thread_local int mine = 3;";
    let set = |n: u32| {
        format!(
            "assert(pthread_getspecific(k) == 0); pthread_setspecific(k, (void *){n}); \
                                mine += {n}; assert(mine == 3 + {n});"
        )
    };
    verified(&two(globals, &set(1), &set(2), "assert(freed == 3); assert(mine == 3);"), 2);
}

#[test]
fn results_of_threads() {
    verified(
        "void *a(void *u) { return (void *)7; }\n\
              int main(void) { pthread_t t; void *r; assert(!pthread_create(&t, 0, a, 0)); \
              assert(!pthread_join(t, &r)); assert(r == (void *)7); return 0; }",
        1,
    );
    verified(
        "void *a(void *u) { pthread_exit((void *)8); }\n\
              int main(void) { pthread_t t; void *r; pthread_create(&t, 0, a, 0); pthread_join(t, &r); \
              assert(r == (void *)8); return 0; }",
        1,
    );
    verified(
        "int a(void *u) { return -3; }\n\
              int main(void) { thrd_t t; int r; assert(thrd_create(&t, a, 0) == thrd_success); \
              assert(thrd_join(t, &r) == thrd_success && r == -3); return 0; }",
        1,
    );
    violated(
        "void *a(void *u) { return u; }\n\
              int main(void) { pthread_t t; pthread_create(&t, 0, a, 0); pthread_join(t, 0); pthread_join(t, 0); return 0; }",
        "main joins a, which was joined before",
    );
    verified(
        "int main(void) { pthread_t none = (pthread_t)99; void *r;\n\
              assert(pthread_join(none, &r) == ESRCH && pthread_detach(none) == ESRCH); return 0; }",
        1,
    );
}

#[test]
fn c11_threads() {
    let text = "mtx_t m; cnd_t c; int x;\nint a(void *u) { mtx_lock(&m); x = 1; cnd_signal(&c); mtx_unlock(&m); return 0; }\n\
                int main(void) { thrd_t t; mtx_init(&m, mtx_plain); cnd_init(&c); thrd_create(&t, a, 0);\n\
                mtx_lock(&m); while (!x) cnd_wait(&c, &m); mtx_unlock(&m); thrd_join(t, 0); return 0; }";
    verified(text, 2);
}

#[test]
fn the_end_of_the_process() {
    // What a thread still does after `main` returned it could have done before.
    let text = "atomic_int x;\nvoid *a(void *u) { x = 1; assert(x == 0); return u; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, a, 0); return 0; }";
    violated(text, "assertion `x == 0` is false");
    // A thread that waits when the process ends is no deadlock.
    let text = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                void *a(void *u) { pthread_mutex_lock(&m); return u; }\n\
                int main(void) { pthread_t t; pthread_mutex_lock(&m); pthread_create(&t, 0, a, 0); return 0; }";
    verified(text, 1);
}

#[test]
fn verification_tasks() {
    let globals = "void __VERIFIER_assume(int); void reach_error(void); _Bool __VERIFIER_nondet_bool(void);\n\
                   void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void); int x;";
    violated(
        &two(globals, "if (__VERIFIER_nondet_bool()) reach_error();", "", ""),
        "a reached reach_error()",
    );
    let both = "__VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end();";
    verified(&two(globals, both, both, "assert(x == 2);"), 2);
    let text = two(
        &format!("{globals} atomic_int y;"),
        "y = 1;",
        "__VERIFIER_assume(y == 1);",
        "assert(y == 1);",
    );
    let report = compile(&text, &[]).explore(Algorithm::Optimal);
    assert_eq!((report.counts.complete, report.counts.blocked), (1, 1));
}

#[test]
fn threads_that_create_threads() {
    let text = "atomic_int x;\nvoid *leaf(void *u) { x++; return u; }\n\
                void *node(void *u) { pthread_t t; pthread_create(&t, 0, leaf, 0); x++; pthread_join(t, 0); return u; }\n\
                int main(void) { pthread_t t, s; pthread_create(&t, 0, node, 0); pthread_create(&s, 0, node, 0);\n\
                pthread_join(t, 0); pthread_join(s, 0); assert(x == 4); return 0; }";
    verified(text, 24);
}

/// Every explorer finds the classes that brute force finds.
#[test]
fn explorers_agree() {
    let globals = "atomic_int x, y; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int z;";
    let a = "x = 1; int r = y; pthread_mutex_lock(&m); z += r; pthread_mutex_unlock(&m);";
    let b = "y = 1; int r = x; pthread_mutex_lock(&m); z += r; pthread_mutex_unlock(&m);";
    let compiled = compile(&two(globals, a, b, "assert(z >= 1);"), &[]);
    let counts: Vec<u64> =
        EXPLORERS.iter().map(|&it| compiled.explore(it).counts.maximal()).collect();
    assert_eq!(counts, [6, 6, 6, 6, 6, 6]);
}

/// A lock of a futex: the waiter sees the word, or is woken, or waits without an end if nothing wakes it.
#[test]
fn futexes() {
    let globals = "#include <linux/futex.h>\n#include <sys/syscall.h>\n#include <unistd.h>\n#include <time.h>\natomic_int f;\n\
                   static long futex(int op, int v) { return syscall(SYS_futex, &f, op, v, 0, 0, 0); }\n";
    let wait = "while (atomic_load(&f) == 0) futex(FUTEX_WAIT_PRIVATE, 0);";
    let wake = "f = 1; futex(FUTEX_WAKE_PRIVATE, 1);";
    // The load sees it; or the word has changed when it would wait; or it waits and is woken.
    verified(&two(globals, wait, wake, ""), 3);
    violated(&two(globals, wait, "f = 1;", ""), "deadlock: main and a are blocked");
    verified(
        &two(globals, "assert(futex(FUTEX_WAIT_PRIVATE, 7) == -1 && errno == EAGAIN);", "", ""),
        1,
    );
    // One of two waiters is woken, whichever it is; the other one waits for good.
    violated(
        &two(globals, wait, wait, "").replace(
            "pthread_join(t1, 0)",
            "f = 1; futex(FUTEX_WAKE_PRIVATE, 1); pthread_join(t1, 0)",
        ),
        "deadlock: main and b are blocked",
    );
    let timed = "struct timespec s = {1, 0}; long r = syscall(SYS_futex, &f, FUTEX_WAIT_PRIVATE, 0, &s, 0, 0);\n\
                 assert(r == 0 || errno == ETIMEDOUT || errno == EAGAIN);";
    let report = compile(&two(globals, timed, wake, ""), &[]).explore(Algorithm::Optimal);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
    let requeue = "syscall(SYS_futex, &f, FUTEX_CMP_REQUEUE, 1, 0, &f, 0);";
    let report = compile(&two(globals, requeue, "", ""), &[]).explore(Algorithm::Optimal);
    let why = report.inconclusive.first().map(ToString::to_string).unwrap_or_default();
    assert!(why.contains("futex with an operation other than WAIT and WAKE"), "{why}");
}

/// What cannot be checked is inconclusive, with its place.
#[test]
fn cancellation_is_refused() {
    let text = two("", "pthread_cancel(pthread_self());", "", "");
    let report = compile(&text, &[]).explore(Algorithm::Optimal);
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    let why = report.inconclusive.first().map(ToString::to_string).unwrap_or_default();
    assert!(
        why.contains("it calls pthread_cancel, which cannot be checked") && why.contains("test.c"),
        "{why}"
    );
}

/// The clock of a thread advances when it sleeps, or its time is up.
#[test]
fn time() {
    let globals =
        "#include <time.h>\n#include <unistd.h>\npthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;";
    let body = "struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a); sleep(2); clock_gettime(CLOCK_MONOTONIC, &b);\n\
                assert(b.tv_sec - a.tv_sec >= 2); b.tv_sec += 5;\n\
                if (pthread_mutex_timedlock(&m, &b) == ETIMEDOUT) { clock_gettime(CLOCK_REALTIME, &a); assert(a.tv_sec >= b.tv_sec); }\n\
                else pthread_mutex_unlock(&m);";
    let report =
        compile(&two(globals, body, "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", ""), &[])
            .explore(Algorithm::Optimal);
    assert_eq!(report.verdict(), Verdict::Verified, "{report:?}");
}

/// What is registered for the end of the process runs, the last one first.
#[test]
fn functions_at_exit() {
    let globals = "int n; void first(void) { assert(n == 1); n = 2; } void second(void) { assert(n == 0); n = 1; }";
    verified(
        &format!("{globals}\nint main(void) {{ atexit(first); atexit(second); return 0; }}"),
        1,
    );
    violated(
        &format!("{globals}\nint main(void) {{ atexit(second); atexit(first); exit(0); }}"),
        "assertion `n == 1` is false",
    );
}

/// What was destroyed, or never initialised, cannot be used; what is initialised again can.
#[test]
fn objects_that_are_not_there() {
    let run = |body: &str| {
        format!(
            "pthread_cond_t c; sem_t s; pthread_rwlock_t r;\nint main(void) {{ {body} return 0; }}\n"
        )
    };
    for (body, message) in [
        (
            "pthread_cond_destroy(&c); pthread_cond_signal(&c);",
            "main signals c, which was destroyed",
        ),
        (
            "sem_init(&s, 0, 1); sem_destroy(&s); sem_post(&s);",
            "main raises s, which was destroyed",
        ),
        (
            "pthread_rwlock_destroy(&r); pthread_rwlock_rdlock(&r);",
            "main locks r, which was destroyed",
        ),
        (
            "pthread_mutex_t *m = malloc(sizeof *m); pthread_mutex_lock(m);",
            "main locks a block of 40 bytes allocated at test.c:2, which is not initialised",
        ),
        (
            "sem_t *p = malloc(sizeof *p); sem_post(p);",
            "main raises a block of 32 bytes allocated at test.c:2, which is not initialised",
        ),
        (
            "pthread_cond_t *p = malloc(sizeof *p); pthread_cond_broadcast(p);",
            "main signals a block of 48 bytes allocated at test.c:2, which is not initialised",
        ),
    ] {
        violated(&run(body), message);
    }
    verified(
        &run(
            "pthread_cond_t *p = malloc(sizeof *p); pthread_cond_init(p, 0); pthread_cond_signal(p); pthread_cond_destroy(p);\n\
              *p = (pthread_cond_t)PTHREAD_COND_INITIALIZER; pthread_cond_signal(p); free(p);\n\
              sem_init(&s, 0, 1); sem_destroy(&s); sem_init(&s, 0, 1); sem_wait(&s);\n\
              pthread_rwlock_destroy(&r); pthread_rwlock_init(&r, 0); pthread_rwlock_wrlock(&r);",
        ),
        1,
    );
}

/// Constructors run before the check: what they initialise is initialised.
#[test]
fn what_constructors_initialise() {
    let text = "sem_t s; pthread_barrier_t b; int n;\n\
                __attribute__((constructor)) static void make(void) { sem_init(&s, 0, 0); sem_post(&s); pthread_barrier_init(&b, 0, 2); }\n\
                void *run(void *u) { sem_wait(&s); n++; sem_post(&s); pthread_barrier_wait(&b); assert(n == 2); return u; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); run(0); pthread_join(t, 0);\n\
                int k; sem_getvalue(&s, &k); assert(k == 1); sem_destroy(&s); sem_init(&s, 0, 3); sem_getvalue(&s, &k); assert(k == 3); return 0; }\n";
    let report = crate::common::compile(text, &[]).explore(Algorithm::Optimal);
    assert_eq!((report.verdict(), report.counts.complete), (Verdict::Verified, 2), "{report:?}");
}

/// gcc fills local variables that the program does not initialise, since its version 12.
#[test]
fn local_objects_that_are_not_initialised() {
    let version = std::process::Command::new("cc").arg("-dumpversion").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let major = version.ok().and_then(|text| text.trim().split('.').next()?.parse::<u32>().ok());
    if major.is_none_or(|major| major < 12) {
        return;
    }
    for (object, does) in [
        ("pthread_mutex_t", "pthread_mutex_lock(&o)"),
        ("pthread_cond_t", "pthread_cond_signal(&o)"),
        ("pthread_rwlock_t", "pthread_rwlock_rdlock(&o)"),
        ("sem_t", "sem_post(&o)"),
    ] {
        let text = |initial: &str| {
            format!(
                "void before(void) {{ volatile char deep[256] = {{0}}; (void)deep; }}\n\
                 void use(void) {{ {object} o{initial}; {does}; }}\nint main(void) {{ before(); use(); return 0; }}\n"
            )
        };
        let report = compile(&text(""), &[]).explore(Algorithm::Optimal);
        let found: Vec<&str> =
            report.violations.iter().map(|(violation, _)| violation.message.as_str()).collect();
        let [message] = found.as_slice() else { panic!("{object}: {found:?}") };
        assert!(message.ends_with("which is not initialised"), "{message}");
        let report = compile(&text(" = {0}"), &[]).explore(Algorithm::Optimal);
        assert_eq!(report.verdict(), Verdict::Verified, "{object}: {:?}", report.violations);
    }
}

/// What clang's own instrumentation leaves out.
#[test]
fn accesses_of_odd_sizes() {
    let head = "#pragma pack(1)\nstruct { unsigned a : 20; unsigned b : 4; } bits;\n#pragma pack()\n\
                long double number; typedef int wide __attribute__((vector_size(32))); wide whole, other;\n";
    for (first, second) in [
        ("number = 1;", "number = 2;"),
        ("bits.a = 1;", "bits.b = 1;"),
        ("whole = other;", "((int *)&other)[5] = 1;"),
    ] {
        let text = format!(
            "{head}void *t(void *u) {{ {first} return u; }}\n\
             int main(void) {{ pthread_t h; pthread_create(&h, 0, t, 0); {second} pthread_join(h, 0); return 0; }}"
        );
        for toolchain in toolchains() {
            for &level in levels() {
                let violation = compile_with(toolchain, &text, &[level]).violation();
                assert!(
                    violation.message.starts_with("data race on"),
                    "{first}: {}",
                    violation.message
                );
            }
        }
    }
}
