//! What events touch, in short: a quick answer to most questions about conflicts.

use selvedge_core::{Access, Mode, ThreadId, commute};

/// A set of threads and objects, rounded up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    threads: u32,
    objects: u32,
    /// The objects at which more is done than to look.
    changed: u32,
}

impl Touched {
    /// By a step of `thread` with these accesses.
    #[inline]
    pub(crate) fn by(thread: ThreadId, accesses: &[Access]) -> Self {
        let mut touched = Self { threads: 1 << (thread.index() % 32), objects: 0, changed: 0 };
        for access in accesses {
            let object = 1 << (access.object.index() % 32);
            touched.objects |= object;
            if !commute(access.mode, Mode::Read) {
                touched.changed |= object;
            }
        }
        touched
    }

    /// Returns whether `thread` may be among the threads.
    #[inline]
    pub(crate) fn is_by(self, thread: ThreadId) -> bool {
        self.threads & Self::by(thread, &[]).threads != 0
    }

    #[inline]
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            threads: self.threads | other.threads,
            objects: self.objects | other.objects,
            changed: self.changed | other.changed,
        }
    }

    /// Returns whether nothing of one is in conflict with, or depends on, anything of the other.
    #[inline]
    pub(crate) fn is_disjoint(self, other: Self) -> bool {
        let changed = self.objects & other.objects & (self.changed | other.changed);
        self.threads & other.threads == 0 && changed == 0
    }
}
