//! Loops that wait without saying so end, and are not taken for waiting if they do something.

use selvedge_core::Verdict;
use selvedge_explore::Algorithm;

use crate::common::{compile, violated};

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
