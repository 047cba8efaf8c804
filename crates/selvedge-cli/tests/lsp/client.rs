//! A client of the language server: a real process, messages over pipes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) const URI: &str = "file:///home/me/my%20bank.sel";

/// A client with one text.
pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
    version: u64,
    /// What the server can do.
    capabilities: Value,
    /// What came while something else was waited for.
    pub(crate) seen: Vec<Value>,
}

impl Client {
    /// Starts a server, and says nothing yet.
    pub(crate) fn new() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_selvedge"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("the binary can be run");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("there is a pipe"));
        Self {
            child,
            input,
            output,
            next: 0,
            version: 0,
            capabilities: Value::Null,
            seen: Vec::new(),
        }
    }

    /// Starts a server and opens a text.
    pub(crate) fn with(text: &str) -> Self {
        let mut client = Self::new();
        let window = json!({ "showDocument": { "support": true }, "workDoneProgress": true });
        let capabilities = json!({ "window": window });
        let answer = client.ask("initialize", &json!({ "capabilities": capabilities }));
        assert_eq!(answer["result"]["capabilities"]["hoverProvider"], true, "{answer}");
        client.capabilities = answer["result"]["capabilities"].clone();
        client.tell("initialized", &json!({}));
        client.version = 1;
        let document = json!({ "uri": URI, "languageId": "sel", "version": 1, "text": text });
        client.tell("textDocument/didOpen", &json!({ "textDocument": document }));
        client
    }

    /// Returns the names of types and modifiers of semantic tokens.
    pub(crate) fn legend(&self) -> Value {
        self.capabilities["semanticTokensProvider"]["legend"].clone()
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("input is open");
        input.write_all(bytes).and_then(|()| input.flush()).expect("the server reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request, and returns its number.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request and waits for the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Asks about a place in the text.
    pub(crate) fn ask_at(&mut self, method: &str, line: u64, character: u64) -> Value {
        let position = json!({ "line": line, "character": character });
        let params = json!({ "textDocument": { "uri": URI }, "position": position });
        let answer = self.ask(&format!("textDocument/{method}"), &params);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// Asks about the whole text.
    pub(crate) fn ask_all(&mut self, method: &str) -> Value {
        let params = json!({ "textDocument": { "uri": URI } });
        self.ask(&format!("textDocument/{method}"), &params)["result"].clone()
    }

    /// Replaces characters of a line.
    pub(crate) fn edit(&mut self, line: u64, from: u64, to: u64, text: &str) {
        let position = |character| json!({ "line": line, "character": character });
        let range = json!({ "start": position(from), "end": position(to) });
        self.change(&json!({ "range": range, "text": text }));
    }

    pub(crate) fn change(&mut self, change: &Value) {
        self.version += 1;
        let document = json!({ "uri": URI, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": [change] });
        self.tell("textDocument/didChange", &params);
    }

    /// Returns the diagnostics of the text as it is now.
    pub(crate) fn diagnostics(&mut self) -> Vec<Value> {
        let version = self.version;
        let message = self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["version"] == version
        });
        message["params"]["diagnostics"].as_array().expect("a list").clone()
    }

    /// Reads until a message is the one; the others are kept.
    pub(crate) fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.seen.iter().position(&is_it) {
            return self.seen.remove(at);
        }
        loop {
            let message = self.read().expect("the server answers");
            if is_it(&message) {
                return message;
            }
            self.seen.push(message);
        }
    }

    fn read(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line).expect("the pipe can be read") == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a number"),
                _ => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("the pipe can be read");
        Some(serde_json::from_slice(&body).expect("JSON"))
    }

    /// Closes the pipe, and returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        while self.read().is_some() {}
        self.child.wait().expect("the server ends").code()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It ends by itself, and then leaves nothing behind; unless it waits for a reader.
        drop(self.input.take());
        for _ in 0..250 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
