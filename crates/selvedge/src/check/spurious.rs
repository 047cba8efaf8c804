//! What a check says about operations that may end without reason.

use crate::rt::Shared;

/// What a bound on operations that end without reason hides, if it might matter.
pub(super) fn bounded(shared: &Shared) -> Option<String> {
    let spurious = &shared.settings.spurious;
    let (most, more) = (spurious.most, spurious.most.saturating_add(1));
    let times = if most == 1 { "once".to_owned() } else { format!("{most} times") };
    spurious.is_bounded().then(|| {
        format!(
            "waits and weak compare-exchanges end without reason at most {times} for each thread and \
             place, and more might matter (`Builder::spurious({more})`)"
        )
    })
}

/// What is left out, since the code looks again.
pub(super) fn left_out(shared: &Shared) -> Option<String> {
    shared.settings.spurious.is_left_out().then(|| {
        "waits and weak compare-exchanges do not end without reason where the code looks again and \
         changes nothing (`Builder::spurious_everywhere`)"
            .to_owned()
    })
}
