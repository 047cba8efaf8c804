//! Mistakes in the search of states, and in how states are saved.

use super::Mistake;

pub(crate) const MISTAKES: &[Mistake] = &[
    Mistake {
        name: "states: steps may be put off for ever",
        file: "states/search.rs",
        right: "if index == first && leads_on {",
        wrong: "if index == first {",
        suite: "states",
        test: "loops",
    },
    Mistake {
        name: "states: a state that leads to itself leads on",
        file: "states/search.rs",
        right: "leads_on |= next > state;",
        wrong: "leads_on |= next >= state;",
        suite: "states",
        test: "loops",
    },
    Mistake {
        name: "states: what others do later does not matter",
        file: "states/persistent.rs",
        right: "if !self.set.contains(&other) && live.may.may_depend_on(accesses) {",
        wrong: "if !self.set.contains(&other) && live.may.everything {",
        suite: "states",
        test: "every_profile",
    },
    Mistake {
        name: "states: the end of a thread does not matter to who looks for it",
        file: "states/persistent.rs",
        right: "                Mode::Alive => true,\n",
        wrong: "                Mode::Alive => false,\n",
        suite: "states",
        test: "a_receiver_that_may_end",
    },
    Mistake {
        name: "states: a join that waits is independent of the end that it waits for",
        file: "states/persistent.rs",
        right: "Mode::Join => status == Status::Blocked,",
        wrong: "Mode::Join => false,",
        suite: "states",
        test: "every_profile",
    },
    Mistake {
        name: "states: states with the same hash are the same",
        file: "states/store.rs",
        right: "entry >> 32 == u64::from(hash) && self.bytes(state) == bytes",
        wrong: "entry >> 32 == u64::from(hash) || self.bytes(state) == bytes",
        suite: "lib",
        test: "equal_hashes_are_not_equal_states",
    },
    Mistake {
        name: "saved: who may pass a barrier is not kept",
        file: "interpret/saved.rs",
        right: "bytes.push(thread.phase as u8 | if is_released { RELEASED } else { 0 });",
        wrong: "bytes.push(thread.phase as u8 | if is_released { 0 } else { 0 });",
        suite: "states",
        test: "loops",
    },
    Mistake {
        name: "saved: how many threads a thread has spawned is not kept",
        file: "interpret/saved.rs",
        right: "thread.spawned = reader.length() as u32;",
        wrong: "thread.spawned = (reader.length() as u32).min(0);",
        suite: "states",
        test: "every_profile",
    },
    Mistake {
        name: "saved: a mailbox has one message at most",
        file: "interpret/saved.rs",
        right: "mailbox.push_back(Message::new(object, (0..length).map(|_| reader.number())));",
        wrong: "mailbox.clear();\n                mailbox.push_back(Message::new(object, (0..length).map(|_| reader.number())));",
        suite: "states",
        test: "every_profile",
    },
];
