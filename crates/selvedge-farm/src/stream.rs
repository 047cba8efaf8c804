//! The few requests to JetStream that are needed, as its documentation has them: JSON in, JSON out.

use std::time::Duration;

use async_nats::{HeaderMap, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::server::{Server, Trouble, codes};

/// How long messages stay at most, if a job is forgotten.
pub(crate) const AGE: Duration = Duration::from_secs(7 * 86_400);
/// How long the server remembers the name of a message.
const DUPLICATES: Duration = Duration::from_secs(120);
/// How many batches may be at work at a time, and how many workers may wait for one.
const MOST_AT_WORK: u32 = 10_000;
/// The name of the consumer that all workers share.
const WORKERS: &str = "workers";

/// What a stream is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A message is removed when it is acknowledged.
    Queue,
    /// All messages stay.
    Log,
    /// The last message of each subject stays.
    Latest,
}

/// A message of a stream.
pub(crate) struct Kept {
    pub(crate) sequence: u64,
    pub(crate) payload: Vec<u8>,
}

/// A message of a queue, which is this client's until its lease runs out.
pub(crate) struct Taken {
    pub(crate) payload: Vec<u8>,
    /// Where to say what becomes of it.
    pub(crate) reply: String,
    /// How often it was delivered, this time included.
    pub(crate) delivered: u64,
}

/// The state of a stream.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct State {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
}

/// The state of a queue's consumer.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Consumer {
    pub(crate) num_ack_pending: u64,
    pub(crate) num_pending: u64,
    pub(crate) num_waiting: u64,
}

#[derive(Deserialize)]
struct Refusal {
    error: ErrorText,
}

#[derive(Deserialize)]
struct ErrorText {
    code: u64,
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Stored {
    seq: u64,
}

#[derive(Deserialize)]
struct Info {
    state: State,
}

#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    streams: Option<Vec<String>>,
    #[serde(default)]
    total: usize,
}

/// Any answer.
#[derive(Deserialize)]
struct Anything {}

/// Returns the refusal that an answer is, if it is one.
pub(crate) fn refusal(answer: &[u8]) -> Option<Trouble> {
    let Refusal { error } = serde_json::from_slice(answer).ok()?;
    let code = if error.err_code == 0 { error.code } else { error.err_code };
    Some(Trouble::Refused { code, text: error.description })
}

impl Server {
    /// Asks JetStream.
    fn api<T: DeserializeOwned>(
        &self,
        request: &str,
        argument: &impl Serialize,
    ) -> Result<T, Trouble> {
        let argument = serde_json::to_vec(argument).unwrap_or_default();
        let answer = self.request(&format!("$JS.API.{request}"), None, argument)?;
        read(&answer.payload)
    }

    /// Creates a stream, unless it is there.
    pub(crate) fn create_stream(
        &self,
        name: &str,
        subject: &str,
        kind: Kind,
    ) -> Result<(), Trouble> {
        let config = json!({
            "name": name,
            "subjects": [subject],
            "retention": if kind == Kind::Queue { "workqueue" } else { "limits" },
            "storage": "file",
            "num_replicas": 1,
            "max_age": nanoseconds(AGE),
            "duplicate_window": nanoseconds(DUPLICATES),
            // What does not fit is refused; nothing that was stored is dropped for it.
            "discard": if kind == Kind::Latest { "old" } else { "new" },
            "max_msgs_per_subject": if kind == Kind::Latest { 1 } else { -1 },
            "allow_direct": true,
        });
        self.api::<Anything>(&format!("STREAM.CREATE.{name}"), &config).map(|_| ())
    }

    /// Creates the consumer of a queue, unless it is there.
    pub(crate) fn create_consumer(&self, queue: &str, lease: Duration) -> Result<(), Trouble> {
        let config = json!({
            "stream_name": queue,
            "config": {
                "durable_name": WORKERS,
                "deliver_policy": "all",
                "ack_policy": "explicit",
                "replay_policy": "instant",
                "ack_wait": nanoseconds(lease),
                "max_ack_pending": MOST_AT_WORK,
                "max_waiting": MOST_AT_WORK,
            },
        });
        let request = format!("CONSUMER.DURABLE.CREATE.{queue}.{WORKERS}");
        self.api::<Anything>(&request, &config).map(|_| ())
    }

    /// Removes a stream.
    pub(crate) fn delete_stream(&self, name: &str) -> Result<(), Trouble> {
        self.api::<Anything>(&format!("STREAM.DELETE.{name}"), &json!({})).map(|_| ())
    }

    /// Returns the state of a stream.
    pub(crate) fn stream(&self, name: &str) -> Result<State, Trouble> {
        self.api::<Info>(&format!("STREAM.INFO.{name}"), &json!({})).map(|info| info.state)
    }

    /// Returns the state of a queue's consumer.
    pub(crate) fn consumer(&self, queue: &str) -> Result<Consumer, Trouble> {
        self.api(&format!("CONSUMER.INFO.{queue}.{WORKERS}"), &json!({}))
    }

    /// Removes the messages of a stream, up to a sequence number if there is one.
    pub(crate) fn purge(&self, name: &str, up_to: Option<u64>) -> Result<(), Trouble> {
        let argument = match up_to {
            // The server keeps the one with this number.
            Some(last) => json!({ "seq": last + 1 }),
            None => json!({}),
        };
        self.api::<Anything>(&format!("STREAM.PURGE.{name}"), &argument).map(|_| ())
    }

    /// Returns the names of all streams with such a subject.
    pub(crate) fn streams(&self, subject: &str) -> Result<Vec<String>, Trouble> {
        let mut all = Vec::new();
        loop {
            let argument = json!({ "subject": subject, "offset": all.len() });
            let names: Names = self.api("STREAM.NAMES", &argument)?;
            let more = names.streams.unwrap_or_default();
            let is_last = more.is_empty();
            all.extend(more);
            if is_last || all.len() >= names.total {
                return Ok(all);
            }
        }
    }

    /// Publishes a message, and waits until the server has stored it. `name`: what is published with the same name within
    /// two minutes is not stored again. `last`: it is only stored if that is the last message of the subject.
    pub(crate) fn publish(
        &self,
        stream: &str,
        subject: &str,
        name: Option<&str>,
        last: Option<u64>,
        payload: Vec<u8>,
    ) -> Result<u64, Trouble> {
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Expected-Stream", stream);
        if let Some(name) = name {
            headers.insert("Nats-Msg-Id", name);
        }
        if let Some(last) = last {
            headers.insert("Nats-Expected-Last-Subject-Sequence", last.to_string().as_str());
        }
        let answer = self
            .request(subject, Some(headers), payload)
            .map_err(|trouble| self.gone(stream, trouble))?;
        read::<Stored>(&answer.payload).map(|stored| stored.seq)
    }

    /// Returns a message of a stream; nothing if there is none with this number.
    pub(crate) fn get(&self, stream: &str, sequence: u64) -> Result<Option<Kept>, Trouble> {
        self.direct(stream, &json!({ "seq": sequence }))
    }

    /// Returns the last message of a subject.
    pub(crate) fn last(&self, stream: &str, subject: &str) -> Result<Option<Kept>, Trouble> {
        self.direct(stream, &json!({ "last_by_subj": subject }))
    }

    fn direct(&self, stream: &str, which: &serde_json::Value) -> Result<Option<Kept>, Trouble> {
        let request = format!("$JS.API.DIRECT.GET.{stream}");
        let message = self
            .request(&request, None, which.to_string().into_bytes())
            .map_err(|trouble| self.gone(stream, trouble))?;
        if let Some(status) = message.status {
            let text = message.description.unwrap_or_default();
            return match status {
                StatusCode::NOT_FOUND => Ok(None),
                other => Err(Trouble::Refused { code: u64::from(other.as_u16()), text }),
            };
        }
        let headers = message.headers.unwrap_or_default();
        let sequence = headers.get("Nats-Sequence").and_then(|number| number.as_str().parse().ok());
        let sequence = sequence.ok_or_else(|| unclear("a message without a number"))?;
        Ok(Some(Kept { sequence, payload: message.payload.to_vec() }))
    }

    /// Takes a message of a queue, if one comes within this time.
    pub(crate) fn take(&self, queue: &str, wait: Duration) -> Result<Option<Taken>, Trouble> {
        let request = format!("$JS.API.CONSUMER.MSG.NEXT.{queue}.{WORKERS}");
        let argument = json!({ "batch": 1, "expires": nanoseconds(wait) });
        // The server says that none came; if not even that comes, the request was lost.
        let patience = wait + Duration::from_secs(2);
        let message = self
            .request_message(&request, argument.to_string().into_bytes(), patience)
            .map_err(|trouble| self.gone(queue, trouble))?;
        match (message.status, message.reply) {
            (None, Some(reply)) => {
                let delivered = delivered(&reply).ok_or_else(|| unclear("a delivery"))?;
                let payload = message.payload.to_vec();
                Ok(Some(Taken { payload, reply: reply.to_string(), delivered }))
            }
            (Some(status), _) => match status.as_u16() {
                404 | 408 => Ok(None),
                other => Err(Trouble::Away(format!(
                    "status {other}: {}",
                    message.description.unwrap_or_default()
                ))),
            },
            (None, None) => Err(unclear("a delivery")),
        }
    }

    /// Without a stream there is no answer at all: says so.
    fn gone(&self, stream: &str, trouble: Trouble) -> Trouble {
        match self.stream(stream) {
            Err(refused) if refused.is(codes::NO_STREAM) => refused,
            _ => trouble,
        }
    }
}

impl Taken {
    /// The message is done with.
    pub(crate) const DONE: &'static str = "+ACK";
    /// The lease begins again.
    pub(crate) const IN_PROGRESS: &'static str = "+WPI";
    /// Another worker may have it.
    pub(crate) const GIVEN_BACK: &'static str = "-NAK";
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Trouble> {
    if let Some(refused) = refusal(answer) {
        return Err(refused);
    }
    serde_json::from_slice(answer).map_err(|error| unclear(&error.to_string()))
}

fn unclear(what: &str) -> Trouble {
    Trouble::Refused { code: 0, text: format!("the answer is not understood: {what}") }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns how often a message was delivered: `$JS.ACK.<stream>.<consumer>.<delivered>.…`; later servers have two more words
/// in front of the stream.
fn delivered(reply: &str) -> Option<u64> {
    let words: Vec<&str> = reply.split('.').collect();
    let at = if words.len() > 10 { 6 } else { 4 };
    words.get(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deliveries_are_counted() {
        assert_eq!(delivered("$JS.ACK.s.workers.3.10.12.1700000000.0"), Some(3));
        assert_eq!(delivered("$JS.ACK._.hash.s.workers.2.10.12.1700000000.0.x"), Some(2));
        assert_eq!(delivered("inbox"), None);
    }

    #[test]
    fn refusals_are_read() {
        let text = br#"{"error":{"code":404,"err_code":10059,"description":"stream not found"}}"#;
        assert!(refusal(text).is_some_and(|trouble| trouble.is(codes::NO_STREAM)));
        assert_eq!(refusal(br#"{"stream":"s","seq":1}"#), None);
    }
}
