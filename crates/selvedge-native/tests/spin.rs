//! Loops that wait without saying so end, and are not taken for waiting if they do something.

use selvedge_core::Verdict;
use selvedge_explore::Algorithm;

use selvedge_native::Caps;

use crate::common::{
    Nothing, compile, compile_with, levels, search, toolchains, verified, violated,
};

const EXACT: [Algorithm; 4] =
    [Algorithm::Optimal, Algorithm::Source, Algorithm::Parsimonious, Algorithm::Sleep];

fn with_flag(a: &str, b: &str) -> String {
    format!(
        "atomic_int flag, x, lock;\nvoid *a(void *u) {{ {a} return u; }}\nvoid *b(void *u) {{ {b} return u; }}\n\
         int main(void) {{ pthread_t t, s; pthread_create(&t, 0, a, 0); pthread_create(&s, 0, b, 0);\n\
         pthread_join(t, 0); pthread_join(s, 0); return 0; }}\n"
    )
}

#[track_caller]
fn ends(text: &str, flags: &[&str], executions: u64) {
    for algorithm in
        [Algorithm::Optimal, Algorithm::Source, Algorithm::Parsimonious, Algorithm::DataCentric]
    {
        let report = compile(text, flags).explore(algorithm);
        let name = algorithm.info().name;
        assert_eq!(
            report.verdict(),
            Verdict::Verified,
            "{name}: {:?} {:?}",
            report.violations,
            report.inconclusive
        );
        assert_eq!(report.counts.maximal(), executions, "{name}: {:?}", report.counts);
    }
}

/// It sees the flag at once, in the second turn, or after it waited.
#[test]
fn a_loop_that_waits_for_a_flag() {
    let text = with_flag("flag = 1;", "while (!flag) { } assert(flag == 1);");
    for flags in [&[][..], &["-O1"], &["-O2"]] {
        ends(&text, flags, 3);
    }
}

#[test]
fn a_loop_with_a_yield() {
    ends(&with_flag("flag = 1;", "while (!flag) sched_yield();"), &[], 3);
}

#[test]
fn a_flag_that_is_never_set() {
    violated(&with_flag("x = 1;", "while (!flag) { }"), "deadlock: main and b are blocked");
}

/// A function may access the same memory several times: that is no loop, though its caller is in the same state each time.
#[test]
fn accesses_of_one_call_are_no_turns() {
    let calls = [
        // clang announces both halves at once.
        "for (int i = 0; i < 3; i++) data += i;",
        "for (int i = 0; i < 4; i++) data |= 0;",
        "char to[64]; for (int i = 0; i < 3; i++) snprintf(to, 64, \"%s%s%s%s\", word, word, word, word);",
        "for (int i = 0; i < 4; i++) memcmp(word, word, 3);",
        "for (int i = 0; i < 4; i++) memmove(word, word, 3);",
        "for (int i = 0; i < 4; i++) strcmp(word, word);",
    ];
    for call in calls {
        let text = format!(
            "int data; char word[8] = \"abc\"; atomic_int done;\nvoid *a(void *u) {{ {call} done = 1; return u; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); assert(!done); return 0; }}\n"
        );
        for toolchain in toolchains() {
            let report = compile_with(toolchain, &text, &[]).explore(Algorithm::Optimal);
            let found = &report.violations;
            let is_it = |message: &str| message.contains("`!done` is false");
            assert!(found.iter().any(|(it, _)| is_it(&it.message)), "{call}: {found:?}");
        }
    }
}

/// What an earlier execution left on a stack is no part of the state of a thread: the loop writes there only in its second turn.
#[test]
fn a_turn_that_leaves_the_inner_loop_in_vain() {
    let text = with_flag(
        "for (int i = 0; i < 2; i++) { lock = 1; lock = 0; }",
        "do { while (lock) { } } while (atomic_exchange(&lock, 1)); lock = 0;",
    );
    let counts = EXACT.map(|algorithm| {
        let report = compile(&text, &[]).explore(algorithm);
        let name = algorithm.info().name;
        assert_eq!(report.verdict(), Verdict::Verified, "{name}: {:?}", report.inconclusive);
        report.counts.maximal()
    });
    assert!(counts.iter().all(|&it| it == counts[0]), "{counts:?}");
}

/// A loop that counts its turns continues.
#[test]
fn a_loop_that_gives_up() {
    let text = with_flag("flag = 1;", "int n = 0; while (!flag && n < 3) n++; assert(n < 3);");
    violated(&text, "assertion `n < 3` is false");
    let text =
        with_flag("flag = 1;", "for (volatile int n = 0; !flag && n < 3; n++) { } assert(flag);");
    violated(&text, "assertion `flag` is false");
}

#[test]
fn spin_locks() {
    let lock = "while (atomic_exchange(&lock, 1)) { } x++; lock = 0;";
    let report = compile(&with_flag(lock, lock), &[]).explore(Algorithm::Optimal);
    assert_eq!(
        report.verdict(),
        Verdict::Verified,
        "{:?} {:?}",
        report.violations,
        report.inconclusive
    );
    let lock =
        "int e = 0; while (!atomic_compare_exchange_weak(&lock, &e, 1)) e = 0; x++; lock = 0;";
    let report = compile(&with_flag(lock, lock), &[]).explore(Algorithm::Optimal);
    assert_eq!(
        report.verdict(),
        Verdict::Verified,
        "{:?} {:?}",
        report.violations,
        report.inconclusive
    );
}

/// A thread that waits does not hide what it would write meanwhile.
#[test]
fn a_loop_that_writes() {
    let text = with_flag(
        "while (!flag) { x = 1; x = 0; }",
        "while (x == 0) { } assert(x == 5); flag = 1;",
    );
    let compiled = compile(&text, &[]);
    let options = selvedge_explore::Options::default();
    let report = compiled.explore_with(Algorithm::Source, &options);
    assert_ne!(report.verdict(), Verdict::Verified);
}

/// A search that keeps learning is inconclusive when its limit is reached, and shows nothing that it found before.
#[test]
fn a_search_that_keeps_learning() {
    // Each thread writes to another word of main's stack: one restart each.
    let text = "void *a(void *p) { *(int *)p = 1; return 0; }\n\
                int main(void) { pthread_t t[3]; int x[12] = {0};\n\
                for (int i = 0; i < 3; i++) { pthread_create(&t[i], 0, a, &x[4 * i]); pthread_join(t[i], 0); }\n\
                assert(x[0] + x[4] + x[8] == 4); return 0; }\n";
    let compiled = compile(text, &[]);
    let few = compiled.loaded.with_caps(Caps { restarts: 1, ..Caps::default() });
    let options = selvedge_explore::Options::default();
    let report = search(&few, Algorithm::Optimal, &options, &mut Nothing);
    assert_eq!(report.verdict(), Verdict::Inconclusive, "{:?}", report.violations);
    let why = report.inconclusive.first().map(ToString::to_string).unwrap_or_default();
    assert!(why.contains("learned something new about the program 1 times"), "{why}");
    let enough = compiled.loaded.with_caps(Caps { restarts: 3, ..Caps::default() });
    let report = search(&enough, Algorithm::Optimal, &options, &mut Nothing);
    assert_eq!(report.verdict(), Verdict::Violated);
}

/// A turn that looks at more than its limit is not taken for one that waits: nothing is lost, but the search ends at the
/// limit of steps.
#[test]
fn a_turn_with_many_looks() {
    let text = with_flag(
        "flag = 1;",
        "for (;;) { int sum = flag + flag + flag + flag + flag + flag; if (sum) break; } x = 1;",
    );
    let compiled = compile(&text, &[]);
    let limits = selvedge_explore::Limits { steps: 200, ..Default::default() };
    let options = selvedge_explore::Options { limits, keep_going: true, ..Default::default() };
    let report = search(&compiled.loaded, Algorithm::Optimal, &options, &mut Nothing);
    assert_eq!(report.verdict(), Verdict::Verified, "{:?}", report.inconclusive);
    let few = compiled.loaded.with_caps(Caps { looks: 4, ..Caps::default() });
    let report = search(&few, Algorithm::Optimal, &options, &mut Nothing);
    assert_eq!(report.verdict(), Verdict::Inconclusive, "{:?}", report.counts);
    assert!(report.violations.is_empty(), "{:?}", report.violations);
}

/// A compare-exchange that fails writes what it found to the program's memory: a loop in which it does that changes something, also
/// if the turn before left the same there.
#[test]
fn what_a_compare_exchange_expects_is_shared() {
    let text = "struct node { struct node *next; } a, b; _Atomic(struct node *) top;\n\
                void *push(void *x) { struct node *n = x; n->next = atomic_load(&top);\n\
                while (!atomic_compare_exchange_weak(&top, &n->next, n)) { } return 0; }\n\
                int main(void) { pthread_t t, u; pthread_create(&t, 0, push, &a); pthread_create(&u, 0, push, &b);\n\
                pthread_join(t, 0); pthread_join(u, 0); assert(top && top->next && !top->next->next); return 0; }\n";
    for most in [1, 2, 3] {
        let compiled = compile(text, &[]);
        compiled.loaded.set_spurious(selvedge_native::Spurious { most, everywhere: most > 2 });
        let report = compiled.explore(Algorithm::Optimal);
        let found = (&report.violations, &report.inconclusive);
        assert_eq!(report.verdict(), Verdict::Verified, "{most}: {found:?}");
    }
}

/// A loop that goes through a few states of its own, and comes back to the first.
#[test]
fn a_loop_with_a_period() {
    let wait = "for (unsigned n = 0; !flag; n = (n + 1) & 3) { } assert(flag);";
    let report = compile(&with_flag("flag = 1;", wait), &[]).explore(Algorithm::Optimal);
    let found = (&report.violations, &report.inconclusive);
    assert_eq!(report.verdict(), Verdict::Verified, "{found:?}");
    // It sees the flag in one of its turns, or after it waited: four turns, and the first one once more, whose state is not compared.
    assert!((3..=8).contains(&report.counts.complete), "{:?}", report.counts);
    violated(&with_flag("x = 1;", wait), "deadlock: main and b are blocked");
}

/// As in queue locks. Before the other thread comes, no thread but its own has seen the variable.
#[test]
fn a_variable_on_the_own_stack() {
    verified(
        "atomic_int *_Atomic q; void *t(void *u) { atomic_int local = 1; q = &local; while (local) { } return u; }\n\
         int main(void) { pthread_t h; pthread_create(&h, 0, t, 0); atomic_int *seen = q; if (seen) *seen = 0; else exit(0);\n\
         pthread_join(h, 0); return 0; }",
        4,
    );
}

fn polling(turn: &str, other: &str) -> String {
    format!(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int done, data, tries;\n\
         void *b(void *u) {{ {other} return u; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, b, 0);\n\
         {turn}\n\
         assert(data == 42); pthread_join(t, 0); return 0; }}\n"
    )
}

const SETS: &str = "data = 42; pthread_mutex_lock(&m); done = 1; pthread_mutex_unlock(&m);";

/// A loop that looks under a mutex: it sees the flag at once, in the second turn, or after it waited. One that takes the mutex for
/// the first time before the loop makes a turn more until it is known to wait.
#[test]
fn a_loop_that_polls_under_a_mutex() {
    let turns = [
        (
            3,
            "while (1) { pthread_mutex_lock(&m); if (done) { pthread_mutex_unlock(&m); break; } pthread_mutex_unlock(&m); }",
        ),
        (
            3,
            "for (int seen = 0; !seen;) { pthread_mutex_lock(&m); seen = done; pthread_mutex_unlock(&m); }",
        ),
        (
            4,
            "pthread_mutex_lock(&m); while (!done) { pthread_mutex_unlock(&m); pthread_mutex_lock(&m); } pthread_mutex_unlock(&m);",
        ),
    ];
    for (executions, turn) in turns {
        ends(&polling(turn, SETS), &[], executions);
    }
}

/// What it waits for is never set, or is set by a thread that needs the mutex which the loop took before.
#[test]
fn a_loop_that_polls_forever() {
    let turn = "while (1) { pthread_mutex_lock(&m); if (done) break; pthread_mutex_unlock(&m); }";
    violated(&polling(turn, "data = 42;"), "deadlock: main is blocked");
    let turn = "pthread_mutex_lock(&m); while (!done) { } pthread_mutex_unlock(&m);";
    violated(&polling(turn, SETS), "deadlock: main and b are blocked");
}

/// A thread that tries to take the mutex notices turns: they are not left out.
#[test]
fn a_mutex_that_is_polled_and_tried() {
    let turn = "while (1) { pthread_mutex_lock(&m); if (done) { pthread_mutex_unlock(&m); break; } pthread_mutex_unlock(&m); }";
    let tries = "for (int i = 0; i < 4; i++) { if (pthread_mutex_trylock(&m)) tries++; else pthread_mutex_unlock(&m); }\n\
         assert(tries < 4);";
    violated(&polling(turn, &format!("{tries} {SETS}")), "assertion `tries < 4` is false");
}

/// Each value that is there between two sections of the other thread can be seen, and can be missed.
#[test]
fn a_loop_that_polls_sees_every_value() {
    let set =
        |value: u32| format!("pthread_mutex_lock(&m); done = {value}; pthread_mutex_unlock(&m); ");
    let turn = |check: &str| {
        format!(
            "int seen = 0; while (!seen) {{ pthread_mutex_lock(&m); seen = done; pthread_mutex_unlock(&m); }} {check}"
        )
    };
    let twice = format!("data = 42; {}{}", set(1), set(2));
    violated(&polling(&turn("assert(seen == 1);"), &twice), "assertion `seen == 1` is false");
    violated(&polling(&turn("assert(seen == 2);"), &twice), "assertion `seen == 2` is false");
    // In the first turn or the second, it sees either. Or it waits: until the first value, which it then sees or misses, or the second.
    ends(&polling(&turn("assert(seen == 1 || seen == 2);"), &twice), &[], 7);
    let and_back = format!("data = 42; {}{}", set(1), set(0));
    violated(&polling(&turn("assert(0);"), &and_back), "assertion `0` is false");
    violated(&polling(&turn(""), &and_back), "deadlock: main is blocked");
}

/// A loop that counts does not wait, also where one call of the shim accesses the same memory more than once: clang announces an update of
/// plain memory as one, and functions of libc may read a text twice.
#[test]
fn a_loop_that_counts_and_changes_nothing_ends() {
    for body in [
        "data += j;",
        "data *= 1;",
        "if (strcmp(text, text)) data = 1;",
        "if (memcmp(text, text, 2)) data = 1;",
        "memmove(text, text, 2);",
        "char to[9]; snprintf(to, 9, \"%s%s%s\", text, text, text);",
    ] {
        let text = format!(
            "#include <stdio.h>\nint data; char text[4] = \"ab\"; atomic_int done;\n\
             void *a(void *u) {{ for (int j = 0; j < 4; j++) {{ {body} }} done = 1; return u; }}\n\
             int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); assert(!done); pthread_join(t, 0); return 0; }}"
        );
        for toolchain in toolchains() {
            for &level in levels() {
                let report = compile_with(toolchain, &text, &[level]).explore(Algorithm::Optimal);
                let found: Vec<&str> = report
                    .violations
                    .iter()
                    .map(|(violation, _)| violation.message.as_str())
                    .collect();
                assert_eq!(found, ["assertion `!done` is false"], "{toolchain:?} {level} {body}");
            }
        }
    }
}
