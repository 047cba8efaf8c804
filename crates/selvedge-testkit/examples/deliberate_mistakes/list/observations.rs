//! Mistakes in the data-centric explorer.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "observation: writes from before a branch are not observed instead",
        file: "data_centric/discover.rs",
        right: "for source in sources {",
        wrong: "for source in sources.into_iter().take(0) {",
        suite: "observations",
        test: "reads_and_writes",
    },
    Mistake {
        name: "observation: two read-modify-writes are never swapped",
        file: "data_centric/discover.rs",
        right: "if vertex.source == Some(earlier) && may_write {",
        wrong: "if false && vertex.source == Some(earlier) && may_write {",
        suite: "observations",
        test: "read_modify_writes",
    },
    Mistake {
        name: "observation: steps that wait at the end make nothing possible",
        file: "data_centric.rs",
        right: "        self.discover_at_end();\n        if self.learned",
        wrong: "        if self.learned",
        suite: "observations",
        test: "locks",
    },
    Mistake {
        name: "observation: what was put ahead of a step stays as it is",
        file: "data_centric/discover.rs",
        right: "Role::Own(branch) | Role::Ahead(branch) => branch,",
        wrong: "Role::Own(branch) => branch,\n            Role::Ahead(_) => return,",
        suite: "random_programs",
        test: "waiting",
    },
    Mistake {
        name: "observation: a reversal is known whatever else is ahead",
        file: "data_centric/discover.rs",
        right: ".then(all(kept))\n            .then(all(&rest));",
        wrong: ".then(all(kept));",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "observation: a write may come between a write and its read",
        file: "data_centric/realize.rs",
        right: "Some(source) => self.open.push([(other, source), (read, other)]),",
        wrong: "Some(source) => drop((other, source)),",
        suite: "observations",
        test: "reads_and_writes",
    },
    Mistake {
        name: "observation: an observation is forbidden without its past",
        file: "data_centric/discover.rs",
        right: "if !self.branches[branch].is_new(Key::source(Some(source))) {",
        wrong: "let id = self.graph.vertex(write).id;\n        \
                let alone = Print::start(u64::from(id.thread.number())).with(u64::from(id.nth));\n        \
                if !self.branches[branch].is_new(Key::source(Some(alone))) {",
        suite: "observations",
        test: "branches",
    },
    Mistake {
        name: "observation: a task can run before it is spawned",
        file: "data_centric/discover.rs",
        right: "let previous = self.graph.previous(position).or_else(cause);",
        wrong: "let previous = self.graph.previous(position).or_else(|| cause().filter(|_| false));",
        suite: "golden",
        test: "every_program_gives_what_its_header_says",
    },
    Mistake {
        name: "observation: an execution that came out wrong is built upon",
        file: "data_centric/replay.rs",
        right: "if let Some(before) = before\n",
        wrong: "if let Some(before) = before.filter(|_| false)\n",
        suite: "observations",
        test: "read_modify_writes",
    },
    Mistake {
        name: "unobserved locks: a critical section is never run to its end",
        file: "data_centric/unobserved/plan.rs",
        right: "None if walk.lets_run_on(thread) && status == Status::Enabled => {",
        wrong: "None if thread.index() > 9 && status == Status::Enabled => {",
        suite: "observations",
        test: "locks_that_are_not_observed",
    },
    Mistake {
        name: "unobserved locks: a read does not wait for writes to come",
        file: "data_centric/unobserved.rs",
        right: "self.run.system.may_write(ThreadId::new(thread), read.object)",
        wrong: "thread > 1 && self.run.system.may_write(ThreadId::new(thread), read.object)",
        suite: "observations",
        test: "locks_that_are_not_observed",
    },
    Mistake {
        name: "unobserved locks: a read may observe another write than it should",
        file: "data_centric/unobserved/plan.rs",
        right: "&& source != last",
        wrong: "&& source != last && false",
        suite: "observations",
        test: "locks_that_are_not_observed",
    },
];
