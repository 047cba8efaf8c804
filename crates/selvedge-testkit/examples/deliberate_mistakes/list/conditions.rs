//! Mistakes in the explorers that use conditional independence.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "conditions: what holds now is taken to hold for good",
        file: "conditional/independence.rs",
        right: "stable.contains(&true)",
        wrong: "true || stable.contains(&true)",
        suite: "constrained",
        test: "conditions_that_hold_now_may_not_hold_later",
    },
    Mistake {
        name: "conditions: races of what is pruned are lost",
        file: "conditional/lost.rs",
        right: "for e in (0..depth).rev().map(Position::new) {",
        wrong: "for e in (0..0).rev().map(Position::new) {",
        suite: "constrained",
        test: "blocks",
    },
    Mistake {
        name: "conditions: steps that sleep have no races of their own",
        file: "conditional/lost.rs",
        right: "for step in skipped {",
        wrong: "for step in skipped.into_iter().take(0) {",
        suite: "constrained",
        test: "arrays",
    },
    Mistake {
        name: "conditions: a step acts the same in the order that is left out",
        file: "conditional/independence.rs",
        right: "uniform &= self.knows(clock, f) || self.run.execution.happens_before(f, e);",
        wrong: "uniform &= self.knows(clock, f) || f <= e;",
        suite: "constrained",
        test: "arrays",
    },
    Mistake {
        name: "conditions: others may change what is private",
        file: "conditional/unordered.rs",
        right: "access.mode.is_memory() && may.may_write(access.object)",
        wrong: "!access.mode.is_memory() && may.may_write(access.object)",
        suite: "constrained",
        test: "pairs",
    },
    Mistake {
        name: "conditions: private steps may act differently in the other order",
        file: "conditional/unordered.rs",
        right: "            if !same {",
        wrong: "            if false && !same {",
        suite: "constrained",
        test: "pairs",
    },
    Mistake {
        name: "conditions: private steps need not lead to the same state",
        file: "conditional/unordered.rs",
        right: "if !tried.same || !tried.caused.is_empty() {",
        wrong: "if !tried.caused.is_empty() {",
        suite: "constrained",
        test: "pairs",
    },
    Mistake {
        name: "conditions: what is private is asked in the state at hand",
        file: "conditional/unordered.rs",
        right: "            self.knows(&a.led, Position::new(position))\n",
        wrong: "            true || self.knows(&a.led, Position::new(position))\n",
        suite: "constrained",
        test: "pairs",
    },
];
