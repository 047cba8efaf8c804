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
        ("check lost.cpp", "C++ is not supported"),
        ("check missing.c", "there is no such file"),
    ] {
        folder.run(arguments).exits(2).complains(message);
    }
    let folder = Folder::with("lost.sel", crate::common::LOST);
    folder.run("check lost.sel other.sel").exits(2).complains("only applies to C programs");
    folder.run("check lost.sel --no-races").exits(2).complains("only applies to C programs");
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
