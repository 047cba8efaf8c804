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
        right: "decided.unwrap_or(Decided::GivesUp)",
        wrong: "decided.map_or(Decided::Waits, |_| Decided::Waits)",
        suite: "spin",
        test: "a_loop_that_gives_up",
    },
    Mistake {
        name: "library: unpark leaves no token",
        file: "thread/handle.rs",
        right: "engine.rt().threads[number].token = true;",
        wrong: "engine.rt().threads[number].token = false;",
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
        file: "sync/mutex.rs",
        right: "            lock.poison();",
        wrong: "            let _ = lock;",
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
    Mistake {
        name: "library: weak references go without a step",
        file: "sync/arc/weak.rs",
        right: "self.change(-WEAK, Mode::Update, \"Weak::drop\", self.spot);",
        wrong: "",
        suite: "references",
        test: "weak_references_are_counted_when_it_matters",
    },
    Mistake {
        name: "library: a scope looks whether a thread has ended, without a step",
        file: "thread/scoped.rs",
        right: "fate.joined_by.get() != Some(me)",
        wrong: "!fate.succeeded.get() && fate.joined_by.get() != Some(me)",
        suite: "scopes",
        test: "a_scope_waits_for_its_threads",
    },
    Mistake {
        name: "library: an empty channel with a bound does not ask who is left",
        file: "sync/mpsc/bounded.rs",
        right: "        if !has {",
        wrong: "        if false {",
        suite: "channels",
        test: "one_of_each",
    },
];
