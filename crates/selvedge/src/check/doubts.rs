//! Why a check proves nothing, in words.

use selvedge_core::{Inconclusive, Report};

use crate::rt::{Shared, Spot};

/// Why it made no sense to go on, if so.
pub(super) fn hopeless(shared: &Shared) -> Option<String> {
    let stranger = shared.pulse.stranger().map(|spot| {
        format!(
            "a thread that the check does not know used a type of this crate, at {spot}: what it does is no step, \
             and comes at any time; spawn threads with this crate's `thread::spawn` in place of `std`'s"
        )
    });
    stranger.or_else(|| shared.hopeless.take())
}

/// In a destructor of a test that panicked it is unknown which thread unwinds.
pub(super) fn while_panicking() -> Report {
    let mut report = Report::default();
    report.note(Inconclusive::GaveUp(
        "the thread that called the check is panicking: call it from another thread".to_owned(),
    ));
    report
}

/// What was taken to be so about the loop at `spot`.
pub(super) fn assumption(spot: Spot, turns: u32) -> String {
    match turns {
        0 => format!(
            "the spin loop at {spot} is taken to wait for a change, as `Builder::spin_turns(0)` asks"
        ),
        _ => format!(
            "the spin loop at {spot} is taken to wait for a change: it came to a new state in each of \
             {turns} turns, so it may give up later; `Builder::spin_turns({})` follows it further, and \
             `Builder::spin_turns(0)` says that no loop gives up",
            turns.saturating_mul(10)
        ),
    }
}
