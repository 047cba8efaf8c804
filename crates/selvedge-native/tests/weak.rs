//! C under memory models: litmus tests have the graphs that they have elsewhere.

mod order;
mod print;
mod spins;
mod waits;

use selvedge_core::{Bound, Counts, Schedule, Verdict, Violation};
use selvedge_explore::{
    Finding, GraphObserver, GraphReport, Memory, Options, explore_graphs, follow,
};
use selvedge_native::{Loaded, Spurious};
use selvedge_testkit::Random;
use selvedge_testkit::litmus::{Flavour, Instruction, Litmus, LitmusProgram, random_litmus};

use crate::common::{GCC, Toolchain, compile_text, compile_with, toolchains};

const MODELS: [Memory; 4] = [Memory::Sc, Memory::Tso, Memory::Rc11, Memory::Cxx20];

fn all() -> Options {
    Options { keep_going: true, data_races: true, ..Options::default() }
}

struct Looking<'a>(&'a Loaded);

impl GraphObserver for Looking<'_> {
    fn poll(&mut self, _: &GraphReport) -> Option<Bound> {
        self.0.is_void().then_some(Bound::Interrupted)
    }
}

/// Explores until nothing new is learned.
pub(crate) fn explore(loaded: &Loaded, memory: Memory, options: &Options) -> GraphReport {
    loop {
        let mut system = loaded.graph_program(false);
        let report = explore_graphs(&mut system, memory, options, &mut Looking(loaded));
        if !loaded.has_learned() {
            assert_eq!(loaded.unsteady(), None);
            return report;
        }
    }
}

/// Returns what is found, each followed again on a fresh system, and the texts of its steps.
fn found(loaded: &Loaded, memory: Memory) -> Vec<(Violation, Vec<String>)> {
    let report = explore(loaded, memory, &all());
    let one = |(finding, witness): &(Finding, selvedge_explore::Witness)| {
        let schedule = Schedule::from(witness.steps.clone());
        let mut system = loaded.graph_program(true);
        let followed = follow(&mut system, memory, &schedule, true, &mut |_, _| {});
        let followed = followed.unwrap_or_else(|error| panic!("{finding:?}: {error}"));
        let texts = followed.turns.iter().map(|turn| turn.description.text.clone()).collect();
        let violation = followed.found.first().map(|(_, violation)| violation.clone());
        (violation.unwrap_or_else(|| panic!("{finding:?} does not come again")), texts)
    };
    report.findings.iter().map(one).collect()
}

fn kinds(counts: Counts) -> (u64, u64, u64) {
    (counts.complete, counts.deadlocked, counts.blocked)
}

fn has_race(report: &GraphReport) -> bool {
    report.findings.iter().any(|(finding, _)| matches!(finding, Finding::DataRace(..)))
}

/// The programs in C have as many graphs as the programs themselves, and the same verdicts.
fn same(programs: &[LitmusProgram], toolchain: Toolchain, flags: &[&str]) -> u64 {
    let text = print::in_c(programs);
    let compiled = compile_with(toolchain, &text, flags);
    let mut graphs = 0;
    for (number, program) in programs.iter().enumerate() {
        let loaded = compiled.loaded.again(&[number.to_string()]);
        for memory in MODELS {
            let mut litmus = Litmus::new(program.clone());
            let expected = explore_graphs(&mut litmus, memory, &all(), &mut Nothing);
            let report = explore(&loaded, memory, &all());
            let at = format!("{} {flags:?} {} {number}: {program:?}", toolchain.c, memory.name());
            assert_eq!(report.inconclusive, Vec::new(), "{at}");
            assert_eq!(report.verdict(), expected.verdict(), "{at}");
            assert_eq!(has_race(&report), has_race(&expected), "{at}");
            if !has_race(&expected) {
                assert_eq!(kinds(report.counts), kinds(expected.counts), "{at}");
                graphs += report.counts.complete;
            }
        }
    }
    graphs
}

struct Nothing;

impl GraphObserver for Nothing {}

fn random_programs(count: u64) -> Vec<LitmusProgram> {
    let programs = (0..count).flat_map(|seed| {
        let program = move |&flavour: &Flavour| {
            let mut random = Random::new(seed.wrapping_mul(37).wrapping_add(flavour as u64));
            random_litmus(&mut random, flavour)
        };
        Flavour::ALL.iter().map(program)
    });
    // At the end of `main` a thread that is not joined may stay blocked.
    let is_joined = |program: &LitmusProgram, thread: usize| {
        let mut all = program.threads.iter().flatten();
        !program.is_spawned(thread) || all.any(|&one| one == Instruction::Join(thread))
    };
    let has_text = |program: &LitmusProgram| {
        program.threads.iter().flatten().all(print::has_text)
            && (0..program.threads.len()).all(|thread| is_joined(program, thread))
    };
    programs.filter(has_text).collect()
}

#[test]
fn random_litmus_tests_have_their_graphs() {
    let programs = random_programs(25);
    assert!(programs.len() > 60, "{}", programs.len());
    for toolchain in toolchains() {
        let graphs = same(&programs, toolchain, &["-Wno-unused-label"]);
        assert!(graphs > 2_000, "the programs are not all trivial: {graphs}");
    }
}

/// Two threads, which main joins.
fn two(head: &str, a: &str, b: &str) -> String {
    format!(
        "#define RLX memory_order_relaxed\n#define ACQ memory_order_acquire\n#define REL memory_order_release\n\
         #define SC memory_order_seq_cst\n#define L(x, o) atomic_load_explicit(&x, o)\n\
         #define S(x, v, o) atomic_store_explicit(&x, v, o)\n#define F(o) atomic_thread_fence(o)\n#line 1\n\
         {head}\nvoid *a(void *u) {{ {a} return u; }}\nvoid *b(void *u) {{ {b} return u; }}\n\
         int main(void) {{ pthread_t t, s; pthread_create(&t, 0, a, 0); pthread_create(&s, 0, b, 0);\n\
         pthread_join(t, 0); pthread_join(s, 0); return 0; }}\n"
    )
}

/// Checks the verdict and the number of executions under a memory model, with all compilers.
#[track_caller]
fn is(text: &str, memory: Memory, verdict: Verdict, executions: u64) {
    are(text, &[(memory, verdict, executions)]);
}

/// The same under several memory models.
#[track_caller]
fn are(text: &str, expected: &[(Memory, Verdict, u64)]) {
    for toolchain in toolchains() {
        let compiled = compile_with(toolchain, text, &[]);
        for &(memory, verdict, executions) in expected {
            let report = explore(&compiled.loaded, memory, &all());
            let why = format!("{} {:?} {:?}", toolchain.c, report.findings, report.inconclusive);
            let found = (report.verdict(), report.counts.maximal());
            assert_eq!(found, (verdict, executions), "{} {why}", memory.name());
        }
    }
}

/// What is wrong is shown again on a fresh system, with what was not seen and which ordering is missing.
#[test]
fn a_stale_read_is_told() {
    let head = "atomic_int data, flag;";
    let a = "S(data, 1, RLX); S(flag, 1, RLX);";
    let b = "int ready = L(flag, RLX);\nint seen = L(data, RLX);\nassert(!ready || seen);";
    let text = two(head, a, b);
    are(
        &text,
        &[
            (Memory::Sc, Verdict::Verified, 3),
            (Memory::Tso, Verdict::Verified, 3),
            (Memory::Rc11, Verdict::Violated, 4),
        ],
    );
    let found = found(&compile_with(GCC, &text, &[]).loaded, Memory::Rc11);
    let [(violation, texts)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(violation.message, "assertion `!ready || seen` is false");
    let notes: String = violation.notes.join("; ");
    assert!(notes.contains("b read data = 0"), "{notes}");
    assert!(notes.contains("did not see the newer data = 1 of a"), "{notes}");
    assert!(notes.contains("use Release for the write and Acquire for the read"), "{notes}");
    assert!(texts.contains(&"read flag (Relaxed) → 1".to_owned()), "{texts:?}");
    assert!(texts.contains(&"read data (Relaxed) → 0".to_owned()), "{texts:?}");
    let released =
        text.replace("S(flag, 1, RLX)", "S(flag, 1, REL)").replace("L(flag, RLX)", "L(flag, ACQ)");
    is(&released, Memory::Rc11, Verdict::Verified, 3);
}

#[test]
fn store_buffering() {
    let head = "atomic_int x, y; int p, q;";
    let check = |text: &str| text.replace("return 0; }", "assert(p || q); return 0; }");
    for (order, sc, tso, rc11) in [("RLX", 3, 4, 4), ("SC", 3, 3, 3)] {
        let text = check(&two(
            head,
            &format!("S(x, 1, {order}); p = L(y, {order});"),
            &format!("S(y, 1, {order}); q = L(x, {order});"),
        ));
        let verdict = |count| if count == 4 { Verdict::Violated } else { Verdict::Verified };
        are(
            &text,
            &[
                (Memory::Sc, Verdict::Verified, sc),
                (Memory::Tso, verdict(tso), tso),
                (Memory::Rc11, verdict(rc11), rc11),
            ],
        );
    }
    let fenced = check(&two(
        head,
        "S(x, 1, RLX); F(SC); p = L(y, RLX);",
        "S(y, 1, RLX); F(SC); q = L(x, RLX);",
    ));
    are(&fenced, &[(Memory::Tso, Verdict::Verified, 3), (Memory::Rc11, Verdict::Verified, 3)]);
    // Load buffering is in no model.
    let loads = two(head, "p = L(x, RLX); S(y, 1, RLX);", "q = L(y, RLX); S(x, 1, RLX);");
    let loads = loads.replace("return 0; }", "assert(!(p && q)); return 0; }");
    is(&loads, Memory::Rc11, Verdict::Verified, 3);
}

/// Plain memory is ordered by atomics, or races.
#[test]
fn publishing() {
    let head =
        "int data; atomic_int flag; struct n { int v; atomic_int w; }; _Atomic(struct n *) p;";
    let with = |store: &str, load: &str| {
        two(
            head,
            &format!("data = 42; S(flag, 1, {store});"),
            &format!("if (L(flag, {load})) assert(data == 42);"),
        )
    };
    is(&with("REL", "ACQ"), Memory::Rc11, Verdict::Verified, 2);
    for (store, load) in [("RLX", "ACQ"), ("REL", "RLX")] {
        let compiled = compile_with(GCC, &with(store, load), &[]);
        for memory in MODELS {
            let found = found(&compiled.loaded, memory);
            let message = "data race on `data`: a and b access it, and nothing orders the two";
            assert_eq!(found[0].0.message, message);
        }
    }
    // An atomic in a new block is initialised by plain writes.
    let heap = two(
        head,
        "struct n *q = malloc(sizeof *q); q->v = 7; atomic_init(&q->w, 3); S(p, q, REL);",
        "struct n *q = L(p, ACQ); if (q) { assert(q->v == 7 && L(q->w, RLX) == 3); free(q); }",
    );
    is(&heap, Memory::Rc11, Verdict::Verified, 2);
    let calloced = heap.replace("malloc(sizeof *q); q->v = 7; atomic_init(&q->w, 3);", "calloc(1, sizeof *q); q->v = 7; S(q->w, 3, RLX); struct n r; memcpy(&r, q, sizeof r); memcpy(q, &r, sizeof r);");
    is(&calloced, Memory::Rc11, Verdict::Verified, 2);
    let relaxed = heap.replace("S(p, q, REL)", "S(p, q, RLX)");
    let report = explore(&compile_with(GCC, &relaxed, &[]).loaded, Memory::Rc11, &all());
    assert!(has_race(&report));
}

/// The memory of an atomic has its newest value, whichever thread was told last.
#[test]
fn a_plain_read_of_an_atomic() {
    let text = two("int x;", "__atomic_store_n(&x, 1, RLX);", "__atomic_store_n(&x, 2, RLX);");
    let read = "int seen = x; assert(seen == __atomic_load_n(&x, RLX)); return 0; }";
    is(&text.replace("return 0; }", read), Memory::Rc11, Verdict::Verified, 2);
}

/// Freeing is a write to the block, for who uses it.
#[test]
fn blocks_that_are_freed() {
    let head = "int *g; atomic_int f; __attribute__((constructor)) static void unused(void) { }";
    let made = |text: String| {
        text.replace("{ pthread_t t, s;", "{ pthread_t t, s; g = malloc(4); *g = 1;")
    };
    let wrong = made(two(head, "if (L(f, ACQ)) free(g);", "S(f, 1, REL); *g = 3;"));
    let found = found(&compile_with(GCC, &wrong, &[]).loaded, Memory::Rc11);
    assert!(found[0].0.message.starts_with("data race on `a block of 4 bytes"), "{found:?}");
    // It is used before the other one is told, and again.
    let again = made(two(head, "if (L(f, ACQ)) free(g);", "*g = 2; S(f, 1, REL); *g = 3;"));
    let report = explore(&compile_with(GCC, &again, &[]).loaded, Memory::Rc11, &all());
    assert!(has_race(&report), "{:?}", report.findings);
    let right = made(two(head, "if (L(f, ACQ)) free(g);", "*g = 3; S(f, 1, REL);"));
    is(&right, Memory::Rc11, Verdict::Verified, 2);
    let after = made(two(head, "if (L(f, ACQ)) *g = 2;", "free(g); S(f, 1, REL);"));
    let report = explore(&compile_with(GCC, &after, &[]).loaded, Memory::Rc11, &all());
    assert_eq!(report.verdict(), Verdict::Violated);
}

#[test]
fn locks_and_semaphores() {
    let head = "int n; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER; sem_t s;";
    let add = "pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);";
    is(&two(head, add, add), Memory::Rc11, Verdict::Verified, 2);
    let write = "pthread_rwlock_wrlock(&r); n++; pthread_rwlock_unlock(&r);";
    let read = "pthread_rwlock_rdlock(&r); assert(n < 2); pthread_rwlock_unlock(&r);";
    is(&two(head, write, read), Memory::Rc11, Verdict::Verified, 2);
    is(&two(head, read, read), Memory::Rc11, Verdict::Verified, 1);
    let recursive = "pthread_mutex_t q; int n;";
    let twice = "pthread_mutex_lock(&q); pthread_mutex_lock(&q); n++; pthread_mutex_unlock(&q); pthread_mutex_unlock(&q);";
    let made = "{ pthread_mutexattr_t k; pthread_mutexattr_init(&k); pthread_mutexattr_settype(&k, PTHREAD_MUTEX_RECURSIVE);\n\
                pthread_mutex_init(&q, &k); pthread_t t, s;";
    let recursive = two(recursive, twice, twice).replace("{ pthread_t t, s;", made);
    is(&recursive, Memory::Rc11, Verdict::Verified, 2);
    let post = two(head, "n = 1; sem_post(&s);", "sem_wait(&s); assert(n == 1);");
    is(&post, Memory::Rc11, Verdict::Verified, 1);
    let tried = two(head, "n = 1; sem_post(&s);", "if (!sem_trywait(&s)) assert(n == 1);");
    is(&tried, Memory::Rc11, Verdict::Verified, 2);
    let never = two(head, "n = 1;", "sem_wait(&s);");
    let found = found(&compile_with(GCC, &never, &[]).loaded, Memory::Rc11);
    assert_eq!(found[0].0.message, "deadlock: main and b are blocked");
    // A loop that waited before is not what it waits for now.
    let head = "atomic_int f; sem_t s;";
    let later = two(head, "S(f, 1, REL);", "while (!L(f, ACQ)) { } sem_wait(&s);");
    let report = explore(&compile_with(GCC, &later, &[]).loaded, Memory::Rc11, &all());
    assert_eq!((report.counts.deadlocked, report.counts.blocked), (2, 0));
    let head = "int n; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;";
    let unlocks = two(head, "pthread_mutex_unlock(&m);", "n = 1;");
    let report = explore(&compile_with(GCC, &unlocks, &[]).loaded, Memory::Rc11, &all());
    assert_eq!(report.verdict(), Verdict::Violated);
}

/// Who waits is woken by a signal, and only one of several.
#[test]
fn condition_variables() {
    let head = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER; int ready;";
    let signal =
        "pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);";
    let wait = |how: &str| {
        format!(
            "pthread_mutex_lock(&m); {how} (!ready) pthread_cond_wait(&c, &m); assert(ready); pthread_mutex_unlock(&m);"
        )
    };
    for toolchain in toolchains() {
        for (how, verdict) in [("while", Verdict::Verified), ("if", Verdict::Violated)] {
            let compiled = compile_with(toolchain, &two(head, signal, &wait(how)), &[]);
            let of = |most: u32, memory: Memory| {
                let loaded = compiled.loaded.again(&[]);
                loaded.set_spurious(Spurious { most, everywhere: false });
                let report = explore(&loaded, memory, &all());
                (report.verdict(), report.counts.maximal())
            };
            for memory in MODELS {
                assert_eq!(of(0, memory), (Verdict::Verified, 2), "{how}");
                assert_eq!(of(1, memory).0, verdict, "{how}");
            }
        }
    }
    // Two wait, and one is signalled; or both are.
    let both =
        "pthread_mutex_lock(&m); if (!ready) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);";
    let main = |wake: &str| {
        let woken = format!(
            "pthread_mutex_lock(&m); ready = 1; {wake}(&c); pthread_mutex_unlock(&m); pthread_join(t, 0);"
        );
        two(head, both, both).replace("pthread_join(t, 0);", &woken)
    };
    let deadlocks = |wake: &str| {
        let compiled = compile_with(GCC, &main(wake), &[]);
        compiled.loaded.set_spurious(Spurious { most: 0, everywhere: false });
        explore(&compiled.loaded, Memory::Rc11, &all()).counts.deadlocked
    };
    assert!(deadlocks("pthread_cond_signal") >= 2);
    assert_eq!(deadlocks("pthread_cond_broadcast"), 0);
}

/// What is done once is done before who finds it done continues.
#[test]
fn what_is_done_once() {
    let text = "#include <cassert>\n#include <thread>\nstruct One { int v = 7; };\n\
                int get() { static One one; return one.v; }\n\
                int main() { std::thread t([] { assert(get() == 7); }); assert(get() == 7); t.join(); }\n";
    for toolchain in toolchains() {
        let compiled = compile_text(toolchain, "test.cpp", text, &["-std=c++17"]);
        for memory in MODELS {
            let report = explore(&compiled.loaded, memory, &all());
            let why = format!("{:?} {:?}", report.findings, report.inconclusive);
            assert_eq!(report.verdict(), Verdict::Verified, "{why}");
        }
    }
}

/// What has no meaning under a memory model yet is never a proof.
#[test]
fn what_is_not_supported() {
    let head = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
                volatile int v; union { atomic_int i; atomic_char c[4]; } un; pthread_once_t o;\n\
                void f(void) { } struct big { long a[5]; }; _Atomic(struct big) big; pthread_rwlock_t r; long long z;";
    for (a, reason) in [
        ("v = 1;", "a volatile access"),
        ("atomic_store(&un.i, 1); atomic_store(&un.c[1], 1);", "accessed in parts"),
        ("struct big b = big; (void)b;", "an atomic object that no instruction can access"),
    ] {
        for toolchain in toolchains() {
            let compiled = compile_with(toolchain, &two(head, a, ""), &["-latomic"]);
            let report = explore(&compiled.loaded, Memory::Rc11, &all());
            assert_eq!(report.verdict(), Verdict::Inconclusive, "{a} {:?}", report.findings);
            let why = report.inconclusive[0].to_string();
            assert!(
                why.contains(reason) && why.contains("with --sequentially-consistent"),
                "{a}: {why}"
            );
        }
    }
}

#[test]
fn atomics_of_cxx() {
    let text = "#include <atomic>\n#include <cassert>\n#include <thread>\n\
                struct Node { std::atomic<Node *> next{nullptr}; int v = 5; };\n\
                std::atomic<int> flag; int data; std::atomic<Node *> head;\n\
                int main() {\n\
                std::thread t([] { data = 1; head.store(new Node, std::memory_order_relaxed); flag.store(1, std::memory_order_release); });\n\
                std::thread u([] { if (flag.load(std::memory_order_acquire)) { assert(data == 1);\n\
                Node *n = head.load(std::memory_order_relaxed); assert(n && n->v == 5 && !n->next); } });\n\
                t.join(); u.join(); delete head.load(); }\n";
    for toolchain in toolchains() {
        let of = |text: &str| {
            let compiled = compile_text(toolchain, "test.cpp", text, &["-std=c++17"]);
            explore(&compiled.loaded, Memory::Rc11, &all())
        };
        let report = of(text);
        let found = (report.verdict(), report.counts.maximal());
        assert_eq!(
            found,
            (Verdict::Verified, 2),
            "{:?} {:?}",
            report.findings,
            report.inconclusive
        );
        assert!(has_race(&of(&text.replace("memory_order_acquire", "memory_order_relaxed"))));
    }
}

/// A thread that ends the process never ends by itself: joining it does not return.
#[test]
fn a_thread_that_exits_is_not_joined() {
    let text = "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
                static _Atomic int a;\n\
                static void *f(void *q) { atomic_store_explicit(&a, 1, memory_order_relaxed); END }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); assert(0); }\n";
    for memory in MODELS {
        let of = |end: &str| {
            let compiled = compile_text(GCC, "test.c", &text.replace("END", end), &[]);
            let report = explore(&compiled.loaded, memory, &all());
            (report.verdict(), kinds(report.counts))
        };
        assert_eq!(of("exit(0);"), (Verdict::Verified, (1, 0, 0)), "{memory:?}");
        assert_eq!(of("return 0;").0, Verdict::Violated, "{memory:?}");
    }
}
