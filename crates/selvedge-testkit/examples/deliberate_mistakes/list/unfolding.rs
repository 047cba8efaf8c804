//! Mistakes in the quasi-optimal explorer.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "unfolding: what a sleeper keeps is not passed down",
        file: "quasi/sleepers.rs",
        right: "if sleeps_on && (touched",
        wrong: "if false && sleeps_on && (touched",
        suite: "small_programs",
        test: "every_program_of_four_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: events of an alternative may be in conflict",
        file: "quasi/alternatives.rs",
        right: "if !unfolding.are_in_conflict(event, other) {",
        wrong: "if true || !unfolding.are_in_conflict(event, other) {",
        suite: "small_programs",
        test: "every_program_of_four_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: an alternative forgets all but one of the events that sleep",
        file: "quasi/alternatives.rs",
        right: "self.disabled.iter().copied().find(is_open)",
        wrong: "self.disabled.iter().copied().take(1).find(is_open)",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "unfolding: a write need not know all reads",
        file: "unfolding/objects.rs",
        right: "self.members(a).iter().all(|event| larger.any(|other| other == event))",
        wrong: "true || self.members(a).iter().all(|event| larger.any(|other| other == event))",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: histories of an object that branch off are compatible if one is longer",
        file: "unfolding/objects.rs",
        right: "c == a || (self.are_alike",
        wrong: "true || c == a || (self.are_alike",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: a write is taken for a look at the object",
        file: "unfolding/touched.rs",
        right: "if !commute(access.mode, Mode::Read) {",
        wrong: "if false && !commute(access.mode, Mode::Read) {",
        suite: "small_programs",
        test: "every_program_of_three_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: pruning forgets what is kept for later",
        file: "quasi.rs",
        right: "let kept = self.kept.iter().flat_map(Kept::iter);",
        wrong: "self.kept.iter_mut().for_each(Kept::clear);\n        let kept = self.kept.iter().flat_map(Kept::iter);",
        suite: "small_programs",
        test: "every_program_of_four_threads_with_two_operations",
    },
    Mistake {
        name: "unfolding: blocked threads give no extensions",
        file: "quasi.rs",
        right: "self.reverse(Later::Pending(thread), thread);",
        wrong: "let _ = (Later::Pending(thread), thread);",
        suite: "small_programs",
        test: "random_programs_with_locks",
    },
];
