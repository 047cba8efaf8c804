//! Mistakes in the symbolic checks.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "symbolic: nobody asks whether a loop goes on",
        file: "check.rs",
        right: "match self.ask(encoded, &[beyond]) {",
        wrong: "match self.ask(encoded, &[beyond, Lit::FALSE]) {",
        suite: "agreement",
        test: "order_agrees_with_the_explorers",
    },
    Mistake {
        name: "symbolic: a write may come between a write and its read",
        file: "encode/order.rs",
        right: "imply(&[lit, other.guard], &[before, after]);",
        wrong: "imply(&[lit, other.guard], &[before, after, Lit::TRUE]);",
        suite: "classes",
        test: "orders_without_branches",
    },
    Mistake {
        name: "symbolic: others may come between the parts of an atomic block",
        file: "unroll/variables.rs",
        right: "            (Some(section), _) => section.event,\n            (None, Runner::Look(_)) => None,\n            (None, Runner::Thread(thread))",
        wrong: "            (Some(section), Runner::Look(_)) => section.event,\n            (None, Runner::Look(_)) => None,\n            (_, Runner::Thread(thread))",
        suite: "agreement",
        test: "order_agrees_with_the_explorers",
    },
    Mistake {
        name: "symbolic: sums wrap around",
        file: "unroll/arithmetic.rs",
        right: "BinaryOp::Add => circuit.add(&a, &b),",
        wrong: "BinaryOp::Add => (circuit.add(&a, &b).0, Lit::FALSE),",
        suite: "values",
        test: "operators_overflow_where_the_language_says",
    },
    Mistake {
        name: "symbolic: a write that is not always made hides the old value",
        file: "unroll/ranges.rs",
        right: "if write.sure { range } else { kept.join(range) }",
        wrong: "if write.sure || kept.low == 0 { range } else { kept.join(range) }",
        suite: "values",
        test: "a_write_that_may_not_be_made_leaves_the_old_value",
    },
    Mistake {
        name: "symbolic: GenMAT forgets that the second thread can go on alone",
        file: "encode/transactions.rs",
        right: "vec![(l1 + 1, l2 + 1), (l1 + 1, f2), (f1, l2 + 1)]",
        wrong: "vec![(l1 + 1, l2 + 1), (l1 + 1, f2)]",
        suite: "classes",
        test: "tokens_without_branches",
    },
    Mistake {
        name: "symbolic: a lock that was given up still keeps others away",
        file: "encode/locksets.rs",
        right: "None => held.retain(|lock, _| !event.writes.contains_key(lock)),",
        wrong: "None => held.retain(|lock, _| !event.reads.contains_key(lock)),",
        suite: "classes",
        test: "tokens_with_locks",
    },
    Mistake {
        name: "symbolic: the least schedule never leaves a thread before its end",
        file: "encode/passes.rs",
        right: "reasons.extend(others);",
        wrong: "let _ = others;",
        suite: "classes",
        test: "tokens_without_branches",
    },
    Mistake {
        name: "symbolic: a thread may run on after it was joined",
        file: "encode/token.rs",
        right: "self.before(step, event, &[condition, last]);",
        wrong: "let _ = (step, event, condition, last);",
        suite: "agreement",
        test: "token_agrees_with_the_explorers",
    },
];
