//! C programs on the command line: from the text to the verdict, the replay and the messages.

use crate::common::Folder;

/// Two threads lose an update.
const LOST: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_int x;

void *inc(void *unused) {
    int v = x;
    x = v + 1;
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, inc, 0);
    pthread_create(&b, 0, inc, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    printf(\"x = %d\\n\", x);
    assert(x == 2);
    return 0;
}
";

/// The same with a lock, in two files.
const MAIN: &str = "\
#include <assert.h>
#include <pthread.h>
#include \"counter.h\"

void *work(void *unused) {
    add(STEP);
    return unused;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    assert(total() == 2 * STEP);
    return 0;
}
";

const COUNTER: &str = "\
#include <pthread.h>
#include \"counter.h\"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

void add(int n) {
    pthread_mutex_lock(&lock);
    sum += n;
    pthread_mutex_unlock(&lock);
}

int total(void) { return sum; }
";

#[test]
fn a_violation_is_shown_and_can_be_replayed() {
    let folder = Folder::with("lost.c", LOST);
    let check = folder.run("check lost.c").exits(1);
    let check = check.says("violated: assertion `x == 2` is false").says("lost.c:21");
    let check = check.says("main").says("inc#2").says("read x → 0").says("write x ← 1");
    let command = check.out.lines().find_map(|line| line.strip_prefix("replay: selvedge "));
    let replay = folder.run(command.expect("there is a command")).exits(1);
    replay.says("assertion `x == 2` is false").says("output of the program:\nx = 1\n");
    // A run leaves nothing behind.
    assert_eq!(std::fs::read_dir(folder.path()).expect("it can be read").count(), 1);
}

#[test]
fn the_same_text_every_time() {
    let folder = Folder::with("lost.c", LOST);
    let without_time = |out: &str| -> String {
        out.lines().filter(|line| !line.starts_with("  time")).collect::<Vec<_>>().join("\n")
    };
    let first = without_time(&folder.run("check lost.c").exits(1).out);
    assert_eq!(first, without_time(&folder.run("check lost.c").exits(1).out));
    assert!(!first.contains("0x"), "{first}");
}

#[test]
fn a_proof_and_its_counts() {
    let folder = Folder::with("main.c", MAIN);
    folder.write("counter.c", COUNTER.as_bytes());
    folder.write("counter.h", "void add(int);\nint total(void);\n".as_bytes());
    let run = folder.run("check main.c counter.c -- -DSTEP=3").exits(0);
    run.says("verified: no violation in 2 executions").says("data races").says("-DSTEP=3");
    let run = folder.run("check main.c counter.c --json -- -DSTEP=3").exits(0);
    run.says("\"verdict\": \"verified\"");
    for algorithm in
        ["oracle", "sleep", "classic", "source", "parsimonious", "quasi", "data-centric"]
    {
        let run = folder.run(&format!("check main.c counter.c -a {algorithm} -- -DSTEP=3"));
        run.exits(0).says("verified");
    }
    folder.run("check main.c counter.c --sample 10 -- -DSTEP=3").exits(3).says("inconclusive");
}

#[test]
fn saved_traces() {
    let folder = Folder::with("lost.c", LOST);
    folder.run("check lost.c --save-trace t.json").exits(1);
    folder.run("replay --trace t.json").exits(1).says("assertion `x == 2` is false");
}

/// A message that is passed by relaxed operations.
const MESSAGE: &str = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

atomic_int data, flag;

void *send(void *unused) {
    atomic_store_explicit(&data, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return unused;
}

int main(void) {
    pthread_t a;
    pthread_create(&a, 0, send, 0);
    int ready = atomic_load_explicit(&flag, memory_order_relaxed);
    printf(\"ready = %d\\n\", ready);
    assert(!ready || atomic_load_explicit(&data, memory_order_relaxed));
    pthread_join(a, 0);
    return 0;
}
";

#[test]
fn memory_models() {
    let folder = Folder::with("message.c", MESSAGE);
    // A second search shows what loads of older values do; none if races are not looked for.
    let run = folder.run("check message.c").exits(1);
    let run = run.says("is false, under rc11").says("did not see the newer data = 1 of send");
    run.says("no violation in 2 executions in which loads see the last store");
    let run = folder.run("check message.c --no-races").exits(0);
    run.says("checked as sequentially consistent (--memory rc11)");
    let right = MESSAGE
        .replace("&flag, 1, memory_order_relaxed", "&flag, 1, memory_order_release")
        .replace("&flag, memory_order_relaxed", "&flag, memory_order_acquire");
    folder.write("right.c", right.as_bytes());
    let run = folder.run("check right.c").exits(0);
    run.says("verified: no violation in 2 executions, and in 2 executions under rc11");
    // What cannot be explored is said.
    let volatile = right
        .replace("atomic_int data", "volatile int other; atomic_int data")
        .replace("int ready", "other = 1; int ready");
    folder.write("volatile.c", volatile.as_bytes());
    let run = folder.run("check volatile.c").exits(3);
    let run = run.says("inconclusive: ").says("a volatile access");
    run.says("check it with --sequentially-consistent");
    let run = folder.run("check volatile.c --sequentially-consistent").exits(0);
    run.says("verified: no violation in 2 executions").says("checked as sequentially consistent");
    let run = folder.run("check right.c --max-executions 3").exits(0);
    run.says("and in 2 executions under rc11");
    let run = folder.run("check right.c --memory rc11 --jobs 2").exits(0);
    run.complains("it runs in one process, and not in 2");
    for model in ["sc", "tso"] {
        let run = folder.run(&format!("check message.c --memory {model}")).exits(0);
        run.says(&format!("verified: no violation in 2 executions under {model}"));
    }
    let check = folder.run("check message.c --memory rc11 --save-trace t.json").exits(1);
    let check = check.says("did not see the newer data = 1 of send").says("message.c:19");
    let check = check.says("use Release for the write and Acquire for the read");
    let command = check.out.lines().find_map(|line| line.strip_prefix("replay: selvedge "));
    for command in [command.expect("there is a command"), "replay --trace t.json"] {
        let replay = folder.run(command).exits(1);
        replay.says("read data (Relaxed) → 0").says("output of the program:\nready = 1\n");
    }
    folder.run("check message.c --memory rc11 --json").exits(1).says("\"algorithm\": \"graph\"");
}

/// Instructions that a memory model does not see, and code on the stack.
#[test]
fn instructions_that_are_not_seen() {
    let fence =
        MESSAGE.replace("int ready", "__asm__ volatile(\"mfence\" ::: \"memory\"); int ready");
    let folder = Folder::with("fence.c", &fence);
    for command in ["check fence.c", "check fence.c --memory tso"] {
        let run = folder.run(command).exits(3);
        run.says("fence.c has the instruction mfence").says("use atomic_thread_fence");
    }
    folder.run("check fence.c --sequentially-consistent").exits(0);
    let nested =
        "#include <pthread.h>\nint main(void) { int x = 0; void *f(void *u) { x = 1; return u; }
        pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return x - 1; }";
    folder.write("nested.c", nested.as_bytes());
    let run = folder.run("check nested.c --cc gcc").exits(2);
    run.complains("nested.c takes the address of a nested function");
}

/// What a data race leaves undefined is not in the way of showing it: which of the two accesses comes first in memory, and what other
/// threads do besides.
#[test]
fn races_under_memory_models() {
    let head = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n#define X(f) atomic_##f##_explicit\n";
    let free = "static int *_Atomic g; static atomic_int busy;
void *a(void *u) { X(store)(&busy, 1, memory_order_relaxed); int *p = X(load)(&g, memory_order_acquire); int v = *p; (void)v; return u; }
void *b(void *u) { int *n = malloc(4); *n = 2; int *o = X(exchange)(&g, n, memory_order_acq_rel);
                   if (!X(load)(&busy, memory_order_relaxed)) free(o); return u; }
";
    let both = "static long x;
void *a(void *u) { long r = x; (void)r; __atomic_store_n(&x, 1, 5); x = 1; return u; }
void *b(void *u) { long e = 1; __atomic_compare_exchange_n(&x, &e, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED); return u; }
static void *_Atomic g;
";
    let end = "int main(void) { g = malloc(4); pthread_t s, t; pthread_create(&s, 0, a, 0); pthread_create(&t, 0, b, 0);
                 pthread_join(s, 0); pthread_join(t, 0); return 0; }";
    for (text, on) in [(free, "a block of 4 bytes"), (both, "x")] {
        let folder = Folder::with("race.c", &format!("{head}{text}{end}"));
        for model in ["rc11", "tso"] {
            let run = folder.run(&format!("check race.c --memory {model}")).exits(1);
            let run = run.says(&format!("data race on `{on}"));
            let command = run.out.lines().find_map(|line| line.strip_prefix("replay: selvedge "));
            folder.run(command.expect("there is a command")).exits(1).says("data race on `");
        }
    }
}

/// The options reach the replay, on the command line and in a saved trace.
#[test]
fn waits_that_end_without_reason() {
    let text = "\
#include <assert.h>
#include <pthread.h>
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready;
void *set(void *unused) {
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return unused;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, set, 0);
    pthread_mutex_lock(&m);
    for (int n = 0; !ready && n < TRIES; n++) pthread_cond_wait(&c, &m);
    assert(ready);
    pthread_mutex_unlock(&m);
    pthread_join(a, 0);
    return 0;
}
";
    let folder = Folder::with("wait.c", text);
    folder.run("check wait.c -- -DTRIES=1").exits(1).says("assertion `ready` is false");
    folder.run("check wait.c --spurious 0 -- -DTRIES=1").exits(0).says("verified");
    let run = folder.run("check wait.c -- -DTRIES=2").exits(0);
    run.says("at most once for each thread and place, and more might matter (--spurious 2)");
    let check = folder.run("check wait.c --spurious 2 --save-trace t.json -- -DTRIES=2").exits(1);
    let check = check.says("wait on c, without a signal, and unlock m");
    let command = check.out.lines().find_map(|line| line.strip_prefix("replay: selvedge "));
    let command = command.expect("there is a command");
    assert!(command.contains(" --spurious 2 "), "{command}");
    for command in [command, "replay --trace t.json"] {
        folder.run(command).exits(1).says("assertion `ready` is false");
    }
}

#[test]
fn data_races_are_looked_for() {
    let folder = Folder::with("race.c", &LOST.replace("atomic_int x", "int x"));
    let run = folder.run("check race.c").exits(1);
    run.says("data race").says("race.c:9").says("race.c:10");
    folder.run("check race.c --no-races").exits(1).says("assertion");
}

#[test]
fn what_the_compiler_rejects() {
    let folder = Folder::with("wrong.c", "int main(void) { return y; }\n");
    let run = folder.run("check wrong.c").exits(2);
    run.complains("wrong.c:1").complains("undeclared");
    let folder = Folder::with("half.c", "void f(void);\nint main(void) { f(); return 0; }\n");
    folder.run("check half.c").exits(2).complains("undefined reference");
}

#[test]
fn what_does_not_apply() {
    let folder = Folder::with("lost.c", LOST);
    for (arguments, message) in [
        ("check lost.c --cc no-such-compiler", "there is no C compiler named `no-such-compiler`"),
        ("check lost.c --symbolic", "--symbolic does not apply to C programs"),
        ("check lost.c -a constrained", "--algorithm constrained does not apply to C programs"),
        ("check lost.c -a context-sensitive", "does not apply to C programs"),
        ("check lost.c --const N=2", "--const does not apply to C programs"),
        ("check lost.c -- -static", "the flag -static does not apply"),
        ("check lost.c -- -m32", "the flag -m32 does not apply"),
        ("check lost.c -- -fsanitize=address", "the flag -fsanitize=address does not apply"),
        ("check lost.c -- --no-such-flag", "no-such-flag"),
        ("check missing.c", "there is no such file"),
        ("check lost.c --memory rc11 --no-races", "--no-races does not apply to --memory"),
        ("check lost.c --memory rc11 -a source", "--algorithm does not apply to --memory"),
        ("replay lost.c --memory rc11 --schedule 0@9", "is not possible under rc11"),
        ("replay lost.c --memory rc11 --schedule 0 --step", "--step does not apply to --memory"),
    ] {
        folder.run(arguments).exits(2).complains(message);
    }
    let folder = Folder::with("lost.sel", crate::common::LOST);
    folder.run("check lost.sel other.sel").exits(2).complains("only applies to C programs");
    folder.run("check lost.sel --no-races").exits(2).complains("only applies to C programs");
    folder.run("check lost.sel --spurious 2").exits(2).complains("only applies to C programs");
}

#[test]
fn what_is_not_seen_is_said() {
    let text = "int x;\nint main(void) {\n    __asm__ volatile(\"incl %0\" : \"+m\"(x));\n    return 0;\n}\n";
    let folder = Folder::with("asm.c", text);
    folder.run("check asm.c").exits(3).says("asm.c:3 has inline assembly");
    let text =
        "int __VERIFIER_nondet_int(void);\nint main(void) { return __VERIFIER_nondet_int(); }\n";
    let folder = Folder::with("input.c", text);
    folder.run("check input.c").exits(3).says("__VERIFIER_nondet_int() may return anything");
    // Its steps are interleaved with those of others, so that what is found may not happen.
    let text = "#include <assert.h>\n#include <pthread.h>\nvolatile int x;\nvoid __VERIFIER_atomic_add(void) { x = x + 1; }\n\
                void *a(void *u) { __VERIFIER_atomic_add(); return u; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, a, 0); a(0); pthread_join(t, 0); assert(x == 2); }\n";
    let folder = Folder::with("named.c", text);
    for command in ["check named.c", "check named.c --jobs 2", "check named.c --algorithm optimal"]
    {
        folder
            .run(command)
            .exits(3)
            .says("__VERIFIER_atomic_add is meant to be atomic by its name");
    }
    let folder = Folder::with("lost.c", &LOST.replace("assert(x == 2)", "assert(x >= 1)"));
    folder.run("check lost.c -- -O2").exits(0).says("optimised program");
}

/// The process that reports survives what the program does to its own.
#[test]
fn a_program_that_ends_its_process() {
    let text = "int main(void) {\n    __asm__ volatile(\"mov $60, %eax\\n xor %edi, %edi\\n mov $39, %eax\\n syscall\\n\
                mov %eax, %edi\\n mov $6, %esi\\n mov $62, %eax\\n syscall\");\n    return 0;\n}\n";
    let folder = Folder::with("kill.c", text);
    let run = folder.run("check kill.c").exits(1);
    run.says("violated: the program crashed the process that runs it (signal 6, SIGABRT)");
}

/// An exception that nothing catches, in C++.
#[test]
fn cxx() {
    let text = "#include <stdexcept>\n#include <thread>\nvoid f() {\n  throw std::runtime_error(\"no paper\");\n}\n\
                int main() {\n  std::thread t(f);\n  t.join();\n}\n";
    let folder = Folder::with("print.cpp", text);
    let check = folder.run("check print.cpp -- -std=c++17").exits(1);
    check
        .says("violated: nothing catches what f throws: std::runtime_error: no paper")
        .says("print.cpp:4");
    folder
        .run("check print.cpp --cxx no-such-compiler")
        .exits(2)
        .complains("there is no C++ compiler named `no-such-compiler`");
}

/// Copies an example of a build.
fn example(name: &str) -> Folder {
    let from = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/c").join(name);
    let folder = Folder::with("unused", "");
    for entry in std::fs::read_dir(from).expect("the example exists") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), folder.path().join(entry.file_name()))
            .expect("it can be copied");
    }
    folder
}

/// Runs a command of a build, in which selvedge takes the place of the compilers.
fn build(folder: &Folder, command: &str) {
    let own = env!("CARGO_BIN_EXE_selvedge");
    let mut words = command.split(' ');
    let mut command = std::process::Command::new(words.next().expect("a command"));
    command.args(words).current_dir(folder.path());
    command.env("CC", format!("{own} cc")).env("CXX", format!("{own} c++"));
    let output = command.output().expect("it can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
}

/// Whether a tool is there. It may be missing, unless the variable is set.
fn has(tool: &str, variable: &str) -> bool {
    let is_there = std::process::Command::new(tool).arg("--version").output().is_ok();
    if !is_there {
        assert!(std::env::var_os(variable).is_none(), "{tool} is needed: install it");
        // Not with `eprintln!`, which the test harness keeps to itself.
        let line = format!("skipped: there is no {tool}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes());
    }
    is_there
}

#[test]
fn a_build_by_make() {
    if !has("make", "SELVEDGE_NEED_CMAKE") {
        return;
    }
    let folder = example("make");
    build(&folder, "make -e main");
    folder.run("check ./main").exits(0).says("verified: no violation in 12 executions");
    folder.run("check ./main --json").exits(0).says("\"verdict\": \"verified\"");
    // It does not run by itself, and says so.
    let output =
        std::process::Command::new(folder.path().join("main")).output().expect("it is a program");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("selvedge check"));
    // Nothing is built again, and what changes is.
    build(&folder, "make -e main");
    let ring = std::fs::read_to_string(folder.path().join("ring.c")).expect("it is there");
    let broken = ring.replacen("ring->count--;", "ring->count -= 0;", 1);
    std::fs::write(folder.path().join("ring.c"), broken).expect("it can be written");
    build(&folder, "make -e main");
    folder.run("check ./main").exits(1).says("violated: assertion `sum == 3` is false");
}

#[test]
fn a_build_by_cmake() {
    if !has("cmake", "SELVEDGE_NEED_CMAKE") {
        return;
    }
    let folder = example("cmake");
    build(&folder, "cmake -B build");
    build(&folder, "cmake --build build");
    folder.run("check build/pool").exits(0).says("verified: no violation in 12 executions");
}

/// Input that cannot be checked, each with one sentence.
#[test]
fn bad_input() {
    let folder = Folder::with("a.c", "int main(void) { return 0; }\n");
    folder.run("check a.c -- -static").exits(2).complains("the flag -static does not apply");
    folder.run("check a.c -- -m32").exits(2).complains("32-bit programs cannot be loaded");
    folder.run("check a.c -- -fsanitize=address").exits(2).complains("cannot be combined");
    folder.run("check a.c -- -c").exits(2).complains("selvedge compiles and links by itself");
    folder.run("check a.c -- -fno-such-flag").exits(2).complains("-fno-such-flag");
    folder
        .run("check a.c --cc no-such-compiler")
        .exits(2)
        .complains("there is no C compiler named `no-such-compiler`");
    folder.run("check a.c missing.c").exits(2).complains("missing.c");
    let cc = |arguments: &str| {
        let status = std::process::Command::new("cc")
            .args(arguments.split(' '))
            .current_dir(folder.path())
            .status();
        assert!(status.expect("there is a compiler").success(), "{arguments}");
    };
    // A program and an object of another compiler.
    cc("a.c -o other");
    folder.run("check ./other").exits(2).complains("it was not built by selvedge");
    cc("-c a.c -o other.o");
    folder.run("cc other.o -o linked").exits(2).complains("other.o was not compiled by selvedge");
    folder.run("cc -static a.c").exits(2).complains("the flag -static does not apply");
    folder.run("cc -shared a.c -o a.so").exits(2).complains("a shared library cannot be checked");
    // A module of another version.
    folder.run("cc a.c -o mine").exits(0);
    folder.run("check ./mine").exits(0);
    let path = folder.path().join("mine");
    let mut bytes = std::fs::read(&path).expect("it was linked");
    let at = bytes.windows(8).position(|window| window == b"version ").expect("it has a version");
    bytes[at + 8] ^= 1;
    std::fs::write(&path, bytes).expect("it can be written");
    folder.run("check ./mine").exits(2).complains("it was built by another version of selvedge");
    // A 32-bit object: its header says so.
    std::fs::write(folder.path().join("old"), b"\x7fELF\x01\x01\x01\0\0\0\0\0")
        .expect("it can be written");
    folder.run("check ./old").exits(2).complains("it is a 32-bit program");
    // Inline assembly is not seen.
    let text = "int x;\nint main(void) { __asm__ volatile(\"incl %0\" : \"+m\"(x)); return 0; }\n";
    std::fs::write(folder.path().join("asm.c"), text).expect("it can be written");
    folder.run("check asm.c").exits(3).says("asm.c:2 has inline assembly");
}

#[test]
fn leaks_are_shown_on_request() {
    let text = "#include <stdlib.h>\n_Atomic int x;\nint main(void) {\n  char *p = malloc(3);\n  x = 1;\n  return p == 0;\n}\n";
    let folder = Folder::with("leak.c", text);
    folder.run("check leak.c").exits(0);
    let check = folder.run("check leak.c --leaks").exits(1);
    let check = check.says("violated: a block of 3 bytes allocated at leak.c:4 is never freed");
    let command = check.out.lines().find_map(|line| line.strip_prefix("replay: selvedge "));
    folder.run(command.expect("there is a command")).exits(1).says("is never freed");
}

#[test]
fn a_loop_that_waits_is_named_by_what_it_reads() {
    let text = "#include <pthread.h>\n#include <stdatomic.h>\natomic_int flag;\n\
                void *waits(void *unused) { while (!flag) { } return unused; }\n\
                int main(void) { pthread_t t; pthread_create(&t, 0, waits, 0); pthread_join(t, 0); return 0; }\n";
    let run = Folder::with("spin.c", text).run("check spin.c").exits(1);
    run.says("waits would loop until flag changes, and no thread changes it");
}

#[test]
fn a_wait_for_a_word_that_was_freed() {
    let text = "#include <linux/futex.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
                #include <sys/syscall.h>\n#include <unistd.h>\n\
                int main(void) { atomic_int *f = malloc(sizeof *f); *f = 1; free(f);\n\
                syscall(SYS_futex, f, FUTEX_WAIT, 1, 0, 0, 0); return 0; }\n";
    let folder = Folder::with("freed.c", text);
    for options in ["", " --memory rc11"] {
        let run = folder.run(&format!("check freed.c{options}")).exits(1);
        run.says("main uses memory after it was freed: a block of 4 bytes allocated at freed.c:6");
    }
}
