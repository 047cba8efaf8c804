//! Checking a closure, with loom's options.

use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// After a search with a bound on preemptions, so many executions are explored without it.
const BEYOND: u64 = 20_000;

/// Checks all executions of `f`, one per class.
#[track_caller]
pub fn model<F>(f: F)
where
    F: Fn() + Sync + Send + 'static,
{
    Builder::new().check(f);
}

/// loom's options. Those without a meaning here are accepted and have no effect.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Builder {
    /// No effect: there is no limit.
    pub max_threads: usize,
    /// No effect: there is no limit.
    pub max_branches: usize,
    /// Stops after so many executions; from `LOOM_MAX_PERMUTATIONS`.
    pub max_permutations: Option<usize>,
    /// Stops after so much time; from `LOOM_MAX_DURATION`, in seconds.
    pub max_duration: Option<Duration>,
    /// At most so many preemptions, and then up to 20,000 executions without that bound; from `LOOM_MAX_PREEMPTIONS`.
    pub preemption_bound: Option<usize>,
    /// No effect.
    pub checkpoint_file: Option<PathBuf>,
    /// No effect.
    pub checkpoint_interval: usize,
    /// No effect.
    pub expect_explicit_explore: bool,
    /// No effect: reports always name places.
    pub location: bool,
    /// Prints a line about each check: verdict, executions, time; from `LOOM_LOG`.
    pub log: bool,
}

impl Builder {
    /// As the environment says.
    ///
    /// # Panics
    /// If a variable that should be a number is none.
    #[track_caller]
    pub fn new() -> Self {
        Self {
            max_threads: crate::MAX_THREADS,
            max_branches: variable("LOOM_MAX_BRANCHES").unwrap_or(1_000),
            max_permutations: variable("LOOM_MAX_PERMUTATIONS"),
            max_duration: variable("LOOM_MAX_DURATION").map(Duration::from_secs),
            preemption_bound: variable("LOOM_MAX_PREEMPTIONS"),
            checkpoint_file: variable("LOOM_CHECKPOINT_FILE"),
            checkpoint_interval: variable("LOOM_CHECKPOINT_INTERVAL").unwrap_or(20_000),
            expect_explicit_explore: false,
            location: std::env::var_os("LOOM_LOCATION").is_some(),
            log: std::env::var_os("LOOM_LOG").is_some(),
        }
    }

    /// No effect.
    pub fn checkpoint_file(&mut self, file: &str) -> &mut Self {
        self.checkpoint_file = Some(file.into());
        self
    }

    /// Checks all executions of `f` within the bounds, one per class.
    ///
    /// # Panics
    /// If something is wrong in one of them, with a report.
    #[track_caller]
    pub fn check<F>(&self, f: F)
    where
        F: Fn() + Sync + Send + 'static,
    {
        // As in loom, nothing ends spuriously, and accesses to cells do not overlap.
        let builder = selvedge::Builder::new().statistics(self.log);
        let mut builder = builder.spurious(0).exclusive_cells(true);
        if let Some(most) = self.max_permutations {
            builder = builder.max_executions(most as u64);
        }
        if let Some(most) = self.max_duration {
            builder = builder.max_time(most);
        }
        let Some(preemptions) = self.preemption_bound else { return builder.check(f) };
        let (f, start) = (Rc::new(f), Instant::now());
        let again = Rc::clone(&f);
        let preemptions = u32::try_from(preemptions).unwrap_or(u32::MAX);
        builder.clone().preemptions(preemptions).check(move || f());
        // One execution per class within the bound is not all that the bound allows: another of the class may
        // lead to a class of its own. Most models are small enough to leave the bound out.
        let most = self.max_permutations.map_or(BEYOND, |most| BEYOND.min(most as u64));
        builder = builder.max_executions(most).sequentially_consistent(true);
        if let Some(most) = self.max_duration {
            builder = builder.max_time(most.saturating_sub(start.elapsed()));
        }
        builder.check(move || again());
    }
}

impl Default for Builder {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// The value of an environment variable.
///
/// # Panics
/// If it is set to something else.
#[track_caller]
fn variable<T: FromStr>(name: &str) -> Option<T> {
    let text = std::env::var(name).ok()?;
    match text.parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("{name} is `{text}`, and should be a number"),
    }
}
