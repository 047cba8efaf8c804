//! Dependence: the only definition, used by every explorer that works with traces.
//!
//! Two steps are dependent if they belong to one thread or touch an object in modes that do not
//! commute. Modes fall into groups; two accesses commute exactly when they are in the same group
//! and that group is not [`Group::Exclusive`]. That makes "commutes" transitive per object, so the
//! history of an object is a sequence of *epochs* of accesses that commute with each other (see
//! `execution.rs`).

use crate::op::{Access, Footprint, Mode};

/// Accesses of one group commute with each other, and with no others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    /// Commutes with nothing, not even with another access of its kind.
    Exclusive,
    /// Changes nothing.
    Looking,
    /// Both sides of reading under a reader-writer lock: the lock counts its readers.
    Sharing,
    /// Adds to a count or a set: order does not show.
    Adding,
}

impl Mode {
    #[inline]
    pub(crate) fn group(self) -> Group {
        match self {
            Mode::Read
            | Mode::Probe
            | Mode::Pass
            | Mode::Timeout
            | Mode::Join
            | Mode::Alive
            | Mode::GhostRead => Group::Looking,
            Mode::ShareAcquire | Mode::ShareRelease => Group::Sharing,
            Mode::Up | Mode::Wait | Mode::Arrive | Mode::Put | Mode::GhostAdd => Group::Adding,
            Mode::Write
            | Mode::Update
            | Mode::Acquire
            | Mode::Release
            | Mode::Down
            | Mode::Signal
            | Mode::Wake
            | Mode::Woken
            | Mode::Send
            | Mode::Post
            | Mode::Take
            | Mode::Spawn
            | Mode::Begin
            | Mode::End
            | Mode::Check
            | Mode::GhostWrite => Group::Exclusive,
        }
    }
}

/// Returns whether two accesses **to the same object** by different threads can be swapped.
#[inline]
pub fn commute(a: Mode, b: Mode) -> bool {
    a.group() == b.group() && a.group() != Group::Exclusive
}

/// Returns whether an access in mode `earlier` can let a step that waits with `later` proceed, but can
/// never make it wait. Reversing such a pair alone is never possible: without `earlier` the step
/// could not run. (Not so for raising a semaphore: another thread may raise it too.)
#[inline]
pub fn may_enable_only(earlier: Mode, later: Mode) -> bool {
    matches!(
        (earlier, later),
        (Mode::Release | Mode::ShareRelease, Mode::Acquire)
            | (Mode::Release, Mode::ShareAcquire)
            | (Mode::Wake, Mode::Woken)
            | (Mode::Arrive, Mode::Pass)
            | (Mode::Spawn, Mode::Begin)
            | (Mode::End, Mode::Join)
            | (Mode::Post, Mode::Take)
            | (Mode::Send, Mode::Timeout)
    )
}

/// Returns whether an access in this mode can never make another thread's step wait.
#[inline]
pub fn never_disables(mode: Mode) -> bool {
    matches!(
        mode,
        Mode::Read
            | Mode::Release
            | Mode::ShareRelease
            | Mode::Probe
            | Mode::Up
            | Mode::Wait
            | Mode::Signal
            | Mode::Send
            | Mode::Arrive
            | Mode::Alive
            // Not so for updates of ghosts: a block that asserts something about one, and then waits, fails or waits.
            | Mode::GhostRead
    )
}

impl Access {
    /// Returns whether the two accesses, by different threads, cannot be swapped.
    #[inline]
    pub fn dependent(self, other: Access) -> bool {
        self.object == other.object && !commute(self.mode, other.mode)
    }
}

impl Footprint {
    /// Returns whether two steps of different threads with these footprints cannot be swapped.
    #[inline]
    pub fn dependent(&self, other: &Footprint) -> bool {
        dependent(self.accesses(), other.accesses())
    }
}

/// Returns whether two steps of different threads with these accesses cannot be swapped.
#[inline]
pub fn dependent(a: &[Access], b: &[Access]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.dependent(*b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mode::*;

    #[test]
    fn the_table() {
        for (a, b, swap) in [
            (Read, Read, true),
            (Read, Write, false),
            (Write, Write, false),
            (Read, Update, false),
            (Update, Update, false),
            (Acquire, Acquire, false),
            (Acquire, Release, false),
            (Acquire, Probe, false),
            (Probe, Probe, true),
            (ShareAcquire, ShareAcquire, true),
            (ShareAcquire, ShareRelease, true),
            (ShareAcquire, Acquire, false),
            (ShareRelease, Probe, false),
            (Send, Send, false),
            (Send, Timeout, false),
            (Timeout, Timeout, true),
            (Wait, Signal, false),
            (Wait, Wait, true),
            (Signal, Signal, false),
            (Up, Up, true),
            (Up, Down, false),
            (Down, Down, false),
            (Arrive, Arrive, true),
            (Arrive, Pass, false),
            (Join, Join, true),
            (End, Join, false),
            (GhostRead, GhostRead, true),
            (GhostRead, GhostWrite, false),
            (GhostRead, GhostAdd, false),
            (GhostWrite, GhostWrite, false),
            (GhostAdd, GhostAdd, true),
            (GhostAdd, GhostWrite, false),
            (Put, Put, true),
            (Put, Read, false),
            (Put, Update, false),
            (Put, Timeout, false),
        ] {
            assert_eq!(commute(a, b), swap, "{a:?} / {b:?}");
            assert_eq!(commute(b, a), swap, "{b:?} / {a:?}");
        }
    }

    /// What can block other threads: acquiring something, and changing what a step may wait for.
    #[test]
    fn what_can_make_others_wait() {
        for mode in [Acquire, ShareAcquire, Down, Take, Write, Update] {
            assert!(!never_disables(mode), "{mode:?} can make others wait");
        }
        for mode in [Read, Probe, Release, ShareRelease, Up, Wait, Signal, Send, Arrive, Alive] {
            assert!(never_disables(mode), "{mode:?} makes no thread wait");
        }
    }
}
