//! Where the engine switches to another method, or gives up and says so.
//!
//! Nothing is lost beyond any of these: each says why. A check uses the defaults; tests make them tiny, so that the code
//! beyond them is tested as well as the rest.

/// The caps of the engine.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Objects that a thread touches in one turn of a loop. With more, the thread does not stand still: its turns are steps
    /// like all others, and end at `turns`.
    pub objects: usize,
    /// Places at which a thread spins alternately. With more, the one of the longest time ago is forgotten: the thread stands
    /// still later, or never, as above.
    pub places: usize,
    /// So many turns at one place are a loop, whatever they touch. Whether a loop waits is found out by its states
    /// (`spin/mod.rs`), so that both more and fewer are right: a loop is only recognised later or sooner.
    pub free_turns: u32,
    /// Turns of one loop that are told apart, after which a thread does something else under a memory model. With more, all its
    /// turns are steps, which are explored one by one.
    pub counting: usize,
    /// A thread that goes round so often, and changes something or comes to a new state each time, has no end that is
    /// known: the verdict is inconclusive, or it is left to the limit of steps that was asked for.
    pub turns: u32,
    /// How often threads are tried out after the same steps, beyond once for each thread. If the code is deterministic, they do
    /// not come to new states without end; if it is not, the verdict is inconclusive.
    pub tried: usize,
    /// A thread that looks so often at the same things, and does nothing else, waits without saying so: inconclusive. Less
    /// than what tires a thread (`selvedge_explore::Caps`): so many executions show it, at most, if each is a turn
    /// longer than the one before.
    pub looks: u32,
    /// A loop that looks at more things is not recognised by `looks`. It ends at the limit on steps: inconclusive as well,
    /// only later.
    pub things: usize,
    /// How long a thread is tried out that may wake spuriously. Beyond it there is a choice, which costs executions.
    pub patience: Patience,
    /// After so many operations that run at once, a thread that is still busy is taken down. Only what is left of an
    /// execution runs so, and nothing in it is a result.
    pub drained: u64,
    /// Of a freed block so many bytes are compared with what they were: each free copies that much. A write beyond them is
    /// not seen, which the limits of the crate say (no verdict covers plain memory).
    pub compared: usize,
    /// Freed blocks that are made inaccessible at a time, if that is asked for: each takes two of the mappings of the process, of
    /// which Linux allows 65,530. With more of them the verdict is inconclusive.
    pub guarded: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            objects: 64,
            places: 8,
            free_turns: 8,
            counting: 32,
            turns: 1_000,
            tried: 1_000,
            looks: 150,
            things: 8,
            patience: Patience::DEFAULT,
            drained: 200_000,
            compared: 1 << 10,
            guarded: 20_000,
        }
    }
}

impl Caps {
    /// All as small as they can be: for tests.
    pub fn tiny() -> Self {
        Self {
            objects: 1,
            places: 1,
            free_turns: 0,
            counting: 1,
            turns: 3,
            tried: 0,
            looks: 3,
            things: 1,
            patience: Patience { turns: 0, operations: 0 },
            drained: 1,
            compared: 1,
            guarded: 1,
        }
    }
}

/// How long a thread is tried out. One that takes longer does not come back, so that there is a choice.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Of the states that it comes back in.
    pub turns: usize,
    /// Of its visible operations in one turn.
    pub operations: u32,
}

impl Patience {
    /// A loop that does not count its turns is in the same state after two or three of them; one that waits longer
    /// in each of a few turns, after these.
    pub const DEFAULT: Self = Self { turns: 32, operations: 1_000 };
}
