//! A front end written outside, with nothing but the methods that a system must have: no explorer proves
//! more about it than it can know.

use selvedge_core::{
    Effect, Ending, Inconclusive, Mode, ObjectId, Report, Status, Step, System, ThreadId, Verdict,
    Violation, ViolationKind, without,
};
use selvedge_explore::{Algorithm, Locks, Options, Silent};
use selvedge_testkit::explore;

/// Two threads that write their number to one variable; the end wants to find that of the second.
#[derive(Default)]
struct LastWriter {
    has_run: [bool; 2],
    variable: usize,
}

impl System for LastWriter {
    without! { thread_key object_key rewind obstacles freed ahead values judging foresight conditions states promises }

    fn restart(&mut self) {
        *self = Self::default();
    }

    fn thread_count(&self) -> usize {
        2
    }

    fn status(&self, thread: ThreadId) -> Status {
        if self.has_run[thread.index()] { Status::Finished } else { Status::Enabled }
    }

    fn choices(&self, _: ThreadId) -> u32 {
        1
    }

    fn pending(&mut self, _: Step, effect: &mut Effect) {
        effect.clear();
        effect.footprint.add(ObjectId::new(0), Mode::Write);
    }

    fn step(&mut self, step: Step, effect: &mut Effect) {
        self.pending(step, effect);
        self.has_run[step.thread.index()] = true;
        self.variable = step.thread.index();
    }

    fn end(&mut self) -> (Ending, Option<Violation>) {
        let violation = Violation {
            kind: ViolationKind::Finally,
            message: "the first thread wrote last".to_owned(),
            places: Vec::new(),
            notes: Vec::new(),
            thread: None,
        };
        (Ending::Complete, (self.variable == 0).then_some(violation))
    }
}

fn report(algorithm: Algorithm, options: &Options) -> Report {
    explore(algorithm, &LastWriter::default, options, &mut Silent)
}

#[test]
fn an_end_that_is_not_told_leaves_data_centric_inconclusive() {
    for locks in [Locks::Observed, Locks::Unobserved] {
        let options = Options { locks, ..Options::default() };
        let report = report(Algorithm::DataCentric, &options);
        assert_eq!(report.verdict(), Verdict::Inconclusive, "{locks:?}");
        let [Inconclusive::GaveUp(reason)] = report.inconclusive.as_slice() else {
            panic!("{:?}", report.inconclusive)
        };
        assert!(reason.contains("System::judging"), "{reason}");
    }
}

#[test]
fn states_that_are_not_told_leave_conditional_independence_inconclusive() {
    for algorithm in [Algorithm::Constrained, Algorithm::ContextSensitive] {
        let report = report(algorithm, &Options::default());
        assert_eq!(report.verdict(), Verdict::Inconclusive, "{algorithm:?}");
        let [Inconclusive::GaveUp(reason)] = report.inconclusive.as_slice() else {
            panic!("{:?}", report.inconclusive)
        };
        assert!(reason.contains("System::conditions"), "{reason}");
    }
}

#[test]
fn states_that_are_not_saved_leave_states_inconclusive() {
    let report = report(Algorithm::States, &Options::default());
    assert_eq!(report.verdict(), Verdict::Inconclusive);
    let [Inconclusive::GaveUp(reason)] = report.inconclusive.as_slice() else {
        panic!("{:?}", report.inconclusive)
    };
    assert!(reason.contains("System::states"), "{reason}");
}

#[test]
fn all_other_algorithms_find_it() {
    let needy = [
        Algorithm::DataCentric,
        Algorithm::Constrained,
        Algorithm::ContextSensitive,
        Algorithm::States,
    ];
    for &algorithm in Algorithm::ALL.iter().filter(|it| !needy.contains(it)) {
        let report = report(algorithm, &Options::default());
        assert_eq!(report.verdict(), Verdict::Violated, "{algorithm:?}");
    }
}
