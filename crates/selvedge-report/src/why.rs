//! Why a step happens before another: one line per pair of accesses that do not commute.

use selvedge_core::Mode;

/// Returns why a step with the access `later` comes after a step of another thread that accessed the same object as
/// `earlier`, seen from the later one: "reads what it wrote".
pub(crate) fn why(earlier: Mode, later: Mode) -> &'static str {
    use Mode::{
        Acquire, Alive, Arrive, Begin, Down, End, Join, Pass, Post, Probe, Read, Release, Send,
        ShareAcquire, ShareRelease, Signal, Spawn, Take, Timeout, Up, Update, Wait, Wake, Woken,
        Write,
    };
    match (earlier, later) {
        (Write | Update, Read) => "reads what it wrote",
        (Write | Update, Update) => "changes what it wrote",
        (Write | Update, Write) => "overwrites what it wrote",
        (Read, Write | Update) => "overwrites what it read",

        (Release | ShareRelease, Acquire | ShareAcquire) => "takes what it released",
        (Release | ShareRelease, Probe) => "finds what it released",
        (Acquire | ShareAcquire, Probe) => "finds it taken",
        (Probe, Acquire | ShareAcquire) => "takes it after it was found free or taken",
        (Probe, Release | ShareRelease) => "releases it after it was found taken",

        (Up, Down) => "takes what it added",
        (Down, Up) => "adds after it took one",
        (Down, Down) => "takes another one",

        (Wait, Signal) => "signals after it began to wait",
        (Signal, Wait) => "begins to wait after its signal",
        (Signal, Signal) => "signals again",
        (Wake, Woken) => "was woken by it",
        (Arrive, Pass) => "passes after it arrived",
        (Pass, Arrive) => "arrives after it passed",

        (Send, Send) => "sends after it, to the same mailbox",
        (Send, Timeout) => "finds no matching message after it sent",
        (Timeout, Send) => "sends after it found no message",
        (Post, Take) => "receives its message",

        (Spawn, Begin) => "was spawned by it",
        (End, Join) => "waits for its end",
        (End, Alive) => "finds that it ended",
        (Alive, End) => "ends after it, which found it alive",
        _ => "comes after it, on the same object",
    }
}

/// What an order of two steps is about.
pub(crate) enum About {
    /// The object that both access.
    Object,
    /// The thread of the earlier step: its end.
    Earlier,
    /// The thread of the later step: its start, its wake-up.
    Later,
}

/// Returns what the order of two steps with these accesses is about: starts, ends and wake-ups are objects to the search, and
/// threads to the user.
pub(crate) fn about(earlier: Mode, later: Mode) -> About {
    match (earlier, later) {
        (Mode::End, _) => About::Earlier,
        (Mode::Spawn | Mode::Wake, _) | (_, Mode::End) => About::Later,
        _ => About::Object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mode::{Acquire, Begin, End, Join, Post, Read, Release, Spawn, Take, Write};

    #[test]
    fn the_usual_reasons() {
        for (earlier, later, expected) in [
            (Write, Read, "reads what it wrote"),
            (Read, Write, "overwrites what it read"),
            (Write, Write, "overwrites what it wrote"),
            (Release, Acquire, "takes what it released"),
            (Spawn, Begin, "was spawned by it"),
            (End, Join, "waits for its end"),
            (Post, Take, "receives its message"),
        ] {
            assert_eq!(why(earlier, later), expected);
        }
    }
}
