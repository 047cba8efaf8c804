//! One submitter per job. Two would do no harm, as both add up the same results, but the work would be done twice.

use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::job::{host, unique};
use crate::names::JobName;
use crate::server::{Server, Trouble, codes};

/// How often a submitter says that it is there.
pub(crate) const EVERY: Duration = Duration::from_secs(1);
/// After so long without a word the job is free. Whether a word came is decided by the number of the message: clocks of
/// machines are not compared.
const SILENCE: Duration = Duration::from_secs(5);

/// What a submitter says.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Word {
    /// Where it runs.
    pub(crate) who: String,
    /// A word of its own.
    own: String,
    /// How many submitters there were, this one included.
    pub(crate) epoch: u64,
    /// Whether it has left.
    pub(crate) has_left: bool,
    /// Executions that were added up, and the share of the search.
    pub(crate) executions: u64,
    pub(crate) share: f64,
}

/// The submitter of a job.
pub(crate) struct Leader {
    word: Word,
    sequence: u64,
    said: Instant,
}

/// Why this process is not the submitter.
pub(crate) enum NotLeader {
    /// Another one is there.
    Other(String),
    Trouble(Trouble),
}

impl From<Trouble> for NotLeader {
    fn from(trouble: Trouble) -> Self {
        NotLeader::Trouble(trouble)
    }
}

const SUBJECT: &str = "leader";

/// Returns the last word of a job's submitter.
pub(crate) fn last_word(server: &Server, name: &JobName) -> Result<Option<(u64, Word)>, Trouble> {
    let kept = server.last(&name.state_stream(), &name.state(SUBJECT))?;
    Ok(kept.and_then(|kept| Some((kept.sequence, serde_json::from_slice(&kept.payload).ok()?))))
}

/// Waits until a submitter is heard, or the silence was long enough. Returns the submitter that is there.
pub(crate) fn listen(server: &Server, name: &JobName) -> Result<Option<Word>, Trouble> {
    let began = Instant::now();
    let Some((first, word)) = last_word(server, name)? else { return Ok(None) };
    if word.has_left {
        return Ok(None);
    }
    while began.elapsed() < SILENCE {
        thread::sleep(EVERY / 4);
        match last_word(server, name)? {
            Some((sequence, word)) if sequence != first => {
                return Ok((!word.has_left).then_some(word));
            }
            _ => {}
        }
    }
    Ok(None)
}

impl Leader {
    /// Becomes the submitter of a job, unless another one is there.
    pub(crate) fn new(server: &Server, name: &JobName) -> Result<Self, NotLeader> {
        let who = format!("{} (process {})", host(), std::process::id());
        loop {
            if let Some(other) = listen(server, name)? {
                return Err(NotLeader::Other(other.who));
            }
            let (sequence, epoch) =
                last_word(server, name)?.map_or((0, 0), |(sequence, word)| (sequence, word.epoch));
            let word = Word {
                who: who.clone(),
                own: unique(),
                epoch: epoch + 1,
                has_left: false,
                executions: 0,
                share: 0.0,
            };
            let mut leader = Self { word, sequence, said: Instant::now() };
            if leader.say(server, name)? {
                return Ok(leader);
            }
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.word.epoch
    }

    /// Says that it is there, if it is time to. Returns whether no other one has taken over.
    pub(crate) fn renew(
        &mut self,
        server: &Server,
        name: &JobName,
        (executions, share): (u64, f64),
    ) -> Result<bool, Trouble> {
        if self.said.elapsed() < EVERY {
            return Ok(true);
        }
        (self.word.executions, self.word.share) = (executions, share);
        self.say(server, name)
    }

    /// Says that it has left.
    pub(crate) fn leave(&mut self, server: &Server, name: &JobName) {
        self.word.has_left = true;
        // If this is lost, the next one waits a few seconds.
        let _ = self.say(server, name);
    }

    fn say(&mut self, server: &Server, name: &JobName) -> Result<bool, Trouble> {
        let text = serde_json::to_vec(&self.word).unwrap_or_default();
        let (stream, subject) = (name.state_stream(), name.state(SUBJECT));
        match server.publish(&stream, &subject, None, Some(self.sequence), text) {
            Ok(sequence) => {
                (self.sequence, self.said) = (sequence, Instant::now());
                Ok(true)
            }
            Err(trouble) if trouble.is(codes::WRONG_LAST) => {
                // It may be its own word, whose receipt was lost.
                match last_word(server, name)? {
                    Some((sequence, last)) if last.own == self.word.own => {
                        (self.sequence, self.said) = (sequence, Instant::now());
                        Ok(true)
                    }
                    _ => Ok(false),
                }
            }
            Err(trouble) => Err(trouble),
        }
    }
}
