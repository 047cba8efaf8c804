//! Following one schedule: `SELVEDGE_REPLAY`, [`Builder::replay`] and [`replay`](crate::replay).

use std::rc::Rc;

use selvedge_core::{Bound, Inconclusive, Report, Schedule};
use selvedge_crew::Journal;
use selvedge_report::TraceView;
use selvedge_rt::World as _;

use super::search::until_known;
use super::{Builder, places};
use crate::failure::{self, Look};
use crate::rt::{Program, Shared};
use crate::turns;

impl Builder {
    /// The one execution that a schedule describes. If nothing is wrong in it, it is printed.
    #[track_caller]
    #[allow(clippy::print_stderr, reason = "the user of a replay wants to see the execution")]
    pub(super) fn follow(&self, shared: &Rc<Shared>, schedule: &str) -> (Report, Vec<TraceView>) {
        let steps: Schedule = match schedule.parse() {
            Ok(steps) => steps,
            Err(error) => panic!("selvedge: `{schedule}` is not a schedule: {error}"),
        };
        let follow = || self.follow_once(shared, &steps);
        let search_and_follow = || {
            shared.learned.news.set(false);
            self.search_until_known(shared, &mut Journal::default());
            follow()
        };
        let mut replayed = follow();
        if shared.learned.rwlocks.get() || shared.reuses {
            // Which steps there are depends on what threads do in other executions, too: the same search learns
            // the same.
            replayed = search_and_follow();
        }
        if shared.learned.news.replace(false) {
            replayed = until_known(shared, follow);
        }
        let shows_nothing = |(report, _): &(Report, TraceView)| report.violations.is_empty();
        let has_whims = shared.learned.has_whims();
        let is_hopeless = || shared.hopeless.borrow().is_some();
        if has_whims && !is_hopeless() && replayed.as_ref().map_or(true, shows_nothing) {
            // Where a thread was first tried out may decide what steps it has.
            replayed = search_and_follow();
        }
        if replayed.is_err() && !is_hopeless() {
            // What the search had learned may be in parts of executions that this one does not come to: that the counts of an
            // `Arc` matter, for example, since dropping it does something visible.
            replayed = search_and_follow();
        }
        if is_hopeless() {
            return (Report::default(), Vec::new());
        }
        let (report, view) = match replayed {
            Ok(replayed) => replayed,
            Err(reason) => {
                panic!("selvedge: the schedule does not fit this code, or not any more: {reason}")
            }
        };
        if view.violations.is_empty() {
            eprintln!("{}", failure::of_failure(Look::of_terminal(), &view));
            eprintln!("selvedge: no violation in this execution");
            return (report, Vec::new());
        }
        (report, vec![view])
    }

    fn follow_once(
        &self,
        shared: &Rc<Shared>,
        steps: &Schedule,
    ) -> Result<(Report, TraceView), String> {
        shared.is_unsteady.set(false);
        shared.about_block.take();
        let with_turns = turns::with(&mut Program::new(Rc::clone(shared), false), steps);
        let mut system = Program::new(Rc::clone(shared), true);
        let mut replay =
            selvedge_core::replay(&mut system, &with_turns).map_err(|error| error.to_string())?;
        let mut violations: Vec<_> = replay.violations().cloned().collect();
        for violation in &mut violations {
            places::find(shared, &mut replay, violation);
        }
        if self.options.data_races {
            violations.extend(selvedge_explore::data_races(&system, &replay));
        }
        let replay = turns::without(replay);
        let found: Vec<_> = violations.iter().collect();
        let view = failure::view(&replay, &found, shared.replay_command(), shared.backtrace.take());
        let mut report = Report {
            steps: replay.steps.len() as u64,
            longest: replay.steps.len(),
            threads: replay.thread_names.len(),
            ..Report::default()
        };
        report.counts.complete = 1;
        report.note(Inconclusive::Bound(Bound::Executions(1)));
        let found = violations.into_iter().map(|violation| (violation, steps.clone()));
        report.violations = found.collect();
        Ok((report, view))
    }
}
