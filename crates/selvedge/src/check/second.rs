//! What a check says about its second searches.

/// The second search, after one in which loads return the last store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Second {
    pub(super) is_left_out: bool,
    /// Whether this is it.
    pub(super) is_running: bool,
    /// Whether this is the one in which plain uses of shared memory are steps.
    pub(super) guards: bool,
    /// Tests make it tiny.
    pub(crate) extent: Extent,
}

/// The second search is limited to so many executions, or to so many times those of the first one, whichever is more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) executions: u64,
    pub(crate) times: u64,
}

impl Default for Extent {
    fn default() -> Self {
        Self { executions: 20_000, times: 20 }
    }
}

impl Extent {
    /// Returns how many executions it may have after a first search with `first`.
    pub(super) fn after(self, first: u64) -> u64 {
        first.saturating_mul(self.times).max(self.executions)
    }
}
