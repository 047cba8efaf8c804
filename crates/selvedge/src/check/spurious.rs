//! What a check says about operations that may end spuriously.

use crate::rt::Shared;

/// What a bound on operations that end spuriously hides, if it might matter.
pub(super) fn bounded(shared: &Shared) -> Option<String> {
    let spurious = &shared.settings.spurious;
    let (most, more) = (spurious.most, spurious.most.saturating_add(1));
    let times = if most == 1 { "once".to_owned() } else { format!("{most} times") };
    spurious.is_bounded().then(|| {
        format!(
            "waits and weak compare-exchanges end spuriously at most {times} for each thread and \
             place, and more might matter (`Builder::spurious({more})`)"
        )
    })
}

/// What is left out, since the code rechecks.
pub(super) fn left_out(shared: &Shared) -> Option<String> {
    shared.settings.spurious.is_left_out().then(|| {
        "waits and weak compare-exchanges do not end spuriously where the code rechecks and \
         changes nothing (`Builder::spurious_everywhere`)"
            .to_owned()
    })
}
