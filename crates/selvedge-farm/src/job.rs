//! What a job is, and its three streams.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::names::JobName;
use crate::pieces::{Piece, Pieces, split};
use crate::server::{Server, Trouble, codes};
use crate::stream::Kind;

/// A job: all that a worker has to know.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// The version of the tool, and which build of it: another one may divide the search differently.
    pub version: String,
    /// Which build of the tool.
    pub build: String,
    /// The program's file, as the user named it.
    pub file: String,
    /// Its text.
    pub text: String,
    /// The constants that the user set, as `NAME=VALUE`.
    pub constants: Vec<String>,
    /// A hash of the program with its constants.
    pub program: String,
    /// The arguments that say what is explored.
    pub arguments: Vec<String>,
}

/// A job on a server.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Posted {
    pub(crate) job: Job,
    /// A word that no other job has, also if its name is the same.
    pub(crate) born: String,
    /// How long a worker has a batch without a word from it.
    pub(crate) lease_milliseconds: u64,
    /// The last result that is not of this job.
    pub(crate) after: u64,
}

impl Posted {
    pub(crate) fn new(job: Job, lease: Duration) -> Self {
        let milliseconds = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        Self { job, born: unique(), lease_milliseconds: milliseconds.max(1), after: 0 }
    }

    pub(crate) fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_milliseconds)
    }

    /// Creates the streams, and posts the job unless there is one with this name. Streams of a job that was too old may
    /// be there.
    pub(crate) fn post(mut self, server: &Server, name: &JobName) -> Result<Self, Trouble> {
        server.create_stream(&name.state_stream(), &name.state(">"), Kind::Latest)?;
        server.create_stream(&name.units_stream(), &name.units(), Kind::Queue)?;
        server.create_consumer(&name.units_stream(), self.lease())?;
        server.create_stream(&name.results_stream(), &name.results(), Kind::Log)?;
        self.after = server.stream(&name.results_stream())?.last_seq;
        self.publish(server, name, Some(0))?;
        Ok(self)
    }

    /// Publishes it. `last`: only if that is the last one.
    fn publish(&self, server: &Server, name: &JobName, last: Option<u64>) -> Result<(), Trouble> {
        let text = serde_json::to_string(self).unwrap_or_default();
        let pieces = split(&self.born, &text, server.most_bytes());
        // Who finds the first finds all.
        for (nth, piece) in pieces.into_iter().enumerate().rev() {
            let subject = name.state(&format!("job.{nth}"));
            let last = last.filter(|_| nth == 0);
            server.publish(&name.state_stream(), &subject, None, last, piece)?;
        }
        Ok(())
    }

    /// Publishes it again: messages have an age.
    pub(crate) fn refresh(&self, server: &Server, name: &JobName) -> Result<(), Trouble> {
        self.publish(server, name, None)
    }

    /// Returns the job with this name, if there is one.
    pub(crate) fn find(server: &Server, name: &JobName) -> Result<Option<Self>, Trouble> {
        let text = read_pieces(server, name, "job")?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
    }
}

/// Returns the text of the pieces `<what>.0`, `<what>.1`, … of the state; nothing if one is missing.
pub(crate) fn read_pieces(
    server: &Server,
    name: &JobName,
    what: &str,
) -> Result<Option<String>, Trouble> {
    // Without a stream nothing would answer.
    match server.stream(&name.state_stream()) {
        Err(trouble) if trouble.is(codes::NO_STREAM) => return Ok(None),
        other => other?,
    };
    let mut pieces = Pieces::default();
    let (mut nth, mut number) = (0, 1);
    while nth < number {
        let subject = name.state(&format!("{what}.{nth}"));
        let kept = match server.last(&name.state_stream(), &subject) {
            Err(trouble) if trouble.is(codes::NO_STREAM) => return Ok(None),
            other => other?,
        };
        let Some(piece) = kept.and_then(|kept| Piece::read(&kept.payload)) else {
            return Ok(None);
        };
        number = piece.number;
        nth += 1;
        if let Some(text) = pieces.add(piece) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Returns a word that no other process has used: the time, and the process.
pub(crate) fn unique() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}-{}", now.as_nanos(), std::process::id(), host())
}

/// Returns the name of this machine, as a word.
pub(crate) fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::env::var("HOSTNAME"))
        .unwrap_or_default();
    word(&name)
}

/// Returns the letters and digits of a name, which may have none.
fn word(name: &str) -> String {
    let word: String = name.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
    if word.is_empty() { "unknown".to_owned() } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_named_by_a_word() {
        assert_eq!(word("node-7.example\n"), "node7example");
        assert_eq!(word(&"x".repeat(40)), "x".repeat(32));
        assert_eq!(word("-\n"), "unknown");
    }
}
