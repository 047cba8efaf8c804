//! Checks whose search is kept in a file.

use std::path::PathBuf;
use std::time::Duration;

use super::Builder;
use super::kept::{EVERY, Interrupted, Kept, folder};
use crate::rt::Spot;
use crate::watch::Times;

impl Builder {
    /// Keeps the search in a file while it runs: every minute ([`checkpoint_every`](Self::checkpoint_every)), and when
    /// [`max_time`](Self::max_time) ends it. If the process is killed, and the same test is run again by the same build, it
    /// goes on from there, and ends with the report of a search that was not interrupted. The file is removed then.
    ///
    /// `SELVEDGE_CHECKPOINT=folder` does so for all checks, each with a file of its own in the folder.
    ///
    /// As for several [`jobs`](Self::jobs), [`Algorithm::Parsimonious`](crate::Algorithm::Parsimonious) takes the place of
    /// [`Algorithm::Optimal`](crate::Algorithm::Optimal); searches that cannot be divided are not kept, and the report says so.
    /// What was learned about the code is not in the file: the executions that told it are run once more.
    ///
    /// # Panics
    /// The check panics if the file is not a checkpoint, or that of another check or of another build. It is not replaced.
    pub fn checkpoint(mut self, path: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(path.into());
        self
    }

    /// How often the [`checkpoint`](Self::checkpoint) is written; every minute unless said otherwise.
    pub fn checkpoint_every(mut self, time: Duration) -> Self {
        self.checkpoint_every = time;
        self
    }

    /// Returns whether the search is to be kept.
    pub(super) fn is_to_be_kept(&self) -> bool {
        self.checkpoint.is_some() || folder().is_some()
    }

    /// Returns the file of the search at this place, if it is to be kept. With the search that was interrupted, if there is one.
    pub(super) fn kept(&self, here: Spot) -> Option<(Kept, Option<Interrupted>)> {
        if !self.is_to_be_kept() || !self.can_be_kept(here) {
            return None;
        }
        Kept::open(self.checkpoint.as_deref(), self.checkpoint_every, here, self.kept_options())
    }

    /// Returns the options that decide what is found.
    fn kept_options(&self) -> String {
        let mut decisive = self.clone();
        let usual = Self::default();
        (decisive.jobs, decisive.pace, decisive.quiet) = (None, usual.pace, usual.quiet);
        (decisive.report_file, decisive.statistics) = (None, usual.statistics);
        (decisive.checkpoint, decisive.checkpoint_every) = (None, EVERY);
        decisive.times = Times { all: None, ..decisive.times };
        format!("{decisive:?}")
    }
}
