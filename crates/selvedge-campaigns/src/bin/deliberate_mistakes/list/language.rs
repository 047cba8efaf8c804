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
        name: "core: a reader keeps no writer waiting",
        file: "dependence.rs",
        right: "            | Mode::ShareRelease\n            | Mode::Probe\n            | Mode::Up\n            | Mode::Wait",
        wrong: "            | Mode::ShareRelease\n            | Mode::ShareAcquire\n            | Mode::Probe\n            | Mode::Up\n            | Mode::Wait",
        suite: "lib",
        test: "dependence::tests::what_can_make_others_wait",
    },
];
