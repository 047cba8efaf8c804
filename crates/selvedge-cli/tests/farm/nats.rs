//! A NATS server and workers for tests.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Folder, Run, finish};

/// How long anything may take, on a machine that is busy.
pub(super) const PATIENCE: Duration = Duration::from_secs(240);

/// A server with a folder of its own.
pub(super) struct Nats {
    child: Child,
    port: u16,
    folder: Folder,
}

impl Nats {
    /// Starts a server with JetStream, if there is one; `more` is added to its configuration.
    pub(super) fn start(more: &str) -> Option<Self> {
        let found = Command::new("nats-server").arg("--version").output();
        if let Err(error) = found {
            let needed = std::env::var_os("SELVEDGE_NEED_NATS").is_some();
            assert!(!needed, "SELVEDGE_NEED_NATS is set, and nats-server does not run: {error}");
            let _ = writeln!(std::io::stderr(), "skipped: nats-server does not run: {error}");
            return None;
        }
        let folder = Folder::new();
        let port = free_port();
        let jetstream = match more.contains("jetstream") {
            true => String::new(),
            false => "jetstream { store_dir: store }\n".to_owned(),
        };
        let text = format!("host: 127.0.0.1\nport: {port}\n{jetstream}{more}\n");
        folder.write("nats.conf", text.as_bytes());
        let child = run(&folder);
        let nats = Self { child, port, folder };
        nats.wait_until_ready();
        Some(nats)
    }

    pub(super) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Ends the server by force, and starts it again after a while.
    pub(super) fn restart(&mut self, pause: Duration) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
        std::thread::sleep(pause);
        self.child = run(&self.folder);
        self.wait_until_ready();
    }

    /// Removes a stream, as any client may.
    pub(super) fn remove_stream(&self, name: &str) {
        let mut server = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let delete = format!("PUB $JS.API.STREAM.DELETE.{name} removed 0\r\n\r\n");
        write!(server, "CONNECT {{\"verbose\":false}}\r\nSUB removed 1\r\n{delete}")
            .expect("it can be told");
        let mut lines = BufReader::new(server).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("\"success\":true")), "{name} is not removed");
    }

    fn wait_until_ready(&self) {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(began.elapsed() < PATIENCE, "nats-server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the first job is as it should be.
    pub(super) fn wait_for(&self, folder: &Folder, is_so: impl Fn(&Value) -> bool) {
        let began = Instant::now();
        loop {
            let status = folder.run(&format!("farm status --json --nats {}", self.url()));
            if status.code == Some(0) && is_so(&status.json()["jobs"][0]) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "{status:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(folder: &Folder) -> Child {
    Command::new("nats-server")
        .args(["-c", "nats.conf"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nats-server runs")
}

/// Returns a port that nothing listens on.
pub(super) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it has an address").port()
}

/// A worker, or another process, which ends with the test.
pub(super) struct Worker(Option<Child>);

impl Worker {
    pub(super) fn start(nats: &Nats, folder: &Folder, options: &str) -> Self {
        Self(Some(folder.spawn(&format!("farm work --nats {} {options}", nats.url()))))
    }

    pub(super) fn of(child: Child) -> Self {
        Self(Some(child))
    }

    pub(super) fn signal(&mut self, name: &str) {
        signal(self.0.as_ref().expect("it has not ended"), name);
    }

    /// Waits until it ends.
    pub(super) fn finish(mut self) -> Run {
        finish(self.0.take().expect("it has not ended"))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Sends a signal to a process.
pub(super) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(status.expect("kill can be run").success());
}
