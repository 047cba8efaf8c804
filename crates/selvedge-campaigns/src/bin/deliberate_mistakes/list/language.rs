//! Mistakes in what front ends tell the explorers, and in dependence.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "language: a step that waits names only what it has read so far",
        file: "interpret/step.rs",
        right: "if !section.objects.is_empty() {",
        wrong: "if false && !section.objects.is_empty() {",
        suite: "awaits",
        test: "what_is_not_looked_at_yet",
    },
    Mistake {
        name: "language: what decides a wait is looked up in the first procedure only",
        file: "interpret/awaited.rs",
        right: "first += procedure.code.len();",
        wrong: "first += procedure.code.len() * 0;",
        suite: "awaits",
        test: "what_a_block_and_its_functions_may_read",
    },
    Mistake {
        name: "language: raising a semaphore that may overflow commutes",
        file: "ops/semaphores.rs",
        right: "true => Mode::Update,",
        wrong: "true => Mode::Up,",
        suite: "lib",
        test: "interpret::tests::operations::semaphores",
    },
    Mistake {
        name: "channels: what is sent commutes",
        file: "ops/channels.rs",
        right: "footprint.add(machine.object(at, self.channel()), Mode::Update);",
        wrong: "footprint.add(machine.object(at, self.channel()), Mode::Up);",
        suite: "random_programs",
        test: "channels",
    },
    Mistake {
        name: "channels: a value goes back to the front",
        file: "interpret/machine.rs",
        right: "self.lists[list].insert(index, value)",
        wrong: "self.lists[list].insert(index * 0, value)",
        suite: "random_programs",
        test: "channels",
    },
    Mistake {
        name: "scans: all is read at once",
        file: "lower/statements.rs",
        right: "self.condition(condition, end, again);\n        self.code.release(mark);\n        self.code.place(again);",
        wrong: "self.jump(again, span);\n        self.code.release(mark);\n        self.code.place(again);",
        suite: "scans",
        test: "a_scan_does_what_a_loop_does",
    },
    Mistake {
        name: "scans: what is false is not waited for",
        file: "lower/statements.rs",
        right: "self.await_statement(condition, AtomicKind::Scan, span);",
        wrong: "",
        suite: "scans",
        test: "a_scan_does_what_a_loop_does",
    },
    Mistake {
        name: "core: a reader keeps no writer waiting",
        file: "dependence.rs",
        right: "            | Mode::ShareRelease\n            | Mode::Probe\n            | Mode::Up\n            | Mode::Wait",
        wrong: "            | Mode::ShareRelease\n            | Mode::ShareAcquire\n            | Mode::Probe\n            | Mode::Up\n            | Mode::Wait",
        suite: "lib",
        test: "dependence::tests::what_can_make_others_wait",
    },
];
