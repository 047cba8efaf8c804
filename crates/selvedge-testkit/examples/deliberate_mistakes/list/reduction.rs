//! Mistakes in the classic, source and optimal explorers.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "only the last race of an event is reversed",
        file: "races.rs",
        right: "for &e in execution.predecessors(later) {",
        wrong: "for &e in execution.predecessors(later).iter().take(1) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "sleep sets are not passed down",
        file: "sleep_set.rs",
        right: "if sleeper.step.thread != step.thread && !sleeper.depends_on(accesses) {",
        wrong: "if false && !sleeper.depends_on(accesses) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "sleeping threads are never woken",
        file: "sleep_set.rs",
        right: "&& !sleeper.depends_on(accesses) {",
        wrong: "&& (true || sleeper.depends_on(accesses)) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "threads that are blocked at the end do not race",
        file: "optimal.rs",
        right: "self.settle(Later::Pending(thread), maximal);",
        wrong: "let _ = Later::Pending(thread);",
        suite: "small_programs",
        test: "random_programs_with_locks",
    },
    Mistake {
        name: "a step that depends on the sequence is taken for a weak initial",
        file: "sequence.rs",
        right: "if !item.objects.is_disjoint(other.objects) &&",
        wrong: "if false && !item.objects.is_disjoint(other.objects) &&",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "a compare-exchange keeps its old effect when a race is reversed",
        file: "races.rs",
        right: "            if !is_hard(&run.execution, e, e2) && !decide_anew(run, e, e2, reversal, found) {",
        wrong: "            if !is_hard(&run.execution, e, e2) {\n                let _ = decide_anew::<S>;\n                \
                as_it_was(&run.execution, e, e2, reversal);\n                \
                found(&run.execution, reversal);\n            }\n            if false {",
        suite: "small_programs",
        test: "random_programs_with_branches_and_read_modify_writes",
    },
    Mistake {
        name: "locks race with the release before them, not with the acquire",
        file: "races/locks.rs",
        right: "                released = true;\n                continue;",
        wrong: "                released = false;",
        suite: "small_programs",
        test: "random_programs_with_locks",
    },
    Mistake {
        name: "every race is settled at once",
        file: "optimal.rs",
        right: "if !self.settle(Later::Event(position), maximal) {",
        wrong: "if !(self.settle(Later::Event(position), maximal) || true) {",
        suite: "small_programs",
        test: "a_settled_race_is_settled_for_all_executions",
    },
    Mistake {
        name: "other events that keep a step waiting are never left out",
        file: "races.rs",
        right: "        if others.is_empty() {",
        wrong: "        if !others.is_empty() || others.is_empty() {",
        suite: "small_programs",
        test: "random_programs_with_awaits",
    },
    Mistake {
        name: "what a step touches only once a race is reversed does not matter",
        file: "races.rs",
        right: "single || now.iter().all(is_covered)",
        wrong: "single || now.iter().all(is_covered) || true",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "the classic reduction counts sleeping threads as explored",
        file: "classic.rs",
        right: "&& !asleep.contains(other)",
        wrong: "&& (true || asleep.contains(other))",
        suite: "small_programs",
        test: "classic_with_sleep_sets",
    },
    Mistake {
        name: "what commutes with an event of a race does not change the object",
        file: "races.rs",
        right: "&& !before.iter().any(|&x| may_change(",
        wrong: "&& !before.iter().any(|&x| false && may_change(",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
];
