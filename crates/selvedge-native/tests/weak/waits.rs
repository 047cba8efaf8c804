//! Waits and tries under memory models: barriers, futexes, `atomic::wait`, several locks at once, locks that are tried.

use std::fmt::Write as _;

use selvedge_explore::Memory;

use super::MODELS;
use super::spins::{computes_the_same, in_c};
use crate::common::{GCC, compile_text, compile_with, toolchains};

/// The strongest and the weakest.
const TWO: [Memory; 2] = [Memory::Sc, Memory::Rc11];

const HEAD: &str = "#include <unistd.h>\n#include <time.h>\n#include <sys/syscall.h>\n#include <linux/futex.h>\n\
    pthread_barrier_t br, two_rounds; int w; pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER; sem_t s;\n\
    pthread_mutex_t n = PTHREAD_MUTEX_INITIALIZER; struct timespec later = { 1000, 0 };\n\
    __attribute__((constructor)) static void make(void) { pthread_barrier_init(&br, 0, 2); }\n\
    static long futex_wait(atomic_int *at, int value) { return syscall(SYS_futex, at, FUTEX_WAIT, value, 0, 0, 0); }\n\
    static long futex_timed(atomic_int *at, int value) { return syscall(SYS_futex, at, FUTEX_WAIT, value, &later, 0, 0); }\n\
    static long futex_wake(atomic_int *at, int most) { return syscall(SYS_futex, at, FUTEX_WAKE, most, 0, 0, 0); }\n\
    static void futex_lock(void) { int c = 0; if (!atomic_compare_exchange_strong(&l, &c, 1)) {\n\
    while (atomic_exchange(&l, 2)) futex_wait(&l, 2); } }\n\
    static void futex_unlock(void) { if (atomic_exchange(&l, 0) == 2) futex_wake(&l, 1); }\n";

/// Two threads that return numbers below 8. These have as many complete executions as interleavings have classes.
const EXACT: &[(&str, &str)] = &[
    // Locks that are tried.
    (
        "pthread_mutex_lock(&m); z = 1; pthread_mutex_unlock(&m); return 0;",
        "if (pthread_mutex_trylock(&m)) return 7; int k = z; pthread_mutex_unlock(&m); return k;",
    ),
    (
        "int k = 0; while (pthread_mutex_trylock(&m) && k < 2) k++; return k;",
        "pthread_mutex_lock(&m); return 1;",
    ),
    // Readers and writers.
    (
        "pthread_rwlock_wrlock(&r); z = 1; pthread_rwlock_unlock(&r); return 0;",
        "if (pthread_rwlock_tryrdlock(&r)) return 7; int k = z; pthread_rwlock_unlock(&r); return k;",
    ),
    (
        "pthread_rwlock_rdlock(&r); int k = z; pthread_rwlock_unlock(&r); return k;",
        "if (pthread_rwlock_trywrlock(&r)) return 7; z = 1; pthread_rwlock_unlock(&r); return 2;",
    ),
    // Barriers: the threads come in any order, and what one wrote before is seen behind it.
    ("z = 1; pthread_barrier_wait(&br); return w;", "w = 2; pthread_barrier_wait(&br); return z;"),
    (
        "pthread_barrier_wait(&br); z = 3; pthread_barrier_wait(&br); return 0;",
        "pthread_barrier_wait(&br); pthread_barrier_wait(&br); return z;",
    ),
    ("pthread_barrier_wait(&br); return 1;", "return 2;"),
    ("pthread_barrier_wait(&br); x = 1; return y;", "pthread_barrier_wait(&br); y = 1; return x;"),
];

/// The same, where waits have an order that interleavings do not have, and turns of loops are not counted.
const OTHERS: &[(&str, &str)] = &[
    // Loops that try until they succeed.
    (
        "pthread_mutex_lock(&m); z++; pthread_mutex_unlock(&m); return 0;",
        "while (pthread_mutex_trylock(&m)) { } int k = z; pthread_mutex_unlock(&m); return k;",
    ),
    (
        "pthread_mutex_lock(&m); z++; pthread_mutex_unlock(&m); return 0;",
        "while (pthread_mutex_trylock(&m)) sched_yield(); int k = z; pthread_mutex_unlock(&m); return k;",
    ),
    (
        "while (pthread_mutex_trylock(&m)) { } int k = ++z; pthread_mutex_unlock(&m); return k;",
        "while (pthread_mutex_trylock(&m)) { } int k = ++z; pthread_mutex_unlock(&m); return k;",
    ),
    // One that never ends, since the lock is its own.
    ("pthread_mutex_lock(&m); while (pthread_mutex_trylock(&m)) { } return 1;", "return 2;"),
    ("pthread_mutex_lock(&m); return 1;", "while (pthread_mutex_trylock(&m)) { } return 2;"),
    (
        "pthread_rwlock_wrlock(&r); int k = ++z; pthread_rwlock_unlock(&r); return k;",
        "while (pthread_rwlock_trywrlock(&r)) { } int k = ++z; pthread_rwlock_unlock(&r); return k;",
    ),
    // Word by word.
    ("x = 1; futex_wake(&x, 1); return 0;", "while (x == 0) futex_wait(&x, 0); return x;"),
    ("futex_wake(&x, 1); x = 1; return 0;", "while (x == 0) futex_wait(&x, 0); return x;"),
    ("x = 1; return 0;", "futex_wait(&x, 0); return x;"),
    ("return (int)futex_wake(&x, 1);", "futex_wait(&x, 0); return 1;"),
    (
        "futex_lock(); int k = ++z; futex_unlock(); return k;",
        "futex_lock(); int k = ++z; futex_unlock(); return k;",
    ),
    ("x = 1; futex_wake(&x, 1); return 0;", "return futex_timed(&x, 0) ? 3 + x : 2;"),
    // Readers that read twice.
    (
        "pthread_rwlock_rdlock(&r); pthread_rwlock_rdlock(&r); int k = z; pthread_rwlock_unlock(&r); pthread_rwlock_unlock(&r); return k;",
        "pthread_rwlock_wrlock(&r); z = 1; pthread_rwlock_unlock(&r); return 1;",
    ),
    (
        "while (pthread_rwlock_tryrdlock(&r)) { } int k = z; pthread_rwlock_unlock(&r); return k;",
        "pthread_rwlock_wrlock(&r); z = 1; pthread_rwlock_unlock(&r); return 1;",
    ),
    (
        "int e = pthread_rwlock_timedrdlock(&r, &later); if (e) return 7; int k = z; pthread_rwlock_unlock(&r); return k;",
        "pthread_rwlock_wrlock(&r); z = 1; pthread_rwlock_unlock(&r); return 1;",
    ),
    (
        "int e = pthread_mutex_timedlock(&m, &later); if (e) return 7; int k = z; pthread_mutex_unlock(&m); return k;",
        "pthread_mutex_lock(&m); z = 1; pthread_mutex_unlock(&m); return 1;",
    ),
    // Who is the serial thread.
    (
        "return pthread_barrier_wait(&br) == PTHREAD_BARRIER_SERIAL_THREAD;",
        "return pthread_barrier_wait(&br) == PTHREAD_BARRIER_SERIAL_THREAD;",
    ),
    // A barrier that is used again, and one that is made again at the same place.
    (
        "for (int i = 0; i < 3; i++) pthread_barrier_wait(&br); return z;",
        "for (int i = 0; i < 3; i++) { z++; pthread_barrier_wait(&br); } return z;",
    ),
    (
        "pthread_barrier_wait(&br); pthread_barrier_wait(&two_rounds); return z;",
        "pthread_barrier_init(&two_rounds, 0, 2); pthread_barrier_wait(&br); z = 5; pthread_barrier_wait(&two_rounds); return 1;",
    ),
];

#[test]
fn waits_and_tries_compute_what_they_compute_in_interleavings() {
    for toolchain in toolchains() {
        let compiled = compile_with(toolchain, &in_c(EXACT, HEAD), &[]);
        for (number, program) in EXACT.iter().enumerate() {
            let loaded = compiled.loaded.again(&[number.to_string()]);
            let at = format!("{} {program:?}", toolchain.c);
            let (classes, graphs) = computes_the_same(&loaded, &MODELS, &at);
            assert_eq!(graphs, classes, "{at}");
        }
    }
    let compiled = compile_with(GCC, &in_c(OTHERS, HEAD), &[]);
    for (number, program) in OTHERS.iter().enumerate() {
        let loaded = compiled.loaded.again(&[number.to_string()]);
        computes_the_same(&loaded, &TWO, &format!("{program:?}"));
    }
}

/// The same in C++: several locks at once, and what waits for an atomic.
const CXX: &[(&str, &str)] = &[
    ("std::scoped_lock k(p, q); return ++z;", "std::scoped_lock k(q, p); return ++z;"),
    // The one has a lock that the other has to have as well: neither waits forever.
    (
        "std::scoped_lock k(p, q); return ++z;",
        "q.lock(); p.lock(); int k = ++z; p.unlock(); q.unlock(); return k;",
    ),
    ("std::lock(p, q); q.unlock(); p.unlock(); return 1;", "q.lock(); never.acquire(); return 2;"),
    (
        "while (!p.try_lock()) { } int k = ++z; p.unlock(); return k;",
        "std::lock_guard k(p); return ++z;",
    ),
    ("x.store(1); x.notify_one(); return 0;", "x.wait(0); return x;"),
    ("x.store(1); return 0;", "x.wait(0); return x;"),
    ("z = 3; once.count_down(); return 0;", "once.wait(); return z;"),
    ("meet.arrive_and_wait(); return z;", "z = 2; meet.arrive_and_wait(); return 1;"),
    ("z = 2; never.release(); return 0;", "never.acquire(); return z;"),
    ("z = 5; promised.set_value(4); return 0;", "return promise.get() + z - 5;"),
    (
        "if (!shared.try_lock_shared()) return 7; int k = z; shared.unlock_shared(); return k;",
        "std::unique_lock k(shared); z = 1; return 1;",
    ),
];

#[test]
fn waits_of_cxx_compute_what_they_compute_in_interleavings() {
    let mut text = "#include <atomic>\n#include <barrier>\n#include <cassert>\n#include <cstdlib>\n#include <future>\n\
        #include <latch>\n#include <mutex>\n#include <semaphore>\n#include <shared_mutex>\n#include <thread>\n\
        int z, a, b; std::atomic<int> x; std::mutex p, q; std::shared_mutex shared; std::latch once(1);\n\
        std::barrier<> meet(2); std::counting_semaphore<1> never(0); std::promise<int> promised;\n\
        std::future<int> promise = promised.get_future();\n"
        .to_owned();
    let mut cases = String::new();
    for (number, (one, other)) in CXX.iter().enumerate() {
        let _ = writeln!(text, "int f{number}() {{ {one} }}\nint g{number}() {{ {other} }}");
        let _ = writeln!(cases, "case {number}: first = f{number}; second = g{number}; break;");
    }
    let results: String =
        (0..64).map(|n| format!("case {n}: assert(!\"{n}\"); break;\n")).collect();
    let _ = write!(
        text,
        "int (*first)(), (*second)();\nint main(int argc, char **argv) {{ switch (atoi(argv[argc - 1])) {{\n{cases}}}\n\
         std::thread t([] {{ a = first(); }}), u([] {{ b = second(); }}); t.join(); u.join();\n\
         switch (8 * a + b) {{\n{results}}} return 0; }}\n"
    );
    let compiled = compile_text(GCC, "test.cpp", &text, &["-std=c++20"]);
    for (number, program) in CXX.iter().enumerate() {
        let loaded = compiled.loaded.again(&[number.to_string()]);
        computes_the_same(&loaded, &[Memory::Rc11], &format!("{program:?}"));
    }
}
