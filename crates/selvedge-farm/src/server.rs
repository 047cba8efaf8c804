//! The connection to the server, requests, and what can go wrong with them.

use std::fmt;
use std::path::PathBuf;
use std::pin::pin;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions, HeaderMap, Message, Request, RequestErrorKind,
    ServerAddr,
};
use tokio::runtime::{Builder, Runtime};

/// The oldest version of the server that is taken: the oldest one that the tests run.
const OLDEST: (u32, u32) = (2, 9);
/// How long the first connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How often it is seen whether there still is a connection.
const LOOK: Duration = Duration::from_millis(100);
/// How long to wait before a request is repeated.
const AGAIN: Duration = Duration::from_millis(200);
/// After so long without an answer that is said.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where the server is, and what it asks for.
#[derive(Clone, Debug)]
pub struct Access {
    /// One or several addresses, separated by commas: `nats://host:4222`, `tls://host`, `nats://user:password@host`.
    pub url: String,
    /// A credentials file, as NATS has them.
    pub credentials: Option<PathBuf>,
    /// Certificates of authorities beside those of the system.
    pub authorities: Option<PathBuf>,
    /// The certificate of this client, and its key.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Why something cannot be done: a message that ends with the next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// What came instead of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Trouble {
    /// None: the server is away, or is not ready yet. The same request may have an answer later.
    Away(String),
    /// The server refuses: its code, and its words.
    Refused { code: u64, text: String },
}

/// Codes of refusals.
pub(crate) mod codes {
    pub(crate) const NO_STREAM: u64 = 10_059;
    pub(crate) const NO_CONSUMER: u64 = 10_014;
    pub(crate) const WRONG_LAST: u64 = 10_071;
    /// There is no room in memory or on disk.
    pub(crate) const FULL: &[u64] = &[10_023, 10_028, 10_047, 10_077, 10_122];
}

impl Trouble {
    pub(crate) fn is(&self, wanted: u64) -> bool {
        matches!(self, Trouble::Refused { code, .. } if *code == wanted)
    }

    /// Returns whether the server has no room.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Trouble::Refused { code, .. } if codes::FULL.contains(code))
    }
}

/// A server.
pub struct Server {
    runtime: Runtime,
    client: Client,
    /// Its address, without a password.
    shown: String,
}

impl Server {
    /// Connects.
    ///
    /// # Errors
    /// If the server cannot be reached, does not let this client in, is too old, or has no JetStream.
    pub fn connect(access: &Access) -> Result<Self, Error> {
        let (addresses, shown) = addresses(&access.url)?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| {
            Error(format!("no connection can be made: {error}\n  end other processes"))
        })?;
        let client = runtime.block_on(async {
            let options = options(access, &addresses).await?;
            let connecting = options.connect(addresses);
            match tokio::time::timeout(2 * CONNECT, connecting).await {
                Ok(connected) => connected.map_err(|error| refused(&shown, access, &error)),
                Err(_) => Err(unreachable(&shown, "timed out")),
            }
        })?;
        let server = Self { runtime, client, shown };
        server.check()?;
        Ok(server)
    }

    /// Makes sure that the server can do what is needed.
    fn check(&self) -> Result<(), Error> {
        let shown = &self.shown;
        let info = self.client.server_info();
        if version(&info.version).is_none_or(|version| version < OLDEST) {
            return Err(Error(format!(
                "the server {shown} is NATS {}, and {}.{} is the oldest that will do\n  install a later one, or name \
                 another server with --nats",
                info.version, OLDEST.0, OLDEST.1
            )));
        }
        if !info.jetstream {
            return Err(Error(format!(
                "the server {shown} has no JetStream, which keeps units and results\n  start it with -js"
            )));
        }
        let answer = self.request("$JS.API.INFO", None, Vec::new());
        let trouble = match answer {
            Ok(message) => crate::stream::refusal(&message.payload),
            Err(trouble) => Some(trouble),
        };
        trouble.map_or(Ok(()), |trouble| Err(self.error(&trouble, "be kept")))
    }

    /// Returns the address without a password.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns how many bytes a message has at most.
    pub(crate) fn most_bytes(&self) -> usize {
        self.client.server_info().max_payload
    }

    /// Asks, and waits for the answer.
    pub(crate) fn request(
        &self,
        subject: &str,
        headers: Option<HeaderMap>,
        payload: Vec<u8>,
    ) -> Result<Message, Trouble> {
        let mut request = Request::new().payload(payload.into()).timeout(Some(ANSWER));
        request.headers = headers;
        self.ask(subject, request, ANSWER)
    }

    /// Asks for a message of a stream, and waits so long for it. It has the subject under which it was published, so only a
    /// subscription of its own finds it.
    pub(crate) fn request_message(
        &self,
        subject: &str,
        payload: Vec<u8>,
        time: Duration,
    ) -> Result<Message, Trouble> {
        let request = Request::new().payload(payload.into()).timeout(Some(time));
        self.ask(subject, request.inbox(self.client.new_inbox()), time)
    }

    fn ask(&self, subject: &str, request: Request, time: Duration) -> Result<Message, Trouble> {
        let asked = self.client.send_request(subject.to_owned(), request);
        match self.wait(time + ANSWER, asked) {
            Some(Ok(message)) => Ok(message),
            Some(Err(error)) => Err(Trouble::Away(match error.kind() {
                RequestErrorKind::NoResponders => "JetStream is not ready".to_owned(),
                RequestErrorKind::TimedOut => "no answer".to_owned(),
                _ => error.to_string(),
            })),
            None => Err(Trouble::Away("no connection".to_owned())),
        }
    }

    /// Says something without waiting for an answer.
    pub(crate) fn tell(&self, subject: &str, text: &'static str) {
        let told = self.client.publish(subject.to_owned(), text.into());
        // If it is lost, the lease runs out, and a unit is run again.
        let _ = self.wait(ANSWER, told);
    }

    /// Waits until something is done, so long at most. Returns nothing if it is not, or if the connection is lost meanwhile: what is
    /// asked for then waits for another one, and its own time does not begin.
    fn wait<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        let began = Instant::now();
        self.runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                if let Ok(done) = tokio::time::timeout(LOOK, work.as_mut()).await {
                    return Some(done);
                }
                let is_lost = self.client.connection_state() == State::Disconnected;
                if is_lost || began.elapsed() >= time {
                    return None;
                }
            }
        })
    }

    /// Says something again and again, until the result is dropped.
    pub(crate) fn repeat(&self, subject: String, text: &'static str, every: Duration) -> Repeated {
        let client = self.client.clone();
        Repeated(self.runtime.spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let _ = client.publish(subject.clone(), text.into()).await;
            }
        }))
    }

    /// Sends what is waiting to be sent.
    pub(crate) fn flush(&self) {
        let _ = self.wait(ANSWER, self.client.flush());
    }

    /// Asks until there is an answer. `go_on` says whether to ask once more; `say` is called if it takes long.
    pub(crate) fn insist<T>(
        &self,
        go_on: &dyn Fn() -> bool,
        say: &dyn Fn(&str),
        mut ask: impl FnMut() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let (began, mut is_said) = (Instant::now(), false);
        loop {
            match ask() {
                Err(Trouble::Away(why)) => {
                    if !go_on() {
                        return Err(Trouble::Away(why));
                    }
                    if began.elapsed() > PATIENCE && !std::mem::replace(&mut is_said, true) {
                        say(&format!(
                            "the server {} does not answer ({why}); trying again",
                            self.shown
                        ));
                    }
                    std::thread::sleep(AGAIN);
                }
                other => {
                    if is_said {
                        say(&format!("the server {} answers again", self.shown));
                    }
                    return other;
                }
            }
        }
    }

    /// Returns a message about a trouble: what cannot be done (`be created`), why, and the next step.
    pub(crate) fn error(&self, trouble: &Trouble, what: &str) -> Error {
        let shown = &self.shown;
        Error(match trouble {
            Trouble::Away(why) => format!(
                "a job cannot {what} on {shown}: {why}\n  see whether the server runs: selvedge farm status"
            ),
            full if full.is_full() => {
                let Trouble::Refused { text, .. } = full else { unreachable!("it is a refusal") };
                format!(
                    "a job cannot {what} on {shown}: its storage is full ({text})\n  free some (selvedge farm clean), \
                     raise max_file_store or the account's limit, then run the same command again: nothing is lost"
                )
            }
            Trouble::Refused { code, text } => format!(
                "a job cannot {what} on {shown}: {text} (error {code})\n  see what the user may do there: requests to \
                 $JS.API.>, and the subjects selvedge.>"
            ),
        })
    }
}

/// What is said again and again.
pub(crate) struct Repeated(tokio::task::JoinHandle<()>);

impl Drop for Repeated {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Returns the addresses, and how they are shown.
fn addresses(url: &str) -> Result<(Vec<ServerAddr>, String), Error> {
    let mut all = Vec::new();
    let mut shown = Vec::new();
    for one in url.split(',').map(str::trim).filter(|one| !one.is_empty()) {
        let address: ServerAddr = one.parse().map_err(|_| {
            Error(format!(
                "`{}` is not the address of a NATS server\n  write for example nats://host:4222 or tls://host",
                without_password(one)
            ))
        })?;
        all.push(address);
        shown.push(without_password(one));
    }
    if all.is_empty() {
        return Err(Error(
            "there is no address of a NATS server\n  name one: --nats nats://host:4222, or set NATS_URL"
                .to_owned(),
        ));
    }
    Ok((all, shown.join(",")))
}

fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    if scheme.is_empty() { host.to_owned() } else { format!("{scheme}://{host}") }
}

async fn options(access: &Access, addresses: &[ServerAddr]) -> Result<ConnectOptions, Error> {
    let mut options = ConnectOptions::new().name("selvedge").connection_timeout(CONNECT);
    // The client does not look for them in the address. A user without a password is a token.
    let named =
        addresses.iter().find_map(|address| Some((address.username()?, address.password())));
    match named {
        Some((user, Some(password))) => {
            options = options.user_and_password(user.to_owned(), password.to_owned());
        }
        Some((token, None)) => options = options.token(token.to_owned()),
        None => {}
    }
    if let Some(path) = &access.credentials {
        options = options.credentials_file(path).await.map_err(|error| {
            Error(format!(
                "the credentials {} cannot be used: {error}\n  name a file that `nsc generate creds` wrote",
                path.display()
            ))
        })?;
    }
    if let Some(path) = &access.authorities {
        options = options.add_root_certificates(path.clone()).require_tls(true);
    }
    if let Some((certificate, key)) = &access.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(options)
}

fn refused(shown: &str, access: &Access, error: &async_nats::ConnectError) -> Error {
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            let how = match access.credentials {
                Some(_) => "the credentials file",
                None => {
                    "--creds FILE, or a user and password in the address: nats://user:password@host"
                }
            };
            Error(format!("the server {shown} does not let this client in: {error}\n  check {how}"))
        }
        ConnectErrorKind::Tls => Error(format!(
            "there is no secure connection to {shown}: {error}\n  check --tls-ca, --tls-cert and --tls-key"
        )),
        _ => unreachable(shown, &error.to_string()),
    }
}

fn unreachable(shown: &str, why: &str) -> Error {
    Error(format!(
        "the server {shown} cannot be reached: {why}\n  start one: nats-server -js; or name another one with --nats"
    ))
}

fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', '-']).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let (_, shown) = addresses("nats://me:secret@a:4222, tls://b").expect("two addresses");
        assert_eq!(shown, "nats://a:4222,tls://b");
        let error = addresses("nats://me:secret@a:x").expect_err("no port");
        assert!(!error.0.contains("secret"), "{error}");
        assert!(addresses(" , ").is_err());
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert!(version("2.10.1") > version("2.9.10"));
        assert_eq!(version("2.12.0-RC.1"), Some((2, 12)));
        assert_eq!(version(""), None);
    }
}
