//! A worker: takes a batch, runs it, publishes what came of it, and acknowledges it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::job::{Job, Posted, host, unique};
use crate::messages::{Batch, Failed, Ran, Result as Outcome};
use crate::names::{ALL_UNITS, JobName};
use crate::pieces::split;
use crate::server::{Error, Server, Trouble, codes};
use crate::stream::Taken;

/// How long to wait for a batch, if there is one job and if there are several.
const WAIT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_millis(100));
/// How long to wait for a job.
const NO_JOB: Duration = Duration::from_millis(250);
/// How many batches of a job a worker takes before it looks at others.
const IN_A_ROW: usize = 16;
/// How often a batch is delivered before it is said that workers die with it.
const DELIVERIES: u64 = 3;
/// How long a worker that ends tries to say what it did.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// How long to wait if the server has no room for a result.
const FULL: Duration = Duration::from_secs(1);

/// What came of a unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// It was run, or a part of it.
    Ran(String),
    /// There was no time.
    NotBegun,
    /// It does not belong to the program: why.
    Damaged(String),
}

/// Runs units of one job, as long as the second argument says so.
pub type Opened<'a> = Box<dyn Fn(&str, &mut dyn FnMut() -> bool) -> Output + 'a>;

/// Who does the work.
pub trait Workshop: Sync {
    /// Opens a job.
    ///
    /// # Errors
    /// Why that is not possible: another version, another build.
    fn open(&self, job: &Job) -> Result<Opened<'_>, String>;

    /// Returns whether to go on. Asked often.
    fn go_on(&self) -> bool;

    /// Says something to the user.
    fn say(&self, text: &str);
}

/// How to work.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many batches at a time.
    pub threads: usize,
    /// For this job only.
    pub job: Option<JobName>,
    /// Ends when there was nothing to do for so long.
    pub idle: Option<Duration>,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Worked {
    /// Batches that were run.
    pub batches: u64,
    /// Units of them.
    pub units: u64,
}

/// Works until the workshop does not want to go on, or there was nothing to do for long.
///
/// # Errors
/// If the server refuses, or the only job cannot be opened.
pub fn work(
    server: &Server,
    settings: &Settings,
    workshop: &dyn Workshop,
) -> Result<Worked, Error> {
    let crew = Crew {
        server,
        settings,
        workshop,
        name: format!("{}-{}", host(), unique()),
        batches: AtomicU64::new(0),
        units: AtomicU64::new(0),
        results: AtomicU64::new(0),
        busy: Mutex::new(Instant::now()),
        refused: Mutex::new(Vec::new()),
        failed: Mutex::new(None),
    };
    thread::scope(|scope| {
        for _ in 1..settings.threads.max(1) {
            scope.spawn(|| crew.work());
        }
        crew.work();
    });
    server.flush();
    match crew.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(Worked { batches: crew.batches.into_inner(), units: crew.units.into_inner() }),
    }
}

struct Crew<'a> {
    server: &'a Server,
    settings: &'a Settings,
    workshop: &'a dyn Workshop,
    name: String,
    batches: AtomicU64,
    units: AtomicU64,
    /// How many results were published: each has a name of its own.
    results: AtomicU64,
    /// When there was something to do.
    busy: Mutex<Instant>,
    /// Jobs that cannot be opened.
    refused: Mutex<Vec<String>>,
    failed: Mutex<Option<Error>>,
}

/// A job that is open.
struct Open<'a> {
    posted: Posted,
    run: Opened<'a>,
}

/// What came of an attempt to take a batch.
enum Attempt {
    Ran,
    Nothing,
    /// The job is not there any more.
    Gone,
}

impl<'a> Crew<'a> {
    /// What a thread does.
    fn work(&self) {
        let mut open: BTreeMap<JobName, Open<'a>> = BTreeMap::new();
        while self.goes_on() {
            match self.round(&mut open) {
                Ok(true) => {}
                Ok(false) => thread::sleep(NO_JOB),
                Err(trouble) => {
                    let error = self.server.error(&trouble, "be worked on");
                    self.fail(error);
                }
            }
        }
    }

    fn goes_on(&self) -> bool {
        let is_idle = self.settings.idle.is_some_and(|idle| lock(&self.busy).elapsed() >= idle);
        !is_idle && lock(&self.failed).is_none() && self.workshop.go_on()
    }

    fn fail(&self, error: Error) {
        lock(&self.failed).get_or_insert(error);
    }

    fn insist<T>(&self, ask: impl FnMut() -> Result<T, Trouble>) -> Result<Option<T>, Trouble> {
        match self.server.insist(&|| self.goes_on(), &|text| self.workshop.say(text), ask) {
            Ok(value) => Ok(Some(value)),
            Err(Trouble::Away(_)) => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    /// Looks at every job once. Returns whether there was one.
    fn round(&self, open: &mut BTreeMap<JobName, Open<'a>>) -> Result<bool, Trouble> {
        let Some(streams) = self.insist(|| self.server.streams(ALL_UNITS))? else {
            return Ok(true);
        };
        let mut jobs: Vec<JobName> = streams.iter().filter_map(|s| JobName::of_units(s)).collect();
        if let Some(only) = &self.settings.job {
            jobs.retain(|job| job == only);
        }
        open.retain(|name, _| jobs.contains(name));
        let wait = if jobs.len() == 1 { WAIT.0 } else { WAIT.1 };
        let mut has_some = false;
        for name in jobs {
            let Some(open) = self.open(&name, open)? else { continue };
            has_some = true;
            for _ in 0..IN_A_ROW {
                if !self.goes_on() {
                    return Ok(true);
                }
                match self.attempt(&name, open, wait)? {
                    Attempt::Ran => *lock(&self.busy) = Instant::now(),
                    Attempt::Nothing | Attempt::Gone => break,
                }
            }
        }
        Ok(has_some)
    }

    /// Opens a job, unless it is open.
    fn open<'o>(
        &self,
        name: &JobName,
        open: &'o mut BTreeMap<JobName, Open<'a>>,
    ) -> Result<Option<&'o Open<'a>>, Trouble> {
        let posted = self.insist(|| Posted::find(self.server, name))?.flatten();
        let Some(posted) = posted else { return Ok(None) };
        if open.get(name).is_none_or(|known| known.posted != posted) {
            open.remove(name);
            if lock(&self.refused).contains(&posted.born) {
                return Ok(None);
            }
            match self.workshop.open(&posted.job) {
                Ok(run) => {
                    open.insert(name.clone(), Open { posted, run });
                }
                Err(why) => {
                    let mut refused = lock(&self.refused);
                    // Another thread may have said so.
                    if !refused.contains(&posted.born) {
                        refused.push(posted.born);
                        drop(refused);
                        match self.settings.job {
                            Some(_) => self.fail(Error(format!("the job {name}: {why}"))),
                            None => {
                                self.workshop.say(&format!("the job {name} is left out: {why}"))
                            }
                        }
                    }
                    return Ok(None);
                }
            }
        }
        Ok(open.get(name))
    }

    /// Takes a batch and runs it.
    fn attempt(&self, name: &JobName, open: &Open<'_>, wait: Duration) -> Result<Attempt, Trouble> {
        let queue = name.units_stream();
        let taken = match self.insist(|| self.server.take(&queue, wait)) {
            Ok(taken) => taken.flatten(),
            Err(trouble) if trouble.is(codes::NO_STREAM) || trouble.is(codes::NO_CONSUMER) => {
                return Ok(Attempt::Gone);
            }
            Err(trouble) => return Err(trouble),
        };
        let Some(taken) = taken else { return Ok(Attempt::Nothing) };
        let batch: Option<Batch> = serde_json::from_slice(&taken.payload).ok();
        let Some(batch) = batch.filter(|batch| batch.born == open.posted.born) else {
            // The job is a new one with the same name.
            self.server.tell(&taken.reply, Taken::GIVEN_BACK);
            return Ok(Attempt::Gone);
        };
        let lease = open.posted.lease();
        let renewed = self.server.repeat(taken.reply.clone(), Taken::IN_PROGRESS, lease / 3);
        let outcome = self.run(&batch, &taken, open);
        let is_published = match &outcome {
            Some(outcome) => self.publish(name, outcome),
            None => false,
        };
        drop(renewed);
        self.server.tell(&taken.reply, if is_published { Taken::DONE } else { Taken::GIVEN_BACK });
        if is_published {
            self.batches.fetch_add(1, Relaxed);
            let units = outcome.map_or(0, |outcome| outcome.ran.len() as u64);
            self.units.fetch_add(units, Relaxed);
        }
        Ok(Attempt::Ran)
    }

    /// Runs a batch. Returns nothing if not even its first unit was begun.
    fn run(&self, batch: &Batch, taken: &Taken, open: &Open<'_>) -> Option<Outcome> {
        let mut outcome = Outcome {
            born: batch.born.clone(),
            epoch: batch.epoch,
            serial: batch.serial,
            worker: self.name.clone(),
            ran: Vec::new(),
            failed: None,
        };
        if taken.delivered > DELIVERIES {
            let (units, workers) = (batch.units.clone(), taken.delivered - 1);
            outcome.failed = Some(Failed::Deadly { units, workers });
            return Some(outcome);
        }
        let end = Instant::now() + Duration::from_millis(batch.milliseconds);
        let mut goes_on = || Instant::now() < end && self.workshop.go_on();
        for unit in &batch.units {
            if !outcome.ran.is_empty() && !goes_on() {
                break;
            }
            match (open.run)(unit, &mut goes_on) {
                Output::Ran(result) => outcome.ran.push(Ran { unit: unit.clone(), result }),
                Output::NotBegun => break,
                Output::Damaged(why) => {
                    outcome.failed = Some(Failed::Damaged(why));
                    break;
                }
            }
        }
        (!outcome.ran.is_empty() || outcome.failed.is_some()).then_some(outcome)
    }

    /// Publishes what came of a batch. Returns whether the server has it.
    fn publish(&self, name: &JobName, outcome: &Outcome) -> bool {
        let nth = self.results.fetch_add(1, Relaxed);
        let id = format!("{}-{nth}", self.name);
        let text = serde_json::to_string(outcome).unwrap_or_default();
        let (stream, subject) = (name.results_stream(), name.results());
        let mut end = None;
        let mut is_full_said = false;
        for (nth, piece) in split(&id, &text, self.server.most_bytes()).into_iter().enumerate() {
            let id = format!("{id}-{nth}");
            loop {
                let published =
                    self.server.publish(&stream, &subject, Some(&id), None, piece.clone());
                match published {
                    Ok(_) => break,
                    Err(trouble) if trouble.is_full() => {
                        if !std::mem::replace(&mut is_full_said, true) {
                            let error = self.server.error(&trouble, "be worked on");
                            self.workshop.say(&format!("{error}\n  the worker tries again"));
                        }
                        thread::sleep(FULL);
                    }
                    Err(Trouble::Away(_)) => thread::sleep(NO_JOB),
                    // The job was removed, so nothing is to be done for it.
                    Err(Trouble::Refused { .. }) => return false,
                }
                if !self.workshop.go_on()
                    && end.get_or_insert_with(|| Instant::now() + LAST_WORDS) <= &mut Instant::now()
                {
                    return false;
                }
            }
        }
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
