//! Mistakes in the synthesis of constraints.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "constraints: local variables that are used later are not compared",
        file: "constraints/formula.rs",
        right: "(Some(Exit::At(a, left)), Some(Exit::At(b, right))) if a == b => {\n                let pairs = left.iter().zip(right);",
        wrong: "(Some(Exit::At(a, left)), Some(Exit::At(b, right))) if a == b => {\n                let pairs = left.iter().zip(right).take(0);",
        suite: "constraints",
        test: "local_variables_that_are_used_later",
    },
    Mistake {
        name: "constraints: blocks that both wait commute",
        file: "constraints/formula.rs",
        right: "(Some(Exit::Returned), Some(Exit::Returned)) => Lit::TRUE,",
        wrong: "(Some(Exit::Returned), Some(Exit::Returned))\n            | (Some(Exit::Waits), Some(Exit::Waits)) => Lit::TRUE,",
        suite: "constraints",
        test: "blocks_that_wait_commute_only_where_both_can_run",
    },
    Mistake {
        name: "constraints: elements with other indices are others",
        file: "constraints/memory.rs",
        right: "if self.is_same(path, &index, other)? {",
        wrong: "if index == *other {",
        suite: "constraints",
        test: "arrays_with_indices_that_are_not_known",
    },
    Mistake {
        name: "constraints: a guard may make the constraint impossible",
        file: "constraints/search.rs",
        right: "if !self.does_harm(literals, &candidate)? {",
        wrong: "if !literals.contains(&candidate) {",
        suite: "constraints",
        test: "a_guard_makes_nothing_impossible_but_overflows",
    },
    Mistake {
        name: "constraints: overflows do not depend on the order",
        file: "constraints/search.rs",
        right: "        if self.entails_exactly(literals, &[])? {",
        wrong: "        if self.entails(literals)? {",
        suite: "constraints",
        test: "figure_1_of_the_paper",
    },
    Mistake {
        name: "constraints: what many threads add counts once",
        file: "values/mod.rs",
        right: "self.up = self.up.map(|up| up.saturating_add(delta.high.max(0)));",
        wrong: "self.up = self.up.map(|up| up.max(delta.high));",
        suite: "constraints",
        test: "what_no_execution_overflows_needs_no_guard",
    },
];
