//! Runs the tests of a step: without a mistake, to see what they come by, and then for each mistake those that do, until
//! one fails.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::records::Records;
use crate::steps::Test;
use crate::workshop::Workshop;
use crate::workshop::site::Site;
use crate::workshop::suites::End;

/// A mistake is first tried on tests that take so long in all; those that are left then have more. So most of what is noticed
/// is known early.
const ROUNDS: [Duration; 3] = [Duration::from_secs(20), Duration::from_secs(120), Duration::MAX];

/// The tests of a step.
pub(crate) struct Judge<'a> {
    pub(crate) workshop: &'a Workshop,
    pub(crate) tests: Vec<Test>,
    pub(crate) records: &'a Mutex<Records>,
    /// More than the number of any mistake.
    pub(crate) most: usize,
}

/// A mistake that a test notices.
pub(crate) struct Noticed {
    /// Its name.
    pub(crate) test: String,
    /// Whether it fails, or does not end.
    pub(crate) ends: bool,
}

impl Judge<'_> {
    /// Runs each test without a mistake, unless that is known.
    pub(crate) fn survey(&self) {
        let todo: Vec<&Test> =
            self.tests.iter().filter(|test| self.known().of(test).is_none()).collect();
        println!("{} tests, {} of them run without a mistake first", self.tests.len(), todo.len());
        for_each(&todo, |worker, test| {
            let survey = test.survey(self.workshop, worker, self.most);
            if survey.0 != End::Passed {
                println!("left out, it fails without a mistake: {}", test.name);
            }
            self.known().add_survey(test, survey);
        });
    }

    /// Tries mistakes, and returns those that a test notices.
    pub(crate) fn try_all(&self, mistakes: &BTreeMap<usize, &Site>) -> BTreeMap<usize, Noticed> {
        let noticed = Mutex::new(BTreeMap::new());
        let mut open: Vec<(usize, &Site)> =
            mistakes.iter().map(|(&number, &site)| (number, site)).collect();
        for most in ROUNDS {
            let left = Mutex::new(Vec::new());
            for_each(&open, |_, &(number, site)| {
                let tests = self.coming_by(number, site);
                let (quick, slow) = tests.split_at(quickest(&tests, most));
                let by = quick.iter().find_map(|(test, _)| self.try_one(number, test));
                if let Some(by) = by {
                    let how = if by.ends { "" } else { "   (does not end)" };
                    println!("noticed   {number:4}  {site}   by {}{how}", by.test);
                    noticed.lock().expect("no worker panics").insert(number, by);
                } else if slow.is_empty() {
                    println!("open      {number:4}  {site}   ({} tests come by)", quick.len());
                } else {
                    println!("later     {number:4}  {site}   ({} more tests)", slow.len());
                    left.lock().expect("no worker panics").push((number, site));
                }
            });
            open = left.into_inner().expect("no worker panics");
            open.sort_by_key(|&(number, _)| number);
        }
        noticed.into_inner().expect("no worker panics")
    }

    /// The tests that come by a mistake: those of the same crate first, the quickest first.
    fn coming_by(&self, number: usize, site: &Site) -> Vec<(&Test, Duration)> {
        let home = site.file.iter().nth(1).unwrap_or_default().to_string_lossy();
        let records = self.known();
        let mut tests: Vec<_> = (self.tests.iter())
            .filter_map(|test| Some((test, records.of(test)?)))
            .filter(|(_, record)| record.passes && record.reached.contains(&number))
            .map(|(test, record)| (test.package() != home, record.time, test))
            .collect();
        tests.sort_by_key(|&(is_far, time, _)| (is_far, time));
        tests.into_iter().map(|(_, time, test)| (test, time)).collect()
    }

    fn try_one(&self, number: usize, test: &Test) -> Option<Noticed> {
        let known = self.known().end(test, number);
        let end = known.unwrap_or_else(|| {
            let without = self.known().of(test).map(|record| record.time).unwrap_or_default();
            let end = test.try_mistake(number, without);
            self.known().add_end(test, number, end);
            end
        });
        (end != End::Passed).then(|| Noticed { test: test.name.clone(), ends: end == End::Failed })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Records> {
        self.records.lock().expect("no worker panics")
    }
}

/// How many tests, of the first ones, take so long in all at most.
fn quickest(tests: &[(&Test, Duration)], most: Duration) -> usize {
    let mut all = Duration::ZERO;
    let is_within = |(_, time): &&(&Test, Duration)| {
        all = all.saturating_add(*time);
        all <= most
    };
    tests.iter().take_while(is_within).count()
}

/// Does something with each item, on as many threads as there are processors, or as `SELVEDGE_MUTANTS_JOBS` says.
fn for_each<T: Sync>(items: &[T], act: impl Fn(usize, &T) + Sync) {
    let next = AtomicUsize::new(0);
    let asked = std::env::var("SELVEDGE_MUTANTS_JOBS").ok().and_then(|text| text.parse().ok());
    let workers = asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    thread::scope(|scope| {
        for worker in 0..workers {
            let (next, act) = (&next, &act);
            scope.spawn(move || {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    act(worker, item);
                }
            });
        }
    });
}
