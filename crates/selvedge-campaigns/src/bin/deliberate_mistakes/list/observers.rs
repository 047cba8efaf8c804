//! Mistakes in `optimal` with observers.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "observers: a read finds only the last write of the current execution",
        file: "reductions/optimal_dpor/observers/objects.rs",
        right: "(self.candidates.len() > 1).then_some(&self.candidates)",
        wrong: "(self.candidates.len() > 1 && self.found.is_some()).then_some(&self.candidates)",
        suite: "observers",
        test: "reads_and_writes",
    },
    Mistake {
        name: "observers: a second read may find another write",
        file: "reductions/optimal_dpor/observers/system.rs",
        right: "Some(found) => step.choice == found,",
        wrong: "Some(found) => step.choice <= found || step.choice > found,",
        suite: "observers",
        test: "reads_and_writes",
    },
    Mistake {
        name: "observers: what was overwritten may be moved after what overwrote it",
        file: "reductions/optimal_dpor/observers/line.rs",
        right: "overwritten.extend(others.iter().filter(|&&other| other != last));",
        wrong: "overwritten.extend(others.iter().filter(|&&other| other != last).take(0));",
        suite: "observers",
        test: "reads_and_writes",
    },
    Mistake {
        name: "observers: the order of writes is open although a step waits for the variable",
        file: "reductions/optimal_dpor/observers/system.rs",
        right: "            variables.for_each(|access| self.learn(access.object));\n",
        wrong: "",
        suite: "observers",
        test: "everything",
    },
    Mistake {
        name: "observers: the end of an execution observes nothing",
        file: "reductions/optimal_dpor/observers/system.rs",
        right: "        self.observe_end();\n",
        wrong: "",
        suite: "observers",
        test: "random_programs",
    },
    Mistake {
        name: "observers: no receive can tell the order of sends",
        file: "reductions/optimal_dpor/observers/system.rs",
        right: "        self.observe_receives();\n",
        wrong: "",
        suite: "observers",
        test: "random_programs",
    },
    Mistake {
        name: "observers: races of redundant executions are reversed",
        file: "reductions/optimal_dpor/optimal.rs",
        right: "if halt != Halt::Redundant || self.is_exact {",
        wrong: "if halt != Halt::Redundant || !self.is_exact || self.is_exact {",
        suite: "observers",
        test: "reads_and_writes",
    },
];
