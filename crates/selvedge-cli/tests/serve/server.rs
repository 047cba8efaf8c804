//! A workbench that runs, and requests to it without a browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// `selvedge serve`, ended at the end.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) port: u16,
    /// `/TOKEN`, without the last slash.
    pub(crate) base: String,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the lines of an answer that comes in lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let line = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.body.lines().map(line).collect()
    }

    /// Returns the result at the end of such an answer.
    pub(crate) fn result(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        let last = self.lines().pop().expect("there is a line");
        assert!(last["result"].is_object(), "{last}");
        last["result"].clone()
    }
}

impl Server {
    pub(crate) fn start(arguments: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
            .arg("serve")
            .args(arguments.split_whitespace())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary can be run");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("there is a pipe"));
        out.read_line(&mut line).expect("it says where it is");
        let address = line.trim().split_once("http://127.0.0.1:").expect("an address").1;
        let (port, token) = address.split_once('/').expect("a port");
        let base = format!("/{}", token.trim_end_matches('/'));
        Self { port: port.parse().expect("a number"), base, child }
    }

    /// Returns the address to open.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{}/", self.port, self.base)
    }

    /// Sends bytes, and returns what comes back.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = self.send(request);
        let mut all = Vec::new();
        // A server that refuses to read all of it closes the connection.
        let _ = stream.read_to_end(&mut all);
        let all = String::from_utf8(all).expect("UTF-8");
        let (head, body) = all.split_once("\r\n\r\n").unwrap_or((&all, ""));
        let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or_default();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn send(&self, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        let _ = stream.write_all(request);
        stream
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let port = self.port;
        self.raw(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").as_bytes())
    }

    /// Returns a request as the page sends it.
    pub(crate) fn posted(&self, path: &str, body: &Value) -> Vec<u8> {
        let (base, port, body) = (&self.base, self.port, body.to_string());
        let head = format!(
            "POST {base}/{path} HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        (head + &body).into_bytes()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.raw(&self.posted(path, body))
    }

    pub(crate) fn check(&self, text: &str) -> Value {
        self.post("check", &json!({ "text": text })).result()
    }

    /// Returns the processes that the server has started and that still run.
    pub(crate) fn children(&self) -> Vec<String> {
        crate::common::children(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
