//! Mistakes in the Rust library.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "library: a compare-exchange that fails touches nothing",
        file: "rt/operation.rs",
        right: "        effect.footprint.add(self.object, mode);\n        effect.flexibility = Flexibility::Conditional;",
        wrong: "        if mode == Mode::Update {\n            effect.footprint.add(self.object, mode);\n        }\n        \
                effect.flexibility = Flexibility::Conditional;",
        suite: "models",
        test: "atomics",
    },
    Mistake {
        name: "library: a notification wakes nobody",
        file: "sync/condvar.rs",
        right: "for &waiter in &woken {",
        wrong: "for &waiter in woken.iter().take(0) {",
        suite: "models",
        test: "conditions",
    },
    Mistake {
        name: "library: a spin loop never gives up",
        file: "rt/alone.rs",
        right: "_ => self.decide(key, Decided::GivesUp),",
        wrong: "_ => self.decide(key, Decided::Waits),",
        suite: "spin",
        test: "a_loop_that_gives_up",
    },
    Mistake {
        name: "library: a spin loop is always in the same state",
        file: "rt/alone.rs",
        right: "let was_there = state.is_some() && ",
        wrong: "let was_there = state.is_some() || ",
        suite: "spin",
        test: "loops_that_count_elsewhere_are_not",
    },
    Mistake {
        name: "library: a spin loop waits in the first state that comes again",
        file: "rt/alone.rs",
        right: "self.decide_all(&keys[..passed])",
        wrong: "self.decide_all(&keys[..passed.min(1)])",
        suite: "spin",
        test: "every_state_of_a_loop_is_explored",
    },
    Mistake {
        name: "library: unpark leaves no token",
        file: "thread/handle.rs",
        right: "std::mem::replace(&mut engine.rt().threads[number].token, true);",
        wrong: "std::mem::replace(&mut engine.rt().threads[number].token, false);",
        suite: "models",
        test: "parking",
    },
    Mistake {
        name: "library: statics are not set back",
        file: "rt/system.rs",
        right: "for reset in resets.into_iter().rev() {",
        wrong: "for reset in resets.into_iter().rev().take(0) {",
        suite: "std_surface",
        test: "statics_are_set_back",
    },
    Mistake {
        name: "library: a panic does not poison",
        file: "sync/lock.rs",
        right: "        if after.poisons {",
        wrong: "        if false && after.poisons {",
        suite: "std_surface",
        test: "a_poisoned_mutex_says_so",
    },
    Mistake {
        name: "library: an Arc that is never dropped is not noticed",
        file: "sync/arc.rs",
        right: "engine.rt().leaks.add(address, \"an Arc\", spot);",
        wrong: "let _ = (address, spot);",
        suite: "errors",
        test: "a_leak",
    },
];
