//! The submitter of a job: it alone issues units, and adds up what came of them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::job::{Job, Posted, read_pieces};
use crate::leader::{Leader, NotLeader};
use crate::messages::{Batch, Failed, Result as Outcome};
use crate::names::JobName;
use crate::pieces::{Piece, Pieces, split};
use crate::server::{Error, Server, Trouble, codes};
use crate::status::remove;

/// How long to wait for results at least and at most before the next look.
const LOOK: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// A worker that was not heard of for so long does not count.
const WORKER: Duration = Duration::from_secs(60);
/// How many batches there are beside two for each worker: for workers that come.
const SPARE: usize = 8;
/// How often the job is published again.
const REFRESH: Duration = Duration::from_secs(3_600);
/// How often to see whether batches were lost, while no result comes.
const LOST: Duration = Duration::from_secs(1);
/// What a batch takes beside its units.
const ROOM: usize = 2_048;

/// What is left to be done, and what was done.
pub trait Ledger {
    /// Returns how many units are to be issued.
    fn left(&self) -> usize;

    /// Returns the next units to be issued, in order: one at least, at most `most`, and beyond the first at most so many
    /// bytes. They are at work from now on.
    fn issue(&mut self, most: usize, bytes: usize) -> Vec<String>;

    /// A unit that was issued was not run.
    fn take_back(&mut self, unit: &str);

    /// Takes what came of a unit, unless the unit is not to be done any more.
    ///
    /// # Errors
    /// If that is not understood.
    fn accept(&mut self, unit: &str, result: &str) -> Result<(), String>;

    /// A unit cannot be run.
    fn give_up(&mut self, unit: &str, why: &str);

    /// Returns whether nothing is left that matters.
    fn is_over(&self) -> bool;

    /// Returns everything as a text.
    fn snapshot(&self) -> String;

    /// Replaces everything by a snapshot.
    ///
    /// # Errors
    /// If it is not understood.
    fn restore(&mut self, snapshot: &str) -> Result<(), String>;

    /// Returns how many executions were added up, and the share of the search that they are.
    fn so_far(&self) -> (u64, f64);
}

/// Who asked for the job.
pub trait Host {
    /// Returns whether to go on. Asked often.
    fn go_on(&self) -> bool;

    /// Says something to the user.
    fn say(&self, text: &str);

    /// Looks at what was done so far. Called often.
    fn look(&mut self, ledger: &dyn Ledger);
}

/// How fast things go.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long a worker has a batch without a word from it.
    pub lease: Duration,
    /// How long a worker works on a batch, if there are enough of them.
    pub batch: Duration,
    /// How long while there are not: so that units come soon which others can take.
    pub short_batch: Duration,
    /// How often everything is kept on the server.
    pub snapshot: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            batch: Duration::from_secs(1),
            short_batch: Duration::from_millis(50),
            snapshot: Duration::from_secs(60),
        }
    }
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Nothing is left that matters.
    Finished,
    /// The host did not want to go on. The job is still there.
    Stopped,
}

/// Submits a job, or goes on with it if it is there, until it ends.
///
/// # Errors
/// If that cannot be done: another job has the name, another submitter is there, the server refuses.
pub fn submit<L: Ledger>(
    server: &Server,
    name: &JobName,
    job: Job,
    pace: Pace,
    ledger: &mut L,
    host: &mut dyn Host,
) -> Result<Ended, Error> {
    let Some(posted) = post(server, name, job, pace, host)? else { return Ok(Ended::Stopped) };
    let leader = server.insist(&|| host.go_on(), &|text| host.say(text), || {
        match Leader::new(server, name) {
            Ok(leader) => Ok(Ok(leader)),
            Err(NotLeader::Other(who)) => Ok(Err(who)),
            Err(NotLeader::Trouble(trouble)) => Err(trouble),
        }
    });
    let leader = match leader {
        Ok(Ok(leader)) => leader,
        Ok(Err(who)) => {
            return Err(Error(format!(
                "the job {name} has a submitter already: {who}\n  wait for its report, or end it; to run the check \
                 twice, choose another name with --job"
            )));
        }
        Err(Trouble::Away(_)) if !host.go_on() => return Ok(Ended::Stopped),
        Err(trouble) => return Err(server.error(&trouble, "be submitted")),
    };
    let mut submitter = Submitter {
        server,
        name,
        pace,
        leader,
        ledger,
        read: posted.after,
        kept: posted.after,
        posted,
        serial: 0,
        at_work: BTreeMap::new(),
        alone: Vec::new(),
        workers: BTreeMap::new(),
        pieces: Pieces::default(),
    };
    let ended = submitter.run(host);
    submitter.leader.leave(server, name);
    server.flush();
    ended
}

/// Finds the job, or posts it. Returns nothing if the host does not want to go on.
fn post(
    server: &Server,
    name: &JobName,
    job: Job,
    pace: Pace,
    host: &dyn Host,
) -> Result<Option<Posted>, Error> {
    let new = Posted::new(job, pace.lease);
    let posted = server.insist(&|| host.go_on(), &|text| host.say(text), || {
        match Posted::find(server, name)? {
            Some(found) => match server.stream(&name.units_stream()) {
                // Its removal was interrupted, which begins with the queue.
                Err(trouble) if trouble.is(codes::NO_STREAM) => {
                    remove(server, name)?;
                    Err(Trouble::Away("a job with this name was being removed".to_owned()))
                }
                other => other.map(|_| found),
            },
            None => match new.clone().post(server, name) {
                // Another one was faster.
                Err(trouble) if trouble.is(codes::WRONG_LAST) => {
                    Err(Trouble::Away("a job with this name was just submitted".to_owned()))
                }
                other => other,
            },
        }
    });
    let posted = match posted {
        Err(Trouble::Away(_)) if !host.go_on() => return Ok(None),
        other => other.map_err(|trouble| server.error(&trouble, "be submitted"))?,
    };
    let (found, wanted) = (&posted.job, &new.job);
    let differs = if found.program != wanted.program {
        Some("of another program, or with other constants")
    } else if found.arguments != wanted.arguments {
        Some("with other options")
    } else if (&found.version, &found.build) != (&wanted.version, &wanted.build) {
        Some("of another build of selvedge, which may divide the search differently")
    } else {
        None
    };
    match differs {
        None => Ok(Some(posted)),
        Some(how) => Err(Error(format!(
            "there is a job {name} on {}, {how}\n  choose another name with --job, or remove that one: selvedge farm \
             clean {name}",
            server.shown()
        ))),
    }
}

/// Which snapshot is the last one.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
struct Pointer {
    /// Of which job: another one may have had the same name.
    born: String,
    /// Snapshots are written to two places in turn.
    place: u64,
    /// The last result that it contains.
    read: u64,
}

/// Where the pointer is.
const POINTER: &str = "snapshot";

struct Submitter<'a, L> {
    server: &'a Server,
    name: &'a JobName,
    posted: Posted,
    pace: Pace,
    leader: Leader,
    ledger: &'a mut L,
    /// The last result that was read, and the last one in a snapshot.
    read: u64,
    kept: u64,
    /// The number of the last batch.
    serial: u64,
    /// The batches that were issued by this submitter, and that nothing came of yet.
    at_work: BTreeMap<u64, Vec<String>>,
    /// Units that are issued one by one: workers died with a batch of them.
    alone: Vec<String>,
    /// When workers were heard of.
    workers: BTreeMap<String, Instant>,
    pieces: Pieces,
}

impl<L: Ledger> Submitter<'_, L> {
    fn run(&mut self, host: &mut dyn Host) -> Result<Ended, Error> {
        if !self.resume(host)? {
            return Ok(Ended::Stopped);
        }
        let mut wait = LOOK.0;
        let (mut heard, mut kept, mut posted) = (Instant::now(), Instant::now(), Instant::now());
        loop {
            host.look(self.ledger);
            if self.ledger.is_over() {
                return Ok(Ended::Finished);
            }
            if !host.go_on() {
                return Ok(Ended::Stopped);
            }
            let done = self.round(&mut heard);
            let Some(is_news) = self.with_patience(done, host)? else { continue };
            if !self.still_leads(host)? {
                return Err(Error(format!(
                    "another submitter has taken over the job {}\n  its report is the same; this one ends",
                    self.name
                )));
            }
            if kept.elapsed() >= self.pace.snapshot && self.read > self.kept {
                let done = self.keep();
                self.with_patience(done, host)?;
                kept = Instant::now();
            }
            if posted.elapsed() >= REFRESH {
                let done = self.posted.refresh(self.server, self.name).map_err(Stop::from);
                self.with_patience(done, host)?;
                posted = Instant::now();
            }
            wait = if is_news { LOOK.0 } else { (wait * 2).min(LOOK.1) };
            if !is_news {
                thread::sleep(wait);
            }
        }
    }

    /// Reads new results, issues units, and sees whether some were lost. Returns whether there were results.
    fn round(&mut self, heard: &mut Instant) -> Result<bool, Stop> {
        let mut is_news = false;
        while self.next_result()? {
            is_news = true;
            // Workers wait.
            if self.ledger.is_over() || self.at_work.len() < self.workers() {
                break;
            }
        }
        if self.ledger.is_over() {
            return Ok(true);
        }
        if is_news || self.at_work.is_empty() {
            *heard = Instant::now();
        }
        self.issue()?;
        if heard.elapsed() >= LOST {
            self.find_lost()?;
            *heard = Instant::now();
        }
        Ok(is_news)
    }

    /// A server that is away is waited for.
    fn with_patience<T>(&self, done: Result<T, Stop>, host: &dyn Host) -> Result<Option<T>, Error> {
        match done {
            Ok(value) => Ok(Some(value)),
            Err(Stop::Error(error)) => Err(error),
            Err(Stop::Trouble(trouble @ Trouble::Away(_))) => {
                // Ask for something simple until there is an answer.
                let mut first = Some(trouble);
                let stream = self.name.results_stream();
                let back = self.server.insist(&|| host.go_on(), &|text| host.say(text), || {
                    first.take().map_or_else(|| self.server.stream(&stream).map(|_| ()), Err)
                });
                match back {
                    Ok(()) | Err(Trouble::Away(_)) => Ok(None),
                    Err(refused) => Err(self.refused(&refused)),
                }
            }
            Err(Stop::Trouble(refused)) => Err(self.refused(&refused)),
        }
    }

    fn refused(&self, trouble: &Trouble) -> Error {
        if trouble.is(codes::NO_STREAM) {
            let (name, server) = (self.name, self.server.shown());
            return Error(format!(
                "the job {name} was removed from {server}\n  submit it again: the same command"
            ));
        }
        self.server.error(trouble, "continue")
    }

    fn still_leads(&mut self, host: &dyn Host) -> Result<bool, Error> {
        let so_far = self.ledger.so_far();
        let renewed = self.leader.renew(self.server, self.name, so_far).map_err(Stop::from);
        Ok(self.with_patience(renewed, host)?.unwrap_or(true))
    }

    /// Reads what was done before this submitter began. Returns whether to go on.
    fn resume(&mut self, host: &mut dyn Host) -> Result<bool, Error> {
        loop {
            let done = self.read_old(host);
            if self.with_patience(done, host)?.is_some() {
                return Ok(host.go_on());
            }
            if !host.go_on() {
                return Ok(false);
            }
        }
    }

    fn read_old(&mut self, host: &mut dyn Host) -> Result<(), Stop> {
        let (server, name) = (self.server, self.name);
        if self.leader.epoch() > 1 {
            // What is still at work counts if it comes; the rest is issued again, in batches that this submitter knows.
            server.purge(&name.units_stream(), None)?;
        }
        if let Some(pointer) = self.pointer()?
            && self.read < pointer.read
        {
            let place = format!("{POINTER}.{}", pointer.place);
            let text = read_pieces(server, name, &place)?;
            let text = text.ok_or_else(|| damaged(name, "its snapshot is not complete"))?;
            self.ledger.restore(&text).map_err(|why| damaged(name, &why))?;
            (self.read, self.kept) = (pointer.read, pointer.read);
        }
        let state = server.stream(&name.results_stream())?;
        if state.first_seq > self.read + 1 && state.last_seq > self.read {
            return Err(damaged(name, "results are gone, as they were too old").into());
        }
        while self.read < state.last_seq && host.go_on() && !self.ledger.is_over() {
            self.next_result()?;
            host.look(self.ledger);
        }
        Ok(())
    }

    /// Reads the next result. Returns whether there was one.
    fn next_result(&mut self) -> Result<bool, Stop> {
        let Some(kept) = self.server.get(&self.name.results_stream(), self.read + 1)? else {
            return Ok(false);
        };
        self.read = kept.sequence;
        // What is not a result was published by something else.
        if let Some(piece) = Piece::read(&kept.payload)
            && let Some(text) = self.pieces.add(piece)
            && let Ok(outcome) = serde_json::from_str::<Outcome>(&text)
            && outcome.born == self.posted.born
        {
            self.accept(outcome)?;
        }
        Ok(true)
    }

    /// Adds up what came of a batch. It may be one that another submitter issued, or come for the second time: what counts
    /// depends on the ledger alone, so a submitter that reads the same results comes to the same ledger.
    fn accept(&mut self, outcome: Outcome) -> Result<(), Stop> {
        let name = self.name;
        self.workers.insert(outcome.worker, Instant::now());
        let issued = match outcome.epoch == self.leader.epoch() {
            true => self.at_work.remove(&outcome.serial),
            false => None,
        };
        for ran in &outcome.ran {
            self.ledger.accept(&ran.unit, &ran.result).map_err(|why| damaged(name, &why))?;
        }
        match outcome.failed {
            None => {}
            Some(Failed::Damaged(why)) => return Err(damaged(name, &why).into()),
            Some(Failed::Deadly { units, workers }) => match units.as_slice() {
                [unit] => self.ledger.give_up(
                    unit,
                    &format!("{workers} workers died, or lost their connection, while they ran it"),
                ),
                several => self.alone.extend_from_slice(several),
            },
        }
        for unit in issued.into_iter().flatten() {
            if !outcome.ran.iter().any(|ran| ran.unit == unit) {
                self.ledger.take_back(&unit);
            }
        }
        Ok(())
    }

    /// Returns how many workers there are.
    fn workers(&mut self) -> usize {
        self.workers.retain(|_, heard| heard.elapsed() < WORKER);
        self.workers.len()
    }

    /// Issues units, so that every worker has some and finds more.
    fn issue(&mut self) -> Result<(), Stop> {
        let wanted = 2 * self.workers() + SPARE;
        while self.at_work.len() < wanted && self.ledger.left() > 0 {
            let left = self.ledger.left();
            let is_scarce = left + self.at_work.len() < wanted;
            let most = if self.alone.is_empty() { left.div_ceil(wanted) } else { 1 };
            let room = self.server.most_bytes().saturating_sub(ROOM);
            // As JSON a unit may take twice as many bytes.
            let units = self.ledger.issue(most, room / 2);
            self.alone.retain(|alone| !units.contains(alone));
            let time = if is_scarce { self.pace.short_batch } else { self.pace.batch };
            self.serial += 1;
            let batch = Batch {
                born: self.posted.born.clone(),
                epoch: self.leader.epoch(),
                serial: self.serial,
                milliseconds: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
                units,
            };
            let text = serde_json::to_vec(&batch).unwrap_or_default();
            let published = self.publish(&batch, text);
            if published.is_err() {
                // It may have been stored all the same; then it is run twice, and counts once.
                batch.units.iter().for_each(|unit| self.ledger.take_back(unit));
            } else {
                self.at_work.insert(batch.serial, batch.units);
            }
            published?;
        }
        Ok(())
    }

    fn publish(&self, batch: &Batch, text: Vec<u8>) -> Result<(), Stop> {
        let most = self.server.most_bytes();
        if text.len() + ROOM / 2 > most {
            return Err(Stop::Error(Error(format!(
                "a unit of the job {} has {} bytes, and {} takes messages of {most} at most\n  raise max_payload of the \
                 server, then run the same command again: nothing is lost",
                self.name,
                text.len(),
                self.server.shown(),
            ))));
        }
        let (stream, subject) = (self.name.units_stream(), self.name.units());
        // The same text again is the same batch.
        let id = format!("{}-{}-{}", batch.born, batch.epoch, batch.serial);
        let publish = || self.server.publish(&stream, &subject, Some(&id), None, text.clone());
        publish().or_else(|trouble| match trouble {
            Trouble::Away(_) => publish(),
            refused => Err(refused),
        })?;
        Ok(())
    }

    /// Issues again what the server has lost: if its queue is empty, and what came of all its batches was read, the
    /// others are not there.
    fn find_lost(&mut self) -> Result<(), Stop> {
        if self.server.stream(&self.name.units_stream())?.messages > 0 {
            return Ok(());
        }
        let last = self.server.stream(&self.name.results_stream())?.last_seq;
        while self.read < last && self.next_result()? {}
        if self.read >= last {
            for unit in std::mem::take(&mut self.at_work).into_values().flatten() {
                self.ledger.take_back(&unit);
            }
        }
        Ok(())
    }

    /// Returns which snapshot is the last one.
    fn pointer(&self) -> Result<Option<Pointer>, Trouble> {
        let kept = self.server.last(&self.name.state_stream(), &self.name.state(POINTER))?;
        let pointer = kept.and_then(|kept| serde_json::from_slice::<Pointer>(&kept.payload).ok());
        Ok(pointer.filter(|pointer| pointer.born == self.posted.born))
    }

    /// Keeps everything on the server, and removes the results that are in it.
    fn keep(&mut self) -> Result<(), Stop> {
        let (server, name) = (self.server, self.name);
        let (stream, subject) = (name.state_stream(), name.state(POINTER));
        let place = self.pointer()?.map_or(0, |last| 1 - last.place.min(1));
        let id = format!("{}-{}", self.leader.epoch(), self.read);
        let text = self.ledger.snapshot();
        for (nth, piece) in split(&id, &text, server.most_bytes()).into_iter().enumerate() {
            let place = name.state(&format!("{POINTER}.{place}.{nth}"));
            server.publish(&stream, &place, None, None, piece)?;
        }
        let pointer = Pointer { born: self.posted.born.clone(), place, read: self.read };
        let pointer = serde_json::to_vec(&pointer).unwrap_or_default();
        server.publish(&stream, &subject, None, None, pointer)?;
        server.purge(&name.results_stream(), Some(self.read))?;
        self.kept = self.read;
        Ok(())
    }
}

/// Why something did not go on.
enum Stop {
    Trouble(Trouble),
    Error(Error),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Stop::Trouble(trouble)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

fn damaged(name: &JobName, why: &str) -> Error {
    Error(format!(
        "the job {name} cannot go on: {why}\n  remove it and start again: selvedge farm clean {name}"
    ))
}
