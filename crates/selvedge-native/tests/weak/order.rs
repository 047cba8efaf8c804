//! What a thread finds in the state of locks and threads may depend on steps that nothing else orders with its own: the execution that
//! shows it has the order of the search.

use selvedge_core::{Fault, Schedule};
use selvedge_explore::{Finding, follow};

use super::{MODELS, all, explore, two};
use crate::common::{compile_with, levels, toolchains};

/// Every fault comes again, with the same words.
#[test]
fn faults_come_again_in_the_order_of_the_search() {
    let mutex = "pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER; atomic_int x; void start(void) {}";
    for (head, a, b, wanted) in [
        (
            mutex,
            "x = 1; pthread_mutex_lock(&l);",
            "if (!x) pthread_mutex_unlock(&l);",
            "b unlocks l, which it does not hold",
        ),
        (
            mutex,
            "pthread_mutex_lock(&l);",
            "pthread_mutex_unlock(&l);",
            "b unlocks l, which it does not hold",
        ),
        (
            "pthread_t c; void *f(void *u) { return u; } void start(void) { pthread_create(&c, 0, f, 0); }",
            "pthread_join(c, 0);",
            "pthread_join(c, 0);",
            "joins f, which was joined before",
        ),
    ] {
        let text = two(head, a, b).replace("pthread_t t, s;", "pthread_t t, s; start();");
        for toolchain in toolchains() {
            for &level in levels() {
                let compiled = compile_with(toolchain, &text, &[level]);
                for memory in MODELS {
                    let report = explore(&compiled.loaded, memory, &all());
                    let mut faults = 0;
                    for (finding, witness) in &report.findings {
                        let Finding::Fault(_, Fault::Violation(violation)) = finding else {
                            continue;
                        };
                        assert!(violation.message.contains(wanted), "{violation:?}");
                        faults += 1;
                        let comes_again = witness.runs().any(|steps| {
                            let mut system = compiled.loaded.graph_program(true);
                            let schedule = Schedule::from(steps.to_vec());
                            let followed =
                                follow(&mut system, memory, &schedule, true, &mut |_, _| {})
                                    .unwrap_or_else(|error| panic!("{violation:?}: {error}"));
                            followed.found.iter().any(|(_, again)| again.same_as(violation))
                        });
                        assert!(comes_again, "{memory:?}: {violation:?}");
                    }
                    assert!(faults > 0, "{memory:?}: {report:?}");
                }
            }
        }
    }
}
